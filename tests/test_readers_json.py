"""JSON Lines, and JSON as search services, conferences and reference managers export it."""

import json

import pytest

from rag.errors import SourceUnreadableError
from rag.readers.records import Record, Remark
from tests.reading import readings, records

BEES = {"title": "Bees", "abstract": "We study bees."}
ANTS = {"title": "Ants", "abstract": "We study ants."}


def read(value: object) -> list[Record]:
    return records(json.dumps(value), "a.json")


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "json", "txt"])
def test_json_lines_are_an_object_a_line(ending: str) -> None:
    text = f"{json.dumps({**BEES, 'authors': ['Ada Lovelace'], 'year': 2018, 'venue': 'ICML', 'url': 'https://a.org'})}\n\n{json.dumps(ANTS)}\n"
    assert records(text, f"a.{ending}") == [
        Record(
            abstract="We study bees.",
            position=1,
            line=1,
            title="Bees",
            authors=("Ada Lovelace",),
            year=2018,
            venue="ICML",
            urls=("https://a.org",),
        ),
        Record(abstract="We study ants.", position=2, line=3, title="Ants"),
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        pytest.param('{"title": "Bees", "abs', "no JSON", id="torn"),
        pytest.param("[1, 2]", "no object with a title or an abstract", id="list"),
        pytest.param('{"name": "Ada"}', "no object with a title or an abstract", id="something else"),
        pytest.param('{"abstract": ' + "[" * 100_000 + "}", "nested too deeply", id="deep"),
        pytest.param('{"title": "Bees", "year": ' + "1" * 5_000 + "}", "a number too long", id="number"),
    ],
)
def test_a_broken_line_is_reported_and_costs_no_other(line: str, complaint: str) -> None:
    first, remark, last = readings(f"{json.dumps(BEES)}\n{line}\n{json.dumps(ANTS)}", "a.jsonl")
    assert isinstance(first, Record)
    assert isinstance(last, Record)
    assert isinstance(remark, Remark)
    assert (remark.kind, remark.line, remark.position, last.position) == ("broken", 2, 2, 3)
    assert complaint in remark.reason


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([BEES, ANTS], id="list"),
        pytest.param({"papers": [BEES, ANTS]}, id="under a name"),
        pytest.param(
            {"title": "My papers", "description": "All of them.", "papers": [BEES, ANTS]}, id="under a name, with a title"
        ),
        pytest.param({"status": "ok", "message": {"total": 2, "items": [BEES, ANTS]}}, id="two names deep, as Crossref answers"),
        pytest.param({"a1": BEES, "a2": ANTS}, id="by key"),
        pytest.param({"pages": [[BEES], [ANTS]]}, id="lists of lists"),
    ],
)
def test_papers_are_found_wherever_they_are(value: object) -> None:
    assert [(record.title, record.abstract) for record in read(value)] == [("Bees", "We study bees."), ("Ants", "We study ants.")]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(BEES, id="alone"),
        pytest.param({"message": BEES}, id="under a name"),
        pytest.param({**BEES, "journal": {"title": "Insects"}, "references": [{"title": "Ants"}]}, id="with references"),
        pytest.param({"journal": {"title": "Insects"}, "references": [{"name": "x"}], **BEES}, id="its own fields last"),
        pytest.param([{"references": [ANTS], **BEES}], id="in a list"),
    ],
)
def test_one_paper_is_one_record(value: object) -> None:
    assert [(record.title, record.abstract) for record in read(value)] == [("Bees", "We study bees.")]


def test_values_one_after_the_other_are_read_like_a_list() -> None:
    text = "\n".join(json.dumps(paper, indent=1) for paper in (BEES, ANTS))
    assert [(record.title, record.position, record.line) for record in records(text, "a.json")] == [("Bees", 1, 1), ("Ants", 2, 5)]


def test_the_year_is_that_of_the_venue_rather_than_of_the_submission() -> None:
    (record,) = read([{**BEES, "venue": "ICLR 2018 Poster", "cdate": 1509114000000}])
    assert record.year == 2018


