"""An index on a Chroma server: shared by app processes that each have a copy of its files, through kills and other passports."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag import Assistant, Settings
from rag.coefficients import Coefficients
from rag.errors import CollectionError, IndexMissingError, PassportMismatchError, StoreError
from rag.indexing import build_index
from rag.named_collections import collection_names, delete_collection, rename_collection
from rag.place import place_of
from tests.chroma_server import ChromaServer, chroma_server, connect, proxy
from tests.conftest import OKAPI, ZEBRA, WordCountEmbedder
from vectorstore.server import ServerGenerations

QUESTION = "How much faster is Zebra than Okapi?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as running:
        yield running


@pytest.fixture
def on_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Makes what follows happen on the app node of that name: each has a cache of its own."""
    return lambda name: monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))


@pytest.fixture
def shared(
    server: ChromaServer, folder_of_abstracts: Path, request: pytest.FixtureRequest, on_node: Callable[[str], None]
) -> Settings:
    """Settings of a collection on the server, named by the test."""
    on_node("first")
    name = request.node.name.removeprefix("test_").split("[")[0].replace("_", "-")[:60].rstrip("-")
    return Settings(store=server.url, collection=name, sources=(str(folder_of_abstracts),), lock_timeout_seconds=5)


def opened(settings: Settings) -> Assistant:
    """An assistant over what is published, as it is."""
    place = place_of(settings)
    return Assistant(settings, WordCountEmbedder(), place.open(place.current()), Coefficients.load())


def test_what_one_node_indexes_another_answers_from(shared: Settings, on_node: Callable[[str], None]) -> None:
    report = build_index(shared, WordCountEmbedder())
    assert (report.papers, report.encoded) == (3, 3)
    here = opened(shared).ask(QUESTION)
    on_node("second")
    there = opened(replace(shared, sources=())).ask(QUESTION)
    assert (there.status, there.text) == (here.status, here.text) == ("answered", here.text)
    assert there.citations[0].paper.abstract == ZEBRA


def test_indexing_on_another_node_takes_up_what_is_there(shared: Settings, on_node: Callable[[str], None]) -> None:
    build_index(shared, WordCountEmbedder())
    on_node("second")
    embedder = WordCountEmbedder()
    report = build_index(shared, embedder)
    assert (report.unchanged, report.encoded, embedder.encoded) == (3, 0, 0)


def test_a_running_node_follows_what_another_publishes(
    shared: Settings, on_node: Callable[[str], None], folder_of_abstracts: Path
) -> None:
    build_index(shared, WordCountEmbedder())
    running = opened(shared)
    assert len(running.papers) == 3
    on_node("second")
    (folder_of_abstracts / "more.txt").write_text("Gnus graze on graphs and never tire of them.", encoding="utf-8")
    report = build_index(shared, WordCountEmbedder())
    assert (report.new, report.encoded) == (1, 1)
    assert len(running.papers) == 4
    assert running.search("gnus")[0].paper.abstract.startswith("Gnus")


def test_nobody_finds_what_was_never_published(shared: Settings) -> None:
    with pytest.raises(IndexMissingError, match="askabstracts index"):
        opened(shared)


def test_an_index_of_another_embedder_on_the_server_is_refused(shared: Settings, on_node: Callable[[str], None]) -> None:
    build_index(shared, WordCountEmbedder("another model"))
    on_node("second")
    with pytest.raises(PassportMismatchError, match="--rebuild"):
        build_index(shared, WordCountEmbedder())
    build_index(shared, WordCountEmbedder(), rebuild=True)
    assert opened(shared).search("zebra")[0].paper.abstract == ZEBRA


def test_what_is_not_approved_is_not_published(shared: Settings, folder_of_abstracts: Path) -> None:
    build_index(shared, WordCountEmbedder())
    (folder_of_abstracts / "more.txt").write_text("Gnus graze on graphs and never tire of them.", encoding="utf-8")

    def refused(index: object) -> None:
        raise StoreError("It is worse.")

    with pytest.raises(StoreError, match="worse"):
        build_index(shared, WordCountEmbedder(), approve=refused)
    assert len(opened(shared).papers) == 3
    assert build_index(shared, WordCountEmbedder()).encoded == 0  # its vectors were kept
    assert len(opened(shared).papers) == 4


