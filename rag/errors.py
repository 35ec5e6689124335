"""Every error that AskAbstracts raises on purpose. Each message says what to do next and is safe to show.

    AskAbstractsError
    ├── SettingsError            a setting is unknown, or its value out of bounds
    ├── FilterError              a filter is not written as one
    ├── SourceError              abstracts cannot be read
    │   ├── SourceMissingError   no such file or folder
    │   ├── SourceUnreadableError  of no known format, torn, of an unknown encoding, not permitted
    │   ├── SourceEmptyError     nothing in it is an abstract
    │   └── SourceFaultyError    something is wrong with the sources, and that was not to be
    ├── StoreError               the index cannot be used as asked
    │   ├── CollectionError      no such collection, or not one that can be changed so
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
    "CollectionError",
    "EmbedderError",
    "FilterError",
    "IndexMissingError",
    "PassportMismatchError",
    "SettingsError",
    "SourceEmptyError",
    "SourceError",
    "SourceFaultyError",
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


class FilterError(AskAbstractsError):
    """A filter is not written as one. The message shows the piece at fault and how filters are written."""


class CollectionError(StoreError):
    """A store has no collection of that name, or it cannot be deleted or renamed as asked."""


class SourceError(AskAbstractsError):
    """Abstracts cannot be read."""


class SourceMissingError(SourceError):
    """No such file or folder."""


class SourceUnreadableError(SourceError):
    """A file is of no known format, torn, or may not be read. The message names the file and, where there is one, the line."""


class SourceEmptyError(SourceError):
    """Nothing in the sources is an abstract."""


class SourceFaultyError(SourceError):
    """Something is wrong with the sources, and whoever asked for the index wanted it only of faultless ones."""


class AnswererError(AskAbstractsError):
    """The language model cannot be used: unknown, without its key or file, not reachable, or failing. Never holds a key."""
