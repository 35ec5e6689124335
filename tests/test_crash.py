"""Kills, crowds, full disks and read-only disks: whatever happens while indexing, one whole index is served."""

import gc
import itertools
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.errors import IndexMissingError, StoreBusyError, StoreFullError, StoreReadOnlyError
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings
from tests.conftest import WordCountEmbedder
from tests.indexer_process import CHANGING, PAPERS, Indexer, Outcome, WordCountEmbedding, abstracts, write_version
from vectorstore.generations import GenerationFolder

QUESTION = "Which paper is about amber and onyx?"
BATCH = 64  # a kill loses at most the vectors of one batch


class Changing:
    """An index over a folder that holds one version of the collection after another."""

    def __init__(self, store: Path, sources: Path) -> None:
        self.settings = Settings(store=str(store), sources=(str(sources),), lock_timeout_seconds=30)
        self._folder, self._numbers = sources, itertools.count()
        self.version = ""
        self.change()

    def change(self) -> None:
        """Writes the next version into the folder."""
        self.before, self.version = self.version, f"v{next(self._numbers)}"
        write_version(self._folder, self.version)

    def bring_up_to_date(self) -> int:
        """Indexes in this process, checks that the newest version is served, and returns how many abstracts were encoded."""
        encoded = build_index(self.settings, WordCountEmbedder()).encoded
        assert self.served() == self.version
        return encoded

    def served(self) -> str:
        """The version that the index serves: every paper of it, and each is the nearest to its own vector."""
        index = PaperIndex.open(self.current())
        try:
            for row, paper in enumerate(index.papers):
                [nearest] = index.nearest(index.vectors.vector(row), 1)
                assert nearest.id == paper.id
            texts = [paper.abstract for paper in index.papers]
        finally:
            index.close()
        [version] = [version for version in (self.before, self.version) if texts == abstracts(version)]
        return version

    def current(self) -> Path:
        return GenerationFolder(self.settings.store_folder).current()

    def generations(self) -> list[str]:
        return sorted(path.name for path in (self.settings.store_folder / "generations").iterdir())


@pytest.fixture
def changing(tmp_path: Path) -> Changing:
    """An index of its own, up to date."""
    changing = Changing(tmp_path / "store", tmp_path / "abstracts")
    changing.bring_up_to_date()
    return changing


# --- kills --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory) -> Changing:
    """The index that all kills strike, one after the other."""
    folder = tmp_path_factory.mktemp("struck")
    changing = Changing(folder / "store", folder / "abstracts")
    changing.bring_up_to_date()
    changing.change()
    return changing


@pytest.fixture
def killed(struck: Changing) -> Changing:
    """The same, up to date but for the version just written."""
    build_index(struck.settings, WordCountEmbedder())
    struck.change()
    return struck


@pytest.fixture(scope="module")
def operations(struck: Changing) -> int:
    """How many file operations a run does that nobody kills."""
    with Indexer(struck.settings) as indexer:
        outcome = indexer.ended()
    assert (outcome.exit_code, outcome.encoded, struck.served()) == (0, CHANGING, struck.version)
    return len(outcome.operations)


def assert_one_whole_version_survives(changing: Changing, outcome: Outcome) -> None:
    assert changing.served() in (changing.before, changing.version)
    kept = outcome.encoded if outcome.encoded == CHANGING else outcome.encoded // BATCH * BATCH
    assert changing.bring_up_to_date() <= CHANGING - kept


@pytest.mark.parametrize("share", [round(float(share), 2) for share in np.linspace(0.02, 0.98, 16)])
def test_a_kill_at_any_file_operation_leaves_one_whole_version(operations: int, killed: Changing, share: float) -> None:
    with Indexer(killed.settings, dies_at=int(share * operations)) as indexer:
        outcome = indexer.ended()
    assert outcome.exit_code == -signal.SIGKILL
    assert_one_whole_version_survives(killed, outcome)


@pytest.mark.parametrize(
    ("dies_at", "is_published"),
    [
        pytest.param(0, False, id="before the pointer is written"),
        pytest.param(1, False, id="before the pointer is synced"),
        pytest.param(2, False, id="before the pointer is put in place"),
        pytest.param(3, True, id="before the folder is synced"),
        pytest.param(4, True, id="before the old generation is removed"),
    ],
)
def test_a_kill_around_publication_leaves_one_whole_version(killed: Changing, dies_at: int, is_published: bool) -> None:
    with Indexer(killed.settings, dies_at=dies_at, counted_from="current.json.tmp") as indexer:
        outcome = indexer.ended()
    assert outcome.exit_code == -signal.SIGKILL
    assert killed.served() == (killed.version if is_published else killed.before)
    assert_one_whole_version_survives(killed, outcome)


