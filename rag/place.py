"""Where the index of a collection is kept: in a folder, or on a Chroma server with a copy of its files in a folder here.

Both are built and read the same way: generations in a folder, of which one is published. A server holds the vectors in place of
the folder, and every node copies the other files from it once.
"""

import hashlib
import json
import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from rag.index import PaperIndex
from rag.settings import DEFAULT_COLLECTION, TOKEN_OF_STORE, Settings, api_key
from vectorstore.errors import IndexMissingError, PassportMismatchError, StoreDamagedError
from vectorstore.generations import GenerationFolder
from vectorstore.passport import Passport
from vectorstore.server import ServerGeneration, ServerGenerations, ServerWriter, published_names
from vectorstore.server_address import ServerAddress, is_server_address
from vectorstore.server_connection import ServerConnection
from vectorstore.server_errors import GenerationGoneError
from vectorstore.server_mirror import mirrored, origin_of, write_origin
from vectorstore.store import VectorStore
from vectorstore.vectors import VectorFile

_STORE_ROWS = 4096
_MOST_CHANGED = 0.2  # of the papers, for Chroma's graph to be copied and changed; else it is built anew
_CONTENT = ("papers.jsonl", "spans/numbers.npy", "spans/ends.npy", "sources.json")
_CHROMA = "chroma"


class Place(Protocol):
    """What indexing and answering need of it. `folder` holds the generations on this machine."""

    @property
    def folder(self) -> GenerationFolder: ...

    def current(self) -> Path:
        """The folder of the published generation; `IndexMissingError` when there is none."""

    def writing(self, *, timeout_seconds: float) -> AbstractContextManager[None]:
        """Keeps all others from writing; `StoreBusyError` when somebody else writes for longer than the timeout."""

    def open(self, generation: Path) -> PaperIndex:
        """A generation, for reading."""

    def fill(self, generation: Path, ids: Sequence[str], before: PaperIndex | None) -> None:
        """Puts the vectors of a generation, whose other files are written, where they are searched."""

    def publish(self, generation: Path, *, rows: int) -> None:
        """Makes others read the generation, which is filled; `folder` does that for this machine after this."""


def place_of(settings: Settings) -> Place:
    """Where the index of `settings` is kept. Touches neither disk nor network."""
    folder = GenerationFolder(settings.store_folder)
    return ServerPlace(settings, folder) if is_server_address(settings.store) else FolderPlace(folder)


class FolderPlace:
    """A folder on this machine, with a Chroma in each generation."""

    def __init__(self, folder: GenerationFolder) -> None:
        self.folder = folder

    def current(self) -> Path:
        """The folder of the published generation; `IndexMissingError` when there is none."""
        return self.folder.current()

    def writing(self, *, timeout_seconds: float) -> AbstractContextManager[None]:
        """Holds the folder's lock."""
        return self.folder.writing(timeout_seconds=timeout_seconds)

    def open(self, generation: Path) -> PaperIndex:
        """A generation, for reading; Chroma is opened at the first query."""
        return PaperIndex.open(generation)

    def fill(self, generation: Path, ids: Sequence[str], before: PaperIndex | None) -> None:
        """Copies Chroma's files of the generation before and changes them, or makes new ones when much has changed."""
        vectors = VectorFile.load(generation / "vectors")
        old = {} if before is None else {paper.id: key for paper, key in zip(before.papers, before.vectors.keys, strict=True)}
        changed = [row for row, (id_, key) in enumerate(zip(ids, vectors.keys, strict=True)) if old.get(id_) != key]
        gone = sorted(set(old) - set(ids))
        if before is not None and len(changed) + len(gone) <= _MOST_CHANGED * len(ids):
            try:
                _fill(VectorStore.copied(before.generation / _CHROMA, generation / _CHROMA), vectors, ids, changed, gone)
                return
            except StoreDamagedError:
                shutil.rmtree(generation / _CHROMA, ignore_errors=True)
        _fill(VectorStore.create(generation / _CHROMA), vectors, ids, range(len(ids)), ())

    def publish(self, generation: Path, *, rows: int) -> None:
        """Does nothing: the folder is all there is."""


def _fill(store: VectorStore, vectors: VectorFile, ids: Sequence[str], rows: Sequence[int], gone: Sequence[str]) -> None:
    try:
        store.delete(gone)
        for first in range(0, len(rows), _STORE_ROWS):
            part = rows[first : first + _STORE_ROWS]
            store.upsert([ids[row] for row in part], vectors.vectors(part))
        found = store.query(vectors.vector(len(ids) - 1), 1)
        if store.count() != len(ids) or not found:
            raise StoreDamagedError(f"Chroma kept {store.count()} of {len(ids)} vectors. Run the command again.")
    finally:
        store.close()


