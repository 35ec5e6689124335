"""Whether to answer at all. Unanswerable questions from the field score almost like answerable ones, so the score of the best
paper decides only what is far away; what is near is decided by how far the evidence covers what was asked.

Two logistic gates, fitted by `python -m eval.fit`: a question must pass both.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.answering.evidence import SENTENCE_FEATURES, Evidence, sentence_features, terms_of
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.questions import Question
from rag.search import PAPER_FEATURES, Candidate
from vectorstore.embedder import EncodedQuery
from vectorstore.lexical import stem

GATE_FEATURES = (
    "linear", "abstract", "best_sentence", "coverage", "sentence_coverage", "evidence_coverage", "unknown", "missing_names", "rarest_missing_name",
    "words", "least_words", "evidence_words", "one_sentence_words", "least_evidence_words", "number_without_number",
)  # fmt: skip


def is_answerable(
    question: Question,
    query: EncodedQuery,
    ranked: Sequence[Candidate],
    evidence: Sequence[Evidence],
    index: PaperIndex,
    coefficients: Coefficients,
) -> bool:
    """Whether the collection seems to hold the answer."""
    if not ranked or not evidence:
        return False
    features = gate_features(question, query, ranked, evidence, index)
    suffix = "" if len(query.words) else "_without_words"
    return all(
        float(features @ coefficients.weights(gate + suffix, GATE_FEATURES)) + coefficients.constant(gate + suffix, "bias") >= 0
        for gate in ("field_gate", "detail_gate")
    )


def gate_features(
    question: Question, query: EncodedQuery, ranked: Sequence[Candidate], evidence: Sequence[Evidence], index: PaperIndex
) -> NDArray[np.float64]:
    """The features (`GATE_FEATURES`,) of a question with its best papers and chosen evidence."""
    best = ranked[0]
    paper = dict(zip(PAPER_FEATURES, best.features, strict=True))
    asked = {term: index.lexical.idf(term) for term in question.terms}
    total = sum(asked.values()) or 1.0
    sentences = sentence_features(question, query, best, index)
    column = {name: sentences[:, place] for place, name in enumerate(SENTENCE_FEATURES)}
    shown = [index.papers[one.row].abstract[one.start : one.end] for one in evidence]
    in_evidence = {term for text in shown for term in terms_of(text)}
    in_paper = set(terms_of(f"{index.papers[best.row].title} {index.papers[best.row].abstract}"))
    missing = [idf for idf in (_idf_of_missing(name, in_paper, index) for name in question.names) if idf]
    words = _word_coverage(query, best, evidence, index)
    has_number = any(column["number"][one.number] for one in evidence if one.row == best.row)
    return np.array(
        [
            best.linear / 10,
            paper["abstract"],
            paper["best_sentence"],
            paper["coverage"],
            column["coverage"].max(),
            sum(asked[term] for term in asked.keys() & in_evidence) / total,
            sum(idf for term, idf in asked.items() if not index.lexical.knows(term)) / total,
            len(missing),
            max(missing, default=0.0) / 5,
            *words,
            float("number" in question.cues and not has_number),
        ]
    )


def _idf_of_missing(name: str, in_paper: set[str], index: PaperIndex) -> float:
    """The idf of the rarest term of `name`, or 0 when the paper holds one of its terms."""
    of_name = set(terms_of(name))
    return 0.0 if not of_name or of_name & in_paper else max(map(index.lexical.idf, of_name))


def _word_coverage(
    query: EncodedQuery, best: Candidate, evidence: Sequence[Evidence], index: PaperIndex
) -> tuple[float, float, float, float, float]:
    """How near the best paper and the evidence from it come to the question's words.

    Weighted mean over words and mean of the two least covered words, for the paper; weighted mean for all evidence; for the
    best single sentence of it; and the two least covered words again, for the evidence.
    """
    if not best.words.size:
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    idf = np.array([index.lexical.idf(stem(word)) for word in query.words])
    idf /= idf.sum()
    nearest = best.words.max(axis=1)
    inside = [best.word_owners == one.number for one in evidence if one.row == best.row]
    by_sentence = [best.words[:, columns].max(axis=1) for columns in inside if columns.any()]
    if not by_sentence:
        return (float(idf @ nearest), float(np.sort(nearest)[:2].mean()), 0.0, 0.0, 0.0)
    together = np.max(by_sentence, axis=0)
    return (
        float(idf @ nearest),
        float(np.sort(nearest)[:2].mean()),
        float(idf @ together),
        max(float(idf @ sentence) for sentence in by_sentence),
        float(np.sort(together)[:2].mean()),
    )
