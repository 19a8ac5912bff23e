"""The regressor as people use it: what it takes, what it refuses, and what it says."""

import math
import reprlib
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from deciduous import (
    DareForestClassifier,
    DareForestRegressor,
    EmptyForestError,
    InvalidInputError,
    RowExistsError,
    UnknownRowError,
)
from patience import LIMIT
from strategies import Dataset
from test_exactness import smooth_targets

SMALL = {"n_estimators": 10, "max_depth": 10, "n_thresholds": 5, "random_state": 1}
N_ROWS = 120


def small_forest(**others: Any) -> DareForestRegressor:
    """An unfitted forest that is quick to train."""
    return DareForestRegressor(**(SMALL | others))


def rows_of(n_rows: int = N_ROWS, seed: int = 0) -> Dataset:
    """Rows with NaN, ties and a constant, and targets that are all different."""
    return smooth_targets(np.random.default_rng(seed), n_rows)


def fitted_on(data: Dataset, **others: Any) -> DareForestRegressor:
    """A small forest trained on these rows."""
    return small_forest(**others).fit(data.X, data.y, ids=data.ids, sample_weight=data.weights)


@pytest.fixture
def forest() -> DareForestRegressor:
    """A fitted forest that must come out of every refusal unchanged."""
    return fitted_on(rows_of())


PROBES = rows_of(30, seed=9).X


def state_of(forest: DareForestRegressor) -> tuple:
    """What a refusal must leave as it was."""
    return forest.fingerprint(), forest.ids_.tolist(), forest.target_range_, forest.predict(PROBES).tobytes()


def assert_refused(forest: DareForestRegressor, call: Callable[[], object], *named: str) -> None:
    """The call raises an error with these words in its message, and changes nothing."""
    before = state_of(forest)
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert all(words in str(caught.value) for words in named), str(caught.value)
    assert state_of(forest) == before
    assert forest.check()


# ----------------------------------------------------------------------------------------------------------- targets


class NoArray:
    """What NumPy cannot read, such as a polars series of 128-bit integers."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("there are no 128-bit integers")

    def __repr__(self) -> str:
        return "NoArray()"


def test_column_of_targets_warns_and_is_taken() -> None:
    """As scikit-learn's own estimators do."""
    data = rows_of()
    with pytest.warns(DataConversionWarning, match="column-vector"):
        forest = small_forest().fit(data.X, data.y[:, None])
    assert forest.fingerprint() == fitted_on(data).fingerprint()


@pytest.mark.parametrize(
    ("y", "named"),
    [
        (np.zeros((4, 2)), ("(4, 2)", "one target", "fit one forest for each")),
        (np.zeros(()), ("shape ()",)),
        (np.zeros(3), ("4 rows", "3 targets")),
        ([1.0, math.nan, 2.0, 3.0], ("nan", "finite")),
        ([1.0, 2.0, math.inf, 3.0], ("inf", "finite")),
        ([1.0, 2.0, 3.0, -1.1e300], ("-1.1e+300", "1e+300")),
        (["1", "2", "3", "4"], ("numbers", "<U1")),
        (np.array([1, "2", 3, 4], dtype=object), ("numbers", "'2'")),
        (np.array([1, None, 3, 4], dtype=object), ("nan", "finite")),
        (np.array([1, {}, 3, 4], dtype=object), ("numbers", "dict")),
        (np.array([1, 2, 3, 10**400], dtype=object), ("numbers",)),
        (np.array([1j, 2, 3, 4]), ("numbers", "complex128")),
        (np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 1]), ("y[1] is masked",)),
        ([[1.0], [2.0, 3.0], [4.0], [5.0]], ("y cannot be read as an array", "inhomogeneous")),
        (NoArray(), ("y cannot be read as an array", "no 128-bit integers")),
        (np.array(["2020-01-01"] * 4, dtype="datetime64[D]"), ("numbers", "datetime64")),
        (None, ("y", "None")),
    ],
    ids=lambda its: "" if isinstance(its, tuple) else repr(its)[:40],
)
@pytest.mark.parametrize("method", ["fit", "add", "update", "partial_fit"])
def test_unusable_targets_are_refused(forest: DareForestRegressor, method: str, y: Any, named: tuple[str, ...]) -> None:
    """Before anything changes, by every method that takes targets, with the value in the message."""
    ids = {"ids": [1000, 1001, 1002, 1003]}
    assert_refused(forest, lambda: getattr(forest, method)(PROBES[:4], y, **ids), *named)
    assert_refused(forest, lambda: forest.update(PROBES[:4], y, [0, 1, 2, 3], delete=[5]), *named)


