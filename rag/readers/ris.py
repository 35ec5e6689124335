"""RIS, as reference managers and publishers export it: entry by entry through rispy, so that memory holds one."""

import re
from collections.abc import Iterator
from typing import BinaryIO

import rispy

from rag.readers.fields import record_of
from rag.readers.lines import numbered_lines
from rag.readers.records import Reading, Remark

_TAG = re.compile(r"(?P<tag>[A-Z][A-Z0-9]) {1,2}-(?: |$)")
_ALIASES = (
    ("title", ("title", "primary_title")),
    ("abstract", ("abstract", "notes_abstract")),
    ("authors", ("authors", "first_authors")),
    ("year", ("year", "publication_year", "date")),
    ("venue", ("journal_name", "alternate_title3", "alternate_title2", "alternate_title1", "secondary_title", "custom3")),
    ("urls", ("urls",)),
    ("doi", ("doi",)),
    ("key", ("id", "accession_number")),
)
_MOST_LINES = 20_000  # of one entry


def read_ris(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. An entry that rispy cannot parse, or that has no end, is reported."""
    for position, (line, lines, has_end) in enumerate(_entries(stream, name), start=1):
        try:
            entries = rispy.loads("\n".join([*lines, "ER  - "]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            yield _broken(line, position, f"an entry that is no RIS ({type(error).__name__} in rispy)")
            continue
        if not has_end:
            yield _broken(line, position, 'an entry without its end, the line "ER  - "')
        elif entries:
            known = {field: next((entries[0][alias] for alias in names if entries[0].get(alias)), "") for field, names in _ALIASES}
            yield record_of(known, position=position, line=line)


def _entries(stream: BinaryIO, name: str) -> Iterator[tuple[int, list[str], bool]]:
    """First line, lines and whether there is an end, of every entry."""
    begun, lines = 0, [""]
    for number, line in numbered_lines(stream, name):
        tag = _TAG.match(line)
        if tag and tag["tag"] == "TY":
            if begun:
                yield begun, lines, False
            begun, lines = number, []
        elif tag and tag["tag"] == "ER" and begun:
            yield begun, lines, True
            begun = 0
            continue
        if begun and len(lines) < _MOST_LINES:
            lines.append(f"{tag['tag']}  - {line[tag.end() :].strip()}" if tag else line.strip())
    if begun:
        yield begun, lines, False


def _broken(line: int, position: int, complaint: str) -> Remark:
    return Remark("broken", f"{complaint}. Mend it, or export it again.", line=line, position=position)
