"""The Papers tab as HTML: what a table, a paper's page and the filters say, and that nothing a file holds does anything."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from rag.browse import Catalogue, choices, listing
from rag.filters import PaperFilter
from rag.papers import Paper
from rag.web.papers_html import filter_chips_html, pager_html, paper_html, table_html
from rag.web.papers_texts import PAPERS_TEXTS, Language
from rag.web.papers_view import View

TAGS = {
    "table", "caption", "thead", "tbody", "tr", "th", "td", "button", "span", "a", "nav", "p", "strong", "em", "article", "section", "div",
    "h2", "h3", "dl", "dt", "dd", "ol", "li",
}  # fmt: skip
ATTRIBUTES = {
    "class", "role", "scope", "type", "title", "href", "tabindex", "target", "rel", "disabled", "aria-label", "aria-sort", "aria-hidden",
    "data-action", "data-column", "data-page", "data-paper", "data-label", "data-landing",
}  # fmt: skip
MATH_TAGS = {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msup", "mstyle"}
MATH_ATTRIBUTES = {"display", "stretchy", "mathvariant", "aria-label", "form", "width"}
ATTACKS = [
    pytest.param("<script>window.pwned=1</script>", id="script"),
    pytest.param("<img src=x onerror=alert(1)>", id="image"),
    pytest.param('"><svg onload=alert(1)>', id="out of an attribute"),
    pytest.param("' onmouseover='alert(1)", id="out of a single-quoted attribute"),
    pytest.param("</td></tr></table></article><iframe src=//evil.example>", id="closing tags"),
    pytest.param("</style><style>*{display:none}</style>", id="style"),
    pytest.param("<!--<b>-->", id="comment"),
    pytest.param("&lt;script&gt;alert(1)&lt;/script&gt;", id="entities"),
    pytest.param("javascript:alert(1)", id="JavaScript address"),
    pytest.param("[click](javascript:alert(1))", id="Markdown link"),
    pytest.param('https://e.example/"onmouseover=alert(1)', id="quote in an address"),
    pytest.param("https://e.example/<script>alert(1)</script>", id="tag in an address"),
    pytest.param(r"$\text{<img src=x onerror=alert(1)>}$", id="tag in a formula"),
    pytest.param(r"$\href{javascript:alert(1)}{x}$", id="link in a formula"),
    pytest.param('" data-action="clear-filters" x="', id="an action of its own"),
    pytest.param("<button data-action=pin data-paper=0123456789abcdef>", id="a button of its own"),
    pytest.param("${alert(1)} {{constructor('alert(1)')()}} {total} {0} %s", id="templates"),
]
ACTIONS = {"sort", "page", "paper", "list", "pin", "add", "unpin", "similar", "clear-filters"}
GECKO = Paper(
    id="0123456789abcdef",
    title="Gecko",
    abstract="Gecko climbs glass at $3\\times$ the speed of **all** others. Code: https://example.org/gecko_v2. Gecko rests.",
    authors=("Ada Lovelace", "Zoë Müller", "José García", "李 明"),
    year=2021,
    venue="Animal Papers",
    urls=("https://example.org/gecko",),
    sources=("animals.txt#1", "more.txt#2"),
    has_given_title=True,
)
OKAPI = Paper(id="fedcba9876543210", title="Okapi", abstract="Okapi ranks.", sources=("animals.txt#2",))
NO_FILTER, FIRST_VIEW = PaperFilter(), View()


class Page(HTMLParser):
    """What a browser would make of some HTML: elements with attributes, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, **wanted: str) -> list[dict[str, str]]:
        """The attributes of the elements that have all these ("data_action" stands for data-action)."""
        names = {name.replace("_", "-"): value for name, value in wanted.items()}
        return [attributes for _, attributes in self.elements if names.items() <= attributes.items()]


def table(
    papers: list[Paper],
    *,
    view: View = FIRST_VIEW,
    filter: PaperFilter = NO_FILTER,
    all_papers: int | None = None,
    language: Language = "en",
    per_page: int = 50,
) -> Page:
    shown = listing(
        Catalogue(papers), query=view.query, sort=view.sort, descending=view.descending, page=view.page, per_page=per_page
    )
    total = len(papers) if all_papers is None else all_papers
    return Page(table_html(shown, view, filter, choices=choices(papers), all_papers=total, language=language))


