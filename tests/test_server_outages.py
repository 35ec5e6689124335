"""What happens when a Chroma server or a writer is killed, when the server is slow, wants a token, or is something else."""

import http.server
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.chroma_server import (
    NAMES,
    PASSPORT,
    ROOT,
    ROWS,
    ChromaServer,
    chroma_server,
    connect,
    content,
    files,
    proxy,
    publish,
    rows,
)
from vectorstore.errors import StoreBusyError
from vectorstore.server import ServerGenerations, ServerWriter
from vectorstore.server_errors import (
    ServerAddressError,
    ServerRefusedError,
    ServerUnreachableError,
)
from vectorstore.server_registry import Registry

TOKEN = "zebra-secret-7"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as running:
        yield running


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server of the test's own, to be killed."""
    with chroma_server(tmp_path / "chroma") as running:
        yield running


def push_until_killed(writer: ServerWriter, mortal: ChromaServer, name: str, count: int) -> None:
    """Sends rows, and kills the server while some, and not all, are there."""

    def kill() -> None:
        while not 300 <= writer._connection.collection(name).count() < count:
            time.sleep(0.01)
        mortal.kill()

    writer._connection.created_collection(name)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        writer.push_vectors(name, *rows(count))
    finally:
        killer.join()


def test_a_server_killed_in_the_middle_of_sending_and_started_again_loses_and_doubles_nothing(
    mortal: ChromaServer, tmp_path: Path
) -> None:
    count = 6000
    impatient = connect(mortal.url, timeout_seconds=2, retry_seconds=0.2)
    patient = connect(mortal.url, timeout_seconds=2, retry_seconds=30)
    generations = ServerGenerations(impatient, "papers")
    publish(generations, tmp_path, version=1)

    with generations.writing(timeout_seconds=1, lease_seconds=2) as writer:
        name = writer.generation_name(passport=PASSPORT, content=content(2))
        with pytest.raises(ServerUnreachableError, match="Check that it runs"):
            push_until_killed(writer, mortal, name, count)
    mortal.start()
    assert generations.current().files().read("papers.jsonl") == b"version 1"
    sent = impatient.collection(name).count()
    assert 300 <= sent < count

    # The lease of a writer that could not give it back is awaited.
    restarting = threading.Timer(1.0, mortal.start)
    with ServerGenerations(patient, "papers").writing(timeout_seconds=60) as writer:
        ids, vectors = rows(count)
        mortal.kill()
        restarting.start()
        assert writer.push_vectors(name, ids, vectors) == count - sent
        writer.push_files(name, files(tmp_path), NAMES)
        writer.publish(name, rows=count)
    restarting.join()
    store = ServerGenerations(patient, "papers").current().open_store()
    assert patient.collection(name).ids() == set(ids)
    assert [store.query(vectors[row], 1)[0].id for row in (0, 299, 300, count - 1)] == [
        ids[row] for row in (0, 299, 300, count - 1)
    ]
    impatient.close()
    patient.close()


def test_a_writer_that_is_killed_is_awaited_and_what_it_sent_is_taken_up(server: ChromaServer, tmp_path: Path) -> None:
    count = 6000
    code = f"""
import time
from tests.chroma_server import connect, content, rows
from vectorstore.server import ServerGenerations
with ServerGenerations(connect({server.url!r}), "killed").writing(timeout_seconds=1, lease_seconds=1) as writer:
    writer.push_vectors(writer.generation_name(passport={PASSPORT!r}, content=content(1)), *rows({count}))
    time.sleep(60)
"""
    connection = connect(server.url, timeout_seconds=0.5)
    generations, name = ServerGenerations(connection, "killed"), f"killed.{PASSPORT[:8]}.{content(1)}"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while name not in connection.collection_names() or connection.collection(name).count() < 300:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    with pytest.raises(StoreBusyError, match=rf"process \({process.pid} on .* its turn ends in [01] s"):
        Registry(connection, "killed").lease(lease_seconds=1)
    assert not generations.exists()
    with generations.writing(timeout_seconds=10) as writer:
        assert 300 <= count - writer.push_vectors(name, *rows(count)) < count
        writer.push_files(name, files(tmp_path), NAMES)
        writer.publish(name, rows=count)
    assert generations.current().open_store().query(rows(count)[1][-1], 1)[0].id == f"paper {count - 1}"
    connection.close()