def test_infinite_float32_is_refused_but_large_ones_are_taken() -> None:
    """The targets are read as doubles."""
    X = np.zeros((2, 1))
    with pytest.raises(InvalidInputError, match="inf"):
        small_forest().fit(X, np.array([1, np.inf], np.float32))
    assert small_forest().fit(X, np.array([1, 3e38], np.float32)).predict(X).tolist() == pytest.approx([1.5e38] * 2)


@pytest.mark.parametrize("target", [-1e300, -41.0, 41.0, 1e9])
@pytest.mark.parametrize("method", ["add", "update", "partial_fit"])
def test_targets_beyond_the_range_are_refused(method: str, target: float) -> None:
    """With the target and the range in the message, also when other rows of the batch are fine."""
    data = rows_of()
    forest = fitted_on(replace(data, y=np.clip(data.y, 0.0, 8.0)))  # 2^3, so 4 * 8 steps around the offset 0
    low, high = forest.target_range_
    assert (low, high) == (-32.0, 32.0)
    call = getattr(forest, method)
    assert_refused(
        forest,
        lambda: call(PROBES[:2], [1.0, target], ids=[500, 3 if method == "update" else 501]),
        f"y holds {target!r}",
        f"from {low!r} to {high!r}",
        "target_range",
    )


def test_limits_of_targets_are_those_that_are_shown() -> None:
    """The limits are in; what is rounded to them, half a step beyond, is too; a step beyond is refused."""
    forest = small_forest(target_range=(0.0, 1.0)).fit([[0.0], [1.0]], [0.2, 0.3])
    low, high = forest.target_range_
    assert (low, high) == (-4.0, 4.0)
    step = 2.0**-38
    forest.add([[2.0]] * 4, [low, high, high + step / 2, low - step / 2], ids=[10, 11, 12, 13])
    assert forest.rows([10, 11, 12, 13]).y.tolist() == [low, high, high, low]
    for target in (high + step, low - step, np.nextafter(high + step / 2, np.inf)):
        assert_refused_plainly(forest, target)
    assert forest.verify()


def assert_refused_plainly(forest: DareForestRegressor, target: float) -> None:
    """A forest of one column refuses a target and stays as it was."""
    before = forest.fingerprint()
    with pytest.raises(InvalidInputError, match="takes targets from"):
        forest.add([[0.0]], [target])
    assert forest.fingerprint() == before


def test_no_forest_takes_targets_beyond_1e300() -> None:
    """However wide its range is."""
    forest = small_forest(target_range=(-1e300, 1e300)).fit([[0.0], [1.0]], [-1.0, 1.0])
    assert forest.target_range_ == (-1e300, 1e300)
    forest.add([[3.0], [4.0]], [1e300, -1e300])
    before = forest.fingerprint()
    with pytest.raises(InvalidInputError, match="finite numbers from -1e\\+300 to 1e\\+300"):
        forest.add([[3.0]], [np.nextafter(1e300, np.inf)])
    assert forest.fingerprint() == before


@pytest.mark.parametrize(
    "target_range",
    [
        (1.0, 0.0),
        (math.nan, 1.0),
        (0.0, math.nan),
        (0.0, math.inf),
        (-1.1e300, 0.0),
        (1.0,),
        (0, 1, 2),
        5,
        "ab",
        (None, 1),
        (0, 10**400),
        ("0", "1"),
        {0, 1},
        {0: "low", 1: "high"},
    ],
    ids=reprlib.repr,
)
def test_ranges_that_are_none_are_refused(target_range: Any) -> None:
    """Reversed, NaN, too wide, or no pair of numbers."""
    with pytest.raises(InvalidInputError, match="target_range must be None or"):
        small_forest(target_range=target_range).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("largest", [1e300, -1e300])
def test_rows_come_back_as_targets_that_the_forest_takes(largest: float) -> None:
    """A step beyond the largest target stands for it: it is told as what it was."""
    forest = small_forest(min_samples_leaf=2).fit([[0.0], [1.0]], [largest, largest])
    held = forest.rows(forest.ids_)
    assert held.y.tolist() == [largest] * 2
    assert forest.predict([[0.0]], quantiles=[0, 1]).tolist() == [[largest] * 2]
    before = forest.fingerprint()
    assert forest.update(held.X, held.y, held.ids).n_nodes_rebuilt == 0
    assert forest.fingerprint() == before


