"""Answers to HTML: the question, what answers it with its sources, how it was found, and what can be done with it.

What comes from a file, a person or a model is escaped here or in `rich_text` and nowhere else. Knows no Gradio.
"""

import html
import re
from collections.abc import Iterable, Sequence

from rag.answer import Answer
from rag.answering import said
from rag.answering.specs import LOCAL, QUOTES
from rag.citations import STRUCK, Citation, unescaped
from rag.export import answer_markdown, bibtex, leading, plain_with_citations
from rag.papers import Paper
from rag.web.notices import notices_in
from rag.web.rich_text import link_html, rich_text
from rag.web.texts import Language, say

_PARAGRAPH = "\x00"  # escaping never leaves one
_LONGEST_DRAFT = 600  # characters; its end is what is new
_LONGEST_QUESTION = 2000
_NEAREST = 3
_STAGES = ("plan", "encode", "search", "answer")
_FOR_OPERATORS = " Answer without it: leave the setting llm out."  # of a failed model; the page gives the quotes by itself
_LEADS = {said.SILENT: "silent_lead", said.PREMISE: "premise_lead"}  # without what the heading above says already


def answer_html(answer: Answer, *, turn: int, language: Language = "en", offers_feedback: bool = False) -> str:
    """One question with its answer, also while a model writes it; `turn` numbers it within the page, so that its anchors are unique."""
    asked = f'<h2 class="question" dir="auto" id="turn-{turn}">{html.escape(answer.question[:_LONGEST_QUESTION])}</h2>'
    if not answer.is_final and not answer.text:
        return waiting_html(answer.question, language)
    body = prose_html(answer, turn=turn, language=language) if answer.model != QUOTES else ""
    body += "".join(_paper_html(citations, turn=turn, language=language) for citations in _by_paper(answer.citations))
    notices, after = leading(_notices_beside_heading(answer, language))
    if answer.status != "answered":
        nearest = _nearest_html(answer, language) if answer.status == "not_found" else ""
        status = say(answer.status, language) + say("stop_mark", language)
        lead = f'<div class="refusal {answer.status}"><strong>{status}</strong>{_paragraphs(notices)}{nearest}</div>'
        body = lead + body
        notices = []
    if notices or after:
        body += f'<div class="notices">{_paragraphs([*notices, *after])}</div>'
    if not answer.is_final:
        return f'<article class="turn" aria-busy="true">{asked}{body}{_draft_html(answer, language)}</article>'
    found = _found_html(answer, turn=turn, language=language)
    tools = _tools_html(answer, turn=turn, language=language, offers_feedback=offers_feedback)
    return f'<article class="turn" aria-label="{say(answer.status, language)}" data-turn="{turn}">{asked}{body}{found}{tools}</article>'


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def waiting_html(question: str, language: Language = "en") -> str:
    """A question that nothing is known about yet."""
    asked = f'<h2 class="question" dir="auto">{html.escape(question[:_LONGEST_QUESTION])}</h2>'
    lines = '<div class="lines" aria-hidden="true"><span></span><span></span><span></span></div>'
    return f'<article class="turn" aria-busy="true">{asked}<p class="waiting">{say("reading", language)}</p>{lines}</article>'


def error_html(question: str, message: str, language: Language = "en") -> str:
    """A question that could not be answered because of a fault, with what to do about it."""
    asked = f'<h2 class="question" dir="auto">{html.escape(question[:_LONGEST_QUESTION])}</h2>'
    told = f'<div class="refusal error"><p>{html.escape(message)}</p></div>'
    again = f'<div class="tools" role="group"><button type="button" data-action="repeat">{say("retry", language)}</button></div>'
    return f'<article class="turn" aria-label="Error">{asked}{told}{again}</article>'


def _draft_html(answer: Answer, language: Language) -> str:
    """What a model has written beyond its verified sentences, said to be unverified."""
    claims = sorted({citation.claim for citation in answer.citations}) if answer.model != QUOTES else []
    last = re.sub(r"[.\s]*(?: ?\[\d+\])*$", "", unescaped(answer.text[slice(*claims[-1])])) if claims else ""
    tail = answer.draft.rpartition(last)[2] if last else answer.draft
    tail = re.sub(r"^[\s.]*(?:\[\d+\][\s.]*)*", "", tail) if last else tail
    shown = html.escape(tail.strip()[-_LONGEST_DRAFT:]) or "…"
    return f'<div class="draft" aria-hidden="true"><strong>{say("writing", language)}</strong><div><p>{shown}</p></div></div>'


