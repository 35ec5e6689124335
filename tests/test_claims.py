"""What is read off the form of a sentence: quantities, names, what is denied, directions."""

import pytest

from rag.claims import Quantity, poles, read_claim, unit_words


@pytest.mark.parametrize(
    ("sentence", "value", "unit"),
    [
        pytest.param("It gains 3.5% on average.", 3.5, "%", id="percent"),
        pytest.param("It is better by a factor of 2.6.", 2.6, "x", id="factor"),
        pytest.param("It runs 2.6 times faster.", 2.6, "x", id="times"),
        pytest.param("A 1.3B-parameter model is trained.", 1.3e9, "parameter", id="scale within a compound"),
        pytest.param("We collect two million pairs.", 2e6, "", id="spelled"),
        pytest.param("It doubles the speed.", 2, "x", id="factor word"),
    ],
)
def test_a_quantity_is_read_with_its_unit(sentence: str, value: float, unit: str) -> None:
    assert [(one.value, one.unit) for one in read_claim(sentence).quantities] == [(value, unit)]


@pytest.mark.parametrize("sentence", ["GPT-4 is a model.", "It integrates the two more tightly."], ids=["in a name", "refers back"])
def test_no_quantity_is_read_where_none_is_stated(sentence: str) -> None:
    assert read_claim(sentence).quantities == ()


def test_quantities_of_two_units_disagree_and_a_missing_unit_agrees() -> None:
    percent, factor, bare = Quantity(3.9, "%", 0), Quantity(3.9, "x", 0), Quantity(3.9, "", 0)
    assert not percent.agrees_with(factor)
    assert percent.agrees_with(bare)


def test_names_are_words_with_inner_capitals_or_digits_and_capitals_within_a_sentence() -> None:
    assert read_claim("Zebra beats LLaMA-2 and Okapi on CIFAR10.").names == ("LLaMA-2", "Okapi", "CIFAR10")


def test_the_words_behind_a_negation_are_denied() -> None:
    assert {"train", "label"} <= read_claim("It works without training on labels.").denied
    assert read_claim("It works with training on labels.").denied == frozenset()


def test_opposite_words_are_poles_of_one_axis() -> None:
    ((axis, side),) = poles(["faster"])
    assert (axis, 1 - side) in poles(["slower"])


def test_units_are_found_without_a_number() -> None:
    assert unit_words("several percent, orders of magnitude") == {"%", "magnitude"}
