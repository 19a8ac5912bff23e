"""Tuning: the hyperparameters that the paper's protocol selects here, compared with those that it selected there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import tuning
from ...forest import DareForestClassifier
from .. import paper
from ..datasets import entry_of
from ..scales import Scale
from ..store import Unit
from ..task import Protocol, Task

SCORING = {"accuracy": "accuracy", "auc": "roc_auc", "average_precision": "average_precision"}


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """One search for each criterion."""
    return [Unit("tuning", dataset, options={"criterion": criterion}) for criterion in scale.tuning.criteria]


def run(task: Task) -> dict[str, Any]:
    """The search, on as many rows as the paper used, or fewer."""
    entry, grid = entry_of(task.unit.dataset), task.scale.tuning
    n_rows = round(paper.SHARE_TUNED.get(entry.paper_name, 1.0) * entry.expected.n_train)
    data = task.data(min(n_rows, grid.max_rows or n_rows))
    found = tuning.tune(
        DareForestClassifier(criterion=task.option("criterion"), random_state=task.seed),
        data.X,
        data.y,
        n_estimators=grid.n_trees,
        max_depth=grid.depths,
        n_thresholds=grid.thresholds,
        tolerances=[float(tolerance) / 100 for tolerance in paper.TOLERANCES],
        scoring=SCORING[data.metric],
        cv=grid.n_folds,
        refit=False,
        n_jobs=-1,
        random_state=task.seed,
    )
    return {
        "n_rows": found.n_rows,
        "score": found.best_score,
        "T": found.best_params["n_estimators"],
        "d_max": found.best_params["max_depth"],
        "k": found.best_params["n_thresholds"],
        "d_rmax": dict(zip(paper.TOLERANCES, found.random_depths.values(), strict=True)),
    }


PROTOCOL = Protocol("tuning", "hyperparameters selected by the paper's protocol", plan, run)
