"""The MEDLINE format of PubMed (.nbib): tags of up to four letters, continued lines indented by six spaces."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from rag.readers.fields import record_of
from rag.readers.lines import numbered_lines
from rag.readers.records import Reading, Record

_TAG = re.compile(r"(?P<tag>[A-Z]{1,4}) *- ?(?P<value>.*)")
_DOI = re.compile(r"(?P<doi>10\.\S+) \[doi\]")
_PUBMED = "https://pubmed.ncbi.nlm.nih.gov/"

_Tags = dict[str, list[str]]


def read_medline(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text; each begins with its PMID."""
    tags: _Tags = {}
    begun, position, last = 0, 0, ""
    for number, line in numbered_lines(stream, name):
        match = _TAG.match(line)
        if match and match["tag"] == "PMID":
            if begun:
                position += 1
                yield _record(tags, position=position, line=begun)
            tags, begun = {}, number
        if match and begun:
            last = match["tag"]
            tags.setdefault(last, []).append(match["value"].strip())
        elif line.startswith("  ") and last in tags:
            tags[last][-1] += f" {line.strip()}"
    if begun:
        yield _record(tags, position=position + 1, line=begun)


def _record(tags: _Tags, *, position: int, line: int) -> Record:
    pmid = "".join(tags.get("PMID", [""])[:1])
    doi = next((match["doi"] for value in (*tags.get("LID", []), *tags.get("AID", [])) if (match := _DOI.match(value))), "")
    fields = {
        "title": "".join((tags.get("TI") or tags.get("BTI") or [""])[:1]),
        "abstract": "".join(tags.get("AB", [])[:1]),
        "authors": tags.get("FAU") or tags.get("AU") or tags.get("CN") or [],
        "year": "".join(tags.get("DP", [])[:1]),
        "venue": "".join((tags.get("JT") or tags.get("TA") or [""])[:1]),
        "url": f"{_PUBMED}{pmid}/" if pmid.isdecimal() else "",
        "doi": doi,
        "pmid": pmid,
    }
    return record_of(fields, position=position, line=line)
