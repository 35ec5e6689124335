"""Several collections in one store: made, listed, asked, renamed and deleted, whole or not at all."""

import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag import Assistant, PaperFilter, Settings
from rag.__main__ import main
from rag.errors import (
    AskAbstractsError,
    CollectionError,
    IndexMissingError,
    PassportMismatchError,
    SettingsError,
    StoreBusyError,
    StoreDamagedError,
)
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.library import Library
from rag.named_collections import collection_names, delete_collection, describe_collection, rename_collection
from rag.own_collection import add_to_shared
from rag.web.api import Programs
from rag.web.asking import Asking, Wish
from rag.web.keeping import Conversations, as_kept, from_kept
from tests.conftest import HERON, ZEBRA, WordCountEmbedder
from vectorstore.generations import GenerationFolder

DONE, ERROR, USAGE, NOT_ANSWERED = 0, 1, 2, 3
MOSS = "Moss grows on stones. We measure the growth of moss with a camera and find 3 mm a year."


@pytest.fixture(autouse=True)
def _legible_embedder_and_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("ASKABSTRACTS_")]:
        monkeypatch.delenv(variable)
    for place in ("rag.assistant.make_embedder", "rag.commands.make_embedder"):
        monkeypatch.setattr(place, lambda *_, **__: WordCountEmbedder())


@pytest.fixture
def moss(settings: Settings, small_assistant: Assistant, tmp_path: Path) -> Settings:
    """A second collection, "moss", in the store of the small one."""
    (tmp_path / "moss.txt").write_text(f"Plant Papers 2022\n\n{MOSS}\n", encoding="utf-8")
    named = replace(settings, collection="moss", sources=(str(tmp_path / "moss.txt"),))
    build_index(named, small_assistant.embedder)
    return replace(named, sources=())


def abstracts(settings: Settings) -> list[str]:
    return [paper.abstract for paper in PaperIndex.open(GenerationFolder(settings.store_folder).current()).papers]


# --- which there are --------------------------------------------------------------------------------------------------


def test_an_empty_store_has_no_collection(tmp_path: Path) -> None:
    assert collection_names(Settings(store=str(tmp_path / "store"))) == ()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert collection_names(Settings(store=str(tmp_path / "file"))) == ()


def test_collections_are_named_and_stand_beside_the_default_one(moss: Settings) -> None:
    assert collection_names(moss) == ("", "moss")
    assert abstracts(moss) == [MOSS]
    assert MOSS not in abstracts(replace(moss, collection=""))


def test_what_is_no_collection_is_not_listed(moss: Settings) -> None:
    for name in ("unfinished", "NOT-A-NAME", ".deleted-x", "nul"):
        (moss.collections_folder / name).mkdir()
    (moss.collections_folder / "a-file").write_text("x", encoding="utf-8")
    assert collection_names(moss) == ("", "moss")


def test_a_collection_is_described(moss: Settings) -> None:
    facts = describe_collection(moss)
    assert (facts.name, facts.papers, facts.first_year, facts.last_year) == ("moss", 1, 2022, 2022)
    assert (facts.venues, facts.files, facts.embedder) == ({"Plant Papers": 1}, {"moss.txt": 1}, "word counts")
    assert facts.published.endswith("+00:00")
    everything = describe_collection(replace(moss, collection=""))
    assert (everything.name, everything.papers) == ("default", 3)
    in_store = sum(path.stat().st_size for path in moss.store_root.rglob("*") if path.is_file())
    assert 0 < facts.bytes_on_disk < everything.bytes_on_disk + facts.bytes_on_disk <= in_store


# --- unknown ones -----------------------------------------------------------------------------------------------------


def test_an_unknown_collection_is_refused_with_those_that_there_are(moss: Settings) -> None:
    unknown = replace(moss, collection="mos")
    for use in (Assistant.open, describe_collection, delete_collection, lambda it: rename_collection(it, "other")):
        with pytest.raises(CollectionError, match=r"no collection 'mos'. There are: default, moss. .* index --collection mos PATH"):
            use(unknown)
    assert not unknown.store_folder.exists()


def test_a_missing_collection_is_made_of_the_sources_given_and_of_nothing_else(moss: Settings, tmp_path: Path) -> None:
    assistant = Assistant.open(replace(moss, collection="more", sources=(str(tmp_path / "moss.txt"),)))
    assert [paper.abstract for paper in assistant.papers] == [MOSS]
    assert collection_names(moss) == ("", "more", "moss")


# --- deleting and renaming --------------------------------------------------------------------------------------------


