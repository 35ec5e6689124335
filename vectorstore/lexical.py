"""BM25 over the rows of an index, saved beside the vectors.

Scoring is bm25s, stemming is PyStemmer; the cutting into terms is ours, because "4-bit", "4bit" and "4 bit", or "MathScale"
and "math scale", must meet. Knows texts and row numbers only.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_NOBODYS_TERM = "\0"
_TERM_IDS, _TERM_ENDS = "term_ids", "term_ends"
_STEMMER = Stemmer.Stemmer("english")
logging.getLogger(bm25s.__name__).setLevel(logging.WARNING)  # it sets DEBUG for itself, and whoever logs at all gets its every step
_WORD = re.compile(
    r"\d+(?:[.,]\d+)*%|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+\.\d+[^\W\d_]+\b|[^\W_]+(?:[.\-'_/+][^\W_]+)*", re.UNICODE
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CJK = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
STOPWORDS = frozenset(
    """a about also an and any are as at be been being but by can could describe did do does doing explain for from give had has
    have having he her his how i if in into is it its let may me might more most much must my no nor not of on or our ours
    please she should so some such tell than that the their them then there these they this those to too us very was we were
    what when where which while who whom whose why will with would you your""".split()  # noqa: SIM905 -- a list of 120 short strings is harder to read
)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The English stem of a lower-case word."""
    return str(_STEMMER.stemWord(word))


def terms(text: str) -> list[str]:
    """The terms of searchable `text`, in order, stop words left out.

    A compound gives its parts and the whole without its joints: "4-bit" and "4bit" give "4", "bit" and "4bit". A number
    keeps its decimals and loses thousands' commas; a percentage gives the number with and without the sign.
    """
    return [stem(word) for word in words(text) if word not in STOPWORDS]


def words(text: str) -> Iterable[str]:
    """The lower-case words and numbers of `text`, compounds with their parts."""
    for match in _WORD.finditer(text):
        word = match.group()
        humps = re.split(r"(?<=[a-z])(?=[A-Z][a-z])", word)
        if len(humps) > 1 and word.isalpha():
            yield from (hump.casefold() for hump in humps)
        yield from _parts(word.casefold().replace("'s", ""))


def _parts(word: str) -> Iterable[str]:
    if _CJK.search(word):
        for piece in re.findall(rf"{_CJK.pattern}|[^{_CJK.pattern[1:]}+", word):
            yield from (piece,) if _CJK.search(piece) else _parts(piece)
        return
    if word.endswith("%"):
        number = word[:-1].replace(",", "")
        yield from (number, number + "%")
        return
    if re.fullmatch(r"\d+(?:\.\d+)?[a-z]+", word):
        yield from _split_unit(word)
        return
    if _NUMBER.fullmatch(word):
        yield word.replace(",", "")
        return
    pieces = [piece for piece in re.split(r"[.\-'_/+](?!\d*x?$)|[\-_/+']", word) if piece]
    if len(pieces) > 1:
        for piece in pieces:
            yield from _split_unit(piece)
        yield "".join(pieces)
    else:
        yield from _split_unit(word)


