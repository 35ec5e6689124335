"""What is read off the form of a sentence: quantities, names, what is denied, directions."""

import pytest

from rag.claims import poles, read_claim
from rag.quantities import Quantity, unit_words


@pytest.mark.parametrize(
    ("sentence", "value", "unit"),
    [
        pytest.param("It gains 3.5% on average.", 3.5, "%", id="percent"),
        pytest.param("It is better by a factor of 2.6.", 2.6, "x", id="factor"),
        pytest.param("It runs 2.6 times faster.", 2.6, "x", id="times"),
        pytest.param("A 1.3B-parameter model is trained.", 1.3e9, "parameter", id="scale within a compound"),
        pytest.param("We collect two million pairs.", 2e6, "", id="spelled"),
        pytest.param("It doubles the speed.", 2, "x", id="factor word"),
        pytest.param("It quadruples the speed.", 4, "x", id="higher factor word"),
        pytest.param("It is tenfold faster.", 10, "x", id="fold"),
        pytest.param("It saves ninety-five percent.", 95, "%", id="compound of tens"),
        pytest.param("It reads seventeen layers.", 17, "layer", id="teens"),
        pytest.param("It reads two hundred and six tokens.", 206, "token", id="hundreds"),
        pytest.param("It uses half the memory.", 50, "%", id="half"),
        pytest.param("It uses two thirds of them.", 200 / 3, "%", id="thirds"),
        pytest.param("A one-bit code is used.", 1, "bit", id="one before a unit"),
        pytest.param("It changes by -2.6%.", -2.6, "%", id="minus"),
        pytest.param("It costs 2.6 dollars.", 2.6, "dollar", id="money"),
    ],
)
def test_a_quantity_is_read_with_its_unit(sentence: str, value: float, unit: str) -> None:
    assert [(one.value, one.unit) for one in read_claim(sentence).quantities] == [(value, unit)]


@pytest.mark.parametrize(
    "sentence",
    ["GPT-4 is a model.", "It integrates the two more tightly.", "One of them is the third."],
    ids=["in a name", "refers back", "no count"],
)
def test_no_quantity_is_read_where_none_is_stated(sentence: str) -> None:
    assert read_claim(sentence).quantities == ()


def test_quantities_of_two_units_disagree_and_a_missing_unit_agrees() -> None:
    percent, factor, bare = Quantity(3.9, "%", 0), Quantity(3.9, "x", 0), Quantity(3.9, "", 0)
    assert not percent.agrees_with(factor)
    assert percent.agrees_with(bare)


def test_a_minus_must_be_held_and_may_be_left_out() -> None:
    rise, fall = Quantity(2.6, "%", 0), Quantity(-2.6, "%", 0)
    assert not fall.agrees_with(rise)
    assert rise.agrees_with(fall)
    assert Quantity(0, "", 0).agrees_with(Quantity(0, "", 0))
    assert not Quantity(0, "", 0).agrees_with(fall)


def test_names_are_words_with_inner_capitals_or_digits_and_capitals_within_a_sentence() -> None:
    assert read_claim("Zebra beats LLaMA-2 and Okapi on CIFAR10.").names == ("LLaMA-2", "Okapi", "CIFAR10")


def test_the_words_behind_a_negation_are_denied() -> None:
    assert {"train", "label"} <= read_claim("It works without training on labels.").denied
    assert read_claim("It works with training on labels.").denied == frozenset()


def test_each_negation_has_its_own_scope() -> None:
    assert read_claim("It is not tuning-free.").denials == (frozenset({"tune", "free"}), frozenset({"tune"}))


def test_opposite_words_are_poles_of_one_axis() -> None:
    ((axis, side),) = poles(["faster"])
    assert (axis, 1 - side) in poles(["slower"])


def test_units_are_found_without_a_number() -> None:
    assert unit_words("several percent, orders of magnitude") == {"%", "magnitude"}


@pytest.mark.parametrize("word", ["understanding", "underlying", "until", "unified", "universal", "unique", "unlocks", "units"])
def test_a_word_that_only_begins_like_a_denial_denies_nothing(word: str) -> None:
    assert read_claim(f"It is evaluated on music {word} tasks").denied == frozenset()


def test_a_prefix_denies_its_own_word_alone() -> None:
    assert read_claim("It learns from unlabeled images of animals").denied == read_claim("It is label-free").denied
