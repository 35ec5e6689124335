import logging
from pathlib import Path

import numpy as np
import pytest

from rag.text import searchable
from tests.conftest import lexical_of
from vectorstore.lexical import STOPWORDS, LexicalIndex, terms

ROWS = ["Zebras paint stripes on graphs", "Herons wait", "Graphs of graphs with 4-bit stripes", "the of and"]


@pytest.fixture
def index() -> LexicalIndex:
    return lexical_of([terms(row) for row in ROWS])


# --- terms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("4-bit", ["4", "bit", "4bit"], id="4-bit"),
        pytest.param("4bit", ["4", "bit", "4bit"], id="4bit"),
        pytest.param("4 bit", ["4", "bit"], id="4 bit"),
        pytest.param("2.6x", ["2.6", "2.6x"], id="factor"),
        pytest.param("82.24%", ["82.24", "82.24%"], id="percent"),
        pytest.param("0.4598", ["0.4598"], id="decimal"),
        pytest.param("GPT-3.5", ["gpt", "3.5", "gpt3.5"], id="name and decimal"),
        pytest.param("multi-scale", ["multi", "scale", "multiscal"], id="compound"),
        pytest.param("llm_uncertainty", ["llm", "uncertainti", "llmuncertainti"], id="underscore"),
        pytest.param("planning/reasoning", ["plan", "reason", "planningreason"], id="slash"),
        pytest.param("CaM's caches", ["cam", "cach"], id="possessive"),
        pytest.param("What is the KIVI of it?", ["kivi"], id="stop words"),
        pytest.param("Graph GRAPHS graph", ["graph", "graph", "graph"], id="case and number"),
        pytest.param("图聚类", ["图", "聚", "类"], id="Chinese"),
        pytest.param("", [], id="nothing"),
        pytest.param("?! -- ...", [], id="punctuation"),
        pytest.param("2,000 prompts", ["2000", "prompt"], id="thousands"),
        pytest.param("什么是KIVI?", ["什", "么", "是", "kivi"], id="name in Chinese"),
    ],
)
def test_text_is_cut_into_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        pytest.param("4-bit", "4bit", {"4", "bit", "4bit"}, id="joined"),
        pytest.param("4-bit", "4 bit", {"4", "bit"}, id="apart"),
        pytest.param("4bit", "4 bits", {"4", "bit"}, id="plural"),
        pytest.param("state-of-the-art", "state of the art", {"state", "art"}, id="compound"),
        pytest.param("multi-scale", "multiscale", {"multiscal"}, id="compound joined"),
        pytest.param("MathScale", "mathscale", {"mathscal"}, id="case"),
        pytest.param("Math-Scale", "MathScale", {"mathscal"}, id="name joined"),
        pytest.param("MathScale", "math scale", {"math", "scale"}, id="name apart"),
        pytest.param("1.3B", "1.3 billion", {"1.3"}, id="size"),
        pytest.param("4.67dB", "4.67 dB", {"4.67", "db"}, id="unit"),
    ],
)
def test_two_ways_of_writing_meet(one: str, other: str, shared: set[str]) -> None:
    assert set(terms(searchable(one))) & set(terms(searchable(other))) >= shared


def test_stop_words_are_lower_case_words() -> None:
    assert all(word == word.casefold() and terms(word) == [] for word in STOPWORDS)


# --- the index --------------------------------------------------------------------------------------------------------


def test_rows_that_hold_a_term_score_and_the_others_do_not(index: LexicalIndex) -> None:
    scores = index.scores(["graph"])
    assert scores[2] > scores[0] > 0
    assert scores[[1, 3]].tolist() == [0, 0]


def test_unknown_terms_score_nothing_and_disturb_nothing(index: LexicalIndex) -> None:
    assert index.scores(["okapi"]).tolist() == index.scores([]).tolist() == [0, 0, 0, 0]
    assert index.scores(["graph", "okapi"]).tolist() == index.scores(["graph"]).tolist()
    assert not index.knows("okapi")
    assert index.knows("graph")


def test_idf_falls_with_the_rows_that_hold_a_term(index: LexicalIndex) -> None:
    assert index.idf("okapi") == pytest.approx(np.log(1 + 4 / 0.5))
    assert index.idf("heron") == pytest.approx(np.log(1 + 4 / 1))
    assert index.idf("graph") == pytest.approx(np.log(1 + 4 / 2))


def test_coverage_is_the_share_of_the_query_by_idf(index: LexicalIndex) -> None:
    graph, heron = index.idf("graph"), index.idf("heron")
    total = graph + heron
    assert index.coverage(["graph", "heron"]).tolist() == pytest.approx([graph / total, heron / total, graph / total, 0])
    assert index.coverage(["graph", "stripe"]).tolist() == pytest.approx([1, 0, 1, 0])


def test_coverage_counts_a_repeated_term_once_and_unknown_ones_against(index: LexicalIndex) -> None:
    assert index.coverage(["graph", "graph"]).tolist() == [1, 0, 1, 0]
    graph, okapi = index.idf("graph"), index.idf("okapi")
    assert index.coverage(["graph", "okapi"])[0] == pytest.approx(graph / (graph + okapi))
    assert index.coverage([]).tolist() == index.coverage(["okapi"]).tolist() == [0, 0, 0, 0]


def test_no_term_asks_for_the_filling_of_empty_rows(index: LexicalIndex) -> None:
    assert terms("\0 a\0b") == ["b"]
    assert index.scores(terms("\0")).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("rows", [[], [[]], [[], []]], ids=["no row", "one empty row", "two empty rows"])
def test_collection_without_terms_answers_nothing(rows: list[list[str]], tmp_path: Path) -> None:
    built = lexical_of(rows)
    built.save(tmp_path / "lexical")
    for index in (built, LexicalIndex.load(tmp_path / "lexical", rows=len(rows))):
        assert index.scores(["graph"]).tolist() == index.coverage(["graph"]).tolist() == [0.0] * len(rows)
        assert index.idf("graph") > 0
        assert not index.knows("graph")


def test_saved_index_gives_the_same_figures(index: LexicalIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "new" / "lexical")
    loaded = LexicalIndex.load(tmp_path / "new" / "lexical", rows=len(ROWS))
    for query in (["graph"], ["graph", "heron", "okapi"], terms(ROWS[0]), []):
        assert loaded.scores(query).tolist() == index.scores(query).tolist()
        assert loaded.coverage(query).tolist() == index.coverage(query).tolist()
        assert [loaded.idf(term) for term in query] == [index.idf(term) for term in query]
    assert loaded.knows("heron")


def test_the_log_is_spared_every_step_of_bm25s(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        lexical_of([["zebra"], ["okapi"]])
    assert [record.name for record in caplog.records if record.name.startswith("bm25s")] == []
