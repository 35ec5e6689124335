"""The visitors' own collections while their visits last: one a visit, few at once, deleted when the visit ends. Knows no Gradio."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.assistant import Assistant
from rag.errors import SourceError
from rag.generation_builder import Progress
from rag.indexing import IndexReport
from rag.own_collection import OwnCollection
from rag.uploaded import UploadedFile

MOST_COLLECTIONS = 20
IDLE_SECONDS = 7200.0  # a browser that vanished without a word; others are heard to leave


@dataclass(slots=True)
class _Kept:
    collection: OwnCollection
    session: str
    used: float
    adding: int = 0


class OwnCollections:
    """Own collections by visit. Safe for threads. `clock` counts seconds."""

    def __init__(self, shared: Assistant, *, most: int = MOST_COLLECTIONS, clock: Callable[[], float] = time.monotonic) -> None:
        self._shared, self._most, self._clock = shared, most, clock
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, files: Sequence[UploadedFile], *, visit: str, session: str, progress: Progress | None = None) -> IndexReport:
        """Adds files to the visit's collection, which is made when there is none; `session` is the connection it ends with.

        Raises as `OwnCollection.add` does, and `CrowdedError` when there is no room for one more.
        """
        kept = self._taken(visit, session)
        try:
            return kept.collection.add(files, progress=progress)
        finally:
            with self._lock:
                kept.adding -= 1
                is_empty = not kept.adding and kept.collection.assistant is None and self._kept.get(visit) is kept
            if is_empty:  # it holds nothing: it must not take a place
                self.delete(visit)

    def assistant(self, visit: str) -> Assistant | None:
        """Who answers from the visit's collection; None when it has none."""
        with self._lock:
            kept = self._kept.get(visit)
            if kept is None:
                return None
            kept.used = self._clock()
            return kept.collection.assistant

    def delete(self, visit: str) -> None:
        """Deletes the visit's collection, if it has one."""
        with self._lock:
            kept = self._kept.pop(visit, None)
        if kept is not None:
            kept.collection.close()

    def leave(self, session: str) -> None:
        """Deletes what belongs to a connection that has ended."""
        with self._lock:
            visits = [visit for visit, kept in self._kept.items() if kept.session == session]
        for visit in visits:
            self.delete(visit)
        self._delete_idle()

    def close(self) -> None:
        """Deletes all of them."""
        for visit in list(self._kept):
            self.delete(visit)

    def _taken(self, visit: str, session: str) -> _Kept:
        """The visit's collection, made when there is none, with one more that adds to it."""
        self._delete_idle()
        with self._lock:
            kept = self._kept.get(visit)
            if kept is None and len(self._kept) >= self._most:
                raise CrowdedError(f"{self._most} visitors have collections of their own at the moment. Try again later.")
            if kept is None:
                kept = self._kept[visit] = _Kept(OwnCollection(self._shared), session, self._clock())
            kept.used, kept.session = self._clock(), session
            kept.adding += 1
            return kept

    def _delete_idle(self) -> None:
        with self._lock:
            since = self._clock() - IDLE_SECONDS
            idle = [visit for visit, kept in self._kept.items() if kept.used < since and not kept.adding]
        for visit in idle:
            self.delete(visit)


class CrowdedError(SourceError):
    """No room for one more collection of a visitor's own."""
