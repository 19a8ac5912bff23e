"""Predictions: the sums go from worker to worker, in the order of the trees, so they are those of one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from ..errors import EmptyForestError
from ._team import answer_of
from ._worker import Moment

ROWS_PER_CALL = 16_384
CALLS_AT_ONCE = 8  # of one worker, by one prediction


@dataclass
class View:
    """A state of the forest, for those who predict."""

    moment: Moment
    workers: list[Any]
    attributes: dict[str, Any]  # of an estimator, to encode rows and to show predictions


def predicted(view: View, rows: NDArray[np.float32], n_values: int) -> NDArray[np.float64]:
    """What the trees predict in this state of the forest: a row for each row. In any other state, an error."""
    parts = [rows[begin : begin + ROWS_PER_CALL] for begin in range(0, max(1, len(rows)), ROWS_PER_CALL)]
    results: list[NDArray[np.float64]] = []
    calls: list[Any] = []
    for part in parts:
        given: Any = ray.put(part) if len(part) > 1 else part
        call: Any = (np.zeros((len(part), n_values)), 0)
        for worker in view.workers:
            call = worker.add_predictions.remote(view.moment, given, call)
        calls.append(call)
        if len(calls) >= CALLS_AT_ONCE:
            results.append(_means(answer_of(calls.pop(0))))
    results += [_means(answer_of(call)) for call in calls]
    return np.concatenate(results)


def _means(summed: tuple[NDArray[np.float64], int]) -> NDArray[np.float64]:
    sums, n_trees = summed
    if n_trees == 0:
        raise EmptyForestError
    return sums / n_trees
