"""Predictions: many rows at once and one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import DataSet, Rows, Unavailable
from ..measuring import latencies, median_seconds
from ..peers import YARDSTICK, random_forest
from ..requirements import OURS

DATA = ("adult", "bank_marketing", "synthetic_80k")
N_REPEATS = 5

Predict = Callable[[Rows], Any]


def run(bench: Bench) -> None:
    """Ours, ours frozen, and scikit-learn's, on all data sets that are here."""
    for name in DATA:
        try:
            its = bench.data(name)
        except Unavailable as reason:
            bench.results.skipped[f"predictions of {name}"] = str(reason)
            continue
        measure(bench, its)


def measure(bench: Bench, its: DataSet) -> None:
    """The same rows through all of them."""
    setting = bench.setting(its.name)
    ours = DareForestClassifier(**setting.params(bench.seed)).fit(its.X, its.y)
    theirs = random_forest(setting, bench.seed).fit(its.X, its.y)
    models = {OURS: ours.predict_proba, "frozen": ours.freeze().predict_proba, YARDSTICK: theirs.predict_proba}
    measure_models(bench, its.name, models, its.X_test)


def measure_models(bench: Bench, name: str, models: Mapping[str, Predict], X_test: Rows) -> None:
    """Each of the systems in its turn."""
    rows = enough_rows(X_test, bench.sizes.n_predicted)
    for system, predict in models.items():
        measure_model(bench, f"{name}/predict {system}", predict, rows)


def measure_model(bench: Bench, key: str, predict: Predict, rows: Rows) -> None:
    """All rows at once, then one by one."""
    took = median_seconds(lambda: predict(rows), N_REPEATS)
    bench.results.record(f"{key}/batch", took, "s")
    bench.results.record(f"{key}/rows per second", len(rows) / took, "rows/s")
    single = [rows[i : i + 1] for i in range(min(len(rows), bench.sizes.n_deletions))]
    bench.results.record_latencies(f"{key}/one row", latencies(predict, single, bench.sizes.budget / 10))


def enough_rows(rows: Rows, n: int) -> Rows:
    """Exactly n rows, some of them repeated if there are fewer."""
    return np.ascontiguousarray(rows[np.arange(n) % len(rows)])
