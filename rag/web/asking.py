"""A visitor's questions to the page: answered in snapshots, stopped on demand. What a visitor asked lives in the page's own state."""

import threading
import time
from collections.abc import Iterator

import gradio as gr

from rag.answer import Turn
from rag.assistant import Assistant
from rag.errors import AskAbstractsError
from rag.web.render import answer_html, error_html

_OWN_FAULT = "This question met a fault of AskAbstracts, not of yours. Ask it in other words, and please report it."
_BETWEEN_SNAPSHOTS_SECONDS = 0.1  # the eye reads no faster, and every snapshot is sent whole
_Page = tuple[str, list[str], list[Turn], gr.Row]


class Asking:
    """Answers over one assistant. Of a visit it keeps only what stops its running answer, and only while that runs."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._running: dict[str, threading.Event] = {}

    def ask(self, question: str, turns: list[str], history: list[Turn], llm: str, visit: str) -> Iterator[_Page]:
        """The conversation with the answer as it grows, then the visitor's state."""
        stopped = self._running[visit] = threading.Event()
        try:
            yield from self._answers(question, turns, history, llm, stopped)
        finally:
            stopped.set()  # also when the visitor has gone: the model need not write on
            if self._running.get(visit) is stopped:
                del self._running[visit]

    def stop(self, visit: str) -> None:
        """Stops the answer that runs in this visit, if one does."""
        if visit in self._running:
            self._running[visit].set()

    def _answers(self, question: str, turns: list[str], history: list[Turn], llm: str, stopped: threading.Event) -> Iterator[_Page]:
        examples = gr.Row(visible=not turns and not question.strip())
        if not question.strip():
            yield conversation_html(turns), turns, history, examples
            return
        sent = 0.0
        try:
            for answer in self._assistant.stream(question, history, llm=llm, stopped=stopped):
                shown = [*turns, answer_html(answer, turn=len(turns) + 1)]
                if not answer.is_final and time.monotonic() - sent >= _BETWEEN_SNAPSHOTS_SECONDS:
                    sent = time.monotonic()
                    yield conversation_html(shown), turns, history, examples
        except AskAbstractsError as error:
            yield conversation_html([*turns, error_html(question, str(error))]), turns, history, examples
            return
        except Exception:  # a fault of ours: the page must not wait for ever, and the log gets the traceback
            yield conversation_html([*turns, error_html(question, _OWN_FAULT)]), turns, history, examples
            raise
        yield conversation_html(shown), shown, [*history, Turn(question, answer.text)], examples


def conversation_html(turns: list[str]) -> str:
    """The turns, each HTML already, one below the other."""
    return f'<div class="turns" role="log" aria-live="polite">{"".join(turns)}</div>'
