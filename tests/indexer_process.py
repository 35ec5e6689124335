"""Indexing in a process of its own, which can be told to die at any file operation or be killed from outside.

A fork server that has imported everything makes such a process start in milliseconds. The collections it indexes are two
versions of one folder of abstracts: a few papers stay, the others differ in every word that tells.
"""

import multiprocessing
import os
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.indexing import build_index
from rag.settings import Settings
from tests.conftest import WordCountEmbedder

PAPERS, STAYING = 96, 16
CHANGING = PAPERS - STAYING
_STONES = ("amber", "basalt", "chalk", "flint", "garnet", "jade", "marble", "onyx", "opal", "quartz", "ruby", "slate", "topaz")
_OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"}
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__, "chromadb"])


def abstracts(version: str) -> list[str]:
    """The abstracts of one version of the collection; those of two versions share the first `STAYING`."""
    return [_abstract("common" if number < STAYING else version, number) for number in range(PAPERS)]


def write_version(folder: Path, version: str) -> None:
    """Makes `folder` hold one version of the collection."""
    folder.mkdir(exist_ok=True)
    (folder / "papers.txt").write_text("Mineral Papers 2020\n\n" + "\n\n".join(abstracts(version)), encoding="utf-8")


def _abstract(version: str, number: int) -> str:
    told = random.Random(f"{version} {number}").choices(_STONES, k=9)
    return f"This {version} paper, of number {number}, is about {', '.join(told[:6])}. It finds {' and '.join(told[6:])}."


class WordCountEmbedding:
    """`WordCountEmbedder` as a LlamaIndex embedding, for `Assistant.open`."""

    def get_query_embedding(self, query: str) -> list[float]:
        """The vector of a question."""
        return [float(value) for value in WordCountEmbedder().encode_query(query).vector]

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        return [self.get_query_embedding(text) for text in texts]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an indexing process ended: its exit code, the file operations it did, how many abstracts it said were encoded."""

    exit_code: int
    operations: tuple[str, ...]
    encoded: int


class Indexer:
    """An indexing process under way.

    It kills itself before the file operation in the store of the number `dies_at`, counted from the first one on a file named
    `counted_from`. Given `versions`, it writes and indexes one after the other.
    """

    def __init__(
        self, settings: Settings, *, dies_at: int | None = None, counted_from: str = "", versions: tuple[str, ...] = ()
    ) -> None:
        self._heard, told = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_index, args=(settings, told, dies_at, counted_from, versions))
        self._process.start()
        told.close()
        self._operations: list[str] = []
        self._encoded = 0

    def __enter__(self) -> "Indexer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._heard.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        try:
            while self._heard.poll():  # a process that nobody hears would wait
                self._hear(self._heard.recv())
        except EOFError:
            return False
        return self._process.is_alive()

    def wait_for_encoding(self) -> None:
        """Returns when the process is encoding, and so holds the writer's lock."""
        while not self._encoded:
            self._hear(self._heard.recv())

    def kill(self) -> None:
        """Kills the process, if it has not ended by now."""
        self._process.kill()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def ended(self) -> Outcome:
        """Waits for the end."""
        try:
            while True:
                self._hear(self._heard.recv())
        except EOFError:
            self._process.join()
        return Outcome(self._process.exitcode or 0, tuple(self._operations), self._encoded)

    def _hear(self, message: str | int) -> None:
        if isinstance(message, int):
            self._encoded = message
        else:
            self._operations.append(message)


def _index(settings: Settings, told: Any, dies_at: int | None, counted_from: str, versions: tuple[str, ...]) -> None:
    operations = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal operations
        if event not in _OPERATIONS or not str(arguments[0]).startswith(settings.store):
            return
        if operations or str(arguments[0]).endswith(counted_from):
            if operations == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            operations += 1
        told.send(f"{event} {arguments[0]}")

    sys.addaudithook(count)
    embedder = WordCountEmbedder()
    for version in versions:
        write_version(Path(settings.sources[0]), version)
        build_index(settings, embedder)
    if not versions:
        build_index(settings, embedder, progress=lambda done, _: told.send(done))
