"""Chroma: one collection of unit vectors under the cosine metric, in one folder.

Chroma is called directly, with true upserts. Its distance becomes a similarity here and nowhere else. A
folder is written by one process and then only read (see `generations`).
"""

import os
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from vectorstore.encoded import Matrix, Vector
from vectorstore.errors import StoreDamagedError, StoreReadOnlyError

CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 200}}
"""Of every collection of vectors. With 200, 0.997 of the 10 nearest of 87,000 papers are found. Chroma's own 100 found less (eval/LOG.md)."""

_COLLECTION = "papers"
_DATABASE = "chroma.sqlite3"
_OPENING = threading.RLock()  # Chroma's table of open folders is not safe for threads; an index forgotten meanwhile closes in it
_UNWRITABLE = ("readonly", "read-only", "disk is full")
_ROWS_PER_CALL = 2000  # Chroma takes at most 5,461 rows in one call


@dataclass(frozen=True, slots=True)
class Match:
    """A stored row near a query: its id and its cosine similarity, -1..1."""

    id: str
    similarity: float


class VectorStore:
    """An open collection. Use `create` to write a new one and `open` to read one."""

    def __init__(self, client: Any, collection: Any) -> None:
        self._client, self._collection = client, collection
        self._rows: int | None = None  # as last counted; Chroma counts in SQLite, slower than it finds what is near

    @classmethod
    def create(cls, folder: Path) -> Self:
        """A new, empty collection in `folder`."""
        client = _client(folder)
        collection = client.create_collection(_COLLECTION, configuration=CONFIGURATION, embedding_function=None)
        return cls(client, collection)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The collection in `folder`.

        Raises `StoreReadOnlyError` where the folder may not be written or its disk is full (Chroma writes even to read) and
        `StoreDamagedError` where there is no sound collection.
        """
        if not (folder / _DATABASE).is_file():
            raise StoreDamagedError(f"No vectors at {folder}. Run `askabstracts index --rebuild` to build the index anew.")
        if not (os.access(folder, os.W_OK) and os.access(folder / "chroma.sqlite3", os.W_OK)):
            raise StoreReadOnlyError(f"The vectors at {folder} cannot be opened where they may not be written.")
        try:
            client = _client(folder)
            return cls(client, client.get_collection(_COLLECTION, embedding_function=None))
        except Exception as error:  # chromadb raises bare Rust errors of many types
            if any(sign in str(error).lower() for sign in _UNWRITABLE):
                raise StoreReadOnlyError(f"The vectors at {folder} cannot be opened where they may not be written.") from error
            raise StoreDamagedError(
                f"The vectors at {folder} cannot be opened ({error}). Run `askabstracts index --rebuild` to build the index anew."
            ) from error

    @classmethod
    def copied(cls, source: Path, folder: Path) -> Self:
        """The collection in `source`, copied to `folder` to be changed there; `StoreDamagedError` when it cannot be.

        A reader may have `source` open: SQLite's own copying takes its file as of one moment.
        """
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
        try:
            with (
                closing(sqlite3.connect(f"{(source / _DATABASE).as_uri()}?mode=ro", uri=True)) as theirs,
                closing(sqlite3.connect(folder / _DATABASE)) as ours,
            ):
                theirs.backup(ours)
        except sqlite3.Error as error:
            raise StoreDamagedError(f"The vectors at {source} cannot be copied ({error}).") from error
        return cls.open(folder)

    def upsert(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds rows or replaces those with the same id. `vectors` is (rows, dimension)."""
        self._rows = None
        for first in range(0, len(ids), _ROWS_PER_CALL):
            rows = slice(first, first + _ROWS_PER_CALL)
            self._collection.upsert(ids=list(ids[rows]), embeddings=np.asarray(vectors[rows], dtype=np.float32))

    def delete(self, ids: Sequence[str]) -> None:
        """Removes the rows with these ids."""
        self._rows = None
        for first in range(0, len(ids), _ROWS_PER_CALL):
            self._collection.delete(ids=list(ids[first : first + _ROWS_PER_CALL]))

    def query(self, vector: Vector, k: int) -> list[Match]:
        """The `k` nearest rows, best first; fewer when there are fewer."""
        if self._rows is None:
            self._rows = self.count()
        k = min(k, self._rows)
        if k <= 0 or not np.isfinite(vector).all():
            return []
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["distances"])
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [Match(id_, 1.0 - float(distance)) for id_, distance in pairs]

    def count(self) -> int:
        """Number of rows, counted anew."""
        return int(self._collection.count())

    def close(self) -> None:
        """Lets go of the folder."""
        with _OPENING:
            self._client.close()


def _client(folder: Path) -> Any:
    # Imported here and not above: listing an index's papers needs no Chroma.
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings

    with _OPENING:
        try:
            return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        except BaseException:
            # Chroma keeps what it could not start, and would give it to whoever asks for this folder next.
            if str(folder) not in SharedSystemClient._identifier_to_refcount:
                SharedSystemClient._identifier_to_system.pop(str(folder), None)
            raise
