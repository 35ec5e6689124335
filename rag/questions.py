"""What a question asks: the text that is searched, its terms, its names, and cues for the kind of sentence that would answer.

Works on the words alone: no model, no index. Nothing a person can type raises an error here.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rag.text import searchable
from vectorstore.lexical import terms

LONGEST_QUESTION = 4000
"""Characters of a question that are searched; far more than the embedder's window holds."""

_CUES = {
    "definition": r"^(?:so |please )?(?:what(?:'s| is| are)|who is|explain|describe|define|introduce|tell me about|give me an overview)\b",
    "number": r"how (?:many|much|large|big|fast|long|far)|percent|speed-?up|accuracy|by what|rate|factor|number of|times|complexity|bound|%"
    r"|what (?:share|fraction|size|gain|score|margin|improvement|auc)",
    "about": r"what(?:'s| is| are)\b|explain|describe|idea|tell me|how (?:does|do|is|are|can)|overview|summar|works?\b|approach|method",
    "code": r"\bcode\b|repo|github|available|open.?sourced?|link|url|implementation|download|released?",
    "data": r"data ?sets?|benchmarks?|evaluated on|tested|tasks?\b|experiments?|models? (?:were|was|are)",
    "result": r"outperform|improve|gain|results?|compare|better|beat|faster|performance|advantage|than",
    "reason": r"\bwhy\b|problem|limitation|challenge|reason|drawback|issue|motivat|difficult|fail|wrong",
}
_CUE_PATTERNS = {cue: re.compile(pattern, re.IGNORECASE) for cue, pattern in _CUES.items()}
_TOKEN = re.compile(r"[A-Za-z0-9][\w.+-]*")
_MOSTLY_CAPITALS = 0.5
_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is searched. `cues` are keys of what is asked for: definition, number, about, code, data, result, reason."""

    text: str
    searched: str
    terms: tuple[str, ...]
    names: tuple[str, ...]
    cues: frozenset[str]


@lru_cache(maxsize=1024)
def read_question(text: str) -> Question:
    """Reads a question; the same text gives the same result."""
    searched = searchable(text[:LONGEST_QUESTION])
    return Question(
        text=text,
        searched=searched,
        terms=tuple(terms(searched)),
        names=tuple(_names(searched)),
        cues=frozenset(cue for cue, pattern in _CUE_PATTERNS.items() if pattern.search(searched)),
    )


def fault(question: Question) -> str:
    """Why `question` cannot be searched, for the person who asked; empty when it can be."""
    if not question.searched:
        return "The question is empty. Type what you want to know about the papers."
    if not any(character.isalnum() for character in question.searched):
        return "The question holds no word. Type what you want to know about the papers."
    content = [term for term in question.terms if len(term) > 1 or unicodedata.category(term) == "Lo"]
    if not content:
        return "The question holds no word to search for. Name a topic, a method or a paper."
    words = re.findall(r"\w+", question.searched.casefold())
    if len(words) >= _REPETITIONS and len(set(words)) == 1:
        return "The question repeats one word. Say what you want to know about it."
    if len(words) == 1 and _is_repeated(words[0]):
        return "The question repeats one letter. Type what you want to know about the papers."
    return ""


_COURTESY = frozenset(
    """thanks thank you very much many so a lot hi hello hey ok okay great good nice cool perfect fine well bye goodbye cheers that was all i
    wanted to know helpful it is for your the help please no yes wow ciao got understood see done""".split()  # noqa: SIM905
)
_COURTESY_CORE = frozenset(
    [
        "thanks",
        "thank",
        "hi",
        "hello",
        "hey",
        "ok",
        "okay",
        "great",
        "nice",
        "cool",
        "perfect",
        "bye",
        "goodbye",
        "cheers",
        "wow",
        "ciao",
        "understood",
    ]
)


def is_courtesy(text: str) -> bool:
    """Whether `text` greets, thanks or agrees, and asks nothing."""
    words = re.findall(r"\w+", text[:200].casefold())
    return bool(words) and _COURTESY.issuperset(words) and not _COURTESY_CORE.isdisjoint(words) and len(text) < 200


def _is_repeated(word: str) -> bool:
    return len(word) > _REPETITIONS and len(set(word)) == 1


def _names(text: str) -> list[str]:
    """Words written like names: capitals or digits inside, or a capital that does not begin a sentence."""
    found = [(match.group().strip(".-+"), match.start()) for match in _TOKEN.finditer(text)]
    capitals = sum(token.isupper() and len(token) > 1 for token, _ in found)
    if not found or capitals / len(found) > _MOSTLY_CAPITALS:
        return []
    return [
        token for token, start in found if _is_name(token, begins=not text[:start].strip() or text[:start].rstrip()[-1] in ".?!:")
    ]


def _is_name(token: str, *, begins: bool) -> bool:
    if len(token) < 2 or not re.search(r"[A-Za-z]", token):
        return False
    return bool(re.search(r"\d|(?<=.)[A-Z]", token)) or (token[0].isupper() and not begins)
