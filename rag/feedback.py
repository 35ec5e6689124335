"""What a person thought of an answer, as a line of a file that `eval.cases` turns into labelled questions.

A line is written whole by one call in append mode, so that several threads and processes on one machine can share the file.
Knows no page and no collection beyond the papers of the answer.
"""

import json
import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path

from rag.answer import Answer
from rag.errors import AskAbstractsError, SettingsError

LONGEST_REASON = 1000  # characters; what is longer is cut
LONGEST_TITLE = 300  # characters of the title of an expected paper
LARGEST_ROW_BYTES = 256 * 1024
LARGEST_FILE_BYTES = 64 * 1024 * 1024
_PAPER_ID = re.compile(r"[0-9a-f]{16}")


def require_writable(path: Path) -> None:
    """Makes the file at `path` when there is none. Raises `SettingsError` where feedback could not be written."""
    try:
        _append(path, b"")
    except (OSError, ValueError) as error:
        what = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise SettingsError(
            f"Feedback cannot be written to {path} ({what}). Give a file in a folder that is there and may be written with --feedback."
        ) from error


def record_feedback(path: Path, answer: Answer, *, is_good: bool, reason: str = "", expected_paper: str = "") -> None:
    """Appends one line about `answer` to the file at `path`, which is made if missing, readable by its owner only.

    `expected_paper` is an id, or a title; the title of a paper that was considered stands for its id. Raises `AskAbstractsError`
    for an answer to no question, for a row or a file that is too large, and where the file cannot be written.
    """
    if not answer.question.strip():
        raise AskAbstractsError("There is no question to give feedback on. Ask one first.")
    row = json.dumps(_row(answer, is_good=is_good, reason=reason, expected_paper=expected_paper), ensure_ascii=False)
    # A lone surrogate can come from a browser and is no text that a reader of JSON takes.
    line = row.encode("utf-8", "replace") + b"\n"
    if len(line) > LARGEST_ROW_BYTES:
        raise AskAbstractsError(
            f"This feedback would take {len(line)} bytes, more than the {LARGEST_ROW_BYTES} that are kept. Ask a shorter question."
        )
    try:
        _append(path, line)
    except (OSError, ValueError) as error:
        what = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise AskAbstractsError(
            f"The feedback was not kept: {path} cannot be written ({what}). Check the folder, its permissions and the disk."
        ) from error


def _row(answer: Answer, *, is_good: bool, reason: str, expected_paper: str) -> dict[str, object]:
    paper, title = _expected(answer, expected_paper)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "question": answer.question,
        "standalone_question": answer.standalone_question,
        "status": answer.status,
        "answer": answer.text,
        "citations": [
            {"paper": citation.paper.id, "start": citation.start, "end": citation.end, "quote": citation.quote}
            for citation in answer.citations
        ],
        "model": answer.model,
        "verdict": "up" if is_good else "down",
        "reason": reason.strip()[:LONGEST_REASON],
        "expected_paper": paper or None,
        "expected_title": title,
    }


def _expected(answer: Answer, told: str) -> tuple[str, str]:
    """The id of the paper that should have been cited, or else its title as it was told."""
    told = " ".join(told.split())
    papers = [citation.paper for citation in answer.citations] + [hit.paper for hit in answer.hits]
    for paper in papers:
        if told and told.casefold() in (paper.id.casefold(), " ".join(paper.title.split()).casefold()):
            return paper.id, ""
    if _PAPER_ID.fullmatch(told.lower()):
        return told.lower(), ""
    return "", told[:LONGEST_TITLE]


def _append(path: Path, line: bytes) -> None:
    """Writes `line` in one call. A line that somebody left unfinished is ended first, so that it costs only itself."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        if status.st_size + len(line) > LARGEST_FILE_BYTES:
            raise OSError(f"it would grow beyond {LARGEST_FILE_BYTES} bytes; move it away")
        if status.st_size and line:
            os.lseek(descriptor, status.st_size - 1, os.SEEK_SET)
            line = line if os.read(descriptor, 1) == b"\n" else b"\n" + line
        written = os.write(descriptor, line) if line else 0
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes could be written; the disk may be full")
    finally:
        os.close(descriptor)
