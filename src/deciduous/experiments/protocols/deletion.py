"""Deletion: how many rows are deleted in the time of one retraining, which is the paper's speed-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import models
from ..datasets import entry_of
from ..scales import Scale
from ..store import Unit
from ..task import G_DARE, R_DARE, Protocol, Task, deletion_series, seeds

ADVERSARIES = ("random", "worst_of_1000")
MODELS = (G_DARE, *R_DARE)
SQUARED_ERROR = "squared_error"  # the criterion of regression


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """Each criterion, adversary and model."""
    return [
        Unit("deletion", dataset, seed, {"criterion": criterion, "adversary": adversary, "model": model})
        for criterion in ((SQUARED_ERROR,) if entry_of(dataset).is_regression else scale.criteria)
        for adversary in ADVERSARIES
        for model in MODELS
        for seed in seeds(scale.n_seeds)
    ]


def run(task: Task) -> dict[str, Any]:
    """Train, judge, delete."""
    criterion = task.option("criterion")
    setting = task.some_trees(task.option("model"), criterion)
    data = task.some_data()
    forest = models.dare_for(data, setting, task.seed, criterion=criterion)
    return deletion_series(task, task.option("adversary"), forest, data)


PROTOCOL = Protocol(
    "deletion", "speed-up over retraining, and latencies, for two adversaries", plan, run, has_regression=True
)
