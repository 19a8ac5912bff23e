"""Other updates than single deletions: additions, batches, costs without deleting; and threads."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from ..bench import Bench
from ..data import DataSet, Unavailable
from ..measuring import latencies, seconds
from ..peers import river_forest

DATA = ("adult", "synthetic_80k")


def run(bench: Bench) -> None:
    """Deletions, their undoing, costs, a batch, and river's additions."""
    for its in available(bench, "updates"):
        measure_ours(bench, its)
        measure_without_retraining(bench, its)
        measure_river(bench, its)


def available(bench: Bench, case: str) -> list[DataSet]:
    """The data sets that are here."""
    found = []
    for name in DATA:
        try:
            found.append(bench.data(name))
        except Unavailable as reason:
            bench.results.skipped[f"{case} of {name}"] = str(reason)
    return found


def measure_ours(bench: Bench, its: DataSet) -> None:
    """Delete rows one by one, add them back, ask for costs, and delete a batch; all from one forest."""
    key = f"{its.name}/updates"
    forest = bench.fit_data(key, its)
    rows = bench.rows(len(its.X))
    n_deleted = bench.delete_each(f"{key}/delete", forest, rows)
    bench.add_each(f"{key}/add", forest, its, rows[:n_deleted])
    asked = bench.rows(len(its.X), bench.sizes.n_costs)
    bench.results.record(f"{key}/costs", seconds(lambda: forest.deletion_costs(asked)), "s")
    batch = bench.batch_of(forest.ids_)
    bench.results.record(f"{key}/batch per row", seconds(lambda: forest.delete(batch)) / len(batch), "s")


def measure_without_retraining(bench: Bench, its: DataSet) -> None:
    """What the rows of `costs` take to delete, retraining left out: lazily, and rebuilt off the clock now and then."""
    key = f"{its.name}/updates"
    forest = bench.fit_data(f"{its.name}/lazy updates", its, lazy=True)
    rows = bench.rows(len(its.X), bench.sizes.n_costs)
    total = 0.0
    for block in np.array_split(rows, max(1, len(rows) // bench.sizes.lazy_block)):
        total += sum(latencies(lambda row: forest.delete([row]), block.tolist(), float("inf")))
        forest.fingerprint()  # rebuilds what was postponed, so that the next deletions go all the way down
    bench.results.record(f"{key}/deleted lazily", total, "s")


def measure_river(bench: Bench, its: DataSet) -> None:
    """Additions to river's forest, the second half of those that fit into the time."""
    try:
        model = river_forest(bench.setting(its.name), bench.seed)
    except Unavailable as reason:
        bench.results.skipped["river"] = str(reason)
        return
    times = river_additions(model, its, bench.sizes.river_seconds)
    bench.results.record_latencies(f"{its.name}/river/add", times[len(times) // 2 :])


def river_additions(model: Any, its: DataSet, budget: float) -> list[float]:
    """The times of `learn_one`, as its rows come as dictionaries, made off the clock."""
    times: list[float] = []
    end = time.perf_counter() + budget
    for x, y in zip(its.X, its.y, strict=True):
        row, label = dict(enumerate(x.tolist())), int(y)
        start = time.perf_counter()
        model.learn_one(row, label)
        times.append(time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return times


def run_threads(bench: Bench) -> None:
    """Fit and a batch deletion with one thread and with two, the one first that the seed says."""
    if (os.cpu_count() or 1) < 2:
        raise Unavailable("two threads need two processors")
    for its in available(bench, "threads"):
        for n_threads in (1, 2) if bench.seed % 2 else (2, 1):
            measure_threads(bench, its, n_threads)


def measure_threads(bench: Bench, its: DataSet, n_threads: int) -> None:
    """Fit and a batch deletion with this many threads."""
    key = f"{its.name}/threads"
    forest = bench.fit_data(f"{key}/{n_threads}", its, n_jobs=n_threads)
    bench.results.record(f"{key}/fit with {n_threads}", bench.results.series[f"{key}/{n_threads}/fit"].values[-1], "s")
    batch = bench.batch_of(forest.ids_)
    bench.results.record(f"{key}/batch with {n_threads}", seconds(lambda: forest.delete(batch)), "s")