def test_lines_and_positions_are_told() -> None:
    found = records(json.dumps([BEES, ANTS], indent=1), "a.json")
    assert [(record.position, record.line) for record in found] == [(1, 2), (2, 6)]


def test_an_object_among_papers_that_is_none_is_reported() -> None:
    first, remark, last = readings(json.dumps([BEES, {"x": 1}, ANTS]), "a.json")
    assert isinstance(remark, Remark)
    assert (remark.kind, remark.position, first.position, last.position) == ("broken", 2, 1, 3)


def test_paper_copilot() -> None:
    (record,) = read([{"id": "B11", "title": "Bees", "track": "main", "status": "Poster", "abstract": "We study bees.", "author": "Mo Yu;Bo Li",
                       "site": "https://openreview.net/forum?id=B11", "github": "", "bibtex": ""}])  # fmt: skip
    assert (record.authors, record.urls, record.key) == (("Mo Yu", "Bo Li"), ("https://openreview.net/forum?id=B11",), "B11")
    assert (record.year, record.venue) == (None, "")  # such lists do not say


def test_semantic_scholar() -> None:
    paper = {"paperId": "f00", "title": "Bees", "abstract": None, "tldr": {"model": "v2", "text": "Bees fly."}, "year": 2018, "venue": "",
             "journal": {"name": "Insects"}, "authors": [{"authorId": "1", "name": "Ada Lovelace"}],
             "externalIds": {"ArXiv": "1706.1", "DOI": "10.1000/x", "CorpusId": 3}, "openAccessPdf": {"url": "https://a.org/p.pdf"}}  # fmt: skip
    (record,) = read({"total": 1, "data": [paper]})
    assert (record.abstract, record.venue, record.authors, record.year) == ("Bees fly.", "Insects", ("Ada Lovelace",), 2018)
    assert record.urls == ("https://arxiv.org/abs/1706.1", "https://doi.org/10.1000/x", "https://a.org/p.pdf")


def test_openalex_with_its_inverted_abstract() -> None:
    work = {"id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/x", "display_name": "Bees", "publication_year": 2018,
            "primary_location": {"landing_page_url": "https://a.org", "source": {"display_name": "Insects"}},
            "authorships": [{"author": {"id": "A1", "display_name": "Ada Lovelace"}, "institutions": []}],
            "concepts": [{"display_name": "Bee"}], "abstract_inverted_index": {"bees": [2, 4], "We": [0], "study": [1], "and": [3]}}  # fmt: skip
    (record,) = read({"meta": {"count": 1}, "results": [work]})
    assert record.abstract == "We study bees and bees"
    assert (record.title, record.venue, record.authors, record.year) == ("Bees", "Insects", ("Ada Lovelace",), 2018)
    assert record.urls == ("https://doi.org/10.1000/x",)


def test_a_place_without_a_name_is_no_venue() -> None:
    (record,) = read([{**BEES, "primary_location": {"landing_page_url": "https://a.org", "source": None}}])
    assert record.venue == ""


def test_openreview_of_both_generations() -> None:
    old = {
        "id": "B1aaaaaa",
        "forum": "B1aaaaaa",
        "cdate": 1514764800000,
        "content": {"title": "Bees", "abstract": "We study bees.", "authors": ["Ada Lovelace"]},
    }
    new = {"id": "C2bbbbbb", "forum": "C2bbbbbb", "content": {"title": {"value": "Ants"}, "abstract": {"value": "We study ants."},
           "authors": {"value": ["Alan Turing"]}, "venue": {"value": "ICLR 2024"}, "pdf": {"value": "/pdf/c.pdf"}}}  # fmt: skip
    first, second = read({"notes": [old, new], "count": 2})
    assert (first.title, first.year, first.authors, first.urls) == (
        "Bees",
        2018,
        ("Ada Lovelace",),
        ("https://openreview.net/forum?id=B1aaaaaa",),
    )
    assert (second.abstract, second.venue, second.authors) == ("We study ants.", "ICLR 2024", ("Alan Turing",))
    assert second.urls == ("https://openreview.net/forum?id=C2bbbbbb", "https://openreview.net/pdf/c.pdf")
    assert [(record.title, record.urls) for record in read(old)] == [("Bees", ("https://openreview.net/forum?id=B1aaaaaa",))]


