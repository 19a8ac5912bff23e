"""Resident memory of processes that train, ours and scikit-learn's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from deciduous.experiments.resident import MODELS, STATM, in_process

from ..bench import Bench
from ..data import DataSet, Unavailable


def run(bench: Bench) -> None:
    """One process for each system and data set."""
    if not STATM.exists():
        raise Unavailable(f"the system has no {STATM}")
    for name in bench.sizes.process_memory:
        try:
            its = bench.data(name)
        except Unavailable as reason:
            bench.results.skipped[f"process memory of {name}"] = str(reason)
            continue
        measure(bench, its)


def measure(bench: Bench, its: DataSet) -> None:
    """By how much training makes a process grow, and its peak."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=its.X, y=its.y)
        for system in MODELS:
            growth = in_process(path, system, bench.setting(its.name), bench.seed)
            bench.results.record(f"{its.name}/{system}/resident growth by fit", growth.resident, "B")
            bench.results.record(f"{its.name}/{system}/resident peak", growth.peak, "B")
