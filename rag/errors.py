"""Every error that AskAbstracts raises on purpose. Each message says what to do next and is safe to show.

    AskAbstractsError
    ├── SettingsError            a setting is unknown, or its value out of bounds
    ├── SourceError              abstracts cannot be read
    │   ├── SourceMissingError   no such file or folder
    │   ├── SourceUnreadableError  not text, wrong encoding, not permitted
    │   └── SourceEmptyError     nothing in it is an abstract
    ├── StoreError               the index cannot be used as asked
    │   ├── IndexMissingError, PassportMismatchError, StoreBusyError
    │   └── StoreDamagedError, StoreFullError, StoreReadOnlyError
    ├── AnswererError            the language model cannot be used
    └── EmbedderError            the embedder cannot be loaded or used

The root, StoreError and EmbedderError are defined in `vectorstore.errors`, because imports never go from there to here.
"""

from vectorstore.errors import (
    AskAbstractsError,
    EmbedderError,
    IndexMissingError,
    PassportMismatchError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)

__all__ = [
    "AnswererError",
    "AskAbstractsError",
    "EmbedderError",
    "IndexMissingError",
    "PassportMismatchError",
    "SettingsError",
    "SourceEmptyError",
    "SourceError",
    "SourceMissingError",
    "SourceUnreadableError",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
]


class SettingsError(AskAbstractsError):
    """A setting is unknown, or its value is out of bounds."""


class SourceError(AskAbstractsError):
    """Abstracts cannot be read."""


class SourceMissingError(SourceError):
    """No such file or folder."""


class SourceUnreadableError(SourceError):
    """A file is not text, not UTF-8, or may not be read. The message names the file and, where there is one, the line."""


class SourceEmptyError(SourceError):
    """Nothing in the sources is an abstract."""


class AnswererError(AskAbstractsError):
    """The language model cannot be used: unknown, without its key or file, not reachable, or failing. Never holds a key."""
