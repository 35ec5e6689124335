"""A model that fails: it is asked again where that helps, then quotes answer and a notice says why; stopping it really stops it."""

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rag import Answer, Assistant, Turn
from rag.answering.stoppable import Stopper
from rag.errors import AnswererError
from tests.model_server import SERVER_WORDS, ModelServer, Reply, Shape
from tests.scripted_model import (
    ABOUT_OKAPI,
    ANIMALS,
    OFF_TOPIC,
    OKAPI_IS,
    OKAPI_REACHES,
    Part,
    ScriptedLLM,
    assistant_over,
    with_llm,
)

KEY = "sk-secret-31415"
WRITTEN = f"{OKAPI_IS} [1] {OKAPI_REACHES} [1]"
GOOD = Reply(WRITTEN)
NAMES: dict[Shape, str] = {"openai": "tiny", "ollama": "tiny", "anthropic": "claude-sonnet-4-6"}
SHAPES = list(NAMES)
FAULTS = [
    pytest.param(Reply(status=401), "refused the key", id="401"),
    pytest.param(Reply(status=404), "not known to its server", id="404"),
    pytest.param(Reply(status=400), "refused the request", id="400"),
    pytest.param(Reply(status=429), "too many requests", id="429"),
    pytest.param(Reply(status=500), "HTTP 500", id="500"),
    pytest.param(Reply(status=503), "HTTP 503", id="503"),
    pytest.param(Reply("Okapi is a", end="cut"), "cut the connection", id="cut in mid-stream"),
    pytest.param(Reply("Okapi is a", end="unfinished"), "cut the connection", id="without its end"),
    pytest.param(Reply(waits=True), "did not answer in time|took too long", id="silent before the first byte"),
    pytest.param(Reply("Okapi is a", end="silent"), "did not answer in time|took too long", id="silent in mid-stream"),
    pytest.param(Reply(), "empty reply", id="an empty reply"),
    pytest.param(Reply(body=""), "empty reply|no reply|cut the connection", id="an empty stream"),
    pytest.param(Reply(body='data: {"choices": [\n\n}}}\n\ndata: {{{\n\n'), "no reply|empty reply", id="malformed lines"),
    pytest.param(Reply(body="<html><b>Sign in</b></html>", content_type="text/html"), "empty reply|no reply", id="an HTML page"),
    pytest.param(Reply(OFF_TOPIC), "nothing that the abstracts support", id="nothing supported"),
    pytest.param(Reply("<think>Okapi is"), "nothing that the abstracts support", id="thinking without end"),
]


