"""Arrays on disk: written row by row, mapped for reading, and cut into the stretches that belong to a row."""

import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vectorstore.encoded import Encoded, Vector

_EMPTY_FILE_BYTES = 128  # a header alone; an array without rows cannot be mapped
StoredType = np.float16  # half the room of float32; similarities move by less than 0.001


class GrowingArray:
    """A .npy file written row by row, whose length goes into its header at the end.

    Not a writable memory map: on a full disk that kills the process where a plain write raises an error.
    """

    def __init__(self, path: Path, dtype: type[np.generic] | str, row_shape: tuple[int, ...]) -> None:
        self._path, self._dtype, self._row_shape, self._rows = path, np.dtype(dtype), row_shape, 0

    def __enter__(self) -> Self:
        self._file = open(self._path, "wb")
        self._write_header(2**62)  # as many digits as any later length needs, so that the header keeps its size
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.flush()
            self._file.seek(0)
            self._write_header(self._rows)
        finally:
            self._file.close()

    def __len__(self) -> int:
        return self._rows

    def extend(self, rows: NDArray[Any]) -> None:
        """Appends rows."""
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).tobytes())
        self._rows += len(rows)

    def _write_header(self, rows: int) -> None:
        shape = (rows, *self._row_shape)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)


class StoredRows:
    """Rows of a .npy file that are read when they are asked for, and then let go: what is heavy and seldom read twice.

    Mapped into memory, every page that was ever read would count as the process's own.
    """

    def __init__(self, path: Path) -> None:
        rows = np.load(path, mmap_mode="r") if path.stat().st_size > _EMPTY_FILE_BYTES else np.load(path)
        self._shape, self._dtype = rows.shape, rows.dtype
        self._row_bytes = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
        self._offset = path.stat().st_size - self._row_bytes * len(rows)
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return int(self._shape[0])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        content = os.pread(self._file, self._row_bytes * (rows.stop - rows.start), self._offset + self._row_bytes * rows.start)
        return np.frombuffer(content, self._dtype).reshape(-1, *self._shape[1:])


def mapped(path: Path) -> NDArray[Any]:
    """The array in `path`, read as it is used."""
    try:
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # an array without rows cannot be mapped
        return np.asarray(np.load(path))


def stretch(ends: NDArray[np.int64], row: int) -> slice:
    """Where the rows of `row` lie, in an array whose rows end at `ends`."""
    return slice(int(ends[row - 1]) if row else 0, int(ends[row]))


def encoded_at(vector: Vector, arrays: Mapping[str, Any], place: int, *, is_beyond_window: bool) -> Encoded:
    """What was encoded at `place` of arrays, or `StoredRows`, of parts and words; `vector` is that of the whole."""
    words = stretch(arrays["word_ends"], place)
    return Encoded(
        np.asarray(vector, np.float32),
        np.asarray(arrays["parts"][stretch(arrays["part_ends"], place)], np.float32),
        np.asarray(arrays["words"][words]),
        np.asarray(arrays["word_owners"][words]),
        is_beyond_window=is_beyond_window,
    )
