import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag.citations import Citation, QuotedPaper, escaped, quoting_answer, unescaped
from rag.papers import Paper
from rag.text import Span, sentence_spans
from rag.titles import derived_title

HOSTILE = st.sampled_from([
    "[3]", "[1]", "\\[2]", "**", "*a*", "<script>", "</p>", "$x$", "\\", "\\\\", "> ", "# ", "1. ", "- ", "---", "```", "~~", "|",
    "&amp;", "![a](b)", "[a]: b", "<!--", "\n", "\n\n", "\n> ", " ", ". ", "Bees fly. ", "https://a.b/c. ", "\u2028",
])  # fmt: skip
TEXTS = st.lists(HOSTILE | st.text(max_size=5), min_size=1, max_size=15).map("".join).filter(str.strip)
WITHOUT_UNDERSCORES = TEXTS.map(lambda text: text.replace("_", ""))
ANY_TEXT = [
    pytest.param(WITHOUT_UNDERSCORES, id="no underscores"),
    pytest.param(WITHOUT_UNDERSCORES.map(lambda text: f"{text} a_b"), id="underscores"),
]
MARKER = re.compile(r"(?<!\\)(?:\\\\)*\[(\d+)\]")
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def one_line(text: str) -> str:
    return " ".join(text.split())


def paper(abstract: str, title: str = "") -> Paper:
    return Paper(id=abstract, title=title or derived_title(abstract), abstract=abstract)


def answer(abstracts: list[str]) -> tuple[str, tuple[Citation, ...]]:
    """The answer that quotes every sentence of every abstract."""
    return quoting_answer([QuotedPaper(paper(abstract), sentence_spans(abstract)) for abstract in abstracts])


def shown_as(markdown: str) -> tuple[str, set[str]]:
    """What a reader sees of `markdown`, and the kinds of markup in it."""
    inline = [child for token in MARKDOWN.parse(markdown) for child in token.children or []]
    kinds = {token.tag for token in [*MARKDOWN.parse(markdown), *inline] if token.tag}
    return "".join(child.content for child in inline), kinds


# --- an answer of quotes ----------------------------------------------------------------------------------------------


def test_answer_names_each_paper_and_quotes_it_with_its_number() -> None:
    bees, ants = paper("Bees fly. Bees hum.", "Bees"), paper("Ants walk.", "Ants")
    text, citations = quoting_answer([QuotedPaper(bees, [Span(0, 9), Span(10, 19)]), QuotedPaper(ants, [Span(0, 10)])])
    assert text == "**Bees** [1]\n\n> Bees fly. [1]\n\n> Bees hum. [1]\n\n**Ants** [2]\n\n> Ants walk. [2]"
    assert [(one.number, one.quote, text[slice(*one.claim)]) for one in citations] == [
        (1, "Bees fly.", "**Bees** [1]\n\n> Bees fly. [1]"),
        (1, "Bees hum.", "Bees hum. [1]"),
        (2, "Ants walk.", "**Ants** [2]\n\n> Ants walk. [2]"),
    ]
    assert {one.number: one.paper for one in citations} == {1: bees, 2: ants}


def test_nothing_quoted_is_no_answer() -> None:
    assert quoting_answer([]) == ("", ())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_quote_is_verbatim_and_carries_itself(abstracts: list[str]) -> None:
    _, citations = answer(abstracts)
    assert all(one.paper.abstract[one.start : one.end] == one.quote != "" for one in citations)
    assert {one.support for one in citations} == {1.0}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(TEXTS, st.data())
def test_any_part_of_an_abstract_can_be_quoted(abstract: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(abstract) - 1))
    end = data.draw(st.integers(start + 1, len(abstract)))
    text, (citation,) = quoting_answer([QuotedPaper(paper(abstract), [Span(start, end)])])
    assert (citation.quote, citation.claim) == (abstract[start:end], (0, len(text)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_papers_are_numbered_from_one_in_order_of_first_use(abstracts: list[str]) -> None:
    _, citations = answer(abstracts)
    assert list(dict.fromkeys(one.number for one in citations)) == list(range(1, len(abstracts) + 1))
    assert [paper.abstract for paper in {one.number: one.paper for one in citations}.values()] == abstracts


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_every_marker_lies_in_a_claim_of_its_number(abstracts: list[str]) -> None:
    text, citations = answer(abstracts)
    markers = [(int(match[1]), match.end()) for match in MARKER.finditer(text)]
    assert len(markers) == len(citations) + len(abstracts)
    assert all(any(one.number == number and one.claim[0] < end <= one.claim[1] for one in citations) for number, end in markers)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_claims_follow_one_another_and_end_with_their_marker(abstracts: list[str]) -> None:
    text, citations = answer(abstracts)
    assert all(text[: one.claim[1]].endswith(f" [{one.number}]") for one in citations)
    assert all(left.claim[1] <= right.claim[0] for left, right in pairwise(citations))


@pytest.mark.parametrize("texts", ANY_TEXT)
def test_claim_holds_its_quote_up_to_spacing(texts: st.SearchStrategy[str]) -> None:
    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(texts)
    def holds(abstract: str) -> None:
        text, citations = answer([abstract])
        assert all(one_line(one.quote) in unescaped(text[slice(*one.claim)]) for one in citations)

    holds()


# --- escaping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", ANY_TEXT)
def test_unescaping_gives_back_the_text_up_to_spacing(texts: st.SearchStrategy[str]) -> None:
    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(texts)
    def gives_back(text: str) -> None:
        assert unescaped(escaped(text)) == one_line(text)

    gives_back()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS)
def test_escaped_text_is_one_line_without_a_marker(text: str) -> None:
    assert len(escaped(text).splitlines()) == 1
    assert not MARKER.search(escaped(text))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS.map(lambda text: text.replace("\0", "")).filter(str.strip))
def test_nothing_in_an_abstract_acts_as_markdown(text: str) -> None:
    assert one_line(shown_as(f"> {escaped(text)} [1]")[0]) == f"{one_line(text)} [1]"
    assert shown_as(f"> {escaped(text)} [1]")[1] == {"blockquote", "p"}
    assert one_line(shown_as(f"**{escaped(text)}** [1]")[0]) == f"{one_line(text)} [1]"
    assert shown_as(f"**{escaped(text)}** [1]")[1] == {"strong", "p"}


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a [3] b", r"a \[3\] b"),
        ("<script>", r"\<script\>"),
        ("$x$ & **y**", r"\$x\$ \& \*\*y\*\*"),
        ("a\\b", r"a\\b"),
        ("1. Bees", r"1\. Bees"),
        ("2) Bees", r"2\) Bees"),
        ("- Bees", r"\- Bees"),
        ("1.5 bees", "1.5 bees"),
        ("-3 bees", "-3 bees"),
        (" two\n lines ", "two lines"),
        ("", ""),
    ],
)
def test_escaping_is_as_small_as_it_can_be(text: str, markdown: str) -> None:
    assert escaped(text) == markdown
