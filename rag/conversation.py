"""A question within a conversation: what it points back to is put into words, so that it can be searched on its own.

The earlier turns are replayed by rules, oldest first: each goes on with the papers in play, asks for others, goes back to earlier
ones, or begins a new topic, which lets the old papers go. Works on words and, where an index is given, on which papers hold
them; no model. No text in a history raises an error.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag import follow_ups
from rag.asked_turns import AskedTurn, Standalone, answered, earlier, holds
from rag.follow_ups import content_terms, content_words
from rag.index import PaperIndex
from rag.mentions import LONGEST_ANSWER_READ, Mention, held, papers_named, title_of
from rag.questions import LONGEST_QUESTION, fault, is_courtesy, read_question

HISTORY_TOKENS = 8000
"""How much of a conversation is read, newest turns first: some twenty answers."""

_CHARACTERS_PER_TOKEN = 4
_DESCRIPTION = 200  # characters of a quote that tell what a paper is about
_FEW_TERMS = 3
_HELD_HERE = 0.8  # of what the best other paper holds of a question: from there on it is asked about the papers in play
_HELD_BY_ANOTHER = 0.99
_TELLING = 0.6  # of the idf of a term that no paper holds
_NOBODYS_TERM = "\0\0"
_HELD_ENOUGH = 0.4  # the same, for a question with a word that points back
_SUBJECTS_LED = 3
_SHORT_QUESTION = 9  # words; a pronoun in a longer one may stand for something in the question itself


def standalone(text: str, history: Sequence[tuple[str, str]], index: PaperIndex | None = None) -> Standalone:
    """`text` as a question of its own; `history` holds earlier (question, answer) pairs, oldest first.

    With an `index`, a question without any word that points back is taken for one about the papers in play when they hold
    its words about as well as any other paper.
    """
    past: list[AskedTurn] = []
    for question, answer in _recent(history):
        past.append(answered(_asked(question, past, index), answer))
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


# --- what a question points to ----------------------------------------------------------------------------------------


def _asked(text: str, past: Sequence[AskedTurn], index: PaperIndex | None) -> AskedTurn:
    """`text` in the light of the turns before it."""
    asked = read_question(text).searched
    if not past:
        return _new(asked)
    if is_courtesy(asked) or fault(read_question(asked)):
        is_more = follow_ups.MORE.match(asked) or (follow_ups.POINTS_BACK.search(asked) and not is_courtesy(asked))
        return _more(asked, past[-1]) if is_more else _kept(asked, past[-1])
    if any(turn.is_new and turn.text.casefold() == asked.casefold() for turn in past):
        return _new(asked)
    if match := follow_ups.NOW_ON.match(asked) or follow_ups.SWITCH.match(asked):
        rest = asked[match.end() :]
        if follow_ups.ONLY_A_QUESTION.search(match.group()) and follow_ups.POINTS_BACK.search(rest):
            return _gone_on(rest, past, index)
        return replace(_new(rest if rest and not fault(read_question(rest)) else asked), is_announced=True)
    return _gone_back(asked, past, index) or _gone_on(asked, _without_refused(asked, past, index), index)


def _gone_back(asked: str, past: Sequence[AskedTurn], index: PaperIndex | None) -> AskedTurn | None:
    """A return to papers of an earlier turn; None when `asked` is no return, or none that the history can tell."""
    match = follow_ups.BACK.match(asked)
    if match:
        rest = match["rest"].strip()
        found = earlier(match["phrase"], past, index)
        if found is None:
            return None
        turn, subject = found
        return _led([subject], rest if read_question(rest).searched else turn.text, turn)
    for match in follow_ups.THAT_ONE.finditer(asked):
        content = content_terms(match["phrase"])
        found = earlier(match["phrase"], past, index) if content else None
        if found and not holds(past[-1].subject, content) and holds(found[1], content, found[0]):
            return _led([found[1]], asked, found[0])
    return None


def _gone_on(asked: str, past: Sequence[AskedTurn], index: PaperIndex | None) -> AskedTurn:
    """A question that goes on with the papers in play, asks for others, or is left alone."""
    last = past[-1]
    if match := follow_ups.CORRECTION.match(asked):
        rest = asked[match.end() :]
        if follow_ups.WANTED_ONE.match(rest):
            return _others(f"{last.root} {rest}", last, index)
        if rest and (corrected := _about_another(rest, last, index, is_correction=True)):
            return corrected
        if rest and not fault(read_question(rest)):
            return _gone_on(rest, past, index) if not last.subject else _led([last.subject], rest, last)
    if follow_ups.OTHERS.search(asked):
        return _others(asked, last, index)
    choice = _chosen(asked, last)
    if choice:
        return _led(choice, asked, last)
    if about := _about_another(asked, last, index):
        return about
    if not _is_about(asked, last, index):
        return _new(asked)
    return _more(asked, last)


def _about_another(asked: str, last: AskedTurn, index: PaperIndex | None, *, is_correction: bool = False) -> AskedTurn | None:
    """A question that names another paper: that one leads, and the old one goes, unless the two are compared.

    None when `asked` names none, or no other.
    """
    named = papers_named(asked, index) if index else []
    others = [one for one in named if last.subject is None or one.mention.title != last.subject.title]
    if not others:
        return None
    first, before = others[0], asked[: others[0].start]
    is_compared = (
        follow_ups.COMPARES.search(before) or follow_ups.POINTS_BACK.search(before) or follow_ups.APPLIED_TO.search(before)
    )
    is_compared = is_compared or (follow_ups.COMPARES.search(asked) and follow_ups.POINTS_BACK.search(asked))
    mentions = tuple(one.mention for one in (named if len(named) > len(others) else others))
    if last.subject and is_compared and not is_correction:
        listed = mentions if len(named) > len(others) else (last.subject, *mentions)
        return replace(_led([last.subject], asked, last), listed=listed, is_compared=True)
    if len(mentions) > 1:
        return replace(_new(asked), subject=mentions[0], listed=mentions, is_compared=True)
    content = [word for word in content_words(asked) if word not in first.mention.title.casefold()]
    goes_on = follow_ups.ELLIPSIS.match(asked) or follow_ups.GOES_ON.match(asked)
    if is_correction and content:
        return _led([first.mention], asked, last)
    if is_correction or (goes_on and not content):
        return _instead(first.mention, "" if is_correction else asked, last, index)
    return replace(_new(asked), subject=first.mention)


def _instead(subject: Mention, asked: str, last: AskedTurn, index: PaperIndex | None) -> AskedTurn:
    """What was asked last, of another paper: "and TURTLE?"; or where `asked` is empty, of the paper that was meant at first."""
    text = _without_choice(last.text)
    for name in (last.subject.title, last.subject.lead) if last.subject else ():
        text = text.replace(name, subject.lead) if name else text
    here, elsewhere = held(content_terms(text), subject, index) if index else (0.0, 0.0)
    is_taken = here >= _HELD_ENOUGH * elsewhere if not asked else "definition" not in read_question(text).cues
    before = f"{text} " if is_taken and text != subject.lead and not fault(read_question(text)) else ""
    question = f"{subject.lead}: {before}{asked}".strip(" :")[:LONGEST_QUESTION]
    alone = Standalone(question, leads=(subject.lead,))
    return AskedTurn(alone, asked or before or question, last.root, False, subject, last.listed, last.passed)


def _without_refused(asked: str, past: Sequence[AskedTurn], index: PaperIndex | None) -> Sequence[AskedTurn]:
    """`past` without refused turns at its end, when `asked` goes on in words of the paper that was in play before them.

    A refused turn that announced a new topic, or asked for something by its name alone, is what is gone on from.
    """
    kept = len(past)
    while kept and past[kept - 1].subject is None:
        kept -= 1
    refused = past[kept:]
    subject = past[kept - 1].subject if kept else None
    if index is None or not refused or subject is None or any(turn.is_announced or _is_name_alone(turn.text) for turn in refused):
        return past
    content = content_terms(asked)
    goes_on = follow_ups.POINTS_BACK.search(asked) or follow_ups.GOES_ON.search(asked) or len(content_words(asked)) < _FEW_TERMS
    is_telling = any(index.lexical.idf(term) >= _TELLING * index.lexical.idf(_NOBODYS_TERM) for term in content)
    is_held = held(content, subject, index)[0] > _HELD_BY_ANOTHER
    return past[:kept] if goes_on and is_telling and is_held else past


def _is_name_alone(text: str) -> bool:
    names = " ".join(read_question(text).names).casefold()
    return all(word in names for word in content_words(text))


def _without_choice(text: str) -> str:
    """`text` without "the second one", which means another paper in another turn."""
    return follow_ups.THE_CHOICE.sub(" ", text).strip(" -,;:")


def _new(asked: str) -> AskedTurn:
    return AskedTurn(Standalone(asked), asked, asked, is_new=True)


def _kept(asked: str, last: AskedTurn) -> AskedTurn:
    """A turn that asks nothing ("thanks!", "?"): it is left alone, and the papers stay in play."""
    return AskedTurn(
        Standalone(asked), last.text, last.root, is_new=False, subject=last.subject, listed=last.listed, passed=last.passed
    )


def _more(asked: str, last: AskedTurn) -> AskedTurn:
    """A turn that asks on: of the paper in play, else of what was asked."""
    if last.subject:
        return _led([last.subject], asked, last)
    return AskedTurn(Standalone(f"{last.root} {asked}"[:LONGEST_QUESTION], leads=(last.root,)), asked, last.root, is_new=False)


def _led(subjects: Sequence[Mention], asked: str, turn: AskedTurn) -> AskedTurn:
    """`asked` led by the papers it is about."""
    leads = tuple(one.lead for one in subjects[:_SUBJECTS_LED])
    lead, told = "; ".join(leads), _without_choice(turn.text)
    is_rest = follow_ups.ELLIPSIS.match(asked) and not follow_ups.POINTS_BACK.search(asked) and len(content_words(asked)) < 2
    is_told = told in lead or "definition" in read_question(told).cues or fault(read_question(told))
    before = f"{told} " if is_rest and not is_told else ""
    alone = Standalone(f"{lead}: {before}{asked}"[:LONGEST_QUESTION], leads=leads)
    return AskedTurn(alone, asked, turn.root, False, subjects[0], turn.listed, turn.passed)


def _others(asked: str, last: AskedTurn, index: PaperIndex | None) -> AskedTurn:
    """A question for papers beside those that the topic has led to."""
    known = [title for one in last.passed if (title := one.title or (title_of(one, index) if index else ""))]
    content = content_terms(follow_ups.OTHERS_WORDS.sub(" ", asked))
    about = ""
    if not content:
        said = last.subject.said[:_DESCRIPTION] if last.subject else ""
        about = said if read_question(last.root).names and said else last.root
    question = f"{asked} {about}".strip()[:LONGEST_QUESTION]
    alone = Standalone(question, tuple(dict.fromkeys(known)), (about,) if about else ())
    return AskedTurn(alone, asked, about or asked, False, None, last.listed, last.passed)


def _chosen(asked: str, last: AskedTurn) -> list[Mention]:
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


def _is_about(asked: str, last: AskedTurn, index: PaperIndex | None) -> bool:
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
    here, elsewhere = held(content, last.subject, index)
    if points or follow_ups.ANSWERS_BACK.match(asked):
        return here >= _HELD_ENOUGH * elsewhere
    if len(words) < _FEW_TERMS and not question.names and "definition" not in question.cues:
        return here > 0 or elsewhere < _HELD_BY_ANOTHER
    return here > 0 and here >= _HELD_HERE * elsewhere
