"""Answers to HTML. Everything that comes from a file or a person is escaped here and nowhere else.

Abstracts keep their words; their maths is written as MathML (which browsers draw without scripts or fonts from elsewhere),
their emphasis as emphasis, their web addresses as links. Knows no Gradio.
"""

import html
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from xml.etree import ElementTree

import latex2mathml.converter

from rag.answer import Answer
from rag.answering.specs import QUOTES
from rag.citations import UNSUPPORTED, Citation, unescaped
from rag.papers import Paper
from rag.text import MATH, clean_url

_URL = re.compile(r"https?://[^\s<>\"`|]+")
_LABELLED_LINK = re.compile(r"\[(?P<label>[^\]\[]+)\]\((?P<target>https?://[^\s()<>\"]+)\)")
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*")
_EMPHASIS = re.compile(r"(?<!\*)\*(?=\S)([^*\n]+?)(?<=\S)\*(?!\*)|(?<![\w_])_(?=[^\s_])([^_\n]+?)(?<=[^\s_])_(?![\w_])")
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_MATH_TAGS = {
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "mover", "munder",
    "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
}  # fmt: skip
_MATH_ATTRIBUTES = {"display", "stretchy", "mathvariant", "fence", "accent", "displaystyle", "linethickness", "width", "form"}
_STRUCK = re.compile(rf"~~((?:\\.|[^~\\])*)~~ \*\({UNSUPPORTED}\)\*")
_PARAGRAPH = "\x00"  # escaping never leaves one
_LONGEST_DRAFT = 4000  # characters
_STATUS = {
    "not_found": "Not in this collection",
    "silent": "The abstract does not say",
    "premise": "The question assumes something that an abstract contradicts",
    "invalid": "Nothing to search for",
}


def answer_html(answer: Answer, *, turn: int) -> str:
    """One question with its answer, also while a model writes it; `turn` numbers it within the page, so that its anchors are unique."""
    asked = f'<h2 class="question">{html.escape(answer.question[:2000])}</h2>'
    if not answer.is_final and not answer.text:
        return f'<article class="turn" aria-busy="true">{asked}<p class="waiting">Reading the abstracts…</p></article>'
    body = _draft_html(answer.draft) if not answer.is_final else ""
    if answer.model != QUOTES:
        body += prose_html(answer, turn=turn)
    body += "".join(_paper_html(citations, turn=turn) for citations in _by_paper(answer.citations))
    notices = "".join(f"<p>{html.escape(notice)}</p>" for notice in answer.notices)
    if answer.status != "answered":
        said = f'<div class="refusal {answer.status}"><strong>{_STATUS[answer.status]}.</strong>{notices}</div>'
        body = body + said if answer.status in ("not_found", "invalid") else said + body
    elif notices:
        body += f'<div class="notices">{notices}</div>'
    state = 'aria-label="Answer"' if answer.is_final else 'aria-busy="true"'
    return f'<article class="turn" {state}>{asked}{body}</article>'


def _draft_html(draft: str) -> str:
    """What a model has written so far, said to be unverified."""
    shown = html.escape(draft.strip()[-_LONGEST_DRAFT:]) or "…"
    return f'<div class="draft" aria-hidden="true"><strong>The model is writing; nothing below this line is verified yet.</strong><p>{shown}</p></div>'


def prose_html(answer: Answer, *, turn: int) -> str:
    """A model's verified sentences, each marker a link to the quote it rests on; unsupported ones struck and labelled."""
    first: dict[tuple[tuple[int, int], int], Citation] = {}
    for citation in answer.citations:
        first.setdefault((citation.claim, citation.number), citation)
    pieces, place = [], 0
    for claim in sorted({citation.claim for citation in answer.citations}):
        pieces.append(_unsupported_html(answer.text[place : claim[0]]))
        sentence = re.sub(r"(?: ?\[\d+\])+$", "", answer.text[claim[0] : claim[1]])
        markers = " ".join(_marker(one, turn=turn) for (of, _), one in first.items() if of == claim)
        pieces.append(f"{rich_text(unescaped(sentence))} {markers}")
        place = claim[1]
    pieces.append(_unsupported_html(answer.text[place:]))
    paragraphs = "".join(pieces).split(_PARAGRAPH)
    return f'<div class="prose">{"".join(f"<p>{paragraph}</p>" for paragraph in paragraphs if paragraph.strip())}</div>'


def _unsupported_html(between: str) -> str:
    """What stands between the supported sentences: nothing but struck ones and spaces."""
    pieces = []
    for part in re.split(r"(\n\n)", between):
        pieces += [_PARAGRAPH] if part == "\n\n" else []
        pieces += [
            f' <span class="unsupported"><s>{rich_text(unescaped(match[1]))}</s> <small>({UNSUPPORTED})</small></span> '
            for match in _STRUCK.finditer(part)
        ]
    return "".join(pieces) or " "


def error_html(question: str, message: str) -> str:
    """A question that could not be answered because of a fault, with what to do about it."""
    asked = f'<h2 class="question">{html.escape(question[:2000])}</h2>'
    return (
        f'<article class="turn" aria-label="Answer">{asked}<div class="refusal error"><p>{html.escape(message)}</p></div></article>'
    )


