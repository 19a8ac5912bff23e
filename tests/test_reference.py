"""The core's forest is the one that docs/algorithm.md defines, node by node and byte by byte."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from deciduous import DareForestClassifier, DareForestRegressor
from reference import (
    FixedPoint,
    H,
    Node,
    ReferenceParams,
    arrivals,
    fingerprint,
    fit_reference,
    mean_z,
    midpoint,
    out_of_bag,
    predict,
    predict_proba,
    predict_quantiles,
    predict_targets,
    preorder,
    regression_fingerprint,
    window_of,
)
from reference.fingerprints import label_text
from reference.scores import log2_fixed
from strategies import (
    HEAVY_WEIGHTS,
    LABELS,
    LARGEST,
    SMALLEST,
    TARGETS,
    TUNINGS,
    WEIGHTS,
    Categories,
    Dataset,
    Forest,
    Label,
    Options,
    Tuning,
    counted,
    datasets,
    fixed_point,
    is_regressor,
    options_for,
    reference_params,
    resolved_class_weight,
    train_forest,
)

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


SHARES = [0.0, 0.05, 1 / 3, 0.5, 0.9, 0.999, 1.0]


def core_records(forest: Forest, tree: int) -> list[tuple]:
    """The core's nodes of a tree. The mean of no rows is NaN, which equals nothing: None stands for it."""
    return [
        (
            *(node.kind, node.depth, node.attribute, node.threshold, node.n_rows, node.counts),
            None if node.value is None or math.isnan(node.value) else node.value,
            node.ids,
        )
        for node in forest.tree_nodes(tree)
    ]


def reference_records(tree: Node, scale: FixedPoint | None) -> Iterator[tuple]:
    """The reference's nodes of a tree as the core tells of them; a classifier has no scale."""
    for node in preorder(tree):
        n_rows, counts, value = sum(node.counts.values()), node.counts, None
        if scale is not None:
            counts, value = {}, float(scale.target(mean_z(node.counts))) if n_rows else None
        yield node.kind, node.depth, node.attribute, node.threshold, n_rows, counts, value, node.ids


def assert_equals_reference(options: Options, data: Dataset, tuning: Tuning | None, **others: Any) -> None:
    """Fits both and compares every node, the fingerprint and the bytes of the predictions.

    The reference knows numbers only: it gets a column for each category.
    """
    forest = train_forest(data, options, tuning, **others)
    params = reference_params(options, data)
    scale = fixed_point(options, data) if is_regressor(options) else None
    held = counted(data).one_hot()
    trees = fit_reference(params, held.ids, held.X, held.y if scale is None else scale.z(held.y), held.weights)
    for t, tree in enumerate(trees):
        assert core_records(forest, t) == list(reference_records(tree, scale))
    if scale is None:
        assert forest.class_weight_ == resolved_class_weight(options["class_weight"], data)
        assert forest.fingerprint() == fingerprint(trees, held.X.shape[1], held.y.tolist())
        assert_predicts_classes(forest, params, trees, data)
    else:
        assert forest.fingerprint() == regression_fingerprint(trees, held.X.shape[1], len(held.ids), scale)
        assert_predicts_targets(forest, params, trees, data, scale)


def assert_predicts_classes(
    forest: DareForestClassifier, params: ReferenceParams, trees: list[Node], data: Dataset
) -> None:
    """The same shares and classes, and shares by the trees that do not hold a row."""
    numbers, classes = data.one_hot().X, forest.classes_.tolist()
    shares = predict_proba(params, trees, numbers, classes)
    assert forest.predict_proba(data.X).tobytes() == shares.tobytes()
    assert forest.predict(data.X).tolist() == predict(params, trees, numbers)
    if params.trees_per_row < params.n_estimators:
        expected = out_of_bag_rows(params, trees, data, lambda its, X: predict_proba(params, its, X, classes))
        assert_array_equal(forest.oob_decision_function_, expected)


def assert_predicts_targets(
    forest: DareForestRegressor, params: ReferenceParams, trees: list[Node], data: Dataset, scale: FixedPoint
) -> None:
    """The same means and quantiles, and means by the trees that do not hold a row."""
    numbers = data.one_hot().X
    assert forest.predict(data.X).tobytes() == predict_targets(scale, trees, numbers).tobytes()
    quantiles = predict_quantiles(scale, trees, numbers, SHARES)
    assert forest.predict(data.X, quantiles=SHARES).tobytes() == quantiles.tobytes()
    if params.trees_per_row < params.n_estimators:
        expected = out_of_bag_rows(params, trees, data, lambda its, X: predict_targets(scale, its, X)[:, None])
        assert_array_equal(forest.oob_prediction_[:, None], expected)


def out_of_bag_rows(params: ReferenceParams, trees: list[Node], data: Dataset, predicted: Any) -> np.ndarray:
    """What the reference predicts out of bag, in ascending order of the ids; NaN where no tree can."""
    held = counted(data).one_hot()
    in_order = held.where(np.argsort(held.ids))
    found = out_of_bag(params, trees, in_order.ids.tolist(), in_order.X, predicted)
    missing = np.full_like(predicted(trees, held.X[:1])[0], np.nan)
    return np.array([missing if its is None else its for its in found])


HOSTILE_WEIGHTS = WEIGHTS + HEAVY_WEIGHTS
both_targets = pytest.mark.parametrize("labels", [LABELS, TARGETS], ids=["classifier", "regressor"])


