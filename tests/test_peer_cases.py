"""Eight small cases in which other implementations, or the paper's own scheme, do not forget exactly.

In each one deletion must leave the distribution of root splits that retraining gives. Ours leaves the same
forest, tree by tree. The shares are probabilities over trees, which have a key each; as everywhere in these
tests, p-values below 1e-6 count as a difference.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deciduous import DareForestClassifier
from reference import valid_cuts
from strategies import build_forest

N_TREES = 20_000
SIGNIFICANCE = 1e-6

Outcome = tuple[int | None, float | None]
LEAF: Outcome = (None, None)


def cut(threshold: float) -> Outcome:
    """A root that splits the first attribute here."""
    return 0, threshold


def equally(*thresholds: float) -> dict[Outcome, float]:
    """Every one of these thresholds of the first attribute in the same share of trees."""
    return {cut(threshold): 1 / len(thresholds) for threshold in thresholds}


@dataclass(frozen=True)
class PeerCase:
    """Rows, the position of the one that is deleted, and the retrained distribution of roots."""

    name: str
    X: list[list[float]]
    y: list[int]
    deleted: int
    retrained: dict[Outcome, float]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        """The rows as the forest takes them."""
        return np.array(self.X, dtype=np.float32)

    @property
    def labels(self) -> np.ndarray:
        """Their classes."""
        return np.array(self.y)


def one_attribute(rows: str) -> dict[str, list]:
    """Rows written as value:label."""
    pairs = [pair.split(":") for pair in rows.split()]
    return {"X": [[float(value)] for value, _ in pairs], "y": [int(label) for _, label in pairs]}


MERGING = one_attribute("0:0 1:1 2:1 3:0 4:0 5:1 6:1 7:0")

CASES = [
    # The neighbours of the deleted value meet in a cut that did not exist before and must get its chance.
    PeerCase("merge left", **MERGING, deleted=1, retrained=equally(1, 2.5, 4.5, 6.5)),
    PeerCase("merge right", **MERGING, deleted=2, retrained=equally(0.5, 2, 4.5, 6.5)),
    # Two cuts vanish with the value between them, and the one that takes their place is not valid.
    PeerCase(
        "vanish",
        **one_attribute("0:0 1:1 2:0 3:1 4:0 5:1"),
        deleted=2,
        retrained=equally(0.5, 3.5, 4.5),
    ),
    # With all cuts sampled nothing is left to chance: the only valid one is that between 0 and 2.
    PeerCase(
        "no randomness",
        **one_attribute("0:0 1:0 2:1 3:1"),
        deleted=1,
        retrained=equally(1),
        options={"n_thresholds": 25},
    ),
    # Values with rows of both classes.
    PeerCase(
        "ties",
        **one_attribute("0:0 0:1 1:0 1:1 2:0 3:1 3:0 4:1"),
        deleted=4,
        retrained=equally(0.5, 2, 3.5),
    ),
    # The third attribute turns constant; the first is the only one left to split.
    PeerCase(
        "constant attribute",
        X=[[0, 5, 0], [0, 5, 0], [1, 5, 0], [1, 5, 1]],
        y=[0, 0, 1, 1],
        deleted=3,
        retrained=equally(0.5),
        options={"max_features": 1},
    ),
    PeerCase(
        "min_samples_split=5",
        **one_attribute("0:0 1:0 2:1 3:1 4:1"),
        deleted=4,
        retrained={LEAF: 1.0},
        options={"min_samples_split": 5},
    ),
]

RANDOM_NODE = PeerCase(
    "random node", **one_attribute("1:0 2:1 3:0 100:1"), deleted=3, retrained={}, options={"random_depth": 1}
)


def fitted(case: PeerCase, without: int | None = None) -> DareForestClassifier:
    """Stumps on the rows of a case, or on all but one of them."""
    options = {"n_estimators": N_TREES, "max_depth": 1, "n_thresholds": 1, "random_state": 1} | case.options
    ids = np.array([row for row in range(len(case.y)) if row != without])
    return build_forest(options).fit(case.values[ids], case.labels[ids], ids=ids)


def forgotten(case: PeerCase) -> DareForestClassifier:
    """Stumps on all rows, one of which is then deleted."""
    forest = fitted(case)
    forest.delete([case.deleted])
    return forest


def root_splits(forest: DareForestClassifier) -> Counter[Outcome]:
    """How many trees split where."""
    roots = (forest.tree_nodes(tree)[0] for tree in range(N_TREES))
    return Counter((root.attribute, root.threshold) for root in roots)


def p_value(observed: Counter[Outcome], expected: dict[Outcome, float]) -> float:
    """Pearson's chi-square test; an outcome that cannot be is sure proof."""
    if not set(observed) <= set(expected):
        return 0.0
    if len(expected) == 1:
        return 1.0
    shares = np.array(list(expected.values()))
    frequencies = [observed[outcome] for outcome in expected]
    return float(stats.chisquare(frequencies, shares * observed.total()).pvalue)


