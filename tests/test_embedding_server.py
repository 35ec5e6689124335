"""An embedding server in place of the model: real HTTP on loopback, answering as OpenAI's API does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rag import Assistant, Settings
from rag.embedders import make_embedder
from rag.errors import AskAbstractsError, EmbedderError, SettingsError
from tests.conftest import ZEBRA, WordCountEmbedder


class EmbeddingServer(ThreadingHTTPServer):
    """Gives word counts for texts; `status` other than 200 fails, `heard` holds the keys that callers sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url, self.status, self.heard = f"http://127.0.0.1:{self.server_port}/v1", 200, set[str]()


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        self.server.heard.add(self.headers.get("Authorization", ""))
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [given["input"]] if isinstance(given["input"], str) else given["input"]
        rows = [
            {"object": "embedding", "index": place, "embedding": WordCountEmbedder().encode_query(text).vector.tolist()}
            for place, text in enumerate(texts)
        ]
        answer: dict[str, Any] = {
            "object": "list",
            "data": rows,
            "model": given["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
        content = json.dumps(answer if self.server.status == 200 else {"error": {"message": "out of memory"}}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    running = EmbeddingServer()
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def served(tmp_path: Path, folder_of_abstracts: Path, server: EmbeddingServer) -> Settings:
    """Settings of an index that the server's model encodes."""
    store = str(tmp_path / "store")
    return Settings(store=store, sources=(str(folder_of_abstracts),), embedder="zebra-embed", embedder_url=server.url)


def test_an_index_is_built_and_asked_through_an_embedding_server(
    served: Settings, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKABSTRACTS_EMBEDDER_KEY", "okapi-9")
    assistant = Assistant.open(served)
    assert assistant.embedder.identity["model"] == "served:zebra-embed"
    assert assistant.search("stripes on graphs")[0].paper.abstract == ZEBRA
    assert server.heard == {"Bearer okapi-9"}


def test_the_model_of_the_index_is_used_when_none_is_named(served: Settings, server: EmbeddingServer) -> None:
    Assistant.open(served)
    again = Assistant.open(Settings(store=served.store, embedder_url=server.url))
    assert again.embedder.identity["model"] == "served:zebra-embed"
    with pytest.raises(AskAbstractsError, match="embedder_url"):
        Assistant.open(Settings(store=served.store))


def test_a_server_without_a_model_is_asked_for_its_name(server: EmbeddingServer) -> None:
    with pytest.raises(EmbedderError, match="--embedder"):
        make_embedder(Settings(embedder_url=server.url))


def test_a_failing_server_is_one_clear_error(served: Settings, server: EmbeddingServer) -> None:
    server.status = 400
    with pytest.raises(EmbedderError, match="zebra-embed"):
        Assistant.open(served)


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://", "http://me:secret-5@host/v1", "http://a b"])
def test_nonsense_for_an_address_is_refused_and_no_password_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match="embedder_url") as refused:
        Settings(embedder="m", embedder_url=url)
    assert "secret-5" not in str(refused.value)
