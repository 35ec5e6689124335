"""Figures from rows: worked out by hand here."""

import math

from eval.metrics import confusion, figure, figures, per_row, refusals, risk_coverage
from eval.rows import Row

RIGHT = Row(
    "right", "fact", "?", "answered", ("a",), "answered", ("a", "b"), ("a",), facts=1, cites_gold=1, quotes=2, confidence=0.9
)
SECOND = Row("second", "fact", "?", "answered", ("b",), "answered", ("a", "b"), ("a",), facts=0, quotes=4, confidence=0.8)
REFUSED = Row("refused", "fact", "?", "answered", ("a",), "not_found", ("a",))
CRASHED = Row("crashed", "fact", "?", "answered", ("a",), error="ValueError: no")
ABSENT = Row("absent", "absent", "?", "not_found", (), "not_found", ("a",))
INVENTED = Row("invented", "absent", "?", "not_found", (), "answered", ("a",), ("a",), confidence=0.95)
MULTI = Row("multi", "multi", "?", "answered", ("a", "b"), "answered", ("a",), ("a", "c"), facts=1)
ROWS = [RIGHT, SECOND, REFUSED, CRASHED, ABSENT, INVENTED, MULTI]


def test_ranks_are_those_of_the_right_paper() -> None:
    values = per_row(ROWS)
    assert (values["right"]["R@1"], values["second"]["R@1"], values["second"]["R@5"]) == (1.0, 0.0, 1.0)
    assert values["second"]["MRR"] == 0.5
    assert math.isclose(values["second"]["nDCG@10"], 1 / math.log2(3))


def test_a_crashed_question_counts_as_zero_and_is_no_refusal() -> None:
    values = per_row(ROWS)
    assert values["crashed"]["R@1"] == values["crashed"]["facts"] == 0.0
    assert values["crashed"]["false refusals"] == 1.0
    assert not CRASHED.is_refused


def test_unanswerable_questions_are_scored_by_refusal_alone() -> None:
    assert per_row(ROWS)["absent"] == {"refused": 1.0, "right status": 1.0}
    assert per_row(ROWS)["invented"] == {"refused": 0.0, "right status": 0.0}


def test_questions_over_several_papers_have_recall_and_precision_of_papers() -> None:
    assert per_row(ROWS)["multi"]["paper recall"] == 0.5
    assert per_row(ROWS)["multi"]["paper precision"] == 0.5


def test_all_that_the_collection_does_not_answer_is_one_group() -> None:
    silent = Row("silent", "near_miss", "?", "silent", ("a",), "silent", ("a",), ("a",))
    premise = Row("premise", "premise", "?", "premise", ("a",), "silent", ("a",), ("a",))
    far = Row("far", "out_of_domain", "?", "not_found", (), "not_found")
    by_name = figures([*ROWS, silent, premise, far])["unanswerable"]
    assert (by_name["refused"].mean, by_name["right status"].mean, by_name["refused"].n) == (0.75, 0.5, 4)


def test_dialogues_that_left_a_topic_are_scored_by_stale_citations() -> None:
    later = Row("later", "dialogue", "?", "answered", ("a",), "answered", ("a",), ("a", "b"), cites_gold=1, cites_stale=1.0)
    assert (per_row([later])["later"]["later-turn hit"], per_row([later])["later"]["stale"]) == (1.0, 1.0)
    assert "stale" not in per_row([Row("on", "dialogue", "?", "answered", ("a",))])["on"]


def test_means_state_how_many_rows_they_rest_on() -> None:
    by_name = figures(ROWS)["lookups"]
    assert (by_name["R@1"].mean, by_name["R@1"].n) == (0.5, 4)
    assert by_name["citation precision"].n == 2
    assert by_name["R@1"].low <= by_name["R@1"].mean <= by_name["R@1"].high


def test_no_figure_is_ever_nan() -> None:
    for rows in ([], [CRASHED], [ABSENT], ROWS):
        shown = [one for by_name in figures(rows).values() for one in by_name.values()] + list(refusals(rows).values())
        assert all(math.isfinite(value) for one in shown for value in (one.mean, one.low, one.high))


def test_intervals_repeat_and_narrow_with_more_rows() -> None:
    assert figure([0, 1] * 10) == figure([0, 1] * 10)
    few, many = figure([0, 1] * 10), figure([0, 1] * 1000)
    assert many.high - many.low < few.high - few.low


def test_refusals_have_precision_and_recall() -> None:
    assert refusals(ROWS)["refusal precision"].mean == 0.5
    assert refusals(ROWS)["refusal recall"].mean == 0.5


def test_statuses_are_counted_by_what_was_expected() -> None:
    assert confusion(ROWS)["answered"] == {"answered": 3, "crashed": 1, "not_found": 1}


def test_the_surest_answers_come_first_in_the_risk_curve() -> None:
    coverage, risk = zip(*risk_coverage([RIGHT, SECOND, INVENTED, ABSENT]), strict=True)
    assert coverage == (0.25, 0.5, 0.75)
    assert risk == (1.0, 0.5, 0.6667)
