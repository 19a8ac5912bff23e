"""What an experiment is made of: a protocol plans units, and each is run as a task that knows its data and sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from . import models, paper
from .datasets import DataSet, entry_of, load
from .measuring import latency_figures, seconds
from .scales import Budget, Scale
from .store import Unit

G_DARE = "g_dare"
R_DARE = tuple(f"r_dare_{tolerance}" for tolerance in paper.TOLERANCES)
FEWEST_DELETIONS = 3  # of a series, however slow they are

Forest = DareForestClassifier | DareForestRegressor


@dataclass(frozen=True)
class Protocol:
    """An experiment."""

    name: str
    about: str
    plan: Callable[[Scale, str], Sequence[Unit]]  # the units on a data set
    run: Callable[[Task], dict[str, Any]]
    has_regression: bool = False

    def units(self, scale: Scale, dataset: str) -> Sequence[Unit]:
        """The units on a data set; none on a set for regression if the experiment is for classes only."""
        return self.plan(scale, dataset) if self.has_regression or not entry_of(dataset).is_regression else []


@dataclass(frozen=True)
class Task:
    """A unit that is about to be run."""

    unit: Unit
    scale: Scale
    folder: Path | None

    @property
    def seed(self) -> int:
        """Of rows, forests and deletions."""
        return self.unit.seed

    def option(self, name: str) -> Any:
        """What the unit says."""
        return self.unit.options[name]

    def data(self, max_rows: int | None, max_test_rows: int | None = None) -> DataSet:
        """The rows of the unit's data set, at most so many of them."""
        return load(self.unit.dataset, self.folder, max_rows).sample(max_rows, max_test_rows, self.seed)

    def some_data(self) -> DataSet:
        """As many rows as the scale has for experiments with updates."""
        return self.data(self.scale.max_rows, self.scale.max_test_rows)

    def setting(self, model: str = G_DARE, criterion: str = "gini", max_trees: int | None = None) -> paper.Setting:
        """The paper's hyperparameters for a model on this data set, of at most so many trees."""
        tolerance = model.removeprefix("r_dare_") if model in R_DARE else None
        its = entry_of(self.unit.dataset).setting(criterion, tolerance)
        return its if max_trees is None else replace(its, n_trees=min(max_trees, its.n_trees))

    def some_trees(self, model: str = G_DARE, criterion: str = "gini") -> paper.Setting:
        """The same, of as many trees as the scale has for experiments with updates."""
        return self.setting(model, criterion, self.scale.max_trees)


def seeds(n: int) -> range:
    """The first is 1."""
    return range(1, n + 1)


# ------------------------------------------------------------------------------------------------ series of deletions


def timed_fit(forest: Forest, data: DataSet) -> float:
    """Train in one thread; the seconds are those of naive retraining, which deletes a row by training again."""
    forest.set_params(n_jobs=1)
    return seconds(lambda: forest.fit(data.X, data.y))


def delete_random(forest: Forest, seed: int, budget: Budget) -> dict[str, Any]:
    """Single deletions of random rows."""
    rows = np.random.default_rng(seed).permutation(forest.n_rows_)[: min(budget.n, forest.n_rows_ // 2)]
    return _deleted(forest, iter(rows.tolist()), budget)


def delete_worst(forest: Forest, seed: int, budget: Budget, n_candidates: int) -> dict[str, Any]:
    """Single deletions of the costliest of some random candidates; choosing them is timed on its own."""
    random = np.random.default_rng(seed)
    left = np.arange(forest.n_rows_)
    choosing: list[float] = []

    def worst() -> Any:
        nonlocal left
        while True:
            candidates = random.choice(left, min(n_candidates, len(left)), replace=False)
            start = time.perf_counter()
            costs = forest.set_params(n_jobs=-1).deletion_costs(candidates)
            choosing.append(time.perf_counter() - start)
            forest.set_params(n_jobs=1)
            row = int(candidates[costs.argmax()])
            left = left[left != row]
            yield row

    figures = _deleted(forest, worst(), budget, choosing)
    return figures | {"choosing": latency_figures(choosing), "n_candidates": n_candidates}


def _deleted(forest: Forest, rows: Any, budget: Budget, also_spent: Sequence[float] = ()) -> dict[str, Any]:
    """Deletes until the budget is spent; latencies, and the rows retrained by depth, per deletion."""
    times: list[float] = []
    by_depth = np.zeros(0)
    for row in rows:
        start = time.perf_counter()
        report = forest.delete([row])
        times.append(time.perf_counter() - start)
        costs = np.array(report.rows_retrained_by_depth, dtype=float)
        by_depth, shorter = (costs, by_depth) if len(costs) > len(by_depth) else (by_depth, costs)
        by_depth[: len(shorter)] += shorter
        is_spent = sum(times) + sum(also_spent) > budget.seconds and len(times) >= FEWEST_DELETIONS
        if len(times) >= budget.n or is_spent:
            break
    per_deletion = by_depth / len(times)
    return {
        "delete": latency_figures(times),
        "rows_retrained": float(per_deletion.sum()),
        "rows_retrained_by_depth": [round(rows, 2) for rows in per_deletion.tolist()],
    }


def deletion_series(task: Task, adversary: str, forest: Forest, data: DataSet) -> dict[str, Any]:
    """Train, judge, delete: what one unit of the experiments on deletion measures."""
    retraining = timed_fit(forest, data)
    score = models.quality(forest, data)
    scale = task.scale
    if adversary == "random":
        figures = delete_random(forest, task.seed, scale.random_deletions)
    else:
        figures = delete_worst(forest, task.seed, scale.worst_deletions, scale.n_candidates)
    return {
        "n_rows": len(data.y),
        "n_trees": forest.n_estimators,
        "random_depth": forest.random_depth,
        "score": score,
        "retraining": retraining,
        "speedup": retraining / figures["delete"]["mean"],
        **figures,
    }