@pytest.fixture(scope="module")
def small_assistant(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    """One for all tests here; they change nothing of it."""
    return assistant_over(ANIMALS, tmp_path_factory.mktemp("faults"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.answering.llm._BACK_OFF_SECONDS", 0.01)
    for variable in ("ASKABSTRACTS_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    yield
    until = time.monotonic() + 2
    while reading() and time.monotonic() < until:
        time.sleep(0.02)
    assert not reading()


def reading() -> list[threading.Thread]:
    """The threads that read replies."""
    return [thread for thread in threading.enumerate() if thread.name == "reply"]


def served(script: list[Reply], shape: Shape = "openai") -> ModelServer:
    return ModelServer(script, shape=shape, models=[NAMES[shape]])


def seconds_for(fault: Reply) -> int:
    """Little time for a silent server; more for the others, since the first test also loads a client library."""
    return 1 if fault.waits or fault.end == "silent" else 20


def assert_quotes_instead(answer: Answer, quotes: Answer, told: str) -> None:
    """The answer is that of the quotes, and a last notice says why."""
    assert (answer.model, answer.is_final, answer.draft) == ("quotes", True, "")
    assert (answer.text, answer.citations, answer.status) == (quotes.text, quotes.citations, quotes.status)
    *before, notice = answer.notices
    assert tuple(before) == quotes.notices
    assert re.search(told, notice)
    assert "quotes" in notice
    assert not any(word in notice for word in (SERVER_WORDS, KEY, "Traceback", "<html", "\n"))


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("fault", "told"), FAULTS)
def test_failing_model_is_replaced_by_quotes_and_named(small_assistant: Assistant, shape: Shape, fault: Reply, told: str) -> None:
    with served([fault], shape) as server:
        answer = with_llm(small_assistant, server.spec, llm_timeout_seconds=seconds_for(fault)).ask(ABOUT_OKAPI)
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), told)


@pytest.mark.parametrize(("fault", "told"), FAULTS)
def test_stream_of_a_failing_model_shows_the_quotes_first_and_last(small_assistant: Assistant, fault: Reply, told: str) -> None:
    with served([fault]) as server:
        snapshots = list(with_llm(small_assistant, server.spec, llm_timeout_seconds=seconds_for(fault)).stream(ABOUT_OKAPI))
    quotes = small_assistant.ask(ABOUT_OKAPI)
    assert [one.is_final for one in snapshots] == [False] * (len(snapshots) - 1) + [True]
    assert snapshots[1].text == quotes.text
    assert all(one.text for one in snapshots[1:])
    assert_quotes_instead(snapshots[-1], quotes, told)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("end", ["cut", "unfinished", "silent"])
def test_what_a_model_wrote_before_it_failed_is_kept_where_it_is_verified(
    small_assistant: Assistant, shape: Shape, end: Any
) -> None:
    with served([Reply(f"{WRITTEN} Okapi also", end=end)], shape) as server:
        answer = with_llm(small_assistant, server.spec, llm_timeout_seconds=2 if end == "silent" else 20).ask(ABOUT_OKAPI)
    assert answer.model != "quotes"
    assert answer.text == WRITTEN
    assert re.search(r"(cut the connection|in time|too long).* the rest is missing", answer.notices[-1])


def test_model_that_cannot_be_opened_any_more_is_replaced_by_quotes(
    small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> Any:
        raise AnswererError("The local model x.gguf did not start.")

    for part in ("open", "count_tokens"):
        assistant = with_llm(small_assistant, ScriptedLLM(WRITTEN))
        model = assistant._answerers.model()
        assert model is not None
        broken = replace(model, **{part: lambda *_: gone()})  # type: ignore[arg-type]  # one of the two
        monkeypatch.setattr(assistant._answerers, "model", lambda name, broken=broken: broken)
        assert_quotes_instead(assistant.ask(ABOUT_OKAPI), small_assistant.ask(ABOUT_OKAPI), "did not start")


LENGTH: dict[Shape, Reply] = {
    "openai": Reply(
        body='data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"tiny","choices":[{"index":0,"delta":{"role":'
        '"assistant","content":"<TEXT>"},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n',
        content_type="text/event-stream",
    ),
    "ollama": Reply(
        body='{"model":"tiny","created_at":"2024-01-01T00:00:00Z","done":true,"done_reason":"length","message":{"role":"assistant",'
        '"content":"<TEXT>"}}\n',
        content_type="application/x-ndjson",
    ),
}


@pytest.mark.parametrize("shape", list(LENGTH))
@pytest.mark.parametrize("text", ["", "<think>Okapi is"])
def test_model_whose_tokens_went_into_thinking_is_asked_once_and_told(small_assistant: Assistant, shape: Shape, text: str) -> None:
    reply = replace(LENGTH[shape], body=(LENGTH[shape].body or "").replace("<TEXT>", text))
    with served([reply, GOOD], shape) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), "llm_answer_tokens")
    assert len(server.prompts) == 1


@pytest.mark.parametrize("shape", list(LENGTH))
def test_last_sentence_of_a_reply_that_ran_out_of_tokens_is_left_out(small_assistant: Assistant, shape: Shape) -> None:
    reply = replace(LENGTH[shape], body=(LENGTH[shape].body or "").replace("<TEXT>", f"{WRITTEN} It reaches 71.2%"))
    with served([reply], shape) as server:
        assert with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI).text == WRITTEN


def test_last_sentence_without_its_full_stop_is_kept(small_assistant: Assistant) -> None:
    with served([Reply(f"{OKAPI_IS} [1] It reaches 71.2% accuracy [1]")]) as server:
        assert "71.2% accuracy [1]" in with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI).text


def test_server_that_is_gone_by_the_time_of_the_question(small_assistant: Assistant) -> None:
    with served([GOOD]) as server:
        assistant = with_llm(small_assistant, server.spec)
    assert_quotes_instead(assistant.ask(ABOUT_OKAPI), small_assistant.ask(ABOUT_OKAPI), "cannot be reached")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Reply(status=429), id="429"),
        pytest.param(Reply(status=500), id="500"),
        pytest.param(Reply(WRITTEN, end="cut"), id="cut"),
        pytest.param(Reply(), id="empty"),
    ],
)
def test_fault_that_passes_is_not_noticed(small_assistant: Assistant, shape: Shape, fault: Reply) -> None:
    with served([fault, fault, GOOD], shape) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert answer.text == WRITTEN
    assert answer.model != "quotes"
    assert len(server.prompts) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
def test_fault_that_stays_is_not_repeated(small_assistant: Assistant, status: int) -> None:
    with served([Reply(status=status), GOOD]) as server:
        with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert len(server.prompts) == 1


