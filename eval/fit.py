"""Fits every coefficient of ranking, quoting and abstaining on the development questions, and writes `rag/coefficients.json`.

    python -m eval.fit            cross-validated figures (by paper), then coefficients from all questions
    python -m eval.fit --check    figures only; nothing is written
    python -m eval.fit --gates    the same figures, then the gates alone; ranking and quoting stay as they are in the file

The held-out questions are never read here. Models: a conditional logit over papers, one over the sentences of the right
paper, and the gates of abstention (`fit_gates`). Tables of other models in the file are kept.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from eval.fit_gates import GateRows, fit_gates
from eval.questions import DEVELOPMENT, LabelledQuestion, load_questions
from rag.answering.abstention import gate_features, judge, read_premise
from rag.answering.asked import ASKED_FEATURES
from rag.answering.evidence import SENTENCE_FEATURES, Evidence, choose, sentence_features
from rag.assistant import Assistant
from rag.coefficients import PATH, Coefficients
from rag.index import PaperIndex
from rag.questions import Question, read_question
from rag.search import PAPER_FEATURES, Candidate, candidates
from rag.settings import Settings
from vectorstore.encoded import EncodedQuery

FOLDS = 8
LEAST_SHARE_OF_BEST = 0.05  # a quote less probable than this share of the best one adds next to nothing (see eval/LOG.md)
_LOOKUPS = {"fact", "paraphrase", "about", "noisy"}
_ANSWERABLE = _LOOKUPS | {"multi", "language"}
_UNANSWERABLE = {"near_miss", "absent", "out_of_domain", "premise"}
_GATED = _LOOKUPS | {"multi"}  # the gates learn from these; questions in other languages would teach them to let anything pass
_WORD_FEATURES = {
    "words",
    "least_words",
    "evidence_words",
    "one_sentence_words",
    "least_evidence_words",
    "quarter_words",
    "number_gap",
    "word_share",
}
_UNFITTED = Coefficients({"papers": {}, "papers_without_words": {}})

Array = NDArray[np.float64]
Table = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Example:
    """A development question with all its candidates, as the program sees them."""

    label: LabelledQuestion
    question: Question
    query: EncodedQuery
    found: list[Candidate]
    fold: int


def conditional_logit(groups: Sequence[tuple[Array, NDArray[np.bool_]]], *, l2: float) -> Array:
    """Weights that make the right rows of each group most probable; several right rows share the log-likelihood."""

    def loss(weights: Array) -> tuple[float, Array]:
        total, gradient = 0.0, np.zeros_like(weights)
        for features, right in groups:
            scores = features @ weights
            probabilities = np.exp(scores - scores.max())
            probabilities /= probabilities.sum()
            total -= float(np.log(probabilities[right] + 1e-30).mean())
            gradient -= features[right].mean(axis=0) - probabilities @ features
        return total / len(groups) + l2 * float(weights @ weights) / 2, gradient / len(groups) + l2 * weights

    return np.asarray(minimize(loss, np.zeros(groups[0][0].shape[1]), jac=True, method="L-BFGS-B").x)


def fit(examples: Sequence[Example], index: PaperIndex) -> Table:
    """All coefficients from `examples`."""
    lookups = [example for example in examples if example.label.type in _LOOKUPS]
    fitted: Table = {}
    groups = [
        (
            np.stack([one.features for one in example.found]),
            np.array([index.papers[one.row].id in example.label.papers for one in example.found]),
        )
        for example in lookups
    ]
    groups = [(features, right) for features, right in groups if right.any()]
    for model, left_out in (("papers", set()), ("papers_without_words", _WORD_FEATURES)):
        used = [place for place, name in enumerate(PAPER_FEATURES) if name not in left_out]
        weights = conditional_logit([(features[:, used], right) for features, right in groups], l2=1e-4)
        fitted[model] = {PAPER_FEATURES[place]: round(float(weight), 4) for place, weight in zip(used, weights, strict=True)}
    linear = [features @ np.array([fitted["papers"][name] for name in PAPER_FEATURES]) for features, _ in groups]
    top = [np.argsort(-scores)[:10] for scores in linear]
    certainty = LogisticRegression(C=1e6).fit(
        np.concatenate([scores[best] for scores, best in zip(linear, top, strict=True)])[:, None],
        np.concatenate([right[best] for (_, right), best in zip(groups, top, strict=True)]),
    )
    fitted["hit"] = {"slope": round(float(certainty.coef_[0, 0]), 4), "bias": round(float(certainty.intercept_[0]), 4)}
    fitted["sentences"] = _fit_sentences(lookups, index)
    fitted["quotes"] = {"least_share_of_best": LEAST_SHARE_OF_BEST}
    return fitted


def _fit_sentences(lookups: Sequence[Example], index: PaperIndex) -> dict[str, float]:
    groups = []
    for example in lookups:
        for candidate in example.found:
            if index.papers[candidate.row].id in example.label.papers:
                right = _evidence_sentences(example.label, candidate.row, index)
                if right.any():
                    groups.append((sentence_features(example.question, example.query, candidate, index), right))
    weights = conditional_logit(groups, l2=1 / len(groups))
    return {name: round(float(weight), 4) for name, weight in zip(SENTENCE_FEATURES, weights, strict=True)}


def _evidence_sentences(label: LabelledQuestion, row: int, index: PaperIndex) -> NDArray[np.bool_]:
    """Which sentences of a paper the labelled evidence lies in."""
    paper, spans = index.papers[row], index.spans[row]
    right = np.zeros(len(spans), dtype=bool)
    for evidence in label.evidence:
        start = paper.abstract.find(evidence.quote) if evidence.paper == paper.id else -1
        for number, span in enumerate(spans):
            shared = min(span.end, start + len(evidence.quote)) - max(span.start, start)
            if start >= 0 and shared > min(20, (span.end - span.start) / 2, len(evidence.quote) - 1):
                right[number] = True
    return right


def fit_gates_on(examples: Sequence[Example], index: PaperIndex, coefficients: Coefficients) -> Table:
    """All gates, from the features that the fitted ranking and quoting give."""
    rows = [example for example in examples if example.label.type in _GATED | _UNANSWERABLE and example.found]
    return fit_gates(
        GateRows(
            features=np.stack([_gate_row(example, index, coefficients) for example in rows]),
            assumed=np.stack([read_premise(one.question, one.query, one.found[0], index)[1] for one in rows]),
            status=np.array([example.label.status for example in rows]),
            is_far=np.array([example.label.type == "out_of_domain" for example in rows]),
            folds=np.array([example.fold for example in rows]),
        ),
        _WORD_FEATURES | set(ASKED_FEATURES),
    )


def _gate_row(example: Example, index: PaperIndex, coefficients: Coefficients) -> Array:
    evidence = _quotes(example, index, coefficients)
    return gate_features(example.question, example.query, example.found, evidence, index)


def _quotes(example: Example, index: PaperIndex, coefficients: Coefficients) -> list[Evidence]:
    limits = Settings()
    return choose(
        example.question,
        example.query,
        example.found,
        index,
        coefficients,
        max_quotes=limits.max_quotes,
        max_papers=limits.max_papers,
    )


def fit_all(examples: Sequence[Example], index: PaperIndex) -> Coefficients:
    """Ranking and quoting from `examples`, then the gates on what those give."""
    return fit_over(examples, index, Coefficients(fit(examples, index)))


def fit_over(examples: Sequence[Example], index: PaperIndex, first: Coefficients) -> Coefficients:
    """`first` with the gates on what its ranking and quoting give."""
    return Coefficients({**first.table, **fit_gates_on([reranked(example, index, first) for example in examples], index, first)})


def read_examples(assistant: Assistant, labels: Sequence[LabelledQuestion]) -> list[Example]:
    """The questions with their candidates; folds go by paper, so that no paper is fitted and judged in one fold."""
    index = assistant.index
    examples = []
    for number, label in enumerate(labels):
        question = read_question(label.question)
        if label.type in _ANSWERABLE | _UNANSWERABLE and question.searched:
            query = assistant.embedder.encode_query(question.searched)
            found = candidates(question, query, index, _UNFITTED, limit=len(index.papers))
            fold = index.row_of[label.papers[0]] % FOLDS if label.papers else number % FOLDS
            examples.append(Example(label, question, query, found, fold))
    return examples


def reranked(example: Example, index: PaperIndex, coefficients: Coefficients) -> Example:
    """The example with its candidates ranked by `coefficients`."""
    found = candidates(example.question, example.query, index, coefficients, limit=len(index.papers))
    return Example(example.label, example.question, example.query, found, example.fold)


def cross_validated(examples: Sequence[Example], index: PaperIndex) -> Mapping[str, float]:
    """Figures on questions about papers that no fit has seen."""
    rows: list[tuple[Example, dict[str, float]]] = []
    for fold in range(FOLDS):
        seen = [example for example in examples if example.fold != fold]
        fitted = fit_all(seen, index)
        rows += [
            (example, _judged(reranked(example, index, fitted), index, fitted)) for example in examples if example.fold == fold
        ]
    return _summary(rows)


def _judged(example: Example, index: PaperIndex, coefficients: Coefficients) -> dict[str, float]:
    label = example.label
    quotes = _quotes(example, index, coefficients)
    shown = [index.papers[one.row].abstract[one.start : one.end] for one in quotes]
    ranks = [place for place, one in enumerate(example.found, start=1) if index.papers[one.row].id in label.papers]
    status = judge(example.question, example.query, example.found, quotes, index, coefficients).status
    return {
        "rank": ranks[0] if ranks else np.inf,
        "facts": float(all(any(fact in quote for quote in shown) for fact in label.key_facts)),
        "cited": float(any(index.papers[one.row].id in label.papers for one in quotes)),
        "quotes": len(quotes),
        "answered": float(status == "answered"),
        "right status": float(status == label.status),
    }


def _summary(rows: Sequence[tuple[Example, dict[str, float]]]) -> dict[str, float]:
    def mean(value: Callable[[dict[str, float]], float], *types: str, status: str = "") -> float:
        values = [value(row) for example, row in rows if example.label.type in types and status in ("", example.label.status)]
        return float(np.mean(values)) if values else 0.0

    lookups = tuple(sorted(_LOOKUPS))
    near = ("near_miss", "absent", "premise")
    figures = {
        "R@1": mean(lambda row: row["rank"] == 1, *lookups),
        "R@5": mean(lambda row: row["rank"] <= 5, *lookups),
        "all key facts shown": mean(lambda row: row["facts"], *lookups),
        "gold paper cited": mean(lambda row: row["cited"], *lookups),
        "quotes per answer": mean(lambda row: row["quotes"], *lookups),
        "false refusals": mean(lambda row: 1 - row["answered"], *lookups),
        "refused, out of domain": mean(lambda row: 1 - row["answered"], "out_of_domain"),
        "refused, unanswerable in domain": mean(lambda row: 1 - row["answered"], *near),
    }
    for status in ("silent", "not_found", "premise"):
        figures[f"refused, {status} in domain"] = mean(lambda row: 1 - row["answered"], *near, status=status)
        figures[f"right status, {status} in domain"] = mean(lambda row: row["right status"], *near, status=status)
    for type_ in lookups:
        figures[f"R@1 {type_}"] = mean(lambda row: row["rank"] == 1, type_)
        figures[f"all key facts shown {type_}"] = mean(lambda row: row["facts"], type_)
    for type_ in (*lookups, "multi", "language"):
        figures[f"false refusals {type_}"] = mean(lambda row: 1 - row["answered"], type_)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.fit`."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.fit", description="Fit rag/coefficients.json on the development questions."
    )
    parser.add_argument("--check", action="store_true", help="print cross-validated figures and write nothing")
    parser.add_argument(
        "--gates", action="store_true", help="fit the gates alone, over ranking and quoting as they are in the file"
    )
    options = parser.parse_args(arguments)
    assistant = Assistant.open(Settings.from_env())
    labels = load_questions(DEVELOPMENT, assistant.papers)
    examples = read_examples(assistant, labels)
    figures = cross_validated(examples, assistant.index)
    sys.stdout.write("".join(f"{name:38} {value:.3f}\n" for name, value in figures.items()))
    if not options.check:
        fitted = fit_over(examples, assistant.index, Coefficients.load()) if options.gates else fit_all(examples, assistant.index)
        others = json.loads(PATH.read_text(encoding="utf-8"))  # tables that are fitted elsewhere stay as they are
        PATH.write_text(json.dumps({**others, **fitted.table}, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(f"written: {PATH}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
