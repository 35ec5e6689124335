"""A file as the stream of its bytes, unpacked when it is gzipped. What is no text by its first bytes is refused with advice."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from rag.errors import SourceUnreadableError

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 4096
_HARMLESS_BYTES = 50_000_000  # a gzipped file may always unpack to so much
_MOST_TIMES_LARGER = 100  # beyond that; text shrinks to a third or a tenth, what shrinks to a hundredth is no text

_UNPACK = "Unpack it and give the files in it"
_FOREIGN: tuple[tuple[bytes, int, str, str], ...] = (
    (b"%PDF", 0, "a PDF", "Export the abstracts as text, BibTeX or CSV"),
    (b"SQLite format 3", 0, "an SQLite database", "Export the table as CSV"),
    (b"PAR1", 0, "a Parquet file", "Export it as JSON Lines or CSV"),
    (b"\x89HDF", 0, "an HDF5 file", "Export it as JSON Lines or CSV"),
    (b"\xd0\xcf\x11\xe0", 0, "an old Word or Excel file", "Save it as plain text or CSV"),
    (b"{\\rtf", 0, "a rich text file", "Save it as plain text in UTF-8"),
    (b"\x89PNG", 0, "an image", "Give its text"),
    (b"\xff\xd8\xff", 0, "an image", "Give its text"),
    (b"GIF8", 0, "an image", "Give its text"),
    (b"WEBP", 8, "an image", "Give its text"),
    (b"II*\0", 0, "an image", "Give its text"),
    (b"MM\0*", 0, "an image", "Give its text"),
    (b"BZh", 0, "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ", 0, "an xz archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", 0, "a zstd archive", _UNPACK),
    (b"7z\xbc\xaf", 0, "a 7z archive", _UNPACK),
    (b"Rar!", 0, "a RAR archive", _UNPACK),
    (b"ustar", 257, "a tar archive", _UNPACK),
    (_GZIP, 0, "gzipped twice", "Unpack it once"),
)
_IN_ZIP = (
    (b"word/", "a Word document", "Save it as plain text in UTF-8"),
    (b"xl/", "an Excel workbook", "Save the sheet as CSV (UTF-8)"),
    (b"ppt/", "a PowerPoint file", "Save its text"),
    (b"opendocument", "an OpenDocument file", "Save it as plain text or CSV (UTF-8)"),
    (b"epub", "an e-book", "Save its text"),
    (b"", "a zip archive", _UNPACK),
)


@contextmanager
def opened(path: Path, *, name: str) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked. `name` is what the file is called in messages.

    Opening it, or reading from it inside the context, raises `SourceUnreadableError` for what is not permitted, no text by its
    first bytes, torn, or unpacks to far more than text would.
    """
    try:
        with open(path, "rb") as file:
            stream: BinaryIO = file
            if _is_gzip(file):
                unpacked = _Bounded(gzip.GzipFile(fileobj=file), packed_bytes=path.stat().st_size, name=name)
                stream = cast(BinaryIO, io.BufferedReader(unpacked))
            _require_text(_peeked(stream), name)
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceUnreadableError(f"{name}: the gzip archive is torn ({error}). Download it or pack it again.") from error
    except OSError as error:
        raise SourceUnreadableError(f"{name}: cannot be read ({error.strerror or error}). Check its permissions.") from error


class _Bounded(io.RawIOBase):
    """What a gzip archive unpacks to, until it is too much to be text."""

    def __init__(self, source: gzip.GzipFile, *, packed_bytes: int, name: str) -> None:
        self._source, self._name = source, name
        self._most_bytes = max(_HARMLESS_BYTES, _MOST_TIMES_LARGER * packed_bytes)
        self._read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name for it is not public
        chunk = self._source.read(len(buffer))
        self._read_bytes += len(chunk)
        if self._read_bytes > self._most_bytes:
            raise SourceUnreadableError(
                f"{self._name}: it unpacks to more than {self._most_bytes // 1_000_000:,} MB, over {_MOST_TIMES_LARGER} times its size, "
                "which no text does. Unpack it yourself if you trust it."
            )
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _is_gzip(file: io.BufferedReader) -> bool:
    return file.peek(len(_GZIP)).startswith(_GZIP)


def _peeked(stream: BinaryIO) -> bytes:
    return cast(io.BufferedReader, stream).peek(_HEAD_BYTES)


def _require_text(head: bytes, name: str) -> None:
    if head.startswith(b"PK\x03\x04"):
        what, advice = next((what, advice) for sign, what, advice in _IN_ZIP if sign in head)
        raise SourceUnreadableError(f"{name}: it is {what}, no text. {advice}.")
    for sign, place, what, advice in _FOREIGN:
        if head.startswith(sign, place):
            raise SourceUnreadableError(f"{name}: it is {what}, no text. {advice}.")
