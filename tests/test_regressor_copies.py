"""Copies of a regressor, however they are made, are the same forest, and lead a life of their own."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from deciduous import DareForestRegressor, FrozenForestRegressor

X, Y = load_diabetes(return_X_y=True)
FIT, PROBES = slice(0, 300), X[300:]


def through_joblib(forest: Any) -> Any:
    stream = io.BytesIO()
    joblib.dump(forest, stream)
    stream.seek(0)
    return joblib.load(stream)


def through_skops(forest: Any) -> Any:
    skops_io = pytest.importorskip("skops.io")
    stored = skops_io.dumps(forest)
    return skops_io.loads(stored, trusted=skops_io.get_untrusted_types(data=stored))


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda forest: pickle.loads(pickle.dumps(forest)),
    "pickle protocol 2": lambda forest: pickle.loads(pickle.dumps(forest, protocol=2)),
    "joblib": through_joblib,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "skops": through_skops,
}


def regressor(**params: Any) -> DareForestRegressor:
    arguments = {"n_estimators": 6, "max_samples": 0.7, "target_range": (0.0, 400.0), "random_state": 0} | params
    return DareForestRegressor(**arguments)


def fitted(scale: float = 1.0) -> DareForestRegressor:
    """Fitted on some rows, some of which are gone since."""
    forest = regressor(target_range=(0.0, 400.0 * scale)).fit(X[FIT], scale * Y[FIT], subjects=np.arange(300) // 2)
    forest.delete(range(0, 100, 7))
    return forest


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e290])
def test_copy_is_the_same_forest(how: str, scale: float) -> None:
    """With its parameters, its targets, its predictions and its subjects."""
    forest = fitted(scale)
    twin = COPIES[how](forest)
    assert isinstance(twin, DareForestRegressor)
    assert twin.get_params() == forest.get_params()
    assert twin.fingerprint() == forest.fingerprint()
    assert twin.target_range_ == forest.target_range_
    assert twin.subjects_ == forest.subjects_
    assert twin.rows(twin.ids_).y.tobytes() == forest.rows(forest.ids_).y.tobytes()
    assert twin.predict(PROBES).tobytes() == forest.predict(PROBES).tobytes()
    assert twin.predict_interval(PROBES).tobytes() == forest.predict_interval(PROBES).tobytes()
    assert twin.oob_prediction_.tobytes() == forest.oob_prediction_.tobytes()
    assert twin.check()
    assert twin.verify()


@pytest.mark.parametrize("how", COPIES)
def test_copy_leads_a_life_of_its_own(how: str) -> None:
    """Rows that leave the forest stay in its copy, which takes the same updates with the same result."""
    forest = fitted()
    twin = COPIES[how](forest)
    before = twin.fingerprint()
    report = forest.delete([1, 2, 3])
    forest.add(X[310:320], Y[310:320], ids=range(1000, 1010))
    assert twin.fingerprint() == before
    assert twin.delete([1, 2, 3]) == report
    twin.add(X[310:320], Y[310:320], ids=range(1000, 1010))
    assert twin.fingerprint() == forest.fingerprint()


@pytest.mark.parametrize("how", COPIES)
def test_copy_of_a_frozen_forest_predicts_the_same(how: str) -> None:
    """To the last bit."""
    frozen = fitted().freeze()
    twin = COPIES[how](frozen)
    assert isinstance(twin, FrozenForestRegressor)
    assert twin.to_bytes() == frozen.to_bytes()
    assert twin.predict(PROBES).tobytes() == frozen.predict(PROBES).tobytes()


@pytest.mark.parametrize("how", COPIES)
def test_copy_of_an_unfitted_forest_is_unfitted(how: str) -> None:
    """And can be fitted like the original."""
    twin = COPIES[how](regressor())
    assert not hasattr(twin, "seed_")
    assert twin.fit(X, Y).fingerprint() == regressor().fit(X, Y).fingerprint()


def test_clone_has_the_parameters_but_not_the_rows() -> None:
    """As scikit-learn's tools expect; frozen forests cannot be fitted again, so their clone is the forest itself."""
    forest = fitted()
    twin = clone(forest)
    assert twin.get_params() == forest.get_params()
    assert not hasattr(twin, "seed_")
    assert twin.fit(X, Y).fingerprint() == regressor().fit(X, Y).fingerprint()
    frozen = forest.freeze()
    assert clone(frozen) is frozen
