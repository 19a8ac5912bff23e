"""Whatever is killed, and whenever: what was acknowledged stays, and the forest is that of a fresh fit."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DeciduousError, InvalidInputError, UnknownRowError

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
RayForestClassifier = ray_forests.RayForestClassifier
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

N_ROWS = 1200
SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 8, "random_state": 3}
N_KILLS = int(os.environ.get("DECIDUOUS_KILLS", "12"))


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5)).astype(np.float32)
    return X, np.where(X[:, 0] + rng.normal(size=N_ROWS) > 0, "yes", "no")


def fresh(rows: np.ndarray) -> str:
    X, y = numbers()
    return DareForestClassifier(**SMALL).fit(X[rows], y[rows], ids=rows).fingerprint()


@contextmanager
def trained(n_workers: int = 2, **options: Any) -> Iterator[Any]:
    forest = RayForestClassifier(**{**SMALL, **options}, n_workers=n_workers)
    try:
        yield forest.fit(*numbers())
    finally:
        forest.shut_down()


def pids(forest: Any) -> list[int]:
    """The coordinator's, then the workers'."""
    status = forest.status()
    return [status["pid"], *(worker["pid"] for worker in status["workers"] if worker)]


@pytest.mark.parametrize("who", ["coordinator", "worker"])
def test_a_process_killed_while_idle_comes_back(who: str) -> None:
    """With the same trees, from the rows in the folder, and what was deleted before stays deleted."""
    X, _ = numbers()
    with trained() as forest:
        forest.delete([1, 2, 3])
        expected = forest.predict_proba(X)
        os.kill(pids(forest)[0 if who == "coordinator" else 1], signal.SIGKILL)
        np.testing.assert_array_equal(forest.predict_proba(X), expected)
        forest.delete([4])
        assert forest.fingerprint() == fresh(np.delete(np.arange(N_ROWS), [1, 2, 3, 4]))
        with pytest.raises(UnknownRowError):
            forest.delete([1])


def test_whoever_is_killed_while_rows_are_deleted_nothing_acknowledged_is_lost() -> None:
    """One after the other at random moments; a deletion that failed was done or not, and can be asked for again."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    X, _ = numbers()
    acknowledged: set[int] = set()
    is_over = threading.Event()
    with trained() as forest:

        def delete_all() -> None:
            for row in range(0, N_ROWS, 2):
                if is_over.is_set():
                    return
                with suppress(UnknownRowError):  # the answer to the first try was lost
                    forest.delete([row])
                acknowledged.add(row)
                if row % 20 == 0:
                    forest.predict_proba(X[:10])

        with ThreadPoolExecutor(1) as threads:
            future = threads.submit(delete_all)
            for _ in range(N_KILLS):
                time.sleep(rng.uniform(0.02, 0.6))
                victims = pids(forest)
                os.kill(int(rng.choice(victims)), signal.SIGKILL)
                if future.done():
                    break
            is_over.set()
            future.result(timeout=120)
        left = np.setdiff1d(np.arange(N_ROWS), sorted(acknowledged))
        assert forest.ids_.tolist() == left.tolist()
        assert forest.fingerprint() == fresh(left)
        assert forest.verify()


def test_a_node_that_goes_takes_nothing_with_it(cluster: Any) -> None:
    """Its processes start on others."""
    X, _ = numbers()
    cluster.add_node(num_cpus=8, object_store_memory=80 * 2**20)  # in the place of the one that goes
    with trained(n_workers=4) as forest:
        forest.delete([7])
        homes = {worker["node"] for worker in forest.status()["workers"]}
        doomed = next(node for node in cluster.list_all_nodes() if node.node_id in homes and node != cluster.head_node)
        cluster.remove_node(doomed, allow_graceful=False)
        expected = fresh(np.delete(np.arange(N_ROWS), [7, 8]))
        forest.delete([8])
        assert forest.fingerprint() == expected
        assert len(forest.predict(X)) == N_ROWS


def test_a_change_that_comes_twice_or_late_does_nothing() -> None:
    """Workers know which state each change begins in, and which one it leads to."""
    import ray

    with trained() as forest:
        worker = forest._ask("processes")[0]
        sent: list[Any] = []
        view = forest._refresh()
        step = ray_step(view, [5])
        first = ray.get(worker.apply.remote(step))
        assert ray.get(worker.apply.remote(step)) == first
        sent.append(step)
        other = replace(step, digest=b"other", leaving=np.array([6]))
        with pytest.raises(ray_forests.OutOfStepError):
            raise_of(worker.apply.remote(other))
        late = replace(step, before=replace(step.before, epoch=7), after=replace(step.after, epoch=8))
        with pytest.raises(ray_forests.OutOfStepError):
            raise_of(worker.apply.remote(late))
        # The coordinator knows nothing of these: it lets the worker begin again from the rows in the folder.
        assert forest.fingerprint() == fresh(np.arange(N_ROWS))


def ray_step(view: Any, leaving: list[int]) -> Any:
    from deciduous.ray._rows import RowFormat
    from deciduous.ray._worker import Step

    after = replace(view.moment, epoch=view.moment.epoch + 1)
    no_keys = np.empty((0, 16), np.uint8)
    classes = np.array(["no", "yes"])
    digest = bytes(leaving)
    return Step(view.moment, after, digest, np.array(leaving), "", RowFormat(5, None), classes, no_keys, None, False)


