"""8.8 million Higgs-shaped rows: trains and deletes within a limit of time, the rest extrapolated openly."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from deciduous import DareForestClassifier
from deciduous.experiments import machine
from deciduous.experiments.resident import resident, resident_peak

from .data import higgs_shaped
from .measuring import latencies, seconds
from .results import Results

N_TREES, DEPTH, K = 50, 20, 10  # of the paper for Higgs
N_ROWS = 8_800_000


@dataclass(frozen=True)
class Scale:
    """What to run."""

    n_rows: int = N_ROWS
    n_trees: int = N_TREES
    random_depth: int = 3  # the paper's at a tolerance of 0.25%, and of its 0.283 s for a deletion
    minutes: float = 60.0
    n_jobs: int = -1  # of fit; deletions take one thread
    n_deletions: int = 100

    @property
    def prefix(self) -> str:
        """Of the series. Requirements read `higgs/`, so that a smaller run is not judged as the large one."""
        return "higgs/" if self.n_rows == N_ROWS else f"higgs of {self.n_rows:,} rows/"


@dataclass(frozen=True)
class Fit:
    """A forest of some trees: how long its training took and what it holds."""

    n_trees: int
    seconds: float
    resident: float


def line_through(few: tuple[int, float], many: tuple[int, float], n: int) -> float:
    """What is linear in the number of trees, at n trees, from two measurements."""
    (n_few, y_few), (n_many, y_many) = few, many
    if n_few == n_many:
        return y_many * n / n_many
    return y_few + (y_many - y_few) * (n - n_few) / (n_many - n_few)


def affordable_trees(first: Fit, seconds_left: float, n_wanted: int) -> int:
    """How many trees fit into the time that is left, judged by one small forest; a fifth is kept for deletions."""
    per_tree = first.seconds / first.n_trees
    return max(first.n_trees, min(n_wanted, int(0.8 * seconds_left / per_tree)))


def run(scale: Scale, results: Results) -> None:
    """Measure and record."""
    end = time.monotonic() + 60 * scale.minutes
    results.forget(scale.prefix)
    print(f"scale: making {scale.n_rows:,} rows", flush=True)
    X, y = higgs_shaped(scale.n_rows)
    base = resident()
    first, forest = train(scale, X, y, min(2, scale.n_trees), base)
    del forest
    n_trees = affordable_trees(first, end - time.monotonic(), scale.n_trees)
    main, forest = train(scale, X, y, n_trees, base)
    forest.set_params(n_jobs=1)
    rows = np.random.default_rng(0).choice(len(X), scale.n_deletions, replace=False).tolist()
    times = latencies(lambda row: forest.delete([row]), rows, max(60.0, end - time.monotonic()))
    record(scale, results, first, main, base, times)


def train(scale: Scale, X: np.ndarray, y: np.ndarray, n_trees: int, base: int) -> tuple[Fit, DareForestClassifier]:
    """A forest of this many trees, with its time and by how much the process grew."""
    forest = DareForestClassifier(
        n_trees,
        max_depth=DEPTH,
        n_thresholds=K,
        random_depth=scale.random_depth,
        n_jobs=scale.n_jobs,
        random_state=1,
    )
    took = seconds(lambda: forest.fit(X, y))
    print(f"scale: {n_trees} trees in {took:.0f} s, {resident() / 1e9:.1f} GB resident", flush=True)
    return Fit(n_trees, took, resident() - base), forest


def record(scale: Scale, results: Results, first: Fit, main: Fit, base: int, times: list[float]) -> None:
    """What was measured, and beside it what a straight line through both forests says of all the trees."""
    key = f"{scale.prefix}deciduous"
    results.options["scale"] = vars(scale) | {"trees_trained": main.n_trees, "commit": machine.description()["commit"]}
    results.record(f"{key}/trees trained", main.n_trees, "trees")
    results.record(f"{key}/fit of these", main.seconds, "s")
    results.record(f"{key}/resident peak with these", resident_peak(), "B")
    results.record_latencies(f"{key}/delete of these", times)
    n, few, many = N_TREES, first.n_trees, main.n_trees
    results.record(f"{key}/fit", line_through((few, first.seconds), (many, main.seconds), n), "s")
    grown = line_through((few, first.resident), (many, main.resident), n)
    results.record(f"{key}/resident with 50 trees", max(base + grown, resident_peak()), "B")
    results.record(f"{key}/delete", sum(times) / len(times) * n / many, "s")
