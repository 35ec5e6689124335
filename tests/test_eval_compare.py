"""Reports against each other, and the whole set against the committed baseline."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.__main__ import main
from eval.compare import BASELINE, compare, save_baseline
from eval.questions import DEVELOPMENT, FOLDER, LabelledQuestion, QuestionSetError, load_questions
from eval.rows import Row, write_rows
from eval.run import ROWS, run_questions
from rag.answer import Answer, Turn
from rag.assistant import Assistant

GATES = FOLDER / "gates.toml"
GOOD = [
    Row(
        f"q{number}", "fact", "?", "answered", ("a",), "answered", ("a",), ("a",),
        facts=1, cites_gold=1, citation_precision=1, citation_recall=1, exact=1, sentences_cited=1, quotes=3,
    )
    for number in range(50)
]  # fmt: skip


def report(folder: Path, rows: list[Row]) -> Path:
    folder.mkdir()
    write_rows(folder / ROWS, rows)
    return folder


def test_a_report_against_itself_holds_every_gate(tmp_path: Path) -> None:
    before = report(tmp_path / "a", GOOD)
    text, is_good = compare(before, before, GATES)
    assert is_good
    assert "All gates hold" in text


@pytest.mark.parametrize(
    ("changes", "metric"),
    [
        pytest.param({"facts": 0.0}, "facts", id="facts lost"),
        pytest.param({"exact": 0.0}, "exact", id="a quote not exact"),
        pytest.param({"ranking": ("b", "a")}, "R@1", id="ranked second"),
        pytest.param({"status": "not_found", "ranking": ("a",)}, "false refusals", id="refused"),
    ],
)
def test_a_regression_misses_a_gate_and_is_named(tmp_path: Path, changes: dict[str, object], metric: str) -> None:
    worse = [replace(row, **changes) if number < 5 else row for number, row in enumerate(GOOD)]  # type: ignore[arg-type]
    text, is_good = compare(report(tmp_path / "a", GOOD), report(tmp_path / "b", worse), GATES)
    assert not is_good
    assert f"GATE MISSED: {metric} of lookups" in text


def test_what_got_fixed_and_what_broke_is_listed(tmp_path: Path) -> None:
    before = [replace(row, facts=0.0) if row.id == "q1" else row for row in GOOD]
    after = [replace(row, facts=0.0) if row.id == "q2" else row for row in GOOD]
    text, _ = compare(report(tmp_path / "a", before), report(tmp_path / "b", after), GATES)
    assert "fixed (1): q1" in text
    assert "broke (1): q2" in text


def test_a_baseline_compares_like_the_report_it_came_from(tmp_path: Path) -> None:
    save_baseline(tmp_path / "baseline.json", GOOD)
    assert compare(tmp_path / "baseline.json", report(tmp_path / "a", GOOD), GATES)[1]


def test_the_exit_code_tells_a_missed_gate(tmp_path: Path) -> None:
    a = report(tmp_path / "a", GOOD)
    b = report(tmp_path / "b", [replace(row, facts=0.0) for row in GOOD])
    assert main(["compare", str(a), str(a)]) == 0
    assert main(["compare", str(a), str(b)]) == 1


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match="is no report"):
        compare(tmp_path / "missing", tmp_path / "missing", GATES)


def test_an_interrupted_run_is_taken_up_where_it_stopped(
    tmp_path: Path, small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        LabelledQuestion(
            id=name, type="absent", question=f"What is {name}?", status="not_found", papers=(), evidence=(), key_facts=()
        )
        for name in ("Zebra", "Okapi", "Heron")
    ]
    whole = run_questions(small_assistant, questions, tmp_path / "r", name="quotes", progress=lambda done: None)
    path = tmp_path / "r" / ROWS
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0] + lines[1] + lines[2][:40], encoding="utf-8")
    asked: list[str] = []
    ask = small_assistant.ask

    def asking(question: str, history: Sequence[Turn] = ()) -> Answer:
        asked.append(question)
        return ask(question, history)

    monkeypatch.setattr(small_assistant, "ask", asking)
    again = run_questions(small_assistant, questions, tmp_path / "r", name="quotes", progress=lambda done: None)
    assert asked == ["What is Heron?"]
    assert [row.status for row in again.rows] == [row.status for row in whole.rows]


def test_a_question_that_crashes_is_a_row_with_its_error(
    tmp_path: Path, small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(question: str, history: object = ()) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(small_assistant, "ask", crash)
    question = LabelledQuestion(id="q", type="absent", question="?", status="not_found", papers=(), evidence=(), key_facts=())
    run = run_questions(small_assistant, [question], tmp_path / "r", name="quotes", progress=lambda done: None)
    assert run.rows[0].error == "ZeroDivisionError: on purpose"
    assert run.rows[0].status == "crashed"


@pytest.mark.slow
def test_the_whole_set_holds_the_gates_and_a_seeded_regression_does_not(seed_assistant: Assistant, tmp_path: Path) -> None:
    questions = load_questions(DEVELOPMENT, seed_assistant.papers)
    run_questions(seed_assistant, questions, tmp_path / "now", name="quotes", progress=lambda done: None)
    text, is_good = compare(BASELINE, tmp_path / "now", GATES)
    assert is_good, text
    one_quote = Assistant(
        replace(seed_assistant.settings, max_quotes=1), seed_assistant.embedder, seed_assistant.index, seed_assistant.coefficients
    )
    run_questions(one_quote, questions, tmp_path / "worse", name="one quote", progress=lambda done: None)
    text, is_good = compare(BASELINE, tmp_path / "worse", GATES)
    assert not is_good
    assert "GATE MISSED: facts of lookups" in text
