"""Papers to an index: what is new is encoded, what is known is kept, what is gone is left out, and a new generation is published
in one step.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag.errors import SourceEmptyError, SourceUnreadableError
from rag.index import PaperIndex, write_papers
from rag.papers import Collection, Paper, read_collection
from rag.settings import Settings
from rag.sources import Sources, found_files, named_sources, source_file, write_sources
from rag.text import TEXT_VERSION, Span, searchable, sentence_spans
from vectorstore.embedder import Embedder, verified_weights
from vectorstore.encoded import Encoded
from vectorstore.errors import IndexMissingError, StoreError
from vectorstore.generations import GenerationFolder, named_disk_errors
from vectorstore.lexical import LexicalIndex, terms
from vectorstore.passport import Passport
from vectorstore.store import Metadata, VectorStore
from vectorstore.vectors import PendingVectors, VectorFile

Progress = Callable[[int, int], None]
"""Called with (abstracts encoded so far, abstracts to encode)."""

_PENDING_BATCH = 64  # abstracts whose vectors a kill can lose, at most


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
) -> IndexReport:
    """Brings the index at `settings.store_folder` up to date with its sources and publishes it.

    `settings.sources`, when given, become the sources (`add`: join them); else the remembered ones are read, else the seeds.
    `rebuild` replaces an index of another passport, or a damaged one, and takes nothing over but its sources. Raises a
    `SourceError` when nothing can be read, and a `StoreError` when the index cannot be written; the index as it was stays in use.
    """
    started = time.monotonic()
    folder = GenerationFolder(settings.store_folder)
    with folder.writing(timeout_seconds=settings.lock_timeout_seconds), named_disk_errors(folder.folder):
        passport = replace(Passport.of(embedder, text_version=TEXT_VERSION), weights_sha256=verified_weights(embedder))
        named = named_sources(settings, folder, add=add)
        before = None if rebuild else _index_before(folder, passport)
        try:
            found = found_files(named)
            collection = _read(named)
            sources = Sources(named, {name: source_file(found.get(name), sha256) for name, sha256 in collection.files.items()})
            collection = _with_papers_of_unreadable_files(collection, sources, before)
            report = _Builder(folder, embedder, passport, before, progress).bring_up_to_date(collection, sources)
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
    folder = GenerationFolder(settings.store_folder)
    with folder.writing(timeout_seconds=settings.lock_timeout_seconds), named_disk_errors(folder.folder):
        passport = replace(Passport.of(embedder, text_version=TEXT_VERSION), weights_sha256=verified_weights(embedder))
        builder = _Builder(folder, embedder, passport, None, progress)
        report = builder.bring_up_to_date(Collection(tuple(papers), occurrences=len(papers)), Sources((), {}))
    return replace(report, seconds=time.monotonic() - started)


def _index_before(folder: GenerationFolder, passport: Passport) -> PaperIndex | None:
    try:
        index = PaperIndex.open(folder.current())
    except IndexMissingError:
        return None
    index.passport.require(passport, place=folder.folder)
    return index


def _read(named: tuple[str, ...]) -> Collection:
    paths = Sources(named, {}).paths
    collection = read_collection(paths)
    if not collection.papers:
        if collection.unreadable:
            raise SourceUnreadableError(" ".join(collection.unreadable))
        raise SourceEmptyError(
            f"No abstract in {', '.join(paths)}. Give text files (.txt, .md), or folders of them, with abstracts parted by blank lines."
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


def _pieces(paper: Paper, spans: Sequence[Span]) -> list[str]:
    """What is encoded of a paper: its given title, then its sentences."""
    sentences = [searchable(paper.abstract[span.start : span.end]) for span in spans]
    return [searchable(paper.title), *sentences] if paper.has_given_title else sentences


def _key(pieces: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join(pieces).encode("utf-8")).hexdigest()[:32]


class _Builder:
    """One run of indexing, under the writer's lock."""

    def __init__(
        self, folder: GenerationFolder, embedder: Embedder, passport: Passport, before: PaperIndex | None, progress: Progress | None
    ) -> None:
        self._folder, self._embedder, self._passport, self._before = folder, embedder, passport, before
        self._progress = progress
        identity = hashlib.sha256(repr((passport.text_version, sorted(passport.embedder.items()), passport.probe[:8])).encode())
        self._pending = PendingVectors(folder.pending / identity.hexdigest()[:16])

    def bring_up_to_date(self, collection: Collection, sources: Sources) -> IndexReport:
        papers = collection.papers
        spans = [tuple(sentence_spans(paper.abstract)) for paper in papers]
        pieces = [_pieces(paper, sentences) for paper, sentences in zip(papers, spans, strict=True)]
        keys = [_key(texts) for texts in pieces]
        is_current = self._before is not None and self._before.papers == papers and self._before.sources == sources
        encoded = 0 if is_current else self._encode_missing(keys, pieces)
        if is_current:
            self._folder.remove_leftovers()
        else:
            with self._folder.new_generation() as generation:
                self._write(generation, papers, spans, pieces, keys, sources)
        self._pending.clear()
        return self._report(collection, encoded)

    def _encode_missing(self, keys: Sequence[str], pieces: Sequence[Sequence[str]]) -> int:
        known = self._before.vectors if self._before is not None else ()
        missing = {key: texts for key, texts in zip(keys, pieces, strict=True) if key not in known and key not in self._pending}
        batch: dict[str, Encoded] = {}
        names = list(missing)
        for done, (place, encoded) in enumerate(self._embedder.encode_passages(list(missing.values())), start=1):
            batch[names[place]] = encoded
            if len(batch) == _PENDING_BATCH or done == len(missing):
                self._pending.add(batch)
                batch = {}
            if self._progress is not None:
                self._progress(done, len(missing))
        return len(missing)

    def _encoded(self, keys: Sequence[str]) -> Iterator[tuple[str, Encoded]]:
        known = self._before.vectors if self._before is not None else None
        for key in keys:
            yield key, known.encoded(key) if known is not None and key in known else self._pending.encoded(key)

    def _write(
        self,
        generation: Path,
        papers: Sequence[Paper],
        spans: Sequence[Sequence[Span]],
        pieces: Sequence[Sequence[str]],
        keys: Sequence[str],
        sources: Sources,
    ) -> None:
        dimension = len(self._passport.probe)
        VectorFile.write(generation / "vectors", self._encoded(keys), dimension=dimension)
        LexicalIndex.build(terms(" ".join(texts)) for texts in pieces).save(generation / "lexical")
        write_papers(generation / "papers.jsonl", papers, spans)
        write_sources(generation / "sources.json", sources)
        self._passport.save(generation / "passport.json")
        self._write_store(generation, papers)
        PaperIndex.open(generation).close()

    def _write_store(self, generation: Path, papers: Sequence[Paper]) -> None:
        vectors = VectorFile.load(generation / "vectors")
        store = VectorStore.create(generation / "chroma")
        try:
            metadatas: list[Metadata] = [{"title": paper.title, "venue": paper.venue, "year": paper.year or 0} for paper in papers]
            store.upsert([paper.id for paper in papers], vectors.all_vectors(), [paper.abstract for paper in papers], metadatas)
            found = store.query(vectors.vector(len(papers) - 1), 1)
            if store.count() != len(papers) or not found:
                raise StoreError(f"Chroma kept {store.count()} of {len(papers)} vectors at {generation}. Run the command again.")
        finally:
            store.close()

    def _report(self, collection: Collection, encoded: int) -> IndexReport:
        old = {paper.id: paper for paper in self._before.papers} if self._before is not None else {}
        new = {paper.id: paper for paper in collection.papers}
        added = [paper for paper in new.values() if paper.id not in old]
        changed = _edited([paper for paper in old.values() if paper.id not in new], added)
        respelled = [paper for paper in new.values() if paper.id in old and paper.abstract != old[paper.id].abstract]
        vectors = PaperIndex.open(self._folder.current()).vectors
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
