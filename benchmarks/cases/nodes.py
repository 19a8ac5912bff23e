"""Nanoseconds per row of single decisions, by the size of the node, beside two yardsticks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import Labels, Rows, labelled
from ..decisions import GATHER, KINDS, SCHEMES, Kind
from ..measuring import least_seconds
from ..peers import YARDSTICK

N_TURNS = 4
N_FEATURES = 6  # of 40 columns: the square root
MAX_TREES = 20_000
MIN_STUMPS, MAX_STUMPS = 3, 100  # scikit-learn's, of which a small one takes hundreds of microseconds
ROWS_AT_ONCE = 1 << 16  # of a gather: so many that its calls do not count, so few that they stay in the caches


@dataclass(frozen=True)
class Subject:
    """What is timed, how many decisions it makes, and what of it is not deciding."""

    name: str
    work: Callable[[], Any]
    n_decisions: float
    apart: Callable[[], Any] = lambda: None


def run(bench: Bench) -> None:
    """All kinds of nodes in all sizes."""
    for kind in KINDS:
        for n_rows in bench.sizes.node_rows:
            measure(bench, kind, n_rows)


def measure(bench: Bench, kind: Kind, n_rows: int) -> None:
    """Every scheme and yardstick on the same rows, in turns."""
    X, y = labelled(kind.columns, n_rows, kind.n_classes)
    n_trees = between(bench.sizes.min_node_trees, bench.sizes.node_work // n_rows, MAX_TREES)
    subjects = [ours(bench.seed, scheme, X, y, n_trees) for scheme in SCHEMES]
    subjects += [gather(X, n_trees), stumps(bench.seed, X, y, between(MIN_STUMPS, n_trees // 20, MAX_STUMPS))]
    works = least_seconds([subject.work for subject in subjects], N_TURNS)
    aparts = least_seconds([subject.apart for subject in subjects], N_TURNS)
    for subject, work, apart in zip(subjects, works, aparts, strict=True):
        # A clock may not tell apart what takes next to nothing.
        per_row = max(work - apart, 1e-9) / (subject.n_decisions * n_rows)
        bench.results.record(kind.series(subject.name, n_rows), per_row, "s")


def between(low: int, wanted: int, high: int) -> int:
    """As wanted, within limits."""
    return max(low, min(wanted, high))


def ours(seed: int, scheme: str, X: Rows, y: Labels, n_trees: int) -> Subject:
    """A forest of depth 1: each tree is a decision, with partition, statistics and leaves.

    Checking and storing the rows is no part of it, and would be most of it for few trees of many rows. A forest of one
    tree does the same of that, so it is taken off.
    """

    def fit(n: int) -> None:
        DareForestClassifier(n, max_depth=1, n_jobs=1, random_state=seed, **SCHEMES[scheme]).fit(X, y)

    return Subject(scheme, partial(fit, n_trees), n_trees - 1, partial(fit, 1))


def gather(X: Rows, n_nodes: int) -> Subject:
    """The values of as many columns as a greedy node looks at, other columns for each lot of nodes."""
    columns = np.ascontiguousarray(X.T)
    rows = np.tile(np.arange(len(X)), math.ceil(min(n_nodes, ROWS_AT_ONCE / len(X))))
    n_lots = math.ceil(n_nodes * len(X) / len(rows))
    gathered = np.empty(len(rows), X.dtype)

    def work() -> None:
        for number in range(n_lots * N_FEATURES):
            columns[number % len(columns)].take(rows, out=gathered, mode="clip")  # else it makes a copy, to check first

    return Subject(GATHER, work, n_lots * len(rows) / len(X))


def stumps(seed: int, X: Rows, y: Labels, n_trees: int) -> Subject:
    """scikit-learn's trees of depth 1, without what a forest of them and its checks would add."""

    def work() -> None:
        with config_context(skip_parameter_validation=True):
            for number in range(n_trees):
                tree = DecisionTreeClassifier(max_depth=1, max_features=N_FEATURES, random_state=seed + number)
                tree.fit(X, y, check_input=False)

    return Subject(YARDSTICK, work, n_trees)
