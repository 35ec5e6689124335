"""What an embedder gives back: unit vectors of passages and questions. Numbers only; no model is known here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
WORD_SCALE = 127


@dataclass(frozen=True, slots=True)
class Encoded:
    """A passage's unit vector (dimension,), its pieces' (pieces, dimension), and whether it was longer than the window.

    `words` holds the unit vectors of its words in context, stop words left out, as int8 (words, dimension) scaled by
    `WORD_SCALE`; `word_owners` (words,) tells the piece of each. Both are empty for a model without token vectors.
    """

    vector: Vector
    parts: Matrix
    words: NDArray[np.int8]
    word_owners: NDArray[np.int16]
    is_beyond_window: bool


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """A question's unit vector (dimension,), its words without stop words, and their unit vectors in context (words, dimension)."""

    vector: Vector
    words: tuple[str, ...]
    word_vectors: Matrix


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """`vectors` scaled to length 1 along the last axis; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)
