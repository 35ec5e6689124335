"""Generations on a real Chroma server: sent, published, searched and copied by others, one writer at a time."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.chroma_server import NAMES, PASSPORT, ROOT, ROWS, ChromaServer, chroma_server, connect, content, files, publish, rows
from vectorstore.errors import IndexMissingError, StoreBusyError, StoreDamagedError
from vectorstore.generations import GenerationFolder
from vectorstore.server import ServerGenerations
from vectorstore.server_connection import ServerConnection
from vectorstore.server_errors import GenerationGoneError, LeaseLostError, ServerAddressError
from vectorstore.server_files import ServerFiles
from vectorstore.server_mirror import mirrored
from vectorstore.server_registry import REGISTRY, Registry


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as running:
        yield running


@pytest.fixture
def connection(server: ChromaServer) -> Iterator[ServerConnection]:
    opened = connect(server.url)
    yield opened
    opened.close()


@pytest.fixture
def generations(connection: ServerConnection, request: pytest.FixtureRequest) -> ServerGenerations:
    """A collection of the test's own."""
    return ServerGenerations(connection, f"test-{abs(hash(request.node.name))}")


# Sending, publishing, reading


def test_a_server_without_an_index_is_named_and_nothing_is_created(generations: ServerGenerations) -> None:
    assert not generations.exists()
    with pytest.raises(IndexMissingError, match="askabstracts index"):
        generations.current()


