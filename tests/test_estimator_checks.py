"""A citizen of scikit-learn: its own checks, and the tools that people use with estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import sklearn
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from deciduous import DareForestClassifier, DareForestRegressor
from strategies import Forest


def expected_failures(estimator: Forest) -> dict[str, str]:
    """Checks that this forest fails for a reason."""
    failures = {}
    if isinstance(estimator, DareForestClassifier):
        # The check sets min_weight_fraction_leaf where an estimator has it. We do not: a share of the total weight
        # would make every node depend on every row. Without it the leaves are pure, and class weights cannot change
        # what they say; scikit-learn's own forest fails the check in the same way.
        failures["check_class_weight_classifiers"] = "needs min_weight_fraction_leaf, which is not local"
    if estimator.max_samples is not None:
        reason = "repeated rows are in trees of their own each, those of a weighted row stay together"
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
        failures["check_sample_weight_equivalence_on_sparse_data"] = reason
    return failures


@parametrize_with_checks(
    [
        DareForestClassifier(n_estimators=5),
        DareForestClassifier(n_estimators=5, random_depth=3, criterion="entropy"),
        DareForestClassifier(n_estimators=5, candidates="uniform", n_thresholds=5, lazy=True),
        DareForestClassifier(n_estimators=5, n_thresholds=None, max_samples=0.5),
        DareForestRegressor(n_estimators=5),
        DareForestRegressor(n_estimators=5, random_depth=3, target_range=(-1e6, 1e6)),
        DareForestRegressor(n_estimators=5, candidates="uniform", n_thresholds=5, lazy=True),
        DareForestRegressor(n_estimators=5, n_thresholds=None, max_samples=0.5),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator: Forest, check: object) -> None:
    """Each check of scikit-learn."""
    check(estimator)  # type: ignore[operator]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


def forest(**others: object) -> DareForestClassifier:
    return DareForestClassifier(n_estimators=20, random_state=0, **others)


def test_works_in_a_pipeline_and_cross_validation(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Accuracy on iris is that of any forest."""
    assert cross_val_score(make_pipeline(StandardScaler(), forest()), *iris, cv=5).mean() > 0.9


def test_works_in_a_grid_search_with_processes(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Fitted forests travel between processes, so they must pickle."""
    search = GridSearchCV(forest(), {"max_depth": [2, 10], "random_depth": [0, 2]}, cv=3, n_jobs=2).fit(*iris)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.verify()


def test_works_with_calibration(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Calibrated shares are shares."""
    shares = CalibratedClassifierCV(forest(), cv=3).fit(*iris).predict_proba(iris[0])
    assert np.allclose(shares.sum(axis=1), 1)


def test_permutation_importance_finds_the_petals(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Columns 2 and 3 are what tells the flowers apart; our own importances agree."""
    X, y = iris
    fitted = forest().fit(X, y)
    by_permutation = permutation_importance(fitted, X, y, n_repeats=3, random_state=0).importances_mean
    assert set(np.argsort(by_permutation)[-2:]) == {2, 3}
    assert set(np.argsort(fitted.feature_importances_)[-2:]) == {2, 3}
    assert fitted.feature_importances_.sum() == pytest.approx(1)


def test_ids_and_weights_are_routed_to_fit(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """With metadata routing, cross-validation hands each forest the ids and weights of its own rows."""
    X, y = iris
    with sklearn.config_context(enable_metadata_routing=True):
        routed = forest().set_fit_request(ids=True, sample_weight=True).set_score_request(sample_weight=False)
        metadata = {"ids": np.arange(150) + 1000, "sample_weight": np.arange(150) % 3}
        result = cross_validate(routed, X, y, cv=3, params=metadata, return_estimator=True, return_indices=True)
    for fitted, train in zip(result["estimator"], result["indices"]["train"], strict=True):
        assert set(fitted.ids_ - 1000) == {i for i in train if i % 3}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csr", "csc", "list"])
def test_rows_of_any_kind_give_the_same_forest(iris: tuple[np.ndarray, np.ndarray], kind: str) -> None:
    """Frames bring their names of columns along; sparse matrices are made dense."""
    X, y = iris
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(X, columns=names)
    rows: Any = {
        "pandas": frame,
        "polars": polars.DataFrame(X, schema=names),
        "pyarrow": pyarrow.Table.from_pandas(frame),
        "csr": csr_matrix(X),
        "csc": csc_matrix(X),
        "list": X.tolist(),
    }[kind]
    fitted = forest().fit(rows, y)
    assert fitted.fingerprint() == forest().fit(X, y).fingerprint()
    assert (fitted.predict_proba(rows) == forest().fit(X, y).predict_proba(X)).all()
    if kind in ("pandas", "polars", "pyarrow"):
        assert fitted.feature_names_in_.tolist() == names


def test_verbose_shows_a_bar_and_changes_nothing(
    iris: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    """For fit and verify, with the number of trees."""
    loud = forest(verbose=1).fit(*iris)
    assert loud.verify()
    shown = capsys.readouterr().err
    assert "Training" in shown
    assert "Retraining" in shown
    assert "20/20" in shown
    assert loud.fingerprint() == forest().fit(*iris).fingerprint()
    assert capsys.readouterr() == ("", "")


def test_clone_is_unfitted_with_the_same_parameters(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """As scikit-learn asks of every estimator."""
    fitted = forest(max_depth=4).fit(*iris)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")


def test_html_representation_names_the_estimator() -> None:
    """What a notebook shows."""
    assert "DareForestClassifier" in forest()._repr_html_()


def test_apply_and_decision_path_agree_with_the_nodes(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Every training row reaches the leaf that holds it, along a path from the root of each tree."""
    X, y = iris
    fitted = forest().fit(X, y)
    leaves = fitted.apply(X)
    paths, begins = fitted.decision_path(X)
    assert leaves.shape == (150, 20)
    assert begins[-1] == paths.shape[1]
    for tree in range(20):
        nodes = fitted.tree_nodes(tree)
        assert all(row in nodes[leaf].ids for row, leaf in enumerate(leaves[:, tree]))
        its_paths = paths[:, begins[tree] : begins[tree + 1]].toarray()
        assert its_paths[:, 0].all()
        assert all(its_paths[row].nonzero()[0][-1] == leaf for row, leaf in enumerate(leaves[:, tree]))
        assert (its_paths.sum(axis=1) == [nodes[leaf].depth + 1 for leaf in leaves[:, tree]]).all()


def test_depth_and_leaves_are_counted(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Over all trees."""
    fitted = forest().fit(*iris)
    nodes = [fitted.tree_nodes(tree) for tree in range(20)]
    assert fitted.get_depth() == max(node.depth for tree in nodes for node in tree)
    assert fitted.get_n_leaves() == sum(node.kind == "leaf" for tree in nodes for node in tree)


def test_partial_fit_batch_by_batch_is_fit(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """In three batches, the first with one class only."""
    X, y = iris
    whole = forest().fit(X, y)
    parts = forest()
    for rows in np.split(np.arange(150), [40, 90]):
        parts.partial_fit(X[rows], y[rows], ids=rows)
    assert parts.fingerprint() == whole.fingerprint()
    assert parts.classes_.tolist() == [0, 1, 2]
    named = forest().partial_fit(X[:40], y[:40], classes=[2, 1, 0])
    assert named.classes_.tolist() == [0, 1, 2]
    assert named.predict_proba(X).shape == (150, 3)
