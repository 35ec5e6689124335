"""The sentences that a claim may rest on, taken apart, and what of a claim they hold.

What is named here is compared word for word; what it tells about support is left to `rag.support_rules` and `rag.support_features`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.claims import Claim, read_claim
from rag.index import PaperIndex
from vectorstore.encoded import Matrix
from vectorstore.lexical import STOPWORDS, terms


@dataclass(frozen=True, slots=True)
class Held:
    """The chosen sentences of a paper, taken apart, with the paper's text, words and vectors (sentences, dimension)."""

    parts: tuple[Claim, ...]
    paper_text: str
    paper_tokens: frozenset[str]
    vectors: Matrix

    @classmethod
    def of(cls, row: int, chosen: Sequence[int], index: PaperIndex) -> "Held":
        """The sentences with the numbers `chosen` of the paper at `row`."""
        paper = index.papers[row]
        whole = read_claim(f"{paper.title}. {paper.abstract}")
        return cls(
            parts=tuple(sentence_claim(row, number, index) for number in chosen),
            paper_text=whole.text,
            paper_tokens=frozenset(whole.tokens),
            vectors=index.sentence_vectors(row)[list(chosen)],
        )

    @property
    def tokens(self) -> frozenset[str]:
        """All words of the sentences."""
        return frozenset(token for part in self.parts for token in part.tokens)

    @property
    def text(self) -> str:
        """The sentences, joined."""
        return " ".join(part.text for part in self.parts)


def sentence_claim(row: int, number: int, index: PaperIndex) -> Claim:
    """A sentence of a paper, taken apart."""
    span = index.spans[row][number]
    return read_claim(index.papers[row].abstract[span.start : span.end])


def is_named(name: str, text: str) -> bool:
    """Whether `text` holds a name: as written, in parts, in the plural, or spelled out ("LLM" by "large language model")."""
    singular, plain = name.casefold().removesuffix("s") if name.endswith("s") else name.casefold(), text.casefold()
    if re.search(rf"(?<![a-z0-9]){re.escape(singular)}(?:s|es|'s)?(?![a-z0-9])", plain):
        return True
    of_name, held = terms(name), set(terms(text))
    if of_name and all(term in held for term in (of_name[:-1] if len(of_name) > 1 else of_name)):
        return True
    letters = name.removesuffix("s")
    return letters.isupper() and len(letters) > 1 and any(letters.casefold() in initials for initials in _initials(plain))


def _initials(text: str) -> Iterable[str]:
    """The first letters of the words of each stretch between marks, with and without stop words."""
    for stretch in re.split(r"[.,;:()]", text):
        words = re.findall(r"[^\W_]+", stretch)
        yield "".join(word[0] for word in words)
        yield "".join(word[0] for word in words if word not in STOPWORDS)
