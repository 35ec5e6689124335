"""The tab that adds abstracts: uploads in, report and choice of collections out, and nothing left of either."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from rag.assistant import Assistant
from rag.errors import SourceError
from rag.indexing import IndexReport
from rag.library import Library
from rag.web.options import Upload
from rag.web.own_collections import IDLE_SECONDS, CrowdedError, OwnCollections
from rag.web.upload_folder import private_upload_folder, received, remove_abandoned
from rag.web.upload_texts import UPLOAD_TEXTS
from rag.web.uploads import OWN, SHARED, UploadTab, failure_html, report_html
from tests.conftest import HERON, OKAPI, ZEBRA
from tests.test_indexing import LYNX
from tests.test_own_collection import OTTER, file, files_in, texts


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gradio's folder of uploads in this test; temporary folders are made beside it."""
    folder = tmp_path / "temporary" / "askabstracts-uploads-test"
    folder.mkdir(parents=True)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder.parent))
    return folder


def uploaded(inbox: Path, *files: tuple[str, bytes]) -> list[dict[str, Any]]:
    """What Gradio makes of uploaded files: copies in its folder, and the raw value of the component."""
    rows = []
    for number, (name, content) in enumerate(files):
        path = inbox / f"hash{number}" / "upload.txt"
        path.parent.mkdir()
        path.write_bytes(content)
        rows.append({"path": str(path), "orig_name": name, "meta": {"_type": "gradio.FileData"}})
    return rows


def made(assistant: Assistant, mode: Upload = "session") -> UploadTab:
    """The tab on a page of its own."""

    async def make() -> UploadTab:
        with gr.Blocks() as page:
            tab = UploadTab(Library(assistant), page, gr.State("visit"), mode=mode)
            tab.collection.render()
            tab.render()
        return tab

    return asyncio.run(make())  # outside a loop Gradio opens one for every page and never closes it


@pytest.fixture
def tab(small_assistant: Assistant, inbox: Path) -> Iterator[UploadTab]:
    tab = made(small_assistant)
    yield tab
    tab.close()


def progress(*_: object, **__: object) -> None:
    """A progress bar that nobody sees."""


def add(tab: UploadTab, payload: object, visit: str = "anna", language: Any = "en") -> tuple[str, Any, None, Any]:
    request: Any = SimpleNamespace(session_hash=f"session of {visit}")
    bar: Any = progress
    return tab.add(payload, visit, language, request, bar)


# --- adding -----------------------------------------------------------------------------------------------------------


def test_an_upload_is_reported_chosen_and_answered_from(tab: UploadTab, inbox: Path) -> None:
    shown, choice, chooser, button = add(tab, uploaded(inbox, file("otters.txt", OTTER, OTTER), ("bad.txt", b"\0")))
    assert "Abstracts read: 2. New papers: 1. The collection now has 1." in shown
    assert "otters.txt#2 = otters.txt#1" in shown
    assert "bad.txt, line 1: not a text file" in shown
    assert [label for label, _ in choice["choices"]] == ["The shared collection (3 papers)", "Your own (1 papers)"]
    assert (choice["value"], chooser, button["visible"]) == (OWN, None, True)
    answer = tab.assistant_for("anna", OWN).ask("How many stones do otters juggle?")
    assert [citation.paper.abstract for citation in answer.citations][:1] == [OTTER]


def test_two_visits_see_nothing_of_each_other(tab: UploadTab, inbox: Path) -> None:
    add(tab, uploaded(inbox, file("a.txt", OTTER)), "anna")
    add(tab, uploaded(inbox, file("a.txt", LYNX)), "ben")
    assert texts(tab.assistant_for("anna", OWN)) == {OTTER}
    assert texts(tab.assistant_for("ben", OWN)) == {LYNX}
    assert texts(tab.assistant_for("anna", SHARED)) == {ZEBRA, OKAPI, HERON}
    with pytest.raises(SourceError, match="not there any more"):
        tab.assistant_for("clara", OWN)


@pytest.mark.parametrize("payload", [None, [], "nonsense", [1, "x"], {}], ids=repr)
def test_nothing_uploaded_is_said(tab: UploadTab, payload: object) -> None:
    shown, choice, _, _ = add(tab, payload)
    assert "No file was given" in shown
    assert choice["value"] == SHARED


