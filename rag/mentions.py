"""The papers that an answer named, read from its text: the program's own Markdown, or a model's words with markers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.citations import unescaped
from rag.questions import read_question
from rag.text import searchable

LONGEST_ANSWER_READ = 12_000
"""Characters of an answer that are read."""

_LONGEST_LEAD = 300  # characters
_SHORT_CLAUSE = 5  # words
_OWN_TITLE = re.compile(r"^\*\*((?:\\.|[^*\\\n]){1,300})\*\* \[\d{1,3}\]", re.MULTILINE)
_MARKERS = re.compile(r"(?:\s?\[\d{1,3}(?:, ?\d{1,3})*\])+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A paper as an answer named it: the words that lead a question about it, its title where known, and what was said of it."""

    lead: str
    title: str
    said: str


def mentions_in(answer: str, root: str) -> Sequence[Mention]:
    """The papers that `answer` named, in its order; `root` is the question that began the topic. Empty for a refusal."""
    text = answer[:LONGEST_ANSWER_READ]
    return _own_mentions(text) or _prose_mentions(text, root)


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
