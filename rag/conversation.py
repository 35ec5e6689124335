"""A question within a conversation: what it points back to is put into words, so that it can be searched on its own.

The earlier turns are replayed by rules, oldest first: each goes on with the papers in play, asks for others, goes back to earlier
ones, or begins a new topic, which lets the old papers go. Works on words and, where an index is given, on which papers hold
them; no model. No text in a history raises an error.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag import follow_ups
from rag.follow_ups import content_terms, content_words
from rag.index import PaperIndex
from rag.mentions import LONGEST_ANSWER_READ, Mention, mentions_in
from rag.questions import LONGEST_QUESTION, fault, is_courtesy, read_question
from vectorstore.lexical import terms

HISTORY_TOKENS = 8000
"""How much of a conversation is read, newest turns first: some twenty answers."""

_CHARACTERS_PER_TOKEN = 4
_DESCRIPTION = 200  # characters of a quote that tell what a paper is about
_FEW_TERMS = 3
_HELD_HERE = 0.8  # of what the best other paper holds of a question: from there on it is asked about the papers in play
_HELD_BY_ANOTHER = 0.99
_HELD_ENOUGH = 0.4  # the same, for a question with a word that points back
_SUBJECTS_LED = 3
_SHORT_QUESTION = 9  # words; a pronoun in a longer one may stand for something in the question itself


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question that can be searched on its own, and the titles of papers that it asks for others than."""

    question: str
    excluded_titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question in the light of the turns before it. `root` is the question that began the topic, `passed` the papers it led to."""

    standalone: Standalone
    text: str
    root: str
    is_new: bool
    subject: Mention | None = None
    listed: tuple[Mention, ...] = ()
    passed: tuple[Mention, ...] = ()


def standalone(text: str, history: Sequence[tuple[str, str]], index: PaperIndex | None = None) -> Standalone:
    """`text` as a question of its own; `history` holds earlier (question, answer) pairs, oldest first.

    With an `index`, a question without any word that points back is taken for one about the papers in play when they hold
    its words about as well as any other paper.
    """
    past: list[_Asked] = []
    for question, answer in _recent(history):
        past.append(_answered(_asked(question, past, index), answer))
    return _asked(text, past, index).standalone


def _recent(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The newest turns within `HISTORY_TOKENS`, oldest first, each cut to what is read of it."""
    kept: list[tuple[str, str]] = []
    left = HISTORY_TOKENS * _CHARACTERS_PER_TOKEN
    for question, answer in reversed(history):
        turn = (question[:LONGEST_QUESTION], answer[:LONGEST_ANSWER_READ])
        left -= len(turn[0]) + len(turn[1])
        if left < 0:
            break
        kept.append(turn)
    return kept[::-1]


def _answered(asked: _Asked, answer: str) -> _Asked:
    """`asked` with the papers that its answer named; without any, the subject stays as it was."""
    mentions = mentions_in(answer, asked.root)
    fresh = [one for one in mentions if one.title not in asked.standalone.excluded_titles or not one.title]
    subject = asked.subject or (fresh[0] if fresh else None)
    listed = tuple(mentions) if len(mentions) > 1 else asked.listed
    is_known = subject is None or any(one.lead == subject.lead for one in asked.passed)
    passed = asked.passed if subject is None or is_known else (*asked.passed, subject)
    return _Asked(asked.standalone, asked.text, asked.root, asked.is_new, _named_alike(subject, mentions), listed, passed)


def _named_alike(subject: Mention | None, mentions: Iterable[Mention]) -> Mention | None:
    """The subject, with what the newest answer said of it."""
    return next((one for one in mentions if subject and one.title and one.title == subject.title), subject)


# --- what a question points to ----------------------------------------------------------------------------------------


