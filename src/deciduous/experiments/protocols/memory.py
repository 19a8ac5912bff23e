"""Memory: data, structure and statistics by our own accounting, resident memory of a process, and scikit-learn's."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import models
from ..datasets import DataSet, Unavailable
from ..paper import Setting
from ..resident import OURS, STATM, Growth, in_process
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task


def plan(_: Scale, dataset: str) -> Sequence[Unit]:
    """One seed: memory hardly depends on it."""
    return [Unit("memory", dataset)]


def run(task: Task) -> dict[str, Any]:
    """Ours twice, by accounting here and by growth of a fresh process; scikit-learn's by the size of its arrays."""
    if not STATM.exists():
        raise Unavailable(f"resident memory is read from {STATM}, which this system does not have")
    data = task.data(task.scale.sized_rows)
    setting = task.setting(max_trees=task.scale.sized_trees)
    ours = models.g_dare(setting, task.seed, n_jobs=-1).fit(data.X, data.y).memory_usage()
    growth = _measured_in_process(data, setting, task.seed)
    scikit_learn = models.random_forest(setting, task.seed, n_jobs=-1).fit(data.X, data.y)
    return {
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
        "n_trees_of_the_paper": task.setting().n_trees,
        "matrix": data.X.nbytes + 4 * len(data.y),
        **asdict(ours),
        "total": ours.total,
        "resident_growth": growth.resident,
        "allocated_growth": growth.allocated,
        "resident_peak": growth.peak,
        "sklearn": models.sklearn_memory(scikit_learn),
    }


def _measured_in_process(data: DataSet, setting: Setting, seed: int) -> Growth:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=data.X, y=data.y)
        return in_process(path, OURS, setting, seed)


PROTOCOL = Protocol("memory", "memory by purpose, accounted and resident, compared with scikit-learn's", plan, run)
