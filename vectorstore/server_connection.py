"""A connection to a Chroma server: every request has a time limit, is repeated while the server is away, and fails by one clear
error that says what to do. Nothing here knows what the collections hold.
"""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import httpx

from vectorstore.errors import StoreDamagedError, StoreError, StoreFullError
from vectorstore.server_address import ServerAddress
from vectorstore.server_errors import GenerationGoneError, ServerUnreachableError
from vectorstore.server_session import AwayError, no_chroma, server_session
from vectorstore.store import CONFIGURATION

Result = TypeVar("Result")
MAX_ROWS_PER_CALL = 300
"""Rows written or read in one request: what Chroma Cloud allows."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0
_FULL = ("no space left", "disk is full", "disk full", "quota", "failed to apply logs")


class ServerConnection:
    """An open connection, safe for threads. Use `open`."""

    def __init__(self, address: ServerAddress, server: Any, *, timeout_seconds: float, retry_seconds: float) -> None:
        self.address, self.timeout_seconds = address, timeout_seconds
        self._server, self._retry_seconds = server, retry_seconds

    @classmethod
    def open(cls, address: ServerAddress, *, token: str = "", timeout_seconds: float = 10.0, retry_seconds: float = 5.0) -> Self:
        """Connects and sees that a Chroma server answers.

        `timeout_seconds` is how long the server may be silent in one request; `retry_seconds` is how long requests are repeated
        while it cannot be reached. Raises a `StoreError` by every later call too: `ServerUnreachableError` for a server that is
        down, slow or none of Chroma's, `ServerRefusedError` for a wrong token.
        """
        server = server_session(address, token=token, timeout_seconds=timeout_seconds)
        connection = cls(address, server, timeout_seconds=timeout_seconds, retry_seconds=retry_seconds)
        try:
            connection.now()
        except BaseException:
            connection.close()
            raise
        return connection

    def __repr__(self) -> str:
        return f"ServerConnection({self.address.text!r})"

    def close(self) -> None:
        """Ends the connection. Closing twice does nothing."""
        self._server._session.close()

    def now(self) -> float:
        """The server's clock, in seconds: the one that all who share it agree on."""
        return float(self.call(self._server.heartbeat)) / 1e9

    def collection(self, name: str) -> "ServerCollection":
        """The collection of this name; `GenerationGoneError` when there is none."""
        return self._opened(self._server.get_collection, name=name)

    def created_collection(self, name: str) -> "ServerCollection":
        """The collection of this name under the cosine metric, created when there is none."""
        return self._opened(self._server.get_or_create_collection, name=name, configuration=CONFIGURATION)

    def delete_collection(self, name: str) -> None:
        """Deletes a collection; one that is gone already is no fault."""
        try:
            self.call(lambda: self._server.delete_collection(name, **self._place))
        except GenerationGoneError:
            return

    def collection_names(self) -> list[str]:
        """The names of all collections of the database."""
        names: list[str] = []
        is_more = True
        while is_more:
            page = self.call(partial(self._server.list_collections, MAX_ROWS_PER_CALL, len(names), **self._place))
            names += [model.name for model in page]
            is_more = len(page) == MAX_ROWS_PER_CALL
        return names

    @property
    def _place(self) -> dict[str, str]:
        return {"tenant": self.address.tenant, "database": self.address.database}

    def _opened(self, act: Callable[..., Any], **what: Any) -> "ServerCollection":
        from chromadb.api.models.Collection import Collection

        model = self.call(lambda: act(**what, **self._place))
        return ServerCollection(self, Collection(client=self._server, model=model, embedding_function=None))

    def call(self, act: Callable[[], Result]) -> Result:
        """What `act` gives. It must be safe to repeat: a request that failed may have reached the server all the same."""
        from chromadb.errors import ChromaError, NotFoundError

        give_up, pause = time.monotonic() + self._retry_seconds, _FIRST_PAUSE_SECONDS
        while True:
            try:
                return act()
            except StoreError:
                raise
            except NotFoundError as error:
                raise GenerationGoneError(
                    f"The server at {self.address.text} no longer holds what was asked for. Open the index again; "
                    "if that fails too, run `askabstracts index`."
                ) from error
            except httpx.TimeoutException as error:
                raise ServerUnreachableError(
                    f"The Chroma server at {self.address.text} did not answer within {self.timeout_seconds:g} s. "
                    "Try again later, or allow it more time."
                ) from error
            except (httpx.TransportError, AwayError) as error:
                if time.monotonic() + pause > give_up:
                    raise self._unreachable(error) from error
            except ChromaError as error:
                raise self._fault(error) from error
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:  # an answer of another shape
                raise no_chroma(self.address, "its answer has another shape") from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _unreachable(self, error: Exception) -> ServerUnreachableError:
        if isinstance(error, AwayError):
            return ServerUnreachableError(f"The Chroma server at {self.address.text} is not ready ({error}). Try again later.")
        return ServerUnreachableError(
            f"The Chroma server at {self.address.text} cannot be reached ({_short(error)}). "
            "Check that it runs (`chroma run`) and that host and port are right."
        )

    def _fault(self, error: Exception) -> StoreError:
        if any(sign in f"{type(error).__name__} {error}".lower() for sign in _FULL):
            return StoreFullError(
                f"The Chroma server at {self.address.text} has no room left ({_short(error)}). "
                "Free some space or raise the quota, and run the command again; the index as it was stays in use."
            )
        return StoreDamagedError(
            f"The Chroma server at {self.address.text} failed ({_short(error)}). Look at its log; "
            "`askabstracts index --rebuild` builds the index anew."
        )


