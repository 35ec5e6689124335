"""Fits the gates of abstention: features of labelled questions to tables of coefficients. Knows no text, paper or index.

A gate is a logistic model; the detail gate adds boosted stumps, steps in single features, for what is not linear. Thresholds are
quantiles over answerable questions of scores from models that have not seen their fold: a model is too sure of its own rows.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rag.answering.abstention import GATE_FEATURES, STEPS
from rag.answering.premise import PREMISE_FEATURES

FALSE_REFUSALS = {"field_gate": 0.005, "premise_gate": 0.008, "detail_gate": 0.012}
"""The share of answerable questions that each gate may turn away."""
_FIELD_FEATURES = ("linear",)
_STUMPS = 150
_RATE = 0.15

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Table = dict[str, dict[str, float]]


@dataclass(frozen=True)
class GateRows:
    """Labelled questions: `features` (questions, `GATE_FEATURES`), `assumed` (questions, `PREMISE_FEATURES`), and what is right."""

    features: Array
    assumed: Array
    status: NDArray[np.str_]
    is_far: Mask
    folds: NDArray[np.int64]


def fit_gates(rows: GateRows, word_features: Collection[str]) -> Table:
    """The tables of all gates; those of models without word vectors leave out `word_features`."""
    is_answered, is_silent, is_premise = (rows.status == status for status in ("answered", "silent", "premise"))
    is_absent = rows.status == "not_found"
    fitted: Table = {}

    def add(name: str, names: tuple[str, ...], is_right: Mask, is_wrong: Mask, quantile: float | None, stumps: int = 0) -> None:
        everything, all_names = (rows.assumed, PREMISE_FEATURES) if names == PREMISE_FEATURES else (rows.features, GATE_FEATURES)
        features = everything[:, [all_names.index(one) for one in names]]
        kept = is_right | is_wrong
        gate = _Gate.fitted(features[kept], is_right[kept], stumps)
        threshold = 0.0  # even odds
        if quantile is not None:
            scores = _held_back_scores(features, is_right, kept, rows.folds, stumps)
            threshold = float(np.quantile(scores[is_answered], quantile))
        fitted[name] = {one: round(float(slope), 4) for one, slope in zip(names, gate.slopes, strict=True)}
        fitted[name]["bias"] = round(gate.intercept - threshold, 4)
        if stumps:
            fitted[name + STEPS] = {f"{names[place]}>{least}": round(height, 4) for place, least, height in gate.steps}

    for suffix, left_out, stumps in (("", (), _STUMPS), ("_without_words", word_features, 0)):
        names = tuple(name for name in GATE_FEATURES if name not in left_out)
        add("field_gate" + suffix, _FIELD_FEATURES, is_answered, rows.is_far, FALSE_REFUSALS["field_gate"])
        add("detail_gate" + suffix, names, is_answered, is_silent | is_absent, FALSE_REFUSALS["detail_gate"], stumps)
        add("silent_gate" + suffix, names, is_silent, is_absent & ~rows.is_far, None)
    add("premise_gate", PREMISE_FEATURES, is_premise, is_answered, 1 - FALSE_REFUSALS["premise_gate"])
    return fitted


@dataclass(frozen=True)
class _Gate:
    """Slopes, and steps as (feature, threshold, height)."""

    slopes: Array
    intercept: float
    steps: tuple[tuple[int, float, float], ...]

    @classmethod
    def fitted(cls, features: Array, is_right: Mask, stumps: int) -> "_Gate":
        """Both classes weigh the same."""
        weights = np.where(is_right, 1.0, is_right.sum() / max(1, (~is_right).sum()))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=3000))
        model.fit(features, is_right, logisticregression__sample_weight=weights)
        slopes = model[-1].coef_[0] / model[0].scale_
        intercept = float(model[-1].intercept_[0] - model[0].mean_ @ slopes)
        return cls(slopes, intercept, _steps(features, is_right, weights, stumps) if stumps else ())

    def scores(self, features: Array) -> Array:
        """The log-odds (rows,) of `features`."""
        steps = [(features[:, place] > least) * height for place, least, height in self.steps]
        return np.asarray(features @ self.slopes + self.intercept + np.sum(steps, axis=0))


def _steps(features: Array, is_right: Mask, weights: Array, stumps: int) -> tuple[tuple[int, float, float], ...]:
    boosted = GradientBoostingClassifier(
        n_estimators=stumps, max_depth=1, learning_rate=_RATE, subsample=0.6, max_features=0.2, min_samples_leaf=10, random_state=0
    ).fit(features, is_right, sample_weight=weights)
    heights: dict[tuple[int, float], float] = {}
    for tree in (stump.tree_ for stump in boosted.estimators_[:, 0]):
        if tree.node_count > 1:  # root, left (not above the threshold), right
            place = int(tree.feature[0]), round(float(tree.threshold[0]), 4)
            heights[place] = heights.get(place, 0.0) + _RATE * float(tree.value[2, 0, 0] - tree.value[1, 0, 0])
    return tuple((*place, height) for place, height in sorted(heights.items()))


def _held_back_scores(features: Array, is_right: Mask, kept: Mask, folds: NDArray[np.int64], stumps: int) -> Array:
    """Scores (rows,) of models that have not seen the row's fold."""
    scores = np.zeros(len(features))
    for fold in np.unique(folds):
        own, others = folds == fold, kept & (folds != fold)
        scores[own] = _Gate.fitted(features[others], is_right[others], stumps).scores(features[own])
    return scores
