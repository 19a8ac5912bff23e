"""The cases: each measures some of the requirements, or curves, for one seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..bench import Bench
from ..settings import SETTINGS
from . import (
    beside_peers,
    cluster,
    curves,
    kinds_of_columns,
    kinds_of_scores,
    nodes,
    predictions,
    process_memory,
    regression,
    updates,
    variants,
    worst,
)


@dataclass(frozen=True)
class Case:
    """Something to measure, by name. A case that runs once goes through seeds of its own, or needs only one."""

    name: str
    about: str
    run: Callable[[Bench], None]
    once: bool = False


CASES = (
    *(
        Case(name, "fit, single deletions, memory and quality beside the peers", partial(beside_peers.run, name))
        for name in SETTINGS
    ),
    Case("nodes", "single decisions by size of the node, beside a bare gather and scikit-learn", nodes.run),
    Case("scores", "fit with entropy, ten classes and class weights against two-class Gini", kinds_of_scores.run),
    Case("variants", "d_rmax, lazy, max_samples=0.1 and uniform thresholds, against eager deletions", variants.run),
    Case("updates", "batches, additions (river's too), deletion_costs", updates.run),
    Case("threads", "fit and a batch deletion with one and two threads", updates.run_threads),
    Case("predict", "20,000 rows and single rows, beside scikit-learn", predictions.run),
    Case("regression", "targets that are numbers, beside scikit-learn and the classifier", regression.run),
    Case("categorical", "categorical columns against the same data one-hot", kinds_of_columns.run),
    Case("worst", "worst of 1000, sorted order, the same row at a tie over and over", worst.run),
    Case("hostile", "data made to be slow", worst.run_hostile),
    Case("near_ties", "seeds with almost equal splits at the root", worst.run_near_ties, once=True),
    Case("curves", "cost against n, T, d, k and p", curves.run),
    Case("cluster", "forests on Ray beside the forest of one process: times, recovery, parts", cluster.run, once=True),
    Case("process_memory", "resident memory of processes that train", process_memory.run, once=True),
)
