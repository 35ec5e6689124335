"""A visitor's own collection: what is taken, what is refused, what is left behind, and adding to the shared one."""

import gzip
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import own_collection, uploaded
from rag.assistant import Assistant
from rag.errors import SourceError, SourceUnreadableError, StoreFullError
from rag.indexing import build_index
from rag.own_collection import OwnCollection, add_to_shared
from rag.sources import names_other_sources
from rag.uploaded import safe_name
from rag.web.uploads import report_html
from tests.conftest import HERON, OKAPI, ZEBRA, WordCountEmbedder
from tests.test_indexing import LYNX

OTTER = "Otters juggle stones. We count 7 stones per otter and hour with a camera."
ATTACK = "<img src=x onerror=alert(1)> We measure the wombat <script>alert(2)</script> at 40 km/h."


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made in this test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def own(small_assistant: Assistant, folders: Path) -> Iterator[OwnCollection]:
    collection = OwnCollection(small_assistant)
    yield collection
    collection.close()


def texts(assistant: Assistant | None) -> set[str]:
    assert assistant is not None
    return {paper.abstract for paper in assistant.papers}


def file(name: str, *abstracts: str) -> tuple[str, bytes]:
    return name, "\n\n".join(abstracts).encode()


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# --- asking -----------------------------------------------------------------------------------------------------------


def test_an_added_abstract_is_answered_from_and_the_shared_one_is_not(own: OwnCollection, small_assistant: Assistant) -> None:
    report = own.add([file("otters.txt", OTTER)])
    assert own.assistant is not None
    answer = own.assistant.ask("How many stones do otters juggle?")
    assert (report.papers, report.new, report.occurrences, report.unreadable) == (1, 1, 1, ())
    assert [citation.paper.abstract for citation in answer.citations][:1] == [OTTER]
    assert texts(small_assistant) == {ZEBRA, OKAPI, HERON}


def test_the_models_of_the_shared_assistant_are_used(own: OwnCollection, small_assistant: Assistant) -> None:
    own.add([file("otters.txt", OTTER)])
    assert own.assistant is not None
    assert own.assistant.embedder is small_assistant.embedder
    assert own.assistant._answerers is small_assistant._answerers


def test_adding_again_accumulates_and_encodes_only_what_is_new(own: OwnCollection, embedder: WordCountEmbedder) -> None:
    own.add([file("otters.txt", OTTER)])
    before, first = embedder.encoded, own.assistant
    report = own.add([file("lynx.txt", LYNX)])
    assert texts(own.assistant) == {OTTER, LYNX}
    assert own.assistant is first
    assert (report.papers, report.new, report.occurrences, embedder.encoded - before) == (2, 1, 1, 1)


def test_two_collections_see_nothing_of_each_other(own: OwnCollection, small_assistant: Assistant) -> None:
    other = OwnCollection(small_assistant)
    own.add([file("a.txt", OTTER)])
    other.add([file("a.txt", LYNX)])
    assert texts(own.assistant) == {OTTER}
    assert texts(other.assistant) == {LYNX}
    other.close()
    assert texts(own.assistant) == {OTTER}


def test_html_in_an_abstract_stays_text(own: OwnCollection) -> None:
    own.add([file("wombats.txt", ATTACK)])
    assert texts(own.assistant) == {ATTACK}


def test_progress_is_told(own: OwnCollection) -> None:
    told: list[tuple[int, int]] = []
    own.add([file("a.txt", OTTER, LYNX)], progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]


