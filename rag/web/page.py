"""The page: a question box, the conversation, four examples. Each visitor's conversation lives in that visitor's session only."""

from collections.abc import Iterator
from pathlib import Path

import gradio as gr

from rag.assistant import Assistant, Turn
from rag.questions import LONGEST_QUESTION
from rag.web.render import answer_html

EXAMPLES = (
    "How should the key and value caches of an LLM be quantized?",
    "What is TURTLE and how well does it do without labels?",
    "Which parts of a robot learning setup should be automated, and why?",
    "How much of the text of AI conference reviews was written by ChatGPT?",
)
CSS = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
HEAD = f"<script>{Path(__file__).with_name('page.js').read_text(encoding='utf-8')}</script>"
_CONCURRENT_QUESTIONS = 16
_Page = tuple[str, list[str], list[Turn]]


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
        if not question.strip():
            yield _conversation(turns), turns, history
            return
        for answer in assistant.stream(question, history):
            shown = [*turns, answer_html(answer, turn=len(turns) + 1)]
            yield _conversation(shown), shown if answer.is_final else turns, history
        yield _conversation(shown), shown, [*history, Turn(question, answer.text)]

    with gr.Blocks(title="AskAbstracts", analytics_enabled=False) as page:
        turns, history = gr.State([]), gr.State([])
        gr.HTML(_welcome(assistant), elem_id="welcome")
        conversation = gr.HTML(_conversation([]), elem_id="conversation")
        with gr.Row(elem_id="examples"):
            examples = [gr.Button(example, size="sm") for example in EXAMPLES]
        question = gr.Textbox(
            label="Your question",
            placeholder="Ask about a method, a number, a topic…",
            submit_btn="Ask",
            max_lines=6,
            max_length=LONGEST_QUESTION,
            autofocus=True,
            elem_id="question",
        )
        outputs = [conversation, turns, history]
        for example, button in zip(EXAMPLES, examples, strict=True):
            button.click(lambda text=example: text, None, question, queue=False, api_visibility="private").then(
                ask, [question, turns, history], outputs, concurrency_limit=_CONCURRENT_QUESTIONS, concurrency_id="ask", api_visibility="private",
                show_progress="hidden",
            ).then(lambda: "", None, question, queue=False, api_visibility="private")  # fmt: skip
        question.submit(
            ask, [question, turns, history], outputs, concurrency_limit=_CONCURRENT_QUESTIONS, concurrency_id="ask", api_visibility="private",
            show_progress="hidden",
        ).then(lambda: "", None, question, queue=False, api_visibility="private")  # fmt: skip
    return page


def _conversation(turns: list[str]) -> str:
    return f'<div class="turns" role="log" aria-live="polite">{"".join(turns)}</div>'


def _welcome(assistant: Assistant) -> str:
    return (
        f"<h1>AskAbstracts</h1><p>Ask {len(assistant.papers)} paper abstracts. Every sentence of an answer is an exact quote with its source; "
        "what the collection does not hold is said to be missing. Answers are chosen by search alone, without a language model.</p>"
    )
