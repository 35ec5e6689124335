"""What marks a question as one that goes on from earlier turns: words that point back, ask for others, return, correct or switch.

Each pattern reads one question alone; what a conversation makes of it is said in `conversation`.
"""

import re

from rag.questions import read_question
from vectorstore.lexical import STOPWORDS, stem, terms


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_SMALL_WORDS = (
    r"(?:ok(?:ay)?|alright|right|well|now|so|and|but|hm+|wait|thanks?(?: you)?|great|sorry|please|good|fine|no|yes)\b[\s,.!:;-]*"
)
_OPENING = rf"^(?:{_SMALL_WORDS})*"
_PAPER = r"(?:papers?|ones?|methods?|approach(?:es)?|works?|stud(?:y|ies)|articles?|abstracts?|models?|algorithms?|benchmarks?|frameworks?)"
_WORK = r"(?:one|paper|method|approach|work|abstract|study|article)"
_INTO = r"(?:for|about|on|with|that|which|from|in|of|by|where|using|who)"
_ELSE = r"(?:completely |totally |entirely |very |quite |whole )?"

SWITCH = _pattern(
    _OPENING
    + r"(?:(?:let'?s |let us |can we |i(?:'d| would) (?:like|want) to |to )?(?:talk|move|go|switch|chang|turn)\w* (?:about |on |over |to |the )*)?"
    rf"(?:(?:on |to )?(?:an?|some|the)?\s*{_ELSE}(?:different|new|another|next|unrelated|separate) (?:topic|subject|question|thing|matter|area)s?"
    rf"|(?:topics?|subjects?)(?: now)?(?=\s*[:,.;-])|(?:now )?(?:something|anything) {_ELSE}(?:else|different|new|unrelated)"
    r"|(?:forget|never ?mind|leave|enough|skip|drop)(?: (?:about|of))?(?: (?:that|this|it|the last (?:one|question)))?)"
    r"(?: (?:now|then|please|entirely|altogether))*(?:\s*[:,.;!?-]+\s*|\s+(?=(?:what|who|which|how|why|is|are|do|does|can|on|about)\b)|$)"
)
"""A new topic announced: "different topic: …", "forget that. …"."""

NOW_ON = _pattern(_OPENING + r"(?:now )?(?:(?:for|to) )?something (?:else )?(?:on|about) ")
"""The same, with the topic as its object: "now something on …"."""

ONLY_A_QUESTION = _pattern(r"\b(?:question|thing)s?\W*$")
"""A switch that announces another question, which may be about the same paper."""

BACK = _pattern(
    _OPENING + r"(?:(?:can|could|may|let'?s|let|shall|i|we|us|want|would|like|'d|to) )*"
    r"(?:(?:go|going|come|coming|get|getting|turn|turning|switch|switching|jump)? ?back to|return(?:ing)? to|as for|regarding|concerning)"
    r" (?P<phrase>[^:,;?!–—]{1,120}?)(?:\s+again)?(?:\s*[:,;?!–—]\s*|\s+-+\s+|\.\s+|\.?$)(?P<rest>(?s:.*))"
)
"""A return, `phrase` telling where to and `rest` what is asked: "back to the quantization one: …"."""

THAT_ONE = _pattern(
    r"\b(?:the|that|your) (?P<phrase>[^,;:?!]{2,60}?) (?:papers?|ones?|methods?|approach|work|study|article|abstract)\b"
    r"(?: (?:again|from (?:before|earlier|above)|earlier|above|before))?[\s,:-]*"
)
"""A paper told by what it is about: "the distillation paper"."""

CORRECTION = _pattern(
    _OPENING + r"(?:not (?:that|this|what)(?: one| paper)?[\s,.-]*)?"
    r"(?:i (?:actually )?(?:meant?|was asking)(?: about| for)?|that'?s not what i (?:meant|asked)|rather|actually)\b[\s,:.-]*"
)
"""A correction: "no, I meant …"."""

WANTED_ONE = _pattern(rf"^(?:the|that|a|an) (?:other )?{_PAPER} {_INTO}\b")
"""Another paper wanted, told by what it is about: "the one for …"."""

OTHERS = _pattern(
    r"\b(?:who|what|anyone|anybody|anything|someone|somebody|something|nobody|where) else\b"
    r"|\b(?:any|some|are there|what|which|find|show|more|there) (?:me |more |an? )?(?:other|others|further|additional|similar|related)\b(?! than)"
    rf"|{_OPENING}(?:any )?(?:others?|more)\b\s*(?:{_PAPER})?\s*[?.!]*$"
    r"|\banother (?:paper|work|approach|method|study|one)\b|\bmore (?:papers?|work|like (?:this|that|it))\b|\banything similar\b"
    r"|\bis there (?:also )?(?:some|any)thing\b.{0,80}\bones?\b|\b(?:does|do|did|has|have) any(?:one|body)\b.{0,80}\b(?:this|that|it|so|same)\b"
)
"""Papers beside those in play: "who else does this?", "any other work on …?"."""

