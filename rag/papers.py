"""A collection: files and folders of abstracts become distinct papers.

Occurrences of one abstract merge, whether letter by letter the same or in another spelling, and every occurrence stays known
to its paper. A file or record that cannot be read is reported and costs nothing else. Knows no vectors.
"""

import glob
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag.errors import SourceError, SourceMissingError, SourceUnreadableError
from rag.findings import Finding, located
from rag.readers.formats import has_known_ending, read_records
from rag.readers.records import Reading, Record, Remark
from rag.text import content_key, links
from rag.titles import derived_title, made_unique


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
    could not be read; `findings` tells all that reading found wrong, of files and of single records; `lines` maps each source to
    the line on which it begins; `files` maps each file's name to the sha256 of its bytes ("" when it could not be read).
    """

    papers: tuple[Paper, ...]
    occurrences: int
    duplicates: tuple[str, ...] = ()
    near_duplicates: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> tuple[str, ...]:
        """One message per record that is left out of a file: it is broken, or it has no abstract."""
        return tuple(str(finding) for finding in self.findings if finding.kind in ("broken", "missing"))


def paper_id(abstract: str) -> str:
    """The id of a paper with this abstract, in any spelling: 16 hexadecimal digits."""
    return hashlib.sha256(content_key(abstract).encode("utf-8")).hexdigest()[:16]


def source_files(sources: Sequence[str]) -> dict[str, Path]:
    """The files under `sources` by the name that papers carry, in a fixed order.

    A source is a file, a folder (its files with a known ending, hidden ones not) or a pattern such as "exports/*.bib". Raises
    `SourceMissingError` for a path that does not exist and a pattern that nothing matches.
    """
    found: list[tuple[Path, Path]] = []
    for source in sources:
        places = list(_places(source))
        if not places:
            raise SourceMissingError(
                f"There is no file or folder {source!r}. Check the path; give files of abstracts, folders of them, or a pattern."
            )
        for root in places:
            found += [(path, path.relative_to(root)) for path in _in_folder(root)] if root.is_dir() else [(root, Path(root.name))]
    names: dict[str, Path] = {}
    for path, short in dict(found).items():
        name, parents = _printable(short), list(path.parents)
        while name in names and parents:  # two files of one name: tell them apart by the folders above them
            name = _printable(path.relative_to(parents.pop(0).parent))
        names[name] = path
    return names


def is_there(source: str) -> bool:
    """Whether a source names a file or folder that exists, or a pattern that something matches."""
    try:
        return any(True for _ in _places(source))
    except SourceMissingError:  # a path that leads in a circle, or is too long
        return False


def _places(source: str) -> Iterator[Path]:
    """The files and folders that a source names: itself, or what it matches as a pattern, in order."""
    root = absolute(source)
    if source and (root.is_dir() or root.is_file()):
        yield root
    elif source and glob.has_magic(source):
        matches = (Path(match) for match in sorted(glob.glob(str(root), recursive=True)))
        yield from (match for match in matches if match.is_dir() or match.is_file())


def _in_folder(root: Path) -> list[Path]:
    inside = (path for path in root.rglob("*") if has_known_ending(path) and path.is_file())
    return sorted(path for path in inside if not any(part.startswith(".") for part in path.relative_to(root).parts))


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


def read_collection(sources: Sequence[str], *, known_ids: Mapping[str, str] | None = None) -> Collection:
    """Reads every file under `sources`; what cannot be read is reported in the result, not raised.

    `known_ids` maps abstracts to the ids of their papers, as an earlier run found them, which spares working them out.
    """
    merging = _Merging(known_ids or {})
    for name, path in source_files(sources).items():
        try:
            digest = _sha256(path, name)  # before it is read: what is written meanwhile counts as changed at the next run
            merging.take(read_records(path, name=name), name)
        except SourceError as error:
            merging.findings.append(Finding("unreadable", name, str(error).removeprefix(f"{name}: ")))
            merging.files[name] = ""
        else:
            merging.files[name] = digest
    return merging.collection()


def _sha256(path: Path, name: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceUnreadableError(f"{name}: cannot be read ({error.strerror}). Check its permissions.") from error


class _Merging:
    """Records become papers one by one, so that every text is held once. A file that must be given up leaves nothing behind."""

    def __init__(self, known_ids: Mapping[str, str]) -> None:
        self._known_ids = known_ids
        self._papers: dict[str, Paper] = {}
        self._duplicates: list[str] = []
        self._near_duplicates: list[str] = []
        self._lines: dict[str, int] = {}
        self.findings: list[Finding] = []
        self.files: dict[str, str] = {}

    def take(self, readings: Iterable[Reading], name: str) -> None:
        """Takes in the records of one file, and what is wrong with them. What reading raises undoes all of it and goes on."""
        taken: list[str] = []
        merged, respelled, found = len(self._duplicates), len(self._near_duplicates), len(self.findings)
        keys: dict[str, tuple[int, int]] = {}
        try:
            for one in readings:
                source = f"{name}#{one.position}" if one.position else name
                if isinstance(one, Remark):
                    self.findings.append(Finding(one.kind, located(source, one.line), one.reason))
                    continue
                self._look_at_key(one, source, keys)
                if one.abstract:
                    taken.append(self._add(one, source))
                else:
                    self.findings.append(Finding("missing", located(source, one.line), one.title))
        except SourceError:
            self._take_back(taken)
            del self._duplicates[merged:], self._near_duplicates[respelled:], self.findings[found:]
            raise

    def _look_at_key(self, record: Record, source: str, keys: dict[str, tuple[int, int]]) -> None:
        """Reports a key of another record; `keys` maps the keys of the file to the position and the hash of the first with it."""
        if not record.key:
            return
        content = hash((record.abstract, record.title))
        position, first = keys.setdefault(record.key, (record.position, content))
        if first != content:
            detail = f"{record.key!r} is the key of record {position} too"
            self.findings.append(Finding("key", located(source, record.line), detail))

    def _add(self, record: Record, source: str) -> str:
        """The id of the paper that `record` is an occurrence of."""
        key = self._known_ids.get(record.abstract) or paper_id(record.abstract)
        self._lines[source] = record.line
        first = self._papers.get(key)
        if first is None:
            self._papers[key] = _paper(record, key, source)
        else:
            self._papers[key] = replace(first, sources=(*first.sources, source))
            merged = self._duplicates if record.abstract == first.abstract else self._near_duplicates
            merged.append(f"{source} = {first.sources[0]}")
        return key

    def _take_back(self, ids: Sequence[str]) -> None:
        """Undoes the last occurrence of each of these papers, the last one first."""
        for id in reversed(ids):
            *earlier, last = self._papers[id].sources
            del self._lines[last]
            if earlier:
                self._papers[id] = replace(self._papers[id], sources=tuple(earlier))
            else:
                del self._papers[id]

    def collection(self) -> Collection:
        """The papers that were taken in, each with a title of its own."""
        titled = [paper if paper.title else replace(paper, title=derived_title(paper.abstract)) for paper in self._papers.values()]
        titles = made_unique([paper.title for paper in titled])
        return Collection(
            papers=tuple(replace(paper, title=title) for paper, title in zip(titled, titles, strict=True)),
            occurrences=len(self._lines),
            duplicates=tuple(self._duplicates),
            near_duplicates=tuple(self._near_duplicates),
            unreadable=tuple(str(finding) for finding in self.findings if finding.kind == "unreadable"),
            findings=tuple(self.findings),
            lines=self._lines,
            files=self.files,
        )


def _paper(record: Record, id: str, source: str) -> Paper:
    return Paper(
        id=id,
        title=record.title,
        abstract=record.abstract,
        authors=record.authors,
        year=record.year,
        venue=record.venue,
        urls=tuple(dict.fromkeys((*record.urls, *links(record.abstract)))),
        sources=(source,),
        has_given_title=bool(record.title),
    )
