"""Vectors in our own files: found again by the key of what was encoded, so that nothing is ever encoded twice.

A `VectorFile` is a folder of arrays, written once and then mapped into memory, row by row in a fixed order.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vectorstore.arrays import GrowingArray, StoredRows, StoredType, encoded_at, mapped, stretch
from vectorstore.encoded import WORD_SCALE, Encoded, Matrix, Vector
from vectorstore.errors import StoreDamagedError

_KEY_TYPE = "S32"
_OF_ROWS = ("keys", "vectors", "beyond", "segments", "places")
_OF_SEGMENT = ("parts", "words", "word_owners", "part_ends", "word_ends")
_SEGMENT = "segment-"
_MOST_SEGMENTS = 20
_MOST_DEAD = 0.3  # of the rows of kept segments; beyond, they are written anew
_ROWS_AT_ONCE = 8192


class VectorFile:
    """Vectors of rows, their parts and their words, and the key each row was encoded from.

    What is heavy, parts and words, lies in segments that later files share; each row knows its segment and its place there.
    """

    def __init__(self, folder: Path, arrays: Mapping[str, NDArray[Any]], segments: Sequence[Mapping[str, Any]]) -> None:
        self.folder = folder
        self._arrays, self._segments = arrays, segments

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Maps the arrays in `folder`; nothing is read before it is used."""
        try:
            arrays = {name: mapped(folder / f"{name}.npy") for name in _OF_ROWS}
            segments = [
                {
                    name: (mapped if name.endswith("_ends") else StoredRows)(folder / f"{_SEGMENT}{number}" / f"{name}.npy")
                    for name in _OF_SEGMENT
                }
                for number in range(int(arrays["segments"].max(initial=-1)) + 1)
            ]
        except (OSError, ValueError, EOFError) as error:  # EOFError: np.load, of an empty file
            raise StoreDamagedError(
                f"The vectors at {folder} cannot be read ({error}). Run `askabstracts index --rebuild` to build the index anew."
            ) from error
        return cls(folder, arrays, segments)

    @cached_property
    def keys(self) -> list[str]:
        """What each row was encoded from."""
        return [key.decode() for key in self._arrays["keys"].tolist()]

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The row of every key."""
        return {key: row for row, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self._arrays["vectors"])

    @property
    def beyond_window(self) -> int:
        """How many rows were longer than the embedder's window."""
        return int(np.count_nonzero(self._arrays["beyond"]))

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return len(self._segments)

    @property
    def segment_rows(self) -> int:
        """How many rows the segments hold, those that no row leads to any more included."""
        return sum(len(segment["part_ends"]) for segment in self._segments)

    def all_vectors(self) -> Matrix:
        """The unit vectors (rows, dimension) of all rows."""
        return np.asarray(self._arrays["vectors"], np.float32)

    def vectors(self, rows: Sequence[int]) -> Matrix:
        """The unit vectors (n, dimension) of `rows`."""
        return np.asarray(self._arrays["vectors"][np.asarray(rows, dtype=np.intp)], np.float32)

    def vector(self, row: int) -> Vector:
        """The unit vector (dimension,) of a row."""
        return np.asarray(self._arrays["vectors"][row], np.float32)

    def similarities(self, rows: NDArray[np.intp], vector: Vector) -> NDArray[np.float32]:
        """How near each of `rows` (n,) is to a unit vector, read in stretches: an array (n,)."""
        found = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            found[start : start + len(part)] = np.asarray(self._arrays["vectors"][part], np.float32) @ vector
        return found

    def parts(self, row: int) -> Matrix:
        """The unit vectors (parts, dimension) of a row's parts."""
        segment, place = self.place(row)
        return np.asarray(self._segments[segment]["parts"][stretch(self._segments[segment]["part_ends"], place)], np.float32)

    def words(self, row: int) -> tuple[Matrix, NDArray[np.int16]]:
        """The unit vectors (words, dimension) of a row's words, and the part (words,) each stands in."""
        number, place = self.place(row)
        segment = self._segments[number]
        of_row = stretch(segment["word_ends"], place)
        return segment["words"][of_row] * np.float32(1 / WORD_SCALE), segment["word_owners"][of_row]

    def encoded(self, row: int) -> Encoded:
        """What was encoded of a row."""
        segment, place = self.place(row)
        return encoded_at(self.vector(row), self._segments[segment], place, is_beyond_window=bool(self._arrays["beyond"][row]))

    def place(self, row: int) -> tuple[int, int]:
        """The segment of a row and its place there."""
        return int(self._arrays["segments"][row]), int(self._arrays["places"][row])

    def is_beyond_window(self, row: int) -> bool:
        """Whether a row was longer than the embedder's window."""
        return bool(self._arrays["beyond"][row])


