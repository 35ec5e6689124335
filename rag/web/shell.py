"""The still parts of the page as HTML: heading, conversations, examples, the evidence panel, words for the script."""

import html
from collections.abc import Mapping

from rag.assistant import Assistant
from rag.web.keeping import Conversations
from rag.web.texts import Language, say

EXAMPLES: Mapping[Language, tuple[str, ...]] = {
    "en": (
        "How should the key and value caches of an LLM be quantized?",
        "What is TURTLE and how well does it do without labels?",
        "Which parts of a robot learning setup should be automated, and why?",
        "How much of the text of AI conference reviews was written by ChatGPT?",
    ),
    "zh": (
        "KIVI 怎样量化 KV cache?",
        "TURTLE 是什么?",
        "MMT-Bench 有多少道题?",
        "Lookahead decoding 快多少?",
    ),
}


def header_html(assistant: Assistant, language: Language = "en") -> str:
    """The name, one sentence on what this is, and what the operator should know about the index."""
    notices = "".join(f'<p class="notice">{html.escape(notice)}</p>' for notice in assistant.notices)
    welcome = say("welcome", language, papers=len(assistant.papers))
    names = "".join(f'<span class="to-{name}">{say(name, language)}</span>' for name in ("dark", "light"))
    theme = f'<button type="button" data-action="theme">{names}</button>'
    return f'<div class="heading"><h1>AskAbstracts</h1>{theme}</div><p>{welcome}</p>{notices}'


def examples_html(language: Language = "en") -> str:
    """Four questions that show what the program can do."""
    buttons = "".join(
        f'<button type="button" data-action="example">{html.escape(example)}</button>' for example in EXAMPLES[language]
    )
    return f"<p>{say('examples', language)}</p><div>{buttons}</div>"


def navigation_html(conversations: Conversations, language: Language = "en") -> str:
    """The visitor's conversations: open, name, delete, begin a new one, save the open one."""
    rows = []
    for one in conversations.all:
        name = html.escape(one.shown_name or say("unnamed", language))
        current = ' aria-current="true"' if one.id == conversations.open.id else ""
        key = html.escape(one.id)
        rows.append(
            f'<li{current}><button type="button" class="name" data-action="open" data-id="{key}">{name}</button>'
            f'<button type="button" class="small" data-action="rename" data-id="{key}" data-name="{name}" '
            f'aria-label="{say("rename", language)}: {name}">✎</button>'
            f'<button type="button" class="small" data-action="delete" data-id="{key}" aria-label="{say("delete", language)}: {name}">×</button></li>'
        )
    tools = "".join(
        f'<button type="button" data-action="{action}">{say(action, language)}</button>' for action in ("new", "export", "clear")
    )
    heading = say("conversations", language)
    return (
        f'<nav aria-label="{heading}"><details><summary>{heading}</summary><ul>{"".join(rows)}</ul><div class="tools">{tools}</div>'
        f'<p class="origin">{say("kept", language)}</p></details></nav>'
    )


def evidence_html(language: Language = "en") -> str:
    """The panel that markers open; the page's script fills it."""
    close = f'<button type="button" data-action="close" aria-label="{say("close", language)}">×</button>'
    return (
        f'<aside id="evidence" aria-label="{say("evidence", language)}"><div class="evidence-head"><h2>{say("evidence", language)}</h2>{close}</div>'
        f'<div class="evidence-body"><p class="hint">{say("evidence_hint", language)}</p></div></aside>'
        '<div id="announce" class="visually-hidden" role="status" aria-live="polite"></div>'
    )


def words_html(language: Language) -> str:
    """The words that the page's script says."""
    return (
        f'<span id="words" hidden data-copied="{say("copied", language)}" data-name-it="{say("name_it", language)}" '
        f'data-delete-sure="{say("delete_sure", language)}" data-busy="{say("busy", language)}" '
        f'data-unanswered="{say("unanswered", language)}" data-cuts-one="{say("cuts_one", language)}" '
        f'data-cuts="{say("cuts", language, count="{count}")}" data-thanks="{say("thanks", language)}" '
        f'data-more="{say("more", language)}" data-less="{say("less", language)}"></span>'
    )
