"""The papers that an answer or a question named: from the program's own Markdown, a model's words with markers, or a title
that stands in a question; and where such a paper stands in an index.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from rag.citations import unescaped
from rag.index import PaperIndex
from rag.questions import read_question
from rag.text import searchable
from vectorstore.lexical import terms

LONGEST_ANSWER_READ = 12_000
"""Characters of an answer that are read."""

_LONGEST_LEAD = 300  # characters
_SHORT_CLAUSE = 5  # words
_OWN_TITLE = re.compile(r"^\*\*((?:\\.|[^*\\\n]){1,300})\*\* \[\d{1,3}\]", re.MULTILINE)
_MARKERS = re.compile(r"(?:\s?\[\d{1,3}(?:, ?\d{1,3})*\])+")


_WORD = re.compile(r"[^\W_]+(?:[-.+][^\W_]+)*")
_MARKED = re.compile(r"(?<=.)[A-Z]|[A-Za-z]-?\d")
_ACRONYM_AT_END = re.compile(r"^(?P<long>.+) \((?P<short>[^\s()]+)\)$")
_LONGEST_NAME = 12  # words
_FEW_PAPERS = 2  # a title in small letters that more papers hold may be a plain word: "based"
_SHORTEST_WORD = 4
_MOSTLY_CAPITALS = 0.5
_names_of_index: "WeakKeyDictionary[PaperIndex, dict[str, tuple[str, str]]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Mention:
    """A paper as an answer named it: the words that lead a question about it, its title where known, and what was said of it."""

    lead: str
    title: str
    said: str


@dataclass(frozen=True, slots=True)
class NamedPaper:
    """A paper that a question names, and where its name starts."""

    mention: Mention
    start: int


def mentions_in(answer: str, root: str) -> Sequence[Mention]:
    """The papers that `answer` named, in its order; `root` is the question that began the topic. Empty for a refusal."""
    text = answer[:LONGEST_ANSWER_READ]
    return _own_mentions(text) or _prose_mentions(text, root)


def papers_named(question: str, index: PaperIndex) -> list[NamedPaper]:
    """The papers whose title, or the short name in it, stands in `question`, in its order, each once.

    A title of one word counts as it is written; in small letters only where few papers hold the word.
    """
    names, words = _names_of(index), list(_WORD.finditer(question))
    found: dict[str, NamedPaper] = {}
    place = 0
    while place < len(words):
        for end in range(min(len(words), place + _LONGEST_NAME), place, -1):
            written = " ".join(word.group() for word in words[place:end])
            name, title = names.get(written.casefold(), ("", ""))
            if title and (end > place + 1 or _is_meant(written, name, question, index)):
                found.setdefault(title, NamedPaper(Mention(title, title, ""), words[place].start()))
                place = end - 1
                break
        place += 1
    return list(found.values())


def held(content: set[str], subject: Mention, index: PaperIndex) -> tuple[float, float]:
    """Which share (0..1) of the terms `content` the paper of `subject` holds, and the most that any other paper holds."""
    coverage = index.lexical.coverage(sorted(content))
    row = _row(subject, index)
    if row is None:
        return 0.0, float(coverage.max(initial=0.0))
    here = float(coverage[row])
    coverage[row] = 0.0
    return here, float(coverage.max(initial=0.0))


def title_of(mention: Mention, index: PaperIndex) -> str:
    """The title of the paper that a mention means; empty when that cannot be told."""
    row = _row(mention, index)
    return "" if row is None else index.papers[row].title


def _row(mention: Mention, index: PaperIndex) -> int | None:
    """The paper that a mention means: the one of its title, else the one that holds its words best."""
    if mention.title:
        return next((row for row, paper in enumerate(index.papers) if paper.title == mention.title), None)
    scores = index.lexical.scores(terms(f"{mention.lead} {mention.said}"))
    return int(scores.argmax()) if scores.size and scores.max() > 0 else None


def _names_of(index: PaperIndex) -> dict[str, tuple[str, str]]:
    """Each name of a paper without its case: the name as it is written, and the title; names of several papers left out."""
    if index not in _names_of_index:
        names: dict[str, tuple[str, str]] = {}
        for paper in index.papers:
            for name in _names_in(paper.title):
                key = name.casefold()
                names[key] = (name, paper.title) if names.get(key, ("", paper.title))[1] == paper.title else ("", "")
        _names_of_index[index] = names
    return _names_of_index[index]


def _names_in(title: str) -> Iterator[str]:
    """The names by which a paper may be called: its title, the acronym in brackets and what stands before it, a name before a colon."""
    match = _ACRONYM_AT_END.match(title)
    parts = [title, *(match.group("long", "short") if match else ()), *([title.split(":")[0]] if ":" in title else ())]
    words = _WORD.findall(title)
    if len(words) == 2 and _MARKED.search(words[0]):  # "LLM-Modulo Frameworks"
        parts.append(words[0])
    for part in parts:
        yield " ".join(_WORD.findall(part))


def _is_meant(written: str, name: str, question: str, index: PaperIndex) -> bool:
    """Whether a single word of a question is meant for the paper of that name."""
    words = _WORD.findall(question)
    is_shouted = (
        sum(word.isupper() and len(word) > 1 for word in words) > _MOSTLY_CAPITALS * len(words) and len(words) > _FEW_PAPERS
    )
    is_as_written = written == name and not is_shouted and (_MARKED.search(name) or name in read_question(question).names)
    idf = max((index.lexical.idf(term) for term in terms(written)), default=0.0)
    is_rare = len(written) >= _SHORTEST_WORD and idf >= math.log1p(len(index.papers) / _FEW_PAPERS) - 1e-6
    return bool(is_as_written) or (is_rare and bool(_MARKED.search(name)))


def _own_mentions(answer: str) -> list[Mention]:
    """The papers of an answer in the program's own form, a line with the title and quotes below."""
    found = list(_OWN_TITLE.finditer(answer))
    ends = [match.start() for match in found[1:]] + [len(answer)]
    mentions = []
    for match, end in zip(found, ends, strict=False):
        title = unescaped(match[1])
        said = searchable(unescaped(_MARKERS.sub("", answer[match.end() : end].replace("\n>", "\n"))))
        mentions.append(Mention(title, title, said))
    return mentions


def _prose_mentions(answer: str, root: str) -> list[Mention]:
    """What stands before each marker of an answer in free words; a single one is told by the question that led to it."""
    clauses: dict[str, str] = {}
    place = 0
    for match in _MARKERS.finditer(answer):
        clause = searchable(answer[place : match.start()])[-_LONGEST_LEAD:]
        place = match.end()
        clauses.setdefault(match.group().strip(), clause.strip(" ,.;:"))
    mentions = []
    for clause in clauses.values():
        names = " ".join(name for name in read_question(clause).names if name[0].isalpha())
        short = re.sub(r"^(?:(?:and|or|the|an?) )+", "", clause)
        lead = (
            f"{root} {names}".strip() if len(clauses) == 1 else short if len(short.split()) <= _SHORT_CLAUSE or not names else names
        )
        mentions.append(Mention(lead[:_LONGEST_LEAD], "", clause))
    return mentions
