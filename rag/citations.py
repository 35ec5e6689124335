"""Chosen evidence to answer text and its citations. Pure: strings and spans in, strings and spans out.

The text is Markdown in which quotes are escaped, so that nothing inside an abstract acts as markup or as a marker; a
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


def escaped(text: str) -> str:
    """`text` as Markdown that shows it and does nothing else, on one line."""
    line = re.sub(r"\s+", " ", text).strip()
    line = _SPECIAL.sub(r"\\\1", line)
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+])(?=\s|$)", lambda match: f"{match[1] or ''}\\{match[2] or match[3]}", line)


def unescaped(markdown: str) -> str:
    """The text that `escaped` was given, but for its spacing."""
    return re.sub(r"\\([^\w\s]|_)", r"\1", markdown)
