"""Bringing an index up to date: what is encoded, kept, left out and reported."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag import indexing
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.errors import SourceEmptyError, SourceError, SourceMissingError, SourceUnreadableError, StoreDamagedError
from rag.index import PaperIndex
from rag.indexing import build_index
from rag.papers import Collection, read_collection
from rag.settings import Settings
from rag.sources import is_stale, missing_sources
from tests.conftest import HERON, OKAPI, ZEBRA, WordCountEmbedder
from tests.indexer_process import WordCountEmbedding
from vectorstore.encoded import Encoded
from vectorstore.generations import GenerationFolder
from vectorstore.lexical import terms

LYNX = "The lynx waits in deep snow. We track its state-of-the-art hearing with 12 microphones."
IN_LATIN_1 = "Caf\xe9 owls hoot at night.".encode("latin-1")


def opened(settings: Settings) -> PaperIndex:
    return PaperIndex.open(GenerationFolder(settings.store_folder).current())


def texts(settings: Settings) -> set[str]:
    return {paper.abstract for paper in opened(settings).papers}


def write(path: Path, *abstracts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(abstracts), encoding="utf-8")
    return path


# --- what changes -----------------------------------------------------------------------------------------------------


def test_indexing_twice_changes_nothing(settings: Settings, embedder: WordCountEmbedder) -> None:
    first = build_index(settings, embedder)
    generation = opened(settings).generation
    second = build_index(settings, embedder)
    assert opened(settings).generation == generation
    assert (first.new, first.encoded, embedder.encoded) == (3, 3, 3)
    assert (second.papers, second.unchanged, second.new, second.changed, second.removed, second.encoded) == (3, 3, 0, 0, 0, 0)


def test_editing_one_abstract_changes_and_encodes_that_one(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    write(folder_of_abstracts / "animals.txt", ZEBRA, OKAPI, HERON)
    build_index(settings, embedder)
    write(folder_of_abstracts / "animals.txt", ZEBRA, OKAPI.replace("71.2%", "83.9%"), HERON)
    report = build_index(settings, embedder)
    assert (report.changed, report.unchanged, report.new, report.removed, report.encoded) == (1, 2, 0, 0, 1)
    assert embedder.encoded == 4
    assert texts(settings) == {ZEBRA, OKAPI.replace("71.2%", "83.9%"), HERON}


@pytest.mark.parametrize(
    "respelled",
    [
        pytest.param(LYNX.replace("state-of-the-art", "state–of–the–art"), id="dashes"),
        pytest.param(LYNX.replace(". We", ".\nWe  "), id="spacing"),
    ],
)
def test_respelling_updates_the_text_under_the_same_id(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path, respelled: str
) -> None:
    write(folder_of_abstracts / "animals.txt", LYNX, ZEBRA)
    build_index(settings, embedder)
    before = opened(settings).papers[0]
    write(folder_of_abstracts / "animals.txt", respelled, ZEBRA)
    report = build_index(settings, embedder)
    after = opened(settings).papers[0]
    assert (after.id, after.abstract) == (before.id, respelled)
    assert (report.changed, report.new, report.removed, report.unchanged, report.encoded) == (1, 0, 0, 1, 0)


def test_inserting_an_abstract_adds_only_that_one(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    build_index(settings, embedder)
    write(folder_of_abstracts / "animals.txt", LYNX, ZEBRA, OKAPI, HERON)
    report = build_index(settings, embedder)
    assert (report.new, report.changed, report.removed, report.unchanged, report.encoded) == (1, 0, 0, 3, 1)


def test_removing_a_file_removes_its_papers(settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path) -> None:
    more = write(folder_of_abstracts / "more.txt", LYNX, ZEBRA)
    build_index(settings, embedder)
    more.unlink()
    report = build_index(settings, embedder)
    assert (report.removed, report.unchanged, report.encoded) == (1, 3, 0)
    assert texts(settings) == {ZEBRA, OKAPI, HERON}
    index = opened(settings)
    assert {match.id for match in index.nearest(embedder.encode_query(LYNX).vector, 10)} == {paper.id for paper in index.papers}


def test_a_run_that_fails_keeps_the_vectors_it_has_made(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    class Failing(WordCountEmbedder):
        def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
            for place, encoded in super().encode_passages(passages):
                if place == 70:
                    raise RuntimeError("out of memory")
                yield place, encoded

    write(folder_of_abstracts / "animals.txt", *(f"Beast {number} lives in valley {number}." for number in range(100)))
    with pytest.raises(RuntimeError, match="out of memory"):
        build_index(settings, Failing())
    assert build_index(settings, embedder).encoded == 100 - 64


def test_progress_counts_up_to_what_is_encoded(settings: Settings, embedder: WordCountEmbedder) -> None:
    heard: list[tuple[int, int]] = []
    build_index(settings, embedder, progress=lambda done, total: heard.append((done, total)))
    build_index(settings, embedder, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


# --- sources ------------------------------------------------------------------------------------------------------------


def test_added_sources_join_the_remembered_ones(settings: Settings, embedder: WordCountEmbedder, tmp_path: Path) -> None:
    build_index(settings, embedder)
    lynx = write(tmp_path / "lynx.txt", LYNX)
    report = build_index(replace(settings, sources=(str(lynx),)), embedder, add=True)
    assert (report.new, report.unchanged, report.encoded) == (1, 3, 1)
    assert opened(settings).sources.named == (*settings.sources, str(lynx))


def test_named_sources_replace_the_remembered_ones(settings: Settings, embedder: WordCountEmbedder, tmp_path: Path) -> None:
    build_index(settings, embedder)
    lynx = write(tmp_path / "lynx.txt", LYNX)
    report = build_index(replace(settings, sources=(str(lynx),)), embedder)
    assert (report.new, report.removed, texts(settings)) == (1, 3, {LYNX})


def test_remembered_sources_are_used_when_none_are_named(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    build_index(settings, embedder)
    write(folder_of_abstracts / "more.txt", LYNX)
    unnamed = replace(settings, sources=())
    assert is_stale(opened(settings).sources, unnamed)
    assert build_index(unnamed, embedder).new == 1
    assert texts(settings) == {ZEBRA, OKAPI, HERON, LYNX}


def test_rebuilding_without_naming_sources_uses_the_remembered_ones(settings: Settings, embedder: WordCountEmbedder) -> None:
    build_index(settings, embedder)
    build_index(replace(settings, sources=()), WordCountEmbedder("other"), rebuild=True)
    assert texts(settings) == {ZEBRA, OKAPI, HERON}


def test_rebuilding_never_guesses_sources_that_cannot_be_read(settings: Settings, embedder: WordCountEmbedder) -> None:
    build_index(settings, embedder)
    _cut_pointer(settings.store_folder, opened(settings).generation)
    with pytest.raises(StoreDamagedError, match=r"index --rebuild PATH"):
        build_index(replace(settings, sources=()), embedder, rebuild=True)


def test_a_vanished_source_makes_nothing_stale_and_empties_nothing(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    build_index(settings, embedder)
    generation = opened(settings).generation
    folder_of_abstracts.rename(folder_of_abstracts.with_name("elsewhere"))
    assert not is_stale(opened(settings).sources, settings)
    assert missing_sources(opened(settings).sources) == settings.sources
    with pytest.raises(SourceMissingError, match="Check the path"):
        build_index(settings, embedder)
    assert (opened(settings).generation, texts(settings)) == (generation, {ZEBRA, OKAPI, HERON})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: write(folder / "more.txt", LYNX), id="file added"),
        pytest.param(lambda folder: write(folder / "animals.txt", LYNX), id="file edited"),
        pytest.param(lambda folder: (folder / "extra.txt").unlink(), id="file removed"),
    ],
)
def test_changed_sources_make_the_index_stale(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path, change: Callable[[Path], object]
) -> None:
    write(folder_of_abstracts / "extra.txt", LYNX)
    build_index(settings, embedder)
    assert not is_stale(opened(settings).sources, settings)
    change(folder_of_abstracts)
    assert is_stale(opened(settings).sources, settings)


def test_a_touched_file_makes_nothing_stale(settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path) -> None:
    build_index(settings, embedder)
    os.utime(folder_of_abstracts / "animals.txt", (1, 1))
    assert not is_stale(opened(settings).sources, settings)


def test_a_file_edited_while_it_is_indexed_is_stale_afterwards(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_then_edited(sources: Sequence[str], **_: object) -> Collection:
        collection = read_collection(sources)
        write(folder_of_abstracts / "animals.txt", LYNX)
        return collection

    monkeypatch.setattr(indexing, "read_collection", read_then_edited)
    build_index(settings, embedder)
    assert is_stale(opened(settings).sources, settings)


def test_a_file_removed_while_it_is_indexed_is_no_crash(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = write(folder_of_abstracts / "more.txt", LYNX)

    def read_then_removed(sources: Sequence[str], **_: object) -> Collection:
        collection = read_collection(sources)
        more.unlink()
        return collection

    monkeypatch.setattr(indexing, "read_collection", read_then_removed)
    try:
        build_index(settings, embedder)
    except SourceError:
        return  # a named error is an answer too
    assert is_stale(opened(settings).sources, settings)


# --- files that cannot be read, and sources without abstracts -----------------------------------------------------------


def test_a_file_that_became_unreadable_keeps_its_papers_and_is_reported(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    more = write(folder_of_abstracts / "more.txt", LYNX)
    build_index(settings, embedder)
    more.write_bytes(IN_LATIN_1)
    report = build_index(settings, embedder)
    assert (report.unchanged, report.removed, report.encoded) == (4, 0, 0)
    assert len(report.unreadable) == 1
    assert "more.txt, line 1: not UTF-8 (byte 0xe9)" in report.unreadable[0]
    assert texts(settings) == {ZEBRA, OKAPI, HERON, LYNX}
    generation = opened(settings).generation
    build_index(settings, embedder)
    assert opened(settings).generation == generation


def test_a_file_that_is_readable_again_replaces_what_was_kept(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    more = write(folder_of_abstracts / "more.txt", LYNX)
    build_index(settings, embedder)
    more.write_bytes(IN_LATIN_1)
    build_index(settings, embedder)
    write(more, IN_LATIN_1.decode("latin-1"))
    assert is_stale(opened(settings).sources, settings)
    report = build_index(settings, embedder)
    assert (report.changed, report.unreadable, report.removed) == (1, (), 0)
    assert texts(settings) == {ZEBRA, OKAPI, HERON, IN_LATIN_1.decode("latin-1")}


def test_an_unreadable_file_keeps_nothing_of_a_replaced_source_of_its_name(
    settings: Settings, embedder: WordCountEmbedder, tmp_path: Path
) -> None:
    build_index(settings, embedder)
    other = write(tmp_path / "other" / "lynx.txt", LYNX).parent
    (other / "animals.txt").write_bytes(IN_LATIN_1)
    build_index(replace(settings, sources=(str(other),)), embedder)
    assert texts(settings) == {LYNX}


def test_only_unreadable_files_are_an_error_that_names_them(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    (folder_of_abstracts / "animals.txt").write_bytes(b"\0binary")
    with pytest.raises(SourceUnreadableError, match=r"animals\.txt, line 1"):
        build_index(settings, embedder)


@pytest.mark.parametrize("content", [pytest.param(None, id="no file"), pytest.param("Animal Papers 2021\n", id="header only")])
def test_a_folder_without_abstracts_is_an_error_and_leaves_the_old_index(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path, content: str | None
) -> None:
    build_index(settings, embedder)
    (folder_of_abstracts / "animals.txt").unlink()
    if content is not None:
        write(folder_of_abstracts / "animals.txt", content)
    with pytest.raises(SourceEmptyError, match="No abstract in"):
        build_index(settings, embedder)
    assert texts(settings) == {ZEBRA, OKAPI, HERON}


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param(lambda folder: (folder / "animals.txt").unlink(), id="folder emptied"),
        pytest.param(lambda folder: (folder / "animals.txt").write_bytes(IN_LATIN_1), id="only file unreadable"),
        pytest.param(lambda folder: folder.rename(folder.with_name("elsewhere")), id="folder gone"),
    ],
)
def test_an_index_whose_sources_give_nothing_any_more_still_answers_and_says_so(
    settings: Settings, folder_of_abstracts: Path, empty: Callable[[Path], object]
) -> None:
    Assistant.open(settings, embedding=WordCountEmbedding())
    empty(folder_of_abstracts)
    assistant = Assistant.open(settings, embedding=WordCountEmbedding())
    assert {hit.paper.abstract for hit in assistant.search("zebra okapi heron")} == {ZEBRA, OKAPI, HERON}
    assert len(assistant.notices) == 1


def test_an_index_never_answers_for_other_sources_that_give_nothing(settings: Settings, tmp_path: Path) -> None:
    Assistant.open(settings, embedding=WordCountEmbedding())
    (tmp_path / "other").mkdir()
    with pytest.raises(SourceEmptyError):
        Assistant.open(replace(settings, sources=(str(tmp_path / "other"),)), embedding=WordCountEmbedding())


# --- the report -----------------------------------------------------------------------------------------------------------


def test_the_report_counts_occurrences_and_names_what_was_merged(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    write(folder_of_abstracts / "more.txt", OKAPI, LYNX, LYNX.replace("-", "–"))
    report = build_index(settings, embedder)
    assert (report.occurrences, report.papers, report.new, report.encoded) == (6, 4, 4, 4)
    assert report.duplicates == ("more.txt#1 = animals.txt#2",)
    assert report.near_duplicates == ("more.txt#3 = more.txt#2",)
    assert report.seconds > 0
    assert report.abstracts_per_second == pytest.approx(4 / report.seconds)


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        pytest.param([ZEBRA, ZEBRA], [OKAPI, HERON], (1, 1, 0, 0), id="a repeated abstract becomes two"),
        pytest.param([ZEBRA, OKAPI], [HERON, HERON], (0, 1, 1, 0), id="two abstracts become one"),
        pytest.param([ZEBRA, OKAPI], [OKAPI, HERON], (1, 0, 1, 1), id="the first removed, one appended"),
        pytest.param([ZEBRA], [OKAPI, ZEBRA], (1, 0, 0, 1), id="one put before"),
    ],
)
def test_old_papers_are_changed_removed_or_unchanged_and_new_ones_changed_new_or_unchanged(
    settings: Settings,
    embedder: WordCountEmbedder,
    folder_of_abstracts: Path,
    before: list[str],
    after: list[str],
    counts: tuple[int, int, int, int],
) -> None:
    write(folder_of_abstracts / "animals.txt", *before)
    build_index(settings, embedder)
    write(folder_of_abstracts / "animals.txt", *after)
    report = build_index(settings, embedder)
    assert (report.new, report.changed, report.removed, report.unchanged) == counts


# --- longer than the window -------------------------------------------------------------------------------------------


def test_an_abstract_longer_than_the_window_is_counted_and_found_by_its_last_sentence(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    tail = "Quokkas smile at tourists."
    long = " ".join([*(f"Sentence {number} speaks of grass and rain." for number in range(200)), tail])
    write(folder_of_abstracts / "animals.txt", ZEBRA, long, HERON)
    assert build_index(settings, embedder).beyond_window == 1
    assistant = Assistant(settings, embedder, opened(settings), Coefficients.load())
    found = assistant.search("Do quokkas smile at tourists?", k=1)[0]
    assert (found.paper.abstract, found.sentences[0].text) == (long, tail)


# --- damage ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept_share",
    [
        pytest.param(None, id="removed"),
        pytest.param(0.5, id="cut in half"),
        pytest.param(0.0, id="empty"),
    ],
)
def test_damage_to_any_file_is_named_with_its_repair(
    settings: Settings, embedder: WordCountEmbedder, kept_share: float | None
) -> None:
    build_index(settings, embedder)
    generation = opened(settings).generation
    ours = [path for path in generation.rglob("*") if path.is_file() and "chroma" not in path.parts]
    assert len(ours) > 12
    for path in ours:
        content = path.read_bytes()
        path.unlink()
        if kept_share is not None:
            path.write_bytes(content[: int(kept_share * len(content))])
        with pytest.raises(StoreDamagedError, match="index --rebuild"):
            PaperIndex.open(generation)
        path.write_bytes(content)


# --- rebuilding -------------------------------------------------------------------------------------------------------


def _cut_pointer(store: Path, generation: Path) -> None:
    (store / "current.json").write_text('{"genera', encoding="utf-8")


def _remove_generation(store: Path, generation: Path) -> None:
    shutil.rmtree(generation)


def _remove_passport(store: Path, generation: Path) -> None:
    (generation / "passport.json").unlink()


def _cut_papers(store: Path, generation: Path) -> None:
    (generation / "papers.jsonl").write_text('{"id": "1', encoding="utf-8")


def _remove_chroma(store: Path, generation: Path) -> None:
    shutil.rmtree(generation / "chroma")


def _zero_vectors(store: Path, generation: Path) -> None:
    path = generation / "vectors" / "vectors.npy"
    content = path.read_bytes()
    path.write_bytes(content[:128] + bytes(len(content) - 128))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_remove_passport, id="passport removed"),
        pytest.param(_cut_papers, id="papers cut"),
        pytest.param(_cut_pointer, id="pointer cut"),
        pytest.param(_remove_generation, id="generation removed"),
        pytest.param(_remove_chroma, id="Chroma's folder removed"),
        pytest.param(_zero_vectors, id="vectors zeroed"),
    ],
)
def test_rebuilding_repairs_a_damaged_index(
    settings: Settings, embedder: WordCountEmbedder, damage: Callable[[Path, Path], None]
) -> None:
    build_index(settings, embedder)
    damage(settings.store_folder, opened(settings).generation)
    build_index(settings, embedder, rebuild=True)
    index = opened(settings)
    for row, paper in enumerate(index.papers):
        assert index.nearest(embedder.encode_query(paper.abstract).vector, 1)[0].id == paper.id
        assert np.linalg.norm(index.vectors.vector(row)) == pytest.approx(1, abs=1e-3)


def test_a_small_change_keeps_the_files_of_what_did_not_change(
    settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path
) -> None:
    abstracts = [f"Gnu {number} grazes on graph {number}. It never tires." for number in range(40)]
    more = write(folder_of_abstracts / "more.txt", "\n\n".join(abstracts))
    build_index(settings, embedder)
    before = opened(settings)
    embedder.encoded = 0
    abstracts[7] = "Gnu seven has left the savanna."
    write(more, "\n\n".join(abstracts))
    report = build_index(settings, embedder)
    after = opened(settings)
    assert (report.changed, report.encoded, embedder.encoded) == (1, 1, 1)
    shared, old = (index.generation / "vectors" / "segment-0" / "words.npy" for index in (after, before))
    assert os.path.samefile(shared, old)
    assert after.vectors.segments == 2
    for row, paper in enumerate(after.papers):  # all that is kept of a paper belongs to it still
        found = after.nearest(after.vectors.vector(row), 1)[0]
        assert found.similarity == pytest.approx(1, abs=1e-3)
        assert after.spans[row][-1].end == len(paper.abstract)
        assert len(after.sentence_vectors(row)) == len(after.spans[row])
        assert after.lexical.coverage(terms(paper.abstract))[row] > 0.9
    assert {match.id for match in after.nearest(after.vectors.vector(0), 43)} <= set(after.row_of)


def test_many_small_changes_do_not_pile_up(settings: Settings, embedder: WordCountEmbedder, folder_of_abstracts: Path) -> None:
    abstracts = [f"Gnu {number} grazes on graph {number}." for number in range(30)]
    for change in range(25):
        abstracts[change % 3] = f"Gnu {change} was seen again."
        write(folder_of_abstracts / "more.txt", "\n\n".join(abstracts))
        build_index(settings, embedder)
    index = opened(settings)
    assert index.vectors.segments <= 20
    assert index.vectors.segment_rows <= 1.5 * len(index.papers)
    newest = next(paper for paper in index.papers if paper.abstract == "Gnu 24 was seen again.")
    assert index.nearest(index.vectors.vector(index.row_of[newest.id]), 1)[0].id == newest.id
