"""Any history of a forest on a cluster gives the bytes of one in one process, on hostile data."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor
from strategies import COLUMN_VALUES, LABELS, TARGETS

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

KINDS = {
    "classifier": (DareForestClassifier, ray_forests.RayForestClassifier, LABELS),
    "regressor": (DareForestRegressor, ray_forests.RayForestRegressor, TARGETS),
}
WEIGHTS = [[1], [1, 1, 2], [0, 1, 2, 3], [1, 128, 255, 256], [1, 33_000, 65_535]]
N_DATA_SETS, N_STEPS = int(os.environ.get("DECIDUOUS_HISTORIES", "8")), 8


class History:
    """Two forests with the same rows."""

    def __init__(self, rng: np.random.Generator, local: Any, remote: Any, labels: list[Any]) -> None:
        self.rng, self.local, self.remote, self.labels = rng, local, remote, labels
        self.columns = [list(COLUMN_VALUES.values())[i] for i in rng.integers(0, len(COLUMN_VALUES), 4)]
        self.weights = WEIGHTS[rng.integers(len(WEIGHTS))]

    def rows(self, n: int) -> dict[str, Any]:
        X = np.column_stack([self.rng.choice(column, n) for column in self.columns]).astype(np.float32)
        y = np.array([self.labels[i] for i in self.rng.integers(0, len(self.labels), n)])
        weights = self.rng.choice(self.weights, n)
        weights[0] = max(1, weights[0])
        return {"X": X, "y": y, "sample_weight": weights}

    def both(self, method: str, *arguments: Any, **named: Any) -> None:
        assert getattr(self.remote, method)(*arguments, **named) == getattr(self.local, method)(*arguments, **named)

    def fit(self) -> None:
        n = int(self.rng.integers(1, 80))
        rows, ids = self.rows(n), self.rng.choice(200, n, replace=False)
        self.local.fit(**rows, ids=ids)
        self.remote.fit(**rows, ids=ids)

    def step(self) -> None:
        held = self.local.ids_
        free = np.setdiff1d(np.arange(300), held)
        what = self.rng.integers(5)
        if what == 0 and len(held):
            self.both("delete", self.rng.choice(held, self.rng.integers(1, len(held) + 1), replace=False).tolist())
        elif what == 1:
            n = int(self.rng.integers(1, 20))
            self.both("add", **self.rows(n), ids=self.rng.choice(free, n, replace=False))
        elif what == 2 and len(held):
            ids = self.rng.choice(np.union1d(held, free[:5]), 5, replace=False)
            self.both("update", **self.rows(5), ids=ids, delete=np.setdiff1d(held, ids)[:3].tolist())
        elif what == 3 and len(held):
            self.both("deletion_cost", held[:3].tolist())
        elif len(held):
            self.both("delete", held[:1].tolist())

    def compare(self) -> None:
        assert self.remote.fingerprint() == self.local.fingerprint()
        assert self.remote.n_rows_ == self.local.n_rows_
        if self.local.n_rows_:
            X = self.rows(7)["X"]
            predict = "predict_proba" if hasattr(self.local, "predict_proba") else "predict"
            theirs, ours = getattr(self.remote, predict)(X), getattr(self.local, predict)(X)
            assert theirs.tobytes() == ours.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_samples", [None, 0.4])
def test_any_history_gives_the_forest_of_one_process(kind: str, max_samples: float | None) -> None:
    """Deletions, additions, replacements, new labels and forests without rows; workers recount all statistics."""
    local_kind, remote_kind, targets = KINDS[kind]
    seed = int.from_bytes(os.urandom(4), "little")
    rng = np.random.default_rng(seed)
    remote = remote_kind(n_workers=3)
    try:
        for _ in range(N_DATA_SETS):
            options: dict[str, Any] = {
                "n_estimators": int(rng.integers(1, 8)),
                "max_depth": int(rng.integers(1, 8)),
                "random_state": int(rng.integers(1000)),
                "max_samples": max_samples,
                "candidates": str(rng.choice(["valid", "uniform"])),
                "n_thresholds": int(rng.integers(1, 6)),
                "random_depth": int(rng.integers(0, 3)),
                "lazy": bool(rng.integers(2)),
            }
            if kind == "regressor":
                options["target_range"] = (-1e300, 1e300)
            history = History(
                rng, local_kind(**options), remote.set_params(**options), targets[rng.integers(len(targets))]
            )
            history.fit()
            history.compare()
            for _ in range(N_STEPS):
                history.step()
                history.compare()
            assert remote.check()
            assert remote.verify()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}") from error
    finally:
        remote.shut_down()
