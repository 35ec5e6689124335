"""`python -m eval` from its command line, on the seeds with the real model."""

import json
from pathlib import Path

import pytest

from eval.__main__ import main
from eval.run import ROWS, SUMMARY
from rag.assistant import Assistant


@pytest.fixture
def on_seeds(seed_assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKABSTRACTS_STORE", seed_assistant.settings.store)


@pytest.mark.slow
@pytest.mark.usefixtures("on_seeds")
def test_two_configurations_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    assert main(["--types", "fact,absent", "--limit", "2", "--also", "max_quotes=1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "quotes" in shown.splitlines()[0]
    assert "max_quotes=1" in shown.splitlines()[0]
    for name in ("quotes", "max_quotes=1"):
        rows = [json.loads(line) for line in (out / name / ROWS).read_text(encoding="utf-8").splitlines()]
        assert [row["type"] for row in rows] == ["fact", "fact", "absent", "absent"]
        summary = json.loads((out / name / SUMMARY).read_text(encoding="utf-8"))
        assert summary["questions"] == 4
        assert summary["figures"]["lookups"]["exact"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 2}
    assert json.loads((out / "max_quotes=1" / SUMMARY).read_text(encoding="utf-8"))["settings"]["max_quotes"] == 1
    assert "<html" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("on_seeds")
def test_the_retriever_is_measured_on_a_folder_in_beir_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {
        "d1": "Bees dance to tell where flowers are.",
        "d2": "Robots learn to walk on stairs.",
        "d3": "Tea is made from leaves.",
    }
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(corpus), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "legged machines climbing steps"}), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\n", encoding="utf-8")
    assert main(["beir", str(tmp_path)]) == 0
    assert "1.000 [1.000, 1.000]" in capsys.readouterr().out


def test_thumbs_down_become_drafts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "question": "How do bees dance?",
        "answer": "",
        "status": "not_found",
        "citations": [],
        "verdict": "down",
        "reason": "it is in there",
    }
    (tmp_path / "feedback.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["cases", str(tmp_path / "feedback.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == "How do bees dance?"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--set", "nonsense=1"], "is no setting", id="unknown setting"),
        pytest.param(["--llm", "gpt-17"], "names no answerer", id="unknown model"),
        pytest.param(["beir"], "No folder is given", id="no folder"),
        pytest.param(["compare", "nowhere", "nowhere"], "is no report", id="no report"),
    ],
)
def test_an_error_is_one_line_with_the_next_step(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert says in error
