"""Browsing a collection: what is found by which words, in which order, on which page; what can be chosen; which papers are alike."""

import gc
import time
import weakref
from typing import Any

import numpy as np
import pytest

from rag import Assistant
from rag.browse import Catalogue, Listing, SortColumn, catalogue_of, choices, listing, similar
from rag.filters import PaperFilter, folded
from rag.papers import Paper
from tests.conftest import HERON, OKAPI, ZEBRA


def paper(number: int, **fields: Any) -> Paper:
    return Paper(**({"id": f"{number:016x}", "title": f"Paper {number}", "abstract": f"Abstract {number}."} | fields))


BIRDS = paper(1, title="Écoute des hérons", authors=("Zoë Müller",), year=2021, venue="Birds", sources=("b.txt#10",))
CATS = paper(2, title="apes and cats", authors=("José García",), venue="Animals", sources=("b.txt#2", "c.txt#1"))
DOGS = paper(3, title="Dogs", abstract="They bark at CATS.", year=1999, sources=("a.txt#1",))
PAPERS = (BIRDS, CATS, DOGS)


def found(query: str = "", **options: Any) -> list[Paper]:
    return list(listing(Catalogue(PAPERS), query=query, **options).rows)


@pytest.mark.parametrize(
    ("query", "papers"),
    [
        pytest.param("", [CATS, DOGS, BIRDS], id="no words"),
        pytest.param("  \n", [CATS, DOGS, BIRDS], id="only spaces"),
        pytest.param("ECOUTE herons", [BIRDS], id="title, other case, no accents"),
        pytest.param("écoute", [BIRDS], id="title with accents"),
        pytest.param("e\u0301coute", [BIRDS], id="accents written apart"),
        pytest.param("muller zoe", [BIRDS], id="author, other order"),
        pytest.param("birds", [BIRDS], id="venue"),
        pytest.param("cats", [CATS, DOGS], id="title and abstract"),
        pytest.param("cats bark", [DOGS], id="every word counts"),
        pytest.param("ｄｏｇｓ", [DOGS], id="full-width letters"),
        pytest.param("müllerjosé", [], id="words do not run over from one paper to another"),
        pytest.param("<script>", [], id="HTML"),
        pytest.param("(a+)+$ \\", [], id="patterns are plain text"),
        pytest.param("x" * 100_000, [], id="a very long query"),
        pytest.param("\ud800", [], id="a lone surrogate"),
    ],
)
def test_papers_are_found_by_all_their_words(query: str, papers: list[Paper]) -> None:
    assert found(query) == papers


@pytest.mark.parametrize(
    ("sort", "descending", "papers"),
    [
        pytest.param("title", False, [CATS, DOGS, BIRDS], id="title: neither case nor accents count"),
        pytest.param("title", True, [BIRDS, DOGS, CATS], id="title, descending"),
        pytest.param("year", False, [DOGS, BIRDS, CATS], id="year: none comes last"),
        pytest.param("year", True, [BIRDS, DOGS, CATS], id="year, descending: none comes last too"),
        pytest.param("venue", False, [CATS, BIRDS, DOGS], id="venue"),
        pytest.param("source", False, [DOGS, CATS, BIRDS], id="source: the second before the tenth"),
    ],
)
def test_papers_are_sorted(sort: SortColumn, descending: bool, papers: list[Paper]) -> None:
    assert found(sort=sort, descending=descending) == papers


@pytest.mark.parametrize("descending", [False, True])
def test_ties_keep_the_order_of_the_collection(descending: bool) -> None:
    papers = [paper(number, year=2020 + number % 2) for number in range(10)]
    rows = listing(Catalogue(papers), sort="year", descending=descending).rows
    assert list(rows) == sorted(papers, key=lambda one: (one.year or 0) * (-1 if descending else 1))


