"""The elements of an XML file that are papers, one by one. Entities, and anything outside the file, are refused or never looked at."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, iterparse

from rag.errors import SourceUnreadableError
from rag.readers.lines import LineByLine

_MOST_NESTED = 200


def elements(stream: BinaryIO, name: str, *, tags: frozenset[str]) -> Iterator[tuple[int, Element]]:
    """First line and content of every element with one of `tags`. An element is emptied after its turn, so that memory stays flat.

    Raises `SourceUnreadableError`, naming the line, for what is not well-formed and for declared entities, which can grow without end.
    """
    source = LineByLine(stream)
    parser = DefusedXMLParser(target=TreeBuilder(), encoding="utf-8", forbid_entities=True, forbid_external=True)
    begun, open_elements = 0, list[Element]()
    try:
        for event, element in iterparse(source, events=("start", "end"), parser=parser):
            if event == "start":
                begun = source.line if element.tag in tags else begun
                open_elements.append(element)
                if len(open_elements) > _MOST_NESTED:
                    raise SourceUnreadableError(
                        f"{name}, line {source.line}: nested too deeply for a list of papers. Export it again."
                    )
                continue
            open_elements.pop()
            if element.tag in tags:
                yield begun, element
                element.clear()
                if open_elements:
                    open_elements[-1].clear()
    except ParseError as error:
        reason = str(error).partition(":")[0]
        raise SourceUnreadableError(
            f"{name}, line {max(source.line, 1)}: no XML ({reason}). Mend it there, or export it again."
        ) from error
    except DefusedXmlException as error:
        raise SourceUnreadableError(
            f"{name}, line {source.line}: it declares an XML entity, which no export of papers does. Remove the declaration."
        ) from error


def text_of(element: Element | None) -> str:
    """All text in an element, spaces and line ends as one space each; "" for none."""
    return "" if element is None else " ".join("".join(element.itertext()).split())