def _asked(text: str, past: Sequence[_Asked], index: PaperIndex | None) -> _Asked:
    """`text` in the light of the turns before it."""
    asked = read_question(text).searched
    if not past:
        return _new(asked)
    if is_courtesy(asked) or fault(read_question(asked)):
        return _more(asked, past[-1]) if follow_ups.MORE.match(asked) else _kept(asked, past[-1])
    if any(turn.is_new and turn.text.casefold() == asked.casefold() for turn in past):
        return _new(asked)
    if match := follow_ups.NOW_ON.match(asked) or follow_ups.SWITCH.match(asked):
        rest = asked[match.end() :]
        if follow_ups.ONLY_A_QUESTION.search(match.group()) and follow_ups.POINTS_BACK.search(rest):
            return _gone_on(rest, past, index)
        return _new(rest if rest and not fault(read_question(rest)) else asked)
    return _gone_back(asked, past, index) or _gone_on(asked, past, index)


def _gone_back(asked: str, past: Sequence[_Asked], index: PaperIndex | None) -> _Asked | None:
    """A return to papers of an earlier turn; None when `asked` is no return, or none that the history can tell."""
    match = follow_ups.BACK.match(asked)
    if match:
        rest = match["rest"].strip()
        found = _earlier(match["phrase"], past, index)
        if found is None:
            return None
        turn, subject = found
        return _led([subject], rest if read_question(rest).searched else turn.text, turn)
    for match in follow_ups.THAT_ONE.finditer(asked):
        content = content_terms(match["phrase"])
        found = _earlier(match["phrase"], past, index) if content else None
        if found and not _holds(past[-1].subject, content) and _holds(found[1], content, found[0]):
            return _led([found[1]], asked, found[0])
    return None


def _gone_on(asked: str, past: Sequence[_Asked], index: PaperIndex | None) -> _Asked:
    """A question that goes on with the papers in play, asks for others, or is left alone."""
    last = past[-1]
    if match := follow_ups.CORRECTION.match(asked):
        rest = asked[match.end() :]
        if follow_ups.WANTED_ONE.match(rest):
            return _others(f"{last.root} {rest}", last, index)
        if rest and not fault(read_question(rest)):
            return _gone_on(rest, past, index) if not last.subject else _led([last.subject], rest, last)
    if follow_ups.OTHERS.search(asked):
        return _others(asked, last, index)
    choice = _chosen(asked, last)
    if choice:
        return _led(choice, asked, last)
    if not _is_about(asked, last, index):
        return _new(asked)
    if last.subject is None:
        return _Asked(Standalone(f"{last.root} {asked}"[:LONGEST_QUESTION]), asked, last.root, is_new=False)
    return _led([last.subject], asked, last)


def _new(asked: str) -> _Asked:
    return _Asked(Standalone(asked), asked, asked, is_new=True)


def _kept(asked: str, last: _Asked) -> _Asked:
    """A turn that asks nothing ("thanks!", "?"): it is left alone, and the papers stay in play."""
    return _Asked(
        Standalone(asked), last.text, last.root, is_new=False, subject=last.subject, listed=last.listed, passed=last.passed
    )


def _more(asked: str, last: _Asked) -> _Asked:
    """A turn of stop words alone that asks on all the same: "why?", "tell me more"."""
    if last.subject:
        return _led([last.subject], asked, last)
    return _Asked(Standalone(f"{last.root} {asked}"[:LONGEST_QUESTION]), asked, last.root, is_new=False)


def _led(subjects: Sequence[Mention], asked: str, turn: _Asked) -> _Asked:
    """`asked` led by the papers it is about."""
    lead = "; ".join(one.lead for one in subjects[:_SUBJECTS_LED])
    is_rest = follow_ups.ELLIPSIS.match(asked) and not follow_ups.POINTS_BACK.search(asked) and len(content_words(asked)) < 2
    is_told = turn.text in lead or "definition" in read_question(turn.text).cues or fault(read_question(turn.text))
    before = f"{turn.text} " if is_rest and not is_told else ""
    return _Asked(
        Standalone(f"{lead}: {before}{asked}"[:LONGEST_QUESTION]), asked, turn.root, False, subjects[0], turn.listed, turn.passed
    )


