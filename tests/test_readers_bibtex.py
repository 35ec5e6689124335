"""BibTeX as reference managers and publishers write it, dirt included."""

import pytest

from rag.readers.records import Record, Remark
from tests.reading import readings, records, remarks


def entry(**fields: str) -> str:
    return "@article{key,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}\n"


def test_an_entry_becomes_a_record_with_all_its_fields() -> None:
    text = entry(
        title="Bees",
        author="Lovelace, Ada and Alan Turing",
        year="2018",
        booktitle="Proceedings of Bees",
        abstract="We study bees.",
        url="https://example.org/a\\_b",
        doi="10.1000/xyz",
    )
    assert records(f"% exported\n\n{text}", "a.bib") == [
        Record(
            abstract="We study bees.",
            position=1,
            line=3,
            title="Bees",
            authors=("Ada Lovelace", "Alan Turing"),
            year=2018,
            venue="Proceedings of Bees",
            urls=("https://example.org/a_b", "https://doi.org/10.1000/xyz"),
            key="key",
        )
    ]


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        pytest.param(r"Erd{\H{o}}s and G{\"o}del", "Erdős and Gödel", id="accents in braces"),
        pytest.param(r"Fran\c{c}ois \'Etienne \'{e}", "François Étienne é", id="accents without"),
        pytest.param(r"Stra{\ss}e, \O re, {\aa}", "Straße, Øre, å", id="letters"),
        pytest.param("{BERT} and {GPT-2}", "BERT and GPT-2", id="grouping braces"),
        pytest.param(r"\emph{very} \textbf{good}", "very good", id="dress"),
        pytest.param(r"50\% of R\&D, a\_b", "50% of R&D, a_b", id="escapes"),
        pytest.param("{$D^2$: a title}", "$D^2$: a title", id="maths in a group"),
        pytest.param(r"rate $O(\sqrt{n}/{\epsilon}^{2})$", r"rate $O(\sqrt{n}/{\epsilon}^{2})$", id="maths"),
        pytest.param(r"it costs \$5", r"it costs \$5", id="dollar"),
        pytest.param("see Fig.~1 of~it", "see Fig. 1 of it", id="ties"),
        pytest.param("(~5 of $a~b$, http://a/~ada)", "(~5 of $a~b$, http://a/~ada)", id="no ties"),
        pytest.param("a < b and c > d", "a < b and c > d", id="signs"),
        pytest.param("<p>We study <i>bees</i> &amp; ants.</p>", "We study bees & ants.", id="markup"),
    ],
)
def test_latex_becomes_text_and_maths_stays(latex: str, text: str) -> None:
    assert [record.abstract for record in records(entry(title="T", abstract=latex), "a.bib")] == [text]


def test_macros_are_resolved_and_parts_joined() -> None:
    text = '@string{icml = "Conference on " # {Bees}}\n@misc{k, title="A {"}quoted{"} word", booktitle=icml, abstract={x} # { y}, year=2018}\n'
    (record,) = records(text, "a.bib")
    assert (record.venue, record.title, record.abstract, record.year) == ("Conference on Bees", 'A "quoted" word', "x y", 2018)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        pytest.param("@article{b,\n title = {B},\n abstract = {never\n\n", "it is never closed", id="unclosed"),
        pytest.param("@article{b,\n title = {B}\n abstract = {no comma},\n}\n", "no comma after its field 'title'", id="comma"),
    ],
)
def test_a_broken_entry_is_reported_with_its_line_and_costs_no_other(broken: str, complaint: str) -> None:
    text = f"{entry(title='A', abstract='We study ants.')}\n{broken}{entry(title='C', abstract='We study cats.')}"
    first, remark, last = readings(text, "a.bib")
    assert isinstance(first, Record)
    assert isinstance(last, Record)
    assert isinstance(remark, Remark)
    assert (first.title, last.title, last.position) == ("A", "C", 3)
    assert (remark.kind, remark.line, remark.position) == ("broken", 6, 2)
    assert complaint in remark.reason


def test_several_entries_on_one_line_are_all_read() -> None:
    text = "@misc{a, title={A}, abstract={x}} @misc{b, title={B}, abstract={y}}\n@misc{c, title={C}, abstract={z}}"
    assert [(record.key, record.position, record.line) for record in records(text, "a.bib")] == [
        ("a", 1, 1),
        ("b", 2, 1),
        ("c", 3, 2),
    ]


def test_a_field_given_twice_costs_nothing_and_the_first_counts() -> None:
    text = "@misc{a, title={A}, abstract={x}, keywords={k}, keywords={l}, abstract={z}}"
    assert [record.abstract for record in records(text, "a.bib")] == ["x"]


def test_entries_of_one_key_are_both_read() -> None:
    text = "@misc{a, title={A}, abstract={x}}\n@misc{a, title={B}, abstract={y}}"
    assert [(record.key, record.title) for record in records(text, "a.bib")] == [("a", "A"), ("a", "B")]


def test_comments_preambles_and_text_between_are_no_entries() -> None:
    text = 'Exported by hand\n@comment{x}\n@preamble{"\\newcommand{\\a}{b}"}\n@misc(a, title={A}, abstract={x})\nthe end }'
    assert [(record.key, record.position) for record in records(text, "a.bib")] == [("a", 1)]


def test_an_address_in_an_abstract_is_no_entry() -> None:
    assert [record.abstract for record in records(entry(title="A", abstract="mail me@bees{at}org"), "a.bib")] == [
        "mail me@beesatorg"
    ]


def test_a_body_as_author_is_not_turned_around_and_others_are_dropped() -> None:
    text = entry(title="A", abstract="x", author="{The Bee Team, Inc} and Knuth, Donald E. and King, Jr., Martin and others")
    assert records(text, "a.bib")[0].authors == ("The Bee Team, Inc", "Donald E. Knuth", "Martin King Jr.")


def test_an_entry_without_an_abstract_is_a_record_without_one() -> None:
    assert [(record.title, record.abstract) for record in records(entry(title="A"), "a.bib")] == [("A", "")]


def test_arxiv_numbers_are_addresses() -> None:
    text = entry(title="A", abstract="x", eprint="1706.03762", archiveprefix="arXiv")
    assert records(text, "a.bib")[0].urls == ("https://arxiv.org/abs/1706.03762",)


def test_a_block_without_an_end_is_not_held_in_memory() -> None:
    (remark,) = remarks("@misc{a, title={A}, abstract={" + "bees and ants\n" * 300_000, "a.bib")
    assert "far too long" in remark.reason
