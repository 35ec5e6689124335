"""The labelled questions: read and checked against the collection."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.papers import Paper

FOLDER = Path(__file__).parent
DEVELOPMENT = FOLDER / "questions.jsonl"
HELD_OUT = FOLDER / "heldout.jsonl"

_WORDS_IN_A_ROW = 6

QuestionType = Literal[
    "fact", "paraphrase", "about", "multi", "near_miss", "absent", "premise", "out_of_domain", "ill_formed", "dialogue", "noisy", "language", "hostile"
]  # fmt: skip
Status = Literal["answered", "silent", "not_found", "premise", "invalid"]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EvidenceRow(_Row):
    """An exact quote that holds the answer, or a part of it."""

    paper: str
    quote: Annotated[str, Field(min_length=1)]


class TurnRow(_Row):
    """An earlier turn of a dialogue; an empty answer stands for the program's own, so that a dialogue runs as it would in the chat."""

    question: str
    answer: str = ""


class LabelledQuestion(_Row):
    """A question, its right outcome, the papers that answer it, exact evidence, and the facts an answer must show.

    `stale_papers` are those of a topic that a dialogue has left: citing one is a fault.
    """

    id: Annotated[str, Field(min_length=1)]
    type: QuestionType
    question: str
    history: tuple[TurnRow, ...] = ()
    status: Status
    papers: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]
    key_facts: tuple[str, ...]
    stale_papers: tuple[str, ...] = ()
    note: str = ""


class QuestionSetError(ValueError):
    """The labelled questions do not fit the schema or the collection; one line per fault."""


def load_questions(path: Path, papers: Sequence[Paper]) -> list[LabelledQuestion]:
    """The questions in `path`. Raises `QuestionSetError` listing every fault, with its line."""
    abstracts = {paper.id: paper.abstract for paper in papers}
    questions, faults, seen = [], [], set()
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = LabelledQuestion.model_validate_json(line)
        except ValidationError as error:
            faults.append(f"line {number}: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}")
            continue
        faults += [f"line {number} ({question.id}): {fault}" for fault in _faults(question, abstracts)]
        if question.id in seen:
            faults.append(f"line {number}: the id {question.id} is there already")
        seen.add(question.id)
        questions.append(question)
    if faults:
        raise QuestionSetError(f"{path.name}: {len(faults)} faults.\n" + "\n".join(faults))
    return questions


def dump_questions(questions: Sequence[Mapping[str, object]]) -> str:
    """Questions as JSON Lines."""
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)


def _faults(question: LabelledQuestion, abstracts: Mapping[str, str]) -> list[str]:
    faults = [f"there is no paper {paper}" for paper in question.papers if paper not in abstracts]
    if question.status == "answered" and not (question.papers and question.evidence):
        faults.append("an answered question needs papers and evidence")
    faults += [
        f"the evidence is no part of its paper: {evidence.quote[:60]!r}"
        for evidence in question.evidence
        if evidence.quote not in abstracts.get(evidence.paper, "")
    ]
    faults += [
        f"the key fact is in no evidence: {fact!r}"
        for fact in question.key_facts
        if not any(fact in evidence.quote for evidence in question.evidence)
    ]
    words = re.findall(r"\w+", question.question.lower())
    runs = {" ".join(words[start : start + _WORDS_IN_A_ROW]) for start in range(len(words) - _WORDS_IN_A_ROW + 1)}
    for paper in question.papers:
        abstract = " ".join(re.findall(r"\w+", abstracts.get(paper, "").lower()))
        faults += [f"it copies the abstract: {run!r}" for run in sorted(runs) if f" {run} " in f" {abstract} "]
    return faults
