"""Ranked papers to the few sentences that answer the question.

Every sentence of the best papers gets a probability, that of its paper times its own within the paper; the most probable are
taken. The model within a paper is linear in the features below and fitted by `python -m eval.fit` on exact evidence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.questions import Question
from rag.search import Candidate
from rag.text import searchable
from vectorstore.encoded import EncodedQuery
from vectorstore.lexical import stem, terms

_SAME = 0.85  # share of terms in common from which the second sentence tells a reader nothing new
PAPERS_READ = 5
"""The best papers whose sentences compete."""

_CUES = {
    "introduces": r"\b(?:we|this paper|this work|study)\b.{0,40}\b(?:propose|introduc|present|develop|design|describe)|called|named|dubbed|termed",
    "result": r"outperform|achiev|improv|demonstrat|surpass|show that|experiment|results|state-of-the-art|superior|faster",
    "data": r"data ?sets?|benchmarks?|evaluat|experiments?|tasks",
    "reason": r"however|challenge|problem|limit|due to|because|suffer|lack|issue|bottleneck|difficult|yet\b",
    "mechanism": r"\bby \w+ing|specifically|consists?|leverag|combin|based on|uses?\b|using|first|then|via",
    "link": r"https?://",
}
_CUE_PATTERNS = {cue: re.compile(pattern, re.IGNORECASE) for cue, pattern in _CUES.items()}
_SPEAKS_OF_ITSELF = re.compile(r"\b(?:we|our|ours|this (?:paper|work|study|article|research)|here)\b", re.IGNORECASE)
_NAME_WITH_DIGIT = re.compile(r"https?://\S+|\b[A-Za-z][\w$^]*-?\d[\w.]*")
_OWN = ("first", "last", "position", "background", "before_introduction", *_CUES, "number", "length")
_MATCHES = (
    ("number", "number"), ("about", "introduces"), ("about", "position"), ("about", "mechanism"), ("about", "number"),
    ("code", "link"), ("data", "data"), ("result", "result"), ("result", "number"), ("reason", "reason"),
)  # fmt: skip
"""(what is asked for, what the sentence has): each pair is a feature of its own."""

SENTENCE_FEATURES = (
    "similarity_rank", "relative_coverage", "telling_coverage", "previous_similarity", "previous_coverage", "word_share",
    *_OWN, *(f"{asked}*{has}" for asked, has in _MATCHES),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chosen sentence: `number` within the paper at `row`, the characters `start:end` of its abstract, and its probability."""

    row: int
    number: int
    start: int
    end: int
    probability: float


def choose(
    question: Question,
    query: EncodedQuery,
    ranked: Sequence[Candidate],
    index: PaperIndex,
    coefficients: Coefficients,
    *,
    max_quotes: int,
    max_papers: int,
) -> list[Evidence]:
    """One to `max_quotes` sentences from at most `max_papers` papers, the most probable first; none only without papers.

    A comparison gets at least one sentence of each paper that it names, as far as both bounds allow.
    """
    named = named_rows(question, ranked, index)
    named = named if len(named) > 1 else []
    scored = []
    for candidate in [*ranked[:PAPERS_READ], *(one for one in ranked[PAPERS_READ:] if one.row in named)]:
        features = sentence_features(question, query, candidate, index)
        linear = features @ coefficients.weights("sentences", SENTENCE_FEATURES)
        within = np.exp(linear - linear.max())
        for number, probability in enumerate(candidate.share * within / within.sum()):
            span = index.spans[candidate.row][number]
            scored.append(Evidence(candidate.row, number, span.start, span.end, float(probability)))
    scored.sort(key=lambda evidence: -evidence.probability)
    chosen: list[Evidence] = []
    least = coefficients.constant("quotes", "least_share_of_best")
    for evidence in scored:
        rows = {one.row for one in chosen}
        if len(chosen) == max_quotes or (chosen and evidence.probability < least * chosen[0].probability):
            break
        is_paper_too_many = evidence.row not in rows and len(rows) == max_papers
        if not is_paper_too_many and not any(_say_the_same(evidence, one, index) for one in chosen):
            chosen.append(evidence)
    if "definition" in question.cues and chosen:
        introduction = _introduction(question, [one for one in scored if one.row == chosen[0].row], index)
        if introduction is not None and introduction not in chosen:
            return [*chosen[: max_quotes - 1], introduction]
    return _with_each_named(chosen, scored, named, max_quotes=max_quotes, max_papers=max_papers)


def named_rows(question: Question, ranked: Sequence[Candidate], index: PaperIndex) -> list[int]:
    """The rows of the papers that a question names: each the only one of those found whose title holds one of its names."""
    rows = []
    for name in question.names:
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        holders = [one.row for one in ranked if pattern.search(index.papers[one.row].title)]
        rows += holders if len(holders) == 1 else []
    return list(dict.fromkeys(rows))


def _with_each_named(
    chosen: Sequence[Evidence], scored: Sequence[Evidence], named: Sequence[int], *, max_quotes: int, max_papers: int
) -> list[Evidence]:
    """`chosen` with the best sentence of each named paper that it lacks, in place of the least probable that can be spared."""
    kept = list(chosen)
    for row in named:
        if any(one.row == row for one in kept):
            continue
        rows = [one.row for one in kept]
        is_full, is_paper_too_many = len(kept) == max_quotes, len(set(rows)) == max_papers
        spare = [
            one
            for one in kept[1:]
            if (rows.count(one.row) > 1 or one.row not in named) and not (is_paper_too_many and rows.count(one.row) > 1)
        ]
        if is_full or is_paper_too_many:
            if not spare:
                continue
            kept.remove(spare[-1])
        kept.append(next(one for one in scored if one.row == row))
    return kept