def test_a_query_and_a_filter_hold_together() -> None:
    assert found("cats", filter=PaperFilter(first_year=1990)) == [DOGS]
    assert found("cats", filter=PaperFilter(venues=frozenset({"Birds"}))) == []


@pytest.mark.parametrize(
    ("page", "shown", "titles"), [(1, 1, ["a", "b"]), (3, 3, ["e"]), (9, 3, ["e"]), (0, 1, ["a", "b"]), (-5, 1, ["a", "b"])]
)
def test_a_listing_is_cut_into_pages_and_a_page_beyond_the_last_is_the_last(page: int, shown: int, titles: list[str]) -> None:
    page_of = listing(Catalogue([paper(n, title=title) for n, title in enumerate("ecadb")]), page=page, per_page=2)
    assert ([one.title for one in page_of.rows], page_of.page, page_of.pages, page_of.total) == (titles, shown, 3, 5)


def test_an_empty_collection_has_one_empty_page() -> None:
    assert listing(Catalogue(()), query="x", sort="year", page=7) == Listing((), 0, 1, 1)


def test_a_page_holds_at_least_one_paper() -> None:
    with pytest.raises(ValueError, match="per_page is 0"):
        listing(Catalogue(PAPERS), per_page=0)


def test_choices_are_what_the_papers_have() -> None:
    chosen = choices(PAPERS)
    assert chosen.venues == ("Animals", "Birds")
    assert (chosen.first_year, chosen.last_year) == (1999, 2021)
    assert chosen.files == ("a.txt", "b.txt", "c.txt")
    assert chosen.has_authors
    assert choices((paper(1),)).first_year is None


def test_a_catalogue_lives_as_long_as_its_index(small_assistant: Assistant) -> None:
    index = small_assistant.index
    catalogue = catalogue_of(index)
    assert catalogue_of(index) is catalogue
    gone = weakref.ref(catalogue)
    del catalogue, index, small_assistant._serving
    gc.collect()
    assert gone() is None


def test_a_hundred_thousand_papers_are_listed_at_once() -> None:
    text = "Herons stand still in water, and nobody knows why the résumé says so. " * 18
    papers = [
        paper(n, title=f"Paper {n}", abstract=f"{text} {n}", year=1990 + n % 30, sources=(f"f{n % 9}.txt#{n}",))
        for n in range(100_000)
    ]
    catalogue = Catalogue(papers)
    listing(catalogue, query="warm")
    started = time.perf_counter()
    page = listing(catalogue, query="resume 99999", filter=PaperFilter(first_year=1990))
    seconds = time.perf_counter() - started
    assert [one.title for one in page.rows] == ["Paper 99999"]
    assert seconds < 2  # 0.1 s on an idle core


def test_similar_papers_are_the_nearest_by_their_vectors_without_the_paper_itself(small_assistant: Assistant) -> None:
    index = small_assistant.index
    id_of = {one.abstract: one.id for one in index.papers}
    for abstract in (ZEBRA, OKAPI, HERON):
        own = index.row_of[id_of[abstract]]
        expected = {row: float(index.vectors.vector(row) @ index.vectors.vector(own)) for row in range(3) if row != own}
        near = similar(index, id_of[abstract])
        assert [index.row_of[one.id] for one, _ in near] == sorted(expected, key=lambda row: -expected[row])
        assert [score for _, score in near] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-3)
        assert similar(index, id_of[abstract], k=1) == near[:1]
    assert np.all([0 <= score <= 1 for _, score in near])


def test_an_unknown_paper_is_like_none(small_assistant: Assistant) -> None:
    with pytest.raises(KeyError):
        similar(small_assistant.index, "no such id")


@pytest.mark.parametrize(
    ("text", "same"), [("Straße", "STRASSE"), ("Ångström", "angstrom"), ("İ", "i"), ("ﬁne", "fine"), ("が", "が")]
)
def test_one_text_in_two_spellings_folds_to_one(text: str, same: str) -> None:
    assert folded(text) == folded(same)
