"""Model files: what is loaded is what was saved, down to the bit, and a crash while saving never costs the old file."""

import copy
import errno
import json
import os
import pickle
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import deciduous
from deciduous import DareForestClassifier, DareForestRegressor, EmptyForestError, InvalidInputError, _container
from deciduous._container import read_container
from deciduous._state import target_scale_from, target_scale_state
from deciduous._targets import LARGEST_TARGET, TargetScale
from file_format import as_json
from make_golden_files import GOLDEN_FOLDER
from strategies import TARGETS, TUNINGS, Dataset, datasets, options_for, train_forest
from tampering import Forest
from test_forest import SMALL, fitted_on, rows_of, small_forest

PROBES = rows_of(40, seed=3).X
N_FRESH = 5
EVERY_KIND = [DareForestClassifier, DareForestRegressor]


def copied(forest: Any) -> Any:
    """The forest after a trip through bytes."""
    return type(forest).from_bytes(forest.to_bytes())


def assert_same(loaded: Forest, forest: Forest, probes: np.ndarray = PROBES) -> None:
    """Everything that a user can see is the same, and what is inside is consistent."""
    assert loaded.fingerprint() == forest.fingerprint()
    assert loaded.ids_.tolist() == forest.ids_.tolist()
    assert loaded.n_rows_ == forest.n_rows_
    assert loaded.n_features_in_ == forest.n_features_in_
    assert loaded.seed_ == forest.seed_
    assert loaded.check()
    assert loaded.verify()
    assert type(loaded) is type(forest)
    if isinstance(forest, DareForestRegressor):
        assert_same_numbers(loaded, forest, probes)
    else:
        assert_same_classes(loaded, forest, probes)


def assert_same_numbers(loaded: DareForestRegressor, forest: DareForestRegressor, probes: np.ndarray) -> None:
    """Targets of rows, their limits, and predictions."""
    assert loaded.target_range_ == forest.target_range_
    assert loaded.rows(loaded.ids_).y.tobytes() == forest.rows(forest.ids_).y.tobytes()
    if forest.n_rows_:
        assert loaded.predict(probes).tobytes() == forest.predict(probes).tobytes()
        assert loaded.predict_interval(probes).tobytes() == forest.predict_interval(probes).tobytes()


def assert_same_classes(loaded: DareForestClassifier, forest: DareForestClassifier, probes: np.ndarray) -> None:
    """Labels and weights of the classes that have rows, and predictions."""
    has_rows = np.array(list(forest.class_counts_.values())) > 0
    classes = forest.classes_[has_rows]
    assert loaded.classes_.tolist() == classes.tolist()
    is_text = classes.dtype.kind == "U"  # as wide as the longest label, which may be less than before
    assert loaded.classes_.dtype == (np.array(classes.tolist(), dtype=str).dtype if is_text else classes.dtype)
    weights = forest.class_weight_
    if forest.class_weight == "balanced":
        weights = {label: weight for label, weight in weights.items() if label in classes.tolist()}
    assert loaded.class_weight_ == weights
    if forest.n_rows_:
        assert loaded.predict_proba(probes).tobytes() == forest.predict_proba(probes)[:, has_rows].tobytes()
        assert loaded.predict(probes).tolist() == forest.predict(probes).tolist()


def targets_to_add(loaded: Forest, forest: Forest, n_rows: int) -> np.ndarray:
    """Labels of classes that are there, or numbers up to the limits."""
    if isinstance(loaded, DareForestRegressor):
        return np.resize(np.linspace(*loaded.target_range_, 5), n_rows)
    return np.resize(loaded.classes_ if len(loaded.classes_) else forest.classes_, n_rows)


