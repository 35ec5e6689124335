"""A model's answer in snapshots: the quotes at once, the verified sentences as they are written, the whole at last."""

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.answering.llm import Draft, Prompt, stream_reply
from rag.answering.models import LanguageModel
from rag.answering.reply_text import Reply, read_reply_text
from rag.answering.rewriting import translated_answer
from rag.citations import Citation, grounded_answer
from rag.errors import AnswererError
from rag.languages import ENGLISH
from rag.verification import Verifier

_ENDS_SOMETHING = re.compile(r"[.!?…。！？\n\]】]")
_READ_AT_ONCE = 4000  # characters: a longer reply is read again only when it has grown by a share, which keeps the cost linear
_GROWTH = 8
_SMALL_MODEL_TRIES = 2  # sentences; one whose first two rest on nothing is not writing about the abstracts


@dataclass(frozen=True, slots=True)
class Written:
    """What a model has written so far. `draft` is its own text; `text` and `citations` what of it is verified.

    `failure` says why the model did not answer: it failed, or wrote nothing that is supported. `dropped` counts the sentences
    that were left out, `in_english` those that could not be put into the language of the question.
    """

    draft: str = ""
    text: str = ""
    citations: tuple[Citation, ...] = ()
    dropped: int = 0
    in_english: int = 0
    is_not_stated: bool = False
    is_wrong_premise: bool = False
    failure: str = ""
    is_final: bool = False


def write_answer(
    prompt: Prompt,
    model: LanguageModel,
    verifier: Verifier,
    *,
    language: str,
    show_unsupported: bool,
    timeout_seconds: float,
    stopped: threading.Event | None,
) -> Iterator[Written]:
    """The answer as it grows; the last is final. A failure of the model is told in it; raises only `StoppedError`."""
    draft, grown, kept = Draft(""), Written(), Written()
    until = time.monotonic() + timeout_seconds
    try:
        for draft in stream_reply(prompt.messages, model, timeout_seconds=timeout_seconds, stopped=stopped):
            if not _is_worth_reading(draft.text, grown.draft):
                yield replace(grown, draft=draft.text)
                continue
            reply = read_reply_text(draft.text, is_whole=False)
            grown = _written(draft.text, reply, verifier, show_unsupported=show_unsupported)
            kept = grown if len(grown.citations) >= len(kept.citations) else kept
            yield grown
            if reply.is_full or (model.is_small and not grown.citations and len(reply.sentences) >= _SMALL_MODEL_TRIES):
                draft = replace(draft, is_cut=True)
                break  # nothing more is to be had of it
    except AnswererError as failure:
        in_english = len({one.claim for one in kept.citations}) if language != ENGLISH else 0
        yield replace(kept, draft=draft.text, failure=str(failure), in_english=in_english, is_final=True)
        return
    reply = read_reply_text(draft.text, is_cut=draft.is_cut)
    sentences = [verifier.ground(sentence) for sentence in reply.sentences]
    supported = sum(bool(sentence.grounds) for sentence in sentences)
    if not supported:
        reason = "" if reply.is_not_stated else f"{model.name} wrote nothing that the abstracts support{_counted(len(sentences))}."
        yield Written(draft.text, is_not_stated=reply.is_not_stated, failure=reason, is_final=True)
        return
    in_english = 0
    if language != ENGLISH:
        sentences, in_english = translated_answer(reply.sentences, language, model, verifier, until=until, stopped=stopped)
    text, citations = grounded_answer(sentences, show_unsupported=show_unsupported)
    dropped = len(sentences) - supported
    yield Written(draft.text, text, citations, dropped, in_english, is_wrong_premise=reply.is_wrong_premise, is_final=True)


def _is_worth_reading(text: str, read: str) -> bool:
    """Whether `text` may hold a sentence more than the part of it that was `read`."""
    is_other = not text.startswith(read)
    has_grown = len(text) - len(read) >= max(0, len(text) - _READ_AT_ONCE) / _GROWTH
    return is_other or (has_grown and bool(_ENDS_SOMETHING.search(text, len(read))))


def _counted(sentences: int) -> str:
    return f" ({sentences} {'sentence' if sentences == 1 else 'sentences'})" if sentences else ""


def _written(draft: str, reply: Reply, verifier: Verifier, *, show_unsupported: bool) -> Written:
    text, citations = grounded_answer([verifier.ground(one) for one in reply.sentences], show_unsupported=show_unsupported)
    return Written(draft, text if citations else "", citations)
