"""How well the right paper is found, beside the stack's own ways, in one run: title to abstract over thousands of papers.

    python -m eval.bench_retrieval --papers FILE --count 5000    JSON Lines with "title" and "abstract", plain or gzipped

A title is the query, its abstract the one right document; the corpus holds no titles. Every query goes to all systems in turn,
so that noise on the machine meets them alike. Nothing in it is fitted, and no system uses a language model.
"""

import argparse
import gzip
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bm25s
import chromadb
import Stemmer
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.chroma import ChromaVectorStore

from eval.beir import DEPTH, assistant_over, retrieval_figures
from eval.metrics import Figure, cell
from rag.embedders import make_embedder
from rag.index import PaperIndex
from rag.papers import Paper, paper_id
from rag.settings import Settings
from rag.text import searchable
from rag.titles import derived_title
from vectorstore.embedder import DEFAULT_MODEL, packaged_folder

Search = Callable[[str], list[str]]
"""A query to the ids of the best papers, best first."""

_SHOWN = ("R@1", "R@5", "MRR", "nDCG@10")
_FUSED = 40  # of each list that is fused: as many as this program considers by meaning


@dataclass(frozen=True, slots=True)
class SystemResult:
    """What one system did with all queries."""

    figures: Mapping[str, Figure]
    median_ms: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.bench_retrieval`."""
    parser = argparse.ArgumentParser(prog="python -m eval.bench_retrieval", description="Find abstracts by their titles.")
    parser.add_argument("--papers", type=Path, required=True, help='JSON Lines with "title" and "abstract", may be gzipped')
    parser.add_argument("--count", type=int, default=5000, help="papers in the corpus (default: 5000)")
    parser.add_argument("--queries", type=int, default=500, help="titles to ask, a fixed sample (default: 500)")
    parser.add_argument("--out", type=Path, default=Path("bench-results/retrieval.json"), help="where the figures go as JSON")
    options = parser.parse_args(arguments)
    titled = read_titled(options.papers, options.count)
    queries = sample(titled, options.queries)
    with tempfile.TemporaryDirectory() as folder:
        systems, facts = build_systems([paper for _, paper in titled], Path(folder))
        results = compare(systems, queries)
    facts = {"papers": len(titled), "queries": len(queries), "machine": platform.machine(), **facts}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figures = {"facts": facts, "systems": {name: asdict(one) for name, one in results.items()}}
    options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(results) + "".join(f"{name}: {value}\n" for name, value in facts.items()))
    return 0


def read_titled(path: Path, count: int) -> list[tuple[str, Paper]]:
    """The first `count` distinct papers of a file, each as its title and, without it, as a paper."""
    found: dict[str, tuple[str, Paper]] = {}
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            title, abstract = (" ".join(row[name].split()) for name in ("title", "abstract"))
            if title and abstract:
                key = paper_id(abstract)
                found.setdefault(key, (title, Paper(key, derived_title(abstract), abstract)))
            if len(found) == count:
                break
    return list(found.values())


def sample(titled: Sequence[tuple[str, Paper]], size: int) -> dict[str, str]:
    """Paper ids with their titles, the same ones in every run; a title that two papers share is not asked."""
    times = Counter(title.casefold() for title, _ in titled)
    asked = [(paper.id, title) for title, paper in titled if times[title.casefold()] == 1]
    return dict(random.Random(0).sample(asked, min(size, len(asked))))


def compare(systems: Mapping[str, Search], queries: Mapping[str, str]) -> dict[str, SystemResult]:
    """Asks every system every query, in turns; who comes first changes, for the next one finds what it needs in the cache."""
    turns, order = random.Random(0), list(systems)
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in systems}
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for search in systems.values():
        search(next(iter(queries.values())))  # warm-up: files are opened and memory is allocated
    for right, title in queries.items():
        turns.shuffle(order)
        for name in order:
            started = time.perf_counter()
            rankings[name][right] = systems[name](title)
            seconds[name].append(time.perf_counter() - started)
    qrels = {right: {right: 1} for right in queries}
    return {
        name: SystemResult(retrieval_figures(qrels, rankings[name]), round(1000 * statistics.median(seconds[name]), 1))
        for name in systems
    }


def table(results: Mapping[str, SystemResult]) -> str:
    """One line per system, figures as mean [low, high]."""
    lines = [f"{'':44}" + "".join(f"{name:>22}" for name in _SHOWN) + f"{'n':>6}{'median ms':>11}"]
    for name, one in results.items():
        cells = "".join(f"{cell(one.figures[shown]):>22}" for shown in _SHOWN)
        lines.append(f"{name:44}{cells}{one.figures[_SHOWN[0]].n:6}{one.median_ms:11.1f}")
    return "\n".join(lines) + "\n"


def build_systems(papers: Sequence[Paper], folder: Path) -> tuple[dict[str, Search], dict[str, object]]:
    """The four systems over one corpus, and how they were built.

    The corpus is encoded once, by this program. LlamaIndex gets those vectors for abstracts that it would read word for word
    as this program does; it encodes the others itself.
    """
    settings = Settings(store=str(folder / "store"))
    started = time.perf_counter()
    assistant = assistant_over(papers, settings, make_embedder(settings))
    indexed = time.perf_counter()
    nodes = [TextNode(id_=paper.id, text=paper.abstract) for paper in papers]
    shared = _share_vectors(nodes, assistant.index)
    dense_index = _chroma_index(nodes, settings, folder / "llama")
    built = time.perf_counter()
    bm25 = PlainBM25([paper.abstract for paper in papers])
    dense, deep = (dense_index.as_retriever(similarity_top_k=k) for k in (DEPTH, _FUSED))
    fusion = QueryFusionRetriever(
        [BM25Retriever(bm25, nodes, k=_FUSED), deep],
        llm=MockLLM(),  # never asked, but without it LlamaIndex looks for OpenAI's
        mode="reciprocal_rerank",
        similarity_top_k=DEPTH,
        num_queries=1,
        use_async=False,
    )
    systems: dict[str, Search] = {
        "AskAbstracts": lambda query: [hit.paper.id for hit in assistant.search(query, k=DEPTH)],
        "BM25 (bm25s, PyStemmer)": lambda query: [papers[row].id for row, _ in bm25.best(query, DEPTH)],
        "LlamaIndex on Chroma": _retrieves(dense),
        "LlamaIndex fusion of BM25 and Chroma": _retrieves(fusion),
    }
    return systems, {
        "embedder": settings.embedder,
        "window_tokens": settings.window_tokens,
        "batch_size": settings.batch_size,
        "indexing, s": round(indexed - started, 1),
        "LlamaIndex on Chroma with shared vectors, s": round(built - indexed, 1),
        "abstracts whose vectors are shared": shared,
    }


class PlainBM25:
    """bm25s with its own tokenizer, stop words and constants, and PyStemmer."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._bm25 = bm25s.BM25()
        self._bm25.index(self._tokens(texts), show_progress=False)
        self._rows = len(texts)

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """Rows and scores, best first."""
        rows, scores = self._bm25.retrieve(self._tokens([query]), k=min(k, self._rows), show_progress=False)
        return [(int(row), float(score)) for row, score in zip(rows[0], scores[0], strict=True)]

    def _tokens(self, texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)


class BM25Retriever(BaseRetriever):  # type: ignore[misc]  # llama_index is not followed by mypy here
    """What llama-index-retrievers-bm25 does, with its defaults; the package itself wants an older PyStemmer than is pinned."""

    def __init__(self, bm25: PlainBM25, nodes: Sequence[Any], *, k: int) -> None:
        super().__init__()
        self._bm25, self._nodes, self._k = bm25, nodes, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=self._nodes[row], score=score) for row, score in self._bm25.best(query_bundle.query_str, self._k)
        ]


def _retrieves(retriever: Any) -> Search:
    return lambda query: [found.node.node_id for found in retriever.retrieve(query)]


def _share_vectors(nodes: Sequence[Any], index: PaperIndex) -> int:
    """Gives a node its paper's vector where both texts are the same and within the window; returns to how many."""
    shared = 0
    for row, (node, paper, spans) in enumerate(zip(nodes, index.papers, index.spans, strict=True)):
        encoded = index.vectors.encoded(row)
        read = " ".join(searchable(paper.abstract[span.start : span.end]) for span in spans)
        if read == node.text and not encoded.is_beyond_window:
            node.embedding = encoded.vector.tolist()
            shared += 1
    return shared


def _chroma_index(nodes: Sequence[Any], settings: Settings, folder: Path) -> Any:
    """LlamaIndex's vector index on Chroma, as its documentation builds it; nodes that have a vector are not encoded again."""
    embedding = HuggingFaceEmbedding(
        model_name=str(packaged_folder(DEFAULT_MODEL)),
        max_length=settings.window_tokens,
        embed_batch_size=settings.batch_size,
        device=settings.device,
    )
    collection = chromadb.PersistentClient(path=str(folder)).create_collection("papers")
    storage = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=collection))
    return VectorStoreIndex(list(nodes), storage_context=storage, embed_model=embedding)


if __name__ == "__main__":
    sys.exit(main())