def assert_goes_on_alike(loaded: Forest, forest: Forest) -> None:
    """Deleting and adding does the same to both, whatever labels the rows have."""
    doomed = forest.ids_[:: max(1, forest.n_rows_ // 7)]
    assert loaded.delete(doomed).n_rows == forest.delete(doomed).n_rows
    assert loaded.fingerprint() == forest.fingerprint()
    X = np.resize(PROBES, (N_FRESH, forest.n_features_in_))
    y = targets_to_add(loaded, forest, N_FRESH)
    ids = [2**61 + number for number in range(N_FRESH)] if forest._names.kind is None else None
    assert loaded.add(X, y, ids=ids).ids == forest.add(X, y, ids=ids).ids
    assert loaded.fingerprint() == forest.fingerprint()
    assert loaded.check()
    assert loaded.verify()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_settled_forest_from_a_file_has_the_statistics_of_large_nodes_again(kind: type[Forest]) -> None:
    """Files have none. What follows is the same with them and without."""
    random = np.random.default_rng(2)
    X = random.normal(size=(3_000, 4)).astype(np.float32)
    y = (X[:, 0] + random.normal(size=len(X)) > 0).astype(int)
    forest = kind(n_estimators=3, max_depth=8, random_state=4).fit(X, y)
    loaded, settled = copied(forest), copied(forest)
    assert loaded.memory_usage().decision_stats < 1_000
    assert settled.settle() == 0
    n_bytes = settled.memory_usage().decision_stats
    assert 1_000 < n_bytes <= forest.memory_usage().decision_stats  # small nodes get theirs when rows pass
    assert settled.settle() == 0
    assert settled.memory_usage().decision_stats == n_bytes
    assert settled.check()
    for row_id in (5, 2_000, 17):
        reports = {its.delete([row_id]).n_rows_retrained for its in (forest, loaded, settled)}
        assert len(reports) == 1
    assert settled.fingerprint() == loaded.fingerprint() == forest.fingerprint()


def sections_of(forest: Forest) -> dict[str, bytes]:
    """What the file of a forest consists of."""
    return {name: bytes(data) for name, data in read_container(memoryview(forest.to_bytes())).items()}


# ------------------------------------------------------------------------------------------------------ round trips

OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "random nodes": {"random_depth": 3},
    "random trees": {"random_depth": 10},
    "all thresholds": {"n_thresholds": None},
    "uniform candidates": {"candidates": "uniform", "n_thresholds": 3},
    "extra trees": {"candidates": "uniform", "n_thresholds": 1},
    "entropy": {"criterion": "entropy"},
    "stable": {"stability": 0.25},
    "stable, a whole number": {"stability": 1},
    "all features": {"max_features": None},
    "share of features": {"max_features": 0.5},
    "log2 features": {"max_features": "log2"},
    "no depth limit": {"max_depth": None},
    "one level": {"max_depth": 1},
    "large leaves": {"min_samples_leaf": 7, "min_samples_split": 20},
    "sampled rows": {"max_samples": 0.3},
    "some trees without rows": {"n_estimators": 50, "max_samples": 0.02},
    "weights of classes": {"class_weight": {0: 3.5, 2: 0.1}},
    "balanced classes": {"class_weight": "balanced"},
    "weights of classes that do not exist": {"class_weight": {0: 2.0, 99: 7.0}},
    "lazy": {"lazy": True},
    "threads": {"n_jobs": 2},
    "largest seed": {"random_state": 2**64 - 1},
    "one tree": {"n_estimators": 1},
}


OF_CLASSES = {"class_weight", "criterion", "stability"}
REGRESSION_OPTIONS: dict[str, dict[str, Any]] = {
    f"regressor, {name}": options | {"criterion": "squared_error"}
    for name, options in OPTIONS.items()
    if not OF_CLASSES & set(options)
} | {
    "regressor, target range": {"criterion": "squared_error", "target_range": (-3, 1e3)},
    "regressor, target range of one number": {"criterion": "squared_error", "target_range": (7.5, 7.5)},
}


def targets_of(data: Dataset) -> np.ndarray:
    """Numbers that depend on the values, with noise: few of them are equal."""
    return data.y + np.sin(100 * data.X[:, 0]).astype(np.float64)


def forest_of(data: Dataset, options: dict[str, Any]) -> Forest:
    """A small forest, a regressor if that is its criterion."""
    if options.get("criterion") != "squared_error":
        return fitted_on(data, **options)
    plain = {name: value for name, value in SMALL.items() if name not in OF_CLASSES}
    return DareForestRegressor(**(plain | options)).fit(data.X, targets_of(data), ids=data.ids)


@pytest.mark.parametrize("options", (OPTIONS | REGRESSION_OPTIONS).values(), ids=OPTIONS | REGRESSION_OPTIONS)
def test_every_parameter_survives_a_round_trip(options: dict[str, Any], tmp_path: Path) -> None:
    """The loaded forest is the same, has the same parameters, and goes on in the same way."""
    data = rows_of(150)
    forest = forest_of(data, options)
    forest.save(tmp_path / "model.forest")
    loaded = deciduous.load(tmp_path / "model.forest")
    assert loaded.get_params() == forest.get_params()
    assert_same(loaded, forest)
    assert_goes_on_alike(loaded, forest)


@settings(max_examples=80)
@given(data=datasets() | datasets(labels=TARGETS), tuning=TUNINGS, draw=st.data())
def test_any_forest_survives_a_round_trip(data: Any, tuning: dict[str, int], draw: st.DataObject) -> None:
    """Tiny hostile data sets with every combination of parameters, before and after an update."""
    forest = train_forest(data, draw.draw(options_for(data)), tuning)
    loaded = copied(forest)
    assert_same(loaded, forest, data.X)
    assert loaded.to_bytes() == forest.to_bytes()
    doomed = draw.draw(st.lists(st.sampled_from(forest.ids_.tolist()), unique=True))
    forest.delete(doomed)
    loaded.delete(doomed)
    assert_same(copied(loaded), forest, data.X)
    assert loaded.to_bytes() == forest.to_bytes()


TARGET = st.floats(-LARGEST_TARGET, LARGEST_TARGET)
CLOSE_TARGETS = st.builds(lambda number, step: (number, number * (1 - step * 2.0**-53)), TARGET, st.integers(0, 50))


@settings(max_examples=1000)
@given(ends=st.tuples(TARGET, TARGET) | CLOSE_TARGETS)
def test_scale_of_any_range_of_targets_survives(ends: tuple[float, float]) -> None:
    """Whatever range a user gives, its file can be read again: none has an exponent or offset that is refused."""
    scale = TargetScale.of_range(min(ends), max(ends))
    assert target_scale_from(json.loads(as_json(target_scale_state(scale)))) == scale


def test_empty_regressor_survives() -> None:
    """A regressor whose rows were all deleted keeps the scale of its targets; with its rows it is what it was."""
    data = rows_of(50)
    forest = forest_of(data, {"criterion": "squared_error"})
    before, y = forest.fingerprint(), targets_of(data)
    forest.delete(forest.ids_)
    loaded = copied(forest)
    assert_same(loaded, forest)
    with pytest.raises(EmptyForestError):
        loaded.predict(PROBES)
    loaded.add(data.X, y, ids=data.ids)
    assert loaded.fingerprint() == before


LABELS: dict[str, np.ndarray] = {
    "strings": np.array(["no", "yes", "perhaps"]),
    "unicode": np.array(["ä", "日本", "🌲 tree", "", " "]),
    "strings that look like numbers": np.array(["1", "1.0", "True"]),
    "strings of a wide type": np.array(["a", "b"], dtype="<U40"),
    "objects": np.array(["no", "yes"], dtype=object),
    "booleans": np.array([False, True]),
    "bytes of a kind": np.array([-128, 127], dtype=np.int8),
    "small unsigned": np.array([0, 65535], dtype=np.uint16),
    "large integers": np.array([-(2**63), 0, 2**63 - 1]),
    "large unsigned": np.array([0, 2**64 - 1], dtype=np.uint64),
    "whole floats": np.array([0.0, 1.0, -3.0]),
    "whole narrow floats": np.array([0.0, 1.0, -3.0], dtype=np.float32),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind_survive(labels: np.ndarray) -> None:
    """Values and type of the labels are the same, and predictions too."""
    data = rows_of(90)
    forest = small_forest().fit(data.X, labels[np.arange(90) % len(labels)])
    loaded = copied(forest)
    assert_same(loaded, forest)
    assert_goes_on_alike(loaded, forest)
    assert loaded.to_bytes() == forest.to_bytes()


@pytest.mark.parametrize("dtype", ["<f2", ">i8", ">f8", ">U5"])
def test_labels_of_rare_types_can_be_saved(dtype: str) -> None:
    """What fit accepts, save stores: half floats, and numbers and strings in the other byte order."""
    data = rows_of(40)
    forest = small_forest().fit(data.X, (data.y > 0).astype(dtype))
    loaded = copied(forest)
    assert loaded.classes_.tolist() == forest.classes_.tolist()
    assert loaded.fingerprint() == forest.fingerprint()
    assert loaded.predict(PROBES).tolist() == forest.predict(PROBES).tolist()


@pytest.mark.parametrize("label", [None, (1, 2)], ids=["none", "tuple"])
def test_class_weights_of_impossible_labels_do_not_make_a_file_unreadable(label: Any) -> None:
    """A weight for something that is no label is refused by fit, or can be saved and loaded; it is not lost later."""
    data = rows_of(40)
    try:
        forest = small_forest(class_weight={0: 2.0, label: 3.0}).fit(data.X, data.y)
    except ValueError:
        return
    assert_same(copied(forest), forest)


def test_missing_values_survive() -> None:
    """NaN, columns of nothing but NaN, and one number among NaN."""
    data = rows_of(80)
    X = data.X.copy()
    X[::3, 0] = np.nan
    X[:, 1] = np.nan
    X[1:, 2] = np.nan
    X[::2, 3] = -0.0
    forest = small_forest(random_depth=2).fit(X, data.y)
    loaded = copied(forest)
    assert_same(loaded, forest, X)
    assert_goes_on_alike(loaded, forest)


def test_columns_of_many_values_survive() -> None:
    """With more than 256 values a column is stored plainly."""
    X = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
    X[:, 1] = np.arange(600) % 256
    forest = small_forest().fit(X, X[:, 0] > 0)
    loaded = copied(forest)
    assert_same(loaded, forest, X[:50])
    assert_goes_on_alike(loaded, forest)


def test_cached_nodes_go_on_exactly_after_loading() -> None:
    """Statistics of large nodes are not in the file; many small updates after loading are exact all the same."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    forest = small_forest(n_estimators=3, random_depth=1).fit(X, rng.integers(0, 3, 2000))
    loaded = copied(forest)
    for row in range(0, 60, 3):
        assert loaded.delete(row).n_rows == forest.delete(row).n_rows
    for one in (loaded, forest):
        one.add(X[:20] + 1, np.resize([0, 1], 20), ids=range(3000, 3020))
    assert_same(loaded, forest, X[:50])


def test_sample_weights_survive() -> None:
    """A row of weight 3 still counts as three rows."""
    data = rows_of(80)
    weights = np.arange(80) % 4
    forest = small_forest().fit(data.X, data.y, sample_weight=weights)
    loaded = copied(forest)
    assert loaded.n_rows_ == (weights > 0).sum()
    assert_same(loaded, forest)
    assert_goes_on_alike(loaded, forest)
    heavy = np.full(len(data.X), 2**20)
    forest = small_forest().fit(data.X, data.y, sample_weight=heavy)
    assert_same(copied(forest), forest)


def test_class_weights_survive_with_their_scale() -> None:
    """A class added after loading gets the weight that it would have got without saving."""
    data = rows_of(80)
    forest = small_forest(class_weight={0: 0.2, 1: 7.7, 9: 3.3}).fit(data.X, data.y)
    loaded = copied(forest)
    for one in (loaded, forest):
        one.add(PROBES[:10], np.full(10, 9), ids=range(100, 110))
    assert_same(loaded, forest)


def test_balanced_weights_stay_those_of_fit() -> None:
    """They were resolved once; loading does not resolve them anew from the rows that are left."""
    data = rows_of(80)
    forest = small_forest(class_weight="balanced").fit(data.X, data.y)
    forest.delete(np.flatnonzero(data.y == 1)[:10])
    loaded = copied(forest)
    assert loaded.class_weight == "balanced"
    assert_same(loaded, forest)


CLASS_WEIGHTS: dict[str, Any] = {"none": None, "dict": {1: 40.0, 0: 0.3}, "balanced": "balanced"}


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS.values(), ids=CLASS_WEIGHTS)
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_classes_without_rows_leave_with_the_next_copy(gone: int, class_weight: Any) -> None:
    """In memory the column stays, at zero; a loaded forest has none. The forest is the same, and stays the same."""
    data = rows_of(80)
    y = np.array([1, *[0, 2] * 39, 0])[:80]  # class 1 has a single row, and so the largest balanced weight
    forest = small_forest(class_weight=class_weight).fit(data.X, y)
    forest.delete(np.flatnonzero(y == gone))
    loaded = copied(forest)
    assert forest.classes_.tolist() == [0, 1, 2]
    assert (forest.predict_proba(PROBES)[:, gone] == 0).all()
    assert loaded.classes_.tolist() == [label for label in (0, 1, 2) if label != gone]
    assert_same(loaded, forest)
    for label in (7, -1, int(loaded.classes_[0])):  # never seen, never seen, and known
        for one in (loaded, forest):
            one.add(PROBES[:4] + label, [label] * 4, ids=range(1000 * (label + 2), 1000 * (label + 2) + 4))
        assert_same(loaded, forest)
    assert_goes_on_alike(loaded, forest)


@pytest.mark.parametrize("class_weight", [None, {"oak": 40.0}], ids=["none", "dict"])
def test_class_that_comes_back_after_loading_is_what_it_was(class_weight: Any) -> None:
    """Its weight is none, or one that the user gave, so the file need not know that the class was ever there."""
    forest = small_forest(class_weight=class_weight).fit(PROBES, ["elm", "oak"] * 20)
    before = forest.fingerprint()
    forest.delete(range(1, 40, 2))
    loaded = copied(forest)
    assert loaded.classes_.tolist() == ["elm"]
    loaded.add(PROBES[1::2], ["oak"] * 20, ids=range(1, 40, 2))
    assert loaded.fingerprint() == before


def test_balanced_weight_leaves_with_its_class() -> None:
    """In memory, a class that comes back is what it was; after loading it is a class like any that was never seen."""
    forest = small_forest(class_weight="balanced").fit(PROBES, ["elm"] * 30 + ["oak"] * 8 + ["yew"] * 2)
    before = forest.fingerprint()
    forest.delete([38, 39])
    loaded = copied(forest)
    assert set(forest.class_weight_) == {"elm", "oak", "yew"}
    assert set(loaded.class_weight_) == {"elm", "oak"}
    forest.add(PROBES[38:], ["yew"] * 2, ids=[38, 39])
    assert forest.fingerprint() == before
    other = copied(loaded)
    loaded.add(PROBES[38:], ["yew"] * 2, ids=[38, 39])
    other.add(PROBES[38:], ["zelkova"] * 2, ids=[38, 39])
    assert [node.kind for node in loaded.tree_nodes(0)] == [node.kind for node in other.tree_nodes(0)]
    assert loaded.predict_proba(PROBES).tobytes() == other.predict_proba(PROBES).tobytes()


def test_classes_that_came_late_are_in_order() -> None:
    """Labels that came with `add` are where they sort, in a copy as well."""
    data = rows_of(60)
    forest = small_forest().fit(data.X, np.array(["m", "z"])[data.y % 2])
    forest.add(PROBES[:6], ["a", "q", "a longer label than those before", "a", "q", "b"])
    loaded = copied(forest)
    assert loaded.classes_.tolist() == ["a", "a longer label than those before", "b", "m", "q", "z"]
    assert_same(loaded, forest)


def test_classes_known_in_advance_are_not_stored() -> None:
    """`partial_fit` may name classes that have no rows yet; a file cannot tell them from classes that are gone."""
    data = rows_of(60)
    forest = small_forest().partial_fit(data.X, data.y, classes=[0, 1, 2, 3, 4])
    loaded = copied(forest)
    assert_same(loaded, forest)
    assert loaded.predict_proba(PROBES).shape == (40, 3)


@pytest.mark.parametrize("class_weight", ["balanced", None])
@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "a longer label", "c"], [0.0, -1.0, 3.0]], ids=repr)
def test_empty_forest_survives(labels: list[Any], class_weight: Any) -> None:
    """A forest whose rows were all deleted has no classes, and can be saved, loaded and added to."""
    data = rows_of(50)
    y = np.array(labels)[data.y]
    forest = small_forest(max_samples=0.5, class_weight=class_weight).fit(data.X, y)
    forest.delete(forest.ids_)
    loaded = copied(forest)
    assert loaded.classes_.tolist() == []
    assert_same(loaded, forest)
    assert_same(copied(loaded), forest)
    with pytest.raises(EmptyForestError):
        loaded.predict(PROBES)
    fresh = small_forest(max_samples=0.5).fit(data.X, y, ids=range(50))
    if class_weight is None:
        loaded.add(data.X, y, ids=range(50))
        assert_same(loaded, fresh)


def test_postponed_work_is_done_before_saving() -> None:
    """A lazy forest with unbuilt nodes is stored as the forest that it stands for."""
    data = rows_of(300)
    lazy = small_forest(lazy=True).fit(data.X, data.y)
    eager = small_forest().fit(data.X, data.y)
    for forest in (lazy, eager):
        forest.delete(range(0, 300, 2))
    assert lazy._forest.n_unbuilt > 0
    loaded = copied(lazy)
    assert loaded._forest.n_unbuilt == 0
    assert loaded.lazy
    assert_same(loaded, eager)


def test_ids_of_any_size_survive() -> None:
    """Negative ids, and the smallest and largest ones."""
    ids = [-(2**63), -5, 0, 7, 2**62]
    forest = small_forest().fit(PROBES[:5], [0, 1, 0, 1, 1], ids=ids)
    loaded = copied(forest)
    assert loaded.ids_.tolist() == ids
    assert_same(loaded, forest)
    assert_goes_on_alike(loaded, forest)
    forest.add(PROBES[:1], [0], ids=[2**63 - 1])
    assert copied(forest).ids_[-1] == 2**63 - 1


COPIERS: dict[str, Callable[[Any], Any]] = {
    "bytes": copied,
    "pickle": lambda forest: pickle.loads(pickle.dumps(forest)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)
def test_numbers_of_rows_are_random_after_loading(copier: Callable[[Any], Any]) -> None:
    """How far rows were counted is not stored, as it would tell of rows that are gone."""
    forest = small_forest().fit(PROBES, np.arange(40) % 2)
    forest.delete([38, 39])
    first, second = copier(forest).add(PROBES[:2], [0, 1]).ids
    assert 2**62 <= first < second == first + 1 < 2**63
    assert forest.add(PROBES[:2], [0, 1]).ids == (40, 41)


def test_file_is_the_same_whatever_was_deleted() -> None:
    """Rows came and went, with the largest ids, a class and a long label of their own: not a byte tells of them."""
    y = np.array(["elm", "oak"] * 20)
    forest = small_forest().fit(PROBES, y, ids=range(40))
    before = forest.to_bytes()
    forest.add(PROBES[:3], ["a label as long as none of the others"] * 3, ids=[41, 10**6, -7], subjects=[1, 2, 3])
    assert forest.to_bytes() != before
    forest.delete([41, 10**6, -7])
    assert forest.to_bytes() == before


def test_file_of_a_regressor_is_the_same_whatever_was_deleted() -> None:
    """Rows came and went, with targets beyond those of all others: not a byte tells of them."""
    forest = DareForestRegressor(n_estimators=4, random_state=0).fit(PROBES, PROBES[:, 1], ids=range(40))
    before = forest.to_bytes()
    forest.add(PROBES[:3], (*forest.target_range_, 0.125), ids=[41, 10**6, -7])
    assert forest.to_bytes() != before
    forest.delete([41, 10**6, -7])
    assert forest.to_bytes() == before


def test_file_says_what_was_trained() -> None:
    """Parameters that were set after `fit` wait for the next `fit`; those that define no forest are as set."""
    forest = small_forest(max_depth=4, class_weight="balanced", random_state=3).fit(PROBES, np.arange(40) % 2)
    forest.set_params(max_depth=9, class_weight=None, random_state=4, criterion="entropy")
    forest.set_params(n_jobs=2, lazy=True, verbose=0, n_estimators=77)
    loaded = copied(forest)
    trained = {"max_depth": 4, "class_weight": "balanced", "random_state": 3, "criterion": "gini"}
    assert {name: loaded.get_params()[name] for name in trained} == trained
    assert (loaded.n_jobs, loaded.lazy, loaded.n_estimators) == (2, True, forest._forest.n_trees)
    assert copied(copied(forest)).get_params() == loaded.get_params()
    again = clone(loaded).fit(PROBES, np.arange(40) % 2)
    assert again.fingerprint() == forest.fingerprint()


def test_pickle_keeps_what_was_set_and_what_was_trained() -> None:
    """`get_params` of the copy is the original's, as scikit-learn has it; a file of it says what was trained."""
    forest = small_forest(max_depth=4).fit(PROBES, np.arange(40) % 2)
    forest.set_params(max_depth=9)
    other = pickle.loads(pickle.dumps(forest))
    assert other.max_depth == clone(other).max_depth == 9
    assert copied(other).max_depth == 4


WRONG_AT_THE_NEXT_FIT: list[dict[str, Any]] = [
    {"categorical_features": object()},
    {"class_weight": 5},
    {"max_depth": object()},
    {"target_range": "a"},
    {"target_range": 5},
    {"target_range": (0, 10**400)},
]


@pytest.mark.parametrize("wrong", WRONG_AT_THE_NEXT_FIT, ids=lambda its: repr(its)[:30])
def test_parameters_that_are_set_after_fit_do_no_harm_before_the_next(wrong: dict[str, Any]) -> None:
    """A forest is stored, copied and renamed whatever they are; `fit` refuses them."""
    kind, others = (DareForestRegressor, {}) if "target_range" in wrong else (DareForestClassifier, {"max_depth": 4})
    y = np.arange(40) % 2
    forest = kind(n_estimators=3, random_state=0, **others).fit(PROBES, y)
    before = forest.to_bytes()
    forest.set_params(**wrong)
    assert forest.to_bytes() == before
    assert copy.deepcopy(forest).fingerprint() == forest.fingerprint()
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        forest.fit(PROBES, y)
    forest.rename_columns([f"column {i}" for i in range(8)])
    assert kind.from_bytes(forest.to_bytes()).fingerprint() == forest.fingerprint()


@pytest.mark.parametrize("wrong", [{"n_jobs": "all"}, {"n_jobs": 0}, {"lazy": "yes"}, {"verbose": -1}], ids=repr)
def test_parameters_that_no_file_may_have_are_not_saved(wrong: dict[str, Any], tmp_path: Path) -> None:
    """A file that could not be loaded again is not written."""
    forest = small_forest().fit(PROBES, np.arange(40) % 2).set_params(**wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        forest.save(tmp_path / "model.forest")
    assert not any(tmp_path.iterdir())


def test_names_of_columns_survive() -> None:
    """A forest trained on a data frame knows its columns after loading, and refuses others."""
    data = rows_of(60)
    frame = pd.DataFrame(data.X, columns=[f"größe {i}" for i in range(8)])
    forest = small_forest().fit(frame, data.y)
    loaded = copied(forest)
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    assert loaded.feature_names_in_.dtype == forest.feature_names_in_.dtype
    assert loaded.predict_proba(frame).tobytes() == forest.predict_proba(frame).tobytes()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"größe 0": "other"}))
    assert not hasattr(copied(fitted_on(data)), "feature_names_in_")


