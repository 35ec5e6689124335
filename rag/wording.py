"""Which words of a claim say something else than the words of a paper they stand for.

Each content word of the claim is aligned with one word of the paper's sentences; a small network over both word vectors in
context, the form of the words around them, and the words next to it tells how surely that word was changed. It was fitted by
`python -m eval.fit_words` on sentences changed by rule, for the packaged embedder alone. Knows no index.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rag.claims import poles
from vectorstore.encoded import Matrix
from vectorstore.lexical import STOPWORDS, stem

PATH = Path(__file__).with_name("wording.npz")
WORD_FLAGS = 20
"""How many numbers `_flags` gives for a word."""

_TOKEN = re.compile(r"[^\W_]+|[.;:,]")
_CUES = frozenset(
    """no not never without neither nor none nothing cannot hardly unable lack lacks lacking fail fails failed failing avoid avoids
    avoiding rarely barely instead rather except unlike seldom t""".split()  # noqa: SIM905 -- a list of 30 short strings is harder to read
)
_CUE_STEMS = ("eliminat", "dispens", "obviat", "exclud", "circumvent")
_SCOPE_WORDS = 5
_SAME_STEM_BONUS, _NEAR_BEST = 0.25, 0.08  # of cosine: an alignment takes the same word, and a near best that continues the last
_NEAR, _APART = 1, 4  # words between neighbours in the paper
VECTOR_SCALE = 4.0  # brings projections of unit vectors near to 1

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Word:
    """A content word; whether a negation stands right before it, or up to five content words before, and "more" before it."""

    text: str
    follows_negation: bool
    is_denied: bool
    is_compared: bool


@dataclass(frozen=True, slots=True)
class AlignedWords:
    """Vectors (words, dimension) of a claim's words and of those they are aligned with, and flags (words, `WORD_FLAGS`)."""

    own: Matrix
    held: Matrix
    flags: Array


@dataclass(frozen=True, slots=True)
class WordingModel:
    """The fitted network: which embedder it reads, and its parameters by name."""

    embedder: str
    parameters: Mapping[str, Array]

    @classmethod
    def load(cls, path: Path = PATH) -> Self:
        """The network in a file, by default the one that comes with the program."""
        with np.load(path, allow_pickle=False) as file:
            parameters = {name: np.asarray(file[name], np.float32) for name in file.files if name != "embedder"}
            return cls(str(file["embedder"]), parameters)

    def changed(self, words: AlignedWords) -> Array:
        """The log-odds (words,) that each word of one claim was changed."""
        return forward(self.parameters, words, np.zeros(len(words.flags), np.int64))["odds"]


@lru_cache(maxsize=1)
def wording_model() -> WordingModel:
    """The network that comes with the program, read once."""
    return WordingModel.load()


def forward(parameters: Mapping[str, Array], words: AlignedWords, claims: NDArray[np.int64]) -> dict[str, Array]:
    """All layers, for the words of several claims in order; `claims` (words,) numbers the claim of each. "odds" is the last."""
    own, held = words.own @ parameters["likeness"] * VECTOR_SCALE, words.held @ parameters["likeness_held"] * VECTOR_SCALE
    apart = (words.own - words.held) @ parameters["difference"] * VECTOR_SCALE
    inputs = np.concatenate([own * held, apart, np.abs(apart), words.flags], axis=1)
    hidden = np.maximum(inputs @ parameters["hidden"] + parameters["hidden_bias"], 0)
    joined = with_neighbours(hidden, claims)
    last = np.maximum(joined @ parameters["joined"] + parameters["joined_bias"], 0)
    odds = last @ parameters["odds"] + parameters["odds_bias"]
    return {
        "own": own,
        "held": held,
        "apart": apart,
        "inputs": inputs,
        "hidden": hidden,
        "joined": joined,
        "last": last,
        "odds": odds,
    }


