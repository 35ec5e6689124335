"""What a sentence states that can be checked by its form: quantities with units, names, negations, directions.

A language model gets these wrong while every other word is right, and vectors hardly see it. Works on searchable text, in which
"$82.24\\%$" is "82.24%" and "2.6 times faster" is "2.6x faster". Knows no paper, no index and no model.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rag.quantities import Quantity, quantities
from rag.text import searchable
from vectorstore.lexical import STOPWORDS, stem

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
NEGATION = re.compile(
    r"\b(?:not|no|never|without|neither|nor|none|nothing|cannot|can't|isn't|aren't|doesn't|don't|didn't|wasn't|won't|hardly|unable|lacks?|lacking"
    r"|fails?|failed|failing|avoids?|avoiding|eliminat\w+|dispens\w+|obviat\w+|needless|instead of|rather than|free (?:of|from)|except|exclud\w+"
    r"|unlike|far from)\b|\b\w+(?P<free>-free)\b"
    # "unlabeled" and "non-convex", but not "understand", "until", "unify", "universal", "unique", "unlock".
    r"|\b(?:non-?|un(?!der|til|less|fold|veil|lock|cover|i(?:t|que|ver|fi|fo|on|mod|var|gram|dir|lat|son)))(?P<denied>\w{4,})",
    re.IGNORECASE,
)
_SCOPE_WORDS = 5
# Words of opposite direction or kind, as they stand in general English.
_OPPOSITES = (
    ("increase raise grow boost rise enlarge more higher greater larger bigger high large expand add gain long longer up heavy",
     "decrease reduce lower drop shrink cut fall less fewer smaller low small diminish decline remove loss short shorter down light"),
    ("improve better enhance outperform surpass exceed beat superior strengthen best benefit win strong stronger strongly ahead outpace help",
     "worsen worse degrade underperform inferior lose weaken hurt harm worst lag weak weaker weakly behind trail poor poorly"),
    ("faster fast accelerate speed quicker quick quickly rapid", "slower slow slowly slowdown delay"),
    ("upper above top maximum maximal maximize most", "lower below bottom minimum minimal minimize least"),
    ("before earlier early first initially", "after later late last finally afterwards"),
    ("easy easier simple simpler easily", "hard harder difficult complex complicated challenging challenge"),
    ("many often frequent frequently common", "few rare seldom rarely uncommon"),
    ("positive", "negative"), ("all every always whole entire global globally full", "some sometimes local locally partial part partly"),
    ("necessary require need must essential depend", "optional unnecessary dispensable free independent"),
    ("succeed success effective able can capable", "fail failure ineffective unable cannot incapable"),
    ("robust stable reliable safe resilient", "fragile unstable vulnerable unreliable unsafe brittle"),
    ("fine finer", "coarse coarser"), ("tight tighter tightness", "loose looser looseness"), ("same similar alike identical", "different distinct differ"),
    ("keep retain preserve maintain persist remain", "discard forget vanish disappear abandon lose"),
    ("single one alone", "multiple several many multi"), ("internal inside within inner", "external outside beyond outer"),
    ("with include including", "without exclude excluding"), ("open public", "closed proprietary private"), ("dense", "sparse"),
    ("supervised labeled labelled", "unsupervised unlabeled unlabelled"), ("convex", "nonconvex"), ("online", "offline"), ("discrete", "continuous"),
    ("deterministic", "stochastic random"), ("static", "dynamic"), ("linear", "nonlinear quadratic exponential"), ("input", "output"),
    ("encoder encode", "decoder decode"), ("key", "value"), ("train", "test"), ("agree consistent", "disagree inconsistent conflict"),
    ("overestimate overconfident", "underestimate underconfident"), ("accept", "reject"), ("central centralized", "decentralized distributed"),
    ("expensive costly", "cheap inexpensive"), ("accurate exact precise", "inaccurate approximate imprecise"), ("micro", "macro"),
    ("balanced", "imbalanced"), ("biased", "unbiased"), ("known seen", "unknown unseen"), ("true", "false"), ("support confirm", "refute contradict"),
)  # fmt: skip
_POLES: dict[str, set[tuple[int, int]]] = {}
for _number, _axis in enumerate(_OPPOSITES):
    for _side, _pole in enumerate(_axis):
        for _word in _pole.split():
            _POLES.setdefault(stem(_word), set()).add((_number, _side))
_POLAR = _POLES.keys()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence taken apart. `text` is its searchable form, `denials` the stems in the scope of each negation."""

    text: str
    tokens: tuple[str, ...]
    denials: tuple[frozenset[str], ...]
    quantities: tuple[Quantity, ...]
    names: tuple[str, ...]

    @property
    def denied(self) -> frozenset[str]:
        """Every stem in the scope of a negation."""
        return frozenset().union(*self.denials)


@lru_cache(maxsize=50_000)
def read_claim(sentence: str) -> Claim:
    """Takes a verbatim sentence apart; the same sentence gives the same claim."""
    text = searchable(sentence)
    tokens = tuple(stem(word) for word in re.findall(r"[^\W_]+", text.casefold()) if word not in STOPWORDS or stem(word) in _POLAR)
    return Claim(
        text=text,
        tokens=tokens,
        denials=tuple(_negated(text)),
        quantities=tuple(quantities(text)),
        names=tuple(dict.fromkeys(_names(text))),
    )


def poles(tokens: Iterable[str]) -> frozenset[tuple[int, int]]:
    """The (axis, side) of every token that names a direction."""
    return frozenset(pole for token in tokens for pole in _POLES.get(token, ()))


def _names(text: str) -> Iterator[str]:
    """Words written like names: a capital or a digit inside, or a capital that does not begin the sentence."""
    for match in _NAME.finditer(text):
        token = match.group().strip(".-+_")
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in ".?!:"
        if len(token) > 1 and re.search(r"[A-Za-z]", token) and not re.fullmatch(r"\d[\d.,]*(?:[a-z]+|[kKMBx]|-\w+)", token):
            has_inner = bool(re.search(r"(?<=.)[A-Z]|[A-Za-z]-?\d", token))
            if has_inner or (token[0].isupper() and not begins):
                yield token


def _negated(text: str) -> Iterator[frozenset[str]]:
    for match in NEGATION.finditer(text):
        if match["free"]:
            yield frozenset({stem(match.group().removesuffix(match["free"]).rsplit("-", 1)[-1].casefold())})
            continue
        if match["denied"]:  # a prefix denies its own word alone
            yield frozenset({stem(match["denied"].casefold())})
            continue
        following = re.findall(r"[^\W_]+", re.split(r"[.;:]|, (?:but|and|while)", text[match.end() :])[0].casefold())
        content = [stem(word) for word in following if word not in STOPWORDS][:_SCOPE_WORDS]
        yield frozenset(content)
