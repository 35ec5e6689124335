"""Questions that failed, each as a section of the report: what was asked, what the labels want, what was given.

A question is shown once; every run has its outcome there, so that runs can be told apart where one of them fails.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from eval.questions import LabelledQuestion
from eval.rows import Row
from eval.run import Run
from rag.citations import unescaped

CRASHED, FACTS_MISSING = "crashed", "facts not shown"
NOT_REFUSED, WRONGLY_REFUSED = "answered, should be refused", "refused, should be answered"
_KINDS = (CRASHED, FACTS_MISSING, NOT_REFUSED, WRONGLY_REFUSED)
_NAMED_LINE = re.compile(r"\*\*(.*)\*\* (\[\d+\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what each run made of it, by the run's name."""

    question: LabelledQuestion
    rows: Mapping[str, Row]

    @property
    def failures(self) -> dict[str, list[str]]:
        """How it failed, and in which runs."""
        found = {kind: [name for name, row in self.rows.items() if failure(row) == kind] for kind in _KINDS}
        return {kind: names for kind, names in found.items() if names}


def failure(row: Row) -> str:
    """How a question failed, or nothing when it did not. One kind of refusal given for another is no failure here."""
    if row.error or row.status == "crashed":
        return CRASHED
    if not row.is_answerable:
        return "" if row.is_refused else NOT_REFUSED
    if row.is_refused:
        return WRONGLY_REFUSED
    return FACTS_MISSING if row.facts < 1 else ""


def failed_questions(runs: Sequence[Run], questions: Sequence[LabelledQuestion], titles: Mapping[str, str]) -> str:
    """The counts, an index by type, and a section per question that failed in any run. `titles` are by paper id."""
    by_run = {run.name: {row.id: row for row in run.rows} for run in runs}
    asked = [Asked(one, {name: rows[one.id] for name, rows in by_run.items() if one.id in rows}) for one in questions]
    failed = [one for one in asked if one.failures]
    if not failed:
        return "<p>None.</p>"
    return _counts(runs) + _index(asked) + "".join(_page(one, titles) for one in failed)


def _counts(runs: Sequence[Run]) -> str:
    heads = "".join(f'<th scope="col">{run_name(run.name)}</th>' for run in runs)
    lines = ""
    for kind in _KINDS:
        counts = [sum(failure(row) == kind for row in run.rows) for run in runs]
        lines += f'<tr><th scope="row">{kind}</th>{"".join(f"<td>{count}</td>" for count in counts)}</tr>'
    return f'<div class="wide"><table><thead><tr><td></td>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'


def _index(asked: Sequence[Asked]) -> str:
    html = ""
    for type_ in dict.fromkeys(one.question.type for one in asked if one.failures):
        members = [one for one in asked if one.question.type == type_ and one.rows]
        failed = [one for one in members if one.failures]
        lines = "".join(
            f'<li><a href="#failed-{escape(quote(one.question.id))}">{escape(_shown(one.question.question))}</a> '
            f'<small class="tag">{escape(_summary(one))}</small></li>'
            for one in failed
        )
        html += f"<h3>{escape(type_)} <small>{len(failed)} of {len(members)}</small></h3><ul>{lines}</ul>"
    return f'<nav class="index" aria-label="Failed questions by type">{html}</nav>'


def _summary(asked: Asked) -> str:
    """How a question failed; the runs are named where they are not all of them."""
    return "; ".join(
        kind if len(names) == len(asked.rows) else f"{kind} ({' and '.join(names)})" for kind, names in asked.failures.items()
    )


