"""Vectors of a build that is not yet published, kept in batches, so that a killed build loses at most the batch in hand."""

import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vectorstore.arrays import StoredType, encoded_at
from vectorstore.encoded import Encoded


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
        shard = self._open[1]
        return encoded_at(shard["vectors"][row], shard, row, is_beyond_window=bool(shard["beyond"][row]))

    def clear(self) -> None:
        """Forgets everything: the rows are in a published index now."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._places.clear()
        self._open = None
