"""What is wrong with a model's address, key, server or object is said at the start, in one sentence that shows no secret."""

import socket
from typing import Any

import pytest

from rag import Assistant, Settings
from rag.errors import AnswererError, SettingsError
from tests.model_server import ModelServer, Reply
from tests.scripted_model import ABOUT_OKAPI, OKAPI_IS, OKAPI_REACHES, ScriptedLLM, with_llm

WRITTEN = f"{OKAPI_IS} [1] {OKAPI_REACHES} [1]"
SERVERS: list[Any] = [
    pytest.param("openai", "tiny", "tiny@{}/v1", id="any server"),
    pytest.param("openai", "gpt-4o-mini", "openai:gpt-4o-mini@{}/v1", id="openai"),
    pytest.param("ollama", "tiny:latest", "ollama:tiny@{}", id="ollama"),
]  # not Anthropic's: its client takes none of ours, and so goes through the proxy


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-31415")


def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tiny@http://127.0.0.1:abc/v1", "cannot be followed"),
        ("tiny@http://127.0.0.1:99999/v1", "cannot be followed"),
        ("tiny@http://[::1/v1", "cannot be followed"),
        ("ollama:tiny@http://:80", "cannot be followed"),
        ("tiny@http://h/v1?api_key=SECRET", "ASKABSTRACTS_API_KEY"),
        ("tiny@http://h/v1#SECRET", "ASKABSTRACTS_API_KEY"),
        ("local:\0x", "not seen"),
        ("a\nb@http://h/v1", "not seen"),
    ],
)
def test_address_that_cannot_be_followed_is_refused_at_once(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        Settings(llm=text)
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", ["openai", "ollama"])
@pytest.mark.parametrize("body", ['{"data": 3, "models": 3}', '{"data": "abc", "models": {}}', "nonsense"])
def test_list_of_models_that_is_none_is_told(small_assistant: Assistant, shape: Any, body: str) -> None:
    with (
        ModelServer([Reply()], shape=shape, listing=body) as server,
        pytest.raises(AnswererError, match=r"no list of models|no reply"),
    ):
        with_llm(small_assistant, server.spec)


@pytest.mark.parametrize("body", ['{"models": null}', '{"models": [1]}', "{}", "[]", '{"models": [{"name": null}]}'])
def test_ollama_that_lists_nothing_does_not_hold_the_model(small_assistant: Assistant, body: str) -> None:
    with ModelServer([Reply()], shape="ollama", listing=body) as server, pytest.raises(AnswererError, match="ollama pull"):
        with_llm(small_assistant, server.spec)


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "[]",
        '{"data": null}',
        '{"data": [1, 2]}',
        '{"data": [{"id": "tiny", "aliases": 3}]}',
        '{"data": [{"id": "tiny", "max_model_len": "8k"}]}',
        '{"data": [{"id": "tiny", "max_model_len": true, "meta": 3}]}',
    ],
)
def test_odd_list_of_models_is_no_hindrance(small_assistant: Assistant, body: str) -> None:
    with ModelServer([Reply(WRITTEN)], listing=body) as server:
        assert with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI).text.startswith(OKAPI_IS)


def test_address_without_its_last_part_is_told(small_assistant: Assistant) -> None:
    with ModelServer([Reply()]) as server, pytest.raises(AnswererError, match=rf"Write: tiny@{server.address}/v1"):
        with_llm(small_assistant, f"tiny@{server.address}")


@pytest.mark.parametrize(("shape", "name", "spec"), SERVERS)
def test_proxy_of_the_environment_does_not_stand_before_this_machine(
    keys: None, small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch, shape: Any, name: str, spec: str
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, nobody())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with ModelServer([Reply(WRITTEN)], shape=shape, models=[name]) as server:
        assert with_llm(small_assistant, spec.format(server.address)).ask(ABOUT_OKAPI).model != "quotes"


@pytest.mark.parametrize("key", ["wröng", "two\nlines"])
def test_key_that_no_request_could_carry_is_told_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, small_assistant: Assistant, key: str
) -> None:
    monkeypatch.setenv("ASKABSTRACTS_API_KEY", key)
    with pytest.raises(SettingsError, match="ASKABSTRACTS_API_KEY") as caught:
        with_llm(small_assistant, f"tiny@{nobody()}/v1")
    assert key not in str(caught.value)


def test_model_object_whose_metadata_raises_answers(small_assistant: Assistant) -> None:
    class Unknown(ScriptedLLM):
        @property
        def metadata(self) -> Any:
            raise ValueError("Unknown model")

        @metadata.setter
        def metadata(self, value: Any) -> None: ...

    assert with_llm(small_assistant, Unknown(WRITTEN)).ask(ABOUT_OKAPI).model == "Unknown"


def test_what_is_no_language_model_is_named_by_its_type_alone() -> None:
    with pytest.raises(SettingsError, match="type dict") as caught:
        Settings(llm={"api_key": "sk-SECRET"})
    assert "SECRET" not in str(caught.value)


def test_answer_must_leave_room_in_the_window() -> None:
    with pytest.raises(SettingsError, match="llm_window_tokens"):
        Settings(llm_window_tokens=1024, llm_answer_tokens=1024)


def test_blanks_around_a_spec_do_not_count(small_assistant: Assistant) -> None:
    with ModelServer([Reply(WRITTEN)]) as server:
        assistant = with_llm(small_assistant, f"  {server.spec} ")
        assert assistant.answerers[:2] == ("quotes", server.spec)
        assert assistant.ask(ABOUT_OKAPI, llm=f" {server.spec}").model != "quotes"
