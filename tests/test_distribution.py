"""Averaged over seeds the forest has the distribution that the paper asks for, before and after deletions.

The seeds are fixed, so a test that passes once always passes; a change of the hash or of the definition draws
anew. Each test then fails wrongly with probability 1e-6 (SIGNIFICANCE), while at 20,000 draws a probability
that is off by two percentage points is found almost surely. One forest of many stumps gives the draws: each
tree has its own key.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from deciduous import DareForestClassifier
from deciduous.inspection import KINDS
from reference import H, arrivals, attribute_order, sampled_candidates, window_of
from reference.hashing import root_key
from reference.scores import gini
from strategies import Forest, Tuning, build_forest

SIGNIFICANCE = 1e-6
N_DRAWS = 20_000
SEED = 20210718
KEYS = [root_key(SEED, tree) for tree in range(N_DRAWS)]

SORTING: Tuning = {"min_cached_rows": 1000, "look_ups_per_sort": 0, "reserve": 0}
SAMPLING: Tuning = {
    "min_cached_rows": 1,
    "max_bytes_per_row": 1_000_000,
    "look_ups_per_sort": 1_000_000,
    "rows_per_look_up": 0,
    "rows_per_code": 1_000,
    "reserve": 1,
}
both_tunings = pytest.mark.parametrize("tuning", [SORTING, SAMPLING], ids=["sorting", "sampling"])


def assert_distributed(observed: Iterable[Hashable], expected: dict) -> None:
    """Pearson's chi-square test of draws against the probabilities of all possible outcomes."""
    counts = Counter(observed)
    assert set(counts) <= set(expected)
    frequencies = [counts[outcome] for outcome in expected]
    if len(expected) > 1:
        probabilities = np.array(list(expected.values()))
        assert stats.chisquare(frequencies, probabilities * sum(frequencies)).pvalue > SIGNIFICANCE


def assert_uniform(observed: Iterable[Hashable], outcomes: Iterable[Hashable]) -> None:
    """Every outcome is equally probable."""
    outcomes = list(outcomes)
    assert_distributed(observed, {outcome: 1 / len(outcomes) for outcome in outcomes})


def assert_uniform_on(points: Iterable[float], lo: float, hi: float) -> None:
    """Kolmogorov-Smirnov test of points against the uniform distribution on [lo, hi)."""
    assert stats.kstest(list(points), stats.uniform(lo, hi - lo).cdf).pvalue > SIGNIFICANCE


def assert_independent(a: Iterable[float], b: Iterable[float]) -> None:
    """Two uniform coordinates in [0, 1): every cell of an 8 x 8 grid is equally probable."""
    cells = [(int(8 * x), int(8 * y)) for x, y in zip(a, b, strict=True)]
    assert_uniform(cells, [(i, j) for i in range(8) for j in range(8)])


def stumps(X: np.ndarray, y: np.ndarray, tuning: Tuning | None = None, **options: object) -> Forest:
    """One root split for each draw."""
    given = {"n_estimators": N_DRAWS, "max_depth": 1, "max_features": 1, "random_state": SEED} | options
    return build_forest(given, tuning).fit(np.asarray(X, np.float32), y)


class Root(NamedTuple):
    """What is drawn for a root."""

    kind: str
    attribute: int
    threshold: float


def roots(forest: Forest) -> list[Root]:
    """The root of each tree, read from the core: the records of all nodes take many times as long."""
    trees = map(forest._tree_arrays, range(N_DRAWS))
    found = [Root(KINDS[its.kind[0]], int(its.attribute[0]), float(its.threshold[0])) for its in trees]
    assert "leaf" not in {root.kind for root in found}
    return found


def column(*values: float) -> np.ndarray:
    """A data set of one attribute."""
    return np.array(values, dtype=np.float32).reshape(-1, 1)


EIGHT = column(0, 1, 2, 4, 8, 16, 32, 64)
ALTERNATING = np.array([0, 1] * 4)


