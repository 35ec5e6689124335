"""A visitor's questions: what each makes of the conversation, also when it is stopped, or when something fails."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag.answer import Turn
from rag.answering.specs import QUOTES
from rag.assistant import Assistant
from rag.errors import StoreError
from rag.filters import PaperFilter
from rag.web.asking import ACTIONS, Asking, Shown, Wish, exported, wish_from
from rag.web.keeping import Conversations, as_kept, from_kept
from tests.scripted_model import ABOUT_OKAPI, ZEBRA_IS_FASTER, Part, ScriptedLLM, with_llm

HOW_MUCH_FASTER = "How much faster is Zebra than Okapi?"
RECIPE = "What is the best recipe for carrot cake?"


class EndlessLLM(ScriptedLLM):
    """Writes on until it is closed."""

    def __init__(self) -> None:
        super().__init__("")
        self.is_closed = threading.Event()

    def stream_chat(self, messages: Sequence[Any]) -> Iterator[Part]:
        """Pieces without end."""
        try:
            while True:
                time.sleep(0.01)
                yield Part("Zebra is fast. ")
        finally:
            self.is_closed.set()


def asked(assistant: Assistant, conversations: Conversations, question: str, **wish: Any) -> Conversations:
    """The conversations after a question."""
    *_, last = Asking().ask(Wish(question, **wish), conversations, "visit", assistant)
    assert last.finished is not None
    return conversations.with_finished(last.finished)


def questions_of(conversations: Conversations) -> list[str]:
    return [answer.question for answer in conversations.open.answers]


def test_a_question_becomes_a_turn(small_assistant: Assistant) -> None:
    before = Conversations()
    *growing, last = Asking().ask(Wish(HOW_MUCH_FASTER), before, "visit", small_assistant)
    assert all(shown.finished is None and 'aria-busy="true"' in shown.current for shown in growing)
    assert last.finished is not None
    assert questions_of(before.with_finished(last.finished)) == [HOW_MUCH_FASTER]
    assert 'data-turn="1"' in last.current
    assert before.open.answers == ()


def test_a_follow_up_is_asked_with_what_was_said_and_an_alone_one_without(small_assistant: Assistant) -> None:
    before = asked(small_assistant, Conversations(), "What is Okapi?")
    followed = asked(small_assistant, before, "Which accuracy does it reach?").open.answers[-1]
    assert "Okapi" in followed.standalone_question
    alone = asked(small_assistant, before, "Which accuracy does it reach?", is_alone=True)
    assert "Okapi" not in alone.open.answers[-1].standalone_question
    assert len(alone.open.answers) == 2


@pytest.mark.parametrize(("turn", "left"), [(1, [RECIPE]), (2, ["What is Okapi?", RECIPE])])
def test_an_edited_question_replaces_its_turn_and_drops_those_after_it(
    small_assistant: Assistant, turn: int, left: list[str]
) -> None:
    conversations = Conversations()
    for question in ("What is Okapi?", HOW_MUCH_FASTER, "What do herons do?"):
        conversations = asked(small_assistant, conversations, question)
    assert questions_of(asked(small_assistant, conversations, RECIPE, replaces=turn)) == left


def test_asking_again_knows_only_what_was_said_before_its_turn(small_assistant: Assistant) -> None:
    heard: list[Sequence[Turn]] = []
    before = asked(small_assistant, asked(small_assistant, Conversations(), "What is Okapi?"), HOW_MUCH_FASTER)
    stream = small_assistant.stream

    def listening(question: str, history: Sequence[Turn] = (), **given: Any) -> Any:
        heard.append(history)
        return stream(question, history, **given)

    small_assistant.stream = listening  # type: ignore[method-assign]  # a spy
    asked(small_assistant, before, HOW_MUCH_FASTER, replaces=2)
    assert [[turn.question for turn in history] for history in heard] == [["What is Okapi?"]]


def test_a_turn_asked_again_takes_its_place_and_those_after_it_stay(small_assistant: Assistant) -> None:
    conversations = Conversations()
    for question in ("What is Okapi?", HOW_MUCH_FASTER, RECIPE):
        conversations = asked(small_assistant, conversations, question)
    again = asked(small_assistant, conversations, HOW_MUCH_FASTER, replaces=2, keeps_later=True)
    assert questions_of(again) == questions_of(conversations)
    first, second, third = again.open.answers
    assert (first, third) == (conversations.open.answers[0], conversations.open.answers[2])
    assert second is not conversations.open.answers[1]


@pytest.mark.parametrize("act", ["delete", "rename", "new"])
def test_what_is_done_while_an_answer_is_written_holds(small_assistant: Assistant, act: str) -> None:
    other = asked(small_assistant, Conversations(), "What is Okapi?")
    before = other.with_new()
    *_, last = Asking().ask(Wish(HOW_MUCH_FASTER), before, "visit", small_assistant)
    assert last.finished is not None
    meanwhile = ACTIONS[act](before, {"id": before.open.id, "name": "Zebras"})
    after = meanwhile.with_finished(last.finished)
    if act == "delete":
        assert after == meanwhile, "the answer has no place any more"
    else:
        assert (after.open.shown_name, questions_of(after)) == ("Zebras" if act == "rename" else HOW_MUCH_FASTER, [HOW_MUCH_FASTER])
    deleted = ACTIONS["delete"](before, {"id": other.open.id})
    assert [one.id for one in deleted.with_finished(last.finished).all] == [before.open.id]


def test_of_a_dropped_answer_nothing_stays(small_assistant: Assistant) -> None:
    model, asking = EndlessLLM(), Asking()
    shown = asking.ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", with_llm(small_assistant, model))
    next(one for one in shown if "Zebra is fast." in one.current)
    asking.drop("another visit")
    asking.drop("visit")
    assert list(shown) == [Shown("")]
    assert model.is_closed.wait(5)


def test_a_question_that_stands_alone_does_so_when_it_is_asked_again(small_assistant: Assistant) -> None:
    conversations = asked(small_assistant, Conversations(), "What is Okapi?")
    conversations = asked(small_assistant, conversations, "Which accuracy does it reach?", is_alone=True)
    conversations = asked(small_assistant, conversations, RECIPE)
    kept = from_kept(as_kept(conversations)[0], lambda _: small_assistant.index)
    for mine in (conversations, kept):
        wish = wish_from({"question": "", "replaces": "2", "keeps": "yes"}, mine.open)
        assert (wish.question, wish.is_alone, wish.keeps_later) == ("Which accuracy does it reach?", True, True)
        assert wish_from({"replaces": "3", "keeps": "yes"}, mine.open).is_alone is False
    again = asked(small_assistant, kept, wish.question, replaces=2, keeps_later=True, is_alone=True)
    assert again.open.alone == {2}
    assert again.open.up_to(1).alone == frozenset()


@pytest.mark.parametrize("replaces", ["0", "4", "-1", "1.5", "²", "9" * 30, "", None, [1]], ids=str)
def test_a_wish_for_a_turn_that_is_not_there_is_a_new_question(small_assistant: Assistant, replaces: object) -> None:
    conversations = asked(small_assistant, Conversations(), "What is Okapi?")
    wish = wish_from({"question": RECIPE, "replaces": replaces, "keeps": "yes"}, conversations.open)
    assert wish == Wish(RECIPE)


def test_a_filter_and_the_number_of_papers_are_heeded(small_assistant: Assistant) -> None:
    heron = next(paper for paper in small_assistant.papers if "Herons" in paper.abstract)
    only = asked(small_assistant, Conversations(), HOW_MUCH_FASTER, papers=PaperFilter(ids=frozenset({heron.id})))
    assert {hit.paper for hit in only.open.answers[0].hits} == {heron}
    one = asked(small_assistant, Conversations(), "What is Okapi, and what is Zebra?", max_papers=1)
    assert len({citation.paper for citation in one.open.answers[0].citations}) <= 1


def test_a_stopped_model_leaves_the_quotes(small_assistant: Assistant) -> None:
    model, asking = EndlessLLM(), Asking()
    shown = asking.ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", with_llm(small_assistant, model))
    for one in shown:
        if "Zebra is fast." in one.current:
            asking.stop("another visit")
            asking.stop("visit")
    assert model.is_closed.wait(5)
    assert one.finished is not None
    assert one.finished.answer.model == QUOTES
    assert ZEBRA_IS_FASTER in one.finished.answer.text
    asking.stop("visit")  # nothing runs any more


def test_the_quotes_are_shown_before_the_model_has_a_word(small_assistant: Assistant) -> None:
    model = ScriptedLLM(f"{ZEBRA_IS_FASTER} [1]")
    shown = list(Asking().ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", with_llm(small_assistant, model)))
    assert any("<blockquote>" in one.current and one.finished is None for one in shown)


def test_who_asks_anew_or_leaves_ends_what_was_written_before(small_assistant: Assistant) -> None:
    for leaves in (True, False):
        model, asking = EndlessLLM(), Asking()
        shown = asking.ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", with_llm(small_assistant, model))
        next(one for one in shown if "Zebra is fast." in one.current)
        if leaves:
            shown.close()  # type: ignore[attr-defined]  # a generator
        else:
            *_, last = asking.ask(Wish(ABOUT_OKAPI, llm=QUOTES), Conversations(), "visit", small_assistant)
            assert last.finished is not None
            list(shown)
        assert model.is_closed.wait(5)


def test_the_end_of_the_server_ends_every_answer(small_assistant: Assistant) -> None:
    model, asking = EndlessLLM(), Asking()
    shown = asking.ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", with_llm(small_assistant, model))
    next(one for one in shown if "Zebra is fast." in one.current)
    asking.stop_all()
    assert list(shown)[-1].finished is not None


def test_an_error_is_said_and_the_conversation_stays(small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise StoreError("The index is <gone>; build it with --rebuild.")

    monkeypatch.setattr(Assistant, "stream", fails)
    shown = list(Asking().ask(Wish("<b>?"), Conversations(), "visit", small_assistant))
    assert shown == [Shown(shown[0].current)]
    assert "The index is &lt;gone&gt;; build it with --rebuild." in shown[0].current
    assert "&lt;b&gt;?" in shown[0].current


def test_a_fault_of_the_program_is_said_and_raised_for_the_log(small_assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Assistant, "stream", lambda *_, **__: 1 / 0)
    shown = Asking().ask(Wish(HOW_MUCH_FASTER), Conversations(), "visit", small_assistant)
    assert "met a fault of AskAbstracts" in next(shown).current
    with pytest.raises(ZeroDivisionError):
        next(shown)


def test_what_the_page_may_do_with_conversations(small_assistant: Assistant) -> None:
    before = asked(small_assistant, Conversations(), HOW_MUCH_FASTER)
    id_ = before.open.id
    assert ACTIONS["new"](before, {}).open.answers == ()
    assert ACTIONS["clear"](before, {}).open.answers == ()
    assert ACTIONS["rename"](before, {"id": id_, "name": "Zebras"}).open.shown_name == "Zebras"
    assert ACTIONS["delete"](before, {"id": id_}).open.id != id_
    for action in ("open", "rename", "delete"):
        assert ACTIONS[action](before, {}) == before
        assert ACTIONS[action](before, {"id": ["x"], "name": 5}) == before


def test_a_conversation_is_exported_under_its_name(small_assistant: Assistant) -> None:
    conversation = asked(small_assistant, Conversations(), HOW_MUCH_FASTER).open
    assert exported(replace(conversation, name="Zebras"), "en").startswith("# Zebras\n")
    assert exported(replace(conversation, answers=()), "en") == ""
