"""Uploaded files into a folder of sources: harmless names, limits, and every file read once before it is taken.

Nothing of an upload is in the folder before all of it has passed; a file appears there whole or not at all. Knows no index.
"""

import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Self

from rag.errors import SourceError, SourceUnreadableError
from rag.papers import read_collection, source_files

UploadedFile = tuple[str, bytes]
"""A file's name, as somebody gave it, and its content."""

MOST_FILES = 100  # in one upload
LARGEST_FILE_BYTES = 5_000_000
MOST_BYTES = 20_000_000  # in one collection
MOST_PAPERS = 5_000  # in one collection
MOST_ABSTRACTS = 2 * MOST_PAPERS  # with those that repeat others
LONGEST_ABSTRACT = 20_000  # characters; the longest that are printed have about 5,000
_LONGEST_NAME_BYTES = 120
_MOST_FILES_KEPT = 1_000
_FORBIDDEN = re.compile(r'[<>:"|?*#]')  # "#" parts a file's name from the number of an abstract in it
_NAMELESS = "abstracts.txt"


@dataclass(frozen=True, slots=True)
class Upload:
    """What became of uploaded files: those now in the folder, the abstracts in them, and what there is to report."""

    placed: tuple[Path, ...]
    abstracts: int
    repeated: tuple[str, ...]
    unreadable: tuple[str, ...]

    @classmethod
    def into(cls, folder: Path, files: Sequence[UploadedFile]) -> Self:
        """Takes `files` into `folder`. Those that cannot be used are reported.

        Raises a `SourceError`, and leaves the folder as it was, when none can be used or a limit is passed.
        """
        _require_few(files)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as staging:  # hidden: who reads the folder meanwhile sees nothing
            read = _Reading(folder, Path(staging))
            for number, (name, content) in enumerate(files):
                read.take(safe_name(name), content, number)
            if not (read.staged or read.repeated):
                raise SourceUnreadableError(" ".join(read.unreadable))
            _require_room(folder, read.staged)
            placed: list[Path] = []
            try:
                for staged in read.staged:
                    placed.append(_reserved(folder, staged.name))
                    os.replace(staged, placed[-1])
            except BaseException:
                _remove(placed)
                raise
        return cls(tuple(placed), read.abstracts, tuple(read.repeated), tuple(read.unreadable))

    def has_part_in(self, merged: str) -> bool:
        """Whether one of these files is named in "b.txt#2 = a.txt#1", a line of a report."""
        names = {path.name for path in self.placed}
        return any(source.rpartition("#")[0] in names for source in merged.split(" = "))

    def undo(self) -> None:
        """Takes the files out of the folder again."""
        _remove(self.placed)


def safe_name(name: str) -> str:
    """A file name made from what somebody calls a file: no folder, nothing hidden or unprintable, at most 120 bytes."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    printable = "".join(character for character in last if unicodedata.category(character)[0] != "C")
    stem, ending = os.path.splitext(_FORBIDDEN.sub("_", " ".join(printable.split())).lstrip(". "))
    ending = ending if len(ending.encode()) <= 16 else ""
    room = _LONGEST_NAME_BYTES - len(ending.encode())
    return (stem.encode()[:room].decode("utf-8", "ignore").strip() + ending).rstrip(". ") or _NAMELESS


class _Reading:
    """Reads the files of an upload one by one, and keeps those that can be used in `staging`."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder, self._staging = folder, staging
        self._seen: set[tuple[str, str]] = set()
        self.staged: list[Path] = []
        self.abstracts = 0
        self.repeated: list[str] = []
        self.unreadable: list[str] = []

    def take(self, name: str, content: bytes, number: int) -> None:
        """Keeps a file, or notes why not. `number` tells files of one upload apart."""
        try:
            self.abstracts += self._kept(name, content, number)
        except SourceUnreadableError as error:
            self.unreadable.append(str(error))

    def _kept(self, name: str, content: bytes, number: int) -> int:
        """The number of abstracts in a file that is now kept, or was before."""
        _require_readable_size(name, content)
        place = self._staging / str(number)
        place.mkdir()
        path = place / name
        path.write_bytes(content)
        abstracts = _abstracts_in(path)
        if not source_files([str(place)]):  # content decides, but a folder is read by the endings of its files
            path = path.rename(place / f"{name}.txt")
        key = (path.name, hashlib.sha256(content).hexdigest())
        if key in self._seen or _is_there(self._folder, path.name, content):
            self.repeated.append(f"{name} = {path.name}, added before")
        else:
            self.staged.append(path)
        self._seen.add(key)
        return abstracts


