"""How indexing, opening and searching grow with the collection: `make bench-scale`.

    python -m eval.bench_scale --papers FILE [--sizes 1000,10000,87000] [--encode 2000]

Encoding is measured on some papers, against the bare encoder with the same batch and window. Everything else is measured at
each size with vectors made up from those: an encoded paper turned towards another by half of its vector. A search encodes its
question for real. Prints a table and writes the figures as JSON.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from eval.bench import bare_model, seconds
from rag.embedders import make_embedder
from rag.indexing import build_index
from rag.place import published_index
from rag.settings import Settings
from vectorstore.embedder import Embedder
from vectorstore.encoded import Encoded, EncodedQuery, unit

_TURN = 0.5  # weight of the other paper's vector
_CHANGED = 10
_OPENED = """
import json, re, statistics, sys, time
from pathlib import Path
import numpy as np
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.embedders import make_embedder
from rag.place import published_index
from rag.settings import Settings
settings = Settings(store=sys.argv[1])
embedder = make_embedder(settings)
embedder.encode_query("warm up")
started = time.perf_counter()
assistant = Assistant(settings, embedder, published_index(settings), Coefficients.load())
opening = time.perf_counter() - started
queries = json.loads(Path(sys.argv[2]).read_text())
started = time.perf_counter()
assistant.search(queries[0])
first = time.perf_counter() - started
for query in queries[:20]:
    assistant.search(query)
encoding, searching = [], []
for query in queries:
    started = time.perf_counter()
    assistant.embedder.encode_query(query)
    encoding.append(time.perf_counter() - started)
    started = time.perf_counter()
    assistant.search(query)
    searching.append(time.perf_counter() - started)
# Not getrusage: a process that is started inherits the peak of the one that starts it.
memory = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
everything = assistant.index.vectors.all_vectors()
found = []
for query in queries:
    vector = assistant.embedder.encode_query(query).vector
    near = everything @ vector
    exact = np.sort(near)[::-1][:10]
    got = assistant.index.nearest(vector, 10)
    found.append(sum(match.similarity >= exact[-1] - 1e-3 for match in got) / len(exact))
asking = []
for query in queries[:100]:
    started = time.perf_counter()
    assistant.ask(f"What is known about {query}?")
    asking.append(time.perf_counter() - started)
