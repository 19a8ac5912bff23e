"""Categorical columns against the same data one-hot."""

from __future__ import annotations

from functools import partial

from ..bench import Bench
from ..data import Unavailable, categorical_frame

DATA = ("adult", "no_show")


def run(bench: Bench) -> None:
    """Both encodings of all data sets that are here."""
    for name in DATA:
        try:
            measure(bench, name)
        except Unavailable as reason:
            bench.results.skipped[f"categories of {name}"] = str(reason)


def measure(bench: Bench, name: str) -> None:
    """Fit, memory and single deletions, the one first that the seed says."""
    both = [partial(measure_one_hot, bench, name), partial(measure_categorical, bench, name)]
    for measure_one in both if bench.seed % 2 else reversed(both):
        measure_one()


def measure_one_hot(bench: Bench, name: str) -> None:
    """The matrix of numbers."""
    its = bench.data(name)
    forest = bench.fit(f"{name}/one-hot", its.X, its.y, **bench.setting(name).params(bench.seed))
    bench.delete_each(f"{name}/one-hot/delete", forest, bench.rows(len(its.X)))


def measure_categorical(bench: Bench, name: str) -> None:
    """The frame with its categories."""
    frame, y = categorical_frame(name, bench.sizes.max_rows)
    params = bench.setting(name).params(bench.seed, categorical_features="from_dtype")
    forest = bench.fit(f"{name}/categorical", frame, y, **params)
    bench.delete_each(f"{name}/categorical/delete", forest, bench.rows(len(frame)))
