"""A visitor's questions and conversations: what each action of the page makes of them. All of it is the visitor's own state.

The truth of a session is a `Conversations`; the browser keeps its JSON. Snapshots of an answer touch nothing but the answer shown.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag.answer import Answer
from rag.assistant import Assistant
from rag.errors import AskAbstractsError
from rag.export import conversation_markdown
from rag.filters import PaperFilter
from rag.questions import LONGEST_QUESTION
from rag.web.keeping import Conversation, Conversations, Finished
from rag.web.render import answer_html, error_html
from rag.web.texts import Language, say

_BETWEEN_SNAPSHOTS_SECONDS = 0.1  # the eye reads no faster


@dataclass(frozen=True, slots=True)
class Wish:
    """A question with everything its visitor chose for it. `replaces` is the turn (from 1) it takes the place of; 0 for a new one.

    `keeps_later` says that the turns after that one stay.
    """

    question: str
    replaces: int = 0
    keeps_later: bool = False
    is_alone: bool = False
    llm: str | None = None
    max_papers: int | None = None
    unsupported: str | None = None
    papers: PaperFilter | None = None
    language: Language = "en"


def wish_from(given: Mapping[str, Any], conversation: Conversation) -> Wish:
    """The wish in what the page's script sent: `question`, `replaces` (a turn), `keeps` ("yes") and `alone` ("yes").

    A turn that is asked again with those after it kept has the question it had, and stands alone if it did.
    """
    turn = int(given["replaces"]) if re.fullmatch(r"[0-9]{1,9}", str(given.get("replaces", ""))) else 0
    turn = turn if 0 < turn <= len(conversation.answers) else 0
    question, is_alone = str(given.get("question", ""))[:LONGEST_QUESTION], given.get("alone") == "yes"
    if turn and given.get("keeps") == "yes":
        return Wish(conversation.answers[turn - 1].question, turn, keeps_later=True, is_alone=turn in conversation.alone)
    return Wish(question, turn, is_alone=is_alone)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows of a turn that is being answered, and the turn itself once it is."""

    current: str
    finished: Finished | None = None


@dataclass(slots=True, eq=False)
class _Running:
    """An answer that is being written: what stops it, and whether nobody wants it any more."""

    stopped: threading.Event = field(default_factory=threading.Event)
    is_dropped: bool = False


class Asking:
    """Answers wishes. Of a visit it keeps only what stops its running answer, and only while that runs."""

    def __init__(self, *, offers_feedback: bool = False) -> None:
        self._offers_feedback = offers_feedback
        self._running: dict[str, _Running] = {}

    def ask(self, wish: Wish, conversations: Conversations, visit: str, assistant: Assistant) -> Iterator[Shown]:
        """The answer to `wish` in the open conversation as it grows; the last one holds the finished turn. Of a dropped one nothing stays."""
        self.stop(visit)
        running = self._running[visit] = _Running()
        try:
            for shown in self._answers(wish, conversations, assistant, running.stopped):
                if running.is_dropped:
                    yield Shown("")
                    return
                yield shown
        finally:
            running.stopped.set()  # also when the visitor has gone: the model need not write on
            if self._running.get(visit) is running:
                del self._running[visit]

    def stop(self, visit: str) -> None:
        """Stops the answer that runs in this visit, if one does."""
        if visit in self._running:
            self._running[visit].stopped.set()

    def drop(self, visit: str) -> None:
        """Stops the answer that runs in this visit, and lets nothing more come of it."""
        if visit in self._running:
            self._running[visit].is_dropped = True
        self.stop(visit)

    def stop_all(self) -> None:
        """Stops every answer that runs; for the end of the server."""
        for running in list(self._running.values()):
            running.stopped.set()

    def _answers(self, wish: Wish, conversations: Conversations, assistant: Assistant, stopped: threading.Event) -> Iterator[Shown]:
        conversation = conversations.open
        if wish.replaces:
            conversation = conversation.up_to(wish.replaces - 1)
        turn = len(conversation.answers) + 1
        sent, has_quotes = 0.0, False
        try:
            for answer in assistant.stream(
                wish.question,
                [] if wish.is_alone else conversation.history_of(assistant.settings.collection),
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
            yield Shown(error_html(wish.question, str(error), wish.language))
            return
        except Exception:  # a fault of ours: the page must not wait for ever, and the log gets the traceback
            yield Shown(error_html(wish.question, say("fault", wish.language), wish.language))
            raise
        finished = Finished(conversation.id, turn, answer, is_alone=wish.is_alone, keeps_later=wish.keeps_later)
        yield Shown(self._html(answer, turn, wish.language), finished)

    def turns_html(self, conversation: Conversation, language: Language, *, after: int = 0) -> str:
        """The turns of a conversation after the first `after`, one below the other."""
        answers = list(enumerate(conversation.answers, start=1))[after:]
        return f'<div class="turns">{"".join(self._html(answer, turn, language) for turn, answer in answers)}</div>'

    def turn_html(self, finished: Finished, language: Language) -> str:
        """A finished turn."""
        return self._html(finished.answer, finished.turn, language)

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
    "clear": lambda conversations, _: conversations.with_open(conversations.open.up_to(0)),
}
"""What an action with a conversation makes of all of them; what was given comes from the page and is not trusted."""
