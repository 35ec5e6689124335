"""What is done to requests and responses around the page: headers that keep the browser here, a script before all others,
a token where one is asked for, and a door that closes when the server ends. Plain ASGI: streams pass through unbuffered.
"""

import gzip
import re
import secrets
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Gradio's page needs inline scripts and styles, and compiles templates; nothing may come from or go to another host.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'none'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
_EARLY = f"<script>\n{Path(__file__).with_name('early.js').read_text(encoding='utf-8')}</script>".encode()
_CARD = re.compile(rb"<meta\s+(?:property|name)=\"(?:og|twitter):[^>]*>\s*")  # what Gradio tells other sites about itself
_WORK = re.compile(r"(?:^|/)(?:queue/join|call/(?:v2/)?[^/]+|run/[^/]+|api/[^/]+|upload|mcp)/?$")
_HEARTBEAT = re.compile(r"/heartbeat/[^/]+$")


class SafeHeaders:
    """Adds headers to every response that keep the browser from running or fetching anything from elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


class EarlyScript:
    """Puts a script before all others of the page, and takes out the tags that name other hosts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        takes_gzip = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        plain = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"accept-encoding"]}
        start: Message = {}
        body = b""

        async def sending(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            headers = MutableHeaders(scope=start)
            if headers.get("content-type", "").startswith("text/html"):
                body = _CARD.sub(b"", body).replace(b"<head>", b"<head>" + _EARLY, 1)
                headers["vary"] = "Accept-Encoding"
                if takes_gzip:
                    body = gzip.compress(body, compresslevel=5)
                    headers["content-encoding"] = "gzip"
            headers["content-length"] = str(len(body))
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self._app(plain, receive, sending)


class BearerToken:
    """Lets requests to `path` and below pass only with `Authorization: Bearer TOKEN`."""

    def __init__(self, app: ASGIApp, *, path: str, token: str) -> None:
        self._app, self._path = app, path
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        is_guarded = scope["type"] == "http" and (scope["path"] + "/").startswith(self._path + "/")
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if is_guarded and not secrets.compare_digest(given, self._expected):
            refusal = JSONResponse({"error": "Send Authorization: Bearer TOKEN."}, 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


class Doorkeeper:
    """Counts the requests under way, and refuses new work once it `is_closing`; what was begun is finished."""

    def __init__(self) -> None:
        self.is_closing = False
        self._running = 0

    @property
    def is_busy(self) -> bool:
        """Whether an answer or anything else is under way; the open line of a page that only waits does not count."""
        return self._running > 0

    def guarding(self, app: ASGIApp) -> ASGIApp:
        """`app` with this door before it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or _HEARTBEAT.search(scope["path"]):
                await app(scope, receive, send)
                return
            if self.is_closing and scope["method"] == "POST" and _WORK.search(scope["path"]):
                refusal = JSONResponse({"error": "The chat is being stopped. Ask again in a minute."}, 503, {"Retry-After": "60"})
                await refusal(scope, receive, send)
                return
            self._running += 1
            try:
                await app(scope, receive, send)
            finally:
                self._running -= 1

        return guarded


class NoUploads:
    """Refuses files where visitors may add none; Gradio would take them whatever the page shows."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "http" and scope["path"].rstrip("/").endswith("/upload"):
            await JSONResponse({"error": "No files are taken here."}, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)
