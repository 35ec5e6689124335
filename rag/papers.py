"""A collection: files and folders of abstracts become distinct papers.

Occurrences of one abstract merge, whether letter by letter the same or in another spelling, and every occurrence stays known
to its paper. A file that cannot be read is reported and costs nothing else. Knows no vectors.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag.errors import SourceError, SourceMissingError, SourceUnreadableError
from rag.readers.records import Record
from rag.readers.seed_text import read_seed_text
from rag.text import content_key, links
from rag.titles import derived_title, made_unique

_TEXT_ENDINGS = {".txt", ".text", ".md"}


@dataclass(frozen=True, slots=True)
class Paper:
    """One abstract with what is known about it.

    `id` comes from the content alone: it is the same in every run, file and machine. `abstract` is verbatim. `title` is the
    source's, or derived for display when the source has none (`has_given_title` tells). `sources` lists every occurrence as
    "file.txt#3", the third abstract of that file.
    """

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    urls: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    has_given_title: bool = False


@dataclass(frozen=True, slots=True)
class Collection:
    """What was read: distinct papers in order of first occurrence, and what there is to report about it.

    `duplicates` and `near_duplicates` name merged occurrences, "later = first"; `unreadable` holds one message per file that
    could not be read; `files` maps each file's name to the sha256 of its bytes ("" when it could not be read).
    """

    papers: tuple[Paper, ...]
    occurrences: int
    duplicates: tuple[str, ...] = ()
    near_duplicates: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def paper_id(abstract: str) -> str:
    """The id of a paper with this abstract, in any spelling: 16 hexadecimal digits."""
    return hashlib.sha256(content_key(abstract).encode("utf-8")).hexdigest()[:16]


def source_files(sources: Sequence[str]) -> dict[str, Path]:
    """The files under `sources` by the name that papers carry, in a fixed order: a named file, or all text files in a folder.

    Raises `SourceMissingError` for a path that does not exist.
    """
    found: list[tuple[Path, Path]] = []
    for source in sources:
        root = absolute(source)
        if root.is_dir() and source:
            inside = (path for path in root.rglob("*") if path.suffix.lower() in _TEXT_ENDINGS and path.is_file())
            visible = (path for path in inside if not any(part.startswith(".") for part in path.relative_to(root).parts))
            found += [(path, path.relative_to(root)) for path in sorted(visible)]
        elif root.is_file():
            found.append((root, Path(root.name)))
        else:
            raise SourceMissingError(f"There is no file or folder {source!r}. Check the path; give text files or folders of them.")
    names: dict[str, Path] = {}
    for path, short in dict(found).items():
        name, parents = _printable(short), list(path.parents)
        while name in names and parents:  # two files of one name: tell them apart by the folders above them
            name = _printable(path.relative_to(parents.pop(0).parent))
        names[name] = path
    return names


def absolute(source: str) -> Path:
    """The absolute path of a source. Raises `SourceMissingError` for what can be no path here."""
    try:
        return Path(source).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceMissingError(
            f"{source[:200]!r} is no path that can be followed ({error}). Check it; give files or folders."
        ) from error


def _printable(path: Path) -> str:
    """A path as text; bytes that are no text in it are spelled out."""
    return path.as_posix().encode("utf-8", "backslashreplace").decode("utf-8")


def read_collection(sources: Sequence[str]) -> Collection:
    """Reads every file under `sources`; unreadable ones are reported in the result, not raised."""
    records: list[tuple[str, Record]] = []
    unreadable: list[str] = []
    files: dict[str, str] = {}
    for name, path in source_files(sources).items():
        try:
            content = _content(path, name)
            records += [(f"{name}#{record.position}", record) for record in read_seed_text(content, name=name)]
            files[name] = hashlib.sha256(content).hexdigest()
        except SourceError as error:
            unreadable.append(str(error))
            files[name] = ""
    return _merged(records, unreadable, files)


def _content(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceUnreadableError(f"{name}: cannot be read ({error.strerror}). Check its permissions.") from error


def _merged(records: Sequence[tuple[str, Record]], unreadable: Sequence[str], files: Mapping[str, str]) -> Collection:
    papers: dict[str, Paper] = {}
    duplicates: list[str] = []
    near_duplicates: list[str] = []
    for source, record in records:
        key = paper_id(record.abstract)
        first = papers.get(key)
        if first is None:
            papers[key] = Paper(
                id=key,
                title=record.title,
                abstract=record.abstract,
                authors=record.authors,
                year=record.year,
                venue=record.venue,
                urls=tuple(dict.fromkeys((*record.urls, *links(record.abstract)))),
                sources=(source,),
                has_given_title=bool(record.title),
            )
            continue
        papers[key] = replace(first, sources=(*first.sources, source))
        merged = duplicates if record.abstract == first.abstract else near_duplicates
        merged.append(f"{source} = {first.sources[0]}")
    titled = [paper if paper.title else replace(paper, title=derived_title(paper.abstract)) for paper in papers.values()]
    titles = made_unique([paper.title for paper in titled])
    return Collection(
        papers=tuple(replace(paper, title=title) for paper, title in zip(titled, titles, strict=True)),
        occurrences=len(records),
        duplicates=tuple(duplicates),
        near_duplicates=tuple(near_duplicates),
        unreadable=tuple(unreadable),
        files=files,
    )
