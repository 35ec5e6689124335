"""A folder in BEIR's format to retrieval figures: its documents become papers, which the program's own pipeline indexes in a
temporary store and searches.

Measures are those of ir_measures, over queries that have a relevant document at all. Knows nothing of answers.
"""

import gzip
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from ir_measures import RR, R, nDCG
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval.metrics import Figure, cell, figure, retrieval_values
from rag.assistant import Assistant
from rag.coefficients import Coefficients
from rag.embedders import make_embedder
from rag.errors import SourceEmptyError, SourceMissingError, SourceUnreadableError
from rag.generation_builder import Progress
from rag.index import PaperIndex
from rag.indexing import publish_papers
from rag.papers import Paper, paper_id
from rag.settings import Settings
from rag.text import searchable
from rag.titles import derived_title
from vectorstore.embedder import Embedder
from vectorstore.generations import GenerationFolder

MEASURES = {"R@1": R @ 1, "R@5": R @ 5, "R@10": R @ 10, "MRR": RR @ 10, "nDCG@10": nDCG @ 10}
"""R@k is the share of a query's relevant documents that stand among the first k: with several of them R@1 cannot reach 1."""

DEPTH = 10
"""Documents of a ranking that are measured."""

_HEADER = ["query-id", "corpus-id", "score"]


class Text(BaseModel):
    """A line of corpus.jsonl or, without a title, of queries.jsonl."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)  # BEIR's own files carry "metadata" and more
    id: Annotated[str, Field(alias="_id", min_length=1)]
    title: str = ""
    text: str


@dataclass(frozen=True, slots=True)
class BeirSet:
    """Documents and queries by id, and the judged score of each query's documents; every query has a relevant document."""

    name: str
    documents: Mapping[str, Text]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class BeirResult:
    """Figures of one set. `unfindable` counts relevant documents that the corpus lacks or that hold no text: they are missed."""

    name: str
    split: str
    embedder: str
    documents: int
    unfindable: int
    figures: Mapping[str, Figure]
    seconds: float


def run_beir(
    folder: Path,
    *,
    split: str = "test",
    limit: int | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> BeirResult:
    """Indexes the whole corpus in `folder` and searches for the queries of `split` (`limit`: for the first so many).

    Raises a `SourceError` naming file and line. As in BEIR, a document with the query's own id is left out of its ranking
    (ArguAna asks with documents of the corpus), unless it is judged relevant.
    """
    started = time.monotonic()
    data = read_beir(folder, split=split)
    settings = Settings() if settings is None else settings
    embedder = make_embedder(settings) if embedder is None else embedder
    papers = papers_of(data.documents.values())
    qrels = {query: data.qrels[query] for query in list(data.queries)[:limit]}
    with tempfile.TemporaryDirectory() as store:
        assistant = assistant_over(papers, replace(settings, store=store), embedder, progress=progress)
        rankings = {query: _ranking(assistant, query, data.queries[query], qrels[query]) for query in qrels}
        assistant.index.close()
    findable = {document for paper in papers for document in paper.sources}
    relevant = {document for scores in qrels.values() for document, score in scores.items() if score > 0}
    return BeirResult(
        name=data.name,
        split=split,
        embedder=str(embedder.identity["model"]),
        documents=len(data.documents),
        unfindable=len(relevant - findable),
        figures=retrieval_figures(qrels, rankings),
        seconds=round(time.monotonic() - started, 1),
    )


def beir_table(results: Sequence[BeirResult]) -> str:
    """One line per set: means with 95 % bootstrap intervals, and how many queries over how many documents they stand for."""
    lines = [f"{'set':20}{'documents':>10}{'queries':>9}" + "".join(f"{name:>22}" for name in MEASURES)]
    for one in results:
        cells = "".join(f"{cell(one.figures[name]):>22}" for name in MEASURES)
        lines.append(f"{one.name[:19]:20}{one.documents:10}{one.figures['MRR'].n:9}{cells}")
    lines += [
        f"{one.name}: split {one.split}, embedder {one.embedder}, {one.seconds:.0f} s"
        + (f"; relevant documents that cannot be found: {one.unfindable}" if one.unfindable else "")
        for one in results
    ]
    return "\n".join(lines) + "\n"


def retrieval_figures(qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]) -> dict[str, Figure]:
    """All `MEASURES` over the queries in `qrels`; a query without a ranking counts as zero."""
    values = retrieval_values(qrels, rankings, MEASURES)
    return {name: figure([by_name[name] for by_name in values.values()]) for name in MEASURES}


