"""LaTeX in the fields of a bibliography as text: accents and letters become characters, grouping braces go. Maths is left alone."""

import re
from functools import lru_cache
from typing import Any

from rag.text import MATH

_LETTERS = (
    r"(?:ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j|dh|DH|th|TH|dj|DJ|ng|NG|S|P|dag|ddag|copyright|pounds|ldots|dots|textendash|textemdash"
)
_LETTERS += (
    r"|textquoteright|textquoteleft|textquotedblleft|textquotedblright|textregistered|texttrademark|textdegree|textasciitilde)"
)
_BASE = r"(?:\\[ij](?![A-Za-z])|[A-Za-z])"
_ACCENT = re.compile(
    rf"\\[\"'`^~=.]\s*(?:\{{\s*{_BASE}\s*\}}|{_BASE})"
    rf"|\\[uvHtcdbrkG](?:\s*\{{\s*{_BASE}{{1,2}}\s*\}}|\s+{_BASE})"
    rf"|\\{_LETTERS}(?![A-Za-z])(?:\s*\{{\}}|\s(?=\S))?"
)
_DRESS = re.compile(r"\\(?:text(?:it|bf|tt|sc|rm|sf|sl|up|md|normal)?|emph|underline|uppercase|mbox|hbox|url|enquote)\s*(?=\{)")
_OLD_DRESS = re.compile(r"\{\\(?:it|bf|em|tt|sc|rm|sf|sl)\s+([^{}]*)\}")
_TIE = re.compile(r"(?<=[\w.,:;)\]}])~(?=[\w(\[{\\]|\Z)")  # "(~5)" is about five, "/~ada" an address
_ESCAPED = re.compile(r"\\([%&#_ ])")
_OWN_BRACES = re.compile(r"(\\[A-Za-z]+\*?(?:\[[^\[\]{}]{0,200}\])?(?:\{[^{}]*\})+)|\{([^{}]*)\}")
_MOST_NESTED = 8


def plain_latex(text: str) -> str:
    """`text` with accents as characters and without grouping braces; maths, unknown commands and "\\$" stay as they are."""
    if not any(sign in text for sign in "\\{~"):
        return " ".join(text.split())
    pieces: list[str] = []
    place = 0
    for match in MATH.finditer(text):
        pieces += [_plain(text[place : match.start()]), match.group()]
        place = match.end()
    joined = "".join([*pieces, _plain(text[place:])])
    return " ".join(_without_groups(joined).split())


def _plain(text: str) -> str:
    text = _OLD_DRESS.sub(r"\1", _ACCENT.sub(lambda match: _character(match.group()), text))
    text = _TIE.sub(" ", _DRESS.sub("", text))
    return _ESCAPED.sub(r"\1", text)


def _without_groups(text: str) -> str:
    """`text` without braces that only group: those of maths and of commands stay. Groups may hold maths: "{$D^2$: a title}"."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group())
        return f"\ue000{len(kept) - 1}\ue001"

    text = MATH.sub(keep, text.replace("\ue000", "").replace("\ue001", ""))
    for _ in range(_MOST_NESTED):
        plainer = _OWN_BRACES.sub(lambda match: match[1] or match[2], text)
        if plainer == text:
            break
        text = plainer
    return re.sub("\ue000(\\d+)\ue001", lambda match: kept[int(match[1])], text)


@lru_cache(maxsize=4096)
def _character(macro: str) -> str:
    """The character that one accent or letter macro stands for."""
    return str(_converter().latex_to_text(macro)).strip() or macro


@lru_cache(maxsize=1)
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text  # here: few files need it

    return LatexNodes2Text()
