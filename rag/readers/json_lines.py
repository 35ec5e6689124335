"""JSON Lines: one object a line. A line that is none is reported and left out."""

import json
from collections.abc import Iterator
from typing import BinaryIO

from rag.readers.fields import looks_like_record, record_of
from rag.readers.lines import numbered_lines
from rag.readers.records import Reading, Remark


def read_json_lines(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text, an object a line; blank lines count for nothing."""
    position = 0
    for number, line in numbered_lines(stream, name):
        if not line.strip():
            continue
        position += 1
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", "a number too long")
            yield Remark("broken", f"no JSON ({reason}). Mend or delete the line.", line=number, position=position)
            continue
        if isinstance(value, dict) and looks_like_record(value):
            yield record_of(value, position=position, line=number)
        else:
            yield Remark(
                "broken",
                'no object with a title or an abstract. Give it the fields "title" and "abstract".',
                line=number,
                position=position,
            )