def test_a_server_that_is_away_is_one_clear_error_and_its_return_is_enough(tmp_path: Path, shared: Settings) -> None:
    with chroma_server(tmp_path / "mortal") as mortal:
        settings = replace(shared, store=mortal.url)
        build_index(settings, WordCountEmbedder())
        assistant = opened(settings)
        assert assistant.search("okapi")[0].paper.abstract == OKAPI
        mortal.kill()
        with pytest.raises(StoreError, match=mortal.url):
            assistant.search("okapi")
        with pytest.raises(StoreError, match=mortal.url):
            assistant.ask(QUESTION)
        mortal.start()
        assert assistant.search("okapi")[0].paper.abstract == OKAPI
        assert assistant.ask(QUESTION).status == "answered"


def test_a_server_killed_while_it_is_indexed_loses_and_doubles_nothing(
    tmp_path: Path, shared: Settings, folder_of_abstracts: Path
) -> None:
    abstracts = [f"Gnu {number} grazes on graph {number} of the savanna." for number in range(1200)]
    (folder_of_abstracts / "more.txt").write_text("\n\n".join(abstracts), encoding="utf-8")
    with chroma_server(tmp_path / "mortal") as mortal:
        settings = replace(shared, store=mortal.url)

        def kill_and_start() -> None:
            mortal.kill()
            time.sleep(0.5)
            mortal.start()

        killer = threading.Timer(1.5, kill_and_start)
        killer.start()
        try:
            build_index(settings, WordCountEmbedder())
        except StoreError:
            killer.join()
            build_index(settings, WordCountEmbedder())
        killer.join()
        assistant = opened(settings)
        assert len(assistant.papers) == 1203
        with closing(connect(mortal.url)) as connection:
            rows = connection.collection(ServerGenerations(connection, settings.collection).current().name)
            assert rows.ids() == {paper.id for paper in assistant.papers}
            assert rows.count() == 1203


def test_a_slow_server_is_told_from_one_that_is_away(shared: Settings, server: ChromaServer) -> None:
    build_index(shared, WordCountEmbedder())
    with proxy(server.url, delay_seconds=0.6) as slow:
        settings = replace(shared, store=slow.url, store_timeout_seconds=0.3)
        with pytest.raises(StoreError, match=r"0\.3 s"):
            opened(settings)


def test_the_token_comes_from_the_environment_and_is_never_shown(
    shared: Settings, server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(server.url, header="Bearer zebra-secret-7") as guard:
        settings = replace(shared, store=guard.url)
        monkeypatch.setenv("ASKABSTRACTS_STORE_TOKEN", "okapi-wrong-8")
        with pytest.raises(StoreError) as refused:
            build_index(settings, WordCountEmbedder())
        assert "okapi-wrong-8" not in str(refused.value)
        assert "ASKABSTRACTS_STORE_TOKEN" in str(refused.value)
        monkeypatch.setenv("ASKABSTRACTS_STORE_TOKEN", "zebra-secret-7")
        assert build_index(settings, WordCountEmbedder()).papers == 3
        assert "zebra-secret-7" not in repr(settings)


def test_collections_on_a_server_are_listed_and_deleted(shared: Settings, on_node: Callable[[str], None]) -> None:
    other = replace(shared, collection="gnus-and-others")
    build_index(shared, WordCountEmbedder())
    build_index(other, WordCountEmbedder())
    assert {shared.collection, other.collection} <= set(collection_names(shared))
    on_node("second")
    delete_collection(other)
    assert other.collection not in collection_names(shared)
    with pytest.raises(CollectionError, match="gnus-and-others"):
        delete_collection(other)
    with pytest.raises(IndexMissingError):
        opened(other)
    assert opened(shared).search("zebra")[0].paper.abstract == ZEBRA
    with pytest.raises(CollectionError, match="Index its files under the new name"):
        rename_collection(shared, "gnus")
