"""`python -m eval`: how good the answers are, where they fail, and whether a change made them better.

python -m eval                      runs the development questions and writes eval/reports/<time>/
python -m eval swap EMBEDDER        builds another embedder's index beside, compares, and swaps it in
python -m eval compare A B          paired differences of two reports; exit code 1 when a gate is missed
"""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from eval.beir import beir_table, run_beir
from eval.cases import print_cases
from eval.compare import BASELINE, compare, save_baseline
from eval.judge import judge_rows, judge_table, make_judge
from eval.questions import DEVELOPMENT, FOLDER, HELD_OUT, LabelledQuestion, QuestionSetError, load_questions
from eval.report import write_report
from eval.rows import read_rows
from eval.run import ROWS, Run, run_questions
from eval.swap import swap
from eval.table import table
from rag.answering.specs import QUOTES
from rag.assistant import Assistant
from rag.embedders import make_embedder
from rag.errors import AskAbstractsError, SettingsError
from rag.settings import Settings

_SAMPLE = 5  # questions of each type when a model answers, which takes seconds each


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval`. Exit codes: 0 done, 1 error or a missed gate, 2 usage."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (AskAbstractsError, QuestionSetError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval", description="Ask the labelled questions and judge the answers.")
    parser.add_argument("--heldout", action="store_true", help="the held-out questions, which nothing was fitted on")
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="another set, for example eval/unseen.jsonl or eval/dialogues.jsonl"
    )
    parser.add_argument("--judge", metavar="SPEC", help="a language model that judges the answers too; its agreement is printed")
    parser.add_argument("--types", help="only these types, parted by commas (fact,paraphrase,…)")
    parser.add_argument(
        "--limit", type=int, help=f"only the first N questions of each type (default: all; {_SAMPLE} when a model answers)"
    )
    parser.add_argument(
        "--llm", action="append", default=[], metavar="SPEC", help="who answers; repeat it for several side by side"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, for every configuration")
    parser.add_argument(
        "--also", action="append", default=[], metavar="NAME=VALUE,…", help="a further configuration beside the first"
    )
    parser.add_argument(
        "--out", type=Path, help="folder of the report (default: eval/reports/<time>); an interrupted one is taken up"
    )
    parser.set_defaults(run=_run)
    commands = parser.add_subparsers(metavar="command")
    two = commands.add_parser("compare", help="paired differences of two reports; exit code 1 when a gate is missed")
    two.add_argument("before", type=Path, help="a report's folder, or eval/baseline.json")
    two.add_argument("after", type=Path, help="a report's folder")
    two.add_argument("--gates", type=Path, default=FOLDER / "gates.toml", help="the gates (default: eval/gates.toml)")
    two.set_defaults(run=_compare)
    baseline = commands.add_parser("baseline", help="make a report the baseline that later changes are compared with")
    baseline.add_argument("report", type=Path, help="a report's folder")
    baseline.set_defaults(run=_baseline)
    drafts = commands.add_parser("cases", help="turn thumbs-down rows of a feedback file into question drafts")
    drafts.add_argument("feedback", type=Path, help="feedback.jsonl")
    drafts.set_defaults(run=_cases)
    swapped = commands.add_parser(
        "swap", help="build the index of another embedder, compare, and publish it when no gate is missed"
    )
    swapped.add_argument("embedder", help="a sentence-transformers model, name or folder")
    swapped.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a further setting (query_prefix=…)")
    swapped.add_argument("--questions", type=Path, default=DEVELOPMENT, help="labelled questions (default: eval/questions.jsonl)")
    swapped.add_argument("--gates", type=Path, default=FOLDER / "gates.toml", help="the gates (default: eval/gates.toml)")
    swapped.add_argument("--out", type=Path, help="folder of both reports (default: eval/reports/<time>)")
    swapped.set_defaults(run=_swap)
    beir = commands.add_parser("beir", help="measure the retriever on folders in BEIR's format")
    beir.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    beir.add_argument("--dataset", action="append", default=[], type=Path, metavar="DIR", help="a further folder")
    beir.add_argument("--split", default="test", help="which qrels (default: test)")
    beir.add_argument("--queries", type=int, help="only the first N queries")
    beir.set_defaults(run=_beir)
    return parser


def _run(options: argparse.Namespace) -> int:
    folder = options.out or _new_report()
    configurations = _configurations(options)
    limit = options.limit or (_SAMPLE if any(one.llm != QUOTES for one in configurations.values()) else None)
    judge = make_judge(options.judge, Settings.from_env()) if options.judge else None
    runs: list[Run] = []
    with Progress(console=Console(stderr=True), transient=True) as bar:
        for name, settings in configurations.items():
            assistant = Assistant.open(settings)
            path = options.questions or (HELD_OUT if options.heldout else DEVELOPMENT)
            questions = _chosen(load_questions(path, assistant.papers), options, limit)
            task = bar.add_task(name, total=len(questions))
            place = folder / re.sub(r"[^\w.=,-]", "_", name) if len(configurations) > 1 else folder
            runs.append(run_questions(assistant, questions, place, name=name, progress=partial(_advance, bar, task)))
    write_report(folder / "report.html", runs, questions, assistant.papers)
    sys.stdout.write(table(runs))
    if judge is not None:
        for run in runs:
            verdicts = judge_rows(run.rows, questions, judge)
            answerer = run.rows[0].model if run.rows else run.name
            sys.stdout.write(judge_table(run.rows, verdicts, judge=judge.name, answerer=answerer))
    sys.stdout.write(f"Report: {folder / 'report.html'}\n")
    return 0


def _baseline(options: argparse.Namespace) -> int:
    rows = read_rows(options.report / ROWS)
    save_baseline(BASELINE, rows)
    sys.stdout.write(f"{BASELINE}: {len(rows)} questions\n")
    return 0


def _cases(options: argparse.Namespace) -> int:
    print_cases(options.feedback)
    return 0


def _beir(options: argparse.Namespace) -> int:
    settings = Settings.from_env()
    embedder = make_embedder(settings)
    folders = [*options.folders, *options.dataset]
    if not folders:
        raise SettingsError("No folder is given. Name folders that hold corpus.jsonl, queries.jsonl and qrels.")
    results = [run_beir(one, split=options.split, limit=options.queries, settings=settings, embedder=embedder) for one in folders]
    sys.stdout.write(beir_table(results))
    return 0


def _swap(options: argparse.Namespace) -> int:
    settings = replace(Settings.from_env(embedder=options.embedder), **_values(options.set))  # type: ignore[arg-type]  # checked by Settings
    swap(settings, options.questions, options.gates, options.out or _new_report())
    return 0


def _new_report() -> Path:
    return FOLDER / "reports" / time.strftime("%Y%m%d-%H%M%S")


def _advance(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def _compare(options: argparse.Namespace) -> int:
    text, is_good = compare(options.before, options.after, options.gates)
    sys.stdout.write(text)
    return 0 if is_good else 1


def _configurations(options: argparse.Namespace) -> dict[str, Settings]:
    base = replace(Settings.from_env(), **_values(options.set))  # type: ignore[arg-type]  # checked by Settings
    # What a model wrote without support is shown, so that it can be counted.
    named = {spec: replace(base, llm=spec, unsupported="show") for spec in options.llm} or {str(base.llm): base}
    for also in options.also:
        named[also] = replace(base, **_values(also.split(",")))  # type: ignore[arg-type]  # checked by Settings
    return named


def _values(pairs: Sequence[str]) -> dict[str, object]:
    kinds = {field.name: field.type for field in fields(Settings)}
    values: dict[str, object] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in kinds or not value:
            raise SettingsError(f"{pair!r} is no setting. Write NAME=VALUE; names are: {', '.join(kinds)}.")
        is_number = kinds[name] in (int, float) and value.replace(".", "", 1).isdecimal()
        values[name] = (value,) if name == "sources" else (float(value) if "." in value else int(value)) if is_number else value
    return values


def _chosen(questions: Sequence[LabelledQuestion], options: argparse.Namespace, limit: int | None) -> list[LabelledQuestion]:
    types = set(options.types.split(",")) if options.types else {question.type for question in questions}
    unknown = types - {question.type for question in questions}
    if unknown:
        raise QuestionSetError(f"No question has the type {', '.join(sorted(unknown))}; leave --types out to see all.")
    seen: dict[str, int] = {}
    chosen = []
    for question in questions:
        seen[question.type] = seen.get(question.type, 0) + 1
        if question.type in types and (limit is None or seen[question.type] <= limit):
            chosen.append(question)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
