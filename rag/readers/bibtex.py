"""BibTeX: entries with their macros resolved, LaTeX accents as text and maths as it is. bibtexparser parses block by block, so that
memory holds one; a block that it cannot parse is reported and left out.
"""

import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

from rag.readers.fields import clean_text, field_name, record_of
from rag.readers.latex import plain_latex
from rag.readers.lines import numbered_lines
from rag.readers.people import spoken
from rag.readers.records import Reading, Record, Remark

_BLOCK = re.compile(r"[ \t]*@[ \t]*(?P<kind>\w*)[ \t]*[{(]")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_NO_ENTRIES = {"comment", "preamble", "string"}
_BRACE = re.compile(r"(?<!\\)[{}]")
_LONGEST_BLOCK = 2_000_000  # characters
_ADDRESS_FIELDS = {"url", "doi", "pdf", "eprint", "openreview", "link"}
_MONTHS = {name: name.capitalize() for name in "jan feb mar apr may jun jul aug sep oct nov dec".split()}  # noqa: SIM905


def read_bibtex(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text: one an entry, whether or not it has an abstract."""
    macros = dict(_MONTHS)
    position = 0
    for line, text in _blocks(stream, name):
        kind = _kind(text)
        if kind == "comment":
            continue
        if len(text) > _LONGEST_BLOCK:
            position += 1
            yield _broken("far too long for one entry", position, line)
            continue
        library = _parser()(text, parse_stack=())
        macros |= {string.key.lower(): _resolved(string.value, macros) for string in library.strings}
        for block in library.blocks:  # more than one where several begin on one line
            entry = getattr(block, "ignore_error_block", None) or block  # a field given twice is no fault: the first one counts
            begun = line + (block.start_line or 0)
            if hasattr(entry, "fields"):
                position += 1
                complaint = _complaint(entry)
                yield _broken(complaint, position, begun) if complaint else _record(entry, macros, position=position, line=begun)
            elif hasattr(entry, "error"):
                position += kind not in _NO_ENTRIES
                yield _broken(_reason(entry), position, begun)


def _kind(block: str) -> str:
    match = _BLOCK.match(block)
    return match["kind"].lower() if match else ""


def _broken(complaint: str, position: int, line: int) -> Remark:
    return Remark(
        "broken",
        f"no BibTeX entry ({complaint}). Check its braces, quotation marks and commas.",
        line=line,
        position=position,
    )


def _complaint(entry: Any) -> str:
    """What is wrong with an entry that can be parsed: a comma is missing, so that one field holds the next."""
    for field in entry.fields:
        after = _after_group(str(field.value))
        if after and not after.startswith("#"):
            return f"no comma after its field {field.key!r}"
    return ""


def _after_group(value: str) -> str:
    """What stands after the group in braces with which a value begins; "" when it begins with none."""
    depth = 0
    for match in _BRACE.finditer(value) if value.startswith("{") else ():
        depth += 1 if match.group() == "{" else -1
        if not depth:
            return value[match.end() :].strip()
    return ""


def _blocks(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Every block that begins on a line of its own, with that line; text between blocks is a comment, and goes with the one before."""
    begun, size, lines = 0, 0, list[str]()
    for number, line in numbered_lines(stream, name):
        if _BLOCK.match(line):
            if begun:
                yield begun, "".join(lines)
            begun, lines = number, []
            size = 0
        size += len(line)
        if begun and size - len(line) <= _LONGEST_BLOCK:  # one line beyond it tells that there was more
            lines.append(line)
    if begun:
        yield begun, "".join(lines)


def _record(entry: Any, macros: dict[str, str], *, position: int, line: int) -> Record:
    values: dict[str, str] = {}
    for field in entry.fields:
        values.setdefault(field_name(field.key), _resolved(field.value, macros))
    fields: dict[str, object] = {
        name: value.replace("\\_", "_").replace("\\%", "%") if name in _ADDRESS_FIELDS else plain_latex(clean_text(value))
        for name, value in values.items()
        if name not in ("author", "key", "id")
    }
    if values.get("archiveprefix", values.get("eprinttype", "")).lower() == "arxiv" and values.get("eprint"):
        fields["externalids"] = {"arxiv": values["eprint"]}
    return record_of(
        {**fields, "key": entry.key, "authors": _people(values.get("author", ""))},
        position=position,
        line=line,
    )


def _people(text: str) -> list[dict[str, str]]:
    """The authors of a field; a name all in braces is that of a body, and is not turned around."""
    names = _AND.split(" ".join(text.split()))
    is_body = [name.startswith("{") and name.endswith("}") and name.count("{") == 1 for name in names]
    plain = [plain_latex(name) for name in names]
    return [{"literal": name if whole else spoken(name)} for name, whole in zip(plain, is_body, strict=True)]


def _resolved(value: object, macros: dict[str, str]) -> str:
    """The text of a value: without its own braces or quotation marks, macros in place, parts joined by "#" as one."""
    parts = re.split(r"\s*#\s*(?=[\w\"{])", str(value)) if "#" in str(value) and not _is_enclosed(str(value)) else [str(value)]
    return "".join(part[1:-1] if _is_enclosed(part) else macros.get(part.strip().lower(), part) for part in parts)


def _is_enclosed(value: str) -> bool:
    if value.startswith('"'):
        return len(value) > 1 and value.endswith('"') and '"' not in re.sub(r"\{[^{}]*\}", "", value[1:-1])
    return value.startswith("{") and value.endswith("}") and not _after_group(value)


def _reason(failed: Any) -> str:
    """Why a block failed. It is parsed alone, so the end of the file that the parser meets is the beginning of the next block."""
    reason = " ".join(str(getattr(failed.error, "abort_reason", failed.error)).split()).rstrip(".")
    return reason.replace("Unexpectedly reached end of file", "it is never closed")


@lru_cache(maxsize=1)
def _parser() -> Any:
    """bibtexparser's function; what it would log for each bad block is reported by us."""
    from bibtexparser import parse_string  # here: few files need it

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    return parse_string
