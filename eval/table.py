"""Runs side by side as a table of text."""

from collections.abc import Sequence

from eval import metrics
from eval.run import Run

_SHOWN = (
    *metrics.RETRIEVAL, "facts", "cited", "citation precision", "citation recall", "verified recall", "support", "quotes", "false refusals",
    "exact", "sentences cited",
    "paper recall", "paper precision", "later-turn hit", "stale", "refused", "right status",
)  # fmt: skip


def table(runs: Sequence[Run]) -> str:
    """One line per group and figure, one column per run, each as mean [low, high]."""
    all_figures = [metrics.figures(run.rows) for run in runs]
    groups = dict.fromkeys(group for figures in all_figures for group in figures)
    lines = [f"{'':14}{'':20}{'n':>5}" + "".join(f"{run.name[:30]:>24}" for run in runs)]
    for group in groups:
        for name in _SHOWN:
            columns = [figures.get(group, {}).get(name) for figures in all_figures]
            known = [column for column in columns if column is not None]
            if known:
                cells = "".join(f"{metrics.cell(column):>24}" for column in columns)
                lines.append(f"{group:14}{name:20}{known[0].n:5}{cells}")
        lines.append("")
    for run in runs:
        lines.append(f"{run.name}: {len(run.rows)} questions over {run.papers} papers")
        lines += [f"  {name}: {metrics.cell(one)}" for name, one in metrics.refusals(run.rows).items()]
        for expected, by_status in metrics.confusion(run.rows).items():
            lines.append(
                f"  expected {expected:10} " + ", ".join(f"{status} {count}" for status, count in by_status.items() if count)
            )
        times = metrics.latency(run.rows)
        lines.append(
            "  time: "
            + "; ".join(f"{stage} p50 {one['p50'] * 1000:.0f} ms, p95 {one['p95'] * 1000:.0f} ms" for stage, one in times.items())
        )
        lines += [f"  crashed: {row.id}: {row.error}" for row in run.rows if row.error]
    return "\n".join(lines) + "\n"
