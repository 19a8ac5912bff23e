"""Resident memory of a fresh process that reads rows and trains: `python -m benchmarks.resident`."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deciduous import DareForestClassifier

from .peers import YARDSTICK, random_forest
from .requirements import OURS
from .settings import Setting

ROOT = Path(__file__).resolve().parents[1]
STATM = Path("/proc/self/statm")

SYSTEMS: dict[str, Callable[[Setting, int], Any]] = {
    OURS: lambda setting, seed: DareForestClassifier(**setting.params(seed)),
    YARDSTICK: random_forest,
}


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def resident_peak() -> int:
    """The most it ever was."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def in_process(path: Path, system: str, setting: Setting, seed: int) -> tuple[int, int]:
    """By how much training on these rows makes a fresh process grow, and its peak."""
    numbers = [setting.n_trees, setting.depth, setting.k, setting.random_depth, seed]
    command = [sys.executable, "-m", "benchmarks.resident", str(path), system, *map(str, numbers)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    growth, peak = done.stdout.split()
    return int(growth), int(peak)


def main(path: str, system: str, *numbers: str) -> None:
    """Train, and print growth and peak in bytes."""
    *setting, seed = map(int, numbers)
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    model = SYSTEMS[system](Setting(*setting), seed)
    before = resident()
    model.fit(X, y)
    print(resident() - before, resident_peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
