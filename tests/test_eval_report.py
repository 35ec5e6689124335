import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from eval.failures import failure, is_shown
from eval.questions import EvidenceRow, LabelledQuestion, QuestionSetError, TurnRow
from eval.report import support_bins, write_report
from eval.rows import Row
from eval.run import Run
from rag.papers import Paper
from rag.settings import Settings

ZEBRA = Paper(id="z", title="Zebra <b>stripes</b>", abstract="Zebra is 3.5 times faster than Okapi. It has 2 hooves.")
OKAPI = Paper(id="o", title="Okapi ranks antelopes", abstract="Okapi is a neural ranker.")
ASKED = LabelledQuestion(
    id="speed/1", type="dialogue", question="How fast is <Zebra>?", status="answered", papers=("z",),
    history=(TurnRow(question="What is Zebra & co?", answer="A painter."),),
    evidence=(EvidenceRow(paper="z", quote="Zebra is 3.5 times faster than Okapi."), EvidenceRow(paper="z", quote="It has 2 hooves.")),
    key_facts=("3.5 times", "2 hooves"),
)  # fmt: skip
ABSENT = LabelledQuestion(
    id="weather", type="absent", question="Will it rain?", status="not_found", papers=(), evidence=(), key_facts=()
)
HALF = Row(
    id="speed/1", type="dialogue", question="How fast is <Zebra>?", expected="answered", gold=("z",), status="answered",
    ranking=("o", "z"), cited=("z",), cites_gold=1.0, citation_precision=1.0, exact=1.0, quotes=1, confidence=0.9, supports=(1.0,),
    seconds=0.02, stages={"search": 0.01}, text="**Zebra** [1]\n\n> Zebra is 3.5 times faster than Okapi. [1]", notices=("Only <half>.",),
)  # fmt: skip
RIGHT = replace(HALF, facts=1.0)
REFUSED = Row("weather", "absent", "Will it rain?", "not_found", (), status="not_found", seconds=0.01, stages={"search": 0.005})


def run(*rows: Row, name: str = "quotes") -> Run:
    return Run(name, Settings(max_quotes=2), 2, rows)


def report(folder: Path, *runs: Run) -> str:
    write_report(folder / "report.html", runs, [ASKED, ABSENT], [ZEBRA, OKAPI])
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of one run, in which one question fails and one is rightly refused."""
    return report(tmp_path_factory.mktemp("one"), run(HALF, REFUSED))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of two runs: the one above and one in which nothing fails."""
    return report(tmp_path_factory.mktemp("two"), run(HALF, REFUSED), run(RIGHT, REFUSED, name="other"))


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html)).split())