def test_trees_without_rows_have_no_mean() -> None:
    """They are NaN in views and records, and have no say in predictions; only few rows leave trees without."""
    X, y = np.array([[0.0], [1.0]]), np.array([1000.0, 1001.0])
    forest = DareForestRegressor(10, max_samples=0.1, random_state=0).fit(X, y)
    views = [forest.tree_view(tree) for tree in range(10)]
    is_empty = [view.counts[0, 0] == 0 for view in views]
    assert 0 < sum(is_empty) < 10
    assert [np.isnan(view.values[0, 0]) for view in views] == is_empty
    assert [np.isnan(forest.tree_nodes(tree)[0].value) for tree in range(10)] == is_empty
    by_tree = np.column_stack([views[tree].values[forest.apply(X)[:, tree], 0] for tree in range(10)])
    assert_allclose(np.nanmean(by_tree, axis=1), forest.predict(X))


@pytest.mark.parametrize("target_range", [(0, 1), [0.0, 1.0], np.array([0, 1]), (0.0, np.float32(1.0))], ids=repr)
def test_ranges_may_be_pairs_of_any_kind(target_range: Any) -> None:
    """All of these are the same forest."""
    expected = small_forest(target_range=(0.0, 1.0)).fit([[0.0], [1.0]], [0.25, 0.5]).fingerprint()
    assert small_forest(target_range=target_range).fit([[0.0], [1.0]], [0.25, 0.5]).fingerprint() == expected


def test_fit_refuses_targets_far_beyond_the_range_that_is_given() -> None:
    """The first rows are no exception."""
    with pytest.raises(InvalidInputError, match=r"y holds 4\.5, but this forest takes targets from -4\.0 to 4\.0"):
        small_forest(target_range=(0.0, 1.0)).fit([[0.0], [1.0]], [0.0, 4.5])


@pytest.mark.parametrize("size", [1e-290, 1e-3, 1.0, 37.0, 1e6, 1e299])
def test_at_least_three_times_the_range_beyond_its_ends_is_taken(size: float) -> None:
    """What the documentation promises, wherever the range is."""
    for low in (0.0, -size, 2.5 * size, -1e3 * size) if size < 1e200 else (0.0, -size):
        forest = small_forest().fit([[0.0], [1.0]], [low, low + size])
        ends = forest.target_range_
        assert ends[0] <= max(low - 2.999 * size, -1e300)
        assert ends[1] >= min(low + size + 2.999 * size, 1e300)


def test_float32_targets_come_back_within_their_own_rounding() -> None:
    """Fixed point loses nothing of ordinary data that a float32 has."""
    rng = np.random.default_rng(0)
    for targets in (rng.normal(size=500), rng.exponential(size=500) + 0.01, rng.uniform(900, 1100, 500)):
        y = targets.astype(np.float32)
        y = y[np.abs(y) > np.ptp(y) / 2**13]
        forest = small_forest(n_estimators=1).fit(np.zeros((len(y), 1)), y)
        kept = forest.rows(forest.ids_).y
        assert kept.dtype == np.float64
        assert_array_equal(kept.astype(np.float32), y)


def test_whole_targets_come_back_as_they_were() -> None:
    """Counts and amounts in whole units, up to millions, are exact."""
    y = np.arange(0, 3_000_000, 1117)
    forest = small_forest(n_estimators=1, max_depth=1).fit(np.arange(len(y))[:, None], y)
    assert forest.rows(forest.ids_).y.tolist() == y.tolist()


# ------------------------------------------------------------------------------------------------ rows come and go


