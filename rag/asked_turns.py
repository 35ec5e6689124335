"""A turn of a conversation as later ones see it: what it asked on its own, and which papers it brought into play."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rag.follow_ups import content_terms
from rag.index import PaperIndex
from rag.mentions import Mention, mentions_in
from vectorstore.lexical import terms


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question that can be searched on its own, and the titles of papers that it asks for others than.

    `leads` is what was put before it, or behind, to tell what it is about; empty for a question that stands as it was asked.
    """

    question: str
    excluded_titles: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A question in the light of the turns before it. `root` is the question that began the topic, `passed` the papers it led to.

    `is_announced` tells that a new topic was announced by it, `is_compared` that it compares the papers of `listed`.
    """

    standalone: Standalone
    text: str
    root: str
    is_new: bool
    subject: Mention | None = None
    listed: tuple[Mention, ...] = ()
    passed: tuple[Mention, ...] = ()
    is_announced: bool = False
    is_compared: bool = False


def answered(asked: AskedTurn, answer: str) -> AskedTurn:
    """`asked` with the papers that its answer named; without any, the subject stays as it was."""
    mentions = mentions_in(answer, asked.root)
    fresh = [one for one in mentions if one.title not in asked.standalone.excluded_titles or not one.title]
    subject = asked.subject or (fresh[0] if fresh else None)
    listed = tuple(mentions) if len(mentions) > 1 and not asked.is_compared else asked.listed
    is_known = subject is None or any(one.lead == subject.lead for one in asked.passed)
    passed = asked.passed if subject is None or is_known else (*asked.passed, subject)
    return replace(asked, subject=_named_alike(subject, mentions), listed=listed, passed=passed)


def _named_alike(subject: Mention | None, mentions: Iterable[Mention]) -> Mention | None:
    """The subject, with what the newest answer said of it."""
    return next((one for one in mentions if subject and one.title and one.title == subject.title), subject)


def earlier(phrase: str, past: Sequence[AskedTurn], index: PaperIndex | None) -> tuple[AskedTurn, Mention] | None:
    """The turn, and the paper in it, that `phrase` tells best; the newest of equals; None when it tells none."""
    content = content_terms(phrase)
    current = past[-1].subject
    turns = [(turn, turn.subject or Mention(turn.root, "", "")) for turn in past]
    if not content:
        if re.search(r"\b(?:first|1st|start|beginning)\b", phrase, re.IGNORECASE):
            return turns[0]
        return next(((turn, subject) for turn, subject in reversed(turns) if subject.lead != getattr(current, "lead", "")), None)
    best, found = 0.0, None
    for turn, subject in reversed(turns):
        said, asked = set(terms(f"{subject.lead} {subject.said}")), set(terms(f"{turn.text} {turn.root}"))
        score = sum(_weight(term, index) * ((term in said) + (term in asked)) for term in content)
        if score > best:
            best, found = score, (turn, subject)
    return found


def _weight(term: str, index: PaperIndex | None) -> float:
    return index.lexical.idf(term) if index else 1.0


def holds(mention: Mention | None, content: set[str], turn: AskedTurn | None = None) -> bool:
    """Whether all of `content` stands in what is known of a paper, or in the questions that led to it."""
    known = f"{mention.lead} {mention.said}" if mention else ""
    return content <= set(terms(f"{known} {turn.text} {turn.root}" if turn else known))
