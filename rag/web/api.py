"""The collection for programs: questions, searches and the list of papers as plain data, as endpoints of the page.

The same three functions are endpoints of Gradio's API here and tools of the MCP server. What comes in is checked here, as it
comes from programs of others. Knows nothing of the page itself.
"""

import functools
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import gradio as gr

from rag.answer import Turn
from rag.as_json import answer_as_json, hit_as_json, paper_as_json
from rag.assistant import Assistant
from rag.browse import catalogue_of
from rag.errors import AskAbstractsError
from rag.filter_expressions import LONGEST_FILTER, parse_filter
from rag.filters import PaperFilter
from rag.library import Library
from rag.questions import LONGEST_QUESTION
from rag.web.options import PageOptions

ENDPOINTS = ("ask", "search", "papers")
MOST_TURNS, MOST_HITS, MOST_LISTED, MOST_NAMES, MOST_CONDITIONS = 50, 100, 1000, 1000, 50
_LONGEST_NAME = 500  # characters of an id, a venue, an answerer
_LONGEST_ANSWER = 100_000  # characters of an earlier answer
_OWN_FAULT = "This call met a fault of AskAbstracts, not of yours. The operator's log holds the details."
_log = logging.getLogger(__name__)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Programs:
    """What programs can do with the collections, a bounded number of them at once. All raise `AskAbstractsError` for a wrong argument."""

    library: Library
    max_concurrency: int
    _turns: threading.BoundedSemaphore = field(init=False)
    _closing: threading.Event = field(init=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_turns", threading.BoundedSemaphore(self.max_concurrency))

    def close(self) -> None:
        """Ends what runs: an answer that a model is writing becomes the quotes."""
        self._closing.set()

    def ask(
        self,
        question: str,
        history: list[dict[str, str]] | None = None,
        papers: list[str] | None = None,
        venues: list[str] | None = None,
        first_year: int | None = None,
        last_year: int | None = None,
        answerer: str | None = None,
        where: list[str] | None = None,
        collection: str = "",
    ) -> dict[str, Any]:
        """Answers a question from the paper abstracts of this collection. Every sentence of the answer rests on an exact quote; what
        the collection does not hold is said to be missing.

        Args:
            question: The question, in plain words; it may refer to what was said before.
            history: The earlier turns of the conversation, oldest first, each {"question": ..., "answer": ...}, with the texts of the answers.
            papers: Ids of the only papers to consider, as search and papers return them. Leave out for all.
            venues: Only papers of these venues.
            first_year: Only papers of this year or later.
            last_year: Only papers of this year or earlier.
            answerer: Who answers: "quotes" for exact sentences without a language model, or a model this server offers. Leave out for the server's choice.
            where: Conditions, all to be met: "year>=2020", "year=2019..2021", "venue=ICML", "author=Hinton", "file=a.txt", "title~word", "year!=2020".
            collection: The collection to ask. Leave out for the server's own.

        Returns:
            The answer: status ("answered", "silent", "not_found", "premise" or "invalid"), text as Markdown with markers like [1],
            citations (number, paper, title, quote and its place in the abstract), hits (papers considered), notices, model, timings and collection.
        """
        _require_text("question", question, longest=LONGEST_QUESTION)
        turns = _turns(history)
        if answerer is not None:
            _require_text("answerer", answerer, longest=_LONGEST_NAME)
        assistant = self._assistant(collection)
        taken = _narrowed(_parsed(where), _texts("papers", papers), _texts("venues", venues), first_year, last_year, assistant)
        with self._turns:
            *_, answer = assistant.stream(question, turns, llm=answerer, papers=taken, stopped=self._closing)
        return answer_as_json(answer)

    def search(self, query: str, k: int = 10, where: list[str] | None = None, collection: str = "") -> list[dict[str, Any]]:
        """Lists the papers nearest to a query, best first, each with its nearest sentences.

        Args:
            query: A topic, a method, a title or a question.
            k: How many papers, 1 to 100.
            where: Conditions on the papers, as in ask.
            collection: The collection to search. Leave out for the server's own.

        Returns:
            The papers: paper (its id), title, score from 0 to 1, sources, sentences (text, start and end in the abstract, score).
        """
        _require_text("query", query, longest=LONGEST_QUESTION)
        _require_number("k", k, 1, MOST_HITS)
        assistant, taken = self._assistant(collection), _parsed(where)
        with self._turns:
            return [hit_as_json(hit) for hit in assistant.search(query, k, papers=taken)]

    def papers(
        self, start: int = 0, count: int = 100, abstracts: bool = False, where: list[str] | None = None, collection: str = ""
    ) -> dict[str, Any]:
        """Lists the papers of a collection, in its order.

        Args:
            start: How many papers to leave out at the beginning.
            count: How many papers to list, 1 to 1000.
            abstracts: Whether to add the abstract of each.
            where: Conditions on the papers, as in ask.
            collection: The collection to list. Leave out for the server's own.

        Returns:
            total (how many papers there are, or meet the conditions) and papers: id, title, authors, year, venue, urls, sources, and abstract if asked for.
        """
        _require_number("start", start, 0, 10**9)
        _require_number("count", count, 1, MOST_LISTED)
        index, taken = self._assistant(collection).index, _parsed(where)
        rows = range(len(index.papers)) if taken.is_empty else catalogue_of(index).columns.rows(taken).tolist()
        listed = [paper_as_json(index.papers[row]) for row in rows[start : start + count]]
        if not abstracts:
            listed = [{name: value for name, value in paper.items() if name != "abstract"} for paper in listed]
        return {"total": len(rows), "papers": listed}

    def _assistant(self, collection: object) -> Assistant:
        _require_text("collection", collection, longest=_LONGEST_NAME)
        return self.library.assistant(str(collection))


def _parsed(where: object) -> PaperFilter:
    if where is None:
        return PaperFilter()
    if not isinstance(where, list) or len(where) > MOST_CONDITIONS:
        raise AskAbstractsError(f'where must be a list of at most {MOST_CONDITIONS} conditions, such as ["year>=2020"].')
    for text in where:
        _require_text("where", text, longest=LONGEST_FILTER)
    return parse_filter(where)


def _narrowed(
    taken: PaperFilter,
    ids: frozenset[str],
    venues: frozenset[str],
    first_year: int | None,
    last_year: int | None,
    assistant: Assistant,
) -> PaperFilter:
    """A filter with further conditions, given one by one."""
    for name, year in (("first_year", first_year), ("last_year", last_year)):
        if year is not None:
            _require_number(name, year, 0, 9999)
    unknown = sorted(ids - assistant.index.row_of.keys()) if ids else []
    if unknown:
        raise AskAbstractsError(f"No paper has the id {unknown[0][:100]!r}. Take ids from search or papers.")
    first, last = (
        [year for year in years if year is not None] for years in ((taken.first_year, first_year), (taken.last_year, last_year))
    )
    return replace(
        taken, ids=ids, venues=taken.venues | venues, first_year=max(first, default=None), last_year=min(last, default=None)
    )


def register(page: gr.Blocks, library: Library, options: PageOptions) -> None:
    """Adds the `ENDPOINTS` to `page`, and has it forget a visit's data when the visit ends.

    To be called once, first of all inside `with page:`; the names of the page's own events would else come before these.
    """
    programs = Programs(library, options.max_concurrency)
    options.closers.append(programs.close)
    for function in (programs.ask, programs.search, programs.papers):
        # Gradio documents an endpoint by the function's own signature and docstring.
        gr.api(
            telling(function, _gradio_error),
            api_name=function.__name__,
            concurrency_id="ask" if function == programs.ask else function.__name__,
            concurrency_limit=options.max_concurrency,
        )
    missing = set(ENDPOINTS) - {event.api_name for event in page.fns.values()}
    if missing:
        raise RuntimeError(
            f"The page has events of its own named {', '.join(sorted(missing))}. Call register before it makes them."
        )

    def forget(request: gr.Request) -> None:
        _forget(page, str(request.session_hash))

    page.unload(forget)


def telling(function: Callable[_Given, _Result], make_error: Callable[[str], Exception]) -> Callable[_Given, _Result]:
    """`function` with its errors as those of a protocol: a wrong argument is explained, a fault of ours logged and not shown."""

    @functools.wraps(function)
    def told(*arguments: _Given.args, **named: _Given.kwargs) -> _Result:
        try:
            return function(*arguments, **named)
        except AskAbstractsError as error:
            raise make_error(str(error)) from error
        except Exception as error:
            _log.exception("A call of %s failed.", function.__name__)
            raise make_error(_OWN_FAULT) from error

    return told


def _gradio_error(message: str) -> Exception:
    error: Exception = gr.Error(message, print_exception=False)
    return error


def _forget(page: gr.Blocks, session: str) -> None:
    """Drops what Gradio keeps of a visit that has ended; by itself it would for an hour, and the messages for longer."""
    page.state_holder.session_data.pop(session, None)
    page.state_holder.time_last_used.pop(session, None)
    page._queue.pending_messages_per_session.pop(session, None)


def _turns(history: object) -> list[Turn]:
    if history is None:
        return []
    if not isinstance(history, list) or len(history) > MOST_TURNS:
        raise AskAbstractsError(f"history must be a list of at most {MOST_TURNS} turns.")
    turns = []
    for turn in history:
        if not isinstance(turn, dict) or set(turn) != {"question", "answer"}:
            raise AskAbstractsError('Each turn of history must be {"question": ..., "answer": ...}.')
        _require_text("question", turn["question"], longest=LONGEST_QUESTION)
        _require_text("answer", turn["answer"], longest=_LONGEST_ANSWER)
        turns.append(Turn(turn["question"], turn["answer"]))
    return turns


def _texts(name: str, given: object) -> frozenset[str]:
    if given is None:
        return frozenset()
    if not isinstance(given, list) or len(given) > MOST_NAMES:
        raise AskAbstractsError(f"{name} must be a list of at most {MOST_NAMES} texts.")
    for text in given:
        _require_text(name, text, longest=_LONGEST_NAME)
    return frozenset(given)


def _require_text(name: str, given: object, *, longest: int) -> None:
    if not isinstance(given, str):
        raise AskAbstractsError(f"{name} must be text, not {type(given).__name__}.")
    if len(given) > longest:
        raise AskAbstractsError(f"{name} has {len(given)} characters; at most {longest} are read.")


def _require_number(name: str, given: object, low: int, high: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        raise AskAbstractsError(f"{name} must be a whole number from {low} to {high}.")