def _page(asked: Asked, titles: Mapping[str, str]) -> str:
    question = asked.question
    parts = [f"<h3>{escape(_shown(question.question))}</h3>"]
    for turn in question.history:
        parts.append(f"<h4>Earlier turn</h4><p>{escape(turn.question)}</p>{_answer_text(turn.answer)}")
    gold = [escape(titles.get(paper, paper)) for paper in question.papers]
    evidence = [f"<blockquote>{escape(one.quote)}</blockquote>" for one in question.evidence]
    parts.append(f"<h4>Gold papers</h4>{_listed(gold)}")
    parts.append(f"<h4>Labelled evidence</h4>{''.join(evidence) or _nothing()}")
    parts += [f"<h4>Note of the label</h4><p>{escape(question.note)}</p>"] if question.note else []
    parts += [_outcome(name if len(asked.rows) > 1 else "", question, row, titles) for name, row in asked.rows.items()]
    return (
        f'<section class="page" id="failed-{escape(question.id)}"><p class="head quiet"><span>{escape(question.id)}</span>'
        f'<span>{escape(question.type)}</span><span>expected: {escape(question.status)}</span><a href="#failed">to the index</a></p>'
        f"{''.join(parts)}</section>"
    )


def _outcome(name: str, question: LabelledQuestion, row: Row, titles: Mapping[str, str]) -> str:
    kind = failure(row)
    head = f"{run_name(name)}: " if name else ""
    verdict = f'<span class="bad">{kind}</span>' if kind else '<span class="good">right</span>'
    parts = [f"<p>{head}{verdict}<span class='quiet'>, status given: {escape(row.status)}</span></p>"]
    parts += [f"<h4>Error</h4><pre>{escape(row.error)}</pre>"] if row.error else []
    if not kind:
        return f'<div class="outcome">{"".join(parts)}</div>'
    facts = [(fact, is_shown(fact, row)) for fact in question.key_facts]
    marked = [f"{escape(fact)} {_tag('shown', 'good') if shown else _tag('missing', 'bad')}" for fact, shown in facts]
    parts += [f"<h4>Key facts</h4>{_listed(marked)}"] if marked else []
    parts.append(f"<h4>Answer</h4>{_answer_text(row.text) if row.text else _nothing()}")
    parts += [f"<h4>Notices</h4>{_listed([escape(notice) for notice in row.notices])}"] if row.notices else []
    hits = [f"{escape(titles.get(paper, paper))} {_hit_tags(paper, row)}" for paper in row.ranking]
    parts.append(f"<h4>Hits</h4>{_listed(hits, tag='ol')}")
    return f'<div class="outcome">{"".join(parts)}</div>'


def run_name(name: str) -> str:
    """A run's name, escaped, that may break after a comma."""
    return escape(name).replace(",", ",<wbr>")


def is_shown(fact: str, row: Row) -> bool:
    """Whether a quote of the answer holds a key fact, as its text shows it."""
    quotes = [unescaped(paragraph) for paragraph in row.text.split("\n\n") if paragraph.startswith("> ")]
    return row.facts == 1 or any(" ".join(fact.split()) in quoted for quoted in quotes)


def _hit_tags(paper: str, row: Row) -> str:
    gold = _tag("gold", "good") if paper in row.gold else ""
    return gold + (f" {_tag(f'cited [{row.cited.index(paper) + 1}]', 'quiet')}" if paper in row.cited else "")


def _answer_text(markdown: str) -> str:
    """An answer as it reads: quotes set off, papers' names in bold, and every character escaped."""
    html = ""
    for paragraph in markdown.split("\n\n"):
        named = _NAMED_LINE.fullmatch(paragraph)
        if paragraph.startswith("> "):
            html += f"<blockquote>{escape(unescaped(paragraph.removeprefix('> ')))}</blockquote>"
        elif named:
            html += f"<p><b>{escape(unescaped(named[1]))}</b> {named[2]}</p>"
        else:
            html += f"<p>{escape(unescaped(paragraph))}</p>"
    return f'<div class="answer">{html}</div>'


def _shown(question: str) -> str:
    """A question, or a word for one that shows nothing."""
    return question if question.strip() and question.replace("\n", " ").isprintable() else f"{question!r}"


def _listed(items: Iterable[str], *, tag: str = "ul") -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<{tag}>{lines}</{tag}>" if lines else _nothing()


def _nothing() -> str:
    return '<p class="quiet">none</p>'


def _tag(text: str, kind: str) -> str:
    return f'<span class="tag {kind}">{escape(text)}</span>'
