"""The errors of stored vectors, and the root of every error that AskAbstracts raises.

The root stands here because imports go from `rag` to `vectorstore` and never back; `rag.errors` draws the whole tree.
Every message says what to do next and is safe to show to a user.
"""


class AskAbstractsError(Exception):
    """The root: a fault with a message for the user."""


class StoreError(AskAbstractsError):
    """The index on disk cannot be used as asked."""


class IndexMissingError(StoreError):
    """There is no index here yet."""


class PassportMismatchError(StoreError):
    """The index was built with another embedder, metric, text preparation or schema."""


class StoreBusyError(StoreError):
    """Another process is writing this index."""


class StoreDamagedError(StoreError):
    """Files of the index are missing or unreadable."""


class StoreFullError(StoreError):
    """The disk is full, or a quota is reached."""


class StoreReadOnlyError(StoreError):
    """The index may be read here, and not written."""


class EmbedderError(AskAbstractsError):
    """The embedder cannot be loaded or gave vectors that cannot be used."""
