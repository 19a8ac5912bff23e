"""Other ways to train and delete, each against eager deletions from all rows with the same hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import DataSet, Unavailable
from ..measuring import latencies, median_seconds, seconds
from ..settings import UNIFORM

DATA = ("adult", "bank_marketing", "synthetic_80k", "synthetic_800k")
N_ASKED = 1_000  # rows of the predictions between lazy deletions


def run(bench: Bench) -> None:
    """All variants on all data sets that are here."""
    for name in DATA:
        try:
            its = bench.data(name)
        except Unavailable as reason:
            bench.results.skipped[f"variants of {name}"] = str(reason)
            continue
        for measure in in_turn(bench, its):
            measure()


def in_turn(bench: Bench, its: DataSet) -> list[Callable[[], None]]:
    """The variants in an order that turns with the seed."""
    random_depth = bench.setting(its.name).random_depth
    all_of_them: list[Callable[[], None]] = [
        partial(measure, bench, its, "eager"),
        partial(measure, bench, its, "random_depth", random_depth=random_depth),
        partial(measure, bench, its, "max_samples", max_samples=0.1),
        partial(measure, bench, its, "uniform", **UNIFORM),
        partial(measure_lazy, bench, its),
    ]
    turn = bench.seed % len(all_of_them)
    return all_of_them[turn:] + all_of_them[:turn]


def measure(bench: Bench, its: DataSet, variant: str, **params: Any) -> None:
    """Fit and single deletions."""
    forest = bench.fit_data(f"{its.name}/{variant}", its, **params)
    bench.delete_each(f"{its.name}/{variant}/delete", forest, bench.rows(len(its.X)))


def measure_lazy(bench: Bench, its: DataSet) -> None:
    """Lazy deletions in blocks, the prediction after each block, and what is left to rebuild in the end."""
    key = f"{its.name}/lazy"
    forest = bench.fit_data(key, its, lazy=True)
    forest.fingerprint()  # remembers the nodes, so that the last one costs no more than what was rebuilt
    asked = its.X_test[:N_ASKED]
    usual = median_seconds(lambda: forest.predict_proba(asked), 5)
    times, predictions = delete_and_ask(bench, forest, bench.rows(len(its.X)), asked)
    settling = seconds(forest.fingerprint)
    paid = sum(predictions) - usual * len(predictions) + settling
    bench.results.record_latencies(f"{key}/delete", times)
    bench.results.record(f"{key}/prediction usually", usual, "s")
    bench.results.record_latencies(f"{key}/prediction after {bench.sizes.lazy_block} deletions", predictions)
    bench.results.record(f"{key}/delete and settle", (sum(times) + max(paid, 0.0)) / len(times), "s")


def delete_and_ask(
    bench: Bench, forest: DareForestClassifier, rows: list[int], asked: Any
) -> tuple[list[float], list[float]]:
    """The times of single deletions, and of the prediction after each block of them."""
    times: list[float] = []
    predictions: list[float] = []
    for block in np.array_split(rows, max(1, len(rows) // bench.sizes.lazy_block)):
        times += latencies(lambda row: forest.delete([row]), block.tolist(), float("inf"))
        predictions.append(seconds(lambda: forest.predict_proba(asked)))
        if sum(times) + sum(predictions) > bench.sizes.budget:
            break
    return times, predictions
