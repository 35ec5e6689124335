"""What every reader yields: records, and remarks about what could not be read as it stands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal


@dataclass(frozen=True, slots=True)
class Record:
    """One paper as a file holds it: the text of its abstract, its place, and whatever else the file says of it.

    `position` counts the records of the file from 1; `line` is the line on which the record begins, from 1. `abstract` is empty
    where the file has none. `key` is the file's own name for the record, such as a BibTeX key.
    """

    abstract: str
    position: int
    line: int
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    urls: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to report of a file that can be read all the same: a broken record that is left out, an encoding that was guessed.

    `reason` says what is wrong and what to do. `position` is that of the record, 0 when it is about the whole file.
    """

    kind: Literal["broken", "encoding"]
    reason: str
    line: int
    position: int = 0


Reading = Record | Remark

Reader = Callable[[BinaryIO, str], Iterator[Reading]]
"""Reads a stream of UTF-8 text from the file of this name. Raises `SourceUnreadableError` when it must give the whole file up."""
