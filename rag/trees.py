"""Small boosted trees, read from JSON: a few numbers of a case to one score. What the numbers mean is the caller's affair."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PATH = Path(__file__).with_name("support_trees.json")


@dataclass(frozen=True, slots=True)
class Node:
    """A question (is the feature at most `threshold`? then `yes`, else `no`: numbers of nodes), or with `yes` 0 an end worth `value`."""

    feature: str
    threshold: float
    yes: int
    no: int
    value: float


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees, each with its root first, whose ends add up to a score over `start`."""

    start: float
    trees: Sequence[Sequence[Node]]

    def score(self, features: Mapping[str, float]) -> float:
        """The log-odds of a case; a feature that is not given is 0."""
        return self.start + sum(_end(tree, features).value for tree in self.trees)


def _end(tree: Sequence[Node], features: Mapping[str, float]) -> Node:
    node = tree[0]
    while node.yes:
        node = tree[node.yes if features.get(node.feature, 0.0) <= node.threshold else node.no]
    return node


@lru_cache(maxsize=4)
def load_trees(path: Path = PATH) -> Mapping[str, Trees]:
    """The trees in a file by the name of their model, read once."""
    tables = json.loads(path.read_text(encoding="utf-8"))
    return {
        model: Trees(table["start"], [[Node(*fields) for fields in tree] for tree in table["trees"]])
        for model, table in tables.items()
    }
