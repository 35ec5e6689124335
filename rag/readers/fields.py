"""The fields of a record, whatever a file calls them, as a `Record`. Knows the names that bibliographic tools, search services and
conferences give to title, abstract, authors, year, venue, addresses and key; knows no file format.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from rag.readers.markup import without_markup
from rag.readers.people import authors_of
from rag.readers.records import Record

_ALIASES = {
    "title": ("title", "papertitle", "articletitle", "documenttitle", "displayname", "primarytitle", "name"),
    "abstract": (
        "abstract", "abstracttext", "abstractnote", "abstractinvertedindex", "paperabstract", "notesabstract", "summary", "description", "tldr",
    ),
    "authors": ("authors", "author", "authorfullnames", "authornames", "authorships", "creators", "creator", "firstauthors"),
    "year": (
        "year", "publicationyear", "pubyear", "conferenceyear", "issued", "date", "publicationdate", "published", "publisheddate", "pubdate",
        "publishedonline", "publishedprint",
    ),
    "created": ("pdate", "tcdate", "cdate", "created"),
    "venue": (
        "venue", "journal", "booktitle", "containertitle", "conference", "conferencename", "sourcetitle", "publicationtitle", "journalname",
        "journaltitle", "publicationvenue", "hostvenue", "primarylocation", "eventtitle", "secondarytitle", "journalref",
    ),
    "urls": (
        "url", "urls", "link", "links", "paperurl", "landingpageurl", "doi", "externalids", "pdf", "pdfurl", "openaccesspdf", "site", "openreview",
    ),
    "key": ("key", "citationkey", "citekey", "entrykey", "id", "paperid", "openalexid", "pmid"),
}  # fmt: skip
ABSTRACT_FIELDS = frozenset(_ALIASES["abstract"])
TITLE_FIELDS = frozenset(_ALIASES["title"])

_NOTHING = {
    "", "-", "--", ".", "n/a", "na", "nan", "none", "null", "nil", "tbd", "tba", "unknown", "undefined", "no abstract", "no abstract available",
    "no abstract available.", "abstract not available", "abstract not available.", "[no abstract available]", "abstract",
}  # fmt: skip
"""What stands where there is no text."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_ADDRESS = re.compile(r"https?://[^\s\"<>]+")
_NAMES_INSIDE = ("value", "text", "name", "displayname", "title", "source")
_OPENREVIEW = "https://openreview.net"
_DEEPEST = 4  # objects within objects in which a text is looked for


def field_name(name: object) -> str:
    """A field's name without what differs from tool to tool: "Container-Title" and "container_title" are one."""
    return re.sub(r"[\W_]+", "", str(name)).lower()


def looks_like_record(fields: Mapping[str, object]) -> bool:
    """Whether an object has a field for a title or an abstract, so that it may be a paper."""
    names = {field_name(name) for name in _unwrapped(fields)}
    return bool(names & ABSTRACT_FIELDS) or bool(names & (TITLE_FIELDS - {"name"}))


def has_abstract(fields: Mapping[str, object]) -> bool:
    """Whether an object has a field for an abstract, be it empty."""
    return any(field_name(name) in ABSTRACT_FIELDS for name in _unwrapped(fields))


def record_of(fields: Mapping[str, object], *, position: int, line: int) -> Record:
    """The record that `fields` describe; the abstract is empty when none of them holds one. A venue tells the year ("ICLR 2018") where no field
    does but those of when a record was made."""
    named = {field_name(name): value for name, value in _unwrapped(fields).items()}
    venue = " ".join(next((text for value in _of("venue", named) if (text := _text(value))), "").split())
    return Record(
        abstract=next((text for value in _of("abstract", named) if (text := _text(value))), ""),
        position=position,
        line=line,
        title=" ".join(next((text for value in _of("title", named) if (text := _text(value))), "").split()),
        authors=next((names for value in _of("authors", named) if (names := _people(value))), ()),
        year=next((year for value in (*_of("year", named), venue, *_of("created", named)) if (year := _year(value))), None),
        venue=venue,
        urls=tuple(
            dict.fromkeys(chain(_forum(named), *(_addresses(name, named[name]) for name in _ALIASES["urls"] if name in named)))
        ),
        key=next(
            (key for value in _of("key", named) if isinstance(value, (str, int)) and (key := _encodable(str(value)).strip())), ""
        ),
    )


