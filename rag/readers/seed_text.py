"""The seed format: plain text, an optional header line ("ICML 2024 Papers"), then abstracts parted by blank lines."""

import re
from collections.abc import Sequence

from rag.errors import SourceUnreadableError
from rag.readers.records import Record

_BLOCK = re.compile(r"[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_HEADER = re.compile(r"(?P<venue>[A-Z][\w@&-]*(?: (?:(?:and|&) )?[A-Z][\w@&-]*){0,5})\s+(?P<year>(?:19|20)\d\d)(?!\d)")
_LONGEST_HEADER = 100
_FAR_SHORTER = 4


def read_seed_text(content: bytes, *, name: str) -> list[Record]:
    """The records of a file. `name` is the file's name, for messages.

    Venue and year come from the header line when it has them. Raises `SourceUnreadableError`, naming file and line, for
    content that is not UTF-8 text.
    """
    text = _decoded(content, name)
    blocks = [(match.start(), match.group()) for match in _BLOCK.finditer(text)]
    venue, year = "", None
    if blocks and _is_header(blocks[0][1], blocks[1:]):
        header = _HEADER.search(blocks.pop(0)[1])
        if header:
            venue, year = header["venue"], int(header["year"])
    return [
        Record(abstract=block.strip(), position=position, line=text.count("\n", 0, start) + 1, venue=venue, year=year)
        for position, (start, block) in enumerate(
            ((start, block) for start, block in blocks if any(character.isalnum() for character in block)), start=1
        )
    ]


def _decoded(content: bytes, name: str) -> str:
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise SourceUnreadableError(f"{name}, line {line}: not a text file (it holds zero bytes). Give plain text in UTF-8.")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceUnreadableError(
            f"{name}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x}). Save the file as UTF-8, "
            f"for example with: iconv -f WINDOWS-1252 -t UTF-8 {name!r}"
        ) from error


def _is_header(block: str, others: Sequence[tuple[int, str]]) -> bool:
    """A header is one short line that is no sentence, and names a venue and year or is far shorter than every abstract.

    In doubt it is none: a header read as an abstract is seen, an abstract taken for a header is lost.
    """
    line = block.strip()
    if "\n" in line or len(line) > _LONGEST_HEADER or line.endswith((".", "!", "?", ";", ",")):
        return False
    return bool(_HEADER.search(line)) or (bool(others) and all(_FAR_SHORTER * len(line) < len(text) for _, text in others))
