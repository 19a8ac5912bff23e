"""Thresholds: what k does to the quality and to the speed of deletions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import models
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task, deletion_series, seeds


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """Each k, for the random adversary, as in the paper."""
    if dataset not in scale.threshold_datasets:
        return []
    return [Unit("thresholds", dataset, seed, {"k": k}) for k in scale.thresholds for seed in seeds(scale.n_seeds)]


def run(task: Task) -> dict[str, Any]:
    """Train, judge, delete."""
    setting = replace(task.some_trees(), k=task.option("k"))
    return deletion_series(task, "random", models.g_dare(setting, task.seed), task.some_data())


PROTOCOL = Protocol("thresholds", "effect of k", plan, run)
