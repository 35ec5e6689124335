"""What every reader yields."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """One abstract as a file holds it: verbatim text, its place, and whatever else the file says of it.

    `position` counts the abstracts of the file from 1; `line` is the line on which the record begins, from 1.
    """

    abstract: str
    position: int
    line: int
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    urls: tuple[str, ...] = ()
