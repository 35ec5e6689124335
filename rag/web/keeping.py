"""A visitor's conversations as plain data for the visitor's own browser, and back.

What comes back from a browser may be old, cut or forged: every quote is compared with the abstract it claims to be from, and what
does not fit is left out. Knows no Gradio.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from rag.answer import Answer, Status, Turn
from rag.answering.specs import QUOTES
from rag.citations import Citation
from rag.index import PaperIndex
from rag.search import Hit, Sentence

STORAGE_KEY = "askabstracts-conversations"
_VERSION = 1
_LONGEST_KEPT = 1_000_000  # characters of JSON; browsers hold some five million for a site
_LONGEST_NAME = 60
_STATUSES: tuple[Status, ...] = ("answered", "silent", "not_found", "premise", "invalid")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A named conversation: its answers, each with its question, oldest first.

    `alone` are the numbers (from 1) of the turns whose questions stand alone: they were asked without what was said before.
    """

    id: str
    name: str
    answers: tuple[Answer, ...] = ()
    alone: frozenset[int] = frozenset()

    @classmethod
    def new(cls) -> Self:
        """An empty conversation with an id of its own."""
        return cls(secrets.token_hex(8), "")

    def history_of(self, collection: str) -> list[Turn]:
        """The turns as the assistant takes them, those alone that were answered from a collection: another's papers are none of it."""
        return [Turn(answer.question, answer.text) for answer in self.answers if answer.collection == collection]

    def up_to(self, turns: int) -> Self:
        """This conversation with its first `turns` answers."""
        return replace(self, answers=self.answers[:turns], alone=frozenset(turn for turn in self.alone if turn <= turns))

    def with_turn(self, finished: "Finished") -> Self:
        """This conversation with a finished turn in its place; those after it go, unless it says that they stay."""
        turn = min(finished.turn, len(self.answers) + 1)
        before, later, alone = self.up_to(turn - 1), self.answers[turn:], frozenset(one for one in self.alone if one > turn)
        if not finished.keeps_later:
            later, alone = (), frozenset()
        own = frozenset({turn}) if finished.is_alone else frozenset()
        return replace(before, answers=(*before.answers, finished.answer, *later), alone=before.alone | own | alone)

    @property
    def shown_name(self) -> str:
        """Its name, or its first question, cut where it is long."""
        name = " ".join((self.name or (self.answers[0].question if self.answers else "")).split())
        return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer that is done, and the place it was asked for: the id of a conversation and the number of its turn, from 1."""

    conversation: str
    turn: int
    answer: Answer
    is_alone: bool = False
    keeps_later: bool = False


@dataclass(frozen=True, slots=True)
class Conversations:
    """All conversations of a visitor, the newest first, and the id of the one that is open."""

    all: tuple[Conversation, ...] = field(default_factory=lambda: (Conversation.new(),))
    open_id: str = ""

    @property
    def open(self) -> Conversation:
        """The conversation that is open."""
        return next((one for one in self.all if one.id == self.open_id), self.all[0])

    def with_open(self, conversation: Conversation) -> Self:
        """These, with `conversation` in the place of the open one."""
        return replace(
            self, all=tuple(conversation if one.id == self.open.id else one for one in self.all), open_id=conversation.id
        )

    def with_finished(self, finished: Finished) -> Self:
        """These with a finished turn in its conversation, whatever was done to them meanwhile; one that is gone stays gone."""
        return replace(self, all=tuple(one.with_turn(finished) if one.id == finished.conversation else one for one in self.all))

    def opened(self, id: str) -> Self:
        """These, with another one open; an unknown id changes nothing."""
        return replace(self, open_id=id) if any(one.id == id for one in self.all) else self

    def with_new(self) -> Self:
        """These with an empty one, open; an empty one that is there already is opened instead."""
        empty = next((one for one in self.all if not one.answers), None)
        if empty is not None:
            return replace(self, open_id=empty.id)
        fresh = Conversation.new()
        return replace(self, all=(fresh, *self.all), open_id=fresh.id)

    def renamed(self, id: str, name: str) -> Self:
        """These with another name for one."""
        name = " ".join(name.split())[:_LONGEST_NAME]
        return replace(self, all=tuple(replace(one, name=name) if one.id == id else one for one in self.all))

    def without(self, id: str) -> Self:
        """These without one; never without any."""
        rest = tuple(one for one in self.all if one.id != id)
        return replace(self, all=rest or (Conversation.new(),), open_id="" if id == self.open.id else self.open_id)


def as_kept(conversations: Conversations) -> tuple[str, int]:
    """JSON for the browser, and how many of the oldest conversations did not fit any more."""
    kept = list(conversations.all)
    dropped = 0
    while True:
        rows = [_conversation_row(one) for one in kept]
        text = json.dumps({"version": _VERSION, "open": conversations.open.id, "conversations": rows}, ensure_ascii=False)
        if len(text) <= _LONGEST_KEPT or len(kept) == 1:
            return text if len(text) <= _LONGEST_KEPT else "", dropped
        oldest = next(one for one in reversed(kept) if one.id != conversations.open.id)
        kept.remove(oldest)
        dropped += 1


IndexOf = Callable[[str], PaperIndex | None]
"""The index of a collection by its name; None for one that is not there."""


def from_kept(text: object, index_of: IndexOf) -> Conversations:
    """Conversations from the browser's text; whatever is not of our making is left out."""
    try:
        kept = json.loads(text) if isinstance(text, str) and len(text) <= 2 * _LONGEST_KEPT else {}
        found = tuple(_conversation(row, index_of) for row in kept["conversations"]) if kept.get("version") == _VERSION else ()
        return Conversations(found, str(kept.get("open", ""))) if found else Conversations()
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return Conversations()


