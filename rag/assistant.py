"""The assistant: the one place where the parts are joined. A question goes in, an answer with its evidence comes out."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rag.answer import Answer, Status, Turn
from rag.answering.answerers import Answerers
from rag.answering.compose import Found, judged, modelled, quoted
from rag.answering.models import LanguageModel
from rag.answering.specs import QUOTES
from rag.coefficients import Coefficients
from rag.errors import IndexMissingError, SourceError, StoreBusyError, StoreFullError, StoreReadOnlyError
from rag.filters import PaperFilter
from rag.index import PaperIndex
from rag.indexing import Progress, build_index
from rag.languages import ENGLISH
from rag.papers import Paper
from rag.planning import make_plan
from rag.questions import fault, read_question
from rag.search import Hit, candidates, hit
from rag.settings import Settings
from rag.sources import is_stale, missing_sources, names_other_sources
from rag.text import TEXT_VERSION
from vectorstore.embedder import Embedder, LlamaIndexEmbedding, SentenceTransformerEmbedder, SeparateEmbedder
from vectorstore.generations import GenerationFolder
from vectorstore.passport import Passport

_HITS = 10


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
    ) -> None:
        """Use `open`. `notices` are what the user should know about the index, for every front end to show."""
        self.settings, self.embedder, self.coefficients, self.notices = settings, embedder, coefficients, notices
        self._answerers = Answerers(settings) if answerers is None else answerers
        self._index = index
        self._folder = GenerationFolder(settings.store_folder)
        self._reopening = threading.Lock()

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

        `embedding` is any LlamaIndex BaseEmbedding, used instead of `settings.embedder`, and `llm` any LlamaIndex LLM, instead of
        `settings.llm`. `progress` hears how far building is. Raises `PassportMismatchError` when the index was built with something
        else, any `SourceError`, `StoreError` or `EmbedderError` when it cannot be built or read, and `AnswererError` when the model
        cannot be used.
        """
        settings = Settings() if settings is None else settings
        settings = settings if llm is None else replace(settings, llm=llm)
        answerers = Answerers(settings)
        embedder = make_embedder(settings, embedding)
        folder = GenerationFolder(settings.store_folder)
        index: PaperIndex | None = None
        try:
            index = PaperIndex.open(folder.current())
            index.passport.require(Passport.of(embedder, text_version=TEXT_VERSION), place=folder.folder)
        except IndexMissingError:
            pass
        notices = (
            [f"Not there any more: {path}. Answering from what was indexed." for path in missing_sources(index.sources)]
            if index
            else []
        )
        if index is None or is_stale(index.sources, settings):
            try:
                build_index(settings, embedder, progress=progress)
                index = PaperIndex.open(folder.current())
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
        with self._reopening:
            current = self._folder.current()
            if current != self._index.generation:
                newer = PaperIndex.open(current)
                newer.passport.require(self._index.passport, place=self._folder.folder)
                self._index = newer  # the old one is let go when the last question that reads it is done
            return self._index

    def search(self, query: str, k: int = _HITS, *, papers: PaperFilter | None = None) -> list[Hit]:
        """The `k` papers nearest to `query`, best first, of those that `papers` takes; empty for a query without a word."""
        if k < 1:
            raise ValueError(f"k is {k}; ask for at least one paper.")
        question = read_question(query)
        if fault(question):
            return []
        index = self.index
        found = candidates(
            question, self.embedder.encode_query(question.searched), index, self.coefficients, limit=k, rows=_rows(papers, index)
        )
        return [hit(candidate, index, self.coefficients) for candidate in found]

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
        index = self.index
        name = str(self.embedder.identity.get("model", ""))
        turns = [(turn.question, turn.answer) for turn in history]
        plan = make_plan(question, turns, index, model, embedder=name, papers=papers, stopped=stopped)
        empty = Answer(question, plan.standalone, "invalid", "", (), (), (), QUOTES)
        if plan.refusal:
            status: Status = "not_found" if plan.language != ENGLISH else "invalid"
            yield replace(empty, status=status, notices=(plan.refusal,), timings=_timings(plan=started))
            return
        planned = time.perf_counter()
        query = self.embedder.encode_query(plan.question.searched)
        encoded = time.perf_counter()
        limit = _HITS + len(plan.excluded_titles)
        found = [
            candidate
            for candidate in candidates(plan.question, query, index, self.coefficients, limit=limit, rows=_rows(papers, index))
            if index.papers[candidate.row].title not in plan.excluded_titles
        ][:_HITS]
        hits = tuple(hit(candidate, index, self.coefficients) for candidate in found)
        searched = time.perf_counter()
        stages = {"plan": planned - started, "encode": encoded - planned, "search": searched - encoded}
        yield replace(empty, status="not_found", hits=hits, is_final=False)
        judgement = judged(plan, query, found, index, settings, self.coefficients)
        for answer in self._answers(replace(empty, hits=hits), judgement, model, settings, stopped):
            if answer.is_final:
                stages["answer"] = time.perf_counter() - searched
                answer = replace(answer, timings={stage: round(seconds, 6) for stage, seconds in stages.items()})
            yield answer

    def _answers(
        self,
        empty: Answer,
        found: Found,
        model: LanguageModel | None,
        settings: Settings,
        stopped: threading.Event | None,
    ) -> Iterator[Answer]:
        """The quotes; then, with a model and something to write about, what it makes of them."""
        quotes = quoted(empty, found)
        is_settled = quotes.status == "not_found" or (model is not None and model.is_small and quotes.status != "answered")
        if model is None or is_settled:
            yield quotes
            return
        yield replace(quotes, is_final=False)
        yield from modelled(quotes, found, model, settings, self.embedder, self.coefficients, stopped)


def make_embedder(settings: Settings, embedding: LlamaIndexEmbedding | None = None) -> Embedder:
    """The embedder that `settings` name, or the given LlamaIndex object. Raises `EmbedderError`."""
    if embedding is not None:
        return SeparateEmbedder(embedding)
    return SentenceTransformerEmbedder(
        settings.embedder,
        query_prefix=settings.query_prefix,
        passage_prefix=settings.passage_prefix,
        window=settings.window_tokens,
        batch_size=settings.batch_size,
        device=settings.device,
    )


def _rows(papers: PaperFilter | None, index: PaperIndex) -> NDArray[np.intp] | None:
    return None if papers is None or papers.is_empty else papers.rows(index.papers)


def _timings(**started: float) -> Mapping[str, float]:
    return {stage: round(time.perf_counter() - since, 6) for stage, since in started.items()}
