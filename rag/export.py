"""Answers to what a reader takes away: Markdown with sources, BibTeX, text for the clipboard. Pure: answers in, strings out.

The text of an answer is escaped already; everything else is escaped here, so that nothing in a question, an abstract or a file's
name acts as markup. A model's draft is never exported. Knows no page and no file.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag.answer import Answer, Status
from rag.citations import escaped, unescaped
from rag.papers import Paper
from rag.text import MATH

STATUS_WORDS: Mapping[Status, str] = {
    "answered": "Answered",
    "not_found": "Not in this collection",
    "silent": "The abstract does not say",
    "premise": "The question assumes something that an abstract contradicts",
    "invalid": "Nothing to search for",
}

_ESCAPE_OR_MARKER = re.compile(r"\\.|\[(\d+)\]", re.DOTALL)
_ESCAPE_OR_EMPHASIS = re.compile(r"\\([^\w\s]|_)|\*\*|~~|\*")
_ESCAPED_MATHS = re.compile(r"(?<!\\)(?:\\\$){1,2}(?:[^\\$\n]|\\[^$\n])+?(?:\\\$){1,2}(?!\d)")
_MARKUP_IN_MATHS = re.compile(r"[<>`\[\]&#!*~|@]|https?:|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9{])")
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\x00-\x20\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class _Source:
    """A paper, its number in the whole export, and its quotes in the order of their first use."""

    number: int
    paper: Paper
    quotes: tuple[str, ...]


def answer_markdown(answer: Answer) -> str:
    """One answer as a Markdown document: question, status unless answered, text, notices, and the sources with their exact quotes."""
    sources = _sources([answer])
    parts = [f"# {_shown(answer.question) or 'No question'}", *_body(answer, sources)]
    if sources:
        parts += ["## Sources", *(_source_markdown(source) for source in sources)]
    return "\n\n".join(parts) + "\n"


def conversation_markdown(answers: Sequence[Answer], *, title: str) -> str:
    """A conversation as a Markdown document: its turns, one list of sources for all of them, and their BibTeX.

    Papers are numbered through the whole conversation, so that a paper has one number and one entry however many answers cite it;
    the markers of every answer are renumbered to match. Each source names the key of its BibTeX entry.
    """
    sources = _sources(answers)
    parts = [f"# {_shown(title) or 'Conversation'}"]
    for turn, answer in enumerate(answers, start=1):
        parts += [f"## {turn}. {_shown(answer.question) or 'No question'}", *_body(answer, sources)]
    if not answers:
        parts.append("Nothing was asked yet.")
    if sources:
        papers = [source.paper for source in sources]
        keys = _keys(papers)
        parts += ["## Sources", *(_source_markdown(source, key=key) for source, key in zip(sources, keys, strict=True))]
        parts += ["## BibTeX", _fenced(bibtex(papers))]
    return "\n\n".join(parts) + "\n"


def plain_with_citations(answer: Answer) -> str:
    """An answer as plain text for the clipboard: what is not answered says so, then the text with [n], then one line per source.

    A refusal, which has no text, is followed by what the program says of it. Quotes stand in quotation marks; a struck sentence keeps its label.
    """
    lines = [] if answer.status == "answered" else [f"{STATUS_WORDS[answer.status]}."]
    lines += [_plain(line) for line in answer.text.splitlines() if line.strip()] or list(answer.notices)
    sources = []
    for source in _sources([answer]):
        paper = source.paper
        about = [_sentence(paper.title), _sentence(_where(paper)), " ".join(_addresses(paper)[:1])]
        sources.append(" ".join([f"[{source.number}]", *filter(None, about)]))
    return "\n\n".join(["\n".join(lines), *(["\n".join(sources)] if sources else [])]) + "\n"


def leading(notices: Sequence[str]) -> tuple[list[str], list[str]]:
    """The notices up to the one that leads over to the quotes ("Nearest is:"), and those after it. Without such a one, all lead."""
    lead = next((at for at, notice in enumerate(notices, start=1) if notice.rstrip().endswith((":", "："))), len(notices))
    return list(notices[:lead]), list(notices[lead:])


# --- Markdown ---------------------------------------------------------------------------------------------------------


def _sources(answers: Sequence[Answer]) -> list[_Source]:
    """The cited papers, numbered from 1 in the order of the answers and of the numbers within each."""
    papers: dict[str, Paper] = {}
    quotes: dict[str, list[str]] = {}
    for answer in answers:
        for citation in sorted(answer.citations, key=lambda one: one.number):
            papers.setdefault(citation.paper.id, citation.paper)
            quotes.setdefault(citation.paper.id, []).append(citation.quote)
    return [_Source(number, papers[key], tuple(dict.fromkeys(quotes[key]))) for number, key in enumerate(papers, start=1)]


def _body(answer: Answer, sources: Sequence[_Source]) -> list[str]:
    status = [] if answer.status == "answered" else [f"**{STATUS_WORDS[answer.status]}.**"]
    text = [_renumbered(answer, sources)] if answer.text.strip() else []
    before, after = leading([notice for notice in answer.notices if notice.strip()])
    before, after = ([], before) if answer.status == "answered" else (before, after)
    return [*status, *(_shown(notice) for notice in before), *text, *(_shown(notice) for notice in after)]


def _renumbered(answer: Answer, sources: Sequence[_Source]) -> str:
    """The answer's text with the numbers of `sources` in its markers; a marker that leads nowhere is none any more."""
    numbers = {source.paper.id: source.number for source in sources}
    new = {str(citation.number): numbers[citation.paper.id] for citation in answer.citations}

    def marker(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        return f"[{new[match[1]]}]" if match[1] in new else rf"\[{match[1]}\]"

    return _with_maths(_ESCAPE_OR_MARKER.sub(marker, answer.text))


def _source_markdown(source: _Source, *, key: str = "") -> str:
    """An entry of a numbered list: the paper on one line, its quotes as block quotes within the entry."""
    paper, number = source.paper, f"{source.number}. "
    about = [f"**{_shown(_sentence(paper.title or 'Untitled'))}**"]
    about += [_shown(_sentence(part)) for part in (", ".join(paper.authors), _where(paper)) if part.strip()]
    about += [f"<{url}>" for url in _addresses(paper)]
    about += [f"Source: {escaped(', '.join(paper.sources))}."] if paper.sources else []
    about += [f"BibTeX key: {key}."] if key else []
    quotes = [f"{' ' * len(number)}> {_shown(quote)}" for quote in source.quotes]
    return "\n\n".join([number + " ".join(about), *quotes])


def _shown(text: str) -> str:
    """`escaped`, also for a text that is a line of its own: there a rule, a list or a definition could begin with it."""
    return _with_maths(re.sub(r"^([-+=:^%@])", r"\\\1", escaped(text)))


def _with_maths(markdown: str) -> str:
    """Escaped text whose formulas between dollars are drawn by what draws maths; one that could act as markup stays escaped."""

    def maths(match: re.Match[str]) -> str:
        formula = unescaped(match[0])
        return formula if MATH.fullmatch(formula) and not _MARKUP_IN_MATHS.search(formula) else match[0]

    return _ESCAPED_MATHS.sub(maths, markdown)


def _fenced(code: str) -> str:
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}bibtex\n{code.rstrip()}\n{fence}"


