"""The quantities that a searchable text states, in digits or in words, each with its unit.

"2.6x faster", "ten times", "tenfold" and "a factor of ten" are factors, "half" and "two thirds" shares in percent. A word of a
number counts only where it is one: "one" before a unit, "third" behind "a". Knows no sentence of a paper.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ONES = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
        nineteen""".split()  # noqa: SIM905 -- a list of 20 short strings is harder to read
    )
}
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_FACTOR_WORDS = (("twice", 2), ("doubl", 2), ("tripl", 3), ("trebl", 3), ("quadrupl", 4), ("quintupl", 5), ("thrice", 3))
_SHARES = {
    "half": 50.0,
    "halves": 50.0,
    "halve": 50.0,
    "halved": 50.0,
    "halving": 50.0,
    "third": 100 / 3,
    "quarter": 25.0,
    "fifth": 20.0,
    "tenth": 10.0,
}
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9, "trillion": 1e12}
_UNITS = {
    "%": "%", "percent": "%", "per cent": "%", "point": "point", "points": "point", "pp": "point", "percentage point": "point",
    "percentage points": "point", "x": "x", "times": "x", "fold": "x", "bit": "bit", "bits": "bit", "byte": "byte", "bytes": "byte",
    "kb": "kb", "kilobytes": "kb", "gb": "gb", "gigabyte": "gb", "gigabytes": "gb", "mb": "mb", "megabyte": "mb", "megabytes": "mb",
    "tb": "tb", "terabyte": "tb", "terabytes": "tb", "pb": "pb", "petabyte": "pb", "petabytes": "pb",
    "second": "second", "seconds": "second", "s": "second", "ms": "ms", "milliseconds": "ms", "microseconds": "microsecond",
    "minute": "minute", "minutes": "minute", "hour": "hour", "hours": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
    "month": "month", "months": "month", "year": "year", "years": "year", "fps": "fps", "hz": "hz", "db": "db",
    "token": "token", "tokens": "token", "parameter": "parameter", "parameters": "parameter", "layer": "layer", "layers": "layer",
    "dollar": "dollar", "dollars": "dollar", "usd": "dollar", "euro": "euro", "euros": "euro", "watt": "watt", "watts": "watt",
    "degree": "degree", "degrees": "degree",
}  # fmt: skip
_QUANTITY = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:[ -]?(?P<scale>[kKMB](?!\w|-(?!parameter|token))|(?:thousand|million|billion|trillion)s?\b))?"
    r"(?:[ -]?(?P<unit>%|percentage points?|per ?cent\b|[A-Za-z]+))?"
)
_FACTOR_BEFORE = re.compile(r"\bfactors? of (?:up to |about |around |at least |at most )?$", re.IGNORECASE)
_REFERS_BACK = re.compile(r"\b(?:the|these|those|both|all|its|their) $", re.IGNORECASE)  # "integrates the two": no number is stated
_SMALL = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(list(_ONES)[1:10])})\b)?|{'|'.join(reversed(_ONES))})"
_SPELLED = re.compile(
    rf"\b(?P<number>(?:(?:{_SMALL}|a)[ -])?hundred(?:(?: and)?[ -]{_SMALL})?|{_SMALL}|a dozen|dozen|a(?= (?:thousand|million|billion|trillion)\b))"
    r"(?P<fold>-?fold)?\b(?:[ -](?P<scale>thousand|million|billion|trillion)s?\b)?"
    r"(?:[ -](?P<unit>percentage points?|per ?cent\b|[A-Za-z]+))?",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"\b(?:(?P<halves>half|halve[sd]?|halving)|(?:(?P<count>a|one|two|three|four)[ -])(?P<part>third|quarter|fifth|tenth)s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit; the unit is empty when none that is known follows. `start` is its place in the searchable text."""

    value: float
    unit: str
    start: int

    def agrees_with(self, held: "Quantity") -> bool:
        """The same value, and no two different units; a fall that is held by its sign may be stated without it."""
        near = 1e-9 * max(1.0, abs(self.value))
        same = abs(self.value - held.value) <= near or abs(self.value + min(held.value, 0.0)) <= near < abs(self.value)
        return same and (self.unit == held.unit or not self.unit or not held.unit)


def quantities(text: str) -> Iterator[Quantity]:
    """The quantities in searchable `text`: those in digits, then those in words, then factors and shares."""
    for match in _QUANTITY.finditer(text):
        before = text[max(0, match.start() - 2) : match.start()]
        if before[-1:] in ("-", "_") and before[:1].isalpha():
            continue  # part of a name: "GPT-4", "CIFAR-10"
        sign = -1 if before[-1:] == "-" and (before == "-" or before[0] in " (~") else 1
        unit = "x" if _FACTOR_BEFORE.search(text, 0, match.start()) else _unit(match["unit"])
        yield Quantity(sign * float(match["digits"].replace(",", "")) * _scale(match["scale"]), unit, match.start())
    yield from _spelled(text)
    for match in re.finditer(r"[A-Za-z]+", text):
        for beginning, factor in _FACTOR_WORDS:
            if match.group().casefold().startswith(beginning):
                yield Quantity(float(factor), "x", match.start())
    for match in _SHARE.finditer(text):
        count = _ONES.get((match["count"] or "").casefold(), 1)
        yield Quantity(count * _SHARES[(match["halves"] or match["part"]).casefold()], "%", match.start())


def unit_words(text: str) -> frozenset[str]:
    """The units and scales that `text` names anywhere, each by its one spelling; single letters say too little."""
    words = {word for word in re.findall(r"%|[a-z]+", text.casefold()) if word == "%" or len(word) > 1}
    return frozenset(_UNITS[word] for word in words if word in _UNITS) | (words & {"magnitude", "million", "billion", "thousand"})


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _SPELLED.finditer(text):
        unit = "x" if match["fold"] or _FACTOR_BEFORE.search(text, 0, match.start()) else _unit(match["unit"])
        is_only_one = match["number"].casefold() == "one" and not (unit or match["scale"])  # "one of them"
        if not is_only_one and not _REFERS_BACK.search(text, 0, match.start()) and not _SHARE.match(text, match.start()):
            yield Quantity(_value(match["number"]) * _scale(match["scale"]), unit, match.start())


def _value(words: str) -> float:
    """The number below 1000 that `words` name."""
    value = 0
    for word in re.split(r"[ -]", words.casefold()):
        value = max(1, value) * 100 if word == "hundred" else value + {**_ONES, **_TENS, "dozen": 12}.get(word, 0)
    return float(value or words.casefold() == "a")


def _scale(word: str | None) -> float:
    return _SCALES.get((word or "").casefold().removesuffix("s"), 1.0)


def _unit(word: str | None) -> str:
    return _UNITS.get((word or "").casefold(), "")
