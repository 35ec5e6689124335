"""How the page looks: its style sheets, its scripts and its theme. Everything is served from here; nothing is fetched from elsewhere."""

from pathlib import Path

import gradio as gr

_FOLDER = Path(__file__).parent
CSS = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "papers.css"))
HEAD = "".join(f"<script>{(_FOLDER / name).read_text(encoding='utf-8')}</script>" for name in ("page.js", "looks.js"))


def make_theme() -> gr.themes.Base:
    """A calm theme whose fonts are the reader's own; the style sheet gives its boxes and signs their colours."""
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
