"""Tables: the delimiter and the encoding are found, a row that does not fit is reported."""

import pytest

from rag.errors import SourceUnreadableError
from rag.readers.records import Record, Remark
from tests.reading import readings, records


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str, ending: str) -> None:
    text = "Paper Title,Abstract,Authors,Year\nBees,We study bees.,Ada Lovelace,2018\n".replace(",", delimiter)
    assert records(text, f"a.{ending}") == [
        Record(abstract="We study bees.", position=1, line=2, title="Bees", authors=("Ada Lovelace",), year=2018)
    ]


def test_cells_may_hold_delimiters_quotation_marks_and_line_ends() -> None:
    text = 'title,abstract\r\n"Bees, and more","We ""study"" bees,\r\nand ants."\r\nAnts,We study ants.\r\n'
    assert [(record.title, record.abstract, record.line) for record in records(text, "a.csv")] == [
        ("Bees, and more", 'We "study" bees,\nand ants.', 2),
        ("Ants", "We study ants.", 4),
    ]


def test_a_row_that_does_not_fit_is_reported_and_costs_no_other() -> None:
    read = readings("title,abstract,year\nBees,We study bees.,2018\nAnts\nA,b,1,c\nCats,We study cats.,2019,,\n\n,,\n", "a.csv")
    assert [(type(one).__name__, one.position, one.line) for one in read] == [
        ("Record", 1, 2),
        ("Remark", 2, 3),
        ("Remark", 3, 4),
        ("Record", 4, 5),
    ]
    assert [one.reason for one in read if isinstance(one, Remark)] == [
        "1 cells under 3 columns. Mend the row.",
        "4 cells under 3 columns. Mend the row.",
    ]


def test_a_missing_quotation_mark_is_reported() -> None:
    rows = "".join(f"B{number},We study bee number {number}.\n" for number in range(9_000))
    read = readings(f'title,abstract\nAnts,"We study ants.\n{rows}', "a.csv")
    assert isinstance(read[0], Remark)
    assert "is a quotation mark missing?" in read[0].reason
    assert len(read) > 2_000  # beyond the longest cell, rows are read again


def test_lines_before_the_heading_are_skipped() -> None:
    assert [(record.abstract, record.line) for record in records("sep=;\n\ntitle;abstract\nBees;We study bees.\n", "a.csv")] == [
        ("We study bees.", 4)
    ]


@pytest.mark.parametrize("nothing", ["", "N/A", "nan", "null", "No abstract available.", "-"])
def test_what_only_says_that_there_is_none_is_no_abstract(nothing: str) -> None:
    assert [(record.title, record.abstract) for record in records(f"title,abstract\nBees,{nothing}\n", "a.csv")] == [("Bees", "")]


def test_a_table_without_abstracts_is_refused_with_the_columns_it_has() -> None:
    with pytest.raises(
        SourceUnreadableError, match=r"a\.csv, line 1: no column is named \"abstract\"; there are 'title', 'text'\."
    ):
        records("title,text\nBees,We study bees.\n", "a.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_are_read_without_a_remark(encoding: str) -> None:
    assert [record.abstract for record in records("title,abstract\nBees,Café bees.\n".encode(encoding), "a.csv")] == ["Café bees."]


def test_another_encoding_is_guessed_and_reported() -> None:
    text = "title,abstract\nBees,We count bees in cafés near Besançon.\nAnts,Les fourmis très âgées ont été étudiées à l’été.\n"
    remark, bees, ants = readings(text.encode("cp1252"), "a.csv")
    assert isinstance(remark, Remark)
    assert isinstance(bees, Record)
    assert isinstance(ants, Record)
    assert (remark.kind, remark.line, remark.position) == ("encoding", 2, 0)
    assert "cp1252" in remark.reason
    assert "cafés" in remark.reason
    assert bees.abstract == "We count bees in cafés near Besançon."
    assert ants.abstract == "Les fourmis très âgées ont été étudiées à l’été."
