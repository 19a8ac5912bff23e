"""A frozen forest predicts as the live one did, and holds nothing of its rows."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciduous
from deciduous import (
    CorruptModelError,
    DareForestClassifier,
    DareForestRegressor,
    DeciduousError,
    EmptyForestError,
    FrozenForestClassifier,
    FrozenForestError,
    FrozenForestRegressor,
)
from deciduous.frozen import CLASSES_NEED_ROWS, NEEDS_ROWS, TARGETS_NEED_ROWS
from file_format import as_json, sections_of, with_section
from make_golden_files import GOLDEN_FOLDER
from strategies import TARGETS, TUNINGS, Dataset, datasets, options_for, resolved_options, train_forest
from tampering import Forest

SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 8, "n_thresholds": 5, "random_state": 3}
Frozen = FrozenForestClassifier | FrozenForestRegressor

OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "random": {"random_depth": 3},
    "random trees": {"random_depth": 8},
    "extra trees": {"candidates": "uniform", "n_thresholds": 1},
    "uniform, entropy": {"candidates": "uniform", "criterion": "entropy"},
    "all thresholds": {"n_thresholds": None, "max_features": None},
    "class weights": {"class_weight": {0: 0.1, 2: 7.3}},
    "balanced": {"class_weight": "balanced", "max_depth": 2},
    "large leaves": {"min_samples_leaf": 7},
    "stumps": {"max_depth": 1},
    "sampled": {"max_samples": 0.3},
    "lazy": {"lazy": True},
    "threads": {"n_jobs": 3},
}


def rows_of(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, ties and a column with NaN; three classes with noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 5, n_rows), rng.normal(size=n_rows)])
    X[rng.random(n_rows) < 0.3, 2] = np.nan
    y = (X[:, 0] + rng.normal(0, 0.7, n_rows) > 0).astype(int) + (X[:, 1] > 3)
    return X.astype(np.float32), y


PROBES = np.vstack([rows_of(150, seed=9)[0], np.full((1, 3), np.nan, np.float32), [[3e38, -3e38, 0.0]]])


def regressor(**options: Any) -> DareForestRegressor:
    """A small regressor on the rows of the small forests, whose targets depend on the numbers."""
    X, y = rows_of(200)
    return DareForestRegressor(**(SMALL | options)).fit(X, y + np.sin(9 * X[:, 0]))


def assert_same_predictions(frozen: Frozen, live: Forest, X: np.ndarray) -> None:
    """To the last bit, by label: the frozen forest has the classes with rows, ascending."""
    if isinstance(live, DareForestRegressor):
        assert isinstance(frozen, FrozenForestRegressor)
        assert frozen.predict(X).tobytes() == live.predict(X).tobytes()
        return
    ours, theirs = frozen.predict_proba(X), live.predict_proba(X)
    assert ours.dtype == theirs.dtype == np.float64
    columns = [live.classes_.tolist().index(label) for label in frozen.classes_.tolist()]
    assert ours.tobytes() == np.ascontiguousarray(theirs[:, columns]).tobytes()
    assert not np.delete(theirs, columns, axis=1).any()
    assert frozen.classes_.tolist() == sorted(frozen.classes_.tolist())
    assert (frozen.predict(X) == live.predict(X)).all()


# ---------------------------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_predictions_are_those_of_the_live_forest(options: dict[str, Any]) -> None:
    """Bit for bit, before and after deletions and additions, also with a class that comes late and one that goes."""
    X, y = rows_of(300)
    forest = DareForestClassifier(**(SMALL | options)).fit(X, y)
    assert_same_predictions(forest.freeze(), forest, PROBES)
    assert forest.freeze().predict_proba(X).tobytes() == forest.predict_proba(X).tobytes()
    forest.delete(range(0, 200, 3))
    assert_same_predictions(forest.freeze(), forest, PROBES)
    more, labels = rows_of(40, seed=5)
    forest.add(more, labels - 1)
    assert_same_predictions(forest.freeze(), forest, PROBES)
    forest.delete([i for i in forest.ids_ if i < 300 and y[i] == 2])
    frozen = forest.freeze()
    assert frozen.classes_.tolist() == [-1, 0, 1]
    assert forest.classes_.tolist() == [-1, 0, 1, 2]
    assert_same_predictions(frozen, forest, PROBES)
    assert frozen.score(PROBES, forest.predict(PROBES)) == 1.0


OF_CLASSES = {"class_weight", "criterion"}
REGRESSION_OPTIONS = {name: its for name, its in OPTIONS.items() if not OF_CLASSES & set(its)}
REGRESSION_OPTIONS["target range"] = {"target_range": (-1e6, 0)}


@pytest.mark.parametrize("options", REGRESSION_OPTIONS.values(), ids=REGRESSION_OPTIONS)
def test_predicted_numbers_are_those_of_the_live_forest(options: dict[str, Any]) -> None:
    """Bit for bit, before and after deletions and additions, also of targets beyond all others."""
    forest = regressor(**options)
    assert_same_predictions(forest.freeze(), forest, PROBES)
    forest.delete(range(0, 150, 3))
    assert_same_predictions(forest.freeze(), forest, PROBES)
    more, targets = rows_of(40, seed=5)
    forest.add(more, targets)
    forest.add(more[:2], forest.target_range_)
    frozen = forest.freeze()
    assert_same_predictions(frozen, forest, PROBES)
    assert frozen.score(PROBES, forest.predict(PROBES)) == 1.0


@given(st.data())
@settings(max_examples=60)
def test_any_forest_predicts_the_same_frozen(data: st.DataObject) -> None:
    """Tiny hostile data sets, all parameters."""
    rows: Dataset = data.draw(datasets() | datasets(labels=TARGETS))
    options = data.draw(options_for(rows))
    forest = train_forest(rows, options, data.draw(TUNINGS), lazy=data.draw(st.booleans()))
    doomed = data.draw(st.lists(st.sampled_from(forest.ids_.tolist()), unique=True))
    forest.delete(doomed)
    if forest.n_rows_ == 0:
        with pytest.raises(EmptyForestError):
            forest.freeze()
        return
    frozen = forest.freeze()
    again = type(frozen).from_bytes(frozen.to_bytes())
    for its in (frozen, again):
        assert_same_predictions(its, forest, rows.X)
    left = rows.where(np.isin(rows.ids, forest.ids_))
    options = resolved_options(options, rows)
    assert frozen.to_bytes() == train_forest(left, options).freeze().to_bytes()


def test_trees_without_rows_are_left_out() -> None:
    """Two rows, each in two of twenty trees: at most four trees have rows."""
    forest = DareForestClassifier(n_estimators=20, max_samples=0.1, random_state=0).fit([[0.0], [1.0]], [0, 1])
    frozen = forest.freeze()
    assert frozen.memory_usage().n_trees <= 4
    assert_same_predictions(frozen, forest, np.array([[0.0], [0.4], [1.0]], np.float32))


def test_predictions_do_not_depend_on_threads_and_batches() -> None:
    """Rows are predicted in chunks of at least 64, ten side by side."""
    forest = DareForestClassifier(**SMALL).fit(*rows_of(300))
    frozen = forest.freeze()
    whole = frozen.predict_proba(PROBES)
    assert (np.vstack([frozen.predict_proba(PROBES[i : i + 1]) for i in range(len(PROBES))]) == whole).all()
    assert (frozen.set_params(n_jobs=3).predict_proba(PROBES) == whole).all()
    assert frozen.predict_proba(np.empty((0, 3))).shape == (0, 3)


def test_freezing_changes_neither_the_forest_nor_later_the_frozen_one() -> None:
    """Even when everything is deleted from the live forest."""
    forest = DareForestClassifier(**SMALL).fit(*rows_of(100))
    before = forest.to_bytes()
    frozen = forest.freeze()
    assert forest.to_bytes() == before
    shares = frozen.predict_proba(PROBES)
    forest.delete(forest.ids_)
    assert (frozen.predict_proba(PROBES) == shares).all()
    with pytest.raises(EmptyForestError, match="no rows"):
        forest.freeze()


def test_rows_of_a_wrong_shape_are_refused() -> None:
    """As the live forest refuses them."""
    frozen = DareForestClassifier(**SMALL).fit(*rows_of(50)).freeze()
    with pytest.raises(ValueError, match="expecting 3 features"):
        frozen.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="infinity"):
        frozen.predict([[1.0, 2.0, np.inf]])
    with pytest.raises(ValueError, match="2 columns instead of 3"):
        frozen._frozen.predict(np.zeros((1, 2), np.float32), 1)


def test_works_as_a_scikit_learn_regressor() -> None:
    """As the classifier does below."""
    X, y = rows_of(100)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    frozen = DareForestRegressor(**SMALL).fit(table, y).freeze()
    assert is_regressor(frozen)
    assert not is_classifier(frozen)
    assert frozen.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clone(frozen) is frozen
    assert not hasattr(frozen, "predict_proba")
    assert not hasattr(frozen, "classes_")


def test_works_as_a_scikit_learn_classifier() -> None:
    """At the end of a pipeline, with names of columns checked; clones are itself, as they could not be fitted."""
    X, y = rows_of(100)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    frozen = DareForestClassifier(**SMALL).fit(table, y).freeze()
    assert is_classifier(frozen)
    assert frozen.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        frozen.predict(table[["b", "a", "c"]])
    assert clone(frozen) is frozen
    scaler = StandardScaler().set_output(transform="pandas").fit(table)
    assert make_pipeline(scaler, frozen).predict(table).shape == (100,)
    assert "FrozenForestClassifier" in frozen._repr_html_()
    assert frozen.get_params() == {"n_jobs": None}


# --------------------------------------------------------------------------------------------------------- storing


@pytest.fixture(scope="module")
def live() -> DareForestClassifier:
    return DareForestClassifier(**SMALL).fit(*rows_of(200))


WAYS: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda frozen: type(frozen).from_bytes(frozen.to_bytes()),
    "pickle": lambda frozen: pickle.loads(pickle.dumps(frozen)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "labels", [[0, 1, 2], ["oak", "beech", "Lärche"], [2.0, -1.0, 3.0]], ids=["int", "str", "float"]
)
def test_round_trip(way: Callable[[Any], Any], labels: list[Any]) -> None:
    """Same predictions, classes and bytes, whatever the labels are."""
    X, y = rows_of(200)
    frozen = DareForestClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("abc")), np.array(labels)[y]).freeze()
    again = way(frozen)
    table = pd.DataFrame(PROBES, columns=list("abc"))
    assert again.predict_proba(table).tobytes() == frozen.predict_proba(table).tobytes()
    assert again.classes_.dtype == frozen.classes_.dtype
    assert again.classes_.tolist() == sorted(labels)
    assert again.feature_names_in_.tolist() == list("abc")
    assert again.to_bytes() == frozen.to_bytes()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("scale", [1.0, 1e-290, -1e299])
def test_round_trip_of_numbers(way: Callable[[Any], Any], scale: float) -> None:
    """Same predictions and bytes, whatever the size of the targets."""
    X, y = rows_of(200)
    frozen = DareForestRegressor(**SMALL).fit(X, scale * (y + 0.5)).freeze()
    again = way(frozen)
    assert type(again) is FrozenForestRegressor
    assert again.predict(PROBES).tobytes() == frozen.predict(PROBES).tobytes()
    assert again.to_bytes() == frozen.to_bytes()


@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_files_are_loaded_as_what_they_are(kind: type[Forest], tmp_path: Path) -> None:
    """`save(frozen=True)` is `freeze().save()`; `load` tells the kinds apart."""
    live = kind(**SMALL).fit(*rows_of(200))
    live.save(tmp_path / "live")
    live.save(tmp_path / "frozen", frozen=True)
    live.freeze().save(tmp_path / "frozen too")
    assert (tmp_path / "frozen").read_bytes() == (tmp_path / "frozen too").read_bytes()
    assert type(deciduous.load(tmp_path / "live")) is kind
    frozen = deciduous.load(tmp_path / "frozen", n_jobs=2)
    assert type(frozen) is (FrozenForestClassifier if kind is DareForestClassifier else FrozenForestRegressor)
    assert frozen.n_jobs == 2
    assert_same_predictions(frozen, live, PROBES)


def test_pickles_keep_the_number_of_threads(live: DareForestClassifier) -> None:
    """It is a parameter, though no part of the file."""
    frozen = live.freeze().set_params(n_jobs=2)
    assert pickle.loads(pickle.dumps(frozen)).n_jobs == 2
    assert frozen.to_bytes() == live.freeze().to_bytes()
    assert pickle.loads(pickle.dumps(FrozenForestClassifier(n_jobs=3))).n_jobs == 3


def test_the_other_kind_is_refused_by_name(live: DareForestClassifier) -> None:
    """Each class reads its own kind, and says who reads both."""
    with pytest.raises(CorruptModelError, match=r"'frozen', not 'forest'; `deciduous\.load` reads both"):
        DareForestClassifier.from_bytes(live.freeze().to_bytes())
    with pytest.raises(CorruptModelError, match=r"'forest', not 'frozen'"):
        FrozenForestClassifier.from_bytes(live.to_bytes())
    words = "it is a {}, not a {}; `deciduous.load` reads both"
    with pytest.raises(CorruptModelError, match=re.escape(words.format("classifier", "regressor"))):
        FrozenForestRegressor.from_bytes(live.freeze().to_bytes())
    with pytest.raises(CorruptModelError, match=re.escape(words.format("regressor", "classifier"))):
        FrozenForestClassifier.from_bytes(regressor().freeze().to_bytes())


@pytest.mark.parametrize("path", sorted(GOLDEN_FOLDER.glob("v1-*.forest")), ids=lambda path: path.stem)
def test_files_without_a_kind_are_forests_and_can_be_frozen(path: Path, tmp_path: Path) -> None:
    """As those that were written before there were kinds; whether there are classes shows elsewhere."""
    data = path.read_bytes()
    meta = json.loads(dict(sections_of(data))["meta"])
    assert meta.pop("kind") == "forest"
    (tmp_path / path.name).write_bytes(with_section(data, "meta", as_json(meta)))
    forest = deciduous.load(tmp_path / path.name)
    assert type(forest) is (DareForestRegressor if path.stem == "v1-regression" else DareForestClassifier)
    assert_same_predictions(forest.freeze(), forest, np.resize(PROBES, (50, forest.n_features_in_)))


# ---------------------------------------------------------------------------------------------- what it cannot do


@pytest.fixture(scope="module")
def sampled() -> list[Forest]:
    """A classifier and a regressor whose rows are in half of the trees, so that they have out-of-bag scores."""
    return [DareForestClassifier(**SMALL, max_samples=0.5).fit(*rows_of(200)), regressor(max_samples=0.5)]


def test_what_needs_rows_is_not_there_and_says_why(sampled: list[Forest]) -> None:
    """Everything that the live forest has, and no more; also for `hasattr`."""
    for live in sampled:
        frozen = live.freeze()
        methods = {name for name in dir(type(live)) if not name.startswith("_") and not name.endswith("_request")}
        needing = (methods | {"seed_"}) - set(dir(type(frozen))) - set(vars(frozen))
        assert needing == set(frozen._needs_rows)
        for name in needing:
            assert hasattr(live, name)
            assert not hasattr(frozen, name)
            with pytest.raises(FrozenForestError, match=rf"has no `{name}`: .* holds no training rows.*Use the forest"):
                getattr(frozen, name)


def test_frozen_classifier_does_not_speak_of_targets(sampled: list[Forest]) -> None:
    """What its forest does not have either is unknown, and the other way round."""
    classifier, regressor = (live.freeze() for live in sampled)
    for frozen, others in ((classifier, TARGETS_NEED_ROWS - NEEDS_ROWS), (regressor, CLASSES_NEED_ROWS - NEEDS_ROWS)):
        for name in others:
            with pytest.raises(AttributeError, match=f"no attribute '{name}'") as caught:
                getattr(frozen, name)
            assert not isinstance(caught.value, FrozenForestError)


def test_quantiles_of_a_frozen_regressor_are_refused_with_the_reason() -> None:
    """They are targets of training rows."""
    with pytest.raises(FrozenForestError, match=r"has no `quantiles`: .* holds no training rows"):
        regressor().freeze().predict(PROBES, quantiles=[0.5])


def test_present_shares_of_a_frozen_classifier_are_all_shares(live: DareForestClassifier) -> None:
    """As of the forest that was frozen, whose classes without rows it does not have."""
    labels, shares = live.freeze().present_shares(PROBES)
    assert labels.tolist() == live.present_shares(PROBES)[0].tolist()
    assert shares.tobytes() == live.present_shares(PROBES)[1].tobytes()


def test_errors_are_told_in_full(live: DareForestClassifier) -> None:
    """What, why, and what to do instead."""
    frozen = live.freeze()
    calls = [lambda: frozen.delete([3]), lambda: frozen.add([[1, 2, 3]], [0]), lambda: frozen.fit(*rows_of(10))]
    for call in calls:
        with pytest.raises(FrozenForestError, match="delete them there and freeze it again") as caught:
            call()
        assert isinstance(caught.value, DeciduousError)
        assert isinstance(caught.value, AttributeError)
    with pytest.raises(AttributeError, match="no attribute 'leaves'") as other:
        _ = frozen.leaves
    assert not isinstance(other.value, FrozenForestError)


@pytest.mark.parametrize("kind", [FrozenForestClassifier, FrozenForestRegressor])
def test_one_that_was_never_made_says_how_to_make_one(kind: type[Frozen]) -> None:
    """The constructor alone gives no forest."""
    empty = kind()
    for call in (lambda: empty.predict([[1.0]]), empty.to_bytes, empty.memory_usage):
        with pytest.raises(NotFittedError, match=rf"{kind.__name__} holds no forest.*freeze\(\)"):
            call()
    with pytest.raises(NotFittedError):
        DareForestClassifier().freeze()


# --------------------------------------------------------------------------------------------------------- no trace


def images(value: float) -> list[bytes]:
    """A number in every way that it could be stored: float32, the core's order-preserving image, float64, text."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    value_image = bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000
    as_float64 = struct.pack("<d", float(np.float32(value)))
    return [struct.pack("<I", bits), struct.pack("<I", value_image), as_float64, repr(value).encode()]


