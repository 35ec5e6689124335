"""The labelled questions fit their schema and the seeds, and there are enough of each kind."""

import json
from collections import Counter
from pathlib import Path

import pytest

from eval.questions import DEVELOPMENT, HELD_OUT, QuestionSetError, load_questions
from rag.papers import read_collection

PAPERS = read_collection([str(Path(__file__).parent.parent / "seeds")]).papers
GOOD = {
    "id": "x", "type": "fact", "question": "How fast?", "status": "answered", "papers": [PAPERS[0].id],
    "evidence": [{"paper": PAPERS[0].id, "quote": PAPERS[0].abstract[:40]}], "key_facts": [PAPERS[0].abstract[:10]],
}  # fmt: skip


@pytest.mark.parametrize("path", [DEVELOPMENT, HELD_OUT], ids=["development", "held out"])
def test_every_question_fits_the_schema_and_the_seeds(path: Path) -> None:
    assert load_questions(path, PAPERS)


def test_there_are_enough_questions_of_each_kind() -> None:
    questions = load_questions(DEVELOPMENT, PAPERS)
    types = Counter(question.type for question in questions)
    assert types["fact"] >= 85
    assert types["paraphrase"] >= 85
    assert types["about"] >= 85
    assert types["multi"] >= 30
    assert sum(types[name] for name in ("near_miss", "absent", "premise", "out_of_domain", "ill_formed")) >= 60
    assert types["dialogue"] >= 25
    assert types["noisy"] + types["language"] >= 30
    assert types["hostile"] >= 15
    for name in ("fact", "paraphrase", "about"):
        assert {paper for one in questions if one.type == name for paper in one.papers} == {paper.id for paper in PAPERS}


def test_no_held_out_question_is_in_the_development_set() -> None:
    asked = {question.question.casefold() for question in load_questions(DEVELOPMENT, PAPERS)}
    shared = asked & {question.question.casefold() for question in load_questions(HELD_OUT, PAPERS)}
    assert shared == set()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param({"extra": 1}, "Extra inputs", id="unknown key"),
        pytest.param({"type": "riddle"}, "Input should be", id="unknown type"),
        pytest.param({"papers": ["0" * 16]}, "there is no paper", id="unknown paper"),
        pytest.param({"evidence": []}, "needs papers and evidence", id="no evidence"),
        pytest.param({"key_facts": ["never said"]}, "in no evidence", id="fact outside the evidence"),
        pytest.param({"question": " ".join(PAPERS[0].abstract.split()[:6])}, "copies the abstract", id="copied"),
    ],
)
def test_a_faulty_question_is_refused_with_its_line(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD | {"id": "y"} | change) + "\n", encoding="utf-8")
    with pytest.raises(QuestionSetError, match=fault) as raised:
        load_questions(path, PAPERS)
    assert "line 2" in str(raised.value)
