"""The Papers tab to HTML: the table of papers with its pager, a paper's page, the papers like it, the active filters in words.

What can be clicked carries data-action and what it is about; the tab listens. Everything that comes from a file is escaped here
or in rich_text.py. Knows no Gradio.
"""

import html
from collections.abc import Iterable, Sequence

from rag.browse import Choices, Listing, SortColumn
from rag.filters import PaperFilter
from rag.papers import Paper
from rag.web.papers_texts import Language, tell
from rag.web.papers_view import View, is_no_year, is_paper_id
from rag.web.rich_text import link_html, rich_text

_LONGEST_TITLE = 300  # characters in lists; a paper's page has the whole
_SHOWN_NAMES = 3


def table_html(
    listing: Listing, view: View, filter: PaperFilter, *, choices: Choices, all_papers: int, language: Language = "en"
) -> str:
    """A page of the sorted papers, or why there is none. Columns that no paper of the collection fills are left out."""
    if not listing.rows:
        said = (
            f"<strong>{tell('papers_none_found', language)}</strong> {tell('papers_try', language)}"
            if all_papers
            else tell("papers_none_here", language)
        )
        return f'<p class="papers-empty">{said}</p>'
    columns = [
        "title",
        *(["authors"] if choices.has_authors else []),
        *(["venue"] if choices.venues else []),
        *(["year"] if choices.first_year is not None else []),
        "source",
    ]
    heads = "".join(_head(column, view, language) for column in columns)
    rows = "".join(_row(paper, columns, is_pinned=paper.id in filter.ids, language=language) for paper in listing.rows)
    return (
        f'<table class="papers" role="table"><caption>{_counted(listing.total, all_papers, language)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead><tbody role="rowgroup">{rows}</tbody></table>'
        f"{pager_html(listing, language=language)}"
    )


def pager_html(listing: Listing, *, language: Language = "en") -> str:
    """Buttons to the other pages; nothing when there is one page."""
    if listing.pages == 1:
        return ""
    page, last = listing.page, listing.pages
    places = [
        ("papers_first", "«", 1),
        ("papers_previous", "‹", page - 1),
        ("papers_next", "›", page + 1),
        ("papers_last", "»", last),
    ]
    first, previous, following, final = (
        f'<button type="button" data-action="page" data-page="{place}" aria-label="{tell(key, language)}"'
        f"{' disabled' * (place == page or not 1 <= place <= last)}>{sign}</button>"
        for key, sign, place in places
    )
    said = f"<span>{tell('papers_page', language, page=f'{page:,}', pages=f'{last:,}')}</span>"
    return f'<nav class="pager" aria-label="{tell("papers_pages", language)}">{first}{previous}{said}{following}{final}</nav>'


def paper_html(
    paper: Paper, filter: PaperFilter, *, similar: Sequence[tuple[Paper, float]] | None = None, language: Language = "en"
) -> str:
    """A paper's page with its whole abstract; `similar` are the papers like it with their similarities, None before it is asked."""
    note = "" if paper.has_given_title else f'<p class="derived">{tell("papers_untitled", language)}</p>'
    known = " · ".join(html.escape(part) for part in (", ".join(paper.authors), paper.venue, str(paper.year or "")) if part)
    about = f'<p class="about">{known}</p>' if known else ""
    facts = _fact("papers_found_at", ", ".join(html.escape(source) for source in paper.sources), language)
    facts += _fact("papers_links", " · ".join(link_html(url) for url in paper.urls), language)
    likes = "" if similar is None else _similar_html(similar, language)
    return (
        f'<article class="paper-page"><p><button type="button" class="back" data-action="list">← {tell("papers_back", language)}</button></p>'
        f'<h2 tabindex="-1" data-landing="{_id(paper)}">{html.escape(paper.title)}</h2>{note}{about}'
        f'<div class="paper-tools">{_pin_buttons(paper, filter, language)}'
        f"{_button('similar', paper, 'papers_similar', language) if similar is None else ''}</div>"
        f'<h3 class="unseen">{tell("papers_abstract", language)}</h3><p class="whole-abstract">{rich_text(paper.abstract)}</p>'
        f"<dl>{facts}</dl>{likes}</article>"
    )


def filter_chips_html(filter: PaperFilter, papers: Sequence[Paper], total: int, language: Language = "en") -> str:
    """The active filters in words, that they leave `total` of `papers`, and a button that clears them; "" when there are none."""
    if filter.is_empty:
        return ""
    key = "papers_asking" if total else "papers_asking_none"
    chips = "".join(f'<span class="chip">{html.escape(text)}</span>' for text in _conditions(filter, papers, language))
    return (
        f'<div class="filter-chips" role="group" aria-label="{tell("papers_filters", language)}">'
        f"<span>{tell(key, language, total=f'{total:,}', all=f'{len(papers):,}')}</span> {chips} "
        f'<button type="button" data-action="clear-filters">{tell("papers_clear", language)}</button></div>'
    )


