"""Forests on a cluster are those of one process, whoever holds which trees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import deciduous
from deciduous import (
    DareForestClassifier,
    DareForestRegressor,
    EmptyForestError,
    InvalidInputError,
    RowExistsError,
    UnknownRowError,
    UnknownSubjectError,
)

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
RayForestClassifier, RayForestRegressor = ray_forests.RayForestClassifier, ray_forests.RayForestRegressor
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

N_ROWS = 1500
SMALL: dict[str, Any] = {"n_estimators": 11, "max_depth": 8, "random_state": 3}


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, np.where(np.nan_to_num(X[:, 0]) + rng.normal(size=N_ROWS) > 0, "yes", "no")


def people() -> pd.DataFrame:
    """A table with everything that rows can have."""
    X, y = numbers()
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["colour"] = pd.Categorical(rng.choice(["red", "green", None], N_ROWS))
    table["y"], table["amount"] = y, rng.normal(size=N_ROWS) * 100
    table["row_id"] = [f"r-{i}" for i in range(N_ROWS)]
    table["person"] = [f"u-{i // 3}" if i % 7 else None for i in range(N_ROWS)]
    table["weight"] = rng.integers(0, 4, N_ROWS)
    return table


@contextmanager
def on_cluster(forest: Any) -> Iterator[Any]:
    try:
        yield forest
    finally:
        forest.shut_down()


@pytest.mark.parametrize("max_samples", [None, 0.3])
@pytest.mark.parametrize("n_workers", [1, 2, 3, 5])
def test_fingerprint_and_predictions_are_those_of_one_process(n_workers: int, max_samples: float | None) -> None:
    """For any number of workers, with all rows or a part of them each, through deletions, additions and new classes."""
    X, y = numbers()
    local = DareForestClassifier(**SMALL, max_samples=max_samples).fit(X, y)
    with on_cluster(RayForestClassifier(**SMALL, max_samples=max_samples, n_workers=n_workers)) as forest:
        forest.fit(X, y)
        assert forest.fingerprint() == local.fingerprint()
        for act in (
            lambda its: its.delete(range(0, 300, 7)),
            lambda its: its.add(X[:5], ["maybe", *y[1:5]], ids=range(5000, 5005)),
            lambda its: its.update(X[10:14], y[12:16], ids=[10, 11, 12, 5000], delete=[100]),
        ):
            assert act(forest) == act(local)
        assert forest.fingerprint() == local.fingerprint()
        assert forest.verify().matches
        assert forest.check()
        assert forest.classes_.tolist() == ["maybe", "no", "yes"]
        np.testing.assert_array_equal(forest.predict_proba(X), local.predict_proba(X))
        np.testing.assert_array_equal(forest.predict(X), local.predict(X))
        np.testing.assert_array_equal(forest.ids_, local.ids_)


def test_regressor_is_that_of_one_process() -> None:
    """Sums of targets are the same wherever rows are."""
    X, _ = numbers()
    y = np.nan_to_num(X[:, 0]) * 3 + np.random.default_rng(2).normal(size=N_ROWS)
    local = DareForestRegressor(**SMALL).fit(X, y)
    with on_cluster(RayForestRegressor(**SMALL, n_workers=3).fit(X, y)) as forest:
        assert forest.delete([3, 4]) == local.delete([3, 4])
        assert forest.fingerprint() == local.fingerprint()
        np.testing.assert_array_equal(forest.predict(X), local.predict(X))
        assert forest.target_range_ == local.target_range_
        with pytest.raises(InvalidInputError, match="to_local"):
            forest.predict(X, quantiles=[0.5])


@pytest.mark.parametrize("max_samples", [None, 0.4])
def test_parquet_files_give_the_forest_of_their_rows(tmp_path: Path, max_samples: float | None) -> None:
    """With categories, names, people and weights; wherever the files are cut."""
    table = people()
    for number, part in enumerate(np.array_split(np.arange(N_ROWS), 5)):
        table.iloc[part].drop(columns="amount").to_parquet(tmp_path / f"rows-{number}.parquet", row_group_size=100)
    features = table[[*"abcde", "colour"]]
    options = {**SMALL, "max_samples": max_samples, "class_weight": "balanced", "categorical_features": ["colour"]}
    local = DareForestClassifier(**options).fit(
        features, table["y"], ids=table["row_id"], subjects=table["person"], sample_weight=table["weight"]
    )
    columns = {"target": "y", "id": "row_id", "subject": "person", "weight": "weight"}
    with on_cluster(RayForestClassifier(**options, n_workers=3)) as forest:
        forest.fit(str(tmp_path / "rows-*.parquet"), **columns)
        assert forest.fingerprint() == local.fingerprint()
        assert forest.delete(subjects=["u-17"]).ids == local.delete(subjects=["u-17"]).ids
        some = local.ids_[100:110].tolist()
        assert forest.delete(ids=some) == local.delete(ids=some)
        assert forest.fingerprint() == local.fingerprint()
        assert forest.to_bytes() == local.to_bytes()
        np.testing.assert_array_equal(forest.predict_proba(features), local.predict_proba(features))


def test_numbers_in_parquet_files_as_targets(tmp_path: Path) -> None:
    """Rows without ids are counted through all files."""
    table = people()
    paths = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    for path, part in zip(paths, np.array_split(np.arange(N_ROWS), 3), strict=True):
        table[[*"abcde", "amount"]].iloc[part].to_parquet(path)
    local = DareForestRegressor(**SMALL).fit(table[list("abcde")], table["amount"])
    forest = RayForestRegressor(**SMALL, n_workers=2, durable=True).fit(paths, target="amount")
    with on_cluster(forest):
        assert forest.fingerprint() == local.fingerprint()


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    """With what is wrong, and nothing left behind."""
    table = people()
    path = tmp_path / "rows.parquet"
    table.to_parquet(path)
    table.iloc[:1].to_parquet(tmp_path / "twice.parquet")
    with on_cluster(RayForestClassifier(**SMALL, categorical_features=["colour"], n_workers=1)) as forest:
        for columns, message in (
            ({}, "target="),
            ({"target": "z"}, "names no column"),
            ({"target": "y", "id": "row_id"}, "person.*text"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                forest.fit(path, **columns)
        with pytest.raises(InvalidInputError, match="name a row twice, such as r-0"):
            forest.fit([path, tmp_path / "twice.parquet"], target="y", id="row_id", subject="person")
        with pytest.raises(InvalidInputError, match="There is no file"):
            forest.fit(tmp_path / "other.parquet", target="y")
        with pytest.raises(InvalidInputError, match="Files have all columns in them"):
            forest.fit(path, table["y"])
        with pytest.raises(NotFittedError):
            forest.fingerprint()


def test_a_fit_that_fails_leaves_the_former_forest() -> None:
    """It predicts and deletes as before."""
    X, y = numbers()
    local = DareForestClassifier(**SMALL).fit(X, y)
    with on_cluster(RayForestClassifier(**SMALL, n_workers=2).fit(X, y)) as forest:
        with pytest.raises(InvalidInputError, match="1499 labels"):
            forest.fit(X, y[:-1])
        np.testing.assert_array_equal(forest.predict_proba(X), local.predict_proba(X))
        assert forest.delete([1]) == local.delete([1])
        assert forest.fingerprint() == local.fingerprint()


def test_local_forests_come_and_go_with_their_fingerprint(tmp_path: Path) -> None:
    """Through a file, too; with names of every kind."""
    X, y = numbers()
    ids = [UUID(int=i) for i in range(N_ROWS)]
    local = DareForestClassifier(**SMALL).fit(X, y, ids=ids, subjects=[i // 2 for i in range(N_ROWS)])
    with on_cluster(RayForestClassifier.from_local(local, n_workers=2)) as forest:
        assert forest.fingerprint() == local.fingerprint()
        assert forest.delete(subjects=[4]) == local.delete(subjects=[4])
        assert forest.to_local().fingerprint() == local.fingerprint()
        forest.save(tmp_path / "m.forest")
        assert deciduous.load(tmp_path / "m.forest").ids_.tolist() == local.ids_.tolist()
        assert forest.ids_of([7]) == ids[14:16]
        held, its = forest.rows(subjects=[5]), local.rows(subjects=[5])
        assert (held.ids, held.subjects, held.y.tolist()) == (its.ids, its.subjects, its.y.tolist())
    with on_cluster(RayForestClassifier.load(tmp_path / "m.forest", n_workers=3)) as forest:
        assert forest.fingerprint() == local.fingerprint()


def test_errors_are_those_of_one_process() -> None:
    """Nothing changes, and each says what is wrong."""
    X, y = numbers()
    with on_cluster(RayForestClassifier(**SMALL, n_workers=2)) as forest:
        with pytest.raises(NotFittedError):
            forest.predict(X)
        forest.fit(X, y)
        before = forest.fingerprint()
        with pytest.raises(UnknownRowError, match="9999"):
            forest.delete([1, 9999])
        with pytest.raises(UnknownSubjectError, match="nobody"):
            forest.delete(subjects=["nobody"])
        with pytest.raises(RowExistsError):
            forest.add(X[:1], y[:1], ids=[4])
        with pytest.raises(ValueError, match="3 features"):
            forest.predict(X[:, :3])
        assert forest.fingerprint() == before
        forest.delete(forest.ids_)
        with pytest.raises(EmptyForestError):
            forest.predict(X)
        forest.add(X, y, ids=range(N_ROWS))
        assert forest.fingerprint() == before


def test_everything_else_is_answered_as_in_one_process() -> None:
    """What the local estimator has is here, too."""
    X, y = numbers()
    local = DareForestClassifier(**SMALL).fit(X, y)
    with on_cluster(RayForestClassifier(**SMALL, n_workers=3).fit(X, y)) as forest:
        assert forest.deletion_cost([1, 2]) == local.deletion_cost([1, 2])
        np.testing.assert_array_equal(forest.deletion_costs([1, 2]), local.deletion_costs([1, 2]))
        np.testing.assert_array_equal(forest.apply(X[:9]), local.apply(X[:9]))
        np.testing.assert_array_equal(forest.feature_importances_, local.feature_importances_)
        assert forest.tree_nodes(7) == local.tree_nodes(7)
        assert (forest.get_depth(), forest.get_n_leaves()) == (local.get_depth(), local.get_n_leaves())
        assert forest.class_counts_ == local.class_counts_
        assert forest.n_rows_ == local.n_rows_
        assert forest.score(X, y) == local.score(X, y)
        assert forest.memory_usage().structure > 0
        assert forest.settle() == 0
        np.testing.assert_array_equal(forest.freeze().predict_proba(X), local.predict_proba(X))
        again = clone(forest)
        assert again.get_params() == forest.get_params()
        status = forest.status()
        assert [worker["trees"] for worker in status["workers"]] == [3, 4, 4]
        assert {worker["rows"] for worker in status["workers"]} == {N_ROWS}


def test_a_new_driver_finds_a_forest_by_its_name(tmp_path: Path) -> None:
    """And changes it; the former one sees the change."""
    X, y = numbers()
    local = DareForestClassifier(**SMALL).fit(X, y)
    with on_cluster(RayForestClassifier(**SMALL, n_workers=2, name="clinic", folder=tmp_path).fit(X, y)) as forest:
        other = RayForestClassifier.connect("clinic")
        other.delete([5])
        local.delete([5])
        np.testing.assert_array_equal(forest.predict_proba(X), local.predict_proba(X))
        assert other.get_params()["n_estimators"] == 11
        with pytest.raises(InvalidInputError, match="classification"):
            RayForestRegressor.connect("clinic")
    with pytest.raises(ray_forests.UnknownForestError, match="no forest 'clinic'"):
        RayForestClassifier.connect("clinic")
