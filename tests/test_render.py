"""Answers as HTML: whatever an abstract, a question, a title or an address holds is shown and does nothing."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from rag import Answer, Citation, Paper
from rag.answer import Status
from rag.citations import QuotedPaper, quoting_answer
from rag.search import Hit
from rag.text import sentence_spans
from rag.web.render import answer_html, error_html, prose_html, waiting_html
from rag.web.rich_text import math_html, rich_text

ABSTRACT = (
    "We present Gecko. It climbs glass at $3\\times$ the speed of **all** others. Code: https://example.org/gecko_v2. Gecko rests."
)
PAGE_TAGS = {
    "article", "h2", "h3", "section", "span", "small", "blockquote", "a", "details", "summary", "p", "mark", "div", "strong", "em",
    "s", "ul", "li", "form", "label", "input", "button", "textarea", "table", "caption", "tbody", "tr", "td", "pre",
}  # fmt: skip
MATH_TAGS = {
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "mover", "munder",
    "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
}  # fmt: skip
PAGE_ATTRIBUTES = {
    "class", "href", "id", "tabindex", "target", "rel", "aria-label", "aria-busy", "aria-hidden", "role", "type", "name", "value", "rows",
    "maxlength", "hidden", "dir", "data-action", "data-form", "data-paper", "data-quote", "data-text", "data-title", "data-turn",
}  # fmt: skip
VOID = {"input"}
MATH_ATTRIBUTES = {
    "display", "stretchy", "mathvariant", "fence", "accent", "displaystyle", "linethickness", "width", "form", "aria-label",
}  # fmt: skip
ATTACKS = [
    pytest.param("<script>window.pwned=1</script>", id="script"),
    pytest.param("<img src=x onerror=alert(1)>", id="image"),
    pytest.param('"><svg onload=alert(1)>', id="out of an attribute"),
    pytest.param("' onmouseover='alert(1)", id="out of a single-quoted attribute"),
    pytest.param("</mark></p></details><iframe src=//evil.example>", id="closing tags"),
    pytest.param("</style><style>*{display:none}</style>", id="style"),
    pytest.param("<!--<b>-->", id="comment"),
    pytest.param("&lt;script&gt;alert(1)&lt;/script&gt;", id="entities"),
    pytest.param("&#60;img src=x onerror=alert(1)&#62;", id="numeric entities"),
    pytest.param("[click](javascript:alert(1))", id="Markdown link"),
    pytest.param("<a href='javascript:alert(1)'>x</a>", id="JavaScript link"),
    pytest.param('https://e.example/"onmouseover=alert(1)', id="quote in an address"),
    pytest.param("https://e.example/'onmouseover=alert(1)//", id="single quote in an address"),
    pytest.param("https://e.example/<script>alert(1)</script>", id="tag in an address"),
    pytest.param(r"$\text{<img src=x onerror=alert(1)>}$", id="tag in the text of a formula"),
    pytest.param(r"$\mathrm{<script>alert(1)</script>}$", id="tag in a formula"),
    pytest.param(r"$\href{javascript:alert(1)}{x}$", id="link in a formula"),
    pytest.param(r"$\operatorname{<svg onload=alert(1)>}$", id="operator in a formula"),
    pytest.param(r"$\unicode{x3c}img src=x onerror=alert(1)\unicode{x3e}$", id="code points in a formula"),
    pytest.param(r"$<maction actiontype='statusline' href='javascript:alert(1)'>x</maction>$", id="MathML in a formula"),
    pytest.param(r"$&lt;script&gt;$", id="entities in a formula"),
    pytest.param("**<b onclick=alert(1)>**", id="tag in emphasis"),
    pytest.param("*a* _<i>_ *<u>* `<s>`", id="tags in many emphases"),
    pytest.param("${alert(1)} {{constructor.constructor('alert(1)')()}}", id="templates"),
    pytest.param("a\u202e<b>\u202c\u200b\x00<i>", id="invisible characters"),
]


class Page(HTMLParser):
    """What a browser would make of some HTML: elements with attributes, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.open: list[str] = []
        self.marked: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self.open:
            self.marked[-1] += data

    def attributes(self, name: str) -> list[str]:
        """All values of an attribute, in order."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def answer_quoting(*papers: Paper, question: str = "What is Gecko?") -> Answer:
    """An answer that quotes every other sentence of each paper."""
    text, citations = quoting_answer([QuotedPaper(paper, sentence_spans(paper.abstract)[::2]) for paper in papers])
    return Answer(question, question, "answered", text, citations, (), (), "quotes")


def paper_of(abstract: str = ABSTRACT, **fields: Any) -> Paper:
    paper = Paper(
        id="0123456789abcdef", title="Gecko", abstract=abstract, venue="Animal Papers", year=2021, sources=("animals.txt#1",)
    )
    return replace(paper, **fields)


def assert_harmless(page: Page) -> None:
    """Only elements and attributes that the page itself makes, and addresses that lead to the web or within the page."""
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag in PAGE_TAGS | MATH_TAGS
        assert attributes.keys() <= (MATH_ATTRIBUTES if tag in MATH_TAGS else PAGE_ATTRIBUTES)
    assert all(href.startswith(("https://", "http://", "#quote-", "#paper-")) for href in page.attributes("href"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_an_abstract_is_harmless(attack: str) -> None:
    page = Page(answer_html(answer_quoting(paper_of(f"Gecko says {attack} here. It climbs. And {attack} again.")), turn=1))
    assert_harmless(page)
    assert "Gecko says" in page.text


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_a_question_is_harmless_and_shown_as_typed(attack: str) -> None:
    page = Page(answer_html(answer_quoting(paper_of(), question=attack), turn=1))
    assert_harmless(page)
    assert page.text.startswith(attack)


@pytest.mark.parametrize("field", ["title", "venue", "authors", "sources"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_what_is_known_about_a_paper_is_harmless_and_shown(field: str, attack: str) -> None:
    fields: dict[str, Any] = {field: (attack,) if field in ("authors", "sources") else attack}
    page = Page(answer_html(answer_quoting(paper_of(**fields)), turn=1))
    assert_harmless(page)
    assert attack in page.text


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_a_notice_is_harmless_and_shown(attack: str) -> None:
    refusal = Answer("?", "?", "not_found", "", (), (), (f"Searched for: {attack}",), "quotes")
    page = Page(answer_html(refusal, turn=1))
    assert_harmless(page)
    assert attack in page.text


@pytest.mark.parametrize(
    "url",
    [
        'https://example.org/"onclick="alert(1)',
        "https://example.org/<script>",
        pytest.param("javascript:alert(1)"),
        pytest.param("data:text/html,<script>alert(1)</script>"),
    ],
)
def test_an_address_of_a_paper_is_harmless_and_shown(url: str) -> None:
    page = Page(answer_html(answer_quoting(paper_of(urls=(url,))), turn=1))
    assert_harmless(page)
    assert url in page.text


@pytest.mark.parametrize(
    "text", ["1 < 2 & 3 > 2", "a \"b\" 'c'", "a<b and c>d", "&amp; &lt;", "</mark>", "snake_case_name * 2 * 3", "5 $ 6"]
)
def test_text_keeps_every_character(text: str) -> None:
    page = Page(rich_text(text))
    assert (page.text, page.elements) == (text, [])


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a gain of $82.24\\%$ here", "82.24%"),
        ("2.6$\\times$ faster", "×"),
        ("$\\times$3.79", "×"),
        ("$\\mathcal{O}(\\epsilon^{-3}\\ln\\epsilon^{-1})$", "𝒪(ϵ−3lnϵ−1)"),
        ("$a<b$", "a<b"),
        ("MS$^3$D", "3"),
        ("$$x^2$$", "x2"),
        ("$\\\\{2, 4\\\\}$", "{2,4}"),
    ],
)
def test_maths_between_dollars_is_drawn_as_mathml(text: str, drawn: str) -> None:
    page = Page(rich_text(text))
    assert [tag for tag, _ in page.elements].count("math") == 1
    assert drawn in page.text.replace(" ", "")
    assert "$" not in page.text


@pytest.mark.parametrize("text", ["$5 and $6", "from $5 to $6, or $7", "a \\$5 note", "$ 5 $", "US$5", "$", "$$", "$x\n$"])
def test_money_and_lone_dollars_are_left_alone(text: str) -> None:
    assert Page(rich_text(text)).text == text
    assert "math" not in rich_text(text)


@pytest.mark.parametrize(
    "tex", ["\\frac{", "}{", "\\left(", "a & b", "\\begin{x}", "{" * 5000, "x^" * 2000, "\\sqrt{" * 500, "x\x01"]
)
def test_maths_that_cannot_be_read_stays_as_its_source(tex: str) -> None:
    page = Page(math_html(tex, source=f"${tex}$"))
    assert_harmless(page)
    assert page.elements or page.text == f"${tex}$"


def test_a_number_with_thousands_is_one_number() -> None:
    assert "<mn>31,325</mn>" in math_html("31,325", source="$31,325$")


def test_emphasis_and_addresses_are_live() -> None:
    assert rich_text("**m**ulti *is* _so_") == "<strong>m</strong>ulti <em>is</em> <em>so</em>"
    page = Page(rich_text("See (https://example.org/a_b_c)."))
    assert page.attributes("href") == ["https://example.org/a_b_c"]
    assert page.attributes("rel") == ["noopener noreferrer"]
    assert page.text == "See (https://example.org/a_b_c)."


def test_quoted_spans_are_marked_in_the_whole_abstract() -> None:
    answer = answer_quoting(paper_of())
    page = Page(answer_html(answer, turn=1))
    assert page.marked == [Page(rich_text(citation.quote)).text for citation in answer.citations]
    assert Page(rich_text(ABSTRACT)).text in page.text


def test_markers_lead_to_their_own_quotes_and_ids_are_unique_on_the_page() -> None:
    papers = (paper_of(), paper_of("Okapi ranks. It is slow. It is exact.", id="fedcba9876543210"))
    answer = answer_quoting(*papers)
    page = Page("".join(answer_html(answer, turn=turn) for turn in (1, 2, 11)))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids)) == 3 * (len(answer.citations) + 1)
    quotes = [id_ for id_ in ids if id_.startswith("quote-")]
    assert [href.removeprefix("#") for href in page.attributes("href") if href.startswith("#quote-")] == quotes


def test_the_number_of_a_marker_is_the_number_of_its_paper() -> None:
    answer = answer_quoting(paper_of(), paper_of("Okapi ranks. It is slow. It is exact.", id="fedcba9876543210"))
    labels = [label for label in Page(answer_html(answer, turn=1)).attributes("aria-label") if label.startswith("Source")]
    assert labels == [f"Source {citation.number}: Gecko, show in the abstract" for citation in answer.citations]


@pytest.mark.parametrize(
    ("status", "words"),
    [("not_found", "Not in this collection."), ("invalid", "Nothing to search for."), ("silent", "does not say")],
)
def test_a_refusal_is_said_in_words_with_its_notices(status: str, words: str) -> None:
    refusal = replace(answer_quoting(), status=status, notices=("The nearest papers: Gecko.",))  # type: ignore[arg-type]  # a literal by parameter
    page = Page(answer_html(refusal, turn=1))
    assert words in page.text
    assert "The nearest papers: Gecko." in page.text
    assert page.attributes("href") == []


def test_a_snapshot_that_is_not_final_shows_the_question_and_that_it_is_busy() -> None:
    page = Page(answer_html(replace(answer_quoting(), text="", is_final=False), turn=1))
    assert page.text.startswith("What is Gecko?")
    assert page.attributes("aria-busy") == ["true"]
    assert page.marked == []


def test_a_notice_beside_an_answer_is_shown() -> None:
    page = Page(answer_html(replace(answer_quoting(paper_of()), notices=("Only the beginning was searched.",)), turn=1))
    assert "Only the beginning was searched." in page.text


def test_a_citation_may_cover_the_whole_abstract() -> None:
    citation = Citation(1, paper_of(), ABSTRACT, 0, len(ABSTRACT), 1.0, (0, 1))
    page = Page(answer_html(replace(answer_quoting(), citations=(citation,)), turn=1))
    assert page.marked == [Page(rich_text(ABSTRACT)).text]


STRUCK = "~~Bananas grow on [trees](https://evil.example), see https://evil.example.~~ *(not supported by the abstracts)*"


def test_a_models_sentences_keep_their_markers_and_unsupported_ones_are_struck_and_labelled() -> None:
    paper = paper_of()
    first, second = "Gecko climbs glass.", "It rests."
    text = f"{first} [1] {STRUCK}\n\n{second} [1]"
    citations = tuple(
        Citation(1, paper, quote, paper.abstract.index(quote), paper.abstract.index(quote) + len(quote), 1.0, claim)
        for quote, claim in (
            ("We present Gecko.", (0, len(first) + 4)),
            ("Gecko rests.", (text.index(second), len(text))),
        )
    )
    answer = replace(answer_quoting(paper), text=text, citations=citations, model="ollama:tiny")
    page = Page(prose_html(answer, turn=1))
    assert [tag for tag, _ in page.elements].count("p") == 2
    assert [tag for tag, _ in page.elements].count("s") == 1
    assert "Bananas grow on [trees](https://evil.example), see https://evil.example. (not supported by the abstracts)" in page.text
    assert page.attributes("href") == ["#quote-1-1-0", f"#quote-1-1-{paper.abstract.index('Gecko rests.')}"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_a_draft_an_error_or_a_waiting_question_is_harmless_and_shown(attack: str) -> None:
    growing = replace(answer_quoting(paper_of()), is_final=False, draft=f"It says {attack}", model="ollama:tiny")
    for made in (answer_html(growing, turn=1), error_html("Why?", f"Failed: {attack}"), waiting_html(attack)):
        page = Page(made)
        assert_harmless(page)
        assert attack in page.text


def test_a_draft_is_not_read_aloud_and_only_its_end_is_shown() -> None:
    growing = replace(answer_quoting(paper_of()), is_final=False, draft="old " * 5000 + "the end", model="ollama:tiny")
    page = Page(answer_html(growing, turn=1))
    assert "true" in page.attributes("aria-hidden")
    assert "the end" in page.text
    assert len(page.text) < 6000


def test_how_an_answer_was_found_shows_what_was_searched_and_what_was_considered() -> None:
    other = paper_of("Okapi ranks.", id="fedcba9876543210", title="Okapi <i>")
    answer = replace(
        answer_quoting(paper_of()), standalone_question='What is "Gecko"?', hits=(Hit(other, 0.5, ()),), timings={"search": 0.25}
    )
    page = Page(answer_html(answer, turn=1))
    assert page.attributes("value") == ['What is "Gecko"?']
    for shown in ("Okapi <i>", "0.50", "search 0.25", "exact quotes"):
        assert shown in page.text
    assert "#paper-fedcba9876543210" in page.attributes("href")


def test_buttons_are_for_what_there_is() -> None:
    def actions(made: str) -> set[str]:
        return set(Page(made).attributes("data-action"))

    plain = actions(answer_html(answer_quoting(paper_of()), turn=1))
    assert {"retry", "edit", "copy", "markdown", "bibtex"} <= plain
    assert not {"good", "bad"} & plain
    assert {"good", "bad"} <= actions(answer_html(answer_quoting(paper_of()), turn=1, offers_feedback=True))
    refused = actions(answer_html(replace(answer_quoting(), status="not_found"), turn=1))
    assert {"copy", "markdown"} <= refused, "that nothing was found is worth taking away too"
    assert "bibtex" not in refused


@pytest.mark.parametrize("status", ["invalid", "not_found", "silent", "premise", "answered"])
def test_what_was_searched_can_always_be_changed(status: Status) -> None:
    page = Page(answer_html(replace(answer_quoting(), status=status, hits=()), turn=1))
    assert "again" in page.attributes("data-form")
    assert "table" not in [tag for tag, _ in page.elements]


def test_what_a_notice_leads_over_to_follows_it() -> None:
    silent = replace(answer_quoting(paper_of()), status="silent", notices=("Nearest is:", "tiny was shown 1 of the 3 papers."))
    made = answer_html(silent, turn=1)
    assert made.index("Nearest is:") < made.index("<blockquote>") < made.index("tiny was shown")


def test_questions_run_in_the_direction_of_their_script() -> None:
    for made in (answer_html(answer_quoting(), turn=1), waiting_html("?"), error_html("?", "A fault.")):
        assert "auto" in Page(made).attributes("dir")


def test_everything_is_said_in_chinese_when_asked() -> None:
    page = Page(answer_html(replace(answer_quoting(), status="not_found"), turn=1, language="zh"))
    assert "集合里没有" in page.text
    assert "再问一次" in page.text
