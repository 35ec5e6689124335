"""The web application: the page, its health, and for programs the API and the MCP server, as one ASGI app."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.routing import Mount
from starlette.types import ASGIApp

from rag.assistant import Assistant
from rag.errors import AskAbstractsError
from rag.library import Library
from rag.uploaded import MOST_BYTES
from rag.web.api import ENDPOINTS, Programs
from rag.web.look import CSS, HEAD, make_theme
from rag.web.mcp_server import PATH as MCP_PATH
from rag.web.mcp_server import McpServer, make_mcp_server
from rag.web.middleware import BearerToken, Doorkeeper, EarlyScript, NoUploads, SafeHeaders
from rag.web.options import ServerOptions
from rag.web.page import make_page
from rag.web.texts import I18N

Admits = Callable[[str, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Application:
    """What is served, and what the server needs for a clean end.

    `stop_waiting` ends the open lines of pages that only wait; it must be called in the server's loop.
    """

    app: ASGIApp
    door: Doorkeeper
    stop_waiting: Callable[[], None]
    stop_answers: Callable[[], None]


def make_application(
    assistant: Assistant, options: ServerOptions, *, admits: Admits | None = None, mcp_token: str = "", only_from_here: bool = True
) -> Application:
    """The application over `assistant`. `admits` tells whether a name may enter with a password; None admits everybody."""
    door, page_options, library = Doorkeeper(), options.page, Library(assistant)
    mcp = None
    if options.mcp:
        programs = Programs(library, options.max_concurrency)
        page_options.closers.append(programs.close)
        mcp = make_mcp_server(programs, only_from_here=only_from_here and not mcp_token)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan(mcp))
    app.add_api_route("/healthz", _health(assistant, door), methods=["GET", "HEAD"])
    app.router.routes.extend(mcp.routes if mcp else ())
    page = make_page(library, page_options)
    mounted = _mount(app, page, options, admits)
    if mcp_token:
        app.add_middleware(BearerToken, path=MCP_PATH, token=mcp_token)
    if options.allow_upload == "off":
        app.add_middleware(NoUploads)
    app.add_middleware(EarlyScript)
    app.add_middleware(SafeHeaders)

    def stop_answers() -> None:
        for close in page_options.closers:
            close()

    return Application(door.guarding(app), door, lambda: mounted.stop_event.set(), stop_answers)


def _mount(app: FastAPI, page: gr.Blocks, options: ServerOptions, admits: Admits | None) -> Any:
    """Puts the page at / and returns Gradio's own app for it."""
    for event in page.fns.values():  # only what was named for programs is offered to them
        if event.api_name not in ENDPOINTS:
            event.api_visibility = "private"
    page.has_launched = (
        True  # launch sets it, mounting does not; without it Gradio hands out any file it is named (checked by a test)
    )
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        server_name=options.host,
        server_port=options.port,
        root_path=options.root_path or None,
        auth=admits,
        auth_message="The operator of this chat gives out names and passwords." if admits else None,
        css=CSS,
        head=HEAD,
        theme=make_theme(),
        i18n=I18N,
        max_file_size=MOST_BYTES,
        app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
        footer_links=[],
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        mcp_server=False,
        ssr_mode=False,
        pwa=False,
    )
    mount = app.router.routes[-1]
    assert isinstance(mount, Mount)
    return mount.app


def _lifespan(mcp: McpServer | None) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if mcp:
                await stack.enter_async_context(mcp.running())
            yield

    return lifespan


def _health(assistant: Assistant, door: Doorkeeper) -> Callable[[], JSONResponse]:
    def healthz() -> JSONResponse:
        """Whether the chat can answer, for a load balancer or a supervisor."""
        about: dict[str, object] = {"version": _version()}
        if door.is_closing:
            return JSONResponse(about | {"status": "stopping"}, 503)
        try:
            return JSONResponse(about | {"status": "ok", "papers": len(assistant.papers)})
        except AskAbstractsError:  # the index is gone or damaged; what exactly is for the operator's eyes only
            return JSONResponse(about | {"status": "no index"}, 503)

    return healthz


def _version() -> str:
    try:
        return version("askabstracts")
    except PackageNotFoundError:  # run from a folder that was never installed
        return "unknown"
