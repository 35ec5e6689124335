"""The generations of an index on a Chroma server, shared by any number of app processes: what `generations` is to a folder.

A generation is two collections named by collection, passport and content: its vectors, which are searched there, and its files,
which every node copies once. A writer, alone by a lease, sends what is missing and publishes by moving the pointer in one atomic
step. The same content has the same name, so a send that was killed is taken up. What the files hold is not known here.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vectorstore.encoded import Matrix
from vectorstore.errors import IndexMissingError, StoreBusyError, StoreDamagedError
from vectorstore.server_connection import MAX_ROWS_PER_CALL, ServerCollection, ServerConnection
from vectorstore.server_errors import ServerAddressError
from vectorstore.server_files import ServerFiles
from vectorstore.server_registry import Lease, Published, Registry, registered_names
from vectorstore.store import VectorStore

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")  # with the rest of a collection's name within the 128 bytes of Chroma Cloud
_HEX = re.compile(r"[0-9a-f]{16,}")
_FILES = ".files"
_POLL_SECONDS = 0.5


def published_names(connection: ServerConnection) -> tuple[str, ...]:
    """The names of all collections that are published on a server, in alphabetical order."""
    names = registered_names(connection)
    return tuple(name for name in names if Registry(connection, name).published() is not None)


class ServerGenerations:
    """The generations of the collection `name`. Creating the object asks the server nothing."""

    def __init__(self, connection: ServerConnection, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise ServerAddressError(
                f"A collection on a server cannot be named {name[:80]!r}. Take up to 60 letters (a-z), digits, - and _, beginning with a letter or digit."
            )
        self._connection, self._name = connection, name
        self._registry = Registry(connection, name)

    def exists(self) -> bool:
        """Whether a generation was ever published here."""
        return self._registry.published() is not None

    def current(self) -> "ServerGeneration":
        """The generation in use; `IndexMissingError` when there is none."""
        published = self._registry.published()
        if published is None:
            raise IndexMissingError(
                f"There is no collection {self._name} on {self._connection.address.text}. Run `askabstracts index` to build it."
            )
        return ServerGeneration(self._connection, published.generation, rows=published.rows)

    @contextmanager
    def writing(self, *, timeout_seconds: float, lease_seconds: float = 30.0) -> Iterator["ServerWriter"]:
        """Holds the writer's lease. Raises `StoreBusyError` when another process keeps it longer than the timeout.

        The lease of a process that was killed runs out after `lease_seconds` and the connection's time limit.
        """
        give_up = time.monotonic() + timeout_seconds
        while True:
            try:
                lease = self._registry.lease(lease_seconds=lease_seconds)
                break
            except StoreBusyError:
                if time.monotonic() + _POLL_SECONDS > give_up:
                    raise
                time.sleep(_POLL_SECONDS)
        with lease:
            yield ServerWriter(self._connection, self._registry, lease, self._name)


class ServerGeneration:
    """A published generation: `rows` vectors that no longer change, and files."""

    def __init__(self, connection: ServerConnection, name: str, *, rows: int) -> None:
        self._connection, self.name, self.rows = connection, name, rows

    def open_store(self) -> VectorStore:
        """Its vectors, to be searched; closing them leaves the connection open.

        Raises `GenerationGoneError`, now or in a query, when newer ones have replaced it: open the current one then.
        """
        store = _FixedCollection(self._connection.collection(self.name), self.rows)
        return VectorStore(client=store, collection=store)

    def files(self) -> ServerFiles:
        """Its files; `GenerationGoneError` as for `open_store`."""
        return ServerFiles(self._connection.collection(self.name + _FILES))


class ServerWriter:
    """What the holder of the lease may do."""

    def __init__(self, connection: ServerConnection, registry: Registry, lease: Lease, name: str) -> None:
        self._connection, self._registry, self._lease, self._name = connection, registry, lease, name

    def generation_name(self, *, passport: str, content: str) -> str:
        """The name of the generation that an embedder makes of papers: both given as hexadecimal hashes, 16 digits or more."""
        for digest in (passport, content):
            if not _HEX.fullmatch(digest):
                raise ValueError(f"{digest!r} is no hash of 16 hexadecimal digits or more")
        return f"{self._name}.{passport[:8]}.{content[:16]}"

    def push_vectors(self, generation: str, ids: Sequence[str], vectors: Matrix) -> int:
        """Sends the rows that are not there yet, and returns how many those were. `vectors` is (rows, dimension)."""
        collection = self._connection.created_collection(generation)
        known = collection.ids()
        missing = [row for row, id_ in enumerate(ids) if id_ not in known]
        for first in range(0, len(missing), MAX_ROWS_PER_CALL):
            rows = missing[first : first + MAX_ROWS_PER_CALL]
            collection.upsert(ids=[ids[row] for row in rows], embeddings=np.asarray(vectors[rows], np.float32))
        return len(missing)

    def push_files(self, generation: str, folder: Path, names: Sequence[str]) -> int:
        """Sends these files of `folder`, given as relative paths with slashes, and returns how many pieces had to be sent."""
        return ServerFiles(self._connection.created_collection(generation + _FILES)).push(folder, names)

    def publish(self, generation: str, *, rows: int) -> ServerGeneration:
        """Makes readers use `generation`, in one atomic step, once it is whole; then removes those that nobody needs.

        Raises `StoreDamagedError` when the server does not hold exactly `rows` vectors and the files, and `LeaseLostError` when
        another writer has taken over; what was published before stays in use.
        """
        self._lease.renew()
        count = self._connection.collection(generation).count()
        if count != rows:
            self._connection.delete_collection(generation)
            raise StoreDamagedError(f"The server kept {count} of {rows} vectors of {generation}. Run the command again.")
        ServerFiles(self._connection.collection(generation + _FILES)).names()
        published = self._lease.publish(generation, rows=rows)
        self._remove_others(published)
        return ServerGeneration(self._connection, generation, rows=rows)

    def remove(self) -> None:
        """Deletes the collection: first nothing is published any more, then its generations go."""
        self._lease.unpublish()
        self._remove_others(None)

    def _remove_others(self, published: Published | None) -> None:
        """Removes generations that neither the pointer nor a reader of the one before it can still use."""
        kept = (published.generation, published.before) if published is not None else ()
        own = re.compile(rf"({re.escape(self._name)}\.[0-9a-f]{{8}}\.[0-9a-f]{{16}})(?:{re.escape(_FILES)})?")
        for name in self._connection.collection_names():
            match = own.fullmatch(name)
            if match is not None and match[1] not in kept:
                self._connection.delete_collection(name)


class _FixedCollection:
    """A collection that no longer changes, as `VectorStore` asks for it: counting its rows costs no request."""

    def __init__(self, collection: ServerCollection, rows: int) -> None:
        self._collection, self._rows = collection, rows

    def query(self, **wanted: Any) -> Any:
        """As Chroma's own."""
        return self._collection.query(**wanted)

    def count(self) -> int:
        """Number of rows."""
        return self._rows

    def close(self) -> None:
        """Does nothing: the connection serves all generations."""
