"""Figures to inline SVG: bars with intervals, risk against coverage, latency, reliability. The only user of matplotlib.

Colours are names of the page's style (`var(--ink)`, `var(--run-0)`), so that one drawing serves light and dark; the text stays
text. A drawing refers to nothing outside itself, and its ids begin with its name, so that several share a page.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from eval.metrics import Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value = TypeVar("Value")

RUN_COLOURS = 6  # the style has so many; further runs begin again
_WIDTH = 390  # units of the drawing, about a pixel each
_PER_INCH = 72
_BAR = 12  # height of a bar
_LINES = ("-", "--", "-.", ":")
# matplotlib wants real colours: each of these stands for the variable that replaces it in the SVG.
_INK, _QUIET, _GRID = "#010203", "#010204", "#010205"
_VARIABLES = {_INK: "--ink", _QUIET: "--quiet", _GRID: "--line"} | {
    f"#0102{16 + run}": f"--run-{run}" for run in range(RUN_COLOURS)
}


@dataclass(frozen=True, slots=True)
class Bin:
    """Citations whose predicted support lies near `support`, and the share of them that is right."""

    support: float
    share: float
    citations: int


def bars(metric: str, runs: Sequence[Figures]) -> str:
    """A bar per group and run, as long as the mean, with the interval as a whisker; groups without the metric are left out."""
    groups = [
        group for group in dict.fromkeys(name for run in runs for name in run) if any(metric in run.get(group, {}) for run in runs)
    ]
    found = {group: [run.get(group, {}).get(metric) for run in runs] for group in groups}

    def draw(axes: "Axes") -> None:
        for place, run, figure in _places(found):
            axes.barh(place, figure.mean, height=_BAR * 0.9, color=_colour(run), alpha=0.75)
            axes.plot([figure.low, figure.high], [place, place], color=_INK, linewidth=1.2, marker="|", markersize=6, clip_on=False)
            axes.annotate(f"{figure.mean:.3f}", (1.03, place), va="center", fontsize=10, color=_QUIET, annotation_clip=False)
        axes.set_xlim(0, 1)
        sizes = {group: max(figure.n for figure in figures if figure) for group, figures in found.items()}
        _name_rows(axes, found, [f"{group} ({size})" for group, size in sizes.items()])

    return _svg(f"bars {metric}", f"{metric} by type of question", draw, height=_height(found))


def latency(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> str:
    """A bar per stage and run up to the median, and a line on to the 95th percentile; milliseconds."""
    stages = dict.fromkeys(stage for run in runs for stage in run)
    found = {stage: [run.get(stage) for run in runs] for stage in stages}

    def draw(axes: "Axes") -> None:
        longest = max(times["p95"] for _, _, times in _places(found)) * 1000 or 1.0
        for place, run, times in _places(found):
            median, slow = times["p50"] * 1000, times["p95"] * 1000
            axes.barh(place, median, height=_BAR * 0.9, color=_colour(run), alpha=0.75)
            axes.plot([median, slow], [place, place], color=_INK, linewidth=1.2, marker="|", markersize=6, markevery=[1])
            figures = f"{median:.1f} / {slow:.1f}"
            axes.annotate(figures, (longest * 1.09, place), va="center", fontsize=10, color=_QUIET, annotation_clip=False)
        axes.set_xlim(0, longest * 1.06)
        axes.set_xlabel("milliseconds")
        _name_rows(axes, found, list(found))

    return _svg("latency", "Latency per stage, median and 95th percentile", draw, height=_height(found))


def risk_coverage(runs: Sequence[Sequence[tuple[float, float]]]) -> str:
    """Risk of the answers given against the share of questions answered, one line per run."""

    def draw(axes: "Axes") -> None:
        for run, points in enumerate(runs):
            coverage, risk = [point[0] for point in points], [point[1] for point in points]
            axes.plot(coverage, risk, color=_colour(run), linestyle=_line(run), linewidth=1.8)
            axes.plot(coverage[-1:], risk[-1:], color=_colour(run), marker="o", markersize=5, clip_on=False)
        _square(axes, "coverage: share of the questions answered", "risk: share of those answers that fail")

    return _svg("risk", "Risk against coverage", draw, height=_WIDTH * 0.68)


def reliability(runs: Sequence[Sequence[Bin]]) -> str:
    """Share of right citations against their predicted support, one line per run; the diagonal is perfect calibration."""

    def draw(axes: "Axes") -> None:
        axes.plot([0, 1], [0, 1], color=_QUIET, linewidth=1, linestyle=":")
        for run, bins in enumerate(runs):
            x, y = [one.support for one in bins], [one.share for one in bins]
            axes.plot(x, y, color=_colour(run), linestyle=_line(run), linewidth=1.8, marker="o", markersize=5, clip_on=False)
            for one in bins:
                label, place = str(one.citations), (one.support, one.share)
                axes.annotate(label, place, (5, -11), textcoords="offset points", fontsize=10, color=_QUIET)
        _square(axes, "predicted support", "share from a gold paper")

    return _svg("reliability", "Reliability of predicted support", draw, height=_WIDTH * 0.68)


def _colour(run: int) -> str:
    return f"#0102{16 + run % RUN_COLOURS}"


def _line(run: int) -> str:
    return _LINES[run % len(_LINES)]


def _places(found: Mapping[str, Sequence[Value | None]]) -> list[tuple[float, int, Value]]:
    """Where each bar lies, counted downwards, its run, and its value."""
    placed, top = [], 0.0
    for values in found.values():
        placed += [(top + _BAR * (run + 0.5), run, value) for run, value in enumerate(values) if value is not None]
        top += _BAR * (len(values) + 1)
    return placed


def _height(found: Mapping[str, Sequence[object]]) -> float:
    return 60.0 + 1.15 * _BAR * sum(len(values) + 1 for values in found.values())


def _name_rows(axes: "Axes", found: Mapping[str, Sequence[object]], names: Sequence[str]) -> None:
    step = _BAR * (max((len(values) for values in found.values()), default=0) + 1)
    axes.set_yticks([step * place + (step - _BAR) / 2 for place in range(len(names))], names)
    axes.set_ylim(step * len(names) - _BAR / 2, -_BAR / 2)
    axes.grid(axis="x")


def _square(axes: "Axes", horizontal: str, vertical: str) -> None:
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel=horizontal, ylabel=vertical)
    axes.grid()


def _svg(name: str, title: str, draw: Callable[["Axes"], None], *, height: float) -> str:
    import io

    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing

    with matplotlib.rc_context(
        {
            "svg.fonttype": "none", "svg.hashsalt": name, "text.parse_math": False, "font.size": 11.5, "text.color": _INK,
            "axes.edgecolor": _GRID, "axes.labelcolor": _QUIET, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
            "xtick.color": _GRID, "xtick.labelcolor": _QUIET, "xtick.major.size": 0, "grid.color": _GRID, "grid.linewidth": 0.8,
            "ytick.color": _GRID, "ytick.labelcolor": _INK, "ytick.major.size": 0,
        }
    ):  # fmt: skip
        drawing = Drawing(figsize=(_WIDTH / _PER_INCH, height / _PER_INCH), layout="constrained")
        FigureCanvasSVG(drawing)
        drawing.patch.set_alpha(0)
        axes = drawing.add_subplot()
        axes.patch.set_alpha(0)
        draw(axes)
        written = io.StringIO()
        drawing.savefig(written, format="svg")
    return _inlined(written.getvalue(), name=re.sub(r"\W+", "-", name), title=title)


def _inlined(svg: str, *, name: str, title: str) -> str:
    """The drawing alone: no prologue, metadata or style that would reach the page; colours and ids made the page's."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*| font-family: [^;]*;", "", svg, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', svg)
    svg = re.sub(r"<svg[^>]*>", f'<svg {view[0] if view else ""} role="img" aria-label="{title}">', svg, count=1)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg
