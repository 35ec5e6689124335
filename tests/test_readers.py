"""All formats through one door: what decides the format, what is refused, and what no file can do."""

import gzip
import json
import sqlite3
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.errors import SourceError, SourceUnreadableError
from rag.papers import read_collection
from rag.readers.formats import read_records
from rag.readers.markup import without_markup
from rag.readers.records import Record, Remark
from tests.reading import readings, records

REAL = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "real"
SAMPLES = {
    "a.txt": "We study bees.\n\nWe study ants.\n",
    "a.md": "# Bees\n\nWe study bees.\n",
    "a.jsonl": '{"title": "Bees", "abstract": "We study bees."}\n{"title": "Ants", "abstract": "We study ants."}\n',
    "a.json": '[{"title": "Bees", "abstract": "We study bees."}]',
    "a.csv": "title,abstract\nBees,We study bees.\n",
    "a.tsv": "title\tabstract\nBees\tWe study bees.\n",
    "a.bib": "@misc{a, title={Bees}, abstract={We study bees.}}\n",
    "a.ris": "TY  - JOUR\nTI  - Bees\nAB  - We study bees.\nER  -\n",
    "a.nbib": "PMID- 1\nTI  - Bees\nAB  - We study bees.\n",
    "a.xml": "<PubmedArticleSet><PubmedArticle><ArticleTitle>Bees</ArticleTitle><Abstract><AbstractText>We study bees.</AbstractText>"
    "</Abstract></PubmedArticle></PubmedArticleSet>",
    "a.atom": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Bees</title><summary>We study bees.</summary></entry></feed>',
}


def real(name: str) -> Path:
    if not (REAL / name).exists():
        pytest.skip(f"{REAL / name} is not there: the real files are not part of the repository")
    return REAL / name


@pytest.mark.parametrize("name", SAMPLES)
def test_any_format_is_read_plain_and_gzipped(name: str) -> None:
    plain = records(SAMPLES[name], name)
    assert plain[0].abstract == "We study bees."
    assert records(gzip.compress(SAMPLES[name].encode()), f"{name}.gz") == plain
    assert records(gzip.compress(SAMPLES[name].encode()), name) == plain


@pytest.mark.parametrize("ending", ["", ".dat", ".TXT", ".bib", ".csv", ".ris", ".nbib"])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("a.txt", "a.md")])
def test_content_decides_against_a_lying_ending(name: str, ending: str) -> None:
    assert records(SAMPLES[name], f"a{ending}")[0].title == "Bees"


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("change", ["mark", "crlf", "cr", "utf-16"])
def test_marks_and_line_ends_change_nothing(name: str, change: str) -> None:
    text = SAMPLES[name]
    content = {
        "mark": text.encode("utf-8-sig"),
        "crlf": text.replace("\n", "\r\n").encode(),
        "cr": text.replace("\n", "\r").encode(),
        "utf-16": text.encode("utf-16"),
    }[change]
    assert [(one.title, one.abstract) for one in records(content, name)] == [
        (one.title, one.abstract) for one in records(text, name)
    ]


def test_a_folder_is_read_by_its_endings_and_a_pattern_by_what_it_matches(tmp_path: Path) -> None:
    for name, content in SAMPLES.items():
        (tmp_path / name).write_text(content.replace("bees", f"bees of {name}"), encoding="utf-8")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"title,abstract\nCats,We study cats.\n"))
    (tmp_path / "notes.log").write_text("no abstract", encoding="utf-8")
    (tmp_path / ".hidden.txt").write_text("no abstract", encoding="utf-8")
    whole = read_collection([str(tmp_path)])
    assert {source.partition("#")[0] for paper in whole.papers for source in paper.sources} == {*SAMPLES, "a.csv.gz"}
    assert whole.findings == ()
    assert [paper.sources for paper in read_collection([str(tmp_path / "*.bib"), str(tmp_path / "a.r?s")]).papers] == [
        ("a.bib#1",),
        ("a.ris#1",),
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<jats:title>Abstract</jats:title><jats:p>We study <jats:italic>bees</jats:italic>.</jats:p>", "We study bees."),
        ("<jats:sec><jats:title>Methods:</jats:title><jats:p>We count.</jats:p></jats:sec>", "Methods: We count."),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("CO<sub>2</sub> &amp; H<sub>2</sub>O &lt; 5 &#8211; caf&eacute;", "CO2 & H2O < 5 – café"),
        ("x &amp;lt; y", "x < y"),
        ("a < b and c > d", "a < b and c > d"),
        ("if a<b and p>q, i<j, x <y> z", "if a<b and p>q, i<j, x <y> z"),
        ('<p class="x" id=y>We<br/>study <b >bees</b >.</p >', "We study bees."),
        ("if a <b and c> d, x <p and q> r", "if a <b and c> d, x <p and q> r"),
        ("List<int> and AT&T; R&D", "List<int> and AT&T; R&D"),
        ("<!-- no --> We <!-- study", "We <!-- study"),
        ("<jats:alternatives><jats:tex-math>$x$</jats:tex-math><mml:math><mml:mi>x</mml:mi></mml:math></jats:alternatives>", "$x$"),
    ],
)
def test_markup_vanishes_and_signs_stay(markup: str, text: str) -> None:
    assert " ".join(without_markup(markup).split()) == text