class Tags(HTMLParser):
    """Every tag with its attributes, and whether tags are closed in the order they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    assert not re.search(r"https?:|//\w|@import|<script|<link|<img|src=", page)
    assert all(reference.startswith("#") for reference in re.findall(r"""(?:href="|url\()([^")]*)""", page))


def test_tags_are_balanced_ids_are_unique_and_links_lead_somewhere(pages: str) -> None:
    tags = Tags(pages)
    ids = [attributes["id"] for _, attributes in tags.seen if "id" in attributes]
    targets = {unquote((attributes["href"] or "")[1:]) for tag, attributes in tags.seen if tag == "a"}
    assert tags.open == []
    assert len(ids) == len(set(ids))
    assert "failed-speed/1" in targets
    assert targets <= set(ids)


def test_the_same_runs_give_the_same_page(page: str, tmp_path: Path) -> None:
    assert page == report(tmp_path, run(HALF, REFUSED))


def test_texts_are_shown_and_never_act_as_markup(tmp_path: Path) -> None:
    crash = replace(HALF, status="crashed", error="ValueError: <script>alert(1)</script>", stages={"<i>stage": 0.1})
    html = report(tmp_path, run(HALF, name="<u>a"), run(crash, name="$b$"))
    assert not re.search(r"<(b>stripes|Zebra|half|script|i>stage|u>a)", html)
    for shown in ("Zebra <b>stripes</b>", "How fast is <Zebra>?", "Only <half>.", "<script>alert(1)</script>", "<i>stage", "$b$"):
        assert shown in text_of(html)


def test_settings_sizes_and_figures_of_runs_stand_side_by_side(pages: str) -> None:
    seen = text_of(pages)
    assert "quotes: 2 questions over 2 papers; other: 2 questions over 2 papers" in seen
    assert "max_quotes 2 2" in seen
    assert "facts 0.000 [0.000, 0.000] 1 1.000 [1.000, 1.000] 1" in seen
    assert "recall: refused, of what should be 1.000 [1.000, 1.000] 1" in seen


def test_statuses_are_counted_by_the_expected_one(page: str) -> None:
    assert '<td class="right" style="--share: 1.000">1</td>' in page
    assert "expected answered not_found answered 1 0 not_found 0 1" in text_of(page)


def test_runs_without_rows_give_a_page(tmp_path: Path) -> None:
    assert "None." in text_of(report(tmp_path, run()))


def test_a_row_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuestionSetError, match="unknown"):
        report(tmp_path, run(replace(HALF, id="unknown")))


# --- plots ------------------------------------------------------------------------------------------------------------


def test_plots_are_drawn_with_the_colours_of_the_page(pages: str) -> None:
    names = re.findall(r'<svg [^>]*aria-label="([^"]*)"', pages)
    assert names == [
        "facts by type of question", "cited by type of question", "R@1 by type of question",
        "Latency per stage, median and 95th percentile", "Risk against coverage",
    ]  # fmt: skip
    assert "var(--run-1)" in pages
    assert "#0102" not in pages


def test_equal_supports_are_told_in_words(tmp_path: Path) -> None:
    seen = text_of(report(tmp_path, run(HALF)))
    assert "predicted support 1.000: a quotation carries its own claim wholly" in seen
    assert "quotes: 1.000 of 1" in seen


def test_different_supports_are_plotted(tmp_path: Path) -> None:
    html = report(tmp_path, run(replace(HALF, supports=(0.2,)), REFUSED), run(HALF, name="other"))
    assert 'aria-label="Reliability of predicted support"' in html


def test_answers_are_binned_by_the_mean_support_of_their_citations() -> None:
    half_gold = replace(HALF, supports=(0.9, 0.7), citation_precision=0.5)
    low, high = support_bins([half_gold, replace(HALF, supports=(0.84,)), replace(HALF, supports=(0.3,), citation_precision=0.0)])
    assert (low.share, low.citations) == (0.0, 1)
    assert (round(high.support, 3), round(high.share, 3), high.citations) == (0.813, 0.667, 3)


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        pytest.param(RIGHT, "", id="facts shown"),
        pytest.param(HALF, "facts not shown", id="facts missing"),
        pytest.param(replace(HALF, status="silent"), "refused, should be answered", id="refused"),
        pytest.param(REFUSED, "", id="rightly refused"),
        pytest.param(replace(REFUSED, status="silent"), "", id="another refusal"),
        pytest.param(replace(REFUSED, status="answered"), "answered, should be refused", id="not refused"),
        pytest.param(replace(REFUSED, status="crashed", error="E: x"), "crashed", id="crashed"),
    ],
)
def test_a_failure_has_a_kind(row: Row, kind: str) -> None:
    assert failure(row) == kind


def test_only_failed_questions_have_a_section(page: str) -> None:
    assert re.findall(r'<section class="page" id="([^"]*)"', page) == ["failed-speed/1"]


def test_a_failed_question_shows_what_was_wanted_and_what_was_given(page: str) -> None:
    seen = text_of(page[page.index('<section class="page"') :])
    for part in (
        "speed/1 dialogue expected: answered",
        "Earlier turn What is Zebra & co? A painter.",
        "Gold papers Zebra <b>stripes</b>",
        "Labelled evidence Zebra is 3.5 times faster than Okapi. It has 2 hooves.",
        "facts not shown , status given: answered",
        "Key facts 3.5 times shown 2 hooves missing",
        "Answer Zebra [1] Zebra is 3.5 times faster than Okapi. [1]",
        "Notices Only <half>.",
        "Hits Okapi ranks antelopes Zebra <b>stripes</b> gold cited [1]",
    ):
        assert part in seen


def test_a_question_is_shown_once_and_names_the_run_that_failed(pages: str) -> None:
    assert pages.count('<section class="page"') == 1
    assert "dialogue 1 of 1 How fast is <Zebra>? facts not shown (quotes)" in text_of(pages)
    assert "other: right , status given: answered" in text_of(pages)


def test_a_fact_in_an_escaped_quote_is_shown_and_one_in_a_title_is_not() -> None:
    row = replace(HALF, text="**About \\$k\\$** [1]\n\n> We use \\$O\\(n\\_2\\)\\$ steps. [1]")
    assert is_shown("$O(n_2)$  steps", row)
    assert not is_shown("About $k$", row)
