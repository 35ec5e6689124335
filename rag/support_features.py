"""How a claim relates to the sentences chosen from a paper, in numbers: what `rag.support` weighs.

Each group of features looks for one kind of fault that a language model makes: words of another origin, words put together in
another way, numbers moved, something denied, a direction turned, a name exchanged. Features of word vectors come last, so
that an embedder without them loses only those.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.claims import Claim, poles, read_claim
from rag.index import PaperIndex
from rag.quantities import unit_words
from rag.support_held import Held, is_named
from vectorstore.encoded import EncodedQuery
from vectorstore.lexical import stem

FORM_FEATURES = (
    "coverage", "coverage^4", "new_words", "new_to_paper", "rarest_new_word", "sentence_similarity", "paper_similarity", "parted_share", "parted",
    "disorder", "disorder*coverage", "number_context", "counted_noun", "new_units", "names_elsewhere", "denied_anew", "denied_no_more", "denied_alike",
    "new_negation", "lost_negation", "new_negation*coverage", "lost_negation*coverage", "opposed", "opposed_nearby", "misplaced_poles", "new_poles",
    "lost_poles", "sentences", "length",
)  # fmt: skip
_WORD_FEATURES = (
    "nearest_mean", "nearest_least", "nearest_two_least", "nearest_quarter", "nearest_window", "changed", "changed_most", "changed_second", "changed_window",
    "changed*coverage", "changed_most*coverage",
)  # fmt: skip
SUPPORT_FEATURES = (*FORM_FEATURES, *_WORD_FEATURES)
_WINDOW = 3  # words
_AROUND = 45  # characters on each side of a number that tell what it is a number of
_NEXT = 3  # words
_REACH = 4  # words

Vector = NDArray[np.float64]


def form_features(claim: Claim, query: EncodedQuery, held: Held, index: PaperIndex) -> dict[str, float]:
    """The features that need no word vectors, by name."""
    new = [token for token in dict.fromkeys(claim.tokens) if token not in held.tokens]
    weights = {token: index.lexical.idf(token) for token in set(claim.tokens)}
    coverage = 1 - sum(weights[token] for token in new) / (sum(weights.values()) or 1.0)
    mean = held.vectors.mean(axis=0)
    values = {
        "coverage": coverage,
        "coverage^4": coverage**4,
        "new_words": float(len(new)),
        "new_to_paper": float(sum(token not in held.paper_tokens for token in new)),
        "rarest_new_word": max((weights[token] for token in new), default=0.0) / 5,
        "sentence_similarity": float((held.vectors @ query.vector).max()),
        "paper_similarity": float(mean @ query.vector / (np.linalg.norm(mean) or 1.0)),
        "sentences": float(len(held.parts)),
        "length": float(np.log(len(claim.tokens) + 1)),
    }
    values |= _order(claim, held) | _numbers(claim, held) | _denials(claim, held) | _directions(claim, held)
    for name in ("disorder", "new_negation", "lost_negation"):
        values[f"{name}*coverage"] = values[name] * coverage
    return values


def word_features(weights: Vector, nearest: Vector, changed: Vector, coverage: float) -> dict[str, float]:
    """The features of a claim's words: their weights, how near the sentences come to each, and the log-odds that it was changed."""
    ordered = np.sort(nearest)
    kept = -np.logaddexp(0, changed)
    worst = np.sort(changed)[::-1]
    values = {
        "nearest_mean": float(weights @ nearest),
        "nearest_least": float(ordered[0]),
        "nearest_two_least": float(ordered[:2].mean()),
        "nearest_quarter": float(np.quantile(ordered, 0.25)),
        "nearest_window": float(np.convolve(nearest, np.ones(_WINDOW) / _WINDOW, "valid").min())
        if len(nearest) > _WINDOW
        else float(nearest.mean()),
        "changed": float(np.log(1e-4 - kept.sum())),
        "changed_most": float(worst[0]),
        "changed_second": float(worst[:2].mean()),
        "changed_window": float(-np.convolve(kept, np.ones(_WINDOW), "same").min()),
    }
    for name in ("changed", "changed_most"):
        values[f"{name}*coverage"] = values[name] * coverage
    return values


