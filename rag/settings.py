"""All settings in one frozen dataclass, built once in a main and passed down. The only reader of environment variables."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

import platformdirs

from rag.answering.specs import parse_spec
from rag.errors import SettingsError
from vectorstore.server_address import ServerAddress, is_server_address
from vectorstore.server_errors import ServerAddressError

PREFIX = "ASKABSTRACTS_"
KEY_OF_SERVER = PREFIX + "API_KEY"
"""The environment variable with the key of an OpenAI-compatible server. Keys are no settings: they are never stored or shown."""
TOKEN_OF_MCP = PREFIX + "MCP_TOKEN"
"""The environment variable with the token that callers of the MCP server must send. A key as well."""
TOKEN_OF_STORE = PREFIX + "STORE_TOKEN"
"""The environment variable with the token of a Chroma server, or the API key of Chroma Cloud. A key as well."""
KEY_OF_EMBEDDER = PREFIX + "EMBEDDER_KEY"
"""The environment variable with the key of an embedding server. A key as well."""
_KEYS = (KEY_OF_SERVER, TOKEN_OF_MCP, TOKEN_OF_STORE, KEY_OF_EMBEDDER)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an assistant; every field has a working default. Bounds are checked on construction (`SettingsError`)."""

    store: str = ""
    """Folder of the index. Empty: `.askabstracts` in a source checkout, else the user's data folder. Change it to keep an index elsewhere,
    or share it on a Chroma server: "http://host:port", "https://host", "cloud://TENANT/DATABASE" for Chroma Cloud."""

    collection: str = ""
    """Name of a collection in the store: 3 to 60 of a-z, 0-9, dot, dash and underscore. Empty, or "default": the one in the store itself.
    Change it to keep several collections in one store."""

    sources: tuple[str, ...] = ()
    """Files and folders of abstracts. Empty: those the index remembers, else the seed collection. Change it to bring your own."""

    embedder: str = ""
    """A sentence-transformers model: name or folder. Empty: that of the index, else all-MiniLM-L6-v2, which comes with the program.
    Change it for another language; the index must then be rebuilt, or another swapped in."""

    embedder_url: str = ""
    """Address of an embedding server that speaks as OpenAI's does ("http://host:port/v1": Text Embeddings Inference, vLLM, Ollama), whose
    model `embedder` names. Set it to encode on other machines. Such a server gives no word vectors, which rank and decide less well."""

    query_prefix: str = ""
    """Text put before every question, as some models ask for ("query: "). Part of the passport."""

    passage_prefix: str = ""
    """Text put before every abstract ("passage: "). Part of the passport."""

    window_tokens: int = 512
    """Longest stretch encoded at once, in tokens (16..8192), at most what the model takes. Longer abstracts are encoded in overlapping stretches."""

    batch_size: int = 8
    """Abstracts encoded at once (1..1024). 8 is best on a CPU; raise it on a GPU."""

    device: str = "cpu"
    """Where the embedder runs: "cpu", "cuda", "cuda:1", "mps"."""

    llm: str | object = field(default="quotes", repr=False)  # an object may show its key
    """Who answers. "quotes": exact sentences, no language model. "local", "local:FILE.gguf", "ollama:NAME", "openai:NAME",
    "anthropic:NAME", "NAME@http://host:port/v1" (any OpenAI-compatible server), or any LlamaIndex LLM object."""

    unsupported: str = "drop"
    """What happens to a model's sentences that the abstracts do not support: "drop", or "show" them struck and labelled."""

    llm_timeout_seconds: float = 120.0
    """How long a model may take for one answer (1..3600 s), before the quotes answer in its place."""

    llm_window_tokens: int = 8192
    """Tokens that question, evidence and answer may fill together (1024..2000000), where the model's server does not say it."""

    llm_evidence_tokens: int = 2000
    """Tokens of abstracts shown to a model (100..1000000); the packaged model gets fewer. Lower it on a slow machine."""

    llm_answer_tokens: int = 400
    """Tokens that a model may write (16..8192)."""

    max_papers: int = 3
    """Papers quoted in one answer, or shown to a model, at most (1..10)."""

    max_quotes: int = 4
    """Sentences quoted in one answer at most (1..20)."""

    lock_timeout_seconds: float = 60.0
    """How long to wait for another process that is indexing (0..86400 s) before giving up with a clear message."""

    store_timeout_seconds: float = 10.0
    """How long a Chroma server may be silent (0.1..600 s). Raise it for one that is far away or slow."""

    def __post_init__(self) -> None:
        for name in ("collection", "embedder", "embedder_url", "query_prefix", "passage_prefix", "device", "unsupported"):
            if not isinstance(getattr(self, name), str):
                raise SettingsError(f"{name} is {getattr(self, name)!r}; it must be text.")
        self._check_paths()
        object.__setattr__(self, "sources", tuple(str(source) for source in self.sources))
        object.__setattr__(self, "store", str(self.store))
        for name, low, high in _BOUNDS:
            value = getattr(self, name)
            kinds = (int, float) if name.endswith("_seconds") else int
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                raise SettingsError(f"{name} is {value!r}; it must be a number from {low} to {high}.")
        if is_server_address(self.store):
            try:
                ServerAddress.parse(self.store)
            except ServerAddressError as error:
                raise SettingsError(f"store is no folder and no server: {error}") from error
        if self.unsupported not in ("drop", "show"):
            raise SettingsError(f"unsupported is {self.unsupported!r}; it must be 'drop' or 'show'.")
        self._check_collection()
        self._check_llm()
        if self.embedder_url and not _URL.fullmatch(self.embedder_url):
            raise SettingsError("embedder_url is no address of an embedding server. Give one such as http://127.0.0.1:8080/v1.")
        if self.embedder and not self.embedder.strip():
            raise SettingsError("embedder is blank. Leave the setting out, or name a model or its folder.")

    def _check_collection(self) -> None:
        name = "" if self.collection == DEFAULT_COLLECTION else self.collection
        object.__setattr__(self, "collection", name)
        is_reserved = name.partition(".")[0] in _RESERVED_NAMES
        if name and (not _COLLECTION_NAME.fullmatch(name) or name.endswith(".") or is_reserved):
            what = "which Windows keeps for itself" if is_reserved else "which is no name for one"
            raise SettingsError(
                f"collection is {name[:100]!r}, {what}. Take 3 to 60 small letters, digits, dots, dashes and underscores, "
                "a letter or digit first and no dot last, such as icml-2024."
            )

    def _check_llm(self) -> None:
        if self.llm_answer_tokens + _PROMPT_TOKENS > self.llm_window_tokens:
            raise SettingsError(
                f"llm_answer_tokens is {self.llm_answer_tokens} of the {self.llm_window_tokens} that llm_window_tokens allows in all. "
                f"Leave {_PROMPT_TOKENS} for the question and the abstracts at least."
            )
        if isinstance(self.llm, str):
            object.__setattr__(self, "llm", self.llm.strip())
            parse_spec(self.llm)
        elif not hasattr(self.llm, "stream_chat"):
            raise SettingsError(
                f"llm is an object of the type {type(self.llm).__name__}; give a text such as 'quotes' or 'ollama:qwen3:4b', or a LlamaIndex LLM object."
            )

    def _check_paths(self) -> None:
        if isinstance(self.sources, str) or not isinstance(self.sources, (list, tuple)):
            raise SettingsError(f'sources must be a tuple of paths, not {self.sources!r}. Write ("my-folder",).')
        if not all(isinstance(source, (str, os.PathLike)) for source in self.sources):
            raise SettingsError(f"sources holds something that is no path: {self.sources!r}.")
        if not isinstance(self.store, (str, os.PathLike)):
            raise SettingsError(f"store is {self.store!r}; give a folder's path, or leave the setting out.")

    @property
    def store_folder(self) -> Path:
        """The folder of the collection's index, absolute; the same whichever folder the program is run from."""
        return self.collections_folder / self.collection if self.collection else self.store_root

    @property
    def collections_folder(self) -> Path:
        """Where the named collections of the store lie, each in a folder of its name."""
        return self.store_root / "collections"

    @property
    def store_root(self) -> Path:
        """The folder of the store, which is that of its default collection; for a server, of the copies of its files here."""
        if is_server_address(self.store):
            name = hashlib.sha256(ServerAddress.parse(self.store).text.encode()).hexdigest()[:16]
            return platformdirs.user_cache_path("askabstracts") / "servers" / name
        try:
            return Path(self.store).expanduser().resolve() if self.store else default_store()
        except (OSError, RuntimeError, ValueError) as error:
            raise SettingsError(f"store is {self.store[:200]!r}, which is no path that can be followed ({error}).") from error

    @property
    def uploads_folder(self) -> Path:
        """Where files that visitors add to the shared collection are kept."""
        return self.store_folder / "uploads"

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None, **given: object) -> Self:
        """Settings from variables ASKABSTRACTS_STORE, ASKABSTRACTS_SOURCES (paths joined as in PATH), …; `given` wins.

        An unknown variable with the prefix is refused, so that a misspelled one is not silently ignored.
        """
        environment = os.environ if environment is None else environment
        kinds = {one.name: one.type for one in fields(cls)}
        values: dict[str, object] = {}
        for variable, text in environment.items():
            if not variable.startswith(PREFIX) or not text or variable in _KEYS:
                continue
            name = variable.removeprefix(PREFIX).lower()
            if name not in kinds:
                known = ", ".join(PREFIX + known.upper() for known in kinds)
                raise SettingsError(f"The environment variable {variable} is unknown. Known are: {known}.")
            values[name] = _parsed(variable, text, kinds[name])
        return cls(**(values | {name: value for name, value in given.items() if value is not None}))  # type: ignore[arg-type]  # checked in __post_init__


