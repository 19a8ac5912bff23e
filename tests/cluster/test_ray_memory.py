"""Rows that no worker has room for: each holds those of its trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
RayForestClassifier = ray_forests.RayForestClassifier
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

N_ROWS, N_COLUMNS, N_FILES = 200_000, 40, 5
BYTES_OF_ROWS = N_ROWS * N_COLUMNS * 4
WORKER_MEMORY = BYTES_OF_ROWS * 5 // 8
OPTIONS: dict[str, Any] = {"n_estimators": 10, "max_depth": 10, "random_state": 1, "max_samples": 0.1}


def write_files(folder: Path) -> str:
    import pyarrow
    from pyarrow import parquet

    for number in range(N_FILES):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(N_COLUMNS, N_ROWS // N_FILES)).astype(np.float32)
        y = (X[0] + rng.normal(size=X.shape[1]) > 0).astype(np.int64)
        table = pyarrow.table({**{f"x{i}": column for i, column in enumerate(X)}, "y": y})
        parquet.write_table(table, folder / f"rows-{number}.parquet", row_group_size=10_000, compression="none")
    return str(folder / "rows-*.parquet")


def test_files_larger_than_the_memory_of_a_worker(tmp_path: Path) -> None:
    """Training and deletions go through in less memory than the rows take; a worker alone has too little."""
    files = write_files(tmp_path)
    alone = RayForestClassifier(**OPTIONS, n_workers=1, worker_memory=WORKER_MEMORY // 4)
    try:
        with pytest.raises(MemoryError):
            alone.fit(files, target="y")
    finally:
        alone.shut_down()
    forest = RayForestClassifier(**OPTIONS, n_workers=5, worker_memory=WORKER_MEMORY)
    try:
        forest.fit(files, target="y")
        before = forest.fingerprint()
        assert forest.delete(range(0, 2000)).ids == tuple(range(2000))
        workers = forest.status()["workers"]
        assert sum(worker["rows"] for worker in workers) == N_ROWS - 2000
        print({worker["worker"]: f"{worker['peak_memory'] / 2**20:.0f} MiB" for worker in workers})
        assert forest.fingerprint() != before
        assert forest.check()
    finally:
        forest.shut_down()
