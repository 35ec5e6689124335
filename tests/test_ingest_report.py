"""The ingest report: every planted fault is counted and no sound abstract is accused; a strict run indexes only what is faultless."""

import json
import os
import time
from pathlib import Path

import pytest

from rag import near_duplicates
from rag.__main__ import main
from rag.findings import KINDS
from rag.ingest_report import Fault, ingest_report
from rag.near_duplicates import almost_alike
from rag.papers import Collection, read_collection
from rag.text_faults import broken_latex, cut_off, leftover_html, wrongly_decoded
from tests.conftest import HERON, OKAPI, SEEDS, ZEBRA, WordCountEmbedder

PLANTED = Path(__file__).parent / "data" / "planted.jsonl"
PLANTED_PLACES = {
    "broken": (53, 54),
    "encoding": (48, 49),
    "missing": (34, 35, 36),
    "key": (46, 47),
    "repeated": (30, 31, 32),
    "respelled": (33,),
    "similar": (27, 28, 29),
    "truncated": (17, 18, 19, 20, 21),
    "latex": (37, 38, 39),
    "markup": (40, 41),
    "language": (50, 51, 52),
}
DONE, ERROR, FAULTS = 0, 1, 4


@pytest.fixture(autouse=True)
def _legible_embedder_and_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("ASKABSTRACTS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setattr("rag.commands.make_embedder", lambda *_, **__: WordCountEmbedder())


@pytest.fixture
def faultless(tmp_path: Path) -> Path:
    """A file in which nothing is wrong."""
    (tmp_path / "faultless.txt").write_text("\n\n".join((ZEBRA, OKAPI, HERON)), encoding="utf-8")
    return tmp_path / "faultless.txt"


def counts(faults: tuple[Fault, ...]) -> dict[str, int]:
    return {fault.kind: fault.count for fault in faults}


def report_of(*files: Path) -> tuple[Fault, ...]:
    return ingest_report(read_collection([str(file) for file in files]))


# --- the planted faults -------------------------------------------------------------------------------------------------


def test_every_planted_fault_is_counted_and_no_other() -> None:
    assert len(PLANTED.read_text(encoding="utf-8").splitlines()) == 60
    assert counts(report_of(PLANTED)) == {kind: len(places) for kind, places in PLANTED_PLACES.items()}


def test_every_planted_fault_is_named_with_its_place() -> None:
    for fault in report_of(PLANTED):
        places = [f"planted.jsonl#{number}, line {number}: " for number in PLANTED_PLACES[fault.kind]]
        assert all(told.startswith(place) for told, place in zip(fault.first, places, strict=True)), fault


def test_kinds_come_in_a_fixed_order_with_name_and_remedy() -> None:
    faults = report_of(PLANTED)
    assert [fault.kind for fault in faults] == [kind for kind in KINDS if kind in PLANTED_PLACES]
    assert all((fault.name, fault.remedy) == KINDS[fault.kind] for fault in faults)


def test_files_that_cannot_be_read_and_files_in_another_encoding_are_counted(tmp_path: Path, faultless: Path) -> None:
    (tmp_path / "zeros.txt").write_bytes(b"\0\0\0\0")
    french = "La méthode proposée améliore la qualité des modèles entraînés où les données sont bruitées et très hétérogènes."
    (tmp_path / "latin.txt").write_bytes("\n\n".join(f"{french} Étape {number}." for number in range(5)).encode("cp1252"))
    faults = {fault.kind: fault for fault in report_of(tmp_path)}
    assert (faults["unreadable"].count, faults["encoding"].count) == (1, 1)
    assert faults["unreadable"].first[0].startswith("zeros.txt: ")
    assert faults["encoding"].first[0].startswith("latin.txt, line 1: not UTF-8; read as cp1252")


def test_only_the_first_five_places_are_named(tmp_path: Path) -> None:
    (tmp_path / "same.txt").write_text("\n\n".join([ZEBRA] * 9), encoding="utf-8")
    (fault,) = report_of(tmp_path)
    assert (fault.kind, fault.count, len(fault.first)) == ("repeated", 8, 5)
    assert fault.first[0] == "same.txt#2, line 3: as same.txt#1"


def test_of_the_seeds_only_the_ten_repetitions_are_reported() -> None:
    """They are true: ten abstracts stand in two of the files, word for word."""
    assert counts(report_of(SEEDS)) == {"repeated": 10}


def test_nothing_is_wrong_with_nothing() -> None:
    assert ingest_report(Collection((), occurrences=0)) == ()


# --- single checks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "It is done.", "It is done", "Is it done?", "See https://example.org/a", "The code is at github.com/a/b", "The error is $O(n)$", "(It is done.)",
        "the data that we train on", "做完了。", "", "It holds for n = 3", "GPT-4", "state of the art", "made by the WHO",
        "a human being", "1 MPa or more",
    ],
)  # fmt: skip
def test_a_text_that_may_be_whole_is_not_cut_off(text: str) -> None:
    assert cut_off(text) == ""


