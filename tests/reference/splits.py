"""Which attributes and thresholds a node considers (docs/algorithm.md, 2.4 to 2.6).

The targets y are classes or, in regression, the integers z of 2.10.
"""

import math
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reference.arrivals import arrivals
from reference.hashing import ATTRIBUTE, CANDIDATE, CANDIDATE_BELOW, H, R


class Candidate(NamedTuple):
    """A split that a node considers: rows with x[attribute] <= threshold go left."""

    attribute: int
    threshold: float
    rank: int


def distinct_values(column: np.ndarray) -> np.ndarray:
    """The distinct values in ascending order, with all NaN as one that comes last."""
    return np.unique(column, equal_nan=True)


def attribute_order(key: int, X: np.ndarray) -> list[int]:
    """The attributes that are not constant, by ascending rank."""
    varying = [a for a in range(X.shape[1]) if len(distinct_values(X[:, a])) > 1]
    return sorted(varying, key=lambda a: R(H(key, ATTRIBUTE), a))


def bits(value: float) -> int:
    """The IEEE bits of a float32, of one and the same NaN."""
    return 0x7FFFFFFE if math.isnan(value) else int(np.float32(value).view(np.uint32))


def midpoint(u: float, following: float) -> float:
    """The threshold of the cut between u and the next larger value."""
    if math.isnan(following):
        return math.inf
    t = float(np.float32((u + following) / 2))
    return u if t >= following else t + 0.0


def targets_at(value: float, column: np.ndarray, y: np.ndarray) -> set:
    """The targets of the rows that have this value."""
    same = np.isnan(column) if math.isnan(value) else column == value
    return set(y[same].tolist())


def valid_cuts(column: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    """Every (u, next(u)) but those with all rows at both values of one target."""
    values = distinct_values(column).tolist()
    groups = [(value, targets_at(value, column, y)) for value in values]
    return [(u, v) for (u, at_u), (v, at_v) in pairwise(groups) if len(at_u | at_v) > 1]


def dominant_class(key: int, y: np.ndarray, weights: np.ndarray) -> object | None:
    """The class that most rows are of, if not too many are of others."""
    counts: Counter = Counter()
    for label, weight in zip(y.tolist(), weights.tolist(), strict=True):
        counts[label] += weight
    largest, n_largest = counts.most_common(1)[0]
    is_dominant = (counts.total() - n_largest) * 2**16 <= counts.total() * (2**14 + (key >> 51))
    return largest if is_dominant else None


def sampled_candidates(
    key: int,
    attribute: int,
    column: np.ndarray,
    y: np.ndarray,
    k: int | None,
    weights: np.ndarray | None = None,
    has_classes: bool = True,
) -> list[Candidate]:
    """The k valid candidates of lowest rank (all, for None), by rank; without weights each row counts once."""
    counting = np.ones(len(y), int) if weights is None else weights
    dominant = dominant_class(key, y, counting) if has_classes else None

    def rank(u: float, following: float) -> int:
        if dominant is None or targets_at(u, column, y) != {dominant}:
            return R(H(key, CANDIDATE, attribute), bits(u))
        return R(H(key, CANDIDATE_BELOW, attribute), bits(following))

    valid = [Candidate(attribute, midpoint(u, following), rank(u, following)) for u, following in valid_cuts(column, y)]
    valid.sort(key=lambda candidate: (candidate.rank, candidate.threshold))
    return valid if k is None else [its for its in valid if its.rank <= valid[min(k, len(valid)) - 1].rank]


def uniform_candidates(key: int, attribute: int, column: np.ndarray, count: int) -> list[Candidate]:
    """The first arrivals in the range of the numbers, and the cut between numbers and NaN if there is one."""
    numbers = distinct_values(column[~np.isnan(column)]).tolist()
    cuts = []
    if len(numbers) > 1:
        thresholds = arrivals(key, attribute, numbers[0], numbers[-1], count)
        cuts = [Candidate(attribute, threshold, rank) for rank, threshold in enumerate(thresholds)]
    if np.isnan(column).any():
        cuts.append(Candidate(attribute, math.inf, count))
    return cuts


def random_candidate(key: int, attribute: int, column: np.ndarray) -> Candidate:
    """The only split that a random node considers: the first arrival, or else numbers against NaN."""
    return uniform_candidates(key, attribute, column, count=1)[0]
