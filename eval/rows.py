"""One question asked, one row of facts about the answer. Means are derived from rows and never the other way round.

Citation precision and recall follow ALCE (Gao et al. 2023, arXiv 2305.14627), judged without a model against the labels: a
citation is precise when its quote comes from a paper that answers the question; recall is the share of the labelled
evidence that the cited quotes overlap.
"""

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from eval.questions import LabelledQuestion
from rag.answer import Answer, Turn
from rag.assistant import Assistant
from rag.citations import STRUCK, Citation

LOOKUPS = ("fact", "paraphrase", "about", "noisy")
_LEAST_OVERLAP = 0.5  # of the shorter of a quote and a labelled piece of evidence


@dataclass(frozen=True, slots=True)
class Row:
    """What happened to one question. Shares are 0..1; a question that crashed has zeros and says why in `error`.

    `ranking` are the ids of the hits, best first, and `cited` those of the cited papers in the order of their numbers.
    `cites_stale` is None where no topic was left. `sentences` counts those of the answer that rest on citations, `unsupported` a
    model's that are shown struck. `confidence` is the score of the best hit, by which the risk-coverage curve is drawn.
    """

    id: str
    type: str
    question: str
    expected: str
    gold: tuple[str, ...]
    status: str = "crashed"
    ranking: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    facts: float = 0.0
    cites_gold: float = 0.0
    cites_stale: float | None = None
    citation_precision: float = 0.0
    citation_recall: float = 0.0
    exact: float = 0.0
    sentences_cited: float = 0.0
    quotes: int = 0
    confidence: float = 0.0
    supports: tuple[float, ...] = ()
    sentences: int = 0
    unsupported: int = 0
    shown_quotes: tuple[str, ...] = ()
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    model: str = ""
    text: str = ""
    notices: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_answerable(self) -> bool:
        """Whether the labels say that the collection answers the question."""
        return self.expected == "answered"

    @property
    def verified_recall(self) -> float:
        """The share of the answer's sentences that the verifier found supported."""
        claims = self.sentences
        return claims / (claims + self.unsupported) if claims + self.unsupported else 0.0

    @property
    def is_refused(self) -> bool:
        """Whether the program did not answer. A crash is no refusal."""
        return self.status not in ("answered", "crashed")


def answer_row(question: LabelledQuestion, assistant: Assistant) -> Row:
    """Asks `question` and compares the answer with its labels; a crash becomes a row that counts as zero."""
    row = Row(question.id, question.type, question.question, question.status, question.papers)
    started = time.perf_counter()
    try:
        answer = assistant.ask(question.question, _history(question, assistant))
    except Exception as error:  # the evaluation goes on, and the row says what happened
        return replace(row, seconds=time.perf_counter() - started, error=f"{type(error).__name__}: {error}")
    return _judged(replace(row, seconds=time.perf_counter() - started), question, answer)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """Rows from JSON Lines; a last line that was cut by an interruption is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            fields = json.loads(line)
        except json.JSONDecodeError:
            continue
        lists: dict[str, Any] = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        rows.append(Row(**(fields | lists)))
    return rows


def _history(question: LabelledQuestion, assistant: Assistant) -> list[Turn]:
    """The earlier turns; one without an answer is answered by the program, with the turns before it."""
    history: list[Turn] = []
    for turn in question.history:
        history.append(Turn(turn.question, turn.answer or assistant.ask(turn.question, history).text))
    return history


def _judged(row: Row, question: LabelledQuestion, answer: Answer) -> Row:
    quotes = [citation.quote for citation in answer.citations]
    cited = tuple(dict.fromkeys(citation.paper.id for citation in answer.citations))
    return replace(
        row,
        status=answer.status,
        ranking=tuple(hit.paper.id for hit in answer.hits),
        cited=cited,
        facts=float(bool(quotes) and all(any(fact in quote for quote in quotes) for fact in question.key_facts)),
        cites_gold=float(any(paper in question.papers for paper in cited)),
        cites_stale=float(any(paper in question.stale_papers for paper in cited)) if question.stale_papers else None,
        citation_precision=_share(citation.paper.id in question.papers for citation in answer.citations),
        citation_recall=_share(_is_covered(evidence.paper, evidence.quote, answer.citations) for evidence in question.evidence),
        exact=float(all(one.paper.abstract[one.start : one.end] == one.quote for one in answer.citations)),
        sentences_cited=_sentences_cited(answer),
        quotes=len(quotes),
        confidence=answer.hits[0].score if answer.hits else 0.0,
        supports=tuple(citation.support for citation in answer.citations),
        sentences=len({citation.claim for citation in answer.citations}),
        unsupported=len(STRUCK.findall(answer.text)),
        shown_quotes=tuple(dict.fromkeys(quotes)),
        stages=dict(answer.timings),
        model=answer.model,
        text=answer.text,
        notices=answer.notices,
    )


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _is_covered(paper: str, evidence: str, citations: Sequence[Citation]) -> bool:
    for citation in citations:
        start = citation.paper.abstract.find(evidence) if citation.paper.id == paper else -1
        shared = min(citation.end, start + len(evidence)) - max(citation.start, start)
        if start >= 0 and shared >= _LEAST_OVERLAP * min(len(evidence), len(citation.quote)):
            return True
    return False


def _sentences_cited(answer: Answer) -> float:
    """The share of the answer's pieces that lie in the claim of a citation; struck sentences and the mark of a quotation are none."""
    claims = sorted({citation.claim for citation in answer.citations})
    between, place = [], 0
    for start, end in claims:
        between.append(answer.text[place:start])
        place = end
    between.append(answer.text[place:])
    uncited = [piece for text in between for piece in re.split(r"\n\n", STRUCK.sub("", text)) if piece.strip(" >\n")]
    return len(claims) / (len(claims) + len(uncited)) if claims else 0.0