# --- names and repetitions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        pytest.param("icml.txt", "icml.txt", id="plain"),
        pytest.param("../../etc/passwd", "passwd", id="upwards"),
        pytest.param("C:\\Users\\me\\a.txt", "a.txt", id="windows"),
        pytest.param("/etc/cron.d/x.txt", "x.txt", id="absolute"),
        pytest.param("..", "abstracts.txt", id="parent"),
        pytest.param("", "abstracts.txt", id="empty"),
        pytest.param("   ", "abstracts.txt", id="spaces"),
        pytest.param(".hidden.txt", "hidden.txt", id="hidden"),
        pytest.param("a\0b\n\u202ec.txt", "abc.txt", id="unprintable"),
        pytest.param("a\udcff.txt", "a.txt", id="no text"),
        pytest.param("a#3.txt", "a_3.txt", id="number sign"),
        pytest.param("论文.txt", "论文.txt", id="chinese"),
        pytest.param("x" * 300 + ".txt", "x" * 116 + ".txt", id="long"),
        pytest.param("文" * 300 + ".txt", "文" * 38 + ".txt", id="long in bytes"),
        pytest.param("a." + "x" * 300, "a", id="long ending"),
    ],
)
def test_a_name_is_made_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.mark.parametrize("name", ["../../../tmp/evil.txt", "/evil.txt", "..", "", "x" * 300, "CON", "a/../../b.txt"])
def test_no_name_leads_out_of_the_folder(own: OwnCollection, folders: Path, tmp_path: Path, name: str) -> None:
    before = set(tmp_path.parent.rglob("*")) - set(folders.rglob("*"))
    own.add([(name, OTTER.encode())])
    assert texts(own.assistant) == {OTTER}
    assert set(tmp_path.parent.rglob("*")) - set(folders.rglob("*")) == before


def test_the_same_name_with_other_content_is_kept_beside_the_first(own: OwnCollection) -> None:
    own.add([file("a.txt", OTTER), file("a.txt", LYNX)])
    own.add([file("a.txt", HERON)])
    assert own.assistant is not None
    assert {paper.sources for paper in own.assistant.papers} == {("a.txt#1",), ("a (2).txt#1",), ("a (3).txt#1",)}


def test_a_file_added_twice_is_reported_as_repeated(own: OwnCollection) -> None:
    own.add([file("a.txt", OTTER)])
    report = own.add([file("a.txt", OTTER), file("b.txt", LYNX)])
    assert (report.papers, report.new, report.duplicates) == (2, 1, ("a.txt#1 = a.txt#1, added before",))
    again = own.add([file("a.txt", OTTER)])
    assert (again.papers, again.new, again.occurrences) == (2, 0, 1)


def test_merged_abstracts_are_named_once_and_not_again_at_the_next_upload(own: OwnCollection) -> None:
    report = own.add([file("a.txt", OTTER, OTTER, OTTER.replace(" ", "  "))])
    assert (report.occurrences, report.papers) == (3, 1)
    assert (report.duplicates, report.near_duplicates) == (("a.txt#2 = a.txt#1",), ("a.txt#3 = a.txt#1",))
    assert own.add([file("b.txt", LYNX)]).duplicates == ()


def test_content_decides_and_not_the_ending(own: OwnCollection) -> None:
    own.add([file("a.log", OTTER), file("noending", LYNX)])
    assert texts(own.assistant) == {OTTER, LYNX}


# --- nonsense ---------------------------------------------------------------------------------------------------------

BAD = [
    pytest.param(b"", "no abstract", id="empty"),
    pytest.param(b" \n\n \n", "no abstract", id="blank"),
    pytest.param(b"...\n\n---", "no abstract", id="no word"),
    pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0", "it is an image, no text", id="image"),
    pytest.param(b"owls\0\1", "not a text file", id="binary"),
    pytest.param("Café owls hoot.".encode("latin-1"), "not UTF-8", id="latin-1"),
    pytest.param("Owls hoot.".encode("utf-16-le"), "not a text file", id="utf-16 without its mark"),
    pytest.param(b"word " * 1_000_001, "more than 5 MB", id="large"),
    pytest.param(b"word " * 10_000, "characters", id="one endless abstract"),
]


