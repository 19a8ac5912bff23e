"""Eight small cases in which other implementations, or the paper's own scheme, do not forget exactly.

In each one deletion must leave the distribution of root splits that retraining gives. Ours leaves the same
forest, tree by tree. The shares are probabilities over trees, which have a key each; as everywhere in these
tests, p-values below 1e-6 count as a difference.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deciduous import DareForestClassifier
from deciduous.experiments.papers_scheme import (
    CASES,
    CONTROL,
    LEAF,
    Case,
    Outcome,
    cut,
    one_attribute,
    root_by_the_papers_scheme,
    root_counts,
    valid_cuts,
)
from reference import valid_cuts as reference_valid_cuts

N_TREES = 20_000
SIGNIFICANCE = 1e-6

SMALLEST_SPLIT = Case(
    "min_samples_split=5",
    **one_attribute("0:0 1:0 2:1 3:1 4:1"),
    deleted=4,
    retrained={LEAF: 1.0},
    options={"min_samples_split": 5},
)
RANDOM_NODE = Case(
    "random node", **one_attribute("1:0 2:1 3:0 100:1"), deleted=3, retrained={}, options={"random_depth": 1}
)


def forgotten(case: Case) -> DareForestClassifier:
    """Stumps on all rows, one of which is then deleted."""
    forest = case.forest(N_TREES)
    forest.delete([case.deleted])
    return forest


def p_value(observed: Counter[Outcome], expected: Mapping[Outcome, float]) -> float:
    """Pearson's chi-square test; an outcome that cannot be is sure proof."""
    if not set(observed) <= set(expected):
        return 0.0
    if len(expected) == 1:
        return 1.0
    shares = np.array(list(expected.values()))
    frequencies = [observed[outcome] for outcome in expected]
    return float(stats.chisquare(frequencies, shares * observed.total()).pvalue)


def nodes_of(forest: DareForestClassifier, tree: int) -> list[bytes]:
    """Everything that the core tells of the nodes of a tree: making records of them takes many times as long."""
    its = forest._tree_arrays(tree)
    arrays = (its.kind, its.depth, its.attribute, its.threshold, its.counts, its.n_ids, its.ids)
    return [array.tobytes() for array in arrays]


def assert_same_forest(one: DareForestClassifier, other: DareForestClassifier) -> None:
    """The same nodes in every tree, and the same fingerprint."""
    assert one.classes_.tolist() == other.classes_.tolist()
    assert all(nodes_of(one, tree) == nodes_of(other, tree) for tree in range(N_TREES))
    assert one.fingerprint() == other.fingerprint()


def named(cases: Sequence[Case]) -> Any:
    """Runs a test once for each case, under its name."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@named([*CASES, SMALLEST_SPLIT, RANDOM_NODE])
def test_forest_after_deletion_is_the_retrained_one(case: Case) -> None:
    """Not the same distribution only: the same trees."""
    assert_same_forest(forgotten(case), case.forest(N_TREES, without=case.deleted))


@named([*CASES, SMALLEST_SPLIT])
def test_roots_after_deletion_have_the_retrained_distribution(case: Case) -> None:
    """What retraining gives is worked out by hand, so that we are not compared with ourselves only."""
    assert p_value(root_counts(forgotten(case)), case.retrained) > SIGNIFICANCE


@named([*CASES, SMALLEST_SPLIT])
def test_deletion_changes_the_distribution_of_roots(case: Case) -> None:
    """Each case asks for something: before the deletion the distribution is another one."""
    assert p_value(root_counts(case.forest(N_TREES)), case.retrained) < SIGNIFICANCE


def test_random_node_cuts_uniformly_after_its_largest_value_left() -> None:
    """Of 1 2 3 100 without 100, half of the cuts are between 1 and 2; a cut of the old range seldom is."""
    thresholds = [threshold for _, threshold in root_counts(forgotten(RANDOM_NODE)).elements()]
    assert stats.kstest(thresholds, stats.uniform(1, 2).cdf).pvalue > SIGNIFICANCE
    below_two = sum(threshold < 2 for threshold in thresholds)
    assert stats.binomtest(below_two, N_TREES, 0.5).pvalue > SIGNIFICANCE


@named([*CASES, CONTROL])
def test_valid_cuts_are_those_of_the_reference(case: Case) -> None:
    for column in case.values.T:
        assert valid_cuts(column, case.labels) == reference_valid_cuts(column, case.labels)


def by_the_papers_scheme(case: Case, n: int = 2000) -> Counter[Outcome]:
    """Roots after the deletion, as the paper keeps them up to date."""
    rng = np.random.default_rng(0)
    return Counter(root_by_the_papers_scheme(case, rng) for _ in range(n))


@pytest.mark.parametrize(
    ("name", "threshold", "share"), [("merge left", 1, 1 / 16), ("merge right", 2, 1 / 16), ("ties", 2, 1 / 6)]
)
def test_the_papers_scheme_fails_where_a_cut_comes_into_being(name: str, threshold: float, share: float) -> None:
    """It is sampled only if the old one was invalidated, and then as one of all: 1/4 * 1/4, where retraining gives 1/4.

    With ties it is 2/4 * 1/3, as two cuts go and it is one of three that are there then.
    """
    case = next(case for case in CASES if case.name == name)
    observed = by_the_papers_scheme(case)
    assert p_value(observed, case.retrained) < SIGNIFICANCE
    assert stats.binomtest(observed[cut(threshold)], 2000, share).pvalue > SIGNIFICANCE


@named(
    [case for case in (*CASES, CONTROL) if case.name in ("vanish", "no randomness", "constant attribute", "control")]
)
def test_the_papers_scheme_is_right_when_no_cut_comes_into_being_by_chance(case: Case) -> None:
    """The controls: what is lost is resampled, and nothing new has to compete with what was kept."""
    assert p_value(by_the_papers_scheme(case), case.retrained) > SIGNIFICANCE
