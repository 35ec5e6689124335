"""Papers and their sentence spans as an index keeps them on disk."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import orjson
from numpy.typing import NDArray

from rag.papers import Paper
from rag.text import Span


class SpanFile(Sequence[Sequence[Span]]):
    """The sentence spans of every paper, kept as numbers: a large collection has more sentences than Python keeps objects of with ease."""

    def __init__(self, numbers: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
        self._numbers, self._ends = numbers, ends

    @classmethod
    def of(cls, spans: Sequence[NDArray[np.int32]]) -> Self:
        """Those of papers whose spans are given as arrays (sentences, 2)."""
        numbers = np.concatenate([np.zeros((0, 2), np.int32), *spans])
        return cls(numbers, np.cumsum([len(of_paper) for of_paper in spans], dtype=np.int64))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Those saved in `folder`."""
        return cls(np.load(folder / "numbers.npy"), np.load(folder / "ends.npy"))

    def save(self, folder: Path) -> None:
        """Writes them into `folder`."""
        folder.mkdir()
        np.save(folder / "numbers.npy", self._numbers)
        np.save(folder / "ends.npy", self._ends)

    def numbers(self, row: int) -> NDArray[np.int32]:
        """Start and end (sentences, 2) of the sentences of a paper."""
        return self._numbers[self._ends[row - 1] if row else 0 : self._ends[row]]

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, row: int) -> Sequence[Span]: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Sequence[Span]]: ...
    def __getitem__(self, row: int | slice) -> Sequence[Span] | Sequence[Sequence[Span]]:
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        return tuple(Span(int(start), int(end)) for start, end in self.numbers(range(len(self))[row]))


def write_papers(path: Path, papers: Iterable[Paper]) -> None:
    """Writes papers, one JSON object a line."""
    with open(path, "wb") as file:
        for paper in papers:
            file.write(orjson.dumps(paper, option=orjson.OPT_APPEND_NEWLINE))


def read_papers(path: Path) -> list[Paper]:
    """The papers that `write_papers` wrote."""
    with open(path, "rb") as file:
        return [_paper(orjson.loads(line)) for line in file]


def _paper(row: Mapping[str, Any]) -> Paper:
    return Paper(
        id=row["id"],
        title=row["title"],
        abstract=row["abstract"],
        authors=tuple(row["authors"]),
        year=row["year"],
        venue=row["venue"],
        urls=tuple(row["urls"]),
        sources=tuple(row["sources"]),
        has_given_title=row["has_given_title"],
    )
