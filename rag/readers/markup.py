"""Running text out of text with HTML or JATS tags and entities. Only tags of known names go, so that "a < b and c > d" stays."""

import html
import re

_NAMES = (
    r"(?:(?:jats|mml|m|xhtml):[\w-]+|a|abbr|abstract|b|big|blockquote|br|center|cite|code|dd|div|dl|dt|em|font|formula|h[1-6]|hr|i"
    r"|inf|inline-formula|italic|bold|li|list|list-item|math|mi|mn|mo|mrow|msub|msup|msubsup|mfrac|mover|munder|mtext|mspace|mstyle"
    r"|ol|p|pre|q|s|sc|sec|section|small|span|strong|strike|sub|sup|table|tbody|td|tex-math|th|title|tr|tt|u|ul|underline|var)"
)
# An attribute has a value: "a <b and c> d" and "x <p and q> r" hold no tags.
_TAG = re.compile(rf"<(?:/{_NAMES}\s*+|{_NAMES}(?:\s++[\w:.-]++\s*+=[^<>]*+|\s*+/?))>", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:jats:)?(?:p|div|br|li|list|list-item|ul|ol|sec|section|blockquote|h[1-6]|tr|table|hr|dd|dt)"
    r"(?:\s++[\w:.-]++\s*+=[^<>]*+|\s*+/?)>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"<((?:jats:)?title)\b[^<>]*>([^<>]*)</\1>", re.IGNORECASE)
_TEX_OF_TWO = re.compile(  # possessive and stopping at the next of its kind, so that time grows with the length and not its square
    r"<((?:jats:)?alternatives)\b[^<>]*>(?:(?!</?(?:jats:)?(?:alternatives|tex-math)\b).)*+<((?:jats:)?tex-math)\b[^<>]*>"
    r"((?:(?!</?(?:jats:)?(?:alternatives|tex-math)\b).)*+)</\2>(?:(?!</?(?:jats:)?alternatives\b).)*+</\1>",
    re.IGNORECASE | re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_DOUBLE = re.compile(r"&amp;(?=(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")


def without_markup(text: str) -> str:
    """`text` without tags, its entities as characters. Tags of unknown names, and signs that only look like tags, stay."""
    if "<" in text:
        text = _TEX_OF_TWO.sub(lambda match: match[3], _CDATA.sub("", _without_comments(text)))
        text = _HEADING.sub(_heading, text)
        text = _TAG.sub("", _BLOCK_TAG.sub(" ", text))
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match.group()), _DOUBLE.sub("&", text))
    return text


def _without_comments(text: str) -> str:
    """`text` without "<!-- … -->"; what begins as a comment and never ends stays."""
    kept: list[str] = []
    place = 0
    while (begin := text.find("<!--", place)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        kept.append(text[place:begin])
        place = end + 3
    return "".join([*kept, text[place:]])


def _heading(match: re.Match[str]) -> str:
    """The heading of a part, as the label of the text after it; none where it only says that this is the abstract."""
    heading = match[2].strip().rstrip(":.").rstrip()
    return "" if heading.casefold() in ("", "abstract", "summary") else f" {heading}: "


def leftover_markup(text: str) -> str:
    """The first tag or entity in `text` that `without_markup` would take for one, else ""."""
    match = _TAG.search(text) or _ENTITY.search(text)
    return match.group() if (match and html.unescape(match.group()) != match.group()) or (match and match.group()[0] == "<") else ""
