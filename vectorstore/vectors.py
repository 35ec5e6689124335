"""Vectors in our own files: found again by the key of what was encoded, so that nothing is ever encoded twice.

A `VectorFile` is a folder of arrays, written once and then mapped into memory, row by row in a fixed order. `PendingVectors`
keeps the batches of a build that is not yet published, so that a killed build loses at most the batch in hand.
"""

import json
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vectorstore.encoded import WORD_SCALE, Encoded, Matrix, Vector
from vectorstore.errors import StoreDamagedError

StoredType = np.float16  # half the room of float32; similarities move by less than 0.001
_ARRAYS = ("vectors", "parts", "words", "word_owners", "part_ends", "word_ends", "beyond")


class VectorFile:
    """Vectors of rows, their parts and their words, and the key each row was encoded from."""

    def __init__(self, keys: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.keys = keys
        self._arrays = arrays
        self._rows = {key: row for row, key in enumerate(keys)}

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Maps the arrays in `folder`; nothing is read before it is used."""
        try:
            keys = json.loads((folder / "keys.json").read_text(encoding="utf-8"))
            return cls(keys, {name: _mapped(folder / f"{name}.npy") for name in _ARRAYS})
        except (OSError, ValueError, EOFError) as error:  # EOFError: np.load, of an empty file
            raise StoreDamagedError(
                f"The vectors at {folder} cannot be read ({error}). Run `askabstracts index --rebuild` to build the index anew."
            ) from error

    @staticmethod
    def write(folder: Path, rows: Iterable[tuple[str, Encoded]], *, dimension: int) -> None:
        """Writes rows in the order given, holding one of them in memory at a time."""
        folder.mkdir(parents=True, exist_ok=True)
        keys, part_counts, word_counts, beyond = [], [], [], []
        with (
            _GrowingArray(folder / "vectors.npy", StoredType, (dimension,)) as vectors,
            _GrowingArray(folder / "parts.npy", StoredType, (dimension,)) as parts,
            _GrowingArray(folder / "words.npy", np.int8, (dimension,)) as words,
            _GrowingArray(folder / "word_owners.npy", np.int16, ()) as word_owners,
        ):
            for key, encoded in rows:
                vectors.extend(encoded.vector[None])
                parts.extend(encoded.parts)
                words.extend(encoded.words)
                word_owners.extend(encoded.word_owners)
                keys.append(key)
                part_counts.append(len(encoded.parts))
                word_counts.append(len(encoded.words))
                beyond.append(encoded.is_beyond_window)
        np.save(folder / "part_ends.npy", np.cumsum(part_counts, dtype=np.int64))
        np.save(folder / "word_ends.npy", np.cumsum(word_counts, dtype=np.int64))
        np.save(folder / "beyond.npy", np.array(beyond, dtype=np.bool_))
        (folder / "keys.json").write_text(json.dumps(keys), encoding="utf-8")

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def beyond_window(self) -> int:
        """How many rows were longer than the embedder's window."""
        return int(np.count_nonzero(self._arrays["beyond"]))

    def all_vectors(self) -> Matrix:
        """The unit vectors (rows, dimension) of all rows."""
        return np.asarray(self._arrays["vectors"], np.float32)

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
        return np.asarray(self._arrays["parts"][_stretch(self._arrays["part_ends"], row)], np.float32)

    def words(self, row: int) -> tuple[Matrix, NDArray[np.int16]]:
        """The unit vectors (words, dimension) of a row's words, and the part (words,) each stands in."""
        stretch = _stretch(self._arrays["word_ends"], row)
        return self._arrays["words"][stretch] * np.float32(1 / WORD_SCALE), self._arrays["word_owners"][stretch]

    def encoded(self, key: str) -> Encoded:
        """What was encoded from `key`."""
        return _encoded_row(self._arrays, self._rows[key])


_ROWS_AT_ONCE = 8192


class PendingVectors:
    """Encoded rows of a build under way, in small files that appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, tuple[Path, int]] = {}
        self._open: tuple[Path, Mapping[str, NDArray[Any]]] | None = None
        for path in sorted(folder.glob("*.npz")):
            try:
                with open(path, "rb") as file, np.load(file, allow_pickle=False) as shard:  # np.load leaves a torn archive open
                    self._places |= {str(key): (path, row) for row, key in enumerate(shard["keys"])}
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                path.unlink(missing_ok=True)  # a torn file of a killed machine: encode those again

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def add(self, batch: Mapping[str, Encoded]) -> None:
        """Keeps a batch, safe against a kill at any moment."""
        if not batch:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{next(iter(batch))}.npz"
        rows = list(batch.values())
        partial = path.with_suffix(".tmp")
        try:
            with open(partial, "wb") as file:
                np.savez(
                    file,
                    keys=np.array(list(batch)),
                    vectors=np.stack([row.vector for row in rows]).astype(StoredType),
                    parts=np.concatenate([row.parts for row in rows]).astype(StoredType),
                    words=np.concatenate([row.words for row in rows]),
                    word_owners=np.concatenate([row.word_owners for row in rows]),
                    part_ends=np.cumsum([len(row.parts) for row in rows]),
                    word_ends=np.cumsum([len(row.words) for row in rows]),
                    beyond=np.array([row.is_beyond_window for row in rows]),
                )
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        self._places |= {key: (path, row) for row, key in enumerate(batch)}

    def encoded(self, key: str) -> Encoded:
        """What was encoded from `key`."""
        path, row = self._places[key]
        if self._open is None or self._open[0] != path:
            with np.load(path, allow_pickle=False) as shard:
                self._open = (path, {name: shard[name] for name in shard.files})
        return _encoded_row(self._open[1], row)

    def clear(self) -> None:
        """Forgets everything: the rows are in a published index now."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._places.clear()
        self._open = None


def _encoded_row(arrays: Mapping[str, NDArray[Any]], row: int) -> Encoded:
    words = _stretch(arrays["word_ends"], row)
    return Encoded(
        np.asarray(arrays["vectors"][row], np.float32),
        np.asarray(arrays["parts"][_stretch(arrays["part_ends"], row)], np.float32),
        np.asarray(arrays["words"][words]),
        np.asarray(arrays["word_owners"][words]),
        is_beyond_window=bool(arrays["beyond"][row]),
    )


def _stretch(ends: NDArray[np.int64], row: int) -> slice:
    return slice(int(ends[row - 1]) if row else 0, int(ends[row]))


class _GrowingArray:
    """A .npy file written row by row, whose length goes into its header at the end.

    Not a writable memory map: on a full disk that kills the process where a plain write raises an error.
    """

    def __init__(self, path: Path, dtype: type[np.generic], row_shape: tuple[int, ...]) -> None:
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

    def extend(self, rows: NDArray[Any]) -> None:
        """Appends rows."""
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).tobytes())
        self._rows += len(rows)

    def _write_header(self, rows: int) -> None:
        shape = (rows, *self._row_shape)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)


def _mapped(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # an array without rows cannot be mapped
        return np.asarray(np.load(path))
