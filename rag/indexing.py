"""Papers to an index: what is new is encoded, what is known is kept, what is gone is left out, and a new generation is published
in one step.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.errors import SourceEmptyError, SourceUnreadableError
from rag.generation_builder import Approve, GenerationBuilder, Progress
from rag.index import PaperIndex
from rag.papers import Collection, Paper, read_collection
from rag.place import Place, place_of
from rag.settings import Settings
from rag.sources import Sources, found_files, named_sources, source_file
from rag.text import TEXT_VERSION
from vectorstore.embedder import Embedder, verified_weights
from vectorstore.errors import IndexMissingError
from vectorstore.generations import GenerationFolder, named_disk_errors
from vectorstore.passport import Passport
from vectorstore.vectors import VectorFile

Inspect = Callable[[Collection], None]
"""Called with what was read, before anything of it is indexed; what it raises leaves the index as it is."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one run of indexing did. Counts are of papers unless they say otherwise."""

    occurrences: int
    """Abstracts read, repeated ones included."""
    papers: int
    new: int
    changed: int
    removed: int
    unchanged: int
    encoded: int
    beyond_window: int
    """Papers longer than the embedder's window: encoded whole, in overlapping windows."""
    duplicates: tuple[str, ...]
    near_duplicates: tuple[str, ...]
    unreadable: tuple[str, ...]
    seconds: float
    doubtful: tuple[str, ...] = ()
    """Of an upload: what was taken for an abstract and may be none, each with its place."""

    @property
    def abstracts_per_second(self) -> float:
        """Encoded abstracts by the seconds of the whole run."""
        return self.encoded / self.seconds if self.seconds else 0.0


def build_index(
    settings: Settings,
    embedder: Embedder,
    *,
    add: bool = False,
    rebuild: bool = False,
    progress: Progress | None = None,
    approve: Approve | None = None,
    inspect: Inspect | None = None,
) -> IndexReport:
    """Brings the index at `settings.store_folder` up to date with its sources and publishes it.

    `settings.sources`, when given, become the sources (`add`: join them); else the remembered ones are read, else the seeds.
    `rebuild` replaces an index of another passport, or a damaged one, and takes nothing over but its sources. `approve` sees the new
    index before it is published, `inspect` the collection before anything is encoded; what either raises keeps the index as it
    is. Raises a `SourceError` when nothing can be read, and a `StoreError` when the index cannot be written; the index as it was stays
    in use.
    """
    started = time.monotonic()
    place = place_of(settings)
    with place.writing(timeout_seconds=settings.lock_timeout_seconds), named_disk_errors(place.folder.folder):
        passport = replace(Passport.of(embedder, text_version=TEXT_VERSION), weights_sha256=verified_weights(embedder))
        named = named_sources(settings, place.folder, add=add)
        before = None if rebuild else _index_before(place, passport)
        try:
            found = found_files(named)
            collection = _read(named, before, inspect)
            sources = Sources(named, {name: source_file(found.get(name), sha256) for name, sha256 in collection.files.items()})
            collection = _with_papers_of_unreadable_files(collection, sources, before)
            encoded = GenerationBuilder(place, embedder, passport, before, progress, approve).bring_up_to_date(
                collection.papers, sources
            )
            report = _report(place.folder, before, collection, encoded)
        finally:
            if before is not None:
                before.close()
    return replace(report, seconds=time.monotonic() - started)


def publish_papers(
    settings: Settings, embedder: Embedder, papers: Sequence[Paper], *, progress: Progress | None = None
) -> IndexReport:
    """Publishes an index of exactly these papers at `settings.store_folder`, for collections that somebody else has read.

    It remembers no sources, so nothing makes it stale. Ids must be distinct. Raises a `StoreError` as `build_index` does.
    """
    started = time.monotonic()
    place = place_of(settings)
    with place.writing(timeout_seconds=settings.lock_timeout_seconds), named_disk_errors(place.folder.folder):
        passport = replace(Passport.of(embedder, text_version=TEXT_VERSION), weights_sha256=verified_weights(embedder))
        encoded = GenerationBuilder(place, embedder, passport, None, progress).bring_up_to_date(papers, Sources((), {}))
        report = _report(place.folder, None, Collection(tuple(papers), occurrences=len(papers)), encoded)
    return replace(report, seconds=time.monotonic() - started)


def _index_before(place: Place, passport: Passport) -> PaperIndex | None:
    try:
        index = place.open(place.folder.current())
    except IndexMissingError:
        return None
    index.passport.require(passport, place=place.folder.folder)
    return index


def _read(named: tuple[str, ...], before: PaperIndex | None, inspect: Inspect | None) -> Collection:
    paths = Sources(named, {}).paths
    known_ids = {paper.abstract: paper.id for paper in before.papers} if before is not None else {}
    collection = read_collection(paths, known_ids=known_ids)
    if inspect is not None:
        inspect(collection)
    if not collection.papers:
        if collection.unreadable:
            raise SourceUnreadableError(" ".join(collection.unreadable))
        raise SourceEmptyError(
            f"No abstract in {', '.join(paths)}. Give text files with abstracts parted by blank lines, exports (BibTeX, RIS, CSV, JSON, PubMed, "
            "arXiv), or folders of them."
        )
    return collection


def _with_papers_of_unreadable_files(collection: Collection, sources: Sources, before: PaperIndex | None) -> Collection:
    """What was indexed from a file that cannot be read now stays, as it was."""
    if before is None:
        return collection
    then = {name: file.path for name, file in before.sources.files.items()}
    unreadable = {name for name, file in sources.files.items() if not file.sha256 and then.get(name) == file.path}
    papers = {paper.id: paper for paper in collection.papers}
    for old in before.papers:
        kept = tuple(source for source in old.sources if source.rsplit("#", 1)[0] in unreadable)
        if not kept:
            continue
        paper = papers.get(old.id, replace(old, sources=()))
        papers[old.id] = replace(paper, sources=(*paper.sources, *kept))
    return replace(collection, papers=tuple(papers.values()))


def _report(folder: GenerationFolder, before: PaperIndex | None, collection: Collection, encoded: int) -> IndexReport:
    old = {paper.id: paper for paper in before.papers} if before is not None else {}
    new = {paper.id: paper for paper in collection.papers}
    added = [paper for paper in new.values() if paper.id not in old]
    changed = _edited([paper for paper in old.values() if paper.id not in new], added)
    respelled = [paper for paper in new.values() if paper.id in old and paper.abstract != old[paper.id].abstract]
    vectors = VectorFile.load(folder.current() / "vectors")
    return IndexReport(
        occurrences=collection.occurrences,
        papers=len(new),
        new=len(added) - changed,
        changed=changed + len(respelled),
        removed=len(set(old) - set(new)) - changed,
        unchanged=len(set(old) & set(new)) - len(respelled),
        encoded=encoded,
        beyond_window=vectors.beyond_window,
        duplicates=collection.duplicates,
        near_duplicates=collection.near_duplicates,
        unreadable=collection.unreadable,
        seconds=0.0,
    )


def _edited(gone: Sequence[Paper], added: Sequence[Paper]) -> int:
    """How many added papers stand where one stood that is gone; every gone paper counts once."""
    owner = {source: paper.id for paper in gone for source in paper.sources}
    taken: set[str] = set()
    for paper in added:
        left = [owner[source] for source in paper.sources if source in owner and owner[source] not in taken]
        taken.update(left[:1])
    return len(taken)
