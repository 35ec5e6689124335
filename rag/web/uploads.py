"""The tab where a visitor adds abstracts, and the choice of the collection that the chat asks.

Files are read and removed from Gradio's folder as soon as they arrive. What was added lives in the visit's own collection, or in
the shared one where the operator allows it.
"""

import html
import time
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from rag.assistant import Assistant
from rag.errors import AskAbstractsError, SourceError
from rag.generation_builder import Progress
from rag.indexing import IndexReport
from rag.library import Library
from rag.own_collection import add_to_shared
from rag.uploaded import LARGEST_FILE_BYTES, MOST_FILES, MOST_PAPERS
from rag.web.options import Upload
from rag.web.own_collections import MOST_COLLECTIONS, CrowdedError, OwnCollections
from rag.web.texts import Language, label
from rag.web.upload_folder import received
from rag.web.upload_texts import UPLOAD_TEXTS

SHARED, OWN, NAMED = "shared", "own", "collection:"
"""Values of the choice of a collection; `NAMED` begins that of another collection of the store and is followed by its name."""
_PROGRESS = gr.Progress()
_BETWEEN_SIGNS_SECONDS = 0.2
_MOST_LINES = 20  # of a list in a report
_UPLOADS_AT_ONCE = 2  # each keeps the processor busy
_Page = tuple[str, Any, None, Any]