def test_a_failed_upload_keeps_what_was_there_and_what_was_chosen(tab: UploadTab, inbox: Path) -> None:
    add(tab, uploaded(inbox, file("a.txt", OTTER)))
    shown, choice, _, button = add(tab, uploaded(inbox, ("b.txt", b"")))
    assert "Nothing was added" in shown
    assert "value" not in choice
    assert button["visible"] is True
    assert texts(tab.assistant_for("anna", OWN)) == {OTTER}


def test_the_report_is_in_the_language_of_the_page(tab: UploadTab, inbox: Path) -> None:
    shown, choice, _, _ = add(tab, uploaded(inbox, file("a.txt", OTTER)), language="zh")
    assert "读入摘要 1 篇" in shown
    assert choice["choices"][1][0] == "你自己的(1 篇)"


@pytest.mark.parametrize("key", UPLOAD_TEXTS)
def test_both_languages_fill_in_the_same_values(key: str) -> None:
    english, chinese = (set(text.replace("}", "{").split("{")[1::2]) for text in UPLOAD_TEXTS[key])
    assert english == chinese


def test_markup_in_names_and_messages_is_shown_as_text() -> None:
    line = "<img src=x onerror=alert(1)>.txt#2 = a.txt#1"
    report = IndexReport(1, 1, 1, 0, 0, 0, 1, 0, (line,), (line,), (line,), 0.1)
    for shown in (report_html(report, mode="session"), failure_html(line)):
        assert "<img" not in shown
        assert "&lt;img" in shown


def test_a_long_list_is_cut_and_says_so() -> None:
    report = IndexReport(90, 1, 1, 0, 0, 0, 1, 0, tuple(f"a.txt#{n} = a.txt#1" for n in range(2, 91)), (), (), 0.1)
    assert "and 69 more" in report_html(report, mode="session")


def test_the_shared_collection_grows_for_everybody_where_the_operator_allows_it(small_assistant: Assistant, inbox: Path) -> None:
    tab = made(small_assistant, "shared")
    shown, choice, _, button = add(tab, uploaded(inbox, file("otters.txt", OTTER)))
    assert "The collection now has 4" in shown
    assert (choice["value"], choice["visible"], button["visible"]) == (SHARED, False, False)
    assert OTTER in texts(tab.assistant_for("ben", SHARED))


def test_a_page_without_uploads_takes_none(small_assistant: Assistant, inbox: Path) -> None:
    tab = made(small_assistant, "off")
    assert "Nothing can be added" in add(tab, uploaded(inbox, file("otters.txt", OTTER)))[0]
    assert files_in(inbox) == []


# --- what is left -----------------------------------------------------------------------------------------------------


def test_nothing_is_left_of_an_upload_but_the_collection_and_of_that_when_the_visit_ends(tab: UploadTab, inbox: Path) -> None:
    add(tab, uploaded(inbox, file("a.txt", OTTER), ("b.txt", b"\0")))
    assert list(inbox.iterdir()) == []
    request: Any = SimpleNamespace(session_hash="session of anna")
    tab.leave(request)
    assert list(inbox.parent.iterdir()) == [inbox]
    with pytest.raises(SourceError, match="not there any more"):
        tab.assistant_for("anna", OWN)


def test_deleting_is_at_once_and_adding_afterwards_works(tab: UploadTab, inbox: Path) -> None:
    add(tab, uploaded(inbox, file("a.txt", OTTER)))
    shown, choice, _, button = tab.delete("anna", "en")
    assert ("deleted" in shown, choice["value"], button["visible"]) == (True, SHARED, False)
    assert list(inbox.parent.iterdir()) == [inbox]
    add(tab, uploaded(inbox, file("a.txt", LYNX)))
    assert texts(tab.assistant_for("anna", OWN)) == {LYNX}


def test_leaving_deletes_nobody_elses(tab: UploadTab, inbox: Path) -> None:
    add(tab, uploaded(inbox, file("a.txt", OTTER)), "anna")
    add(tab, uploaded(inbox, file("a.txt", LYNX)), "ben")
    request: Any = SimpleNamespace(session_hash="session of anna")
    tab.leave(request)
    assert texts(tab.assistant_for("ben", OWN)) == {LYNX}


