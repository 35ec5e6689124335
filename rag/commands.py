"""What each command of the command line does: settings and options in, output out, and whether there was anything to show."""

import argparse
import getpass
import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rag.answer import Answer
from rag.answering.specs import QUOTES
from rag.as_json import answer_as_json, hit_as_json, paper_as_json
from rag.assistant import Assistant, filter_notices
from rag.browse import catalogue_of
from rag.citations import unescaped
from rag.collection_commands import run_collections
from rag.embedders import make_embedder
from rag.errors import SettingsError, SourceFaultyError
from rag.filter_expressions import parse_filter
from rag.filters import PaperFilter
from rag.generation_builder import Progress as OnProgress
from rag.index import PaperIndex
from rag.indexing import IndexReport, build_index
from rag.ingest_report import Fault, ingest_report, require_faultless
from rag.named_collections import require_known
from rag.papers import Collection
from rag.place import published_index, published_passport
from rag.settings import Settings

_LISTED = 5  # duplicates and unreadable files named in full


class _Console(Console):
    """A console that leaves a reader that went away to the main."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def index(settings: Settings, options: argparse.Namespace) -> bool:
    """Builds the index and prints the report, with what is wrong with the sources if asked; see `_Inspection`."""
    require_known(settings)
    inspection = _Inspection(is_strict=options.strict) if options.report or options.strict else None
    try:
        with _progress_bar() as progress:
            embedder = make_embedder(settings, passport=published_passport(settings))
            rebuild = options.rebuild or options.swap
            report = build_index(settings, embedder, add=options.add, rebuild=rebuild, progress=progress, inspect=inspection)
    except SourceFaultyError:
        if inspection is not None and options.json:
            _print_json(inspection.as_json())
        elif inspection is not None:
            _print_faults(inspection.faults)
        raise
    if options.json:
        ingest = inspection.as_json() if inspection is not None else {}
        _print_json(asdict(report) | {"abstracts_per_second": report.abstracts_per_second} | ingest)
    else:
        if inspection is not None:
            _print_faults(inspection.faults)
        _print_report(report, settings)
    return True


class _Inspection:
    """Looks a collection over before it is indexed and keeps what is wrong with it; a strict one lets only a faultless one pass."""

    def __init__(self, *, is_strict: bool) -> None:
        self.faults: tuple[Fault, ...] = ()
        self._is_strict = is_strict

    def __call__(self, collection: Collection) -> None:
        self.faults = ingest_report(collection)
        if self._is_strict:
            require_faultless(self.faults)

    def as_json(self) -> dict[str, object]:
        """The faults for programs."""
        return {"ingest": [asdict(fault) for fault in self.faults]}


def ask(settings: Settings, options: argparse.Namespace) -> bool:
    """Answers one question."""
    filter = parse_filter(options.where)
    answer = _opened(settings).ask(options.question, papers=filter)
    if options.json:
        _print_json(answer_as_json(answer))
    else:
        _print_answer(answer)
    return answer.status == "answered"


def search(settings: Settings, options: argparse.Namespace) -> bool:
    """Lists the nearest papers."""
    filter = parse_filter(options.where)
    assistant = _opened(settings)
    hits = assistant.search(options.query, k=options.k, papers=filter)
    _print_notices(filter, assistant.index)
    if options.json:
        _print_json([hit_as_json(hit) for hit in hits])
    else:
        console = _Console()
        for place, hit in enumerate(hits, start=1):
            console.print(
                f"[bold]{place}. {escape(hit.paper.title)}[/]  [dim]{hit.score:.2f}  {escape(', '.join(hit.paper.sources))}[/]"
            )
            console.print(f"   {escape(_printable(hit.sentences[0].text))}\n")
        if not hits:
            reason = "Nothing to search for. Name a topic, a method or a paper."
            console.print(reason if filter.is_empty else "No paper meets the filter, or there is nothing to search for.")
    return bool(hits)


def papers(settings: Settings, options: argparse.Namespace) -> bool:
    """Lists the papers of the index as it is; needs no model."""
    filter = parse_filter(options.where)
    require_known(settings)
    opened = published_index(settings)
    _print_notices(filter, opened)
    listed = opened.papers if filter.is_empty else [opened.papers[row] for row in catalogue_of(opened).columns.rows(filter)]
    if options.json:
        _print_json([paper_as_json(paper) for paper in listed])
        return True
    console = _Console()
    table = Table("title", "venue", "year", "id", "sources", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for paper in listed:
        table.add_row(escape(paper.title), escape(paper.venue), str(paper.year or ""), paper.id, escape(", ".join(paper.sources)))
    console.print(table)
    console.print(f"{len(listed)} papers" if filter.is_empty else f"{len(listed)} of {len(opened.papers)} papers")
    return True


def collections(settings: Settings, options: argparse.Namespace) -> bool:
    """Lists, describes, deletes or renames the collections of the store."""
    run_collections(settings, options)
    return True


def chat(settings: Settings, options: argparse.Namespace) -> bool:
    """Serves the chat until it is stopped."""
    from rag.web.options import ServerOptions
    from rag.web.server import serve

    served = ServerOptions(  # before the index is opened, which may take its time
        host=options.host,
        port=options.port,
        auth_file=options.auth_file,
        public=options.public,
        root_path=options.root_path,
        max_concurrency=options.max_concurrency,
        mcp=options.mcp,
        allow_upload=options.allow_upload,
        feedback=options.feedback,
    )
    serve(_opened(settings), served)
    return True


def password(settings: Settings, options: argparse.Namespace) -> bool:  # noqa: ARG001  # the signature of a command
    """Asks for a password and prints the line that lets its name in."""
    from rag.web.access import password_line

    try:
        given = getpass.getpass(f"Password for {options.name}: ")
        if getpass.getpass("Once more: ") != given:
            raise SettingsError("The two passwords differ. Nothing was printed; try again.")
    except EOFError:
        raise SettingsError("No password was given. Type it when asked.") from None
    sys.stdout.write(password_line(options.name, given) + "\n")
    return True


def _opened(settings: Settings) -> Assistant:
    with _progress_bar() as progress:
        assistant = Assistant.open(settings, progress=progress)
    for notice in assistant.notices:
        _Console(stderr=True).print(f"[yellow]{escape(notice)}[/]")
    return assistant


def _print_notices(filter: PaperFilter, index: PaperIndex) -> None:
    """Tells of names in a filter that no paper has."""
    for notice in filter_notices(filter, index):
        _Console(stderr=True).print(f"[yellow]{escape(_printable(notice))}[/]")


@contextmanager
def _progress_bar() -> Iterator[OnProgress]:
    """A progress bar on standard error, shown only when something is encoded."""
    columns = (TextColumn("Encoding abstracts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=_Console(stderr=True), transient=True)
    task = bar.add_task("encode", total=None)
    started = False

    def show(done: int, total: int) -> None:
        nonlocal started
        if not started:
            bar.start()
            started = True
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        if started:
            bar.stop()


def _printable(text: str) -> str:
    """`text` without what would steer a terminal."""
    return "".join(
        "\ufffd" if unicodedata.category(character) == "Cc" and character not in "\n\t" else character for character in text
    )


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _print_answer(answer: Answer) -> None:
    console = _Console()
    if answer.model != QUOTES:
        console.print(escape(_printable(unescaped(answer.text))))
    number = 0
    for citation in answer.citations:
        if citation.number != number:
            number = citation.number
            about = ", ".join(
                part for part in (citation.paper.venue, str(citation.paper.year or ""), *citation.paper.urls[:1]) if part
            )
            console.print(f"\n[bold]\\[{number}] {escape(citation.paper.title)}[/]  [dim]{escape(about)}[/]")
        console.print(f"  “{escape(_printable(citation.quote))}” [dim]\\[{number}], characters {citation.start}-{citation.end}[/]")
    for notice in answer.notices:
        console.print(escape(notice))
    if answer.status != "answered":
        console.print(f"[dim]status: {answer.status}[/]")


def _print_faults(faults: Sequence[Fault]) -> None:
    console = _Console()
    if not faults:
        console.print("Nothing is wrong with the abstracts as they were read.")
        return
    table = Table("how many", "what is wrong, and what to do", "where first", box=None, padding=(0, 2, 1, 0), header_style="bold")
    for fault in faults:
        places = [escape(_printable(place)) for place in fault.first]
        if fault.count > len(places):
            places.append(f"and {fault.count - len(places)} more")
        table.add_row(f"[bold]{fault.count}[/]", f"{escape(fault.name)}\n[dim]{escape(fault.remedy)}[/]", "\n".join(places))
    console.print(table)


def _print_report(report: IndexReport, settings: Settings) -> None:
    console = _Console()
    changes = f"{report.new} new, {report.changed} changed, {report.removed} removed, {report.unchanged} unchanged"
    console.print(f"[bold]{report.papers} papers[/] from {report.occurrences} abstracts ({changes})")
    if report.beyond_window:
        console.print(
            f"{report.beyond_window} are longer than the embedder's window and were encoded in overlapping stretches; nothing is cut."
        )
    for name, entries in (("repeated word for word", report.duplicates), ("repeated in another spelling", report.near_duplicates)):
        if entries:
            more = f"; and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
            console.print(f"{len(entries)} {name}, merged: {escape('; '.join(entries[:_LISTED]))}{more}")
    for message in report.unreadable:
        console.print(f"[yellow]Not read: {escape(message)}[/]")
    speed = f", {report.abstracts_per_second:.1f} abstracts/s" if report.encoded else ""
    console.print(
        f"[dim]{report.encoded} encoded in {report.seconds:.1f} s{speed}; index at {escape(str(settings.store_folder))}[/]"
    )
