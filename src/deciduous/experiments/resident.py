"""Memory of processes: of this one, and by how much a fresh one grows when it trains.

What a first small forest loads (code, threads' arenas) is not counted, nor memory that was freed again.

`python -m deciduous.experiments.resident` is that fresh process: it reads rows, trains, and prints its growth.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .models import g_dare, random_forest
from .paper import Setting

OURS, SCIKIT_LEARN = "deciduous", "scikit-learn"
N_WARMING_UP = 300
STATM = Path("/proc/self/statm")
MODELS: dict[str, Callable[[Setting, int], Any]] = {OURS: g_dare, SCIKIT_LEARN: random_forest}


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def resident_peak() -> int:
    """The most it ever was."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@dataclass(frozen=True)
class Growth:
    """What training takes, in bytes: memory that is resident, memory that was asked of glibc, and the peak.

    Memory that was asked for and never written to is not resident.
    """

    resident: int
    allocated: int | None
    peak: int


def in_process(path: Path, model: str, setting: Setting, seed: int) -> Growth:
    """By how much training on the rows of this file makes a fresh process grow."""
    command = [sys.executable, "-m", __name__, str(path), model, json.dumps(asdict(setting)), str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Growth(**json.loads(done.stdout))


def give_back_free_memory() -> None:
    """Collects garbage, and asks glibc to return what was freed: scratch space of training is not the forest's."""
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


class _MallocFigures(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES.split())


def allocated() -> int | None:
    """Bytes that were asked of glibc's main arena and not freed; None with another C library."""
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "mallinfo2"):
        return None
    libc.mallinfo2.restype = _MallocFigures
    figures = libc.mallinfo2()
    return int(figures.uordblks + figures.hblkhd)


def main(path: str, model: str, setting: str, seed: str) -> None:
    """Train, and print the growth as JSON."""
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    its = Setting(**json.loads(setting))
    MODELS[model](its, int(seed)).fit(X[:N_WARMING_UP], y[:N_WARMING_UP])
    give_back_free_memory()
    before, allocated_before = resident(), allocated()
    forest = MODELS[model](its, int(seed)).fit(X, y)
    give_back_free_memory()
    asked_for = None if allocated_before is None else (allocated() or 0) - allocated_before
    print(json.dumps(asdict(Growth(resident() - before, asked_for, resident_peak()))))
    del forest  # not before


if __name__ == "__main__":
    main(*sys.argv[1:])