def test_a_refused_upload_is_removed_too(tab: UploadTab, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.web.upload_folder.MOST_FILES", 1)
    assert "too many" in add(tab, uploaded(inbox, file("a.txt", OTTER), file("b.txt", LYNX)))[0]
    monkeypatch.setattr("rag.web.upload_folder.MOST_BYTES", 1)
    assert "too large" in add(tab, uploaded(inbox, file("a.txt", OTTER)))[0]
    assert list(inbox.iterdir()) == []
    assert [path for path in inbox.parent.iterdir() if path != inbox] == []


@pytest.mark.parametrize("path", ["/etc/passwd", "", ".", "../secret.txt", "a\0b", "~"], ids=repr)
def test_a_path_that_names_no_upload_is_neither_read_nor_removed(inbox: Path, path: str) -> None:
    secret = inbox.parent / "secret.txt"
    secret.write_text("secret")
    for named in (path, str(inbox / path)):
        with pytest.raises(SourceError):
            received([{"path": named, "orig_name": "a.txt"}])
    assert secret.exists()


def test_a_link_out_of_the_folder_is_not_followed(inbox: Path) -> None:
    secret = inbox.parent / "secret.txt"
    secret.write_text("secret")
    (inbox / "link.txt").symlink_to(secret)
    with pytest.raises(SourceError, match="no uploaded file"):
        received([{"path": str(inbox / "link.txt")}])
    assert secret.exists()


def test_a_file_that_another_visitor_took_first_is_asked_for_again(inbox: Path) -> None:
    rows = uploaded(inbox, file("a.txt", OTTER))
    assert received(rows) == [("a.txt", OTTER.encode())]
    with pytest.raises(SourceError, match="Choose it again"):
        received(rows)


def test_only_old_parts_of_broken_uploads_are_removed(inbox: Path) -> None:
    for name, age in (("tmpold", 1000.0), ("tmpnew", 0.0), ("other", 1000.0)):
        (inbox / name).write_bytes(b"x")
        os.utime(inbox / name, (time.time() - age,) * 2)
    remove_abandoned(inbox)
    assert files_in(inbox) == ["other", "tmpnew"]


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tmpold").write_bytes(b"x")
    os.utime(tmp_path / "tmpold", (0, 0))
    remove_abandoned(tmp_path)
    assert files_in(tmp_path) == ["tmpold"]


def test_the_folder_of_uploads_is_private_and_gradios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", "elsewhere")
    private_upload_folder.cache_clear()
    folder = private_upload_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert os.environ["GRADIO_TEMP_DIR"] == str(folder)
    assert private_upload_folder() == folder
    private_upload_folder.cache_clear()


# --- how many ---------------------------------------------------------------------------------------------------------


def test_one_collection_too_many_is_refused_until_somebody_leaves(small_assistant: Assistant, inbox: Path) -> None:
    own = OwnCollections(small_assistant, most=1)
    own.add([file("a.txt", OTTER)], visit="anna", session="1")
    with pytest.raises(CrowdedError):
        own.add([file("a.txt", LYNX)], visit="ben", session="2")
    own.add([file("b.txt", LYNX)], visit="anna", session="1")
    own.leave("1")
    own.add([file("a.txt", LYNX)], visit="ben", session="2")
    assert len(own) == 1
    own.close()
    assert list(inbox.parent.iterdir()) == [inbox]


def test_an_upload_without_an_abstract_takes_no_place(small_assistant: Assistant, inbox: Path) -> None:
    own = OwnCollections(small_assistant, most=1)
    with pytest.raises(SourceError):
        own.add([("a.txt", b"")], visit="anna", session="1")
    assert len(own) == 0
    assert list(inbox.parent.iterdir()) == [inbox]


def test_an_unused_collection_makes_room(small_assistant: Assistant, inbox: Path) -> None:
    now = 0.0
    own = OwnCollections(small_assistant, most=1, clock=lambda: now)
    own.add([file("a.txt", OTTER)], visit="anna", session="1")
    now = IDLE_SECONDS - 1
    assert own.assistant("anna") is not None  # used again
    now = IDLE_SECONDS + 1
    with pytest.raises(CrowdedError):
        own.add([file("a.txt", LYNX)], visit="ben", session="2")
    now = 3 * IDLE_SECONDS
    own.add([file("a.txt", LYNX)], visit="ben", session="2")
    assert own.assistant("anna") is None
    own.close()


def test_a_visitor_is_told_beforehand_that_answers_go_with_the_abstracts() -> None:
    english, chinese = UPLOAD_TEXTS["upload_intro_session"]
    assert "the text of answers to them" in english
    assert "答案的文字" in chinese
