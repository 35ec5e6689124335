"""Which detail a question asks for, and whether an answer of that kind stands where the paper speaks of it.

"How many GPUs" wants a number beside a word near "GPUs"; "which optimizer" a name beside a word near "optimizer"; "GRU or LSTM?"
one of the two. Every feature is a measurement; what they are worth together is fitted by `python -m eval.fit`.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.answering.alignment import Alignment
from rag.answering.evidence import terms_of
from rag.claims import read_claim
from rag.index import PaperIndex
from rag.questions import Question
from rag.search import Candidate
from vectorstore.lexical import stem

_PHRASE = (
    r"((?:(?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|of|in|on|for|to|by|with|from|that|at|as"
    r"|than|under|over|between|when|if|they|it|one|used|using|there|i|we|you|the|not|per|and)\b)[\w'-]+\s*){1,4})"
)
_ASKED = tuple(
    re.compile(pattern + _PHRASE, re.IGNORECASE)
    for pattern in (
        r"\bhow (?:many|much)\s+(?:more\s+)?",
        r"\b(?:what|which|whose)\s+",
        r"\b(?:what|which)(?:'s| is| are| was| were)\s+(?:the|its|their|a|an)\s+",
        r"\b(?:name|give|list|state|tell)\s+(?:me\s+)?(?:the|all|its)?\s*",
        r"\b(?:number|amount|size|length|share|fraction|percentage|names?|values?|cost|rate)\s+of\s+",
    )
)
_WANTS_NUMBER = re.compile(
    r"how (?:many|much|large|big|fast|long|far|often|small|high|low|well|badly|quickly|deep|wide)|number of|percent|fraction|margin|factor"
    r"|what (?:share|size|score|accuracy|value|rate|gain|length)|\b(?:psnr|fid|map|accuracy|score|latency|nmi|f1|auc|runtime|cost)\b",
    re.IGNORECASE,
)
_WANTS_COUNT = re.compile(r"\bhow (?:many|much)\s+" + _PHRASE, re.IGNORECASE)
_WANTS_NAME = re.compile(
    r"\b(?:which|what)\s+(?:\w+\s+){0,2}?(?:models?|llms?|datasets?|data|benchmarks?|corpus|corpora|optimi[sz]er|backbone|solver|metrics?|baselines?"
    r"|methods?|algorithms?|framework|university|language|librar(?:y|ies)|decoder|encoder|checkpoint|famil(?:y|ies)|networks?|architectures?"
    r"|generators?|tasks?|company)\b|\bnames?\b|\bwho\b|\bwhere\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"([\w.-]+)(?:,? or | or is it | or (?:to )?(?:the |a )?)([\w.-]+)")
# What a paper tells in its body rather than in its abstract, whatever it is about.
_DETAILS = frozenset(
    stem(word)
    for word in """optimizer optimiser adam adamw sgd rate learning batch epoch epochs warmup decay dropout seed seeds hyperparameter hyperparameters
    momentum schedule rank width depth layer layers head heads dimension hidden size window patch resolution threshold cutoff tolerance step steps
    iteration iterations length backbone checkpoint encoder decoder activation gpu gpus tpu tpus a100 v100 h100 cpu hardware cluster machine hour hours
    minute minutes second seconds milliseconds day days week weeks month months runtime latency memory vram cost price dollar dollars budget energy
    author authors wrote written university affiliation institute lab company team funded funding grant licence license licensed gpl mit apache
    venue published conference year arxiv version date annotator annotators annotated participants volunteers crowdworkers paid collected corpus
    split subset fold baseline baselines rival rivals competitor ablation score scores accuracy fid psnr ssim nmi ari map miou iou f1 bleu rouge wer cer
    perplexity auc auroc elo kappa pvalue significance framework pytorch jax tensorflow library solver toolkit cuda language docker simulator platform
    fpga asic default coefficient constant weight epsilon alpha lambda sigma""".split()  # noqa: SIM905
)
_ASKS_FOR_CODE = re.compile(r"\b(?:code|repo|repository|github|implementation|open.?sourced?|released?|download)\b", re.IGNORECASE)
_OFFERS_CODE = re.compile(
    r"https?://|\b(?:code|models?|data|dataset|implementation)\b.{0,60}"
    r"\b(?:available|released?|open)|\brelease\b|open.?sourc",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d\w*|two|three|four|five|six|seven|eight|nine|ten|hundreds?|thousands?|millions?|billions?|half|twice|single|dozens?"
)
_BESIDE = 3  # words
_NOT_NEAR = 0.5  # similarity of words below which they hardly speak of the same
_NOTHING_ASKED = (0.6, 0.5, 0.5, 0.3)  # about the mean of questions with a phrase

ASKED_FEATURES = (
    "length", "poor_words", "poor_weight", "plain_least", "plain_three", "plain_in_best", "asked", "asked_words", "least_asked", "asked_in_context",
    "asked_with_context", "wants_number", "number_beside", "number_gap_beside", "number_anywhere", "wants_count", "count_beside", "wants_name",
    "new_names_in_best", "new_name_cover", "new_name_gap", "new_name_beside", "choice", "choices_held", "names_held", "names_lost",
    "details_held", "details_lost", "code_lost",
)  # fmt: skip


def asked_features(question: Question, alignment: Alignment, best: Candidate, index: PaperIndex) -> NDArray[np.float64]:
    """The features (`ASKED_FEATURES`,); all 0 without word vectors."""
    if not alignment.words:
        return np.zeros(len(ASKED_FEATURES))
    asked = _asked_words(question, alignment)
    return np.array(
        [
            *_words_left_over(question, alignment),
            *_asked_cover(asked, alignment),
            *_numbers(question, asked, alignment),
            *_new_names(question, asked, alignment, best, index),
            *_named(question, best, index),
        ],
        dtype=np.float64,
    )


def _words_left_over(question: Question, alignment: Alignment) -> tuple[float, ...]:
    """How many words come near nothing, and how near the least come that are no part of a name: in the paper, in its best sentence."""
    nearest = alignment.nearest
    in_names = {part for name in question.names for part in re.findall(r"[^\W_]+", name.casefold())}
    plain = np.array([word not in in_names for word in alignment.words])
    least = np.sort(nearest[plain]) if plain.any() else np.array([0.6])
    in_best = np.sort(alignment.cover[_best(alignment)][plain])[:2] if plain.any() else np.array([0.5])
    poor = nearest < _NOT_NEAR
    return (
        float(np.log(len(nearest) + 1)),
        float(poor.sum()),
        float(alignment.weights[poor].sum()),
        float(least[0]),
        float(least[:3].mean()),
        float(in_best.mean()),
    )


def _asked_cover(asked: NDArray[np.bool_], alignment: Alignment) -> tuple[float, ...]:
    """How far the paper covers the phrase asked for: anywhere, its least word, in the sentence that covers the rest, together."""
    if not asked.any():
        return 0.0, *_NOTHING_ASKED
    rest = np.array([alignment.share(sentence, ~asked) for sentence in alignment.cover])
    phrase = np.array([alignment.share(sentence, asked) for sentence in alignment.cover])
    nearest = alignment.nearest
    return (
        1.0,
        alignment.share(nearest, asked),
        float(nearest[asked].min()),
        float(phrase[rest.argmax()]),
        float((phrase * rest).max()),
    )


def _numbers(question: Question, asked: NDArray[np.bool_], alignment: Alignment) -> tuple[float, ...]:
    """Whether a number stands beside words near what is counted, or asked for."""
    wants = bool(_WANTS_NUMBER.search(question.searched))
    about = asked if asked.any() else np.ones(len(alignment.words), dtype=bool)
    beside = _beside(alignment, lambda _, word: bool(_NUMBER.fullmatch(word)), lambda near: alignment.share(near, about))
    has_any = any(_NUMBER.fullmatch(word) for words in alignment.sentences for word in words)
    counted = _WANTS_COUNT.search(question.searched)
    thing = [
        place for place, word in enumerate(alignment.words) if counted and word in re.findall(r"[^\W_]+", counted[1].casefold())
    ]
    count_beside = (
        _beside(alignment, lambda _, word: bool(_NUMBER.fullmatch(word)), lambda near: float(near[thing[-1]]), 0, 4)
        if thing
        else 0.5
    )
    gap = max(0.0, alignment.share(alignment.nearest, about) - beside)
    return wants, beside * wants, gap * wants, has_any * wants, bool(counted), (count_beside - 0.5) * bool(counted)


def _new_names(
    question: Question, asked: NDArray[np.bool_], alignment: Alignment, best: Candidate, index: PaperIndex
) -> tuple[float, ...]:
    """Whether the paper names anything that the question does not, and how near to what it asks."""
    if not _WANTS_NAME.search(question.searched) or _WANTS_NUMBER.search(question.searched):
        return (0.0,) * 5
    abstract, spans = index.papers[best.row].abstract, index.spans[best.row]
    known = {stem(word) for word in re.findall(r"[^\W_]+", question.searched.casefold())}
    new = [
        [name for name in read_claim(abstract[span.start : span.end]).names if not known & set(map(stem, _parts(name)))]
        for span in spans
    ]
    parts = [{part for name in names for part in _parts(name)} for names in new]
    covers = np.array([alignment.share(sentence) for sentence in alignment.cover])
    with_new = max([cover for cover, names in zip(covers, new, strict=True) if names], default=0.0)
    about = asked if asked.any() else np.ones(len(alignment.words), dtype=bool)
    beside = _beside(alignment, lambda number, word: word in parts[number], lambda near: alignment.share(near, about))
    return 1.0, float(min(2, len(new[_best(alignment)]))), float(with_new), float(covers.max() - with_new), beside


def _named(question: Question, best: Candidate, index: PaperIndex) -> tuple[float, ...]:
    """Alternatives that the question offers, and how many the paper holds; names of the question that it holds and lacks."""
    paper = index.papers[best.row]
    held = set(terms_of(paper.title)) | set(terms_of(paper.abstract))
    choices = [[stem(one.casefold()) in held for one in found] for found in _CHOICE.findall(question.searched)]
    names = [all(stem(part) in held for part in _parts(name)) for name in question.names]
    details = [term in held for term in set(question.terms) & _DETAILS]
    code_lost = bool(_ASKS_FOR_CODE.search(question.searched)) and not _OFFERS_CODE.search(paper.abstract)
    return (
        float(bool(choices)),
        float(max(map(sum, choices), default=0)),
        float(sum(names)),
        float(len(names) - sum(names)),
        float(sum(details)),
        float(len(details) - sum(details)),
        float(code_lost),
    )


def _beside(
    alignment: Alignment,
    is_answer: Callable[[int, str], bool],
    rated: Callable[[NDArray[np.float64]], float],
    before: int = 3,
    after: int = 3,
) -> float:
    """The best rating that `rated` gives the similarities (words,) of the words beside an answer; 0 without any answer."""
    best = 0.0
    for number, (words, columns) in enumerate(zip(alignment.sentences, alignment.columns, strict=True)):
        for place, word in enumerate(words):
            if is_answer(number, word):
                beside = columns[max(0, place - before) : place + after + 1]
                best = max(best, rated(alignment.near[:, beside].max(axis=1)))
    return best


def _asked_words(question: Question, alignment: Alignment) -> NDArray[np.bool_]:
    """Which words of the question name what it asks for."""
    for pattern in _ASKED:
        found = pattern.search(question.searched)
        phrase: Sequence[str] = re.findall(r"[^\W_]+", found[1].casefold()) if found else ()
        asked = np.array([word in phrase for word in alignment.words])
        if asked.any():
            return asked
    return np.zeros(len(alignment.words), dtype=bool)


def _best(alignment: Alignment) -> int:
    return int(np.argmax([alignment.share(sentence) for sentence in alignment.cover]))


def _parts(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.casefold())
