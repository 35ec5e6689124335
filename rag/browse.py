"""A collection as it is browsed: searched by words, sorted, cut into pages; what can be chosen; which papers are alike.

Words are compared without regard to case and accents. What that takes is prepared once per index and forgotten with it.
Knows no interface and no model.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np

from rag.columns import PaperColumns
from rag.filters import PaperFilter, files_of, folded
from rag.index import PaperIndex
from rag.papers import Paper

SortColumn = Literal["title", "year", "venue", "source"]
SORT_COLUMNS: tuple[SortColumn, ...] = get_args(SortColumn)
LONGEST_QUERY = 500  # characters that are looked for


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of papers: `rows` stand on `page` of `pages` (from 1; an empty listing has one), `total` is how many were found."""

    rows: tuple[Paper, ...]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What the papers of a collection can be chosen by. Without any year, both years are None."""

    venues: tuple[str, ...]
    first_year: int | None
    last_year: int | None
    files: tuple[str, ...]
    has_authors: bool


class Catalogue:
    """Papers with what listing them takes, each part made when it is first needed. Safe to share between threads."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self.papers = papers
        self._orders: dict[tuple[SortColumn, bool], list[int]] = {}
        self._making = threading.Lock()

    @cached_property
    def choices(self) -> Choices:
        """What the papers can be chosen by."""
        return choices(self.papers)

    @property
    def columns(self) -> PaperColumns:
        """The papers as what filters read."""
        with self._making:
            return self._columns

    def found(self, query: str) -> set[int]:
        """The rows that hold every word of `query` in title, authors, venue or abstract; all for a query without words."""
        wanted = folded(query[:LONGEST_QUERY]).split()
        return {row for row, text in enumerate(self._texts) if all(word in text for word in wanted)} if wanted else self._all

    def order(self, sort: SortColumn, *, descending: bool) -> list[int]:
        """All rows sorted by a column; ties in the collection's order, papers without a value last either way."""
        with self._making:
            if (sort, descending) not in self._orders:
                keys = [_KEYS[sort](paper) for paper in self.papers]
                known = sorted((row for row, key in enumerate(keys) if key), key=lambda row: keys[row], reverse=descending)
                self._orders[sort, descending] = known + [row for row, key in enumerate(keys) if not key]
            return self._orders[sort, descending]

    @cached_property
    def _columns(self) -> PaperColumns:
        return PaperColumns.of(self.papers)

    @cached_property
    def _all(self) -> set[int]:
        return set(range(len(self.papers)))

    @property
    def _texts(self) -> Sequence[str]:
        with self._making:  # one visitor prepares them, the others wait rather than do the same work
            return self._folded_texts

    @cached_property
    def _folded_texts(self) -> list[str]:
        return [folded("\n".join((paper.title, *paper.authors, paper.venue, paper.abstract))) for paper in self.papers]


_catalogues: WeakKeyDictionary[PaperIndex, Catalogue] = WeakKeyDictionary()
_finding = threading.Lock()


def catalogue_of(index: PaperIndex) -> Catalogue:
    """The catalogue of an index, the same one as long as the index is in use."""
    with _finding:
        if index not in _catalogues:
            _catalogues[index] = Catalogue(index.papers)
        return _catalogues[index]


def listing(
    catalogue: Catalogue,
    *,
    query: str = "",
    sort: SortColumn = "title",
    descending: bool = False,
    filter: PaperFilter | None = None,
    page: int = 1,
    per_page: int = 50,
) -> Listing:
    """The papers that hold every word of `query` and meet `filter`, sorted and cut; a page beyond the last is the last."""
    if per_page < 1:
        raise ValueError(f"per_page is {per_page}; ask for at least one paper a page.")
    found = catalogue.found(query)
    if filter is not None and not filter.is_empty:
        found = found & set(catalogue.columns.rows(filter).tolist())
    rows = catalogue.order(sort, descending=descending)
    if len(found) < len(rows):
        rows = [row for row in rows if row in found]
    pages = max(1, -(-len(rows) // per_page))
    page = min(max(1, page), pages)
    shown = rows[(page - 1) * per_page : page * per_page]
    return Listing(tuple(catalogue.papers[row] for row in shown), len(rows), page, pages)


def similar(index: PaperIndex, paper_id: str, k: int = 8) -> list[tuple[Paper, float]]:
    """The `k` papers whose abstracts are nearest to that of a paper, without itself, each with its similarity (0..1), best first.

    Raises `KeyError` for an id that the index does not hold.
    """
    own = index.row_of[paper_id]
    near = index.vectors.similarities(np.arange(len(index.papers)), index.vectors.vector(own))
    best = [int(row) for row in np.argsort(-near, kind="stable")[: k + 1] if row != own][:k]
    return [(index.papers[row], round(float(min(1.0, max(0.0, near[row]))), 4)) for row in best]


def choices(papers: Sequence[Paper]) -> Choices:
    """What `papers` can be chosen by, names in alphabetical order."""
    years = [paper.year for paper in papers if paper.year is not None]
    return Choices(
        venues=tuple(sorted({paper.venue for paper in papers} - {""}, key=folded)),
        first_year=min(years, default=None),
        last_year=max(years, default=None),
        files=tuple(sorted({file for paper in papers for file in files_of(paper)}, key=folded)),
        has_authors=any(paper.authors for paper in papers),
    )


def _place(paper: Paper) -> tuple[str, int] | None:
    """Where a paper stands, so that the tenth of a file comes after its second."""
    if not paper.sources:
        return None
    file, _, position = paper.sources[0].rpartition("#")
    return (folded(file), int(position)) if file and position.isdecimal() else (folded(paper.sources[0]), 0)


_KEYS: dict[SortColumn, Callable[[Paper], Any]] = {
    "title": lambda paper: folded(paper.title),
    "year": lambda paper: paper.year,
    "venue": lambda paper: folded(paper.venue),
    "source": _place,
}
