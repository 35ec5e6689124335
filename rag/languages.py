"""Whether a question is in another language than English, and what of it can be searched all the same: names, numbers, formulas
and the words that the collection holds. Knows texts and the words of an index; no model but the identifier's own small one.
"""

import re
from functools import lru_cache
from typing import Any

from rag.answering import said
from rag.questions import LONGEST_QUESTION
from rag.text import MATH, searchable
from vectorstore.lexical import STOPWORDS, LexicalIndex, terms

ENGLISH = "English"
UNNAMED = "another language"
"""A language that is not English, and no more is known of it."""

_NAMES = {
    "af": "Afrikaans", "ar": "Arabic", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
    "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian", "no": "Norwegian",
    "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "yue": "Cantonese", "zh": "Chinese",
}  # fmt: skip
_LEAST_PROBABILITY = 0.6
_LEAST_PROBABILITY_WITHOUT_ENGLISH = 0.45  # where the question holds no English stop word
_LEAST_LETTERS = 5
_LEAST_WORDS_OF_ABSTRACT, _LEAST_SIGNS_OF_ABSTRACT = 20, 40  # below, too little to tell a language by
_MOST_OF_ABSTRACT = 1500  # characters that are looked at
_ENGLISH_SHARE = 0.2  # of English stop words, which no text in another language reaches
_LEAST_PROBABILITY_OF_ABSTRACT = 0.95
_FOREIGN_LETTERS = 0.3  # share of letters of another alphabet that settles it
_SHORTEST_WORD = 4  # letters; shorter words of another language are too often spelled like an English one
_MARKED = re.compile(r"\d|(?<=[A-Za-z0-9])[A-Z]|^[A-Z]{2,}")
_TOKEN = re.compile(r"[A-Za-z0-9Ͱ-Ͽ][A-Za-z0-9À-ɏͰ-Ͽ]*(?:[-.+/^_'][A-Za-z0-9À-ɏͰ-Ͽ-]+|\([^\s()]{1,30}\))*")
_FOREIGN = re.compile(r"[^\W\d_\u0000-\u03ff\u1d00-\u1fff\u2100-\u214f\U0001d400-\U0001d7ff]")
_TELLING = 0.6  # of the idf of a term that no paper holds
_NOBODYS_TERM = "\0\0"
_FALSE_FRIENDS = frozenset(
    """actual also arm base bald brief come comment chat chef dans door fast fine hell hier kind main maker mais more name note once
    pain pour plus rock rose sale sans serie sole solo tank text thema time true under wall werden were will wird""".split()  # noqa: SIM905
)


def language_of(text: str, lexical: LexicalIndex) -> str:
    """The English name of the language of `text`; "English" where in doubt, for names alone, and for words that the index holds."""
    plain = MATH.sub(" ", text[:LONGEST_QUESTION])
    plain = " ".join(word for word in re.split(r"[\s\"“”«»]+", plain) if not _is_written_in_signs(word))
    letters = [letter for letter in plain if letter.isalpha()]
    foreign = sum(map(_is_foreign, letters))
    if foreign and foreign >= _FOREIGN_LETTERS * len(letters):
        name = _NAMES.get(_identified(plain)[0], ENGLISH)
        return name if name != ENGLISH else UNNAMED
    if len(letters) < _LEAST_LETTERS or all(map(lexical.knows, terms(searchable(plain)))):
        return ENGLISH
    code, probability = _identified(plain)
    has_english = any(word in STOPWORDS for word in re.findall(r"[a-z']+", plain.casefold()))
    least = _LEAST_PROBABILITY if has_english else _LEAST_PROBABILITY_WITHOUT_ENGLISH
    return _NAMES.get(code, ENGLISH) if probability >= least else ENGLISH


def nameable(text: str, lexical: LexicalIndex) -> str:
    """Of a question in another language, what can be searched in English, in order.

    Empty when the collection holds none of it, or none that tells its papers apart.
    """
    tokens = _TOKEN.findall(searchable(text[:LONGEST_QUESTION]))
    kept = dict.fromkeys(token for token in tokens if _is_kept(token, lexical))
    least = _TELLING * lexical.idf(_NOBODYS_TERM)
    return " ".join(kept) if any(_is_telling(token, least, lexical) for token in kept) else ""


def language_notice(language: str, *, is_searched: bool) -> str:
    """What the person is told about a question in `language`; `is_searched` when something in it could be searched."""
    return (said.NAMES_SEARCHED if is_searched else said.NAMELESS).format(language=language)


def language_of_abstract(text: str) -> str:
    """The code of the language of a text of some length, such as "de"; "" for a short text and where in doubt."""
    plain = MATH.sub(" ", text[:_MOST_OF_ABSTRACT])
    words = re.findall(r"[^\W\d_]+", plain.casefold())
    is_long = len(words) >= _LEAST_WORDS_OF_ABSTRACT or len(_FOREIGN.findall(plain)) >= _LEAST_SIGNS_OF_ABSTRACT
    if not is_long:
        return ""
    if sum(word in STOPWORDS for word in words) >= _ENGLISH_SHARE * len(words):
        return "en"  # without the identifier, which takes far longer
    code, probability = _identifier().classify(plain)
    return str(code) if probability >= _LEAST_PROBABILITY_OF_ABSTRACT else ""


def language_name(code: str) -> str:
    """The English name of a language, the code itself where it has none here."""
    return _NAMES.get(code, ENGLISH if code == "en" else code)


@lru_cache(maxsize=1024)
def _identified(text: str) -> tuple[str, float]:
    """The code of the likeliest language, and its probability."""
    code, probability = _identifier().classify(text)
    return str(code), float(probability)


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # here: it reads a model, and few questions need it

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _is_foreign(letter: str) -> bool:
    """Whether a letter is of another alphabet than Latin; Greek and mathematical letters stand in formulas."""
    return bool(_FOREIGN.match(letter))


def _is_written_in_signs(word: str) -> bool:
    """Whether a word is a name, a number, an address or a formula, which tells no language."""
    return not _FOREIGN.search(word) and bool(_MARKED.search(word.strip("?!.,;:()'")) or re.search(r"[\\/=^_<>@|{}\[\]]", word))


def _is_kept(token: str, lexical: LexicalIndex) -> bool:
    return bool(_MARKED.search(token) or re.search(r"[\^(]", token)) or _is_known_word(token, lexical)


def _is_known_word(token: str, lexical: LexicalIndex) -> bool:
    word = token.casefold()
    is_word = len(word) >= _SHORTEST_WORD and word not in STOPWORDS and word not in _FALSE_FRIENDS
    return is_word and all(map(lexical.knows, terms(token)[-1:]))


def _is_telling(token: str, least_idf: float, lexical: LexicalIndex) -> bool:
    """Whether few papers hold `token`, as a whole, and some do."""
    whole = terms(token)[-1:]
    return bool(re.search(r"[A-Za-z]", token)) and any(lexical.knows(term) and lexical.idf(term) >= least_idf for term in whole)
