"""Entropy, ten classes and class weights against Gini with two classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import COLUMNS, labelled
from ..measuring import least_seconds
from ..settings import Setting

N_TURNS = 3
# Number of classes and parameters. Rows and paths through the trees are alike: within a tenth, as the labels are noisy.
SCORES: dict[str, tuple[int, dict[str, Any]]] = {
    "gini": (2, {}),
    "entropy": (2, {"criterion": "entropy"}),
    "ten classes": (10, {}),
    "class weights": (2, {"class_weight": {0: 1, 1: 3}}),
}


def run(bench: Bench) -> None:
    """Processor time of fit with each score, on both kinds of columns, and how many splits it decides."""
    for columns in COLUMNS:
        fits = [fitting(bench, columns, *score) for score in SCORES.values()]
        for name, fit, seconds in zip(SCORES, fits, least_seconds(fits, N_TURNS), strict=True):
            forest = fit()
            bench.results.record(f"{columns}/{name}/fit", seconds, "s")
            bench.results.record(
                f"{columns}/{name}/fit per split", seconds / (forest.get_n_leaves() - forest.n_estimators), "s"
            )


def fitting(bench: Bench, columns: str, n_classes: int, params: dict[str, Any]) -> Callable[[], Any]:
    """What fits a forest to rows that are made already."""
    X, y = labelled(columns, bench.sizes.score_rows, n_classes)
    setting = Setting(bench.sizes.score_trees, 20, 10, 0)
    return partial(DareForestClassifier(**setting.params(bench.seed, **params)).fit, X, y)
