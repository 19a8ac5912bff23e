"""Targets of regression: numbers in fixed point, so that their sums are integers (docs/algorithm.md, 2.10)."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from reference.arrivals import ceil_log2

RANGE_BITS = 38
LARGEST_Z = 2**40
LARGEST_TARGET = 1e300
LOWEST_EXPONENT = -960


class FixedPoint(NamedTuple):
    """A target is offset + 2^e * z with an integer z."""

    e: int
    offset: float

    def z(self, y: np.ndarray) -> np.ndarray:
        """The integers of these targets; those that are too far away are refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint((np.asarray(y, np.float64) - self.offset) * math.ldexp(1.0, -self.e))
        if not np.all((np.abs(y) <= LARGEST_TARGET) & (np.abs(steps) <= LARGEST_Z)):  # NaN is not <= anything
            raise ValueError("a target is too far from the target range")
        return steps.astype(np.int64)

    def target(self, z: np.ndarray) -> np.ndarray:
        """The numbers that these z, or means of z, stand for."""
        return self.offset + math.ldexp(1.0, self.e) * z

    def target_of_rows(self, z: np.ndarray) -> np.ndarray:
        """The targets of rows with these z, which are never beyond what a target may be."""
        return np.clip(self.target(z), -LARGEST_TARGET, LARGEST_TARGET)


def target_range(y: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """The lowest and the highest target; a row of weight 0 is no row."""
    counting = np.asarray(y, np.float64)[... if weights is None else np.asarray(weights) > 0]
    return float(counting.min()), float(counting.max())


def fixed_point_of(low: float, high: float) -> FixedPoint:
    """The scale and the offset of a target range."""
    size = high - low if low < high else abs(low)
    exponent = max(ceil_log2(size), LOWEST_EXPONENT) if size else 0
    middle = np.rint((low / 2 + high / 2) * math.ldexp(1.0, -exponent))
    return FixedPoint(exponent - RANGE_BITS, float(math.ldexp(1.0, exponent) * middle) + 0.0)  # no -0.0


class Sums(NamedTuple):
    """What scores, predictions and fingerprints know of the targets of some rows."""

    n: int
    """Rows by weight."""
    S: int
    """The sum of w * z."""


def sums_of(counts: Mapping[int, int]) -> Sums:
    """The sums of rows, given their number by weight for each z."""
    return Sums(sum(counts.values()), sum(z * n for z, n in counts.items()))
