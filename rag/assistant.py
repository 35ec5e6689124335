"""The assistant: the one place where the parts are joined. A question goes in, an answer with its evidence comes out."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from rag.answering.abstention import is_answerable
from rag.answering.evidence import PAPERS_READ, choose
from rag.answering.quotes import NAME, answer_with_quotes
from rag.citations import Citation
from rag.coefficients import Coefficients
from rag.errors import IndexMissingError, SourceError, StoreBusyError, StoreFullError, StoreReadOnlyError
from rag.index import PaperIndex
from rag.indexing import Progress, build_index
from rag.papers import Paper
from rag.questions import LONGEST_QUESTION, Question, fault, read_question, standalone
from rag.search import Candidate, Hit, candidates, hit
from rag.settings import Settings
from rag.sources import is_stale, missing_sources, names_other_sources
from rag.text import TEXT_VERSION
from vectorstore.embedder import Embedder, LlamaIndexEmbedding, SentenceTransformerEmbedder, SeparateEmbedder
from vectorstore.encoded import EncodedQuery
from vectorstore.generations import GenerationFolder
from vectorstore.passport import Passport

Status = Literal["answered", "silent", "not_found", "premise", "invalid"]
_HITS = 10
_NEAREST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of a conversation and the text it was answered with."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or an honest refusal.

    `text` is Markdown with markers like [1], empty unless the status is "answered"; every sentence in it carries a citation.
    `notices` are what the program itself says, as a refusal does. `hits` are the papers considered, best first, also
    when nothing was answered. `timings` are seconds per stage. Snapshots of a stream have `is_final` False until the last.
    """

    question: str
    standalone_question: str
    status: Status
    text: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    notices: tuple[str, ...]
    model: str
    timings: Mapping[str, float] = field(default_factory=dict)
    is_final: bool = True


class Assistant:
    """Answers questions over one index. Safe to share between threads; it keeps nothing of any conversation."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        index: PaperIndex,
        coefficients: Coefficients,
        *,
        notices: tuple[str, ...] = (),
    ) -> None:
        """Use `open`. `notices` are what the user should know about the index, for every front end to show."""
        self.settings, self.embedder, self.coefficients, self.notices = settings, embedder, coefficients, notices
        self._index = index
        self._folder = GenerationFolder(settings.store_folder)
        self._reopening = threading.Lock()

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        embedding: LlamaIndexEmbedding | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Opens the index of `settings` (default: the seeds), building it first when it is missing or its sources changed.

        `embedding` is any LlamaIndex BaseEmbedding, used instead of `settings.embedder`. `progress` hears how far building is.
        Raises `PassportMismatchError` when the index was built with something else, and any `SourceError`, `StoreError`
        or `EmbedderError` when it cannot be built or read.
        """
        settings = Settings() if settings is None else settings
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
        return cls(settings, embedder, index, Coefficients.load(), notices=tuple(notices))

    @property
    def papers(self) -> Sequence[Paper]:
        """All papers of the index, in the order of the collection."""
        return self.index.papers

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

    def search(self, query: str, k: int = _HITS) -> list[Hit]:
        """The `k` papers nearest to `query`, best first; empty for a query that holds nothing to search for."""
        if k < 1:
            raise ValueError(f"k is {k}; ask for at least one paper.")
        question = read_question(query)
        if fault(question):
            return []
        index = self.index
        found = candidates(question, self.embedder.encode_query(question.searched), index, self.coefficients, limit=k)
        return [hit(candidate, index, self.coefficients) for candidate in found]

    def ask(self, question: str, history: Sequence[Turn] = ()) -> Answer:
        """Answers `question`; `history` holds the earlier turns of the conversation, oldest first.

        No text raises an error; an index that was deleted or replaced by another kind meanwhile does (`StoreError`).
        """
        *_, last = self.stream(question, history)
        return last

    def stream(self, question: str, history: Sequence[Turn] = ()) -> Iterator[Answer]:
        """Answers in snapshots: first the papers found, last (`is_final`) the answer with its citations."""
        started = time.perf_counter()
        if not isinstance(question, str):
            raise TypeError(f"The question is {question!r}; it must be text.")
        question = question.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate could be neither encoded nor shown
        alone = standalone(question, [(turn.question, turn.answer) for turn in history])
        read = read_question(alone)
        empty = Answer(question, alone, "invalid", "", (), (), (), NAME)
        if reason := fault(read):
            yield replace(empty, notices=(reason,), timings=_timings(read=started))
            return
        index = self.index
        query = self.embedder.encode_query(read.searched)
        encoded = time.perf_counter()
        found = candidates(read, query, index, self.coefficients, limit=_HITS)
        hits = tuple(hit(candidate, index, self.coefficients) for candidate in found)
        searched = time.perf_counter()
        yield replace(empty, status="not_found", hits=hits, is_final=False)
        final = self._answered(replace(empty, hits=hits), read, query, found, index)
        timings = {"encode": encoded - started, "search": searched - encoded, "answer": time.perf_counter() - searched}
        yield replace(final, timings={stage: round(seconds, 6) for stage, seconds in timings.items()})

    def _answered(
        self, empty: Answer, question: Question, query: EncodedQuery, found: Sequence[Candidate], index: PaperIndex
    ) -> Answer:
        notices = (
            [f"Only the first {LONGEST_QUESTION} characters of the question were searched."]
            if len(empty.question) > LONGEST_QUESTION
            else []
        )
        evidence = choose(
            question,
            query,
            found[:PAPERS_READ],
            index,
            self.coefficients,
            max_quotes=self.settings.max_quotes,
            max_papers=self.settings.max_papers,
        )
        if not is_answerable(question, query, found, evidence, index, self.coefficients):
            notices += _refusal(empty.hits, len(index.papers), question)
            return replace(empty, status="not_found", notices=tuple(notices))
        text, citations = answer_with_quotes(question, evidence, index)
        return replace(empty, status="answered", text=text, citations=citations, notices=tuple(notices))


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


def _refusal(hits: Sequence[Hit], papers: int, question: Question) -> list[str]:
    searched = f"None of the {papers} abstracts seems to answer this. Searched for: “{question.searched}”."
    nearest = "; ".join(hit.paper.title for hit in hits[:_NEAREST_NAMED])
    return (
        [searched, f"The nearest papers: {nearest}. Name a method, a task or a number that the abstract would mention."]
        if nearest
        else [searched]
    )


def _timings(**started: float) -> Mapping[str, float]:
    return {stage: round(time.perf_counter() - since, 6) for stage, since in started.items()}