def with_neighbours(rows: Array, claims: NDArray[np.int64]) -> Array:
    """Each row (words, n) between the one before and the one after it in the same claim (words, 3n); zeroes at the ends."""
    before, after = np.zeros_like(rows), np.zeros_like(rows)
    same = (claims[1:] == claims[:-1])[:, None]
    before[1:], after[:-1] = rows[:-1] * same, rows[1:] * same
    return np.concatenate([before, rows, after], axis=1)


@lru_cache(maxsize=50_000)
def read_words(text: str) -> tuple[Word, ...]:
    """The content words of searchable `text`, the same and in the same order as an embedder gives vectors for."""
    text = text.casefold()
    found: list[Word] = []
    scope, follows, compared = 0, False, False
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in ".;:,":
            scope, follows, compared = (scope if word == "," else 0), False, False
            continue
        if word not in STOPWORDS:
            is_free = text.startswith("-free", match.end())
            found.append(Word(word, follows or is_free, scope > 0 or is_free, compared))
            scope, follows, compared = max(0, scope - 1), False, False
        if word in _CUES or word.startswith(_CUE_STEMS):
            scope, follows = _SCOPE_WORDS, True
        compared = compared or word in ("more", "most")
    return tuple(found)


def align(words: Sequence[Word], vectors: Matrix, held: Sequence[Word], held_vectors: Matrix) -> AlignedWords:
    """Aligns each word of a claim with the word of `held` that is nearest in context; neither may be empty."""
    cosines = vectors @ held_vectors.T
    stems, held_stems = (np.array([stem(word.text) for word in side]) for side in (words, held))
    is_same = stems[:, None] == held_stems[None, :]
    scores = cosines + _SAME_STEM_BONUS * is_same
    places = scores.argmax(axis=1)
    for at in range(1, len(words)):
        good = np.flatnonzero(scores[at] >= scores[at].max() - _NEAR_BEST)
        places[at] = good[np.argmin(np.abs(good - places[at - 1] - 1))]
    flags = np.array(
        [
            [*_likeness(cosines[at], is_same[at], int(places[at])), *_flags(word, held[places[at]]), *_order(places, at)]
            for at, word in enumerate(words)
        ],
        np.float32,
    )
    return AlignedWords(vectors, held_vectors[places], flags)


def _likeness(cosines: Array, is_same: NDArray[np.bool_], place: int) -> tuple[float, ...]:
    others = np.delete(cosines, place)
    return float(cosines[place]), float(others.max()) if others.size else 0.0, float(is_same[place]), float(is_same.any())


def _flags(word: Word, held: Word) -> tuple[float, ...]:
    """The share of the beginning that both share; what negations, comparatives and opposites set them apart; the kind of word."""
    alike = next(
        (at for at, (a, b) in enumerate(zip(word.text, held.text, strict=False)) if a != b), min(len(word.text), len(held.text))
    )
    own_poles, held_poles = poles([stem(word.text)]), poles([stem(held.text)])
    return (
        alike / max(len(word.text), len(held.text)),
        float(word.follows_negation != held.follows_negation),
        float(word.is_denied != held.is_denied),
        float(word.is_denied and held.is_denied),
        float(word.follows_negation and not held.is_denied),
        float(held.follows_negation and not word.is_denied),
        float(word.is_compared != held.is_compared),
        float(any((axis, 1 - side) in held_poles for axis, side in own_poles)),
        float(bool(own_poles & held_poles) and stem(word.text) != stem(held.text)),
        float(bool(own_poles) and not held_poles),
        float(word.text.isdigit()),
        float(len(word.text) < 4),
    )


def _order(places: NDArray[np.int64], at: int) -> tuple[float, ...]:
    """Whether the words before and after it stand near their own words, or far from them, in the paper too."""
    steps = [abs(int(places[at] - places[other])) if 0 <= other < len(places) else _NEAR for other in (at - 1, at + 1)]
    return tuple(float(flag) for step in steps for flag in (step <= _NEAR, step > _APART))
