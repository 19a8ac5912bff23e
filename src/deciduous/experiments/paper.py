"""The figures of the paper (Brophy and Lowd, ICML 2021) that ours are compared with: its tables, as CSV files."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

TOLERANCES = ("0.1", "0.25", "0.5", "1.0")  # of R-DaRE, in per cent
SHARE_TUNED = {"twitter": 0.5, "synthetic": 0.25, "ctr": 0.025, "higgs": 0.025}  # of the train rows; all of others


@dataclass(frozen=True)
class DataSetFigures:
    """A line of the table of data sets."""

    n_train: int
    n_test: int
    n_attributes: int
    positive_train: float  # per cent
    metric: str


@dataclass(frozen=True)
class Setting:
    """Hyperparameters for a data set: trees, depth, thresholds, and d_rmax."""

    n_trees: int
    depth: int
    k: int
    random_depth: int

    def params(self, seed: int, **others: Any) -> dict[str, Any]:
        """The greedy ones as arguments of a forest of ours: one thread unless told otherwise."""
        own = {"n_estimators": self.n_trees, "max_depth": self.depth, "n_thresholds": self.k}
        return own | {"random_state": seed, "n_jobs": 1} | others


def rows(table: str) -> list[dict[str, str]]:
    """The lines of a table."""
    text = files(__package__).joinpath("papers_tables").joinpath(f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def dataset(name: str) -> DataSetFigures:
    """What the table of data sets says about one."""
    its = _by_dataset("datasets")[name]
    return DataSetFigures(
        int(its["n_train"]), int(its["n_test"]), int(its["n_attributes"]), float(its["pos_pct_train"]), its["metric"]
    )


def setting(name: str, criterion: str = "gini", tolerance: str | None = None) -> Setting:
    """The paper's hyperparameters for a data set; of G-DaRE without a tolerance."""
    its = next(row for row in rows("hyperparameters") if row["criterion"] == criterion and row["dataset"] == name)
    random_depth = 0 if tolerance is None else int(its[f"d_rmax_tol_{tolerance}"])
    return Setting(int(its["T"]), int(its["d_max"]), int(its["k"]), random_depth)


def score(name: str, model: str) -> float:
    """A score of the table of predictive performance."""
    return float(_by_dataset("predictive_performance")[name][model])


def memory(name: str) -> dict[str, float]:
    """The line of the table of memory, in megabytes."""
    return {key: float(value) for key, value in _by_dataset("memory_mb")[name].items() if key != "dataset"}


def train_seconds(name: str) -> tuple[float, float]:
    """Mean and standard deviation of the time of training."""
    its = _by_dataset("train_seconds")[name]
    return float(its["g_dare_mean"]), float(its["g_dare_sd"])


def speedup(criterion: str, adversary: str, model: str) -> tuple[float, float, float]:
    """Minimum, maximum and geometric mean over the data sets."""
    wanted = {"criterion": criterion, "adversary": adversary, "model": model}
    its = next(row for row in rows("deletion_speedup_summary") if wanted.items() <= row.items())
    return float(its["min_x"]), float(its["max_x"]), float(its["gmean_x"])


@cache
def _by_dataset(table: str) -> dict[str, dict[str, str]]:
    return {row["dataset"]: row for row in rows(table)}