@both_targets
@given(st.data(), TUNINGS)
def test_core_equals_the_reference_on_hostile_data(
    labels: list[list[Label]], draws: st.DataObject, tuning: Tuning
) -> None:
    """Ties, duplicates, NaN, denormals, huge values, categories, few rows of a class, weights: the same bytes."""
    data = draws.draw(datasets(HOSTILE_WEIGHTS, labels))
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

OF_CLASSES = ("stability", "class_weight")
MEDIUM_REGRESSION: Options = {name: value for name, value in MEDIUM_OPTIONS.items() if name not in OF_CLASSES} | {
    "criterion": "squared_error"
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


MEDIUM_SIZES: Tuning = {"min_cached_rows": 16, "max_bytes_per_row": 1_000_000, "rows_per_look_up": 0, "reserve": 2}


@pytest.mark.parametrize("load", [iris, iris_in_bins, breast_cancer, weighted_breast_cancer])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("tuning", [None, MEDIUM_SIZES])
def test_core_equals_the_reference_on_real_data(load: Any, variant: Options, tuning: Tuning | None) -> None:
    """Nodes of hundreds of rows take other paths through the core than tiny ones, to the same forest."""
    data = load()
    options = MEDIUM_OPTIONS | variant | {"categorical_features": data.categories or None}
    assert_equals_reference(options, data, tuning, n_jobs=2)


REGRESSION_VARIANTS: dict[str, Options] = {
    "greedy": {},
    "every threshold": {"n_thresholds": None, "n_estimators": 2},
    "few thresholds, few features": {"n_thresholds": 2, "max_features": 2},
    "random upper layers": {"random_depth": 3},
    "random trees": {"random_depth": 10},
    "extra trees": {"candidates": "uniform", "n_thresholds": 1},
    "uniform, large leaves": {"candidates": "uniform", "n_thresholds": 20, "min_samples_leaf": 5},
    "each row in half of the trees": {"max_samples": 0.5, "min_samples_split": 10},
    "a wide range": {"target_range": (-1e6, 1e9)},
}


def diabetes() -> Dataset:
    """300 rows with whole targets, many of which several rows have, and a missing value here and there."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:300].astype(np.float32), y[:300]
    X[::7, 3] = np.nan
    return Dataset(np.arange(len(y))[::-1] * 5 - 700, X, y)


def weighted_diabetes() -> Dataset:
    """The same with weights from 0 to 4."""
    data = diabetes()
    return Dataset(data.ids, data.X, data.y, np.random.default_rng(0).integers(0, 5, len(data.ids)))


def diabetes_in_bins() -> Dataset:
    """Sex and body mass as categories, some of which are not listed, and targets with a fraction that differ all."""
    data = diabetes()
    X = data.X.copy()
    X[:, 1] = X[:, 1] > 0
    X[:, 2] = (100 * X[:, 2]).round()
    noise = np.random.default_rng(1).normal(size=len(data.ids))
    return Dataset(data.ids, X, data.y + noise, categories={1: [1.0], 2: [*range(-8, 8, 3), np.nan]})


@pytest.mark.parametrize("load", [diabetes, weighted_diabetes, diabetes_in_bins])
@pytest.mark.parametrize("variant", REGRESSION_VARIANTS.values(), ids=REGRESSION_VARIANTS.keys())
@pytest.mark.parametrize("tuning", [None, MEDIUM_SIZES], ids=["default sizes", "medium sizes"])
def test_regressor_equals_the_reference_on_real_data(load: Any, variant: Options, tuning: Tuning | None) -> None:
    """The same for targets."""
    data = load()
    options = MEDIUM_REGRESSION | variant | {"categorical_features": data.categories or None}
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
    positive = rng.random(700) < share_of_positives
    sampled = {"n_thresholds": n_thresholds, "n_estimators": 3, "max_features": 2, "random_state": seed}
    assert_equals_reference(MEDIUM_OPTIONS | sampled, Dataset(np.arange(700), X, positive.astype(int)), SAMPLING_ALWAYS)
    targets = np.where(positive, rng.normal(size=700), -1.0)
    assert_equals_reference(MEDIUM_REGRESSION | sampled, Dataset(np.arange(700), X, targets), SAMPLING_ALWAYS)


@pytest.mark.parametrize("scheme", [{}, {"candidates": "uniform"}, {"random_depth": 2}], ids=str)
@pytest.mark.parametrize("tuning", [None, SAMPLING_ALWAYS], ids=["default sizes", "tiny sizes"])
def test_more_categories_than_a_byte_can_number_equal_the_reference(scheme: Options, tuning: Tuning | None) -> None:
    """Five hundred categories, some of them of no row, and rows of no category, beside a number."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(600)[rng.integers(0, 600, 400)]
    X = np.column_stack([codes, rng.normal(size=400)]).astype(np.float32)
    categories: Categories = {0: [*range(40, 540)]}
    wide = scheme | {"categorical_features": categories, "n_estimators": 2, "max_features": 60}
    classes = Dataset(np.arange(400), X, (codes % 3 == 0).astype(int), categories=categories)
    assert_equals_reference(MEDIUM_OPTIONS | wide, classes, tuning)
    targets = Dataset(np.arange(400), X, codes % 3 + X[:, 1].astype(np.float64), categories=categories)
    assert_equals_reference(MEDIUM_REGRESSION | wide, targets, tuning)


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
