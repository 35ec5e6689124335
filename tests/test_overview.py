"""The map of a collection: places, clusters and labels, and the cache of them."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rag.assistant import Assistant
from rag.index import PaperIndex
from rag.overview import Overview, overview
from rag.papers import Paper
from rag.topics import topic_labels
from vectorstore.lexical import stem

GRAPHS = [
    f"We study graph neural networks on {place}. Graph neural networks pass messages." for place in ("molecules", "roads", "webs")
]
BITS = [f"The quantization of {thing} is cheap. We prove a bound for quantization." for thing in ("weights", "caches", "keys")]


def an_index(
    vectors: np.ndarray, abstracts: list[str] | None = None, *, generation: str = "20260101-000000-abcdefgh"
) -> PaperIndex:
    """An index as far as a map needs one."""
    texts = abstracts or [f"Paper about subject{row}." for row in range(len(vectors))]
    papers = tuple(Paper(id=f"{row:016x}", title=f"Title {row}", abstract=text) for row, text in enumerate(texts))
    matrix = SimpleNamespace(all_vectors=lambda: np.asarray(vectors, np.float32))
    rows = {paper.id: row for row, paper in enumerate(papers)}
    return cast(PaperIndex, SimpleNamespace(papers=papers, vectors=matrix, generation=Path(generation), row_of=rows))


def some_vectors(count: int) -> np.ndarray:
    vectors = np.random.default_rng(3).normal(size=(count, 16))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def is_whole(made: Overview, papers: int) -> bool:
    return (
        made.points.shape == (papers, 2)
        and bool(np.all((made.points >= 0) & (made.points <= 1)))
        and sum(made.counts) == papers
        and all(made.counts)
        and all(made.labels)
        and len(set(made.labels)) == len(made.labels)
    )


@pytest.mark.parametrize("papers", [0, 1, 2, 3, 4, 5, 40])
def test_a_collection_of_any_size_has_a_map(papers: int) -> None:
    assert is_whole(overview(an_index(some_vectors(papers))), papers)


@pytest.mark.parametrize("papers", [2, 5, 50])
def test_papers_of_one_vector_are_parted(papers: int) -> None:
    made = overview(an_index(np.tile(some_vectors(1), (papers, 1))))
    assert is_whole(made, papers)
    assert len(np.unique(made.points, axis=0)) == papers


def test_some_papers_of_one_vector_among_others_are_parted() -> None:
    made = overview(an_index(np.concatenate([some_vectors(9), some_vectors(9)[:2]])))
    assert is_whole(made, 11)
    assert len(np.unique(made.points, axis=0)) == 11


def test_a_large_collection_is_laid_out_by_its_main_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.overview.MOST_PAPERS_FOR_TSNE", 10)
    vectors = np.zeros((20, 16), np.float32)
    vectors[:, 0] = np.linspace(-1, 1, 20)
    points = overview(an_index(vectors)).points
    assert np.allclose(np.abs(np.diff(points[:, 0])), 1 / 19, atol=1e-4)
    assert np.allclose(points[:, 1], 0.5)


def test_the_same_collection_gives_the_same_map() -> None:
    first, second = (overview(an_index(some_vectors(40))) for _ in range(2))
    assert np.array_equal(first.points, second.points)
    assert np.array_equal(first.clusters, second.clusters)
    assert first.labels == second.labels


def test_clusters_are_numbered_by_size() -> None:
    counts = overview(an_index(some_vectors(40))).counts
    assert list(counts) == sorted(counts, reverse=True)


def test_clusters_follow_the_vectors_and_are_named_by_their_words() -> None:
    vectors = np.eye(16, dtype=np.float32)[[0, 0, 0, 1, 1, 1]] + some_vectors(6) * 0.05
    made = overview(an_index(vectors, [*GRAPHS, *BITS]))
    assert made.clusters.tolist() == [0, 0, 0, 1, 1, 1]
    assert [label.split(", ")[0].lower() for label in made.labels] == ["graph neural networks", "quantization"]


def test_a_label_holds_no_generic_word_and_no_word_of_another_label() -> None:
    labels = topic_labels([GRAPHS, BITS])
    words = [set(re.findall(r"\w+", label.lower())) for label in labels]
    assert not words[0] & words[1]
    assert not (words[0] | words[1]) & {"we", "study", "prove", "that", "on"}


@pytest.mark.parametrize("texts", [[["", ""], [""]], [["We propose a novel method."]], [["$x^2$ 12 34"], ["!!!"]]])
def test_texts_without_a_telling_phrase_are_numbered(texts: list[list[str]]) -> None:
    assert topic_labels(texts) == tuple(f"Group {number}" for number in range(1, len(texts) + 1))


def test_a_map_is_computed_once_per_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = an_index(some_vectors(12))
    made = overview(index, cache_folder=tmp_path / "maps")
    monkeypatch.setattr("rag.overview._computed", lambda _: pytest.fail("computed again"))
    cached = overview(index, cache_folder=tmp_path / "maps")
    assert np.array_equal(cached.points, made.points)
    assert np.array_equal(cached.clusters, made.clusters)
    assert cached.labels == made.labels
    assert [path.name for path in (tmp_path / "maps").iterdir()] == ["overview-20260101-000000-abcdefgh.npz"]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 torn", b"no archive", None], ids=["empty", "torn", "foreign", "cut"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    index = an_index(some_vectors(12))
    made = overview(index, cache_folder=tmp_path)
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    assert np.array_equal(overview(index, cache_folder=tmp_path).points, made.points)
    assert len(path.read_bytes()) > 200


def test_a_cache_of_other_papers_is_made_anew(tmp_path: Path) -> None:
    overview(an_index(some_vectors(12)), cache_folder=tmp_path)
    assert is_whole(overview(an_index(some_vectors(13)), cache_folder=tmp_path), 13)


def test_a_cache_that_does_not_fit_its_papers_is_made_anew(tmp_path: Path) -> None:
    index = an_index(some_vectors(12))
    overview(index, cache_folder=tmp_path)
    path = next(tmp_path.iterdir())
    with np.load(path) as arrays:
        changed: dict[str, Any] = dict(arrays) | {"clusters": np.full(12, 7, np.int16)}
    np.savez(path, **changed)
    assert is_whole(overview(index, cache_folder=tmp_path), 12)


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_whole(overview(an_index(some_vectors(5)), cache_folder=tmp_path / "file"), 5)


@pytest.mark.slow
def test_the_seeds_are_named_in_their_own_words(seed_assistant: Assistant) -> None:
    made = overview(seed_assistant.index)
    assert is_whole(made, len(seed_assistant.index.papers))
    for cluster, label in enumerate(made.labels):
        assert not label.startswith("Group ")
        members = zip(seed_assistant.index.papers, made.clusters, strict=True)
        text = " ".join(paper.abstract.lower() for paper, number in members if number == cluster)
        stems = {stem(word) for word in re.findall(r"[\w-]+", text)} | {stem(word) for word in re.findall(r"\w+", text)}
        assert {stem(word) for word in re.findall(r"[\w-]+", label.lower())} <= stems
