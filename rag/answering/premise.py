"""What a question takes for granted, held against the sentences of its best paper.

"How many fine-tuning steps does X need" takes for granted that X is fine-tuned, and a sentence calls X tuning-free. Three kinds of
contradiction are measured: a word of the question that the sentence denies, a word whose opposite stands in it, and another
number with the same unit. What the measurements are worth is fitted by `python -m eval.fit`; a question that itself denies,
or asks whether, takes nothing for granted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.answering.alignment import Alignment
from rag.claims import Claim, read_claim
from rag.index import PaperIndex
from rag.questions import Question
from rag.search import Candidate
from vectorstore.lexical import stem

PREMISE_FEATURES = (
    "presupposes", "absolutes", "denied", "denied_alone", "opposite", "quantity", "contrast", "denies_itself", "wants_number", "cover", "length",
    "presupposes*denied_alone", "presupposes*opposite", "absolutes*opposite", "wants_number*denied_alone", "wants_number*denied", "presupposes*contrast",
    "presupposes*absolutes",
)  # fmt: skip

_PRESUPPOSES = re.compile(
    r"(?:^|[.?!,;:] |\bso )why\b|\bhow come\b|\bgiven that\b|\bwhat (?:makes|made|explains|causes|caused|gives|gave|keeps)\b|\bwhat (?:is|are) the reasons?\b"
    r"|, (?:right|correct)\?|n't (?:it|they|that|he|she)\?|\bany explanation\b|\bdeserves?\b|\bhow do they (?:justify|explain)\b|\bhow is that\b",
    re.IGNORECASE,
)
_ABSOLUTES = re.compile(
    r"\b(?:only|just|all|every|any|exactly|always|never|entirely|completely|fully|must|have to|needs?|needed|requires?|required|indispensable"
    r"|limited|restricted|immune|useless|impossible|already|enough|practically|same|such|so)\b",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should)\b(?!.*, (?:why|how|what|which))", re.IGNORECASE
)
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|much|large|big|long|badly|far)\b|\bwhat (?:size|number|share|accuracy|loss|value)\b", re.IGNORECASE
)
_DENIES = re.compile(
    r"\b(?:not|no|without|never|neither|nor|cannot|instead|rather|gets? by|gets? rid|spare[sd]?|avoids?|skips?|drops?|removes?"
    r"|able to do)\b|n't\b|-free\b|\bun\w{4,}",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"\b(?:rather than|instead of|unlike|contrary|in contrast|however|despite|although|surprising\w*|even|also|both"
    r"|neither|not only|whereas|while)\b",
    re.IGNORECASE,
)
_OPPOSITES = """
    increase raise grow more higher greater larger bigger gain longer up | decrease reduce lower shrink fewer less smaller drop loss shorter down
    better outperform surpass exceed superior stronger ahead improve safer best | worse underperform inferior weaker behind lag degrade hurt worst
    faster quicker accelerate | slower delay
    high upper above maximum | low below minimum
    before earlier early first | after later late last
    easy simple easily | hard difficult complex challenging
    all every whole entire each | some part partly selectively selected selective
    necessary need require must indispensable depend | unnecessary dispensable free eliminate independent
    succeed able immune solve robust | fail unable cannot vulnerable vulnerability poorly
    fine finer | coarse coarser
    tight | loose
    same equal identical equally uniform | different differ difference distinct deviation asymmetry
    keep retain preserve | discard replace lose distort
    single one | multiple several two both
    open public | commercial proprietary closed
    dense | sparse
    internal inside | external outside
    supervised labelled labeled annotated | unsupervised unlabelled unlabeled
    online | offline
    discrete | continuous
    convex | nonconvex
    linear | nonlinear quadratic exponential
    train tune retrain | frozen training-free tuning-free
    static | dynamic
    global | local
    exact precise | approximate approximation inexact
    general | special specific restricted limited
    input | output
    encoder | decoder
    stop prevent block | bypass continue allow
    sequential recurrent | parallel
    useless negligible minor | critical essential crucial
    deterministic | stochastic random
    cheap inexpensive | expensive costly
    central centralized | decentralized distributed
    positive | negative
    support confirm agree consistent | refute contradict disagree inconsistent
    known seen | unknown unseen
    balanced | imbalanced
