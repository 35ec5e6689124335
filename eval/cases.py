"""Thumbs down to labelled questions: what people found wrong becomes drafts in the schema of the development questions.

A draft is unfinished on purpose: its evidence and key facts are a person's to add, and until then `load_questions` refuses it.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from eval.questions import DEVELOPMENT, HELD_OUT, EvidenceRow, LabelledQuestion, QuestionSetError, Status, dump_questions

QUESTION_SETS = (DEVELOPMENT, HELD_OUT)


class CitedRow(EvidenceRow):
    """A citation of the answer: the quote and where it stands in its abstract."""

    start: int | None = None
    end: int | None = None


class Feedback(BaseModel):
    """A line of feedback.jsonl, as `rag.feedback` writes it: an answer, what a person thought of it, and the paper that should have
    been cited, if told: its id, or its title where the id is not known.

    `standalone_question` is what was searched; for a follow-up it says what the words of `question` point back to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    question: Annotated[str, Field(min_length=1)]
    answer: str
    status: Status
    citations: tuple[CitedRow, ...]
    verdict: Literal["up", "down"]
    reason: str
    expected_paper: str | None = None
    expected_title: str = ""
    standalone_question: str = ""
    model: str = ""
    time: AwareDatetime | None = None

    @property
    def asked(self) -> str:
        """The question as it can be asked on its own."""
        return self.standalone_question.strip() or self.question.strip()


def print_cases(path: Path) -> None:
    """Prints the drafts as JSON Lines, to be completed and appended to the development questions."""
    sys.stdout.write(dump_questions(cases(path)))


def cases(path: Path, *, question_sets: Sequence[Path] = QUESTION_SETS) -> list[dict[str, object]]:
    """A draft for every question with a thumb down that is in none of `question_sets`, in the order of the file.

    A question that several people disliked gives one draft with all their reasons, and every paper they expected; a follow-up
    gives the question it stands for. Spacing and case tell no questions apart. Raises `QuestionSetError` listing every malformed line.
    """
    known = {_key(question) for questions in question_sets for question in _questions_of(questions)}
    disliked: dict[str, list[Feedback]] = {}
    for row in read_feedback(path):
        key = _key(row.asked)
        if row.verdict == "down" and key not in known:
            disliked.setdefault(key, []).append(row)
    return [_draft(key, rows) for key, rows in disliked.items()]


def read_feedback(path: Path) -> list[Feedback]:
    """All rows of a feedback file. Raises `QuestionSetError` listing every malformed line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise QuestionSetError(f"{path} cannot be read ({error.strerror}). Give the path of a feedback.jsonl.") from error
    rows, faults = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(Feedback.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            faults.append(f"line {number}: {'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}")
    if faults:
        raise QuestionSetError(f"{path}: {len(faults)} faults.\n" + "\n".join(faults))
    return rows


def _questions_of(path: Path) -> Iterable[str]:
    return (str(json.loads(line)["question"]) for line in path.read_bytes().splitlines() if line.strip())


def _key(question: str) -> str:
    return " ".join(question.casefold().split())


def _draft(key: str, rows: Sequence[Feedback]) -> dict[str, object]:
    reasons = "; ".join(dict.fromkeys(row.reason.strip() for row in rows if row.reason.strip())) or "no reason given"
    given = ", ".join(dict.fromkeys(row.status for row in rows))
    cited = ", ".join(dict.fromkeys(citation.paper for row in rows for citation in row.citations)) or "nothing"
    titles = "; ".join(dict.fromkeys(row.expected_title for row in rows if row.expected_title))
    draft = LabelledQuestion(
        id=f"feedback-{hashlib.sha256(key.encode('utf-8')).hexdigest()[:8]}",
        type="fact",
        question=rows[0].asked,
        status="answered",
        papers=tuple(dict.fromkeys(row.expected_paper for row in rows if row.expected_paper)),
        evidence=(),
        key_facts=(),
        note=f"Draft from feedback: {reasons}. Was given: {given}, citing {cited}.{f' Expected: {titles}.' if titles else ''}",
    )
    return draft.model_dump(mode="json", exclude={"history", "stale_papers"})
