"""The one text that names who answers, taken apart. Knows no library."""

import re
import unicodedata
import urllib.parse
from dataclasses import dataclass
from typing import Literal

from rag.errors import SettingsError

QUOTES = "quotes"
LOCAL = "local"
FORMS = (
    '"quotes", "local", "local:/path/model.gguf", "ollama:NAME", "openai:NAME", "anthropic:NAME" or "NAME@http://host:port/v1" '
    "(any OpenAI-compatible server)"
)
Kind = Literal["quotes", "local", "ollama", "openai", "anthropic", "server"]
_LONGEST = 200  # characters
_NAMED_KINDS = ("ollama", "openai", "anthropic")
_URL = re.compile(r"https?://[^\s/]+\S*")


@dataclass(frozen=True, slots=True)
class Spec:
    """Who answers: the kind, the model's name or file, and the address of its server (empty for the usual one)."""

    kind: Kind
    model: str = ""
    url: str = ""


def parse_spec(text: str) -> Spec:
    """Takes a spec apart. Raises `SettingsError` for any other text, with the forms there are."""
    text = text.strip()
    if any(unicodedata.category(letter).startswith("C") for letter in text[:_LONGEST]):
        raise SettingsError(f"llm is {text[:_LONGEST]!r}, which holds letters that are not seen. Write one of: {FORMS}.")
    if re.search(r"://[^/\s]*@", text):  # the spec is shown in many places, a password must be in none
        raise SettingsError(
            "llm holds a name or password in its address. Keys come from the environment alone: ASKABSTRACTS_API_KEY."
        )
    if text in (QUOTES, LOCAL):
        return Spec("quotes" if text == QUOTES else "local")
    if text.startswith("local:") and len(text) > len("local:"):
        return Spec("local", text.removeprefix("local:"))
    name, at, url = text.rpartition("@") if re.search(r"@https?://", text) else (text, "", "")
    if at and _URL.fullmatch(url):
        _require_address(url)
    kind, colon, model = name.partition(":")
    if colon and kind in _NAMED_KINDS and model.strip() and (not at or _URL.fullmatch(url)):
        return Spec(kind, model.strip(), url.rstrip("/"))  # type: ignore[arg-type]  # one of _NAMED_KINDS
    if at and name.strip() and _URL.fullmatch(url):
        return Spec("server", name.strip(), url.rstrip("/"))
    raise SettingsError(f"llm is {text[:_LONGEST]!r}, which names no answerer. Write one of: {FORMS}.")


def _require_address(url: str) -> None:
    """Raises `SettingsError` for an address that no client could follow; what stands behind "?" may be a key and is not shown."""
    if "?" in url or "#" in url:
        raise SettingsError(
            'llm holds a "?" or "#" in its address. Leave out what follows it. A key comes from the environment alone: ASKABSTRACTS_API_KEY.'
        )
    try:
        parts = urllib.parse.urlsplit(url)
        is_sound = parts.port != 0 and bool(parts.hostname)
    except ValueError:  # a port that is no number or too large, or half an IPv6 address
        is_sound = False
    if not is_sound:
        raise SettingsError(f"llm holds the address {url[:_LONGEST]!r}, which cannot be followed. Write it as http://host:port/v1.")
