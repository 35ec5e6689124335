"""Running text of an abstract to HTML: same words, maths drawn, emphasis and web addresses live, all else escaped.

Maths is written as MathML, which browsers draw without scripts or fonts from elsewhere. Everything that comes from a file, a person
or a model and is shown as running text goes through here.
"""

import html
import re
from functools import lru_cache
from xml.etree import ElementTree

import latex2mathml.converter

from rag.text import MATH, clean_url

_URL = re.compile(r"https?://[^\s<>\"`|]+")
_LABELLED_LINK = re.compile(r"\[(?P<label>[^\]\[]+)\]\((?P<target>https?://[^\s()<>\"]+)\)")
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*")
_EMPHASIS = re.compile(r"(?<!\*)\*(?=\S)([^*\n]+?)(?<=\S)\*(?!\*)|(?<![\w_])_(?=[^\s_])([^_\n]+?)(?<=[^\s_])_(?![\w_])")
_SIGNS = ("×", "∼", "~", "≈", "±", "→")
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_MATH_TAGS = {
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "mover", "munder",
    "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
}  # fmt: skip
_MATH_ATTRIBUTES = {"display", "stretchy", "mathvariant", "fence", "accent", "displaystyle", "linethickness", "width", "form"}


def rich_text(text: str, *, has_links: bool = True) -> str:
    """Running text of an abstract as HTML: same words, maths drawn, emphasis and, with `has_links`, web addresses made live, all else
    escaped."""
    pieces, place = [], 0
    for match in re.finditer(f"{_LABELLED_LINK.pattern}|{_URL.pattern}|{MATH.pattern}", text):
        pieces.append(_emphasised(text[place : match.start()]))
        whole = match.group()
        if not has_links and (match["label"] or whole.startswith("http")):
            pieces.append(_emphasised(whole))
        elif match["label"]:
            pieces.append(link_html(match["target"], label=match["label"]))
        elif whole.startswith("http"):
            url = clean_url(whole)
            pieces.append(link_html(url) + _emphasised(whole[len(url) :]))
        else:
            pieces.append(math_html(match["display"] or match["inline"], source=whole))
        place = match.end()
    return "".join([*pieces, _emphasised(text[place:])])


def _emphasised(text: str) -> str:
    escaped = html.escape(text)
    escaped = _STRONG.sub(r"<strong>\1</strong>", escaped)
    return _EMPHASIS.sub(lambda match: f"<em>{match[1] or match[2]}</em>", escaped)


def link_html(url: str, *, label: str = "") -> str:
    """A web address as a link that opens apart; anything but http and https stays text."""
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


def _close_up(root: ElementTree.Element) -> None:
    """Lets a sign that begins or ends a formula ("2.6$\\times$ less") stand without the space of an operator between two terms."""
    for row in root.findall("mrow"):
        for edge in {0, len(row) - 1}:
            if len(row) and row[edge].tag == "mo" and row[edge].text in _SIGNS:
                row[edge].tag = "mtext"


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
    _close_up(root)
    root.set("aria-label", source.strip("$"))
    return ElementTree.tostring(root, encoding="unicode")
