"""Two reports, question by question: what a change did, how sure that is, and whether a gate is missed."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.metrics import figure, per_row
from eval.questions import FOLDER, QuestionSetError
from eval.rows import LOOKUPS, Row, read_rows
from eval.run import ROWS

BASELINE = FOLDER / "baseline.json"
_LISTED = 40


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound on one figure: its least value after the change, or how far it may fall at most."""

    group: str
    metric: str
    least: float | None = None
    most: float | None = None
    largest_change: float | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """The metrics of every question, by its id, and its type."""

    metrics: Mapping[str, Mapping[str, float]]
    types: Mapping[str, str]


def compare(before: Path, after: Path, gates: Path) -> tuple[str, bool]:
    """The comparison as text, and whether every gate holds. Only questions in both are compared."""
    old, new = load_values(before), load_values(after)
    shared = [id_ for id_ in old.metrics if id_ in new.metrics]
    if not shared:
        raise QuestionSetError(f"{before} and {after} have no question in common; compare reports of the same questions.")
    lines = [f"{len(shared)} questions in both ({len(old.metrics)} before, {len(new.metrics)} after)", ""]
    lines.append(f"{'':14}{'':20}{'n':>5}{'before':>9}{'after':>9}   difference [95 %]")
    for group in ("lookups", *sorted(set(new.types.values()))):
        members = [id_ for id_ in shared if _belongs(new.types[id_], group)]
        for metric in dict.fromkeys(name for id_ in members for name in new.metrics[id_]):
            both = [id_ for id_ in members if metric in old.metrics[id_] and metric in new.metrics[id_]]
            if both:
                change = figure([new.metrics[id_][metric] - old.metrics[id_][metric] for id_ in both])
                means = [sum(values.metrics[id_][metric] for id_ in both) / len(both) for values in (old, new)]
                sure = " *" if change.low > 0 or change.high < 0 else ""
                lines.append(
                    f"{group:14}{metric:20}{len(both):5}{means[0]:9.3f}{means[1]:9.3f}   "
                    f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]{sure}"
                )
    for title, sign in (("fixed", 1), ("broke", -1)):
        ids = [id_ for id_ in shared if sign * (_success(new.metrics[id_]) - _success(old.metrics[id_])) > 0]
        lines.append(f"\n{title} ({len(ids)}): {', '.join(ids[:_LISTED])}{', …' if len(ids) > _LISTED else ''}")
    missed = [fault for gate in load_gates(gates) for fault in _missed(gate, old, new, shared)]
    lines += ["", *([f"GATE MISSED: {fault}" for fault in missed] or ["All gates hold."])]
    return "\n".join(lines) + "\n", not missed


def load_values(path: Path) -> Values:
    """Metrics from a report's folder, from its rows.jsonl, or from a baseline file."""
    if path.is_dir():
        path = path / ROWS
    try:
        if path.suffix == ".json":
            stored = json.loads(path.read_text(encoding="utf-8"))
            return Values(stored["metrics"], stored["types"])
        return values_of(read_rows(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QuestionSetError(
            f"{path} is no report ({error}). Give a folder that `python -m eval` wrote, or eval/baseline.json."
        ) from error


def values_of(rows: Sequence[Row]) -> Values:
    """The metrics of rows."""
    return Values(per_row(rows), {row.id: row.type for row in rows})


def save_baseline(path: Path, rows: Sequence[Row]) -> None:
    """Writes the metrics of rows as a baseline to compare later runs with."""
    values = values_of(rows)
    rounded = {id_: {name: round(value, 4) for name, value in metrics.items()} for id_, metrics in values.metrics.items()}
    path.write_text(json.dumps({"types": values.types, "metrics": rounded}, indent=0) + "\n", encoding="utf-8")


def load_gates(path: Path) -> list[Gate]:
    """The gates in a TOML file; an unknown key is refused."""
    try:
        return [Gate(**gate) for gate in tomllib.loads(path.read_text(encoding="utf-8"))["gate"]]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise QuestionSetError(
            f"The gates in {path} cannot be read: {error}. Each is a [[gate]] with group, metric and a bound."
        ) from error


def _belongs(type_: str, group: str) -> bool:
    return type_ == group or (group == "lookups" and type_ in LOOKUPS)


def _success(metrics: Mapping[str, float]) -> float:
    """Whether a question came out well: facts shown, or refused where it should be."""
    return metrics.get("facts", metrics.get("refused", 0.0))


def _missed(gate: Gate, old: Values, new: Values, shared: Sequence[str]) -> list[str]:
    members = [id_ for id_ in shared if _belongs(new.types[id_], gate.group)]
    values = [(old.metrics[id_].get(gate.metric), new.metrics[id_].get(gate.metric)) for id_ in members]
    pairs = [(before, after) for before, after in values if before is not None and after is not None]
    if not pairs:
        return []  # none of these questions was asked; that is said in the head of the comparison
    before, after = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    faults = []
    if gate.least is not None and after < gate.least:
        faults.append(f"{gate.metric} of {gate.group} is {after:.3f}, at least {gate.least:.3f} is wanted")
    if gate.most is not None and after > gate.most:
        faults.append(f"{gate.metric} of {gate.group} is {after:.3f}, at most {gate.most:.3f} is wanted")
    if gate.largest_change is not None and abs(after - before) > gate.largest_change and _is_worse(gate, before, after):
        faults.append(
            f"{gate.metric} of {gate.group} went from {before:.3f} to {after:.3f}, further than {gate.largest_change:.3f}"
        )
    return faults


def _is_worse(gate: Gate, before: float, after: float) -> bool:
    return after > before if gate.metric in ("false refusals", "quotes") else after < before
