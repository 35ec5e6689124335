"""Where Gradio keeps what visitors upload: a private folder of this process, from which every file is taken at once.

Gradio writes an upload into `GRADIO_TEMP_DIR/<sha256 of its content>/<name>` before any handler hears of it, by default in a
folder that everybody on the machine can read, and leaves it there. Knows nothing of collections.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from rag.errors import SourceError
from rag.uploaded import LARGEST_FILE_BYTES, MOST_BYTES, MOST_FILES, UploadedFile

_PREFIX = "askabstracts-uploads-"
_ABANDONED_SECONDS = 900.0  # an upload that was broken off; nobody uploads 5 MB for so long


@cache
def private_upload_folder() -> Path:
    """This process's folder for uploads, for its owner only and removed at exit; Gradio uses it from now on.

    Call it before the page is made: components and the server remember the folder they are made with.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def received(payload: object) -> list[UploadedFile]:
    """The files of an upload event (the raw value of a file component): their names and bytes. They are gone from the disk then.

    Raises a `SourceError` when they are too many or too large in all, or not there any more.
    """
    rows = [row for row in payload if isinstance(row, Mapping)] if isinstance(payload, Sequence) else []
    places: list[Path] = []
    try:
        for row in rows:
            places.append(_place(row))
        if len(places) > MOST_FILES:
            raise SourceError(f"{len(places)} files are too many at once. Give at most {MOST_FILES}, or join them into fewer.")
        if sum(path.stat().st_size for path in places) > MOST_BYTES:
            raise SourceError(f"The files are too large. Give at most {MOST_BYTES // 1_000_000} MB in all.")
        return [(_name(row, path), _content(path)) for row, path in zip(rows, places, strict=True)]
    except FileNotFoundError:  # two visitors with the same file share one copy, and the other was faster
        raise SourceError("A file was gone before it could be read. Choose it again.") from None
    finally:
        for path in places:
            _remove(path)
        remove_abandoned(Path(get_upload_folder()))


def remove_abandoned(folder: Path, *, older_than_seconds: float = _ABANDONED_SECONDS) -> None:
    """Removes from our own upload folder the parts of files that Gradio was still writing when their sender went away."""
    if not folder.name.startswith(_PREFIX):
        return
    for path in folder.glob("tmp*"):
        with suppress(OSError):
            if path.is_file() and time.time() - path.stat().st_mtime > older_than_seconds:
                path.unlink()


def _place(row: Mapping[str, Any]) -> Path:
    """Where a file is. Raises a `SourceError` for a path that leads out of Gradio's upload folder: it names no upload."""
    root = Path(get_upload_folder()).resolve()
    try:
        path = Path(str(row.get("path", ""))).resolve()
    except (OSError, ValueError):
        path = root
    if root not in path.parents or path.is_dir():
        raise SourceError("That is no uploaded file. Choose it again.")
    return path


def _name(row: Mapping[str, Any], path: Path) -> str:
    name = row.get("orig_name")
    return name if isinstance(name, str) and name else path.name


def _content(path: Path) -> bytes:
    """All of a file, or a byte more than is allowed of one that is too large."""
    with open(path, "rb") as file:
        return file.read(LARGEST_FILE_BYTES + 1)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    if path.parent != Path(get_upload_folder()).resolve():
        with suppress(OSError):  # not empty: the same content under another name, of another upload
            path.parent.rmdir()
