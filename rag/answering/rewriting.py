"""What a model may do to a question before the search and to an answer after it: rewrite a follow-up, translate.

Each result is checked: it may hold no name and no number that what it was made from does not hold. What fails is not used, and
neither is the result of a model that fails here: there is always a way without.
"""

import re
import threading
from collections.abc import Sequence

from rag.answering.llm import whole_reply
from rag.answering.models import LanguageModel, chat_message
from rag.answering.prompts import REWRITE_SYSTEM, TRANSLATE_SYSTEM, rewrite_prompt
from rag.answering.replies import ModelFailedError, StoppedError
from rag.answering.reply_text import without_thinking
from rag.claims import read_claim

_LONGEST_REWRITTEN = 400  # characters
_SECONDS = 30.0
_HISTORY_SHARE = 0.25  # of the window


def rewrite(
    question: str, history: Sequence[tuple[str, str]], model: LanguageModel, *, stopped: threading.Event | None = None
) -> str:
    """A follow-up as a standalone question; empty when the model fails, is stopped, or adds what neither history nor question holds."""
    turns = _capped(history, model)
    messages = [chat_message("system", REWRITE_SYSTEM), chat_message("user", rewrite_prompt(question, turns))]
    told = " ".join([question, *(text for turn in turns for text in turn)])
    try:
        rewritten = _asked(messages, model, stopped).removeprefix("Question:").strip(" \"'")
    except StoppedError:
        return ""
    is_question = 0 < len(rewritten) <= _LONGEST_REWRITTEN and "\n" not in rewritten
    return rewritten if is_question and adds_nothing(rewritten, told) else ""


def translate(texts: Sequence[str], language: str, model: LanguageModel, *, stopped: threading.Event | None = None) -> list[str]:
    """Each of `texts` in `language`; a text whose translation lost or added a name or number stays as it is."""
    system = chat_message("system", TRANSLATE_SYSTEM.format(language=language))
    translated = [_asked([system, chat_message("user", text)], model, stopped) for text in texts]
    return [
        new if new and "\n" not in new and adds_nothing(new, text) and adds_nothing(text, new) else text
        for text, new in zip(texts, translated, strict=True)
    ]


def adds_nothing(text: str, source: str) -> bool:
    """Whether every name and every number of `text` stands in `source`."""
    new, held = read_claim(text), read_claim(source)
    plain = held.text.casefold()
    numbers = all(any(quantity.value == one.value for one in held.quantities) for quantity in new.quantities)
    return numbers and all(re.sub(r"(?:'s|s)$", "", name.casefold()) in plain for name in new.names)


def _asked(messages: Sequence[object], model: LanguageModel, stopped: threading.Event | None) -> str:
    try:
        return without_thinking(whole_reply(messages, model, timeout_seconds=_SECONDS, stopped=stopped)).strip()
    except ModelFailedError:
        return ""


def _capped(history: Sequence[tuple[str, str]], model: LanguageModel) -> list[tuple[str, str]]:
    """The newest turns that fit into a share of the model's window, oldest first."""
    turns: list[tuple[str, str]] = []
    for turn in reversed(history):
        messages = [chat_message("user", rewrite_prompt("", [turn, *turns]))]
        if model.count_tokens(messages) > _HISTORY_SHARE * model.window_tokens:
            break
        turns.insert(0, turn)
    return turns