def test_parameters_that_are_no_plain_values_are_left_out() -> None:
    """A generator is not stored; the seed that it gave is."""
    data = rows_of(40)
    forest = small_forest(random_state=np.random.RandomState(5)).fit(data.X, data.y)
    loaded = copied(forest)
    assert loaded.random_state is None
    assert_same(loaded, forest)


def test_numpy_parameters_are_stored_as_plain_ones() -> None:
    """A parameter that came out of a grid of NumPy numbers does not hinder saving."""
    data = rows_of(40)
    options = {"n_estimators": np.int64(3), "max_samples": np.float64(0.5), "lazy": np.bool_(True)}
    forest = small_forest(**options, class_weight={np.int64(1): np.float32(2.0)}).fit(data.X, data.y)
    loaded = copied(forest)
    assert (loaded.n_estimators, loaded.max_samples, loaded.lazy) == (3, 0.5, True)
    assert_same(loaded, forest)


# -------------------------------------------------------------------------------------------------- canonical bytes


def ranged_regressor(**options: Any) -> DareForestRegressor:
    """An unfitted regressor whose scale does not depend on its rows."""
    return DareForestRegressor(n_estimators=5, max_depth=6, target_range=(0, 5), random_state=0, **options)


@pytest.mark.parametrize("options", [{}, {"max_samples": 0.4, "random_depth": 2}], ids=["plain", "sampled"])
@pytest.mark.parametrize("make", [small_forest, ranged_regressor])
def test_equal_forests_have_equal_bytes(make: Callable[..., Forest], options: dict[str, Any]) -> None:
    """Rows and trees are stored without a trace of how they came about."""
    data = rows_of(120)
    forest = make(**options).fit(data.X, data.y)
    history = make(**options).fit(data.X[60:], data.y[60:], ids=range(60, 120))
    history.add(PROBES, np.arange(40) % 3, ids=range(500, 540))
    history.add(data.X[:60], data.y[:60], ids=range(60))
    history.delete(range(500, 540))
    one, other = sections_of(forest), sections_of(history)
    assert {name for name in one if one[name] != other[name]} <= {"meta"}