class VectorWriter:
    """Writes a `VectorFile` row by row, holding one of them in memory. Use it in a `with`.

    Segments of the file `before` are shared by hard links where that saves more than it keeps of rows that are gone: `kept`
    is how many of its rows will be kept.
    """

    def __init__(self, folder: Path, *, dimension: int, before: VectorFile | None = None, kept: int = 0) -> None:
        self._before = before
        is_shared = before is not None and before.segments < _MOST_SEGMENTS and kept >= (1 - _MOST_DEAD) * before.segment_rows
        self._shared = before.segments if before is not None and is_shared else 0
        own = folder / f"{_SEGMENT}{self._shared}"
        own.mkdir(parents=True)
        for number in range(self._shared if before is not None else 0):
            _link_folder(before.folder / f"{_SEGMENT}{number}", folder / f"{_SEGMENT}{number}")  # type: ignore[union-attr]  # shared only with one
        places: Mapping[str, tuple[Path, type[np.generic] | str, tuple[int, ...]]] = {
            "keys": (folder, _KEY_TYPE, ()),
            "vectors": (folder, StoredType, (dimension,)),
            "beyond": (folder, np.bool_, ()),
            "segments": (folder, np.int16, ()),
            "places": (folder, np.int32, ()),
            "parts": (own, StoredType, (dimension,)),
            "words": (own, np.int8, (dimension,)),
            "word_owners": (own, np.int16, ()),
            "part_ends": (own, np.int64, ()),
            "word_ends": (own, np.int64, ()),
        }
        self._arrays = {name: GrowingArray(of / f"{name}.npy", dtype, shape) for name, (of, dtype, shape) in places.items()}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for array in self._arrays.values():
                stack.enter_context(array)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._open.close()

    def add(self, key: str, encoded: Encoded) -> None:
        """Adds what was encoded from `key`."""
        arrays = self._arrays
        self._add_row(key, encoded.vector, self._shared, len(arrays["part_ends"]), is_beyond_window=encoded.is_beyond_window)
        arrays["parts"].extend(encoded.parts)
        arrays["words"].extend(encoded.words)
        arrays["word_owners"].extend(encoded.word_owners)
        arrays["part_ends"].extend(np.array([len(arrays["parts"])]))
        arrays["word_ends"].extend(np.array([len(arrays["words"])]))

    def keep(self, row: int) -> None:
        """Adds a row of the file before."""
        before = self._before
        if before is None:
            raise ValueError("There is no file before whose rows could be kept.")
        if not self._shared:
            self.add(before.keys[row], before.encoded(row))
            return
        self._add_row(before.keys[row], before.vector(row), *before.place(row), is_beyond_window=before.is_beyond_window(row))

    def _add_row(self, key: str, vector: Vector, segment: int, place: int, *, is_beyond_window: bool) -> None:
        self._arrays["keys"].extend(np.array([key], _KEY_TYPE))
        self._arrays["vectors"].extend(vector[None])
        self._arrays["beyond"].extend(np.array([is_beyond_window]))
        self._arrays["segments"].extend(np.array([segment]))
        self._arrays["places"].extend(np.array([place]))


def _link_folder(source: Path, folder: Path) -> None:
    """The files of `source`, which are never changed, under another name; copies where the disk knows no hard links."""
    folder.mkdir()
    for file in source.iterdir():
        try:
            os.link(file, folder / file.name)
        except OSError:
            shutil.copyfile(file, folder / file.name)
