"""What a sentence states that can be checked by its form: quantities with units, names, negations, directions.

A language model gets these wrong while every other word is right, and vectors hardly see it. Works on searchable text, in which
"$82.24\\%$" is "82.24%" and "2.6 times faster" is "2.6x faster". Knows no paper, no index and no model.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rag.text import searchable
from vectorstore.lexical import STOPWORDS, stem

_NUMBER_WORDS = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12,
}  # fmt: skip
_FACTOR_WORDS = {
    "twice": 2,
    "double": 2,
    "doubles": 2,
    "doubled": 2,
    "doubling": 2,
    "twofold": 2,
    "triple": 3,
    "triples": 3,
    "tripled": 3,
}
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9, "trillion": 1e12}
_UNITS = {
    "%": "%", "percent": "%", "per cent": "%", "point": "point", "points": "point", "pp": "point", "percentage point": "point",
    "percentage points": "point", "x": "x", "times": "x", "fold": "x", "bit": "bit", "bits": "bit", "byte": "byte", "bytes": "byte",
    "gb": "gb", "mb": "mb", "tb": "tb", "second": "second", "seconds": "second", "s": "second", "ms": "ms", "milliseconds": "ms",
    "minute": "minute", "minutes": "minute", "hour": "hour", "hours": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
    "month": "month", "months": "month", "year": "year", "years": "year", "fps": "fps", "hz": "hz", "db": "db",
    "token": "token", "tokens": "token", "parameter": "parameter", "parameters": "parameter", "layer": "layer", "layers": "layer",
}  # fmt: skip
_QUANTITY = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:[ -]?(?P<scale>[kKMB](?!\w|-(?!parameter|token))|(?:thousand|million|billion|trillion)s?\b))?"
    r"(?:[ -]?(?P<unit>%|percentage points?|per ?cent\b|[A-Za-z]+))?"
)
_FACTOR_BEFORE = re.compile(r"\bfactors? of (?:up to |about |around |at least |at most )?$", re.IGNORECASE)
_REFERS_BACK = re.compile(r"\b(?:the|these|those|both|all|its|their) $", re.IGNORECASE)  # "integrates the two": no number is stated
_SPELLED = re.compile(
    r"\b(?P<word>"
    + "|".join(_NUMBER_WORDS)
    + r")\b(?:[ -](?P<scale>(?:thousand|million|billion|trillion)s?)\b)?(?:[ -](?P<unit>percentage points?|per ?cent\b|[A-Za-z]+))?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
NEGATION = re.compile(
    r"\b(?:not|no|never|without|neither|nor|none|nothing|cannot|can't|isn't|aren't|doesn't|don't|didn't|wasn't|won't|hardly|unable|lacks?|lacking"
    r"|fails?|failed|failing|avoids?|avoiding|eliminat\w+|dispens\w+|obviat\w+|needless|instead of|rather than|except|exclud\w+|unlike|far from)\b"
    r"|\b\w+(?P<free>-free)\b|\b(?:non-?|un)(?=(?:\w{4,}))",
    re.IGNORECASE,
)
_SCOPE_WORDS = 5
# Words of opposite direction or kind, as they stand in general English.
_OPPOSITES = (
    ("increase raise grow boost rise enlarge more higher greater larger bigger high large expand add gain long longer up heavy",
     "decrease reduce lower drop shrink cut fall less fewer smaller low small diminish decline remove loss short shorter down light"),
    ("improve better enhance outperform surpass exceed beat superior strengthen best benefit win strong stronger strongly ahead outpace help",
     "worsen worse degrade underperform inferior lose weaken hurt harm worst lag weak weaker weakly behind trail poor poorly"),
    ("faster fast accelerate speed quicker quick quickly rapid", "slower slow slowly slowdown delay"),
    ("upper above top maximum maximal maximize most", "lower below bottom minimum minimal minimize least"),
    ("before earlier early first initially", "after later late last finally afterwards"),
    ("easy easier simple simpler easily", "hard harder difficult complex complicated challenging challenge"),
    ("many often frequent frequently common", "few rare seldom rarely uncommon"),
    ("positive", "negative"), ("all every always whole entire global globally full", "some sometimes local locally partial part partly"),
    ("necessary require need must essential depend", "optional unnecessary dispensable free independent"),
    ("succeed success effective able can capable", "fail failure ineffective unable cannot incapable"),
    ("robust stable reliable safe resilient", "fragile unstable vulnerable unreliable unsafe brittle"),
    ("fine finer", "coarse coarser"), ("tight tighter tightness", "loose looser looseness"), ("same similar alike identical", "different distinct differ"),
    ("keep retain preserve maintain persist remain", "discard forget vanish disappear abandon lose"),
    ("single one alone", "multiple several many multi"), ("internal inside within inner", "external outside beyond outer"),
    ("with include including", "without exclude excluding"), ("open public", "closed proprietary private"), ("dense", "sparse"),
    ("supervised labeled labelled", "unsupervised unlabeled unlabelled"), ("convex", "nonconvex"), ("online", "offline"), ("discrete", "continuous"),
    ("deterministic", "stochastic random"), ("static", "dynamic"), ("linear", "nonlinear quadratic exponential"), ("input", "output"),
    ("encoder encode", "decoder decode"), ("key", "value"), ("train", "test"), ("agree consistent", "disagree inconsistent conflict"),
    ("overestimate overconfident", "underestimate underconfident"), ("accept", "reject"), ("central centralized", "decentralized distributed"),
    ("expensive costly", "cheap inexpensive"), ("accurate exact precise", "inaccurate approximate imprecise"), ("micro", "macro"),
    ("balanced", "imbalanced"), ("biased", "unbiased"), ("known seen", "unknown unseen"), ("true", "false"), ("support confirm", "refute contradict"),
)  # fmt: skip
_POLES: dict[str, set[tuple[int, int]]] = {}
for _number, _axis in enumerate(_OPPOSITES):
    for _side, _pole in enumerate(_axis):
        for _word in _pole.split():
            _POLES.setdefault(stem(_word), set()).add((_number, _side))
_POLAR = _POLES.keys()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit; the unit is empty when none that is known follows. `start` is its place in the searchable text."""

    value: float
    unit: str
    start: int

    def agrees_with(self, other: "Quantity") -> bool:
        """The same value, and no two different units."""
        same = abs(self.value - other.value) <= 1e-9 * max(1.0, abs(self.value))
        return same and (self.unit == other.unit or not self.unit or not other.unit)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence taken apart. `text` is its searchable form, `negated` the stems in the scope of each negation."""

    text: str
    tokens: tuple[str, ...]
    denied: frozenset[str]
    quantities: tuple[Quantity, ...]
    names: tuple[str, ...]


@lru_cache(maxsize=50_000)
def read_claim(sentence: str) -> Claim:
    """Takes a verbatim sentence apart; the same sentence gives the same claim."""
    text = searchable(sentence)
    tokens = tuple(stem(word) for word in re.findall(r"[^\W_]+", text.casefold()) if word not in STOPWORDS or stem(word) in _POLAR)
    return Claim(
        text=text,
        tokens=tokens,
        denied=frozenset().union(*_negated(text)),
        quantities=tuple(_quantities(text)),
        names=tuple(dict.fromkeys(_names(text))),
    )


def poles(tokens: Iterable[str]) -> frozenset[tuple[int, int]]:
    """The (axis, side) of every token that names a direction."""
    return frozenset(pole for token in tokens for pole in _POLES.get(token, ()))


def unit_words(text: str) -> frozenset[str]:
    """The units and scales that `text` names anywhere, each by its one spelling; single letters say too little."""
    words = {word for word in re.findall(r"%|[a-z]+", text.casefold()) if word == "%" or len(word) > 1}
    return frozenset(_UNITS[word] for word in words if word in _UNITS) | (words & {"magnitude", "million", "billion", "thousand"})


def _quantities(text: str) -> Iterator[Quantity]:
    for match in _QUANTITY.finditer(text):
        if match.start() and text[match.start() - 1] in "-_" and text[match.start() - 2 : match.start() - 1].isalpha():
            continue  # part of a name: "GPT-4", "CIFAR-10"
        scale = _SCALES.get((match["scale"] or "").casefold().removesuffix("s"), 1.0)
        unit = "x" if _FACTOR_BEFORE.search(text, 0, match.start()) else _unit(match["unit"])
        yield Quantity(float(match["digits"].replace(",", "")) * scale, unit, match.start())
    for match in _SPELLED.finditer(text):
        if _REFERS_BACK.search(text, 0, match.start()):
            continue
        scale = _SCALES.get((match["scale"] or "").casefold().removesuffix("s"), 1.0)
        yield Quantity(float(_NUMBER_WORDS[match["word"].casefold()]) * scale, _unit(match["unit"]), match.start())
    for match in re.finditer(r"[A-Za-z]+", text):
        if match.group().casefold() in _FACTOR_WORDS:
            yield Quantity(float(_FACTOR_WORDS[match.group().casefold()]), "x", match.start())


def _unit(word: str | None) -> str:
    return _UNITS.get((word or "").casefold(), "")


def _names(text: str) -> Iterator[str]:
    """Words written like names: a capital or a digit inside, or a capital that does not begin the sentence."""
    for match in _NAME.finditer(text):
        token = match.group().strip(".-+_")
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in ".?!:"
        if len(token) > 1 and re.search(r"[A-Za-z]", token) and not re.fullmatch(r"\d[\d.,]*(?:[a-z]+|[kKMBx]|-\w+)", token):
            has_inner = bool(re.search(r"(?<=.)[A-Z]|[A-Za-z]-?\d", token))
            if has_inner or (token[0].isupper() and not begins):
                yield token


def _negated(text: str) -> Iterator[frozenset[str]]:
    for match in NEGATION.finditer(text):
        if match["free"]:
            yield frozenset({stem(match.group().removesuffix(match["free"]).rsplit("-", 1)[-1].casefold())})
            continue
        following = re.findall(r"[^\W_]+", re.split(r"[.;:]|, (?:but|and|while)", text[match.end() :])[0].casefold())
        content = [stem(word) for word in following if word not in STOPWORDS][:_SCOPE_WORDS]
        yield frozenset(content)
