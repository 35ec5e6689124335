"""Rows to a table of means, by type of question, each with the number of questions behind it."""

from collections.abc import Callable, Sequence

from eval.rows import Row

_ANSWERABLE = (
    ("R@1", lambda row: row.rank == 1),
    ("R@5", lambda row: row.rank <= 5),
    ("facts", lambda row: row.shows_all_facts),
    ("cited", lambda row: row.cites_right_paper),
    ("exact", lambda row: row.has_exact_quotes),
    ("quotes", lambda row: row.quotes),
    ("refused", lambda row: row.status != "answered"),
)  # type: tuple[tuple[str, Callable[[Row], float]], ...]


def summary_table(rows: Sequence[Row]) -> str:
    """The table as text: answerable questions by type, then what became of the unanswerable ones, then the time taken."""
    lines = [f"{'answerable':16}{'n':>5}" + "".join(f"{name:>9}" for name, _ in _ANSWERABLE)]
    answerable = [row for row in rows if row.expected == "answered"]
    groups = {"all lookups": [row for row in answerable if row.is_lookup]}
    groups |= {type_: [row for row in answerable if row.type == type_] for type_ in sorted({row.type for row in answerable})}
    for name, group in groups.items():
        lines.append(f"{name:16}{len(group):5}" + "".join(f"{_mean(group, value):9.3f}" for _, value in _ANSWERABLE))
    lines += ["", f"{'not answerable':16}{'n':>5}{'refused':>9}"]
    others = [row for row in rows if row.expected != "answered"]
    for name in sorted({row.type for row in others}):
        group = [row for row in others if row.type == name]
        lines.append(f"{name:16}{len(group):5}{_mean(group, lambda row: row.status != 'answered'):9.3f}")
    times = sorted(row.seconds for row in rows)
    lines.append(
        f"\nmedian {1000 * times[len(times) // 2]:.0f} ms, 95th percentile {1000 * times[int(0.95 * len(times))]:.0f} ms a question"
    )
    return "\n".join(lines) + "\n"


def _mean(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    return sum(float(value(row)) for row in rows) / len(rows) if rows else 0.0
