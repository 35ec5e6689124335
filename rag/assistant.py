"""The assistant: the one place where the parts are joined. A question goes in, an answer with its evidence comes out."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rag.answer import Answer, Status, Turn
from rag.answering.answerers import Answerers
from rag.answering.compose import Found, judged, modelled, quoted
from rag.answering.models import LanguageModel
from rag.answering.specs import QUOTES
from rag.browse import catalogue_of
from rag.coefficients import Coefficients
from rag.embedders import make_embedder
from rag.errors import AskAbstractsError, IndexMissingError, SourceError, StoreBusyError, StoreFullError, StoreReadOnlyError
from rag.filters import PaperFilter
from rag.generation_builder import Progress
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.languages import ENGLISH
from rag.named_collections import require_known
from rag.papers import Paper
from rag.place import place_of
from rag.planning import make_plan
from rag.questions import Question, fault, read_question
from rag.search import Candidate, Hit, candidates, hit
from rag.settings import Settings
from rag.sources import is_stale, missing_sources, names_other_sources
from rag.text import TEXT_VERSION
from vectorstore.embedder import Embedder, LlamaIndexEmbedding
from vectorstore.encoded import EncodedQuery
from vectorstore.passport import Passport
from vectorstore.server_errors import GenerationGoneError

_HITS = 10
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Searched:
    """What was found, in what and with what; `encoded` is when the question was encoded, by the performance counter."""

    embedder: Embedder
    index: PaperIndex
    query: EncodedQuery
    candidates: list[Candidate]
    encoded: float


class Assistant:
    """Answers questions over one index. Safe to share between threads; it keeps nothing of any conversation."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        index: PaperIndex,
        coefficients: Coefficients,
        *,
        answerers: Answerers | None = None,
        notices: tuple[str, ...] = (),
        is_following: bool = True,
    ) -> None:
        """Use `open`. `notices` are what the user should know about the index, for every front end to show; one that is not
        `is_following` stays with `index`, whatever is published.
        """
        self.settings, self.coefficients, self.notices = settings, coefficients, notices
        self._answerers = Answerers(settings) if answerers is None else answerers
        self._serving = (embedder, index)
        self._place = place_of(settings)
        self._reopening = threading.Lock()
        self._refused: Path | None = None
        self._is_following = is_following

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        embedding: LlamaIndexEmbedding | None = None,
        llm: str | object | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Opens the index of `settings` (default: the seeds), building it first when it is missing or its sources changed.

        A named collection that is missing is built only of sources that `settings` name (else: `CollectionError`).

        `embedding` is any LlamaIndex BaseEmbedding, used instead of `settings.embedder`, and `llm` any LlamaIndex LLM, instead of
        `settings.llm`. `progress` hears how far building is. Raises `PassportMismatchError` when the index was built with something
        else, any `SourceError`, `StoreError` or `EmbedderError` when it cannot be built or read, and `AnswererError` when the model
        cannot be used.
        """
        settings = Settings() if settings is None else settings
        settings = settings if llm is None else replace(settings, llm=llm)
        require_known(settings)
        answerers = Answerers(settings)
        place = place_of(settings)
        index: PaperIndex | None = None
        with suppress(IndexMissingError):
            index = place.open(place.current())
        embedder = make_embedder(settings, embedding, index.passport if index is not None else None)
        if index is not None:
            index.passport.require(Passport.of(embedder, text_version=TEXT_VERSION), place=place.folder.folder)
        notices = (
            [f"Not there any more: {path}. Answering from what was indexed." for path in missing_sources(index.sources)]
            if index
            else []
        )
        if index is None or is_stale(index.sources, settings):
            try:
                build_index(settings, embedder, progress=progress)
                index = place.open(place.current())
            except (StoreBusyError, StoreFullError, StoreReadOnlyError, SourceError) as error:
                if index is None or names_other_sources(index.sources, settings):
                    raise
                notices.append(f"The index could not be brought up to date, answering from it as it was. {error}")
        return cls(settings, embedder, index, Coefficients.load(), answerers=answerers, notices=tuple(notices))

    def over(self, settings: Settings, index: PaperIndex) -> "Assistant":
        """An assistant over another index that was made with the same embedder; it shares this one's models."""
        return Assistant(settings, self.embedder, index, self.coefficients, answerers=self._answerers)

    @property
    def papers(self) -> Sequence[Paper]:
        """All papers of the index, in the order of the collection."""
        return self.index.papers

    @property
    def answerers(self) -> tuple[str, ...]:
        """Who can answer: values for `llm` of `ask` and `stream`."""
        return self._answerers.names

    @property
    def answerer(self) -> str:
        """Who answers when nothing else is said."""
        return self._answerers.default

    @property
    def index(self) -> PaperIndex:
        """The generation in use; reopened when another process has published a newer one."""
        return self._current()[1]

    @property
    def embedder(self) -> Embedder:
        """What the generation in use was built with."""
        return self._current()[0]

    def _current(self) -> tuple[Embedder, PaperIndex]:
        """The generation in use and its embedder.

        When another process has swapped in a generation of another embedder, that embedder is loaded beside; the old generation
        goes on serving while it loads, and for good where it cannot be loaded.
        """
        current = self._place.current() if self._is_following else self._serving[1].generation
        if current not in (self._serving[1].generation, self._refused) and self._reopening.acquire(blocking=False):
            is_elsewhere = False
            try:
                newer = self._place.open(current)
                is_elsewhere = newer.passport.embedder != self._serving[1].passport.embedder
                if not is_elsewhere:
                    newer.passport.require(self._serving[1].passport, place=self._place.folder.folder)
                    self._serving = (self._serving[0], newer)  # the old one is let go when the last question that reads it is done
            finally:
                if not is_elsewhere:
                    self._reopening.release()
            if is_elsewhere:
                threading.Thread(target=self._go_over, args=(newer,), name="swap", daemon=True).start()
        return self._serving

    def _go_over(self, newer: PaperIndex) -> None:
        """Goes over to a generation of another embedder, or notes that this cannot be done."""
        try:
            embedder = make_embedder(replace(self.settings, embedder=""), passport=newer.passport)
            newer.passport.require(Passport.of(embedder, text_version=TEXT_VERSION), place=self._place.folder.folder)
            self._serving = (embedder, newer)
        except AskAbstractsError as error:
            self._refused = newer.generation
            _LOG.warning("A newer index was published that cannot be used, answering from the one before. %s", error)
        finally:
            self._reopening.release()

    def search(self, query: str, k: int = _HITS, *, papers: PaperFilter | None = None) -> list[Hit]:
        """The `k` papers nearest to `query`, best first, of those that `papers` takes; empty for a query without a word."""
        if k < 1:
            raise ValueError(f"k is {k}; ask for at least one paper.")
        question = read_question(query)
        if fault(question):
            return []
        searched = self._searched(question, papers, limit=k)
        return [hit(candidate, searched.index, self.coefficients) for candidate in searched.candidates]

    def _searched(self, question: Question, papers: PaperFilter | None, *, limit: int) -> "_Searched":
        """The best candidates; searched once more when the generation in use was replaced, and removed, meanwhile."""
        try:
            return self._searched_once(question, papers, limit=limit)
        except GenerationGoneError:
            return self._searched_once(question, papers, limit=limit)

    def _searched_once(self, question: Question, papers: PaperFilter | None, *, limit: int) -> "_Searched":
        embedder, index = self._current()
        query = embedder.encode_query(question.searched)
        encoded = time.perf_counter()
        found = candidates(question, query, index, self.coefficients, limit=limit, rows=_rows(papers, index))
        return _Searched(embedder, index, query, found, encoded)

    def ask(
        self, question: str, history: Sequence[Turn] = (), *, llm: str | None = None, papers: PaperFilter | None = None
    ) -> Answer:
        """Answers `question`; `history` holds the earlier turns of the conversation, oldest first.

        `llm` is one of `answerers`, by default that of the settings; `papers` says which take part. No text raises an error, and no
        failing model does; an index that was deleted or replaced by another kind meanwhile does (`StoreError`).
        """
        *_, last = self.stream(question, history, llm=llm, papers=papers)
        return last

    def stream(
        self,
        question: str,
        history: Sequence[Turn] = (),
        *,
        llm: str | None = None,
        papers: PaperFilter | None = None,
        max_papers: int | None = None,
        unsupported: str | None = None,
        stopped: threading.Event | None = None,
    ) -> Iterator[Answer]:
        """Answers in snapshots: the papers found; then, with a model, the quotes and what it writes; last (`is_final`) the answer.

        `max_papers` and `unsupported` stand in for the settings of that name. Setting `stopped`, or closing the iterator, ends the
        model's work; a stopped stream ends with the quotes.
        """
        started = time.perf_counter()
        if not isinstance(question, str):
            raise TypeError(f"The question is {question!r}; it must be text.")
        model = self._answerers.model(llm)
        given = {"max_papers": max_papers, "unsupported": unsupported}
        settings = replace(self.settings, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # checked by Settings
        question = question.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate could be neither encoded nor shown
        embedder, index = self._current()
        name = str(embedder.identity.get("model", ""))
        turns = [(turn.question, turn.answer) for turn in history]
        plan = make_plan(question, turns, index, model, embedder=name, papers=papers, stopped=stopped)
        empty = Answer(question, plan.standalone, "invalid", "", (), (), (), QUOTES, collection=settings.collection)
        if plan.refusal:
            status: Status = "not_found" if plan.language != ENGLISH else "invalid"
            yield replace(empty, status=status, notices=(plan.refusal,), timings=_timings(plan=started))
            return
        planned = time.perf_counter()
        search = self._searched(plan.question, papers, limit=_HITS + len(plan.excluded_titles))
        index = search.index
        found = [one for one in search.candidates if index.papers[one.row].title not in plan.excluded_titles][:_HITS]
        hits = tuple(hit(candidate, index, self.coefficients) for candidate in found)
        searched = time.perf_counter()
        stages = {"plan": planned - started, "encode": search.encoded - planned, "search": searched - search.encoded}
        yield replace(empty, status="not_found", hits=hits, is_final=False)
        rows = _rows(papers, index)
        narrowed = None if rows is None else len(rows)
        judgement = judged(plan, search.query, found, index, settings, self.coefficients, narrowed=narrowed)
        for answer in self._answers(replace(empty, hits=hits), judgement, model, settings, search.embedder, stopped):
            if answer.is_final:
                stages["answer"] = time.perf_counter() - searched
                notices = (*filter_notices(papers, index), *answer.notices)
                timings = {stage: round(seconds, 6) for stage, seconds in stages.items()}
                answer = replace(answer, notices=notices, timings=timings)
            yield answer

    def _answers(
        self,
        empty: Answer,
        found: Found,
        model: LanguageModel | None,
        settings: Settings,
        embedder: Embedder,
        stopped: threading.Event | None,
    ) -> Iterator[Answer]:
        """The quotes; then, with a model and something to write about, what it makes of them."""
        quotes = quoted(empty, found)
        is_settled = quotes.status == "not_found" or (model is not None and model.is_small and quotes.status != "answered")
        if model is None or is_settled:
            yield quotes
            return
        yield replace(quotes, is_final=False)
        yield from modelled(quotes, found, model, settings, embedder, self.coefficients, stopped)


def filter_notices(papers: PaperFilter | None, index: PaperIndex) -> tuple[str, ...]:
    """What to say about names in a filter that no paper has."""
    return () if papers is None or papers.is_empty else catalogue_of(index).columns.notices(papers)


def _rows(papers: PaperFilter | None, index: PaperIndex) -> NDArray[np.intp] | None:
    return None if papers is None or papers.is_empty else catalogue_of(index).columns.rows(papers)


def _timings(**started: float) -> Mapping[str, float]:
    return {stage: round(time.perf_counter() - since, 6) for stage, since in started.items()}