def integer_images(number: int) -> list[bytes]:
    """An integer of at least three bytes, both ways round, and as text."""
    n_bytes = (number.bit_length() + 7) // 8
    return [number.to_bytes(n_bytes, "little"), number.to_bytes(n_bytes, "big"), str(number).encode()]


SEED = 0x7E6D5C4B3A291807
SECRET_VALUES = [1234.5677, -98765.43, 3.1415926e33]
FIRST_SECRET_ID = 0x1B2C3D4E5F607182


def forest_with_secrets(kind: type[Forest]) -> Any:
    """Whole numbers, and ten rows of values and ids unlike all others, which thresholds separate but do not equal."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 1000, (400, 3)).astype(np.float32)
    secrets = np.array(SECRET_VALUES, np.float32) * (1 + np.arange(10, dtype=np.float32).reshape(-1, 1) / 16)
    ids = np.concatenate([np.arange(400) + 7_000_001, FIRST_SECRET_ID + np.arange(10) * 0x0101010101])
    forest = kind(n_estimators=10, random_state=SEED, max_depth=6)
    return forest.fit(np.vstack([X, secrets]), np.append(X[:, 0] > 500, np.arange(10) % 2 == 0), ids=ids)


@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_no_value_id_or_seed_is_in_the_bytes(kind: type[Forest]) -> None:
    """Of any row; the live forest's bytes have them all. Thresholds are midpoints, so they are nobody's values."""
    forest = forest_with_secrets(kind)
    whole, frozen = forest.to_bytes(), forest.freeze().to_bytes()
    secrets = np.array(SECRET_VALUES, np.float32) * (1 + np.arange(10, dtype=np.float32).reshape(-1, 1) / 16)
    for value in secrets.ravel().tolist():
        assert struct.pack("<f", value) in whole
        assert not any(image in frozen for image in images(value))
    for row_id in forest.ids_.tolist():
        assert struct.pack("<q", row_id) in whole
        assert not any(image in frozen for image in integer_images(row_id)), row_id
    assert str(SEED).encode() in whole
    assert not any(image in frozen for image in integer_images(SEED))
    pickled = pickle.dumps(forest.freeze())
    assert frozen in pickled
    assert len(pickled) < len(frozen) + 200


def test_no_count_is_in_the_bytes() -> None:
    """Rows weigh a million each, so counts are unmistakable; scaling all weights gives the same bytes."""
    X, y = rows_of(60)
    weights = np.full(60, 1_000_003)
    one = DareForestClassifier(**SMALL).fit(X, y).freeze().to_bytes()
    heavy_forest = DareForestClassifier(**SMALL).fit(X, y, sample_weight=weights)
    heavy = heavy_forest.freeze().to_bytes()
    counts = {n for tree in range(6) for node in heavy_forest.tree_nodes(tree) for n in node.counts.values()}
    assert len(counts) > 10
    assert not any(image in heavy for n in counts for image in integer_images(n))
    assert heavy == one


def test_no_count_is_in_the_bytes_of_numbers() -> None:
    """Means are those of rows that weigh 2^20 times as much, which rounds nothing."""
    X, y = rows_of(60)
    targets = y + np.sin(9 * X[:, 0])
    one = DareForestRegressor(**SMALL).fit(X, targets).freeze().to_bytes()
    heavy = DareForestRegressor(**SMALL).fit(X, targets, sample_weight=np.full(60, 2**20)).freeze().to_bytes()
    assert heavy == one


def test_description_of_a_regressor_has_its_scale_and_nothing_else() -> None:
    """No parameters, no seed, no range of the targets."""
    sections = dict(sections_of(regressor(target_range=(100, 160)).freeze().to_bytes()))
    assert list(sections) == ["meta", "frozen"]
    assert json.loads(sections["meta"]) == {
        "kind": "frozen",
        "targets": {"exponent": 6 - 38, "offset": 128.0},
        "n_features_in": 3,
        "feature_names_in": None,
    }


def test_description_names_what_is_needed_to_predict_and_nothing_else(live: DareForestClassifier) -> None:
    """No parameters, no seed, no fresh ids, no class weights."""
    sections = dict(sections_of(live.freeze().to_bytes()))
    assert list(sections) == ["meta", "frozen"]
    assert json.loads(sections["meta"]) == {
        "kind": "frozen",
        "classes": {"type": live.classes_.dtype.str, "values": [0, 1, 2]},
        "n_features_in": 3,
        "feature_names_in": None,
    }


def test_object_refers_to_nothing_of_the_live_forest() -> None:
    """Its attributes are the frozen core, labels, and numbers."""
    common = {"n_jobs", "_frozen", "_columns", "n_features_in_"}
    assert set(vars(forest_with_secrets(DareForestClassifier).freeze())) == common | {"classes_"}
    assert set(vars(forest_with_secrets(DareForestRegressor).freeze())) == common | {"_target_scale"}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_equal_forests_have_equal_bytes_whatever_their_history(lazy: bool) -> None:
    """Rows, classes and long labels that came and went leave no trace; nor does the order in which classes came."""
    X, y = rows_of(120)
    labels = np.array(["ash", "beech", "oak"])[y]
    direct = DareForestClassifier(**SMALL).fit(X, labels)
    late = np.flatnonzero(labels == "ash")
    first = np.flatnonzero(labels != "ash")
    other = DareForestClassifier(**SMALL, lazy=lazy, n_jobs=2).fit(X[first], labels[first], ids=first)
    other.add(X[:5] + 1, ["a long label of a row that will go"] * 5, ids=range(1000, 1005))
    other.add(X[late], labels[late], ids=late)
    other.delete(range(1000, 1005))
    assert other.classes_.tolist() != direct.classes_.tolist()
    assert other.freeze().to_bytes() == direct.freeze().to_bytes()


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_equal_regressors_have_equal_bytes_whatever_their_history(lazy: bool) -> None:
    """Rows that came and went leave no trace, also where their targets were beyond all others."""
    X, y = rows_of(120)
    options = SMALL | {"target_range": (0, 4)}
    direct = DareForestRegressor(**options).fit(X, y)
    other = DareForestRegressor(**options, lazy=lazy, n_jobs=2).fit(X[60:], y[60:], ids=range(60, 120))
    other.add(X[:5] + 1, np.resize(other.target_range_, 5), ids=range(1000, 1005))
    other.add(X[:60], y[:60], ids=range(60))
    other.delete(range(1000, 1005))
    assert other.freeze().to_bytes() == direct.freeze().to_bytes()


# ------------------------------------------------------------------------------------------------------------- size


def joblib_size(estimator: Any) -> int:
    file = io.BytesIO()
    joblib.dump(estimator, file)
    return len(file.getvalue())


DATA = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "generated": lambda: make_classification(5000, 20, n_informative=8, flip_y=0.1, random_state=0),
}


@pytest.mark.parametrize("max_depth", [6, 20])
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_stored_forest_is_less_than_a_fifth_of_scikit_learns(
    data: Callable[[], tuple[np.ndarray, np.ndarray]], max_depth: int, record_property: Callable[[str, object], None]
) -> None:
    """A hundred trees; fewer than 8 bytes for each node where scikit-learn has 80 and more, and 14 in memory."""
    X, y = data()
    frozen = DareForestClassifier(max_depth=max_depth, random_state=0).fit(X, y).freeze()
    theirs = RandomForestClassifier(max_depth=max_depth, random_state=0).fit(X, y)
    size = frozen.memory_usage()
    n_theirs = sum(tree.tree_.node_count for tree in theirs.estimators_)
    record_property("bytes_per_node", size.bytes_per_node)
    record_property("bytes_per_node_of_scikit_learn", joblib_size(theirs) / n_theirs)
    assert size.n_trees == 100
    assert size.stored == len(frozen.to_bytes())
    assert size.bytes_per_node < 8
    assert size.total / size.n_nodes < 14
    assert size.stored < joblib_size(theirs) / 5
    assert joblib_size(frozen) < joblib_size(theirs) / 5


def test_size_is_told() -> None:
    """One split and two leaves."""
    forest = DareForestClassifier(n_estimators=1, random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    size = forest.freeze().memory_usage()
    assert (size.n_trees, size.n_nodes, size.n_leaf_values) == (1, 3, 2)
    assert re.fullmatch(r"FrozenMemoryUse\(n_trees=1, n_nodes=3, .*stored=\d+\)", repr(size))
    assert size.bytes_per_node == size.stored / 3