@pytest.mark.parametrize(("content", "reason"), BAD)
def test_a_bad_file_is_named_and_costs_no_other(own: OwnCollection, content: bytes, reason: str) -> None:
    report = own.add([("bad.txt", content), file("good.txt", OTTER)])
    assert texts(own.assistant) == {OTTER}
    assert [reason in message and message.startswith("bad.txt") for message in report.unreadable] == [True]
    assert own.add([file("later.txt", LYNX)]).unreadable == ()


@pytest.mark.parametrize(("content", "reason"), BAD)
def test_bad_files_alone_change_nothing(own: OwnCollection, folders: Path, content: bytes, reason: str) -> None:
    with pytest.raises(SourceUnreadableError, match=reason):
        own.add([("bad.bin", content)])
    assert own.assistant is None
    assert files_in(folders) == []


def test_no_file_is_refused(own: OwnCollection) -> None:
    with pytest.raises(SourceError, match="No file was given"):
        own.add([])


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_FILES", 2, "3 files are too many"),
        ("MOST_BYTES", 100, "Give at most 0.0001 MB"),
        ("MOST_PAPERS", 2, "3 papers, and it may have 2"),
        ("MOST_ABSTRACTS", 2, "hold 3 abstracts"),
        ("_MOST_FILES_KEPT", 2, "more than 2 files"),
    ],
)
def test_a_passed_limit_is_said_and_changes_nothing(
    own: OwnCollection, folders: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
) -> None:
    monkeypatch.setattr(uploaded, limit, value)
    with pytest.raises(SourceError, match=message):
        own.add([file("a.txt", OTTER), file("b.txt", LYNX), file("c.txt", HERON)])
    assert files_in(folders) == []


