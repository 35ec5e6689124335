"""One reply of a language model as pieces of text: read in a thread of its own, so that it can be stopped and timed at any moment.

What goes wrong becomes a `ModelFailedError` in our own words, which hold a status code and never what the server sent.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rag.errors import AnswererError

_POLL_SECONDS = 0.05
_LONGEST_REPLY = 100_000  # characters; a model that never ends is stopped


class ModelFailedError(AnswererError):
    """A model failed. `is_transient` tells whether asking again may help, `retry_after_seconds` when the server says it."""

    def __init__(self, message: str, *, is_transient: bool = False, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.is_transient, self.retry_after_seconds = is_transient, retry_after_seconds


class StoppedError(Exception):
    """The reply was stopped from outside: whoever asked has gone, or wants no more."""


@dataclass(frozen=True, slots=True)
class Request:
    """A model opened for one request: a LlamaIndex LLM, and what ends its request at once from any thread."""

    llm: Any
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a reply's text; `is_cut` on the last tells that the model had used up the tokens it may write."""

    text: str
    is_cut: bool = False


_Ending = Literal["", "finished", "cut"]
_Item = Piece | BaseException | None


def read_reply(
    request: Request, messages: Sequence[Any], *, name: str, until: float, stopped: threading.Event | None = None
) -> Iterator[Piece]:
    """The pieces of the reply to `messages` (LlamaIndex ChatMessages) as they come.

    `until` is a moment of `time.monotonic`. Raises `ModelFailedError`, or `StoppedError` once `stopped` is set. However the reading ends,
    the request is over then, also on the server.
    """
    pieces: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    is_over = threading.Event()
    threading.Thread(target=_read, args=(request.llm, messages, pieces, is_over), daemon=True, name="reply").start()
    length = 0
    try:
        while True:
            if stopped is not None and stopped.is_set():
                raise StoppedError
            if time.monotonic() > until:
                raise ModelFailedError(f"{name} took too long. Raise the setting llm_timeout_seconds, or choose a faster model.")
            try:
                piece = pieces.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise failure_of(piece, name) from piece
            length += len(piece.text)
            if length > _LONGEST_REPLY:
                return
            yield piece
    finally:
        is_over.set()
        request.stop()


def _read(llm: Any, messages: Sequence[Any], pieces: "queue.SimpleQueue[_Item]", is_over: threading.Event) -> None:
    """Runs in the thread until nobody waits any more. A reply that ends without its last mark broke off."""
    ending: _Ending = "finished"
    try:
        for part in llm.stream_chat(list(messages)):
            if is_over.is_set():
                return
            ending = _ending(part, was=ending)
            if part.delta:
                pieces.put(Piece(part.delta))
        if ending == "cut":
            pieces.put(Piece("", is_cut=True))
        pieces.put(None if ending else ConnectionError("the reply has no end"))
    except BaseException as error:  # every library has errors of its own kinds; the reader translates them
        pieces.put(error)


def _ending(part: Any, *, was: _Ending) -> _Ending:
    """How the reply would end with `part`, as far as the server's own form tells it; empty when it may not end there."""
    raw = getattr(part, "raw", None)
    choices = getattr(raw, "choices", None)
    if choices:
        return _named(getattr(choices[0], "finish_reason", None))
    if isinstance(raw, dict) and "done" in raw:  # Ollama's
        return _named(raw.get("done_reason") or "stop") if raw["done"] else ""
    if isinstance(raw, dict) and "type" in raw:  # Anthropic's
        delta = raw.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else getattr(delta, "stop_reason", None)
        return was if raw["type"] == "message_stop" and was else _named(reason) if raw["type"] == "message_delta" else ""
    return was


def _named(reason: object) -> _Ending:
    return "" if reason is None else "cut" if reason in ("length", "max_tokens") else "finished"


def failure_of(error: BaseException, name: str) -> ModelFailedError:
    """Any library's error in our words; recognised by its form, so that no client library need be loaded here."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int) and status > 0:
        return _status_failure(status, _retry_after(response), name)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if any("Timeout" in kind for kind in kinds):
        return ModelFailedError(f"{name} did not answer in time. Try again, or raise the setting llm_timeout_seconds.")
    if kinds & {"TransportError", "APIConnectionError", "ConnectionError"}:
        return ModelFailedError(f"{name} cannot be reached, or cut the connection. Check that its server runs.", is_transient=True)
    return ModelFailedError(f"{name} sent something that is no reply ({type(error).__name__}). Try again.", is_transient=True)


def _status_failure(status: int, retry_after: float, name: str) -> ModelFailedError:
    if status in (401, 403):
        return ModelFailedError(f"{name} refused the key (HTTP {status}). Check the key in the environment.")
    if status == 404:
        return ModelFailedError(f"{name} is not known to its server (HTTP 404). Check its name.")
    if 300 <= status < 400:
        return ModelFailedError(
            f"The server of {name} sends requests elsewhere (HTTP {status}). Give the address that it leads to."
        )
    if status == 429:
        wait = f", and asks to wait {retry_after:.0f} s" if retry_after else ""
        message = f"{name} has had too many requests (HTTP 429){wait}. Ask again later."
        return ModelFailedError(message, is_transient=True, retry_after_seconds=retry_after)
    if status >= 500:
        message = f"The server of {name} failed (HTTP {status}). Ask again later."
        return ModelFailedError(message, is_transient=True, retry_after_seconds=retry_after)
    return ModelFailedError(f"{name} refused the request (HTTP {status}). Check its name and the setting llm_window_tokens.")


def _retry_after(response: Any) -> float:
    try:
        seconds = float(response.headers.get("retry-after", 0))
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    except (AttributeError, TypeError, ValueError):  # no response, or a date instead of seconds
        return 0.0
