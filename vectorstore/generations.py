"""The folder of an index: generations, of which a pointer file names the one in use.

Chroma loses collections when its process is killed and misleads readers while another process writes, so nothing is ever
changed in place: a writer, alone by a lock, builds a new generation beside the old one and publishes it by replacing the
pointer in one atomic step. Readers follow the pointer. This module knows nothing of what a generation holds.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from vectorstore.errors import (
    IndexMissingError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)

_POINTER = "current.json"
_GENERATION = re.compile(r"\d{8}-\d{6}-\w{8}")  # what `new_generation` makes; anything else in the folder is not ours to remove
_FULL = (
    "no space left",
    "disk is full",
    "disk full",
    "quota exceeded",
    "requested and",  # NumPy, of a short write: "1500 requested and 992 written"
    "failed to apply logs",  # Chroma, of a disk that filled up within a transaction
)


class GenerationFolder:
    """An index's folder. Creating the object touches no disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def pending(self) -> Path:
        """Where a build under way keeps what it has computed."""
        return self.folder / "pending"

    def exists(self) -> bool:
        """Whether a generation was ever published here."""
        return (self.folder / _POINTER).is_file()

    def current(self) -> Path:
        """The generation in use. Raises `IndexMissingError` or, where the pointer leads nowhere, `StoreDamagedError`."""
        pointer = self.folder / _POINTER
        try:
            name = json.loads(pointer.read_text(encoding="utf-8"))["generation"]
        except NotADirectoryError as error:
            raise self._not_a_folder() from error
        except FileNotFoundError as error:
            raise IndexMissingError(f"There is no index at {self.folder}. Run `askabstracts index` to build it.") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreDamagedError(
                f"{pointer} cannot be read ({error}). Run `askabstracts index --rebuild` to build the index anew."
            ) from error
        generation = self.folder / "generations" / str(name)
        if not generation.is_dir():
            raise StoreDamagedError(f"The index {generation} is gone. Run `askabstracts index --rebuild` to build the index anew.")
        return generation

    def _not_a_folder(self) -> StoreError:
        return StoreError(f"{self.folder} is not a folder. Set another place with --store or ASKABSTRACTS_STORE.")

    @contextmanager
    def writing(self, *, timeout_seconds: float) -> Iterator[None]:
        """Holds the writer's lock. Raises `StoreBusyError` when another process keeps it longer than the timeout."""
        with named_disk_errors(self.folder):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                raise self._not_a_folder() from error
            lock = filelock.FileLock(self.folder / "writer.lock")
            try:
                lock.acquire(timeout=timeout_seconds)
            except filelock.Timeout as error:
                raise StoreBusyError(
                    f"Another process is indexing into {self.folder} and did not finish within {timeout_seconds:g} s. "
                    "Wait for it and run the command again; questions are answered from the index as it was."
                ) from error
            try:
                yield
            finally:
                lock.release()

    @contextmanager
    def new_generation(self) -> Iterator[Path]:
        """A new folder to build in (call under `writing`). Published when the block ends well; removed when it does not."""
        self.remove_leftovers()
        parent = self.folder / "generations"
        parent.mkdir(exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-", time.gmtime()), dir=parent))
        building.chmod(0o755)
        try:
            yield building
            _sync_tree(building)
            self._publish(building)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        self.remove_leftovers()

    def _publish(self, generation: Path) -> None:
        try:
            before = self.current().name
        except StoreError:  # none yet, or a damaged one that is being replaced
            before = None
        _sync(generation.parent)
        partial = self.folder / f"{_POINTER}.tmp"
        partial.write_text(json.dumps({"generation": generation.name, "before": before}), encoding="utf-8")
        _sync(partial)
        os.replace(partial, self.folder / _POINTER)
        _sync(self.folder)

    def remove_leftovers(self) -> None:
        """Removes generations that neither the pointer nor a reader of the one before it can still use (call under `writing`)."""
        kept: set[str] = set()
        if self.exists():
            try:
                pointer = json.loads((self.folder / _POINTER).read_text(encoding="utf-8"))
                kept = {str(pointer["generation"]), str(pointer.get("before"))}
            except (ValueError, KeyError, TypeError, AttributeError, OSError):
                return  # a pointer that cannot be read must not cost anybody a generation
        for generation in (self.folder / "generations").glob("*"):
            if _GENERATION.fullmatch(generation.name) and generation.name not in kept:
                shutil.rmtree(generation, ignore_errors=True)


@contextmanager
def named_disk_errors(place: Path) -> Iterator[None]:
    """Turns a full or read-only disk under `place`, however a library words it, into an error that says what to do."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        words = str(error).lower()
        if any(sign in words for sign in _FULL):
            raise StoreFullError(
                f"The disk that holds {place} is full. Free some space and run the command again; the index as it was stays in use, "
                "and the vectors already computed are kept."
            ) from error
        if isinstance(error, PermissionError) or "readonly database" in words or "read-only file system" in words:
            raise StoreReadOnlyError(
                f"{place} may not be written. Set another place with --store or ASKABSTRACTS_STORE, or ask for the right to write there."
            ) from error
        raise


def private_copy(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A copy of `folder` that may be written, for Chroma, which cannot read without writing. The caller cleans it up."""
    copy = tempfile.TemporaryDirectory(prefix="askabstracts-")
    for file in folder.rglob("*"):
        target = Path(copy.name) / file.relative_to(folder)
        if file.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    return copy


def _sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
