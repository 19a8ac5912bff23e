"""Targets of regression in fixed point (docs/algorithm.md, 2.10): every sum of them is an integer."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Set
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import StandardFloats
from ._validation import NUMERIC, require_unmasked
from .errors import InvalidInputError

CLASSIFICATION, REGRESSION = "classification", "regression"  # tasks
RANGE_BITS = 38  # of targets of the range in fixed point
MOST_STEPS = 2**40  # of a target in fixed point
LARGEST_TARGET = 1e300
LOWEST_EXPONENT = -960
ONLY_CLASS = np.zeros(1, np.int64)  # to the core, all rows of a regressor are of one class, and have a target


class TargetScale(NamedTuple):
    """What numbers stand for: `offset + 2**exponent * number`. Those of targets are in fixed point, so whole."""

    exponent: int
    offset: float

    @classmethod
    def of_range(cls, low: float, high: float) -> TargetScale:
        """The scale of the targets from the lowest to the highest."""
        with StandardFloats():
            size = high - low if low < high else abs(low)
            exponent = max(_ceil_log2(size), LOWEST_EXPONENT) if size else 0
            middle = float(np.rint((low / 2 + high / 2) * math.ldexp(1.0, -exponent)))
            return cls(exponent - RANGE_BITS, math.ldexp(middle, exponent) + 0.0)  # no -0.0

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest target that a row may have."""
        reach = math.ldexp(MOST_STEPS, self.exponent)
        return max(self.offset - reach, -LARGEST_TARGET), min(self.offset + reach, LARGEST_TARGET)

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What stands for these values, not rounded; infinity if it is too large."""
        with StandardFloats(), np.errstate(over="ignore"):
            return np.ldexp(values - self.offset, -self.exponent)

    def beyond(self, targets: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which targets no row may have: those whose numbers are too large, and those that are too large for any."""
        with StandardFloats():
            is_within = (np.abs(np.rint(self.scaled(targets))) <= MOST_STEPS) & (np.abs(targets) <= LARGEST_TARGET)
        return ~is_within  # NaN is not

    def fixed(self, targets: NDArray[np.float64]) -> NDArray[np.int64]:
        """Targets in fixed point."""
        for place in np.flatnonzero(self.beyond(targets))[:1]:
            low, high = self.limits
            raise InvalidInputError(
                f"y holds {float(targets[place])!r}, but this forest takes targets from {low!r} to {high!r}: fit "
                "another one, with a `target_range` that is wide enough for the rows to come."
            )
        with StandardFloats():
            return np.rint(self.scaled(targets)).astype(np.int64)

    def floats(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """What numbers in fixed point stand for."""
        with StandardFloats():
            return self.offset + math.ldexp(1.0, self.exponent) * numbers.astype(np.float64)

    def targets(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """The targets of rows, none of which is too large for any, though what its number stands for may be."""
        return np.clip(self.floats(numbers), -LARGEST_TARGET, LARGEST_TARGET)


def span_text(low: float, high: float) -> str:
    """A range in words, with all digits: those of large numbers may differ in the last."""
    return f"from {repr(low).removesuffix('.0')} to {repr(high).removesuffix('.0')}"


def _ceil_log2(size: float) -> int:
    """The smallest integer e with 2^e >= size."""
    mantissa, exponent = math.frexp(size)
    return exponent - 1 if mantissa == 0.5 else exponent


ANY_TARGET = TargetScale.of_range(-LARGEST_TARGET, LARGEST_TARGET)


def target_array(y: ArrayLike, n_rows: int | None) -> NDArray[np.float64]:
    """The targets as a one-dimensional array of finite numbers, one for each row if their number is given."""
    if y is None:
        raise InvalidInputError("y is None: a regressor requires y to be passed, but the target y is None.")
    if hasattr(y, "toarray"):
        raise InvalidInputError("y is sparse; give a one-dimensional array of targets.")
    require_unmasked(y)
    try:
        given = np.asarray(y)
    except Exception as error:  # lists of several lengths, or types of other libraries that NumPy does not have
        raise InvalidInputError(f"y cannot be read as an array of numbers: {error}.") from None
    if given.ndim == 2 and given.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d

        given = column_or_1d(given, warn=True)
    if given.ndim != 1:
        raise InvalidInputError(
            f"y has the shape {given.shape}, but a forest has one target: fit one forest for each, as splits that suit "
            "several targets would be others."
        )
    if n_rows is not None and len(given) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but y has {len(given)} targets; give one target for each row.")
    if given.dtype.kind not in NUMERIC + "O":
        raise InvalidInputError(f"Targets must be numbers, but y is of type {given.dtype}.")
    if given.dtype.kind == "O":
        for text in (its for its in given.tolist() if isinstance(its, str | bytes)):  # NumPy would read "1" as a number
            raise InvalidInputError(f"Targets must be numbers, but y holds the text {text!r}.")
    try:
        targets = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"Targets must be numbers: {error}.") from None
    for place in np.flatnonzero(ANY_TARGET.beyond(targets))[:1]:
        raise InvalidInputError(
            f"y holds {float(targets[place])!r} (Input y contains NaN or infinity, or a value too large): "
            f"targets are finite numbers from {-LARGEST_TARGET:g} to {LARGEST_TARGET:g}."
        )
    return targets


def given_range(target_range: Any) -> tuple[float, float] | None:
    """The user's range of targets, checked."""
    if target_range is None:
        return None
    try:
        low, high = map(_end_of_range, () if isinstance(target_range, Mapping | Set) else target_range)
    except (TypeError, ValueError, OverflowError):
        low, high = 1.0, 0.0
    if not -LARGEST_TARGET <= low <= high <= LARGEST_TARGET:
        raise InvalidInputError(
            f"target_range must be None or (lowest, highest), two numbers within ±{LARGEST_TARGET:g} in this order, "
            f"but is {reprlib.repr(target_range)}."
        )
    return low, high


def _end_of_range(given: Any) -> float:
    if isinstance(given, str | bytes):
        raise TypeError("text is no number, even if it spells one")
    return float(given)


def plain_range(low: float, high: float) -> tuple[float, float]:
    """A range with the scale of these two targets that says nothing else about them.

    It is one of some around the offset, as rounding and the limits of targets may move it. If none has the scale, which
    happens only within a millionth of the largest target, it is the two targets themselves.
    """
    scale = TargetScale.of_range(low, high)
    half = math.ldexp(0.5, scale.exponent + RANGE_BITS)
    for below, above in product((1, 1.5, 2, 0), repeat=2):
        ends = [scale.offset - below * half, scale.offset + above * half]
        lowest, highest = (min(max(end, -LARGEST_TARGET), LARGEST_TARGET) for end in ends)
        if TargetScale.of_range(lowest, highest) == scale:
            return lowest, highest
    return low, high


def share_array(quantiles: ArrayLike) -> NDArray[np.float64]:
    """Shares of quantiles, one or several, each in [0, 1]."""
    try:
        given = np.asarray(quantiles)
        if given.dtype.kind not in "iufO":  # text, and truth values
            raise TypeError("no numbers")
        shares = given.astype(np.float64)
    except (TypeError, ValueError):
        shares = np.full(1, np.nan)
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidInputError(
            f"quantiles must be a number in [0, 1] or a list of such numbers, but are {quantiles!r}."
        )
    return shares
