"""Which papers of a collection take part: by venue, year, author, file, words of the title, or one by one."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.papers import Paper

_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PaperFilter:
    """Conditions that a paper must all meet; an empty one is met by every paper.

    Several names of one condition mean any of them, but `title_words` must all be in the title. A paper without a year, a venue or
    authors meets no condition on them; it is not excluded by `without_…`. Names are compared without regard to case and accents,
    venues and files as a whole; `files` are names of source files, without folders and places in them. An author is met by the
    whole words of a name in any order, where one letter stands for a name that begins with it: "Hinton", "Geoffrey Hinton" and
    "G. Hinton" meet "Hinton, Geoffrey E."; "Hint" does not.
    """

    venues: frozenset[str] = frozenset()
    first_year: int | None = None
    last_year: int | None = None
    files: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    years: frozenset[int] = frozenset()
    title_words: frozenset[str] = frozenset()
    without_venues: frozenset[str] = frozenset()
    without_years: frozenset[int] = frozenset()
    without_authors: frozenset[str] = frozenset()
    without_files: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether every paper takes part."""
        return self == PaperFilter()

    def takes(self, paper: Paper) -> bool:
        """Whether `paper` meets every condition."""
        return (
            self._takes_year(paper.year)
            and (not self.ids or paper.id in self.ids)
            and (not self.title_words or all(folded(word) in folded(paper.title) for word in self.title_words))
            and _meets([paper.venue] if paper.venue else [], self.venues, self.without_venues)
            and _meets(files_of(paper), self.files, self.without_files)
            and (not self.authors or _wrote(paper, self.authors))
            and not _wrote(paper, self.without_authors)
        )

    def _takes_year(self, year: int | None) -> bool:
        if year is None:
            return self.first_year is None and self.last_year is None and not self.years
        return (
            (self.first_year is None or year >= self.first_year)
            and (self.last_year is None or year <= self.last_year)
            and (not self.years or year in self.years)
            and year not in self.without_years
        )

    def rows(self, papers: Sequence[Paper]) -> NDArray[np.intp]:
        """The rows (n,) of the papers that take part, in order. For an index, `PaperColumns.rows` gives the same at once."""
        return np.array([row for row, paper in enumerate(papers) if self.takes(paper)], dtype=np.intp)


def files_of(paper: Paper) -> tuple[str, ...]:
    """The names of the files a paper was read from ("icml.txt" for "icml.txt#3")."""
    return tuple(dict.fromkeys(source.rpartition("#")[0] or source for source in paper.sources))


def folded(text: str) -> str:
    """`text` without what case, accents and ways of writing one letter make of it."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()))


def name_words(name: str) -> tuple[str, ...]:
    """The words of a person's name, folded: ("geoffrey", "e", "hinton")."""
    return tuple(_WORD.findall(folded(name)))


def is_named(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether all `wanted` words of a name are among its `words`; a single letter stands for a word that begins with it."""
    return bool(wanted) and all(any(word == one or (len(one) == 1 and word.startswith(one)) for word in words) for one in wanted)


def _meets(values: Iterable[str], wanted: frozenset[str], unwanted: frozenset[str]) -> bool:
    """Whether one of `values` is wanted, if any is, and none is unwanted."""
    known = {folded(value) for value in values}
    return (not wanted or not known.isdisjoint(map(folded, wanted))) and known.isdisjoint(map(folded, unwanted))


def _wrote(paper: Paper, names: frozenset[str]) -> bool:
    """Whether one of the people named is among the authors."""
    return any(is_named(name_words(name), name_words(author)) for name in names for author in paper.authors)
