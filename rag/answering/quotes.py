"""The answerer that needs no language model: it shows the chosen sentences, verbatim, in an order that reads well."""

from collections.abc import Sequence

from rag.answering.evidence import Evidence
from rag.citations import Citation, QuotedPaper, quoting_answer
from rag.index import PaperIndex
from rag.text import Span

NAME = "quotes"


def answer_with_quotes(evidence: Sequence[Evidence], index: PaperIndex) -> tuple[str, tuple[Citation, ...]]:
    """Answer text and citations: papers by the probability of their evidence, sentences in the order of the abstract."""
    weight: dict[int, float] = {}
    for one in evidence:
        weight[one.row] = weight.get(one.row, 0.0) + one.probability
    return quoting_answer(
        [
            QuotedPaper(index.papers[row], [Span(one.start, one.end) for one in sorted(evidence, key=_place) if one.row == row])
            for row in sorted(weight, key=lambda row: -weight[row])
        ]
    )


def _place(evidence: Evidence) -> tuple[int, int]:
    return evidence.row, evidence.start
