"""Feedback to drafts of labelled questions: what is kept, what is skipped, what is refused."""

import json
from pathlib import Path

import pytest

from eval.cases import cases, print_cases
from eval.questions import DEVELOPMENT, LabelledQuestion, QuestionSetError, load_questions

GOOD: dict[str, object] = {
    "question": "How fast is Zebra?",
    "answer": "Okapi is a neural ranker. [1]",
    "status": "answered",
    "citations": [{"paper": "aaaa", "quote": "Okapi is a neural ranker."}],
    "verdict": "down",
    "reason": "wrong paper",
}


def feedback(folder: Path, *rows: dict[str, object]) -> Path:
    """A feedback file of GOOD with each of these changes."""
    path = folder / "feedback.jsonl"
    path.write_text("".join(json.dumps(GOOD | row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_thumb_down_becomes_a_draft_with_its_reason(tmp_path: Path) -> None:
    (draft,) = cases(feedback(tmp_path, {"expected_paper": "bbbb"}))
    assert draft | {"id": ""} == {
        "id": "",
        "type": "fact",
        "question": "How fast is Zebra?",
        "status": "answered",
        "papers": ["bbbb"],
        "evidence": [],
        "key_facts": [],
        "note": "Draft from feedback: wrong paper. Was given: answered, citing aaaa.",
    }


def test_a_thumb_up_is_skipped(tmp_path: Path) -> None:
    assert cases(feedback(tmp_path, {"verdict": "up", "reason": ""})) == []


def test_a_question_that_is_in_the_set_already_is_skipped(tmp_path: Path) -> None:
    first = json.loads(DEVELOPMENT.read_text(encoding="utf-8").splitlines()[0])["question"]
    path = feedback(tmp_path, {"question": f"  {first.upper()} "}, {})
    assert [draft["question"] for draft in cases(path)] == ["How fast is Zebra?"]


def test_one_question_disliked_twice_gives_one_draft_with_both_reasons(tmp_path: Path) -> None:
    path = feedback(
        tmp_path,
        {"expected_paper": "bbbb"},
        {"question": "how fast  is zebra?", "reason": "no number", "status": "not_found", "citations": [], "expected_paper": None},
    )
    (draft,) = cases(path)
    assert draft["note"] == "Draft from feedback: wrong paper; no number. Was given: answered, not_found, citing aaaa."
    assert draft["papers"] == ["bbbb"]


def test_a_thumb_down_without_words_still_becomes_a_draft(tmp_path: Path) -> None:
    (draft,) = cases(feedback(tmp_path, {"reason": " ", "citations": [], "status": "not_found"}))
    assert draft["note"] == "Draft from feedback: no reason given. Was given: not_found, citing nothing."


def test_ids_are_distinct_and_the_same_in_every_run(tmp_path: Path) -> None:
    path = feedback(tmp_path, {}, {"question": "How slow is Okapi?"})
    ids = [draft["id"] for draft in cases(path)]
    assert len(set(ids)) == 2
    assert ids == [draft["id"] for draft in cases(path)]


def test_every_malformed_line_is_named(tmp_path: Path) -> None:
    path = feedback(tmp_path, {}, {"verdict": "sideways"}, {"stars": 3}, {"citations": [{"paper": "aaaa"}]})
    path.write_bytes(path.read_bytes() + b'\n{"question"\n\xff\n')
    with pytest.raises(QuestionSetError) as caught:
        cases(path)
    assert [line.split(": ")[:2] for line in str(caught.value).splitlines()[1:]] == [
        ["line 2", "verdict"],
        ["line 3", "stars"],
        ["line 4", "citations.0.quote"],
        ["line 6", "the line"],
        ["line 7", "the line"],
    ]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match=r"nowhere\.jsonl cannot be read"):
        cases(tmp_path / "nowhere.jsonl")


def test_drafts_are_printed_in_the_schema_of_the_questions_but_refused_until_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_cases(feedback(tmp_path, {"question": "Was ist ein „Zebra“?"}))
    printed = capsys.readouterr().out
    assert LabelledQuestion.model_validate_json(printed).question == "Was ist ein „Zebra“?"
    drafts = tmp_path / "drafts.jsonl"
    drafts.write_text(printed, encoding="utf-8")
    with pytest.raises(QuestionSetError, match="needs papers and evidence"):
        load_questions(drafts, [])


def test_a_follow_up_gives_the_question_it_stands_for(tmp_path: Path) -> None:
    path = feedback(
        tmp_path,
        {"question": "And its speed?", "standalone_question": "What is the speed of Zebra?"},
        {"question": "And its speed?", "standalone_question": "What is the speed of Okapi?"},
    )
    assert [draft["question"] for draft in cases(path)] == ["What is the speed of Zebra?", "What is the speed of Okapi?"]


def test_an_expected_title_is_named_in_the_note_and_is_no_paper(tmp_path: Path) -> None:
    (draft,) = cases(feedback(tmp_path, {"expected_title": "On Zebras"}, {"expected_title": "On Zebras"}))
    assert draft["papers"] == []
    assert str(draft["note"]).endswith("citing aaaa. Expected: On Zebras.")