@both_tunings
def test_one_sampled_threshold_is_uniform_among_the_valid_ones(tuning: Tuning) -> None:
    """Labels alternate, so all seven cuts are valid, and k = 1 takes any of them."""
    forest = stumps(EIGHT, ALTERNATING, tuning, n_thresholds=1)
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 1.5, 3, 6, 12, 24, 48])


@both_tunings
def test_one_sampled_threshold_is_uniform_after_deletions(tuning: Tuning) -> None:
    """Without 2 (row 2) the cut between 1 and 4 is not valid; without 64 (row 7) the last one is gone."""
    forest = stumps(EIGHT, ALTERNATING, tuning, n_thresholds=1)
    forest.delete([2])
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 6, 12, 24, 48])
    forest.delete([7])
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 6, 12, 24])


@both_tunings
def test_one_sampled_threshold_of_a_regressor_is_uniform_among_the_valid_ones(tuning: Tuning) -> None:
    """Targets alternate as the labels do; deletions and an addition change which cuts have different ones beside."""
    targets = np.where(ALTERNATING == 0, -2.5, 1e6)
    forest = stumps(EIGHT, targets, tuning, n_thresholds=1, criterion="squared_error")
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 1.5, 3, 6, 12, 24, 48])
    forest.delete([2, 7])
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 6, 12, 24])
    forest.add(column(2), [7.0], ids=[2])  # other than both targets
    assert_uniform([root.threshold for root in roots(forest)], [0.5, 1.5, 3, 6, 12, 24])


@both_tunings
def test_one_sampled_threshold_is_uniform_after_a_merge_and_an_addition(tuning: Tuning) -> None:
    """0:0 1:1 2:1 3:0 without 1 has the new cut (0, 2); 1.5:0 turns it into the valid one of (1.5, 2)."""
    forest = stumps(column(0, 1, 2, 3), np.array([0, 1, 1, 0]), tuning, n_thresholds=1)
    forest.delete([1])
    assert_uniform([root.threshold for root in roots(forest)], [1, 2.5])
    forest.add(column(1.5), np.array([0]))
    assert_uniform([root.threshold for root in roots(forest)], [1.75, 2.5])


# Three of sixteen rows are of another class, so class 0 is dominant: candidates have the ranks of the rows of class 1.
SIXTEEN = column(*range(16))
RARE = np.isin(np.arange(16), [3, 9, 10]).astype(int)


@both_tunings
def test_one_sampled_threshold_is_uniform_beside_a_dominant_class(tuning: Tuning) -> None:
    """Row 3 has a cut on both sides, 9 and 10 have one each. Then neighbours go, and 3 and 9 get new ones."""
    forest = stumps(SIXTEEN, RARE, tuning, n_thresholds=1)
    assert_uniform([root.threshold for root in roots(forest)], [2.5, 3.5, 8.5, 10.5])
    forest.delete([2, 4, 10])
    assert_uniform([root.threshold for root in roots(forest)], [2, 4, 8.5, 10])
    forest.add(column(8.75), np.array([0]))
    assert_uniform([root.threshold for root in roots(forest)], [2, 4, 8.875, 10])


def test_subsets_of_thresholds_are_uniform_beside_a_dominant_class() -> None:
    """Every pair of the four valid cuts is equally probable, seen in the definition itself."""
    sampled = [sampled_candidates(key, 0, SIXTEEN[:, 0], RARE, 2) for key in KEYS]
    subsets = [tuple(sorted(candidate.threshold for candidate in sample)) for sample in sampled]
    assert_uniform(subsets, combinations([2.5, 3.5, 8.5, 10.5], 2))


SIX_CUTS = column(0, 1, 2, 3, 4, 5, 6)
UNEQUAL = np.array([0, 1, 0, 1, 0, 1, 2])


