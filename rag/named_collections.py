"""The collections of a store: which there are, what one holds, deleting and renaming one.

The default collection lies in the store itself, a named one in a folder of its name beneath `collections`. Folders are only ever
renamed as a whole, under the writer's locks, so a crash leaves a collection where it was or where it was to go. Loads no model.

On a Chroma server a named collection can be made, asked and described; which there are is not asked of the server yet.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rag.errors import CollectionError, IndexMissingError, SettingsError
from rag.filters import files_of
from rag.paper_file import read_papers
from rag.papers import Paper
from rag.place import ServerPlace, place_of
from rag.settings import DEFAULT_COLLECTION, Settings
from vectorstore.generations import GenerationFolder
from vectorstore.passport import Passport
from vectorstore.server_address import is_server_address

_DELETED = ".deleted-"  # begins the name of a folder whose deletion was begun; no collection is named so


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What is known about a collection. `venues` and `files` count papers, the most first; `published` is in ISO 8601, UTC.

    Without any year, both years are None.
    """

    name: str
    papers: int
    first_year: int | None
    last_year: int | None
    venues: Mapping[str, int]
    files: Mapping[str, int]
    embedder: str
    bytes_on_disk: int
    published: str


def shown_name(collection: str) -> str:
    """The name of a collection as it is shown and typed."""
    return collection or DEFAULT_COLLECTION


def collection_names(settings: Settings) -> tuple[str, ...]:
    """The names of the published collections in the store, in alphabetical order; the default one first, as ""."""
    place = place_of(settings)
    if isinstance(place, ServerPlace):
        return tuple(name for name in place.names() if _is_name(settings, name))
    names = ["", *sorted(folder.name for folder in _folders(settings) if _is_name(settings, folder.name))]
    return tuple(name for name in names if _is_published(replace(settings, collection=name)))


def require_known(settings: Settings) -> None:
    """Raises `CollectionError` for a named collection that is not there and that no sources in `settings` could make."""
    if settings.collection and not settings.sources and not _is_published(settings):
        raise unknown_collection(settings.collection, collection_names(settings))


def unknown_collection(collection: str, known: Sequence[str]) -> CollectionError:
    """The error that there is no such collection, with those that there are and how to make it."""
    there = f"There are: {', '.join(map(shown_name, known))}." if known else "There is none yet."
    return CollectionError(
        f"There is no collection {shown_name(collection)!r}. {there} "
        f"To make it of your files: askabstracts index --collection {shown_name(collection)} PATH..."
    )


def describe_collection(settings: Settings) -> CollectionFacts:
    """What the collection of `settings` holds. Raises a `StoreError` when there is none, or it cannot be read."""
    require_known(replace(settings, sources=()))
    generation = place_of(settings).current()
    papers = read_papers(generation / "papers.jsonl")
    years = [paper.year for paper in papers if paper.year is not None]
    published = datetime.fromtimestamp(generation.stat().st_mtime, UTC)
    return CollectionFacts(
        name=shown_name(settings.collection),
        papers=len(papers),
        first_year=min(years, default=None),
        last_year=max(years, default=None),
        venues=dict(Counter(paper.venue for paper in papers if paper.venue).most_common()),
        files=_papers_by_file(papers),
        embedder=str(Passport.load(generation / "passport.json").embedder.get("model", "")),
        bytes_on_disk=_bytes_in(settings.store_folder),
        published=published.isoformat(timespec="seconds"),
    )


def delete_collection(settings: Settings) -> None:
    """Deletes the named collection of `settings`: out of the way in one step, then its files.

    Raises `CollectionError` for the default collection of a folder and for one that is not there, `StoreBusyError` while it is
    being written.
    """
    place = place_of(settings)
    if isinstance(place, ServerPlace):
        if settings.collection not in place.names():
            raise unknown_collection(settings.collection, collection_names(settings))
        place.remove()
        return
    folder = _existing(settings, "deleted")
    with _alone(settings, folder):
        aside = Path(tempfile.mkdtemp(prefix=_DELETED, dir=settings.collections_folder))
        os.rename(folder, aside / folder.name)
    _remove_deleted(settings)


def rename_collection(settings: Settings, name: str) -> None:
    """Gives the named collection of `settings` another name, in one step.

    Raises as `delete_collection` does; also a `CollectionError` when the name is taken, a `SettingsError` when it is none.
    """
    folder, target = _existing(settings, "renamed"), replace(settings, collection=name)
    with _alone(settings, folder):
        if not target.collection or target.store_folder.exists():
            raise CollectionError(f"The name {name!r} is taken. Choose another, or delete that collection first.")
        os.rename(folder, target.store_folder)


def _existing(settings: Settings, done: str) -> Path:
    if is_server_address(settings.store):
        raise CollectionError(
            f"A collection on a Chroma server cannot be {done}: its name is part of what is stored there. "
            "Index its files under the new name, then delete the old one."
        )
    if not settings.collection:
        raise CollectionError(
            f"The default collection is the store itself and cannot be {done}. Index other files into it "
            f"(askabstracts index PATH...), or remove the folder {settings.store_root} by hand."
        )
    if not settings.store_folder.is_dir():
        raise unknown_collection(settings.collection, collection_names(settings))
    return settings.store_folder


@contextmanager
def _alone(settings: Settings, folder: Path) -> Iterator[None]:
    """Holds the lock of the folder of all collections and that of one; refuses at once when somebody writes."""
    with (
        GenerationFolder(settings.collections_folder).writing(timeout_seconds=settings.lock_timeout_seconds),
        GenerationFolder(folder).writing(timeout_seconds=0),
    ):
        yield


def _remove_deleted(settings: Settings) -> None:
    """Removes what was deleted, also by a process that was killed before it came to that."""
    for folder in settings.collections_folder.glob(f"{_DELETED}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _folders(settings: Settings) -> list[Path]:
    try:
        return [path for path in settings.collections_folder.iterdir() if path.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_name(settings: Settings, name: str) -> bool:
    try:
        return replace(settings, collection=name).collection == name
    except SettingsError:
        return False


def _is_published(settings: Settings) -> bool:
    if not is_server_address(settings.store):
        return GenerationFolder(settings.store_folder).exists()
    try:
        place_of(settings).current()
    except IndexMissingError:
        return False
    return True


def _papers_by_file(papers: Sequence[Paper]) -> Mapping[str, int]:
    return dict(Counter(file for paper in papers for file in files_of(paper)).most_common())


def _bytes_in(folder: Path) -> int:
    """The size of all files of one collection; the default one's folder holds the others too."""
    files = (path for part in folder.iterdir() if part.name != "collections" for path in (part, *part.rglob("*")))
    return sum(path.stat().st_size for path in files if path.is_file())
