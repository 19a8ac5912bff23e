"""Batch: the time to delete 1, 100, 0.1%, 1% and 10% of the rows at once, and to add them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import models
from ..measuring import seconds
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task, seeds, timed_fit

SIZES: dict[str, Callable[[int], int]] = {
    "1": lambda _: 1,
    "100": lambda _: 100,
    "0.1%": lambda n: n // 1_000,
    "1%": lambda n: n // 100,
    "10%": lambda n: n // 10,
}


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """One unit for each seed."""
    return [Unit("batch", dataset, seed) for seed in seeds(scale.n_seeds)]


def run(task: Task) -> dict[str, Any]:
    """Delete, add back, and see that the forest is the first one again."""
    data, setting = task.some_data(), task.some_trees()
    forest = models.g_dare(setting, task.seed)
    retraining = timed_fit(forest, data)
    before = forest.fingerprint()
    random = np.random.default_rng(task.seed)
    batches = {}
    for name, size in SIZES.items():
        rows = random.choice(len(data.y), max(1, size(len(data.y))), replace=False)
        deleting = seconds(partial(forest.delete, rows))
        adding = seconds(partial(forest.add, data.X[rows], data.y[rows], ids=rows))
        batches[name] = {"n": len(rows), "deleting": deleting, "adding": adding}
    return {
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
        "retraining": retraining,
        "batches": batches,
        "is_first_forest_again": forest.fingerprint() == before,
    }


PROTOCOL = Protocol("batch", "time to delete batches", plan, run)
