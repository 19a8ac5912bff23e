"""Out-of-bag predictions: what the trees that a row does not belong to say of it, with no trace of the row itself.

That they are those of the reference is tested in test_reference.py.
"""

from dataclasses import replace
from inspect import getmembers
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError
from strategies import KINDS, Dataset, Forest
from test_exactness import mixed_rows, smooth_targets

every_kind = pytest.mark.parametrize("kind", KINDS)
N_ROWS = 150


def rows_for(kind: type[Forest]) -> Dataset:
    """Rows of three classes, or with numbers as targets."""
    draw_rows = mixed_rows if kind is DareForestClassifier else smooth_targets
    return draw_rows(np.random.default_rng(0), N_ROWS)


def fitted(kind: type[Forest], data: Dataset, **others: Any) -> Forest:
    """A small forest in which each row belongs to two trees in five."""
    given = {"n_estimators": 10, "n_thresholds": 5, "max_samples": 0.4, "random_state": 3} | others
    return kind(**given).fit(data.X, data.y, ids=data.ids, sample_weight=data.weights)


def out_of_bag(forest: Forest) -> np.ndarray:
    """The predictions: a row for each row, a column for each class, or one for the target."""
    if isinstance(forest, DareForestRegressor):
        return forest.oob_prediction_[:, None]
    return forest.oob_decision_function_


@every_kind
@pytest.mark.parametrize(
    ("max_samples", "way_out"),
    [(None, "with max_samples below 1"), (1.0, "with max_samples below 1"), (0.95, "with more trees, or a smaller")],
)
def test_rows_that_are_in_all_trees_are_an_error(kind: type[Forest], max_samples: float | None, way_out: str) -> None:
    """It says what to do; 0.95 of ten trees are ten trees. What is set after `fit` has no part in it."""
    forest = fitted(kind, rows_for(kind), max_samples=max_samples).set_params(max_samples=0.5)
    for read in (out_of_bag, lambda forest: forest.oob_score_):
        with pytest.raises(InvalidInputError, match=f"fitted with max_samples={max_samples!r}, which .* fit {way_out}"):
            read(forest)
    assert not hasattr(forest, "oob_score_")
    assert getattr(forest, "oob_prediction_", None) is None


@every_kind
@pytest.mark.parametrize("max_samples", [None, 0.4])
@pytest.mark.parametrize("is_empty", [False, True])
def test_looking_at_a_forest_computes_nothing(kind: type[Forest], max_samples: float | None, is_empty: bool) -> None:
    """`dir`, debuggers and notebooks show any forest, and grow none of the subtrees that it has postponed."""
    forest = fitted(kind, rows_for(kind), max_samples=max_samples, lazy=True)
    forest.delete(forest.ids_ if is_empty else forest.ids_[:50])
    n_postponed = forest.settle(0)
    assert n_postponed > 0 or is_empty
    names = dir(forest)
    assert {"delete", "n_rows_", "ids_", "n_features_in_"} <= set(names)
    assert not {name for name in names if name.startswith("oob_")}
    assert [name for name, _ in getmembers(forest)] == sorted(names)
    assert forest._repr_html_()
    assert forest.settle(0) == n_postponed
    assert "n_rows_" not in dir(kind())


@every_kind
def test_no_row_has_a_part_in_its_own_prediction(kind: type[Forest]) -> None:
    """Another target for a row changes the trees that it belongs to, and what the others say of it not by a bit."""
    data = rows_for(kind)
    forest = fitted(kind, data)
    before = out_of_bag(forest)
    for row in range(0, N_ROWS, 10):
        y = data.y.copy()
        y[row] = y[(row + 1) % N_ROWS] if kind is DareForestRegressor else (y[row] + 1) % 3
        forest.update(data.X[[row]], y[[row]], [row])
        after = out_of_bag(forest)
        assert after[row].tobytes() == before[row].tobytes()
        assert after.tobytes() != before.tobytes()
        forest.update(data.X[[row]], data.y[[row]], [row])
    assert out_of_bag(forest).tobytes() == before.tobytes()


IDS: dict[str, Any] = {
    "numbers": np.arange(N_ROWS),
    "numbers that descend": -5 * np.arange(N_ROWS),
    "names": [f"row {i:04}" for i in np.random.default_rng(5).permutation(N_ROWS)],
}


