"""The command line: what is printed, the exit codes, and errors that say what to do next."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rag import Assistant
from rag.__main__ import main
from rag.errors import IndexMissingError
from tests.conftest import HERON, OKAPI, ZEBRA, WordCountEmbedder

ROOT = Path(__file__).resolve().parent.parent
DONE, ERROR, USAGE, NOT_ANSWERED = 0, 1, 2, 3
ANSWER_KEYS = {
    "question",
    "standalone_question",
    "status",
    "text",
    "citations",
    "hits",
    "notices",
    "model",
    "timings",
    "collection",
}
CITATION_KEYS = {"number", "paper", "title", "sources", "quote", "start", "end", "support", "claim"}
HIT_KEYS = {"paper", "title", "score", "sources", "sentences"}
PAPER_KEYS = {"id", "title", "abstract", "authors", "year", "venue", "urls", "sources", "has_given_title"}
REPORT_KEYS = {
    "occurrences", "papers", "new", "changed", "removed", "unchanged", "encoded", "beyond_window", "doubtful", "duplicates", "near_duplicates",
    "unreadable", "seconds", "abstracts_per_second",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _legible_embedder_and_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("ASKABSTRACTS_")]:
        monkeypatch.delenv(variable)
    for place in ("rag.assistant.make_embedder", "rag.commands.make_embedder"):
        monkeypatch.setattr(place, lambda *_, **__: WordCountEmbedder())


@pytest.fixture
def store(small_assistant: Assistant) -> str:
    """The store of the small collection, indexed."""
    return small_assistant.settings.store


def run(arguments: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """The program as a user starts it, from another folder, with buffered output."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "rag", *arguments],
        cwd="/",
        env=inherited | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, with the terminal's line breaks taken out."""
    return " ".join(capsys.readouterr().out.split())


def test_ask_prints_numbered_quotes(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "How much faster is Zebra than Okapi?", "--store", store]) == DONE
    assert "[1] Zebra Animal Papers, 2021 “Zebra is 3.5 times faster than Okapi on the Savanna benchmark.” [1]" in printed(capsys)


def test_ask_as_json_has_stable_keys_and_exact_quotes(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "How much faster is Zebra than Okapi?", "--store", store, "--json"]) == DONE
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == ANSWER_KEYS
    assert set(answer["citations"][0]) == CITATION_KEYS
    assert {frozenset(hit) for hit in answer["hits"]} == {frozenset(HIT_KEYS)}
    abstracts = {"Zebra": ZEBRA, "Okapi is a neural ranker for antelope documents": OKAPI}
    assert {citation["title"] for citation in answer["citations"]} == set(abstracts)
    assert all(abstracts[one["title"]][one["start"] : one["end"]] == one["quote"] for one in answer["citations"])


@pytest.mark.parametrize(
    ("question", "status"), [("the best recipe for carrot cake", "not_found"), ("?", "invalid"), ("", "invalid")]
)
def test_a_refusal_exits_with_3_and_says_why(store: str, capsys: pytest.CaptureFixture[str], question: str, status: str) -> None:
    assert main(["ask", question, "--store", store]) == NOT_ANSWERED
    assert f"status: {status}" in printed(capsys)
    assert main(["ask", question, "--store", store, "--json"]) == NOT_ANSWERED
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["text"], answer["citations"]) == (status, "", [])
    assert answer["notices"]


def test_search_lists_the_best_papers(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "zebra stripes", "--store", store, "-k", "2"]) == DONE
    text = printed(capsys)
    assert text.startswith("1. Zebra ")
    assert " 2. " in text
    assert " 3. " not in text


def test_search_as_json_has_stable_keys(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "zebra stripes", "--store", store, "-k", "2", "--json"]) == DONE
    hits = json.loads(capsys.readouterr().out)
    assert [set(hit) for hit in hits] == [HIT_KEYS] * 2
    assert set(hits[0]["sentences"][0]) == {"text", "start", "end", "score"}


def test_a_search_for_nothing_exits_with_3(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "the of", "--store", store]) == NOT_ANSWERED
    assert "Nothing to search for" in printed(capsys)
    assert main(["search", "the of", "--store", store, "--json"]) == NOT_ANSWERED
    assert json.loads(capsys.readouterr().out) == []


def test_papers_are_listed(store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["papers", "--store", store]) == DONE
    text = printed(capsys)
    assert text.endswith("3 papers")
    assert "Animal Papers 2021" in text
    assert main(["papers", "--store", store, "--json"]) == DONE
    papers = json.loads(capsys.readouterr().out)
    assert {frozenset(paper) for paper in papers} == {frozenset(PAPER_KEYS)}
    assert [paper["abstract"] for paper in papers] == [ZEBRA, OKAPI, HERON]


def test_markup_of_the_terminal_in_a_title_is_shown_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.txt").write_text(
        "[bold]Gecko[/bold] climbs [link=https://example.org]walls[/link] of glass [/].", encoding="utf-8"
    )
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["index", str(tmp_path), "--store", str(tmp_path / "store")]) == DONE
    assert main(["search", "gecko", "--store", str(tmp_path / "store")]) == DONE
    assert main(["papers", "--store", str(tmp_path / "store")]) == DONE
    assert printed(capsys).count("[bold]Gecko[/bold] climbs") >= 3


