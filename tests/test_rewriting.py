"""What a model may do to a question and to an answer: every rewriting that says something else is refused, every translation checked."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag.answering.models import LanguageModel, estimated_tokens
from rag.answering.replies import Request
from rag.answering.rewriting import adds_nothing, names_the_same, rewrite, translate
from rag.errors import AnswererError
from tests.scripted_model import Part, ScriptedLLM

KIVI = [("What is KIVI?", "KIVI quantizes the key cache and uses 2.6x less memory. Llama and Falcon were tested.")]
ASKED = "How much memory does it save?"


def model_saying(text: str) -> LanguageModel:
    return model_of(ScriptedLLM(text))


def model_of(llm: object) -> LanguageModel:
    return LanguageModel("scripted", 4000, 2000, 200, lambda: Request(llm, lambda: None), estimated_tokens)


def soon() -> float:
    return time.monotonic() + 10


def rewritten(text: str, asked: str = ASKED, leads: Sequence[str] = ("KIVI",)) -> str:
    return rewrite(asked, leads, KIVI, model_saying(text), until=soon())


# --- rewriting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["How much memory does KIVI save?", "Question: How much memory does KIVI save?", '"How much memory does KIVI save?"']
)
def test_question_about_the_paper_in_play_is_taken(text: str) -> None:
    assert rewritten(text) == "How much memory does KIVI save?"


@pytest.mark.parametrize(
    "text",
    [
        ASKED,
        "I cannot help with that.",
        "Sure! Here is the question.",
        "Sure! How much memory does KIVI save?",
        "What is Falcon?",
        "What is the key?",
        "The abstract.",
        "How much memory does KIVI not save?",
        "How much memory does Llama save?",
        "How much memory does TURTLE save?",
        "How much memory does it save with KIVI?",
        "How much less memory does KIVI save?",
        "How much memory does KIVI save on 4 GPUs?",
        "How much memory does KIVI save?\nKIVI saves memory.",
        "",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    assert rewritten(text) == ""


def test_names_numbers_and_negations_of_the_question_stay() -> None:
    asked = "Does it not work at 2 bits for Mistral?"
    assert rewritten("Does KIVI not work at 2 bits for Mistral?", asked)
    for text in (
        "Does KIVI work at 2 bits for Mistral?",
        "Does KIVI not work at bits for Mistral?",
        "Does KIVI not work at 2 bits for Llama?",
    ):
        assert rewritten(text, asked) == ""


def test_every_paper_that_leads_is_named_and_a_title_without_a_name_by_two_words() -> None:
    assert rewritten("Which of KIVI and CaM is faster?", "which of them is faster?", ("KIVI", "Cache Merging (CaM)"))
    assert rewritten("Is KIVI faster?", "which of them is faster?", ("KIVI", "Cache Merging (CaM)")) == ""
    assert rewritten("How fast is Lookahead decoding?", "how fast is it?", ("Lookahead decoding",))
    assert rewritten("How fast is decoding?", "how fast is it?", ("Lookahead decoding",)) == ""


# --- translating ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            "How should the KV cache of language models be quantized?",
            "Wie sollte der KV-Cache von Sprachmodellen quantisiert werden?",
        ),
        ("How should the KV cache of language models be quantized?", "语言模型的KV缓存应该如何量化？"),
        ("KIVI spart 2,6-mal so viel Speicher bei vier LLMs.", "KIVI saves 2.6x as much memory on four LLMs."),
        ("Was schätzt die KI mit 1.000 Beispielen?", "What does the AI estimate with 1,000 examples?"),
        ("在4个LLM上", "on four LLMs"),
    ],
)
def test_german_nouns_and_neighbouring_signs_are_no_names(text: str, source: str) -> None:
    assert names_the_same(text, source)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("How is the cache quantized?", "Wie wird der KV-Cache quantisiert?"),
        ("How does KIVI work?", "Wie geht das?"),
        ("Does KIVI save 2.6x?", "Spart KIVI 26x?"),
        ("What is MathScale?", "Was ist LeanEuclid?"),
    ],
)
def test_lost_or_added_name_or_number_is_noticed(text: str, source: str) -> None:
    assert not names_the_same(text, source)


@pytest.mark.parametrize("text", ["", "I cannot translate this.", "Wie geht das?", "How\nis it?", "How does KIVI do it?"])
def test_what_is_no_translation_is_not_used(text: str) -> None:
    assert translate("Wie geht das?", "English", model_saying(text), until=soon()) == ""


def test_adds_nothing_compares_names_and_numbers() -> None:
    assert adds_nothing("KIVI saves 2.6x", "By 2.6x, KIVI saves memory")
    assert not adds_nothing("It saves 2.7x", "It saves 2.6x")
    assert not adds_nothing("On Falcon", "On Llama")


# --- a model that fails -----------------------------------------------------------------------------------------------


class Dead:
    """A local model whose process has ended."""

    metadata = None

    def stream_chat(self, messages: Sequence[Any]) -> Iterator[Part]:
        raise AnswererError("The local model ended.")


def raises(*_: object) -> Any:
    raise AnswererError("The local model ended.")


@pytest.mark.parametrize(
    "broken",
    [lambda model: replace(model, open=raises), lambda model: replace(model, count_tokens=raises), lambda _: model_of(Dead())],
    ids=["no address", "no tokens", "no reply"],
)
def test_model_whose_process_died_is_not_used(broken: Callable[[LanguageModel], LanguageModel]) -> None:
    model = broken(model_saying("How much memory does KIVI save?"))
    assert rewrite(ASKED, ["KIVI"], KIVI, model, until=soon()) == ""
    if model.count_tokens is not raises:
        assert translate("Wie geht das?", "English", model, until=soon()) == ""


def test_no_time_left_or_stopped_asks_nothing() -> None:
    stopped = threading.Event()
    stopped.set()
    model = model_saying("How does that work?")
    assert translate("Wie geht das?", "English", model, until=time.monotonic()) == ""
    assert translate("Wie geht das?", "English", model, until=soon(), stopped=stopped) == ""
