"""A JSON file with a list of papers: at the top, or under a name, as search services, OpenReview and Zotero export it.

It is parsed event by event, so that memory holds one paper at a time; several values one after the other are read like a list.
Where the papers are need not be told: the objects of any list that look like papers are they, else those under the names of the
top, else the top itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import ijson

from rag.errors import SourceUnreadableError
from rag.readers.fields import has_abstract, looks_like_record, record_of
from rag.readers.lines import LineByLine
from rag.readers.records import Reading, Remark

_MOST_NESTED = 100
_MOST_EVENTS_AROUND = 200_000  # before the first paper
_OPENING, _CLOSING = ("start_map", "start_array"), ("end_map", "end_array")


def read_json(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. Raises `SourceUnreadableError` for what is no JSON, naming the line, and for JSON without papers."""
    source = LineByLine(stream)
    position, are_papers = 0, False
    try:
        for line, value, is_listed in _objects(source, name):
            is_paper = looks_like_record(value)
            are_papers |= is_paper
            if is_paper:
                position += 1
                yield record_of(value, position=position, line=line)
            elif are_papers and is_listed:
                position += 1
                yield Remark(
                    "broken",
                    'no title and no abstract in this object. Give it the fields "title" and "abstract".',
                    line=line,
                    position=position,
                )
    except ijson.JSONError as error:
        reason = _reason(error)
        advice = "Write null for NaN and Infinity" if "invalid char in json" in reason else "Mend it there, or export it again"
        raise SourceUnreadableError(f"{name}, line {max(source.line, 1)}: no JSON ({reason}). {advice}.") from error
    if not are_papers:
        raise SourceUnreadableError(
            f'{name}: there is no list of papers in it. Give a list of objects with the fields "title" and "abstract".'
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An object that is being built and may be a paper: the line where it begins, how many containers hold it, and if the last is a list."""

    builder: Any
    line: int
    depth: int
    is_listed: bool

    @property
    def value(self) -> dict[str, Any]:
        """The object, as far as it is built."""
        return dict(self.builder.value)


def _objects(source: LineByLine, name: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Line and value of every object that may be a paper, and whether it stands in a list.

    Those are the objects in a list, however deep the list lies, those right under the names of the top, and the top itself. Inside
    an object of a list nothing else is one. What holds papers is no paper, and is forgotten when the first of them is found.
    """
    open_ones: list[_Candidate] = []
    seen = 0
    for event, value, before, path in _events(source, name):
        if event == "start_map" and _may_begin(before, open_ones) and seen < _MOST_EVENTS_AROUND:
            open_ones.append(_Candidate(ijson.ObjectBuilder(), source.line, len(before), before[-1:] == ("start_array",)))
        elif not open_ones:
            continue
        for one in open_ones:
            one.builder.event(event, value)
        seen += 1
        if event != "end_map" or len(path) != open_ones[-1].depth:
            if seen > _MOST_EVENTS_AROUND:  # no list of papers begins so late: hold the innermost object alone
                del open_ones[:-1]
            continue
        last = open_ones.pop()
        if _is_candidate(last, open_ones):
            open_ones.clear()
            yield last.line, last.value, last.is_listed
        seen = seen if open_ones else 0


def _may_begin(before: Sequence[str], open_ones: Sequence[_Candidate]) -> bool:
    """Whether an object in these containers may be a paper."""
    is_inside_listed = bool(open_ones) and open_ones[-1].is_listed
    return not is_inside_listed and (len(before) < 2 or before[-1] == "start_array")


def _is_candidate(one: _Candidate, around: Sequence[_Candidate]) -> bool:
    """Whether a finished object is to be looked at, given the unfinished ones around it."""
    value = one.value
    if not around:
        return one.is_listed or looks_like_record(value)
    if not looks_like_record(value):
        return False
    if one.is_listed:  # the references of a paper have titles too
        return has_abstract(value) or not any(looks_like_record(outer.value) for outer in around)
    return has_abstract(value) and not any(has_abstract(outer.value) for outer in around)


def _events(source: LineByLine, name: str) -> Iterator[tuple[str, Any, Sequence[str], Sequence[str]]]:
    """Every event with its value, and the kinds of the containers that are open before it and after it."""
    path: tuple[str, ...] = ()
    for event, value in ijson.basic_parse(source, use_float=True, multiple_values=True):
        before = path
        if event in _OPENING:
            path = (*path, event)
        elif event in _CLOSING:
            path = path[:-1]
        if len(path) > _MOST_NESTED:
            raise SourceUnreadableError(
                f"{name}, line {source.line}: nested too deeply for a list of papers. Give a flat list of them."
            )
        yield event, value, before, path


def _reason(error: ijson.JSONError) -> str:
    """The first line of the parser's message, which quotes the place below it."""
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return text.strip().partition("\n")[0].rstrip(" .") or "it ends too early"
