"""One question asked, one row of facts about the answer; means are derived from rows and never the other way round."""

import math
import time
from dataclasses import dataclass

from eval.questions import LabelledQuestion
from rag.assistant import Assistant, Turn


@dataclass(frozen=True, slots=True)
class Row:
    """What happened to one question. `rank` is that of the first right paper (infinite when it was not found at all)."""

    id: str
    type: str
    expected: str
    status: str
    rank: float
    shows_all_facts: bool
    cites_right_paper: bool
    quotes: int
    cited_papers: int
    has_exact_quotes: bool
    seconds: float

    @property
    def is_lookup(self) -> bool:
        """Whether one paper answers the question."""
        return self.type in ("fact", "paraphrase", "about", "noisy")


def answer_row(question: LabelledQuestion, assistant: Assistant) -> Row:
    """Asks `question` and compares the answer with its labels."""
    started = time.perf_counter()
    answer = assistant.ask(question.question, [Turn(turn.question, turn.answer) for turn in question.history])
    seconds = time.perf_counter() - started
    ranks = [place for place, hit in enumerate(answer.hits, start=1) if hit.paper.id in question.papers]
    quotes = [citation.quote for citation in answer.citations]
    return Row(
        id=question.id,
        type=question.type,
        expected=question.status,
        status=answer.status,
        rank=ranks[0] if ranks else math.inf,
        shows_all_facts=bool(quotes) and all(any(fact in quote for quote in quotes) for fact in question.key_facts),
        cites_right_paper=any(citation.paper.id in question.papers for citation in answer.citations),
        quotes=len(quotes),
        cited_papers=len({citation.paper.id for citation in answer.citations}),
        has_exact_quotes=all(
            citation.paper.abstract[citation.start : citation.end] == citation.quote for citation in answer.citations
        ),
        seconds=seconds,
    )