def _by_paper(citations: Iterable[Citation]) -> list[list[Citation]]:
    numbered: dict[int, list[Citation]] = {}
    for citation in citations:
        numbered.setdefault(citation.number, []).append(citation)
    return list(numbered.values())


def _paper_html(citations: Sequence[Citation], *, turn: int) -> str:
    """A paper's quotes under its name, each with a marker that leads to the quote in the abstract below."""
    paper, number = citations[0].paper, citations[0].number
    citations = list({one.start: one for one in reversed(citations)}.values())[::-1]  # a model may rest two sentences on one quote
    quotes = "".join(f"<blockquote>{rich_text(one.quote)} {_marker(one, turn=turn)}</blockquote>" for one in citations)
    return (
        f'<section class="paper"><h3><span class="number">[{number}]</span> {html.escape(paper.title)} <small>{_about(paper)}</small></h3>{quotes}'
        f'<details class="abstract"><summary>The whole abstract</summary><p>{_abstract_html(citations, turn=turn)}</p>'
        f'<p class="origin">{_origin(paper)}</p></details></section>'
    )


def _marker(citation: Citation, *, turn: int) -> str:
    """A marker that leads to the quote in the abstract."""
    label = f"Source {citation.number}: {html.escape(citation.paper.title)}, show in the abstract"
    return f'<a class="marker" href="#{_anchor(turn, citation)}" aria-label="{label}">[{citation.number}]</a>'


def _abstract_html(citations: Sequence[Citation], *, turn: int) -> str:
    """The abstract with every quoted span marked, each an anchor."""
    abstract, pieces, place = citations[0].paper.abstract, [], 0
    for citation in sorted(citations, key=lambda one: one.start):
        pieces.append(rich_text(abstract[place : citation.start]))
        pieces.append(f'<mark id="{_anchor(turn, citation)}" tabindex="-1">{rich_text(citation.quote)}</mark>')
        place = citation.end
    return "".join([*pieces, rich_text(abstract[place:])])


def _anchor(turn: int, citation: Citation) -> str:
    return f"quote-{turn}-{citation.number}-{citation.start}"


def _about(paper: Paper) -> str:
    return html.escape(" ".join(part for part in (", ".join(paper.authors[:3]), paper.venue, str(paper.year or "")) if part))


def _origin(paper: Paper) -> str:
    places = html.escape("Source: " + ", ".join(paper.sources))
    return places + "".join(f" · {_link(url)}" for url in paper.urls)


def rich_text(text: str) -> str:
    """Running text of an abstract as HTML: same words, maths drawn, emphasis and web addresses made live, all else escaped."""
    pieces, place = [], 0
    for match in re.finditer(f"{_LABELLED_LINK.pattern}|{_URL.pattern}|{MATH.pattern}", text):
        pieces.append(_emphasised(text[place : match.start()]))
        whole = match.group()
        if match["label"]:
            pieces.append(_link(match["target"], label=match["label"]))
        elif whole.startswith("http"):
            url = clean_url(whole)
            pieces.append(_link(url) + _emphasised(whole[len(url) :]))
        else:
            pieces.append(math_html(match["display"] or match["inline"], source=whole))
        place = match.end()
    return "".join([*pieces, _emphasised(text[place:])])


def _emphasised(text: str) -> str:
    escaped = html.escape(text)
    escaped = _STRONG.sub(r"<strong>\1</strong>", escaped)
    return _EMPHASIS.sub(lambda match: f"<em>{match[1] or match[2]}</em>", escaped)


def _link(url: str, *, label: str = "") -> str:
    text = html.escape(label or url)
    if not url.startswith(("https://", "http://")):
        return text
    return f'<a href="{html.escape(url)}" target="_blank" rel="noopener noreferrer">{text}</a>'


_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})*")


def _join_thousands(parent: ElementTree.Element) -> None:
    """ "31,325" is one number; the converter makes two of it, with an operator and its space between them."""
    children = list(parent)
    for left, comma, right in zip(children, children[1:], children[2:], strict=False):
        is_number = left.tag == right.tag == "mn" and comma.text == "," and re.fullmatch(r"\d{3}", right.text or "")
        if is_number and _THOUSANDS.fullmatch(left.text or ""):
            right.text = f"{left.text},{right.text}"
            parent.remove(left)
            parent.remove(comma)


@lru_cache(maxsize=4096)
def math_html(tex: str, *, source: str) -> str:
    """TeX maths as MathML; what cannot be read stays as its escaped `source`."""
    try:
        root = ElementTree.fromstring(latex2mathml.converter.convert(re.sub(r"\\\\([{}])", r"\\\1", tex)))
    except Exception:  # the converter raises errors of many kinds on broken TeX, and the source is always there to show
        return html.escape(source)
    if not all(element.tag.removeprefix(_MATHML) in _MATH_TAGS for element in root.iter()):
        return html.escape(source)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_MATHML)
        for name in set(element.attrib) - _MATH_ATTRIBUTES:
            del element.attrib[name]
    for element in root.iter():
        _join_thousands(element)
    root.set("aria-label", source.strip("$"))
    return ElementTree.tostring(root, encoding="unicode")
