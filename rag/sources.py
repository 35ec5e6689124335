"""What an index is made of: the named files and folders, remembered with it, and whether they have changed since."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rag.errors import SourceMissingError
from rag.papers import absolute, is_there, source_files
from rag.settings import Settings, seed_folder
from vectorstore.errors import IndexMissingError, StoreDamagedError, StoreError
from vectorstore.generations import GenerationFolder

SEEDS = "@seeds"
"""How an index remembers the seed collection, wherever the program is installed."""
_IN_STORE = "@store"  # begins a path within the index's own folder, which may be renamed


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file as it was when it was indexed; `sha256` is empty when it could not be read."""

    path: str
    sha256: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Sources:
    """What an index was made of: the named files and folders, and every file found under them."""

    named: tuple[str, ...]
    files: Mapping[str, SourceFile]

    @property
    def paths(self) -> tuple[str, ...]:
        """The named sources as paths."""
        return tuple(str(seed_folder()) if name == SEEDS else name for name in self.named)


def is_stale(then: Sources, settings: Settings) -> bool:
    """Whether the sources differ from what was indexed. Sources that are gone make nothing stale: what was indexed is kept."""
    if names_other_sources(then, settings):
        return True
    there = [path for path in then.paths if is_there(path)]
    now = source_files(there)
    if len(there) == len(then.paths) and set(now) != set(then.files):
        return True
    return any(name not in then.files or _has_changed(path, then.files[name]) for name, path in now.items())


def names_other_sources(then: Sources, settings: Settings) -> bool:
    """Whether `settings` name sources, and others than the index was made of."""
    return bool(settings.sources) and _named(settings) != then.named


def missing_sources(then: Sources) -> tuple[str, ...]:
    """Remembered sources that are not there any more."""
    return tuple(path for path in then.paths if not is_there(path))


def _has_changed(path: Path, then: SourceFile) -> bool:
    try:
        status = path.stat()
        if (status.st_size, status.st_mtime_ns) == (then.size, then.modified_ns):
            return False
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() != then.sha256
    except OSError:
        return bool(then.sha256)


def _resolved(sources: Sequence[str]) -> tuple[str, ...]:
    paths = (str(absolute(source)) for source in sources)
    return tuple(dict.fromkeys(SEEDS if path == str(seed_folder()) else path for path in paths))


def _named(settings: Settings) -> tuple[str, ...]:
    """The sources in `settings`; what visitors added to the collection goes with any of them, or it would be lost at the next start."""
    uploads = settings.uploads_folder
    kept = (str(uploads),) if settings.sources and uploads.is_dir() else ()
    return _resolved((*settings.sources, *kept))


def named_sources(settings: Settings, folder: GenerationFolder, *, add: bool) -> tuple[str, ...]:
    """What is to be indexed: the sources in `settings` (`add`: after the remembered ones), else the remembered ones, else the seeds."""
    named = _named(settings)
    if named and not add:
        return named
    remembered = _remembered_sources(folder)
    gone = missing_sources(Sources(remembered, {}))
    if gone:
        raise SourceMissingError(
            f"{gone[0]} is not there any more; what was indexed from it is kept. "
            "Bring it back, or forget it by naming the sources that you still have: askabstracts index PATH..."
        )
    return tuple(dict.fromkeys((*remembered, *named))) or (SEEDS,)


def _remembered_sources(folder: GenerationFolder) -> tuple[str, ...]:
    """The sources of the index in use, whatever it was built with."""
    try:
        return read_sources(folder.current() / "sources.json").named
    except IndexMissingError:
        return ()
    except (StoreError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamagedError(
            f"The index at {folder.folder} does not tell any more what it was made of ({error}). "
            "Run `askabstracts index --rebuild PATH...` with the files or folders of its abstracts."
        ) from error


def found_files(named: tuple[str, ...]) -> dict[str, tuple[Path, os.stat_result]]:
    """Path and status of every source file, taken before it is read, so that what is written later counts as changed."""
    found = {}
    for name, path in source_files(Sources(named, {}).paths).items():
        with suppress(OSError):
            found[name] = (path, path.stat())
    return found


def write_sources(path: Path, sources: Sources) -> None:
    """Writes what the index was made of."""
    store = str(_store_of(path))

    def portable(name: str) -> str:
        return _IN_STORE + name.removeprefix(store) if name == store or name.startswith(store + os.sep) else name

    files = {name: asdict(replace(file, path=portable(file.path))) for name, file in sources.files.items()}
    row = {"named": [portable(name) for name in sources.named], "files": files}
    path.write_text(json.dumps(row, indent=1), encoding="utf-8")


def read_sources(path: Path) -> Sources:
    """What an index was made of."""
    row = json.loads(path.read_text(encoding="utf-8"))
    store = str(_store_of(path))

    def here(name: str) -> str:
        return store + name.removeprefix(_IN_STORE) if name == _IN_STORE or name.startswith(_IN_STORE + os.sep) else name

    files = {name: SourceFile(**(file | {"path": here(file["path"])})) for name, file in row["files"].items()}
    return Sources(tuple(here(name) for name in row["named"]), files)


def _store_of(path: Path) -> Path:
    """The index's folder, of a file in one of its generations."""
    return path.parents[2] if len(path.parents) > 2 else path.parent


def source_file(found: tuple[Path, os.stat_result] | None, sha256: str) -> SourceFile:
    """A file as it was found, with the hash of what was read from it."""
    if found is None:  # it appeared while the others were read: its hash will tell whether it has changed
        return SourceFile("", sha256, -1, -1)
    path, status = found
    return SourceFile(str(path), sha256, status.st_size, status.st_mtime_ns)