def cuts_by_score(X: np.ndarray, y: np.ndarray) -> list[float]:
    """The valid thresholds of one attribute, best first, and no two of them equally good."""
    cuts = [cut.threshold for cut in sampled_candidates(0, 0, X[:, 0], y, None)]
    scores = {cut: gini(Counter(y[X[:, 0] <= cut]), Counter(y[X[:, 0] > cut])) for cut in cuts}
    assert len(set(scores.values())) == len(cuts)
    return sorted(cuts, key=scores.__getitem__)


@both_tunings
@pytest.mark.parametrize("k", [2, 3])
def test_best_of_k_thresholds_is_that_of_uniform_subsets(k: int, tuning: Tuning) -> None:
    """A cut wins if it is sampled and the i better ones are not: in C(n-1-i, k-1) of C(n, k) samples."""
    forest = stumps(SIX_CUTS, UNEQUAL, tuning, n_thresholds=k)
    ranking = cuts_by_score(SIX_CUTS, UNEQUAL)
    n = len(ranking)
    wins = {cut: math.comb(n - 1 - i, k - 1) / math.comb(n, k) for i, cut in enumerate(ranking[: n - k + 1])}
    assert_distributed([root.threshold for root in roots(forest)], wins)


@pytest.mark.parametrize("k", [2, 3])
def test_subsets_of_thresholds_are_uniform(k: int) -> None:
    """Every k-subset of the seven valid cuts is equally probable, seen in the definition itself."""
    values = EIGHT[:, 0]
    sampled = [sampled_candidates(key, 0, values, ALTERNATING, k) for key in KEYS]
    subsets = [tuple(sorted(candidate.threshold for candidate in sample)) for sample in sampled]
    assert_uniform(subsets, combinations([0.5, 1.5, 3, 6, 12, 24, 48], k))


def test_thresholds_of_two_attributes_are_sampled_independently() -> None:
    """Two attributes with the same values draw their own thresholds."""
    values = EIGHT[:, 0]
    sampled = [[sampled_candidates(key, a, values, ALTERNATING, 1)[0] for a in (0, 1)] for key in KEYS]
    firsts = [(one.threshold, other.threshold) for one, other in sampled]
    cuts = [0.5, 1.5, 3, 6, 12, 24, 48]
    assert_uniform(firsts, [(a, b) for a in cuts for b in cuts])


# Attribute 1 is constant. Each other one has a single cut, at 0.5; the better, the earlier it stands.
FLAGS = np.array(
    [
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 1],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
    ],
    dtype=np.float32,
)
HALVES = np.array([0] * 4 + [1] * 4)
VARYING = (0, 2, 3, 4)


@both_tunings
def test_single_considered_attribute_is_uniform_among_those_not_constant(tuning: Tuning) -> None:
    """A constant attribute is never drawn and takes nothing from the others."""
    forest = stumps(FLAGS, HALVES, tuning)
    assert_uniform([root.attribute for root in roots(forest)], VARYING)


@both_tunings
def test_single_considered_attribute_is_uniform_after_one_became_constant(tuning: Tuning) -> None:
    """Row 3 has the only 1 of attribute 4; when the row comes back, so does the attribute."""
    forest = stumps(FLAGS, HALVES, tuning)
    forest.delete([3])
    assert_uniform([root.attribute for root in roots(forest)], (0, 2, 3))
    forest.add(FLAGS[[3]], HALVES[[3]])
    assert_uniform([root.attribute for root in roots(forest)], VARYING)


@both_tunings
@pytest.mark.parametrize("n_considered", [2, 3])
def test_best_considered_attribute_is_that_of_uniform_subsets(n_considered: int, tuning: Tuning) -> None:
    """The i-th best of four attributes wins if it is considered and the i better ones are not."""
    forest = stumps(FLAGS, HALVES, tuning, max_features=n_considered)
    n_subsets = math.comb(4, n_considered)
    wins = {a: math.comb(3 - i, n_considered - 1) / n_subsets for i, a in enumerate(VARYING[: 5 - n_considered])}
    assert_distributed([root.attribute for root in roots(forest)], wins)