def _introduction(question: Question, sentences: Sequence[Evidence], index: PaperIndex) -> Evidence | None:
    """The first of a paper's sentences that introduces something the question names; None when none does."""
    names = [name.casefold() for name in question.names]
    for evidence in sorted(sentences, key=lambda one: one.number):
        sentence = _sentence(index, evidence.row, evidence.number)
        if introduces(sentence) and any(name in sentence.casefold() for name in names):
            return evidence
    return None


def introduces(sentence: str) -> bool:
    """Whether a sentence introduces what its paper is about ("we propose …", "… called …")."""
    return bool(_CUE_PATTERNS["introduces"].search(sentence))


def _say_the_same(one: Evidence, other: Evidence, index: PaperIndex) -> bool:
    """Whether two sentences share nearly all their terms."""
    terms_of_one, terms_of_other = (set(terms_of(_sentence(index, each.row, each.number))) for each in (one, other))
    shared, either = terms_of_one & terms_of_other, terms_of_one | terms_of_other
    return len(shared) >= _SAME * len(either)


def sentence_features(question: Question, query: EncodedQuery, candidate: Candidate, index: PaperIndex) -> NDArray[np.float64]:
    """The features (sentences, `SENTENCE_FEATURES`) of a paper's sentences for a question."""
    sentences = [_sentence(index, candidate.row, number) for number in range(len(index.spans[candidate.row]))]
    similarity = candidate.sentences.astype(np.float64)
    asked = {term: index.lexical.idf(term) for term in question.terms}
    total = sum(asked.values()) or 1.0
    held = [asked.keys() & set(terms_of(sentence)) for sentence in sentences]
    in_sentences = {term: sum(term in terms_held for terms_held in held) for term in asked}
    coverage = np.array([sum(asked[term] for term in terms_held) for terms_held in held]) / total
    telling = np.array([sum(asked[term] / in_sentences[term] for term in terms_held) for terms_held in held]) / total
    columns = {
        "similarity_rank": (similarity - similarity.mean()) / (similarity.std() + 1e-9),
        "relative_coverage": coverage / (coverage.max() + 1e-9),
        "telling_coverage": telling,
        "previous_similarity": np.concatenate([[0.0], similarity[:-1]]),
        "previous_coverage": np.concatenate([[0.0], coverage[:-1]]),
        "word_share": _word_share(query, candidate, index),
    }
    own = _own_features(tuple(sentences))
    columns |= {name: own[:, place] for place, name in enumerate(_OWN)}
    columns |= {f"{cue}*{has}": columns[has] * (cue in question.cues) for cue, has in _MATCHES}
    return np.stack([np.asarray(columns[name], dtype=np.float64) for name in SENTENCE_FEATURES], axis=1)


@lru_cache(maxsize=10_000)
def _own_features(sentences: tuple[str, ...]) -> NDArray[np.float64]:
    """What the sentences of an abstract have whatever is asked: an array (sentences, `_OWN`)."""
    places = np.arange(len(sentences))
    columns = {
        "first": places == 0,
        "last": places == len(sentences) - 1,
        "position": places / max(1, len(sentences) - 1),
        "background": places < _first(_SPEAKS_OF_ITSELF, sentences),
        "before_introduction": places < _first(_CUE_PATTERNS["introduces"], sentences),
        **{cue: [bool(pattern.search(sentence)) for sentence in sentences] for cue, pattern in _CUE_PATTERNS.items()},
        "number": [has_number(sentence) for sentence in sentences],
        "length": [np.log(len(sentence.split()) + 1) for sentence in sentences],
    }
    return np.stack([np.asarray(columns[name], dtype=np.float64) for name in _OWN], axis=1)


def has_number(sentence: str) -> bool:
    """Whether a figure stands in `sentence`, other than inside a name ("GPT-4") or a web address."""
    return bool(re.search(r"\d", _NAME_WITH_DIGIT.sub("", sentence)))


def _first(pattern: re.Pattern[str], sentences: Sequence[str]) -> int:
    """The number of the first sentence that `pattern` finds something in; 0 when there is none."""
    return next((number for number, sentence in enumerate(sentences) if pattern.search(sentence)), 0)


@lru_cache(maxsize=50_000)
def terms_of(sentence: str) -> tuple[str, ...]:
    """The terms of a verbatim sentence."""
    return tuple(terms(searchable(sentence)))


def _sentence(index: PaperIndex, row: int, number: int) -> str:
    span = index.spans[row][number]
    return index.papers[row].abstract[span.start : span.end]


def _word_share(query: EncodedQuery, candidate: Candidate, index: PaperIndex) -> NDArray[np.float64]:
    """How the question's words fall to the sentences that hold their nearest words: soft shares that add up to 1."""
    count = len(candidate.sentences)
    if not candidate.words.size:
        return np.zeros(count)
    nearest = np.full((len(query.words), count), -0.1)
    for number in range(count):
        inside = candidate.word_owners == number
        if inside.any():
            nearest[:, number] = candidate.words[:, inside].max(axis=1)
    shares = np.exp(15 * (nearest - nearest.max(axis=1, keepdims=True)))
    shares /= shares.sum(axis=1, keepdims=True)
    idf = np.array([index.lexical.idf(stem(word)) for word in query.words])
    return np.asarray(idf / idf.sum() @ shares)