def test_rows_come_and_go_under_ids_and_subjects() -> None:
    """Names of rows, people and weights are as in the classifier."""
    data, names = rows_of(), [f"r{i:03}" for i in range(N_ROWS)]
    people = [f"p{i // 4}" for i in range(N_ROWS)]
    weights = 1 + np.arange(N_ROWS) % 3
    forest = small_forest().fit(data.X, data.y, ids=names, subjects=people, sample_weight=weights)
    ends = (float(data.y.min()), float(data.y.max()))
    assert forest.delete(subjects=["p3"]).ids == tuple(names[12:16])
    forest.update(data.X[[50]], [2.5], ["r020"], delete=["r000"], subjects=["p9"], sample_weight=[7])
    shown = forest.rows(["r020"])
    assert (shown.y.tolist(), shown.sample_weight.tolist(), shown.subjects) == ([pytest.approx(2.5)], [7], ["p9"])
    assert "r020" in forest.ids_of(["p9"])
    left = [i for i in range(N_ROWS) if not 12 <= i < 16 and i != 0]
    X, y, w = data.X.copy(), data.y.copy(), weights.copy()
    X[20], y[20], w[20] = data.X[50], 2.5, 7
    fresh = small_forest(target_range=ends)
    fresh.fit(X[left], y[left], ids=[names[i] for i in left], sample_weight=w[left])
    assert forest.fingerprint() == fresh.fingerprint()
    with pytest.raises(UnknownRowError):
        forest.delete(["r013"])
    with pytest.raises(RowExistsError):
        forest.add(X[:1], y[:1], ids=["r020"])


def test_partial_fit_is_fit_with_the_range_of_the_first_batch() -> None:
    """Batch by batch; what a batch has beyond that range needs to be given before."""
    data = rows_of()
    parts = small_forest()
    for rows in np.split(np.arange(N_ROWS), [50, 70]):
        parts.partial_fit(data.X[rows], data.y[rows], ids=rows)
    ends = (float(data.y[:50].min()), float(data.y[:50].max()))
    assert parts.fingerprint() == fitted_on(data, target_range=ends).fingerprint()


def test_rows_of_weight_zero_have_no_part_in_the_range() -> None:
    """Such a row is no row, at `fit` and later."""
    X, y = [[0.0], [1.0], [2.0]], [1.0, 2.0, 1e9]
    forest = small_forest().fit(X, y, sample_weight=[1, 1, 0])
    assert forest.fingerprint() == small_forest().fit(X[:2], y[:2]).fingerprint()
    before = forest.fingerprint()
    assert forest.add([[5.0]], [1e200], ids=[7], sample_weight=[0]).ids == ()
    assert forest.fingerprint() == before


def test_weight_is_repetition() -> None:
    """A row of weight 3 gives the splits, means and predictions of three equal rows."""
    data = rows_of()
    weights = np.arange(N_ROWS) % 4
    weighted = fitted_on(replace(data, weights=weights))
    copies = small_forest().fit(np.repeat(data.X, weights, axis=0), np.repeat(data.y, weights))
    for tree in range(10):
        one, other = (
            [(n.kind, n.attribute, n.threshold, n.n_rows, n.value) for n in forest.tree_nodes(tree)]
            for forest in (weighted, copies)
        )
        assert one == other
    assert weighted.predict(PROBES).tobytes() == copies.predict(PROBES).tobytes()
    assert_array_equal(weighted.feature_importances_, copies.feature_importances_)


def test_lazy_deletions_are_settled_to_the_same_forest() -> None:
    """Postponed or not."""
    data = rows_of(600)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True)
    for leaving in np.arange(300).reshape(30, 10):
        foretold = lazy.deletion_cost(leaving)
        assert lazy.delete(leaving) == foretold
        eager.delete(leaving)
    assert lazy._forest.n_unbuilt > 0
    assert lazy.settle() == 0
    assert lazy.fingerprint() == eager.fingerprint()


