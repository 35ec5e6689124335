"""Sentences changed by rule: benign edits that keep what a sentence says, harmful ones that make it say something else.

From them `eval.fit_words` learns which differences of words matter. An edit that finds nothing to change returns the sentence
as it was. Knows no model.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from eval.edit_rules import AFFIRM, ALIKE, NEGATE, OPPOSED, REPHRASE, VERBS
from eval.wordnet import WordNet
from vectorstore.lexical import STOPWORDS

_COMMON = 30  # occurrences in the corpus: what an edit puts in must be a word of the field
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True)
class Editor:
    """Edits sentences of one field of science: `counts` are the occurrences of its lower-case words; `after` and `before` the
    words that often stand after, or before, another word."""

    wordnet: WordNet
    counts: Counter[str]
    random: Random
    after: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[str]]

    def benign(self, sentence: str) -> str:
        """The sentence in other words, with the same or less content."""
        for edit in self.random.sample([self._shorten, self._front, self._rephrase, self._rephrase, self._rephrase], k=3):
            sentence = edit(sentence)
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            sentence = self._swap_synonym(sentence)
        return sentence

    def harmful(self, sentence: str, other: str, *, names: Sequence[str]) -> tuple[str, str]:
        """The sentence made to say something else, and the kind of edit; `other` is a sentence of another paper, `names` its names."""
        kinds: Mapping[str, Callable[[str], str]] = {
            "negated": self._negate, "affirmed": lambda text: self._sub_one(AFFIRM, text), "opposed": self._oppose,
            "noun": self._swap_sister, "neighbour": self._swap_neighbour, "exchanged": self._exchange, "grafted": lambda text: self._graft(text, other),
            "name": lambda text: self._rename(text, names),
        }  # fmt: skip
        weights = (3, 2, 5, 3, 5, 4, 5, 2)
        for kind in [*self.random.choices(list(kinds), weights, k=4), "grafted"]:
            changed = kinds[kind](sentence)
            if changed != sentence:
                return changed, kind
        return sentence, ""

    def _negate(self, sentence: str) -> str:
        rules = [(rf"\b{verb}\b", f"does not {base}") for verb, base in VERBS.items() if verb in sentence.split()]
        return self._sub_one(NEGATE + rules, sentence)

    def _sub_one(self, rules: Sequence[tuple[str, str]], sentence: str) -> str:
        for pattern, put in self.random.sample(rules, k=len(rules)):
            found = list(re.finditer(pattern, sentence))
            if found:
                match = self.random.choice(found)
                return sentence[: match.start()] + match.expand(put) + sentence[match.end() :]
        return sentence

    def _rephrase(self, sentence: str) -> str:
        return self._sub_one(REPHRASE, sentence)

    def _shorten(self, sentence: str) -> str:
        """Drops a clause at the end or the beginning, when enough is left."""
        cuts = [match.start() for match in re.finditer(r", | (?=while |which |thereby |by \w+ing|and \w+ing)", sentence)]
        if not cuts:
            return sentence
        cut = self.random.choice(cuts)
        kept = sentence[:cut] if self.random.random() < 0.6 else sentence[cut:].lstrip(", ")
        return kept if len(kept.split()) >= 7 else sentence

    def _front(self, sentence: str) -> str:
        """Moves an ending phrase to the front ("A improves B on C" gives "On C, A improves B"), or back."""
        body = sentence.rstrip(".")
        match = re.fullmatch(r"(.{25,}?) ((?:by|on|for|in|with|without|across|under|during) [^,.;]{8,60})", body)
        if match:
            return f"{match[2][0].upper()}{match[2][1:]}, {match[1][0].lower() if match[1][1:2].islower() else match[1][0]}{match[1][1:]}."
        match = re.fullmatch(r"((?:By|On|For|In|With|Without|Across|Under|To) [^,]{8,60}), ([^,]{25,})", body)
        return f"{match[2]} {match[1][0].lower()}{match[1][1:]}." if match else sentence

    def _swap_synonym(self, sentence: str) -> str:
        return self._swap(sentence, self._synonyms)

    def _synonyms(self, word: str) -> Sequence[str]:
        alike = [one for group in ALIKE if word in group for one in group if one != word]
        return alike or self._related(word, self.wordnet.synonyms, least_share=0.05)

    def _oppose(self, sentence: str) -> str:
        return self._swap(sentence, self._opposites)

    def _opposites(self, word: str) -> Sequence[str]:
        listed = [pair[1 - pair.index(word)] for pair in OPPOSED if word in pair]
        return listed or self._related(word, self.wordnet.antonyms)

    def _swap_sister(self, sentence: str) -> str:
        return self._swap(sentence, lambda word: self._related(word, self.wordnet.sisters))

    def _swap_neighbour(self, sentence: str) -> str:
        """A word gives way to another that stands as often beside the same neighbour ("image registration" for "image segmentation")."""
        pairs = [
            (first, second)
            for first, second in pairwise(_WORD.finditer(sentence))
            if second.start() == first.end() + 1 and not {first.group().lower(), second.group().lower()} & STOPWORDS
        ]
        for first, second in self.random.sample(pairs, k=len(pairs)):
            replaced, kept, known = self.random.choice([(first, second, self.before), (second, first, self.after)])
            word = replaced.group().lower()
            alike = {word, *self._synonyms(word)}
            found = [one for one in known.get(kept.group().lower(), ()) if one not in alike and one[:4] != word[:4]]
            if found:
                return sentence[: replaced.start()] + self.random.choice(found) + sentence[replaced.end() :]
        return sentence

    def _swap(self, sentence: str, options: Callable[[str], Sequence[str]]) -> str:
        places = [match for match in _WORD.finditer(sentence) if match.group().lower() not in STOPWORDS or match.group() == "more"]
        for match in self.random.sample(places, k=len(places)):
            put = options(match.group().lower())
            if put:
                word = self.random.choice(put)
                word = word.capitalize() if match.group()[0].isupper() else word
                return sentence[: match.start()] + word + sentence[match.end() :]
        return sentence

    def _related(
        self, word: str, relation: Mapping[tuple[str, str], tuple[str, ...]], *, least_share: float = 0.0
    ) -> Sequence[str]:
        """Words of the field in a relation to `word`, inflected like it; none with less than a share of the word's own count."""
        for lemma, ending in _lemmas(word):
            part = self.wordnet.part_of.get(lemma, "")
            if ending in ("ed", "ing") and (lemma, "v") in relation:
                part = "v"
            found = [_inflected(one, ending) for one in relation.get((lemma, part), ())]
            found = [one for one in found if self.counts[one] >= max(_COMMON, least_share * self.counts[word])]
            if found:
                return found
        return ()

    def _exchange(self, sentence: str) -> str:
        """Two things change places: around a comparing word, or any two telling words apart."""
        match = re.search(
            r"\b(\w{3,}) (rather than|instead of|over|than|outperforms|to|into|from|versus) (?:the )?(\w{3,})\b", sentence
        )
        places = [
            one
            for one in _WORD.finditer(sentence)
            if one.group().lower() not in STOPWORDS and self.counts[one.group().lower()] < 20_000
        ]
        if match and self.random.random() < 0.4:
            (a, b), (c, d) = match.span(1), match.span(3)
        elif len(places) >= 6:
            first, second = sorted(self.random.sample(range(len(places)), 2))
            if second - first < 3:
                return sentence
            (a, b), (c, d) = places[first].span(), places[second].span()
        else:
            return sentence
        numbers = [one.span() for one in re.finditer(r"(?<![\w.-])\d+(?:\.\d+)?", sentence)]
        if len(numbers) >= 2 and self.random.random() < 0.5:
            (a, b), (c, d) = sorted(self.random.sample(numbers, 2))
        return sentence[:a] + sentence[c:d] + sentence[b:c] + sentence[a:b] + sentence[d:]

    def _graft(self, sentence: str, other: str) -> str:
        """A clause of `other` behind the sentence, or in the place of its second half."""
        pieces = re.split(r"(?:, | (?=which |while |by \w+ing |with |for |and |that |to ))", other.rstrip("."))
        tails = [piece for piece in pieces[1:] if 4 <= len(piece.split()) <= 16] or [" ".join(other.rstrip(".").split()[-8:])]
        tail = self.random.choice(tails)
        words = sentence.rstrip(".").split()
        cuts = [match.start() for match in re.finditer(r", | (?=which |while |by \w+ing|with |for |to |on )", sentence)]
        if cuts and self.random.random() < 0.5:
            kept = sentence[: self.random.choice(cuts)]
            words = kept.split() if len(kept.split()) >= 4 else words
        begins = re.match(r"(?:which|while|by|with|for|and|that|to|on|in)\b", tail)
        return f"{' '.join(words)}{' ' if begins else self.random.choice((' and ', ', '))}{tail}."

    def _rename(self, sentence: str, names: Sequence[str]) -> str:
        places = [one for one in re.finditer(r"\b[A-Za-z]*[A-Z][\w-]+\b", sentence) if one.start()]
        others = [name for name in names if name not in sentence]
        if not places or not others:
            return sentence
        match = self.random.choice(places)
        return sentence[: match.start()] + self.random.choice(others) + sentence[match.end() :]


def word_neighbours(texts: Sequence[str], *, least: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each word of `texts` the telling words that stand right after it, and right before it, at least `least` times."""
    pairs: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = [match.group() if match.group().isalpha() else "" for match in re.finditer(r"[a-z]{3,}|[^a-z ]", text.lower())]
        pairs.update((a, b) for a, b in pairwise(words) if a and b and not {a, b} & STOPWORDS)
    after: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    for (a, b), count in pairs.items():
        if count >= least:
            after.setdefault(a, []).append(b)
            before.setdefault(b, []).append(a)
    return after, before


def _lemmas(word: str) -> Sequence[tuple[str, str]]:
    """Base forms that `word` may stand for, with the ending taken off; the word itself first."""
    found = [(word, "")]
    for ending in ("s", "ed", "ing"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            found += [(stem, ending), (stem + "e", ending)]
    return found


def _inflected(lemma: str, ending: str) -> str:
    if ending in ("ed", "ing") and lemma.endswith("e"):
        return lemma[:-1] + ending
    return lemma + ("es" if ending == "s" and lemma.endswith(("s", "x", "ch", "sh")) else ending)
