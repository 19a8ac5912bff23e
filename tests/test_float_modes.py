"""Forests do not depend on the arithmetic that other libraries have set for the thread, and leave it as it is."""

import ctypes
import platform
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deciduous
from deciduous import DareForestClassifier, DareForestRegressor
from native_libraries import built_library
from strategies import Forest, predicted

MODES = ["flush subnormal numbers to zero", "upward", "downward", "towards zero"]
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="sets the mode of x86-64 and ARM processors"
)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library that sets modes."""
    return ctypes.CDLL(str(built_library("float_mode", tmp_path_factory.mktemp("native"))))


@contextmanager
def arithmetic(native: ctypes.CDLL, mode: str) -> Iterator[None]:
    """Whatever is done within leaves the mode as it is."""
    assert native.set_mode(mode.encode()) == 0
    try:
        expected = (native.flushes(), native.rounding())
        yield
        assert (native.flushes(), native.rounding()) == expected
    finally:
        native.set_mode(b"standard")


def rows_of(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Float64 that rounds to subnormal float32, numbers that no float32 is, and a category."""
    rng = np.random.default_rng(0)
    tiny = np.finfo(np.float32).smallest_subnormal
    X = np.column_stack(
        [
            rng.integers(-40, 40, n_rows) * float(tiny) * 1.1,
            rng.integers(0, 9, n_rows) * 1e-39,
            rng.integers(0, 30, n_rows) / 10,
            rng.normal(size=n_rows),
        ]
    )
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (rng.random(n_rows) < 0.2) + 2 * (X[:, 3] > 1)


X, Y = rows_of(300)
TARGETS = Y + np.sin(X[:, 3] * 9) / 7
FORESTS: dict[str, dict[str, Any]] = {
    "valid": {"n_thresholds": 5},
    "uniform": {"candidates": "uniform", "n_thresholds": 3},
    "random": {"random_depth": 3},
    "entropy": {"criterion": "entropy", "class_weight": "balanced"},
    "gini of weighted classes": {"class_weight": {0: 0.3, 1: 7.7}},
    "lazy": {"lazy": True, "max_samples": 0.5},
    "targets": {"criterion": "squared_error"},
    "targets, lazy": {"criterion": "squared_error", "lazy": True, "max_samples": 0.5},
}
WEIGHTS = {"whole": 1 + np.arange(250) % 3, "real": 0.1 + np.arange(250) / 77}


def history(options: dict[str, Any], weights: np.ndarray) -> list[object]:
    """Everything that a forest does, and all that it says."""
    is_regressor = "squared_error" in options.values()
    kind, y = (DareForestRegressor, TARGETS) if is_regressor else (DareForestClassifier, Y)
    forest = kind(n_estimators=6, max_depth=8, random_state=5, **options)
    forest.fit(X[:250], y[:250], sample_weight=weights)
    said: list[object] = [predicted(forest, X).tobytes(), predicted(forest, X[:3]).tobytes()]
    said.append(forest.deletion_cost(list(range(0, 250, 5))))
    said.append(forest.deletion_costs(list(range(0, 250, 5))).tolist())
    said.append(forest.delete(list(range(0, 250, 5))))
    forest.add(X[250:], y[250:], ids=range(250, 300))
    said += [forest.check(), forest.fingerprint(), forest.verify(), predicted(forest, X).tobytes()]
    stored = forest.to_bytes()
    loaded = kind.from_bytes(stored)
    frozen = forest.freeze()
    said += [stored, loaded.fingerprint(), loaded.to_bytes(), frozen.to_bytes(), predicted(frozen, X).tobytes()]
    said.append(forest.apply(X).tolist())
    said.append([repr(forest.tree_nodes(tree)) for tree in range(6)])
    said.append([forest.tree_view(tree).impurity(forest.criterion).tobytes() for tree in range(6)])
    said.append([forest.tree_view(tree).values.tobytes() for tree in range(6)])
    said.append(forest.feature_importances_.tobytes())
    if forest.max_samples is not None:
        said.append(forest.oob_score_)
    return said


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", FORESTS.values(), ids=FORESTS)
def test_forest_is_the_same_in_any_arithmetic(
    native: ctypes.CDLL, options: dict[str, Any], mode: str, n_jobs: int, weights: np.ndarray
) -> None:
    """From rows to bytes and predictions, and the mode of the caller stays what it was."""
    expected = history(options | {"n_jobs": n_jobs}, weights)
    with arithmetic(native, mode):
        assert history(options | {"n_jobs": n_jobs}, weights) == expected


@pytest.mark.parametrize("y", [Y, TARGETS], ids=["classes", "targets"])
@pytest.mark.parametrize("mode", MODES)
def test_live_forest_is_the_same_in_any_arithmetic(
    native: ctypes.CDLL, mode: str, y: np.ndarray, tmp_path: Path
) -> None:
    """Rows of a table become the same numbers and digests: whoever syncs in another mode finds nothing changed."""
    pytest.importorskip("sqlalchemy")
    from deciduous.live import LiveForest

    columns = ["a", "b", "c", "d"]
    with closing(sqlite3.connect(tmp_path / "rows.db")) as table, table:
        table.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, y NUMERIC, a REAL, b REAL, c REAL, d REAL)")
        table.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)",
            [(i, target, *map(float, x)) for i, (x, target) in enumerate(zip(X, y.tolist(), strict=True))],
        )
    live = LiveForest.create(
        f"sqlite:///{tmp_path}/rows.db",
        table="rows",
        id="id",
        target="y",
        folder=tmp_path / "rows.forest",
        params={"n_estimators": 4, "random_state": 5},
    )
    with live:
        probes = [dict(zip(columns, map(float, x), strict=True)) for x in X]
        expected = live.predict(probes).tobytes()
        with arithmetic(native, mode):
            assert live.sync().receipts == ()
            assert live.verify()
            assert live.predict(probes).tobytes() == expected


@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_the_command_line_are_the_same_in_any_arithmetic(native: ctypes.CDLL, mode: str) -> None:
    """As those of the estimator."""
    pa = pytest.importorskip("pyarrow")
    from deciduous._tables.values import as_float32

    with arithmetic(native, mode):
        read = [as_float32(pa.array(column)).tobytes() for column in X.T]
    assert read == [column.astype(np.float32).tobytes() for column in X.T]


@pytest.mark.parametrize("mode", MODES)
def test_mode_is_restored_after_an_error(native: ctypes.CDLL, mode: str) -> None:
    """Errors of the core, and of Python on the way in, leave the mode, too."""
    classifier = DareForestClassifier(n_estimators=2, random_state=0).fit(X, Y)
    regressor = DareForestRegressor(n_estimators=2, random_state=0).fit(X, TARGETS)
    failing: list[Callable[[], object]] = [lambda: deciduous.load(__file__), lambda: regressor.add(X[:1], [1e9])]
    for forest in (classifier, regressor):
        failing += failures(forest)
    for call in failing:
        with arithmetic(native, mode), pytest.raises(Exception, match=r"."):
            call()


def failures(forest: Forest) -> list[Callable[[], object]]:
    """What a forest of these rows refuses."""
    return [
        lambda: forest.delete([10**6]),
        lambda: forest.predict([[np.inf] * 4]),
        lambda: forest.add(X[:1], Y[:1], ids=[0]),
        lambda: forest.tree_view(0).impurity("none"),
    ]
