"""What refuses a claim whatever its score says, on sentences in view."""

import numpy as np
import pytest

from rag.claims import read_claim
from rag.support_held import Held
from rag.support_rules import is_refused

KEYS, VALUES = "The key cache should be quantized per channel.", "In contrast, the value cache should be quantized per token."
FREE = "Stork is a tuning-free compression of caches."
ALMOST = "Stork maintains almost the same quality as the whole cache."


def refused(claim: str, *sentences: str) -> bool:
    """Whether `claim` is refused beside `sentences`, which are the whole paper."""
    whole = read_claim(" ".join(sentences))
    parts = tuple(read_claim(sentence) for sentence in sentences)
    held = Held(parts, whole.text, frozenset(whole.tokens), np.ones((len(parts), 2), np.float32))
    return is_refused(read_claim(claim), held)


@pytest.mark.parametrize(
    ("claim", "sentences"),
    [
        pytest.param("Stork is not a tuning-free compression of caches.", [FREE], id="denies what is denied only within"),
        pytest.param("Stork is not tuning-free.", [FREE], id="denies a denial"),
        pytest.param("The value cache should be quantized per channel.", [KEYS, VALUES], id="assembled from a contrast"),
        pytest.param("The key cache should be quantized per token.", [KEYS, VALUES], id="assembled the other way round"),
        pytest.param("Stork maintains exactly the same quality.", [ALMOST], id="a hedge turned absolute"),
        pytest.param("Stork reaches far better quality.", [ALMOST], id="better where as good is said"),
        pytest.param("Stork maintains almost the same quality, but it sinks.", [ALMOST], id="a short clause from elsewhere"),
        pytest.param("Stork; caches.", [FREE], id="fragment"),
    ],
)
def test_fault_is_refused(claim: str, sentences: list[str]) -> None:
    assert refused(claim, *sentences)


@pytest.mark.parametrize(
    ("claim", "sentences"),
    [
        pytest.param("Stork is a compression of caches without tuning.", [FREE], id="denied in other words"),
        pytest.param("The value cache should be quantized per token.", [KEYS, VALUES], id="one of a contrast"),
        pytest.param(
            "The key cache is quantized per channel and the value cache per token.", [KEYS, VALUES], id="both of a contrast"
        ),
        pytest.param("Stork maintains nearly the same quality.", [ALMOST], id="another hedge"),
        pytest.param("Stork maintains the quality of the cache, and of the whole.", [ALMOST], id="a short clause that is held"),
    ],
)
def test_restatement_is_not_refused(claim: str, sentences: list[str]) -> None:
    assert not refused(claim, *sentences)
