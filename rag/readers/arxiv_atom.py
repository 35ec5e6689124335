"""The Atom feed of arXiv's API, or any Atom feed whose entries have a summary."""

from collections.abc import Iterator
from typing import BinaryIO

from rag.readers.fields import record_of
from rag.readers.records import Reading
from rag.readers.xml_elements import elements, text_of

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


def read_arxiv_atom(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. Raises `SourceUnreadableError` for what is not well-formed."""
    for position, (line, entry) in enumerate(elements(stream, name, tags=frozenset({f"{_ATOM}entry"})), start=1):
        fields = {
            "title": text_of(entry.find(f"{_ATOM}title")),
            "abstract": text_of(entry.find(f"{_ATOM}summary")),
            "authors": [text_of(author) for author in entry.iterfind(f"{_ATOM}author/{_ATOM}name")],
            "year": text_of(entry.find(f"{_ATOM}published")),
            "venue": text_of(entry.find(f"{_ARXIV}journal_ref")),
            "url": text_of(entry.find(f"{_ATOM}id")),
            "doi": text_of(entry.find(f"{_ARXIV}doi")),
            "id": text_of(entry.find(f"{_ATOM}id")),
        }
        yield record_of(fields, position=position, line=line)
