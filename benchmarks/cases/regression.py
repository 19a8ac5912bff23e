"""Targets that are numbers, beside scikit-learn's regressor and our classifier of the same columns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from deciduous import DareForestClassifier, DareForestRegressor

from ..bench import Bench
from ..data import DataSet, Labels, Unavailable, stand_in
from ..measuring import least_seconds, seconds
from ..peers import YARDSTICK, quality, regression_forest, sklearn_memory
from ..requirements import CLASSIFIER, INTERVALS, OURS
from ..settings import REGRESSION
from .predictions import enough_rows, measure_models

N_TURNS = 3


def run(bench: Bench) -> None:
    """All data sets that are here, or have a stand-in."""
    for name in REGRESSION:
        if its := available(bench, name):
            measure(bench, its)


def available(bench: Bench, name: str) -> DataSet | None:
    """A data set; if it is not here, generated data of its shape, with a note of that, or nothing."""
    try:
        return bench.data(name)
    except Unavailable as reason:
        instead = stand_in(name, bench.sizes.max_rows)
        if instead is None:
            bench.results.skipped[f"regression of {name}"] = str(reason)
        else:
            bench.results.note_stand_in(name, f"generated data of its shape: {reason}")
        return instead


def measure(bench: Bench, its: DataSet) -> None:
    """Fits, memory and quality, predictions and intervals, and deletions one by one."""
    ours = DareForestRegressor(**bench.setting(its.name).params(bench.seed))
    theirs = regression_forest(bench.setting(its.name), bench.seed)
    measure_fits(bench, its, ours, theirs)
    for system, model, memory in (
        (OURS, ours, ours.memory_usage().total),
        (YARDSTICK, theirs, its.X.nbytes + sklearn_memory(theirs)),
    ):
        bench.results.record(f"{its.name}/{system}/memory", memory, "B")
        bench.results.record(f"{its.name}/{system}/quality", quality(model, its), its.metric)
    predictions = {OURS: ours.predict, "frozen": ours.freeze().predict, YARDSTICK: theirs.predict}
    measure_models(bench, its.name, predictions, its.X_test)
    rows = enough_rows(its.X_test, bench.sizes.n_predicted)
    bench.results.record(f"{its.name}/predict {INTERVALS}/batch", seconds(lambda: ours.predict_interval(rows)), "s")
    bench.delete_each(f"{its.name}/{OURS}/delete", ours, bench.rows(len(its.X)))


def measure_fits(bench: Bench, its: DataSet, ours: DareForestRegressor, theirs: Any) -> None:
    """Processor time of both regressors and of our classifier, in turns, as the quotients are what is asked for.

    Of ours also for each split, as numbers need more of them than two classes.
    """
    classifier = DareForestClassifier(**bench.setting(its.name).params(bench.seed))
    fits = {
        OURS: partial(ours.fit, its.X, its.y),
        CLASSIFIER: partial(classifier.fit, its.X, above_median(its.y)),
        YARDSTICK: partial(theirs.fit, its.X, its.y),
    }
    for system, took in zip(fits, least_seconds(list(fits.values()), N_TURNS), strict=True):
        bench.results.record(f"{its.name}/{system}/fit", took, "s")
    for system, forest in ((OURS, ours), (CLASSIFIER, classifier)):
        n_splits = forest.get_n_leaves() - forest.n_estimators
        took = bench.results.series[f"{its.name}/{system}/fit"].values[-1]
        bench.results.record(f"{its.name}/{system}/fit per split", took / n_splits, "s")


def above_median(targets: Labels) -> Labels:
    """Which targets are above their median: two classes of about the same size, for a classifier."""
    return (targets > np.median(targets)).astype(np.int64)