@pytest.mark.parametrize("milliseconds", [0, 10, 20, 35, 50, 80])
def test_a_kill_while_chroma_writes_leaves_one_whole_version(killed: Changing, milliseconds: int) -> None:
    old = set(killed.generations())
    with Indexer(killed.settings) as indexer:
        while indexer.is_alive and not _has_chroma(killed, old):
            time.sleep(0.0005)
        time.sleep(milliseconds / 1000)
        indexer.kill()
        outcome = indexer.ended()
    assert outcome.encoded == CHANGING
    assert_one_whole_version_survives(killed, outcome)


def _has_chroma(changing: Changing, old: set[str]) -> bool:
    folder = changing.settings.store_folder / "generations"
    return any(path.parts[-3] not in old for path in folder.glob("*/chroma/chroma.sqlite3"))


@pytest.mark.parametrize("dies_at", [2, 60])
def test_a_kill_of_the_first_run_leaves_no_index_and_the_next_run_builds_it(tmp_path: Path, dies_at: int) -> None:
    changing = Changing(tmp_path / "store", tmp_path / "abstracts")
    with Indexer(changing.settings, dies_at=dies_at) as indexer:
        assert indexer.ended().exit_code == -signal.SIGKILL
    with pytest.raises(IndexMissingError):
        changing.current()
    changing.bring_up_to_date()


def test_vectors_that_a_kill_left_behind_are_removed_when_nothing_is_left_to_do(killed: Changing) -> None:
    with Indexer(killed.settings, dies_at=4, counted_from="current.json.tmp") as indexer:
        indexer.ended()
    killed.bring_up_to_date()
    assert list((killed.settings.store_folder / "pending").rglob("*.npz")) == []


# --- crowds -------------------------------------------------------------------------------------------------------------


def test_a_second_indexer_waits_or_is_told_to_come_back(changing: Changing) -> None:
    changing.change()
    impatient = replace(changing.settings, lock_timeout_seconds=0.1)
    with Indexer(changing.settings) as first:
        first.wait_for_encoding()
        first.send(signal.SIGSTOP)
        with pytest.raises(StoreBusyError, match="run the command again"):
            build_index(impatient, WordCountEmbedder())
        assert changing.served() == changing.before
        first.send(signal.SIGCONT)
        assert changing.bring_up_to_date() == 0
        assert first.ended().exit_code == 0


def test_indexers_at_once_leave_one_whole_index(changing: Changing) -> None:
    changing.change()
    with Indexer(changing.settings) as first, Indexer(changing.settings) as second, Indexer(changing.settings) as third:
        outcomes = [indexer.ended() for indexer in (first, second, third)]
    assert [outcome.exit_code for outcome in outcomes] == [0, 0, 0]
    assert sum(outcome.encoded for outcome in outcomes) == CHANGING
    assert changing.served() == changing.version


def test_questions_during_rebuilds_are_answered_from_one_version_each(changing: Changing) -> None:
    index = PaperIndex.open(changing.current())
    assistant = Assistant(changing.settings, WordCountEmbedder(), index, Coefficients.load())
    versions = ("rust", "moss", "rust", "moss", "rust")
    whole = {frozenset(abstracts(version)): version for version in (changing.version, *versions)}
    seen = []
    with Indexer(changing.settings, versions=versions) as indexer:
        while indexer.is_alive:
            seen.append(whole[frozenset(paper.abstract for paper in assistant.papers)])
            found = {hit.paper.abstract for hit in assistant.search(QUESTION, k=PAPERS)}
            assert len(found) > BATCH
            assert any(found <= version for version in whole)
            assistant.ask(QUESTION)
        assert indexer.ended().exit_code == 0
    assert len(list(itertools.groupby(seen))) > 2
    assert frozenset(paper.abstract for paper in assistant.papers) == frozenset(abstracts("rust"))


# --- disks --------------------------------------------------------------------------------------------------------------