@pytest.mark.parametrize(("limit", "value"), [("MOST_PAPERS", 1), ("MOST_BYTES", 100), ("_MOST_FILES_KEPT", 1)])
def test_a_limit_counts_what_was_added_before(own: OwnCollection, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    own.add([file("a.txt", OTTER)])
    monkeypatch.setattr(uploaded, limit, value)
    with pytest.raises(SourceError, match="With these the collection would"):
        own.add([file("b.txt", LYNX)])
    assert texts(own.assistant) == {OTTER}


def test_very_many_tiny_paragraphs_are_refused_before_they_are_read(own: OwnCollection) -> None:
    with pytest.raises(SourceError, match="abstracts"):
        own.add([("tiny.txt", b"a\n\n" * 1_500_000)])


def test_a_failing_index_takes_the_files_back(own: OwnCollection, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreFullError("full")

    with monkeypatch.context() as patched:
        patched.setattr(own_collection, "build_index", fail)
        with pytest.raises(StoreFullError):
            own.add([file("a.txt", OTTER)])
    assert files_in(folders) == []
    own.add([file("b.txt", LYNX)])
    assert texts(own.assistant) == {LYNX}


def test_a_full_disk_is_named(own: OwnCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreFullError):
        own.add([file("a.txt", OTTER)])


# --- the end ----------------------------------------------------------------------------------------------------------


def test_the_folder_is_for_its_owner_only(own: OwnCollection, folders: Path) -> None:
    own.add([file("a.txt", OTTER)])
    assert [path.stat().st_mode & 0o777 for path in folders.iterdir()] == [0o700]


def test_closing_leaves_nothing_and_refuses_more(own: OwnCollection, folders: Path) -> None:
    own.add([file("a.txt", OTTER)])
    assert own.assistant is not None
    own.assistant.ask("How many stones?")
    own.close()
    own.close()
    assert own.assistant is None
    assert list(folders.iterdir()) == []
    with pytest.raises(SourceError, match="was deleted"):
        own.add([file("a.txt", OTTER)])


def test_a_forgotten_collection_leaves_nothing(small_assistant: Assistant, folders: Path) -> None:
    OwnCollection(small_assistant).add([file("a.txt", OTTER)])
    assert list(folders.iterdir()) == []


def test_closing_ends_an_upload_under_way(own: OwnCollection, folders: Path) -> None:
    closing = threading.Thread(target=own.close)

    def close(done: int, of: int) -> None:
        if done == 1:
            closing.start()
            own._closed.wait(10)

    with pytest.raises(SourceError, match="was deleted"):
        own.add([file("a.txt", OTTER, LYNX, HERON)], progress=close)
    closing.join(10)
    assert list(folders.iterdir()) == []


ENDING = """
import sys, time, pathlib, tempfile
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.own_collection import OwnCollection
from rag.settings import Settings
from tests.conftest import OKAPI, ZEBRA, WordCountEmbedder
from vectorstore.generations import GenerationFolder
place = pathlib.Path(sys.argv[1])
(place / "a.txt").write_text(ZEBRA)
settings, embedder = Settings(store=str(place / "store"), sources=(str(place / "a.txt"),)), WordCountEmbedder()
build_index(settings, embedder)
shared = Assistant(settings, embedder, PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())
own = OwnCollection(shared)
own.add([("b.txt", OKAPI.encode())])
print("added", flush=True)
if sys.argv[2] == "wait":
    time.sleep(60)
"""


@pytest.mark.parametrize(("how", "left"), [("exit", 0), ("wait", 1)])
def test_a_process_that_ends_leaves_nothing_and_a_killed_one_a_temporary_folder(tmp_path: Path, how: str, left: int) -> None:
    place, temporary = tmp_path / "place", tmp_path / "temporary"
    place.mkdir()
    temporary.mkdir()
    command = [sys.executable, "-c", ENDING, str(place), how]
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=root, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"added\n"
        if how == "wait":
            process.send_signal(signal.SIGKILL)
        process.wait(30)
    assert len([path for path in temporary.iterdir() if path.name.startswith("askabstracts-own-")]) == left
    assert {path.name for path in place.iterdir()} == {"a.txt", "store"}


# --- the shared collection --------------------------------------------------------------------------------------------


def test_files_added_to_the_shared_collection_are_seen_by_the_running_assistant(small_assistant: Assistant) -> None:
    folder = small_assistant.settings.uploads_folder
    report = add_to_shared(small_assistant, [file("otters.txt", OTTER), ("bad.txt", b"\0")], folder)
    assert texts(small_assistant) == {ZEBRA, OKAPI, HERON, OTTER}
    assert (report.papers, report.new, report.occurrences, len(report.unreadable)) == (4, 1, 1, 1)
    assert [citation.paper.abstract for citation in small_assistant.ask("How many stones do otters juggle?").citations][:1] == [
        OTTER
    ]
    assert add_to_shared(small_assistant, [file("otters.txt", LYNX)], folder).papers == 5
    assert files_in(folder) == ["otters (2).txt", "otters.txt"]


def test_an_abstract_that_the_shared_collection_has_is_merged_and_named(small_assistant: Assistant) -> None:
    report = add_to_shared(small_assistant, [file("again.txt", ZEBRA)], small_assistant.settings.uploads_folder)
    assert (report.papers, report.new, report.duplicates) == (3, 0, ("again.txt#1 = animals.txt#1",))


def test_a_collection_without_sources_takes_nothing(
    small_assistant: Assistant, embedder: WordCountEmbedder, tmp_path: Path
) -> None:
    from rag.indexing import publish_papers

    publish_papers(small_assistant.settings, embedder, small_assistant.papers)
    with pytest.raises(SourceError, match="not made from files"):
        add_to_shared(small_assistant, [file("a.txt", OTTER)], small_assistant.settings.uploads_folder)
    assert texts(small_assistant) == {ZEBRA, OKAPI, HERON}


def test_what_was_added_stays_when_the_next_start_names_the_sources_again(
    small_assistant: Assistant, embedder: WordCountEmbedder
) -> None:
    add_to_shared(small_assistant, [file("otters.txt", OTTER)], small_assistant.settings.uploads_folder)
    assert not names_other_sources(small_assistant.index.sources, small_assistant.settings)
    build_index(small_assistant.settings, embedder)  # the settings name the folder of animals, as an operator's environment does
    assert texts(small_assistant) == {ZEBRA, OKAPI, HERON, OTTER}


def test_every_abstract_that_was_read_is_new_or_merged(own: OwnCollection) -> None:
    three = (LYNX, HERON, OTTER)
    uploads = [
        [file("own.txt", *three, *three)],
        [file("a.txt", *three)],
        [file("own.txt", *three, *three)],
        [file("b.txt", *three)] * 2,
    ]
    reports = [own.add(upload) for upload in uploads]
    counts = [(report.occurrences, report.new, len(report.duplicates)) for report in reports]
    assert counts == [(6, 3, 3), (3, 0, 3), (6, 0, 6), (6, 0, 6)]
    assert reports[1].duplicates[0] == "a.txt#1 = own.txt#1"


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("Buy milk and eggs.", "it has 4 words"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 lynx", "it has 1 word"),
        ("<div class='nav'><a href='/home'>home</a><a href='/about'>about us</a></div>", "it is mostly markup"),
        (LYNX, ""),
        ("我们研究山猫在雪地里的行走速度,并与兔子比较。", ""),
    ],
    ids=["a note", "numbers", "a web page", "an abstract", "Chinese"],
)
def test_what_is_perhaps_no_abstract_is_taken_and_told(own: OwnCollection, text: str, doubt: str) -> None:
    report = own.add([file("a.txt", OTTER, text)])
    assert report.papers == 2
    assert report.doubtful == ((f"a.txt#2: {doubt}",) if doubt else ())
    assert ("perhaps no abstract" in report_html(report, mode="session")) == bool(doubt)


BIBTEX = f"@misc{{otter, title={{Stones}}, author={{Lovelace, Ada}}, year={{2018}}, abstract={{{OTTER}}}}}\n@misc{{torn, abstract={{never\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.bib", BIBTEX.encode()), ("a.dat", BIBTEX.encode()), ("a.bib.gz", gzip.compress(BIBTEX.encode()))],
    ids=["plain", "by its content", "gzipped"],
)
def test_another_format_is_read_with_all_it_says(own: OwnCollection, name: str, content: bytes) -> None:
    report = own.add([(name, content)])
    assert own.assistant is not None
    (paper,) = own.assistant.papers
    assert (paper.title, paper.authors, paper.year, paper.abstract) == ("Stones", ("Ada Lovelace",), 2018, OTTER)
    (left_out,) = report.unreadable
    assert "#2, line 2: no BibTeX entry (it is never closed)" in left_out


def test_limits_are_those_of_what_a_packed_file_holds(own: OwnCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(f"{OTTER}\n\n".encode() * 1_000)
    monkeypatch.setattr("rag.uploaded.LARGEST_FILE_BYTES", 10_000)
    with pytest.raises(SourceError, match=r"it holds more than 0\.01 MB"):
        own.add([("a.txt.gz", packed)])
    monkeypatch.setattr("rag.uploaded.MOST_BYTES", 10_000)
    with pytest.raises(SourceError, match="The files hold"):
        own.add([("a.txt.gz", packed), ("b.txt.gz", packed)])
    with pytest.raises(SourceError, match="gzipped twice"):
        own.add([("a.txt.gz", gzip.compress(packed))])


def test_half_a_pair_in_json_is_indexed_and_answered_from(own: OwnCollection) -> None:
    own.add(
        [
            (
                "a.json",
                b'[{"title": "Stones \\ud800", "authors": ["\\ud800"], "abstract": "Otters juggle stones \\ud800 in each river that we saw."}]',
            )
        ]
    )
    assert own.assistant is not None
    assert own.assistant.search("What do otters juggle?")[0].paper.title == "Stones ?"
