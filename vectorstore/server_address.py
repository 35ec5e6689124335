"""The address of a Chroma server, from the text a user writes: `http://host:port`, `https://host`, or `cloud://TENANT/DATABASE`.

An address holds no secret, so that it may stand in every message; one that carries a password is refused and not repeated.
"""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from vectorstore.server_errors import ServerAddressError

_CLOUD_URL = "https://api.trychroma.com:443"
_SCHEMES = ("http", "https", "cloud")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_CLOUD_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_FORMS = "Give http://HOST:PORT, https://HOST, or cloud://TENANT/DATABASE for Chroma Cloud."


def is_server_address(text: str) -> bool:
    """Whether `text` means a server, well written or not, and no folder."""
    return "://" in text


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is, and which of its databases is meant."""

    text: str
    """As it was given: for messages."""
    url: str
    tenant: str = "default_tenant"
    database: str = "default_database"
    token_header: str = "Authorization"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address that `text` names; `ServerAddressError` when it names none."""
        scheme, _, rest = text.strip().partition("://")
        scheme = scheme.lower()
        if scheme not in _SCHEMES or not rest:
            raise ServerAddressError(f"{_shown(text)} is no address of a Chroma server. {_FORMS}")
        if "@" in rest:
            raise ServerAddressError(
                "The address of the Chroma server holds a name or a password. Take it out, and give the token in the environment."
            )
        return cls._of_cloud(text.strip(), rest) if scheme == "cloud" else cls._of_host(text.strip())

    @classmethod
    def _of_cloud(cls, text: str, rest: str) -> Self:
        names = rest.rstrip("/").split("/")
        if len(names) != 2 or not all(_CLOUD_NAME.fullmatch(name) for name in names):
            raise ServerAddressError(f"{_shown(text)} does not name one tenant and one database. {_FORMS}")
        return cls(text, _CLOUD_URL, names[0], names[1], token_header="X-Chroma-Token")

    @classmethod
    def _of_host(cls, text: str) -> Self:
        try:
            parts = urlsplit(text)
            port = {"http": 80, "https": 443}[parts.scheme] if parts.port is None else parts.port
        except ValueError as error:  # a port that is no number, or too large; brackets that do not close
            raise ServerAddressError(f"{_shown(text)} is no address of a Chroma server ({error}). {_FORMS}") from error
        host = parts.netloc.removesuffix(":") if parts.port is None else parts.netloc.rsplit(":", 1)[0]
        path = parts.path.rstrip("/")
        if not (_HOST.fullmatch(host) and _PATH.fullmatch(path) and port) or ".." in path or parts.query or parts.fragment:
            raise ServerAddressError(f"{_shown(text)} is no address of a Chroma server. {_FORMS}")
        return cls(text, f"{parts.scheme}://{host}:{port}{path}")


def _shown(text: str) -> str:
    """`text` for a message: short, and without what could be a password."""
    return repr(text if len(text) <= 80 else text[:77] + "...") if "@" not in text else "What was given"