@pytest.mark.parametrize(
    "text", ["It is done...", "It is done…", "It is [...]", "We show the", "Cheap, quick,", "It is (", "a self-", "which is"]
)
def test_a_text_that_breaks_off_is_cut_off(text: str) -> None:
    assert cut_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5.", "$5 million", "from $3 to $4.50, or $9k", "US$ 40 and 30$ a day", "300$CAD", "$x$ and $y$ for $5",
        "\\$ is a dollar", "$31,325$ questions",
        "a {set} of", "$\\{ x$", "$$\\frac{a}{b}$$", "\\begin{a} x \\end{a}", "A$ 3", "the set {1, 2",
    ],
)  # fmt: skip
def test_money_and_balanced_latex_are_left_alone(text: str) -> None:
    assert broken_latex(text) == ""


@pytest.mark.parametrize("text", ["of depth $d of", "the size k$ of", "$x^{2$", "$x}$", "\\begin{a} x", "costs $5 for $x"])
def test_unbalanced_latex_is_told(text: str) -> None:
    assert broken_latex(text)


@pytest.mark.parametrize("text", ["a < b and c > d", "$a <b> c$", "R&D; AT&T", "<unk> is a token", "i <3 you"])
def test_signs_that_only_look_like_html_are_left_alone(text: str) -> None:
    assert leftover_html(text) == ""


@pytest.mark.parametrize("text", ["<p>Bees.</p>", "bees &amp; wasps", "<jats:italic>Apis", "x&lt;y", "H<sub>2</sub>O"])
def test_leftover_html_is_told(text: str) -> None:
    assert leftover_html(text)


@pytest.mark.parametrize("text", ["naïve Schrödinger", "Ã is a letter", "Étude à Â", "π ≈ 3", "“quoted” – so", "SÃO PAULO", "中文"])
def test_accents_and_signs_are_well_decoded(text: str) -> None:
    assert wrongly_decoded(text) == ""


@pytest.mark.parametrize("word", ["naïve", "“quoted”", "Schrödinger", "360°", "it’s"])
def test_utf8_that_was_read_as_windows_is_told(word: str) -> None:
    wrong = word.encode("utf-8").decode("cp1252", "replace")
    assert wrongly_decoded(f"This is {wrong} here.")


def test_the_language_of_most_is_the_usual_one_and_short_texts_have_none(tmp_path: Path) -> None:
    german = json.loads(PLANTED.read_text(encoding="utf-8").splitlines()[49])["abstract"]
    others = [
        german.replace("von Seen", "von Flüssen und Bächen"),
        german.replace("der Wind", "der Regen"),
        "A short one in English.",
    ]
    english = "We study how the wind warms the lakes of a plateau over a year, and we show that it matters more than the sun does."
    (tmp_path / "a.txt").write_text("\n\n".join([german, *others, english]), encoding="utf-8")
    told = {fault.kind: fault.first for fault in report_of(tmp_path)}
    assert told["language"] == ("a.txt#5, line 9: English, most are German",)


# --- near-duplicates ----------------------------------------------------------------------------------------------------