def _where(paper: Paper) -> str:
    return " ".join(part for part in (paper.venue.strip(), str(paper.year or "")) if part)


def _addresses(paper: Paper) -> list[str]:
    return [url for url in paper.urls if _WEB_ADDRESS.fullmatch(url)]


def _sentence(text: str) -> str:
    """`text` on one line with a mark at its end; empty stays empty."""
    line = " ".join(text.split())
    return line if not line or line.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{line}."


def _plain(line: str) -> str:
    """A line of an answer's text without its markup; a quote in quotation marks."""
    quoted = re.fullmatch(r"> (.*?)((?: ?\[\d+\])*)", line)
    body = f"“{quoted[1]}”{quoted[2]}" if quoted else line
    return _ESCAPE_OR_EMPHASIS.sub(lambda match: match[1] or "", body)


# --- BibTeX -----------------------------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "%": r"\%", "&": r"\&", "#": r"\#", "_": r"\_", "$": r"\$",
}  # fmt: skip
# A brace that is to be printed is a macro: BibTeX counts `\{` as a brace, parsers in Python do not, and both must find a balance.
_LATEX_PIECE = re.compile(r"\\[%&#_$]|[" + re.escape("".join(_LATEX)) + "]")
_UNPRINTABLE = {"Cc", "Cs"}
_ARTICLES = {"a", "an", "the"}
_NAME_SUFFIXES = {"jr", "sr", "ii", "iii", "iv"}
_LONGEST_KEY_WORD = 30
_WORDS_FOR_AUTHORS = 3


def bibtex(papers: Iterable[Paper]) -> str:
    """A BibTeX file of `papers`, each once, with unique keys; "" for none. UTF-8; special characters are LaTeX, maths in a title stays."""
    distinct = list({paper.id: paper for paper in papers}.values())
    return "\n\n".join(_entry(paper, key) for paper, key in zip(distinct, _keys(distinct), strict=True)) + (
        "\n" if distinct else ""
    )