def _notices_beside_heading(answer: Answer, language: Language) -> list[str]:
    """The notices without what the heading of the status, and the list of the nearest papers, say already."""
    spoken = [notice.replace(_FOR_OPERATORS, "") for notice in notices_in(answer, language)]
    if answer.status == "answered":
        return spoken
    titles = "; ".join(hit.paper.title for hit in answer.hits[:_NEAREST])
    leads = _LEADS | ({said.NEAREST.format(titles=titles): "nearest_lead"} if titles else {})
    return [
        say(leads[notice], language) if notice in leads else shown for notice, shown in zip(answer.notices, spoken, strict=True)
    ]


def prose_html(answer: Answer, *, turn: int, language: Language = "en") -> str:
    """A model's verified sentences, each marker a link to the quote it rests on; unsupported ones struck and labelled."""
    first: dict[tuple[tuple[int, int], int], Citation] = {}
    for citation in answer.citations:
        first.setdefault((citation.claim, citation.number), citation)
    pieces, place = [], 0
    for claim in sorted({citation.claim for citation in answer.citations}):
        pieces.append(_unsupported_html(answer.text[place : claim[0]], language))
        sentence = re.sub(r"(?: ?\[\d+\])+$", "", answer.text[claim[0] : claim[1]])
        markers = " ".join(_marker(one, turn=turn, language=language) for (of, _), one in first.items() if of == claim)
        pieces.append(f"{rich_text(unescaped(sentence))}&nbsp;{markers}")
        place = claim[1]
    pieces.append(_unsupported_html(answer.text[place:], language))
    paragraphs = "".join(pieces).split(_PARAGRAPH)
    return f'<div class="written">{"".join(f"<p>{paragraph}</p>" for paragraph in paragraphs if paragraph.strip())}</div>'


def _unsupported_html(between: str, language: Language) -> str:
    """What stands between the supported sentences: nothing but struck ones and spaces."""
    pieces = []
    for part in re.split(r"(\n\n)", between):
        pieces += [_PARAGRAPH] if part == "\n\n" else []
        pieces += [
            f' <span class="unsupported"><s>{rich_text(unescaped(match[1]), has_links=False)}</s> <small>({say("unsupported_label", language)})</small></span> '
            for match in STRUCK.finditer(part)
        ]
    return "".join(pieces) or " "


def _by_paper(citations: Iterable[Citation]) -> list[list[Citation]]:
    numbered: dict[int, list[Citation]] = {}
    for citation in citations:
        numbered.setdefault(citation.number, []).append(citation)
    return list(numbered.values())


def _paper_html(citations: Sequence[Citation], *, turn: int, language: Language) -> str:
    """A paper's quotes under its name, each with a marker, and the abstract that the markers open in the evidence panel."""
    paper, number = citations[0].paper, citations[0].number
    once = list({one.start: one for one in reversed(citations)}.values())[::-1]  # a model may rest two sentences on one quote
    quotes = "".join(
        f"<blockquote>{rich_text(one.quote)}&nbsp;{_marker(one, turn=turn, language=language)}</blockquote>" for one in once
    )
    title = html.escape(paper.title)
    return (
        f'<section class="paper"><h3><span class="number">[{number}]</span> {title} <small>{_about(paper)}</small></h3>{quotes}'
        f'<details class="abstract" data-title="[{number}] {title}"><summary>{say("whole", language)}</summary>'
        f"{abstract_html(paper, once, turn=turn, language=language)}</details></section>"
    )


def abstract_html(paper: Paper, citations: Sequence[Citation] = (), *, turn: int = 0, language: Language = "en") -> str:
    """A whole abstract with what is known of its paper; every quoted span is marked and an anchor."""
    pieces, place = [], 0
    for citation in sorted(citations, key=lambda one: one.start):
        pieces.append(rich_text(paper.abstract[place : citation.start]))
        pieces.append(f'<mark id="{_anchor(turn, citation)}" tabindex="-1">{rich_text(citation.quote)}</mark>')
        place = citation.end
    text = "".join([*pieces, rich_text(paper.abstract[place:])])
    about = _about(paper)
    places = html.escape(f"{say('source', language)}: " + ", ".join(paper.sources))
    links = "".join(f" · {link_html(url)}" for url in paper.urls)
    page = f'<a href="#paper-{html.escape(paper.id)}" data-action="paper" data-paper="{html.escape(paper.id)}">{say("open_paper", language)}</a>'
    return f'<p class="about">{about}</p><p class="text">{text}</p><p class="origin">{places}{links} · {page}</p>'


def _marker(citation: Citation, *, turn: int, language: Language) -> str:
    """A marker that leads to the quote in the abstract; it shows the quote when it is pointed at."""
    name = f"{say('source', language)} {citation.number}: {citation.paper.title}, {say('show_source', language)}"
    return (
        f'<a class="marker" href="#{_anchor(turn, citation)}" aria-label="{html.escape(name)}" '
        f'data-quote="{html.escape(citation.quote)}">[{citation.number}]</a>'
    )