@pytest.mark.parametrize("shape", ["openai", "anthropic"])  # Ollama's client keeps the header to itself
def test_server_that_asks_to_wait_is_waited_for(small_assistant: Assistant, shape: Shape) -> None:
    with served([Reply(status=429, headers={"retry-after": "1"}), GOOD], shape) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert answer.text == WRITTEN
    assert 1 <= server.times[1] - server.times[0] < 2


@pytest.mark.parametrize("asked", ["3600", "1e9"])
def test_long_wait_is_not_waited_for(small_assistant: Assistant, asked: str) -> None:
    started = time.monotonic()
    with served([Reply(status=429, headers={"retry-after": asked}), GOOD]) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert time.monotonic() - started < 5
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), "asks to wait")


@pytest.mark.parametrize("asked", ["soon", "Wed, 21 Oct 2099 07:28:00 GMT", "-5", "nan", "inf", ""])
def test_wait_that_is_no_number_is_harmless(small_assistant: Assistant, asked: str) -> None:
    started = time.monotonic()
    with served([Reply(status=429, headers={"retry-after": asked}), GOOD]) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert answer.citations
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fault", [Reply(waits=True), Reply(WRITTEN, end="silent")], ids=["before the first byte", "in mid-stream"])
def test_model_gets_no_more_time_than_the_setting(small_assistant: Assistant, shape: Shape, fault: Reply) -> None:
    with served([fault], shape) as server:
        assistant = with_llm(small_assistant, server.spec, llm_timeout_seconds=1)
        started = time.monotonic()
        assistant.ask(ABOUT_OKAPI)
        assert time.monotonic() - started < 2.5
        assert server.hung_up.wait(1)


def test_endless_reply_is_ended(small_assistant: Assistant) -> None:
    reply = Reply(f"{WRITTEN} " + "and so on " * 50_000, step=200_000)
    with served([reply]) as server:
        started = time.monotonic()
        answer = with_llm(small_assistant, server.spec, llm_timeout_seconds=2).ask(ABOUT_OKAPI)
    assert time.monotonic() - started < 4
    assert answer.citations


class Endless(ScriptedLLM):
    """A model object that writes one sentence for ever, and counts."""

    count = 0

    def stream_chat(self, messages: Any) -> Any:
        while True:
            self.count += 1
            yield Part(f"{WRITTEN} ")


def test_model_object_that_never_ends_is_read_no_further(small_assistant: Assistant) -> None:
    endless = Endless("")
    assert with_llm(small_assistant, endless).ask(ABOUT_OKAPI).text == WRITTEN
    until = time.monotonic() + 2
    while reading() and time.monotonic() < until:
        time.sleep(0.02)
    count = endless.count
    time.sleep(0.1)
    assert endless.count == count


@pytest.mark.parametrize("start", ["", "<think>"], ids=["an answer", "thinking"])
def test_reply_of_a_hundred_thousand_letters_is_read_in_two_seconds(small_assistant: Assistant, start: str) -> None:
    long = "".join(f"Okapi {number} ranks. " for number in range(5000)) if not start else "We think. " * 10_000
    started = time.monotonic()
    with_llm(small_assistant, ScriptedLLM(f"{start}{long}", step=20)).ask(ABOUT_OKAPI)
    assert time.monotonic() - started < 4  # two on a quiet machine


def test_model_that_repeats_itself_is_ended(small_assistant: Assistant) -> None:
    with served([Reply(f"{WRITTEN} " * 20, end="silent")]) as server:
        answer = with_llm(small_assistant, server.spec, llm_timeout_seconds=10).ask(ABOUT_OKAPI)
        assert server.hung_up.wait(1)
    assert answer.text == WRITTEN


# --- replies that are no faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_reply_torn_anywhere_is_read_whole(small_assistant: Assistant, shape: Shape, step: int) -> None:
    with served([Reply(f"<think>Ünïcödé → 🦓 ‥ [1]</think>{WRITTEN} Ünïcödé 🦓 → [1].", step=step)], shape) as server:
        *_, growing, answer = with_llm(small_assistant, server.spec).stream(ABOUT_OKAPI)
    assert answer.text == WRITTEN
    assert "Ünïcödé 🦓 →" in growing.draft
    assert "�" not in growing.draft


@pytest.mark.parametrize("shape", SHAPES)
def test_reply_without_markers_gets_them(small_assistant: Assistant, shape: Shape) -> None:
    with served([Reply(f"{OKAPI_IS} {OKAPI_REACHES}")], shape) as server:
        assert with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI).text == WRITTEN