def test_a_server_killed_among_queries_is_waited_for_or_is_one_clear_error(mortal: ChromaServer, tmp_path: Path) -> None:
    impatient, patient = connect(mortal.url, retry_seconds=0.3), connect(mortal.url, retry_seconds=30)
    publish(ServerGenerations(patient, "papers"), tmp_path, count=ROWS)
    ids, vectors = rows(ROWS, seed=1)
    store = ServerGenerations(patient, "papers").current().open_store()
    hasty = ServerGenerations(impatient, "papers").current().open_store()
    is_over = threading.Event()

    def ask(row: int) -> bool:
        """Asks until the end, and says whether all answers were right."""
        answers = set()
        while not is_over.is_set():
            answers.add(store.query(vectors[row], 1)[0].id)
        return answers == {ids[row]}

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask, row) for row in (0, 300, ROWS - 1)]
        time.sleep(0.3)
        mortal.kill()
        with pytest.raises(ServerUnreachableError, match="Check that it runs"):
            hasty.query(vectors[0], 1)
        mortal.start()
        time.sleep(0.5)
        is_over.set()
        assert all(right.result() for right in asking)
    assert hasty.query(vectors[0], 1)[0].id == ids[0]
    impatient.close()
    patient.close()


def test_a_proxy_whose_server_is_not_ready_is_asked_again(server: ChromaServer) -> None:
    with proxy(server.url) as between:
        connection = connect(between.url)
        between.fails = 2
        assert connection.now() > 0
        connection.close()
        between.fails = 1000
        with pytest.raises(ServerUnreachableError, match=r"is not ready \(status 503\)"):
            connect(between.url, retry_seconds=0.2)


def test_a_slow_server_is_one_clear_error_in_time(server: ChromaServer) -> None:
    with proxy(server.url, delay_seconds=3) as slow:
        started = time.monotonic()
        with pytest.raises(ServerUnreachableError, match=r"did not answer within 0\.3 s"):
            connect(slow.url, timeout_seconds=0.3)
        assert time.monotonic() - started < 2


def test_nobody_listening_is_one_clear_error() -> None:
    with pytest.raises(ServerUnreachableError, match=r"http://127\.0\.0\.1:9 cannot be reached .* Check that it runs"):
        connect("http://127.0.0.1:9", retry_seconds=0.2)


def test_a_server_that_is_not_chroma_is_named(tmp_path: Path) -> None:
    plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=plain.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        with pytest.raises(ServerUnreachableError, match="is no Chroma server"):
            connect(f"http://127.0.0.1:{plain.server_port}")
    finally:
        plain.shutdown()
        thread.join()
        plain.server_close()


@pytest.mark.parametrize("given", [pytest.param("", id="none"), pytest.param("another-secret", id="wrong")])
def test_a_missing_or_wrong_token_is_refused_and_never_shown(
    server: ChromaServer, caplog: pytest.LogCaptureFixture, given: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with proxy(server.url, header=f"Bearer {TOKEN}") as guarded:
        with pytest.raises(ServerRefusedError, match="401") as error:
            connect(guarded.url, token=given)
        connection = connect(guarded.url, token=TOKEN)
        assert connection.collection_names()
        connection.close()
    shown = f"{error.value} {connection!r} {vars(connection)} {caplog.text}"
    assert TOKEN not in shown
    assert not given or given not in shown


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "schlüssel"])
def test_what_cannot_be_a_token_is_refused_and_not_repeated(server: ChromaServer, token: str) -> None:
    with pytest.raises(ServerAddressError) as error:
        connect(server.url, token=token)
    assert token not in str(error.value)


def test_no_request_is_larger_than_the_message_of_a_refusal_says(server: ChromaServer, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(np.random.default_rng(0).bytes(8_000_000))
    with proxy(server.url) as between:
        connection = connect(between.url)
        with ServerGenerations(connection, "large").writing(timeout_seconds=1) as writer:
            name = writer.generation_name(passport=PASSPORT, content=content(1))
            vectors = np.random.default_rng(0).standard_normal((400, 4096)).astype(np.float32)
            writer.push_vectors(name, [str(row) for row in range(400)], vectors)
            writer.push_files(name, tmp_path, ["large"])
            largest = between.largest_request_bytes
            between.max_request_bytes = 1_000_000
            with pytest.raises(ServerRefusedError, match=r"413.* Allow 10 MB"):
                writer.push_vectors(name, [f"more {row}" for row in range(300)], vectors[:300])
        connection.close()
    assert 5_000_000 < largest < 10_000_000


def test_variables_for_chroma_itself_change_nothing(server: ChromaServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "HOST": "elsewhere",
        "HTTP_PORT": "1",
        "SSL_ENABLED": "true",
        "SSL_VERIFY": "false",
        "HEADERS": '{"X-Other": "1"}',
        "API_DEFAULT_PATH": "/api/v1",
    }.items():
        monkeypatch.setenv(f"CHROMA_SERVER_{name}", value)
    monkeypatch.setenv("CHROMA_CLIENT_AUTH_PROVIDER", "chromadb.auth.token_authn.TokenAuthClientProvider")
    monkeypatch.setenv("CHROMA_API_IMPL", "chromadb.api.rust.RustBindingsAPI")
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("chroma_db_impl=duckdb\nanonymized_telemetry=true\n", encoding="utf-8")
    connection = connect(server.url)
    assert connection.now() > 0
    connection.close()
