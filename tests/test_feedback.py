"""Feedback to lines of a file that the evaluation reads: what is kept, what is refused, and that nobody's line is lost."""

import json
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from eval.cases import cases, read_feedback
from rag.answer import Answer
from rag.citations import QuotedPaper, quoting_answer
from rag.errors import AskAbstractsError
from rag.feedback import LARGEST_FILE_BYTES, LARGEST_ROW_BYTES, LONGEST_REASON, record_feedback
from rag.papers import Paper
from rag.search import Hit
from rag.text import Span

BEES = Paper("a" * 16, "Bees", "Bees fly. Bees hum.")
ANTS = Paper("b" * 16, "Why Ants  walk", "Ants walk.")
TEXT, CITATIONS = quoting_answer([QuotedPaper(BEES, [Span(10, 19)])])
ANSWER = Answer("How loud is it?", "How loud are bees?", "answered", TEXT, CITATIONS, (Hit(ANTS, 0.5, ()),), (), "quotes")


def test_a_row_holds_the_answer_and_what_was_thought_of_it(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    record_feedback(path, ANSWER, is_good=False, reason="  no number ", expected_paper="b" * 16)
    row = json.loads(path.read_bytes())
    assert datetime.now(UTC) - datetime.fromisoformat(row.pop("time")) < timedelta(minutes=1)
    assert row == {
        "question": "How loud is it?",
        "standalone_question": "How loud are bees?",
        "status": "answered",
        "answer": TEXT,
        "citations": [{"paper": "a" * 16, "start": 10, "end": 19, "quote": "Bees hum."}],
        "model": "quotes",
        "verdict": "down",
        "reason": "no number",
        "expected_paper": "b" * 16,
        "expected_title": "",
    }


def test_the_evaluation_reads_every_row_and_drafts_those_disliked(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    record_feedback(path, ANSWER, is_good=True)
    record_feedback(path, ANSWER, is_good=False, reason="no number", expected_paper="A paper on wings")
    record_feedback(path, replace(ANSWER, status="invalid", text="", citations=(), hits=()), is_good=False)
    assert [row.verdict for row in read_feedback(path)] == ["up", "down", "down"]
    (draft,) = cases(path, question_sets=())
    assert draft["question"] == "How loud are bees?"
    assert draft["note"] == (
        f"Draft from feedback: no number. Was given: answered, invalid, citing {'a' * 16}. Expected: A paper on wings."
    )


@pytest.mark.parametrize(
    ("told", "paper", "title"),
    [
        pytest.param("", None, "", id="nothing"),
        pytest.param("why ants walk", "b" * 16, "", id="the title of a paper considered"),
        pytest.param("bees", "a" * 16, "", id="the title of a paper cited"),
        pytest.param(" 0123456789ABCDEF ", "0123456789abcdef", "", id="an id"),
        pytest.param("Another\n paper", None, "Another paper", id="another title"),
        pytest.param("x" * 5000, None, "x" * 300, id="too long a title"),
    ],
)
def test_an_expected_paper_is_an_id_or_a_title(tmp_path: Path, told: str, paper: str | None, title: str) -> None:
    record_feedback(tmp_path / "feedback.jsonl", ANSWER, is_good=False, expected_paper=told)
    (row,) = read_feedback(tmp_path / "feedback.jsonl")
    assert (row.expected_paper, row.expected_title) == (paper, title)


@pytest.mark.parametrize("text", ["a\nb\r\nc\u2028d\x85e", "\ud800", '"}\\', "机器学习", "\0", "<script>"])
def test_any_text_is_one_row_that_can_be_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "feedback.jsonl"
    for _ in range(2):
        record_feedback(path, replace(ANSWER, question=f"q {text}"), is_good=True, reason=f"{text} r", expected_paper=f"{text} p")
    assert [row.question for row in read_feedback(path)] == [f"q {text}".replace("\ud800", "?")] * 2


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    record_feedback(tmp_path / "feedback.jsonl", ANSWER, is_good=False, reason="x" * 10_000)
    assert len(read_feedback(tmp_path / "feedback.jsonl")[0].reason) == LONGEST_REASON


def test_a_row_that_is_too_large_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    with pytest.raises(AskAbstractsError, match="Ask a shorter question"):
        record_feedback(path, replace(ANSWER, question="x" * LARGEST_ROW_BYTES), is_good=False)
    assert not path.exists()


def test_a_file_that_is_too_large_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES)
    with pytest.raises(AskAbstractsError, match="move it away"):
        record_feedback(path, ANSWER, is_good=False)
    assert path.stat().st_size == LARGEST_FILE_BYTES


def test_an_answer_to_no_question_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AskAbstractsError, match="no question"):
        record_feedback(tmp_path / "feedback.jsonl", replace(ANSWER, question=" \n"), is_good=False)


@pytest.mark.parametrize("path", ["missing/feedback.jsonl", ".", "a\0b", pytest.param("/dev/null", id="a device")])
def test_a_file_that_cannot_be_written_is_told_with_its_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(AskAbstractsError, match=r"was not kept: .* cannot be written"):
        record_feedback(tmp_path / path, ANSWER, is_good=False)


def test_a_full_disk_is_told_and_the_next_row_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "feedback.jsonl"
    write = os.write
    monkeypatch.setattr("rag.feedback.os.write", lambda descriptor, line: write(descriptor, line[:20]))
    with pytest.raises(AskAbstractsError, match="only 20 of"):
        record_feedback(path, ANSWER, is_good=False)
    monkeypatch.undo()
    record_feedback(path, ANSWER, is_good=False, reason="again")
    broken, whole = path.read_bytes().splitlines()
    assert (len(broken), json.loads(whole)["reason"]) == (20, "again")


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    record_feedback(tmp_path / "feedback.jsonl", ANSWER, is_good=True)
    assert (tmp_path / "feedback.jsonl").stat().st_mode & 0o077 == 0


def _record_many(path: Path, name: str) -> None:
    for number in range(25):
        record_feedback(path, ANSWER, is_good=False, reason=f"{name} {number} " + "x" * 900)


def test_threads_and_processes_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    processes = [multiprocessing.get_context("spawn").Process(target=_record_many, args=(path, f"process {n}")) for n in range(2)]
    for process in processes:
        process.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: _record_many(path, f"thread {number}"), range(4)))
    for process in processes:
        process.join()
    reasons = [row.reason for row in read_feedback(path)]
    assert len(reasons) == len(set(reasons)) == 6 * 25
