"""Which embedder the settings, or an index, ask for."""

from dataclasses import replace
from typing import Any

from rag.errors import EmbedderError
from rag.settings import KEY_OF_EMBEDDER, Settings, api_key
from vectorstore.embedder import DEFAULT_MODEL, LlamaIndexEmbedding, SentenceTransformerEmbedder, SeparateEmbedder
from vectorstore.passport import Passport

SERVED = "served"
"""What the name of an embedding server's model begins with in a passport; its address may change."""
_TEXTS_PER_REQUEST = 256
_TIMEOUT_SECONDS = 60.0


def make_embedder(
    settings: Settings, embedding: LlamaIndexEmbedding | None = None, passport: Passport | None = None
) -> SentenceTransformerEmbedder | SeparateEmbedder:
    """The embedder that `settings` name, or the given LlamaIndex object. Raises `EmbedderError`.

    Where they name none, it is that of the index with this `passport`, else the default one.
    """
    if embedding is not None:
        return SeparateEmbedder(embedding)
    if settings.embedder_url:
        return _served(settings, passport)
    if not settings.embedder:
        settings = replace(settings, **(_embedder_of(passport) if passport is not None else {"embedder": DEFAULT_MODEL}))
    return SentenceTransformerEmbedder(
        settings.embedder,
        query_prefix=settings.query_prefix,
        passage_prefix=settings.passage_prefix,
        window=settings.window_tokens,
        batch_size=settings.batch_size,
        device=settings.device,
    )


def _embedder_of(passport: Passport) -> dict[str, Any]:
    """The settings that name the embedder of an index."""
    built = passport.embedder
    kind, _, name = str(built["model"]).partition(":")
    if built.get("sentence_vectors") == "encoded apart" and name and kind.isidentifier():
        needed = f"set embedder_url to a server of {name}" if kind == SERVED else f"give that object as `embedding`: a {kind}"
        raise EmbedderError(
            f"The index was built with an embedder that its name cannot bring back ({built['model']}). Please {needed}."
        )
    return {
        "embedder": str(built["model"]),
        "query_prefix": str(built.get("query_prefix", "")),
        "passage_prefix": str(built.get("passage_prefix", "")),
        "window_tokens": int(built["window"]) if "window" in built else Settings().window_tokens,
    }


def _served(settings: Settings, passport: Passport | None) -> SeparateEmbedder:
    """An embedding server's model: the one that `settings` name, else that of the index with this `passport`."""
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding

    before = str(passport.embedder["model"]) if passport is not None else ""
    name = settings.embedder or (before.removeprefix(f"{SERVED}:") if before.startswith(f"{SERVED}:") else "")
    if not name:
        raise EmbedderError(
            "embedder_url is set, but no model of that server is named. Name one: --embedder NAME or ASKABSTRACTS_EMBEDDER."
        )
    embedding = OpenAILikeEmbedding(
        model_name=name,
        api_base=settings.embedder_url,
        api_key=api_key(KEY_OF_EMBEDDER) or "none",  # such servers mostly want none, and the client wants one
        embed_batch_size=_TEXTS_PER_REQUEST,
        timeout=_TIMEOUT_SECONDS,
        max_retries=2,
        reuse_client=True,
    )
    return SeparateEmbedder(embedding, name=f"{SERVED}:{name}")