def test_bytes_do_not_tell_how_many_values_a_column_once_had() -> None:
    """A column that deletions left with few values is stored as if it had never had more."""
    X = np.arange(400, dtype=np.float32)[:, None]
    y = np.arange(400) % 2
    forest = small_forest().fit(X, y)
    forest.delete(range(50, 400))
    retrained = small_forest().fit(X[:50], y[:50])
    assert forest.fingerprint() == retrained.fingerprint()
    assert sections_of(forest)["rows"] == sections_of(retrained)["rows"]


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path: Path) -> None:
    """Of bytes, of files, and whatever the number of threads."""
    forest = fitted_on(rows_of(100), class_weight="balanced")
    data = forest.to_bytes()
    assert DareForestClassifier.from_bytes(data).to_bytes() == data
    assert DareForestClassifier.from_bytes(bytearray(data), n_jobs=2).to_bytes() == data
    assert DareForestClassifier.from_bytes(memoryview(data)).to_bytes() == data
    forest.save(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == data


# ------------------------------------------------------------------------------------------------- pickle and copies

COPIES: dict[str, Callable[[Any, Path], Any]] = {
    "pickle": lambda forest, _: pickle.loads(pickle.dumps(forest)),
    "pickle protocol 2": lambda forest, _: pickle.loads(pickle.dumps(forest, protocol=2)),
    "joblib": lambda forest, folder: joblib.load(joblib.dump(forest, folder / "forest.joblib")[0]),
    "copy": lambda forest, _: copy.copy(forest),
    "deepcopy": lambda forest, _: copy.deepcopy(forest),
}


@pytest.mark.parametrize("copier", COPIES.values(), ids=COPIES)
def test_copies_are_the_same_and_independent(copier: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    """A copy goes on by itself, and the original does not notice."""
    forest = fitted_on(rows_of(100), class_weight={1: 2.0}, max_samples=0.5)
    before = forest.fingerprint()
    other = copier(forest, tmp_path)
    assert other.get_params() == forest.get_params()
    assert_same(other, forest)
    other.delete(other.ids_[:50])
    assert forest.fingerprint() == before
    assert_goes_on_alike(copier(forest, tmp_path), forest)


def test_pickle_keeps_parameters_that_files_leave_out() -> None:
    """A generator goes through pickle, as for any estimator."""
    data = rows_of(40)
    forest = small_forest(random_state=np.random.RandomState(5)).fit(data.X, data.y)
    assert isinstance(pickle.loads(pickle.dumps(forest)).random_state, np.random.RandomState)


@pytest.mark.parametrize("copier", COPIES.values(), ids=COPIES)
def test_unfitted_forests_can_be_copied(copier: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    """Without rows there are only parameters."""
    forest = small_forest(lazy=True)
    other = copier(forest, tmp_path)
    assert other.get_params() == forest.get_params()
    assert not hasattr(other, "classes_")


def test_clone_of_a_loaded_forest_trains_the_same_forest() -> None:
    """The parameters are those of the forest that was saved."""
    data = rows_of(100)
    forest = fitted_on(data, class_weight={0: 2.0, 1: 0.5}, random_depth=2)
    again = clone(copied(forest)).fit(data.X, data.y, ids=data.ids)
    assert again.fingerprint() == forest.fingerprint()


def test_subclasses_load_as_themselves() -> None:
    """`from_bytes` is a class method."""

    class Special(DareForestClassifier):
        pass

    data = fitted_on(rows_of(30)).to_bytes()
    assert type(Special.from_bytes(data)) is Special


# ---------------------------------------------------------------------------------------------------- saving to disk

FILE_CALLS = ("open", "write", "fsync", "close", "replace")


class PowerCutError(BaseException):
    """The process ends here."""


class FaultyDisk:
    """The functions of `os` that saving uses; the n-th call of them fails, before or after it has had its effect."""

    def __init__(self, fail_at: int | None, error: Callable[[], BaseException], *, after: bool, for_good: bool) -> None:
        self.fail_at = fail_at
        self.error = error
        self.after = after
        self.for_good = for_good  # nothing works from the failure on, clearing up included
        self.calls: list[str] = []
        self.has_failed = False

    def call(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls the function, or fails."""
        if self.has_failed and self.for_good:
            raise PowerCutError
        self.calls.append(name)
        if len(self.calls) - 1 != self.fail_at:
            return function(*args, **kwargs)
        self.has_failed = True
        if name == "close":  # a descriptor is gone even if closing it failed
            function(*args, **kwargs)
        elif name == "write" and self.after:  # the disk became full on the way
            function(args[0], args[1][: len(args[1]) // 2])
        elif self.after:
            result = function(*args, **kwargs)
            if name == "open":
                os_close(result)
        raise self.error()


os_close = os.close


@contextmanager
def faulty(disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Saving meets this disk inside of the block."""
    with monkeypatch.context() as patch:
        for name in (*FILE_CALLS, "unlink"):
            function = getattr(os, name)
            patch.setattr(os, name, lambda *args, _n=name, _f=function, **kw: disk.call(_n, _f, *args, **kw))
        yield


def no_space() -> OSError:
    """What a full disk says."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(scope="module")
def two_forests() -> tuple[DareForestClassifier, DareForestClassifier]:
    """An old forest and a new one."""
    old = fitted_on(rows_of(40), n_estimators=2)
    new = copied(old)
    new.delete(range(10))
    return old, new


def file_calls(forest: DareForestClassifier, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that saving makes when nothing fails."""
    disk = FaultyDisk(None, no_space, after=False, for_good=False)
    with faulty(disk, monkeypatch):
        forest.save(path)
    return disk.calls


def test_file_is_on_the_disk_before_it_takes_its_name(two_forests: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Write, sync, close, rename, and then sync the folder."""
    calls = file_calls(two_forests[0], tmp_path / "model", monkeypatch)
    text = " ".join(calls)
    written = r"open( write)+ fsync close replace open fsync close"
    assert re.fullmatch("open close unlink " + written, text), text  # an empty file tells the mode of new ones
    assert re.fullmatch(written, " ".join(file_calls(two_forests[0], tmp_path / "model", monkeypatch)))


FAILURES = {
    "full disk": (no_space, False),
    "interrupt": (KeyboardInterrupt, False),
    "power cut": (PowerCutError, True),
}


@pytest.mark.parametrize("has_old", [True, False], ids=["over an old file", "new file"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("error", "for_good"), FAILURES.values(), ids=FAILURES)
def test_failure_at_every_file_call_leaves_the_old_file_or_the_new_one(
    two_forests: Any, tmp_path: Path, monkeypatch: Any, error: Any, for_good: bool, after: bool, has_old: bool
) -> None:
    """Each call fails in turn, before or after its effect; nothing is left beside the file unless the power went."""
    old, new = two_forests
    if has_old:
        old.save(tmp_path / "probe")
    n_calls = len(file_calls(new, tmp_path / "probe", monkeypatch))
    assert n_calls > 8
    for n in range(n_calls):
        folder = tmp_path / str(n)
        folder.mkdir()
        path = folder / "model.forest"
        if has_old:
            old.save(path)
        disk = FaultyDisk(n, error, after=after, for_good=for_good)
        with faulty(disk, monkeypatch), pytest.raises((OSError, KeyboardInterrupt, PowerCutError)):
            new.save(path)
        assert disk.has_failed
        n_replace = disk.calls.index("replace") if "replace" in disk.calls else n_calls
        is_new = n > n_replace or (n == n_replace and after)
        assert path.exists() == (has_old or is_new)
        if path.exists():
            assert deciduous.load(path).fingerprint() == (new if is_new else old).fingerprint(), disk.calls[n]
        # A descriptor that nobody got cannot be cleared up after, nor can what cannot be removed.
        if not for_good and (disk.calls[n], after) not in {("open", True), ("unlink", False)}:
            assert {p.name for p in folder.iterdir()} <= {"model.forest"}, disk.calls[n]


def test_saving_works_again_after_a_power_cut(two_forests: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """What a dead process left behind does not stand in the way of one with the same number, as in containers."""
    old, new = two_forests
    path = tmp_path / "model.forest"
    old.save(path)
    n_calls = len(file_calls(old, path, monkeypatch))
    for n in range(n_calls):
        disk = FaultyDisk(n, PowerCutError, after=True, for_good=True)
        with faulty(disk, monkeypatch), pytest.raises(PowerCutError):
            old.save(path)
        new.save(path)
        assert deciduous.load(path).fingerprint() == new.fingerprint()


@pytest.mark.parametrize("at_most", [1, 7, 4096])
def test_short_writes_are_continued(two_forests: Any, tmp_path: Path, monkeypatch: Any, at_most: int) -> None:
    """The system may write less than it was asked to."""
    forest = two_forests[0]
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:at_most]))
    forest.save(tmp_path / "model.forest")
    monkeypatch.undo()
    assert (tmp_path / "model.forest").read_bytes() == forest.to_bytes()


def test_saving_into_a_missing_folder_names_it(two_forests: Any, tmp_path: Path) -> None:
    """A FileNotFoundError that says which file could not be written."""
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "missing"))):
        two_forests[0].save(tmp_path / "missing" / "model.forest")
    assert not (tmp_path / "missing").exists()


def test_saving_over_a_folder_is_an_error(two_forests: Any, tmp_path: Path) -> None:
    """The folder stays as it was, with nothing beside it."""
    (tmp_path / "model.forest").mkdir()
    with pytest.raises(OSError, match=r"model\.forest"):
        two_forests[0].save(tmp_path / "model.forest")
    assert [path.name for path in tmp_path.iterdir()] == ["model.forest"]


def test_paths_may_be_strings_and_relative(two_forests: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """As for `open`."""
    monkeypatch.chdir(tmp_path)
    two_forests[0].save("model")
    assert deciduous.load("model").fingerprint() == two_forests[0].fingerprint()
    assert os.listdir(tmp_path) == ["model"]


def test_the_longest_file_name_can_be_saved(two_forests: Any, tmp_path: Path) -> None:
    """What is written aside has a name that fits too."""
    path = tmp_path / ("m" * 255)
    two_forests[0].save(path)
    assert deciduous.load(path).fingerprint() == two_forests[0].fingerprint()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_a_private_file_stays_private(two_forests: Any, tmp_path: Path) -> None:
    """A file with training rows that only its owner could read is not opened to all by saving over it."""
    path = tmp_path / "model.forest"
    two_forests[0].save(path)
    path.chmod(0o600)
    two_forests[1].save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


POSIX = pytest.mark.skipif(os.name != "posix", reason="links and modes of files are POSIX")


@POSIX
def test_saving_through_links_replaces_the_file_they_lead_to(two_forests: Any, tmp_path: Path) -> None:
    """A chain of links, relative and into another folder, stays; the old rows are nowhere any more."""
    old, new = two_forests
    (tmp_path / "data").mkdir()
    target = tmp_path / "data" / "model.forest"
    old.save(target)
    (tmp_path / "data" / "latest").symlink_to("model.forest")
    (tmp_path / "link").symlink_to(tmp_path / "data" / "latest")
    new.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "data" / "latest").is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == new.to_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data", "latest", "link", "model.forest"]


@POSIX
def test_saving_through_a_link_to_nothing_makes_what_it_names(two_forests: Any, tmp_path: Path) -> None:
    """As `open` does."""
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data/model.forest")
    two_forests[0].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "data" / "model.forest").read_bytes() == two_forests[0].to_bytes()


@POSIX
def test_saving_over_what_is_no_file_is_an_error(two_forests: Any, tmp_path: Path) -> None:
    """A circle of links, and a pipe: they stay what they are."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    os.mkfifo(tmp_path / "pipe")
    for name in ("one", "pipe"):
        with pytest.raises(OSError, match=name):
            two_forests[0].save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "pipe", "two"]
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "pipe").is_fifo()


@POSIX
@pytest.mark.parametrize("folder", ["", "elsewhere"])
@pytest.mark.parametrize("frozen", [False, True])
def test_file_with_another_name_is_not_replaced(two_forests: Any, tmp_path: Path, folder: str, frozen: bool) -> None:
    """The other name would keep the deleted rows. The error names it, or says how many there are."""
    old, new = two_forests
    (tmp_path / "elsewhere").mkdir()
    path, other = tmp_path / "model.forest", tmp_path / folder / "backup.forest"
    old.save(path)
    os.link(path, other)
    named = re.escape(str(other)) if not folder else "2 names"
    with pytest.raises(deciduous.LinkedFileError, match=named):
        new.save(path, frozen=frozen)
    assert path.read_bytes() == other.read_bytes() == old.to_bytes()
    assert sorted(item.name for item in tmp_path.glob("*") if item.is_file()) == sorted(
        {path.name, other.name} - ({other.name} if folder else set())
    )
    other.unlink()
    new.save(path)
    assert path.read_bytes() == new.to_bytes()


@POSIX
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o007])
@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o644])
def test_nobody_else_can_read_a_file_while_it_is_written(
    two_forests: Any, tmp_path: Path, monkeypatch: Any, mode: int | None, umask: int
) -> None:
    """From the first byte on; when it is done it has the mode of the old file, or that of new files."""
    path = tmp_path / "model.forest"
    if mode is not None:
        two_forests[0].save(path)
        path.chmod(mode)
    write_all, seen = _container._write_all, []

    def write_watched(descriptor: int, data: memoryview) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        write_all(descriptor, data)
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(_container, "_write_all", write_watched)
    before = os.umask(umask)
    try:
        two_forests[1].save(path)
    finally:
        os.umask(before)
    assert set(seen) == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == (0o666 & ~umask if mode is None else mode)
    assert os.listdir(tmp_path) == ["model.forest"]


