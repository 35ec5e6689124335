"""Fits how surely sentences support a claim, on labelled claims, and merges the tables into `rag/coefficients.json`.

    python -m eval.fit_support            figures, then the tables "support" and "support_without_words", and `rag/support_trees.json`
    python -m eval.fit_support --check    figures only; nothing is written

Fitted on the claims whose half is "fit"; those of the half "report" are only counted. The threshold comes from predictions for
papers that the fit has not seen: few false claims may pass, unless that would refuse too many true ones.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from rag.assistant import Assistant
from rag.coefficients import PATH
from rag.settings import Settings
from rag.support import choose_sentences, encode_claim, support_features
from rag.support_features import FORM_FEATURES, SUPPORT_FEATURES
from rag.support_held import Held
from rag.support_rules import is_contradicted, is_refused
from rag.trees import PATH as TREES
from rag.trees import Node, Trees

CLAIMS = Path(__file__).with_name("claims.jsonl")
MOST_PASSED, LEAST_KEPT, USUAL_KEPT = 0.05, 0.6, 0.85
_FOLDS = 8
_NEIGHBOURS = 3
_MODELS = {"support": SUPPORT_FEATURES, "support_without_words": FORM_FEATURES}

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class LabelledClaim(BaseModel):
    """A sentence about one paper, whether its abstract supports it, how it was made, and the sentences it was made from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    kind: str
    supported: bool
    claim: str = Field(min_length=1)
    evidence: list[str]
    half: Literal["fit", "report"]

    @property
    def is_lesson(self) -> bool:
        """Whether the trees may learn from it: the claims "cc-" were written after faults that rules now mend, and are counted alone."""
        return not self.id.startswith("cc-")


@dataclass(frozen=True)
class Judged:
    """Claims against papers: features (claims, `SUPPORT_FEATURES`), and which are refused or contradicted whatever these say."""

    features: Array
    is_refused: Flags
    is_contradicted: Flags


@dataclass(frozen=True)
class Fitted:
    """One model: trees over features, what makes their score a probability, and the least probability of a supported claim.

    `unseen` are the probabilities of the claims it was fitted on, each from a fit that left out the papers of its fold.
    """

    names: Sequence[str]
    trees: Trees
    slope: float
    bias: float
    threshold: float
    unseen: Array

    def probabilities(self, judged: Judged) -> Array:
        """For each claim, as `rag.support.support` gives it."""
        scores = np.array([self.trees.score(dict(zip(self.names, row, strict=False))) for row in judged.features])
        return np.where(judged.is_refused, 0.0, 1 / (1 + np.exp(-self.slope * scores - self.bias)))


