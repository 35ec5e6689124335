"""Files kept in a collection, in pieces: how the rest of a generation travels from the node that built it to the others.

A piece is named by the hash of its bytes, so a piece that is there already is never sent again, and what comes back is known to be
what was sent. A list of all files and their pieces is stored last and in the same way: without it, there are no files.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from vectorstore.errors import StoreDamagedError
from vectorstore.server_connection import ServerCollection

_PIECE_BYTES = 88_000  # fills the fields of one row with 4,000 characters each
_FIELD_CHARACTERS, _MAX_FIELDS = 4000, 30  # Chroma Cloud takes 32 fields of 4,096 bytes
_PIECES_PER_CALL = 64  # 10 MB/s, against 4 MB/s for 8: each request costs the server a fixed time
_LIST = "files"


class ServerFiles:
    """The files in one collection."""

    def __init__(self, collection: ServerCollection) -> None:
        self._collection = collection

    def push(self, folder: Path, names: Sequence[str]) -> int:
        """Sends these files of `folder`, given as relative paths with slashes, and returns how many pieces had to be sent."""
        known = self._collection.ids()
        before = len(known)
        files = {name: self._sent(_pieces_of_file(folder / name), known) for name in sorted(names)}
        listed = self._sent(_pieces(json.dumps(files).encode()), known)
        self._collection.upsert(ids=[_LIST], embeddings=[[1.0, 0.0]], metadatas=[_fields(" ".join(listed))])
        return len(known) - before

    def names(self) -> list[str]:
        """The names of all files."""
        return list(self._listed())

    def read(self, name: str) -> bytes:
        """The content of one file; `StoreDamagedError` when it is not there or not whole."""
        listed = self._listed()
        if name not in listed:
            raise StoreDamagedError(f"The index on the server has no {name}. Run `askabstracts index --rebuild` to build it anew.")
        return b"".join(self._received(listed[name]))

    def pull(self, folder: Path) -> None:
        """Writes all files into `folder`; `StoreDamagedError` when a piece is missing or is not what was sent."""
        for name, pieces in self._listed().items():
            path = folder / _relative(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as file:
                file.writelines(self._received(pieces))

    def _sent(self, pieces: Iterator[bytes], known: set[str]) -> list[str]:
        """Sends the pieces that are not `known` yet and adds them to it; returns the ids of all, in order."""
        ids: list[str] = []
        while batch := list(islice(pieces, _PIECES_PER_CALL)):
            named = {_id(piece): piece for piece in batch}
            ids += [_id(piece) for piece in batch]
            new = {id_: piece for id_, piece in named.items() if id_ not in known}
            if new:
                self._collection.upsert(
                    ids=list(new),
                    embeddings=[_scattered(id_) for id_ in new],
                    metadatas=[_fields(base64.b64encode(zlib.compress(piece, 1)).decode("ascii")) for piece in new.values()],
                )
            known |= set(new)
        return ids

    def _received(self, ids: Sequence[str]) -> Iterator[bytes]:
        for first in range(0, len(ids), _PIECES_PER_CALL):
            batch = ids[first : first + _PIECES_PER_CALL]
            rows = self._collection.metadatas(list(dict.fromkeys(batch)))
            for id_ in batch:
                yield _piece(id_, rows.get(id_, {}))

    def _listed(self) -> Mapping[str, Sequence[str]]:
        row = self._collection.metadatas([_LIST]).get(_LIST)
        if row is None:
            raise StoreDamagedError("The index on the server is not whole. Run `askabstracts index` to send what is missing.")
        listed: Mapping[str, Sequence[str]] = json.loads(b"".join(self._received(_joined(row).split())))
        return listed


def _pieces_of_file(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[first : first + _PIECE_BYTES] for first in range(0, len(content), _PIECE_BYTES))


def _id(piece: bytes) -> str:
    return hashlib.sha256(piece).hexdigest()[:40]


def _scattered(id_: str) -> list[float]:
    """A vector for a row that has none of its own. Thousands of equal ones would be one knot in Chroma's graph."""
    return [int(id_[:8], 16) / 2**32 + 0.001, int(id_[8:16], 16) / 2**32 + 0.001]


def _fields(text: str) -> dict[str, str]:
    if len(text) > _FIELD_CHARACTERS * _MAX_FIELDS:
        raise StoreDamagedError("The index is too large to be sent to a server in one list of files. Split the collection.")
    return {
        f"text{number:02d}": text[first : first + _FIELD_CHARACTERS]
        for number, first in enumerate(range(0, len(text), _FIELD_CHARACTERS))
    }


def _joined(row: Mapping[str, Any]) -> str:
    return "".join(str(row[name]) for name in sorted(row))


def _piece(id_: str, row: Mapping[str, Any]) -> bytes:
    try:
        packed = base64.b64decode(_joined(row), validate=True)
        piece = zlib.decompressobj().decompress(packed, _PIECE_BYTES + 1)  # one byte more than any piece has
    except (zlib.error, ValueError) as error:
        raise _damaged(id_) from error
    if _id(piece) != id_:
        raise _damaged(id_)
    return piece


def _damaged(id_: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"A piece ({id_[:8]}) of the index on the server is missing or damaged. Run `askabstracts index --rebuild` to build it anew."
    )


def _relative(name: str) -> PurePosixPath:
    """A file's path below a folder. A server is not trusted to name one outside."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in name or ":" in name or "\0" in name:
        raise StoreDamagedError(f"The index on the server names a file {name!r}, which would be written outside its folder.")
    return path
