"""The Settings tab: who answers, from how many papers, what becomes of unsupported sentences, and the page's language."""

import gradio as gr

from rag.answering.specs import LOCAL, QUOTES
from rag.assistant import Assistant
from rag.web.texts import LANGUAGES, label


class SettingsTab:
    """The tab, built where it is constructed within `gr.Blocks`.

    `chosen` are the components of who answers, the most papers and the unsupported sentences; `language` is that of the language.
    """

    def __init__(self, assistant: Assistant) -> None:
        names = {QUOTES: label("quotes"), LOCAL: label("local")}
        with gr.Column(elem_id="settings"):
            answerer = gr.Radio(
                [(names.get(name, name), name) for name in assistant.answerers],
                value=assistant.answerer,
                label=label("answerer"),
                elem_id="answerer",
            )
            max_papers = gr.Slider(1, 10, value=assistant.settings.max_papers, step=1, label=label("max_papers"))
            unsupported = gr.Radio(
                [(label("drop"), "drop"), (label("show"), "show")],
                value=assistant.settings.unsupported,
                label=label("unsupported"),
            )
            self.language = gr.Radio(list(LANGUAGES), label=label("language"), elem_id="language")
        self.chosen = [answerer, max_papers, unsupported]
