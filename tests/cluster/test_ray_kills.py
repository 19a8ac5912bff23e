"""Processes are killed at random moments of every operation: it succeeds, or fails clearly and changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DeciduousError

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
RayForestClassifier = ray_forests.RayForestClassifier
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

N_ROWS = 4000
SMALL: dict[str, Any] = {"n_estimators": 8, "max_depth": 8, "random_state": 3}
MOMENTS = int(os.environ.get("DECIDUOUS_KILLS", "20")) // 5  # of each operation


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 6)).astype(np.float32)
    return X, np.where(X[:, 0] + rng.normal(size=N_ROWS) > 0, "yes", "no")


def processes(forest: Any) -> list[int]:
    """The coordinator, the workers, and the helpers of the moment."""
    status = forest.status()
    known = [status["pid"], *(worker["pid"] for worker in status["workers"] if worker)]
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], check=True, capture_output=True, text=True).stdout
    its = [(int(pid), int(parent), name) for pid, parent, name in (line.split(None, 2) for line in listed.splitlines())]
    raylets = {pid for pid, parent, _ in its if parent == os.getpid()}  # others test on clusters of their own
    helpers = [pid for pid, parent, name in its if parent in raylets and "ray::Helper" in name]
    return [*known, *helpers]


def fit_again(forest: Any, _: Path) -> Callable[[Any], Any]:
    X, y = numbers(1)
    forest.fit(X, y)
    return lambda local: local.fit(X, y)


def delete(forest: Any, _: Path) -> Callable[[Any], Any]:
    rows = forest.ids_[:500].tolist()
    forest.delete(rows)
    return lambda local: local.delete(rows)


def add(forest: Any, _: Path) -> Callable[[Any], Any]:
    X, y = numbers(2)
    ids = range(100_000, 100_000 + len(X))
    forest.add(X, y, ids=ids)
    return lambda local: local.add(X, y, ids=ids)


def predict(forest: Any, _: Path) -> Callable[[Any], Any]:
    X, _ = numbers(3)
    for _ in range(20):
        forest.predict_proba(X)
    return lambda _: None


def save(forest: Any, folder: Path) -> Callable[[Any], Any]:
    forest.save(folder / "copy", sharded=True)
    return lambda _: None


@pytest.mark.parametrize("operation", [fit_again, delete, add, predict, save])
def test_kills_leave_success_or_an_unchanged_forest(operation: Any, tmp_path: Path) -> None:
    """Of the coordinator, a worker or a process that helps, whenever."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    X, y = numbers()
    local = DareForestClassifier(**SMALL).fit(X, y)
    forest = RayForestClassifier(**SMALL, n_workers=2).fit(X, y)
    try:
        for moment in range(MOMENTS):
            folder = tmp_path / str(moment)
            folder.mkdir()
            delay = float(rng.exponential(0.2))

            def kill(delay: float = delay) -> None:
                time.sleep(delay)
                with suppress(ProcessLookupError):
                    os.kill(int(rng.choice(processes(forest))), signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                operation(forest, folder)(local)
            except DeciduousError:
                assert not any(folder.iterdir())
            killer.join()
            assert forest.fingerprint() == local.fingerprint()
            np.testing.assert_array_equal(forest.predict_proba(X[:50]), local.predict_proba(X[:50]))
            if operation is add:
                forest.delete(range(100_000, 100_000 + N_ROWS))
                local.delete(range(100_000, 100_000 + N_ROWS))
        assert forest.check()
    finally:
        forest.shut_down()


def test_folder_that_was_saved_is_the_same_forest(tmp_path: Path) -> None:
    """On another number of workers; and the folder of a forest whose processes are gone can be gone on with."""
    X, y = numbers()
    local = DareForestClassifier(**SMALL).fit(X, y)
    own = tmp_path / "own"
    forest = RayForestClassifier(**SMALL, n_workers=3, folder=own, durable=True).fit(X, y)
    forest.delete([1, 2])
    local.delete([1, 2])
    forest.save(tmp_path / "saved", sharded=True)
    with pytest.raises(FileExistsError):
        forest.save(tmp_path / "saved", sharded=True)
    with pytest.raises(DeciduousError, match="nother forest"):
        RayForestClassifier(**SMALL, n_workers=1, folder=own).fit(X, y)
    forest.shut_down()
    copy = RayForestClassifier.load(tmp_path / "saved", n_workers=2)
    assert copy.fingerprint() == local.fingerprint()
    assert copy.get_params()["n_estimators"] == SMALL["n_estimators"]
    copy.shut_down()
    again = RayForestClassifier.load(own, folder=own, n_workers=1)
    assert again.delete([3]).ids == (3,)
    local.delete([3])
    assert again.fingerprint() == local.fingerprint()
    again.shut_down()


def test_folders_that_hold_something_else_are_left_alone(tmp_path: Path) -> None:
    """Nobody's files are removed."""
    X, y = numbers()
    other = tmp_path / "other"
    (other / "photos").mkdir(parents=True)
    (other / "photos" / "canary").write_text("here")
    forest = RayForestClassifier(**SMALL, n_workers=1, folder=other)
    with pytest.raises(DeciduousError, match="photos"):
        forest.fit(X, y)
    forest.shut_down()
    assert (other / "photos" / "canary").read_text() == "here"
    with pytest.raises(DeciduousError, match="holds no forest"):
        RayForestClassifier.load(other, n_workers=1)
