"""Speed and memory, each as a ratio to a named baseline measured in the same run: `make bench`.

    python -m eval.bench --papers FILE    abstracts to index: JSON Lines with an "abstract" key, plain or gzipped

Without a file the seed abstracts are indexed. Prints a table and writes the figures as JSON.
"""

import argparse
import gzip
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from eval.questions import DEVELOPMENT, load_questions
from rag.assistant import Assistant
from rag.embedders import make_embedder
from rag.indexing import build_index
from rag.papers import read_collection
from rag.questions import fault, read_question
from rag.settings import Settings, seed_folder

_QUESTION = "How should a KV cache be quantized?"
_IMPORTS = "import sentence_transformers, chromadb"
_STAGES = """
import json, time
started = time.perf_counter()
import sentence_transformers, chromadb
from rag import Assistant, Settings
imported = time.perf_counter()
assistant = Assistant.open(Settings(store={store!r}))
opened = time.perf_counter()
assistant.ask({question!r})
print(json.dumps({{"imports": imported - started, "open": opened - imported, "first answer": time.perf_counter() - opened}}))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.bench`."""
    parser = argparse.ArgumentParser(prog="python -m eval.bench", description="Measure speed and memory against baselines.")
    parser.add_argument("--papers", type=Path, help='JSON Lines with an "abstract" key, may be gzipped (default: the seeds)')
    parser.add_argument("--count", type=int, default=500, help="abstracts to index (default: 500)")
    parser.add_argument("--out", type=Path, default=Path("bench-results/bench.json"), help="where the figures go as JSON")
    options = parser.parse_args(arguments)
    abstracts = _abstracts(options.papers, options.count)
    figures = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "abstracts": len(abstracts),
        **_indexing(abstracts),
        **_searching(),
        **_cold_start(),
        "peak memory of this process, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write("".join(f"{name:62} {value}\n" for name, value in figures.items()))
    return 0


def _abstracts(path: Path | None, count: int) -> list[str]:
    if path is None:
        return [paper.abstract for paper in read_collection([str(seed_folder())]).papers]
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [" ".join(json.loads(line)["abstract"].split()) for line in islice(lines, count)]


def _indexing(abstracts: Sequence[str]) -> dict[str, object]:
    """Seconds to index, against the bare encoder and against LlamaIndex's quick start, at one batch size and window."""
    settings = Settings()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "abstracts.txt"
        source.write_text("\n\n".join(abstracts), encoding="utf-8")
        ours = Settings(store=str(Path(folder) / "store"), sources=(str(source),))
        embedder = make_embedder(ours)
        bare = bare_model(settings)
        bare.encode(list(abstracts[:16]), batch_size=settings.batch_size)  # warm-up: first calls allocate and tune
        baseline = seconds(lambda: bare.encode(list(abstracts), batch_size=settings.batch_size))
        own = seconds(lambda: build_index(ours, embedder))
        baseline = (baseline + seconds(lambda: bare.encode(list(abstracts), batch_size=settings.batch_size))) / 2
        quick_start = seconds(lambda: _llama_index_quick_start(abstracts, settings, Path(folder) / "llama"))
    return {
        "bare SentenceTransformer.encode, abstracts/s": round(len(abstracts) / baseline, 2),
        "askabstracts index, abstracts/s": round(len(abstracts) / own, 2),
        "LlamaIndex quick start on Chroma, abstracts/s": round(len(abstracts) / quick_start, 2),
        "indexing rate / bare encoding rate (aim 0.90)": round(baseline / own, 3),
        "indexing rate / LlamaIndex rate": round(quick_start / own, 3),
    }


def bare_model(settings: Settings) -> Any:
    """The default model as sentence-transformers gives it, with the window of `settings`."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(_default_model_folder()), device="cpu", local_files_only=True)
    model.max_seq_length = settings.window_tokens
    return model


def _default_model_folder() -> Path:
    from vectorstore.embedder import DEFAULT_MODEL, packaged_folder

    return packaged_folder(DEFAULT_MODEL)


def _llama_index_quick_start(abstracts: Sequence[str], settings: Settings, folder: Path) -> None:
    import chromadb
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding
    from llama_index.vector_stores.chroma import ChromaVectorStore

    embedding = HuggingFaceEmbedding(
        model_name=str(_default_model_folder()),
        max_length=settings.window_tokens,
        embed_batch_size=settings.batch_size,
        device="cpu",
    )
    collection = chromadb.PersistentClient(path=str(folder)).create_collection("papers")
    storage = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=collection))
    VectorStoreIndex.from_documents([Document(text=text) for text in abstracts], storage_context=storage, embed_model=embedding)


def _searching() -> dict[str, object]:
    """Median milliseconds of a search on the seeds, against encoding the same question; measured in turns."""
    assistant = Assistant.open(Settings.from_env())
    bare = bare_model(assistant.settings)
    questions = [row.question for row in load_questions(DEVELOPMENT, assistant.papers) if not fault(read_question(row.question))][
        :200
    ]
    encoding, searching, answering = [], [], []
    for question in questions:
        encoding.append(seconds(lambda text=question: bare.encode(text)))  # type: ignore[misc]  # mypy cannot infer the default
        searching.append(seconds(lambda text=question: assistant.search(text)))  # type: ignore[misc]
        answering.append(seconds(lambda text=question: assistant.ask(text)))  # type: ignore[misc]
    return {
        "encoding a question, median ms": round(1000 * statistics.median(encoding), 1),
        "search, median ms": round(1000 * statistics.median(searching), 1),
        "answer with quotes, median ms": round(1000 * statistics.median(answering), 1),
        "search time / encoding time (aim 1.5)": round(statistics.median(searching) / statistics.median(encoding), 2),
    }


def _cold_start() -> dict[str, object]:
    """A fresh `askabstracts ask` on an existing index, against importing sentence_transformers and chromadb; in turns."""
    store = str(Settings.from_env().store_folder)
    commands = {
        "imports": [sys.executable, "-c", _IMPORTS],
        "ask": [sys.executable, "-m", "rag", "ask", _QUESTION, "--json", "--store", store],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(5):
        for name, command in commands.items():
            with _child(command) as seconds:
                times[name].append(seconds)
    stages = json.loads(subprocess.check_output([sys.executable, "-c", _STAGES.format(store=store, question=_QUESTION)]))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "import sentence_transformers and chromadb, median s": round(medians["imports"], 2),
        "askabstracts ask from cold, median s": round(medians["ask"], 2),
        "cold ask / those imports (aim 1.15)": round(medians["ask"] / medians["imports"], 3),
        "of a cold ask: imports, open, first answer, s": ", ".join(f"{seconds:.2f}" for seconds in stages.values()),
    }


@contextmanager
def _child(command: Sequence[str]) -> Iterator[float]:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield time.perf_counter() - started


def seconds(action: Callable[[], object]) -> float:
    """How long `action` takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
