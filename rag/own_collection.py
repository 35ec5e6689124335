"""Files that a visitor brings: a collection of the visit's own in a temporary folder, or an addition to the shared one.

Either way the files are copied under names that can do no harm, read one by one, so that a bad one costs nothing else, and
indexed with the assistant's own embedder: no model is loaded again. Knows no Gradio.
"""

import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag.assistant import Assistant
from rag.errors import SourceError
from rag.generation_builder import Progress
from rag.index import PaperIndex
from rag.indexing import IndexReport, build_index
from rag.settings import Settings
from rag.uploaded import Upload, UploadedFile
from vectorstore.embedder import Embedder
from vectorstore.generations import GenerationFolder, named_disk_errors

_CLOSED = "This collection was deleted. Add the files again to make another."


class OwnCollection:
    """A visitor's collection, for as long as the visit lasts. Safe for threads; deleted by `close`, when forgotten, and at exit."""

    def __init__(self, shared: Assistant) -> None:
        """An empty collection that will be answered from with the models of `shared`."""
        self._shared = shared
        self._folder = Path(tempfile.mkdtemp(prefix="askabstracts-own-"))  # for its owner only (0700)
        self._files = self._folder / "files"
        self._files.mkdir()
        self._settings = replace(
            shared.settings,
            store=str(self._folder / "index"),
            collection=f"visit-{secrets.token_hex(8)}",  # so that nothing said of it is taken for what another holds
            sources=(str(self._files),),
        )
        self._adding = threading.Lock()
        self._closed = threading.Event()
        self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._assistant: Assistant | None = None

    @property
    def assistant(self) -> Assistant | None:
        """Who answers from this collection; None before the first abstract and after `close`."""
        return self._assistant

    def add(self, files: Sequence[UploadedFile], *, progress: Progress | None = None) -> IndexReport:
        """Adds files, each a name and its bytes, to those added before. The report tells of these files alone, but for `papers`.

        Files that cannot be used are named in `unreadable`. Raises a `SourceError`, and changes nothing, when none can be used, a
        limit is passed or the collection is closed; a `StoreError` when the disk takes no more.
        """

        def heard(done: int, of: int) -> None:
            if self._closed.is_set():  # nobody will ask about it any more
                raise SourceError(_CLOSED)
            if progress is not None:
                progress(done, of)

        with self._adding:
            if self._closed.is_set():
                raise SourceError(_CLOSED)
            report = _added(files, self._files, self._settings, self._shared.embedder, add=False, progress=heard)
            if self._assistant is None:
                index = PaperIndex.open(GenerationFolder(self._settings.store_folder).current())
                self._assistant = self._shared.over(self._settings, index)
            return report

    def close(self) -> None:
        """Deletes everything, ending an `add` under way. A question that is being answered is answered to its end."""
        self._closed.set()
        with self._adding:
            self._assistant = None
            self._delete()


def add_to_shared(
    assistant: Assistant, files: Sequence[UploadedFile], folder: Path, *, progress: Progress | None = None
) -> IndexReport:
    """Adds files to the collection of `assistant`, which sees them at its next question; they are kept in `folder`.

    Reports and raises as `OwnCollection.add` does; also a `SourceError` for a collection that remembers no sources, which adding
    would replace.
    """
    if not assistant.index.sources.named:
        raise SourceError("This collection was not made from files, so none can be added to it. Ask whoever runs this page.")
    settings = replace(assistant.settings, sources=(str(folder),))
    return _added(files, folder, settings, assistant.embedder, add=True, progress=progress)


def _added(
    files: Sequence[UploadedFile], folder: Path, settings: Settings, embedder: Embedder, *, add: bool, progress: Progress | None
) -> IndexReport:
    with named_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        upload = Upload.into(folder, files)
    try:
        report = build_index(settings, embedder, add=add, progress=progress)
    except BaseException:
        upload.undo()
        raise
    return replace(
        report,
        occurrences=upload.abstracts,
        duplicates=(*upload.repeated, *upload.merged(report.duplicates)),
        near_duplicates=upload.merged(report.near_duplicates),
        unreadable=upload.unreadable,
        doubtful=upload.doubtful,
    )