class ServerPlace:
    """A Chroma server, and a folder with a copy of the published generation's files. The connection is made when it is needed."""

    def __init__(self, settings: Settings, folder: GenerationFolder) -> None:
        self.folder = folder
        self._settings = settings
        self._opened: ServerConnection | None = None
        self._writer: ServerWriter | None = None

    def current(self) -> Path:
        """The folder of the published generation's files, copied from the server first where they are not here yet.

        One of another schema or embedder is copied too: its passport tells.
        """
        try:
            return self._mirrored()
        except GenerationGoneError:  # replaced while it was being copied
            return self._mirrored()

    @contextmanager
    def writing(self, *, timeout_seconds: float) -> Iterator[None]:
        """Holds the server's lease and the folder's lock, with the published generation at hand."""
        with self._generations().writing(timeout_seconds=timeout_seconds) as writer:
            if self._generations().exists():
                self.current()
            with self.folder.writing(timeout_seconds=timeout_seconds):
                self._writer = writer
                try:
                    yield
                finally:
                    self._writer = None

    def open(self, generation: Path) -> PaperIndex:
        """A generation, for reading; its vectors are searched on the server."""
        name = origin_of(generation)

        def open_store(_: Path) -> VectorStore:
            return ServerGeneration(self._connection(), name, rows=len(index.papers)).open_store()

        index = PaperIndex.open(generation, open_store=open_store)
        return index

    def fill(self, generation: Path, ids: Sequence[str], before: PaperIndex | None) -> None:  # noqa: ARG002 -- a server shares nothing
        """Sends what the server does not have yet."""
        writer = self._writing()
        passport = json.dumps(asdict(Passport.load(generation / "passport.json")), sort_keys=True).encode()
        content = hashlib.sha256(b"\0".join(hashlib.sha256((generation / file).read_bytes()).digest() for file in _CONTENT))
        name = writer.generation_name(passport=hashlib.sha256(passport).hexdigest(), content=content.hexdigest())
        files = sorted(file.relative_to(generation).as_posix() for file in generation.rglob("*") if file.is_file())
        writer.push_vectors(name, ids, VectorFile.load(generation / "vectors").all_vectors())
        writer.push_files(name, generation, files)
        write_origin(generation, name)

    def publish(self, generation: Path, *, rows: int) -> None:
        """Publishes it on the server, in one step."""
        self._writing().publish(origin_of(generation), rows=rows)

    def _writing(self) -> ServerWriter:
        if self._writer is None:
            raise RuntimeError("Nothing can be sent without the lease.")
        return self._writer

    def names(self) -> tuple[str, ...]:
        """The collections that are published on the server, as `Settings.collection` names them; the default one first."""
        return tuple(sorted("" if name == DEFAULT_COLLECTION else name for name in published_names(self._connection())))

    def remove(self) -> None:
        """Deletes the collection from the server, then the copy of its files here."""
        with self._generations().writing(timeout_seconds=self._settings.lock_timeout_seconds) as writer:
            writer.remove()
        shutil.rmtree(self.folder.folder, ignore_errors=True)

    def _mirrored(self) -> Path:
        return mirrored(self._generations().current(), self.folder, timeout_seconds=self._settings.lock_timeout_seconds)

    def _generations(self) -> ServerGenerations:
        return ServerGenerations(self._connection(), self._settings.collection or DEFAULT_COLLECTION)

    def _connection(self) -> ServerConnection:
        if self._opened is None:
            address = ServerAddress.parse(self._settings.store)
            self._opened = ServerConnection.open(
                address, token=api_key(TOKEN_OF_STORE), timeout_seconds=self._settings.store_timeout_seconds
            )
            weakref.finalize(self, self._opened.close)
        return self._opened


def published_passport(settings: Settings) -> Passport | None:
    """What the published index of `settings` was built with; None when there is none that can be read."""
    try:
        return Passport.load(place_of(settings).current() / "passport.json")
    except (IndexMissingError, StoreDamagedError, PassportMismatchError):
        return None


def published_index(settings: Settings) -> PaperIndex:
    """The published index of `settings`, for reading; `IndexMissingError` when there is none."""
    place = place_of(settings)
    return place.open(place.current())
