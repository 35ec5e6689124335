"""Texts to the pairs of them that are almost alike. MinHash (Broder, 1997) proposes pairs in time linear in the number of texts, and
the exact Jaccard similarity of their word triples decides. Knows nothing of papers or files.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

LEAST_SIMILARITY = 0.8
"""Jaccard similarity of the word triples of two texts, from which on they count as almost alike."""

_SHINGLE_WORDS = 3
_BANDS, _ROWS = 32, 4  # two texts of similarity 0.8 share a band with probability 1 - (1 - 0.8^4)^32 > 0.9999999
_SEED = 42
_CHUNK_TEXTS = 1000  # whose triples are held at once
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


def almost_alike(texts: Sequence[str]) -> list[tuple[int, int, float]]:
    """Places (later, earlier) and similarity of texts that are almost like an earlier one, each later text once, in order.

    Where a text is like several, it is named with the one most like it of those that were compared, the earliest for ties.
    """
    best: dict[int, tuple[float, int]] = {}
    shingles: dict[int, frozenset[str]] = {}
    for later, earlier in sorted(_candidates(_signatures(texts))):
        for place in (later, earlier):
            if place not in shingles:
                shingles[place] = _shingles(texts[place])
        similarity = _jaccard(shingles[later], shingles[earlier])
        if similarity >= LEAST_SIMILARITY and similarity > best.get(later, (0.0, 0))[0]:
            best[later] = (similarity, earlier)
    return [(later, earlier, similarity) for later, (similarity, earlier) in sorted(best.items())]


def _signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """One row of hashes a text."""
    signatures = np.empty((len(texts), _BANDS * _ROWS), np.uint32)
    for first in range(0, len(texts), _CHUNK_TEXTS):
        chunk = [list(_shingles(text)) for text in texts[first : first + _CHUNK_TEXTS]]
        signatures[first : first + len(chunk)] = RMinHash.digests_from_token_sets(chunk, _BANDS * _ROWS, _SEED)
    return signatures


def _candidates(signatures: NDArray[np.uint32]) -> set[tuple[int, int]]:
    """Pairs (later, earlier) that agree in a band. Of those that agree, each is paired with the first and with the one before it
    only, so that a thousand copies of one text make two thousand pairs and not a million.
    """
    return {pair for band in range(_BANDS) for pair in _pairs_of_band(signatures[:, band * _ROWS : (band + 1) * _ROWS])}


def _pairs_of_band(band: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    keys = np.ascontiguousarray(band).view(np.uint64)
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the earlier text first
    in_order = keys[order]
    agrees = np.all(in_order[1:] == in_order[:-1], axis=1)
    first, last = 0, -1
    for place in np.flatnonzero(agrees).tolist():
        first = first if place == last + 1 and last >= 0 else place  # a run of equals goes on, or another begins
        last = place
        before, later = int(order[place]), int(order[place + 1])
        yield later, before
        if first != place:
            yield later, int(order[first])


def _shingles(text: str) -> frozenset[str]:
    """The word triples of a text; what is shorter is one whole."""
    words = _WORD.findall(text.casefold())
    triples = zip(*(words[start:] for start in range(_SHINGLE_WORDS)), strict=False)
    return frozenset(map(" ".join, triples)) or frozenset((" ".join(words),))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common)
