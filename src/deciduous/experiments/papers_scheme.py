"""The paper's scheme as it is written, for a stump, and small cases that tell it from exact deletion.

The paper samples k valid thresholds of each of p̃ attributes. After a deletion it resamples the thresholds that became
invalid from the valid ones that are not in the sample, and attributes without valid thresholds likewise, and keeps
everything else. See docs/algorithm.md, section 3.2, for what that leaves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..forest import DareForestClassifier

Outcome = tuple[int | None, float | None]  # attribute and threshold of a root
Cut = tuple[float, float]  # two neighbouring values
Sample = dict[int, list[Cut]]  # the sampled cuts of the sampled attributes
LEAF: Outcome = (None, None)


@dataclass(frozen=True)
class Case:
    """Rows, the position of the one that is deleted, and how often retraining gives each root."""

    name: str
    X: list[list[float]]
    y: list[int]
    deleted: int
    retrained: Mapping[Outcome, float]
    options: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    @property
    def values(self) -> NDArray[np.float32]:
        """The rows as the forest takes them."""
        return np.array(self.X, dtype=np.float32)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Their classes."""
        return np.array(self.y)

    def forest(self, n_trees: int, without: int | None = None) -> DareForestClassifier:
        """Stumps of ours on the rows, or on all but one of them."""
        params = {"max_depth": 1, "n_thresholds": 1, "random_state": 1} | dict(self.options)
        ids = np.array([row for row in range(len(self.y)) if row != without])
        return DareForestClassifier(n_trees, **params).fit(self.values[ids], self.labels[ids], ids=ids)


def cut(threshold: float) -> Outcome:
    """A root that splits the first attribute here."""
    return 0, threshold


def equally(*thresholds: float) -> dict[Outcome, float]:
    """Every one of these thresholds of the first attribute in the same share of trees."""
    return {cut(threshold): 1 / len(thresholds) for threshold in thresholds}


def one_attribute(rows: str) -> dict[str, Any]:
    """Rows written as value:label."""
    pairs = [pair.split(":") for pair in rows.split()]
    return {"X": [[float(value)] for value, _ in pairs], "y": [int(label) for _, label in pairs]}


MERGING = one_attribute("0:0 1:1 2:1 3:0 4:0 5:1 6:1 7:0")

CASES = (
    Case(
        "merge left",
        **MERGING,
        deleted=1,
        retrained=equally(1, 2.5, 4.5, 6.5),
        about="The neighbours of the deleted value meet in a threshold that did not exist before and must get its "
        "chance.",
    ),
    Case(
        "merge right",
        **MERGING,
        deleted=2,
        retrained=equally(0.5, 2, 4.5, 6.5),
        about="The same from the other side.",
    ),
    Case(
        "vanish",
        **one_attribute("0:0 1:1 2:0 3:1 4:0 5:1"),
        deleted=2,
        retrained=equally(0.5, 3.5, 4.5),
        about="Two thresholds vanish with the value between them, and the one that takes their place is not valid.",
    ),
    Case(
        "no randomness",
        **one_attribute("0:0 1:0 2:1 3:1"),
        deleted=1,
        retrained=equally(1),
        options={"n_thresholds": 25},
        about="With all thresholds sampled nothing is left to chance: the only valid one is that between 0 and 2.",
    ),
    Case(
        "ties",
        **one_attribute("0:0 0:1 1:0 1:1 2:0 3:1 3:0 4:1"),
        deleted=4,
        retrained=equally(0.5, 2, 3.5),
        about="Values with rows of both classes.",
    ),
    Case(
        "constant attribute",
        X=[[0, 5, 0], [0, 5, 0], [1, 5, 0], [1, 5, 1]],
        y=[0, 0, 1, 1],
        deleted=3,
        retrained=equally(0.5),
        options={"max_features": 1},
        about="The third attribute turns constant; the first is the only one left to split.",
    ),
)

CONTROL = Case(
    "control",
    **MERGING,
    deleted=7,
    retrained=equally(0.5, 2.5, 4.5),
    about="A threshold is lost and none is new: here the paper's scheme is right.",
)


def root_counts(forest: DareForestClassifier) -> Counter[Outcome]:
    """How many trees split where."""
    roots = (forest.tree_nodes(tree)[0] for tree in range(forest.n_estimators))
    return Counter((root.attribute, root.threshold) for root in roots)


# ------------------------------------------------------------------------------------------------- the scheme, plainly


def root_by_the_papers_scheme(case: Case, random: np.random.Generator) -> Outcome:
    """The root of one stump: sampled on all rows, then kept up to date as the paper says."""
    k, n_attributes = case.options.get("n_thresholds", 1), case.options.get("max_features", len(case.X[0]))
    kept = np.arange(len(case.y)) != case.deleted
    before, after = _all_valid_cuts(case.values, case.labels), _all_valid_cuts(case.values[kept], case.labels[kept])
    sample = _resampled({}, before, k, n_attributes, random)
    return _best(_resampled(sample, after, k, n_attributes, random), case.values[kept], case.labels[kept])


def valid_cuts(values: NDArray[Any], labels: NDArray[Any]) -> list[Cut]:
    """Neighbouring values with rows of different classes."""
    distinct = np.unique(values)
    classes = {value: set(labels[values == value].tolist()) for value in distinct.tolist()}
    pairs = zip(classes, list(classes)[1:], strict=False)
    return [(low, high) for low, high in pairs if len(classes[low] | classes[high]) > 1]


def _all_valid_cuts(X: NDArray[Any], y: NDArray[Any]) -> Sample:
    """By attribute, for the attributes that have any."""
    by_attribute = {attribute: valid_cuts(X[:, attribute], y) for attribute in range(X.shape[1])}
    return {attribute: cuts for attribute, cuts in by_attribute.items() if cuts}


def _resampled(sample: Sample, valid: Sample, k: int, n_attributes: int, random: np.random.Generator) -> Sample:
    """What is left of a sample that is still valid, filled up from what is valid and not in it."""
    attributes = _filled_up([a for a in sample if a in valid], list(valid), n_attributes, random)
    return {
        a: _filled_up([its for its in sample.get(a, []) if its in valid[a]], valid[a], k, random) for a in attributes
    }


def _filled_up(kept: list[Any], pool: list[Any], n: int, random: np.random.Generator) -> list[Any]:
    others = [item for item in pool if item not in kept]
    n_missing = min(n - len(kept), len(others))
    return kept + [others[i] for i in random.choice(len(others), n_missing, replace=False)]


def _best(sample: Sample, X: NDArray[Any], y: NDArray[Any]) -> Outcome:
    """The sampled threshold of the lowest Gini index; the first of equal ones."""
    candidates = [(a, low, (low + high) / 2) for a, cuts in sample.items() for low, high in cuts]
    if not candidates:
        return LEAF
    attribute, _, threshold = min(candidates, key=lambda its: _gini(y, X[:, its[0]] <= its[1]))
    return attribute, threshold


def _gini(y: NDArray[Any], is_left: NDArray[np.bool_]) -> float:
    """The Gini index of a split: the mean over its sides, by rows."""
    sides = (y[is_left], y[~is_left])
    impurities = (1 - sum(float(np.mean(side == label)) ** 2 for label in set(side.tolist())) for side in sides)
    return sum(len(side) * impurity for side, impurity in zip(sides, impurities, strict=True))
