"""An index as it is read: the papers of one published generation with their vectors and BM25, and the sources it remembers.

Nothing here writes into a generation, and no model is needed to open one.
"""

import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rag.paper_file import SpanFile, read_papers
from rag.papers import Paper
from rag.sources import Sources, read_sources
from vectorstore.encoded import Matrix, Vector
from vectorstore.errors import StoreDamagedError, StoreReadOnlyError
from vectorstore.generations import private_copy
from vectorstore.lexical import LexicalIndex
from vectorstore.passport import Passport
from vectorstore.store import Match, VectorStore
from vectorstore.vectors import VectorFile

OpenStore = Callable[[Path], VectorStore]
"""Opens the vectors of a generation, whose folder of vectors it is given."""


class PaperIndex:
    """One generation, open for reading. `papers` and rows are in the same order."""

    def __init__(self, generation: Path, papers: Sequence[Paper], spans: SpanFile, sources: Sources, passport: Passport) -> None:
        self.generation = generation
        self.papers, self.spans, self.sources, self.passport = tuple(papers), spans, sources, passport
        self.row_of = {paper.id: row for row, paper in enumerate(papers)}
        self.vectors = VectorFile.load(generation / "vectors")
        self.lexical = LexicalIndex.load(generation / "lexical", rows=len(papers))
        self._store: VectorStore | None = None
        self._open_elsewhere: OpenStore | None = None
        self._opening = threading.Lock()
        self._let_go: Callable[[], object] = lambda: None

    @classmethod
    def open(cls, generation: Path, *, open_store: OpenStore | None = None) -> Self:
        """Opens a generation; `StoreDamagedError` when its files are not whole.

        Chroma is opened at the first query: by `open_store`, when the vectors are elsewhere than in the generation.
        """
        passport = Passport.load(generation / "passport.json")
        try:
            papers, spans = read_papers(generation / "papers.jsonl"), SpanFile.load(generation / "spans")
            index = cls(generation, papers, spans, read_sources(generation / "sources.json"), passport)
            index._open_elsewhere = open_store
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:  # EOFError: np.load, of an empty file
            raise StoreDamagedError(
                f"The index {generation} cannot be read ({error}). Run `askabstracts index --rebuild` to build it anew."
            ) from error
        if not len(index.vectors) == len(spans) == len(papers):
            raise StoreDamagedError(
                f"The index {generation} holds {len(index.vectors)} vectors and {len(spans)} divided abstracts for {len(papers)} papers. "
                "Run `askabstracts index --rebuild` to build it anew."
            )
        return index

    def nearest(self, vector: Vector, k: int) -> list[Match]:
        """The papers whose abstracts are nearest to `vector`, best first."""
        return self._opened_store().query(vector, k)

    def sentence_vectors(self, row: int) -> Matrix:
        """Unit vectors (sentences, dimension) of the sentences of a paper."""
        parts = self.vectors.parts(row)
        return parts[1:] if self.papers[row].has_given_title else parts

    def sentence_words(self, row: int) -> tuple[Matrix, NDArray[np.int16]]:
        """Unit vectors (words, dimension) of the words of a paper, and the number of the sentence (words,) each stands in.

        Words of a given title have the number -1.
        """
        vectors, owners = self.vectors.words(row)
        return vectors, owners - np.int16(self.papers[row].has_given_title)

    def close(self) -> None:
        """Lets go of the files; a closed index must not be used. Happens by itself when the index is forgotten."""
        self._let_go()

    def _opened_store(self) -> VectorStore:
        with self._opening:
            if self._store is None:
                place = self.generation / "chroma"
                self._store, copy = _open_store(place) if self._open_elsewhere is None else (self._open_elsewhere(place), None)
                self._let_go = weakref.finalize(self, _let_go, self._store, copy)
            return self._store


def _open_store(folder: Path) -> tuple[VectorStore, tempfile.TemporaryDirectory[str] | None]:
    """The vectors in `folder`; from a private copy where Chroma may not write, for it cannot read otherwise."""
    try:
        return VectorStore.open(folder), None
    except StoreReadOnlyError:
        copy = private_copy(folder)
        return VectorStore.open(Path(copy.name)), copy


def _let_go(store: VectorStore, copy: tempfile.TemporaryDirectory[str] | None) -> None:
    store.close()
    if copy is not None:
        copy.cleanup()
