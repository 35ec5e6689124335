"""What a model may do to a question before the search and to an answer after it: rewrite a follow-up, translate.

Each result is checked. A rewriting must say what was asked, of the papers that the rules lead with, and nothing else; a translation
must hold the same names and numbers, and a translated answer must stand the verifier when it is translated back. What fails is not
used, and neither is the result of a model that fails or is stopped here: there is always a way without.
"""

import re
import threading
import time
from collections.abc import Sequence

from rag.answering.llm import whole_reply
from rag.answering.models import LanguageModel, chat_message
from rag.answering.prompts import REWRITE_SYSTEM, TRANSLATE_SYSTEM, rewrite_prompt
from rag.answering.replies import StoppedError
from rag.answering.reply_text import ReplySentence, without_thinking
from rag.citations import GroundedSentence
from rag.claims import NEGATION, poles, read_claim
from rag.errors import AnswererError
from rag.follow_ups import POINTS_BACK, content_terms
from rag.languages import ENGLISH, UNNAMED
from rag.questions import read_question
from rag.text import searchable
from rag.verification import Verifier
from vectorstore.lexical import terms

_LONGEST_REWRITTEN = 400  # characters
_SECONDS = 30.0  # for one call
_HISTORY_SHARE = 0.25  # of the window
_CONTENT_WORDS_PER_LOST_ONE = 5
_LEAD_TERMS = 2  # of a title without a name
_MOST_TRANSLATED = 8  # sentences of an answer, two calls each
_ABOUT_ITSELF = re.compile(
    r"^\W*(?:i(?:'m| am)?|sorry|sure|certainly|of course|as an ai|here (?:is|are)|translation)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?:[.,\u00a0\u202f]\d+)*")
_NAME = re.compile(r"[A-Za-zÀ-ɏ\d]+")
_WITH_UNIT = re.compile(r"\d+[A-Za-z]{0,3}")
_MARKED = re.compile(r"(?<=.)[A-Z]|[A-Za-z]\d|\d[A-Z]")
_SAME_NAME = {"ki": "ai", "ia": "ai"}  # German, and the Romance languages


def rewrite(
    question: str,
    leads: Sequence[str],
    history: Sequence[tuple[str, str]],
    model: LanguageModel,
    *,
    until: float,
    stopped: threading.Event | None = None,
) -> str:
    """A follow-up as a standalone question about the papers of `leads`; empty when the model says anything else, fails or is stopped.

    `until` is a moment of `time.monotonic`.
    """
    try:
        turns = _capped(history, model)
    except AnswererError:  # a local model counts tokens in its own process
        return ""
    messages = [chat_message("system", REWRITE_SYSTEM), chat_message("user", rewrite_prompt(question, turns))]
    rewritten = _reply(messages, model, until, stopped).removeprefix("Question:").strip(" \"'")
    told = " ".join([question, *leads, *(text for turn in turns for text in turn)])
    is_question = 0 < len(rewritten) <= _LONGEST_REWRITTEN and "\n" not in rewritten
    return rewritten if is_question and says_the_same(rewritten, question, leads, told) else ""


def translate(text: str, language: str, model: LanguageModel, *, until: float, stopped: threading.Event | None = None) -> str:
    """`text` in `language`; empty when the model fails, is stopped, or loses or adds a name or number."""
    system = chat_message("system", TRANSLATE_SYSTEM.format(language=language))
    new = _reply([system, chat_message("user", text)], model, until, stopped)
    is_translation = new != text and "\n" not in new and bool(_ABOUT_ITSELF.match(text) or not _ABOUT_ITSELF.match(new))
    return new if new and is_translation and names_the_same(new, text) else ""


def translated_answer(
    written: Sequence[ReplySentence],
    language: str,
    model: LanguageModel,
    verifier: Verifier,
    *,
    until: float,
    stopped: threading.Event | None = None,
) -> tuple[list[GroundedSentence], int]:
    """The sentences in `language`, and how many supported ones stay in English.

    They do where no translation comes that, translated back, rests on what they rest on. Raises `StoppedError`.
    """
    sentences, in_english, calls = [], 0, 0
    for one in written:
        sentence = verifier.ground(one)
        if sentence.grounds:
            is_tried = language != UNNAMED and calls < _MOST_TRANSLATED
            told = _verified_translation(one, sentence, language, model, verifier, until, stopped) if is_tried else ""
            calls += is_tried
            in_english += not told
            sentence = GroundedSentence(told or sentence.text, sentence.grounds, sentence.paragraph)
        sentences.append(sentence)
        if stopped is not None and stopped.is_set():
            raise StoppedError
    return sentences, in_english


def says_the_same(rewritten: str, question: str, leads: Sequence[str], told: str) -> bool:
    """Whether `rewritten` asks what `question` does, of the papers of `leads`, in words of its own or of `told`, and points nowhere."""
    asked, new = content_terms(question), content_terms(rewritten)
    about = {term for lead in leads for term in terms(searchable(lead))}
    is_kept = len(asked - new) <= len(asked) // _CONTENT_WORDS_PER_LOST_ONE and _holds_names(question, rewritten)
    is_told = new <= content_terms(told) and adds_nothing(rewritten, told) and not poles(new) - poles(asked | about)
    is_as_denied = _negations(question) <= _negations(rewritten) <= _negations(" ".join([question, *leads]))
    return is_kept and is_told and is_as_denied and not POINTS_BACK.search(rewritten) and _leads(rewritten, question, leads)


