"""What is searched for a question, with a model that is told what to say."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rag.answer import Turn
from rag.answering.models import LanguageModel, estimated_tokens
from rag.answering.replies import Request
from rag.assistant import Assistant
from rag.planning import make_plan
from tests.scripted_model import Part, ScriptedLLM, with_llm

GERMAN = "Wie genau ist denn eigentlich der Algorithmus Okapi bei den Dokumenten?"
ENGLISH = "How accurate is Okapi on documents?"
ABOUT_OKAPI = "What accuracy does Okapi reach on antelope documents?"


class Translator:
    """A model that answers by the system prompt and text it is sent, and counts how often it was asked."""

    metadata = None

    def __init__(self, replies: Callable[[str, str], str]) -> None:
        self.replies, self.asked = replies, 0

    def stream_chat(self, messages: Sequence[Any]) -> Iterator[Part]:
        self.asked += 1
        yield Part(self.replies(str(messages[0].content), str(messages[-1].content)))


def model_of(llm: object) -> LanguageModel:
    return LanguageModel("scripted", 4000, 2000, 200, lambda: Request(llm, lambda: None), estimated_tokens)


def test_german_question_is_searched_in_english(small_assistant: Assistant) -> None:
    plan = make_plan(GERMAN, [], small_assistant.index, model_of(ScriptedLLM(ENGLISH)), embedder="words")
    assert (plan.standalone, plan.language, plan.notices) == (ENGLISH, "German", ())


def test_stopped_model_is_no_error(small_assistant: Assistant) -> None:
    stopped = threading.Event()
    stopped.set()
    plan = make_plan(GERMAN, [], small_assistant.index, model_of(ScriptedLLM(ENGLISH)), embedder="words", stopped=stopped)
    assert plan.standalone == GERMAN
    *_, last = with_llm(small_assistant, ScriptedLLM(ENGLISH)).stream(GERMAN, stopped=stopped)
    assert last.is_final


def test_question_of_its_own_is_never_rewritten(small_assistant: Assistant) -> None:
    llm = ScriptedLLM("What is Okapi?")
    history = [(ABOUT_OKAPI, small_assistant.ask(ABOUT_OKAPI).text)]
    asked = "Do herons stand still in water?"
    plan = make_plan(asked, history, small_assistant.index, model_of(llm), embedder="words")
    assert (plan.standalone, llm.prompts) == (asked, [])


def test_rewriting_that_says_something_else_leaves_the_rules_question(small_assistant: Assistant) -> None:
    first = small_assistant.ask(ABOUT_OKAPI)
    history = [(first.question, first.text)]

    def planned(reply: str) -> str:
        model = model_of(ScriptedLLM(reply))
        return make_plan("is its code open?", history, small_assistant.index, model, embedder="words").standalone

    rules = make_plan("is its code open?", history, small_assistant.index, None, embedder="words").standalone
    assert planned("Is the code of Okapi open?") == "Is the code of Okapi open?"
    assert planned("I cannot help with that.") == planned("Is its code open?") == planned("What is Zebra?") == rules


# --- translated answers -----------------------------------------------------------------------------------------------


def answered_in_german(assistant: Assistant, german: str, back: str) -> tuple[Any, Translator]:
    said = "It reaches 71.2% accuracy on antelope documents. [1]"

    def replies(system: str, text: str) -> str:
        if "into English" in system:
            return back if text == german else ENGLISH
        return german if "into German" in system else said

    llm = Translator(replies)
    return with_llm(assistant, llm).ask(GERMAN, [Turn("hello", "")]), llm


def test_translation_is_shown_when_its_back_translation_is_supported(small_assistant: Assistant) -> None:
    german = "Es erreicht 71,2% Genauigkeit auf Antilopen-Dokumenten."
    answer, llm = answered_in_german(small_assistant, german, "It reaches 71.2% accuracy on antelope documents.")
    assert answer.text.startswith("Es erreicht")
    assert llm.asked == 4  # the question, the answer, there and back


@pytest.mark.parametrize(
    ("german", "back"),
    [
        ("Es erreicht 71,2% Genauigkeit nie.", "It never reaches 71.2% accuracy on antelope documents."),
        ("Die Autoren der 71,2% sind Betrüger.", "The authors of the 71.2% are liars."),
        ("Es erreicht 99% Genauigkeit.", "It reaches 71.2% accuracy on antelope documents."),
        ("", ""),
    ],
)
def test_translation_that_says_something_else_leaves_the_english_sentence(
    small_assistant: Assistant, german: str, back: str
) -> None:
    answer, _ = answered_in_german(small_assistant, german, back)
    assert answer.text.startswith("It reaches 71.2% accuracy on antelope documents.")
    assert "is in English" in answer.notices[-1]
