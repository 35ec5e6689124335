"""Who may write, and what is published: the rows of one small collection that every app process on a server shares.

A collection has one row for each writer's turn, of ascending number. The row is the writer's lease, and when it publishes, its
pointer. Adding a row whose id is taken changes nothing, so of two writers that take the same turn one wins; and readers follow the
pointer of the highest turn, so what a writer publishes that lost its turn long ago is never seen.
"""

import os
import socket
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from vectorstore.errors import StoreBusyError, StoreDamagedError, StoreError
from vectorstore.server_connection import ServerCollection, ServerConnection
from vectorstore.server_errors import GenerationGoneError, LeaseLostError

REGISTRY = "askabstracts-registry"
_VECTOR = [1.0]  # Chroma wants one in every row


@dataclass(frozen=True, slots=True)
class Published:
    """The pointer: the generation in use, its number of rows, and the one that readers may still have open."""

    generation: str
    rows: int
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One row of the registry. `expires` is by the server's clock, in seconds; a lease that was given back expires at 0."""

    id: str
    number: int
    owner: str
    expires: float
    published: Published | None

    @classmethod
    def of(cls, id_: str, row: dict[str, Any]) -> Self:
        try:
            published = Published(row["generation"], row["rows"], row["before"]) if "generation" in row else None
            return cls(id_, row["turn"], row["owner"], row["expires"], published)
        except KeyError as error:
            raise StoreDamagedError(
                f"The row {id_} of {REGISTRY} has no {error}. Delete that row on the server and run `askabstracts index`."
            ) from error

    def is_held(self, now: float, *, grace_seconds: float) -> bool:
        """Whether its owner may still be writing: a request that was under way when the lease expired has some grace."""
        return self.expires > 0 and now < self.expires + grace_seconds


def registered_names(connection: ServerConnection) -> list[str]:
    """The names of all collections that anybody has begun to write, in alphabetical order."""
    try:
        ids = connection.collection(REGISTRY).ids()
    except GenerationGoneError:  # nobody has written to this server yet
        return []
    return sorted({id_.rpartition("#")[0] for id_ in ids})


class Registry:
    """The turns of one collection of the app, named `name`."""

    def __init__(self, connection: ServerConnection, name: str) -> None:
        self._connection, self._name = connection, name

    def published(self) -> Published | None:
        """What the pointer says; None when nothing was ever published."""
        try:
            turns = self.turns()
        except GenerationGoneError:  # nobody has written to this server yet
            return None
        return next((turn.published for turn in reversed(turns) if turn.published is not None), None)

    def turns(self) -> list[_Turn]:
        """All turns that are on record, in order."""
        rows = self.rows().metadatas_where("name", self._name)
        return sorted((_Turn.of(id_, row) for id_, row in rows.items()), key=lambda turn: turn.number)

    def rows(self) -> ServerCollection:
        """The collection behind it; `GenerationGoneError` before anybody has written."""
        return self._connection.collection(REGISTRY)

    def lease(self, *, lease_seconds: float) -> "Lease":
        """Takes the next turn. Raises `StoreBusyError` while another writer holds one."""
        rows, turns, now = self._connection.created_collection(REGISTRY), self.turns(), self._connection.now()
        if turns and turns[-1].is_held(now, grace_seconds=self._connection.timeout_seconds):
            raise self._busy(turns[-1], now)
        number = turns[-1].number + 1 if turns else 1
        id_, owner = f"{self._name}#{number:08d}", f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        rows.add(
            ids=[id_],
            embeddings=[_VECTOR],
            metadatas=[{"name": self._name, "turn": number, "owner": owner, "expires": now + lease_seconds}],
        )
        holder = self.turns()[-1]
        if holder.owner != owner:
            raise self._busy(holder, now)
        rows.delete([turn.id for turn in turns if turn.published is None])
        return Lease(self, self._connection, id_, owner, lease_seconds=lease_seconds)

    def _busy(self, holder: _Turn, now: float) -> StoreBusyError:
        host, process, _ = holder.owner.rsplit(":", 2)
        return StoreBusyError(
            f"Another process ({process} on {host}) is writing the collection {self._name} on {self._connection.address.text}. "
            f"Wait for it and run the command again; should it have died, its turn ends in {max(0.0, holder.expires - now):.0f} s. "
            "Questions are answered from the index as it was."
        )


class Lease:
    """A writer's turn, renewed by a thread while the block runs and given back at its end."""

    def __init__(self, registry: Registry, connection: ServerConnection, id_: str, owner: str, *, lease_seconds: float) -> None:
        self._registry, self._connection = registry, connection
        self._id, self._owner, self._lease_seconds = id_, owner, lease_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._keep_renewing, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        with suppress(StoreError):  # the lease runs out by itself
            self._write({"expires": 0.0})

    def renew(self) -> None:
        """Makes the lease last from now on. Raises `LeaseLostError` when it ran out or another writer has the turn."""
        now = self._connection.now()
        if now > self._turn().expires:
            raise self._lost()
        self._write({"expires": now + self._lease_seconds})
        self._turn()

    def publish(self, generation: str, *, rows: int) -> Published:
        """Makes readers use `generation`, in one atomic step, and forgets earlier turns. Raises `LeaseLostError` as `renew` does."""
        self.renew()
        now = self._registry.published()
        before = "" if now is None else now.before if now.generation == generation else now.generation
        published = Published(generation, rows, before)
        self._write({"generation": generation, "rows": rows, "before": before})
        if self._registry.published() != published:
            raise self._lost()
        self._registry.rows().delete([turn.id for turn in self._registry.turns() if turn.id < self._id])
        return published

    def unpublish(self) -> None:
        """Leaves nothing published, in one atomic step. Raises `LeaseLostError` as `renew` does."""
        self.renew()
        self._registry.rows().delete([turn.id for turn in self._registry.turns() if turn.id < self._id])

    def _turn(self) -> _Turn:
        """This turn, as long as it is the highest."""
        turns = self._registry.turns()
        if not turns or turns[-1].owner != self._owner:
            raise self._lost()
        return turns[-1]

    def _keep_renewing(self) -> None:
        while not self._is_over.wait(self._lease_seconds / 3):
            try:
                self.renew()
            except LeaseLostError:
                return  # whoever goes on will hear of it when it publishes
            except StoreError:
                continue  # the server is away: it may come back in time

    def _write(self, fields: dict[str, Any]) -> None:
        # An update, because it makes no row: the turn of a writer that lost it stays deleted.
        self._registry.rows().update(ids=[self._id], metadatas=[fields])

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(
            f"This process was out of reach of {self._connection.address.text} for too long, and its turn to write has passed to another. "
            "Nothing was published. Run the command again; what it has sent is taken up."
        )
