"""The answerer that needs no language model: it shows the chosen sentences, verbatim, in an order that reads well."""

from collections.abc import Sequence

from rag.answering.evidence import Evidence, introduces
from rag.citations import Citation, QuotedPaper, quoting_answer
from rag.index import PaperIndex
from rag.questions import Question
from rag.text import Span


def answer_with_quotes(question: Question, evidence: Sequence[Evidence], index: PaperIndex) -> tuple[str, tuple[Citation, ...]]:
    """Answer text and citations.

    Papers come by the probability of their evidence, sentences in the order of the abstract; but a question that asks what
    something is begins with the sentence that introduces it.
    """
    weight: dict[int, float] = {}
    for one in evidence:
        weight[one.row] = weight.get(one.row, 0.0) + one.probability
    rows = sorted(weight, key=lambda row: -weight[row])
    return quoting_answer([QuotedPaper(index.papers[row], _ordered(question, evidence, row, index)) for row in rows])


def _ordered(question: Question, evidence: Sequence[Evidence], row: int, index: PaperIndex) -> list[Span]:
    spans = sorted((Span(one.start, one.end) for one in evidence if one.row == row), key=lambda span: span.start)
    if "definition" in question.cues:
        abstract = index.papers[row].abstract
        names = [name.casefold() for name in question.names]
        rank = [
            (any(name in text.casefold() for name in names), introduces(text))
            for text in (abstract[one.start : one.end] for one in spans)
        ]
        first = spans[max(range(len(spans)), key=lambda place: rank[place])]
        spans = [first, *(span for span in spans if span != first)]
    return spans