def read_claims(path: Path = CLAIMS) -> list[LabelledClaim]:
    """The labelled claims in a JSON Lines file."""
    return [LabelledClaim.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(pairs: Sequence[tuple[str, int]], assistant: Assistant) -> Judged:
    """The features of claims against all sentences of the papers at the given rows."""
    index = assistant.index
    rows, refused, contradicted = [], [], []
    encoded = {text: encode_claim(text, assistant.embedder, index) for text in dict.fromkeys(text for text, _ in pairs)}
    for text, row in pairs:
        claim = encoded[text]
        chosen = choose_sentences(claim, row, range(len(index.spans[row])), index)
        held = Held.of(row, chosen, index)
        values = support_features(claim, row, chosen, held, index)
        rows.append([values.get(name, 0.0) for name in SUPPORT_FEATURES])
        refused.append(is_refused(claim.claim, held))
        contradicted.append(is_contradicted(claim.claim, held))
    return Judged(np.array(rows), np.array(refused), np.array(contradicted))


def neighbours(claims: Sequence[LabelledClaim], assistant: Assistant) -> list[tuple[str, int]]:
    """Each supported claim with the papers retrieved for it that it is not about."""
    pairs = []
    for claim in claims:
        if claim.supported:
            found = assistant.index.nearest(assistant.embedder.encode_query(claim.claim).vector, _NEIGHBOURS + 1)
            others = [assistant.index.row_of[match.id] for match in found if match.id != claim.paper]
            pairs += [(claim.claim, row) for row in others[:_NEIGHBOURS]]
    return pairs


def fit(given: Judged, is_true: Flags, claims: Sequence[LabelledClaim], names: Sequence[str]) -> Fitted:
    """Trees over the first features, `names`; slope, bias and threshold come from scores for papers that the trees have not seen.

    What a rule refuses without contradiction is a lesson too: else the trees would not learn what a negation does, and the
    threshold would let an ordinary false claim pass for each that a rule catches.
    """
    features = given.features[:, : len(names)]
    is_lesson = np.array([claim.is_lesson for claim in claims])
    learnt = is_lesson & ~given.is_contradicted
    model = GradientBoostingClassifier(
        n_estimators=150, max_depth=2, learning_rate=0.06, subsample=0.6, min_samples_leaf=8, max_features=0.4, random_state=0
    )
    groups = np.unique([claim.paper for claim in claims], return_inverse=True)[1]
    unseen = np.zeros(len(is_true))
    for rest, fold in GroupKFold(_FOLDS).split(features, is_true, groups):
        of_rest = rest[learnt[rest]]
        unseen[fold] = model.fit(features[of_rest], is_true[of_rest]).decision_function(features[fold])
    scale = LogisticRegression(C=1e6).fit(unseen[learnt][:, None], is_true[learnt])
    probabilities = np.where(given.is_contradicted, 0.0, scale.predict_proba(unseen[:, None])[:, 1])
    model.fit(features[learnt], is_true[learnt])
    return Fitted(
        names=names,
        trees=_trees(model, names),
        slope=float(scale.coef_[0, 0]),
        bias=float(scale.intercept_[0]),
        threshold=_threshold(probabilities[is_lesson], is_true[is_lesson]),
        unseen=np.where(given.is_refused, 0.0, probabilities),
    )


def _trees(model: GradientBoostingClassifier, names: Sequence[str]) -> Trees:
    prior = float(model.init_.class_prior_[1])
    trees = []
    for (estimator,) in model.estimators_:
        tree = estimator.tree_
        rows = zip(tree.feature, tree.threshold, tree.children_left, tree.children_right, tree.value[:, 0, 0], strict=True)
        trees.append(
            [
                Node(names[feature], round(float(at), 5), int(yes), int(no), 0.0)
                if yes > 0
                else Node("", 0.0, 0, 0, round(float(value) * model.learning_rate, 5))
                for feature, at, yes, no, value in rows
            ]
        )
    return Trees(float(np.log(prior / (1 - prior))), trees)


def _threshold(probabilities: Array, is_true: Flags) -> float:
    strict = float(np.quantile(probabilities[~is_true], 1 - MOST_PASSED, method="higher"))
    if (probabilities[is_true] > strict).mean() >= LEAST_KEPT:
        return strict + 1e-4
    return float(np.quantile(probabilities[is_true], 1 - USUAL_KEPT))


def figures(fitted: Fitted, probabilities: Array, claims: Sequence[LabelledClaim], elsewhere: Judged) -> dict[str, float]:
    """Shares of one half: true claims kept, false ones passed (in all and by kind), and true claims refused for other papers."""
    is_true = np.array([claim.supported for claim in claims])
    passes = probabilities >= fitted.threshold
    kinds = np.array([claim.kind for claim in claims])
    return {
        "AUC": float(roc_auc_score(is_true, probabilities)),
        "kept": float(passes[is_true].mean()),
        "passed": float(passes[~is_true].mean()),
        **{f"passed, {kind}": float(passes[kinds == kind].mean()) for kind in sorted(set(kinds[~is_true]))},
        "passed where 90 % are kept": float((probabilities[~is_true] >= np.quantile(probabilities[is_true], 0.1)).mean()),
        "kept where 5 % pass": float((probabilities[is_true] > np.quantile(probabilities[~is_true], 0.95)).mean()),
        "refused for another paper": float((fitted.probabilities(elsewhere) < fitted.threshold).mean()),
    }


def _write(fitted: Mapping[str, Fitted]) -> None:
    tables = {
        model: {"slope": round(one.slope, 4), "bias": round(one.bias, 4), "threshold": round(one.threshold, 4)}
        for model, one in fitted.items()
    }
    merged = json.loads(PATH.read_text(encoding="utf-8")) | tables
    PATH.write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")
    trees = {
        model: {"start": one.trees.start, "trees": [[list(astuple(node)) for node in tree] for tree in one.trees.trees]}
        for model, one in fitted.items()
    }
    TREES.write_text(json.dumps(trees) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval.fit_support`."""
    parser = argparse.ArgumentParser(prog="python -m eval.fit_support", description="Fit the support of claims.")
    parser.add_argument("--check", action="store_true", help="print figures and write nothing")
    options = parser.parse_args(arguments)
    assistant = Assistant.open(Settings.from_env())
    halves = {half: [claim for claim in read_claims() if claim.half == half] for half in ("fit", "report")}
    own = {
        half: judged([(claim.claim, assistant.index.row_of[claim.paper]) for claim in claims], assistant)
        for half, claims in halves.items()
    }
    elsewhere = {half: judged(neighbours(claims, assistant), assistant) for half, claims in halves.items()}
    models: dict[str, Fitted] = {}
    for model, names in _MODELS.items():
        learnt = halves["fit"]
        fitted = fit(own["fit"], np.array([claim.supported for claim in learnt]), learnt, names)
        models[model] = fitted = replace(fitted, threshold=models.get("support", fitted).threshold)  # one for both
        probabilities = {"fit": fitted.unseen, "report": fitted.probabilities(own["report"])}
        shown = {half: figures(fitted, probabilities[half], claims, elsewhere[half]) for half, claims in halves.items()}
        sys.stdout.write(f"{model}, threshold {fitted.threshold:.3f}{'':10}   fit  report\n")
        sys.stdout.write("".join(f"  {name:32} {shown['fit'][name]:7.3f} {shown['report'][name]:7.3f}\n" for name in shown["fit"]))
    if not options.check:
        _write(models)
        sys.stdout.write(f"written: {PATH}, {TREES}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
