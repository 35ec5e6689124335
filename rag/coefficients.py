"""The fitted numbers of ranking, quoting and abstaining. `python -m eval.fit` writes the file they are read from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

PATH = Path(__file__).with_name("coefficients.json")


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Numbers by model and name, for example `table["papers"]["bm25"]`."""

    table: Mapping[str, Mapping[str, float]]

    @classmethod
    def load(cls, path: Path = PATH) -> Self:
        """The coefficients in a file, by default those that come with the program."""
        return cls(json.loads(path.read_text(encoding="utf-8")))

    def weights(self, model: str, features: tuple[str, ...]) -> NDArray[np.float64]:
        """The weight (features,) of each feature in `model`; 0 for a feature that it does not use."""
        fitted = self.table[model]
        return np.array([fitted.get(feature, 0.0) for feature in features])

    def constant(self, model: str, name: str) -> float:
        """One number of `model`."""
        return self.table[model][name]