def _require_few(files: Sequence[UploadedFile]) -> None:
    if not files:
        raise SourceError("No file was given. Choose one or more text files with abstracts parted by blank lines.")
    if len(files) > MOST_FILES:
        raise SourceError(f"{len(files)} files are too many at once. Give at most {MOST_FILES}, or join them into fewer.")
    size = sum(len(content) for _, content in files)
    if size > MOST_BYTES:
        raise SourceError(f"The files hold {_megabytes(size)}. Give at most {_megabytes(MOST_BYTES)} in all.")
    paragraphs = sum(_paragraphs(content) for _, content in files if len(content) <= LARGEST_FILE_BYTES)
    if paragraphs > MOST_ABSTRACTS:
        raise SourceError(f"The files hold {paragraphs:,} abstracts. Give at most {MOST_PAPERS:,}; blank lines part abstracts.")


def _require_readable_size(name: str, content: bytes) -> None:
    if len(content) > LARGEST_FILE_BYTES:
        raise SourceUnreadableError(f"{name}: it holds more than {_megabytes(LARGEST_FILE_BYTES)}. Divide it.")


def _abstracts_in(path: Path) -> int:
    """How many abstracts a file holds. Raises `SourceUnreadableError` when none, or one that is no abstract by its length."""
    collection = read_collection([str(path)])
    if collection.unreadable:
        raise SourceUnreadableError(" ".join(collection.unreadable))
    if not collection.papers:
        raise SourceUnreadableError(f"{path.name}: there is no abstract in it. Give text with abstracts parted by blank lines.")
    for paper in collection.papers:
        if len(paper.abstract) > LONGEST_ABSTRACT:
            raise SourceUnreadableError(
                f"{path.name}: abstract {paper.sources[0].rpartition('#')[2]} has {len(paper.abstract):,} characters, and one may "
                f"have {LONGEST_ABSTRACT:,}. Part the abstracts by blank lines."
            )
    return collection.occurrences


def _require_room(folder: Path, staged: Sequence[Path]) -> None:
    kept = list(source_files([str(folder)]).values())
    if len(kept) + len(staged) > _MOST_FILES_KEPT:
        raise SourceError(f"With these the collection would have more than {_MOST_FILES_KEPT:,} files. Join them into fewer.")
    size = sum(path.stat().st_size for path in (*kept, *staged))
    if size > MOST_BYTES:
        raise SourceError(f"With these the collection would hold {_megabytes(size)}, and it may hold {_megabytes(MOST_BYTES)}.")
    collection = read_collection([str(folder), *map(str, staged)])
    if len(collection.papers) > MOST_PAPERS:
        raise SourceError(
            f"With these the collection would have {len(collection.papers):,} papers, and it may have {MOST_PAPERS:,}."
        )
    if collection.occurrences > MOST_ABSTRACTS:
        raise SourceError(f"With these the collection would repeat itself too often: {collection.occurrences:,} abstracts.")


def _paragraphs(content: bytes) -> int:
    """How many stretches of lines are parted by blank lines; counted before reading, which is slow for very many."""
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return sum(bool(line.strip()) and not before.strip() for before, line in pairwise(["", *lines]))


def _names_like(name: str) -> Iterator[str]:
    stem, ending = os.path.splitext(name)
    yield name
    yield from (f"{stem} ({number}){ending}" for number in count(2))


def _is_there(folder: Path, name: str, content: bytes) -> bool:
    """Whether `folder` has this content under this name, or a name it was given because this one was taken."""
    for like in _names_like(name):
        try:
            if (folder / like).read_bytes() == content:
                return True
        except FileNotFoundError:
            return False
    raise AssertionError("names never end")


def _reserved(folder: Path, name: str) -> Path:
    """An empty new file of this name, or one like it; reserved so that two writers never take the same."""
    for like in _names_like(name):
        try:
            (folder / like).touch(exist_ok=False)
        except FileExistsError:
            continue
        return folder / like
    raise AssertionError("names never end")


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.3g} MB"
