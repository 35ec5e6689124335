"""An index is used only by what would build the same vectors."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag.index import PaperIndex
from rag.indexing import build_index
from rag.settings import Settings
from rag.text import TEXT_VERSION
from tests.conftest import WordCountEmbedder
from vectorstore.embedder import Embedder
from vectorstore.errors import PassportMismatchError, StoreDamagedError
from vectorstore.generations import GenerationFolder
from vectorstore.passport import SCHEMA_VERSION, Passport

PLACE = Path("/place")


class OtherWeights(WordCountEmbedder):
    """Same name and dimension, other vectors."""

    def _word(self, word: str) -> np.ndarray:
        return np.roll(super()._word(word), len(word))


@pytest.fixture
def passport(embedder: WordCountEmbedder) -> Passport:
    return Passport.of(embedder, text_version=TEXT_VERSION)


def test_a_saved_passport_comes_back_and_is_accepted(passport: Passport, tmp_path: Path) -> None:
    passport.save(tmp_path / "passport.json")
    loaded = Passport.load(tmp_path / "passport.json")
    assert loaded == passport
    loaded.require(passport, place=PLACE)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        pytest.param({"metric": "l2"}, "metric: index 'l2', settings 'cosine'", id="metric"),
        pytest.param({"text_version": 0}, f"text preparation: index 0, settings {TEXT_VERSION}", id="text preparation"),
        pytest.param({"embedder": {"model": "other", "dimension": 64}}, "embedder model: index 'other'", id="model"),
        pytest.param({"embedder": {"model": "word counts", "dimension": 32}}, "embedder dimension: index 32", id="dimension"),
        pytest.param({"embedder": {"model": "word counts"}}, "embedder dimension: index None", id="a field less"),
        pytest.param({"embedder": {"model": "word counts", "dimension": 64, "window": 256}}, "embedder window", id="a field more"),
        pytest.param({"probe": (1.0, *[0.0] * 63)}, "other weights", id="other vectors"),
        pytest.param({"probe": (1.0,)}, "other weights", id="a shorter vector"),
    ],
)
def test_every_difference_is_refused_by_name_with_the_fixing_command(
    passport: Passport, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(PassportMismatchError, match=named) as refusal:
        replace(passport, **changes).require(passport, place=PLACE)
    assert "/place" in str(refusal.value)
    assert "askabstracts index --rebuild" in str(refusal.value)


def test_noise_of_other_hardware_is_accepted(passport: Passport) -> None:
    noisy = tuple(value + 1e-4 * (-1) ** place for place, value in enumerate(passport.probe))
    replace(passport, probe=noisy).require(passport, place=PLACE)


def test_another_schema_is_refused_with_the_fixing_command(passport: Passport, tmp_path: Path) -> None:
    replace(passport, schema=SCHEMA_VERSION - 1).save(tmp_path / "passport.json")
    with pytest.raises(PassportMismatchError, match="askabstracts index --rebuild"):
        Passport.load(tmp_path / "passport.json")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param("[1]", id="a list"),
        pytest.param(f'{{"schema": {SCHEMA_VERSION}}}', id="fields missing"),
        pytest.param("\xff", id="not UTF-8"),
    ],
)
def test_what_is_no_passport_is_damage(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "passport.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(StoreDamagedError, match="index --rebuild"):
        Passport.load(tmp_path / "passport.json")


def _of_older_schema(generation: Path) -> None:
    fields = json.loads((generation / "passport.json").read_text())
    (generation / "passport.json").write_text(json.dumps(fields | {"schema": 0}))


def _of_older_text_preparation(generation: Path) -> None:
    fields = json.loads((generation / "passport.json").read_text())
    (generation / "passport.json").write_text(json.dumps(fields | {"text_version": TEXT_VERSION - 1}))


@pytest.mark.parametrize(
    ("embedder_now", "change"),
    [
        pytest.param(WordCountEmbedder("other"), None, id="another embedder of the same dimension"),
        pytest.param(OtherWeights(), None, id="same name and other vectors"),
        pytest.param(WordCountEmbedder(), _of_older_schema, id="an older schema"),
        pytest.param(WordCountEmbedder(), _of_older_text_preparation, id="an older text preparation"),
    ],
)
def test_an_index_of_another_passport_is_refused_and_replaced_by_rebuilding(
    settings: Settings, embedder_now: Embedder, change: Callable[[Path], None] | None
) -> None:
    build_index(settings, WordCountEmbedder())
    folder = GenerationFolder(settings.store_folder)
    generation = folder.current()
    if change is not None:
        change(generation)
    with pytest.raises(PassportMismatchError, match="askabstracts index --rebuild"):
        build_index(settings, embedder_now)
    assert folder.current() == generation
    report = build_index(settings, embedder_now, rebuild=True)
    assert (report.papers, report.encoded) == (3, 3)
    index = PaperIndex.open(folder.current())
    index.passport.require(Passport.of(embedder_now, text_version=TEXT_VERSION), place=PLACE)
    for paper in index.papers:
        assert index.nearest(embedder_now.encode_query(paper.abstract).vector, 1)[0].id == paper.id
