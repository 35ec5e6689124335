"""The seed format: plain text or Markdown, an optional header line ("ICML 2024 Papers"), then abstracts parted by blank lines.

A Markdown heading right before an abstract is its title.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import BinaryIO

from rag.readers.lines import numbered_lines
from rag.readers.records import Reading, Record

_HEADER = re.compile(r"(?P<venue>[A-Z][\w@&-]*(?: (?:(?:and|&) )?[A-Z][\w@&-]*){0,5})\s+(?P<year>(?:19|20)\d\d)(?!\d)")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>\S.*?)[ \t]*#*")
_LONGEST_HEADER = 100
_FAR_SHORTER = 4
_COMPARED = 100  # abstracts that a header must be far shorter than


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines without a blank one between them; `line` is the first."""

    line: int
    text: str


def read_seed_text(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. Venue and year come from the header line when it has them."""
    blocks = _blocks(stream, name)
    first = list(islice(blocks, _COMPARED + 1))
    venue, year = "", None
    if first and _is_header(first[0].text, first[1:]):
        header = _HEADER.search(first.pop(0).text)
        if header:
            venue, year = header["venue"], int(header["year"])
    position, title = 0, ""
    for block in chain(first, blocks):
        heading, _, rest = block.text.strip().partition("\n")
        match = _HEADING.fullmatch(heading)
        abstract = rest.strip() if match else block.text.strip()
        title = match["title"] if match else title
        if abstract:
            position += 1
            yield Record(abstract=abstract, position=position, line=block.line, title=title, venue=venue, year=year)
            title = ""


def _blocks(stream: BinaryIO, name: str) -> Iterator[_Block]:
    """The blocks that hold a letter or a digit."""
    begun, lines = 0, list[str]()
    for number, line in chain(numbered_lines(stream, name), [(0, "")]):
        if line.strip():
            begun = begun or number
            lines.append(line)
        elif begun:
            text = "".join(lines)
            if any(character.isalnum() for character in text):
                yield _Block(begun, text)
            begun, lines = 0, []


def _is_header(block: str, others: Sequence[_Block]) -> bool:
    """A header is one short line that is no sentence, and names a venue and year or is far shorter than every abstract.

    In doubt it is none: a header read as an abstract is seen, an abstract taken for a header is lost.
    """
    line = block.strip()
    if "\n" in line or len(line) > _LONGEST_HEADER or line.endswith((".", "!", "?", ";", ",")):
        return False
    return bool(_HEADER.search(line)) or (bool(others) and all(_FAR_SHORTER * len(line) < len(other.text) for other in others))
