"""Which sentences a claim rests on, and what refuses it, with vectors of word counts; the real model in one slow test."""

import numpy as np
import pytest

from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.support import Support, encode_claim, is_supported, support
from rag.wording import align, read_words, wording_model
from vectorstore.encoded import unit


def _support(assistant: Assistant, claim: str, *, paper: str, shown: list[int] | None = None) -> Support:
    index = assistant.index
    row = next(row for row, one in enumerate(index.papers) if paper in one.abstract)
    shown = list(range(len(index.spans[row]))) if shown is None else shown
    return support(encode_claim(claim, assistant.embedder, index), row, shown, index, assistant.coefficients)


def test_a_claim_rests_on_the_sentence_that_says_it(small_assistant: Assistant) -> None:
    found = _support(small_assistant, "Zebra is 3.5 times faster than Okapi.", paper="Zebra")
    assert found.sentences == (1,)
    assert found.probability > 0


def test_a_claim_of_two_sentences_rests_on_both(small_assistant: Assistant) -> None:
    claim = "Zebra paints stripes on graphs and is 3.5 times faster on the Savanna benchmark."
    assert _support(small_assistant, claim, paper="Zebra").sentences == (0, 1)


def test_only_shown_sentences_support(small_assistant: Assistant) -> None:
    assert _support(small_assistant, "Zebra is 3.5 times faster than Okapi.", paper="Zebra", shown=[0]).probability == 0
    assert _support(small_assistant, "Zebra is fast.", paper="Zebra", shown=[]).sentences == ()


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("Zebra is 4.5 times faster than Okapi.", id="another number"),
        pytest.param("Zebra is 3.5% faster than Okapi.", id="another unit"),
        pytest.param("Zebra is 3.5 times faster than Gnu.", id="a name from elsewhere"),
    ],
)
def test_a_quantity_or_name_that_is_not_there_refuses_the_claim(small_assistant: Assistant, claim: str) -> None:
    assert _support(small_assistant, claim, paper="Zebra").probability == 0


def test_an_embedder_that_the_wording_model_does_not_know_goes_without_words(small_assistant: Assistant) -> None:
    claim = encode_claim("Zebra paints stripes.", small_assistant.embedder, small_assistant.index)
    assert claim.query.words == ()
    assert claim.weights.size == 0


def test_the_threshold_belongs_to_the_supported_claims() -> None:
    coefficients = Coefficients({"support": {"threshold": 0.5}})
    assert is_supported(Support(0, (1,), 0.5), coefficients)
    assert not is_supported(Support(0, (1,), 0.49), coefficients)


def test_a_word_is_aligned_with_the_same_word_and_knows_its_negation() -> None:
    own, held = read_words("herons do not wait"), read_words("Herons wait")
    vectors = unit(np.eye(2, 4))
    words = align(own, vectors, held, vectors)
    np.testing.assert_array_equal(words.held, vectors)
    assert [word.follows_negation for word in own] == [False, True]


def test_the_wording_model_is_small() -> None:
    from rag.wording import PATH

    assert PATH.stat().st_size < 300_000
    assert wording_model().embedder == "all-MiniLM-L6-v2"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        pytest.param("The value cache is better quantized per token.", True, id="restated"),
        pytest.param("The authors developed KIVI, a tuning-free 2bit KV cache quantization algorithm.", True, id="reordered"),
        pytest.param("Vision transformers segment tumours in brain scans.", False, id="of another paper"),
    ],
)
def test_a_restated_sentence_is_supported_and_one_of_another_paper_is_not(
    seed_assistant: Assistant, claim: str, is_true: bool
) -> None:
    found = _support(seed_assistant, claim, paper="KIVI")
    assert is_supported(found, seed_assistant.coefficients) == is_true
