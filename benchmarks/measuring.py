"""Clocks and the arithmetic of measurements: what a time, a spread and an exponent are."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MIN_CALLS = 20  # of a series of calls, however slow they are


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, garbage of earlier work cleared away."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_seconds(work: Callable[[], Any], n: int) -> float:
    """The median of several runs, after one that warms up; for work that is short and changes nothing."""
    work()
    return statistics.median(seconds(work) for _ in range(n))


def latencies(work: Callable[[Any], Any], items: Iterable[Any], budget: float) -> list[float]:
    """The time of each call, until the items or the budget of seconds run out."""
    gc.collect()
    times: list[float] = []
    total = 0.0
    for item in items:
        start = time.perf_counter()
        work(item)
        times.append(time.perf_counter() - start)
        total += times[-1]
        if total > budget and len(times) >= MIN_CALLS:
            break
    return times


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


def percentile(values: Sequence[float], q: float) -> float:
    """The smallest value that at least q per cent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q / 100 * len(ordered)) - 1)]


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