"""
_SIDES: dict[str, set[tuple[int, int]]] = {}
for _axis, _both in enumerate(_OPPOSITES.strip().splitlines()):
    for _side, _words in enumerate(_both.split("|")):
        for _word in _words.split():
            _SIDES.setdefault(stem(_word), set()).add((_axis, _side))
_LEAST_NEAR = 0.5  # similarity at which a denied word counts as the question's
_LEAST_RELEVANT = 0.6  # of the cover of the best sentence: what a sentence must reach to speak of the same


@dataclass(frozen=True, slots=True)
class Contradiction:
    """How far one sentence contradicts what a question takes for granted; `relevance` (0..1) tells how far it speaks of the same."""

    relevance: float
    denied: float
    denied_alone: float
    opposite: float
    quantity: float
    contrast: float

    @property
    def strength(self) -> float:
        """All kinds together, for choosing the sentence to show."""
        return self.relevance * (self.denied_alone + self.denied / 2 + self.opposite + self.quantity + self.contrast / 4 + 0.5)


def contradictions(question: Question, alignment: Alignment, best: Candidate, index: PaperIndex) -> list[Contradiction]:
    """One for each sentence of the best paper; none without word vectors."""
    if not alignment.words:
        return []
    asked, abstract = read_claim(question.text), index.papers[best.row].abstract
    asserts = not _denies(question, asked)
    covers = np.array([alignment.share(sentence) for sentence in alignment.cover])
    relevance = np.clip((covers / max(covers.max(), 1e-9) - _LEAST_RELEVANT) / (1 - _LEAST_RELEVANT), 0, 1)
    found = []
    for number, span in enumerate(index.spans[best.row]):
        said = read_claim(abstract[span.start : span.end])
        denied, alone = _denied(alignment, number, said) if asserts else (0.0, 0.0)
        found.append(
            Contradiction(
                relevance=float(relevance[number]),
                denied=denied,
                denied_alone=alone,
                opposite=_opposite(question.searched, said.text) if asserts else 0.0,
                quantity=_other_quantity(asked, said),
                contrast=float(bool(_CONTRASTS.search(said.text))),
            )
        )
    return found


def premise_features(question: Question, alignment: Alignment, found: Sequence[Contradiction]) -> NDArray[np.float64]:
    """The features (`PREMISE_FEATURES`,) of a question with its contradictions; all 0 without any."""
    if not found:
        return np.zeros(len(PREMISE_FEATURES))
    whether = bool(_ASKS_WHETHER.search(question.searched))
    values = {
        name: max(one.relevance * getattr(one, name) for one in found)
        for name in ("denied", "denied_alone", "opposite", "quantity", "contrast")
    }
    values |= {
        "presupposes": float(bool(_PRESUPPOSES.search(question.searched)) and not whether),
        "absolutes": float(min(2, len(_ABSOLUTES.findall(question.searched)))),
        "denies_itself": float(_denies(question, read_claim(question.text)) or whether),
        "wants_number": float(bool(_WANTS_NUMBER.search(question.searched))),
        "cover": alignment.share(alignment.nearest),
        "length": float(np.log(len(alignment.words) + 1)),
    }
    return np.array([float(np.prod([values[part] for part in name.split("*")])) for name in PREMISE_FEATURES])


def _denies(question: Question, asked: Claim) -> bool:
    return bool(asked.denied) or bool(_DENIES.search(question.searched))


def _denied(alignment: Alignment, number: int, said: Claim) -> tuple[float, float]:
    """The nearest that a word of the question comes to a word the sentence denies; and by how much nearer than to any other word."""
    denied = np.array([stem(word) in said.denied for word in alignment.sentences[number]], dtype=bool)
    near = alignment.near[:, alignment.columns[number]]
    if not denied.any() or not near.size:
        return 0.0, 0.0
    nearest = near[:, denied].max(axis=1)
    others = near[:, ~denied].max(axis=1) if not denied.all() else np.zeros(len(near))
    alone = np.where(nearest > _LEAST_NEAR, np.maximum(nearest - others, 0), 0)
    return float(nearest.max()), float(alone.max())


def _opposite(question: str, sentence: str) -> float:
    """How many directions of the question (0..2) stand reversed in the sentence, and not as asked."""
    asked, said = _sides(question), _sides(sentence)
    return float(
        min(2, sum((axis, 1 - side) in said and (axis, side) not in said and (axis, 1 - side) not in asked for axis, side in asked))
    )


def _sides(text: str) -> set[tuple[int, int]]:
    return {side for word in re.findall(r"[^\W_]+(?:-free)?", text.casefold()) for side in _SIDES.get(stem(word), ())}


def _other_quantity(asked: Claim, said: Claim) -> float:
    """1 when a number of the question has a unit that the sentence gives with other numbers only."""
    return float(
        any(
            one.unit
            and any(other.unit == one.unit for other in said.quantities)
            and not any(one.agrees_with(other) for other in said.quantities)
            for one in asked.quantities
        )
    )
