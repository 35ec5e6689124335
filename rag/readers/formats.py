"""One door to all formats: a file becomes records by what it holds. Its ending only settles what its content leaves open."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from rag.errors import SourceUnreadableError
from rag.readers.arxiv_atom import read_arxiv_atom
from rag.readers.bibtex import read_bibtex
from rag.readers.csv_table import delimiter_of, read_csv
from rag.readers.encoding import Encoding, as_utf8, guessed_encoding, marked_encoding
from rag.readers.json_lines import read_json_lines
from rag.readers.json_tree import read_json
from rag.readers.medline import read_medline
from rag.readers.opening import opened
from rag.readers.pubmed_xml import read_pubmed_xml
from rag.readers.records import Reader, Reading, Remark
from rag.readers.ris import read_ris
from rag.readers.seed_text import read_seed_text

_TEXT_ENDINGS = (".txt", ".text", ".md")
_TABLE_ENDINGS = (".csv", ".tsv")
ENDINGS = (*_TEXT_ENDINGS, ".jsonl", ".ndjson", ".json", *_TABLE_ENDINGS, ".bib", ".ris", ".nbib", ".xml", ".atom")
"""What the files of a folder must end with to be read, each also with ".gz" after it."""

_HEAD_BYTES = 1 << 16
_JSON_OBJECT = re.compile(r'\{\s*(?:"|\}|$)')
_JSON_LIST = re.compile(r'\[\s*(?:[{"\[\]]|$)')
# Possessive, here and below: a file that is made to be slow is not.
_BIBTEX_BLOCK = r"@[ \t]*+(?:(?:comment|preamble|string)[ \t]*+[{(]|\w++[ \t]*+[{(]\s*+[^\s,={}()\"]*+\s*+,)"
_BIBTEX_FIRST = re.compile(rf"(?:%[^\n]*+\n\s*+)*+{_BIBTEX_BLOCK}", re.IGNORECASE)
_BIBTEX_ANYWHERE = re.compile(rf"^[ \t]*+{_BIBTEX_BLOCK}", re.IGNORECASE | re.MULTILINE)
_RIS = re.compile(r"^TY {1,2}- ?", re.MULTILINE)
_MEDLINE = re.compile(r"^PMID *- ?\d", re.MULTILINE)
_ROOTS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"<Pubmed(?:Article|BookArticle)(?:Set)?\b"), read_pubmed_xml),
    (re.compile(r"<(?:\w+:)?(?:feed|entry)\b[^<>]*http://www\.w3\.org/2005/Atom"), read_arxiv_atom),
)


def has_known_ending(path: PurePath) -> bool:
    """Whether a file found in a folder is taken for abstracts by the ending of its name."""
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


def read_records(path: Path, *, name: str) -> Iterator[Reading]:
    """The records of a file of any format, one by one, with remarks on what is broken in it. `name` is the file's, for messages.

    Raises `SourceUnreadableError`, also after some records, for a file that must be given up as a whole.
    """
    encoding = _encoding(path, name)
    if encoding.is_guessed:
        yield Remark(
            "encoding",
            f"not UTF-8; read as {encoding.codec} (“{encoding.example}”). Check that word, and save the file as UTF-8.",
            line=encoding.line,
        )
    with opened(path, name=name) as stream:
        head = as_utf8(stream, encoding).read(_HEAD_BYTES).decode("utf-8", "ignore")
    reader = _recognised(head.replace("\r\n", "\n").replace("\r", "\n"), name)
    with opened(path, name=name) as stream:
        try:
            yield from reader(as_utf8(stream, encoding), name)
        except UnicodeDecodeError as error:
            raise SourceUnreadableError(f"{name}: it changed while it was read. Run the command again.") from error


def _encoding(path: Path, name: str) -> Encoding:
    with opened(path, name=name) as stream:
        encoding = marked_encoding(stream, name=name)
    if encoding is None:
        with opened(path, name=name) as stream:
            encoding = guessed_encoding(stream, name=name)
    return encoding


def _recognised(head: str, name: str) -> Reader:
    """The reader for a file that begins with `head`."""
    ending = PurePath(name.lower().removesuffix(".gz")).suffix
    start = head.lstrip()
    if start.startswith("<"):
        reader = _of_xml(start, name, ending)
    elif _JSON_OBJECT.match(start) or _JSON_LIST.match(start) or ending in (".jsonl", ".ndjson", ".json"):
        reader = _of_json(start, ending)
    elif _BIBTEX_FIRST.match(start) or (ending not in _TEXT_ENDINGS and _BIBTEX_ANYWHERE.search(start)):
        reader = read_bibtex
    elif _RIS.match(start) or (ending == ".ris" and _RIS.search(start)):
        reader = read_ris
    elif _MEDLINE.match(start) or (ending == ".nbib" and _MEDLINE.search(start)):
        reader = read_medline
    elif start and (delimiter_of(start) or ending in _TABLE_ENDINGS):
        reader = read_csv
    else:
        reader = read_seed_text
    return reader


def _of_xml(start: str, name: str, ending: str) -> Reader:
    for root, reader in _ROOTS:
        if root.search(start):
            return reader
    if re.match(r"<(?:!doctype\s+html|html)\b", start, re.IGNORECASE):
        raise SourceUnreadableError(f"{name}: it is a web page. Download the export (BibTeX, RIS, CSV, JSON) that the site offers.")
    if start.startswith(("<?xml", "<!DOCTYPE")) or ending in (".xml", ".atom"):
        raise SourceUnreadableError(
            f"{name}: XML of a kind that is not known here; PubMed's and arXiv's (Atom) are. Export it as BibTeX, RIS, CSV or JSON."
        )
    return read_seed_text


def _of_json(start: str, ending: str) -> Reader:
    """JSON Lines when every line begins an object of its own, as far as can be seen."""
    lines = [line.strip() for line in start.splitlines()[:3] if line.strip()]
    if ending in (".jsonl", ".ndjson") and not start.startswith("["):
        return read_json_lines
    are_objects = len(lines) > 1 and all(line.startswith("{") for line in lines) and len(lines[0]) > 1
    return read_json_lines if are_objects else read_json
