"""Authors in any of the forms that files hold them, as names in the order in which they are spoken: "Ada Lovelace"."""

import re
from collections.abc import Iterator, Mapping, Sequence

_AND = re.compile(r",?\s+(?:and|&)\s+", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[A-Z]\.?[\s-]*){1,4}")
_NOBODY = {"", "others", "et al", "et al.", "and others", "nan", "none", "null", "n/a"}
_MARKS = " *†‡§,;"  # of equal contribution and the like
_NAME_FIELDS = ("name", "display_name", "full_name", "fullname", "literal", "raw_author_name", "value", "text")
_PARTS = (("given", "family"), ("first", "last"), ("firstname", "lastname"), ("first_name", "last_name"), ("forename", "lastname"))


def authors_of(value: object) -> tuple[str, ...]:
    """The authors in `value`: a list of names, a list of objects that hold names, or one string of them. Empty for anything else."""
    names = (name.strip(_MARKS) for name in _names(value))
    return tuple(dict.fromkeys(name for name in names if name.casefold() not in _NOBODY))


def spoken(name: str) -> str:
    """ "Lovelace, Ada" in the order in which it is spoken; "King, Jr., Martin" keeps its "Jr." at the end."""
    parts = [" ".join(part.split()) for part in name.split(",")]
    if len(parts) == 2:
        return f"{parts[1]} {parts[0]}".strip()
    if len(parts) == 3:
        return f"{parts[2]} {parts[0]} {parts[1]}".strip()
    return " ".join(name.split())


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _from_string(value)
    elif isinstance(value, Mapping):
        yield _from_object(value)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for one in value:
            if isinstance(one, str):
                yield spoken(one)
            elif isinstance(one, Mapping):
                yield _from_object(one)


def _from_object(fields: Mapping[object, object]) -> str:
    lowered = {str(key).lower(): value for key, value in fields.items()}
    for given, family in _PARTS:
        parts = [
            part
            for part in (lowered.get(given), lowered.get("non-dropping-particle"), lowered.get(family))
            if isinstance(part, str)
        ]
        if isinstance(lowered.get(family), str):
            return " ".join(" ".join(parts).split())
    for field in _NAME_FIELDS:
        if isinstance(lowered.get(field), str):
            name = str(lowered[field])
            return " ".join(name.split()) if field == "literal" else spoken(name)
    inner = lowered.get("author")
    return _from_object(inner) if isinstance(inner, Mapping) and inner is not fields and "author" not in inner else ""


def _from_string(text: str) -> list[str]:
    """Names parted by ";", by "and", or by "," where the commas do not stand between surname and given name."""
    text = " ".join(text.split()).strip(" ;,")
    if ";" in text:
        return [spoken(name) for name in text.split(";")]
    names = _AND.split(text)
    if len(names) > 1 and all(name.count(",") == 1 and not _is_list(name.split(",")) for name in names):
        return [spoken(name) for name in names]
    return [name for part in names for name in _from_commas(part)]


def _from_commas(text: str) -> list[str]:
    pieces = [piece.strip() for piece in text.split(",")]
    if len(pieces) == 1 or _is_list(pieces):
        return pieces
    if len(pieces) == 2:
        return [spoken(text)]
    if len(pieces) % 2 == 0 and all(_INITIALS.fullmatch(given) for given in pieces[1::2]):
        return [f"{given} {family}" for family, given in zip(pieces[::2], pieces[1::2], strict=True)]
    return pieces


def _is_list(pieces: Sequence[str]) -> bool:
    """Whether each piece can be a whole name: two words at least."""
    return all(len(piece.split()) > 1 for piece in pieces)
