"""What a visitor sees of the Papers tab, as plain data, and what each action makes of it.

The data goes through a visitor's browser and comes back, so nothing in it is trusted: what is not of the right kind is left out.
Knows no Gradio and no HTML.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rag.browse import LONGEST_QUERY, SORT_COLUMNS, SortColumn
from rag.filters import PaperFilter
from rag.papers import Paper

FIRST_YEAR, LAST_YEAR = 1000, 9999  # a shorter number is a year still being typed
_PAPER_ID = re.compile(r"[0-9a-f]{16}")
_MOST_NAMES, _LONGEST_NAME = 1000, 500
_LAST_PAGE = 10**6


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at: a page of the sorted list, or the `paper` of that id; `is_comparing` shows papers like it.

    `basis` tells the index and the language that the page was last drawn from; it is "" on a page that was not drawn yet.
    """

    query: str = ""
    sort: SortColumn = "title"
    descending: bool = False
    page: int = 1
    paper: str = ""
    is_comparing: bool = False
    basis: str = ""


def is_paper_id(value: object) -> bool:
    """Whether `value` has the form of a paper's id."""
    return isinstance(value, str) and _PAPER_ID.fullmatch(value) is not None


def filter_from(data: object) -> PaperFilter:
    """The filter in plain data, as `filter_as_data` made it; what is not of the right kind is left out."""
    given = data if isinstance(data, Mapping) else {}
    return PaperFilter(
        venues=_names(given.get("venues")),
        first_year=year_from(given.get("first_year")),
        last_year=year_from(given.get("last_year")),
        files=_names(given.get("files")),
        authors=_names(given.get("authors")),
        ids=frozenset(name for name in _names(given.get("ids")) if is_paper_id(name)),
    )


def filter_as_data(filter: PaperFilter) -> dict[str, Any]:
    """A filter as what JSON can hold."""
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in asdict(filter).items()}


def view_from(data: object) -> View:
    """The view in plain data, as `dataclasses.asdict` made it; what is not of the right kind has its default."""
    given = data if isinstance(data, Mapping) else {}
    query, sort, page, paper, basis = (given.get(name) for name in ("query", "sort", "page", "paper", "basis"))
    return View(
        query=query[:LONGEST_QUERY] if isinstance(query, str) else "",
        sort=_column(sort),
        descending=given.get("descending") is True,
        page=_page(page),
        paper=str(paper) if is_paper_id(paper) else "",
        is_comparing=given.get("is_comparing") is True,
        basis=basis[:_LONGEST_NAME] if isinstance(basis, str) else "",
    )


def year_from(value: object) -> int | None:
    """A year of four digits; None for anything else."""
    is_year = isinstance(value, (int, float)) and not isinstance(value, bool) and FIRST_YEAR <= value <= LAST_YEAR
    is_year = is_year and value == int(value)  # type: ignore[call-overload]  # a number, as just checked
    return int(value) if is_year else None  # type: ignore[call-overload]  # a number, as just checked


def is_no_year(value: object) -> bool:
    """Whether what stands in a box for a year is a number that none begins with."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and year_from(value) is None and value not in range(FIRST_YEAR)


def after_action(
    action: Mapping[str, Any], view: View, filter: PaperFilter, paper_of: Callable[[str], Paper | None]
) -> tuple[View, PaperFilter]:
    """What is looked at and asked after a click; `paper_of` knows the papers there are. A click that makes no sense changes nothing."""
    name = action.get("action")
    if name == "clear-filters":
        return replace(view, page=1), PaperFilter()
    if name == "list":
        return replace(view, paper="", is_comparing=False), filter
    if name == "sort" and action.get("column") in SORT_COLUMNS:
        column = _column(action["column"])
        return replace(view, sort=column, descending=view.sort == column and not view.descending, page=1), filter
    if name == "page":
        return replace(view, page=_page(action.get("page"))), filter
    id_ = action.get("paper")
    paper = paper_of(str(id_)) if is_paper_id(id_) else None
    if paper is None:
        return view, filter
    if name in ("paper", "similar"):
        return replace(view, paper=paper.id, is_comparing=name == "similar"), filter
    return view, _pinned(str(name), paper, filter)


def _pinned(action: str, paper: Paper, filter: PaperFilter) -> PaperFilter:
    """The filter with a paper added or taken away; conditions that an added paper does not meet go, for they would leave nothing."""
    if action == "unpin":
        return replace(filter, ids=filter.ids - {paper.id})
    if action not in ("pin", "add"):
        return filter
    ids = frozenset({paper.id}) if action == "pin" else filter.ids | {paper.id}
    return replace(filter, ids=ids) if replace(filter, ids=frozenset()).takes(paper) else PaperFilter(ids=ids)


def _names(values: object) -> frozenset[str]:
    kept = values[:_MOST_NAMES] if isinstance(values, (list, tuple)) else ()
    return frozenset(value for value in kept if isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME)


def _column(value: object) -> SortColumn:
    return next((column for column in SORT_COLUMNS if column == value), SORT_COLUMNS[0])


def _page(value: object) -> int:
    text = str(value)
    return min(max(1, int(text)), _LAST_PAGE) if re.fullmatch(r"[0-9]{1,9}", text) else 1
