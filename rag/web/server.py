"""Serving the chat: who may reach it is settled first; then it runs until a signal, and finishes what was begun."""

import asyncio
import errno
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from rag.assistant import Assistant
from rag.errors import SettingsError
from rag.feedback import require_writable
from rag.web.access import Door, is_loopback, read_auth_file
from rag.web.mcp_server import mcp_token
from rag.web.options import ServerOptions

if TYPE_CHECKING:
    from rag.web.application import Application

GRACE_SECONDS = 15.0
_SETTLED_SECONDS = 0.4  # between the request that queues a question and the one that fetches its answer nothing may be open
_LAST_SECONDS = 3
_BACKLOG = 2048
_FIRST_OPEN_PORT, _LAST_PORT = 1024, 65535  # those below are the system's


def serve(assistant: Assistant, options: ServerOptions) -> None:
    """Serves the chat until Ctrl-C or SIGTERM; then running answers are finished, for at most 15 seconds.

    Raises `SettingsError` when the port is taken, the address is not this machine's, or the password file, the token or the file for
    feedback cannot be used.
    """
    door = Door(_users(options.auth_file)) if options.auth_file else None
    token = mcp_token(is_required=door is not None) if options.mcp else ""
    if options.feedback:
        require_writable(options.feedback)
    with _listening(options.host, options.port) as listening:
        os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read by gradio when it is imported
        from rag.web.application import make_application

        application = make_application(
            assistant,
            options,
            admits=door.admits if door else None,
            mcp_token=token,
            only_from_here=is_loopback(options.host) and not options.public,
        )
        sys.stdout.write(f"The chat is on {_address(options, listening)}  (Ctrl-C stops it)\n")
        sys.stdout.flush()
        with _heeding_signals():
            Server(application).run(sockets=[listening])


class Server(uvicorn.Server):
    """Ends in order: new work is refused, running answers are finished, then the lines of waiting pages are closed."""

    def __init__(self, application: "Application") -> None:
        config = uvicorn.Config(application.app, log_level="warning", access_log=False, timeout_graceful_shutdown=_LAST_SECONDS)
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by uvicorn when it was told to end."""
        self._application.door.is_closing = True
        await self._finish(GRACE_SECONDS)
        self._application.stop_answers()
        if self._application.door.is_busy:
            await self._finish(_LAST_SECONDS)
        self._application.stop_waiting()
        await super().shutdown(sockets)

    async def _finish(self, seconds: float) -> None:
        """Waits until nothing has run for a moment, or the time is up, or the operator insists."""
        deadline, idle_since = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < deadline and not self.force_exit:
            if self._application.door.is_busy:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > _SETTLED_SECONDS:
                return
            await asyncio.sleep(0.05)


@contextmanager
def _heeding_signals() -> Iterator[None]:
    """Within it, the signals that end a program do nothing: uvicorn heeds them, and raises them once more when it has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _users(path: Path) -> Mapping[str, str]:
    """The names and hashes in the auth file; what is doubtful about it is told to the operator."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        users = read_auth_file(path)
    for warning in caught:
        sys.stderr.write(f"Warning: {warning.message}\n")
    return users


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG)
    except OSError as error:
        advice = (
            f"Choose another with --port, for example --port {port + 1 if _FIRST_OPEN_PORT <= port < _LAST_PORT else 7861}."
            if error.errno in (errno.EADDRINUSE, errno.EACCES)
            else "Give an address of this machine with --host, for example --host 127.0.0.1."
        )
        reason = str(error.strerror).partition(" (while")[0]
        raise SettingsError(f"The chat cannot listen on {host}:{port} ({reason}). {advice}") from error


def _address(options: ServerOptions, listening: socket.socket) -> str:
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"
