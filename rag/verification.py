"""A model's sentences to what they rest on: which sentences of which shown paper support each, if any do.

The model's own markers are hints, not proofs. A sentence rests on ONE paper; only a comparison that names its papers may rest on
several, each part on its own. What no shown paper supports rests on nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.answering.reply_text import ReplySentence
from rag.citations import Ground, GroundedSentence
from rag.claims import read_claim
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.support import EncodedClaim, Support, encode_claim, is_supported, support
from rag.support_held import Held
from rag.support_rules import LEAST_TOKENS, is_held_word_for_word
from vectorstore.embedder import Embedder

_CONTRAST = re.compile(
    r"(?:,?\s+\b(?:while|whereas|but|though|although|unlike|compared (?:to|with)|in contrast(?: to)?|as opposed to|and)\b\s+)|;\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A paper that a model was shown: its row, and the numbers of the sentences it saw, in reading order."""

    row: int
    sentences: tuple[int, ...]


class Verifier:
    """Checks sentences against what was shown. Each sentence is judged once, however often the growing reply brings it."""

    def __init__(self, shown: Sequence[ShownRow], index: PaperIndex, embedder: Embedder, coefficients: Coefficients) -> None:
        self._shown, self._index, self._coefficients = shown, index, coefficients
        self._encode: Callable[[str], EncodedClaim] = lambda sentence: encode_claim(sentence, embedder, index)
        self._known: dict[tuple[str, tuple[int, ...]], tuple[Ground, ...]] = {}

    def ground(self, sentence: ReplySentence) -> GroundedSentence:
        """`sentence` with what it rests on; its markers count from 1 in the order the papers were shown."""
        key = (sentence.text, sentence.markers)
        if key not in self._known:
            hinted = {self._shown[number - 1].row for number in sentence.markers if 0 < number <= len(self._shown)}
            self._known[key] = self._grounds(sentence.text, hinted)
        return GroundedSentence(sentence.text, self._known[key], sentence.paragraph)

    def _grounds(self, text: str, hinted: set[int]) -> tuple[Ground, ...]:
        found = [one for one in self._supports(text) if is_supported(one, self._coefficients)]
        if found:
            marked = [one for one in found if one.row in hinted]
            return tuple(self._ground(one) for one in marked or found[:1])
        return self._compared(text)

    def _compared(self, text: str) -> tuple[Ground, ...]:
        """What a comparison rests on: every part on one paper, two papers at least, and each of them named."""
        parts = _parts(text)
        if len(parts) < 2:
            return ()
        best = [next(iter(self._supports(part)), None) for part in parts]
        held = [one for one in best if one is not None and is_supported(one, self._coefficients)]
        rows = {one.row for one in held}
        if len(held) < len(parts) or len(rows) < 2 or not all(self._names(text, row, rows) for row in rows):
            return ()
        if not all(self._holds_its_shorts(part, one) for part, one in zip(parts, held, strict=True)):
            return ()
        merged: dict[int, Support] = {}
        for one in held:
            before = merged.get(one.row)
            sentences = tuple(sorted({*one.sentences, *(before.sentences if before else ())}))
            merged[one.row] = Support(one.row, sentences, min(one.probability, before.probability if before else 1.0))
        return tuple(self._ground(one) for one in merged.values())

    def _holds_its_shorts(self, part: str, one: Support) -> bool:
        """Whether the paper has every word of the pieces within `part` that are too short to be judged alone."""
        held = Held.of(one.row, one.sentences, self._index)
        return all(is_held_word_for_word(read_claim(piece), held) for piece in _CONTRAST.split(part) if _is_short(piece))

    def _supports(self, text: str) -> list[Support]:
        claim = self._encode(text)
        found = [support(claim, one.row, one.sentences, self._index, self._coefficients) for one in self._shown]
        return sorted(found, key=lambda one: -one.probability)

    def _names(self, text: str, row: int, rows: set[int]) -> bool:
        """Whether `text` names this paper: by a name in its title, or else by one that no other of the papers has."""
        own = self._title_names(row) or self._all_names(row).difference(*(self._all_names(other) for other in rows if other != row))
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.casefold()) for name in own)

    def _title_names(self, row: int) -> set[str]:
        # A word before it, so that the title's first word does not pass for one that any sentence begins with.
        return {name.casefold() for name in read_claim(f"on {self._index.papers[row].title}").names}

    def _all_names(self, row: int) -> set[str]:
        return {name.casefold() for name in read_claim(self._index.papers[row].abstract).names}

    def _ground(self, one: Support) -> Ground:
        spans = self._index.spans[one.row]
        return Ground(self._index.papers[one.row], [spans[number] for number in one.sentences], one.probability)


def _parts(text: str) -> list[str]:
    """The sides of a comparison, which lose no word of `text`: a piece too short to be judged stays with the one before it."""
    cuts = [match.span() for match in _CONTRAST.finditer(text)]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    parts: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if parts and (_is_short(text[start:end]) or _is_short(text[slice(*parts[-1])])):
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
    return [text[start:end] for start, end in parts]


def _is_short(piece: str) -> bool:
    return len(read_claim(piece).tokens) < LEAST_TOKENS
