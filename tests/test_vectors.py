"""Vectors in our own files: what goes in comes out, torn files are left out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vectorstore.arrays import StoredRows
from vectorstore.encoded import WORD_SCALE, Encoded, unit
from vectorstore.errors import StoreDamagedError
from vectorstore.pending import PendingVectors
from vectorstore.vectors import VectorFile, VectorWriter

DIMENSION = 8


def encoded(seed: int, *, parts: int = 2, words: int = 3, is_beyond_window: bool = False) -> Encoded:
    random = np.random.default_rng(seed)
    return Encoded(
        unit(random.normal(size=DIMENSION)),
        unit(random.normal(size=(parts, DIMENSION))),
        np.round(unit(random.normal(size=(words, DIMENSION))) * WORD_SCALE).astype(np.int8),
        np.arange(words, dtype=np.int16) % max(parts, 1),
        is_beyond_window,
    )


def assert_same(stored: Encoded, given: Encoded) -> None:
    np.testing.assert_allclose(stored.vector, given.vector, atol=1e-3)
    np.testing.assert_allclose(stored.parts, given.parts, atol=1e-3)
    np.testing.assert_array_equal(stored.words, given.words)
    np.testing.assert_array_equal(stored.word_owners, given.word_owners)
    assert stored.is_beyond_window == given.is_beyond_window


def written(folder: Path, rows: dict[str, Encoded]) -> VectorFile:
    with VectorWriter(folder, dimension=DIMENSION) as writer:
        for key, row in rows.items():
            writer.add(key, row)
    return VectorFile.load(folder)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=12))
def test_a_vector_file_gives_back_every_row(tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[int, int, bool]]) -> None:
    rows = {
        f"key {seed}": encoded(seed, parts=parts, words=words, is_beyond_window=beyond)
        for seed, (parts, words, beyond) in enumerate(shapes)
    }
    file = written(tmp_path_factory.mktemp("vectors"), rows)
    assert (len(file), list(file.keys)) == (len(rows), list(rows))
    assert file.beyond_window == sum(beyond for *_, beyond in shapes)
    assert file.all_vectors().shape == (len(rows), DIMENSION)
    for row, (key, given_row) in enumerate(rows.items()):
        assert_same(file.encoded(file.rows[key]), given_row)
        np.testing.assert_allclose(file.vector(row), given_row.vector, atol=1e-3)
        np.testing.assert_allclose(file.parts(row), given_row.parts, atol=1e-3)
        words, owners = file.words(row)
        np.testing.assert_allclose(words, given_row.words / WORD_SCALE, atol=1e-6)
        np.testing.assert_array_equal(owners, given_row.word_owners)


def test_vectors_read_are_single_precision(tmp_path: Path) -> None:
    file = written(tmp_path, {"a": encoded(1)})
    assert {array.dtype for array in (file.all_vectors(), file.vector(0), file.parts(0), file.words(0)[0])} == {np.dtype("float32")}


def test_many_rows_are_counted_in_the_header(tmp_path: Path) -> None:
    file = written(tmp_path, {f"{number}": encoded(7, parts=1, words=1) for number in range(12_345)})
    assert file.all_vectors().shape == (12_345, DIMENSION)
    assert np.load(tmp_path / "segment-0" / "words.npy").shape == (12_345, DIMENSION)


@pytest.mark.parametrize("name", ["keys.npy", "vectors.npy", "segment-0/words.npy", "segment-0/part_ends.npy"])
@pytest.mark.parametrize("kept_bytes", [pytest.param(None, id="removed"), pytest.param(slice(0, -20), id="cut")])
def test_a_damaged_vector_file_is_named_with_its_repair(tmp_path: Path, name: str, kept_bytes: slice | None) -> None:
    written(tmp_path, {f"{number}": encoded(number) for number in range(20)})
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if kept_bytes is not None:
        (tmp_path / name).write_bytes(content[kept_bytes])
    with pytest.raises(StoreDamagedError, match="index --rebuild"):
        VectorFile.load(tmp_path)


def test_pending_vectors_survive_their_process(tmp_path: Path) -> None:
    batches = [{"a": encoded(1, is_beyond_window=True), "b": encoded(2, parts=0, words=0)}, {"c": encoded(3, parts=4)}]
    first = PendingVectors(tmp_path / "pending")
    for batch in batches:
        first.add(batch)
    for pending in (first, PendingVectors(tmp_path / "pending")):
        for key, row in (batches[0] | batches[1]).items():
            assert key in pending
            assert_same(pending.encoded(key), row)
    assert "d" not in first


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[: len(content) // 2], id="cut in half"),
        pytest.param(lambda content: content[:-1], id="last byte missing"),
        pytest.param(lambda content: bytes(len(content)), id="zeroes"),
        pytest.param(lambda content: b"no archive", id="other content"),
        pytest.param(lambda content: content.replace(b"keys.npy", b"kexs.npy"), id="without keys"),
    ],
)
def test_a_torn_file_is_left_out_and_removed(tmp_path: Path, torn: "type[bytes]") -> None:
    pending = PendingVectors(tmp_path)
    pending.add({"a": encoded(1)})
    pending.add({"b": encoded(2)})
    [path] = tmp_path.glob("a*.npz")
    path.write_bytes(torn(path.read_bytes()))
    again = PendingVectors(tmp_path)
    assert "a" not in again
    assert "b" in again
    assert not path.exists()
    again.add({"a": encoded(1)})
    assert_same(PendingVectors(tmp_path).encoded("a"), encoded(1))


def test_a_file_of_a_killed_write_is_never_read(tmp_path: Path) -> None:
    pending = PendingVectors(tmp_path)
    pending.add({"a": encoded(1)})
    next(tmp_path.glob("a*")).rename(tmp_path / "a.tmp")
    assert "a" not in PendingVectors(tmp_path)


def test_an_empty_batch_writes_nothing(tmp_path: Path) -> None:
    PendingVectors(tmp_path / "pending").add({})
    assert not (tmp_path / "pending").exists()


def test_cleared_vectors_are_forgotten(tmp_path: Path) -> None:
    pending = PendingVectors(tmp_path / "pending")
    pending.add({"a": encoded(1)})
    pending.clear()
    assert "a" not in pending
    assert "a" not in PendingVectors(tmp_path / "pending")
    pending.clear()


def test_rows_on_disk_are_read_without_being_mapped(tmp_path: Path) -> None:
    rows = np.arange(24, dtype=np.int16).reshape(8, 3)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "none.npy", rows[:0])
    stored = StoredRows(tmp_path / "rows.npy")
    (tmp_path / "rows.npy").unlink()  # a reader keeps what it opened
    assert len(stored) == 8
    np.testing.assert_array_equal(stored[2:5], rows[2:5])
    assert stored[8:8].shape == StoredRows(tmp_path / "none.npy")[0:0].shape == (0, 3)
