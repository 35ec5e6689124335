"""Evidence to answer text and its citations, for quotes and for a model's sentences. Pure: strings and spans in, strings and spans out.

The text is Markdown in which quotes and sentences are escaped, so that nothing inside them acts as markup or as a marker; a
citation's `quote` is verbatim. Papers are numbered from 1 in the order of their first use.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.papers import Paper
from rag.text import Span

_SPECIAL = re.compile(r"([\\`*_\[\]<>~$|&#!])")


@dataclass(frozen=True, slots=True)
class Citation:
    """An exact quote, `paper.abstract[start:end] == quote`, and the part of the answer that rests on it.

    `number` is the paper's number in this answer, as in its markers. `claim` is the (start, end) of the answer's sentence in
    its text, marker included. `support` (0..1) tells how far the quote carries the claim; a quotation carries itself wholly.
    """

    number: int
    paper: Paper
    quote: str
    start: int
    end: int
    support: float
    claim: tuple[int, int]


@dataclass(frozen=True, slots=True)
class QuotedPaper:
    """A paper and the spans of its abstract to quote, in reading order."""

    paper: Paper
    spans: Sequence[Span]


def quoting_answer(quoted: Sequence[QuotedPaper]) -> tuple[str, tuple[Citation, ...]]:
    """The text that quotes each paper under a line with its name, and the citations in the order of the text."""
    text = ""
    citations: list[Citation] = []
    for number, one in enumerate(quoted, start=1):
        start = len(text) + (2 if text else 0)
        text += f"{chr(10) * 2 if text else ''}**{escaped(one.paper.title)}** [{number}]"
        for span in one.spans:
            quote = one.paper.abstract[span.start : span.end]
            text += "\n\n> "
            # The line with the paper's name belongs to the first quote, so that its marker leads there too.
            claim_start = len(text) if span != one.spans[0] else start
            text += f"{escaped(quote)} [{number}]"
            citations.append(Citation(number, one.paper, quote, span.start, span.end, 1.0, (claim_start, len(text))))
    return text, tuple(citations)


@dataclass(frozen=True, slots=True)
class Ground:
    """A paper and the spans of its abstract that a sentence rests on, and how surely (0..1)."""

    paper: Paper
    spans: Sequence[Span]
    support: float


@dataclass(frozen=True, slots=True)
class GroundedSentence:
    """A model's sentence without markers and what it rests on: nothing, one paper, or for a comparison several."""

    text: str
    grounds: Sequence[Ground]
    paragraph: int = 0


UNSUPPORTED = "not supported by the abstracts"
STRUCK = re.compile(rf"~~((?:\\.|[^~\\])*)~~ \*\({UNSUPPORTED}\)\*")
"""A model's unsupported sentence (group 1, escaped) as it stands in an answer's text."""


def grounded_answer(sentences: Sequence[GroundedSentence], *, show_unsupported: bool) -> tuple[str, tuple[Citation, ...]]:
    """The text of the supported sentences with their markers, and one citation for every span a sentence rests on.

    A sentence that rests on nothing is left out, or shown struck and labelled; it never carries a marker.
    """
    text, last_paragraph = "", 0
    citations: list[Citation] = []
    numbers: dict[str, int] = {}
    for sentence in sentences:
        if not sentence.grounds and not show_unsupported:
            continue
        if text:
            text += "\n\n" if sentence.paragraph != last_paragraph else " "
        last_paragraph = sentence.paragraph
        if not sentence.grounds:
            text += f"~~{escaped(sentence.text)}~~ *({UNSUPPORTED})*"
            continue
        start = len(text)
        for ground in sentence.grounds:
            numbers.setdefault(ground.paper.id, len(numbers) + 1)
        markers = "".join(f"[{number}]" for number in sorted({numbers[ground.paper.id] for ground in sentence.grounds}))
        text += f"{escaped(sentence.text)} {markers}"
        for ground in sentence.grounds:
            for span in ground.spans:
                quote = ground.paper.abstract[span.start : span.end]
                number, claim = numbers[ground.paper.id], (start, len(text))
                citations.append(Citation(number, ground.paper, quote, span.start, span.end, ground.support, claim))
    return text, tuple(citations)


def escaped(text: str) -> str:
    """`text` as Markdown that shows it and does nothing else, on one line."""
    line = re.sub(r"\s+", " ", text).strip()
    line = _SPECIAL.sub(r"\\\1", line)
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+])(?=\s|$)", lambda match: f"{match[1] or ''}\\{match[2] or match[3]}", line)


def unescaped(markdown: str) -> str:
    """The text that `escaped` was given, but for its spacing."""
    return re.sub(r"\\([^\w\s]|_)", r"\1", markdown)
