"""Clocks, and the arithmetic of what they say."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MIN_CALLS = 20  # of a series of calls, however slow they are


@contextmanager
def little_garbage() -> Iterator[None]:
    """Spares the many collections of garbage to come from looking at what is there already."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, garbage of earlier work cleared away."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


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


def percentile(values: Sequence[float], q: float) -> float:
    """The smallest value that at least q per cent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q / 100 * len(ordered)) - 1)]


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return math.exp(statistics.fmean(map(math.log, values)))


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean; None for a single value, which says nothing about it."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def latency_figures(times: Sequence[float]) -> dict[str, float]:
    """Number, mean, median, p99 and maximum."""
    return {
        "n": len(times),
        "mean": statistics.fmean(times),
        "p50": percentile(times, 50),
        "p99": percentile(times, 99),
        "max": max(times),
    }