def paper_page(paper: Paper = GECKO, filter: PaperFilter = NO_FILTER, **options: Any) -> Page:
    return Page(paper_html(paper, filter, **options))


def assert_harmless(page: Page) -> None:
    """Only elements, attributes, actions and addresses that the tab itself makes."""
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag in TAGS | MATH_TAGS
        assert attributes.keys() <= (MATH_ATTRIBUTES if tag in MATH_TAGS else ATTRIBUTES)
        assert attributes.get("data-action", "list") in ACTIONS
        assert attributes.get("href", "#paper-").startswith(("https://", "http://", "#paper-"))


@pytest.mark.parametrize("field", ["title", "venue", "authors", "sources", "abstract", "urls", "id"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_any_field_of_a_paper_is_harmless(field: str, attack: str) -> None:
    changed: dict[str, Any] = {field: (attack,) if field in ("authors", "sources", "urls") else attack}
    hostile = replace(GECKO, **changed)
    chosen = PaperFilter(
        venues=frozenset({attack}), authors=frozenset({attack}), files=frozenset({attack}), ids=frozenset({hostile.id})
    )
    pages = [
        table([hostile, OKAPI], filter=chosen),
        paper_page(hostile, chosen, similar=[(hostile, 0.5)]),
        Page(filter_chips_html(chosen, [hostile], 1)),
    ]
    for page in pages:
        assert_harmless(page)
    if field in ("title", "venue", "sources"):
        assert attack in pages[0].text
        assert attack in pages[1].text
    assert attack in pages[2].text


def test_the_table_names_its_columns_and_links_each_paper() -> None:
    page = table([GECKO, OKAPI])
    assert [one["data-column"] for one in page.all(data_action="sort")] == ["title", "venue", "year", "source"]
    assert [one["data-paper"] for one in page.all(data_action="paper")] == [GECKO.id, OKAPI.id]
    assert len(page.all(scope="col")) == 5
    for said in (
        "2 papers",
        "Gecko",
        "Ada Lovelace, Zoë Müller, José García and 1 more",
        "Animal Papers",
        "2021",
        "animals.txt#1 +1",
    ):
        assert said in page.text


def test_columns_that_nothing_fills_are_left_out() -> None:
    assert [one["data-column"] for one in table([OKAPI]).all(data_action="sort")] == ["title", "source"]


@pytest.mark.parametrize(("descending", "order"), [(False, "ascending"), (True, "descending")])
def test_only_the_sorted_column_says_how_it_is_sorted(descending: bool, order: str) -> None:
    page = table([GECKO, OKAPI], view=View(sort="year", descending=descending))
    assert [(one["class"], one["aria-sort"]) for _, one in page.elements if "aria-sort" in one] == [("year", order)]


def test_papers_that_are_asked_about_are_marked() -> None:
    page = table([GECKO, OKAPI], filter=PaperFilter(ids=frozenset({OKAPI.id})))
    assert page.text.count("asked about") == 1


def test_an_empty_list_says_why_and_what_to_do() -> None:
    nothing = table([OKAPI], view=View(query="zebra"))
    assert "No paper fits. Try fewer or shorter words" in nothing.text
    assert "no papers in this collection yet" in table([]).text


@pytest.mark.parametrize(
    ("page", "enabled"),
    [
        (1, ["Next page", "Last page"]),
        (2, ["First page", "Previous page", "Next page", "Last page"]),
        (3, ["First page", "Previous page"]),
    ],
)
def test_the_pager_leads_to_the_other_pages(page: int, enabled: list[str]) -> None:
    papers = [replace(OKAPI, id=f"{number:016x}") for number in range(5)]
    pager = Page(pager_html(listing(Catalogue(papers), page=page, per_page=2)))
    buttons = pager.all(data_action="page")
    assert [one["aria-label"] for one in buttons if "disabled" not in one] == enabled
    assert all(1 <= int(one["data-page"]) <= 3 for one in buttons if "disabled" not in one)
    assert f"Page {page} of 3" in pager.text


def test_one_page_has_no_pager() -> None:
    assert pager_html(listing(Catalogue([OKAPI]))) == ""


def test_a_papers_page_tells_all_that_is_known() -> None:
    page = paper_page()
    for said in (*GECKO.authors, *GECKO.sources, "Animal Papers", "2021", "Gecko climbs glass at", "Gecko rests."):
        assert said in page.text
    assert [one["href"] for one in page.all(rel="noopener noreferrer")] == [
        "https://example.org/gecko_v2",
        "https://example.org/gecko",
    ]
    assert [tag for tag, _ in page.elements].count("math") == 1
    assert "made from the abstract" not in page.text
    assert "made from the abstract" in paper_page(OKAPI).text


@pytest.mark.parametrize(
    ("ids", "actions"),
    [
        pytest.param(set(), ["list", "pin", "similar"], id="none is pinned"),
        pytest.param({GECKO.id}, ["list", "unpin", "similar"], id="this one is"),
        pytest.param({OKAPI.id}, ["list", "pin", "add", "similar"], id="another is"),
    ],
)
def test_a_papers_page_offers_what_makes_sense(ids: set[str], actions: list[str]) -> None:
    page = paper_page(filter=PaperFilter(ids=frozenset(ids)))
    assert [one["data-action"] for _, one in page.elements if "data-action" in one] == actions


def test_similar_papers_are_links_with_their_scores() -> None:
    page = paper_page(similar=[(OKAPI, 0.4567)])
    assert page.all(data_action="paper")[0]["data-paper"] == OKAPI.id
    assert "0.46" in page.text
    assert page.all(data_action="similar") == []
    assert "no other paper" in paper_page(similar=[]).text


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        (PaperFilter(venues=frozenset({"Animal Papers"})), ["1 of 2 papers", "Animal Papers"]),
        (PaperFilter(venues=frozenset({"a", "b", "c", "d", "Animal Papers"})), ["Animal Papers, a, b and 2 more"]),
        (PaperFilter(first_year=2020, last_year=2021), ["2020 to 2021"]),
        (PaperFilter(first_year=2021, last_year=2021), ["2021"]),
        (PaperFilter(first_year=2020), ["from 2020"]),
        (PaperFilter(last_year=2020), ["No paper meets all of this", "up to 2020"]),
        (PaperFilter(authors=frozenset({"muller"})), ["1 of 2 papers", "by muller"]),
        (PaperFilter(files=frozenset({"animals.txt"})), ["2 of 2 papers", "file animals.txt"]),
        (PaperFilter(ids=frozenset({OKAPI.id})), ["1 of 2 papers", "“Okapi”"]),
        (PaperFilter(ids=frozenset({OKAPI.id, GECKO.id})), ["2 of 2 papers", "2 chosen papers"]),
        (PaperFilter(ids=frozenset({"0" * 16})), ["No paper meets all of this", "1 chosen paper"]),
    ],
)
def test_active_filters_are_said_in_words_and_can_be_cleared(filter: PaperFilter, said: list[str]) -> None:
    page = Page(filter_chips_html(filter, [GECKO, OKAPI], len(filter.rows([GECKO, OKAPI]))))
    assert all(words in page.text for words in said)
    assert len(page.all(data_action="clear-filters")) == 1


def test_no_filter_says_nothing() -> None:
    assert filter_chips_html(PaperFilter(), [GECKO], 1) == ""


def test_every_text_exists_in_both_languages_with_the_same_blanks() -> None:
    for english, chinese in PAPERS_TEXTS.values():
        assert english
        assert chinese
        assert {
            blank for blank in ("total", "all", "page", "pages", "count", "first", "last", "files") if f"{{{blank}}}" in english
        } == {blank for blank in ("total", "all", "page", "pages", "count", "first", "last", "files") if f"{{{blank}}}" in chinese}


def test_a_page_in_chinese_leaves_the_papers_as_they_are() -> None:
    page = table([GECKO, OKAPI], language="zh")
    assert "共 2 篇论文" in page.text
    assert "Gecko" in page.text
    assert "就这篇论文提问" in paper_page(language="zh").text
