"""Random depth: what d_rmax does to the speed of deletions, to the error, and to the rows retrained at each depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import models, paper
from ..datasets import entry_of
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task, deletion_series, seeds
from .deletion import ADVERSARIES


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """From 0 to d_max, for both adversaries."""
    if dataset not in scale.depth_datasets:
        return []
    depth = paper.setting(entry_of(dataset).paper_name).depth
    return [
        Unit("random-depth", dataset, seed, {"random_depth": random_depth, "adversary": adversary})
        for adversary in ADVERSARIES
        for random_depth in range(0, depth + 1, scale.depth_step)
        for seed in seeds(scale.n_seeds)
    ]


def run(task: Task) -> dict[str, Any]:
    """Train, judge, delete."""
    forest = models.g_dare(task.some_trees(), task.seed, random_depth=task.option("random_depth"))
    return deletion_series(task, task.option("adversary"), forest, task.some_data())


PROTOCOL = Protocol("random-depth", "effect of d_rmax", plan, run)
