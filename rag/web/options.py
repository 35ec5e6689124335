"""What the operator of a chat decides: who may reach it, what its page offers, how much it does at once. Knows no Gradio."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from rag.errors import SettingsError
from rag.web.access import require_safe_binding

Upload = Literal["session", "shared", "off"]
UPLOADS: tuple[Upload, ...] = get_args(Upload)
MOST_AT_ONCE = 40
"""Questions answered at the same moment, at most: so many threads has Gradio."""
DEFAULT_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What the page offers its visitors."""

    allow_upload: Upload = "session"
    """Whether a visitor may add abstracts: to a collection of the visit's own, to the shared one, or not at all."""

    feedback: Path | None = None
    """File to which a visitor's judgement of an answer is appended; None: visitors are not asked."""

    max_concurrency: int = DEFAULT_AT_ONCE
    """Questions answered at the same moment; further ones wait their turn."""

    closers: list[Callable[[], None]] = field(default_factory=list, compare=False)
    """Whoever runs answers adds a function that ends them early; the server calls them when it has waited long enough."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the chat is served. Every field has a working default; bounds are checked on construction (`SettingsError`)."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond this machine it needs `auth_file`, or `public`."""

    port: int = 7860
    """Port to listen on (0..65535); 0 takes a free one."""

    auth_file: Path | None = None
    """File of `name:hash` lines of those who may enter; None: no password is asked for."""

    public: bool = False
    """Whether everybody who reaches the address may ask."""

    root_path: str = ""
    """Path under which a reverse proxy publishes the chat, "/papers"; the proxy takes it off before it hands a request on."""

    max_concurrency: int = DEFAULT_AT_ONCE
    """Questions answered at the same moment (1..40); further ones wait their turn. Lower it on a small machine."""

    mcp: bool = False
    """Whether the chat is also an MCP server, at /mcp."""

    allow_upload: Upload = "session"
    """See `PageOptions`."""

    feedback: Path | None = None
    """See `PageOptions`."""

    def __post_init__(self) -> None:
        for name, low, high in (("port", 0, 65535), ("max_concurrency", 1, MOST_AT_ONCE)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise SettingsError(f"{name} is {value!r}; it must be a whole number from {low} to {high}.")
        if self.allow_upload not in UPLOADS:
            raise SettingsError(f"allow_upload is {self.allow_upload!r}; it must be one of {', '.join(UPLOADS)}.")
        if self.root_path and (not self.root_path.startswith("/") or set(self.root_path) & set("?#\\ ") or "//" in self.root_path):
            raise SettingsError(f"root_path is {self.root_path!r}; it must be a path such as /papers.")
        object.__setattr__(self, "root_path", self.root_path.rstrip("/"))
        require_safe_binding(self.host, has_auth=self.auth_file is not None, is_public=self.public)

    @property
    def page(self) -> PageOptions:
        """The part that the page needs to know."""
        return PageOptions(allow_upload=self.allow_upload, feedback=self.feedback, max_concurrency=self.max_concurrency)
