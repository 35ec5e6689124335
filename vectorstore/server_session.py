"""The session with a Chroma server: its official client with a time limit, a token, no telemetry and named refusals.

Chroma's own `HttpClient` waits without limit, and asks the server three things before a limit could be set. So its lower half, the
`FastAPI` object that speaks the protocol, is used with a session that has one.
"""

from typing import Any

import httpx

from vectorstore.server_address import ServerAddress
from vectorstore.server_errors import ServerAddressError, ServerRefusedError, ServerUnreachableError

_CONNECT_SECONDS = 5.0
_AWAY = (429, 502, 503, 504)  # a busy server, or a proxy whose server is away: worth another try


class AwayError(Exception):
    """The server, or the proxy before it, asks to come again."""


def server_session(address: ServerAddress, *, token: str, timeout_seconds: float) -> Any:
    """Chroma's `FastAPI` object for `address`. No request is made. Raises `ServerAddressError` for what cannot be a token."""
    from chromadb.api.fastapi import FastAPI
    from chromadb.config import Settings, System

    if not all("!" <= character <= "~" for character in token):
        raise ServerAddressError("The token of the Chroma server holds a space or a sign that no token has. Set it again.")
    settings = Settings(  # everything that a CHROMA_ variable could set otherwise
        _env_file=None,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=address.url,
        chroma_server_http_port=0,  # must be there, and is not used: the address holds the port
        chroma_server_ssl_enabled=address.url.startswith("https"),
        chroma_server_ssl_verify=None,
        chroma_server_headers={},
        chroma_server_api_default_path="/api/v2",
        chroma_client_auth_provider=None,
        anonymized_telemetry=False,
        chroma_otel_collection_endpoint="",
        chroma_otel_granularity=None,
        chroma_db_impl=None,
    )
    system = System(settings)
    server = system.instance(FastAPI)
    system.start()
    session = server._session
    session.timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_SECONDS))
    session.event_hooks = {"response": [lambda response: _check(response, address, bool(token))]}
    if token:
        session.headers[address.token_header] = f"Bearer {token}" if address.token_header == "Authorization" else token
    return server


def _check(response: httpx.Response, address: ServerAddress, has_token: bool) -> None:
    """Names a refusal. Chroma's client would lose the status code of whatever is not Chroma's own error."""
    status = response.status_code
    if response.is_success:
        return
    if status in (401, 403):
        what = f"refused the token ({status})" if has_token else f"wants a token ({status})"
        raise ServerRefusedError(
            f"The Chroma server at {address.text} {what}. Set the right one in ASKABSTRACTS_STORE_TOKEN and try again."
        )
    if status == 413:
        raise ServerRefusedError(
            f"The server at {address.text} refuses requests of this size (413). Allow 10 MB in the proxy before it (nginx: client_max_body_size)."
        )
    if status in _AWAY:
        raise AwayError(f"status {status}")
    response.read()
    if response.is_redirect:
        raise ServerUnreachableError(
            f"The server at {address.text} sends requests elsewhere ({status}). Give the address it leads to."
        )
    if not _is_chromas(response):
        raise no_chroma(address, f"status {status}")


def no_chroma(address: ServerAddress, sign: str) -> ServerUnreachableError:
    """The error for an answer that no Chroma server gives; `sign` says how that is known."""
    return ServerUnreachableError(
        f"What answers at {address.text} is no Chroma server ({sign}). Check host and port; version 1 of Chroma or later is needed."
    )


def _is_chromas(response: httpx.Response) -> bool:
    try:
        return "error" in response.json()
    except (ValueError, TypeError):
        return False