def _entry(paper: Paper, key: str) -> str:
    title = _latex_with_maths(paper.title)
    fields = {
        "title": f"{{{title}}}" if title else "",  # braced twice: a style must not put KIVI in lower case
        "author": " and ".join(_latex_name(author) for author in paper.authors if _one_line(author)),
        "booktitle": _latex(paper.venue),
        "year": str(paper.year or ""),
        "url": "".join(re.sub(r"[\\{}^`|\"]", lambda match: f"%{ord(match[0]):02X}", url) for url in _addresses(paper)[:1]),
        "note": _latex(paper.sources[0]) if paper.sources else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'inproceedings' if fields['booktitle'] else 'misc'}{{{key},", *lines, "}"])


def _keys(papers: Sequence[Paper]) -> list[str]:
    """Surname, year and first word of the title; papers that would share a key are told apart by a, b, …"""
    bases = [_base_key(paper) for paper in papers]
    counts = Counter(bases)
    taken = {base for base, count in counts.items() if count == 1}
    used: Counter[str] = Counter()
    keys = []
    for base in bases:
        key = base
        while counts[base] > 1 and (key == base or key in taken):
            used[base] += 1
            key = base + _letters(used[base])
        taken.add(key)
        keys.append(key)
    return keys


def _base_key(paper: Paper) -> str:
    words = [word for word in (_key_word(part) for part in _key_parts(MATH.sub(" ", paper.title))) if word]
    words = [word for word in words if word not in _ARTICLES] or words
    surname = _key_word(_surname(paper.authors[0])) if paper.authors else ""
    year = str(paper.year or "")
    if surname:
        return surname + year + "".join(words[:1])
    return ("".join(words[:_WORDS_FOR_AUTHORS]) or f"paper{_key_word(paper.id)}") + year


def _key_parts(title: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", unicodedata.normalize("NFC", title))


def _key_word(text: str) -> str:
    """`text` in small ASCII letters and digits, accents dropped; "" for a script that has none."""
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ø", "o").replace("Ø", "O").replace("ł", "l"))
    return re.sub(r"[^a-z0-9]", "", folded.encode("ascii", "ignore").decode("ascii").lower())[:_LONGEST_KEY_WORD]


def _surname(author: str) -> str:
    if "," in author:
        return author.partition(",")[0]
    words = author.split()
    while len(words) > 1 and words[-1].lower().strip(".") in _NAME_SUFFIXES:
        words.pop()
    return words[-1] if words else ""


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, … for 1, 2, …"""
    letters = ""
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("a") + place) + letters
    return letters


def _latex_name(author: str) -> str:
    """A name; in braces where BibTeX would take it apart at an "and" or at a third comma."""
    name = _latex(author)
    return f"{{{name}}}" if re.search(r"\band\b|^others$", name, re.IGNORECASE) or name.count(",") > 2 else name


def _latex_with_maths(text: str) -> str:
    text, pieces, place = _one_line(text), [], 0
    for match in MATH.finditer(text):
        maths = _latex_maths(match[0])
        pieces += [_latex(text[place : match.start()], is_whole=False), maths or _latex(match[0], is_whole=False)]
        place = match.end()
    return "".join([*pieces, _latex(text[place:], is_whole=False)])


def _latex_maths(maths: str) -> str:
    r"""Maths whose braces balance, `\{` spelled `\lbrace`; "" for maths that would break the entry."""
    maths = re.sub(r"\\\\?([{}])", lambda match: r"\lbrace " if match[1] == "{" else r"\rbrace ", maths)
    maths = re.sub(r"(\\.)|([%#&])", lambda match: match[1] or f"\\{match[2]}", maths)
    depth = 0
    for brace in re.findall(r"[{}]", maths):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return ""
    ends_escaped = re.search(r"(?<!\\)(?:\\\\)*\\\$+$", maths)
    return "" if depth or ends_escaped else maths


def _latex(text: str, *, is_whole: bool = True) -> str:
    """`text` as LaTeX that prints it; what is escaped already (`50\\%`) stays."""
    line = _one_line(text) if is_whole else text
    return _LATEX_PIECE.sub(lambda match: _LATEX.get(match[0], match[0]), line)


def _one_line(text: str) -> str:
    kept = (character for character in text if character.isspace() or unicodedata.category(character) not in _UNPRINTABLE)
    return " ".join("".join(kept).split())
