"""A model's answer in snapshots: the quotes at once, the verified sentences as they are written, the whole at last."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.answering.llm import Prompt, stream_reply
from rag.answering.models import LanguageModel
from rag.answering.replies import ModelFailedError
from rag.answering.reply_text import Reply, read_reply_text
from rag.answering.rewriting import translate
from rag.citations import Citation, GroundedSentence, grounded_answer
from rag.verification import Verifier

_ENDS_SOMETHING = re.compile(r"[.!?…。！？\n\]】]")


@dataclass(frozen=True, slots=True)
class Written:
    """What a model has written so far. `draft` is its own text; `text` and `citations` what of it is verified.

    `failure` says why the model did not answer: it failed, or wrote nothing that is supported. `dropped` counts the sentences
    that were left out.
    """

    draft: str = ""
    text: str = ""
    citations: tuple[Citation, ...] = ()
    dropped: int = 0
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
    draft, grown = "", Written()
    try:
        for draft in stream_reply(prompt.messages, model, timeout_seconds=timeout_seconds, stopped=stopped):
            if not _ENDS_SOMETHING.search(draft[len(grown.draft) :]) and draft.startswith(grown.draft):
                yield replace(grown, draft=draft)  # no sentence more than at the last reading
                continue
            reply = read_reply_text(draft, is_whole=False)
            grown = _written(draft, reply, verifier, show_unsupported=show_unsupported)
            yield grown
            if reply.repeats_itself:
                break  # it would go on so to the end
    except ModelFailedError as failure:
        yield Written(draft, failure=str(failure), is_final=True)
        return
    reply = read_reply_text(draft)
    sentences = [verifier.ground(sentence) for sentence in reply.sentences]
    supported = sum(bool(sentence.grounds) for sentence in sentences)
    if not supported:
        reason = "" if reply.is_not_stated else f"{model.name} wrote nothing that the abstracts support."
        yield Written(draft, is_not_stated=reply.is_not_stated, failure=reason, is_final=True)
        return
    if language != "English":
        told = translate([sentence.text for sentence in sentences], language, model, stopped=stopped)
        sentences = [
            GroundedSentence(text, sentence.grounds, sentence.paragraph) for text, sentence in zip(told, sentences, strict=True)
        ]
    text, citations = grounded_answer(sentences, show_unsupported=show_unsupported)
    yield Written(draft, text, citations, len(sentences) - supported, False, reply.is_wrong_premise, is_final=True)


def _written(draft: str, reply: Reply, verifier: Verifier, *, show_unsupported: bool) -> Written:
    text, citations = grounded_answer([verifier.ground(one) for one in reply.sentences], show_unsupported=show_unsupported)
    return Written(draft, text if citations else "", citations)
