"""The Papers tab: searching, filtering and reading the collection, and choosing which papers are asked.

What a visitor looks at and asks lives in the page's own state; the tab keeps nothing of any visit.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gradio as gr

from rag.browse import Catalogue, Choices, catalogue_of, listing, similar
from rag.filters import PaperFilter, name_words
from rag.index import PaperIndex
from rag.web.papers_html import filter_chips_html, paper_html, table_html, year_note_html
from rag.web.papers_texts import Language, tell
from rag.web.papers_view import View, after_action, filter_as_data, filter_from, is_paper_id, view_from

LISTEN = Path(__file__).with_name("papers.js").read_text(encoding="utf-8")
"""For `js_on_load` of a gr.HTML: a click on what carries data-action becomes the event `act` with all its data."""
_LISTED_FILES = 1000  # in the choice of files; more would be sent to every visitor
_PRIVATE: dict[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
_Data = dict[str, Any]
_Updates = dict[Any, Any]


class PapersTab:
    """The tab, built where it is constructed within `gr.Blocks`.

    `filter_state` holds the filter as plain data (`filter_from` reads it), `view_state` what is looked at. Handlers elsewhere that
    change either return what `shown` gives, with `outputs` as their outputs: events that skip the queue fire no State.change.
    """

    def __init__(
        self,
        index_of: Callable[[Any, gr.Request], PaperIndex],
        *,
        collection: Any = None,
        language: Any = None,
        label: Callable[[str], Any] = tell,
        tabs: gr.Tabs | None = None,
        own_tab: str = "papers",
        chat_tab: str = "chat",
        chat_chips: gr.HTML | None = None,
        filter_state: gr.BrowserState | None = None,
    ) -> None:
        """`index_of` gives the index that a visitor reads, from the value of the component `collection` and the request.

        `language` is a component whose value is a `Language`; `label` gives the labels of components. In `tabs`, opening a paper
        selects `own_tab` and choosing one to ask about selects `chat_tab`. `chat_chips`, made with `LISTEN`, shows the active filters.
        `filter_state`, made outside of all tabs (within one it is not read before that is opened), keeps the filter in the browser.
        """
        self._index_of, self._tabs, self._own_tab, self._chat_tab = index_of, tabs, own_tab, chat_tab
        self._collection = gr.State("") if collection is None else collection
        self._language = gr.State("en") if language is None else language
        self.filter_state = gr.State(filter_as_data(PaperFilter())) if filter_state is None else filter_state
        self.view_state = gr.State(asdict(View()))
        self._build(label)
        self._common = [self.view_state, self.filter_state, self._collection, self._language]
        self._shown_filters = [component for component in (self._chips, chat_chips) if component is not None]
        self.outputs = [
            self.view_state, self.filter_state, *self._shown_filters, self._table, self._paper,
            self._year_note, self._venues, self._first_year, self._last_year, self._authors, self._files, *([tabs] if tabs is not None else []),
        ]  # fmt: skip
        self._listen()

    def _build(self, label: Callable[[str], Any]) -> None:
        with gr.Column(elem_classes="papers-tab"):
            with gr.Column(elem_classes="papers-filters"):
                self._query = gr.Textbox(
                    label=label("papers_search"), placeholder=label("papers_search_hint"), max_lines=1, elem_id="papers-query"
                )
                with gr.Row(elem_classes="papers-conditions"):
                    self._venues = gr.Dropdown([], value=[], multiselect=True, label=label("papers_venues"), min_width=160)
                    self._first_year = gr.Number(None, label=label("papers_first_year"), min_width=100)
                    self._last_year = gr.Number(None, label=label("papers_last_year"), min_width=100)
                    self._authors = gr.Textbox(
                        label=label("papers_author"),
                        placeholder=label("papers_author_hint"),
                        max_lines=1,
                        min_width=140,
                        visible=False,
                    )
                    self._files = gr.Dropdown([], value=[], multiselect=True, label=label("papers_files"), min_width=160)
                self._year_note = gr.HTML("", elem_id="year-note", apply_default_css=False)
            plain = {"js_on_load": LISTEN, "apply_default_css": False}
            self._chips = gr.HTML("", elem_classes="papers-chips", **plain)
            self._table = gr.HTML("", elem_id="papers-table", **plain)
            self._paper = gr.HTML("", elem_id="paper-page", **plain)

    def _listen(self) -> None:
        for component in (*self._shown_filters, self._table, self._paper):
            self.act_on(component)
        self._query.change(  # not `input`, which misses what is pasted in one go; nothing but the visitor changes the box
            self._searched, [self._query, *self._common], [self.view_state, self._table], trigger_mode="always_last", **_PRIVATE
        )
        conditions = [self._venues, self._first_year, self._last_year, self._authors, self._files]
        narrowed = [self.view_state, self.filter_state, *self._shown_filters, self._table, self._year_note]
        gr.on(
            [component.input for component in conditions if component is not self._authors],
            self._filtered,
            [*conditions, *self._common],
            narrowed,
            trigger_mode="always_last",
            **_PRIVATE,
        )
        # As for the words. It happens also when a kept filter is shown, so it must not read the other boxes, which may not be there yet.
        self._authors.change(
            self._narrowed_by_author, [self._authors, *self._common], narrowed, trigger_mode="always_last", **_PRIVATE
        )

    def act_on(self, component: gr.HTML) -> Any:
        """Listens to the clicks in an HTML component made with `LISTEN`: opening a paper, choosing it, clearing the filters.

        Clicks that mean nothing here are passed over, so that a component may have other listeners too.
        """
        return component.act(self._acted, self._common, self.outputs, **_PRIVATE)

    def refresh_on(self, trigger: Callable[..., Any]) -> Any:
        """Shows all anew when `trigger` happens: the tab's `select`, the page's `load`, a change of collection or language."""
        return trigger(self._refreshed, self._common, self.outputs, **_PRIVATE)

    def start_over_on(self, trigger: Callable[..., Any]) -> Any:
        """Shows the list without filters when `trigger` happens: those of one collection mean nothing in another."""
        return trigger(self._started_over, self._common, self.outputs, **_PRIVATE)

    def shown(self, view: View, filter: PaperFilter, index: PaperIndex, language: Language) -> _Updates:
        """Updates of `outputs` that show `view` and `filter`."""
        return (
            self._body(view, filter, index, language)
            | self._boxes(filter, catalogue_of(index).choices, language)
            | {self._year_note: ""}
        )

    def _body(self, view: View, filter: PaperFilter, index: PaperIndex, language: Language) -> _Updates:
        """Updates of the states and of what is read, but not of what is typed and chosen."""
        catalogue = catalogue_of(index)
        taken = len(catalogue.columns.rows(filter))
        view = view if view.paper in index.row_of else replace(view, paper="", is_comparing=False)
        table, paper = "", ""
        if view.paper:
            likes = similar(index, view.paper) if view.is_comparing else None
            paper = paper_html(index.papers[index.row_of[view.paper]], filter, similar=likes, language=language)
        else:
            view, table = _listed(view, filter, catalogue, language)
        return {
            self.view_state: asdict(view),
            self.filter_state: filter_as_data(filter),
            self._table: table,
            self._paper: paper,
        } | dict.fromkeys(self._shown_filters, filter_chips_html(filter, index.papers, taken, language))

    def _boxes(self, filter: PaperFilter, choices: Choices, language: Language, shown: PaperFilter | None = None) -> _Updates:
        """Updates of what is typed and chosen. With the filter that the boxes have `shown`, only what differs from it is written into
        them: an answer that comes late must not take away what was typed meanwhile.
        """
        listed = choices.files[:_LISTED_FILES]
        hint = tell("papers_first_files", language, count=f"{_LISTED_FILES:,}", all=f"{len(choices.files):,}")
        offered: _Updates = {
            self._venues: {"choices": list(choices.venues)},
            self._first_year: {"placeholder": str(choices.first_year or "")},
            self._last_year: {"placeholder": str(choices.last_year or "")},
            self._authors: {"visible": choices.has_authors},
            self._files: {"choices": list(listed), "info": hint if listed != choices.files else None},
        }
        values = self._values(filter) | {
            self._venues: _among(filter.venues, choices.venues),
            self._files: _among(filter.files, listed),
        }
        before = {} if shown is None else self._values(shown)
        changed = {box: {"value": value} for box, value in values.items() if shown is None or value != before[box]}
        return {box: gr.update(**offered[box], **changed.get(box, {})) for box in offered}

    def _values(self, filter: PaperFilter) -> _Updates:
        return {
            self._venues: sorted(filter.venues),
            self._first_year: filter.first_year,
            self._last_year: filter.last_year,
            self._authors: "; ".join(sorted(filter.authors)),
            self._files: sorted(filter.files),
        }

    def _acted(self, view: _Data, filter: _Data, collection: Any, language: Any, request: gr.Request, event: gr.EventData) -> Any:
        action = event._data if isinstance(event._data, dict) else {}
        index, before, chosen = self._index_of(collection, request), view_from(view), filter_from(filter)
        after, asked = after_action(
            action, before, chosen, lambda paper_id: index.papers[index.row_of[paper_id]] if paper_id in index.row_of else None
        )
        name, is_known = action.get("action"), is_paper_id(action.get("paper")) and action["paper"] in index.row_of
        tab = {"paper": self._own_tab, "pin": self._chat_tab, "add": self._chat_tab}.get(str(name)) if is_known else None
        if (after, asked) == (before, chosen) and tab is None:
            return gr.skip()
        return self.shown(after, asked, index, _language(language)) | self._select(tab)

    def _select(self, tab: str | None) -> _Updates:
        return {} if self._tabs is None or tab is None else {self._tabs: gr.Tabs(selected=tab)}

    def _searched(self, query: str, view: _Data, filter: _Data, collection: Any, language: Any, request: gr.Request) -> _Updates:
        index = self._index_of(collection, request)
        asked = replace(view_from({**view, "query": query}), page=1)
        after, table = _listed(asked, filter_from(filter), catalogue_of(index), _language(language))
        return {self.view_state: asdict(after), self._table: table}

    def _filtered(
        self, venues: Any, first: Any, last: Any, authors: Any, files: Any, view: _Data, filter: _Data, collection: Any,
        language: Any, request: gr.Request,
    ) -> _Updates:  # fmt: skip
        asked = filter_from(
            {"venues": venues, "first_year": first, "last_year": last, "authors": _names_in(authors), "files": files}
        )
        updates = self._narrowed(asked, view, filter, self._index_of(collection, request), _language(language))
        return updates | {self._year_note: year_note_html([first, last], _language(language))}

    def _narrowed_by_author(
        self, authors: Any, view: _Data, filter: _Data, collection: Any, language: Any, request: gr.Request
    ) -> Any:
        before = filter_from(filter)
        asked = replace(before, authors=frozenset(_names_in(authors)))
        if asked == before:
            return gr.skip()
        return self._narrowed(asked, view, filter, self._index_of(collection, request), _language(language))

    def _narrowed(self, asked: PaperFilter, view: _Data, filter: _Data, index: PaperIndex, language: Language) -> _Updates:
        """Updates for a filter of other conditions; papers chosen one by one that meet them stay chosen."""
        ids = [id_ for id_ in filter_from(filter).ids if id_ in index.row_of and asked.takes(index.papers[index.row_of[id_]])]
        updates = self._body(replace(view_from(view), page=1), replace(asked, ids=frozenset(ids)), index, language)
        del updates[self._paper]
        return updates

    def _started_over(self, view: _Data, filter: _Data, collection: Any, language: Any, request: gr.Request) -> _Updates:  # noqa: ARG002  # the inputs of all events here
        before = replace(view_from(view), page=1, paper="", is_comparing=False)
        return self.shown(before, PaperFilter(), self._index_of(collection, request), _language(language))

    def _refreshed(self, view: _Data, filter: _Data, collection: Any, language: Any, request: gr.Request) -> Any:
        """Draws what the index and the language have changed; when neither did, the page stays as it is, with what is being typed."""
        index, tongue = self._index_of(collection, request), _language(language)
        drawn = view_from(view)
        now = replace(drawn, basis=f"{index.generation} {tongue}")
        if now == drawn:
            return gr.skip()
        kept = filter_from(filter)
        present = _present(kept, index)
        boxes = self._boxes(present, catalogue_of(index).choices, tongue, shown=kept if drawn.basis else PaperFilter())
        return self._body(now, present, index, tongue) | boxes


def _present(filter: PaperFilter, index: PaperIndex) -> PaperFilter:
    """What is left of a filter that the browser kept, perhaps of another collection: what nothing here has would exclude all."""
    choices = catalogue_of(index).choices
    return replace(
        filter,
        ids=frozenset(id_ for id_ in filter.ids if id_ in index.row_of),
        venues=filter.venues.intersection(choices.venues),
        files=filter.files.intersection(choices.files),
    )


def _listed(view: View, filter: PaperFilter, catalogue: Catalogue, language: Language) -> tuple[View, str]:
    """The view with the page it came to, and the table. Papers chosen one by one are marked in the list, not all it shows."""
    found = listing(
        catalogue,
        query=view.query,
        sort=view.sort,
        descending=view.descending,
        filter=replace(filter, ids=frozenset()),
        page=view.page,
    )
    view = replace(view, page=found.page)
    table = table_html(found, view, filter, choices=catalogue.choices, all_papers=len(catalogue.papers), language=language)
    return view, table


def _names_in(text: object) -> list[str]:
    """The names of people in a text that parts them by semicolons."""
    return [name for part in str(text or "").split(";") if name_words(name := part.strip())]


def _among(names: frozenset[str], listed: Sequence[str]) -> list[str]:
    return [name for name in listed if name in names]


def _language(value: object) -> Language:
    return "zh" if value == "zh" else "en"
