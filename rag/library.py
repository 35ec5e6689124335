"""The collections of a store as they are asked: an assistant for each, opened when it is first wanted, shared by all who ask.

All share the embedder and the models of the first one, so another collection costs its index alone. Knows no page and no program.
"""

import threading
from dataclasses import replace

from rag.assistant import Assistant
from rag.named_collections import collection_names, unknown_collection
from rag.place import published_index
from rag.settings import DEFAULT_COLLECTION


class Library:
    """The assistants of the collections that may be asked. Safe for threads."""

    def __init__(self, first: Assistant) -> None:
        """All collections of the store of `first`; only its own when that is a named one, for then it alone was meant to be asked."""
        self.first = first
        self._opened: dict[str, Assistant] = {}
        self._opening = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the collections that may be asked, that of `first` foremost; "" is the default one."""
        own = self.first.settings.collection
        return (own,) if own else ("", *(name for name in collection_names(self.first.settings) if name))

    def assistant(self, name: str = "") -> Assistant:
        """Who answers from a collection; "" for `first`. Raises `CollectionError` for one that may not be asked, and another
        `StoreError` for one that cannot be read, or was indexed with another embedder.
        """
        own, names = self.first.settings.collection, self.names
        wanted = own if name == "" else "" if name == DEFAULT_COLLECTION else name
        if wanted == own:
            return self.first
        with self._opening:
            for gone in self._opened.keys() - set(names):
                del self._opened[gone]
            if wanted not in names:
                raise unknown_collection(wanted, names)
            if wanted not in self._opened:
                self._opened[wanted] = self._open(wanted)
            return self._opened[wanted]

    def _open(self, name: str) -> Assistant:
        settings = replace(self.first.settings, collection=name, sources=())
        index = published_index(settings)
        index.passport.require(self.first.index.passport, place=settings.store_folder)
        return self.first.over(settings, index)
