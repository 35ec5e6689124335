"""A display title for an abstract that came without one: the system's own name where the abstract introduces one, else a
short phrase of its own. Knows strings only."""

import re
from collections.abc import Iterator, Sequence

from rag.text import searchable, sentence_spans

LONGEST_TITLE = 90

_VERB = r"(?:propos|present|introduc|develop|describ|construct|design|creat|formulat|unveil)(?:e|es|ed|ing|s)?\b"
_SUBJECT = (
    r"(?:\b[Ww]e|\b[Tt]his (?:\w+ )?(?:paper|work|study|research|article)|\b[Ii]n (?:this|our) (?:paper|work|study)|\bus to)\b"
)
# A name: capitals or digits beyond the first letter ("KIVI", "LSEnet", "MM-Vet"), or a capitalised word.
_MARKED = r"(?:(?:[A-Za-z]*[A-Z][\w+]*[A-Z0-9][\w+]*|[a-z]+[A-Z][\w+]*|[A-Z]+\d[\w+]*)(?:-[\w+]+)*|[A-Z][\w+]*(?:-[A-Z][\w+]*)+)"
_NAME = rf"(?:{_MARKED}|[A-Z][a-z][\w+]*(?:-[\w+]+)*)"
_NAMES = rf"{_NAME}(?: (?:in |of |for |and |or |Like |a )*{_NAME}){{0,4}}"
_PLAIN = r"[a-z][\w-]+(?: [\w-]+){1,3}"
_NAMING = r"(?:called|named|dubbed|termed|coined|name our (?:model|method|framework)|call (?:it|this|our)(?: \w+){0,2}(?: the)?|in short,)"
_OURS = r"\b[Oo]ur (?:\w+ ){0,2}(?:approach|method|model|framework|algorithm|system|benchmark|dataset),"
_TOO_GENERAL = re.compile(
    r"(?:(?:an? )?(?:large |multimodal |vision-?)*(?:language )?models?|(?:[MV]?LLM|[VL]LM|LMM|AI|ML|GPU|NLP|SOTA|GAN|CNN|RL|ICL|MoE|QA|XAI|EM|GP)s?"
    r"|Our|In|The|This|An?|Extensive|Experiments?|Code|Bayesian|Gaussian|Markov|Pareto|Transformers?|.*-based|.*-art)",
    re.IGNORECASE,
)
_ACRONYM = re.compile(r"\((?:in short, |or |dubbed )?\"?([A-Za-z][\w+-]*[A-Z0-9+][\w+-]*)\"?\)")
_KIND = re.compile(
    r"(?:method|algorithm|model|framework|regulari[sz]|network|benchmark|approach|loss|system|technique|task|metric|for|that|which|to|as|by|in|and|on|is|of|with)"
)
_VAGUE = re.compile(r"\b(?:this|these|those|such|their|its|our|it|we|them|above|proposed)\b", re.IGNORECASE)
_PRAISE = re.compile(
    r"^(?:(?:an?|the|novel|new|simple|general|effective|efficient|first|yet|and|but|to|that|how)\b,? )+", re.IGNORECASE
)


def derived_title(abstract: str) -> str:
    """A title of at most 90 characters; never empty for an abstract that has a letter."""
    text = searchable(abstract)
    sentences = [text[span.start : span.end] for span in sentence_spans(text)]
    for candidate in _names(sentences):
        title = re.sub(r" or ([A-Z]{2,})$", r" (\1)", candidate.strip(" ,.;:-\"'"))
        if 2 <= len(title) <= LONGEST_TITLE and not _TOO_GENERAL.fullmatch(title):
            return _capitalised(title)
    return _phrase(sentences)


def made_unique(titles: Sequence[str]) -> list[str]:
    """The same titles, repeated ones told apart by a number, none longer than 90 characters."""
    taken: set[str] = set()
    unique = []
    for title in titles:
        candidate, number = title, 1
        while candidate.casefold() in taken:
            number += 1
            ending = f" ({number})"
            candidate = (
                _cut(title, LONGEST_TITLE - len(ending)) + ending if len(title) + len(ending) > LONGEST_TITLE else title + ending
            )
        taken.add(candidate.casefold())
        unique.append(candidate)
    return unique