def test_orders_of_attributes_are_uniform() -> None:
    """Every order of the four attributes that vary is equally probable, so every subset is."""
    assert_uniform([tuple(attribute_order(key, FLAGS)) for key in KEYS], permutations(VARYING))


SPREAD = column(-1.3, 0.2, 0.9, 2.5, 3.1, 5.0, 6.6, 7.9)


def random_thresholds(forest: DareForestClassifier) -> list[float]:
    """The thresholds of the random roots."""
    return [root.threshold for root in roots(forest) if root.kind == "random"]


@pytest.mark.parametrize(
    ("deleted", "lo", "hi"),
    [
        ([], -1.3, 7.9),
        ([3], -1.3, 7.9),
        ([7], -1.3, 6.6),
        ([0], 0.2, 7.9),
        ([0, 7], 0.2, 6.6),
        ([0, 1, 2, 6, 7], 2.5, 5.0),
    ],
)
def test_random_thresholds_are_uniform_on_the_range(deleted: list[int], lo: float, hi: float) -> None:
    """Whatever was deleted, a random node cuts uniformly between the smallest and the largest value left."""
    forest = stumps(SPREAD, ALTERNATING, random_depth=1)
    if deleted:
        forest.delete(deleted)
    thresholds = random_thresholds(forest)
    assert len(thresholds) == N_DRAWS
    assert_uniform_on(thresholds, lo, hi)


def test_random_thresholds_are_uniform_after_one_deletion_at_a_time() -> None:
    """A history that shrinks and widens the range leaves no bias behind."""
    forest = stumps(SPREAD, ALTERNATING, random_depth=1)
    for row in (7, 0, 6, 5):
        forest.delete([row])
    assert_uniform_on(random_thresholds(forest), 0.2, 3.1)
    forest.add(column(12.5, -40.0), np.array([0, 1]))
    assert_uniform_on(random_thresholds(forest), -40.0, 12.5)


def test_random_attribute_is_uniform_among_those_not_constant() -> None:
    """A random node takes any attribute that varies, however its values look."""
    assert_uniform([root.attribute for root in roots(stumps(FLAGS, HALVES, random_depth=1))], VARYING)


def test_single_uniform_candidate_is_uniform_on_the_range() -> None:
    """Extra Trees: the one threshold of a greedy node is the first arrival."""
    forest = stumps(SPREAD, ALTERNATING, candidates="uniform", n_thresholds=1)
    assert_uniform_on([root.threshold for root in roots(forest)], -1.3, 7.9)


def test_best_of_two_uniform_candidates_is_that_of_independent_points() -> None:
    """The gap between the classes is half of the range, and a cut inside it wins: 1 - (1/2)^2."""
    X, y = column(0, 1, 3, 4), np.array([0, 0, 1, 1])
    forest = stumps(X, y, candidates="uniform", n_thresholds=2)
    in_the_middle = [1 <= root.threshold < 3 for root in roots(forest)]
    assert_distributed(in_the_middle, {True: 0.75, False: 0.25})


def test_threshold_of_a_child_is_independent_of_its_parents() -> None:
    """Each relative to its range, the cuts of a random root and of its left child are independent."""
    values = np.arange(32, dtype=np.float32)
    forest = stumps(values.reshape(-1, 1), np.arange(32) % 2, max_depth=2, random_depth=2)
    relative = []
    for tree in range(N_DRAWS):
        root, child = forest.tree_nodes(tree)[:2]
        if child.kind == "random":  # so the root's cut is beyond 1, and uniform on [1, 31)
            relative.append(((root.threshold - 1) / 30, child.threshold / math.floor(root.threshold)))
    assert len(relative) > 0.9 * N_DRAWS
    of_roots, of_children = zip(*relative, strict=True)
    assert_uniform_on(of_children, 0, 1)
    assert_independent(of_roots, of_children)


