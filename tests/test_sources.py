"""Sources that are patterns: remembered as such, so that files that match later are found, and gone when nothing matches."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag.indexing import build_index
from rag.settings import Settings
from rag.sources import Sources, is_stale, missing_sources
from tests.conftest import OKAPI, ZEBRA, WordCountEmbedder
from tests.test_indexing import opened, texts, write


@pytest.fixture
def of_a_pattern(settings: Settings, embedder: WordCountEmbedder, tmp_path: Path) -> Settings:
    """Settings without sources, for an index that was made of "a*.txt" when one file matched."""
    write(tmp_path / "exports" / "animals.txt", ZEBRA)
    build_index(replace(settings, sources=(str(tmp_path / "exports" / "a*.txt"),)), embedder)
    return replace(settings, sources=())


def test_a_file_that_matches_later_is_found_by_the_remembered_pattern(
    of_a_pattern: Settings, embedder: WordCountEmbedder, tmp_path: Path
) -> None:
    assert not is_stale(opened(of_a_pattern).sources, of_a_pattern)
    write(tmp_path / "exports" / "apes.txt", OKAPI)
    write(tmp_path / "exports" / "bees.txt", "We study bees.")
    assert is_stale(opened(of_a_pattern).sources, of_a_pattern)
    build_index(of_a_pattern, embedder)
    assert texts(of_a_pattern) == {ZEBRA, OKAPI}


def test_a_pattern_that_nothing_matches_any_more_is_missing_and_makes_nothing_stale(of_a_pattern: Settings, tmp_path: Path) -> None:
    (tmp_path / "exports" / "animals.txt").unlink()
    assert missing_sources(opened(of_a_pattern).sources) == (str(tmp_path / "exports" / "a*.txt"),)
    assert not is_stale(opened(of_a_pattern).sources, of_a_pattern)


def test_a_path_that_leads_in_a_circle_is_missing(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    assert missing_sources(Sources((str(circle),), {})) == (str(circle),)