@every_kind
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_they_are_means_over_the_other_trees_in_the_order_of_ids(kind: type[Forest], ids: Any) -> None:
    """As the nodes of the trees tell it, whatever the ids are."""
    data = rows_for(kind)
    forest = kind(10, max_samples=0.4, random_state=3).fit(data.X, data.y, ids=ids)
    views, nodes = zip(*((forest.tree_view(tree), forest.tree_nodes(tree)) for tree in range(10)), strict=True)
    expected = {}
    for row_id, leaves in zip(list(ids), forest.apply(data.X), strict=True):
        others = [t for t, leaf in enumerate(leaves) if row_id not in nodes[t][leaf].ids]
        assert len(others) == 6
        expected[row_id] = np.mean([views[t].values[leaves[t]] for t in others], axis=0)
    assert forest.ids_.tolist() == sorted(ids)
    assert out_of_bag(forest) == pytest.approx(np.array([expected[row_id] for row_id in forest.ids_.tolist()]))


@every_kind
@pytest.mark.parametrize("lazy", [False, True])
def test_history_leaves_no_trace_in_them(kind: type[Forest], lazy: bool) -> None:
    """Rows that came and went are in none."""
    data = rows_for(kind)
    forest = fitted(kind, data, lazy=lazy)
    before = out_of_bag(forest).tobytes()
    gone = np.arange(0, N_ROWS, 4)
    forest.delete(gone)
    assert len(out_of_bag(forest)) == N_ROWS - len(gone)
    forest.add(data.X[gone], data.y[gone], ids=gone)
    assert out_of_bag(forest).tobytes() == before


@every_kind
def test_row_alone_has_none(kind: type[Forest]) -> None:
    """The trees that it does not belong to hold no rows; a score of nothing is NaN."""
    forest = fitted(kind, rows_for(kind))
    forest.delete(forest.ids_[1:])
    assert np.isnan(out_of_bag(forest)).all()
    assert np.isnan(forest.oob_score_)
    forest.delete(forest.ids_)
    assert len(out_of_bag(forest)) == 0
    assert np.isnan(forest.oob_score_)


@every_kind
def test_score_counts_rows_by_weight(kind: type[Forest]) -> None:
    """R² or accuracy, as scikit-learn has them."""
    data = rows_for(kind)
    data = Dataset(data.ids, data.X, data.y, 1 + data.ids % 5)
    forest = fitted(kind, data)
    predicted = out_of_bag(forest)
    if kind is DareForestRegressor:
        expected = r2_score(data.y, predicted[:, 0], sample_weight=data.weights)
    else:
        best = forest.classes_[predicted.argmax(axis=1)]
        expected = accuracy_score(data.y, best, sample_weight=data.weights)
    assert forest.oob_score_ == pytest.approx(expected)


@pytest.mark.parametrize("power", [-667, 667])
def test_r2_is_that_of_targets_of_another_size(power: int) -> None:
    """Squares of targets of 1e200 are too large for a float, and those of 1e-200 too small."""
    data = rows_for(DareForestRegressor)
    expected = fitted(DareForestRegressor, data).oob_score_
    assert 0.2 < expected < 1
    assert fitted(DareForestRegressor, replace(data, y=np.ldexp(data.y, power))).oob_score_ == expected


@pytest.mark.parametrize(
    ("kind", "load"), [(DareForestClassifier, load_breast_cancer), (DareForestRegressor, load_diabetes)]
)
def test_score_is_an_honest_estimate(kind: type[Forest], load: Any) -> None:
    """It is near that of cross-validation, and far from that on the training rows."""
    X, y = load(return_X_y=True)
    forest = kind(100, max_samples=0.6, random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(cross_val_score(kind(100, random_state=0), X, y).mean(), abs=0.05)
    assert forest.score(X, y) > forest.oob_score_ + 0.02


def test_columns_follow_the_classes() -> None:
    """A class that comes later and is lower has the first column."""
    data = mixed_rows(np.random.default_rng(0), N_ROWS)
    forest = fitted(DareForestClassifier, Dataset(data.ids, data.X, data.y + 5))
    forest.add(data.X[:40] + 20, np.zeros(40, int), ids=np.arange(40) + 1000)
    fresh = fitted(
        DareForestClassifier,
        Dataset(forest.ids_, forest.rows(forest.ids_).X.astype(np.float32), forest.rows(forest.ids_).y),
    )
    assert forest.classes_.tolist() == [0, 5, 6, 7]
    assert_array_equal(forest.oob_decision_function_, fresh.oob_decision_function_)
    assert forest.oob_decision_function_[-40:, 0].mean() > 0.5