def test_a_deleted_collection_is_gone_and_the_others_stay(moss: Settings) -> None:
    delete_collection(moss)
    assert collection_names(moss) == ("",)
    assert not list(moss.collections_folder.glob("*moss*"))
    assert not list(moss.collections_folder.glob(".deleted*"))
    assert ZEBRA in abstracts(replace(moss, collection=""))


def test_a_deletion_that_was_killed_leaves_no_half_collection_and_is_finished_by_the_next(
    moss: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            delete_collection(moss)
    assert collection_names(moss) == ("",)
    assert list(moss.collections_folder.glob(".deleted-*"))
    build_index(replace(moss, sources=(str(tmp_path / "moss.txt"),)), WordCountEmbedder())
    delete_collection(moss)
    assert not list(moss.collections_folder.glob(".deleted-*"))


def test_what_an_unfinished_indexing_left_can_be_deleted(moss: Settings) -> None:
    unfinished = replace(moss, collection="unfinished")
    (unfinished.store_folder / "pending").mkdir(parents=True)
    delete_collection(unfinished)
    assert not unfinished.store_folder.exists()


def test_a_collection_that_is_being_written_is_neither_deleted_nor_renamed(moss: Settings) -> None:
    with GenerationFolder(moss.store_folder).writing(timeout_seconds=0):
        with pytest.raises(StoreBusyError):
            delete_collection(moss)
        with pytest.raises(StoreBusyError):
            rename_collection(moss, "lichen")
    assert collection_names(moss) == ("", "moss")


def test_the_default_collection_can_be_neither_deleted_nor_renamed(moss: Settings) -> None:
    for change in (delete_collection, lambda it: rename_collection(it, "lichen")):
        with pytest.raises(CollectionError, match="default collection is the store itself"):
            change(replace(moss, collection=""))


def test_a_renamed_collection_is_the_same_under_another_name(moss: Settings) -> None:
    rename_collection(moss, "lichen")
    assert collection_names(moss) == ("", "lichen")
    assert abstracts(replace(moss, collection="lichen")) == [MOSS]
    assert [paper.abstract for paper in Assistant.open(replace(moss, collection="lichen")).papers] == [MOSS]


@pytest.mark.parametrize(("name", "told"), [("moss", "is taken"), ("default", "is taken"), ("", "is taken"), ("taken", "is taken")])
def test_a_taken_name_is_refused(moss: Settings, name: str, told: str) -> None:
    (moss.collections_folder / "taken").mkdir()
    with pytest.raises(CollectionError, match=told):
        rename_collection(moss, name)
    assert collection_names(moss) == ("", "moss")


def test_a_name_that_is_none_is_refused(moss: Settings) -> None:
    with pytest.raises(SettingsError, match=r"'\.\./moss'"):
        rename_collection(moss, "../moss")


def test_what_visitors_added_goes_with_a_renamed_collection(moss: Settings, small_assistant: Assistant) -> None:
    assistant = Library(small_assistant).assistant("moss")
    add_to_shared(assistant, [("heron.txt", HERON.encode())], moss.uploads_folder)
    rename_collection(moss, "lichen")
    lichen = replace(moss, collection="lichen")
    report = build_index(lichen, small_assistant.embedder)
    assert (report.papers, report.encoded, report.unchanged) == (2, 0, 2)
    assert str(lichen.uploads_folder) in PaperIndex.open(GenerationFolder(lichen.store_folder).current()).sources.named


# --- a library of assistants ------------------------------------------------------------------------------------------


def test_a_library_opens_each_collection_once_with_the_same_embedder(moss: Settings, small_assistant: Assistant) -> None:
    library = Library(small_assistant)
    assert library.names == ("", "moss")
    assert library.assistant() is library.assistant("default") is small_assistant
    opened = library.assistant("moss")
    assert opened is library.assistant("moss")
    assert opened.embedder is small_assistant.embedder
    answer = opened.ask("How much does moss grow a year?", papers=PaperFilter(venues=frozenset({"plant papers"})))
    assert (answer.status, answer.collection) == ("answered", "moss")


def test_who_was_started_for_one_named_collection_offers_it_alone(moss: Settings, small_assistant: Assistant) -> None:
    library = Library(Library(small_assistant).assistant("moss"))
    assert library.names == ("moss",)
    assert library.assistant("moss") is library.assistant() is library.first
    with pytest.raises(CollectionError, match=r"no collection 'default'. There are: moss"):
        library.assistant("default")


@pytest.mark.parametrize("name", ["lichen", "../moss", "MOSS", ".", "x" * 500, "moss/../moss"])
def test_a_library_has_nothing_but_the_collections(moss: Settings, small_assistant: Assistant, name: str) -> None:
    with pytest.raises(CollectionError, match="There are: default, moss"):
        Library(small_assistant).assistant(name)


def test_a_collection_that_was_deleted_is_not_offered_any_more(moss: Settings, small_assistant: Assistant) -> None:
    library = Library(small_assistant)
    held = library.assistant("moss")
    delete_collection(moss)
    assert library.names == ("",)
    with pytest.raises(CollectionError, match="no collection 'moss'"):
        library.assistant("moss")
    with pytest.raises(IndexMissingError):
        held.ask("How much does moss grow?")


def test_a_collection_of_another_embedder_is_refused(moss: Settings, small_assistant: Assistant, tmp_path: Path) -> None:
    build_index(replace(moss, collection="other", sources=(str(tmp_path / "moss.txt"),)), WordCountEmbedder("others"))
    with pytest.raises(PassportMismatchError):
        Library(small_assistant).assistant("other")


def test_turns_answered_from_another_collection_are_no_history(moss: Settings, small_assistant: Assistant) -> None:
    library, conversations = Library(small_assistant), Conversations()
    for question, name in (("What is Zebra?", ""), ("How fast is it?", "moss"), ("How fast is it?", "")):
        *_, last = Asking().ask(Wish(question), conversations, "visit", library.assistant(name))
        assert last.finished is not None
        conversations = conversations.with_finished(last.finished)
    assert [answer.standalone_question for answer in conversations.open.answers] == [
        "What is Zebra?",
        "How fast is it?",
        "Zebra: How fast is it?",
    ]


def test_kept_answers_are_checked_against_their_own_collection(moss: Settings, small_assistant: Assistant) -> None:
    library = Library(small_assistant)
    conversations = Conversations()
    *_, last = Asking().ask(Wish("How much does moss grow a year?"), conversations, "visit", library.assistant("moss"))
    assert last.finished is not None
    kept, _ = as_kept(conversations.with_finished(last.finished))
    [answer] = from_kept(kept, lambda name: library.assistant(name).index).open.answers
    assert (answer.collection, len(answer.citations) > 0) == ("moss", True)
    [lost] = from_kept(kept, lambda _: None).open.answers
    assert (lost.citations, lost.hits, lost.text) == ((), (), "")


# --- programs ---------------------------------------------------------------------------------------------------------


def test_programs_choose_a_collection_and_narrow_it(moss: Settings, small_assistant: Assistant) -> None:
    programs = Programs(Library(small_assistant), 2)
    assert programs.ask("How much does moss grow a year?", collection="moss")["collection"] == "moss"
    assert programs.ask("What is Zebra?", collection="default")["status"] == programs.ask("What is Zebra?")["status"] == "answered"
    assert [hit["title"] for hit in programs.search("moss", collection="moss")] == [
        programs.papers(collection="moss")["papers"][0]["title"]
    ]
    assert programs.search("moss", where=["year<2000"]) == []
    assert programs.papers(where=["venue=animal papers", "title~okapi"])["total"] == 1
    assert programs.papers(where=["year!=2021"]) == {"total": 0, "papers": []}
    assert programs.ask("What is Zebra?", where=["year=2021"], first_year=2022)["hits"] == []
    told = programs.ask("What is Zebra?", where=["venue=Animals"])["notices"]
    assert told[0] == "No paper has the venue Animals. There are: Animal Papers (3)."


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"collection": "lichen"}, "no collection 'lichen'"),
        ({"collection": 5}, "collection must be text"),
        ({"where": "year=2020"}, "where must be a list"),
        ({"where": [5]}, "where must be text"),
        ({"where": ["year=2020"] * 51}, "at most 50 conditions"),
        ({"where": ["year"]}, "'year' is no condition"),
    ],
)
def test_a_program_is_told_what_is_wrong(moss: Settings, small_assistant: Assistant, given: dict[str, Any], told: str) -> None:
    programs = Programs(Library(small_assistant), 2)
    for call in (
        lambda: programs.ask("What is Zebra?", **given),
        lambda: programs.search("zebra", **given),
        lambda: programs.papers(**given),
    ):
        with pytest.raises(AskAbstractsError, match=told):
            call()


