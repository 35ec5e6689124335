"""The page: a question box, the conversation, four examples. Each visitor's conversation lives in that visitor's session only."""

import html
from collections.abc import Iterator
from pathlib import Path

import gradio as gr

from rag.assistant import Assistant, Turn
from rag.errors import AskAbstractsError
from rag.questions import LONGEST_QUESTION
from rag.web.render import answer_html, error_html

EXAMPLES = (
    "How should the key and value caches of an LLM be quantized?",
    "What is TURTLE and how well does it do without labels?",
    "Which parts of a robot learning setup should be automated, and why?",
    "How much of the text of AI conference reviews was written by ChatGPT?",
)
CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
HEAD = f"<script>{Path(__file__).with_name('page.js').read_text(encoding='utf-8')}</script>"
_CONCURRENT_QUESTIONS = 16
_OWN_FAULT = "This question met a fault of AskAbstracts, not of yours. Ask it in other words, and please report it."
_Page = tuple[str, list[str], list[Turn], gr.Row]


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

    def ask(question: str, turns: list[str], history: list[Turn]) -> Iterator[_Page]:
        examples = gr.Row(visible=not turns and not question.strip())
        if not question.strip():
            yield _conversation(turns), turns, history, examples
            return
        try:
            for answer in assistant.stream(question, history):
                shown = [*turns, answer_html(answer, turn=len(turns) + 1)]
                if not answer.is_final:
                    yield _conversation(shown), turns, history, examples
        except AskAbstractsError as error:
            yield _conversation([*turns, error_html(question, str(error))]), turns, history, examples
            return
        except Exception:  # a fault of ours: the page must not wait for ever, and the log gets the traceback
            yield _conversation([*turns, error_html(question, _OWN_FAULT)]), turns, history, examples
            raise
        yield _conversation(shown), shown, [*history, Turn(question, answer.text)], examples

    with gr.Blocks(title="AskAbstracts", analytics_enabled=False) as page:
        turns, history = gr.State([]), gr.State([])
        gr.HTML(_welcome(assistant), elem_id="welcome")
        conversation = gr.HTML(_conversation([]), elem_id="conversation")
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
        asked = gr.State("")
        answering = {
            "fn": ask,
            "inputs": [asked, turns, history],
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


def _conversation(turns: list[str]) -> str:
    return f'<div class="turns" role="log" aria-live="polite">{"".join(turns)}</div>'


def _welcome(assistant: Assistant) -> str:
    return (
        f"<h1>AskAbstracts</h1><p>Ask {len(assistant.papers)} paper abstracts. Every sentence of an answer is an exact quote with its source; "
        "what the collection does not hold is said to be missing. Answers are chosen by search alone, without a language model.</p>"
        + "".join(f'<p class="notice">{html.escape(notice)}</p>' for notice in assistant.notices)
    )
