"""Synonyms, antonyms and sister terms of single words, read from the files of WordNet 3.1.

Only `eval.fit_words` needs it, to write sentences that say the same or something else; the program itself knows no WordNet.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_SENSE_NUMBERS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_SISTERS_MOST = 60  # a hypernym with more hyponyms than this ("person", "artifact") says little about them
_FEW_SENSES = 2  # of a word, the most frequent first: what a reader takes it to mean
_PLAIN = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class WordNet:
    """For each lemma and part of speech (n, v, a, r), single lower-case words that mean the same, the opposite, or a sister thing."""

    part_of: dict[str, str]
    synonyms: dict[tuple[str, str], tuple[str, ...]]
    antonyms: dict[tuple[str, str], tuple[str, ...]]
    sisters: dict[tuple[str, str], tuple[str, ...]]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads `data.*`, `index.*` and `index.sense` in `folder`."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
            key, _, _, count = line.split()
            lemma, _, rest = key.partition("%")
            counts[lemma][_SENSE_NUMBERS[rest[0]]] += int(count) + 1
        synonyms, antonyms, sisters = {}, {}, {}
        for name, part in _PARTS.items():
            synsets = _synsets(folder / f"data.{name}")
            senses = _senses(folder / f"index.{name}")
            below: dict[str, list[str]] = defaultdict(list)
            for place, (_, pointers) in synsets.items():
                for sign, target, _ in pointers:
                    if sign == "@":
                        below[target].append(place)
            for lemma, places in senses.items():
                if _PLAIN.fullmatch(lemma):
                    first = places[:_FEW_SENSES]
                    every = {word for place in places for word in synsets[place][0]} | {lemma}
                    same = {word for place in first for word in synsets[place][0]} - {lemma}
                    opposite = {
                        synsets[target][0][number - 1]
                        for place in first
                        for sign, target, numbers in synsets[place][1]
                        if sign == "!" and synsets[place][0][int(numbers[:2], 16) - 1] == lemma
                        for number in [int(numbers[2:], 16)]
                    }
                    above = [target for sign, target, _ in synsets[places[0]][1] if sign == "@"]
                    near = {
                        synsets[place][0][0] for top in above if len(below[top]) <= _SISTERS_MOST for place in below[top]
                    } - every
                    synonyms[lemma, part] = _plain(same)
                    antonyms[lemma, part] = _plain(opposite)
                    sisters[lemma, part] = _plain(near)
        return cls({lemma: by.most_common(1)[0][0] for lemma, by in counts.items()}, synonyms, antonyms, sisters)


def _plain(words: set[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in words if _PLAIN.fullmatch(word)))


def _synsets(path: Path) -> dict[str, tuple[list[str], list[tuple[str, str, str]]]]:
    """For each synset its words, and its pointers (sign, target, numbers of the words) within the same part of speech."""
    synsets = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [re.sub(r"\(\w+\)$", "", word).lower() for word in fields[4 : 4 + 2 * count : 2]]
        rest = fields[4 + 2 * count + 1 :]
        pointers = [
            (rest[at], rest[at + 1], rest[at + 3])
            for at in range(0, 4 * int(fields[4 + 2 * count]), 4)
            if rest[at + 2].replace("s", "a") == fields[2].replace("s", "a")
        ]
        synsets[fields[0]] = (words, pointers)
    return synsets


def _senses(path: Path) -> dict[str, list[str]]:
    """For each lemma its synsets, the most frequent sense first."""
    senses = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            fields = line.split()
            senses[fields[0]] = fields[-int(fields[2]) :]
    return senses
