"""Uniform thresholds: independent uniform points of a range, as many as wanted (docs/algorithm.md, 2.6)."""

import math
from collections.abc import Iterator
from itertools import count as count_from
from itertools import islice
from typing import NamedTuple

import numpy as np

from reference.hashing import ARRIVAL, H


class Window(NamedTuple):
    """The dyadic interval [m * 2^e, (m + 2) * 2^e)."""

    e: int
    m: int


def ceil_log2(size: float) -> int:
    """The smallest integer e with 2^e >= size, for a size above 0."""
    fraction, exponent = math.frexp(size)  # size = fraction * 2^exponent, 0.5 <= fraction < 1
    return exponent - 1 if fraction == 0.5 else exponent


def window_of(lo: float, hi: float) -> Window:
    """The window that the arrivals of the range [lo, hi) are drawn from."""
    e = ceil_log2(hi - lo)
    return Window(e, math.floor(lo / math.ldexp(1.0, e)))


def rounded_down(point: float) -> float:
    """The largest float32 that is not above the point, with -0.0 as 0.0."""
    with np.errstate(over="ignore"):  # a window may reach beyond the float32 numbers, a range cannot
        nearest = np.float32(point)
    if float(nearest) > point:
        nearest = np.nextafter(nearest, np.float32(-np.inf))
    return float(nearest) + 0.0


def points(key: int, attribute: int, window: Window) -> Iterator[float]:
    """All points of a window, in order."""
    e, m = window
    w = H(key, ARRIVAL, attribute, e, m)
    for i in count_from():
        yield rounded_down(math.ldexp(m, e) + math.ldexp(H(w, i) >> 11, e + 1 - 53))


def arrivals(key: int, attribute: int, lo: float, hi: float, count: int) -> list[float]:
    """The first `count` arrivals of an attribute in [lo, hi)."""
    inside = (point for point in points(key, attribute, window_of(lo, hi)) if lo <= point < hi)
    return list(islice(inside, count))
