"""The words of a question laid over the sentences of its best paper: which word is how near to which.

Similarities are those of word vectors in context (`Candidate.words`), read back to the words they belong to. A word of the
question that the collection does not know but the paper all but spells ("constrants") counts as that word.
"""

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag.index import PaperIndex
from rag.search import Candidate
from rag.text import searchable
from vectorstore.encoded import EncodedQuery
from vectorstore.lexical import STOPWORDS, stem

_WORD = re.compile(r"[^\W_]+")
_LEAST_SPELLED = 5  # letters; shorter words are near many others
_SPELLED_ALIKE = 0.8
_AS_RESPELLED = 0.9  # similarity of a word to the one it misspells

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Alignment:
    """`near` (words, words of the paper's sentences) holds similarities; `weights` (words,) add up to 1.

    `sentences` are the words of each sentence without stop words, `columns` their places in `near`, and `cover`
    (sentences, words) how near each word of the question comes to each sentence.
    """

    words: tuple[str, ...]
    weights: Array
    near: Array
    sentences: tuple[tuple[str, ...], ...]
    columns: tuple[NDArray[np.int64], ...]
    cover: Array

    @property
    def nearest(self) -> Array:
        """How near each word of the question (words,) comes to the paper."""
        return np.asarray(self.cover.max(axis=0))

    def share(self, similarities: Array, asked: NDArray[np.bool_] | None = None) -> float:
        """The weighted mean of `similarities` (words,) over the words `asked`, by default all; 0 for none."""
        weights = self.weights if asked is None else self.weights * asked
        return float(similarities @ weights / weights.sum()) if weights.sum() > 0 else 0.0


def align(query: EncodedQuery, best: Candidate, index: PaperIndex) -> Alignment:
    """Lays `query` over the paper of `best`; without word vectors the alignment is empty."""
    sentences = sentence_words(index, best.row)
    columns = tuple(np.flatnonzero(best.word_owners == number) for number in range(len(sentences)))
    is_whole = len(query.words) and all(len(places) == len(own) for places, own in zip(columns, sentences, strict=True))
    if not is_whole or not any(len(places) for places in columns):
        return Alignment((), np.zeros(0), np.zeros((0, 0)), (), (), np.zeros((1, 0)))
    near = best.words.astype(np.float64)
    for place, word in enumerate(query.words):
        if len(word) >= _LEAST_SPELLED and not index.lexical.knows(stem(word)):
            for own, places in zip(sentences, columns, strict=True):
                alike = [places[number] for number, other in enumerate(own) if _is_respelled(word, other)]
                near[place, alike] = np.maximum(near[place, alike], _AS_RESPELLED)
    weights = np.array([index.lexical.idf(stem(word)) for word in query.words])
    cover = np.stack([near[:, places].max(axis=1) if len(places) else np.zeros(len(near)) for places in columns])
    return Alignment(query.words, weights / weights.sum(), near, sentences, columns, cover)


def sentence_words(index: PaperIndex, row: int) -> tuple[tuple[str, ...], ...]:
    """The lower-case words of each sentence of a paper, stop words left out, as the embedder counts them."""
    abstract = index.papers[row].abstract
    return tuple(_words(abstract[span.start : span.end]) for span in index.spans[row])


@lru_cache(maxsize=50_000)
def _words(sentence: str) -> tuple[str, ...]:
    found = (match.group().casefold() for match in _WORD.finditer(searchable(sentence)))
    return tuple(word for word in found if word not in STOPWORDS)


@lru_cache(maxsize=100_000)
def _is_respelled(word: str, other: str) -> bool:
    if abs(len(word) - len(other)) > 2 or word[0] != other[0]:
        return False
    return difflib.SequenceMatcher(None, word, other, autojunk=False).ratio() >= _SPELLED_ALIKE