def _others(asked: str, last: _Asked, index: PaperIndex | None) -> _Asked:
    """A question for papers beside those that the topic has led to."""
    known = [title for one in last.passed if (title := one.title or _title(one, index))]
    content = content_terms(follow_ups.OTHERS_WORDS.sub(" ", asked))
    about = ""
    if not content:
        said = last.subject.said[:_DESCRIPTION] if last.subject else ""
        about = said if read_question(last.root).names and said else last.root
    question = f"{asked} {about}".strip()[:LONGEST_QUESTION]
    return _Asked(Standalone(question, tuple(dict.fromkeys(known))), asked, about or asked, False, None, last.listed, last.passed)


def _chosen(asked: str, last: _Asked) -> list[Mention]:
    """The papers picked out by "the second one", "the other one", "both" or "which of them"."""
    listed = last.listed if len(last.listed) > 1 else last.passed
    if len(listed) < 2:
        return []
    match = follow_ups.WHICH_ONE.search(asked)
    if match:
        which = match["which"].casefold()
        if which == "other":
            return [one for one in reversed(listed) if one.lead != getattr(last.subject, "lead", "")][-1:]
        return list(listed[follow_ups.ORDINALS[which] :][:1])
    return list(listed) if follow_ups.SEVERAL.search(asked) else []


def _is_about(asked: str, last: _Asked, index: PaperIndex | None) -> bool:
    """Whether `asked` is about the papers in play, not a question of its own."""
    question = read_question(asked)
    content, words = content_terms(asked), content_words(asked)
    points, goes_on = bool(follow_ups.POINTS_BACK.search(asked)), bool(follow_ups.GOES_ON.search(asked))
    if last.subject is None:
        return (points or len(words) < 2) and not question.names
    if not words or (len(words) < 2 and (points or not question.names)):
        return True
    if index is None:
        is_short = len(words) < _FEW_TERMS and (not question.names or goes_on)
        return points or is_short or bool(follow_ups.PREPOSITION_FIRST.match(asked))
    is_short = len(asked.split()) <= _SHORT_QUESTION
    if (points and is_short) or (len(words) < _FEW_TERMS and goes_on):
        return True
    here, elsewhere = _held(content, last.subject, index)
    if points or follow_ups.ANSWERS_BACK.match(asked):
        return here >= _HELD_ENOUGH * elsewhere
    if len(words) < _FEW_TERMS and not question.names and "definition" not in question.cues:
        return here > 0 or elsewhere < _HELD_BY_ANOTHER
    return here > 0 and here >= _HELD_HERE * elsewhere


# --- which paper is meant ---------------------------------------------------------------------------------------------


def _earlier(phrase: str, past: Sequence[_Asked], index: PaperIndex | None) -> tuple[_Asked, Mention] | None:
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


def _holds(mention: Mention | None, content: set[str], turn: _Asked | None = None) -> bool:
    """Whether all of `content` stands in what is known of a paper, or in the questions that led to it."""
    known = f"{mention.lead} {mention.said}" if mention else ""
    return content <= set(terms(f"{known} {turn.text} {turn.root}" if turn else known))


def _held(content: set[str], subject: Mention, index: PaperIndex) -> tuple[float, float]:
    """Which share (0..1) of `content` the paper in play holds, and the most that any other paper holds."""
    coverage = index.lexical.coverage(sorted(content))
    row = _row(subject, index)
    if row is None:
        return 0.0, float(coverage.max(initial=0.0))
    here = float(coverage[row])
    coverage[row] = 0.0
    return here, float(coverage.max(initial=0.0))


def _row(mention: Mention, index: PaperIndex) -> int | None:
    """The paper that a mention means: the one of its title, else the one that holds its words best."""
    if mention.title:
        return next((row for row, paper in enumerate(index.papers) if paper.title == mention.title), None)
    scores = index.lexical.scores(terms(f"{mention.lead} {mention.said}"))
    return int(scores.argmax()) if scores.size and scores.max() > 0 else None


def _title(mention: Mention, index: PaperIndex | None) -> str:
    row = _row(mention, index) if index else None
    return index.papers[row].title if index and row is not None else ""
