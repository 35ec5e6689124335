"""The page: what stands where, and which event calls what. A visitor's own things live in the session's state and in the browser."""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from rag.answering.specs import LOCAL, QUOTES
from rag.assistant import Assistant
from rag.errors import SourceError
from rag.index import PaperIndex
from rag.overview import overview
from rag.questions import LONGEST_QUESTION
from rag.web.api import register
from rag.web.asking import ACTIONS, Asking, Wish, exported
from rag.web.feedback import note_feedback
from rag.web.keeping import STORAGE_KEY, Conversations, as_kept, from_kept
from rag.web.map_html import map_html
from rag.web.options import PageOptions
from rag.web.papers_tab import LISTEN, PapersTab
from rag.web.papers_view import filter_from
from rag.web.render import error_html, waiting_html
from rag.web.shell import evidence_html, examples_html, header_html, navigation_html, words_html
from rag.web.texts import LANGUAGES, Language, label, language_of, say
from rag.web.upload_folder import private_upload_folder
from rag.web.uploads import UploadTab

_FOLDER = Path(__file__).parent
CSS = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "papers.css"))
HEAD = f"<script>{(_FOLDER / 'page.js').read_text(encoding='utf-8')}</script>"
# The quoted names make the component's own events; everything the page's script asks for comes through here.
_BRIDGE = "window.askabstracts = { act: (given) => trigger('act', given), pose: (wish) => trigger('pose', wish) };"
_Updates = dict[Any, Any]


