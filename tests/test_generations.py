"""The pointer, the writer's lock and the generations beside it."""

import errno
from pathlib import Path

import pytest

from vectorstore.errors import (
    IndexMissingError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from vectorstore.generations import GenerationFolder, named_disk_errors, private_copy


@pytest.fixture
def folder(tmp_path: Path) -> GenerationFolder:
    return GenerationFolder(tmp_path / "index")


def publish(folder: GenerationFolder, content: str) -> Path:
    with folder.writing(timeout_seconds=1), folder.new_generation() as generation:
        (generation / "content").write_text(content)
    return generation


def test_looking_at_a_folder_creates_nothing(folder: GenerationFolder) -> None:
    assert not folder.exists()
    with pytest.raises(IndexMissingError, match="Run `askabstracts index`"):
        folder.current()
    assert not folder.folder.exists()


def test_the_pointer_leads_to_what_was_published_last(folder: GenerationFolder) -> None:
    publish(folder, "first")
    second = publish(folder, "second")
    assert folder.exists()
    assert folder.current() == second
    assert (folder.current() / "content").read_text() == "second"


def test_a_build_that_fails_is_removed_and_not_published(folder: GenerationFolder) -> None:
    first = publish(folder, "first")
    with pytest.raises(RuntimeError), folder.writing(timeout_seconds=1), folder.new_generation() as generation:
        raise RuntimeError
    assert not generation.exists()
    assert folder.current() == first


def test_a_reader_of_the_generation_before_keeps_its_files(folder: GenerationFolder) -> None:
    first, second = publish(folder, "first"), publish(folder, "second")
    assert (first / "content").read_text() == "first"
    third = publish(folder, "third")
    assert {path.name for path in first.parent.iterdir()} == {second.name, third.name}


def test_leftovers_of_a_killed_build_are_removed_by_the_next(folder: GenerationFolder) -> None:
    first = publish(folder, "first")
    (first.parent / "20200101-000000-killed01").mkdir()
    (folder.folder / "current.json.tmp").write_text('{"gen')
    second = publish(folder, "second")
    assert {path.name for path in first.parent.iterdir()} == {first.name, second.name}
    assert not (folder.folder / "current.json.tmp").exists()


def test_what_is_no_generation_is_never_removed(folder: GenerationFolder) -> None:
    mine = publish(folder, "first").parent / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work", encoding="utf-8")
    publish(folder, "second")
    publish(folder, "third")
    assert (mine / "thesis.txt").is_file()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param('{"generation": "2026', id="cut"),
        pytest.param("[]", id="a list"),
        pytest.param('{"other": 1}', id="another key"),
        pytest.param('{"generation": "gone"}', id="generation gone"),
    ],
)
def test_a_damaged_pointer_is_named_with_its_repair_and_the_next_publication_repairs_it(
    folder: GenerationFolder, content: str
) -> None:
    first = publish(folder, "first")
    (folder.folder / "current.json").write_text(content)
    with pytest.raises(StoreDamagedError, match="index --rebuild"):
        folder.current()
    assert first.exists()
    second = publish(folder, "second")
    assert folder.current() == second


def test_a_second_writer_is_told_to_wait(folder: GenerationFolder) -> None:
    other = GenerationFolder(folder.folder)
    with (
        folder.writing(timeout_seconds=1),
        pytest.raises(StoreBusyError, match=r"did not finish within 0\.05 s"),
        other.writing(timeout_seconds=0.05),
    ):
        pass
    with other.writing(timeout_seconds=0.05):
        pass


@pytest.mark.parametrize(
    ("error", "named"),
    [
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), StoreFullError, id="full disk"),
        pytest.param(RuntimeError("error returned from database: database or disk is full"), StoreFullError, id="full, by SQLite"),
        pytest.param(RuntimeError("Error in compaction: Failed to apply logs"), StoreFullError, id="full, by Chroma"),
        pytest.param(OSError("1500 requested and 992 written"), StoreFullError, id="full, by NumPy"),
        pytest.param(OSError(errno.EROFS, "Read-only file system"), StoreReadOnlyError, id="read-only disk"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied"), StoreReadOnlyError, id="not permitted"),
        pytest.param(RuntimeError("attempt to write a readonly database"), StoreReadOnlyError, id="read-only, by SQLite"),
    ],
)
def test_a_full_or_read_only_disk_is_named_however_a_library_words_it(error: Exception, named: type[StoreError]) -> None:
    with pytest.raises(named, match="/place"), named_disk_errors(Path("/place")):
        raise error


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), named_disk_errors(Path("/place")):
        raise ZeroDivisionError
    with pytest.raises(StoreBusyError, match="mine"), named_disk_errors(Path("/place")):
        raise StoreBusyError("mine: no space left")


def test_a_private_copy_holds_every_file_and_goes_when_cleaned_up(tmp_path: Path) -> None:
    (tmp_path / "inner" / "empty").mkdir(parents=True)
    (tmp_path / "inner" / "data.bin").write_bytes(b"\0\1")
    copy = private_copy(tmp_path)
    copied = Path(copy.name)
    assert (copied / "inner" / "data.bin").read_bytes() == b"\0\1"
    assert (copied / "inner" / "empty").is_dir()
    copy.cleanup()
    assert not copied.exists()
