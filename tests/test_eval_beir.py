"""BEIR folders: what is read, what is refused with its place, and what the figures mean."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from eval.beir import MEASURES, BeirResult, beir_table, papers_of, read_beir, retrieval_figures, run_beir
from rag.errors import SourceEmptyError, SourceError, SourceMissingError, SourceUnreadableError
from tests.conftest import HERON, OKAPI, ZEBRA, WordCountEmbedder

HEADER = "query-id\tcorpus-id\tscore\n"


@dataclass
class Folder:
    """A BEIR folder under construction."""

    path: Path
    documents: Sequence[dict[str, object]] = field(
        default_factory=lambda: [
            {"_id": "z", "title": "Stripes", "text": ZEBRA, "metadata": {}},
            {"_id": "o", "title": "Antelopes", "text": OKAPI},
            {"_id": "h", "title": "Patience", "text": HERON},
        ]
    )
    queries: Sequence[dict[str, object]] = ({"_id": "1", "text": "stripes on graphs"}, {"_id": "2", "text": "patience of herons"})
    qrels: str = HEADER + "1\tz\t1\n2\th\t1\n"

    def written(self) -> Path:
        (self.path / "qrels").mkdir()
        (self.path / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in self.documents), encoding="utf-8")
        (self.path / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in self.queries), encoding="utf-8")
        (self.path / "qrels" / "test.tsv").write_text(self.qrels, encoding="utf-8")
        return self.path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def run(path: Path, *, limit: int | None = None) -> BeirResult:
    return run_beir(path, limit=limit, embedder=WordCountEmbedder())


def means(result: BeirResult) -> dict[str, float]:
    return {name: one.mean for name, one in result.figures.items()}


def test_a_set_that_is_searched_perfectly_has_full_figures(folder: Folder) -> None:
    result = run(folder.written())
    assert means(result) == dict.fromkeys(MEASURES, 1.0)
    assert (result.documents, result.figures["R@1"].n, result.unfindable) == (3, 2, 0)


def test_a_title_is_searched_too(folder: Folder) -> None:
    folder.queries = [{"_id": "1", "text": "stripes"}, {"_id": "2", "text": "antelopes"}]
    folder.qrels = HEADER + "2\to\t1\n"
    assert means(run(folder.written()))["R@1"] == 1.0


def test_documents_of_one_text_all_keep_their_qrels(folder: Folder) -> None:
    folder.documents = [*folder.documents, {"_id": "twin", "title": "Patience", "text": HERON}]
    folder.qrels = HEADER + "2\ttwin\t1\n2\th\t1\n"
    result = run(folder.written())
    assert (means(result)["R@5"], means(result)["nDCG@10"]) == (1.0, 1.0)
    assert (result.documents, result.unfindable) == (4, 0)


def test_documents_of_one_text_under_two_titles_stay_apart(folder: Folder) -> None:
    folder.documents = [{"_id": "a", "title": "Patience", "text": HERON}, {"_id": "b", "title": "Waiting", "text": HERON}]
    papers = papers_of(read_beir(folder.written()).documents.values())
    assert [(paper.title, paper.sources, paper.has_given_title) for paper in papers] == [
        ("Patience", ("a",), True),
        ("Waiting", ("b",), True),
    ]


def test_a_document_without_a_title_gets_one_for_display_only(folder: Folder) -> None:
    folder.documents = [{"_id": "z", "text": ZEBRA}]
    (paper,) = papers_of(read_beir(folder.written()).documents.values())
    assert (paper.title, paper.has_given_title) == ("Zebra", False)


def test_a_document_with_a_title_alone_is_found_by_it(folder: Folder) -> None:
    folder.documents = [*folder.documents, {"_id": "t", "title": "Tapirs at dusk", "text": ""}]
    folder.queries = [{"_id": "1", "text": "tapirs"}]
    folder.qrels = HEADER + "1\tt\t1\n"
    assert means(run(folder.written()))["R@1"] == 1.0


@pytest.mark.parametrize(
    "document", [pytest.param([{"_id": "e", "text": " "}], id="empty"), pytest.param([], id="not in the corpus")]
)
def test_a_relevant_document_that_cannot_be_found_is_missed_and_reported(folder: Folder, document: list[dict[str, object]]) -> None:
    folder.documents = [*folder.documents, *document]
    folder.qrels = HEADER + "1\te\t1\n"
    result = run(folder.written())
    assert (means(result)["R@10"], result.unfindable) == (0.0, 1)
    assert "cannot be found: 1" in beir_table([result])


def test_a_query_that_cannot_be_searched_counts_as_zero(folder: Folder) -> None:
    folder.queries = [*folder.queries, {"_id": "3", "text": "???"}]
    folder.qrels += "3\tz\t1\n"
    assert means(run(folder.written()))["R@1"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_query_with_no_relevant_document_is_left_out(folder: Folder) -> None:
    folder.qrels += "1\to\t0\n2\to\t0\n"
    folder.queries = [*folder.queries, {"_id": "3", "text": "unjudged"}, {"_id": "4", "text": "judged irrelevant"}]
    folder.qrels += "4\to\t0\n"
    assert run(folder.written()).figures["MRR"].n == 2


def test_the_document_a_query_was_made_from_is_left_out(folder: Folder) -> None:
    folder.documents = folder.documents[:2]
    folder.queries = [{"_id": "z", "text": ZEBRA}]
    folder.qrels = HEADER + "z\to\t1\n"
    assert means(run(folder.written()))["R@1"] == 1.0


def test_the_limit_keeps_the_first_queries_and_the_whole_corpus(folder: Folder) -> None:
    result = run(folder.written(), limit=1)
    assert (result.documents, result.figures["R@1"].n) == (3, 1)


def test_gzipped_files_and_a_lone_qrels_file_are_read(folder: Folder) -> None:
    path = folder.written()
    for name in ("corpus.jsonl", "queries.jsonl"):
        (path / f"{name}.gz").write_bytes(gzip.compress((path / name).read_bytes()))
        (path / name).unlink()
    (path / "qrels" / "test.tsv").rename(path / "qrels.tsv")
    (path / "qrels").rmdir()
    assert len(read_beir(path).queries) == 2


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        pytest.param("corpus.jsonl", b'{"_id": "a", "text": "b"}\n{', "corpus.jsonl, line 2: Invalid JSON", id="torn JSON"),
        pytest.param("corpus.jsonl", b'\n{"_id": "a"}\n', "corpus.jsonl, line 2: text: ", id="no text"),
        pytest.param("corpus.jsonl", b'{"_id": 1, "text": "b"}\n', "corpus.jsonl, line 1: _id: ", id="a number for an id"),
        pytest.param("corpus.jsonl", b'{"_id": "a", "text": "\xff"}\n', "corpus.jsonl, line 1: ", id="no UTF-8"),
        pytest.param("queries.jsonl", b'{"_id": "1", "text": "b"}\n' * 2, "queries.jsonl, line 2: the _id '1'", id="an id twice"),
        pytest.param("qrels/test.tsv", b"1\tz\t1\n", "test.tsv, line 1: the header", id="no header"),
        pytest.param("qrels/test.tsv", HEADER.encode() + b"1 z 1\n", "test.tsv, line 2: ", id="no tabs"),
        pytest.param("qrels/test.tsv", HEADER.encode() + b"1\tz\thigh\n", "test.tsv, line 2: ", id="no number"),
        pytest.param("qrels/test.tsv", HEADER.encode() + b"9\tz\t1\n", "test.tsv, line 2: there is no query '9'", id="no query"),
    ],
)
def test_a_malformed_line_is_refused_with_its_place(folder: Folder, name: str, content: bytes, place: str) -> None:
    path = folder.written()
    (path / name).write_bytes(content)
    with pytest.raises(SourceUnreadableError) as caught:
        read_beir(path)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "content", [pytest.param(b"plain", id="no gzip"), pytest.param(gzip.compress(b"{}\n" * 99)[:-9], id="torn")]
)
def test_a_damaged_archive_is_refused_with_its_name(folder: Folder, content: bytes) -> None:
    path = folder.written()
    (path / "corpus.jsonl").unlink()
    (path / "corpus.jsonl.gz").write_bytes(content)
    with pytest.raises(SourceError, match=r"corpus\.jsonl\.gz, line 1"):
        read_beir(path)


def test_a_missing_split_is_told_with_those_that_are_there(folder: Folder) -> None:
    with pytest.raises(SourceMissingError, match=r"no qrels/dev\.tsv .*test\.tsv there"):
        read_beir(folder.written(), split="dev")


def test_a_set_without_relevant_documents_is_refused(folder: Folder) -> None:
    folder.qrels = HEADER + "1\tz\t0\n"
    with pytest.raises(SourceEmptyError, match=r"test\.tsv 0 queries"):
        read_beir(folder.written())


def test_recall_is_the_share_of_the_relevant_documents() -> None:
    figures = retrieval_figures({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x", "y", "z", "b"]})
    assert {name: one.mean for name, one in figures.items() if name != "nDCG@10"} == {"R@1": 0, "R@5": 0.5, "R@10": 1, "MRR": 0.5}


def test_a_query_without_a_ranking_counts_as_zero() -> None:
    figures = retrieval_figures({"q": {"a": 1}, "unanswered": {"a": 1}}, {"q": ["a"]})
    assert {name: (one.mean, one.n) for name, one in figures.items()} == dict.fromkeys(MEASURES, (0.5, 2))


def test_the_table_shows_every_measure_and_how_much_it_stands_for(folder: Folder) -> None:
    lines = beir_table([run(folder.written())]).splitlines()
    assert lines[0].split() == ["set", "documents", "queries", *MEASURES]
    assert lines[1].split()[1:3] == ["3", "2"]
    assert "embedder word counts" in lines[2]
