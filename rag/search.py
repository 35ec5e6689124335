"""A question to ranked papers.

Chroma (meaning) and BM25 (words) propose candidates; a linear model over six features, fitted by `python -m eval.fit`, ranks
them: similarity of the abstract, of its sentences and of its words in context (late interaction as in ColBERT, Khattab and
Zaharia 2020, over word vectors that the index holds anyway), BM25, and the share of the question's terms that the paper holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.papers import Paper
from rag.questions import Question
from vectorstore.encoded import EncodedQuery, Matrix, Vector
from vectorstore.lexical import stem

PAPER_FEATURES = ("abstract", "best_sentence", "three_sentences", "bm25", "coverage", "words")
_NEAREST = 40  # candidates by meaning; with those by words they hold the paper meant in all development questions
_LEXICAL = 20
_SHOWN_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an abstract, `abstract[start:end] == text`; `score` (0..1) tells how near it is to the question."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked paper. `score` (0..1) is the fitted probability that it is the paper meant; `sentences` are its nearest, best first."""

    paper: Paper
    score: float
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paper under consideration, with what its rank was made of.

    `linear` is its ranking score, `share` its probability among the candidates. `sentences` (sentences,) and
    `words` (question words, paper words) are similarities; `word_owners` (paper words,) numbers the sentence of each word.
    """

    row: int
    linear: float
    share: float
    features: NDArray[np.float64]
    sentences: Vector
    words: Matrix
    word_owners: NDArray[np.int16]


def candidates(
    question: Question,
    query: EncodedQuery,
    index: PaperIndex,
    coefficients: Coefficients,
    *,
    limit: int,
    rows: NDArray[np.intp] | None = None,
) -> list[Candidate]:
    """The best `limit` papers for the question, best first, among `rows` or all; ties keep the collection's order."""
    scores = index.lexical.scores(question.terms)
    proposed = _proposed(query, scores, index, limit, np.arange(len(index.papers)) if rows is None else rows)
    if not proposed:
        return []
    idf = _weights_of(query.words, index)
    total = sum(index.lexical.idf(term) for term in question.terms) or 1.0
    coverage = index.lexical.coverage(question.terms)
    found = []
    for row, similarity in sorted(proposed.items()):
        sentences = index.sentence_vectors(row) @ query.vector
        vectors, owners = index.sentence_words(row)
        words = query.word_vectors @ vectors.T
        nearest = np.sort(sentences)[::-1]
        features = np.array(
            [similarity, nearest[0], nearest[:3].mean(), scores[row] / total, coverage[row], _late_interaction(words, idf)]
        )
        found.append((row, features, sentences, words, owners))
    model = "papers" if len(query.words) else "papers_without_words"
    linear = np.stack([features for _, features, *_ in found]) @ coefficients.weights(model, PAPER_FEATURES)
    shares = _softmax(linear)
    ranked = sorted(range(len(found)), key=lambda place: -linear[place])[:limit]
    return [Candidate(found[n][0], float(linear[n]), float(shares[n]), *found[n][1:]) for n in ranked]


def _proposed(
    query: EncodedQuery, scores: NDArray[np.float32], index: PaperIndex, limit: int, rows: NDArray[np.intp]
) -> dict[int, float]:
    """The papers worth a closer look, by row, with their similarity: the nearest by meaning and the best by words."""
    if len(rows) == len(index.papers):
        proposed = {index.row_of[match.id]: match.similarity for match in index.nearest(query.vector, max(_NEAREST, limit))}
    else:  # exact: Chroma's own filters are slow when they match much, and this reads only the rows that take part
        near = index.vectors.similarities(rows, query.vector)
        proposed = {int(rows[place]): float(near[place]) for place in _best(near, max(_NEAREST, limit))}
    for row in rows[_best(scores[rows], max(_LEXICAL, limit))]:
        if scores[row] > 0:
            proposed.setdefault(int(row), float(index.vectors.vector(int(row)) @ query.vector))
    return proposed


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The places (count,) of the highest scores, best first, ties in order; does not sort the others."""
    costs = -scores
    places = np.arange(len(scores))
    if count < len(scores):
        places = np.flatnonzero(
            costs <= np.partition(costs, count - 1)[count - 1]
        )  # at the front: twenty times faster than at the end
    return places[np.argsort(costs[places], kind="stable")][:count]


def hit(candidate: Candidate, index: PaperIndex, coefficients: Coefficients) -> Hit:
    """A candidate as it is shown."""
    paper, spans = index.papers[candidate.row], index.spans[candidate.row]
    best = np.argsort(-candidate.sentences, kind="stable")[:_SHOWN_SENTENCES]
    sentences = tuple(
        Sentence(paper.abstract[span.start : span.end], span.start, span.end, round(_clipped(candidate.sentences[number]), 4))
        for number, span in ((int(number), spans[number]) for number in best)
    )
    certainty = 1 / (1 + np.exp(-(candidate.linear * coefficients.constant("hit", "slope") + coefficients.constant("hit", "bias"))))
    return Hit(paper, round(float(certainty), 4), sentences)


def _weights_of(words: Sequence[str], index: PaperIndex) -> NDArray[np.float64]:
    idf = np.array([index.lexical.idf(stem(word)) for word in words])
    return idf / idf.sum() if len(idf) else idf


def _late_interaction(words: Matrix, idf: NDArray[np.float64]) -> float:
    """How near the nearest word of the paper is to each word of the question, on average weighted by idf."""
    return float(idf @ words.max(axis=1)) if words.size else 0.0


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponents = np.exp(scores - scores.max())
    return np.asarray(exponents / exponents.sum())


def _clipped(value: float) -> float:
    return float(min(1.0, max(0.0, value)))
