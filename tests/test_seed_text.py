import time

import pytest

from rag.errors import SourceUnreadableError
from rag.readers.records import Record
from tests.reading import records

BEES = "We study bees."
ANTS = "We study ants."


def read(text: str) -> list[Record]:
    return records(text, "insects.txt")


def test_records_know_their_place_and_line() -> None:
    records = read(f"ICML 2024 Papers\n\n{BEES}\n\n\n{ANTS}\n")
    assert records == [
        Record(abstract=BEES, position=1, line=3, venue="ICML", year=2024),
        Record(abstract=ANTS, position=2, line=6, venue="ICML", year=2024),
    ]


def test_header_may_be_missing() -> None:
    assert read(f"{BEES}\n\n{ANTS}") == [Record(abstract=BEES, position=1, line=1), Record(abstract=ANTS, position=2, line=3)]


@pytest.mark.parametrize(
    ("header", "venue", "year"),
    [
        ("ICML 2024 Papers", "ICML", 2024),
        ("ICML 2024 论文列表", "ICML", 2024),
        ("Papers of ICLR 2021", "ICLR", 2021),
        ("ACL Findings 1999", "ACL Findings", 1999),
        pytest.param("NeurIPS Datasets and Benchmarks 2023", "NeurIPS Datasets and Benchmarks", 2023),
        pytest.param("ICML 2024年论文列表", "ICML", 2024),
    ],
)
def test_venue_and_year_come_from_the_header(header: str, venue: str, year: int | None) -> None:
    assert read(f"{header}\n\n{BEES}") == [Record(abstract=BEES, position=1, line=3, venue=venue, year=year)]


@pytest.mark.parametrize("ending", [".", "!", "?", ";", ","])
def test_first_block_that_reads_like_a_sentence_is_no_header(ending: str) -> None:
    assert [record.abstract for record in read(f"We saw bees in 2024{ending}\n\n{ANTS}")] == [f"We saw bees in 2024{ending}", ANTS]


def test_long_first_block_is_no_header() -> None:
    assert [record.position for record in read(f"{'We study bees ' * 20}\n\n{ANTS}")] == [1, 2]


def test_year_inside_an_abstract_is_not_the_year_of_the_paper() -> None:
    assert [record.year for record in read("We won at ICML 2024 with bees.\n\nWe lost at ICLR 2021.")] == [None, None]


@pytest.mark.parametrize("blank", ["\n\n", "\n \t\n", "\n\n\n\n", "\r\n\r\n", "\r\r", "\n\u00a0\n"])
def test_any_blank_line_parts_abstracts(blank: str) -> None:
    assert [record.abstract for record in read(f"{BEES}{blank}{ANTS}{blank}")] == [BEES, ANTS]


def test_abstract_over_several_lines_is_one_record() -> None:
    assert [record.abstract for record in read("We study\nbees.\n\nWe study\r\nants.")] == ["We study\nbees.", "We study\nants."]


def test_rulers_are_no_abstracts() -> None:
    assert [(record.abstract, record.position) for record in read(f"{BEES}\n\n-----\n\n***\n\n{ANTS}")] == [(BEES, 1), (ANTS, 2)]


def test_mark_at_the_beginning_belongs_to_no_text() -> None:
    assert read(f"\ufeffICML 2024 Papers\n\n{BEES}") == [Record(abstract=BEES, position=1, line=3, venue="ICML", year=2024)]


@pytest.mark.parametrize("content", ["", "\n\n", " \t\n", "\ufeff", "ICML 2024 Papers\n", "---"])
def test_file_without_abstracts_gives_no_records(content: str) -> None:
    assert read(content) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param("Bees.\n\nCaf\xe9s.".encode("latin-1"), r"insects\.txt, line 3: not UTF-8 \(byte 0xe9\).*iconv", id="latin-1"),
        pytest.param(b"Bees.\n\nAnts.\n\0", r"insects\.txt, line 4: not a text file", id="zero byte"),
        pytest.param("Bees.".encode("utf-16-le"), r"insects\.txt, line 1: not a text file", id="utf-16 without its mark"),
        pytest.param(b"%PDF-1.7\n\xe2\xe3", r"insects\.txt: it is a PDF, no text\. Export", id="PDF"),
        pytest.param("Bées.".encode()[:2], r"insects\.txt, line 1: not UTF-8", id="torn character"),
    ],
)
def test_content_that_is_no_text_is_refused_with_file_and_line(content: bytes, complaint: str) -> None:
    with pytest.raises(SourceUnreadableError, match=complaint):
        records(content, "insects.txt")


def test_a_short_first_line_before_real_abstracts_is_a_header() -> None:
    abstract = (
        "We study how bees find their way home from far away, over hills and rivers and through rain, and what they remember of it."
    )
    assert [record.abstract for record in read(f"My favourite papers\n\n{abstract}\n\n{abstract} Twice.")] == [
        abstract,
        f"{abstract} Twice.",
    ]


def test_a_short_first_abstract_is_not_lost_as_a_header() -> None:
    assert [record.abstract for record in read("Deep learning for bees\n\nWe count bees.")] == [
        "Deep learning for bees",
        "We count bees.",
    ]


def test_a_markdown_heading_is_the_title_of_the_abstract_under_it() -> None:
    text = f"# ICML 2024 Papers\n\n## Bees\n\n{BEES}\n\n## Ants ##\n{ANTS}\n\nWe study wasps."
    assert [(record.title, record.abstract, record.venue) for record in read(text)] == [
        ("Bees", BEES, "ICML"),
        ("Ants", ANTS, "ICML"),
        ("", "We study wasps.", "ICML"),
    ]


def test_time_grows_with_the_length_of_a_file_and_not_with_its_square() -> None:
    begun = time.process_time()
    last = read(f"{BEES}\n\n" * 50_000)[-1]
    assert (last.position, last.line) == (50_000, 99_999)
    assert time.process_time() - begun < 5  # counting the lines before each abstract took minutes