def _positions(tokens: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        found.setdefault(token, []).append(place)
    return found


def _order(claim: Claim, held: Held) -> dict[str, float]:
    """How many neighbouring words stand far apart, or the other way round, in the sentences."""
    places = [_positions(part.tokens) for part in held.parts]
    pairs = [
        (a, b) for a, b in zip(claim.tokens, claim.tokens[1:], strict=False) if a in held.tokens and b in held.tokens and a != b
    ]
    parted = disordered = 0
    for a, b in pairs:
        steps = [second - first for part in places for first in part.get(a, ()) for second in part.get(b, ())]
        parted += not any(abs(step) <= _NEXT for step in steps)
        disordered += bool(steps) and not any(0 < step <= _REACH for step in steps)
    share = len(pairs) or 1
    return {"parted_share": parted / share, "parted": float(parted), "disorder": disordered / share}


def _numbers(claim: Claim, held: Held) -> dict[str, float]:
    """Whether each number stands by the words, the counted noun and the unit that it has in the sentences; names of elsewhere."""
    context = noun = 1.0
    for quantity in claim.quantities:
        same = [(part, one) for part in held.parts for one in part.quantities if quantity.agrees_with(one)]
        around = _tokens_around(claim, quantity.start, _AROUND, _AROUND)
        counted = set(read_claim(claim.text[quantity.start : quantity.start + 30]).tokens[:_NEXT])
        context = min(
            context, max((_share(around, _tokens_around(part, one.start, _AROUND, _AROUND)) for part, one in same), default=1.0)
        )
        noun = min(noun, max((_share(counted, _tokens_around(part, one.start, 12, 40)) for part, one in same), default=1.0))
    return {
        "number_context": context,
        "counted_noun": noun,
        "new_units": float(len(unit_words(claim.text) - unit_words(held.text))),
        "names_elsewhere": float(sum(not is_named(name, held.text) for name in claim.names)),
    }


def _tokens_around(claim: Claim, start: int, before: int, after: int) -> set[str]:
    return set(read_claim(claim.text[max(0, start - before) : start + after]).tokens)


def _share(wanted: set[str], found: set[str]) -> float:
    return len(wanted & found) / (len(wanted) or 1)


def _denials(claim: Claim, held: Held) -> dict[str, float]:
    """What the claim denies and the sentences state, and the other way round."""
    denied = frozenset().union(*(part.denied for part in held.parts))
    nearest = max(held.parts, key=lambda part: len(set(part.tokens) & set(claim.tokens)))
    return {
        "denied_anew": float(len((claim.denied & held.tokens) - denied)),
        "denied_no_more": float(len((denied & set(claim.tokens)) - claim.denied)),
        "denied_alike": float(len(claim.denied & denied)),
        "new_negation": float(bool(claim.denials) and not any(part.denials for part in held.parts)),
        "lost_negation": float(not claim.denials and bool(nearest.denials)),
    }


def _directions(claim: Claim, held: Held) -> dict[str, float]:
    """Words of opposite direction: anywhere in the sentences, by the same neighbours, or with other neighbours."""
    own, theirs = poles(claim.tokens), poles(held.tokens)
    places = [(part, _positions(part.tokens)) for part in held.parts]
    opposed = opposed_nearby = misplaced = 0
    for at, token in enumerate(claim.tokens):
        of_token = poles([token])
        if token in held.tokens:
            beside = (
                [one for one in claim.tokens[max(0, at - 1) : at + 2] if one != token and one in held.tokens] if of_token else []
            )
            misplaced += sum(not _stand_together(token, one, (where for _, where in places)) for one in beside)
            continue
        around = set(claim.tokens[max(0, at - 3) : at + 4]) - {token}
        nearby = [_poles_near(part, where, around) for part, where in places]
        opposed += sum((axis, 1 - side) in theirs and (axis, side) not in theirs for axis, side in of_token)
        opposed_nearby += sum(
            any((axis, 1 - side) in near and (axis, side) not in near for near in nearby) for axis, side in of_token
        )
    return {
        "opposed": float(opposed),
        "opposed_nearby": float(opposed_nearby),
        "misplaced_poles": float(misplaced),
        "new_poles": float(len(own - theirs)),
        "lost_poles": float(len(theirs - own)),
    }


def _stand_together(a: str, b: str, places: Iterable[Mapping[str, list[int]]]) -> bool:
    return any(abs(first - second) <= _NEXT for part in places for first in part.get(a, ()) for second in part.get(b, ()))


def _poles_near(part: Claim, places: Mapping[str, list[int]], around: set[str]) -> frozenset[tuple[int, int]]:
    near = {
        place for token in around for at in places.get(token, ()) for place in range(max(0, at - 3), min(len(part.tokens), at + 4))
    }
    return poles(part.tokens[place] for place in near)


def word_weights(query: EncodedQuery, index: PaperIndex) -> Vector:
    """The share (words,) of each word of a claim in what it says: rarer words weigh more."""
    idf = np.array([index.lexical.idf(stem(word)) for word in query.words], dtype=np.float64)
    return idf / idf.sum() if idf.size else idf