def test_texts_almost_alike_are_found_and_texts_less_alike_are_not() -> None:
    words = [f"word{number}" for number in range(100)]
    texts = [" ".join(words)]
    texts += [
        " ".join(f"new{at}" if number % (100 // changed) == 0 else word for number, word in enumerate(words))
        for at, changed in enumerate((2, 20))
    ]
    assert [(later, earlier, round(similarity, 2)) for later, earlier, similarity in almost_alike(texts)] == [(1, 0, 0.92)]


def test_case_and_signs_make_no_difference_and_short_texts_are_compared_whole() -> None:
    assert almost_alike(["Bees vote: we count.", "bees vote, we COUNT", "Bees", "bees", "wasps", ""]) == [(1, 0, 1.0), (3, 2, 1.0)]


def test_many_copies_of_one_text_take_time_linear_in_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    jaccard = near_duplicates._jaccard

    def counted(one: frozenset[str], other: frozenset[str]) -> float:
        nonlocal compared
        compared += 1
        return jaccard(one, other)

    monkeypatch.setattr(near_duplicates, "_jaccard", counted)
    texts = [f"{ZEBRA} Version {number}." for number in range(500)]
    found = almost_alike(texts)
    assert {later for later, _, _ in found} == set(range(1, 500))
    assert compared < 64 * len(texts)  # two a band at most


# --- the command line ---------------------------------------------------------------------------------------------------


def test_the_report_is_a_table_and_the_index_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    store = str(tmp_path / "store")
    assert main(["index", str(PLANTED), "--store", store, "--report"]) == DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "5 abstracts that seem to be cut off planted.jsonl#17, line 17" in text
    assert "Replace them by the whole text." in text
    assert "51 papers from 55 abstracts" in text
    assert main(["papers", "--store", store]) == DONE


def test_a_strict_run_prints_the_faults_exits_with_4_and_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    store = str(tmp_path / "store")
    assert main(["index", str(PLANTED), "--store", store, "--strict"]) == FAULTS
    captured = capsys.readouterr()
    assert "planted.jsonl#27, line 27: 89 % as planted.jsonl#26, line 26" in captured.out
    assert captured.err.startswith(
        "Error: Nothing was indexed, and the index stays as it was, because of what the report shows: 2 broken"
    )
    assert "without --strict" in captured.err
    assert main(["papers", "--store", store]) == ERROR


def test_a_strict_run_that_fails_leaves_the_index_as_it_was(
    tmp_path: Path, faultless: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert main(["index", str(faultless), "--store", store, "--strict"]) == DONE
    assert "Nothing is wrong with the abstracts" in capsys.readouterr().out
    assert main(["index", str(PLANTED), "--store", store, "--strict", "--rebuild"]) == FAULTS
    capsys.readouterr()
    assert main(["papers", "--store", store, "--json"]) == DONE
    assert [paper["abstract"] for paper in json.loads(capsys.readouterr().out)] == [ZEBRA, OKAPI, HERON]


@pytest.mark.parametrize(("options", "code"), [(["--report"], DONE), (["--strict"], FAULTS)], ids=["report", "strict"])
def test_the_report_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int) -> None:
    assert main(["index", str(PLANTED), "--store", str(tmp_path / "store"), "--json", *options]) == code
    report = json.loads(capsys.readouterr().out)
    assert {one["kind"]: one["count"] for one in report["ingest"]} == {kind: len(places) for kind, places in PLANTED_PLACES.items()}
    assert all(set(one) == {"kind", "name", "count", "first", "remedy"} for one in report["ingest"])
    assert ("papers" in report) == (code == DONE)


@pytest.mark.parametrize(("options", "code"), [(["--report"], DONE), (["--strict"], FAULTS)], ids=["report", "strict"])
def test_the_seeds_are_indexed_with_a_report_and_not_strictly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int
) -> None:
    assert main(["index", str(SEEDS), "--store", str(tmp_path / "store"), "--json", *options]) == code
    assert [(one["kind"], one["count"]) for one in json.loads(capsys.readouterr().out)["ingest"]] == [("repeated", 10)]


def test_a_strict_run_on_nothing_but_unreadable_files_exits_with_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "zeros.txt").write_bytes(b"\0\0")
    assert main(["index", str(tmp_path / "zeros.txt"), "--store", str(tmp_path / "store"), "--strict"]) == FAULTS
    assert "1 files that cannot be read" in capsys.readouterr().err


def test_without_the_option_nothing_is_compared(faultless: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.commands.ingest_report", lambda _: pytest.fail("not asked for"))
    assert main(["index", str(faultless), "--store", str(tmp_path / "store")]) == DONE


# --- reading as a stream ------------------------------------------------------------------------------------------------


def test_a_file_that_is_given_up_half_way_leaves_nothing_behind(tmp_path: Path, faultless: Path) -> None:
    entries = "".join(
        f"<entry><title>{text[:9]}</title><summary>{text}</summary></entry>" for text in (ZEBRA, "We study moss.", "", OKAPI, ZEBRA)
    )
    (tmp_path / "torn.atom").write_text(f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}<entry>', encoding="utf-8")
    collection = read_collection([str(tmp_path)])
    assert [paper.sources for paper in collection.papers] == [("faultless.txt#1",), ("faultless.txt#2",), ("faultless.txt#3",)]
    assert (collection.occurrences, collection.duplicates, set(collection.lines)) == (
        3,
        (),
        {f"faultless.txt#{n}" for n in (1, 2, 3)},
    )
    assert [finding.kind for finding in collection.findings] == ["unreadable"]


@pytest.mark.slow
def test_a_hundred_thousand_abstracts_are_compared_in_two_minutes() -> None:
    started = time.monotonic()
    texts = [" ".join(f"w{(number * 7919 + place * place) % 50_021}" for place in range(160)) for number in range(20_000)]
    assert almost_alike(texts) == []
    assert 5 * (time.monotonic() - started) < 120