class Disk:
    """A small file system in memory, which can be filled up and made read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, *, free_bytes: int = 0) -> None:
        """Leaves so much room and no more."""
        self.free()
        with open(self._filler, "wb", buffering=0) as file:
            file.write(bytes(max(0, shutil.disk_usage(self.folder).free - free_bytes)))

    def free(self) -> None:
        """Makes room again."""
        self._filler.unlink(missing_ok=True)

    def make_read_only(self) -> None:
        """Lets nobody write any more, not even root."""
        mount("-o", "remount,ro", str(self.folder))


def mount(*arguments: str) -> None:
    """Mounts, waiting for forgotten indexes to let go of their files; skips where mounting is not permitted at all."""
    command = shutil.which("mount")
    if command is None:
        pytest.skip("there is no mount command")
    for _ in range(50):
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        if "busy" not in done.stderr:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
        gc.collect()
        time.sleep(0.1)
    pytest.fail(f"the disk stays busy: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder))
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def on_disk(disk: Disk, tmp_path: Path) -> Changing:
    """An index on the small disk, up to date, whose sources lie elsewhere."""
    changing = Changing(disk.folder / "store", tmp_path / "abstracts")
    changing.bring_up_to_date()
    return changing


def test_a_full_disk_is_named_and_costs_nothing(on_disk: Changing, disk: Disk) -> None:
    index = PaperIndex.open(on_disk.current())
    assistant = Assistant(on_disk.settings, WordCountEmbedder(), index, Coefficients.load())
    assert assistant.search("amber", k=1)
    generations = on_disk.generations()
    on_disk.change()
    disk.fill()
    with pytest.raises(StoreFullError, match="Free some space"):
        build_index(on_disk.settings, WordCountEmbedder())
    assert on_disk.generations() == generations
    assert [paper.abstract for paper in assistant.papers] == abstracts(on_disk.before)
    assert assistant.search("amber", k=1)
    disk.free()
    assert on_disk.bring_up_to_date() == CHANGING


def test_a_disk_that_fills_up_at_any_step_is_named_and_costs_nothing(on_disk: Changing, disk: Disk) -> None:
    generations = on_disk.generations()
    on_disk.change()
    for refusals in itertools.count():
        disk.fill(free_bytes=refusals * 16_384)
        try:
            report = build_index(on_disk.settings, WordCountEmbedder())
            break
        except StoreFullError:
            assert on_disk.generations() == generations
    assert refusals > 10
    assert report.encoded == 0
    disk.free()
    assert on_disk.served() == on_disk.version


def test_an_index_on_a_full_disk_opens_and_answers(on_disk: Changing, disk: Disk) -> None:
    disk.fill()
    for _ in range(2):
        assert on_disk.served() == on_disk.version


def test_a_read_only_index_is_read_through_a_private_copy(
    on_disk: Changing, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    disk.make_read_only()
    index = PaperIndex.open(on_disk.current())
    assert len(index.nearest(index.vectors.vector(0), PAPERS)) == PAPERS
    assert len(list(copies.iterdir())) == 1
    index.close()
    assert list(copies.iterdir()) == []


def test_a_read_only_index_opens_as_often_as_asked(on_disk: Changing, disk: Disk) -> None:
    disk.make_read_only()
    for _ in range(3):
        assert on_disk.served() == on_disk.version


@pytest.mark.parametrize("change", [lambda changing: None, Changing.change], ids=["nothing to do", "changed sources"])
def test_a_read_only_index_is_not_written_and_says_so(on_disk: Changing, disk: Disk, change: Callable[[Changing], None]) -> None:
    disk.make_read_only()
    change(on_disk)
    with pytest.raises(StoreReadOnlyError, match="Set another place"):
        build_index(on_disk.settings, WordCountEmbedder())


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(Disk.make_read_only, id="read-only"),
        pytest.param(Disk.fill, id="full"),
    ],
)
def test_an_assistant_answers_from_the_old_index_where_it_cannot_write(
    disk: Disk, tmp_path: Path, spoil: Callable[[Disk], None]
) -> None:
    changing = Changing(disk.folder / "store", tmp_path / "abstracts")
    Assistant.open(changing.settings, embedding=WordCountEmbedding())
    changing.change()
    spoil(disk)
    assistant = Assistant.open(changing.settings, embedding=WordCountEmbedding())
    assert [paper.abstract for paper in assistant.papers] == abstracts(changing.before)
    assert assistant.search(QUESTION)
    [notice] = assistant.notices
    assert "answering from it as it was" in notice


def test_an_index_that_cannot_be_written_never_answers_for_other_sources(disk: Disk, tmp_path: Path) -> None:
    changing = Changing(disk.folder / "store", tmp_path / "abstracts")
    Assistant.open(changing.settings, embedding=WordCountEmbedding())
    write_version(tmp_path / "other", "other")
    disk.make_read_only()
    with pytest.raises(StoreReadOnlyError, match="Set another place"):
        Assistant.open(replace(changing.settings, sources=(str(tmp_path / "other"),)), embedding=WordCountEmbedding())


def test_no_index_is_made_on_a_read_only_disk(disk: Disk, tmp_path: Path) -> None:
    disk.make_read_only()
    changing = Changing(disk.folder / "store", tmp_path / "abstracts")
    with pytest.raises(StoreReadOnlyError, match="Set another place"):
        build_index(changing.settings, WordCountEmbedder())
