"""What a file asks for beyond its size: threads, and time that Ctrl-C cannot end."""

import struct
from collections.abc import Callable

import joblib
import numpy as np
import pytest

from deciduous import DareForestClassifier, _core
from deciduous._validation import n_threads

Report = Callable[[int], None]

N_TREES, N_ROWS = 5000, 2000


def rows_section(n_rows: int) -> bytes:
    """So many rows of one class whose only value is 0, in 13 bytes each."""
    ids, labels = np.arange(n_rows, dtype="<i8"), np.zeros(n_rows, "<u4")
    column = struct.pack("<BIf", 1, 1, 0.0) + bytes(n_rows)
    return struct.pack("<Q", n_rows) + ids.tobytes() + b"\0" + labels.tobytes() + column


def empty_forest() -> _core.Forest:
    """Each row will be in one of many trees, and which one must be found out."""
    params = _core.Params()
    params.n_trees, params.trees_per_row = N_TREES, 1
    return _core.Forest(params, _core.Tuning(), np.zeros(1, np.uint32), np.zeros((1, 16), np.uint8), None)


def fit(threads: int, progress: Report) -> None:
    """From rows."""
    rows, labels = np.zeros((N_ROWS, 1), np.float32), np.zeros(N_ROWS, np.uint32)
    empty_forest().fit(np.arange(N_ROWS), rows, labels, None, threads, progress)


def restore(threads: int, progress: Report) -> None:
    """From the sections of a file."""
    leaf = np.frombuffer(struct.pack("<IIB", 1, 0, 0), np.uint8)
    rows = np.frombuffer(rows_section(N_ROWS), np.uint8)
    empty_forest().restore(rows, [leaf] * N_TREES, threads, progress)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("make", [fit, restore])
def test_interrupt_stops_the_search_for_the_trees_of_rows(make: Callable[[int, Report], None], threads: int) -> None:
    """Whoever reports progress, and hears of Ctrl-C, is asked before the first tree is made."""
    heard = []

    def stop(n_done: int) -> None:
        heard.append(n_done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(threads, stop)
    assert heard == [0]


def test_progress_counts_trees_to_the_end() -> None:
    """What comes before the trees is no progress."""
    heard: list[int] = []
    restore(1, heard.append)
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0, N_TREES)


def test_threads_are_not_more_than_cores() -> None:
    """Whatever is asked for; -1 is all of them."""
    assert n_threads(10**9) == n_threads(-1) == joblib.cpu_count()
    assert n_threads(None) == n_threads(1) == 1


def test_file_cannot_ask_for_more_threads_than_there_are_cores() -> None:
    """A forest that was saved with a million threads works with those that are there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    greedy = DareForestClassifier(n_estimators=200, max_depth=2, n_jobs=1, random_state=0).fit(X, y)
    stored = greedy.set_params(n_jobs=10**6).to_bytes()
    loaded = DareForestClassifier.from_bytes(stored)
    assert loaded.n_jobs == 10**6
    loaded.delete([0, 1])
    assert loaded.verify().matches
