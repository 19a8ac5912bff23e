"""What every case is given: sizes, a seed, and where to put what it measures; and the steps that cases share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciduous import DareForestClassifier, DareForestRegressor

from .data import DataSet, load
from .measuring import latencies, seconds
from .peers import quality
from .results import Results
from .settings import Setting, Sizes

Forest = DareForestClassifier | DareForestRegressor
MAX_SHARE_DELETED = 4  # one series of deletions takes at most a quarter of the rows


@dataclass(frozen=True)
class Bench:
    """One seed of a run."""

    sizes: Sizes
    results: Results
    seed: int
    is_first: bool  # of the seeds: for what depends on the seed hardly at all

    def data(self, name: str) -> DataSet:
        """A data set in the size of this run."""
        return load(name, self.sizes.max_rows)

    def setting(self, name: str) -> Setting:
        """Its hyperparameters in the size of this run."""
        return self.sizes.setting(name)

    def rows(self, n_rows: int, n_wanted: int | None = None) -> list[int]:
        """Random row numbers, for a series of deletions unless another number is wanted."""
        n = min(n_wanted or self.sizes.n_deletions, n_rows // MAX_SHARE_DELETED)
        return [int(row) for row in np.random.default_rng(self.seed).choice(n_rows, n, replace=False)]

    def fit(self, key: str, X: Any, y: Any, **params: Any) -> DareForestClassifier:
        """A forest whose training is timed as `key/fit`, and its memory noted."""
        forest = DareForestClassifier(**params)
        self.results.record(f"{key}/fit", seconds(lambda: forest.fit(X, y)), "s")
        self.results.record(f"{key}/memory", forest.memory_usage().total, "B")
        return forest

    def fit_data(self, key: str, its: DataSet, **others: Any) -> DareForestClassifier:
        """A forest with the hyperparameters of a data set, its quality noted as well."""
        forest = self.fit(key, its.X, its.y, **self.setting(its.name).params(self.seed, **others))
        self.results.record(f"{key}/quality", quality(forest, its), its.metric)
        return forest

    def batch_of(self, ids: NDArray[Any]) -> list[int]:
        """One per cent of these rows, at random."""
        n = max(2, len(ids) // 100)
        return [int(row) for row in np.random.default_rng([self.seed, 1]).choice(ids, n, replace=False)]

    def delete_each(self, key: str, forest: Forest, ids: Sequence[int]) -> int:
        """Single deletions, timed as the series `key`; how many the budget allowed."""
        times = latencies(lambda row: forest.delete([row]), ids, self.sizes.budget)
        self.results.record_latencies(key, times)
        return len(times)

    def add_each(self, key: str, forest: DareForestClassifier, its: DataSet, ids: Sequence[int]) -> None:
        """Single additions of rows of a data set, timed as the series `key`; all of them, whatever the budget."""

        def add(row: int) -> None:
            forest.add(its.X[row : row + 1], its.y[row : row + 1], ids=[row])

        self.results.record_latencies(key, latencies(add, ids, float("inf")))