print(json.dumps({
    "open, s (aim 3)": round(opening, 2),
    "first search, s": round(first, 2),
    "encode a question, ms": round(1000 * statistics.median(encoding), 1),
    "search, ms": round(1000 * statistics.median(searching), 1),
    "search / encode (aim 2)": round(statistics.median(searching) / statistics.median(encoding), 2),
    "answer, ms": round(1000 * statistics.median(asking), 1),
    "R@10 of Chroma (aim 0.98)": round(statistics.mean(found), 4),
    "memory after searching, MB (aim 2,500)": round(memory),
}))
"""


class MadeUpEmbedder:
    """The real embedder for questions; passages get vectors made from a bank of encoded ones, by number."""

    def __init__(self, real: Embedder, bank: Sequence[Encoded]) -> None:
        self._real, self._bank, self._given = real, bank, 0

    @property
    def identity(self) -> Mapping[str, str | int]:
        """That of the real one, so that the index opens with it."""
        return self._real.identity

    def encode_query(self, text: str) -> EncodedQuery:
        """The real vectors of a question."""
        return self._real.encode_query(text)

    def encode_passages(self, passages: Sequence[Sequence[str]]) -> Iterator[tuple[int, Encoded]]:
        """Yields made-up vectors: as many parts as a passage has, and the words of a paper in the bank."""
        for place, pieces in enumerate(passages):
            number = self._given
            self._given += 1
            one, other = (
                self._bank[number % len(self._bank)],
                self._bank[(number // len(self._bank) * 7 + number * 31) % len(self._bank)],
            )
            parts = unit(one.parts[np.arange(len(pieces)) % len(one.parts)] + _TURN * other.vector)
            owners = one.word_owners % max(1, len(pieces))
            yield place, Encoded(unit(one.vector + _TURN * other.vector), parts, one.words, owners, is_beyond_window=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.bench_scale`."""
    parser = argparse.ArgumentParser(prog="python -m eval.bench_scale", description="Measure how cost grows with the collection.")
    parser.add_argument("--papers", type=Path, required=True, help="JSON Lines with title and abstract, may be gzipped")
    parser.add_argument("--sizes", default="1000,10000,87000", help="numbers of papers (default: %(default)s); 1000000 takes hours")
    parser.add_argument("--encode", type=int, default=2000, help="papers encoded for real (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("bench-results/scale.json"), help="where the figures go as JSON")
    options = parser.parse_args(arguments)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        bank, figures["encoding"] = _encoding(_lines(options.papers, options.encode), Path(folder) / "encoded")
        _print(f"encoding {options.encode:,} papers", figures["encoding"])
        for size in map(int, options.sizes.split(",")):
            figures[str(size)] = _at_size(options.papers, size, bank, Path(folder) / str(size))
            _print(f"{size:,} papers", figures[str(size)])
    figures["growth"] = _exponents({int(size): found for size, found in figures.items() if size.isdigit()})
    _print("exponent of growth with n", figures["growth"])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _print(title: str, figures: Mapping[str, object]) -> None:
    sys.stdout.write(f"{title}\n" + "".join(f"  {name:44} {value}\n" for name, value in figures.items()))
    sys.stdout.flush()


def _lines(path: Path, count: int) -> list[str]:
    """`count` lines of the file; those of a shorter one come again with a number in the abstract."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        given = list(islice(lines, count))
    found = given[:]
    while len(found) < count:
        row = json.loads(given[len(found) % len(given)])
        row["abstract"] += f" This is variant {len(found)} of it."
        found.append(json.dumps(row) + "\n")
    return found


def _encoding(lines: Sequence[str], folder: Path) -> tuple[list[Encoded], dict[str, object]]:
    """Real encodings, and the rate of indexing against that of the bare encoder, which is measured before and after."""
    settings = _settings(folder, lines)
    embedder, bare = make_embedder(settings), bare_model(settings)
    texts = [f"{row['title']} {row['abstract']}" for row in map(json.loads, lines)]
    half = len(texts) // 2
    bare.encode(texts[:16], batch_size=settings.batch_size)
    baseline = seconds(lambda: bare.encode(texts[:half], batch_size=settings.batch_size))
    indexing = seconds(lambda: build_index(settings, embedder))
    baseline += seconds(lambda: bare.encode(texts[half:], batch_size=settings.batch_size))
    vectors = published_index(settings).vectors
    return [vectors.encoded(row) for row in range(len(vectors))], {
        "bare encoder, abstracts/s": round(len(texts) / baseline, 2),
        "indexing, abstracts/s": round(len(texts) / indexing, 2),
        "indexing rate / bare rate (aim 0.92)": round(baseline / indexing, 3),
    }


def _settings(folder: Path, lines: Sequence[str]) -> Settings:
    folder.mkdir()
    (folder / "papers.jsonl").write_text("".join(lines), encoding="utf-8")
    return Settings(store=str(folder / "store"), sources=(str(folder / "papers.jsonl"),))


def _at_size(path: Path, size: int, bank: Sequence[Encoded], folder: Path) -> dict[str, object]:
    lines = _lines(path, size)
    settings = _settings(folder, lines)
    embedder = MadeUpEmbedder(make_embedder(settings), bank)
    figures: dict[str, object] = {"index without encoding, s": round(seconds(lambda: build_index(settings, embedder)), 1)}
    queries = [json.loads(line)["title"] for line in lines[:: max(1, size // 200)][:200]]
    (folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
    changed = [json.dumps(json.loads(line) | {"abstract": f"Changed: {json.loads(line)['abstract']}"}) for line in lines[:_CHANGED]]
    (folder / "papers.jsonl").write_text("\n".join(changed) + "\n" + "".join(lines[_CHANGED:]), encoding="utf-8")
    figures[f"index after {_CHANGED} changed, s"] = round(seconds(lambda: build_index(settings, embedder)), 1)
    figures["index with nothing changed, s"] = round(seconds(lambda: build_index(settings, embedder)), 1)
    opened = subprocess.run(
        [sys.executable, "-c", _OPENED, settings.store, str(folder / "queries.json")], capture_output=True, text=True, check=False
    )
    if opened.returncode:
        raise RuntimeError(f"Measuring in a process of its own failed: {opened.stderr[-2000:]}")
    current = max((folder / "store" / "generations").iterdir(), key=lambda generation: generation.name)
    on_disk = sum(file.stat().st_size for file in current.rglob("*") if file.is_file())
    measured: dict[str, object] = json.loads(opened.stdout.splitlines()[-1])
    return figures | measured | {"one generation on disk, MB": round(on_disk / 1e6)}


def _exponents(found: Mapping[int, Mapping[str, Any]]) -> dict[str, object]:
    """The exponent e of cost ~ n**e, fitted over the sizes, for what is to grow slowly."""
    if len(found) < 2:
        return {}
    logs = np.log(np.array(sorted(found), dtype=float))
    names = [
        "search, ms",
        "open, s (aim 3)",
        "memory after searching, MB (aim 2,500)",
        "index without encoding, s",
        "index after 10 changed, s",
    ]
    return {
        name: round(float(np.polyfit(logs, np.log([max(found[n][name], 1e-3) for n in sorted(found)]), 1)[0]), 2) for name in names
    }


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
