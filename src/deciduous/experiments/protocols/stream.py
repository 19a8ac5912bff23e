"""Stream: adds, deletions and queries of single rows in random order; eager and lazy, rows in some of the trees."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import models
from ..datasets import DataSet
from ..measuring import latency_figures, percentile
from ..scales import Budget, Scale
from ..store import Unit
from ..task import Protocol, Task, seeds

SHARES = (1.0, 0.2, 0.1)  # max_samples
KINDS = ("add", "delete", "query")
SHARE_TO_ADD = 10  # one row in so many is not trained on, but added later
PERCENTILES = (1, 10, 25, 50, 75, 90, 95, 99, 100)


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """Eager and lazy, for each share of trees."""
    return [
        Unit("stream", dataset, seed, {"lazy": lazy, "max_samples": share})
        for share in SHARES
        for lazy in (False, True)
        for seed in seeds(scale.n_seeds)
    ]


def run(task: Task) -> dict[str, Any]:
    """The stream, and the quality after it."""
    data, setting = task.some_data(), task.setting(max_trees=task.scale.stream_trees)
    share = task.option("max_samples")
    forest = models.g_dare(setting, task.seed, lazy=task.option("lazy"), max_samples=None if share == 1.0 else share)
    n_first = len(data.y) - len(data.y) // SHARE_TO_ADD
    forest.fit(data.X[:n_first], data.y[:n_first])
    times = streamed(forest, data, n_first, task.seed, task.scale.stream)
    return {
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
        "score": models.quality(forest, data),
        **{kind: _figures(its) for kind, its in times.items() if its},
    }


def streamed(forest: Any, data: DataSet, n_first: int, seed: int, budget: Budget) -> dict[str, list[float]]:
    """The latencies of each kind of operation, until the budget is spent."""
    random = np.random.default_rng(seed)
    to_add = iter(range(n_first, len(data.y)))
    to_delete = iter(random.permutation(n_first)[: n_first // 2].tolist())
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    spent = 0.0
    for number in range(budget.n):
        kind = KINDS[number] if number < len(KINDS) else KINDS[int(random.integers(len(KINDS)))]
        row = next({"add": to_add, "delete": to_delete}.get(kind, iter([number % len(data.y_test)])), None)
        if row is None or (spent > budget.seconds and number >= len(KINDS)):
            break
        start = time.perf_counter()
        if kind == "add":
            forest.add(data.X[row : row + 1], data.y[row : row + 1], ids=[row])
        elif kind == "delete":
            forest.delete([row])
        else:
            forest.predict_proba(data.X_test[row : row + 1])
        took = time.perf_counter() - start
        times[kind].append(took)
        spent += took
    return times


def _figures(times: list[float]) -> dict[str, Any]:
    return latency_figures(times) | {"percentiles": {str(q): percentile(times, q) for q in PERCENTILES}}


PROTOCOL = Protocol("stream", "mixed adds, deletions and queries, eager and lazy", plan, run)