def _conditions(filter: PaperFilter, papers: Sequence[Paper], language: Language) -> list[str]:
    """Each condition of a filter in words."""
    said = []
    if len(filter.ids) == 1:
        titles = [paper.title for paper in papers if paper.id in filter.ids]
        said.append(f"“{_cut(titles[0], 90)}”" if titles else tell("papers_this", language))
    elif filter.ids:
        said.append(tell("papers_these", language, count=len(filter.ids)))
    if filter.venues:
        said.append(_named(sorted(filter.venues), language))
    first, last = filter.first_year, filter.last_year
    if first is not None and first == last:
        said.append(str(first))
    elif first is not None or last is not None:
        key = "papers_from" if last is None else "papers_to" if first is None else "papers_from_to"
        said.append(tell(key, language, first=first, last=last))
    if filter.authors:
        said.append(tell("papers_by", language, authors=_named(sorted(filter.authors), language)))
    if filter.files:
        said.append(tell("papers_in_file", language, files=_named(sorted(filter.files), language)))
    return said


def _named(names: Sequence[str], language: Language) -> str:
    """The first names, and how many there are besides."""
    shown = ", ".join(_cut(name, 60) for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return f"{shown} {tell('papers_more', language, count=more)}" if more > 0 else shown


def _counted(total: int, all_papers: int, language: Language) -> str:
    if total < all_papers:
        return tell("papers_count", language, total=f"{total:,}", all=f"{all_papers:,}")
    return tell("papers_one", language) if total == 1 else tell("papers_all", language, all=f"{total:,}")


def _head(column: SortColumn | str, view: View, language: Language) -> str:
    """The head of a column, a button where the table can be sorted by it."""
    name = tell(f"papers_{column}", language)
    if column == "authors":
        return f'<th scope="col" role="columnheader" class="authors">{name}</th>'
    is_sorted = view.sort == column
    state = f' aria-sort="{"descending" if view.descending else "ascending"}"' if is_sorted else ""
    arrow = f' <span aria-hidden="true">{"▼" if view.descending else "▲"}</span>' if is_sorted else ""
    return (
        f'<th scope="col" role="columnheader" class="{column}"{state}>'
        f'<button type="button" data-action="sort" data-column="{column}" title="{tell("papers_sort", language)}: {name}">{name}{arrow}</button></th>'
    )


def _row(paper: Paper, columns: Sequence[str], *, is_pinned: bool, language: Language) -> str:
    mark = f' <span class="pinned">{tell("papers_pinned", language)}</span>' if is_pinned else ""
    more = len(paper.sources) - 1
    cells = {
        "title": f"{_paper_link(paper)}{mark}",
        "authors": html.escape(_named(paper.authors, language)),
        "venue": html.escape(_cut(paper.venue, _LONGEST_TITLE)),
        "year": str(paper.year or ""),
        "source": html.escape(_cut(", ".join(paper.sources[:1]), _LONGEST_TITLE)) + (f" +{more}" if more > 0 else ""),
    }
    return f'<tr role="row">{"".join(_cell(column, cells[column], language) for column in columns)}</tr>'


def _cell(column: str, content: str, language: Language) -> str:
    """A cell, its content HTML already; an empty one has no label."""
    label = f' data-label="{tell(f"papers_{column}", language)}"' if content else ""
    return f'<td role="cell" class="{column}"{label}>{content}</td>'


def _similar_html(similar: Sequence[tuple[Paper, float]], language: Language) -> str:
    items = "".join(
        f'<li>{_paper_link(paper)} <span class="similarity" title="{tell("papers_similarity", language)}">'
        f'<span class="unseen">{tell("papers_similarity", language)} </span>{score:.2f}</span></li>'
        for paper, score in similar
    )
    body = f"<ol>{items}</ol>" if items else f"<p>{tell('papers_alone', language)}</p>"
    return f'<section class="similar"><h3>{tell("papers_similar", language)}</h3>{body}</section>'


def _pin_buttons(paper: Paper, filter: PaperFilter, language: Language) -> str:
    if paper.id in filter.ids:
        return _button("unpin", paper, "papers_unpin", language)
    pin = _button("pin", paper, "papers_pin", language, kind="main")
    return pin + (_button("add", paper, "papers_add", language) if filter.ids else "")


def _button(action: str, paper: Paper, key: str, language: Language, *, kind: str = "plain") -> str:
    return f'<button type="button" class="{kind}" data-action="{action}" data-paper="{_id(paper)}">{tell(key, language)}</button>'


def _paper_link(paper: Paper) -> str:
    id_ = _id(paper)
    return f'<a href="#paper-{id_}" data-action="paper" data-paper="{id_}">{html.escape(_cut(paper.title, _LONGEST_TITLE))}</a>'


def _fact(key: str, value: str, language: Language) -> str:
    """A name and its value, which is HTML already; nothing without a value."""
    return f"<div><dt>{tell(key, language)}</dt><dd>{value}</dd></div>" if value else ""


def _id(paper: Paper) -> str:
    """The id of a paper, or "" for what is no id: an index may have been made by hand."""
    return paper.id if is_paper_id(paper.id) else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def year_note_html(years: Iterable[object], language: Language = "en") -> str:
    """What to say of the numbers in the boxes for years that are none."""
    wrong = (f"{year:g}" if isinstance(year, float) else str(year) for year in years if is_no_year(year))
    return "".join(
        f'<p class="year-note" role="status">{html.escape(tell("papers_no_year", language, year=year))}</p>' for year in wrong
    )
