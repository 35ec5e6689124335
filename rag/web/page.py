"""The page: a question box, the conversation, four examples. Each visitor's conversation lives in that visitor's session only."""

import html
import uuid
from pathlib import Path

import gradio as gr

from rag.answering.specs import LOCAL, QUOTES
from rag.assistant import Assistant
from rag.questions import LONGEST_QUESTION
from rag.web.asking import Asking, conversation_html

EXAMPLES = (
    "How should the key and value caches of an LLM be quantized?",
    "What is TURTLE and how well does it do without labels?",
    "Which parts of a robot learning setup should be automated, and why?",
    "How much of the text of AI conference reviews was written by ChatGPT?",
)
CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
HEAD = f"<script>{Path(__file__).with_name('page.js').read_text(encoding='utf-8')}</script>"
_CONCURRENT_QUESTIONS = 16


def make_theme() -> gr.themes.Base:
    """A calm theme whose fonts are the reader's own; nothing is fetched from elsewhere."""
    return gr.themes.Base(
        primary_hue="teal",
        neutral_hue="stone",
        font=["ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )


def make_page(assistant: Assistant) -> gr.Blocks:
    """The chat over `assistant`."""

    asking = Asking(assistant)
    with gr.Blocks(title="AskAbstracts", analytics_enabled=False) as page:
        turns, history = gr.State([]), gr.State([])
        gr.HTML(_welcome(assistant), elem_id="welcome")
        conversation = gr.HTML(conversation_html([]), elem_id="conversation")
        with gr.Row(elem_id="examples") as examples:
            buttons = [gr.Button(example, size="sm") for example in EXAMPLES]
        question = gr.Textbox(
            label="Your question",
            placeholder="Ask about a method, a number, a topic…",
            submit_btn="Ask",
            max_lines=6,
            max_length=LONGEST_QUESTION,
            elem_id="question",
        )
        with gr.Row(elem_id="asking", visible=len(assistant.answerers) > 1):
            answerer = gr.Dropdown(
                [(_named(name), name) for name in assistant.answerers],
                value=assistant.answerer,
                label="Answered by",
                elem_id="answerer",
            )
            stop_button = gr.Button("Stop", size="sm", elem_id="stop", scale=0)
        visit, asked = gr.State(lambda: uuid.uuid4().hex), gr.State("")
        stop_button.click(asking.stop, visit, None, queue=False, api_visibility="private")
        answering = {
            "fn": asking.ask,
            "inputs": [asked, turns, history, answerer, visit],
            "outputs": [conversation, turns, history, examples],
            "concurrency_limit": _CONCURRENT_QUESTIONS,
            "concurrency_id": "ask",
            "api_visibility": "private",
            "show_progress": "hidden",
        }
        for example, button in zip(EXAMPLES, buttons, strict=True):
            button.click(lambda text=example: text, None, asked, queue=False, api_visibility="private").then(**answering)
        # The box is emptied at once, so that the next question can be typed while this one is answered.
        question.submit(lambda text: (text, ""), question, [asked, question], queue=False, api_visibility="private").then(
            **answering
        )
    return page


def _named(answerer: str) -> str:
    return {QUOTES: "exact quotes, no language model", LOCAL: "a small language model on this machine, verified"}.get(
        answerer, answerer
    )


def _welcome(assistant: Assistant) -> str:
    return (
        f"<h1>AskAbstracts</h1><p>Ask {len(assistant.papers)} paper abstracts. Every sentence of an answer rests on an exact quote with its source; "
        "what the collection does not hold is said to be missing. A language model may write the answer; what the abstracts do not support is left out.</p>"
        + "".join(f'<p class="notice">{html.escape(notice)}</p>' for notice in assistant.notices)
    )
