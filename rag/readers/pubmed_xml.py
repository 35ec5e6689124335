"""PubMed's XML: articles and book chapters. The parts of a structured abstract are joined, each after its label."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element

from rag.readers.fields import record_of
from rag.readers.records import Reading, Record
from rag.readers.xml_elements import elements, text_of

_ARTICLES = frozenset({"PubmedArticle", "PubmedBookArticle"})
_PUBMED = "https://pubmed.ncbi.nlm.nih.gov/"


def read_pubmed_xml(stream: BinaryIO, name: str) -> Iterator[Reading]:
    """The records of a stream of UTF-8 text. Raises `SourceUnreadableError` for what is not well-formed."""
    for position, (line, article) in enumerate(elements(stream, name, tags=_ARTICLES), start=1):
        yield _record(article, position=position, line=line)


def _record(article: Element, *, position: int, line: int) -> Record:
    pmid = text_of(article.find("./*/PMID"))
    date = article.find(".//JournalIssue/PubDate")
    fields = {
        "title": text_of(_first(article, ".//ArticleTitle", ".//BookTitle")),
        "abstract": " ".join(_parts(article.find(".//Abstract"))),
        "authors": [_author(author) for author in article.iterfind(".//AuthorList[1]/Author")],
        "year": text_of(date if date is not None else _first(article, ".//ArticleDate", ".//PubDate")),
        "venue": text_of(_first(article, ".//Journal/Title", ".//BookTitle")),
        "url": f"{_PUBMED}{pmid}/" if pmid.isdecimal() else "",
        "doi": text_of(_first(article, ".//ELocationID[@EIdType='doi']", ".//ArticleId[@IdType='doi']")),
        "pmid": pmid,
    }
    return record_of(fields, position=position, line=line)


def _first(article: Element, *paths: str) -> Element | None:
    return next((found for path in paths if (found := article.find(path)) is not None), None)


def _parts(abstract: Element | None) -> Iterator[str]:
    for part in abstract.iterfind("AbstractText") if abstract is not None else ():
        label, text = part.get("Label", ""), text_of(part)
        if text:
            yield f"{label}: {text}" if label and label != "UNLABELLED" else text


def _author(author: Element) -> dict[str, str]:
    if author.find("CollectiveName") is not None:
        return {"literal": text_of(author.find("CollectiveName"))}
    given = text_of(_first(author, "ForeName", "Initials"))
    return {"given": given, "family": text_of(author.find("LastName"))}
