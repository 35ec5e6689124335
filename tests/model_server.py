"""A server of language models on loopback that replays a script: it speaks as OpenAI's, Ollama's or Anthropic's does, and fails as told.

It records what it was sent, and notices when its client hangs up. It knows nothing of this program.
"""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

Shape = Literal["openai", "ollama", "anthropic"]
SERVER_WORDS = "Traceback: upstream exploded in worker 7"
"""Stands in the body of every failure, with the key it was sent; a program must show neither."""


@dataclass(frozen=True)
class Reply:
    """One reply of the script. `text` is streamed in writes of `step` bytes, so that lines, tokens and letters are torn apart.

    `end` is how the stream ends: with its last mark, without one, with the connection cut, or never. `body` is sent as it is in
    place of a stream. `waits` makes the server silent before its first byte; it rests `pause_seconds` after each write.
    """

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    content_type: str = ""
    step: int = 7
    pause_seconds: float = 0.0
    end: Literal["finished", "unfinished", "cut", "silent"] = "finished"
    waits: bool = False


@dataclass(frozen=True)
class Received:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ModelServer:
    """Runs within `with`. Replies to each chat request with the next of `script`; the last one stands for all that follow."""

    def __init__(
        self,
        script: Sequence[Reply],
        *,
        shape: Shape = "openai",
        models: Sequence[str] = ("tiny",),
        key: str = "",
        window: int = 0,
        listing_status: int = 200,
        listing: str = "",
    ) -> None:
        """`listing` is sent in place of the list of models."""
        self.script, self.shape, self.models, self.key, self.window = list(script), shape, models, key, window
        self.listing_status, self.listing = listing_status, listing
        self.received: list[Received] = []
        self.times: list[float] = []
        self.hung_up = threading.Event()
        self.is_closing = threading.Event()
        self._taking = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.model_server = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="model server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def spec(self) -> str:
        """Who answers, as the settings name it."""
        name = self.models[0]
        return {
            "openai": f"{name}@{self.address}/v1",
            "ollama": f"ollama:{name}@{self.address}",
            "anthropic": f"anthropic:{name}@{self.address}",
        }[self.shape]

    @property
    def prompts(self) -> list[str]:
        """All text of each chat request."""
        return [_text_of(one.body) for one in self.received if one.body]

    def take(self, request: Received) -> Reply:
        """The reply to the chat request that came in."""
        with self._taking:
            self.received.append(request)
            self.times.append(time.monotonic())
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them: no thread outlives its test
    model_server: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(30)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        owner = self.server.model_server
        owner.received.append(Received(self.path, dict(self.headers), {}))
        if owner.listing_status != 200 or self._is_refused():
            return self._send_whole(self._failure(owner.listing_status if owner.listing_status != 200 else 401))
        rows: Any = [
            {"id": name, "object": "model"} | ({"max_model_len": owner.window} if owner.window else {}) for name in owner.models
        ]
        known = {
            "/v1/models": {"object": "list", "data": rows},
            "/api/tags": {"models": [{"name": name, "model": name} for name in owner.models]},
        }
        listing = known.get(self.path)
        if listing and owner.listing:
            return self._send_whole(Reply(body=owner.listing))
        return self._send_whole(Reply(body=json.dumps(listing)) if listing else self._failure(404))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.model_server.take(Received(self.path, dict(self.headers), body))
        if self._is_refused():
            reply = self._failure(401)
        if reply.waits:
            return self._wait()
        if reply.status != 200:
            reply = self._failure(reply.status, reply.headers)
        if reply.body is not None:
            return self._send_whole(reply)
        return self._send_stream(reply)

    def _is_refused(self) -> bool:
        key = self.server.model_server.key
        return bool(key) and key not in (
            self.headers.get("x-api-key"),
            self.headers.get("authorization", "").removeprefix("Bearer "),
        )

    def _failure(self, status: int, headers: Mapping[str, str] | None = None) -> Reply:
        sent = self.headers.get("x-api-key") or self.headers.get("authorization") or ""
        error = {"type": "error", "error": {"type": "server", "message": f"{SERVER_WORDS}; you sent {sent}"}}
        return Reply(status=status, headers=headers or {}, body=json.dumps(error))

    def _send_whole(self, reply: Reply) -> None:
        body = (reply.body or "").encode()
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type or "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _send_stream(self, reply: Reply) -> None:
        shape = self.server.model_server.shape
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if shape == "ollama" else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        body = b"".join(event.encode() for event in _events(reply, shape))
        try:
            for start in range(0, len(body), reply.step):
                piece = body[start : start + reply.step]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(reply.pause_seconds)
            if reply.end == "cut":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif reply.end == "silent":
                self._wait()
            else:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:  # the client is gone
            self.close_connection = True
            self.server.model_server.hung_up.set()

    def _wait(self) -> None:
        """Silent until the client hangs up or the test is over."""
        self.close_connection = True
        while not self.server.model_server.is_closing.is_set():
            if select.select([self.connection], [], [], 0.02)[0]:
                try:
                    is_open = bool(self.connection.recv(1))
                except OSError:
                    is_open = False
                if not is_open:
                    self.server.model_server.hung_up.set()
                    return


def _events(reply: Reply, shape: Shape) -> Iterator[str]:
    """The stream in the server's own form: a delta for every few letters, then, when it is finished, its last mark."""
    deltas = [reply.text[start : start + 5] for start in range(0, len(reply.text), 5)]
    is_finished = reply.end == "finished"
    yield from {"openai": _openai_events, "ollama": _ollama_events, "anthropic": _anthropic_events}[shape](deltas, is_finished)


def _openai_events(deltas: Sequence[str], is_finished: bool) -> Iterator[str]:
    for delta in [*deltas, *([None] if is_finished else [])]:
        choice = {
            "index": 0,
            "delta": {"role": "assistant", "content": delta} if delta else {},
            "finish_reason": None if delta else "stop",
        }
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": [choice]}
        yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
    if is_finished:
        yield "data: [DONE]\n\n"


def _ollama_events(deltas: Sequence[str], is_finished: bool) -> Iterator[str]:
    for delta in [*deltas, *([""] if is_finished else [])]:
        event: dict[str, Any] = {"model": "tiny", "created_at": "2024-01-01T00:00:00Z", "done": not delta}
        event["message"] = {"role": "assistant", "content": delta}
        if not delta:
            event |= {"done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1}
        yield json.dumps(event, ensure_ascii=False) + "\n"


def _anthropic_events(deltas: Sequence[str], is_finished: bool) -> Iterator[str]:
    message: dict[str, Any] = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "tiny",
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": 1, "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": delta}} for delta in deltas),
    ]
    if is_finished:
        events += [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def _text_of(body: Mapping[str, Any]) -> str:
    parts = [*([{"content": body["system"]}] if body.get("system") else []), *body.get("messages", [])]
    return "\n".join(
        content if isinstance(content := part["content"], str) else "".join(block.get("text", "") for block in content)
        for part in parts
    )
