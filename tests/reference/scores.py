"""How good a split is, lower is better (docs/algorithm.md, 2.7 and 2.10).

Given are W_y * n_y of both sides, or the rows of each z in regression.
"""

import math
from collections import Counter

from reference.hashing import STABLE, H
from reference.targets import sums_of

LOG2_DIGITS = 28


def gini(left: Counter, right: Counter) -> float:
    """Orders splits as the paper's Gini index does."""
    squares_left = sum(n * n for n in left.values())
    squares_right = sum(n * n for n in right.values())
    # Both numbers are rounded to doubles first; a quotient of two integers of any size would be rounded only once.
    return -(float(squares_left) / float(left.total()) + float(squares_right) / float(right.total()))


def log2_fixed(n: int) -> int:
    """log2(n) in units of 2^-28, digit by digit: each squaring of z in [1, 2) shows one more binary digit."""
    e = n.bit_length() - 1
    z = n << (63 - e)
    digits = 0
    for _ in range(LOG2_DIGITS):
        q = z * z
        digit = int(q >= 1 << 127)
        z = q >> (63 + digit)
        digits = 2 * digits + digit
    return (e << LOG2_DIGITS) + digits


def weighted_log2(n: int) -> int:
    """W(n) = n * log2(n), and 0 for n = 0."""
    return n * log2_fixed(n) if n else 0


def entropy(left: Counter, right: Counter) -> float:
    """The rows of each side times its entropy, summed as integers and rounded once."""
    sides = (weighted_log2(side.total()) - sum(map(weighted_log2, side.values())) for side in (left, right))
    return float(sum(sides))


def squared_error(left: Counter, right: Counter) -> float:
    """The rows of both sides times what the split takes off their sum of squared errors, times -1."""
    (n_left, sum_left), (n_right, sum_right) = sums_of(left), sums_of(right)
    a = float((n_left + n_right) * sum_left - n_left * (sum_left + sum_right))  # an exact integer, rounded once
    return -((a * a) / (float(n_left) * float(n_right)))


SCORES = {"gini": gini, "entropy": entropy, "squared_error": squared_error}
UNITS = {"gini": math.ldexp(0.6931471805599453, -LOG2_DIGITS), "entropy": 0.6931471805599453}
MIN_STABLE_ROWS = 1000


def noise(stability: float, criterion: str, n_rows: int, n_weighed: int, name: tuple[int, int, int]) -> float:
    """What is added to the score of the candidate that (key, attribute, rank) name: a Gumbel variable times -1."""
    if stability == 0 or n_rows < MIN_STABLE_ROWS:
        return 0.0
    key, attribute, rank = name
    part = H(key, STABLE, attribute, rank) >> 52
    exponential = 13 * 2**LOG2_DIGITS - log2_fixed(2 * part + 1)  # -log2 of the middle of one of 4096 parts of (0, 1)
    scale = stability * (float(n_weighed) / math.sqrt(n_rows)) * UNITS[criterion]
    return scale * float(log2_fixed(exponential))
