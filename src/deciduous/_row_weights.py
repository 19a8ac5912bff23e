"""Weights of rows: whole numbers, or multiples of a unit that `fit` resolves (docs/algorithm.md, 2.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import StandardFloats
from ._validation import NUMBER, NUMERIC
from .errors import InvalidInputError

END_OF_WEIGHTS = 2**30  # of all rows of a forest, in units
MOST_AT_FIT = 2**28  # of the rows that `fit` gets, if the unit follows from them: as much again can be added, and more
LEAST_AT_FIT = 1e-280  # of weights that are not whole numbers: their unit is in the range of those that users may give
LARGEST_SUM = float(2**63 - 2**10)  # of weights that is told as a whole number
WHOLE = 1.0  # the unit of whole numbers


def weight_array(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Weights that are not negative, one for each row; None if all of them are 1."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim == 0:
        given = np.full(n_rows, given)
    if given.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight.shape == {given.shape}, expected ({n_rows},): give one weight for each row."
        )
    if given.dtype.kind not in NUMERIC:
        raise InvalidInputError(f"sample_weight must be numbers, but is of type {given.dtype}.")
    weights = given.astype(np.float64)
    for i in np.flatnonzero(~((weights >= 0) & (weights < 1e300)))[:1]:
        raise InvalidInputError(
            f"sample_weight[{i}] is {given[i]}, but a weight must be 0 or a number below 1e300. A row of weight 0 is "
            "left out."
        )
    return None if (weights == 1).all() else weights


def unit_of(weights: NDArray[np.float64] | None, weight_unit: Any) -> float:
    """What weights are multiples of: the parameter, or what follows from the weights that `fit` gets."""
    if weight_unit is not None:
        plain = weight_unit.item() if isinstance(weight_unit, np.generic) else weight_unit
        if isinstance(plain, bool) or not isinstance(plain, NUMBER) or not 1e-300 < plain < 1e300:
            raise InvalidInputError(f"weight_unit must be None or a positive number, but is {weight_unit!r}.")
        return float(plain)
    if weights is None or not weights.any() or _are_whole(weights):
        return WHOLE
    with StandardFloats():
        total = math.fsum(weights.tolist())
        if total < LEAST_AT_FIT:
            raise InvalidInputError(
                f"sample_weight adds up to {total}, but must come to at least {LEAST_AT_FIT}: multiply all weights by "
                "the same number."
            )
        return math.ldexp(1.0, math.ceil(math.log2(total / MOST_AT_FIT)))


def in_units(
    weights: NDArray[np.float64] | None, n_rows: int, unit: float, *, takes_fractions: bool
) -> NDArray[np.uint32] | None:
    """Weights in a unit, rounded half to even, and at least 1 unless they are 0; None if all of them are 1.

    Fractions are refused in the unit 1 unless it `takes_fractions`.
    """
    if weights is None and unit == WHOLE:
        return None
    numbers = np.ones(n_rows) if weights is None else weights
    for i in np.flatnonzero(numbers != np.floor(numbers))[: unit == WHOLE and not takes_fractions]:
        raise InvalidInputError(
            f"sample_weight[{i}] is {numbers[i]}, but the weights of this forest are whole numbers, as `fit` got no "
            "`weight_unit` and found 1 to suit its rows: fit one with a `weight_unit` such as 2**-10."
        )
    with StandardFloats():
        units = np.where(numbers > 0, np.maximum(np.rint(numbers / unit), 1), 0)
    for i in np.flatnonzero(units >= END_OF_WEIGHTS)[:1]:
        raise InvalidInputError(
            f"sample_weight[{i}] is {numbers[i]}, but the weights of all rows together must be below "
            f"{END_OF_WEIGHTS * unit:g}: give smaller ones" + ("." if unit == WHOLE else ", or a larger `weight_unit`.")
        )
    return None if (units == 1).all() else units.astype(np.uint32)


def least_units(n_rows: int, no_limit: int, unit: float) -> int:
    """`min_samples_split` or `min_samples_leaf` in units. Every split has as many rows as are `no_limit`."""
    if unit == WHOLE or n_rows <= no_limit:
        return n_rows
    return min(math.ceil(n_rows / unit), END_OF_WEIGHTS)


def in_weights(counts: NDArray[Any], unit: float) -> NDArray[Any]:
    """Numbers of units as sums of weights: whole numbers stay what they are."""
    if unit == WHOLE:
        return counts
    with StandardFloats():
        return counts * unit


def rounded_weights(counts: NDArray[np.int64], unit: float) -> NDArray[np.int64]:
    """Numbers of units as sums of weights, rounded to whole numbers."""
    with StandardFloats():
        weights: NDArray[np.int64] = np.minimum(np.rint(in_weights(counts, unit)), LARGEST_SUM).astype(np.int64)
    return weights


def rounded_parts(counts: list[int], unit: float) -> list[int]:
    """The same for the parts of a sum, so that they add up to what the sum is rounded to."""
    if unit == WHOLE:
        return counts
    sums = rounded_weights(np.cumsum(counts, dtype=np.int64), unit)
    parts: list[int] = np.diff(sums, prepend=0).tolist()
    return parts


def _are_whole(weights: NDArray[np.float64]) -> bool:
    return bool((weights == np.floor(weights)).all()) and math.fsum(weights.tolist()) < END_OF_WEIGHTS