def assert_same_forest(one: DareForestClassifier, other: DareForestClassifier) -> None:
    """The same nodes in every tree, and the same fingerprint."""
    assert all(one.tree_nodes(tree) == other.tree_nodes(tree) for tree in range(N_TREES))
    assert one.fingerprint() == other.fingerprint()


def named(cases: list[PeerCase]) -> Any:
    """Runs a test once for each case, under its name."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@named([*CASES, RANDOM_NODE])
def test_forest_after_deletion_is_the_retrained_one(case: PeerCase) -> None:
    """Not the same distribution only: the same trees."""
    assert_same_forest(forgotten(case), fitted(case, without=case.deleted))


@named(CASES)
def test_roots_after_deletion_have_the_retrained_distribution(case: PeerCase) -> None:
    """What retraining gives is worked out by hand, so that we are not compared with ourselves only."""
    assert p_value(root_splits(forgotten(case)), case.retrained) > SIGNIFICANCE


@named(CASES)
def test_deletion_changes_the_distribution_of_roots(case: PeerCase) -> None:
    """Each case asks for something: before the deletion the distribution is another one."""
    assert p_value(root_splits(fitted(case)), case.retrained) < SIGNIFICANCE


def test_random_node_cuts_uniformly_after_its_largest_value_left() -> None:
    """Of 1 2 3 100 without 100, half of the cuts are between 1 and 2; a cut of the old range seldom is."""
    thresholds = [threshold for _, threshold in root_splits(forgotten(RANDOM_NODE)).elements()]
    assert stats.kstest(thresholds, stats.uniform(1, 2).cdf).pvalue > SIGNIFICANCE
    below_two = sum(threshold < 2 for threshold in thresholds)
    assert stats.binomtest(below_two, N_TREES, 0.5).pvalue > SIGNIFICANCE


def cuts_of(values: np.ndarray, labels: np.ndarray) -> list[tuple[float, float]]:
    """The valid cuts (v1, v2) of one attribute."""
    return valid_cuts(values[:, 0], labels)


def root_by_the_papers_scheme(case: PeerCase, rng: np.random.Generator) -> Outcome:
    """One threshold, k = 1, resampled after the deletion only if its own cut is no longer valid."""
    before = cuts_of(case.values, case.labels)
    sampled = before[rng.integers(len(before))]
    kept = np.arange(len(case.y)) != case.deleted
    after = cuts_of(case.values[kept], case.labels[kept])
    if sampled not in after:
        sampled = after[rng.integers(len(after))]
    return cut(sum(sampled) / 2)


@named(CASES[:2])
def test_the_papers_scheme_fails_where_ours_does_not(case: PeerCase) -> None:
    """A cut that comes into being is sampled in 1/4 * 1/4 of its models, where retraining gives 1/4."""
    rng = np.random.default_rng(0)
    observed = Counter(root_by_the_papers_scheme(case, rng) for _ in range(2000))
    assert p_value(observed, case.retrained) < SIGNIFICANCE
    merged = cut({"merge left": 1, "merge right": 2}[case.name])
    assert stats.binomtest(observed[merged], 2000, 1 / 16).pvalue > SIGNIFICANCE


def test_the_papers_scheme_is_right_when_no_cut_comes_into_being() -> None:
    """The control: without the last row a cut is lost and none is new, and the plain scheme is uniform."""
    control = PeerCase("control", **MERGING, deleted=7, retrained=equally(0.5, 2.5, 4.5))
    rng = np.random.default_rng(0)
    observed = Counter(root_by_the_papers_scheme(control, rng) for _ in range(2000))
    assert p_value(observed, control.retrained) > SIGNIFICANCE
