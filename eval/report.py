"""Runs to one page that explains itself: settings, figures, plots, statuses, and a section for every question that failed.

The page is one file and asks for nothing from elsewhere. Whatever comes from files or people is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from eval import metrics, plots
from eval.failures import failed_questions, run_name
from eval.questions import LabelledQuestion, QuestionSetError
from eval.rows import Row
from eval.run import Run
from rag.papers import Paper

_PLOTTED = {
    "facts": ("All key facts shown", "Share of the questions (n), with the 95 % interval."),
    "cited": ("A gold paper cited", "Share of the questions (n), with the 95 % interval."),
    "R@1": (
        "Recall of the first hit",
        "Share of a question's gold papers, mean of n, with the 95 % interval; several gold papers cap it below 1.",
    ),
}
_ORDER = (*metrics.RETRIEVAL, *metrics.ANSWERS)
_BINS = 10

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1917; --quiet: #6b6560; --line: #ddd8d0; --page: #fdfcfa; --panel: #f4f2ee; --accent: #0f766e;
  --good: #15803d; --bad: #b42318; --run-0: #0f766e; --run-1: #b45309; --run-2: #4f46e5; --run-3: #be185d; --run-4: #475569; --run-5: #4d7c0f; }
@media (prefers-color-scheme: dark) { :root { --ink: #eae6e1; --quiet: #aaa29a; --line: #45403b; --page: #1b1917; --panel: #262321;
  --accent: #5eead4; --good: #86d9a0; --bad: #ff9d92; --run-0: #2dd4bf; --run-1: #f0b64c; --run-2: #a5b4fc; --run-3: #f9a8d4;
  --run-4: #cbd5e1; --run-5: #bef264; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 6rem; max-width: 74rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; -webkit-text-size-adjust: 100%; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; } h2 { font-size: 1.3rem; margin: 3rem 0 .6rem; }
h3 { font-size: 1.02rem; margin: 1.4rem 0 .4rem; } h4 { font-size: .85rem; color: var(--quiet); margin: 1rem 0 .25rem; }
p { margin: .5rem 0; max-width: 46rem; } .quiet, small, caption, figcaption { color: var(--quiet); }
a { color: var(--accent); text-underline-offset: .2em;
  text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 45%, transparent); }
nav a, .index a { display: inline-block; padding: .2rem 0; }
nav { display: flex; flex-wrap: wrap; gap: 0 1.2rem; margin: .8rem 0; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.wide { overflow-x: auto; } .side { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1.6rem 2rem; }
.masonry { columns: 33rem; column-gap: 2rem; } .masonry > * { break-inside: avoid; margin-bottom: 1.4rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.masonry table { width: 100%; } caption { text-align: left; font-weight: 600; color: var(--ink); padding: .2rem 0; }
th { font-weight: 400; text-align: left; } thead th { color: var(--quiet); vertical-align: bottom; }
th, td { padding: .28rem .9rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
td.figure { white-space: nowrap; } .settings td { min-width: 7.5rem; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; } td small { margin-left: .3rem; white-space: nowrap; }
.counts td { text-align: right; min-width: 4.2rem; padding-right: .6rem; background: color-mix(in srgb, var(--bad) calc(var(--share) * 45%), transparent); }
.counts td.right { background: color-mix(in srgb, var(--good) calc(var(--share) * 45%), transparent); } .counts td.none { color: var(--quiet); }
.counts thead th { text-align: right; padding-right: .6rem; } .counts thead th:first-child { text-align: left; }
.run { display: inline-flex; align-items: baseline; gap: .4em; max-width: 24em; overflow-wrap: anywhere; }
.key { flex: none; width: .75em; height: .75em; border-radius: 2px; } .differs { font-weight: 600; }
figure { margin: 0; max-width: 32rem; } figure svg { width: 100%; height: auto; display: block; margin-top: .3rem; } svg text { font-family: inherit; }
figure b { display: block; font-weight: 600; color: var(--ink); } svg * { stroke-linejoin: round; }
.index ul { padding: 0; list-style: none; margin: 0; } .index li { padding: .1rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.page { max-width: 54rem; margin-top: 2.2rem; padding: 1.1rem 1.2rem 1.3rem; border: 1px solid var(--line); border-radius: .6rem; overflow-wrap: anywhere; }
.page:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.page h3 { font-size: 1.12rem; margin: .2rem 0 .5rem; white-space: pre-wrap; }
.page ul, .page ol { margin: .2rem 0; padding-left: 1.3rem; } .page li { padding: .1rem 0; }
.head { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .88rem; margin: 0; }
.page p { max-width: none; } .outcome { border-top: 1px solid var(--line); margin-top: 1.1rem; padding-top: .3rem; }
blockquote { margin: .4rem 0; padding: .05rem 0 .05rem .8rem; border-left: 3px solid var(--line);
  font-family: Charter, "Bitstream Charter", "Source Serif 4", Georgia, serif; }
.answer { background: var(--panel); padding: .5rem .9rem; border-radius: .4rem; } .answer blockquote { border-color: var(--accent); }
.good { color: var(--good); } .bad { color: var(--bad); } .tag { font-size: .8rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font-size: .88rem; }
@media (max-width: 34rem) { body { padding: 1.2rem 1rem 4rem; }
  td small { display: block; margin: 0; } .page { padding: .8rem .9rem 1rem; } th, td { padding-right: .6rem; } }
"""