def _split_unit(word: str) -> Iterable[str]:
    """ "4bit" gives "4", "bit", "4bit"; "2.6x" gives "2.6" and "2.6x"; other words stay whole."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", word)
    if match:
        yield match[1]
        if len(match[2]) > 1:
            yield match[2]
    yield word


class LexicalIndex:
    """BM25 scores of rows for a text. Rows are numbered as they were given to a `LexicalBuilder`."""

    def __init__(self, retriever: Any, rows: int, term_ids: NDArray[np.int32], term_ends: NDArray[np.int64]) -> None:
        self._retriever, self._rows = retriever, rows
        self._term_ids, self._term_ends = term_ids, term_ends
        self._vocabulary: dict[str, int] = retriever.vocab_dict if rows else {}
        counts = np.diff(retriever.scores["indptr"]) if rows else np.zeros(0)
        self._frequencies: NDArray[np.int64] = np.asarray(counts, dtype=np.int64)

    @classmethod
    def load(cls, folder: Path, *, rows: int) -> Self:
        """The index saved in `folder`."""
        ids, ends = (np.load(folder / f"{name}.npy", mmap_mode="r" if rows else None) for name in (_TERM_IDS, _TERM_ENDS))
        return cls(bm25s.BM25.load(str(folder), load_vocab=True, mmap=True) if rows else bm25s.BM25(), rows, ids, ends)

    def save(self, folder: Path) -> None:
        """Writes the index into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{_TERM_IDS}.npy", self._term_ids)
        np.save(folder / f"{_TERM_ENDS}.npy", self._term_ends)
        if self._rows:
            self._retriever.save(str(folder), show_progress=False)

    def term_ids(self, row: int) -> NDArray[np.int32]:
        """The numbers (terms,) of the terms of a row, in order."""
        return self._term_ids[self._term_ends[row - 1] if row else 0 : self._term_ends[row]]

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """The number of every term, those of rows that are gone included."""
        return self._vocabulary

    def scores(self, query: Sequence[str]) -> NDArray[np.float32]:
        """BM25 scores (rows,) of the terms `query`; 0 where nothing matches."""
        known = [term for term in query if term in self._vocabulary]
        if not known:
            return np.zeros(self._rows, dtype=np.float32)
        return np.asarray(self._retriever.get_scores(known), dtype=np.float32)

    def coverage(self, query: Sequence[str]) -> NDArray[np.float32]:
        """For each row, which share of `query` it holds, 0..1: distinct terms weighted by their idf."""
        covered = np.zeros(self._rows, dtype=np.float32)
        total = 0.0
        for term in set(query):
            weight = self.idf(term)
            total += weight
            number = self._vocabulary.get(term)
            if number is not None:
                starts = self._retriever.scores["indptr"]
                covered[self._retriever.scores["indices"][starts[number] : starts[number + 1]]] += weight
        return covered / total if total else covered

    def idf(self, term: str) -> float:
        """How telling a term is: ln(1 + rows / rows that hold it); a term that no row holds counts as held by half a row."""
        number = self._vocabulary.get(term)
        held = max(float(self._frequencies[number]), 0.5) if number is not None else 0.5
        return float(np.log1p(max(self._rows, 1) / held))

    def knows(self, term: str) -> bool:
        """Whether any row holds `term`."""
        number = self._vocabulary.get(term)
        return number is not None and bool(self._frequencies[number])


class LexicalBuilder:
    """Collects rows for a `LexicalIndex`; rows that an index `before` holds need not be cut into terms again."""

    def __init__(self, before: LexicalIndex | None = None) -> None:
        self._before = before
        self._vocabulary = dict(before.vocabulary) if before is not None else {}
        self._rows: list[NDArray[np.int32]] = []

    def add(self, row: Sequence[str]) -> None:
        """Adds a row, given as its terms."""
        known = self._vocabulary
        self._rows.append(np.fromiter((known.setdefault(term, len(known)) for term in row), np.int32, len(row)))

    def keep(self, row: int) -> None:
        """Adds a row of the index before."""
        if self._before is None:
            raise ValueError("There is no index before whose rows could be kept.")
        self._rows.append(self._before.term_ids(row))

    def built(self) -> LexicalIndex:
        """The index over all rows added."""
        ends = np.cumsum([len(row) for row in self._rows], dtype=np.int64)
        ids = np.concatenate(self._rows) if self._rows else np.zeros(0, np.int32)
        retriever = bm25s.BM25(method="lucene", k1=_K1, b=_B)
        if self._rows:
            # bm25s cannot index a collection without a single term, so every row also holds one term nobody can ask for.
            nobodys = self._vocabulary.setdefault(_NOBODYS_TERM, len(self._vocabulary))
            retriever.index(([[*row.tolist(), nobodys] for row in self._rows], self._vocabulary), show_progress=False)
        return LexicalIndex(retriever, len(self._rows), ids, ends)
