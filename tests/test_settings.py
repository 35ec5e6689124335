"""Settings: bounds, types and unknown names are refused at the door, and defaults do not depend on where one stands."""

import os
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from rag import Settings
from rag.errors import SettingsError
from rag.settings import PREFIX, default_store, seed_folder

BOUNDS = [
    ("window_tokens", 16, 8192),
    ("batch_size", 1, 1024),
    ("max_papers", 1, 10),
    ("max_quotes", 1, 20),
    ("lock_timeout_seconds", 0, 86400),
]


def settings_with(name: str, value: object) -> Settings:
    fields: dict[str, Any] = {name: value}
    return Settings(**fields)


@pytest.mark.parametrize(("name", "low", "high"), BOUNDS)
def test_bounds_are_inclusive(name: str, low: int, high: int) -> None:
    assert getattr(settings_with(name, low), name) == low
    assert getattr(settings_with(name, high), name) == high


@pytest.mark.parametrize(("name", "low", "high"), BOUNDS)
def test_a_number_out_of_bounds_is_refused_with_the_bounds(name: str, low: int, high: int) -> None:
    for value in (low - 1, high + 1):
        with pytest.raises(SettingsError, match=f"{name} is {value}; it must be a number from {low} to {high}"):
            settings_with(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("max_quotes", True, id="a boolean for a number"),
        pytest.param("max_quotes", "4", id="a string for a number"),
        pytest.param("max_quotes", None, id="nothing for a number"),
        pytest.param("lock_timeout_seconds", float("nan"), id="not a number"),
        pytest.param("lock_timeout_seconds", float("inf"), id="for ever"),
        pytest.param("collection", "ab", id="a collection's name too short"),
        pytest.param("collection", "a" * 61, id="a collection's name too long"),
        pytest.param("collection", "ICML", id="a collection's name with capitals"),
        pytest.param("collection", "../up", id="a collection's name that leads elsewhere"),
        pytest.param("collection", ".hidden", id="a collection's name that begins with a dot"),
        pytest.param("collection", "icml.", id="a collection's name that ends with a dot"),
        pytest.param("collection", "icml\n", id="a collection's name with a line end"),
        pytest.param("collection", "nul", id="a collection named as a device of Windows"),
        pytest.param("collection", "com1.icml", id="a collection named as a device with an ending"),
        pytest.param("collection", None, id="nothing for a collection"),
        pytest.param("sources", "abstracts.txt", id="a string for a tuple of paths"),
        pytest.param("embedder", "  ", id="an empty embedder"),
        pytest.param("llm", "banana", id="an answerer that there is none of"),
        pytest.param("store", "ftp://127.0.0.1", id="a store that is neither folder nor server"),
        pytest.param("max_quotes", 2.5, id="half a quote"),
        pytest.param("store", None, id="nothing for a store"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=name):
        settings_with(name, value)


def test_paths_may_be_path_objects(tmp_path: Path) -> None:
    settings = Settings(**{"store": tmp_path / "store", "sources": [tmp_path]})  # type: ignore[arg-type]  # as callers write it
    assert (settings.store, settings.sources) == (str(tmp_path / "store"), (str(tmp_path),))


def test_settings_are_frozen_and_varied_by_replace() -> None:
    settings = Settings(max_quotes=2)
    with pytest.raises(FrozenInstanceError):
        settings.max_quotes = 3  # type: ignore[misc]  # the point of the test
    assert replace(settings, max_papers=1) == Settings(max_quotes=2, max_papers=1)
    with pytest.raises(SettingsError, match="max_quotes"):
        replace(settings, max_quotes=21)


def test_a_named_collection_lies_within_the_store_and_the_default_one_is_the_store(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert Settings(store=store).store_folder == tmp_path / "store"
    assert Settings(store=store, collection="icml-2024").store_folder == tmp_path / "store" / "collections" / "icml-2024"
    assert Settings(store=store, collection="default") == Settings(store=store)
    assert Settings.from_env({"ASKABSTRACTS_COLLECTION": "birds"}).collection == "birds"


def test_variables_are_read_as_the_types_of_their_fields() -> None:
    environment = {
        "ASKABSTRACTS_STORE": "~/index",
        "ASKABSTRACTS_SOURCES": os.pathsep.join(["a.txt", "more abstracts", ""]),
        "ASKABSTRACTS_MAX_QUOTES": "7",
        "ASKABSTRACTS_LOCK_TIMEOUT_SECONDS": "0.5",
        "ASKABSTRACTS_QUERY_PREFIX": "query: ",
        "HOME": "/home/somebody",
    }
    expected = Settings(
        store="~/index", sources=("a.txt", "more abstracts"), max_quotes=7, lock_timeout_seconds=0.5, query_prefix="query: "
    )
    assert Settings.from_env(environment) == expected


def test_without_variables_everything_has_its_default() -> None:
    assert Settings.from_env({}) == Settings()
    assert Settings.from_env({"ASKABSTRACTS_MAX_QUOTES": ""}) == Settings()


def test_what_is_given_wins_over_a_variable() -> None:
    environment = {"ASKABSTRACTS_STORE": "from the environment", "ASKABSTRACTS_MAX_PAPERS": "2"}
    assert Settings.from_env(environment, store="given", device=None) == Settings(store="given", max_papers=2)


@pytest.mark.parametrize("variable", ["ASKABSTRACTS_STOR", "ASKABSTRACTS_Store_", "ASKABSTRACTS_"])
def test_an_unknown_variable_is_refused_and_the_known_are_named(variable: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable} is unknown. Known are: .*ASKABSTRACTS_STORE"):
        Settings.from_env({variable: "x"})


@pytest.mark.parametrize(("value", "message"), [("many", "must be a number"), ("2.5", "must be a number"), ("0", "from 1 to 20")])
def test_a_variable_out_of_bounds_is_refused(value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.from_env({f"{PREFIX}MAX_QUOTES": value})


def test_defaults_do_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (Settings().store_folder, default_store(), seed_folder())
    monkeypatch.chdir(tmp_path)
    assert (Settings().store_folder, default_store(), seed_folder()) == before
    assert all(path.is_absolute() for path in before)
    assert len(list(seed_folder().glob("*.txt"))) == 5


def test_an_installed_package_keeps_its_index_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.settings.checkout", lambda: None)
    assert default_store().name == "askabstracts"
    assert default_store().is_absolute()
    assert seed_folder().parts[-2:] == ("rag", "seeds")


def test_a_tilde_in_the_store_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings(store="~/index").store_folder == tmp_path.resolve() / "index"