def clean_text(text: str) -> str:
    """`text` without markup and what no text holds, with one kind of line end; empty for what only says that there is none."""
    text = without_markup(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
    text = _encodable(text).strip()
    return "" if text.casefold() in _NOTHING else text


def _encodable(text: str) -> str:
    """`text` with "?" for what cannot be written as UTF-8: half of a UTF-16 pair, which JSON may hold, is no character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _people(value: object) -> tuple[str, ...]:
    """Authors, without markup in their names."""
    names = (" ".join(_encodable(without_markup(name)).replace("\0", "").split()) for name in authors_of(value))
    return tuple(name for name in names if name)


def _unwrapped(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields with those of OpenReview's `content` among them, each without the object that OpenReview wraps it in."""
    content = fields.get("content")
    if not isinstance(content, Mapping):
        return dict(fields)
    inner = {
        name: value.get("value") if isinstance(value, Mapping) and "value" in value else value for name, value in content.items()
    }
    return {**{name: value for name, value in fields.items() if name != "content"}, **inner}


def _of(field: str, named: Mapping[str, object]) -> Iterator[object]:
    return (named[alias] for alias in _ALIASES[field] if alias in named)


def _text(value: object, depth: int = 0) -> str:
    """The text in a string, in the first item of a list, or in an object under one of the usual names or as an inverted index."""
    if isinstance(value, str):
        return clean_text(value)
    if depth > _DEEPEST:
        return ""
    if isinstance(value, Mapping):
        if value and all(isinstance(places, Sequence) and not isinstance(places, str) for places in value.values()):
            return _in_order(value)
        named = {field_name(name): inner for name, inner in value.items()}
        return next((text for name in _NAMES_INSIDE if name in named and (text := _text(named[name], depth + 1))), "")
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return next((text for inner in value if (text := _text(inner, depth + 1))), "")
    return ""


def _in_order(index: Mapping[object, object]) -> str:
    """The text of an inverted index, {"bees": [2], "We": [0], "study": [1]}, as OpenAlex gives abstracts."""
    placed = [
        (place, str(word))
        for word, places in index.items()
        if isinstance(places, Sequence)
        for place in places
        if isinstance(place, int)
    ]
    return clean_text(" ".join(word for _, word in sorted(placed)))


def _year(value: object, depth: int = 0) -> int | None:
    """The year in a number, a date in any spelling, CSL's date parts or milliseconds since 1970."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return next((year for inner in value.values() if (year := _year(inner, depth + 1))), None)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return next((year for inner in value[:3] if (year := _year(inner, depth + 1))), None)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1e11 < value < 4e12:
        return time.gmtime(value / 1000).tm_year
    match = _YEAR.search(str(value)[:100]) if isinstance(value, (str, int, float)) else None
    return int(match.group()) if match else None


def _addresses(name: str, value: object, depth: int = 0) -> Iterator[str]:
    """The web addresses in a field; a DOI is one, and a path of OpenReview's."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from _addresses(field_name(inner_name), inner, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        for inner in value:
            yield from _addresses(name, inner, depth + 1)
    elif isinstance(value, str):
        value = _encodable(value)
        if name == "doi" and (doi := _DOI.search(value)):
            yield f"https://doi.org/{doi.group()}"
        elif name == "pdf" and value.startswith("/pdf/"):
            yield _OPENREVIEW + value
        elif name == "arxiv":
            yield f"https://arxiv.org/abs/{value}"
        else:
            yield from (address.rstrip(".,;)") for address in _ADDRESS.findall(value)[:1])


def _forum(named: Mapping[str, object]) -> Iterator[str]:
    """The page of an OpenReview note."""
    forum = named.get("forum")
    if isinstance(forum, str) and re.fullmatch(r"[\w-]{5,20}", forum):
        yield f"{_OPENREVIEW}/forum?id={forum}"