def _anchor(turn: int, citation: Citation) -> str:
    return f"quote-{turn}-{citation.number}-{citation.start}"


def _about(paper: Paper) -> str:
    return html.escape(" ".join(part for part in (", ".join(paper.authors[:3]), paper.venue, str(paper.year or "")) if part))


def _nearest_html(answer: Answer, language: Language) -> str:
    rows = "".join(
        f'<li><a href="#paper-{html.escape(hit.paper.id)}" data-action="paper" data-paper="{html.escape(hit.paper.id)}">'
        f"{html.escape(hit.paper.title)}</a></li>"
        for hit in answer.hits[:_NEAREST]
    )
    return f'<p class="nearest">{say("nearest", language)}</p><ul class="nearest">{rows}</ul>' if rows else ""


def _found_html(answer: Answer, *, turn: int, language: Language) -> str:
    """What was searched, to be changed and searched again; the papers considered; who wrote; the time it took."""
    rows = "".join(
        f'<tr><td><a href="#paper-{html.escape(hit.paper.id)}" data-action="paper" data-paper="{html.escape(hit.paper.id)}">'
        f'{html.escape(hit.paper.title)}</a></td><td class="score">{hit.score:.2f}</td></tr>'
        for hit in answer.hits
    )
    table = f"<table><caption>{say('considered', language)}</caption><tbody>{rows}</tbody></table>" if rows else ""
    stages = " · ".join(f"{_stage(stage, language)} {seconds:.2f}" for stage, seconds in answer.timings.items())
    model = html.escape({QUOTES: say("quotes", language), LOCAL: say("local", language)}.get(answer.model, answer.model))
    searched = html.escape(answer.standalone_question[:_LONGEST_QUESTION])
    return (
        f'<details class="found"><summary>{say("found", language)}</summary>'
        f'<form data-form="again" data-turn="{turn}"><label>{say("searched", language)} '
        f'<input name="question" dir="auto" value="{searched}" maxlength="4000"></label>'
        f'<button type="submit">{say("again", language)}</button></form>'
        f'{table}<p class="origin">{say("written_by", language)}: {model} · {say("seconds", language)}: {stages}</p></details>'
    )


def _stage(name: str, language: Language) -> str:
    return say(f"stage_{name}", language) if name in _STAGES else html.escape(name)


def _tools_html(answer: Answer, *, turn: int, language: Language, offers_feedback: bool) -> str:
    """Buttons below an answer, and the texts that they copy and save, made here so that nothing is kept on the server."""

    def button(action: str, key: str) -> str:
        return f'<button type="button" data-action="{action}" data-turn="{turn}">{say(key, language)}</button>'

    texts_by_kind = {"copy": plain_with_citations(answer), "markdown": answer_markdown(answer)}
    if answer.citations:
        texts_by_kind["bibtex"] = bibtex(dict.fromkeys(citation.paper for citation in answer.citations))
    names = ["retry", "edit", *texts_by_kind]
    texts = "".join(f'<pre hidden data-text="{kind}">{html.escape(text)}</pre>' for kind, text in texts_by_kind.items())
    buttons = "".join(button(name, name) for name in names)
    if offers_feedback:
        buttons += button("good", "good") + button("bad", "bad")
    edit = (
        f'<form hidden data-form="edit" data-turn="{turn}"><textarea name="question" dir="auto" rows="2" maxlength="4000" '
        f'aria-label="{say("edit", language)}">{html.escape(answer.question[:_LONGEST_QUESTION])}</textarea>'
        f'<p class="cuts"></p>{_form_buttons(turn, language)}</form>'
    )
    feedback = _feedback_html(turn, language) if offers_feedback else ""
    return f'<div class="tools" role="group">{buttons}</div>{edit}{feedback}{texts}'


def _feedback_html(turn: int, language: Language) -> str:
    return (
        f'<form hidden data-form="feedback" data-turn="{turn}"><label>{say("reason", language)} <input name="reason" maxlength="1000"></label>'
        f'<label>{say("expected", language)} <input name="expected" maxlength="300"></label>'
        f"<p>{say('feedback_note', language)}</p>{_form_buttons(turn, language)}</form>"
    )


def _form_buttons(turn: int, language: Language) -> str:
    return (
        f'<div class="tools"><button type="submit">{say("send", language)}</button>'
        f'<button type="button" data-action="cancel" data-turn="{turn}">{say("cancel", language)}</button></div>'
    )
