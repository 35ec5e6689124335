"""Which papers of a collection take part: by venue, year, file, or one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.papers import Paper


@dataclass(frozen=True, slots=True)
class PaperFilter:
    """Conditions that a paper must all meet; an empty one is met by every paper.

    A paper without a year meets no condition on years. `files` are names of source files, without folders and places in them.
    """

    venues: frozenset[str] = frozenset()
    first_year: int | None = None
    last_year: int | None = None
    files: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether every paper takes part."""
        return self == PaperFilter()

    def takes(self, paper: Paper) -> bool:
        """Whether `paper` meets every condition."""
        is_in_time = (self.first_year is None or (paper.year is not None and paper.year >= self.first_year)) and (
            self.last_year is None or (paper.year is not None and paper.year <= self.last_year)
        )
        return (
            is_in_time
            and (not self.venues or paper.venue in self.venues)
            and (not self.files or bool(self.files & set(files_of(paper))))
            and (not self.ids or paper.id in self.ids)
        )

    def rows(self, papers: Sequence[Paper]) -> NDArray[np.intp]:
        """The rows (n,) of the papers that take part, in order."""
        return np.array([row for row, paper in enumerate(papers) if self.takes(paper)], dtype=np.intp)


def files_of(paper: Paper) -> tuple[str, ...]:
    """The names of the files a paper was read from ("icml.txt" for "icml.txt#3")."""
    return tuple(dict.fromkeys(source.rpartition("#")[0] or source for source in paper.sources))