def test_costs_are_those_of_the_deletions() -> None:
    """Of each row alone, of a batch, and of a subject."""
    data = rows_of()
    forest = small_forest().fit(data.X, data.y, subjects=np.arange(N_ROWS) // 3)
    costs = forest.deletion_costs(forest.ids_)
    assert costs.tolist() == [forest.deletion_cost([i]).n_rows_retrained for i in forest.ids_.tolist()]
    assert forest.deletion_costs(subjects=[4])[0] == forest.deletion_cost([12, 13, 14]).n_rows_retrained
    foretold = forest.deletion_cost(subjects=[4])
    assert forest.delete(subjects=[4]) == foretold


def test_forest_without_rows_predicts_nothing_and_takes_rows_again() -> None:
    """As after a request to erase everything."""
    data = rows_of()
    forest = fitted_on(data)
    before = forest.fingerprint()
    forest.delete(forest.ids_)
    for predict in (
        lambda: forest.predict(PROBES),
        lambda: forest.predict(PROBES, quantiles=[0.5]),
        lambda: forest.predict_interval(PROBES),
        forest.freeze,
    ):
        with pytest.raises(EmptyForestError):
            predict()
    assert forest.feature_importances_.tolist() == [0.0] * data.X.shape[1]
    forest.add(data.X, data.y, ids=data.ids)
    assert forest.fingerprint() == before


def test_categories_and_missing_values_are_taken() -> None:
    """A table with names, categories and gaps; a forest of indicators is the same one."""
    rng = np.random.default_rng(0)
    colour = pandas.Categorical(rng.choice(["red", "green", "blue"], N_ROWS), categories=["red", "green", "blue"])
    size = np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.normal(size=N_ROWS))
    frame = pandas.DataFrame({"colour": colour, "size": size})
    y = np.where(colour == "red", 10.0, 0.0) + np.nan_to_num(size)
    forest = small_forest(max_features=2).fit(frame, y)
    assert forest.categories_ == [["red", "green", "blue"], None]
    indicators = small_forest(max_features=2).fit(forest.one_hot(frame), y)
    assert forest.fingerprint() == indicators.fingerprint()
    shown = forest.rows([0, 1])
    assert shown.X[:, 0].tolist() == list(colour[:2])
    assert forest.feature_importances_[0] > 0.5
    forest.delete(list(range(0, N_ROWS, 2)))
    assert forest.verify()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("read", ["quantiles", "costs"])
def test_interrupt_stops_long_reads(read: str, n_jobs: int) -> None:
    """Ctrl-C in the middle is heard there, not at the end, and the forest is as it was."""
    data = rows_of(2_000)
    forest = fitted_on(data, min_samples_leaf=20, n_jobs=n_jobs)
    reads: dict[str, Callable[[], object]] = {
        "quantiles": lambda: forest.predict(np.tile(data.X, (15, 1)), quantiles=[0.5]),
        "costs": lambda: forest.deletion_costs(forest.ids_),
    }
    before, begin = state_of(forest), time.process_time()
    reads[read]()
    whole = time.process_time() - begin

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGPROF, interrupt)
    try:
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, whole / 10)
        with pytest.raises(KeyboardInterrupt):
            reads[read]()
        assert time.process_time() - begin < 0.7 * whole
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
    assert state_of(forest) == before


# ------------------------------------------------------------------------------------------------------ what it says


def test_leaves_are_means_of_their_rows() -> None:
    """Nodes tell rows and means; apply, decision_path and depth agree with them."""
    data = replace(rows_of(), weights=1 + np.arange(N_ROWS) % 3)
    forest = fitted_on(data, min_samples_leaf=4)
    leaves, (paths, begins) = forest.apply(data.X), forest.decision_path(data.X)
    depths, means = [], np.zeros(N_ROWS)
    for tree in range(10):
        nodes = forest.tree_nodes(tree)
        depths.append(max(node.depth for node in nodes))
        assert nodes[0].n_rows == data.weights.sum()
        assert nodes[0].value == pytest.approx(np.average(data.y, weights=data.weights))
        assert all(node.counts == {} for node in nodes)
        for node in nodes:
            if node.kind == "leaf":
                ids = list(node.ids)
                assert node.n_rows == data.weights[ids].sum()
                assert node.value == pytest.approx(np.average(data.y[ids], weights=data.weights[ids]))
        assert all(row in nodes[leaf].ids for row, leaf in enumerate(leaves[:, tree]))
        its_paths = paths[:, begins[tree] : begins[tree + 1]].toarray()
        assert (its_paths.sum(axis=1) == [nodes[leaf].depth + 1 for leaf in leaves[:, tree]]).all()
        means += [nodes[leaf].value for leaf in leaves[:, tree]]
    assert forest.get_depth() == max(depths)
    assert forest.predict(data.X) == pytest.approx(means / 10)


def test_importances_are_shares_and_do_not_remember() -> None:
    """They sum to one, find the columns that matter, and are those of the fresh forest bit by bit."""
    data = rows_of(400)
    forest = fitted_on(data, max_features=None)
    importances = forest.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances.argmax() == 0
    assert importances[5] == 0  # the constant
    gone = np.arange(0, 400, 3)
    forest.delete(gone)
    assert forest.feature_importances_.tobytes() != importances.tobytes()
    forest.add(data.X[gone], data.y[gone], ids=gone)
    assert forest.feature_importances_.tobytes() == importances.tobytes()


