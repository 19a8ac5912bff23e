"""Worst cases: adversaries, hostile data, and near ties at the root."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np

from deciduous import DareForestClassifier

from ..bench import Bench
from ..data import HOSTILE, DataSet, Unavailable
from ..measuring import latencies, seconds
from ..peers import YARDSTICK, random_forest
from ..requirements import NEAR_TIES, OURS
from ..settings import Setting

DATA = ("adult", "synthetic_80k")
N_CANDIDATES = 1_000  # rows among which an adversary looks for the worst


def run(bench: Bench) -> None:
    """The adversaries, each on a forest that the one before left whole but for the rows it deleted."""
    for name in DATA:
        try:
            its = bench.data(name)
        except Unavailable as reason:
            bench.results.skipped[f"worst cases of {name}"] = str(reason)
            continue
        forest = bench.fit_data(f"{name}/worst", its)
        bench.delete_each(f"{name}/worst/random", forest, bench.rows(len(its.X)))
        alternate(bench, its, forest)
        delete_worst(bench, f"{name}/worst/worst of 1000", forest)
        delete_in_order(bench, f"{name}/worst/sorted order", forest, its)


def candidates(bench: Bench, forest: DareForestClassifier, turn: int) -> list[int]:
    """Random rows of those that the forest still has."""
    held = forest.ids_
    n = min(N_CANDIDATES, len(held))
    return [int(row) for row in np.random.default_rng([bench.seed, turn]).choice(held, n, replace=False)]


def dearest(bench: Bench, forest: DareForestClassifier, turn: int) -> int:
    """Of a thousand random rows, the one whose deletion retrains most."""
    rows = candidates(bench, forest, turn)
    return rows[int(np.argmax(forest.deletion_costs(rows)))]


def delete_worst(bench: Bench, key: str, forest: DareForestClassifier) -> None:
    """The paper's adversary: delete the worst of a thousand rows, again and again; the search is off the clock."""
    times: list[float] = []
    for turn in range(bench.sizes.n_worst):
        row = dearest(bench, forest, turn)
        times += latencies(lambda row: forest.delete([row]), [row], float("inf"))
    bench.results.record_latencies(key, times)


def delete_in_order(bench: Bench, key: str, forest: DareForestClassifier, its: DataSet) -> None:
    """The rows with the lowest values of the attribute with most values, lowest first."""
    held = forest.ids_
    attribute = int(np.argmax([len(np.unique(its.X[:1_000, a])) for a in range(its.X.shape[1])]))
    rows = held[np.argsort(its.X[held, attribute], kind="stable")]
    bench.delete_each(key, forest, [int(row) for row in rows[: min(bench.sizes.n_deletions, len(rows) // 4)]])


def alternate(bench: Bench, its: DataSet, forest: DareForestClassifier) -> None:
    """Delete and add the row whose deletion changes most, over and over: its splits are at a tie."""
    row = dearest(bench, forest, bench.sizes.n_worst)

    def step(is_deletion: bool) -> None:
        if is_deletion:
            forest.delete([row])
        else:
            forest.add(its.X[row : row + 1], its.y[row : row + 1], ids=[row])

    times = latencies(step, [True, False] * bench.sizes.n_alternations, bench.sizes.budget)
    bench.results.record_latencies(f"{its.name}/worst/delete at a tie", times[::2])
    bench.results.record_latencies(f"{its.name}/worst/add at a tie", times[1::2])
    if len(times) % 2:
        step(False)


def run_hostile(bench: Bench) -> None:
    """Ours and scikit-learn on data made to be slow."""
    setting = Setting(bench.sizes.hostile_trees, 20, 10, 0)
    for name, make in HOSTILE.items():
        X, y = make(bench.sizes.hostile_rows)
        peer = random_forest(setting, bench.seed)
        forest = bench.fit(f"{name}/{OURS}", X, y, **setting.params(bench.seed))
        bench.results.record(f"{name}/{YARDSTICK}/fit", took(peer.fit, X, y), "s")
        bench.delete_each(f"{name}/{OURS}/delete", forest, bench.rows(len(X)))


def took(fit: Callable[..., object], X: object, y: object) -> float:
    """How long it takes to fit."""
    return seconds(lambda: fit(X, y))


# --------------------------------------------------------------------------------------------- near ties at the root


def run_near_ties(bench: Bench) -> None:
    """Mean deletion for ordinary seeds, and for those whose roots change most readily."""
    its = bench.data("synthetic_800k")
    ordinary = list(range(bench.sizes.tie_seeds_ordinary))
    worst = screened(bench, its)
    usual = [mean_deletion(bench, its, seed) for seed in ordinary]
    tied = [mean_deletion(bench, its, seed) for seed in worst]
    bench.results.record(f"{NEAR_TIES}/median seed", statistics.median(usual), "s")
    bench.results.record(f"{NEAR_TIES}/worst seed", max(usual + tied), "s")
    bench.results.record(f"{NEAR_TIES}/seeds screened", bench.sizes.tie_seeds_screened, "seeds")


def screened(bench: Bench, its: DataSet) -> list[int]:
    """The seeds whose roots change for most of a thousand single deletions.

    A root does not depend on how deep its tree is, so stumps tell, at a fraction of the time.
    """
    rows = bench.rows(len(its.X), bench.sizes.n_costs)
    first = bench.sizes.tie_seeds_ordinary
    flips = {}
    for seed in range(first, first + bench.sizes.tie_seeds_screened):
        stumps = DareForestClassifier(**bench.setting(its.name).params(seed, max_depth=1)).fit(its.X, its.y)
        flips[seed] = int(stumps.deletion_costs(rows).sum())
        bench.results.record(
            f"{NEAR_TIES}/root changes per 1,000 deletions", 1_000 * flips[seed] / len(its.X) / len(rows), "changes"
        )
    return sorted(flips, key=lambda seed: -flips[seed])[: bench.sizes.tie_seeds_worst]


def mean_deletion(bench: Bench, its: DataSet, seed: int) -> float:
    """The mean single deletion of a forest with this seed; the rows are the same for every seed."""
    forest = DareForestClassifier(**bench.setting(its.name).params(seed)).fit(its.X, its.y)
    bench.delete_each(f"{NEAR_TIES}/delete", forest, bench.rows(len(its.X)))
    return bench.results.series[f"{NEAR_TIES}/delete"].values[-1]
