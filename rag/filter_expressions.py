"""Filters as they are typed to a `PaperFilter`: year>=2020, venue=ICML, author="van der Maaten", file!=old.txt, title~graph.

Knows no papers: whether any paper meets a condition is not asked here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.errors import FilterError
from rag.filters import PaperFilter, name_words

LONGEST_FILTER = 1000  # characters of one text
_SIGNS = {
    "year": ("=", "!=", ">=", "<=", ">", "<"),
    "venue": ("=", "!="),
    "author": ("=", "!="),
    "file": ("=", "!="),
    "title": ("~",),
}
_NEXT = r"\s+(?:and\s+)?\w+\s*(?:[<>!]=|[=~<>])"  # where the next condition begins, and a value without quotes ends
_CONDITION = re.compile(
    rf"\s*(?:and\s+)?(?P<key>\w+)\s*(?P<sign>[<>!]=|[=~<>])\s*(?P<value>\"[^\"]*\"|'[^']*'|.*?)\s*(?=$|{_NEXT})",
    re.IGNORECASE | re.DOTALL,
)
_YEARS = re.compile(r"(\d{1,4})(?:\s*\.\.\s*(\d{1,4}))?")
_HELP = (
    "Filters are year>=2020, year<=2022, year=2021, year=2019..2021, venue=NAME, author=NAME, file=NAME and title~WORD; "
    '!= in the place of = excludes. Put a value in quotes when it holds such a sign: venue="A=B".'
)


@dataclass(slots=True)
class _Conditions:
    """What was read so far: names by the field of `PaperFilter` they go to, and the bounds of years."""

    names: dict[str, set[str]] = field(default_factory=dict)
    years: dict[str, set[int]] = field(default_factory=dict)
    first_year: int | None = None
    last_year: int | None = None

    def add_years(self, sign: str, first: int, last: int) -> None:
        if sign in ("=", "!="):
            self.years.setdefault("years" if sign == "=" else "without_years", set()).update(range(first, last + 1))
        elif sign in (">=", ">"):
            bound = first + (sign == ">")
            self.first_year = bound if self.first_year is None else max(self.first_year, bound)
        else:
            bound = last - (sign == "<")
            self.last_year = bound if self.last_year is None else min(self.last_year, bound)


def parse_filter(texts: Sequence[str]) -> PaperFilter:
    """The filter of one or more texts, each with one or more conditions; a paper must meet all of them.

    The same key twice with `=` means either, `!=` excludes, a range of years is `2019..2021`. Keys may be in any case. Raises
    `FilterError`, which shows the piece at fault.
    """
    conditions = _Conditions()
    for text in texts:
        if len(text) > LONGEST_FILTER:
            raise FilterError(f"A filter has {len(text)} characters; at most {LONGEST_FILTER} are read. {_HELP}")
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _CONDITION.match(text, at)
            if found is None:
                raise FilterError(f"{text[at:].strip()[:100]!r} is no condition. {_HELP}")
            _add(conditions, found)
            at = found.end()
        if not end:
            raise FilterError(f"A filter is empty. {_HELP}")
    return PaperFilter(
        first_year=conditions.first_year,
        last_year=conditions.last_year,
        **{name: frozenset(values) for name, values in conditions.names.items()},  # type: ignore[arg-type]  # fields of texts
        **{name: frozenset(values) for name, values in conditions.years.items()},  # type: ignore[arg-type]  # fields of years
    )


def _add(conditions: _Conditions, found: re.Match[str]) -> None:
    """Adds one condition to those before."""
    piece, key, sign = found.group().strip()[:100], found["key"].lower(), found["sign"]
    value = _unquoted(found["value"])
    if key not in _SIGNS:
        raise FilterError(f"{piece!r}: there is no field {found['key']!r} to filter by. {_HELP}")
    if sign not in _SIGNS[key]:
        raise FilterError(f"{piece!r}: {key} goes with {' or '.join(_SIGNS[key])}, not with {sign}. {_HELP}")
    if not value or (key == "author" and not name_words(value)):
        raise FilterError(f"{piece!r} gives no value. {_HELP}")
    if found["value"].startswith('"') and (len(found["value"]) < 2 or not found["value"].endswith('"')):
        raise FilterError(f"{piece!r}: the quotes do not enclose the value. {_HELP}")
    if key == "year":
        years = _YEARS.fullmatch(value)
        if years is None or (years[2] and sign not in ("=", "!=")):
            raise FilterError(f"{piece!r}: {value!r} is no year{'' if years is None else ' to compare with'}. {_HELP}")
        first, last = int(years[1]), int(years[2] or years[1])
        if first > last:
            raise FilterError(f"{piece!r}: the years are the wrong way round; write {last}..{first}. {_HELP}")
        conditions.add_years(sign, first, last)
    else:
        name = "title_words" if key == "title" else f"{key}s" if sign == "=" else f"without_{key}s"
        conditions.names.setdefault(name, set()).add(value)


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return (value[1:-1] if is_quoted else value).strip()