class UploadTab:
    """Adding abstracts. Make one inside the page's `gr.Blocks`, render `collection` where the chat is, call `render` in the tab."""

    def __init__(
        self, library: Library, page: gr.Blocks, visit: gr.State, *, mode: Upload = "session", language: Any = None
    ) -> None:
        """`visit` is a state with an id that no other visit has; `language` a component whose value is "en" or "zh"."""
        self._library, self._page, self._visit, self._mode = library, page, visit, mode
        self._language = gr.State("en") if language is None else language
        self._own = OwnCollections(library.first)
        choices = self._choices("en")
        self.collection = (gr.Dropdown if len(choices) > 1 else gr.Radio)(
            choices,
            value=SHARED,
            label=label("collection"),
            visible=len(choices) > 1,
            elem_id="collection",
            render=False,
        )

    def render(self) -> None:
        """Draws the tab's content here, and listens. Draws nothing in the mode "off"."""
        if self._mode == "off":
            return
        self._introduction = gr.HTML(self._intro("en"), elem_id="upload-intro")
        chooser = gr.File(file_count="multiple", label=label("upload_choose"), elem_id="upload-files", height=160)
        report = gr.HTML("", elem_id="upload-report")
        delete = gr.Button(label("upload_delete"), size="sm", visible=False, elem_id="upload-delete")
        outputs = [report, self.collection, chooser, delete]
        chooser.upload(
            self.add,
            [chooser, self._visit, self._language],
            outputs,
            preprocess=False,  # Gradio would leave an empty file behind for each upload
            show_progress_on=report,
            concurrency_limit=_UPLOADS_AT_ONCE,
            concurrency_id="upload",
            api_visibility="private",
        )
        delete.click(self.delete, [self._visit, self._language], outputs, api_visibility="private")
        self._page.unload(self.leave)

    def refresh_on(self, trigger: Callable[..., Any]) -> None:
        """Shows what `shown` gives when `trigger` happens: once the visit and its language are known."""
        if self._mode != "off":
            outputs = [self._introduction, self.collection]
            trigger(self.shown, [self._visit, self._language], outputs, show_progress="hidden", api_visibility="private")

    def add(self, payload: object, visit: str, language: Language, request: gr.Request, progress: gr.Progress = _PROGRESS) -> _Page:
        """An upload event: the report, the choice of collections, an empty file chooser, the button that deletes."""
        session = str(request.session_hash)
        try:
            report = self._added(received(payload), visit, session, _shown_by(progress, language))
            shown = report_html(report, mode=self._mode, language=language)
        except CrowdedError:
            shown = failure_html(_say("upload_crowded", language, visitors=MOST_COLLECTIONS), language=language)
        except AskAbstractsError as error:
            shown = failure_html(str(error), language=language)
        except Exception:  # a fault of ours: the page must say so, and the log gets the traceback
            gr.Warning(_say("upload_fault", language))
            raise
        else:
            return shown, self._choice(visit, language, OWN), None, gr.update(visible=self._has_own(visit))
        return shown, self._choice(visit, language, None), None, gr.update(visible=self._has_own(visit))

    def delete(self, visit: str, language: Language) -> _Page:
        """Deletes the visit's own collection."""
        self._own.delete(visit)
        shown = f'<p role="status">{html.escape(_say("upload_deleted", language))}</p>'
        return shown, self._choice(visit, language, SHARED), None, gr.update(visible=False)

    def shown(self, visit: str, language: Language) -> tuple[str, Any]:
        """What depends on the language and on what others added: the first words of the tab, and the choice of collections."""
        return self._intro(language), self._choice(visit, language, None)

    def leave(self, request: gr.Request) -> None:
        """The page was closed or reloaded: what was added for it alone is deleted."""
        self._own.leave(str(request.session_hash))

    def close(self) -> None:
        """Deletes all visitors' own collections; for the end of the server."""
        self._own.close()

    def assistant_for(self, visit: str, choice: object, language: Language = "en") -> Assistant:
        """Who answers this visit. Raises a `SourceError` when it chose a collection of its own that is gone, a `StoreError` for
        another of the store's that is gone or cannot be read.
        """
        if choice != OWN:
            return self._library.assistant(str(choice).removeprefix(NAMED) if str(choice).startswith(NAMED) else "")
        own = self._own.assistant(visit)
        if own is None:
            raise SourceError(_say("upload_gone", language))
        return own

    def _added(self, files: Sequence[tuple[str, bytes]], visit: str, session: str, progress: Progress) -> IndexReport:
        if self._mode == "shared":
            shared = self._library.first
            return add_to_shared(shared, files, shared.settings.uploads_folder, progress=progress)
        if self._mode == "session":
            return self._own.add(files, visit=visit, session=session, progress=progress)
        raise SourceError("Nothing can be added on this page. Ask the collection that is there.")

    def _has_own(self, visit: str) -> bool:
        return self._own.assistant(visit) is not None

    def _choice(self, visit: str, language: Language, chosen: str | None) -> Any:
        """The choice as it stands now; `chosen` None leaves what the visitor chose. It is seen when there is something to choose."""
        choices = self._choices(language)
        own = self._own.assistant(visit)
        if own is not None:
            choices.append((_say("upload_own", language, papers=len(own.papers)), OWN))
        elif len(choices) == 1:
            chosen = SHARED
        value = {} if chosen is None else {"value": chosen}
        return gr.update(choices=choices, visible=len(choices) > 1, **value)

    def _choices(self, language: Language) -> list[tuple[str, str]]:
        """The collections that everybody here may ask."""
        others = self._library.names[1:]
        shared = _say("upload_shared", language, papers=len(self._library.first.papers))
        return [(shared, SHARED), *((name, NAMED + name) for name in others)]

    def _intro(self, language: Language) -> str:
        values = {"files": MOST_FILES, "megabytes": LARGEST_FILE_BYTES // 1_000_000, "papers": f"{MOST_PAPERS:,}"}
        return f"<p>{html.escape(_say(f'upload_intro_{self._mode}', language, **values))}</p>"


def report_html(report: IndexReport, *, mode: Upload, language: Language = "en") -> str:
    """What became of an upload."""
    done = _say("upload_done", language, read=report.occurrences, new=report.new, papers=report.papers)
    return (
        f'<div class="upload-report" role="status"><p><strong>{html.escape(done)}</strong></p>'
        + _list_html("upload_unreadable", report.unreadable, language)
        + _list_html("upload_doubtful", report.doubtful, language)
        + _list_html("upload_repeated", report.duplicates, language)
        + _list_html("upload_respelled", report.near_duplicates, language)
        + f"<p>{html.escape(_say(f'upload_next_{mode}', language))}</p></div>"
    )


def failure_html(reason: str, *, language: Language = "en") -> str:
    """Why nothing was added."""
    failed = html.escape(_say("upload_failed", language))
    reasons = "".join(f"<p>{html.escape(line)}</p>" for line in reason.splitlines())
    return f'<div class="upload-report refusal error" role="alert"><p><strong>{failed}.</strong></p>{reasons}</div>'


def _list_html(key: str, lines: Sequence[str], language: Language) -> str:
    if not lines:
        return ""
    shown = [*lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(_say("upload_more", language, count=len(lines) - _MOST_LINES))
    items = "".join(f"<li>{html.escape(line)}</li>" for line in shown)
    return f"<p>{html.escape(_say(key, language))} ({len(lines)})</p><ul>{items}</ul>"


def _shown_by(progress: gr.Progress, language: Language) -> Progress:
    """Moves a progress bar, at most a few times a second."""
    last = 0.0

    def show(done: int, of: int) -> None:
        nonlocal last
        if done == of or time.monotonic() - last >= _BETWEEN_SIGNS_SECONDS:
            last = time.monotonic()
            progress((done, of), desc=_say("upload_encoding", language, done=done, of=of))

    progress(0, desc=_say("upload_reading", language))
    return show


def _say(key: str, language: Language = "en", **values: object) -> str:
    english, chinese = UPLOAD_TEXTS[key]
    return (chinese if language == "zh" else english).format(**values)
