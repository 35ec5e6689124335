"""Rows to figures: means by type of question, each with a 95 % bootstrap interval and the number of rows behind it.

Retrieval measures are those of ir_measures. Questions that the collection does not answer are left out of retrieval and of
answer quality, and are scored by refusal alone. No figure is ever NaN: without rows there is no figure.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from ir_measures import RR, Qrel, R, ScoredDoc, nDCG

from eval.rows import LOOKUPS, Row

RETRIEVAL = {"R@1": R @ 1, "R@5": R @ 5, "MRR": RR @ 10, "nDCG@10": nDCG @ 10}
ANSWERS: Mapping[str, Callable[[Row], float]] = {
    "facts": lambda row: row.facts,
    "cited": lambda row: row.cites_gold,
    "citation precision": lambda row: row.citation_precision,
    "citation recall": lambda row: row.citation_recall,
    "exact": lambda row: row.exact,
    "sentences cited": lambda row: row.sentences_cited,
    "verified recall": lambda row: row.verified_recall,
    "support": lambda row: sum(row.supports) / len(row.supports) if row.supports else 0.0,
    "quotes": lambda row: row.quotes,
    "false refusals": lambda row: row.status != "answered",
}
_OF_GIVEN_ANSWERS = {
    "citation precision",
    "sentences cited",
    "verified recall",
    "support",
}  # means over questions that were answered at all
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over `n` rows and the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


Figures = Mapping[str, Mapping[str, Figure]]
"""Figures by group and name."""


def cell(one: Figure | None) -> str:
    """A figure as it stands in a table."""
    return f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" if one is not None else "–"


def per_row(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Every metric of every row, by row id; a metric that does not apply to a row is absent."""
    values: dict[str, dict[str, float]] = {row.id: {} for row in rows}
    answerable = [row for row in rows if row.is_answerable]
    qrels = {row.id: dict.fromkeys(row.gold, 1) for row in answerable}
    values |= retrieval_values(qrels, {row.id: row.ranking for row in answerable}, RETRIEVAL)
    for row in answerable:
        applying = [name for name in ANSWERS if row.status == "answered" or name not in _OF_GIVEN_ANSWERS]
        values[row.id] |= {name: float(ANSWERS[name](row)) for name in applying}
    for row in rows:
        if not row.is_answerable:
            values[row.id] = {"refused": float(row.is_refused), "right status": float(row.status == row.expected)}
        if row.type == "multi" and row.is_answerable:
            values[row.id]["paper recall"] = len(set(row.cited) & set(row.gold)) / len(row.gold)
            values[row.id]["paper precision"] = len(set(row.cited) & set(row.gold)) / len(row.cited) if row.cited else 0.0
        if row.type == "dialogue" and row.is_answerable:
            values[row.id]["later-turn hit"] = row.cites_gold
        if row.type == "dialogue" and row.cites_stale is not None:
            values[row.id]["stale"] = row.cites_stale
    return values


def retrieval_values(
    qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]], measures: Mapping[str, ir_measures.Measure]
) -> dict[str, dict[str, float]]:
    """Each of `measures` for every query in `qrels` (query → document → relevance); a query without a ranking counts as zero."""
    judged = [Qrel(query, document, score) for query, scores in qrels.items() for document, score in scores.items()]
    run = [ScoredDoc(query, document, -place) for query in qrels for place, document in enumerate(rankings.get(query, ()))]
    values = {query: dict.fromkeys(measures, 0.0) for query in qrels}
    names = {measure: name for name, measure in measures.items()}
    for metric in ir_measures.iter_calc(list(measures.values()), judged, run) if run else ():
        values[metric.query_id][names[metric.measure]] = float(metric.value)
    return values


def figures(rows: Sequence[Row]) -> dict[str, dict[str, Figure]]:
    """Figures by group: all lookups; what the field but not the collection holds; what an abstract leaves out; both of these with
    false premises; then every type.
    """
    values = per_row(rows)
    groups = {"lookups": [row for row in rows if row.type in LOOKUPS]}
    groups["in_domain"] = [row for row in rows if row.type in ("near_miss", "absent") and row.expected == "not_found"]
    groups["silent"] = [row for row in rows if row.expected == "silent"]
    groups["unanswerable"] = [
        row for row in rows if row.type in ("near_miss", "absent", "premise") and row.expected in ("silent", "not_found", "premise")
    ]
    groups |= {type_: [row for row in rows if row.type == type_] for type_ in sorted({row.type for row in rows})}
    found: dict[str, dict[str, Figure]] = {}
    for group, members in groups.items():
        names = dict.fromkeys(name for row in members for name in values[row.id])
        found[group] = {name: figure([values[row.id][name] for row in members if name in values[row.id]]) for name in names}
    return {group: by_name for group, by_name in found.items() if by_name}


def figure(values: Sequence[float]) -> Figure:
    """Mean and percentile bootstrap interval; the seed is fixed, so that the same rows give the same interval."""
    array = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(0).integers(0, len(array), (_RESAMPLES, len(array)))
    low, high = np.percentile(array[draws].mean(axis=1), [2.5, 97.5])
    return Figure(round(float(array.mean()), 4), round(float(low), 4), round(float(high), 4), len(array))


def confusion(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """How many questions of each expected status got which status."""
    counts = Counter((row.expected, row.status) for row in rows)
    return {
        expected: {status: counts[expected, status] for status in sorted({row.status for row in rows})}
        for expected in sorted({row.expected for row in rows})
    }


def refusals(rows: Sequence[Row]) -> dict[str, Figure]:
    """Precision (of the refusals, how many were right) and recall (of what should be refused, how much was)."""
    refused = [float(not row.is_answerable) for row in rows if row.is_refused]
    due = [float(row.is_refused) for row in rows if not row.is_answerable]
    return {name: figure(values) for name, values in (("refusal precision", refused), ("refusal recall", due)) if values}


def risk_coverage(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """(coverage, risk) as the surest answers come first; risk is the share of answers that fail their question.

    An answer fails when it misses a key fact, or when the question had no answer to give.
    """
    answers = sorted((row for row in rows if row.status == "answered"), key=lambda row: -row.confidence)
    failed = np.cumsum([1.0 - row.facts if row.is_answerable else 1.0 for row in answers])
    return [(round(place / len(rows), 4), round(float(failed[place - 1]) / place, 4)) for place in range(1, len(answers) + 1)]


def latency(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Median and 95th percentile seconds, in all and per stage."""
    stages: dict[str, list[float]] = {"whole": [row.seconds for row in rows]}
    for row in rows:
        for stage, seconds in row.stages.items():
            stages.setdefault(stage, []).append(seconds)
    return {
        stage: {"p50": round(float(np.percentile(seconds, 50)), 5), "p95": round(float(np.percentile(seconds, 95)), 5)}
        for stage, seconds in stages.items()
        if seconds
    }
