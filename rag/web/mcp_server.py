"""The collection as tools of the Model Context Protocol: ask, search and papers for assistants of others.

Stateless: every request stands alone, nothing of it is kept.
"""

import functools
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from starlette.routing import BaseRoute, Route

from rag.errors import SettingsError
from rag.settings import TOKEN_OF_MCP, api_key
from rag.web.api import Programs, telling

PATH = "/mcp"
_SHORTEST_TOKEN = 16  # characters
_LOOPBACK = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
_ABOUT = "Answers questions from a collection of paper abstracts; every sentence of an answer rests on an exact, cited quote."


@dataclass(frozen=True, slots=True)
class McpServer:
    """The routes of the server, and what must be open while it runs."""

    routes: tuple[BaseRoute, ...]
    running: Callable[[], AbstractAsyncContextManager[None]]


def mcp_token(*, is_required: bool) -> str:
    """The token that callers must send, from the environment; empty for none. Raises `SettingsError` for a missing or weak one."""
    token = api_key(TOKEN_OF_MCP)
    if is_required and not token:
        raise SettingsError(
            f"With --auth-file, --mcp needs a token of its own. Set {TOKEN_OF_MCP} to a long secret; callers send it as a Bearer token."
        )
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise SettingsError(f"{TOKEN_OF_MCP} must be {_SHORTEST_TOKEN} or more printable ASCII characters.")
    return token


def make_mcp_server(programs: Programs, *, only_from_here: bool) -> McpServer:
    """The functions of `programs` as tools. With `only_from_here`, a request that names another host is refused, so that no web
    page can reach the server through a name of its own that leads to this machine.
    """
    from mcp.server.fastmcp import FastMCP
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.server.transport_security import TransportSecuritySettings

    server = FastMCP(
        "askabstracts",
        instructions=_ABOUT,
        log_level="WARNING",
        stateless_http=True,
        json_response=True,
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=only_from_here,
            allowed_hosts=_LOOPBACK,
            allowed_origins=[f"http://{host}" for host in _LOOPBACK],
        ),
    )
    limiter = anyio.CapacityLimiter(programs.max_concurrency)
    for function in (programs.ask, programs.search, programs.papers):
        server.add_tool(_in_thread(telling(function, ToolError), limiter), description=inspect.getdoc(function))
    endpoint = server.streamable_http_app().routes[0]
    assert isinstance(endpoint, Route)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    return McpServer((endpoint, Route(f"{PATH}/", endpoint=endpoint.endpoint)), running)


def _in_thread(function: Callable[..., Any], limiter: anyio.CapacityLimiter) -> Callable[..., Any]:
    """`function`, which takes its time, beside the server's loop."""

    @functools.wraps(function)
    async def tool(*arguments: object, **named: object) -> object:
        return await anyio.to_thread.run_sync(functools.partial(function, *arguments, **named), limiter=limiter)

    return tool