class ServerCollection:
    """One collection on the server. Every call is repeated and named as `ServerConnection.call` does."""

    def __init__(self, connection: ServerConnection, collection: Any) -> None:
        self._connection, self._collection = connection, collection

    def count(self) -> int:
        """Number of rows."""
        return int(self._connection.call(self._collection.count))

    def ids(self) -> set[str]:
        """The ids of all rows."""
        found: set[str] = set()
        for first in range(0, self.count(), MAX_ROWS_PER_CALL):
            found |= set(self._get(limit=MAX_ROWS_PER_CALL, offset=first, include=[])["ids"])
        return found

    def metadatas(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The metadata of the rows with these ids, as far as they are there."""
        return _metadatas(self._get(ids=list(ids), include=["metadatas"]))

    def metadatas_where(self, key: str, value: str) -> dict[str, dict[str, Any]]:
        """The metadata, by id, of the rows whose metadata holds this key with this value: the first `MAX_ROWS_PER_CALL`."""
        return _metadatas(self._get(where={key: value}, limit=MAX_ROWS_PER_CALL, include=["metadatas"]))

    def add(self, **rows: Any) -> None:
        """Adds rows; one whose id is there already stays as it is."""
        self._connection.call(lambda: self._collection.add(**rows))

    def upsert(self, **rows: Any) -> None:
        """Adds rows, or replaces those with the same id."""
        self._connection.call(lambda: self._collection.upsert(**rows))

    def update(self, **rows: Any) -> None:
        """Changes rows; one that is not there is not made."""
        self._connection.call(lambda: self._collection.update(**rows))

    def delete(self, ids: Sequence[str]) -> None:
        """Removes the rows with these ids."""
        if ids:
            self._connection.call(lambda: self._collection.delete(ids=list(ids)))

    def query(self, **wanted: Any) -> Any:
        """As Chroma's own."""
        return self._connection.call(lambda: self._collection.query(**wanted))

    def _get(self, **wanted: Any) -> Any:
        return self._connection.call(lambda: self._collection.get(**wanted))


def _metadatas(found: Any) -> dict[str, dict[str, Any]]:
    return {id_: dict(metadata or {}) for id_, metadata in zip(found["ids"], found["metadatas"], strict=True)}


def _short(error: Exception) -> str:
    """One line of an error, for a message."""
    return " ".join(str(error).split())[:160] or type(error).__name__