def test_importances_are_those_of_scikit_learn_for_the_same_splits() -> None:
    """One tree of all thresholds and columns; scikit-learn adds up in other units and another order."""
    X = np.random.default_rng(0).permutation(400).reshape(100, 4)
    y = X[:, 0] * 3.0 + np.sin(X[:, 1]) * 50
    ours = DareForestRegressor(1, max_depth=4, n_thresholds=None, max_features=None, random_state=0).fit(X, y)
    theirs = RandomForestRegressor(1, max_depth=4, max_features=None, bootstrap=False, random_state=0).fit(X, y)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.tree_view(0).impurity("squared_error")[0] == pytest.approx(np.var(y))


@pytest.mark.parametrize(
    ("kind", "criteria"), [(DareForestClassifier, ("gini", "entropy")), (DareForestRegressor, ("squared_error",))]
)
def test_views_know_their_criteria(kind: type[DareForestClassifier | DareForestRegressor], criteria: tuple) -> None:
    """Those of the other kind, and words that are none, are refused."""
    view = kind(1, random_state=0).fit(np.arange(30.0)[:, None], np.arange(30) % 3).tree_view(0)
    for criterion in ("gini", "entropy", "squared_error", "variance", None):
        for ask in (view.impurity, lambda its: view.importances(its, 1)):
            if criterion in criteria:
                assert np.isfinite(ask(criterion)).all()
                continue
            with pytest.raises(InvalidInputError, match=f"criterion must be one of '{criteria[0]}'.*, but is "):
                ask(criterion)


def test_mean_of_one_tree_without_splits_is_the_mean() -> None:
    """Rows that cannot be told apart are one leaf, whose quantiles are the targets in order."""
    y = np.array([5.0, -1.0, 3.0, 3.0, 100.0, 0.25, 7.0, 8.0])
    forest = small_forest().fit(np.zeros((8, 1)), y)
    assert forest.predict([[0.0]])[0] == np.mean(y)
    shares = np.arange(1, 9) / 8
    assert forest.predict([[0.0]], quantiles=shares)[0].tolist() == sorted(y)
    just_above = shares[:-1] + 1e-14
    assert forest.predict([[0.0]], quantiles=just_above)[0].tolist() == sorted(y)[1:]
    assert forest.predict([[0.0]], quantiles=0)[0] == -1.0


def test_quantiles_do_not_depend_on_rounding() -> None:
    """Ten rows in a leaf are tenths, which are no doubles: equal trees have the quantiles of one, as have intervals."""
    X, y = np.zeros((10, 1)), np.arange(10.0)
    tenths = np.arange(1, 11) / 10
    for n_trees in (1, 3, 7, 10, 50):
        forest = DareForestRegressor(n_trees, random_state=0).fit(X, y)
        assert forest.predict(X[:1], quantiles=tenths)[0].tolist() == y.tolist()
        assert forest.predict_interval(X[:1], coverage=0.8)[0].tolist() == [0.0, 8.0]


def test_quantiles_ascend_and_are_targets_of_rows() -> None:
    """Nothing is interpolated, and the columns are in the order of the quantiles that were asked for."""
    data = rows_of(300)
    forest = fitted_on(data, min_samples_leaf=5)
    shares = np.linspace(0, 1, 41)
    quantiles = forest.predict(PROBES, quantiles=shares)
    assert quantiles.shape == (30, 41)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.isin(quantiles, forest.rows(forest.ids_).y).all()
    assert_array_equal(forest.predict(PROBES, quantiles=shares[::-1]), quantiles[:, ::-1])
    assert_array_equal(forest.predict(PROBES, quantiles=0.5), quantiles[:, 20])
    assert forest.predict(PROBES, quantiles=[]).shape == (30, 0)
    assert forest.predict(PROBES[:0], quantiles=[0.5]).shape == (0, 1)


@pytest.mark.parametrize(
    "quantiles", [-0.1, 1.1, [0.5, math.nan], "half", "0.5", True, [[0.5]], ["a"], {0.5}], ids=repr
)
def test_quantiles_that_are_none_are_refused(forest: DareForestRegressor, quantiles: Any) -> None:
    """They are numbers from 0 to 1."""
    with pytest.raises(InvalidInputError, match=r"quantiles must be a number in \[0, 1\]"):
        forest.predict(PROBES, quantiles=quantiles)