def test_not_stated_is_said_with_the_nearest_sentence(small_assistant: Assistant) -> None:
    with served([Reply("NOT STATED")]) as server:
        answer = with_llm(small_assistant, server.spec).ask(ABOUT_OKAPI)
    assert (answer.status, answer.model) == ("silent", "quotes")
    assert answer.citations
    assert any("does not state" in notice for notice in answer.notices)


def test_letter_torn_into_two_escapes_is_put_together(small_assistant: Assistant) -> None:
    *_, growing, answer = with_llm(small_assistant, ScriptedLLM(f"{WRITTEN} \ud83e\udd93 \ud800", step=1)).stream(ABOUT_OKAPI)
    assert growing.draft.endswith("🦓 \ufffd")
    assert answer.citations


# --- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_words_are_shown_as_they_come(small_assistant: Assistant, shape: Shape) -> None:
    with served([Reply(WRITTEN, end="silent")], shape) as server:
        stream = with_llm(small_assistant, server.spec).stream(ABOUT_OKAPI)
        drafts = (snapshot.draft for snapshot in stream if snapshot.draft)
        assert WRITTEN.startswith(next(drafts))
        stream.close()  # type: ignore[attr-defined]  # it is a generator
        assert server.hung_up.wait(1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fault", [Reply(waits=True), Reply(WRITTEN, end="silent")], ids=["before the first byte", "in mid-stream"])
def test_setting_stopped_ends_the_request(small_assistant: Assistant, shape: Shape, fault: Reply) -> None:
    stopped = threading.Event()
    with served([fault], shape) as server:
        assistant = with_llm(small_assistant, server.spec, llm_timeout_seconds=30)
        threading.Timer(0.5, stopped.set).start()
        started = time.monotonic()
        *_, answer = assistant.stream(ABOUT_OKAPI, stopped=stopped)
        assert time.monotonic() - started < 1.5
        assert server.hung_up.wait(1)
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), "was stopped")


def test_closing_the_stream_before_the_first_word_ends_the_request(small_assistant: Assistant) -> None:
    with served([Reply(waits=True)]) as server:
        stream: Any = with_llm(small_assistant, server.spec, llm_timeout_seconds=30).stream(ABOUT_OKAPI)
        next(stream)
        next(stream)  # the quotes; no request has been sent yet
        stream.close()
    assert server.prompts == []


def test_stopped_while_a_failed_model_is_waited_for(small_assistant: Assistant) -> None:
    stopped = threading.Event()
    with served([Reply(status=429, headers={"retry-after": "15"}), GOOD]) as server:
        threading.Timer(0.3, stopped.set).start()
        started = time.monotonic()
        *_, answer = with_llm(small_assistant, server.spec).stream(ABOUT_OKAPI, stopped=stopped)
    assert time.monotonic() - started < 2
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), "was stopped")


def test_stopped_while_a_follow_up_is_rewritten(small_assistant: Assistant) -> None:
    stopped = threading.Event()
    stopped.set()
    history = [Turn(ABOUT_OKAPI, WRITTEN)]
    with served([Reply(waits=True)]) as server:
        *_, answer = with_llm(small_assistant, server.spec).stream("And how fast is it?", history, stopped=stopped)
    assert answer.is_final
    assert answer.model == "quotes"


def test_connection_that_opens_after_the_stop_is_shut_too() -> None:
    stopper = Stopper()
    with served([Reply(waits=True)]) as server, httpx.Client(event_hooks=stopper.event_hooks, timeout=5) as client:
        stopper.stop()
        with pytest.raises(httpx.TransportError):
            client.post(f"{server.address}/v1/chat/completions", json={})


def test_many_stopped_questions_leave_no_thread(small_assistant: Assistant) -> None:
    with served([Reply(WRITTEN, end="silent")]) as server:
        assistant = with_llm(small_assistant, server.spec)
        for _ in range(5):
            stream: Any = assistant.stream(ABOUT_OKAPI)
            assert any(snapshot.draft for snapshot in stream)
            stream.close()


# --- a model object ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RuntimeError(f"{SERVER_WORDS} {KEY}"), ValueError(KEY), KeyboardInterrupt(), MemoryError(), SystemExit(KEY)], ids=repr
)
def test_model_object_that_raises_is_replaced_by_quotes(small_assistant: Assistant, error: BaseException) -> None:
    class Broken(ScriptedLLM):
        def stream_chat(self, messages: Any) -> Any:
            raise error

    answer = with_llm(small_assistant, Broken("")).ask(ABOUT_OKAPI)
    assert_quotes_instead(answer, small_assistant.ask(ABOUT_OKAPI), "Broken")
