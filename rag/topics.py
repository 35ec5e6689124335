"""Groups of texts to a readable label each: the phrases that a group uses and the others do not, as its texts spell them.

No tagger and no model: a phrase is a run of words between stop words, generic words and stops, and what often stands whole
between them is likelier to be a noun phrase. Knows strings only.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rag.text import searchable
from vectorstore.lexical import STOPWORDS, stem

# Words that end a phrase, and words that are part of one but never one alone; both by their stems.
_GENERIC = frozenset(
    stem(word)
    for word in """ability able accurate achieve across adapt addition address adopt advance advantage aim allow along although among
    analyze application apply argue arise article arxiv aspect assess assume attain author available average avoid base
    baseline beat because become begin believe benchmark benefit best better beyond both bring broad build call cannot
    capable capture case challenge change choose claim combine common comparable compare complex comprehensive compute
    conclude conduct consider consist consistent construct contain contrast contribute cover create critical crucial
    current deal demand demonstrate depend derive despite detail develop differ different difficult direct discuss
    diverse due during each easy effect effective either employ enable encounter encourage end end-to-end enhance enjoy
    enough ensure entire especially essential establish evaluate even ever evidence example exhibit exist existing
    expensive experimental exploit explore extend extensive extra extract face facilitate factor fail few finally find
    first firstly five focus follow form formulate found four full fundamental further furthermore future gain gap
    general generate get github give go goal good great guide handle heavy help hence here highlight hinder however http
    idea identify impact implement important improve include incorporate increase incur indicate individual inherent
    input insight inspire instance instead integrate interest introduce investigate involve issue key know known lack
    large-scale last late latter lead less leverage like little long lose made main maintain major make many match
    modern modify moreover motivate motivated multiple namely natural nature near necessary need never new next non
    notable novel now number numerous observe obtain offer often once one only order original other outcome outperform
    output overall overcome own paper part particular pay perform perspective plan play point poor popular pose possible
    potential power practical practice precise present prevent previous primary principle procedure produce promise
    promote proper propose prove provide public purpose quantity question quite range rare rate rather reach real-world
    recent reduce regard relate relative release relevant reliable rely remain remarkable remove report represent
    require research resource respect respective result reveal rich robust role same scenario scheme score second see
    seek select serve setting setup seven several show significant simple simultaneous simultaneously since six size
    small solution solve source special specific standard start state-of-the-art step still strong study substantial
    success suffer sufficient suggest suitable superior support surpass survey systematic tackle tailor take target than
    theoretical theoretically thereby therefore think thorough though three through throughout thus together toward
    trade tradition true two type typical ultimate under underlying understand understood unify unique unseen until upon
    use useful usual utilize validate valuable value variety various vary verify versatile via want way well whether
    wide within without world yet yield""".split()  # noqa: SIM905
)
_WEAK = frozenset(
    stem(word)
    for word in """accuracy agent algorithm analysis approach architecture capability code complexity computation control cost data dataset
    decision deep design distribution efficient error evaluation experiment feature framework function generative high
    human inference information knowledge large learn learning level limit linear local loss low machine mean method
    model network neural open optimal optimization parameter performance policy prior problem process program property
    quality real representation response sample scale search self sequence set signal similar single space state
    strategy structure system task technique term test text theory time token train training user view visual word work""".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W_]\w*(?:[-/+][\w+]+)*")
_BEFORE_NOUNS = frozenset(
    {"the", "a", "an", "of", "in", "for", "on", "with", "by", "from", "our", "their", "its", "these", "this", "between"}
)
_OF_ADJECTIVES = ("ic", "cal", "nal", "ral", "ual", "ive", "ous", "ble", "ary", "-world", "-dimensional")
_SHARE_OF_WORDS = 0.3  # of a phrase's score that its words earn apart from it
_LONGEST_PHRASE = 3  # words
_LONGEST_WORD = 30  # letters; more are a formula, or a sentence in a script without spaces
_BY_LENGTH = (0.6, 1.7, 1.8)  # one word says less, and is more often a chance
_IN_ONE_TEXT = 0.2  # of its score is left to a phrase that one text alone holds: used only where there is no better
_LEAST_SECOND = 0.4  # of the score of a cluster's first phrase; a weaker second says little
_Key = tuple[str, ...]


def topic_labels(texts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """A label for each cluster of texts: one or two telling phrases as the texts spell them, no phrase used twice.

    A cluster of texts without such a phrase is called "Group" with its number.
    """
    spelled: dict[_Key, Counter[str]] = defaultdict(Counter)
    held: list[Counter[_Key]] = []
    whole: Counter[_Key] = Counter()
    for cluster in texts:
        held.append(Counter())
        for text in cluster:
            found = list(_phrases(text))
            held[-1].update({key for key, _, _ in found})
            for key, spelling, is_whole in found:
                spelled[key][spelling] += 1
                whole[key] += is_whole
    nounlike = {key: (whole[key] + 0.2) / (spellings.total() + 1) for key, spellings in spelled.items() if any(spellings)}
    scored = sorted(
        ((score, number, key) for number, _ in enumerate(texts) for key, score in _scores(number, held, texts, nounlike).items()),
        key=lambda one: (-one[0], one[1:]),
    )
    chosen: list[list[tuple[float, _Key]]] = [[] for _ in texts]
    for round_ in range(2):
        for score, number, key in scored:
            taken = [other for phrases in chosen for _, other in phrases]
            if len(chosen[number]) != round_ or (round_ and score < _LEAST_SECOND * chosen[number][0][0]):
                continue
            if not any(_say_the_same(key, other) for other in taken):
                chosen[number].append((score, key))
    names = [", ".join(_commonest(spelled[key]) for _, key in phrases) for phrases in chosen]
    return tuple(name or f"Group {number}" for number, name in enumerate(names, start=1))


def _commonest(spellings: Counter[str]) -> str:
    return next(spelling for spelling, _ in spellings.most_common() if spelling)


def _scores(
    number: int, held: Sequence[Counter[_Key]], texts: Sequence[Sequence[str]], nounlike: Mapping[_Key, float]
) -> dict[_Key, float]:
    """How telling each phrase of a cluster is: how many of its texts hold it, how few others do, how whole it stands, how long it is."""
    inside, outside = len(texts[number]), sum(map(len, texts)) - len(texts[number])
    least = 1 if inside < 6 else 3  # texts that hold a word, to be named by it alone
    tellings: dict[_Key, float] = {}
    for key, count in held[number].items():
        elsewhere = sum(one[key] for one in held) - count
        contrast = np.log((count + 0.1) / (inside + 0.5)) - np.log((elsewhere + 0.5) / (outside + 2))
        tellings[key] = max(0.0, float(count / inside * contrast))
    scores = {}
    for key, telling in tellings.items():
        if key not in nounlike or set(key) <= _WEAK or (len(key) == 1 and held[number][key] < least):
            continue
        words = sum(tellings[word,] for word in key if held[number][word,] >= 3) / len(key)
        chance = _IN_ONE_TEXT if held[number][key] == 1 and inside >= 6 else 1.0
        scores[key] = chance * (telling + _SHARE_OF_WORDS * words) * nounlike[key] * _BY_LENGTH[len(key) - 1]
    return scores


def _phrases(text: str) -> Iterator[tuple[_Key, str, bool]]:
    """The phrases of a text: stems, spelling, and whether it stands whole between stop words, generic words and stops."""
    plain = re.sub(r"https?://\S+", ".", searchable(text))
    run: list[str] = []
    end, before, last = 0, "", ""
    for match in [*_WORD.finditer(plain), None]:
        gap = plain[end : match.start()] if match else "."
        is_content = match is not None and _is_content(match.group())
        if run and (gap.strip() or not is_content):
            yield from _pieces(run, is_noun=len(run) > 1 or before in _BEFORE_NOUNS)
            run = []
        if match is not None:
            before = before if run else last
            last = match.group().lower()
            run += [match.group()] if is_content else []
            end = match.end()


def _is_content(word: str) -> bool:
    lower = word.lower()
    return (
        2 < len(word) <= _LONGEST_WORD
        and not word[0].isdigit()
        and lower not in STOPWORDS
        and stem(lower) not in _GENERIC
        and not lower.endswith(("ly", "ed", "-based"))
    )


def _pieces(run: Sequence[str], *, is_noun: bool) -> Iterator[tuple[_Key, str, bool]]:
    """All phrases within a run. A lone adjective counts, but has no spelling to be shown with."""
    for start in range(len(run)):
        for end in range(start + 1, min(start + _LONGEST_PHRASE, len(run)) + 1):
            words = [word.lower() if word.istitle() and len(run) == 1 else word for word in run[start:end]]
            key = tuple(stem(word.lower()) for word in words)
            is_adjective = len(words) == 1 and words[0].endswith(_OF_ADJECTIVES)
            yield key, "" if is_adjective else " ".join(words), start == 0 and end == len(run) and is_noun


def _say_the_same(one: _Key, other: _Key) -> bool:
    """Whether two phrases share a word, or one is the other's initials."""
    initials = ("".join(word[0] for word in "-".join(key).split("-") if word) for key in (one, other))
    return bool(set(one) & set(other)) or any(letters in {*one, *other} for letters in initials if len(letters) > 1)