OTHERS_WORDS = _pattern(
    r"\b(?:else|others?|another|similar|related|further|additional|more|also|any(?:body|one|thing)?|some(?:body|one|thing)|who|does|on|kind"
    rf"|collection|same|{_PAPER})\b"
)
"""The words by which others are asked for, which tell nothing of what they are about."""

WHICH_ONE = _pattern(
    r"\bthe (?P<which>first|second|third|fourth|1st|2nd|3rd|4th|last|latter|former|other)\b"
    rf"(?= {_WORK}s?\b|\s*[?,.:;!]|\s*$| (?:needs?|uses?|do|does|is|was|ha[sd]|have|reports?|requires?|works?|achieves?|gets?)\b)"
)
"""One of several papers: "the second paper", "the other one"."""

THE_CHOICE = _pattern(WHICH_ONE.pattern + rf"(?: {_WORK}s?\b)?")
"""The same, whole."""

ORDINALS = {
    "first": 0,
    "1st": 0,
    "former": 0,
    "second": 1,
    "2nd": 1,
    "third": 2,
    "3rd": 2,
    "fourth": 3,
    "4th": 3,
    "last": -1,
    "latter": -1,
}

SEVERAL = _pattern(
    r"\b(?:which|each|any|some|none|one|all|both|either|neither|most)(?: one)? of (?:them|these|those|the (?:two|three|papers|ones))\b"
    r"|\b(?:both|either|neither)\b(?! \w+ (?:and|or)\b)|\bthe (?:two|three|papers|ones|methods|approaches)\b"
    r"|\b(?:these|those) (?:two|three|papers|methods|approaches|works)\b"
    rf"|{_OPENING}which ones?\b"
)
"""All of several papers: "which of them", "which one", "both"."""

POINTS_BACK = _pattern(
    r"\b(?:it|its|itself|they|them|their|theirs|he|she|his|her|this|these|those|the same"
    r"|there(?! (?:is|are|was|were|any|some|a|an|be|other|more|also|anything|something|work|papers))"
    r"|the (?:paper|method|approach|authors?|algorithm|framework|technique|system|work|study|idea|abstract|article)"
    r"(?! (?:of|for|on|about|that|which|in|by|with)\b))\b"
    r"|(?:^|\b(?:do|does|did|is|are|was|were|be|of|on|for|in|with|to|about|from|by|like|as|than|and|or|but|would|will|can|could|has|had|how|why|what"
    r"|when|explain|mean|after|before|at)) that\b"
)
"""A word that stands for something said before."""

GOES_ON = _pattern(
    _OPENING
    + r"(?:what|how) about\b|^(?:and|but|so|or|then|wait|hm+|ok(?:ay)?|really|also|only|even|why|how so|how come|in|on|at|for|with|against"
    r"|over|under|by|to|from|than|what if|vs|versus)\b"
)
"""A beginning that goes on from what was said."""

ANSWERS_BACK = _pattern(r"^(?:(?:ok(?:ay)?|and|but|so|wait|hm+|really)[\s,.!]+)*(?:so|wait|really|why|but|then|what if)\b")
"""A beginning that doubts or draws on the last answer."""

COMPARES = _pattern(
    r"\b(?:than|vs|versus|compar\w+|differ\w*|unlike|better|worse|faster|slower|smaller|larger|against|relative to|beats?|outperforms?|as \w+ as)\b"
)
"""A word that sets one thing beside another."""

APPLIED_TO = _pattern(r"\b(?:on|for|with|in|to|into|from|by|using|without)(?: (?:the|an?|top of))*\s*$")
"""The end of what stands before a name that is no subject: "and on"."""

PREPOSITION_FIRST = _pattern(r"^(?:and|but|so|or) (?:in|on|at|for|with|against|over|under)\b")
"""The rest of a question: "and on ImageNet?"."""

ELLIPSIS = _pattern(
    rf"^(?:{_SMALL_WORDS})+(?!\w+ (?:is|are|do|does)\b)|^(?:what about|how about|or|then|even|only|vs|versus|why|how so|how come)\b"
)
"""A beginning after which the verb of the question before is understood: "and RepPoints?"."""

MORE = _pattern(
    _OPENING
    + r"(?:(?:can|could|would) you |please )*(?:tell (?:me|us) (?:some )?more|(?:some )?more(?: please)?|go on|go ahead|continue|elaborate"
    r"|explain|why|how|how so|how come|and|so what|(?:what|how) about (?:it|this|that|them))\b"
)
"""A question of stop words alone that is one all the same: "why?", "tell me more"."""

_GENERIC = frozenset(
    terms(
        "paper papers ones one method approach work works study article abstract topic question thing first second earlier again else other "
        "another ok okay well now hmm wait thanks please back detail details example continue go wrote author authors use used using number "
        "numbers result results find found get got show shows like good know mean really many only still same"
    )
)


def content_terms(text: str) -> set[str]:
    """The terms of a question that tell what it is about."""
    return set(read_question(text).terms) - _GENERIC


def content_words(text: str) -> list[str]:
    """The words of a question that tell what it is about, compounds whole."""
    words = re.findall(r"[^\W_]+(?:[-.'][^\W_]+)*", text.casefold())
    return [word for word in words if word not in STOPWORDS and stem(word) not in _GENERIC]
