"""Reading a text or bytes through the one door to all formats, as the tests of the readers do."""

import tempfile
from pathlib import Path

from rag.readers.formats import read_records
from rag.readers.records import Reading, Record, Remark


def readings(content: str | bytes, name: str) -> list[Reading]:
    """Everything that a file of this name and content gives, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read_records(path, name=name))


def records(content: str | bytes, name: str) -> list[Record]:
    """The records of a file in which nothing is wrong."""
    read = readings(content, name)
    assert [one for one in read if isinstance(one, Remark)] == []
    return [one for one in read if isinstance(one, Record)]


def remarks(content: str | bytes, name: str) -> list[Remark]:
    """What is wrong with a file that can be read all the same."""
    return [one for one in readings(content, name) if isinstance(one, Remark)]
