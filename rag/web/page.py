"""The page: what stands where, and which event calls what. A visitor's own things live in the session's state and in the browser."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from rag.errors import AskAbstractsError
from rag.index import PaperIndex
from rag.library import Library
from rag.named_collections import shown_name
from rag.overview import overview
from rag.questions import LONGEST_QUESTION
from rag.web.api import register
from rag.web.asking import ACTIONS, Asking, exported, wish_from
from rag.web.feedback import note_feedback
from rag.web.keeping import STORAGE_KEY, Conversation, Conversations, Finished, as_kept, from_kept
from rag.web.map_html import map_html
from rag.web.options import PageOptions
from rag.web.papers_tab import LISTEN, PapersTab
from rag.web.papers_view import filter_from
from rag.web.render import error_html, waiting_html
from rag.web.settings_tab import SettingsTab
from rag.web.shell import evidence_html, examples_html, header_html, navigation_html, words_html
from rag.web.texts import Language, label, language_of, say
from rag.web.upload_folder import private_upload_folder
from rag.web.uploads import OWN, UploadTab

# The quoted names make the component's own events; everything the page's script asks for comes through here.
_BRIDGE = "window.askabstracts = { act: (given) => trigger('act', given), pose: (wish) => trigger('pose', wish) };"
_Updates = dict[Any, Any]


def make_page(library: Library, options: PageOptions | None = None) -> gr.Blocks:
    """The page over the collections of `library`."""
    return Page(library, options or PageOptions()).blocks


class Page:
    """One page for all visitors: the components and their events. It holds nothing of any visitor but what stops an answer."""

    def __init__(self, library: Library, options: PageOptions) -> None:
        self.library, self.assistant, self.options = library, library.first, options
        self.asking = Asking(offers_feedback=options.feedback is not None)
        private_upload_folder()
        with gr.Blocks(title="AskAbstracts", analytics_enabled=False, delete_cache=(600, 3600)) as self.blocks:
            self._make_state()
            self.uploads = UploadTab(library, self.blocks, self.visit, mode=options.allow_upload, language=self.language)
            self.header = gr.HTML(header_html(self.assistant), elem_id="welcome")
            with gr.Tabs(elem_id="tabs") as self.tabs:
                with gr.Tab(label("chat"), id="chat"):
                    self._make_chat()
                with gr.Tab(label("papers"), id="papers", elem_id="papers-tab") as self.papers_place:
                    self.papers = PapersTab(
                        self._index_of,
                        collection=self.uploads.collection,
                        language=self.language,
                        label=label,
                        tabs=self.tabs,
                        chat_chips=self.filters,
                        filter_state=self.filter_state,
                    )
                with gr.Tab(label("map"), id="map") as self.map_place:
                    self.map = gr.HTML(f"<p>{say('map_empty')}</p>", elem_id="map")
                if options.allow_upload != "off":
                    with gr.Tab(label("add"), id="add"):
                        self.uploads.render()
                with gr.Tab(label("settings"), id="settings"):
                    settings = SettingsTab(self.assistant)
                    self.chosen, self.language_choice = settings.chosen, settings.language
            self._wire()
            register(self.blocks, library, options)
        options.closers.extend([self.asking.stop_all, self.uploads.close])

    def _make_state(self) -> None:
        # A server that was started anew under an open page, or that forgot the visit, has the first values of all states, the same
        # for everybody. So the conversations are None until they were read, and what tells visitors apart is held by the page.
        self.visit = gr.Textbox(visible=False)
        self.conversations = gr.State(None)
        self.finished = gr.State(None)
        self.language = gr.State("en")
        self.kept = gr.BrowserState(
            "", storage_key=STORAGE_KEY, secret="askabstracts"
        )  # what is kept is the visitor's own; no secret
        # A reload must not ask all papers again without a word.
        self.filter_state = gr.BrowserState({}, storage_key="askabstracts-filter", secret="askabstracts")
        self.tag = gr.Textbox(visible=False)
        self.download = gr.Textbox(visible=False)
        self.message = gr.Textbox(visible=False)  # for the page's script: events that skip the queue show no gr.Info
        self.bridge = gr.HTML("", elem_id="bridge", js_on_load=_BRIDGE, apply_default_css=False)

    def _make_chat(self) -> None:
        with gr.Row(elem_id="chat"):
            with gr.Column(scale=1, min_width=180, elem_id="side"):
                self.navigation = gr.HTML(navigation_html(Conversations()), elem_id="conversations")
            with gr.Column(scale=4, min_width=320, elem_id="middle"):
                self.uploads.collection.render()
                self.past = gr.HTML("", elem_id="past")
                self.current = gr.HTML("", elem_id="current")
                self.later = gr.HTML("", elem_id="later")
                self.examples = gr.HTML(examples_html(), elem_id="examples")
                with gr.Column(elem_id="dock"):  # stays in view below the answers
                    self.filters = gr.HTML("", elem_id="filters", js_on_load=LISTEN, apply_default_css=False)
                    gr.HTML('<p id="note" role="status"></p>', elem_id="note-place")
                    with gr.Row(elem_id="asking"):
                        self.question = gr.Textbox(
                            label=label("question"),
                            placeholder=label("placeholder"),
                            submit_btn=label("ask"),
                            max_lines=6,
                            max_length=LONGEST_QUESTION,
                            elem_id="question",
                            scale=5,
                        )
                        self.stop = gr.Button(label("stop"), size="sm", elem_id="stop", scale=0, min_width=70)
            with gr.Column(scale=3, min_width=280, elem_id="evidence-side"):
                self.evidence = gr.HTML(evidence_html(), elem_id="evidence-place")

    def _wire(self) -> None:
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        self.question.submit(None, self.question, self.question, js="(question) => window.askabstractsPose(question)", **private)
        mine = [self.conversations, self.kept, self.language_choice]
        shown = [self.past, self.current, self.later, self.conversations, self.kept, self.navigation, self.examples, self.message]
        posed = self.bridge.pose(
            self._pose,
            [*mine, *self.chosen, self.papers.filter_state, self.uploads.collection],
            [self.past, self.current, self.later, self.examples, self.conversations, self.finished],
            trigger_mode="once",
            concurrency_limit=self.options.max_concurrency,
            concurrency_id="ask",
            **private,
        )
        # An event of its own, so that it reads the conversations as they are when the answer is done.
        kept = posed.then(self._finish, [*mine, self.finished], [*shown, self.finished], queue=False, **private)
        kept.then(None, self.message, None, js="(text) => { window.askabstractsDone(); window.askabstractsTell(text); }", **private)
        for fails in (posed.failure, kept.failure):
            fails(None, self.question, self.question, js="(held) => window.askabstractsFailed(held)", **private)
        self.stop.click(self._stop, None, None, queue=False, **private)
        self.bridge.act(self._act, mine, [*shown, self.download], queue=False, **private).then(
            None,
            [self.download, self.message],
            None,
            js="(text, message) => { if (text) window.askabstractsSave(text, 'conversation.md'); window.askabstractsTell(message); }",
            **private,
        )
        loaded = self.blocks.load(
            self._load,
            [self.kept, self.tag],
            [*shown, self.visit, self.language, self.header, self.evidence, self.language_choice],
            js="(kept) => [kept, navigator.language]",
            queue=False,
            **private,
        )
        loaded.then(None, self.question, self.question, js="(held) => window.askabstractsLoaded(held)", **private)
        self.papers.refresh_on(loaded.then)
        self.uploads.refresh_on(loaded.then)
        self.papers.refresh_on(self.papers_place.select)
        self.papers.start_over_on(self.uploads.collection.change)
        self.papers.act_on(self.bridge)
        self.papers.act_on(self.filters)
        self.map_place.select(
            self._draw_map,
            [self.conversations, self.kept, self.language_choice, self.uploads.collection],
            self.map,
            **(private | {"show_progress": "minimal"}),
        )
        self.language_choice.input(
            None, self.language_choice, None,
            js="(tag) => { localStorage.setItem('aa-language', tag === 'zh' ? 'zh-CN' : 'en'); location.reload(); }", **private,
        )  # fmt: skip

    def _pose(
        self,
        conversations: Conversations | None,
        kept: object,
        tag: object,
        llm: str,
        max_papers: int,
        unsupported: str,
        chosen: dict[str, Any],
        collection: object,
        event: gr.EventData,
        request: gr.Request,
    ) -> Iterator[_Updates]:
        """Answers what the page's script asks; the turns around it are shown first, then the answer as it grows."""
        held, language, visit = self._held(conversations, kept), language_of(tag), str(request.session_hash)
        wish = replace(
            wish_from(_given(event), held.open),
            llm=llm,
            max_papers=int(max_papers),
            unsupported=unsupported,
            papers=filter_from(chosen),
            language=language,
        )
        try:
            assistant = self.uploads.assistant_for(visit, collection, language)
        except AskAbstractsError as error:
            yield {self.current: error_html(wish.question, str(error), language), self.finished: None}
            return
        place = self._around(held.open, wish.replaces, language, keeps_later=wish.keeps_later)
        # At once: the last answer now stands in the past.
        read = {self.conversations: held} if conversations is None else {}
        yield place | read | {self.current: waiting_html(wish.question, language), self.finished: None}
        for shown in self.asking.ask(wish, held, visit, assistant):
            if shown.finished is None:
                yield {self.current: shown.current}
            else:
                yield {self.finished: shown.finished}

    def _finish(self, conversations: Conversations | None, kept: object, tag: object, finished: Finished | None) -> _Updates:
        """Puts a finished turn into its conversation and shows it; the answer of a conversation that was deleted is dropped."""
        held, language = self._held(conversations, kept), language_of(tag)
        if finished is None:
            return {self.finished: None, self.message: ""}
        merged = held.with_finished(finished)
        updates: _Updates = {self.finished: None} | self._keep(merged, language)
        if merged.open.id != finished.conversation:
            return updates | self._opened(merged, language)
        around = self._around(merged.open, finished.turn, language, keeps_later=True)
        return updates | around | {self.current: self.asking.turn_html(finished, language)}

    def _stop(self, request: gr.Request) -> None:
        self.asking.stop(str(request.session_hash))

    def _act(
        self, conversations: Conversations | None, kept: object, tag: object, event: gr.EventData, request: gr.Request
    ) -> _Updates:
        """Does what the page's script asks with the conversations."""
        held, language, given = self._held(conversations, kept), language_of(tag), _given(event)
        action = str(given.get("action", ""))
        if action == "export":
            text = exported(held.open, language)
            return {self.download: text, self.message: "" if text else say("nothing_to_export", language)}
        if action == "feedback" and self.options.feedback is not None:
            message = note_feedback(self.options.feedback, held.open, given, thanks=say("thanks", language))
            return {self.download: "", self.message: message}
        if action not in ACTIONS:
            return {self.download: "", self.message: ""}
        changed = ACTIONS[action](held, given)
        if action == "rename" or (action == "delete" and changed.open.id == held.open.id):
            return self._keep(changed, language) | {self.download: ""}
        self.asking.drop(str(request.session_hash))  # the answer that is written has lost its place
        return self._keep(changed, language) | self._opened(changed, language) | {self.download: ""}

    def _held(self, conversations: Conversations | None, kept: object) -> Conversations:
        """The visitor's conversations; from the browser when this session has not read them."""
        return from_kept(kept, self._index_named) if conversations is None else conversations

    def _index_of(self, collection: object, request: gr.Request) -> PaperIndex:
        """The index that a visitor reads; that of the shared collection when the one that was chosen is gone."""
        try:
            return self.uploads.assistant_for(str(request.session_hash), collection).index
        except AskAbstractsError:
            return self.assistant.index

    def _index_named(self, collection: str) -> PaperIndex | None:
        """The index of a collection of the store that visitors may ask, if it is there."""
        try:
            return self.library.assistant(shown_name(collection)).index
        except AskAbstractsError:
            return None

    def _draw_map(
        self, conversations: Conversations | None, kept: object, tag: object, collection: object, request: gr.Request
    ) -> str:
        """The map of the collection, with the papers of the last answer marked."""
        index = self._index_of(collection, request)
        folder = None if collection == OWN else index.generation.parents[1] / "maps"  # beside the collection's generations
        answers = self._held(conversations, kept).open.answers
        marked = [citation.paper.id for citation in answers[-1].citations] if answers else []
        return map_html(index, overview(index, cache_folder=folder), marked=marked, language=language_of(tag))

    def _load(self, kept: object, tag: object, request: gr.Request) -> _Updates:
        """What a visitor sees first: the conversations of this browser, in its language."""
        language = language_of(tag)
        conversations = from_kept(kept, self._index_named)
        return self._opened(conversations, language) | {
            self.conversations: conversations,
            self.visit: str(request.session_hash),
            self.navigation: navigation_html(conversations, language),
            self.language: language,
            self.header: header_html(self.assistant, language),
            self.evidence: evidence_html(language) + words_html(language),
            self.language_choice: language,
        }

    def _opened(self, conversations: Conversations, language: Language) -> _Updates:
        conversation = conversations.open
        return {
            self.past: self.asking.turns_html(conversation, language),
            self.current: "",
            self.later: "",
            self.examples: "" if conversation.answers else examples_html(language),
        }

    def _around(self, conversation: Conversation, turn: int, language: Language, *, keeps_later: bool) -> _Updates:
        """The turns before one, and those after it when they stay; 0 is a turn after all of them."""
        before = conversation.up_to(turn - 1) if turn else conversation
        has_later = keeps_later and 0 < turn < len(conversation.answers)
        return {
            self.past: self.asking.turns_html(before, language),
            self.later: self.asking.turns_html(conversation, language, after=turn) if has_later else "",
            self.examples: "",
        }

    def _keep(self, conversations: Conversations, language: Language) -> _Updates:
        text, dropped = as_kept(conversations)
        return {
            self.conversations: conversations,
            self.kept: text,
            self.message: say("full", language, dropped=dropped) if dropped else "",
            self.navigation: navigation_html(conversations, language),
        }


def _given(event: gr.EventData) -> Mapping[str, Any]:
    """What the page's script sent: whatever a visitor likes, so texts and numbers of a flat object at most."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}
