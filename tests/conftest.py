"""Shared fixtures: a legible embedder, a small collection, the seeds' index."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings
from vectorstore.encoded import WORD_SCALE, Encoded, EncodedQuery, unit
from vectorstore.generations import GenerationFolder
from vectorstore.lexical import STOPWORDS, LexicalBuilder, LexicalIndex, stem, words

pytest_plugins = ("tests.chat_server",)

SEEDS = Path(__file__).parent.parent / "seeds"
ZEBRA = "We introduce Zebra, a method that paints stripes on graphs. Zebra is 3.5 times faster than Okapi on the Savanna benchmark."
OKAPI = "Okapi is a neural ranker for antelope documents. It reaches 71.2% accuracy. Code is at https://example.org/okapi."
HERON = "Herons stand still in water. We study the patience of herons with a Bayesian model of waiting time."


class WordCountEmbedder:
    """A text's vector counts its stemmed words, each in the place its letters name; the same word is the same direction."""

    dimension = 64

    def __init__(self, name: str = "word counts") -> None:
        self.name = name
        self.encoded = 0

    @property
    def identity(self) -> Mapping[str, str | int]:
        return {"model": self.name, "dimension": self.dimension}

    def encode_query(self, text: str) -> EncodedQuery:
        kept = tuple(word for word in words(text) if word not in STOPWORDS)
        return EncodedQuery(self._vector(text), kept, np.stack([self._word(word) for word in kept]) if kept else self._nothing())

    def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        for place, pieces in enumerate(passages):
            self.encoded += 1
            owned = [(number, word) for number, piece in enumerate(pieces) for word in words(piece) if word not in STOPWORDS]
            vectors = np.stack([self._word(word) for _, word in owned]) if owned else self._nothing()
            yield (
                place,
                Encoded(
                    self._vector(" ".join(pieces)),
                    np.stack([self._vector(piece) for piece in pieces]),
                    np.round(vectors * WORD_SCALE).astype(np.int8),
                    np.array([number for number, _ in owned], dtype=np.int16),
                    is_beyond_window=len(" ".join(pieces)) > 5000,
                ),
            )

    def _vector(self, text: str) -> np.ndarray:
        return unit(
            sum((self._word(word) for word in words(text) if word not in STOPWORDS), np.full(self.dimension, 1e-3, np.float32))
        )

    def _word(self, word: str) -> np.ndarray:
        vector = np.zeros(self.dimension, np.float32)
        vector[sum(place * ord(letter) for place, letter in enumerate(stem(word), start=1)) % self.dimension] = 1.0
        return vector

    def _nothing(self) -> np.ndarray:
        return np.zeros((0, self.dimension), np.float32)


@pytest.fixture
def embedder() -> WordCountEmbedder:
    return WordCountEmbedder()


@pytest.fixture
def folder_of_abstracts(tmp_path: Path) -> Path:
    """A folder with one file of three abstracts."""
    folder = tmp_path / "abstracts"
    folder.mkdir()
    (folder / "animals.txt").write_text(f"Animal Papers 2021\n\n{ZEBRA}\n\n{OKAPI}\n\n{HERON}\n", encoding="utf-8")
    return folder


def lexical_of(rows: Iterable[Sequence[str]]) -> LexicalIndex:
    """BM25 over rows, each given as its terms."""
    builder = LexicalBuilder()
    for row in rows:
        builder.add(row)
    return builder.built()


@pytest.fixture
def settings(tmp_path: Path, folder_of_abstracts: Path) -> Settings:
    """Settings of an index of its own over the small collection."""
    return Settings(store=str(tmp_path / "store"), sources=(str(folder_of_abstracts),), lock_timeout_seconds=30)


@pytest.fixture
def small_assistant(settings: Settings, embedder: WordCountEmbedder) -> Assistant:
    """An assistant over the small collection, with the legible embedder."""
    build_index(settings, embedder)
    index = PaperIndex.open(GenerationFolder(settings.store_folder).current())
    return Assistant(settings, embedder, index, Coefficients.load())


@pytest.fixture(scope="session")
def seed_assistant(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    """The real thing: the seed collection with the default embedder."""
    return Assistant.open(Settings(store=str(tmp_path_factory.mktemp("seeds") / "store")))