def test_index_reports_what_it_did_and_does_nothing_twice(
    folder_of_abstracts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["index", str(folder_of_abstracts), "--store", str(tmp_path / "store"), "--json"]
    assert main(command) == DONE
    first = json.loads(capsys.readouterr().out)
    assert set(first) == REPORT_KEYS
    assert (first["papers"], first["new"], first["encoded"]) == (3, 3, 3)
    assert main(command) == DONE
    second = json.loads(capsys.readouterr().out)
    assert (second["unchanged"], second["new"], second["changed"], second["removed"], second["encoded"]) == (3, 0, 0, 0, 0)


def test_index_add_keeps_the_other_sources(folder_of_abstracts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "more.txt").write_text("Quokka is a smiling dataset of 77 islands.", encoding="utf-8")
    store = str(tmp_path / "store")
    assert main(["index", str(folder_of_abstracts), "--store", store]) == DONE
    assert main(["index", str(tmp_path / "more.txt"), "--store", store, "--add"]) == DONE
    assert "4 papers" in printed(capsys)
    assert main(["index", str(tmp_path / "more.txt"), "--store", store]) == DONE
    assert "1 papers from 1 abstracts (0 new, 0 changed, 3 removed, 1 unchanged)" in printed(capsys)


def test_sources_that_are_gone_are_named_and_the_index_still_answers(
    store: str, folder_of_abstracts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of_abstracts.rename(folder_of_abstracts.with_name("elsewhere"))
    assert main(["ask", "What is Zebra?", "--store", store]) == DONE
    assert "Not there any more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["papers"], "Run `askabstracts index` to build it.", id="no index"),
        pytest.param(
            ["index", "/no/such/folder"], "There is no file or folder '/no/such/folder'. Check the path", id="no such source"
        ),
        pytest.param(["index", "/dev/null"], "There is no file or folder '/dev/null'.", id="neither file nor folder"),
        pytest.param(["index", str(ROOT / "rag" / "web")], "Give text files", id="no abstract in the source"),
    ],
)
def test_an_error_is_one_line_with_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([*arguments, "--store", str(tmp_path / "store")]) == ERROR
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize("command", [["index"], ["index", "--rebuild"], ["papers"], ["ask", "What is Zebra?"]], ids=" ".join)
def test_a_store_that_is_a_file_is_a_named_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    (tmp_path / "store").write_text("a file", encoding="utf-8")
    assert main([*command, "--store", str(tmp_path / "store")]) == ERROR
    assert "is not a folder" in capsys.readouterr().err


def test_a_damaged_index_is_named_with_its_remedy(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    (Path(store) / "current.json").write_text("{", encoding="utf-8")
    assert main(["papers", "--store", store]) == ERROR
    assert "askabstracts index --rebuild" in capsys.readouterr().err
    assert main(["index", "--store", store]) == ERROR


def test_an_index_of_another_embedder_is_refused_until_it_is_rebuilt(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("rag.assistant.make_embedder", "rag.commands.make_embedder"):
        monkeypatch.setattr(place, lambda *_, **__: WordCountEmbedder("another model"))
    assert main(["ask", "What is Zebra?", "--store", store]) == ERROR
    assert "--rebuild" in capsys.readouterr().err
    assert main(["index", "--store", store, "--rebuild"]) == DONE
    assert main(["ask", "What is Zebra?", "--store", store]) == DONE


def test_debug_lets_the_error_through(tmp_path: Path) -> None:
    with pytest.raises(IndexMissingError):
        main(["papers", "--store", str(tmp_path), "--debug"])


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [("ASKABSTRACTS_STOR", "x", "ASKABSTRACTS_STOR is unknown"), ("ASKABSTRACTS_MAX_QUOTES", "0", "from 1 to 20")],
)
def test_a_wrong_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["papers"]) == ERROR
    assert message in capsys.readouterr().err


def test_the_store_may_come_from_the_environment(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASKABSTRACTS_STORE", store)
    assert main(["papers", "--json"]) == DONE
    assert len(json.loads(capsys.readouterr().out)) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no command"),
        pytest.param(["fly"], id="an unknown command"),
        pytest.param(["ask"], id="no question"),
        pytest.param(["ask", "one", "two"], id="two questions"),
        pytest.param(["search", "zebra", "-k", "0"], id="no paper at all"),
        pytest.param(["search", "zebra", "-k", "many"], id="a word for a number"),
        pytest.param(["chat", "--port", "65536"], id="no such port"),
        pytest.param(["papers", "--loud"], id="an unknown option"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    assert exited.value.code == USAGE
    assert "usage: askabstracts" in capsys.readouterr().err


def test_a_port_in_use_is_a_named_error(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["chat", "--store", store, "--port", str(taken.getsockname()[1])]) == ERROR
    assert "Choose another with --port" in capsys.readouterr().err


# --- the program in a process of its own --------------------------------------------------------------------------------


def test_the_program_prints_errors_on_standard_error_and_a_traceback_only_for_debug(tmp_path: Path) -> None:
    plain = run(["papers", "--store", str(tmp_path)])
    assert (plain.returncode, plain.stdout) == (ERROR, "")
    assert plain.stderr == f"Error: There is no index at {tmp_path}. Run `askabstracts index` to build it.\n"
    debugged = run(["papers", "--store", str(tmp_path), "--debug"])
    assert debugged.returncode == ERROR
    assert "Traceback (most recent call last)" in debugged.stderr


@pytest.mark.slow
def test_the_program_answers_from_another_folder(seed_assistant: Assistant) -> None:
    asked = run(["ask", "How many questions does MMT-Bench hold?", "--json"], ASKABSTRACTS_STORE=seed_assistant.settings.store)
    assert (asked.returncode, asked.stderr) == (DONE, "")
    assert any("$31,325$" in citation["quote"] for citation in json.loads(asked.stdout)["citations"])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--json"], id="JSON"),
        pytest.param([], id="text"),
    ],
)
def test_a_reader_that_goes_away_is_no_error(store: str, options: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        program = subprocess.run(
            [sys.executable, "-m", "rag", "papers", "--store", store, *options],
            cwd=ROOT,
            env=inherited,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)
    assert (program.returncode, program.stderr) == (DONE, "")