def test_trees_are_independent() -> None:
    """The thresholds of neighbouring trees fill the square evenly."""
    forest = stumps(column(0, 1, 0.5), np.array([0, 1, 1]), random_depth=1)
    thresholds = random_thresholds(forest)
    assert_independent(thresholds[::2], thresholds[1::2])


def test_seeds_are_independent() -> None:
    """Neighbouring seeds, which users choose, are as good as any: each gives one tree here."""
    firsts = [arrivals(root_key(seed, 0), 0, 0.0, 1.0, 1)[0] for seed in range(N_DRAWS)]
    assert_uniform_on(firsts, 0, 1)
    assert_independent(firsts[::2], firsts[1::2])


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (-0.7, 0.6), (1000.0, 1001.5), (-3e38, 3e38), (5.0, 5.25)])
def test_arrivals_are_independent_and_uniform(lo: float, hi: float) -> None:
    """The first three arrivals are each uniform and pairwise independent."""
    drawn = np.array([arrivals(key, 0, lo, hi, 3) for key in KEYS])
    relative = (drawn - lo) / (hi - lo)
    for i in range(3):
        assert_uniform_on(relative[:, i], 0, 1)
    for i, j in combinations(range(3), 2):
        assert_independent(relative[:, i], relative[:, j])


def test_arrivals_in_different_windows_are_independent() -> None:
    """When the window changes, the threshold is drawn anew."""
    wide = [arrivals(key, 0, 0.0, 1.0, 1)[0] for key in KEYS]
    narrow = [arrivals(key, 0, 0.0, 0.5, 1)[0] for key in KEYS]
    assert_independent(wide, np.array(narrow) * 2)


def test_arrivals_of_nested_ranges_with_one_window_agree() -> None:
    """A smaller range keeps the arrivals that are inside it, in their order."""
    rng = np.random.default_rng(3)
    n_compared = 0
    for _ in range(3000):
        lo, inner_lo, inner_hi, hi = np.sort(rng.normal(size=4).astype(np.float32)).tolist()
        if lo < inner_lo < inner_hi < hi and window_of(lo, hi) == window_of(inner_lo, inner_hi):
            key = H(n_compared, 1)
            outer = arrivals(key, 2, lo, hi, 20)
            kept = [threshold for threshold in outer if inner_lo <= threshold < inner_hi]
            assert arrivals(key, 2, inner_lo, inner_hi, len(kept)) == kept
            n_compared += 1
    assert n_compared > 100


def test_random_threshold_stays_while_it_is_inside_and_the_window_is_the_same() -> None:
    """Without 7.9 the range [-1.3, 7.9) becomes [-1.3, 6.9) in the same window: only cuts beyond 6.9 move."""
    X = column(-1.3, 0.2, 0.9, 2.5, 6.9, 7.9)
    assert window_of(float(X[0, 0]), float(X[5, 0])) == window_of(float(X[0, 0]), float(X[4, 0]))
    forest = stumps(X, np.array([0, 1] * 3), random_depth=1)
    before = np.array(random_thresholds(forest))
    forest.delete([5])
    after = np.array(random_thresholds(forest))
    is_inside = before < X[4, 0]
    assert 0 < is_inside.sum() < N_DRAWS
    assert np.array_equal(before[is_inside], after[is_inside])
    assert (after < X[4, 0]).all()


def test_each_row_is_in_a_uniform_subset_of_trees() -> None:
    """max_samples = 2/5 of five trees: all ten pairs of trees are equally probable."""
    ids = np.arange(N_DRAWS)
    options = {"n_estimators": 5, "max_samples": 0.4, "max_depth": 1, "random_state": SEED}
    forest = build_forest(options).fit(ids.reshape(-1, 1).astype(np.float32), ids % 2)
    trees_of: dict[int, tuple[int, ...]] = dict.fromkeys(ids.tolist(), ())
    for tree in range(5):
        for node in forest.tree_nodes(tree):
            trees_of |= {row_id: (*trees_of[row_id], tree) for row_id in node.ids}
    assert_uniform(trees_of.values(), combinations(range(5), 2))
