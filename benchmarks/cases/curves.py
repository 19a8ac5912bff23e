"""Cost curves: fit, deletion and memory against one parameter at a time."""

from __future__ import annotations

from functools import lru_cache

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import Labels, Rows, blobs
from ..measuring import latencies, seconds

DEPTH, K, N_COLUMNS = 20, 10, 40


def run(bench: Bench) -> None:
    """All points of all curves."""
    for axis, values in bench.sizes.curves.axes.items():
        for value in values:
            measure(bench, axis, value)


def measure(bench: Bench, axis: str, value: int) -> None:
    """One point: all parameters as usual but the one of this axis."""
    usual = {"n": bench.sizes.curves.n, "T": bench.sizes.curves.trees, "d": DEPTH, "k": K, "p": N_COLUMNS}
    point = usual | {axis: value}
    X, y = rows(point["n"], point["p"])
    forest = DareForestClassifier(
        point["T"], max_depth=point["d"], n_thresholds=point["k"], random_state=bench.seed, n_jobs=1
    )
    fit = seconds(lambda: forest.fit(X, y))
    memory = forest.memory_usage().total
    ids = bench.rows(len(X), bench.sizes.curve_deletions)
    times = latencies(lambda row: forest.delete([row]), ids, bench.sizes.budget / 3)
    for quantity, y_value in (("fit", fit), ("deletion", sum(times) / len(times)), ("memory", memory)):
        bench.results.record_point(f"{axis}/{quantity}", value, y_value)


@lru_cache(maxsize=1)
def rows(n: int, p: int) -> tuple[Rows, Labels]:
    """Data in the manner of the paper's Synthetic."""
    return blobs(n, p)
