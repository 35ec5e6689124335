"""A table with a heading line, comma-separated or by semicolons, tabs or bars. A row that does not fit the heading is reported and left out."""

import csv
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from rag.errors import SourceUnreadableError
from rag.readers.fields import ABSTRACT_FIELDS, field_name, record_of
from rag.readers.lines import numbered_lines
from rag.readers.records import Reading, Remark

_DELIMITERS = (",", "\t", ";", "|")
_NAMED_COLUMNS = 12  # in a message


def delimiter_of(head: str) -> str:
    """What parts the columns of a text that begins with `head`; "" when its first line is no heading with a column of abstracts."""
    lines = head.splitlines()[:2]
    heading = lines[-1] if lines and lines[0].lower().startswith("sep=") else "".join(lines[:1])
    for delimiter in _DELIMITERS:
        names = [field_name(cell) for cell in _cells(heading, delimiter)]
        if len(names) > 1 and ABSTRACT_FIELDS & set(names) and len(heading) < 100 * len(names):
            return delimiter
    return ""


def read_csv(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. Raises `SourceUnreadableError` when no column of its heading is named for abstracts."""
    lines = (line for _, line in numbered_lines(stream, name))
    heading, skipped = _heading(lines)
    delimiter = delimiter_of(heading) or ","
    columns = _cells(heading, delimiter)
    if not ABSTRACT_FIELDS & {field_name(column) for column in columns}:
        raise SourceUnreadableError(
            f'{name}, line {skipped + 1}: no column is named "abstract"; there are {", ".join(map(repr, columns[:_NAMED_COLUMNS]))}. '
            "Name the column of abstracts so in the first line."
        )
    rows = csv.reader(lines, delimiter=delimiter)
    position, before = 0, 0
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            cells, complaint = [], f"{error}; is a quotation mark missing?"
        else:
            complaint = _complaint(cells, columns)
        line, before = before + skipped + 2, rows.line_num
        if complaint:
            position += 1
            yield Remark("broken", f"{complaint} Mend the row.", line=line, position=position)
        elif any(cell.strip() for cell in cells):
            position += 1
            yield record_of(dict(zip(columns, cells, strict=False)), position=position, line=line)


def _heading(lines: Iterator[str]) -> tuple[str, int]:
    """The heading line, and how many lines stand before it: blank ones, and Excel's "sep=;"."""
    skipped = 0
    for line in lines:
        if line.strip() and not line.lower().startswith("sep="):
            return line, skipped
        skipped += 1
    return "", skipped


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _complaint(cells: Sequence[str], columns: Sequence[str]) -> str:
    """What is wrong with the number of cells in a row; blank cells too many are none."""
    has_too_many = any(cell.strip() for cell in cells[len(columns) :])
    if not cells or (len(cells) >= len(columns) and not has_too_many):
        return ""
    return f"{len(cells)} cells under {len(columns)} columns."
