"""Which sentences of a paper support a claim, and how surely.

One to three sentences of ONE paper are chosen that together cover the claim's words and numbers; small boosted trees over
`rag.support_features`, fitted by `python -m eval.fit_support` on labelled claims, give the probability that they carry it. A
quantity that the sentences do not hold, or a name that the paper does not, cannot be outvoted. Word vectors are used where
`rag.wording` was fitted for the embedder of the index; for any other embedder a second model does without them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.claims import Claim, read_claim
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.support_features import form_features, word_features, word_weights
from rag.support_held import Held, sentence_claim
from rag.support_rules import is_refused
from rag.trees import load_trees
from rag.wording import align, read_words, wording_model
from vectorstore.embedder import Embedder
from vectorstore.encoded import EncodedQuery, Matrix

_MOST_SENTENCES = 3
_LEAST_GAIN = 0.04  # of the score of a choice: what a further sentence must add to be cited too
_NUMBER_GAIN = 0.15  # for each number of the claim that the sentences hold


@dataclass(frozen=True, slots=True)
class EncodedClaim:
    """A sentence of an answer: its parts, its vectors, and the share (words,) of each word in what it says.

    There are no words when the embedder of the index is not the one that `rag.wording` was fitted for.
    """

    claim: Claim
    query: EncodedQuery
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Support:
    """The sentences (numbers within the paper at `row`) that a claim rests on, and the probability (0..1) that they carry it."""

    row: int
    sentences: tuple[int, ...]
    probability: float


def encode_claim(sentence: str, embedder: Embedder, index: PaperIndex) -> EncodedClaim:
    """Takes a verbatim `sentence` of an answer apart and encodes it with the embedder of `index`."""
    claim = read_claim(sentence)
    query = embedder.encode_query(claim.text)
    has_words = embedder.identity.get("model") == wording_model().embedder
    if not has_words or len(read_words(claim.text)) != len(query.words):  # the end of a claim beyond the window has no vectors
        query = EncodedQuery(query.vector, (), query.word_vectors[:0])
    return EncodedClaim(claim, query, word_weights(query, index))


def support(claim: EncodedClaim, row: int, shown: Sequence[int], index: PaperIndex, coefficients: Coefficients) -> Support:
    """How far the `shown` sentences of the paper at `row` support `claim`; probability 0 when they contradict it or none is shown."""
    chosen = choose_sentences(claim, row, shown, index)
    if not chosen or not claim.claim.tokens:
        return Support(row, chosen, 0.0)
    held = Held.of(row, chosen, index)
    if is_refused(claim.claim, held):
        return Support(row, chosen, 0.0)
    model = "support" if claim.query.words else "support_without_words"
    score = load_trees()[model].score(support_features(claim, row, chosen, held, index))
    linear = coefficients.constant(model, "slope") * score + coefficients.constant(model, "bias")
    return Support(row, chosen, round(float(1 / (1 + np.exp(-linear))), 4))


def is_supported(support: Support, coefficients: Coefficients) -> bool:
    """Whether the probability reaches the fitted threshold."""
    return support.probability >= coefficients.constant("support", "threshold")


def support_features(claim: EncodedClaim, row: int, chosen: Sequence[int], held: Held, index: PaperIndex) -> dict[str, float]:
    """The features of a claim with the sentences `chosen`: `SUPPORT_FEATURES`, or `FORM_FEATURES` where there are no words."""
    values = form_features(claim.claim, claim.query, held, index)
    if claim.query.words:
        values |= _word_features(claim, row, chosen, held, index, coverage=values["coverage"])
    return values


def _word_features(
    claim: EncodedClaim, row: int, chosen: Sequence[int], held: Held, index: PaperIndex, *, coverage: float
) -> dict[str, float]:
    vectors, owners = index.sentence_words(row)
    held_vectors = vectors[np.isin(owners, chosen)]
    held_words = [word for part in held.parts for word in read_words(part.text)]
    if len(held_words) != len(held_vectors) or not held_words:  # a paper beyond the window
        return {}
    words = align(read_words(claim.claim.text), claim.query.word_vectors, held_words, held_vectors)
    nearest = (claim.query.word_vectors @ held_vectors.T).max(axis=1).astype(np.float64)
    return word_features(claim.weights, nearest, wording_model().changed(words).astype(np.float64), coverage)


def choose_sentences(claim: EncodedClaim, row: int, shown: Sequence[int], index: PaperIndex) -> tuple[int, ...]:
    """The sentences that together cover most of the claim, in reading order; the earlier of equals."""
    parts = {number: sentence_claim(row, number, index) for number in shown}
    near = _nearest_by_sentence(claim, row, shown, index)
    weights = {token: index.lexical.idf(token) for token in set(claim.claim.tokens)}
    total = sum(weights.values()) or 1.0

    def score(numbers: Sequence[int]) -> float:
        tokens = {token for number in numbers for token in parts[number].tokens}
        covered = sum(weight for token, weight in weights.items() if token in tokens) / total
        found = sum(
            any(one.agrees_with(held) for number in numbers for held in parts[number].quantities) for one in claim.claim.quantities
        )
        if near:
            covered = (covered + float(claim.weights @ np.max([near[number] for number in numbers], axis=0))) / 2
        return covered + _NUMBER_GAIN * found

    chosen: list[int] = []
    best = 0.0
    while len(chosen) < min(_MOST_SENTENCES, len(parts)):
        scores = {number: score([*chosen, number]) for number in parts if number not in chosen}
        number = max(scores, key=lambda one: (scores[one], -one))
        if chosen and scores[number] - best < _LEAST_GAIN:
            break
        chosen.append(number)
        best = scores[number]
    return tuple(sorted(chosen))


def _nearest_by_sentence(claim: EncodedClaim, row: int, shown: Sequence[int], index: PaperIndex) -> dict[int, Matrix]:
    """How near each sentence comes to each word (words,) of the claim; empty without word vectors."""
    if not claim.query.words:
        return {}
    vectors, owners = index.sentence_words(row)
    near = claim.query.word_vectors @ vectors.T
    return {
        number: near[:, owners == number].max(axis=1) if (owners == number).any() else np.full(len(near), -1.0, np.float32)
        for number in shown
    }
