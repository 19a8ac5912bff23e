"""Stability: what stable splits gain and lose, compared with the random levels of R-DaRE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import models, paper
from ..datasets import entry_of
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task, deletion_series, seeds


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """The greedy forest, forests of rising stability, and R-DaRE with the paper's d_rmax of each tolerance."""
    if dataset not in scale.stability_datasets:
        return []
    name = entry_of(dataset).paper_name
    depths = {paper.setting(name, tolerance=tolerance).random_depth for tolerance in paper.TOLERANCES} - {0}
    forests = [(0.0, 0), *((stability, 0) for stability in scale.stabilities), *((0.0, depth) for depth in depths)]
    return [
        Unit("stability", dataset, seed, {"stability": stability, "random_depth": depth})
        for stability, depth in sorted(forests)
        for seed in seeds(scale.stability_seeds)
    ]


def run(task: Task) -> dict[str, Any]:
    """Train, judge, delete random rows."""
    forest = models.g_dare(task.setting(max_trees=task.scale.stability_trees), task.seed, **task.unit.options)
    return deletion_series(task, "random", forest, task.some_data())


PROTOCOL = Protocol(
    "stability", "stable splits compared with random levels: speed of deletions against score", plan, run
)