def _names(sentences: Sequence[str]) -> Iterator[str]:
    """Candidates for the system's name, the surest first."""
    text = " ".join(sentences)
    introducing = [sentence for sentence in sentences if re.search(rf"{_SUBJECT}.*?\b{_VERB}", sentence)]
    for sentence in introducing:
        yield from _defined_acronyms(sentence)
        for pattern in (
            rf"\b{_NAMING} \"?({_NAMES}(?: \({_NAME}\))?)\"?",
            rf"\b{_VERB} (?:an? |the |our )?({_NAMES}(?: [a-z]+)?)(?=,| -|:|\.| an? | for | to | or |$)",
            rf"\b{_VERB} (?:an? |the )?(?:[\w-]+ ){{1,6}}?[\w-]+, ({_NAMES}(?: [a-z]+)?), ",
            rf"\b{_NAMING} \"?({_PLAIN})\"?(?=[,.])",
            rf"\b{_VERB} (?:the |to use )?({_PLAIN}), (?:an?|the|which)\b",
            rf"\b{_VERB} the (?:concept|notion|idea) of [\"']?({_PLAIN})[\"']? as\b",
        ):
            yield from re.findall(pattern, sentence)
    for pattern in (rf"\b{_NAMING} \"?({_NAMES}(?: \({_NAME}\))?)\"?", rf"{_OURS} ({_NAMES}),"):
        yield from re.findall(pattern, text)
    for sentence in introducing:
        for name in re.findall(rf"\b{_VERB} (?:[\w-]+ ){{0,5}}?({_MARKED}(?: [A-Z]\w+)?)", sentence):
            if text.find(name) >= text.find(sentence):  # met here first, so not something older
                yield name
    for name in re.findall(rf"\b[Oo]ur (?:proposed |new )?({_MARKED})\b", text):
        if text.count(name) > 1 and text.find(name) > text.find("ur " + name) - 20:
            yield name


def _defined_acronyms(sentence: str) -> Iterator[str]:
    """ "Cache Merging (CaM)" for every acronym that the sentence defines after its first introducing verb."""
    verb = re.search(rf"\b(?:{_VERB}|{_NAMING})", sentence)
    for match in _ACRONYM.finditer(sentence, verb.end() if verb else 0):
        before = sentence[: match.start()].rstrip(" \"'")
        named = re.search(rf"({_NAMES})$", before)
        long_form = _long_form(before, match[1]) or (named[1] if named and len(named[1].split()) > 1 else "")
        owner = before[: len(before) - len(long_form)] if long_form else ""
        thing = re.match(r"\)? *([a-z]\w+)?", sentence[match.end() :])
        is_means = re.search(r"\b(?:of|on|using|under|with|by)(?: the| an?)? ?$", owner) or (
            thing and thing[1] and not _KIND.match(thing[1])
        )
        if long_form and not is_means and not _TOO_GENERAL.fullmatch(match[1]):
            yield f"{long_form} ({match[1]})"


def _long_form(before: str, acronym: str) -> str:
    """The words at the end of `before` that `acronym` abbreviates, by the rule of Schwartz and Hearst (2003), or ""."""
    letters = [letter for letter in acronym.lower() if letter.isalpha()]
    words = before.split()[-min(len(letters) + 5, 2 * len(letters)) :]
    text = " ".join(words)
    place = len(text)
    for number, letter in reversed(list(enumerate(letters))):
        place = text.lower().rfind(letter, 0, place)
        while number == 0 and place > 0 and text[place - 1].isalnum():
            place = text.lower().rfind(letter, 0, place)
        if place < 0:
            return ""
    long_form = text[place:].strip()
    return long_form if len(long_form.split()) > 1 or "-" in long_form else ""


_DOING = re.compile(
    rf"(?:{_SUBJECT}|\bHere,? we\b|\b[Ww]e\b) (?:\w+ly |will |further |also |only |then |in this paper,? )*"
    rf"(?:{_VERB}|stud(?:y|ies)|investigates?|explores?|address(?:es)?|highlights?|focus(?:es)? on|advocates? for|posits? that"
    r"|argues? that|shows? that|finds? that|proves? that|examines?|tackles?|optimi[sz]es?|demonstrates? that|considers?|analy[sz]es?|aims? to explore"
    r"|reveals?|aims? to|evaluates?|conducts?)\b(?: and \w+)? (?P<object>.+)"
)
_LONG_ENOUGH = 3  # words


def _phrase(sentences: Sequence[str]) -> str:
    """What the abstract says it does, in its own words, else its beginning."""
    for sentence in sentences:
        match = _DOING.search(sentence)
        phrase = _PRAISE.sub("", match["object"]) if match else ""
        for ending in re.finditer(
            r",(?! namely)\s|[;:]\s| - |\.$| which | that | where | in order to | by (?=\w+ing\b)| while | and (?=\w+ the\b)",
            phrase,
        ):
            if len(phrase[: ending.start()].split()) >= _LONG_ENOUGH:
                phrase = phrase[: ending.start()]
                break
        words = phrase.strip(" .").split()
        if (
            len(words) >= _LONG_ENOUGH
            and not _VAGUE.search(" ".join(words[:4]))
            and words[0].lower() not in ("while", "when", "if", "although", "even")
        ):
            return _cut(_capitalised(" ".join(words)), LONGEST_TITLE)
    return _cut(sentences[0].rstrip(" .") if sentences else "Untitled", LONGEST_TITLE)


def _capitalised(title: str) -> str:
    """A lower-case beginning raised, unless the first word is written with care ("s-rectangular", "pcDEQ")."""
    first = title.split()[0]
    return title[0].upper() + title[1:] if first.islower() and not re.match(r"\w-", first) else title


def _cut(text: str, limit: int) -> str:
    """`text` cut to `limit` characters between words, with an ellipsis where something is missing."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:-(") + "…"
