"""A question as it was typed to what is searched: a follow-up put into words, a question in another language put into English.

A model does both where there is one that can; its result is checked, and rules stand behind it.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rag.answering.models import LanguageModel
from rag.answering.rewriting import rewrite, translate
from rag.browse import catalogue_of
from rag.citations import escaped
from rag.conversation import standalone
from rag.filters import PaperFilter
from rag.follow_ups import POINTS_BACK
from rag.index import PaperIndex
from rag.languages import ENGLISH, language_notice, language_of, nameable
from rag.questions import Question, fault, is_courtesy, read_question

_SECONDS = 30.0  # for all that a model does here
_COURTESY = "You are welcome. Ask about the papers whenever you like."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is searched. `standalone` is the question in words that need no conversation; `language` is that of the person.

    `excluded_titles` are papers not to be found again ("who else does this?"). `refusal` says why nothing is searched, if so.
    """

    standalone: str
    question: Question
    language: str = ENGLISH
    notices: tuple[str, ...] = ()
    excluded_titles: tuple[str, ...] = ()
    refusal: str = ""


def make_plan(
    text: str,
    history: Sequence[tuple[str, str]],
    index: PaperIndex,
    model: LanguageModel | None,
    *,
    embedder: str,
    papers: PaperFilter | None = None,
    stopped: threading.Event | None = None,
) -> Plan:
    """Plans the search for `text` after `history`, oldest turn first; `embedder` is the name of the model that will encode it,
    and `papers` are those it is limited to.

    Only what the rules see as a follow-up is given to the model to be rewritten: of a short question of its own nothing could tell
    whether the model put in the right paper, or any. Once `stopped` is set, the model is not asked.
    """
    if is_courtesy(text):
        return Plan(text, read_question(text), refusal=_COURTESY)
    history = _with_pinned(history, text, papers, index)
    alone = standalone(text, history, index)
    if reason := fault(read_question(alone.question)):
        return Plan(alone.question, read_question(alone.question), refusal=reason)
    asked, is_able = alone.question, model is not None and not model.is_small
    until = time.monotonic() + _SECONDS
    if model is not None and is_able and alone.leads:
        asked = rewrite(text, alone.leads, history, model, until=until, stopped=stopped) or asked
    language = language_of(text, index.lexical)
    if language == ENGLISH or "multilingual" in embedder.casefold():
        return Plan(asked, read_question(asked), language, excluded_titles=alone.excluded_titles)
    if model is not None and is_able:
        translated = translate(asked, ENGLISH, model, until=until, stopped=stopped)
        if translated and not fault(read_question(translated)):
            return Plan(translated, read_question(translated), language, excluded_titles=alone.excluded_titles)
    kept = nameable(text, index.lexical)
    notice = language_notice(language, is_searched=bool(kept))
    question = read_question(kept)
    refusal = notice if fault(question) else ""
    return Plan(asked, question, language, () if refusal else (notice,), alone.excluded_titles, refusal)


def _with_pinned(
    turns: Sequence[tuple[str, str]], question: str, papers: PaperFilter | None, index: PaperIndex
) -> Sequence[tuple[str, str]]:
    """For a question limited to one paper: a turn about that paper and the newest of `turns` that answered from it.

    So "what is it about?" points to it. A question that names something and points to nothing is left with `turns`.
    """
    if papers is None or len(papers.ids) != 1 or not (POINTS_BACK.search(question) or not read_question(question).names):
        return turns
    titles = [escaped(index.papers[row].title) for row in catalogue_of(index).columns.rows(papers)]
    others = [at for at, (_, answer) in enumerate(turns) if not any(title in answer for title in titles)]
    return [*((title, f"**{title}** [1]") for title in titles), *turns[max(others, default=-1) + 1 :]]
