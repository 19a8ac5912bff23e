"""Many rows walk side by side down trees laid out for them, few rows down the trees as they are: to the same shares."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciduous import DareForestClassifier
from strategies import TUNINGS, Dataset, datasets, options_for, train_forest

Predictor = Any  # a forest, live or frozen

SMALL: dict[str, Any] = {"n_estimators": 7, "max_depth": 12, "n_thresholds": 5, "random_state": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "random trees": {"random_depth": 12},
    "extra trees": {"candidates": "uniform", "n_thresholds": 1},
    "class weights": {"class_weight": {0: 0.1, 2: 7.3}},
    "rows in some trees": {"max_samples": 0.3},
    "large leaves": {"min_samples_leaf": 20},
    "stumps": {"max_depth": 1},
    "threads": {"n_jobs": 3},
}


def rows_of(n_rows: int, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, ties and a column with NaN; classes with noise, of which the first are the most frequent."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 5, n_rows), rng.normal(size=n_rows)])
    X[rng.random(n_rows) < 0.3, 2] = np.nan
    y = np.minimum(np.abs(X[:, 0] * n_classes / 2 + rng.normal(0, 0.7, n_rows)), n_classes - 1).astype(int)
    return X.astype(np.float32), y


def one_by_one(forest: Predictor, X: np.ndarray) -> bytes:
    """The shares of each row, predicted alone."""
    return b"".join(forest.predict_proba(X[i : i + 1]).tobytes() for i in range(len(X)))


def together(forest: Predictor, X: np.ndarray) -> bytes:
    """The shares of all rows, predicted at once."""
    return forest.predict_proba(X).tobytes()


@given(st.data())
@settings(max_examples=150)
def test_any_rows_are_predicted_alone_as_together(data: st.DataObject) -> None:
    """Tiny hostile data sets, all parameters; up to five blocks of rows, the last of them partly filled."""
    rows: Dataset = data.draw(datasets())
    forest = train_forest(rows, data.draw(options_for(rows)), data.draw(TUNINGS), lazy=data.draw(st.booleans()))
    ids = forest.ids_.tolist()
    forest.delete(data.draw(st.lists(st.sampled_from(ids), unique=True, max_size=len(ids) - 1)))
    some = np.vstack([rows.X, np.full_like(rows.X[:1], np.nan), np.full_like(rows.X[:1], 3e38)])
    X = some[data.draw(st.lists(st.integers(0, len(some) - 1), min_size=1, max_size=45))]
    alone = one_by_one(forest, X)
    assert together(forest, X) == alone
    assert one_by_one(forest, X) == alone  # now down the trees that are laid out
    assert forest.fingerprint()
    frozen = forest.freeze()
    assert together(frozen, X) == one_by_one(frozen, X)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 40])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_batches_of_all_sizes_are_predicted_like_rows_alone(options: dict[str, Any], n_classes: int) -> None:
    """Also after changes that make obsolete what was laid out; the twin predicts single rows and lays nothing out."""
    X, y = rows_of(500, n_classes)
    probes = np.vstack([rows_of(2300, n_classes, seed=9)[0], np.full((1, 3), np.nan, np.float32)])
    forest, twin = (DareForestClassifier(**(SMALL | options)).fit(X, y) for _ in range(2))
    for number in range(3):
        for its in (forest, twin):
            if number == 1:
                its.delete(range(0, 400, 3))
            elif number == 2:
                its.add(X[:50], 2 * y[:50])
        alone = one_by_one(twin, probes)
        width = len(alone) // len(probes)
        for n in [1, 2, 9, 10, 11, 63, 64, 65, 200, 1023, 1031, len(probes)]:
            assert together(forest, probes[:n]) == alone[: n * width]
            assert together(forest, probes[-n:]) == alone[-n * width :]


@pytest.mark.parametrize("n_distinct", [2, 700])
def test_wide_rows_are_predicted_alike(n_distinct: int) -> None:
    """Rows with more attributes than the cache has room for many of, numbers beside categories."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, n_distinct, 300), rng.normal(size=(300, 500))]).astype(np.float32)
    forest = DareForestClassifier(**SMALL, categorical_features=[0]).fit(X, X[:, 0] + X[:, 1] > n_distinct / 2)
    probes = np.vstack([X, X[::-1] * np.float32(-1)])  # half of the categories are unknown
    alone = one_by_one(forest, probes)
    assert together(forest, probes) == alone
    assert together(forest.freeze(), probes) == alone


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_few_rows_leave_postponed_subtrees_alone_and_many_build_what_they_reach(lazy: bool) -> None:
    """A prediction never depends on what others have built."""
    X, y = rows_of(600)
    forest = DareForestClassifier(**SMALL, lazy=lazy).fit(X, y)
    twin = DareForestClassifier(**SMALL).fit(X, y)
    for number in range(20):
        gone = list(range(number * 20, number * 20 + 20))
        forest.delete(gone)
        twin.delete(gone)
        probes = X[: 1 + 29 * number]
        assert together(forest, probes) == one_by_one(twin, probes)
    assert forest.fingerprint() == twin.fingerprint()


def test_trees_laid_out_are_counted_as_structure_until_the_forest_changes() -> None:
    """They take little more than the trees themselves, and go with the first deletion."""
    X, y = rows_of(3000)
    forest = DareForestClassifier(**SMALL).fit(X, y)
    before = forest.memory_usage()
    forest.predict_proba(X[:5])
    assert forest.memory_usage() == before
    forest.predict_proba(X)
    after = forest.memory_usage()
    assert before.structure < after.structure < 2.5 * before.structure
    assert after.total - before.total == after.structure - before.structure
    forest.delete([7])
    assert forest.memory_usage().structure < (before.structure + after.structure) / 2
