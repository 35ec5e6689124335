"""What can be wrong with a source, one kind a line of `KINDS`, and one thing found wrong, with its place. Knows texts only."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "unreadable", "broken", "encoding", "missing", "key", "repeated", "respelled", "similar", "truncated", "latex", "markup", "language"
]  # fmt: skip

KINDS: dict[Kind, tuple[str, str]] = {
    "unreadable": ("files that cannot be read", "Do what each message says; nothing of these files is indexed."),
    "broken": ("broken records, left out", "Mend each at its line; the other records of the file are read."),
    "encoding": ("files or abstracts in a wrong encoding", "Check the word that is shown, and save the file as UTF-8."),
    "missing": ("records without an abstract, left out", "Add the abstracts, or delete the records."),
    "key": ("keys that name two different records", "Give each record of a file a key of its own."),
    "repeated": ("abstracts repeated word for word, merged", "Delete the repetitions if they are not meant."),
    "respelled": ("abstracts repeated in another spelling, merged", "Keep one spelling."),
    "similar": ("abstracts almost like an earlier one, not merged", "Keep the better one of each pair if they are one paper."),
    "truncated": ("abstracts that seem to be cut off", "Replace them by the whole text."),
    "latex": ("abstracts with unbalanced $ or braces", "Balance them, or write \\$ for a dollar."),
    "markup": ("abstracts with HTML left in them", "Replace the tags and entities by plain text."),
    "language": ("abstracts in another language than most", "Translate them, index them apart, or take a multilingual embedder."),
}
"""What each kind of finding is called, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong: its kind, its place ("file.bib#7, line 120") and what is wrong there, empty where the kind says it all."""

    kind: Kind
    place: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.detail}" if self.detail else self.place


def located(source: str, line: int) -> str:
    """A source with its line, as findings name it: "file.bib#7, line 120"."""
    return f"{source}, line {line}"
