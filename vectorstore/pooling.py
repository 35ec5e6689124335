"""Token vectors to the vectors of a passage, of its pieces and of its words; long passages in overlapping windows."""

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vectorstore.encoded import WORD_SCALE, Encoded, unit
from vectorstore.errors import EmbedderError
from vectorstore.lexical import STOPWORDS

_OVERLAP_TOKENS = 64
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text: ids, and for each the number of its piece and of its word (-1: none); and the words themselves."""

    ids: list[int]
    owners: NDArray[np.int64]
    word_of: NDArray[np.int64]
    words: tuple[str, ...]

    @classmethod
    def of(cls, ids: list[int], owners: NDArray[np.int64], starts: NDArray[np.int64], text: str, *, begin: int) -> Self:
        """Tokens that start at the characters `starts` of `text`, whose words count from the character `begin` on."""
        words = [match for match in _WORD.finditer(text, begin) if match.group().casefold() not in STOPWORDS]
        word_of = np.full(len(starts), -1)
        if words and len(starts):
            nearest = np.searchsorted([word.start() for word in words], starts, side="right") - 1
            ends = np.array([word.end() for word in words])
            word_of = np.where((nearest >= 0) & (starts < ends[nearest]), nearest, -1)
        return cls(ids, owners, word_of, tuple(word.group().casefold() for word in words))


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a passage's tokens that is encoded at once."""

    place: int
    tokens: Tokens
    start: int
    end: int


class Pool:
    """Sums token vectors of one passage over its windows: for the whole, for each piece, for each word."""

    def __init__(self, pieces: int, words: int, *, windows_left: int, is_beyond_window: bool) -> None:
        self.windows_left = windows_left
        self._counts = (pieces, words)
        self._word_owners = np.zeros(words, dtype=np.int16)
        self._is_beyond_window = is_beyond_window
        self._sums: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]] | None = None

    def add(self, tokens: NDArray[np.float32], owners: NDArray[np.int64], word_of: NDArray[np.int64], offset: int) -> None:
        """Adds one window: its token vectors, the piece and word of each body token, and how many tokens stand before the body."""
        if self._sums is None:
            pieces, words = (np.zeros((count, tokens.shape[1]), dtype=np.float32) for count in self._counts)
            self._sums = (np.zeros(tokens.shape[1], dtype=np.float32), pieces, words)
        whole, pieces, words = self._sums
        whole += tokens.sum(axis=0)
        body = tokens[offset : offset + len(owners)]
        for sums, numbers in ((pieces, owners), (words, word_of)):
            np.add.at(sums, numbers[numbers >= 0], body[numbers >= 0])
        in_word = word_of >= 0
        self._word_owners[word_of[in_word]] = np.maximum(owners[in_word], 0)
        self.windows_left -= 1

    def encoded(self) -> Encoded:
        """The pooled unit vectors. A piece without a token of its own gets the passage's vector."""
        if self._sums is None:
            raise EmbedderError("A passage was encoded without any window; this is a fault of AskAbstracts, please report it.")
        whole, pieces, words = self._sums
        pieces[~pieces.any(axis=1)] = whole
        in_int8 = np.round(unit(words) * WORD_SCALE).astype(np.int8)
        return Encoded(unit(whole), unit(pieces), in_int8, self._word_owners, self._is_beyond_window)


def window_spans(tokens: int, room: int) -> list[tuple[int, int]]:
    """Half-open token ranges of at most `room` that cover all `tokens`, each overlapping the one before."""
    if tokens <= room:
        return [(0, tokens)]
    step = max(1, room - min(_OVERLAP_TOKENS, room // 4))
    starts = [*range(0, tokens - room, step), tokens - room]
    return [(start, start + room) for start in starts]