@pytest.mark.parametrize(
    "hostile",
    [
        "<!--",
        "<alternatives>",
        "<alternatives><tex-math>",
        "<title> ",
        "<title>" + " " * 2_000,
        "<p a ",
        "<p a=",
        "&amp;",
        "&",
        "<",
        "<![CDATA[",
    ],
)
def test_time_on_hostile_markup_grows_with_its_length(hostile: str) -> None:
    begun = time.process_time()
    without_markup(hostile * (1_000_000 // len(hostile)))
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("@a{" + " " * 200_000, id="blanks in an entry"),
        pytest.param("% " * 100_000, id="percent signs"),
        pytest.param("<feed " * 50_000, id="feeds"),
        pytest.param("<" * 300_000, id="angles"),
        pytest.param("@misc{a, abstract={" + "{" * 200_000, id="open braces"),
        pytest.param("@misc{a, abstract={" + "{" * 100_000 + "}" * 100_000 + "}}", id="deep braces"),
        pytest.param("@misc{a, abstract={" + "\\a[" * 100_000 + "}}", id="options"),
        pytest.param("@misc{a, abstract={" + "$x" * 100_001 + "}}", id="dollars"),
        pytest.param("@misc{a, author={" + "A and " * 50_000 + "}}", id="authors"),
        pytest.param("title,abstract\n" + '"' * 300_001, id="quotation marks"),
        pytest.param("title,abstract" + "," * 300_000 + "\nx,y", id="columns"),
        pytest.param("TY  - JOUR\n" + "AB  - x\n" * 50_000, id="ris"),
        pytest.param("PMID- 1\nAB  - x\n" + "      y\n" * 100_000, id="nbib"),
        pytest.param("word " * 2_000_000, id="10 MB in one line"),
        pytest.param('{"title": "a", "abstract": "' + "word " * 2_000_000 + '"}', id="10 MB in one field"),
        pytest.param("@misc{a, abstract={" + "word " * 2_000_000 + "}}", id="10 MB in one entry"),
    ],
)
def test_no_file_takes_long(hostile: str) -> None:
    begun = time.process_time()
    with suppress(SourceUnreadableError):
        readings(hostile, "a.dat")
    assert time.process_time() - begun < 8


def _zip(name: str) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "bees")
    return packed.getvalue()