# --- the command line -------------------------------------------------------------------------------------------------


def run(arguments: str, settings: Settings, *more: str) -> int:
    return main([*arguments.split(), *more, "--store", settings.store])


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_every_command_takes_a_collection(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("index --collection moss", moss) == DONE
    assert run("ask --collection moss", moss, "How much does moss grow a year?") == DONE
    assert run("search moss --collection moss", moss) == DONE
    assert run("papers --collection moss", moss) == DONE
    assert "1 papers" in printed(capsys)


def test_a_variable_names_the_collection(
    moss: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKABSTRACTS_COLLECTION", "moss")
    assert run("papers --json", moss) == DONE
    assert [paper["abstract"] for paper in json.loads(capsys.readouterr().out)] == [MOSS]


@pytest.mark.parametrize("command", ["index", "ask x", "search x", "papers", "collections describe"])
def test_a_command_on_an_unknown_collection_says_what_there_is(
    moss: Settings, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    given = ["lichen"] if "describe" in command else ["--collection", "lichen"]
    assert run(command, moss, *given) == ERROR
    assert "There are: default, moss." in capsys.readouterr().err
    assert not (moss.collections_folder / "lichen").exists()


def test_index_makes_a_collection_of_files(moss: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("index --collection lichen", moss, str(tmp_path / "moss.txt")) == DONE
    assert run("collections", moss) == DONE
    assert printed(capsys).count(" papers ") >= 3
    assert collection_names(moss) == ("", "lichen", "moss")


def test_collections_are_listed_and_described_for_programs(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("collections list --json", moss) == DONE
    assert [(row["name"], row["papers"]) for row in json.loads(capsys.readouterr().out)] == [("default", 3), ("moss", 1)]
    assert run("collections describe moss --json", moss) == DONE
    assert json.loads(capsys.readouterr().out)["venues"] == {"Plant Papers": 1}
    assert run("collections describe moss", moss) == DONE
    assert "venues: Plant Papers (1) files: moss.txt (1) embedder: word counts" in printed(capsys)


def test_a_collection_that_cannot_be_read_is_listed_with_the_reason(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    (moss.store_folder / "current.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreDamagedError):
        describe_collection(moss)
    assert run("collections", moss) == DONE
    text = printed(capsys)
    assert "moss cannot be read" in text
    assert "default 3 papers" in text


@pytest.mark.parametrize(
    ("typed", "code", "left"), [("moss\n", DONE, ("",)), ("yes\n", ERROR, ("", "moss")), ("", ERROR, ("", "moss"))]
)
def test_deleting_asks_for_the_name(
    moss: Settings, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: Sequence[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert run("collections delete moss", moss) == code
    assert collection_names(moss) == left


def test_deleting_does_not_ask_who_is_sure(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("collections delete moss --yes", moss) == DONE
    assert printed(capsys) == "Deleted: moss"
    assert run("collections delete moss --yes", moss) == ERROR


def test_renaming_says_what_it_did(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("collections rename moss lichen --json", moss) == DONE
    assert json.loads(capsys.readouterr().out) == {"renamed": "moss", "to": "lichen"}
    assert collection_names(moss) == ("", "lichen")


@pytest.mark.parametrize("words", ["describe", "delete", "rename moss", "list moss", "rename a b c", "burn moss"])
def test_too_few_or_too_many_names_are_a_wrong_use(moss: Settings, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(f"collections {words}", moss)
    assert ended.value.code == USAGE
    assert capsys.readouterr().err


def test_questions_searches_and_lists_are_narrowed(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("papers --where year>=2021 --json", moss, "--where", "venue=animal papers") == DONE
    assert len(json.loads(capsys.readouterr().out)) == 3
    assert run("papers --where year>2021", moss) == DONE
    assert printed(capsys).endswith("0 of 3 papers")
    assert run("search zebra --where title~okapi --json", moss) == DONE
    assert [hit["title"].split()[0] for hit in json.loads(capsys.readouterr().out)] == ["Okapi"]
    assert run("ask --where year=2021 --json", moss, "How much faster is Zebra than Okapi?") == DONE
    assert json.loads(capsys.readouterr().out)["status"] == "answered"
    assert run("ask --where year!=2021 --json", moss, "How much faster is Zebra than Okapi?") == NOT_ANSWERED
    assert json.loads(capsys.readouterr().out)["hits"] == []


def test_a_name_that_no_paper_has_is_told_and_a_faulty_filter_refused(moss: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search zebra", moss, "--where", "venue=Animal Paper") == NOT_ANSWERED
    said = capsys.readouterr()
    assert "There are: Animal Papers (3)." in " ".join(said.err.split())
    assert "No paper meets the filter" in said.out
    assert run("search zebra --where venu=x", moss) == ERROR
    assert "'venu=x': there is no field 'venu'" in capsys.readouterr().err
