"""A real Chroma server on a free port of this machine, which can be killed and started again, a proxy that misbehaves before it,
and a small generation to send."""

import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from vectorstore.encoded import Matrix, unit
from vectorstore.server import ServerGenerations
from vectorstore.server_address import ServerAddress
from vectorstore.server_connection import ServerConnection

ROOT = Path(__file__).resolve().parent.parent
PASSPORT = "0123456789abcdef"
ROWS = 700  # three requests
NAMES = ("papers.jsonl", "vectors/empty.npy", "vectors/parts.npy")
_CHROMA = Path(sys.executable).with_name("chroma")
_START_SECONDS = 30


class ChromaServer:
    """`chroma run` over a folder. Its port stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and returns when it answers."""
        self._folder.mkdir(exist_ok=True)
        with open(self._folder / "output.txt", "ab") as output:
            command = [str(_CHROMA), "run", "--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self._port)]
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=5):
                    return
            except OSError:
                assert self._process.poll() is None, (self._folder / "output.txt").read_text(encoding="utf-8")[-2000:]
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def chroma_server(folder: Path) -> Iterator[ChromaServer]:
    """A running server, ended afterwards."""
    server = ChromaServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class Proxy(ThreadingHTTPServer):
    """Hands requests on to the server at `target` after `delay_seconds`: those with this Authorization `header`, where one is set."""

    daemon_threads = True

    def __init__(self, target: str, *, header: str = "", delay_seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyHandler)
        self.target, self.header, self.delay_seconds = target, header, delay_seconds
        self.largest_request_bytes, self.max_request_bytes = 0, 100_000_000
        self.fails = 0
        """How many requests to come are answered by 503."""
        self.url = f"http://127.0.0.1:{self.server_port}"


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.largest_request_bytes = max(self.server.largest_request_bytes, len(body))
        time.sleep(self.server.delay_seconds)
        if self.server.header and self.headers.get("Authorization") != self.server.header:
            self._answer(401, b"go away")
            return
        if len(body) > self.server.max_request_bytes:
            self._answer(413, b"<html>too large</html>")
            return
        if self.server.fails:
            self.server.fails -= 1
            self._answer(503, b"starting")
            return
        request = urllib.request.Request(
            self.server.target + self.path,
            data=body or None,
            method=self.command,
            headers={"Content-Type": self.headers.get("Content-Type", "")},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                self._answer(response.status, response.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read())
        except OSError:
            self._answer(502, b"nobody there")  # the server was killed

    do_GET = do_POST = do_PUT = do_DELETE = _hand_on  # noqa: N815  http.server's own names

    def _answer(self, status: int, content: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # the client did not wait

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def proxy(target: str, *, header: str = "", delay_seconds: float = 0.0) -> Iterator[Proxy]:
    """A running proxy, ended afterwards."""
    server = Proxy(target, header=header, delay_seconds=delay_seconds)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def connect(url: str, *, token: str = "", timeout_seconds: float = 10.0, retry_seconds: float = 10.0) -> ServerConnection:
    """An open connection."""
    return ServerConnection.open(
        ServerAddress.parse(url), token=token, timeout_seconds=timeout_seconds, retry_seconds=retry_seconds
    )


def rows(count: int = ROWS, *, seed: int = 0) -> tuple[list[str], Matrix]:
    """Ids and unit vectors (count, 8)."""
    vectors = np.random.default_rng(seed).standard_normal((count, 8))
    return [f"paper {number}" for number in range(count)], unit(vectors)


def content(version: int) -> str:
    """The hash of what a version holds."""
    return f"{version:016x}"


def files(folder: Path, text: str = "zebra") -> Path:
    """`folder`, with the files `NAMES` written to it."""
    (folder / "vectors").mkdir(parents=True, exist_ok=True)
    (folder / "papers.jsonl").write_text(text, encoding="utf-8")
    (folder / "vectors" / "parts.npy").write_bytes(np.random.default_rng(0).bytes(300_000))
    (folder / "vectors" / "empty.npy").write_bytes(b"")
    return folder


def publish(generations: ServerGenerations, folder: Path, *, version: int = 1, count: int = 5) -> None:
    """Sends and publishes that many rows, and the files."""
    with generations.writing(timeout_seconds=5) as writer:
        name = writer.generation_name(passport=PASSPORT, content=content(version))
        writer.push_vectors(name, *rows(count, seed=version))
        writer.push_files(name, files(folder, f"version {version}"), NAMES)
        writer.publish(name, rows=count)
