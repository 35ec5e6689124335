"""Uploaded files into a folder of sources: harmless names, limits, and every file read once before it is taken.

Nothing of an upload is in the folder before all of it has passed; a file appears there whole or not at all. Knows no index.
"""

import gzip
import hashlib
import io
import os
import re
import tempfile
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Self

from rag.errors import SourceError, SourceUnreadableError
from rag.papers import Paper, read_collection, source_files

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
_GZIP = b"\x1f\x8b"
_NAMELESS = "abstracts.txt"
_FEWEST_WORDS = 8  # of what looks like an abstract
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # parts its words by no spaces


@dataclass(frozen=True, slots=True)
class Upload:
    """What became of uploaded files: those now in the folder, the abstracts in them, and what there is to report."""

    placed: tuple[Path, ...]
    abstracts: int
    repeated: tuple[str, ...]
    unreadable: tuple[str, ...]
    doubtful: tuple[str, ...] = ()

    @classmethod
    def into(cls, folder: Path, files: Sequence[UploadedFile]) -> Self:
        """Takes `files` into `folder`. Those that cannot be used are reported.

        Raises a `SourceError`, and leaves the folder as it was, when none can be used or a limit is passed.
        """
        files = list(_unpacked(files))
        _require_few(files)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as staging:  # hidden: who reads the folder meanwhile sees nothing
            read = _Reading(folder, Path(staging))
            for number, (name, content) in enumerate(files):
                read.take(safe_name(name), content, number)
            if not (read.staged or read.repeated):
                raise SourceUnreadableError("\n".join(read.unreadable))
            _require_room(folder, read.staged)
            placed: list[Path] = []
            try:
                for staged in read.staged:
                    placed.append(_reserved(folder, staged.name))
                    os.replace(staged, placed[-1])
            except BaseException:
                _remove(placed)
                raise
        return cls(tuple(placed), read.abstracts, tuple(read.repeated), tuple(read.unreadable), tuple(read.doubtful))

    def merged(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Of the lines "b.txt#2 = a.txt#1" of a report on a whole collection, those about these files: one for each abstract of theirs
        that was merged, with what was there before it, or else with its first occurrence in them.
        """
        names = {path.name for path in self.placed}
        occurrences: dict[str, list[str]] = {}
        for line in lines:
            later, _, first = line.rpartition(" = ")
            occurrences.setdefault(first, [first]).append(later)
        told = []
        for every in occurrences.values():
            mine = [one for one in every if one.rpartition("#")[0] in names]
            others = [one for one in every if one.rpartition("#")[0] not in names]
            told += [f"{one} = {(others or mine)[0]}" for one in (mine if others else mine[1:])]
        return tuple(told)

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
        self.doubtful: list[str] = []

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
        papers, abstracts, left_out, guesses = _read(path)
        self.doubtful += [f"{paper.sources[0]}: {why}" for paper in papers if (why := _doubt(paper.abstract))]
        self.doubtful += guesses
        self.unreadable += left_out
        if not source_files([str(place)]):  # content decides, but a folder is read by the endings of its files
            path = path.rename(place / f"{name}.txt")
        key = (path.name, hashlib.sha256(content).hexdigest())
        if key in self._seen or _is_there(self._folder, path.name, content):
            self.repeated += [f"{name}#{number} = {path.name}#{number}, added before" for number in range(1, abstracts + 1)]
        else:
            self.staged.append(path)
        self._seen.add(key)
        return abstracts


def _unpacked(files: Sequence[UploadedFile]) -> Iterator[UploadedFile]:
    """The files without their gzip, so that limits are those of what they hold; past the limit of all, the rest as it is."""
    size = 0
    for name, content in files:
        plain = _plain(content) if size <= MOST_BYTES else content
        yield (name.removesuffix(".gz") if plain is not content else name), plain
        size += len(plain)


def _plain(content: bytes) -> bytes:
    """A gzipped file unpacked, as far as it is not too large; anything else, torn and twice packed ones too, unchanged."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            plain = packed.read(LARGEST_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return content
    return content if plain.startswith(_GZIP) or not content else plain


def _require_few(files: Sequence[UploadedFile]) -> None:
    if not files:
        raise SourceError("No file was given. Choose one or more files of abstracts.")
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


def _doubt(abstract: str) -> str:
    """Why a text may be no abstract; empty for one that looks like it."""
    plain = _TAG.sub(" ", abstract)
    if 2 * len(plain.strip()) < len(abstract):
        return "it is mostly markup"
    words = _WORD.findall(plain)
    return (
        f"it has {len(words)} {'word' if len(words) == 1 else 'words'}"
        if len(words) < _FEWEST_WORDS and not _CJK.search(plain)
        else ""
    )


def _read(path: Path) -> tuple[Sequence[Paper], int, Sequence[str], Sequence[str]]:
    """The papers of a file, how many abstracts it holds, the records that are left out of it, and what was guessed of it.

    Raises `SourceUnreadableError` when it holds no abstract, or one that is none by its length.
    """
    collection = read_collection([str(path)])
    if collection.unreadable:
        raise SourceUnreadableError(" ".join(collection.unreadable))
    if not collection.papers:
        first = f" ({collection.left_out[0]})" if collection.left_out else ""
        raise SourceUnreadableError(
            f"{path.name}: there is no abstract in it{first}. Give records with abstracts, or text with abstracts parted by blank lines."
        )
    for paper in collection.papers:
        if len(paper.abstract) > LONGEST_ABSTRACT:
            raise SourceUnreadableError(
                f"{path.name}: abstract {paper.sources[0].rpartition('#')[2]} has {len(paper.abstract):,} characters, and one may "
                f"have {LONGEST_ABSTRACT:,}. Part the abstracts by blank lines."
            )
    guesses = tuple(str(finding) for finding in collection.findings if finding.kind == "encoding")
    return collection.papers, collection.occurrences, collection.left_out, guesses


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