def adds_nothing(text: str, source: str) -> bool:
    """Whether every name and every number of `text` stands in `source`."""
    new, held = read_claim(text), read_claim(source)
    plain = held.text.casefold()
    numbers = all(any(quantity.value == one.value for one in held.quantities) for quantity in new.quantities)
    return numbers and all(re.sub(r"(?:'s|s)$", "", name.casefold()) in plain for name in new.names)


def names_the_same(text: str, source: str) -> bool:
    """Whether two texts in different languages hold the same numbers and marked names.

    Marked are capitals inside a word, a digit, or capitals alone: in German every noun has a first capital.
    """
    return _marked_names(text) == _marked_names(source) and _holds_numbers(text, source) and _holds_numbers(source, text)


# --- checks -----------------------------------------------------------------------------------------------------------


def _verified_translation(
    written: ReplySentence,
    sentence: GroundedSentence,
    language: str,
    model: LanguageModel,
    verifier: Verifier,
    until: float,
    stopped: threading.Event | None,
) -> str:
    """The translation of a sentence, if what it says in English again rests on sentences of the same papers; else empty."""
    told = translate(written.text, language, model, until=until, stopped=stopped)
    back = translate(told, ENGLISH, model, until=until, stopped=stopped) if told else ""
    if not back:
        return ""
    again = {ground.paper.id: set(ground.spans) for ground in verifier.ground(ReplySentence(back, written.markers, 0)).grounds}
    before = {ground.paper.id: set(ground.spans) for ground in sentence.grounds}
    is_same = again.keys() == before.keys() and all(again[paper] & before[paper] for paper in before)
    return told if is_same and _negations(back) == _negations(written.text) else ""


def _leads(rewritten: str, question: str, leads: Sequence[str]) -> bool:
    """Whether `rewritten` tells each of `leads`: by a name in it, else by two of its terms that the question does not hold."""
    held, asked = set(terms(searchable(rewritten))), set(terms(searchable(question)))
    for lead in leads:
        new = content_terms(lead) - asked
        names = {term for name in read_claim(f"on {lead}").names for term in terms(name)} & new
        if new and not names & held and len(new & held) < min(_LEAD_TERMS, len(new)):
            return False
    return True


def _holds_names(question: str, rewritten: str) -> bool:
    plain = searchable(rewritten).casefold()
    return all(name.casefold() in plain for name in read_question(question).names) and adds_nothing(
        question, f"{question[:1]} {rewritten}"
    )


def _negations(text: str) -> set[str]:
    """The words that deny something; the plain ones are alike."""
    found = {match.group().casefold() for match in NEGATION.finditer(searchable(text))}
    return {"not" if re.fullmatch(r"not|no|never|cannot|\w+n't", word) else word for word in found}


def _marked_names(text: str) -> set[str]:
    names = set()
    for match in _NAME.finditer(searchable(text)):
        word = re.sub(r"(?<=[A-Z])s$", "", match.group())
        if len(word) > 1 and _MARKED.search(word) and not _WITH_UNIT.fullmatch(word):
            names.add(_SAME_NAME.get(word.casefold(), word.casefold()))
    return names


def _holds_numbers(text: str, source: str) -> bool:
    """Whether each number in the digits of `text` stands in `source`, in digits or spelled in English."""
    spelled = {quantity.value for quantity in read_claim(source).quantities}
    held = spelled.union(*map(_readings, _NUMBER.findall(searchable(source))))
    return all(held & _readings(number) for number in _NUMBER.findall(searchable(text)))


def _readings(number: str) -> set[float]:
    """What a number in digits may mean: a comma or point is a decimal one, or with three digits behind it one of thousands."""
    groups = re.split(r"[.,\u00a0\u202f]", number)
    if len(groups) == 1:
        return {float(number)}
    readings = {float("".join(groups))} if all(len(group) == 3 for group in groups[1:]) else set()
    return readings | {float(f"{''.join(groups[:-1])}.{groups[-1]}")}


def _reply(messages: Sequence[object], model: LanguageModel, until: float, stopped: threading.Event | None) -> str:
    """What the model replies; empty when it fails, is stopped, or no time is left."""
    seconds = min(_SECONDS, until - time.monotonic())
    if seconds <= 0:
        return ""
    try:
        return without_thinking(whole_reply(messages, model, timeout_seconds=seconds, stopped=stopped)).strip()
    except (AnswererError, StoppedError):
        return ""


def _capped(history: Sequence[tuple[str, str]], model: LanguageModel) -> list[tuple[str, str]]:
    """The newest turns that fit into a share of the model's window, oldest first."""
    turns: list[tuple[str, str]] = []
    for turn in reversed(history):
        messages = [chat_message("user", rewrite_prompt("", [turn, *turns]))]
        if model.count_tokens(messages) > _HISTORY_SHARE * model.window_tokens:
            break
        turns.insert(0, turn)
    return turns
