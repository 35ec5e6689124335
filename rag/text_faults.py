"""An abstract to what is wrong with its letters: cut off, unbalanced LaTeX, leftover HTML, text that was decoded wrongly. Every check
is conservative: in doubt there is no fault. Knows texts only.
"""

import re

from rag.readers.markup import leftover_markup
from rag.text import MATH

_LAST = 200  # characters of a text in which its end is looked for
_SHOWN = 40  # characters of a fault that are shown
_CLOSERS = "\"'”’»)]}*_`› \t\n"
_DOTS = re.compile(r"(?:\.{3,}|…|\[(?:\.{3}|…|truncated)\]|\((?:\.{3}|…|truncated|more)\))\s*$", re.IGNORECASE)
_LAST_WORD = re.compile(r"(?<![\w$\\/.@-])([a-z]+)$")
_OPEN_END = re.compile(r"(?:[,;(\[{“«]|\w-|\s[-–—&+])$")
_UNFINISHED = frozenset(
    """a an the of and or but with without for to from in by at into onto that which whose is are was were be been has have
    had can could will would may might should we our their its this these those as than because while whereas such via using between among
    both either each every very most if when where""".split()  # noqa: SIM905
)
"""Words that end hardly any sentence; "on" and "not" do (“the data we train on”)."""
_MONEY = re.compile(r"(?:\b[A-Z]{1,3})?\$\s?\d[\d,.]*|\d\s?\$(?:[A-Z]{3}\b|(?!\w))|\b(?:US|CA|AU|NZ|HK|A|C|S)\$")
_UNESCAPED_DOLLAR = re.compile(r"(?<!\\)\$")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{")
_WRONGLY_DECODED = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022"
    "\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178]{1,3}"
)


def cut_off(text: str) -> str:
    """The end of a text that breaks off, by its own marks or in mid-sentence, else ""."""
    end = text[-_LAST:].rstrip()
    bare = end.rstrip(_CLOSERS)
    word = _LAST_WORD.search(end)
    is_cut = _DOTS.search(end) or _OPEN_END.search(end) or (word and word[1] in _UNFINISHED)
    return f"ends with “{_tail(end)}”" if bare and is_cut else ""


def last_word(text: str) -> str:
    """The small-lettered word that a text without a final full stop ends with, else ""."""
    word = _LAST_WORD.search(text[-_LAST:].rstrip())
    return word[1] if word else ""


def broken_latex(text: str) -> str:
    """What is unbalanced in the LaTeX of a text: a dollar that is no money, braces of maths, an environment. Else ""."""
    if "$" not in text and "\\" not in text:
        return ""
    left = _MONEY.sub(" ", MATH.sub(" ", text))
    dollar = _UNESCAPED_DOLLAR.search(left)
    if dollar and len(_UNESCAPED_DOLLAR.findall(left)) % 2:
        return f"a $ without its partner: “{_around(left, dollar.start())}”"
    for math in MATH.finditer(text):
        inner = re.sub(r"\\\\|\\[{}]", "", math.group())
        if inner.count("{") != inner.count("}"):
            return f"unbalanced braces: “{_cut(math.group())}”"
    kinds = [match[1] for match in _ENVIRONMENT.finditer(text)]
    return "\\begin and \\end differ in number" if kinds.count("begin") != kinds.count("end") else ""


def leftover_html(text: str) -> str:
    """The first HTML tag or entity in a text, else ""."""
    found = leftover_markup(MATH.sub(" ", text)) if "<" in text or "&" in text else ""
    return f"“{_cut(found)}”" if found else ""


def wrongly_decoded(text: str) -> str:
    """The first word of a text that was written in UTF-8 and read as something else, or lost its letters; else ""."""
    if text.isascii():
        return ""
    lost = text.find("\ufffd")
    if lost >= 0:
        return f"lost letters in “{_around(text, lost)}”"
    for match in _WRONGLY_DECODED.finditer(text):
        try:
            meant = match.group().encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
        return f"“{_around(text, match.start())}”, where “{meant}” is meant"
    return ""


def _tail(text: str) -> str:
    return " ".join(text[-_SHOWN:].split())


def _cut(text: str) -> str:
    return " ".join(text[:_SHOWN].split())


def _around(text: str, place: int) -> str:
    return " ".join(text[max(0, place - _SHOWN // 2) : place + _SHOWN // 2].split())
