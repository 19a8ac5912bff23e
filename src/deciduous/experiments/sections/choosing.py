"""Titles, and choosing from runs what a table or a figure is made of."""

from __future__ import annotations

from .. import paper
from ..datasets import REGISTRY
from ..datasets import REGRESSION as REGRESSION_SETS
from ..store import Runs
from ..task import G_DARE
from ..wording import NOTHING

METRICS = {"accuracy": "accuracy", "auc": "AUC", "average_precision": "avg. precision", "r2": "R²"}
TITLES = {G_DARE: "G-DaRE"} | {f"r_dare_{tolerance}": f"R-DaRE {tolerance}%" for tolerance in paper.TOLERANCES}
ADVERSARY_TITLES = {"random": "random", "worst_of_1000": "worst of 1000"}


def of_kind(runs: Runs, is_regression: bool) -> Runs:
    """The records on data sets for regression, or those on all others."""
    names = {entry.name for entry in REGRESSION_SETS}
    return Runs(record for record in runs if (record.unit.dataset in names) == is_regression)


def extent(runs: Runs) -> str:
    """Rows, trees and seeds of some records."""
    if not len(runs):
        return NOTHING
    n_rows, n_trees = (max(runs.values(name)) for name in ("n_rows", "n_trees"))
    n_seeds = len({record.unit.seed for record in runs})
    return f"{n_rows:,.0f} rows, {n_trees:.0f} trees, {n_seeds} seed{'s' if n_seeds > 1 else ''}"


def by_dataset(runs: Runs) -> list[tuple[str, Runs]]:
    """Records of each data set of the registry."""
    return [(name, Runs(r for r in runs if r.unit.dataset == name)) for name in REGISTRY if name in runs.datasets()]


def along(runs: Runs, option: str, *path: str) -> list[tuple[float, float]]:
    """The mean of a figure for each value of an option, ascending."""
    values = sorted({record.unit.options[option] for record in runs})
    chosen = ((x, Runs(r for r in runs if r.unit.options[option] == x).mean(*path)) for x in values)
    return [(float(x), y) for x, y in chosen if y is not None]
