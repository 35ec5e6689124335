"""A collection as it was read to a report of all that is wrong with it, kind by kind, each with its places and a remedy. Pure: what it
reports stays as it was read.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag.errors import SourceFaultyError
from rag.findings import KINDS, Finding, Kind, located
from rag.languages import language_name, language_of_abstract
from rag.near_duplicates import almost_alike
from rag.papers import Collection, Paper
from rag.text_faults import broken_latex, cut_off, last_word, leftover_html, wrongly_decoded

_FIRST_PLACES = 5
_LEAST_USES = 2  # papers that hold a word, so that it is taken for one
_LEAST_MISSING = 2  # letters that a cut word lacks
_PLURALS_AND_FORMS = ("s", "es", "ed", "ing", "ly", "er", "al")  # a word that only lacks these is a whole one
_LEAST_CUT_WORD = 3
_TEXT_CHECKS: tuple[tuple[Kind, Callable[[str], str]], ...] = (
    ("encoding", wrongly_decoded),
    ("latex", broken_latex),
    ("markup", leftover_html),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """All findings of one kind: how many there are, the first of them, and what to do about it."""

    kind: Kind
    name: str
    count: int
    first: tuple[str, ...]
    """The first five, each with its place: "file.bib#7, line 120: what is wrong"."""
    remedy: str


def ingest_report(collection: Collection) -> tuple[Fault, ...]:
    """What is wrong with `collection`, kind by kind in the order of `KINDS`; kinds of which nothing was found are left out."""
    found = all_findings(collection)
    by_kind = {kind: [str(finding) for finding in found if finding.kind == kind] for kind in KINDS}
    return tuple(
        Fault(kind, KINDS[kind][0], len(places), tuple(places[:_FIRST_PLACES]), KINDS[kind][1])
        for kind, places in by_kind.items()
        if places
    )


def require_faultless(faults: Sequence[Fault]) -> None:
    """Raises `SourceFaultyError` when there is any fault."""
    if faults:
        named = "; ".join(f"{fault.count} {fault.name}" for fault in faults)
        raise SourceFaultyError(
            f"Nothing was indexed, and the index stays as it was, because of what the report shows: {named}. "
            "Mend the sources, or run the command without --strict."
        )


def all_findings(collection: Collection) -> list[Finding]:
    """Every single finding: those of the reading, and those of the papers' texts in the order of the papers."""
    return [
        *collection.findings,
        *_merged(collection, "repeated", collection.duplicates),
        *_merged(collection, "respelled", collection.near_duplicates),
        *_similar(collection),
        *_truncated(collection),
        *_of_texts(collection),
        *_in_another_language(collection),
    ]


def _place(collection: Collection, source: str) -> str:
    line = collection.lines.get(source, 0)
    return located(source, line) if line else source


def _place_of_paper(collection: Collection, paper: Paper) -> str:
    return _place(collection, paper.sources[0]) if paper.sources else paper.id


def _merged(collection: Collection, kind: Kind, occurrences: Iterable[str]) -> Iterator[Finding]:
    for occurrence in occurrences:
        later, _, first = occurrence.partition(" = ")
        yield Finding(kind, _place(collection, later), f"as {first}")


def _similar(collection: Collection) -> Iterator[Finding]:
    papers = collection.papers
    for later, earlier, similarity in almost_alike([paper.abstract for paper in papers]):
        detail = f"{round(100 * similarity)} % as {_place_of_paper(collection, papers[earlier])}"
        yield Finding("similar", _place_of_paper(collection, papers[later]), detail)


def _of_texts(collection: Collection) -> Iterator[Finding]:
    for kind, check in _TEXT_CHECKS:
        for paper in collection.papers:
            detail = check(paper.abstract)
            if detail:
                yield Finding(kind, _place_of_paper(collection, paper), detail)


def _truncated(collection: Collection) -> Iterator[Finding]:
    """Abstracts that break off in mid-sentence, and those whose last word is the beginning of a word of other papers and none itself."""
    suspects = {word for paper in collection.papers if len(word := last_word(paper.abstract)) >= _LEAST_CUT_WORD}
    beginnings = _beginnings(suspects, collection.papers) if suspects else set()
    for paper in collection.papers:
        word = last_word(paper.abstract)
        detail = cut_off(paper.abstract) or (f"ends within the word “{word}”" if word in beginnings else "")
        if detail:
            yield Finding("truncated", _place_of_paper(collection, paper), detail)


def _beginnings(suspects: set[str], papers: Sequence[Paper]) -> set[str]:
    """The suspects that no other paper holds as a word and some hold as the beginning of one."""
    spelled: Counter[str] = Counter()
    for paper in papers:
        spelled.update(set(paper.abstract.split()))
    uses: Counter[str] = Counter()
    for word, count in spelled.items():
        uses[_bare(word.casefold())] += count
    words = sorted(word for word, count in uses.items() if count >= _LEAST_USES and word.isalpha())
    return {suspect for suspect in suspects if uses[suspect] < _LEAST_USES and _is_beginning(suspect, words)}


def _bare(word: str) -> str:
    return word.strip(".,;:!?()[]{}\"'“”‘’*_")


def _is_beginning(suspect: str, words: Sequence[str]) -> bool:
    for word in words[bisect_left(words, suspect) :]:
        if not word.startswith(suspect):
            return False
        rest = word[len(suspect) :]
        if len(rest) >= _LEAST_MISSING and rest not in _PLURALS_AND_FORMS:
            return True
    return False


def _in_another_language(collection: Collection) -> Iterator[Finding]:
    """Abstracts in another language than most; those whose language is in doubt count as in the language of most."""
    codes = [language_of_abstract(paper.abstract) for paper in collection.papers]
    known = Counter(filter(None, codes))
    if not known:
        return
    usual = known.most_common(1)[0][0]
    for paper, code in zip(collection.papers, codes, strict=True):
        if code not in ("", usual):
            yield Finding("language", _place_of_paper(collection, paper), f"{language_name(code)}, most are {language_name(usual)}")
