"""Training time: G-DaRE in one thread, as in the paper, and scikit-learn's forest in the same minute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import models
from ..measuring import seconds
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task, seeds


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """One unit for each seed."""
    return [Unit("training-time", dataset, seed) for seed in seeds(scale.n_seeds)]


def run(task: Task) -> dict[str, Any]:
    """Time both, on all rows and some of the trees."""
    data = task.data(task.scale.sized_rows)
    setting = task.setting(max_trees=task.scale.timed_trees)
    forest, other = models.g_dare(setting, task.seed), models.random_forest(setting, task.seed)
    return {
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
        "n_trees_of_the_paper": task.setting().n_trees,
        "seconds": seconds(lambda: forest.fit(data.X, data.y)),
        "sklearn_seconds": seconds(lambda: other.fit(data.X, data.y)),
    }


PROTOCOL = Protocol("training-time", "time of training in one thread", plan, run)
