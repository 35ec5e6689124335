"""What refuses a claim whatever its score says: a fragment, a quantity or a name from elsewhere, an assembled statement.

Rules for faults that hardly any labelled claim shows and no true sentence needs.
"""

import re
from collections.abc import Iterator

from rag.claims import Claim, poles, read_claim
from rag.support_held import Held, is_named
from vectorstore.lexical import stem

LEAST_TOKENS = 3
"""Content words of the shortest sentence that states anything."""

_JOINT = re.compile(
    r"[,;:]|\b(?:and|or|while|whereas|but|although|though|which|who|that|because|so|since|then|thus|when|by)\b", re.IGNORECASE
)
_LOOSE_CLAUSE = re.compile(r"(?:;|,\s+(?:but|and|while|whereas|yet|though|although|so|or))\s+", re.IGNORECASE)
_BETTER = poles([stem("better"), stem("exceed")])
_PARITY = frozenset(stem(word) for word in ("same", "similar", "comparable", "competitive", "par", "match", "parity"))
_ABSOLUTES = frozenset({"exact", "precis", "complet", "entir", "perfect", "alway", "fulli", "total", "ident"})
_HEDGES = frozenset(
    {"almost", "near", "approxim", "rough", "compar", "similar", "most", "mostli", "larg", "often", "usual", "typic", "partial"}
)


def is_refused(claim: Claim, held: Held) -> bool:
    """Whether a rule forbids that the sentences support `claim`."""
    return (
        len(claim.tokens) < LEAST_TOKENS
        or is_contradicted(claim, held)
        or _is_assembled(claim, held)
        or _is_overstated(claim, held)
        or _is_denied_anew(claim, held)
        or any(not is_held_word_for_word(part, held) for part in loose_clauses(claim.text))
    )


def is_contradicted(claim: Claim, held: Held) -> bool:
    """Whether a quantity of the claim is in none of the sentences, or a name nowhere in the paper."""
    quantities = [quantity for part in held.parts for quantity in part.quantities]
    if any(not any(quantity.agrees_with(one) for one in quantities) for quantity in claim.quantities):
        return True
    return any(not is_named(name, held.paper_text) for name in claim.names)


def is_held_word_for_word(part: Claim, held: Held) -> bool:
    """Whether the paper has every content word of a part that is too short to be weighed."""
    return set(part.tokens) <= held.paper_tokens


def loose_clauses(text: str) -> Iterator[Claim]:
    """The clauses after a mark and a conjunction that are too short to be weighed by what they share with a paper."""
    for part in _LOOSE_CLAUSE.split(text)[1:]:
        clause = read_claim(part)
        if len(clause.tokens) < LEAST_TOKENS:
            yield clause


def _is_assembled(claim: Claim, held: Held) -> bool:
    """Whether one statement is put together from several sentences, of which one of the nearest says the opposite of what it leaves out."""
    if len(held.parts) < 2 or _JOINT.search(claim.text.rstrip(".")):
        return False
    for alone in _nearest(claim, held):
        missing = held.tokens.intersection(claim.tokens).difference(alone.tokens)
        if {(axis, 1 - side) for axis, side in poles(missing)} & poles(alone.tokens):
            return True
    return False


def _is_overstated(claim: Claim, held: Held) -> bool:
    """Whether the claim says "exactly" of what the nearest sentence says "almost", or "better" of what that says "the same"."""
    alone = _nearest(claim, held)[0]
    own, theirs = set(claim.tokens), set(alone.tokens)
    is_beyond_parity = bool(poles(own) & _BETTER) and not poles(held.tokens) & _BETTER and bool(theirs & _PARITY - own)
    return is_beyond_parity or (bool(own & _ABSOLUTES - held.tokens) and bool(theirs & _HEDGES - own))


def _is_denied_anew(claim: Claim, held: Held) -> bool:
    """Whether the claim denies, in the words of the sentences, what they do not deny."""
    return any(denial and denial <= held.tokens for denial in _new_denials(claim, held))


def _nearest(claim: Claim, held: Held) -> list[Claim]:
    """The sentences that each leave out the fewest words of the claim, in reading order."""
    missing = [len(set(claim.tokens).difference(part.tokens)) for part in held.parts]
    return [part for part, count in zip(held.parts, missing, strict=True) if count == min(missing)]


def _new_denials(claim: Claim, held: Held) -> list[frozenset[str]]:
    """The denials of the claim that answer to none of the sentences; each of these answers to one at most."""
    theirs = [denial for part in held.parts for denial in part.denials]
    likeness = sorted(
        (
            (len(one & other) / len(one | other), number, place)
            for number, one in enumerate(claim.denials)
            for place, other in enumerate(theirs)
            if one & other
        ),
        reverse=True,
    )
    own_met: set[int] = set()
    their_met: set[int] = set()
    for _, number, place in likeness:
        if number not in own_met and place not in their_met:
            own_met.add(number)
            their_met.add(place)
    return [one for number, one in enumerate(claim.denials) if number not in own_met]
