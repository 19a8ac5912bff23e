"""What a time, a spread and an exponent are; the clocks themselves are those of the experiments."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciduous.experiments.measuring import latencies, percentile, seconds

__all__ = [
    "Exponent",
    "Spread",
    "cpu_seconds",
    "exponent",
    "latencies",
    "least_seconds",
    "median_seconds",
    "percentile",
    "seconds",
    "spread",
]


def median_seconds(work: Callable[[], Any], n: int) -> float:
    """The median of several runs, after one that warms up; for work that is short and changes nothing."""
    work()
    return statistics.median(seconds(work) for _ in range(n))


def cpu_seconds(work: Callable[[], Any]) -> float:
    """How long the processor works on it, whoever else it works for; garbage of earlier work cleared away."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def least_seconds(works: Sequence[Callable[[], Any]], n_turns: int) -> list[float]:
    """For each work the least processor time of several turns, in which all have theirs.

    What else the machine does only ever adds to a time, and turns let it add to all of them alike.
    """
    turns = [[cpu_seconds(work) for work in works] for _ in range(n_turns)]
    return [min(times) for times in zip(*turns, strict=True)]


@dataclass(frozen=True)
class Spread:
    """Values of several seeds in short."""

    n: int
    mean: float
    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Mean, median and range."""
    return Spread(len(values), statistics.fmean(values), statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Exponent:
    """The e in y ~ x^e, with its standard error."""

    value: float
    error: float


def exponent(points: Sequence[tuple[float, float]]) -> Exponent | None:
    """Least squares in logarithms; None if fewer than two different x are there."""
    if len({x for x, _ in points}) < 2:
        return None
    x, y = np.log(np.asarray(points, dtype=float)).T
    dx = x - x.mean()
    slope = float(dx @ y / (dx @ dx))
    rest = y - y.mean() - slope * dx
    n_free = max(len(points) - 2, 1)
    return Exponent(slope, math.sqrt(float(rest @ rest) / n_free / float(dx @ dx)))
