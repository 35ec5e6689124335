"""The answerer that has a language model write: evidence and question to the model, its reply back as it grows.

Nothing a model writes is trusted here; `rag.verification` decides what of it may be shown. A model that fails in a way that may
pass is asked again, with bounded waits; then the failure is the caller's to tell.
"""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag.answering.evidence import Evidence
from rag.answering.models import LanguageModel, chat_message
from rag.answering.prompts import ANSWER_SYSTEM, SMALL_SYSTEM, ShownPaper, answer_prompt, small_prompt
from rag.answering.replies import ModelFailedError, StoppedError, read_reply
from rag.answering.reply_text import without_thinking
from rag.index import PaperIndex
from rag.search import Candidate
from rag.verification import ShownRow

_ATTEMPTS = 3
_BACK_OFF_SECONDS = 0.5  # doubled each time
_LONGEST_WAIT_SECONDS = 20.0  # a server that asks for more is not waited for
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEAST_SHARE = 0.02  # a paper less probable than this is not worth its tokens


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent to a model, and the papers in it, in the order of their numbers."""

    messages: Sequence[Any]
    shown: Sequence[ShownRow]


def make_prompt(
    question: str,
    evidence: Sequence[Evidence],
    ranked: Sequence[Candidate],
    index: PaperIndex,
    model: LanguageModel,
    *,
    max_papers: int,
    named: Sequence[int] = (),
) -> Prompt:
    """The prompt with as much of the best papers as fits into the model's window: whole sentences, the least telling left out.

    The papers at the rows `named` are shown however improbable they are, as far as `max_papers` allows.
    Raises `ModelFailedError` when the question alone fills the window.
    """
    wanted = _by_rank(evidence, ranked, index, max_papers=max_papers, named=named)
    room = min(model.evidence_tokens, model.window_tokens)
    while wanted:
        shown = _in_reading_order(wanted)
        messages = _messages(question, shown, index, model)
        tokens = model.count_tokens(messages)
        bare = tokens - model.count_tokens(_messages(question, [], index, model))
        is_within = bare <= room or len(wanted) == 1  # one sentence is shown however long it is
        if is_within and tokens + model.answer_tokens <= model.window_tokens:
            return Prompt(messages, shown)
        share = min(1.0, room / max(bare, 1))
        wanted = wanted[: min(len(wanted) - 1, max(1, int(len(wanted) * share)))]
    raise ModelFailedError(
        f"The question does not fit into the window of {model.name} ({model.window_tokens} tokens). Ask it in fewer words."
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply so far; `is_cut` tells that it ends where the model's tokens did."""

    text: str
    is_cut: bool = False


def stream_reply(
    messages: Sequence[Any], model: LanguageModel, *, timeout_seconds: float, stopped: threading.Event | None = None
) -> Iterator[Draft]:
    """The reply so far, growing; it starts anew when the model failed and is asked again.

    Raises `StoppedError`, `ModelFailedError`, and `AnswererError` when the model cannot even be opened any more.
    """
    until = time.monotonic() + timeout_seconds
    for attempt in range(1, _ATTEMPTS + 1):
        draft = Draft("")
        try:
            for draft in _one_reply(messages, model, until=until, stopped=stopped):
                yield draft
            if draft.is_cut and not without_thinking(draft.text).strip():
                raise ModelFailedError(
                    f"{model.name} had used up its tokens before its answer began, perhaps by thinking. Raise the setting "
                    "llm_answer_tokens, or switch its thinking off."
                )
            if draft.text.strip():
                return
            raise ModelFailedError(f"{model.name} sent an empty reply. Try again.", is_transient=True)
        except ModelFailedError as failure:
            wait = failure.retry_after_seconds or _BACK_OFF_SECONDS * 2 ** (attempt - 1)
            is_hopeless = not failure.is_transient or wait > _LONGEST_WAIT_SECONDS or time.monotonic() + wait > until
            if is_hopeless or attempt == _ATTEMPTS:
                raise
        if (stopped or threading.Event()).wait(wait):
            raise StoppedError


def whole_reply(
    messages: Sequence[Any], model: LanguageModel, *, timeout_seconds: float, stopped: threading.Event | None = None
) -> str:
    """The whole reply at once. Raises as `stream_reply` does."""
    draft = Draft("")
    for draft in stream_reply(messages, model, timeout_seconds=timeout_seconds, stopped=stopped):  # noqa: B007  # the last one counts
        pass
    return draft.text


def _one_reply(messages: Sequence[Any], model: LanguageModel, *, until: float, stopped: threading.Event | None) -> Iterator[Draft]:
    text, is_torn = "", False
    for piece in read_reply(model.open(), messages, name=model.name, until=until, stopped=stopped):
        text += piece.text
        is_torn = is_torn or bool(_SURROGATE.search(piece.text))
        yield Draft(_without_lone_surrogates(text) if is_torn else text, piece.is_cut)


def _without_lone_surrogates(text: str) -> str:
    """A letter that a server tore into two escapes is put together; half a letter could be neither encoded nor shown."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _by_rank(
    evidence: Sequence[Evidence], ranked: Sequence[Candidate], index: PaperIndex, *, max_papers: int, named: Sequence[int]
) -> list[tuple[int, int]]:
    """(row, sentence) of everything worth showing, the most telling first: the chosen evidence, then the rest of its papers."""
    first, *others = dict.fromkeys(one.row for one in evidence)
    probable = [one.row for one in ranked if one.share >= _LEAST_SHARE]
    rows = list(dict.fromkeys([first, *named, *others, *probable]))[:max_papers]
    chosen = [(one.row, one.number) for one in evidence if one.row in rows]
    rest = [(row, number) for row in rows for number in range(len(index.spans[row])) if (row, number) not in chosen]
    return chosen + rest


def _in_reading_order(wanted: Sequence[tuple[int, int]]) -> list[ShownRow]:
    rows = dict.fromkeys(row for row, _ in wanted)
    return [ShownRow(row, tuple(sorted(number for one, number in wanted if one == row))) for row in rows]


def _messages(question: str, shown: Sequence[ShownRow], index: PaperIndex, model: LanguageModel) -> list[Any]:
    papers = []
    for number, one in enumerate(shown, start=1):
        paper, spans = index.papers[one.row], index.spans[one.row]
        sentences = [paper.abstract[spans[place].start : spans[place].end] for place in one.sentences]
        papers.append(ShownPaper(number, paper.title, sentences))
    if model.is_small:
        return [chat_message("system", SMALL_SYSTEM), chat_message("user", small_prompt(question, papers))]
    return [
        chat_message("system", ANSWER_SYSTEM),
        chat_message("user", answer_prompt(question, papers)),
    ]