def _conversation(row: Mapping[str, Any], index_of: IndexOf) -> Conversation:
    answers = tuple(_answer(one, index_of) for one in row["answers"])
    alone = frozenset(turn for turn in row.get("alone", ()) if isinstance(turn, int) and 0 < turn <= len(answers))
    return Conversation(str(row["id"])[:40], str(row["name"])[:_LONGEST_NAME], answers, alone)


def _conversation_row(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "name": conversation.name,
        "answers": [_answer_row(answer) for answer in conversation.answers],
        "alone": sorted(conversation.alone),
    }


def _answer_row(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "standalone": answer.standalone_question,
        "status": answer.status,
        "text": answer.text,
        "model": answer.model,
        "notices": answer.notices,
        "timings": dict(answer.timings),
        "collection": answer.collection,
        "citations": [
            [one.number, one.paper.id, one.start, one.end, one.quote, one.support, list(one.claim)] for one in answer.citations
        ],
        "hits": [[hit.paper.id, hit.score] for hit in answer.hits],
    }


def _answer(row: Mapping[str, Any], index_of: IndexOf) -> Answer:
    collection = str(row.get("collection", ""))[:_LONGEST_NAME]
    index = index_of(collection)
    citations = [citation for one in row["citations"] if (citation := _citation(one, index)) is not None]
    is_whole = len(citations) == len(row["citations"])
    notices = tuple(str(notice) for notice in row["notices"])
    if not is_whole:
        notices = (*notices, "The collection has changed since: this answer's sources are not all there any more. Ask again.")
    status: Status = row["status"] if row["status"] in _STATUSES else "invalid"
    return Answer(
        question=str(row["question"]),
        standalone_question=str(row["standalone"]),
        status=status,
        text=str(row["text"]) if is_whole and citations else "",
        citations=tuple(citations) if is_whole else (),
        hits=tuple(hit for one in row["hits"] if (hit := _hit(one, index)) is not None),
        notices=notices,
        model=str(row["model"]) or QUOTES,
        timings={str(stage): float(seconds) for stage, seconds in row["timings"].items()},
        collection=collection,
    )


def _citation(row: list[Any], index: PaperIndex | None) -> Citation | None:
    number, paper_id, start, end, quote, support, claim = row
    place = None if index is None else index.row_of.get(paper_id)
    if (
        index is None
        or place is None
        or not (isinstance(start, int) and isinstance(end, int))
        or index.papers[place].abstract[start:end] != quote
    ):
        return None
    return Citation(int(number), index.papers[place], quote, start, end, float(support), (int(claim[0]), int(claim[1])))


def _hit(row: list[Any], index: PaperIndex | None) -> Hit | None:
    place = None if index is None else index.row_of.get(row[0])
    sentences: tuple[Sentence, ...] = ()
    return None if index is None or place is None else Hit(index.papers[place], float(row[1]), sentences)