def test_csl_json_of_zotero() -> None:
    item = {"id": "lovelace2018", "type": "article", "title": "Bees", "abstract": "<jats:p>We study bees.</jats:p>",
            "container-title": "Insects", "author": [{"family": "Lovelace", "given": "Ada"}, {"literal": "Bee Team, The"}],
            "issued": {"date-parts": [[2018, 5]]}, "DOI": "10.1000/x"}  # fmt: skip
    assert read([item]) == [
        Record(
            abstract="We study bees.",
            position=1,
            line=1,
            title="Bees",
            authors=("Ada Lovelace", "Bee Team, The"),
            year=2018,
            venue="Insects",
            urls=("https://doi.org/10.1000/x",),
            key="lovelace2018",
        )
    ]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("Ada Lovelace, Alan Turing", ("Ada Lovelace", "Alan Turing")),
        ("Lovelace, Ada and Turing, Alan", ("Ada Lovelace", "Alan Turing")),
        ("Lovelace, A., Turing, A.M.", ("A. Lovelace", "A.M. Turing")),
        ("Ada Lovelace; Alan Turing; et al.", ("Ada Lovelace", "Alan Turing")),
        (["Jos&eacute; Dom&#237;nguez"], ("José Domínguez",)),
        ([{"first": "Ada", "middle": [], "last": "Lovelace"}], ("Ada Lovelace",)),
        (None, ()),
        (7, ()),
    ],
)
def test_authors_in_any_form(given: object, names: tuple[str, ...]) -> None:
    assert read([{**BEES, "authors": given}])[0].authors == names


@pytest.mark.parametrize(
    ("given", "year"),
    [
        (2018, 2018),
        ("2018-05-01", 2018),
        ("May 2018", 2018),
        (1514764800000, 2018),
        ("n.d.", None),
        (0, None),
        (True, None),
        (20180, None),
    ],
)
def test_years_in_any_form(given: object, year: int | None) -> None:
    assert read([{**BEES, "year": given}])[0].year == year


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_half_a_pair_becomes_a_question_mark_in_every_field(ending: str) -> None:
    half = '"\\ud800 x"'
    fields = ", ".join(f'"{name}": {half}' for name in ("title", "abstract", "venue", "authors", "id"))
    text = f'{{{fields}, "url": "https://a.org/\\ud800"}}'
    (record,) = records(f"[{text}]" if ending == "json" else text, f"a.{ending}")
    for value in (record.title, record.abstract, record.venue, *record.authors, *record.urls, record.key):
        assert value.encode("utf-8")
    assert record.abstract.endswith("x")


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_deep_field_is_no_danger(ending: str) -> None:
    deep = "[" * 90 + "]" * 90 if ending == "json" else "[" * 900 + "]" * 900
    fields = ", ".join(f'"{name}": {deep}' for name in ("year", "url", "venue", "authors", "id"))
    text = f'{{"title": "Bees", "abstract": "We study bees.", {fields}}}'
    assert [record.abstract for record in records(f"[{text}]" if ending == "json" else text, f"a.{ending}")] == ["We study bees."]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param('[{"title": "A", "abstract": "x"},\n{"title": "B"', r"a\.json, line 2: no JSON", id="torn"),
        pytest.param('[{"title": "A", "year": NaN}]', "Write null for NaN", id="NaN"),
        pytest.param('{"a": 1}', "there is no list of papers in it", id="none"),
        pytest.param("[]", "there is no list of papers in it", id="empty list"),
        pytest.param("", "no JSON", id="empty file"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
        pytest.param('[{"a":' * 5_000, "nested too deeply", id="deep objects"),
        pytest.param('[{"title": "A", "abstract": "x", "year": ' + "1" * 5_000 + "}]", "integer overflow", id="number"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(SourceUnreadableError, match=complaint):
        records(text, "a.json")
