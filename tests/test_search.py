"""Search over the small collection: who is found by which words, and what a hit promises."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from rag import Assistant
from rag.search import Hit, _best
from tests.conftest import HERON, OKAPI, ZEBRA


def abstract_found(assistant: Assistant, query: str) -> str:
    """The abstract of the best hit."""
    return assistant.search(query)[0].paper.abstract


@pytest.mark.parametrize(
    ("query", "abstract"),
    [
        pytest.param("Zebra", ZEBRA, id="a name"),
        pytest.param("zebras", ZEBRA, id="a plural"),
        pytest.param("okapi", OKAPI, id="a name in small letters"),
        pytest.param("OKAPI", OKAPI, id="a name in capitals"),
        pytest.param("the Okapi's accuracy", OKAPI, id="a possessive"),
        pytest.param("okapi-accuracy", OKAPI, id="a compound"),
        pytest.param("71.2%", OKAPI, id="a percentage"),
        pytest.param("71.2 %", OKAPI, id="a percentage with a space"),
        pytest.param("71.2", OKAPI, id="a number"),
        pytest.param("3.5x", ZEBRA, id="a factor"),
        pytest.param("3.5×", ZEBRA, id="a factor with the sign"),
        pytest.param(r"$3.5\times$", ZEBRA, id="a factor in TeX"),
        pytest.param("3.5 times faster", ZEBRA, id="a factor in words"),
        pytest.param("Bayesian model of waiting", HERON, id="a topic"),
        pytest.param("https://example.org/okapi", OKAPI, id="a web address"),
        pytest.param("example.org/okapi", OKAPI, id="half a web address"),
        pytest.param("“Okapi”", OKAPI, id="curly quotes"),
        pytest.param("``Okapi''", OKAPI, id="TeX quotes"),
        pytest.param("**Ok**api", OKAPI, id="Markdown inside a word"),
        pytest.param(r"\textbf{Okapi}", OKAPI, id="TeX around a word"),
        pytest.param("Oka\u00adpi", OKAPI, id="a soft hyphen"),
        pytest.param("Oka\u200bpi", OKAPI, id="a zero-width space"),
        pytest.param("𝐎𝐤𝐚𝐩𝐢", OKAPI, id="mathematical letters"),
        pytest.param("Ｏｋａｐｉ", OKAPI, id="full-width letters"),
        pytest.param("ante- lope documents", OKAPI, id="broken hyphenation"),
        pytest.param("  okapi\n\n\taccuracy ", OKAPI, id="odd spacing"),
    ],
)
def test_what_is_typed_finds_the_paper_meant(small_assistant: Assistant, query: str, abstract: str) -> None:
    assert abstract_found(small_assistant, query) == abstract


def test_scores_fall_from_best_to_worst_and_stay_within_bounds(small_assistant: Assistant) -> None:
    hits = small_assistant.search("How much faster is Zebra than Okapi?")
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(0 <= sentence.score <= 1 for hit in hits for sentence in hit.sentences)


def test_the_sentences_of_a_hit_are_exact_and_nearest_first(small_assistant: Assistant) -> None:
    best = small_assistant.search("What accuracy does Okapi reach?", k=1)[0]
    scores = [sentence.score for sentence in best.sentences]
    assert scores == sorted(scores, reverse=True)
    assert all(best.paper.abstract[sentence.start : sentence.end] == sentence.text for sentence in best.sentences)
    assert {sentence.text for sentence in best.sentences[:2]} >= {"It reaches 71.2% accuracy."}


@pytest.mark.parametrize(("k", "expected"), [(1, 1), (2, 2), (3, 3), (10, 3), (1_000_000, 3)])
def test_k_is_the_most_that_is_found(small_assistant: Assistant, k: int, expected: int) -> None:
    hits = small_assistant.search("zebra", k=k)
    assert len(hits) == expected
    assert len({hit.paper.id for hit in hits}) == expected


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(small_assistant: Assistant, k: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        small_assistant.search("zebra", k=k)


@pytest.mark.parametrize("query", ["", "  \n", "?!…", "the of and", "😀", "\u200b", "zebra zebra zebra"])
def test_nothing_to_search_for_finds_nothing(small_assistant: Assistant, query: str) -> None:
    assert small_assistant.search(query) == []


def test_an_unknown_word_finds_papers_without_any_confidence(small_assistant: Assistant) -> None:
    assert all(hit.score < 0.5 for hit in small_assistant.search("carrot cake recipe"))


def test_the_same_query_gives_the_same_hits(small_assistant: Assistant) -> None:
    assert small_assistant.search("antelope ranker") == small_assistant.search("antelope ranker")


def test_a_hit_is_frozen(small_assistant: Assistant) -> None:
    best: Hit = small_assistant.search("zebra")[0]
    with pytest.raises(FrozenInstanceError):
        best.score = 1.0  # type: ignore[misc]  # the point of the test


@pytest.mark.parametrize("query", ["ÿ", "\x00\x01\x02\xff\x7f"])
def test_a_single_letter_is_no_word_in_any_alphabet(small_assistant: Assistant, query: str) -> None:
    assert small_assistant.search(query) == []


def test_one_chinese_character_is_a_word(small_assistant: Assistant) -> None:
    assert len(small_assistant.search("马")) == 3


@pytest.mark.parametrize("count", [1, 20, 200])
@pytest.mark.parametrize("levels", [2, 7, 10_000])
def test_the_best_few_are_those_that_sorting_all_would_give(count: int, levels: int) -> None:
    scores = np.random.default_rng(levels).integers(0, levels, 150).astype(np.float32)
    assert _best(scores, count).tolist() == np.argsort(-scores, kind="stable")[:count].tolist()
