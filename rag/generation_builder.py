"""Papers to a new generation of an index: what the generation before holds is taken over, the rest is cut, encoded and written."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag.index import PaperIndex
from rag.paper_file import SpanFile, write_papers
from rag.papers import Paper
from rag.place import Place
from rag.sources import Sources, write_sources
from rag.text import searchable, sentence_spans
from vectorstore.embedder import Embedder
from vectorstore.encoded import Encoded
from vectorstore.lexical import LexicalBuilder, terms
from vectorstore.passport import Passport
from vectorstore.pending import PendingVectors
from vectorstore.vectors import VectorWriter

Progress = Callable[[int, int], None]
"""Called with (new abstracts done so far, new abstracts)."""

Approve = Callable[[PaperIndex], None]
"""Called with an index that is built and not published; what it raises keeps it from being published."""

_PENDING_BATCH = 64  # abstracts whose vectors a kill can lose, at most
_CHUNK_PAPERS = 512  # whose texts are held at once; the embedder sorts within them by length


class GenerationBuilder:
    """One run of indexing, under the writer's lock. Papers are prepared in chunks, so that their texts are never held twice."""

    def __init__(
        self,
        place: Place,
        embedder: Embedder,
        passport: Passport,
        before: PaperIndex | None,
        progress: Progress | None,
        approve: Approve | None = None,
    ) -> None:
        self._place, self._embedder, self._passport, self._before = place, embedder, passport, before
        self._progress, self._approve = progress, approve
        identity = hashlib.sha256(repr((passport.text_version, sorted(passport.embedder.items()), passport.probe[:8])).encode())
        self._pending = PendingVectors(place.folder.pending / identity.hexdigest()[:16])
        self._lexical = LexicalBuilder(before.lexical if before is not None else None)
        self._keys: list[str] = []
        self._spans: list[NDArray[np.int32]] = []
        self._encoded = 0

    def bring_up_to_date(self, papers: Sequence[Paper], sources: Sources) -> int:
        """Publishes a generation of `papers`, unless the one before is just that. Returns how many abstracts were encoded."""
        if self._before is not None and self._before.papers == tuple(papers) and self._before.sources == sources:
            self._place.folder.remove_leftovers()
        else:
            self._prepare(papers)
            with self._place.folder.new_generation() as generation:
                self._write(generation, papers, sources)
        self._pending.clear()
        return self._encoded

    def _prepare(self, papers: Sequence[Paper]) -> None:
        """Finds sentences, terms and vectors of all papers; what the index before holds of a paper is taken over."""
        kept = [self._row_before(paper) for paper in papers]
        new = kept.count(None)
        done = 0
        for first in range(0, len(papers), _CHUNK_PAPERS):
            missing: dict[str, list[str]] = {}
            for paper, row in zip(papers[first : first + _CHUNK_PAPERS], kept[first : first + _CHUNK_PAPERS], strict=True):
                if self._before is not None and row is not None:
                    self._keys.append(self._before.vectors.keys[row])
                    self._spans.append(self._before.spans.numbers(row))
                    self._lexical.keep(row)
                else:
                    key, pieces = self._prepared(paper)
                    if not self._has_vectors(key):
                        missing[key] = pieces
                    done += 1
            self._encode(missing, done - len(missing), new)

    def _row_before(self, paper: Paper) -> int | None:
        row = self._before.row_of.get(paper.id) if self._before is not None else None
        return row if self._before is not None and row is not None and _is_same_text(paper, self._before.papers[row]) else None

    def _prepared(self, paper: Paper) -> tuple[str, list[str]]:
        spans = np.array([(span.start, span.end) for span in sentence_spans(paper.abstract)], np.int32).reshape(-1, 2)
        pieces = _pieces(paper, spans)
        key = _key(pieces)
        self._keys.append(key)
        self._spans.append(spans)
        self._lexical.add(terms(" ".join(pieces)))
        return key, pieces

    def _has_vectors(self, key: str) -> bool:
        return key in self._pending or (self._before is not None and key in self._before.vectors.rows)

    def _encode(self, missing: Mapping[str, Sequence[str]], done: int, new: int) -> None:
        batch: dict[str, Encoded] = {}
        names = list(missing)
        for encoded_now, (place, encoded) in enumerate(self._embedder.encode_passages(list(missing.values())), start=1):
            batch[names[place]] = encoded
            if len(batch) == _PENDING_BATCH or encoded_now == len(missing):
                self._pending.add(batch)
                batch = {}
            if self._progress is not None:
                self._progress(done + encoded_now, new)
        self._encoded += len(missing)

    def _write(self, generation: Path, papers: Sequence[Paper], sources: Sources) -> None:
        self._write_vectors(generation / "vectors")
        self._lexical.built().save(generation / "lexical")
        write_papers(generation / "papers.jsonl", papers)
        SpanFile.of(self._spans).save(generation / "spans")
        write_sources(generation / "sources.json", sources)
        self._passport.save(generation / "passport.json")
        PaperIndex.open(generation).close()
        self._place.fill(generation, [paper.id for paper in papers], self._before)
        if self._approve is not None:
            self._approve(self._place.open(generation))
        self._place.publish(generation, rows=len(papers))

    def _write_vectors(self, folder: Path) -> None:
        known = self._before.vectors if self._before is not None else None
        rows = [known.rows.get(key) if known is not None else None for key in self._keys]
        dimension, kept = len(self._passport.probe), len(rows) - rows.count(None)
        with VectorWriter(folder, dimension=dimension, before=known, kept=kept) as writer:
            for key, row in zip(self._keys, rows, strict=True):
                if row is None:
                    writer.add(key, self._pending.encoded(key))
                else:
                    writer.keep(row)


def _pieces(paper: Paper, spans: NDArray[np.int32]) -> list[str]:
    """What is encoded of a paper: its given title, then its sentences."""
    sentences = [searchable(paper.abstract[start:end]) for start, end in spans.tolist()]
    return [searchable(paper.title), *sentences] if paper.has_given_title else sentences


def _key(pieces: Sequence[str]) -> str:
    return hashlib.sha256("\x1f".join(pieces).encode("utf-8")).hexdigest()[:32]


def _is_same_text(paper: Paper, old: Paper) -> bool:
    """Whether all that is encoded of a paper is as it was."""
    return paper.abstract == old.abstract and (paper.title if paper.has_given_title else "") == (
        old.title if old.has_given_title else ""
    )
