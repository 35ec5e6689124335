"""A model's reply to its sentences, each with the markers the model put on it. Pure.

Whatever a model writes is data: thinking aloud, headings, bullets, tags, lists of sources and markers in any form are taken off here.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.prompts import NOT_STATED, WRONG_PREMISE
from rag.answering.reply_markers import MARKER, numbers_in, with_plain_markers, without_spoken_markers
from rag.text import sentence_spans

_THINKING = re.compile(r"<(think(?:ing)?|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think(?:ing)?|thought|reasoning)>", re.IGNORECASE)  # some servers send no opening tag
_MARKER_AFTER_STOP = re.compile(rf"([.!?])\s{{0,3}}((?:{MARKER.pattern}\s{{0,3}})+)")
_SOURCES = re.compile(r"[^\w\n]*(?:sources?|references?|citations?|bibliography)[^\w\n]*", re.IGNORECASE)
_LINE_DRESS = re.compile(r"^(?:#{1,6}\s|[-*•]\s|\d{1,2}[.)]\s|>\s?)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*[^.!?\s]|\*\*[^*\n]*[^*\n.!?]\*\*:?|__[^_\n]*[^_\n.!?]__:?)\s*$")
_EMPHASIS = re.compile(r"\*\*([^*\n]{1,500})\*\*|(?<!\w)__([^_\n]{1,500})__(?!\w)")
_RUN = re.compile(r"<(script|style)\b[^<>]{0,500}>.{0,2000}?</\1>", re.DOTALL | re.IGNORECASE)
# Only tags that there are, and only whole ones: "x<b and c>d" is mathematics.
_TAG = re.compile(
    r"</?(?:a|abstracts?|answer|article|audio|b|blockquote|body|br|button|cite|code|details|div|em|font|form|h[1-6]|head|hr|html|i"
    r"|iframe|img|input|li|link|mark|meta|object|ol|p|pre|q|s|script|small|span|strong|style|sub|summary|svg|table|tbody|td|th"
    r"|thead|tr|u|ul|video)(?:\s+[\w-]+\s*=[^<>]{0,500})?\s*/?>",
    re.IGNORECASE,
)
_RAISED = re.compile(r"(?<=\w)<sup>([^<>]{1,20})</sup>|</?sup>", re.IGNORECASE)
_CONTROLS = re.compile(r"\x1b\[[\d;]{0,20}m|[\x00-\x08\x0e-\x1f\x7f]")
_IS_NOT_STATED = re.compile(rf"[\W_]*{NOT_STATED}(?=[\s.:;!*_,–—-]*(?:$|[.:;!*_\n]))", re.IGNORECASE)
_IS_WRONG_PREMISE = re.compile(rf"[\W_]*{WRONG_PREMISE}\b[\s.:;!*_,–—-]*", re.IGNORECASE)
_SAYS_NOT_STATED = re.compile(
    r"[\W_]*(?:(?:(?:the|these|this|none of the)\s+)?(?:given |provided )?abstracts?\s+(?:do|does)(?:\s+not|n['’]t)\s+"
    r"(?:state|mention|say|specify|provide|contain|answer|report|give|address|discuss|include)|i\s+(?:cannot|can['’]t|can not)\s+answer|not stated in)\b"
    r"[^.!?\n]*(?:[.!?\n]|$)",
    re.IGNORECASE,
)
_ENDS = (".", "!", "?", "…", "。", "！", "？", ":")
_MOST_SENTENCES = 40
_MOST_REPEATS = 2  # one sentence may come twice, as in a summary at the end
_LEAST_REPEATED_WORDS = 5
_LONGEST_HEADING = 8  # words


@dataclass(frozen=True, slots=True)
class ReplySentence:
    """A sentence without its markers, and the numbers that stood in them; `paragraph` counts from 0."""

    text: str
    markers: tuple[int, ...]
    paragraph: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote: sentences, or that the evidence does not state it, or that the question assumes something wrong.

    `is_full` tells that nothing further is read: the reply goes on repeating itself, or is too long.
    """

    sentences: tuple[ReplySentence, ...]
    is_not_stated: bool
    is_wrong_premise: bool
    is_full: bool


