"""Which of four honest answers a question gets. Unanswerable questions from the field score almost like answerable ones, so the
score of the best paper decides only what is far away; what is near is decided by how far the evidence covers what was asked.

Logistic gates, fitted by `python -m eval.fit`, are asked in turn: is the question of this field, does the paper contradict what it
assumes, does the paper hold the detail, and if not, is it the paper that was meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag.answering.alignment import align
from rag.answering.asked import ASKED_FEATURES, asked_features
from rag.answering.evidence import Evidence, has_number, terms_of
from rag.answering.premise import PREMISE_FEATURES, Contradiction, contradictions, premise_features
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.questions import Question
from rag.search import PAPER_FEATURES, Candidate
from vectorstore.encoded import EncodedQuery
from vectorstore.lexical import stem

COVERAGE_FEATURES = (
    "linear", "abstract", "best_sentence", "coverage", "sentence_coverage", "evidence_coverage", "unknown", "missing_names", "rarest_missing_name",
    "words", "least_words", "evidence_words", "one_sentence_words", "least_evidence_words", "quarter_words", "number_gap",
)  # fmt: skip
GATE_FEATURES = COVERAGE_FEATURES + ASKED_FEATURES
STEPS = "_steps"
"""Behind a gate's name: the table of its steps, keyed by feature and threshold as "least_words>0.41"."""

_COMPARED = 3  # papers


@dataclass(frozen=True, slots=True)
class Verdict:
    """What kind of answer is honest, and the sentences to cite with it.

    "answered": those that answer. "silent": the paper asked about is here, the nearest of its sentences does not state the detail.
    "premise": those that contradict what the question assumes. "not_found": none.
    """

    status: Literal["answered", "silent", "premise", "not_found"]
    evidence: tuple[Evidence, ...] = ()


def judge(
    question: Question,
    query: EncodedQuery,
    ranked: Sequence[Candidate],
    evidence: Sequence[Evidence],
    index: PaperIndex,
    coefficients: Coefficients,
) -> Verdict:
    """Which of the four honest answers `question` gets, given its best papers and the chosen evidence."""
    if not ranked or not evidence:
        return Verdict("not_found")
    features = gate_features(question, query, ranked, evidence, index)
    suffix = "" if len(query.words) else "_without_words"
    if gate_score("field_gate" + suffix, features, GATE_FEATURES, coefficients) < 0:
        return Verdict("not_found")
    best = ranked[0]
    found, assumed = read_premise(question, query, best, index)
    if found and gate_score("premise_gate", assumed, PREMISE_FEATURES, coefficients) >= 0:
        return Verdict("premise", (_contradicting(found, best, evidence, index),))
    if gate_score("detail_gate" + suffix, features, GATE_FEATURES, coefficients) >= 0:
        return Verdict("answered", tuple(evidence))
    if gate_score("silent_gate" + suffix, features, GATE_FEATURES, coefficients) >= 0:
        return Verdict("silent", (next((one for one in evidence if one.row == best.row), evidence[0]),))
    return Verdict("not_found")


def gate_score(gate: str, features: NDArray[np.float64], names: tuple[str, ...], coefficients: Coefficients) -> float:
    """The log-odds that `gate` gives `features` (names,), less what it asks for: linear, plus steps where the gate has any."""
    score = float(features @ coefficients.weights(gate, names)) + coefficients.constant(gate, "bias")
    values = dict(zip(names, features.tolist(), strict=True))
    for step, height in coefficients.table.get(gate + STEPS, {}).items():
        name, threshold = step.split(">")
        score += height * (values[name] > float(threshold))
    return score


def read_premise(
    question: Question, query: EncodedQuery, best: Candidate, index: PaperIndex
) -> tuple[list[Contradiction], NDArray[np.float64]]:
    """What the sentences of the best paper contradict, and the features (`PREMISE_FEATURES`,) made of it."""
    alignment = align(query, best, index)
    found = contradictions(question, alignment, best, index)
    return found, premise_features(question, alignment, found)


def _contradicting(found: Sequence[Contradiction], best: Candidate, evidence: Sequence[Evidence], index: PaperIndex) -> Evidence:
    """The sentence of the best paper that contradicts most."""
    number = max(range(len(found)), key=lambda place: found[place].strength)
    span = index.spans[best.row][number]
    chosen = (one for one in evidence if (one.row, one.number) == (best.row, number))
    return next(chosen, Evidence(best.row, number, span.start, span.end, best.share / len(found)))