def test_intervals_are_pairs_of_quantiles(forest: DareForestRegressor) -> None:
    """Of the shares that leave as much on both sides."""
    assert_array_equal(forest.predict_interval(PROBES), forest.predict(PROBES, quantiles=[0.05, 0.95]))
    halves = forest.predict(PROBES, quantiles=[0.25, 0.75])
    for coverage in (0.5, np.float32(0.5), np.float64(0.5)):
        assert_array_equal(forest.predict_interval(PROBES, coverage), halves)


@pytest.mark.parametrize("coverage", [0, 1, True, 1.5, -0.2, math.nan, "0.9", None, [0.9]], ids=repr)
def test_coverage_is_between_zero_and_one(forest: DareForestRegressor, coverage: Any) -> None:
    """Everything, nothing, and what is no number is refused."""
    with pytest.raises(InvalidInputError, match="coverage must be a number between 0 and 1"):
        forest.predict_interval(PROBES, coverage)


@pytest.mark.parametrize(
    "call",
    [
        lambda forest: forest.predict(PROBES),
        lambda forest: forest.predict(PROBES, quantiles=[0.5]),
        lambda forest: forest.predict_interval(PROBES),
        lambda forest: forest.target_range_,
        lambda forest: forest.oob_prediction_,
        lambda forest: forest.oob_score_,
        lambda forest: forest.rows([0]),
        lambda forest: forest.delete([0]),
        lambda forest: forest.feature_importances_,
    ],
)
def test_forest_that_is_not_fitted_says_so(call: Callable[[DareForestRegressor], object]) -> None:
    """Whatever is asked of it."""
    with pytest.raises(NotFittedError):
        call(small_forest())


def test_parameters_of_classifiers_are_unknown() -> None:
    """There is no stability, no class_weight, and one criterion."""
    for name in ("stability", "class_weight"):
        with pytest.raises(TypeError, match=name):
            small_forest(**{name: None})
    with pytest.raises(InvalidInputError, match="criterion must be one of 'squared_error', but is 'gini'"):
        small_forest(criterion="gini").fit([[0.0], [1.0]], [0.0, 1.0])
    assert not hasattr(small_forest(), "predict_proba")
    assert is_regressor(small_forest())


def test_works_in_searches_and_pays() -> None:
    """R² on real data is that of any forest."""
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = (
        cross_val_score(kind(50, random_state=0), X, y).mean() for kind in (DareForestRegressor, RandomForestRegressor)
    )
    assert ours > theirs - 0.03
    search = GridSearchCV(small_forest(), {"min_samples_leaf": [1, 10]}, cv=3).fit(X, y)
    assert search.best_params_ == {"min_samples_leaf": 10}
    assert search.best_estimator_.verify()


def test_extreme_targets_give_no_warnings() -> None:
    """Neither overflow nor underflow, in training, predictions, importances and views."""
    X = np.arange(40, dtype=float)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (1e300, 1e-300, 5e-324):
            y = np.where(np.arange(40) % 3 == 0, scale, -scale)
            forest = small_forest().fit(X, y)
            assert np.isfinite(forest.predict(X)).all()
            assert np.isfinite(forest.feature_importances_).all()
            assert np.isfinite(forest.predict_interval(X)).all()
            assert forest.check()
            forest.tree_view(0).impurity("squared_error")


# ----------------------------------------------------------------------------------------------------------- threads


def test_predictions_beside_updates_are_of_one_moment() -> None:
    """Two threads predict means and quantiles while rows go and come: all are of the forest with or without them."""
    data = rows_of(400)
    forest = fitted_on(data, n_jobs=2)
    moving = np.arange(0, 400, 2)

    def seen() -> tuple[bytes, bytes]:
        return forest.predict(PROBES).tobytes(), forest.predict(PROBES, quantiles=[0.1, 0.9]).tobytes()

    with_them = seen()
    forest.delete(moving)
    without_them = seen()
    means, quantiles = zip(with_them, without_them, strict=True)
    is_done = threading.Event()

    def read() -> int:
        n_seen = 0
        while not is_done.is_set() or n_seen == 0:
            mean, quantile = seen()
            assert mean in means
            assert quantile in quantiles
            n_seen += 1
        return n_seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for _ in range(15):
                forest.add(data.X[moving], data.y[moving], ids=moving)
                forest.delete(moving)
        finally:
            is_done.set()
        assert all(reader.result(LIMIT) > 0 for reader in readers)
    assert seen() == without_them
