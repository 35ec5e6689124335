"""Asking a set of questions: rows as they come, so that an interruption loses nothing, and a summary at the end."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from eval import metrics
from eval.questions import LabelledQuestion
from eval.rows import Row, answer_row, read_rows
from rag.assistant import Assistant
from rag.settings import Settings

ROWS, SUMMARY = "rows.jsonl", "summary.json"


@dataclass(frozen=True, slots=True)
class Run:
    """A configuration with the rows it gave."""

    name: str
    settings: Settings
    papers: int
    rows: tuple[Row, ...]


def run_questions(
    assistant: Assistant, questions: Sequence[LabelledQuestion], folder: Path, *, name: str, progress: Callable[[int], None]
) -> Run:
    """Asks every question that `folder` holds no row for, and writes rows and summary there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ROWS
    wanted = {question.id: question.question for question in questions}
    kept = [row for row in read_rows(path) if wanted.get(row.id) == row.question and not row.error] if path.is_file() else []
    rows = {row.id: row for row in kept}
    with open(path, "w", encoding="utf-8") as file:
        for done, question in enumerate(questions, start=1):
            row = rows.get(question.id) or answer_row(question, assistant)
            rows[question.id] = row
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
            file.flush()
            progress(done)
    run = Run(name, assistant.settings, len(assistant.papers), tuple(rows[question.id] for question in questions))
    (folder / SUMMARY).write_text(json.dumps(summary(run), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return run


def summary(run: Run) -> dict[str, object]:
    """All figures of a run as plain data."""
    return {
        "name": run.name,
        "settings": asdict(run.settings),
        "papers": run.papers,
        "questions": len(run.rows),
        "crashed": [row.id for row in run.rows if row.error],
        "figures": {
            group: {name: asdict(one) for name, one in by_name.items()} for group, by_name in metrics.figures(run.rows).items()
        },
        "refusals": {name: asdict(one) for name, one in metrics.refusals(run.rows).items()},
        "confusion": metrics.confusion(run.rows),
        "latency": metrics.latency(run.rows),
        "risk_coverage": metrics.risk_coverage(run.rows),
    }
