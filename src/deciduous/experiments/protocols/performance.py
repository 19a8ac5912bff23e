"""Predictive performance: G-DaRE compared with random trees, Extra Trees, scikit-learn's forests and LightGBM's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import models
from ..datasets import DataSet, entry_of
from ..measuring import seconds
from ..paper import Setting
from ..scales import MANY_ROWS, Scale
from ..store import Unit
from ..task import G_DARE, Protocol, Task, seeds

MODELS: dict[str, Callable[[Setting, int, DataSet], Any]] = {
    "random_trees": lambda setting, seed, _: models.random_trees(setting, seed, n_jobs=-1),
    "extra_trees": lambda setting, seed, _: models.extra_trees(setting, seed, n_jobs=-1),
    "sklearn_rf": lambda setting, seed, _: models.random_forest(setting, seed, n_jobs=-1),
    "sklearn_rf_bootstrap": lambda setting, seed, _: models.random_forest(setting, seed, bootstrap=True, n_jobs=-1),
    G_DARE: lambda setting, seed, _: models.g_dare(setting, seed, n_jobs=-1),
    # In one thread: its pool of threads beside that of scikit-learn was seen to wait for minutes.
    "lightgbm_rf": lambda setting, seed, data: models.lightgbm_forest(setting, seed, data.X.shape[1], n_leaves=4096),
}
TITLES = {
    "random_trees": "Random Trees",
    "extra_trees": "Extra Trees",
    "sklearn_rf": "scikit-learn RF",
    "sklearn_rf_bootstrap": "… with bootstrap",
    G_DARE: "G-DaRE",
    "lightgbm_rf": "LightGBM rf",
}


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """All models on all rows; at smaller scales G-DaRE alone, and all models on some rows."""
    entry = entry_of(dataset)
    n_seeds = scale.large_set_seeds if entry.expected.n_train > MANY_ROWS else scale.whole_seeds
    if entry.stands_in_for:
        n_seeds = 0  # no figure of the paper's is to be compared with
    if scale.peer_rows is None:
        return [_unit(dataset, seed, model, "all") for model in MODELS for seed in seeds(n_seeds)]
    whole = [_unit(dataset, seed, G_DARE, "all") for seed in seeds(n_seeds)]
    return whole + [_unit(dataset, seed, model, "some") for model in MODELS for seed in seeds(scale.peer_seeds)]


def _unit(dataset: str, seed: int, model: str, rows: str) -> Unit:
    return Unit("performance", dataset, seed, {"model": model, "rows": rows})


def run(task: Task) -> dict[str, Any]:
    """Train in all threads, and judge on the test rows."""
    its = task.scale
    is_whole = task.option("rows") == "all"
    data = task.data(its.whole_rows if is_whole else its.peer_rows)
    setting = task.setting(max_trees=its.whole_trees if is_whole else its.peer_trees)
    model = MODELS[task.option("model")](setting, task.seed, data)
    took = seconds(lambda: model.fit(data.X, data.y))
    return {
        "score": models.quality(model, data),
        "metric": data.metric,
        "seconds": took,
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
    }


PROTOCOL = Protocol("performance", "quality of G-DaRE compared with other forests", plan, run)