DEFAULT_COLLECTION = "default"
"""What the collection in the store itself is called where a name is wanted."""
_URL = re.compile(r"https?://[^\s@/?#]+(?:/[^\s@?#]*)?")  # with a name or password in it, it could not be shown
_COLLECTION_NAME = re.compile("[a-z0-9][a-z0-9._-]{2,59}")  # no capitals: some file systems take ICML and icml for one folder
_RESERVED_NAMES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
_PROMPT_TOKENS = 512
_BOUNDS = (
    ("window_tokens", 16, 8192),
    ("batch_size", 1, 1024),
    ("llm_timeout_seconds", 1, 3600),
    ("llm_window_tokens", 1024, 2_000_000),
    ("llm_evidence_tokens", 100, 1_000_000),
    ("llm_answer_tokens", 16, 8192),
    ("max_papers", 1, 10),
    ("max_quotes", 1, 20),
    ("lock_timeout_seconds", 0, 86400),
    ("store_timeout_seconds", 0.1, 600),
)


def _parsed(variable: str, text: str, kind: object) -> object:
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        raise SettingsError(f"{variable} is {text!r}; it must be a number.") from None
    return tuple(part for part in text.split(os.pathsep) if part) if kind == tuple[str, ...] else text


def api_key(variable: str) -> str:
    """The key in an environment variable; empty when there is none. Raises `SettingsError` for one that no request could carry."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"The key in {variable} holds letters that no key has. Copy it anew, without blanks or line ends.")
    return key


def checkout() -> Path | None:
    """The source checkout this code runs from, or None for an installed package."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() and (root / "seeds").is_dir() else None


def default_store() -> Path:
    """Where the index lies when no setting says otherwise."""
    root = checkout()
    return root / ".askabstracts" if root else Path(platformdirs.user_data_dir("askabstracts"))


def seed_folder() -> Path:
    """The seed collection: in the checkout, or inside the installed package."""
    root = checkout()
    return root / "seeds" if root else Path(__file__).resolve().parent / "seeds"