def make_theme() -> gr.themes.Base:
    """A calm theme whose fonts are the reader's own; nothing is fetched from elsewhere."""
    return gr.themes.Base(
        primary_hue="teal",
        neutral_hue="stone",
        font=["ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    ).set(
        body_text_color_subdued="*neutral_600",  # Gradio's own grey is too faint to be read by all
        input_placeholder_color="*neutral_600",
        input_placeholder_color_dark="*neutral_300",
    )


def make_page(assistant: Assistant, options: PageOptions | None = None) -> gr.Blocks:
    """The page over `assistant`."""
    return Page(assistant, options or PageOptions()).blocks


class Page:
    """One page for all visitors: the components and their events. It holds nothing of any visitor but what stops an answer."""

    def __init__(self, assistant: Assistant, options: PageOptions) -> None:
        self.assistant, self.options = assistant, options
        self.asking = Asking(offers_feedback=options.feedback is not None)
        private_upload_folder()
        with gr.Blocks(title="AskAbstracts", analytics_enabled=False, delete_cache=(600, 3600)) as self.blocks:
            self._make_state()
            self.uploads = UploadTab(assistant, self.blocks, self.visit, mode=options.allow_upload, language=self.language)
            self.header = gr.HTML(header_html(assistant), elem_id="welcome")
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
                    )
                with gr.Tab(label("map"), id="map") as self.map_place:
                    self.map = gr.HTML(f"<p>{say('map_empty')}</p>", elem_id="map")
                if options.allow_upload != "off":
                    with gr.Tab(label("add"), id="add"):
                        self.uploads.render()
                with gr.Tab(label("settings"), id="settings"):
                    self._make_settings()
            self._wire()
            register(self.blocks, assistant, options)
        options.closers.extend([self.asking.stop_all, self.uploads.close])

    def _make_state(self) -> None:
        self.visit = gr.State(lambda: uuid.uuid4().hex)
        self.conversations = gr.State(lambda: Conversations())
        self.language = gr.State("en")
        self.kept = gr.BrowserState(
            "", storage_key=STORAGE_KEY, secret="askabstracts"
        )  # what is kept is the visitor's own; no secret
        self.tag = gr.Textbox(visible=False)
        self.download = gr.Textbox(visible=False)
        self.bridge = gr.HTML("", elem_id="bridge", js_on_load=_BRIDGE, apply_default_css=False)

    def _make_chat(self) -> None:
        with gr.Row(elem_id="chat"):
            with gr.Column(scale=1, min_width=180, elem_id="side"):
                self.navigation = gr.HTML(navigation_html(Conversations()), elem_id="conversations")
            with gr.Column(scale=4, min_width=320, elem_id="middle"):
                self.uploads.collection.render()
                self.filters = gr.HTML("", elem_id="filters", js_on_load=LISTEN, apply_default_css=False)
                self.past = gr.HTML("", elem_id="past")
                self.current = gr.HTML("", elem_id="current")
                self.examples = gr.HTML(examples_html(), elem_id="examples")
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

    def _make_settings(self) -> None:
        names = {QUOTES: label("quotes"), LOCAL: label("local")}
        with gr.Column(elem_id="settings"):
            self.answerer = gr.Radio(
                [(names.get(name, name), name) for name in self.assistant.answerers],
                value=self.assistant.answerer,
                label=label("answerer"),
                elem_id="answerer",
            )
            self.max_papers = gr.Slider(1, 10, value=self.assistant.settings.max_papers, step=1, label=label("max_papers"))
            self.unsupported = gr.Radio(
                [(label("drop"), "drop"), (label("show"), "show")],
                value=self.assistant.settings.unsupported,
                label=label("unsupported"),
            )
            self.language_choice = gr.Radio(list(LANGUAGES), label=label("language"), elem_id="language")

    def _wire(self) -> None:
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        chosen = [self.answerer, self.max_papers, self.unsupported]
        self.question.submit(None, self.question, self.question, js="(question) => window.askabstractsPose(question)", **private)
        shown = [self.past, self.current, self.conversations, self.kept, self.navigation, self.examples]
        self.bridge.pose(
            self._pose,
            [self.conversations, self.visit, self.language, *chosen, self.papers.filter_state, self.uploads.collection],
            shown,
            trigger_mode="once",
            concurrency_limit=self.options.max_concurrency,
            concurrency_id="ask",
            **private,
        )
        self.stop.click(self.asking.stop, self.visit, None, queue=False, **private)
        self.bridge.act(self._act, [self.conversations, self.language], [*shown, self.download], queue=False, **private).then(
            None, self.download, None, js="(text) => { if (text) window.askabstractsSave(text, 'conversation.md'); }", **private
        )
        loaded = self.blocks.load(
            self._load,
            [self.kept, self.tag],
            [*shown, self.visit, self.language, self.header, self.evidence, self.language_choice],
            js="(kept) => [kept, navigator.language]",
            queue=False,
            **private,
        )
        self.papers.refresh_on(loaded.then)
        self.papers.refresh_on(self.papers_place.select)
        self.papers.refresh_on(self.uploads.collection.change)
        self.papers.act_on(self.bridge)
        self.papers.act_on(self.filters)
        self.map_place.select(
            self._draw_map, [self.conversations, self.uploads.collection], self.map, **(private | {"show_progress": "minimal"})
        )
        self.language_choice.input(
            None, self.language_choice, None,
            js="(tag) => { localStorage.setItem('aa-language', tag === 'zh' ? 'zh-CN' : 'en'); location.reload(); }", **private,
        )  # fmt: skip

    def _pose(
        self,
        conversations: Conversations,
        visit: str,
        language: Language,
        llm: str,
        max_papers: int,
        unsupported: str,
        chosen: dict[str, Any],
        collection: object,
        event: gr.EventData,
    ) -> Iterator[_Updates]:
        """Answers what the page's script asks; the turns before it are shown first, then the answer as it grows."""
        given = _given(event)
        replaces = int(given["replaces"]) if str(given.get("replaces", "")).isdecimal() else 0
        answers = conversations.open.answers
        replaces = replaces if 0 < replaces <= len(answers) else 0
        wish = Wish(
            str(given.get("question", ""))[:LONGEST_QUESTION],
            replaces=replaces,
            is_alone=given.get("alone") == "yes",
            llm=llm,
            max_papers=int(max_papers),
            unsupported=unsupported,
            papers=filter_from(chosen),
            language=language,
        )
        try:
            assistant = self.uploads.assistant_for(visit, collection, language)
        except SourceError as error:
            yield {self.current: error_html(wish.question, str(error))}
            return
        before = conversations.open.up_to(replaces - 1) if replaces else conversations.open
        place: _Updates = {self.past: self.asking.turns_html(before, language), self.examples: ""}
        yield place | {self.current: waiting_html(wish.question, language)}  # at once: the last answer now stands in the past
        for shown in self.asking.ask(wish, conversations, visit, assistant):
            updates: _Updates = {self.current: shown.current}
            if shown.conversations is not None:
                updates |= place | self._keep(shown.conversations, language)  # snapshots in quick succession may be passed over
            yield updates

    def _act(self, conversations: Conversations, language: Language, event: gr.EventData) -> _Updates:
        """Does what the page's script asks with the conversations."""
        given = _given(event)
        action = str(given.get("action", ""))
        if action == "export":
            return {self.download: exported(conversations.open, language)}
        if action == "feedback" and self.options.feedback is not None:
            note_feedback(self.options.feedback, conversations.open, given, say("thanks", language))
            return {self.download: ""}
        if action not in ACTIONS:
            return {self.download: ""}
        changed = ACTIONS[action](conversations, given)
        if action == "rename":
            return self._keep(changed, language) | {self.download: ""}
        return self._keep(changed, language) | self._opened(changed, language) | {self.download: ""}

    def _index_of(self, collection: object, request: gr.Request) -> PaperIndex:
        """The index that a visitor reads; that of the shared collection when the visitor's own is gone."""
        try:
            return self.uploads.assistant_for(str(request.session_hash), collection).index
        except SourceError:
            return self.assistant.index

    def _draw_map(self, conversations: Conversations, collection: object, request: gr.Request) -> str:
        """The map of the collection, with the papers of the last answer marked."""
        index = self._index_of(collection, request)
        folder = self.assistant.settings.store_folder / "maps" if index is self.assistant.index else None
        answers = conversations.open.answers
        marked = [citation.paper.id for citation in answers[-1].citations] if answers else []
        return map_html(index, overview(index, cache_folder=folder), marked=marked)

    def _load(self, kept: object, tag: object, request: gr.Request) -> _Updates:
        """What a visitor sees first: the conversations of this browser, in its language."""
        language = language_of(tag)
        conversations = from_kept(kept, self.assistant.index)
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
            self.examples: "" if conversation.answers else examples_html(language),
        }

    def _keep(self, conversations: Conversations, language: Language) -> _Updates:
        text, dropped = as_kept(conversations)
        if dropped:
            gr.Warning(say("full", language, dropped=dropped))
        return {
            self.conversations: conversations,
            self.kept: text,
            self.navigation: navigation_html(conversations, language),
        }


def _given(event: gr.EventData) -> Mapping[str, Any]:
    """What the page's script sent: whatever a visitor likes, so texts and numbers of a flat object at most."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}
