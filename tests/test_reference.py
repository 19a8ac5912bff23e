"""The core's forest is the one that docs/algorithm.md defines, node by node and byte by byte."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

from deciduous import DareForestClassifier
from reference import (
    H,
    Record,
    arrivals,
    fingerprint,
    fit_reference,
    midpoint,
    predict,
    predict_proba,
    preorder,
    window_of,
)
from reference.fingerprints import label_text
from reference.scores import log2_fixed
from strategies import (
    HEAVY_WEIGHTS,
    LARGEST,
    SMALLEST,
    TUNINGS,
    WEIGHTS,
    Dataset,
    Options,
    Tuning,
    counted,
    datasets,
    options_for,
    reference_params,
    resolved_class_weight,
    train_forest,
)

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def core_records(forest: DareForestClassifier, tree: int) -> list[Record]:
    """The core's nodes of a tree as the reference writes them."""
    return [
        Record(node.kind, node.depth, node.attribute, node.threshold, dict(node.counts), tuple(node.ids))
        for node in forest.tree_nodes(tree)
    ]


def assert_equals_reference(options: Options, data: Dataset, tuning: Tuning | None, **others: Any) -> None:
    """Fits both and compares every node, the fingerprint and the bytes of the predictions.

    The reference knows numbers only: it gets a column for each category.
    """
    forest = train_forest(data, options, tuning, **others)
    params = reference_params(options, data)
    numbers = data.one_hot().X
    trees = fit_reference(params, data.ids, numbers, data.y, data.weights)
    for t, tree in enumerate(trees):
        assert core_records(forest, t) == list(preorder(tree))
    assert forest.fingerprint() == fingerprint(trees, numbers.shape[1], counted(data).y.tolist())
    shares = predict_proba(params, trees, numbers, forest.classes_.tolist())
    assert forest.predict_proba(data.X).tobytes() == shares.tobytes()
    assert forest.predict(data.X).tolist() == predict(params, trees, numbers)
    assert forest.class_weight_ == resolved_class_weight(options["class_weight"], data)


@given(st.data(), datasets(WEIGHTS + HEAVY_WEIGHTS), TUNINGS)
def test_core_equals_the_reference_on_hostile_data(draws: st.DataObject, data: Dataset, tuning: Tuning) -> None:
    """Ties, duplicates, NaN, denormals, huge values, categories, few rows of a class, weights: the same bytes."""
    assert_equals_reference(draws.draw(options_for(data)), data, tuning)


MEDIUM_OPTIONS: Options = {
    "n_estimators": 4,
    "max_depth": 10,
    "n_thresholds": 5,
    "random_depth": 0,
    "stability": 0.0,
    "max_features": "sqrt",
    "candidates": "valid",
    "criterion": "gini",
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "max_samples": None,
    "class_weight": None,
    "random_state": 2021,
}

VARIANTS: dict[str, Options] = {
    "greedy": {},
    "every threshold": {"n_thresholds": None},
    "entropy, few thresholds": {"criterion": "entropy", "n_thresholds": 2, "max_features": 4},
    "random upper layers": {"random_depth": 3},
    "random trees": {"random_depth": 10},
    "extra trees": {"candidates": "uniform", "n_thresholds": 1},
    "uniform, large leaves": {"candidates": "uniform", "n_thresholds": 20, "min_samples_leaf": 5},
    "each row in half of the trees": {"max_samples": 0.5, "criterion": "entropy", "min_samples_split": 10},
    "balanced classes": {"class_weight": "balanced"},
    "weighted classes, entropy": {"class_weight": {0: 0.3, 1: 7.5}, "criterion": "entropy", "candidates": "uniform"},
}


def iris() -> Dataset:
    """150 rows with many ties and three classes."""
    X, y = load_iris(return_X_y=True)
    return Dataset(np.arange(len(y)), X.astype(np.float32), y)


def iris_in_bins() -> Dataset:
    """Two of iris's columns as categories: rounded to tenths, of which some and the missing value are not listed."""
    data = iris()
    X = data.X.copy()
    X[::9, 0] = np.nan
    X[::11, 2] = np.nan
    rounded = (10 * X[:, [0, 2]]).round()
    X[:, [0, 2]] = rounded
    listed = [sorted(set(column[~np.isnan(column)].tolist())) for column in rounded.T]
    return Dataset(data.ids, X, data.y, categories={0: listed[0][::2], 2: [np.nan, *reversed(listed[1])]})


