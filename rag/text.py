"""Verbatim text to searchable text, and verbatim text to sentence spans.

What is shown and quoted is always the verbatim text; what is encoded and matched is its searchable form, in which LaTeX,
Markdown, quotation marks, dashes and broken hyphenation are spelled one way. `content_key` is a third form, used only to
recognise one abstract in two spellings. This module knows strings and offsets; it knows no paper and no index.
"""

import re
import unicodedata
from dataclasses import dataclass

import sentencex

TEXT_VERSION = 1
"""Raised when the searchable form or the sentence spans change, so that an index built with the old ones is refused."""

MATH = re.compile(
    r"\$\$(?P<display>[^$]+)\$\$"
    r"|(?<![\\$])\$(?P<inline>(?=\S)(?:[^$\n]*?(?<=[^\s\\])(?=\$(?![\d$]))|\\[A-Za-z]+(?=\$\d)))\$"
)
"""TeX maths in running text. A single dollar opens maths only before a non-space and closes it only after one and before
no digit (Pandoc's rule), so that "$5 and $6" stays money; a lone macro may stand before a digit ("$\\times$3.79")."""

_URL = re.compile(r"https?://[^\s<>\"`|“”„«»‘’—–。，、；：！？（）【】]+")
_CODE_STYLE = re.compile(r"\\(?:text(?:it|bf|tt|sc|rm|sf)?|emph|math(?:cal|bb|bf|rm|it|sf|tt|frak|scr)|operatorname)\s*\*?")
_MACRO_WORDS = {
    "times": "×", "cdot": "·", "sim": "~", "approx": "~", "pm": "±", "le": "<=", "leq": "<=", "ge": ">=", "geq": ">=",
    "infty": "infinity", "to": "->", "rightarrow": "->", "ldots": "...", "dots": "...", "left": "", "right": "",
    "quad": " ", "qquad": " ", "varepsilon": "epsilon", "varphi": "phi", "ell": "l",
}  # fmt: skip
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "′": "'"})
_DASHES = re.compile(r"[‐‑‒–—―−﹣－]|(?<!-)-{2,3}(?!-)")
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, `text[start:end]`."""

    start: int
    end: int


# --- searchable form ------------------------------------------------------------------------------------------------


def searchable(text: str) -> str:
    """The form that is encoded and matched; same words, one spelling. Empty for text without content."""
    kept_urls: list[str] = []

    def keep_url(match: re.Match[str]) -> str:
        url = clean_url(match.group())
        kept_urls.append(url)
        return f" \ue000{len(kept_urls) - 1}\ue001 " + match.group()[len(url) :]

    text = _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).replace("\ue000", "").replace("\ue001", "")
    text = _URL.sub(keep_url, re.sub(r"\[(https?://[^\]\s]+)\]\(\1\)", r"\1", text))
    text = _plain_markdown(_plain_latex(text))
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = re.sub(r"``|''", '"', text).replace("`", "'")
    text = _DASHES.sub("-", text)
    text = _join_broken_hyphenation(re.sub(r"\s+", " ", text))
    text = _spell_factors(text)
    text = re.sub("\ue000(\\d+)\ue001", lambda match: kept_urls[int(match.group(1))], text)
    return re.sub(r"\s+", " ", text).strip()


def _plain_latex(text: str) -> str:
    text = MATH.sub(lambda match: _plain_math(match["display"] or match["inline"]), text)
    if "\\" not in text:
        return text
    text = re.sub(r"\\\\([{}])", r"\\\1", text)
    text = re.sub(_CODE_STYLE.pattern + r"{([^{}]*)}", r"\1", text)
    text = _CODE_STYLE.sub("", text)
    text = re.sub(r"\\d?frac\s*{([^{}]*)}\s*{([^{}]*)}", r"\1/\2", text)
    text = re.sub(r"\\sqrt\s*{([^{}]*)}", r"sqrt(\1)", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _MACRO_WORDS.get(match[1], match[1]), text)
    return re.sub(r"\\([%&$#_{}])", r"\1", text)


def _plain_math(math: str) -> str:
    plain = _plain_latex(math)
    plain = re.sub(r"[\^_]\s*{?([\w+\-./]*)}?", r"\1", plain) if not re.search(r"[\^_]\s*{?-", plain) else plain
    return re.sub(r"[{}]", "", plain).replace("~", " ~ ").strip()


def _plain_markdown(text: str) -> str:
    text = re.sub(r"\[([^\]\[]+)\]\(\s*([^()\s]+)\s*\)", r"\1 \2", text)
    text = re.sub(r"(\*{1,3})(?=\S)([^*\n]+?)(?<=\S)\1", r"\2", text)
    return re.sub(r"(?<![\w_])(_{1,2})(?=[^\s_])([^_\n]+?)(?<=[^\s_])\1(?![\w_])", r"\2", text)


def _join_broken_hyphenation(text: str) -> str:
    """ "struc- ture" is one word and "state- of-the-art" one compound; "pre- and post-processing" stays as it is."""

    def join(match: re.Match[str]) -> str:
        left, right, follows = match.groups()
        return f"{left}-{right}{follows}" if follows == "-" else f"{left}{right}{follows}"

    return re.sub(r"\b([A-Za-z]{2,})- (?!(?:and|or|to|nor|but|vs|as|through|und)\b)([a-z]{2,})(-?)", join, text)


def _spell_factors(text: str) -> str:
    """A factor is spelled "2.6x", whether typed "2.6×", "2.6 x", "×2.6" or "2.6 times"."""
    text = re.sub(r"(?<=\d)\s?[×xX]\s?(?=\d)", "x", text)
    text = re.sub(r"(?<![\d.])×\s?(\d+(?:\.\d+)?)(?![\d.]*\s?×)", r"\1x", text)
    text = re.sub(
        r"(\d)\s?(?:×|[xX](?![\w-])|times(?= (?:less|more|fewer|faster|slower|larger|smaller|higher|lower|speed)))", r"\1x", text
    )
    return re.sub(r"(\d) %", r"\1%", text)


# --- the form that recognises one abstract in two spellings -----------------------------------------------------------


def content_key(text: str) -> str:
    """The abstract without spacing, quotation marks, LaTeX or Markdown dress, and with one kind of dash.

    Two texts with one key are the same abstract. Paper ids are made from it, so it is frozen: a change here renames every
    paper that anybody has stored.
    """
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    text = re.sub(
        r"\\(?:text(?:it|bf|tt|sc|rm|sf)?|emph|math(?:cal|bb|bf|rm|it|sf|tt|frak|scr)|operatorname)(?![A-Za-z])", "", text
    )
    text = re.sub(r"\\var(?=epsilon|phi|theta|rho|sigma|kappa|pi)", "", text)
    for macro, sign in (
        ("leq?", "≤"),
        ("geq?", "≥"),
        ("pm", "±"),
        ("to|rightarrow", "→"),
        ("infty", "∞"),
        ("sim", "~"),
        ("[lc]?dots", "..."),
    ):
        text = re.sub(rf"\\(?:{macro})(?![A-Za-z])", sign, text)
    text = re.sub(r"\\times(?![A-Za-z])|×", "x", text)
    text = re.sub(r"[‐‑‒–—―−-]+", "-", text)
    text = re.sub(r"[Ͱ-Ͽ]", lambda match: _letter_name(match[0]), text)
    return re.sub(r"[\s\"'`“”„«»‘’‚′$\\{}*_^~]", "", text)


def _letter_name(letter: str) -> str:
    """ "epsilon" for the Greek letter, as TeX spells it."""
    name = unicodedata.name(letter, letter)
    word = name.rsplit(" ", 1)[-1]
    return word.capitalize() if "CAPITAL" in name else word.lower()


# --- links ------------------------------------------------------------------------------------------------------------


def links(text: str) -> tuple[str, ...]:
    """The web addresses in `text`, clean and each once, in order."""
    return tuple(dict.fromkeys(clean_url(match.group()) for match in _URL.finditer(text)))


def clean_url(url: str) -> str:
    """`url` without what was glued to its end: a full stop, a closing bracket that it does not open, an asterisk."""
    url = re.split(r"[\]}]\(|[\\^{}]", url)[0]
    while url and (url[-1] in ".,;:!?*_'\"]>" or (url[-1] == ")" and url.count(")") > url.count("("))):
        url = url[:-1]
    return url


# --- sentences ----------------------------------------------------------------------------------------------------------

_ENUMERATION = re.compile(r"\((?:\d{1,2}|[ivx]{1,4}|[a-h])\)")
_ABBREVIATION = re.compile(
    r"\b(?:e\.\s?g|i\.\s?e|et al(?!\.\s+[A-Z])|etc(?!\.\s+[A-Z])|No(?=\.\s?\d)|cf|vs|resp|w\.r\.t|approx|acc|a\.k\.a|incl"
    r"|Fig|Figs|Eq|Eqs|Sec|Tab|Thm|Alg|Def|Prop|Ref|St|Dr|Prof)\."
)
_ENDS_FOR_GOOD = re.compile(r"\b(?:etc|et al)\.$")
_GLUED = re.compile(r"(?<=[a-z)\]][.!?])(?=[A-Z][a-z]*\s)")
_CLOSERS = "*_\"'”’)]}`"


def sentence_spans(text: str) -> list[Span]:
    """The sentences of `text` in order: non-empty, not overlapping, trimmed, together covering every non-space character.

    The cutting is done by sentencex: Wikimedia keeps it, its licence is MIT, and it takes 0.05 ms an abstract where pysbd
    takes 6 ms (at a hundred thousand abstracts, minutes against hours of encoding). It errs on these abstracts in ways
    that can be named, mended here: marks that must not cut (maths, URLs, enumerations, abbreviations) are masked with
    as many neutral letters, so that offsets hold; closing marks left behind are given back; glued sentences are parted.
    """
    if not text.strip():
        return []
    cuts = {boundary["start_index"] for boundary in sentencex.get_sentence_boundaries("en", _masked(text))}
    cuts |= {match.start() for match in _GLUED.finditer(_mask(_URL, text))} - _inside(MATH, text)
    starts = sorted({_after_closers(text, cut) for cut in cuts | {0}})
    pieces = [_trim(text, start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return _merge_false_cuts(text, [piece for piece in pieces if piece.start < piece.end])


def _mask(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: "x" * len(match.group()), text)


def _inside(pattern: re.Pattern[str], text: str) -> set[int]:
    return {place for match in pattern.finditer(text) for place in range(match.start() + 1, match.end())}


def _masked(text: str) -> str:
    """`text` of the same length, with everything that holds a mark but ends no sentence made of letters."""
    text = _URL.sub(lambda match: "x" * len(clean_url(match.group())) + match.group()[len(clean_url(match.group())) :], text)
    text = _mask(_ENUMERATION, _mask(MATH, text))
    text = _ABBREVIATION.sub(lambda match: match.group()[:-1].replace(".", "x").replace(" ", "x") + "x", text)
    text = re.sub(r"(?<=\d)\.(?=\d)", "x", text)
    text = re.sub(r"\.\.\.(?=\s*[)\],;a-z])", "xxx", text)
    # Emphasis and TeX quotes hide a full stop from the cutter ("**… ends.** Next", "``…'' next").
    return re.sub(
        r"[*`_]|''",
        lambda match: "x" * len(match.group()),
        re.sub(r"([.!?])(\*{1,3}|_{1,2}|''|`|\))(?=\s|$)", lambda m: m[1] + '"' * len(m[2]), text),
    )


def _after_closers(text: str, cut: int) -> int:
    """Moves a cut behind the closing marks that belong to the sentence before it."""
    end = cut
    while end < len(text) and text[end] in _CLOSERS and cut > 0 and not text[cut - 1].isspace():
        end += 1
    rest = text[end:]
    return end if end == cut or not rest or rest[0].isspace() else cut


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _merge_false_cuts(text: str, pieces: list[Span]) -> list[Span]:
    """Joins a piece to the one before it where the cut between them was none."""
    merged: list[Span] = []
    for piece in pieces:
        if merged and _is_false_cut(text[merged[-1].start : merged[-1].end], text[piece.start : piece.end]):
            merged[-1] = Span(merged[-1].start, piece.end)
        else:
            merged.append(piece)
    return merged


def _is_false_cut(before: str, after: str) -> bool:
    if not any(character.isalnum() for character in after) or not any(character.isalnum() for character in before):
        return True
    end = before.rstrip(_CLOSERS)
    if end.endswith((";", ":", ",")) or end[-1:].isalnum():
        return True
    if _ENDS_FOR_GOOD.search(before):
        return not re.match(r"[\W_]*[A-Z]", after)
    return bool(re.match(r"[a-z]", after)) and not after.startswith(("http", "e.g"))
