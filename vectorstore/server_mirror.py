"""A generation's files on this machine: copied from the server once, into a folder of generations like any other.

Processes of one machine share the copy. The vectors stay on the server; see `server`.
"""

from pathlib import Path

from vectorstore.errors import StoreError
from vectorstore.generations import GenerationFolder, named_disk_errors
from vectorstore.server import ServerGeneration

_ORIGIN = "origin.txt"


def mirrored(generation: ServerGeneration, folder: GenerationFolder, *, timeout_seconds: float) -> Path:
    """Where the files of `generation` are, once `folder` has them as its current generation.

    `folder` is for one collection of one server and for nothing else. Raises `StoreBusyError` when another process copies for
    longer than the timeout, and `GenerationGoneError` when the generation was replaced meanwhile: take the current one then.
    """
    if _origin(folder) != generation.name:
        with folder.writing(timeout_seconds=timeout_seconds), named_disk_errors(folder.folder):
            if _origin(folder) != generation.name:  # else another process has copied it meanwhile
                with folder.new_generation() as building:
                    generation.files().pull(building)
                    write_origin(building, generation.name)
    return folder.current()


def _origin(folder: GenerationFolder) -> str:
    """Which generation the folder holds a copy of; "" when it holds none that can be used."""
    try:
        return origin_of(folder.current())
    except (StoreError, OSError, ValueError):
        return ""


def origin_of(generation: Path) -> str:
    """The name on the server of what is copied in the folder `generation`."""
    return (generation / _ORIGIN).read_text(encoding="utf-8")


def write_origin(generation: Path, name: str) -> None:
    """Notes that the folder `generation` holds what the server has under `name`, so that it is not copied again."""
    (generation / _ORIGIN).write_text(name, encoding="utf-8")