def papers_of(documents: Iterable[Text]) -> list[Paper]:
    """Distinct papers; `sources` of each are the ids of its documents, for documents of one title and text share a paper.

    The title of a document without text is all that it says; a document without either is left out.
    """
    papers: dict[str, Paper] = {}
    for document in documents:
        title, text = (part if searchable(part) else "" for part in (document.title.strip(), document.text))
        title, text = (title, text) if text else ("", title)
        if not text:
            continue
        key = paper_id(f"{title}\n{text}")
        new = Paper(id=key, title=title or derived_title(text), abstract=text, has_given_title=bool(title))
        paper = papers.get(key, new)
        papers[key] = replace(paper, sources=(*paper.sources, document.id))
    return list(papers.values())


def assistant_over(
    papers: Sequence[Paper], settings: Settings, embedder: Embedder, *, progress: Progress | None = None
) -> Assistant:
    """An assistant over a new index of exactly these papers, in `settings.store`."""
    publish_papers(settings, embedder, papers, progress=progress)
    return Assistant(settings, embedder, PaperIndex.open(GenerationFolder(settings.store_folder).current()), Coefficients.load())


def _ranking(assistant: Assistant, query: str, text: str, scores: Mapping[str, int]) -> list[str]:
    hits = assistant.search(text, k=DEPTH + 1)  # one more, for the query's own document may fall out
    found = [document for hit in hits for document in hit.paper.sources]
    return [document for document in found if document != query or scores.get(document, 0) > 0][:DEPTH]


def read_beir(folder: Path, *, split: str = "test") -> BeirSet:
    """Reads corpus.jsonl, queries.jsonl (each may be gzipped as .gz) and qrels/`split`.tsv or qrels.tsv."""
    documents = _by_id(_file(folder, "corpus.jsonl"))
    queries = _by_id(_file(folder, "queries.jsonl"))
    path = _file(folder, f"qrels/{split}.tsv" if (folder / "qrels").is_dir() else "qrels.tsv")
    judged = _qrels(path, queries)
    qrels = {query: scores for query, scores in judged.items() if max(scores.values()) > 0}
    if not documents or not qrels:
        raise SourceEmptyError(
            f"{folder} holds {len(documents)} documents, and {path.name} {len(qrels)} queries with a relevant one."
        )
    return BeirSet(folder.resolve().name, documents, {query: queries[query].text for query in qrels}, qrels)


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    there = ", ".join(sorted(path.name for path in (folder / name).parent.glob("*"))) or "nothing"
    raise SourceMissingError(
        f"There is no {name} or {name}.gz in {folder} ({there} there). Give a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise SourceUnreadableError(f"{path}, line {number + 1}: cannot be read ({error}). Fetch the file again.") from error


def _by_id(path: Path) -> dict[str, Text]:
    found: dict[str, Text] = {}
    for number, line in _lines(path):
        try:
            one = Text.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise SourceUnreadableError(f"{path}, line {number}: {field + ': ' if field else ''}{first['msg']}.") from error
        if one.id in found:
            raise SourceUnreadableError(
                f"{path}, line {number}: the _id {one.id!r} is there already. Every _id must be given once."
            )
        found[one.id] = one
    return found


def _qrels(path: Path, queries: Mapping[str, Text]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    header: list[str] | None = None
    for number, line in _lines(path):
        columns = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
        if header is None:
            header = columns
            if header != _HEADER:
                raise SourceUnreadableError(f"{path}, line {number}: the header is {header}; it must be {_HEADER}, parted by tabs.")
            continue
        if len(columns) != len(_HEADER) or not columns[2].strip().removeprefix("-").isdecimal():
            raise SourceUnreadableError(
                f"{path}, line {number}: {columns} is no query-id, corpus-id and whole score, parted by tabs."
            )
        query, document, score = columns
        if query not in queries:
            raise SourceUnreadableError(f"{path}, line {number}: there is no query {query!r} in queries.jsonl.")
        qrels.setdefault(query, {})[document] = int(score)
    return qrels