def test_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    """Not a corrupt model: there is none."""
    with pytest.raises(FileNotFoundError):
        deciduous.load(tmp_path / "missing.forest")


def test_loaded_file_may_be_replaced_and_removed(two_forests: Any, tmp_path: Path) -> None:
    """A loaded forest does not depend on its file any more."""
    old, new = two_forests
    path = tmp_path / "model.forest"
    old.save(path)
    loaded = deciduous.load(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    assert loaded.fingerprint() == old.fingerprint()
    assert loaded.check()
    new.save(path)
    path.unlink()
    assert_same(loaded, old)


# ------------------------------------------------------------------------------------------------------ golden files

# Never to be changed: files of format version 1 load for ever, as the forests that they were.
GOLDEN = {
    "v1-greedy-with-missing-values": "37d7ed8aec09b568611781dfa5480c39743cbcf3bdee4801bdc81a4133342cda",
    "v1-weighted-strings-sampled": "a21a6063382bdbb1bfb9c19cc0b67fe3051c275f776950991141297ffdf53e64",
    "v1-uniform-random-after-updates": "86eb93b6b699fd453b474171a5cf0e1b5a053869cc010c075a2bb4f4c9397103",
    "v1-categorical": "774b43b434c8a062ec9b67f48f2f3e2e01f42e343e6ecfcba74613f7c0ff5fc3",
    "v1-regression": "acda59042727f58a5706bfadd87b529497a2b5d704eb08ccebf5190fcf495676",
    "v1-weights-in-units": "d5152ac3ae1a80789458aace7beadf03df62e5b5038b05a706bac72e4bbab313",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_file_loads_and_goes_on(name: str) -> None:
    """It has the fingerprint that it had when it was written, and is still what retraining gives, after updates too."""
    forest = deciduous.load(GOLDEN_FOLDER / f"{name}.forest")
    assert forest.fingerprint() == GOLDEN[name]
    assert forest.check()
    assert forest.verify()
    doomed = forest.ids_[::3]
    assert forest.delete(doomed).n_rows == len(doomed)
    forest.add(np.resize(PROBES, (N_FRESH, forest.n_features_in_)), targets_to_add(forest, forest, N_FRESH))
    assert forest.check()
    assert forest.verify()


def test_golden_categories_are_what_they_were() -> None:
    """Strings, numbers that were listed, missing values; others are none of them, in the frozen forest too."""
    forest = deciduous.load(GOLDEN_FOLDER / "v1-categorical.forest")
    shops = [f"shop {i:03}" for i in range(300)]
    assert forest.categories_ == [["blue", "grün", "red", None], None, shops, [4.0, 1.0, 2.5, None]]
    assert forest.categorical_features == {0: "auto", 2: "auto", 3: [4, 1, None, 2.5]}
    rows = np.array([["red", 0.5, "shop 001", 4], [None, np.nan, "nowhere", None], ["violet", 1, 3, 2]], dtype=object)
    hot = forest.one_hot(rows)
    places = [np.flatnonzero(np.isfinite(row) & (row == 1)).tolist() for row in np.delete(hot, 4, axis=1)]
    assert places == [[2, 5, 304], [3, 307], []]  # of the categories of all columns, 0 to 307
    assert forest.freeze().predict_proba(rows).tobytes() == forest.predict_proba(rows).tobytes()


def test_golden_numbers_are_what_they_were() -> None:
    """The scale, the first targets with their weights, and predictions, to the last bit."""
    forest = deciduous.load(GOLDEN_FOLDER / "v1-regression.forest")
    assert forest.target_range == (900.0, 1020.0)
    assert forest.target_range_ == (512.0, 1536.0)
    rows = forest.rows(forest.ids_[:3])
    assert rows.y.tolist() == [931.5443357401527, 935.024720702786, 924.797820431646]
    assert rows.sample_weight.tolist() == [2, 1, 2]
    assert forest.predict([[0.5, 3, 1, np.nan], [-1, 0, 0, 2]]).tolist() == [953.1691932030478, 953.7990777686937]
    assert forest.freeze().predict(PROBES[:, :4]).tobytes() == forest.predict(PROBES[:, :4]).tobytes()


def test_golden_weights_are_what_they_were() -> None:
    """Multiples of the unit that the file names, and limits of leaves that are sums of weights."""
    forest = deciduous.load(GOLDEN_FOLDER / "v1-weights-in-units.forest")
    assert forest.weight_unit is None
    assert forest.weight_unit_ == 2.0**-19
    weights = forest.rows(forest.ids_).sample_weight.tolist()
    assert weights[:3] == [0.25, 0.375, 0.5]
    assert weights[-3:] == [52429 * 2.0**-19, 2.75, 2.0**-19]
    leaves = [node for tree in range(3) for node in forest.tree_nodes(tree) if node.kind == "leaf"]
    assert min(leaf.n_rows for leaf in leaves) >= 2


def test_every_golden_file_is_pinned() -> None:
    """None is forgotten."""
    assert {path.stem for path in GOLDEN_FOLDER.glob("*.forest")} == set(GOLDEN)


@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_skops_stores_a_forest_with_one_trusted_type(kind: Any) -> None:
    """It asks to trust the estimator alone: all else are plain values and our bytes."""
    skops_io = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    forest = kind(n_estimators=5, random_state=0).fit(X, y)
    stored = skops_io.dumps(forest)
    trusted = skops_io.get_untrusted_types(data=stored)
    assert trusted == [f"{kind.__module__}.{kind.__name__}"]
    loaded = skops_io.loads(stored, trusted=trusted)
    assert loaded.delete([3, 17]) == forest.delete([3, 17])
    assert loaded.fingerprint() == forest.fingerprint()


@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_skops_stores_a_frozen_forest_with_one_trusted_type(kind: Any) -> None:
    """The frozen estimator alone."""
    skops_io = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    frozen = kind(n_estimators=5, random_state=0).fit(X, y).freeze()
    stored = skops_io.dumps(frozen)
    trusted = skops_io.get_untrusted_types(data=stored)
    assert trusted == [f"deciduous.frozen.{type(frozen).__name__}"]
    assert skops_io.loads(stored, trusted=trusted).to_bytes() == frozen.to_bytes()
