"""Chroma behind its one door: true upserts, cosine, and names for what goes wrong."""

import gc
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings
from tests.conftest import WordCountEmbedder
from vectorstore.encoded import Vector
from vectorstore.errors import StoreDamagedError
from vectorstore.generations import GenerationFolder
from vectorstore.store import VectorStore

Result = TypeVar("Result")


def vector(x: float, y: float) -> Vector:
    return np.array([x, y], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    """Three rows: east, north and north-west."""
    store = VectorStore.create(tmp_path / "chroma")
    vectors = np.stack([vector(1, 0), vector(0, 1), vector(-(0.5**0.5), 0.5**0.5)])
    store.upsert(["east", "north", "north-west"], vectors)
    return store


def test_similarities_are_cosines_and_best_comes_first(store: VectorStore) -> None:
    found = store.query(vector(0, 3), 3)
    assert [match.id for match in found] == ["north", "north-west", "east"]
    assert [match.similarity for match in found] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)
    assert store.query(vector(-1, 0), 3)[-1].similarity == pytest.approx(-1)


def test_an_upsert_replaces_the_row_of_its_id(store: VectorStore) -> None:
    store.upsert(["east"], vector(0, -1)[None])
    assert store.count() == 3
    assert store.query(vector(0, -1), 1)[0].id == "east"
    assert store.query(vector(1, 0), 1)[0].similarity < 0.5


def test_upserting_the_same_again_doubles_nothing(store: VectorStore) -> None:
    for _ in range(2):
        store.upsert(["east"], vector(1, 0)[None])
    assert store.count() == 3


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_query_that_is_no_number_finds_nothing(store: VectorStore, bad: float) -> None:
    assert store.query(vector(bad, 0), 3) == []


@pytest.mark.parametrize(("k", "found"), [(0, 0), (-1, 0), (2, 2), (3, 3), (1_000_000, 3)])
def test_k_beyond_the_collection_gives_all_of_it(store: VectorStore, k: int, found: int) -> None:
    assert len(store.query(vector(1, 0), k)) == found


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert VectorStore.create(tmp_path / "chroma").query(vector(1, 0), 3) == []


def test_more_rows_than_chroma_takes_in_one_call_are_kept(tmp_path: Path) -> None:
    store = VectorStore.create(tmp_path / "chroma")
    angles = np.arange(6000) * 0.001
    ids = [f"{number}" for number in range(6000)]
    store.upsert(ids, np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert store.count() == 6000
    assert store.query(vector(1, 0), 1)[0].id == "0"


def test_a_closed_store_opens_again_with_its_rows(store: VectorStore, tmp_path: Path) -> None:
    store.close()
    store.close()
    again = VectorStore.open(tmp_path / "chroma")
    assert (again.count(), again.query(vector(1, 0), 1)[0].id) == (3, "east")
    again.close()


def test_two_open_stores_on_one_folder_close_apart(store: VectorStore, tmp_path: Path) -> None:
    other = VectorStore.open(tmp_path / "chroma")
    store.close()
    assert other.query(vector(1, 0), 1)[0].id == "east"
    other.close()


def test_a_missing_store_is_named_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(StoreDamagedError, match="index --rebuild"):
        VectorStore.open(tmp_path / "chroma")
    assert not (tmp_path / "chroma").exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no database" * 1000, id="other content"),
    ],
)
def test_a_damaged_store_is_named_every_time(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(content)
    messages = []
    for _ in range(2):
        with pytest.raises(StoreDamagedError, match="index --rebuild") as error:
            VectorStore.open(tmp_path)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_a_forgotten_index_lets_go_of_its_files(settings: Settings, embedder: WordCountEmbedder) -> None:
    build_index(settings, embedder)
    query = embedder.encode_query("striped zebras").vector
    opened = []
    for _ in range(4):
        index = PaperIndex.open(GenerationFolder(settings.store_folder).current())
        assert len(index.nearest(query, 3)) == 3
        del index
        gc.collect()
        opened.append(len(os.listdir("/proc/self/fd")))
    assert opened[1:] == opened[:1] * 3


def copies(generation: Path, folder: Path) -> Iterator[Path]:
    """Copies of a generation that this process has never opened."""
    for number in range(10):
        yield shutil.copytree(generation, folder / f"copy {number}")


def at_once(act: Callable[[], Result]) -> list[Result]:
    """What `act` gives in four threads that begin together."""
    start = threading.Barrier(4)

    def begin() -> Result:
        start.wait()
        return act()

    with ThreadPoolExecutor(4) as pool:
        return [begun.result() for begun in [pool.submit(begin) for _ in range(4)]]


def test_first_questions_of_several_threads_are_all_answered(
    settings: Settings, embedder: WordCountEmbedder, tmp_path: Path
) -> None:
    build_index(settings, embedder)
    query = embedder.encode_query("striped zebras").vector
    for copy in copies(GenerationFolder(settings.store_folder).current(), tmp_path):
        index = PaperIndex.open(copy)
        assert [len(found) for found in at_once(partial(index.nearest, query, 3))] == [3, 3, 3, 3]
        index.close()


def test_several_threads_open_one_store_each(settings: Settings, embedder: WordCountEmbedder, tmp_path: Path) -> None:
    build_index(settings, embedder)

    def open_and_close(folder: Path) -> int:
        store = VectorStore.open(folder)
        count = store.count()
        store.close()
        return count

    for copy in copies(GenerationFolder(settings.store_folder).current(), tmp_path):
        assert at_once(partial(open_and_close, copy / "chroma")) == [3, 3, 3, 3]


def test_rows_that_come_and_go_between_queries_are_counted(store: VectorStore) -> None:
    assert len(store.query(vector(1, 0), 10)) == 3
    store.upsert(["new"], vector(1, 0)[None])
    assert len(store.query(vector(1, 0), 10)) == 4
    store.delete(["new"])
    assert len(store.query(vector(1, 0), 10)) == 3