def test_another_process_finds_what_was_published(server: ChromaServer, generations: ServerGenerations, tmp_path: Path) -> None:
    publish(generations, tmp_path / "sent", count=ROWS)
    ids, vectors = rows(seed=1)
    code = f"""
import json, numpy as np
from pathlib import Path
from vectorstore.server import ServerGenerations
from vectorstore.server_address import ServerAddress
from vectorstore.server_connection import ServerConnection
connection = ServerConnection.open(ServerAddress.parse({server.url!r}))
generation = ServerGenerations(connection, {generations._name!r}).current()
found = generation.open_store().query(np.array({vectors[7].tolist()}, np.float32), 3)
generation.files().pull(Path({str(tmp_path / "pulled")!r}))
print(json.dumps([generation.rows, [match.id for match in found], found[0].similarity]))
connection.close()
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    count, found, best = json.loads(run.stdout)
    nearest = np.argsort(-(vectors @ vectors[7]))[:3]
    assert (count, found, best) == (ROWS, [ids[row] for row in nearest], pytest.approx(1))
    for name in NAMES:
        assert (tmp_path / "pulled" / name).read_bytes() == (tmp_path / "sent" / name).read_bytes()


def test_what_is_there_already_is_not_sent_again(generations: ServerGenerations, tmp_path: Path) -> None:
    with generations.writing(timeout_seconds=5) as writer:
        name = writer.generation_name(passport=PASSPORT, content=content(1))
        ids, vectors = rows(20)
        assert writer.push_vectors(name, ids[:12], vectors[:12]) == 12
        assert writer.push_vectors(name, ids, vectors) == 8
        assert writer.push_vectors(name, ids, vectors) == 0
        folder = files(tmp_path)
        assert writer.push_files(name, folder, NAMES) == 6  # 4 for the vectors, 1 for the papers, 1 for the list
        assert writer.push_files(name, folder, NAMES) == 0
        (folder / "papers.jsonl").write_text("other")
        assert writer.push_files(name, folder, NAMES) == 2
        assert writer.publish(name, rows=20).files().read("papers.jsonl") == b"other"


def test_a_generation_that_is_not_whole_is_not_published(generations: ServerGenerations, tmp_path: Path) -> None:
    publish(generations, tmp_path, version=1)
    with generations.writing(timeout_seconds=5) as writer:
        name = writer.generation_name(passport=PASSPORT, content=content(2))
        writer.push_vectors(name, *rows(4))
        with pytest.raises(GenerationGoneError):
            writer.publish(name, rows=4)  # its files are missing
        writer.push_files(name, files(tmp_path), NAMES)
        with pytest.raises(StoreDamagedError, match="4 of 5"):
            writer.publish(name, rows=5)
    assert generations.current().files().read("papers.jsonl") == b"version 1"


def test_the_generation_before_stays_for_its_readers_and_older_ones_go(generations: ServerGenerations, tmp_path: Path) -> None:
    vector = rows(5, seed=1)[1][0]
    publish(generations, tmp_path, version=1)
    first = generations.current()
    reader = first.open_store()
    publish(generations, tmp_path, version=2)
    publish(generations, tmp_path, version=2)  # the same again: the one before it is still the first
    assert reader.query(vector, 1)[0].id == "paper 0"
    publish(generations, tmp_path, version=3)
    for read in (lambda: reader.query(vector, 1), first.files, first.open_store):
        with pytest.raises(GenerationGoneError, match="Open the index again"):
            read()
    assert generations.current().open_store().count() == 5


def test_cleaning_touches_no_collection_of_others(
    connection: ServerConnection, generations: ServerGenerations, tmp_path: Path
) -> None:
    name = generations._name
    others = [f"{name}.mine", f"{name}-2.01234567.{content(1)}", f"{name}.01234567.{content(1)}.backup"]
    for other in others:
        connection.created_collection(other)
    for version in (1, 2, 3):
        publish(generations, tmp_path, version=version)
    assert set(others) <= set(connection.collection_names())


def test_collections_do_not_see_each_other(connection: ServerConnection, tmp_path: Path) -> None:
    one, two = ServerGenerations(connection, "one"), ServerGenerations(connection, "one-more")
    publish(one, tmp_path, version=1)
    publish(two, tmp_path, version=2)
    assert one.current().files().read("papers.jsonl") == b"version 1"
    assert two.current().files().read("papers.jsonl") == b"version 2"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_query_that_is_no_number_finds_nothing(generations: ServerGenerations, tmp_path: Path, bad: float) -> None:
    publish(generations, tmp_path)
    store = generations.current().open_store()
    assert store.query(np.full(8, bad, np.float32), 3) == []
    assert len(store.query(np.ones(8, np.float32), 1_000_000)) == 5
    store.close()
    assert len(store.query(np.ones(8, np.float32), 2)) == 2  # the connection serves all


# Writers


def test_of_two_writers_one_is_told_to_wait(server: ChromaServer, generations: ServerGenerations) -> None:
    other = connect(server.url)
    with (
        generations.writing(timeout_seconds=1),
        pytest.raises(StoreBusyError, match="is writing the collection"),
        ServerGenerations(other, generations._name).writing(timeout_seconds=0.1),
    ):
        pass
    with ServerGenerations(other, generations._name).writing(timeout_seconds=0.1):
        pass
    other.close()


def test_of_many_that_take_an_expired_turn_at_once_one_wins(server: ChromaServer, generations: ServerGenerations) -> None:
    connections = [connect(server.url, timeout_seconds=0.5) for _ in range(4)]
    registries = [Registry(connection, generations._name) for connection in connections]
    start = threading.Barrier(len(registries))

    def take(registry: Registry) -> bool:
        start.wait()
        try:
            registry.lease(lease_seconds=0.2)  # and dies: nobody renews it
        except StoreBusyError:
            return False
        return True

    with ThreadPoolExecutor(len(registries)) as pool:
        for _ in range(5):
            assert sum(pool.map(take, registries)) == 1
            time.sleep(0.8)
    assert len(registries[0].turns()) <= 2  # those of dead writers do not pile up
    for connection in connections:
        connection.close()


def test_a_lease_is_renewed_while_its_owner_works(server: ChromaServer, generations: ServerGenerations) -> None:
    other = connect(server.url, timeout_seconds=0.1)
    with generations.writing(timeout_seconds=1, lease_seconds=0.9):
        time.sleep(1.5)
        with pytest.raises(StoreBusyError):
            Registry(other, generations._name).lease(lease_seconds=1)
    other.close()


def test_a_writer_that_lost_its_turn_publishes_nothing(
    server: ChromaServer, connection: ServerConnection, generations: ServerGenerations, tmp_path: Path
) -> None:
    sleeper = Registry(connect(server.url, timeout_seconds=0.1), generations._name)
    asleep = sleeper.lease(lease_seconds=0.1)
    time.sleep(0.3)
    late = Registry(sleeper._connection, generations._name).lease(lease_seconds=30)
    with pytest.raises(LeaseLostError, match="passed to another"):
        asleep.publish("late", rows=1)
    asleep._write({"generation": "late", "rows": 1, "before": ""})  # its request was under way all the time
    late.publish("newer", rows=2)
    asleep._write({"generation": "late", "rows": 1, "before": ""})
    published = sleeper.published()
    assert published is not None
    assert published.generation == "newer"
    assert len(sleeper.turns()) == 1
    sleeper._connection.close()


def test_a_damaged_registry_is_named(connection: ServerConnection, generations: ServerGenerations) -> None:
    registry = connection.created_collection(REGISTRY)
    registry.upsert(ids=["odd"], embeddings=[[1.0]], metadatas=[{"name": generations._name}])
    with pytest.raises(StoreDamagedError, match="row odd"):
        generations.current()


@pytest.mark.parametrize("harm", ["other bytes", "no base64", "gone"])
def test_a_damaged_piece_is_named(connection: ServerConnection, generations: ServerGenerations, tmp_path: Path, harm: str) -> None:
    publish(generations, tmp_path)
    pieces = connection.collection(f"{generations.current().name}.files")
    victim = sorted(pieces.ids() - {"files"})
    if harm == "gone":
        pieces.delete(victim)
    else:
        other = "eJwDAAAAAAE=" if harm == "other bytes" else "é!"
        pieces.upsert(ids=victim, embeddings=[[1.0, 0.0]] * len(victim), metadatas=[{"text00": other}] * len(victim))
    with pytest.raises(StoreDamagedError, match="missing or damaged"):
        generations.current().files().pull(tmp_path / "pulled")


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "a/../../outside", "C:outside", "a\\..\\outside", ""])
def test_a_file_outside_the_folder_is_never_written(
    connection: ServerConnection, generations: ServerGenerations, tmp_path: Path, name: str
) -> None:
    pieces = ServerFiles(connection.created_collection(f"{generations._name}-evil"))
    pieces._listed = lambda: {name: []}  # type: ignore[method-assign]  # what an evil server could say
    with pytest.raises(StoreDamagedError, match="outside its folder"):
        pieces.pull(tmp_path / "in" / "folder")
    assert not list(tmp_path.rglob("outside"))


# Copies on other machines


def test_a_machine_copies_the_files_once_and_then_what_is_newer(generations: ServerGenerations, tmp_path: Path) -> None:
    folder = GenerationFolder(tmp_path / "copy")
    publish(generations, tmp_path / "sent", version=1)
    first = mirrored(generations.current(), folder, timeout_seconds=1)
    assert (first / "vectors" / "parts.npy").read_bytes() == (tmp_path / "sent" / "vectors" / "parts.npy").read_bytes()
    assert mirrored(generations.current(), folder, timeout_seconds=1) == first
    publish(generations, tmp_path / "sent", version=2)
    second = mirrored(generations.current(), folder, timeout_seconds=1)
    assert [(copy / "papers.jsonl").read_text() for copy in (first, second)] == ["version 1", "version 2"]


def test_several_that_want_a_copy_at_once_share_one(generations: ServerGenerations, tmp_path: Path) -> None:
    publish(generations, tmp_path / "sent")
    current = generations.current()
    with ThreadPoolExecutor(4) as pool:
        copies = list(pool.map(lambda _: mirrored(current, GenerationFolder(tmp_path / "copy"), timeout_seconds=10), range(4)))
    assert len(set(copies)) == 1


def test_a_copy_that_fails_leaves_the_one_before(
    connection: ServerConnection, generations: ServerGenerations, tmp_path: Path
) -> None:
    folder = GenerationFolder(tmp_path / "copy")
    publish(generations, tmp_path / "sent", version=1)
    first = mirrored(generations.current(), folder, timeout_seconds=1)
    publish(generations, tmp_path / "sent", version=2)
    pieces = connection.collection(f"{generations.current().name}.files")
    pieces.delete(sorted(pieces.ids() - {"files"}))
    with pytest.raises(StoreDamagedError, match="missing or damaged"):
        mirrored(generations.current(), folder, timeout_seconds=1)
    assert folder.current() == first
    assert [path.name for path in first.parent.iterdir()] == [first.name]


# Names


@pytest.mark.parametrize(
    "name",
    ["", "-papers", "../papers", "a/b", "a b", "papers.1", "a" * 61, "Zürich", "a\n", "a?b", "a#1"],
)
def test_a_name_that_no_collection_can_have_is_refused(connection: ServerConnection, name: str) -> None:
    with pytest.raises(ServerAddressError, match="cannot be named"):
        ServerGenerations(connection, name)