def read_reply_text(text: str, *, is_whole: bool = True, is_cut: bool = False) -> Reply:
    """Takes a reply apart. Of a reply that is still being written, or that `is_cut`, a last sentence without its end is left out.

    A tag decides only where the reply begins with it. After "NOT STATED" nothing is read; a first sentence that says the same
    in other words is taken off, and what follows it is read.
    """
    text = _without_sources(_cleaned(without_thinking(text)))
    if _IS_NOT_STATED.match(text):
        return Reply((), True, False, False)
    text, premises = _IS_WRONG_PREMISE.subn("", text, count=1) if _IS_WRONG_PREMISE.match(text) else (text, 0)
    denial = _SAYS_NOT_STATED.match(text)
    written = list(_sentences(text[denial.end() :] if denial else text))
    first: dict[str, ReplySentence] = {}
    repeats = 0
    for sentence in written:
        key = _key(sentence)
        repeats += key in first and key.count(" ") + 1 >= _LEAST_REPEATED_WORDS
        first.setdefault(key, sentence)
    sentences = list(first.values())
    is_open = is_cut and len(sentences) > 1 and not sentences[-1].text.endswith(_ENDS) if is_whole else not _is_ended(text)
    if sentences and is_open:
        sentences.pop()
    is_full = repeats >= _MOST_REPEATS or len(sentences) > _MOST_SENTENCES
    return Reply(tuple(sentences[:_MOST_SENTENCES]), denial is not None, bool(premises), is_full)


def without_thinking(text: str) -> str:
    """`text` without what a model thought aloud before it."""
    text = _THINKING.sub("", text)
    return _THOUGHT.split(text)[-1]


def _cleaned(text: str) -> str:
    """Without tags, and without letters that are not seen."""
    text = _CONTROLS.sub("", text.replace("\r", "\n"))
    if not text.isascii():
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return _RUN.sub("", text)


def _without_sources(text: str) -> str:
    """Without a list of sources; a heading with nothing before it begins no such list."""
    kept: list[str] = []
    says_something = False
    for line in text.split("\n"):
        if not _SOURCES.fullmatch(line):
            says_something = says_something or any(letter.isalnum() for letter in line)
            kept.append(line)
        elif says_something:
            break
    return "\n".join(kept) + "\n" * (len(kept) < text.count("\n") + 1)


def _is_ended(text: str) -> bool:
    """Whether the last sentence of an unfinished reply has ended: a marker may still follow its full stop."""
    return text.endswith("\n") or bool(re.search(r"[.!?。！？]\s{0,3}(?:\[[\d, ]{1,80}\]\s{0,3})+$", text[-400:]))


def _sentences(text: str) -> Iterator[ReplySentence]:
    paragraph = 0
    for line in text.split("\n"):
        if _HEADING.match(line):
            continue
        line = _LINE_DRESS.sub("", re.sub(r"\s+", " ", line).strip()).removeprefix("Answer:").strip()
        line = _RAISED.sub(lambda match: f"^{match[1]}" if match[1] else "", with_plain_markers(_TAG.sub("", line)))
        line = _EMPHASIS.sub(lambda match: match[1] or match[2], line)
        line = _MARKER_AFTER_STOP.sub(lambda match: f" {match[2].strip()}{match[1]} ", line)
        found = [one for span in sentence_spans(line) if (one := _sentence(line[span.start : span.end], paragraph)) is not None]
        yield from found
        paragraph += bool(found)


def _sentence(written: str, paragraph: int) -> ReplySentence | None:
    """None for what says nothing: no letter, a tag alone, a heading."""
    written = without_spoken_markers(re.sub(r"\s+", " ", written))
    bare = re.sub(r"\s{1,9}([.,;:!?])", r"\1", re.sub(r"\s+", " ", MARKER.sub("", written))).strip(" *_").lstrip(" :;,").rstrip()
    bare = re.sub(r"^\(\d{1,2}\)\s", "", bare)
    is_heading = bare.endswith(":") and bare.count(" ") < _LONGEST_HEADING
    is_tag = bare.strip(" .:!*_").upper() in (NOT_STATED, WRONG_PREMISE)
    if is_heading or is_tag or not any(letter.isalnum() for letter in bare):
        return None
    return ReplySentence(bare, numbers_in(written), paragraph)


def _key(sentence: ReplySentence) -> str:
    return " ".join(re.findall(r"\w+", sentence.text.casefold()))
