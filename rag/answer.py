"""What goes into a conversation and what comes out: a turn, an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag.citations import Citation
from rag.search import Hit

Status = Literal["answered", "silent", "not_found", "premise", "invalid"]


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of a conversation and the text it was answered with."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or an honest refusal.

    `text` is Markdown with markers like [1]; every sentence in it carries a citation, or is struck and labelled as unsupported. It
    answers ("answered"), shows the nearest sentence ("silent") or what contradicts the question ("premise"), and is empty when
    nothing was found. `notices` are what the program itself says, as a refusal does. `hits` are the papers considered, best first,
    also when nothing was answered. `model` is who wrote the text, "quotes" for exact quotes. `timings` are seconds per stage.

    `collection` is the name of the collection that was asked, "" for the default one.

    Snapshots of a stream have `is_final` False until the last; `draft` is then what a model has written so far, unverified.
    """

    question: str
    standalone_question: str
    status: Status
    text: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    notices: tuple[str, ...]
    model: str
    timings: Mapping[str, float] = field(default_factory=dict)
    is_final: bool = True
    draft: str = ""
    collection: str = ""