def raise_of(call: Any) -> None:
    from deciduous.ray._team import answer_of

    answer_of(call)


def test_a_slow_worker_is_waited_for_and_shown() -> None:
    """Its status is missing while it does not answer."""
    with trained() as forest:
        slow = pids(forest)[1]
        os.kill(slow, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(1) as threads:
                deletion = threads.submit(forest.delete, [9])
                assert forest.status()["workers"][0] is None
                assert not deletion.done()
                os.kill(slow, signal.SIGCONT)
                assert deletion.result(timeout=60).ids == (9,)
        finally:
            os.kill(slow, signal.SIGCONT)
        assert forest.fingerprint() == fresh(np.delete(np.arange(N_ROWS), 9))


def test_a_full_queue_says_so_and_what_waits_is_done_together() -> None:
    """As many as may wait do; the others hear that nothing was changed."""
    with trained() as forest:
        slow = pids(forest)[1]
        os.kill(slow, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(80) as threads:
                deletions = {row: threads.submit(forest.delete, [row]) for row in range(80)}
                while forest.status()["waiting"] < 64:
                    time.sleep(0.05)
                time.sleep(0.3)
                os.kill(slow, signal.SIGCONT)
                errors = {row: its.exception(timeout=60) for row, its in deletions.items()}
        finally:
            os.kill(slow, signal.SIGCONT)
        refused = {row for row, error in errors.items() if error is not None}
        assert refused
        assert {type(errors[row]) for row in refused} == {ray_forests.QueueFullError}
        assert forest.ids_.tolist() == sorted(refused | set(range(80, N_ROWS)))
        status = forest.status()
        assert status["changes"] < 80 - len(refused)
        assert status["merged"] > 0
        assert forest.fingerprint() == fresh(forest.ids_)


def test_deletions_that_wait_together_fail_alone() -> None:
    """An unknown row, or one that another one deletes, concerns nobody else."""
    with trained() as forest:
        slow = pids(forest)[1]
        os.kill(slow, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(8) as threads:
                given = [[1], [2, 3], [3], [99_999], [4]]
                deletions = []
                for ids in given:
                    deletions.append(threads.submit(forest.delete, ids))
                    while forest.status()["waiting"] < len(deletions):
                        time.sleep(0.02)
                os.kill(slow, signal.SIGCONT)
                errors = [its.exception(timeout=60) for its in deletions]
        finally:
            os.kill(slow, signal.SIGCONT)
        assert [type(error) for error in errors] == [
            type(None),
            type(None),
            UnknownRowError,
            UnknownRowError,
            type(None),
        ]
        assert deletions[1].result().ids == (2, 3)
        assert forest.fingerprint() == fresh(np.delete(np.arange(N_ROWS), [1, 2, 3, 4]))


def limit_memory(n_bytes: int) -> None:
    """In a worker: no more memory than it has now and so many bytes."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + n_bytes, resource.RLIM_INFINITY))


def test_a_worker_without_memory_leaves_the_forest_as_it_was() -> None:
    """The change is taken back by those that could carry it out."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    rng = np.random.default_rng(5)
    n = 300_000
    X, y = rng.normal(size=(n, 5)).astype(np.float32), np.where(rng.random(n) > 0.5, "yes", "no")
    with trained() as forest:
        before = forest.fingerprint()
        worker = forest._ask("processes")[1]
        ray.get(worker.__ray_call__.remote(lambda _: limit_memory(2**24)))
        with pytest.raises((MemoryError, DeciduousError)):
            forest.add(X, y, ids=range(10_000, 10_000 + n))
        assert forest.fingerprint() == before
        assert forest.delete([5]).ids == (5,)
        assert forest.fingerprint() == fresh(np.delete(np.arange(N_ROWS), 5))


def test_predictions_never_mix_states() -> None:
    """Each is that of some state of the forest between two deletions."""
    X, y = numbers()
    probes = X[:50]
    local = DareForestClassifier(**SMALL).fit(X, y)
    states = [local.predict_proba(probes).tobytes()]
    batches = [list(range(first, first + 40)) for first in range(100, 900, 40)]
    for batch in batches:
        local.delete(batch)
        states.append(local.predict_proba(probes).tobytes())
    assert len(set(states)) > len(states) // 2
    with trained() as forest, ThreadPoolExecutor(1) as threads:
        deletions = threads.submit(lambda: [forest.delete(batch) for batch in batches])
        places = []
        while not deletions.done():
            places.append(states.index(forest.predict_proba(probes).tobytes()))
        assert places == sorted(places)
        assert forest.predict_proba(probes).tobytes() == states[-1]
        assert len(places) > 3


def test_interrupted_fit_leaves_the_former_forest() -> None:
    """Ctrl-C in the middle of a fit."""
    X, y = numbers()
    rng = np.random.default_rng(1)
    many = rng.normal(size=(100_000, 10)).astype(np.float32)
    with trained() as forest:
        before = forest.fingerprint()
        forest.set_params(n_estimators=400)
        timer = threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            forest.fit(many, rng.integers(0, 2, len(many)))
        assert forest.fingerprint() == before
        np.testing.assert_array_equal(forest.predict_proba(X), DareForestClassifier(**SMALL).fit(X, y).predict_proba(X))
    with pytest.raises(InvalidInputError, match="n_workers"):
        RayForestClassifier(n_workers=0).fit(X, y)
