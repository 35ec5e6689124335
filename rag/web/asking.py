"""A visitor's questions and conversations: what each action of the page makes of them. All of it is the visitor's own state.

The truth of a session is a `Conversations`; the browser keeps its JSON. Snapshots of an answer touch nothing but the answer shown.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag.answer import Answer
from rag.assistant import Assistant
from rag.errors import AskAbstractsError
from rag.export import conversation_markdown
from rag.filters import PaperFilter
from rag.web.keeping import Conversation, Conversations
from rag.web.render import answer_html, error_html
from rag.web.texts import Language, say

_BETWEEN_SNAPSHOTS_SECONDS = 0.1  # the eye reads no faster


@dataclass(frozen=True, slots=True)
class Wish:
    """A question with everything its visitor chose for it. `replaces` is the turn (from 1) it takes the place of; 0 for a new one."""

    question: str
    replaces: int = 0
    is_alone: bool = False
    llm: str | None = None
    max_papers: int | None = None
    unsupported: str | None = None
    papers: PaperFilter | None = None
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows: the turns that are done, the one that is being answered, and the visitor's state once it is."""

    current: str
    conversations: Conversations | None = None


class Asking:
    """Answers wishes. Of a visit it keeps only what stops its running answer, and only while that runs."""

    def __init__(self, *, offers_feedback: bool = False) -> None:
        self._offers_feedback = offers_feedback
        self._running: dict[str, threading.Event] = {}

    def ask(self, wish: Wish, conversations: Conversations, visit: str, assistant: Assistant) -> Iterator[Shown]:
        """The answer as it grows; the last one holds the conversations with it."""
        self.stop(visit)
        stopped = self._running[visit] = threading.Event()
        try:
            yield from self._answers(wish, conversations, assistant, stopped)
        finally:
            stopped.set()  # also when the visitor has gone: the model need not write on
            if self._running.get(visit) is stopped:
                del self._running[visit]

    def stop(self, visit: str) -> None:
        """Stops the answer that runs in this visit, if one does."""
        if visit in self._running:
            self._running[visit].set()

    def stop_all(self) -> None:
        """Stops every answer that runs; for the end of the server."""
        for running in list(self._running.values()):
            running.set()

    def _answers(self, wish: Wish, conversations: Conversations, assistant: Assistant, stopped: threading.Event) -> Iterator[Shown]:
        conversation = conversations.open
        if wish.replaces:
            conversation = conversation.up_to(wish.replaces - 1)
        turn = len(conversation.answers) + 1
        sent, has_quotes = 0.0, False
        try:
            for answer in assistant.stream(
                wish.question,
                [] if wish.is_alone else conversation.history,
                llm=wish.llm,
                papers=wish.papers,
                max_papers=wish.max_papers,
                unsupported=wish.unsupported,
                stopped=stopped,
            ):
                is_due = time.monotonic() - sent >= _BETWEEN_SNAPSHOTS_SECONDS or bool(answer.text) != has_quotes
                if not answer.is_final and is_due:  # the quotes at once: a model may take long for its first word
                    sent, has_quotes = time.monotonic(), bool(answer.text)
                    yield Shown(self._html(answer, turn, wish.language))
        except AskAbstractsError as error:
            yield Shown(error_html(wish.question, str(error)))
            return
        except Exception:  # a fault of ours: the page must not wait for ever, and the log gets the traceback
            yield Shown(error_html(wish.question, say("fault", wish.language)))
            raise
        done = replace(conversation, answers=(*conversation.answers, answer))
        yield Shown(self._html(answer, turn, wish.language), conversations.with_open(done))

    def turns_html(self, conversation: Conversation, language: Language) -> str:
        """All turns of a conversation, one below the other, and its Markdown for saving."""
        turns = "".join(self._html(answer, turn, language) for turn, answer in enumerate(conversation.answers, start=1))
        return f'<div class="turns">{turns}</div>'

    def _html(self, answer: Answer, turn: int, language: Language) -> str:
        return answer_html(answer, turn=turn, language=language, offers_feedback=self._offers_feedback)


def exported(conversation: Conversation, language: Language) -> str:
    """A conversation as Markdown with its sources; empty for one without answers."""
    title = conversation.shown_name or say("unnamed", language)
    return conversation_markdown(conversation.answers, title=title) if conversation.answers else ""


Action = Callable[[Conversations, Mapping[str, Any]], Conversations]
ACTIONS: Mapping[str, Action] = {
    "new": lambda conversations, _: conversations.with_new(),
    "open": lambda conversations, given: conversations.opened(str(given.get("id", ""))),
    "rename": lambda conversations, given: conversations.renamed(str(given.get("id", "")), str(given.get("name", ""))),
    "delete": lambda conversations, given: conversations.without(str(given.get("id", ""))),
    "clear": lambda conversations, _: conversations.with_open(replace(conversations.open, answers=())),
}
"""What an action with a conversation makes of all of them; what was given comes from the page and is not trusted."""
