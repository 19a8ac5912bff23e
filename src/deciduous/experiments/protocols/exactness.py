"""Exactness: 1% of the rows deleted, compared with retraining by fingerprint; and the gap in the paper's Lemma."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from .. import models
from ..measuring import seconds
from ..papers_scheme import CASES, CONTROL, Case, Outcome, root_by_the_papers_scheme, root_counts
from ..scales import Scale
from ..store import Unit
from ..task import G_DARE, Protocol, Task, seeds

LEMMA = "lemma"  # in place of a data set
MODELS = (G_DARE, "r_dare_0.25")
SHARE_DELETED = 0.01


def plan(scale: Scale, dataset: str) -> Sequence[Unit]:
    """Both models, eager and lazy; for the Lemma its cases."""
    if dataset == LEMMA:
        return [Unit("exactness", LEMMA, options={"case": case.name}) for case in (*CASES, CONTROL)]
    return [
        Unit("exactness", dataset, seed, {"model": model, "lazy": lazy})
        for model in MODELS
        for lazy in (False, True)
        for seed in seeds(scale.n_seeds)
    ]


def run(task: Task) -> dict[str, Any]:
    """A unit of either kind."""
    if task.unit.dataset == LEMMA:
        case = next(case for case in (*CASES, CONTROL) if case.name == task.option("case"))
        return lemma_case(case, task.scale.n_lemma_models, task.seed)
    return deleted_and_retrained(task)


def deleted_and_retrained(task: Task) -> dict[str, Any]:
    """Rows deleted one by one, and the forest of the rows that are left, trained again."""
    data = task.some_data()
    setting = task.some_trees(task.option("model"))
    gone = np.random.default_rng(task.seed).choice(len(data.y), max(1, int(SHARE_DELETED * len(data.y))), replace=False)
    left = np.setdiff1d(np.arange(len(data.y)), gone)
    forest = models.dare_for(data, setting, task.seed, lazy=task.option("lazy")).fit(data.X, data.y)
    retrained = models.dare_for(data, setting, task.seed)
    deleting = seconds(lambda: [forest.delete([row]) for row in gone.tolist()])
    retraining = seconds(lambda: retrained.fit(data.X[left], data.y[left], ids=left))
    return {
        "n_rows": len(data.y),
        "n_trees": setting.n_trees,
        "n_deleted": len(gone),
        "deleting": deleting,
        "retraining": retraining,
        "fingerprint": forest.fingerprint(),
        "matches": forest.fingerprint() == retrained.fingerprint(),
    }


def lemma_case(case: Case, n_models: int, seed: int) -> dict[str, Any]:
    """Roots after one deletion: by the paper's scheme, by ours, and how far either is from retraining."""
    random = np.random.default_rng(seed)
    theirs = Counter(root_by_the_papers_scheme(case, random) for _ in range(n_models))
    forest, retrained = case.forest(n_models), case.forest(n_models, without=case.deleted)
    forest.delete([case.deleted])
    return {
        "n_models": n_models,
        "about": case.about,
        "retrained": {str(root[1]): share for root, share in case.retrained.items()},
        "paper": compared(theirs, case.retrained),
        "ours": compared(root_counts(forest), case.retrained)
        | {"matches": forest.fingerprint() == retrained.fingerprint()},
    }


def compared(observed: Counter[Outcome], expected: Mapping[Outcome, float]) -> dict[str, Any]:
    """Shares of roots, and Pearson's chi-square against what retraining gives; None for what cannot be."""
    n = observed.total()
    n_impossible = sum(count for root, count in observed.items() if root not in expected)
    statistic = sum((observed[root] - share * n) ** 2 / (share * n) for root, share in expected.items())
    freedom = len(expected) - 1
    return {
        "shares": {str(root[1]): round(observed[root] / n, 5) for root in expected},
        "impossible": n_impossible / n,
        "chi2": None if n_impossible else round(statistic, 2),
        "freedom": freedom,
        "p": 0.0 if n_impossible else float(chi2.sf(statistic, freedom)) if freedom else 1.0,
    }


PROTOCOL = Protocol(
    "exactness",
    "deletion compared with retraining, by fingerprint, and the gap in the Lemma",
    plan,
    run,
    has_regression=True,
)