def _sqlite() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table bees (abstract)")
        content = connection.serialize()
    connection.close()
    return content


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        pytest.param(lambda: b"%PDF-1.7\n\xe2", "it is a PDF, no text", id="pdf"),
        pytest.param(lambda: b"\x89PNG\r\n\x1a\n\0", "it is an image, no text", id="png"),
        pytest.param(_sqlite, "it is an SQLite database, no text", id="sqlite"),
        pytest.param(lambda: _zip("a.txt"), "it is a zip archive, no text", id="zip"),
        pytest.param(lambda: _zip("word/document.xml"), "it is a Word document, no text", id="docx"),
        pytest.param(lambda: gzip.compress(gzip.compress(b"bees")), "it is gzipped twice", id="gzip in gzip"),
        pytest.param(lambda: gzip.compress(b"We study bees. " * 999)[:-20], "the gzip archive is torn", id="torn gzip"),
        pytest.param(lambda: gzip.compress(b"We study bees.")[:5], "the gzip archive is torn", id="beginning of a gzip"),
        pytest.param(lambda: gzip.compress(b"a" * 60_000_000), "it unpacks to more than 50 MB", id="gzip bomb"),
        pytest.param(lambda: b"We study\0 bees.", "not a text file .it holds zero bytes", id="zero byte"),
        pytest.param(
            lambda: '{"abstract": "bees"}'.encode("utf-16-le"), "not a text file .it holds zero bytes", id="unmarked utf-16"
        ),
        pytest.param(lambda: b"\xff\xfeW\0e\0\x00\xd8", "not utf-16, though the file says so", id="torn utf-16"),
    ],
)
def test_what_is_no_text_is_refused_with_one_message(make: Callable[[], bytes], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(make())
    (tmp_path / "b.txt").write_text("We study bees.", encoding="utf-8")
    begun = time.monotonic()
    collection = read_collection([str(tmp_path)])
    assert time.monotonic() - begun < 5
    assert [paper.abstract for paper in collection.papers] == ["We study bees."]
    (message,) = collection.unreadable
    assert message.startswith("a.txt")
    assert complaint.replace(".it", "(it") in message


PIECES = st.sampled_from(
    [b"@article{a,", b"title={", b"}", b"{", b'"', b",", b"\n", b"\r", b"TY  - JOUR\n", b"AB  - ", b"ER  - \n", b"PMID- 1\n", b"[", b"]", b":", b"NaN",
     b'{"title":', b'{"abstract":"x"}', b'"\\ud800"', b"title,abstract\n", b"\t", b"<feed xmlns='http://www.w3.org/2005/Atom'>", b"<entry>", b"</entry>",
     b"<PubmedArticleSet>", b"<PubmedArticle>", b"<?xml version='1.0' encoding='latin-1'?>", b"&a;", b"#", b"\\", b"$", b"\xff\xfe", b"\xe9", b"\x00",
     b"\x1f\x8b\x08", b"PK\x03\x04", b"year", b"={2018}", b"1e999", b"-", b"# Bees\n", b"99999999999999999999", b"\xef\xbb\xbf"]
)  # fmt: skip
ENDINGS = st.sampled_from(["txt", "md", "json", "jsonl", "csv", "tsv", "bib", "ris", "nbib", "xml", "atom", "txt.gz"])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=st.binary(max_size=300) | st.lists(PIECES, max_size=25).map(b"".join), ending=ENDINGS, is_packed=st.booleans())
def test_no_bytes_raise_anything_but_a_source_error(content: bytes, ending: str, is_packed: bool, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(gzip.compress(content, 1) if is_packed else content)
    try:
        for one in read_records(path, name=path.name):
            json.dumps(str(one), ensure_ascii=False).encode("utf-8")
    except SourceError as error:
        assert str(error).startswith(path.name)  # noqa: PT017  # most bytes are no error
    read_collection([str(path)])


def _lines(number: int) -> str:
    return json.dumps({"title": f"Bees {number}", "abstract": f"We study {number} bees. " * 40, "authors": ["Ada Lovelace"]})


ABSTRACT = "We study bees. " * 60
LARGE: dict[str, Callable[[], str]] = {
    "a.jsonl": lambda: "".join(f"{_lines(number)}\n" for number in range(20_000)),
    "a.json": lambda: '{"data": [' + ",\n".join(_lines(number) for number in range(20_000)) + "]}",
    "b.json": lambda: "[" + ", ".join(_lines(number) for number in range(20_000)) + "]",
    "a.csv": lambda: "title,abstract\n" + "".join(f'Bees {number},"{ABSTRACT}"\n' for number in range(20_000)),
    "a.bib": lambda: "".join(f"@misc{{a{number}, title={{Bees}}, abstract={{{ABSTRACT}}}}}\n" for number in range(4_000)),
    "a.txt": lambda: "".join(f"{number} {ABSTRACT}\n\n" for number in range(20_000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_memory_stays_flat(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(LARGE[name](), encoding="utf-8")
    count = sum(1 for _ in read_records(path, name=name))  # whatever is loaded once is loaded
    tracemalloc.start()
    again = sum(1 for _ in read_records(path, name=name))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == again >= 4_000
    assert peak < 4_000_000


def test_the_real_bibtex_of_icml_2018() -> None:
    name = "icml2018-part.bib"
    read = list(read_records(real(name), name=name))
    broken = [one for one in read if isinstance(one, Remark)]
    kept = [one for one in read if isinstance(one, Record)]
    assert (len(kept), sum(bool(one.abstract) for one in kept)) == (113, 113)
    assert [(one.position, one.line) for one in broken] == [
        (1, 1), (17, 256), (26, 399), (39, 606), (54, 845), (110, 1740), (111, 1755)
    ]  # fmt: skip
    assert {(one.year, one.venue) for one in kept} == {
        (2018, "Proceedings of the 35th International Conference on Machine Learning")
    }
    assert all(one.title and one.authors and len(one.urls) == 2 and one.key for one in kept)


def test_the_real_list_of_iclr_2018() -> None:
    name = "iclr2018-part.json"
    read = list(read_records(real(name), name=name))
    kept = [one for one in read if isinstance(one, Record)]
    assert len(read) == len(kept) == 150
    assert all(one.title and one.abstract and one.authors and one.key for one in kept)
    assert sum(one.urls[0].startswith("https://openreview.net/") for one in kept) == 93
    assert sum(one.urls[0].startswith("https://iclr.cc/") for one in kept) == 57
    assert {(one.year, one.venue) for one in kept} == {(None, "")}  # its records name neither
    assert kept[55].authors == ("Sahil Sharma", "Ashutosh Kumar Jha", "Parikshit S Hegde", "Balaraman Ravindran")
