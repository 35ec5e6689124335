"""The markers that a model puts on its sentences, in every form models write them, to one form: "[1]" or "[1,2]". Pure."""

import re
from collections.abc import Iterator

MARKER = re.compile(r"\[(\d{1,3}(?:[,–-]\d{1,3})*)\]")
"""A marker in its one form."""

_WORD = r"(?:abstracts?|papers?|sources?|documents?|docs?|references?|refs?|citations?|passages?|articles?)"
_NUMBER = rf"(?:{_WORD}\s?[:#]?\s?)?[#^]?\d{{1,3}}"
_LIST = rf"{_NUMBER}(?:\s?(?:[,;–-]|and\b|&)\s?{_NUMBER})*"
_PLAIN = r"\[\d{1,3}(?:[,–-]\d{1,3}){0,30}\]"
_ENDS_HERE = r"(?=\s?(?:[.!?]|$))"
_BRACKETS = str.maketrans("【】［］", "[][]")
_SUPERSCRIPTS = str.maketrans("¹²³⁴⁵⁶⁷⁸⁹", "123456789")

_ESCAPED = re.compile(r"\\\[([^\[\]\\]{1,60})\\\]")
_LINKED = re.compile(r"(\[\^?\d{1,3}\])\(https?://[^\s()]{0,500}\)")
_RANGE = re.compile(r"(\[\d{1,3})\]\s?[–-]\s?\[(\d{1,3}\])")
_IN_BRACKETS = re.compile(rf"\[\s?({_LIST})(?:\s?†[^\[\]\n]{{0,40}}|,?\s?pp?\.\s?\d+)?\s?\]", re.IGNORECASE)
_IN_PARENTHESES = re.compile(rf"\(\s?({_WORD}\s?[:#]?\s?{_LIST})\s?\)", re.IGNORECASE)
# "(1)" may be the first of a list, and a raised number a power: they are markers only behind a word and at the end of a sentence.
_BARE = re.compile(rf"(?<=[^\W\d_])\s?\(([1-9]\d?(?:[,;]\s?[1-9]\d?)*)\){_ENDS_HERE}|(?<=[.!?])\s?\(([1-9]\d?)\)$")
_RAISED = re.compile(r"(?:(?<=[a-z]{4})|(?<=[.!?]))\s?([¹²³⁴⁵⁶⁷⁸⁹])(?=\s?(?:[.!?]|$|[A-Z]))")
_RAISED_BY_TAG = re.compile(r"(?<!\d)\s?<sup>\s?\[?(\d{1,2})\]?\s?</sup>(?=\s?(?:[.!?]|$|[A-Z]))")
_DOUBLED = re.compile(rf"\[\s?((?:{_PLAIN}[\s,;]?){{1,9}})\]")
_DRESSED = re.compile(rf"(\*\*|__|`|~~)((?:{_PLAIN}\s?){{1,9}})\1")

_SPOKEN = re.compile(
    rf"\b(?:the\s)?(?:abstract|paper|source|document|passage)\s(?:#?(\d{{1,2}})(?![\w%]|\.\d)|({_PLAIN})(?=\s\w))", re.IGNORECASE
)
_LEADING = re.compile(
    rf"^(?:according to|in|from|per|based on|as (?:stated|shown|reported|described) (?:in|by))\s(?:the paper\s)?({_PLAIN}),\s?"
    rf"|^the paper\s({_PLAIN})\s(?:says|states|reports|shows|notes|mentions|explains|finds)\sthat\s",
    re.IGNORECASE,
)


def with_plain_markers(line: str) -> str:
    """`line`, whose blanks are single, with each of its markers in the one form."""
    line = _ESCAPED.sub(r"[\1]", line.translate(_BRACKETS))
    line = _LINKED.sub(r"\1", line)
    line = _RAISED_BY_TAG.sub(r" [\1]", line)
    line = _RAISED.sub(lambda match: f" [{match[1].translate(_SUPERSCRIPTS)}]", line)
    for pattern in (_IN_BRACKETS, _IN_PARENTHESES, _BARE):
        line = pattern.sub(lambda match: " " * match[0].startswith(" ") + _marker(match[1] or match[2]), line)
    line = _DOUBLED.sub(r"\1", _RANGE.sub(r"\1-\2", line))
    return _DRESSED.sub(r"\2", line)


def without_spoken_markers(sentence: str) -> str:
    """ "According to abstract 1, bees fly" is "[1] Bees fly", and "Abstract 1 presents" is "The paper [1] presents"."""
    said = _SPOKEN.sub(lambda match: f"{'T' if match.start() == 0 else 't'}he paper {match[2] or f'[{match[1]}]'}", sentence)
    found = _LEADING.match(said)
    if found is None:
        return said
    rest = said[found.end() :]
    first = rest.split(" ", 1)[0]
    return f"{found[1] or found[2]} {rest[:1].upper() + rest[1:] if first.islower() else rest}"


def numbers_in(sentence: str) -> tuple[int, ...]:
    """The numbers of its markers, each once, in their order."""
    return tuple(dict.fromkeys(number for match in MARKER.finditer(sentence) for number in _numbers(match[1])))


def _marker(written: str) -> str:
    """What stands between brackets as a marker: "Paper 1, Paper 2" is "[1,2]", "1 and 3-5" is "[1,3-5]"."""
    parts = re.split(r"[,;&]|\band\b", written, flags=re.IGNORECASE)
    return f"[{','.join('-'.join(re.findall(r'[0-9]+', part)) for part in parts)}]"


def _numbers(text: str) -> Iterator[int]:
    """ "1,3-5" is 1, 3, 4, 5."""
    for part in text.split(","):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        yield from range(ends[0], min(ends[-1], ends[0] + 20) + 1)