def write_report(path: Path, runs: Sequence[Run], questions: Sequence[LabelledQuestion], papers: Sequence[Paper]) -> None:
    """Writes the page to `path`. `questions` hold every question of the runs, else `QuestionSetError`; `papers` name the hits."""
    asked = dict.fromkeys(row.id for run in runs for row in run.rows)
    unlabelled = [id_ for id_ in asked if id_ not in {question.id for question in questions}]
    if unlabelled:
        raise QuestionSetError(f"No labels for {', '.join(unlabelled[:5])}; report on the questions that the runs were asked.")
    sections = [
        ("settings", "Settings", _settings(runs)),
        ("figures", "Figures", _figures(runs)),
        ("plots", "Plots", _plots(runs)),
        ("statuses", "Statuses", _statuses(runs)),
        ("failed", "Questions that failed", failed_questions(runs, questions, {paper.id: paper.title for paper in papers})),
    ]
    links = "".join(f'<a href="#{id_}">{title}</a>' for id_, title, _ in sections)
    body = "".join(f'<section aria-labelledby="{id_}"><h2 id="{id_}">{title}</h2>{html}</section>' for id_, title, html in sections)
    sizes = "; ".join(f"{escape(run.name)}: {len(run.rows)} questions over {run.papers} papers" for run in runs)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>AskAbstracts: evaluation</title><style>{_STYLE}</style></head><body>"
        f'<header><h1>AskAbstracts: evaluation</h1><p class="quiet">{sizes}</p><nav aria-label="Parts">{links}</nav></header>'
        f"<main>{body}</main></body></html>\n"
    )
    path.write_text(page, encoding="utf-8")


def _name(run: int, runs: Sequence[Run]) -> str:
    """A run's colour and name."""
    colour = f"var(--run-{run % plots.RUN_COLOURS})"
    return f'<span class="run"><span class="key" style="background: {colour}"></span><span>{run_name(runs[run].name)}</span></span>'


def _heads(runs: Sequence[Run], *, also: str = "") -> str:
    return "".join(f'<th scope="col">{_name(run, runs)}</th>{also}' for run in range(len(runs)))


def _settings(runs: Sequence[Run]) -> str:
    values: dict[str, list[object]] = {"questions": [len(run.rows) for run in runs], "papers": [run.papers for run in runs]}
    values |= {name: [getattr(run.settings, name) for run in runs] for name in (asdict(runs[0].settings) if runs else {})}
    lines = ""
    for name, of_runs in values.items():
        differs = ' class="differs"' if len(set(of_runs)) > 1 else ""
        lines += (
            f'<tr{differs}><th scope="row">{escape(name)}</th>{"".join(f"<td>{_setting(value)}</td>" for value in of_runs)}</tr>'
        )
    note = "<p>What differs is bold.</p>" if len(runs) > 1 else ""
    return f'{note}<div class="wide"><table class="settings"><thead><tr><td></td>{_heads(runs)}</tr></thead><tbody>{lines}</tbody></table></div>'


def _setting(value: object) -> str:
    text = ", ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    return escape(text) if text.strip() else f'<span class="quiet">{"spaces" if text else "empty"}</span>'


def _figures(runs: Sequence[Run]) -> str:
    found = [metrics.figures(run.rows) for run in runs]
    groups = dict.fromkeys(group for figures in found for group in figures)
    tables = ""
    for group in groups:
        given = dict.fromkeys(name for figures in found for name in figures.get(group, {}))
        names = [name for name in _ORDER if name in given] + [name for name in given if name not in _ORDER]
        tables += _figure_table(group, {name: [figures.get(group, {}).get(name) for figures in found] for name in names}, runs)
    return (
        "<p>Means, with 95 % bootstrap intervals in brackets and the number of questions behind each (n). “lookups” are the types "
        "fact, paraphrase, about and noisy together. Lower is better for quotes and false refusals, higher for all else.</p>"
        f'<div class="masonry">{tables}</div>'
    )


