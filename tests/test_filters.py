"""Filters: which papers they take, that search and answers keep to them exactly, and that one from a browser is never trusted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Assistant, Settings, Turn
from rag.coefficients import Coefficients
from rag.columns import PaperColumns
from rag.filters import PaperFilter, files_of
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.papers import Paper
from rag.web.papers_view import View, after_action, filter_as_data, filter_from, view_from
from tests.conftest import OKAPI, ZEBRA, WordCountEmbedder
from vectorstore.generations import GenerationFolder

HEADS = {
    "old.txt": "Animal Papers 1999",
    "new.txt": "Animal Papers 2021",
    "more/new.txt": "Plant Papers 2021",
    "none.txt": "Stone Papers",
}
KINDS = ("zebra", "okapi", "heron", "moss", "fern", "quartz")
QUESTIONS = ("How fast is the zebra method?", "okapi", "What measures moss and fern?", "quartz accuracy")


@pytest.fixture
def assistant(tmp_path: Path, embedder: WordCountEmbedder) -> Assistant:
    """24 papers in four files, of two years, one year and none."""
    for place, (name, head) in enumerate(HEADS.items()):
        path = tmp_path / "abstracts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        abstracts = [
            f"The {kind} method number {place} is {place + 2} times faster than the {other} one. It measures {kind}s and is exact."
            for kind, other in zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)
        ]
        path.write_text("\n\n".join([head, *abstracts]) + "\n", encoding="utf-8")
    settings = Settings(store=str(tmp_path / "store"), sources=(str(tmp_path / "abstracts"),))
    build_index(settings, embedder)
    return Assistant(settings, embedder, PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())


FILTERS = [
    pytest.param(PaperFilter(), 24, id="none"),
    pytest.param(PaperFilter(first_year=2000), 12, id="from a year: papers without one are out"),
    pytest.param(PaperFilter(last_year=2000), 6, id="up to a year"),
    pytest.param(PaperFilter(first_year=1999, last_year=2021), 18, id="between two years"),
    pytest.param(PaperFilter(first_year=2021, last_year=1999), 0, id="years the wrong way round"),
    pytest.param(PaperFilter(venues=frozenset({"Animal Papers"})), 12, id="a venue"),
    pytest.param(PaperFilter(venues=frozenset({"Animal Papers", "Plant Papers"})), 18, id="two venues"),
    pytest.param(PaperFilter(venues=frozenset({"Animal Papers"}), first_year=2000), 6, id="a venue and a year"),
    pytest.param(PaperFilter(files=frozenset({"new.txt"})), 6, id="a file, not its namesake in a folder"),
    pytest.param(PaperFilter(files=frozenset({"more/new.txt", "old.txt"})), 12, id="two files"),
    pytest.param(PaperFilter(files=frozenset({"new.txt"}), venues=frozenset({"Plant Papers"})), 0, id="a file and a venue at odds"),
    pytest.param(PaperFilter(ids=frozenset({"0" * 16})), 0, id="an unknown paper"),
]


def meets(paper: Paper, filter: PaperFilter) -> bool:
    """The definition, said another way."""
    if filter.first_year is not None and (paper.year is None or paper.year < filter.first_year):
        return False
    if filter.last_year is not None and (paper.year is None or paper.year > filter.last_year):
        return False
    if filter.venues and paper.venue not in filter.venues:
        return False
    if filter.files and not any(source.split("#")[0] in filter.files for source in paper.sources):
        return False
    return not filter.ids or paper.id in filter.ids


@pytest.fixture(scope="module")
def alone() -> dict[tuple[str, str], float]:
    """The score of each paper for each question when it is asked alone; the score of a hit depends on no other paper."""
    return {}


def score_alone(alone: dict[tuple[str, str], float], assistant: Assistant, question: str, paper: Paper) -> float:
    """As exact as can be: no candidates are proposed, nothing is cut."""
    key = (question, paper.id)
    if key not in alone:
        (only,) = assistant.search(question, papers=PaperFilter(ids=frozenset({paper.id})))
        alone[key] = only.score
    return alone[key]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("filter", "count"), FILTERS)
def test_search_finds_the_best_of_just_those_that_meet_the_filter(
    assistant: Assistant, alone: dict[tuple[str, str], float], filter: PaperFilter, count: int, question: str
) -> None:
    taken = [paper for paper in assistant.papers if meets(paper, filter)]
    assert len(taken) == count
    assert [assistant.papers[row] for row in filter.rows(assistant.papers)] == taken
    exact = {paper.id: score_alone(alone, assistant, question, paper) for paper in taken}
    for k in (1, 5, 24):
        hits = assistant.search(question, k=k, papers=filter)
        assert [hit.score for hit in hits] == pytest.approx(sorted(exact.values(), reverse=True)[:k], abs=2e-3)
        assert [hit.score for hit in hits] == pytest.approx([exact[hit.paper.id] for hit in hits], abs=2e-3)


def test_an_answer_rests_on_the_pinned_paper_alone(assistant: Assistant) -> None:
    for paper in assistant.papers[::4]:
        answer = assistant.ask(
            "How much faster is the method, and what does it measure?", papers=PaperFilter(ids=frozenset({paper.id}))
        )
        assert {hit.paper.id for hit in answer.hits} == {paper.id}
        assert {citation.paper.id for citation in answer.citations} <= {paper.id}


def test_an_answer_honours_a_filter(assistant: Assistant) -> None:
    answer = assistant.ask("How fast is the zebra method?", papers=PaperFilter(files=frozenset({"old.txt"})))
    assert answer.hits
    assert all(files_of(hit.paper) == ("old.txt",) for hit in answer.hits)
    assert all(files_of(citation.paper) == ("old.txt",) for citation in answer.citations)


def test_a_filter_that_leaves_nothing_finds_nothing(small_assistant: Assistant) -> None:
    nothing = PaperFilter(venues=frozenset({"no such venue"}))
    assert small_assistant.search("zebra", papers=nothing) == []
    answer = small_assistant.ask("What is Zebra?", papers=nothing)
    assert (answer.status, answer.hits, answer.citations) == ("not_found", (), ())


def test_an_empty_filter_changes_nothing(small_assistant: Assistant) -> None:
    assert small_assistant.search("What is Zebra?", papers=PaperFilter()) == small_assistant.search("What is Zebra?")


def test_a_paper_in_two_files_is_in_both() -> None:
    paper = Paper(id="1", title="", abstract="", sources=("a#b.txt#3", "c.txt#1", "a#b.txt#9"))
    assert files_of(paper) == ("a#b.txt", "c.txt")
    assert all(PaperFilter(files=frozenset({name})).takes(paper) for name in ("a#b.txt", "c.txt"))


PEOPLE = (
    Paper("1", "Graphs and Éclairs", "", ("Hinton, Geoffrey E.", "Zoë Müller"), 2019, "ICML", (), ("a.txt#1",)),
    Paper("2", "Neural graphs", "", ("Anh Hintonsson",), 2021, "Icml", (), ("b.txt#1", "A.txt#2")),
    Paper("3", "Nothing known", "", sources=("c.txt#1",)),
    Paper("4", "Trees\nand more", "", ("G. Hinton",), -3, "ACL", (), ("b.txt#2",)),
)


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        pytest.param(PaperFilter(venues=frozenset({"icml"})), "12", id="a venue in any case"),
        pytest.param(PaperFilter(files=frozenset({"a.TXT"})), "12", id="a file in any case"),
        pytest.param(PaperFilter(authors=frozenset({"hinton"})), "14", id="a surname, not what begins with it"),
        pytest.param(PaperFilter(authors=frozenset({"Geoffrey Hinton"})), "1", id="a name in another order"),
        pytest.param(PaperFilter(authors=frozenset({"G. Hinton"})), "14", id="an initial stands for a name"),
        pytest.param(PaperFilter(authors=frozenset({"muller"})), "1", id="an author without the accents"),
        pytest.param(PaperFilter(authors=frozenset({"Müller", "hintonsson"})), "12", id="either of two authors"),
        pytest.param(PaperFilter(authors=frozenset({"Zoë Hinton"})), "", id="the words of two authors"),
        pytest.param(PaperFilter(authors=frozenset({"?"})), "", id="an author without a word"),
        pytest.param(PaperFilter(years=frozenset({2019, -3})), "14", id="either of two years"),
        pytest.param(PaperFilter(first_year=-5), "124", id="papers without a year are in no time"),
        pytest.param(PaperFilter(without_years=frozenset({2019})), "234", id="no year is not the year excluded"),
        pytest.param(PaperFilter(without_venues=frozenset({"ICML"})), "34", id="a venue excluded"),
        pytest.param(PaperFilter(without_authors=frozenset({"Hinton"})), "23", id="an author excluded"),
        pytest.param(PaperFilter(without_files=frozenset({"b.txt"})), "13", id="a file excluded, with what is in another too"),
        pytest.param(PaperFilter(title_words=frozenset({"GRAPHS", "eclair"})), "1", id="all words of the title"),
        pytest.param(PaperFilter(title_words=frozenset({"graphs\nnothing"})), "", id="a word does not run over to the next title"),
        pytest.param(PaperFilter(title_words=frozenset({"trees\nand"})), "4", id="a title of two lines"),
        pytest.param(PaperFilter(venues=frozenset({"icml"}), without_years=frozenset({2019})), "2", id="two conditions"),
    ],
)
def test_a_paper_and_the_columns_agree_on_what_a_filter_takes(filter: PaperFilter, ids: str) -> None:
    assert "".join(paper.id for paper in PEOPLE if filter.takes(paper)) == ids
    assert "".join(PEOPLE[row].id for row in PaperColumns.of(PEOPLE).rows(filter)) == ids


@given(data=st.data())
def test_columns_take_just_what_the_filter_takes(data: st.DataObject) -> None:
    names = st.frozensets(st.sampled_from(["icml", "ACL", "Hinton", "G.", "Zoë", "a.txt", "B.TXT", "", "e"]), max_size=2)
    years = st.frozensets(st.sampled_from([2019, 2021, -3, 7]), max_size=2)
    bound = st.none() | st.integers(-5, 2025)
    filter = PaperFilter(
        venues=data.draw(names), files=data.draw(names), authors=data.draw(names), title_words=data.draw(names),
        without_venues=data.draw(names), without_files=data.draw(names), without_authors=data.draw(names),
        years=data.draw(years), without_years=data.draw(years), first_year=data.draw(bound), last_year=data.draw(bound),
        ids=data.draw(st.frozensets(st.sampled_from("1234x"), max_size=3)),
    )  # fmt: skip
    assert PaperColumns.of(PEOPLE).rows(filter).tolist() == filter.rows(PEOPLE).tolist()


def test_no_papers_have_columns_too() -> None:
    columns, everything = PaperColumns.of(()), PaperFilter(frozenset({"x"}), title_words=frozenset({"x"}))
    assert columns.rows(everything).tolist() == []
    assert columns.notices(everything) == ("No paper has the venue x. There is none like it.",)


def test_a_name_that_no_paper_has_is_told_with_the_nearest_that_there_are() -> None:
    columns = PaperColumns.of([*PEOPLE, *(Paper(f"v{n}", "", "", venue=f"Workshop {n}") for n in range(9))])
    asked = PaperFilter(venues=frozenset({"ICLM", "acl"}), authors=frozenset({"Hintonson"}), files=frozenset({"b"}))
    assert columns.notices(asked) == (
        "No paper has the venue ICLM. There are: ICML (2) and others.",
        "No paper has the author Hintonson. There are: Hinton, Geoffrey E. (1), Anh Hintonsson (1), G. Hinton (1) and others.",
        "No paper has the file b. There are: b.txt (2) and others.",
    )
    assert columns.notices(PaperFilter(authors=frozenset({"Qqq"}))) == ("No paper has the author Qqq. There is none like it.",)
    assert columns.notices(PaperFilter(venues=frozenset({"Icml"}), without_venues=frozenset({"none"}))) == ()


def test_an_answer_tells_of_a_venue_that_no_paper_has(small_assistant: Assistant) -> None:
    answer = small_assistant.ask("What is Zebra?", papers=PaperFilter(venues=frozenset({"Animal Paper"})))
    assert (answer.status, answer.hits) == ("not_found", ())
    assert answer.notices[0] == "No paper has the venue Animal Paper. There are: Animal Papers (3)."


# --- filters and views as plain data ----------------------------------------------------------------------------------------

FULL = PaperFilter(frozenset({"ICML"}), 2020, 2024, frozenset({"a.txt"}), frozenset({"0123456789abcdef"}), frozenset({"Hinton"}))


@pytest.mark.parametrize("filter", [PaperFilter(), FULL])
def test_a_filter_comes_back_from_plain_data_as_it_was(filter: PaperFilter) -> None:
    assert filter_from(filter_as_data(filter)) == filter


@pytest.mark.parametrize(
    "data",
    [
        None, "x", 3, [], {"venues": "ICML"}, {"venues": [3, None, "", "x" * 501, ["y"]]}, {"first_year": "2020"}, {"first_year": True},
        {"last_year": float("nan")}, {"first_year": float("inf")}, {"first_year": 10**400}, {"last_year": 20},
        {"ids": ["<b>", "0123456789ABCDEF", "0123456789abcdef\n"]},
        {"files": {"a": 1}}, {"other": 1},
    ],
)  # fmt: skip
def test_what_is_no_filter_filters_nothing(data: object) -> None:
    assert filter_from(data) == PaperFilter()


def test_an_endless_list_is_cut() -> None:
    assert len(filter_from({"venues": [str(n) for n in range(100_000)]}).venues) == 1000


@pytest.mark.parametrize(
    "data", [None, [], {"sort": "abstract", "page": "-3", "paper": "../x", "descending": "yes", "query": 3}, {"page": 1.5}]
)
def test_what_is_no_view_is_the_first_one(data: object) -> None:
    assert view_from(data) == View()


# --- clicks -----------------------------------------------------------------------------------------------------------------

SHELF = {f"{n:016x}": Paper(f"{n:016x}", f"Paper {n}", f"Abstract {n}.", year=2000 + n) for n in range(4)}
ONE, TWO = list(SHELF)[1:3]
NO_FILTER, FIRST_VIEW = PaperFilter(), View()


def clicked(action: dict[str, Any], view: View = FIRST_VIEW, filter: PaperFilter = NO_FILTER) -> tuple[View, PaperFilter]:
    return after_action(action, view, filter, SHELF.get)


def test_a_second_click_on_a_column_turns_its_order_round() -> None:
    once, _ = clicked({"action": "sort", "column": "year"}, View(page=4))
    assert once == View(sort="year")
    assert clicked({"action": "sort", "column": "year"}, once)[0] == View(sort="year", descending=True)


def test_a_paper_opens_is_compared_and_closes() -> None:
    opened, _ = clicked({"action": "paper", "paper": ONE}, View(page=2))
    assert opened == View(page=2, paper=ONE)
    compared, _ = clicked({"action": "similar", "paper": ONE}, opened)
    assert compared.is_comparing
    assert clicked({"action": "list"}, compared)[0] == View(page=2)


def test_papers_are_pinned_added_and_taken_away() -> None:
    pinned = clicked({"action": "pin", "paper": ONE})[1]
    assert pinned.ids == {ONE}
    added = clicked({"action": "add", "paper": TWO}, filter=pinned)[1]
    assert added.ids == {ONE, TWO}
    assert clicked({"action": "pin", "paper": TWO}, filter=added)[1].ids == {TWO}
    assert clicked({"action": "unpin", "paper": ONE}, filter=added)[1].ids == {TWO}
    assert clicked({"action": "clear-filters"}, filter=added)[1].is_empty


def test_pinning_a_paper_that_the_filter_leaves_out_lets_go_of_the_filter() -> None:
    since = PaperFilter(first_year=2002)
    assert clicked({"action": "pin", "paper": TWO}, filter=since)[1] == PaperFilter(first_year=2002, ids=frozenset({TWO}))
    assert clicked({"action": "pin", "paper": ONE}, filter=since)[1] == PaperFilter(ids=frozenset({ONE}))


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": "drop"},
        {"action": "pin"},
        {"action": "pin", "paper": "f" * 16},
        {"action": "paper", "paper": ["x"]},
        {"action": "sort", "column": "id"},
        {"action": ["pin"], "paper": ONE},
        {"action": "page", "page": "x"},
    ],
)
def test_a_click_that_makes_no_sense_changes_nothing(action: dict[str, Any]) -> None:
    assert clicked(action, filter=FULL) == (View(), FULL)


def test_the_small_collection_is_filtered_by_what_the_reader_found(small_assistant: Assistant) -> None:
    by_abstract = {paper.abstract: paper for paper in small_assistant.papers}
    rows = PaperFilter(ids=frozenset({by_abstract[ZEBRA].id, by_abstract[OKAPI].id})).rows(small_assistant.papers)
    assert np.array_equal(rows, [0, 1])


def test_a_question_that_points_back_is_about_the_one_paper_it_is_limited_to(small_assistant: Assistant) -> None:
    zebra = next(paper for paper in small_assistant.papers if paper.abstract == ZEBRA)
    answer = small_assistant.ask("How fast is it?", papers=PaperFilter(ids=frozenset({zebra.id})))
    assert answer.standalone_question == "Zebra: How fast is it?"
    assert (
        small_assistant.ask("How fast is it?", papers=PaperFilter(venues=frozenset({zebra.venue}))).standalone_question
        == "How fast is it?"
    )


def test_a_pinned_paper_leads_though_another_was_in_play(small_assistant: Assistant) -> None:
    zebra = next(paper for paper in small_assistant.papers if paper.abstract == ZEBRA)
    history = [Turn("What is Okapi?", "**Okapi** [1]\n\n> Okapi is a neural ranker. [1]")]
    answer = small_assistant.ask("How fast is it?", history, papers=PaperFilter(ids=frozenset({zebra.id})))
    assert answer.standalone_question == "Zebra: How fast is it?"
    history.append(Turn("How fast is it?", "**Zebra** [1]\n\n> Zebra is fast. [1]"))
    again = small_assistant.ask("And on mobile?", history, papers=PaperFilter(ids=frozenset({zebra.id})))
    assert again.standalone_question == "Zebra: How fast is it? And on mobile?"
