"""How long a live forest takes to follow a large table: `python -m benchmarks.live_tables [rows]`. See docs/live.md."""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deciduous.live import LiveForest

N_NUMBERS = 20
PARAMS = {"n_estimators": 100, "max_depth": 20, "n_thresholds": 10, "random_state": 1, "n_jobs": 2}
REPEATS = 9


def make_table(path: Path, n_rows: int) -> sqlite3.Connection:
    """A table of numbers and a text, two rows for each person."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_NUMBERS))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0
    names = ", ".join(f"x{i} REAL" for i in range(N_NUMBERS))
    database = sqlite3.connect(path)
    database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, person INTEGER, {names}, city TEXT, y INTEGER)")
    rows = ((i, i // 2, *X[i].tolist(), "abcdefgh"[i % 8], int(y[i])) for i in range(n_rows))
    database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (N_NUMBERS + 4))})", rows)
    database.commit()
    return database


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Do something, and say how long it took."""
    begin = time.perf_counter()
    result = work()
    print(f"{what}: {time.perf_counter() - begin:.2f} s", flush=True)
    return result


def one_deletion_at_a_time(what: str, database: sqlite3.Connection, live: LiveForest, ids: range) -> None:
    """The median time from a deletion in the table to the return of the sync."""
    seconds = []
    for id in ids:
        database.execute("DELETE FROM t WHERE id = ?", (id,))
        database.commit()
        begin = time.perf_counter()
        live.sync()
        seconds.append(time.perf_counter() - begin)
    print(f"{what}: {statistics.median(seconds):.2f} s (median of {len(seconds)})", flush=True)


def changed_trees(live: LiveForest, id: int) -> int:
    """How many trees have other bytes after the deletion of a row."""
    core = live.forest._forest
    before = [core.tree_as_bytes(tree) for tree in range(core.n_trees)]
    live.forest.delete([id])
    return sum(core.tree_as_bytes(tree) != old for tree, old in enumerate(before))


def megabytes(folder: Path, pattern: str) -> str:
    """The number and size of files."""
    sizes = [file.stat().st_size for file in folder.glob(pattern)]
    return f"{sum(sizes) / 1e6:.1f} MB in {len(sizes)}"


def main(n_rows: int) -> None:
    """Everything, one after the other."""
    with tempfile.TemporaryDirectory() as home:
        database, folder = make_table(Path(home, "t.db"), n_rows), Path(home, "t.forest")
        url = f"sqlite:///{home}/t.db"
        options: dict[str, Any] = {"table": "t", "id": "id", "target": "y", "subject": "person"}
        live = timed("create", lambda: LiveForest.create(url, folder=folder, params=PARAMS, **options))
        print(f"snapshot: {megabytes(folder, 'snapshot-*')}, index: {megabytes(folder, 'rows-*')}")
        timed("sync without a change, by comparison", live.sync)
        one_deletion_at_a_time("sync of one deletion, by comparison", database, live, range(0, REPEATS))
        live.install_capture()
        live.sync()
        one_deletion_at_a_time("sync of one deletion, by capture", database, live, range(100, 100 + REPEATS))
        timed("store a snapshot", live.store)
        timed("erase a person, with VACUUM", lambda: live.erase(100))
        live.close()
        live = timed("open", lambda: LiveForest.open(folder))
        timed("load the snapshot", lambda: live.forest)
        print(f"trees that the deletion of one row changes: {changed_trees(live, 300)} of {PARAMS['n_estimators']}")
        live.close(store=False)
        for snapshot in folder.glob("snapshot-*"):
            snapshot.unlink()
        live = LiveForest.open(folder)
        timed("sync without a snapshot: train anew", live.sync)
        live.close(store=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