def gate_features(
    question: Question, query: EncodedQuery, ranked: Sequence[Candidate], evidence: Sequence[Evidence], index: PaperIndex
) -> NDArray[np.float64]:
    """The features (`GATE_FEATURES`,) of a question with its best papers and chosen evidence."""
    best = ranked[0]
    paper = dict(zip(PAPER_FEATURES, best.features, strict=True))
    asked = {term: index.lexical.idf(term) for term in question.terms}
    total = sum(asked.values()) or 1.0
    spans, abstract = index.spans[best.row], index.papers[best.row].abstract
    held = [asked.keys() & set(terms_of(abstract[span.start : span.end])) for span in spans]
    shown = [index.papers[one.row].abstract[one.start : one.end] for one in evidence]
    in_evidence = {term for text in shown for term in terms_of(text)}
    # A question that names several things may compare papers: what it names may stand in any of the best.
    compared = ranked[: _COMPARED if len(question.names) > 1 else 1]
    in_paper = {term for one in compared for term in terms_of(f"{index.papers[one.row].title} {index.papers[one.row].abstract}")}
    missing = [_missing(name, query, best, in_paper, index) for name in question.names]
    words = _word_coverage(question, query, best, evidence, index)
    return np.array(
        [
            best.linear / 10,
            paper["abstract"],
            paper["best_sentence"],
            paper["coverage"],
            max(sum(asked[term] for term in terms) for terms in held) / total,
            sum(asked[term] for term in asked.keys() & in_evidence) / total,
            sum(idf for term, idf in asked.items() if not index.lexical.knows(term)) / total,
            sum(missing) / 5,
            max(missing, default=0.0) / 5,
            *words,
            *asked_features(question, align(query, best, index), best, index),
        ]
    )


def _missing(name: str, query: EncodedQuery, best: Candidate, in_paper: set[str], index: PaperIndex) -> float:
    """How much the paper lacks `name`: 0 when it holds its terms, else idf, less the nearer its words come to it."""
    of_name = set(terms_of(name))
    if len(of_name - in_paper) <= (len(of_name) > 1):  # a compound is held when its parts are: "KV-cache" by "KV cache"
        return 0.0
    parts = set(re.findall(r"[^\W_]+", name.casefold()))
    nearest = [best.words[place].max() for place, word in enumerate(query.words) if word in parts and best.words.size]
    return max(map(index.lexical.idf, of_name)) * max(0.0, 1.0 - float(max(nearest, default=0.0)))


def _word_coverage(
    question: Question, query: EncodedQuery, best: Candidate, evidence: Sequence[Evidence], index: PaperIndex
) -> tuple[float, ...]:
    """How near the best paper and the evidence from it come to the question's words.

    For the paper: the weighted mean over words, and the mean of the two least covered; for all evidence: the weighted mean;
    for the best single sentence of the paper; the two least covered words of the evidence; the lower quartile over words, for
    the paper; and, where a number is asked for, how far sentences with figures fall short of the best sentence.
    """
    spans, abstract = index.spans[best.row], index.papers[best.row].abstract
    inside = [best.word_owners == number for number in range(len(spans))]
    if not best.words.size or not any(columns.any() for columns in inside):
        return (0.0,) * 7
    idf = np.array([index.lexical.idf(stem(word)) for word in query.words])
    idf /= idf.sum()
    nearest = best.words.max(axis=1)
    by_sentence = [best.words[:, columns].max(axis=1) if columns.any() else np.zeros(len(idf)) for columns in inside]
    covers = np.array([float(idf @ sentence) for sentence in by_sentence])
    chosen = [by_sentence[one.number] for one in evidence if one.row == best.row] or [np.zeros(len(idf))]
    together = np.max(chosen, axis=0)
    with_figures = [cover for cover, span in zip(covers, spans, strict=True) if has_number(abstract[span.start : span.end])]
    gap = covers.max() - max(with_figures, default=0.0) if "number" in question.cues else 0.0
    return (
        float(idf @ nearest),
        float(np.sort(nearest)[:2].mean()),
        float(idf @ together),
        float(covers.max()),
        float(np.sort(together)[:2].mean()),
        float(np.quantile(nearest, 0.25)),
        float(gap),
    )
