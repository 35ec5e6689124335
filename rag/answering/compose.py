"""The parts of an answer put together: quotes or a model's verified sentences, the status, and what the program itself says."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answer import Answer
from rag.answering import said
from rag.answering.abstention import Verdict, judge
from rag.answering.evidence import choose, has_number, named_rows, terms_of
from rag.answering.llm import make_prompt
from rag.answering.model_answer import Written, write_answer
from rag.answering.models import LanguageModel
from rag.answering.quotes import answer_with_quotes
from rag.answering.replies import StoppedError
from rag.coefficients import Coefficients
from rag.errors import AnswererError
from rag.index import PaperIndex
from rag.planning import Plan
from rag.questions import LONGEST_QUESTION
from rag.search import Candidate
from rag.settings import Settings
from rag.verification import Verifier
from vectorstore.embedder import Embedder
from vectorstore.encoded import EncodedQuery

_NEAREST_NAMED = 3
_SAID = {"silent": said.SILENT, "premise": said.PREMISE}


@dataclass(frozen=True, slots=True)
class Found:
    """A search that is done: what was planned, what was found, and the verdict on it; `narrowed` is how many papers a filter let in."""

    plan: Plan
    candidates: Sequence[Candidate]
    verdict: Verdict
    index: PaperIndex
    narrowed: int | None = None

    @property
    def searched(self) -> int:
        """How many papers took part."""
        return len(self.index.papers) if self.narrowed is None else self.narrowed


def judged(
    plan: Plan,
    query: EncodedQuery,
    found: Sequence[Candidate],
    index: PaperIndex,
    settings: Settings,
    coefficients: Coefficients,
    *,
    narrowed: int | None = None,
) -> Found:
    """Chooses the evidence among the found papers, of those that a filter `narrowed` the index to, and judges whether it answers."""
    evidence = choose(
        plan.question,
        query,
        found,
        index,
        coefficients,
        max_quotes=settings.max_quotes,
        max_papers=settings.max_papers,
    )
    return Found(plan, found, judge(plan.question, query, found, evidence, index, coefficients), index, narrowed)


def quoted(empty: Answer, found: Found) -> Answer:
    """The answer in exact quotes, or the refusal."""
    verdict, index = found.verdict, found.index
    notices = list(found.plan.notices)
    if len(empty.question) > LONGEST_QUESTION:
        notices.append(said.TOO_LONG.format(characters=LONGEST_QUESTION))
    if verdict.status == "not_found":
        nearest = [hit.paper.title for hit in empty.hits[:_NEAREST_NAMED]]
        notices += said.refusal(nearest, found.plan.question.searched, searched=found.searched, papers=len(index.papers))
        return replace(empty, status="not_found", notices=tuple(notices))
    if verdict.status in _SAID:
        notices.append(_SAID[verdict.status])
    text, citations = answer_with_quotes(found.plan.question, verdict.evidence, index)
    return replace(empty, status=verdict.status, text=text, citations=citations, notices=tuple(notices))


def modelled(
    quotes: Answer,
    found: Found,
    model: LanguageModel,
    settings: Settings,
    embedder: Embedder,
    coefficients: Coefficients,
    stopped: threading.Event | None,
) -> Iterator[Answer]:
    """What `model` makes of the evidence, in snapshots; the last is final. `quotes` stand until its first verified sentence, and in
    its place when it fails, is stopped, or writes nothing that is supported."""
    named = named_rows(found.plan.question, found.candidates, found.index)
    try:
        prompt = make_prompt(
            found.plan.standalone, found.verdict.evidence, found.candidates, found.index, model,
            max_papers=settings.max_papers, named=named,
        )  # fmt: skip
        verifier = Verifier(prompt.shown, found.index, embedder, coefficients)
        for written in write_answer(
            prompt, model, verifier, language=found.plan.language, show_unsupported=settings.unsupported == "show",
            timeout_seconds=settings.llm_timeout_seconds, stopped=stopped,
        ):  # fmt: skip
            if written.is_final:
                yield _finished(quotes, written, len(prompt.shown), found, model)
            else:
                yield _growing(quotes, written, found, model)
    except AnswererError as failure:
        yield _finished(quotes, Written(failure=str(failure)), 0, found, model)
    except StoppedError:
        yield replace(quotes, notices=(*quotes.notices, said.STOPPED.format(model=model.name)))


def _growing(quotes: Answer, written: Written, found: Found, model: LanguageModel) -> Answer:
    if not written.citations or _verdict_stands(quotes, written, found):
        return replace(quotes, is_final=False, draft=written.draft)
    return replace(
        quotes,
        status="answered",
        text=written.text,
        citations=written.citations,
        model=model.name,
        is_final=False,
        draft=written.draft,
    )


def _finished(quotes: Answer, written: Written, shown: int, found: Found, model: LanguageModel) -> Answer:
    notices = list(found.plan.notices)
    if written.failure and not written.citations:
        return replace(quotes, notices=(*quotes.notices, f"{written.failure} {said.WITHOUT_IT}"))
    told = said.SHOWN.format(model=model.name, shown=shown, papers=found.searched)
    if written.is_not_stated:
        status = quotes.status if quotes.status == "premise" else "silent"
        before = quotes.notices if quotes.status in _SAID else (*quotes.notices, said.SILENT)
        return replace(quotes, status=status, notices=(*before, f"{told} {said.FOUND_NONE}"))
    if _verdict_stands(quotes, written, found):
        return replace(quotes, notices=(*quotes.notices, f"{told} {said.DOES_NOT_HOLD}"))
    if written.failure:
        told += f" {written.failure} {said.REST_IS_MISSING}"
    if written.dropped:
        dropped = said.ONE_DROPPED if written.dropped == 1 else said.SOME_DROPPED.format(count=written.dropped)
        told += f" {dropped}"
    if written.in_english:
        told += f" The answer, or {written.in_english} of its sentences, is in English: no translation of it could be verified."
    is_premise = written.is_wrong_premise or quotes.status == "premise"
    if is_premise:
        notices.append(said.PREMISE)
    return replace(
        quotes,
        status="premise" if is_premise else "answered",
        text=written.text,
        citations=written.citations,
        notices=(*notices, told),
        model=model.name,
    )


def _verdict_stands(quotes: Answer, written: Written, found: Found) -> bool:
    """Whether the verdict on the evidence stands against what a model wrote.

    That the question assumes something wrong stands unless the model cites the sentence that says so. That the abstract is silent
    stands unless the model cites another sentence than the nearest, which holds most of what the question asks beyond the paper's
    name and the nearest sentence, and a figure where a number is asked for.
    """
    cited, quoted_before = ({(one.paper.id, one.start) for one in each.citations} for each in (written, quotes))
    if quotes.status == "premise":
        return not cited & quoted_before
    if quotes.status != "silent":
        return False
    question = found.plan.question
    known = [*question.names, *(text for one in quotes.citations for text in (one.paper.title, one.quote))]
    asked = set(question.terms).difference(*(terms_of(text) for text in known))
    others = [one.quote for one in written.citations if (one.paper.id, one.start) not in quoted_before]
    return not any(
        2 * len(asked & set(terms_of(quote))) > len(asked) and ("number" not in question.cues or has_number(quote))
        for quote in others
    )