def breast_cancer() -> Dataset:
    """300 rows of continuous values, every seventh value missing in one column."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:300, :12].astype(np.float32), y[:300]
    X[::7, 3] = np.nan
    return Dataset(np.arange(len(y))[::-1] * 5 - 700, X, y)


def weighted_breast_cancer() -> Dataset:
    """The same with weights from 0 to 4."""
    data = breast_cancer()
    return Dataset(data.ids, data.X, data.y, np.random.default_rng(0).integers(0, 5, len(data.ids)))


@pytest.mark.parametrize("load", [iris, iris_in_bins, breast_cancer, weighted_breast_cancer])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize(
    "tuning", [None, {"min_cached_rows": 16, "max_bytes_per_row": 1_000_000, "rows_per_look_up": 0, "reserve": 2}]
)
def test_core_equals_the_reference_on_real_data(load: Any, variant: Options, tuning: Tuning | None) -> None:
    """Nodes of hundreds of rows take other paths through the core than tiny ones, to the same forest."""
    data = load()
    options = MEDIUM_OPTIONS | variant | {"categorical_features": data.categories or None}
    assert_equals_reference(options, data, tuning, n_jobs=2)


SAMPLING_ALWAYS: Tuning = {
    "min_cached_rows": 1,
    "max_bytes_per_row": 1_000_000,
    "look_ups_per_sort": 1_000_000,
    "rows_per_look_up": 0,
    "rows_per_code": 1_000,
    "reserve": 0,
}


@pytest.mark.parametrize("share_of_positives", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("n_thresholds", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_sampling_without_sorting_equals_the_reference(seed: int, n_thresholds: int, share_of_positives: float) -> None:
    """Columns of many distinct values are sampled by rank in two passes; ties and NaN are among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 3)).astype(np.float32)
    X[:, 1] = X[:, 1].round(2)
    X[rng.random(700) < 0.1, 2] = np.nan
    data = Dataset(np.arange(700), X, (rng.random(700) < share_of_positives).astype(int))
    sampled = {"n_thresholds": n_thresholds, "n_estimators": 3, "max_features": 2, "random_state": seed}
    assert_equals_reference(MEDIUM_OPTIONS | sampled, data, SAMPLING_ALWAYS)


@pytest.mark.parametrize("scheme", [{}, {"candidates": "uniform"}, {"random_depth": 2}], ids=str)
@pytest.mark.parametrize("tuning", [None, SAMPLING_ALWAYS], ids=["default sizes", "tiny sizes"])
def test_more_categories_than_a_byte_can_number_equal_the_reference(scheme: Options, tuning: Tuning | None) -> None:
    """Five hundred categories, some of them of no row, and rows of no category, beside a number."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(600)[rng.integers(0, 600, 400)]
    X = np.column_stack([codes, rng.normal(size=400)]).astype(np.float32)
    data = Dataset(np.arange(400), X, (codes % 3 == 0).astype(int), categories={0: [*range(40, 540)]})
    options = MEDIUM_OPTIONS | scheme | {"categorical_features": data.categories, "n_estimators": 2, "max_features": 60}
    assert_equals_reference(options, data, tuning)


def test_hash_is_splitmix64() -> None:
    """H(h, w) is the (w+1)-th output of SplitMix64; these are the published ones for the state 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [H(1234567, w) for w in range(4)] == published


def test_negative_words_are_twos_complement() -> None:
    """An id of -1 is hashed as 2^64 - 1."""
    assert H(5, -1) == H(5, 2**64 - 1)


@given(st.integers(1, 2**40))
def test_fixed_point_log2_is_within_one_unit(n: int) -> None:
    """Digits are cut off, not rounded, so the result is below log2 by at most one unit of 2^-28."""
    assert -1e-6 <= math.log2(n) * 2**28 - log2_fixed(n) <= 1 + 1e-3


@given(FINITE, FINITE)
def test_midpoint_separates(a: float, b: float) -> None:
    """u <= t < next(u), whatever rounding does, and never -0.0."""
    u, following = sorted((a + 0.0, b + 0.0))
    if u < following:
        threshold = midpoint(u, following)
        assert u <= threshold < following
        assert not (threshold == 0 and math.copysign(1, threshold) < 0)


@given(st.integers(0, 2**64 - 1), FINITE, FINITE)
def test_window_contains_the_range(key: int, a: float, b: float) -> None:
    """The whole range is in the window, and at least a quarter of the window is in the range."""
    lo, hi = sorted((a, b))
    if lo < hi:
        e, m = window_of(lo, hi)
        assert math.ldexp(m, e) <= lo < hi <= math.ldexp(m + 2, e)
        assert hi - lo > math.ldexp(1, e - 1) or hi - lo == math.ldexp(1, e)
        assert all(lo <= threshold < hi for threshold in arrivals(key, 0, lo, hi, 3))


@pytest.mark.parametrize(
    ("lo", "hi"), [(-LARGEST, LARGEST), (-SMALLEST, SMALLEST), (0.0, SMALLEST), (-SMALLEST, LARGEST)]
)
def test_arrivals_exist_in_extreme_ranges(lo: float, hi: float) -> None:
    """Neither overflow nor underflow loses the points of the widest and narrowest ranges."""
    assert all(lo <= threshold < hi for threshold in arrivals(1, 0, lo, hi, 20))


def test_labels_that_are_the_same_number_have_the_same_text() -> None:
    """A class does not change with the type that holds its label."""
    assert {label_text(1), label_text(1.0), label_text(True)} == {"n:1"}
    assert (label_text(0.5), label_text(-2), label_text("1")) == ("n:0.5", "n:-2", "s:1")


def test_ranks_of_one_attribute_never_tie() -> None:
    """H is one-to-one in its last word."""
    ranks = sorted(H(99, 3, 0, bits) for bits in range(50_000))
    assert all(a < b for a, b in pairwise(ranks))