def _figure_table(title: str, figures: Mapping[str, Sequence[metrics.Figure | None]], runs: Sequence[Run]) -> str:
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_figure_cells(one) for one in of_runs)}</tr>'
        for name, of_runs in figures.items()
    )
    heads = _heads(runs, also='<th scope="col" class="number">n</th>')
    return (
        f'<div class="wide"><table><caption>{escape(title)}</caption><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _figure_cells(figure: metrics.Figure | None) -> str:
    if figure is None:
        return "<td>–</td><td></td>"
    interval = f"[{figure.low:.3f}, {figure.high:.3f}]"
    return f'<td class="figure">{figure.mean:.3f} <small>{interval}</small></td><td class="number quiet">{figure.n}</td>'


def _plots(runs: Sequence[Run]) -> str:
    found = [metrics.figures(run.rows) for run in runs]
    drawn = [
        _plot(f"{title} ({name})", says, plots.bars(name, found))
        for name, (title, says) in _PLOTTED.items()
        if any(name in by_name for figures in found for by_name in figures.values())
    ]
    if any(run.rows for run in runs):
        says = "Bars reach the median, lines the 95th percentile; the figures are p50 / p95."
        drawn.append(_plot("Latency per stage", says, plots.latency([metrics.latency(run.rows) for run in runs])))
    curves = [metrics.risk_coverage(run.rows) for run in runs]
    if any(curves):
        says = "The surest answers first, by the score of the best hit. An answer fails when it misses a key fact, or when there was none to give."
        drawn.append(_plot("Risk against coverage", says, plots.risk_coverage(curves)))
    drawn.append(_reliability(runs))
    legend = " ".join(f'<span style="margin-right: 1rem">{_name(run, runs)}</span>' for run in range(len(runs)))
    return f'<p>{legend}</p><div class="side">{"".join(drawn)}</div>'


def _plot(title: str, says: str, drawing: str) -> str:
    return f"<figure><figcaption><b>{title}</b>{says}</figcaption>{drawing}</figure>"


def _reliability(runs: Sequence[Run]) -> str:
    """The plot, or words where the predicted support is everywhere the same."""
    title = "Reliability of a citation's support"
    supports = {round(support, 3) for run in runs for row in run.rows for support in row.supports}
    if len(supports) > 1:
        says = (
            "Answers binned by the mean support predicted for their citations (across), against the share of these citations whose "
            "quote is from a gold paper (up). The numbers count citations; the dotted line is perfect calibration."
        )
        return _plot(title, says, plots.reliability([support_bins(run.rows) for run in runs]))
    if not supports:
        return _plot(title, "No answer has a citation, so there is nothing to compare.", "")
    sizes = [(run, sum(bin_.citations for bin_ in support_bins(run.rows)), support_bins(run.rows)) for run in runs]
    shares = "; ".join(f"{escape(run.name)}: {bins[0].share:.3f} of {size}" for run, size, bins in sizes if bins)
    why = (
        "a quotation carries its own claim wholly, so there is nothing to calibrate"
        if supports == {1.0}
        else "there is one bin only"
    )
    says = f"Every citation has the predicted support {supports.pop():.3f}: {why}. Of the citations, this share is from a gold paper: {shares}."
    return _plot(title, says, "")


def support_bins(rows: Iterable[Row]) -> list[plots.Bin]:
    """Answers in ten bins by the mean support of their citations; a row tells the share of right citations, not which they are."""
    members: dict[int, list[Row]] = {}
    for row in rows:
        if row.supports:
            mean = sum(row.supports) / len(row.supports)
            members.setdefault(min(int(mean * _BINS), _BINS - 1), []).append(row)
    bins = []
    for _, inside in sorted(members.items()):
        size = sum(len(row.supports) for row in inside)
        support = sum(sum(row.supports) for row in inside) / size
        right = sum(row.citation_precision * len(row.supports) for row in inside)
        bins.append(plots.Bin(support, right / size, size))
    return bins


def _statuses(runs: Sequence[Run]) -> str:
    found = [metrics.refusals(run.rows) for run in runs]
    names = {
        "refusal precision": "precision: refusals that were right",
        "refusal recall": "recall: refused, of what should be",
    }
    by_name = {title: [figures.get(name) for figures in found] for name, title in names.items()}
    return (
        _figure_table("Refusals", by_name, runs)
        + "<p>Questions by the status the labels expect (down) and the one given (across). Green is right.</p>"
        + f'<div class="side">{"".join(_confusion(run, runs) for run in range(len(runs)))}</div>'
    )


def _confusion(run: int, runs: Sequence[Run]) -> str:
    counts = metrics.confusion(runs[run].rows)
    given = list(dict.fromkeys(status for by_status in counts.values() for status in by_status))
    lines = ""
    for expected, by_status in counts.items():
        lines += f'<tr><th scope="row">{escape(expected)}</th>'
        for status in given:
            kind = "none" if not by_status[status] else "right" if status == expected else ""
            share = by_status[status] / (sum(by_status.values()) or 1)
            lines += f'<td class="{kind}" style="--share: {share:.3f}">{by_status[status]}</td>'
        lines += "</tr>"
    heads = "".join(f'<th scope="col">{escape(status)}</th>' for status in given)
    return (
        f'<div class="wide"><table class="counts"><caption>{_name(run, runs)}</caption><thead><tr><th scope="col">expected</th>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
