"""A model's reply to its sentences, each with the markers the model put on it. Pure.

Whatever a model writes is data: thinking aloud, headings, bullets, lists of sources and markers in any form are taken off here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.prompts import NOT_STATED, WRONG_PREMISE
from rag.text import sentence_spans

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKER = re.compile(r"[\[【]\^?\s*(?:abstract|paper|source)?\s*(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\s*[\]】]", re.IGNORECASE)
_MARKER_AFTER_STOP = re.compile(rf"([.!?])(\s*)((?:{_MARKER.pattern}\s*)+)", re.IGNORECASE)
_SOURCES = re.compile(
    r"^[^\w\n]*(?:sources?|references?|citations?|bibliography)[^\w\n]*$.*", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
_LINE_DRESS = re.compile(r"^\s*(?:#{1,6}\s+|[-*•]\s+|\d{1,2}[.)]\s+|>\s*)")
_ENDS = (".", "!", "?", "…", "。", "！", "？", ":")  # a sentence that was cut in the middle has none
_MOST_SENTENCES = 40


@dataclass(frozen=True, slots=True)
class ReplySentence:
    """A sentence without its markers, and the numbers that stood in them; `paragraph` counts from 0."""

    text: str
    markers: tuple[int, ...]
    paragraph: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote: sentences, or that the evidence does not state it, or that the question assumes something wrong."""

    sentences: tuple[ReplySentence, ...]
    is_not_stated: bool
    is_wrong_premise: bool
    repeats_itself: bool


def read_reply_text(text: str, *, is_whole: bool = True) -> Reply:
    """Takes a reply apart. Of a reply that is still being written, the last sentence is left out until it ends."""
    text = _SOURCES.sub("", without_thinking(text).replace("\r", "\n"))
    is_wrong_premise = WRONG_PREMISE in text
    is_not_stated = NOT_STATED in text
    text = text.replace(WRONG_PREMISE, "").replace(NOT_STATED, "")
    written = list(_sentences(text))
    first: dict[str, ReplySentence] = {}
    for sentence in written:
        first.setdefault(_key(sentence), sentence)
    sentences = list(first.values())[:_MOST_SENTENCES]
    repeats_itself = len(sentences) < len(written)
    is_cut = not sentences[-1].text.endswith(_ENDS) and len(sentences) > 1 if sentences else False
    if sentences and (is_cut if is_whole else not _is_ended(text)):
        sentences.pop()
    return Reply(tuple(sentences), is_not_stated and not sentences, is_wrong_premise, repeats_itself)


def without_thinking(text: str) -> str:
    """`text` without what a model thought aloud before it."""
    return _THINKING.sub("", text)


def _is_ended(text: str) -> bool:
    """Whether the last sentence of an unfinished reply has ended: a marker may still follow its full stop."""
    return text.endswith("\n") or bool(re.search(r"[.!?。！？]\s*(?:\[[\d, ]+\]\s*)+$", text))


def _sentences(text: str) -> Iterator[ReplySentence]:
    paragraph = 0
    for line in text.split("\n"):
        line = _LINE_DRESS.sub("", line).strip().removeprefix("Answer:").strip()
        line = _MARKER_AFTER_STOP.sub(lambda match: f" {match[3].strip()}{match[1]} ", line)
        found = [line[span.start : span.end] for span in sentence_spans(line)]
        for sentence in found:
            markers = tuple(dict.fromkeys(number for match in _MARKER.finditer(sentence) for number in _numbers(match[1])))
            bare = re.sub(r"\s+", " ", re.sub(r"\s+([.,;:!?])", r"\1", _MARKER.sub("", sentence))).strip(" *_")
            if any(character.isalnum() for character in bare):
                yield ReplySentence(bare, markers, paragraph)
        paragraph += bool(found)


def _key(sentence: ReplySentence) -> str:
    return " ".join(re.findall(r"\w+", sentence.text.casefold()))


def _numbers(text: str) -> Iterator[int]:
    """ "1, 3-5" is 1, 3, 4, 5."""
    for part in re.split(r"[,;]", text):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        yield from range(ends[0], min(ends[-1], ends[0] + 20) + 1)
