"""Ends an HTTP request from another thread at once, also while the server has not answered yet.

Closing an httpx client leaves a thread that waits for data waiting. Shutting its socket down wakes it, and tells the server.
"""

import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import Any

import httpx

_OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class Stopper:
    """Watches the sockets of one httpx client: give it `event_hooks`. `stop` can be called from any thread, and twice."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._is_stopped = False

    @property
    def event_hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """For the constructor of an httpx client."""
        return {"request": [self._watch]}

    def stop(self) -> None:
        """Shuts the sockets down, and each that is opened from now on."""
        self._is_stopped = True
        for one in self._sockets:
            with contextlib.suppress(OSError):  # it is closed already
                one.shutdown(socket.SHUT_RDWR)

    def _watch(self, request: httpx.Request) -> None:
        request.extensions = {**request.extensions, "trace": self._trace}

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in _OPENED:
            opened = info["return_value"].get_extra_info("socket")
            if opened is not None:
                self._sockets.append(opened)
                if self._is_stopped:  # it was stopped while it connected
                    self.stop()
