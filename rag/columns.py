"""The papers of a collection as columns: years, venues, files, authors and titles, so that a filter is a few operations on arrays.

Made once for an index, in one pass over its papers; 87,000 take about two seconds. What a filter means for one paper is said in
`rag.filters`.
"""

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rag.filters import PaperFilter, files_of, folded, name_words
from rag.papers import Paper

_NO_YEAR = np.iinfo(np.int32).min
_NAMED = 5  # names offered for one that no paper has
_Mask = NDArray[np.bool_]
_Codes = NDArray[np.int32]


class NameColumn:
    """Names of one kind, each distinct one (case and accents aside) with a code, and which papers carry which."""

    def __init__(self, names: Iterable[Iterable[str]]) -> None:
        """The names that each paper carries, in the order of the papers."""
        self.codes: dict[str, int] = {}
        """By the folded name."""
        self.shown: list[str] = []
        """By code, in one spelling of those in the papers."""
        known: dict[str, int] = {}  # by the name as it is written: a collection has few distinct ones, and folding is slow
        rows: list[int] = []
        codes: list[int] = []
        for row, carried in enumerate(names):
            for name in carried:
                if name not in known:
                    known[name] = self.codes.setdefault(folded(name), len(self.codes))
                    if len(self.codes) > len(self.shown):
                        self.shown.append(name)
                rows.append(row)
                codes.append(known[name])
        self._rows, self._codes = np.array(rows, np.int32), np.array(codes, np.int32)

    def matching(self, name: str) -> _Codes:
        """The code of `name`, if it has one."""
        code = self.codes.get(folded(name))
        return np.array([] if code is None else [code], np.int32)

    def carriers(self, codes: _Codes) -> _Codes:
        """The rows of the papers that carry one of the names; a row may come twice."""
        wanted = np.zeros(len(self.shown), np.bool_)
        wanted[codes] = True
        return self._rows[wanted[self._codes]]

    def offered(self, name: str) -> list[int]:
        """Codes of names to offer for one that no paper has: those that hold it or are like it, else those that most papers have."""
        key = folded(name)
        near = [code for other, code in self.codes.items() if key in other]
        near = near or [self.codes[other] for other in difflib.get_close_matches(key, self.codes, _NAMED)]
        return self.most_carried(near or list(self.codes.values()))

    def most_carried(self, codes: Sequence[int]) -> list[int]:
        """The first few of `codes` by how many papers carry them."""
        counts = self.counts
        return sorted(codes, key=lambda code: -counts[code])[:_NAMED]

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many papers carry each name (codes,)."""
        return np.bincount(self._codes, minlength=len(self.shown))


class AuthorColumn(NameColumn):
    """The authors, found by the words of their names."""

    def __init__(self, names: Iterable[Iterable[str]]) -> None:
        super().__init__(names)
        by_word: dict[str, list[int]] = {}
        for key, code in self.codes.items():
            words = name_words(key)
            for word in {*words, *(word[0] for word in words)}:  # a single letter stands for what begins with it
                by_word.setdefault(word, []).append(code)
        self._by_word: Mapping[str, _Codes] = {word: np.array(codes, np.int32) for word, codes in by_word.items()}

    def matching(self, name: str) -> _Codes:
        """The codes of the people that `name` may mean."""
        nobody = np.array([], np.int32)
        found = sorted((self._by_word.get(word, nobody) for word in name_words(name)), key=len)
        taken = found[0] if found else nobody
        for codes in found[1:]:
            taken = np.intersect1d(taken, codes, assume_unique=True)
        return taken

    def offered(self, name: str) -> list[int]:
        """Codes of people to offer for one that no paper has: they have a word like it in their name."""
        wanted = max(name_words(name), key=len, default="")
        near = difflib.get_close_matches(wanted, self._by_word, _NAMED, 0.75) if wanted else []
        return self.most_carried(sorted({int(code) for word in near for code in self._by_word[word]}))


class PaperColumns:
    """The columns of one collection; never changed, and safe to share between threads."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._row_of = {paper.id: row for row, paper in enumerate(papers)}
        self._years = np.array([_NO_YEAR if paper.year is None else paper.year for paper in papers], np.int32)
        self.venues = NameColumn([paper.venue] if paper.venue else [] for paper in papers)
        self.files = NameColumn(files_of(paper) for paper in papers)
        self.authors = AuthorColumn(paper.authors for paper in papers)
        titles = [folded(paper.title) for paper in papers]
        self._titles = "\n".join(titles)  # one text: looking through it once is far quicker than through each
        self._title_ends = list(accumulate((len(title) + 1 for title in titles), initial=-1))[1:]

    @classmethod
    def of(cls, papers: Sequence[Paper]) -> Self:
        """The columns of `papers`."""
        return cls(papers)

    def rows(self, filter: PaperFilter) -> NDArray[np.intp]:
        """The rows (n,) of the papers that `filter` takes, in order."""
        taken = self._in_time(filter)
        for wanted, unwanted, column in (
            (filter.venues, filter.without_venues, self.venues),
            (filter.files, filter.without_files, self.files),
            (filter.authors, filter.without_authors, self.authors),
        ):
            if wanted:
                taken &= self._mask(column.carriers(_codes(wanted, column.matching)))
            if unwanted:
                taken &= ~self._mask(column.carriers(_codes(unwanted, column.matching)))
        if filter.ids:
            taken &= self._mask(np.array([self._row_of[id_] for id_ in filter.ids if id_ in self._row_of], np.int32))
        for word in filter.title_words:
            taken &= self._mask(self._titled(folded(word)))
        return np.flatnonzero(taken)

    def notices(self, filter: PaperFilter) -> tuple[str, ...]:
        """One sentence for each venue, author and file wanted that no paper has, with the nearest that there are."""
        said = []
        for kind, names, column in (
            ("venue", filter.venues, self.venues),
            ("author", filter.authors, self.authors),
            ("file", filter.files, self.files),
        ):
            counts = column.counts
            for name in sorted(name for name in names if not len(column.matching(name))):
                offered = [f"{column.shown[code]} ({counts[code]})" for code in column.offered(name)]
                more = " and others" if len(offered) < len(counts) else ""
                there = f"There are: {', '.join(offered)}{more}." if offered else "There is none like it."
                said.append(f"No paper has the {kind} {name}. {there}")
        return tuple(said)

    def _in_time(self, filter: PaperFilter) -> _Mask:
        years = self._years
        first, last = (bound is not None for bound in (filter.first_year, filter.last_year))
        taken = years != _NO_YEAR if first or last or filter.years else np.ones(len(years), np.bool_)
        if filter.first_year is not None:
            taken &= years >= filter.first_year
        if filter.last_year is not None:
            taken &= years <= filter.last_year
        if filter.years:
            taken &= np.isin(years, list(filter.years))
        if filter.without_years:
            taken &= ~np.isin(years, list(filter.without_years))
        return taken

    def _titled(self, word: str) -> _Codes:
        """The rows of the papers whose title holds `word`."""
        rows = []
        at = self._titles.find(word)
        while at >= 0:
            row = bisect_right(self._title_ends, at)
            if row == len(self._title_ends):
                break
            is_within = at + len(word) <= self._title_ends[row]
            if is_within:
                rows.append(row)
            at = self._titles.find(word, self._title_ends[row] + 1 if is_within else at + 1)
        return np.array(rows, np.int32)

    def _mask(self, rows: NDArray[np.integer]) -> _Mask:
        taken = np.zeros(len(self._years), np.bool_)
        taken[rows] = True
        return taken


def _codes(names: Iterable[str], matching: Callable[[str], _Codes]) -> _Codes:
    """The codes of all that the names may mean."""
    return np.concatenate([matching(name) for name in names])
