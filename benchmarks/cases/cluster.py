"""Forests on a Ray cluster beside the forest of one process, and the parts of a change one by one.

What is measured of the whole is judged by the requirements. What is measured of the parts, such as a call to a process
or a file that is written anew, is what the simulation of large clusters draws its times from (docs/scale.md).
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from deciduous import DareForestClassifier
from deciduous.experiments.cluster import keys

from ..bench import Bench
from ..data import DataSet, Unavailable, blobs
from ..measuring import latencies, median_seconds, seconds, spread
from ..results import Results
from ..settings import ClusterSizes
from .predictions import enough_rows

N_FITS = 3
N_PREDICTIONS = 3
CALLS_PER_KIND = 300
MOST_PROCESSES = 8  # that are called at once
UNTIMED_CALLS = 20
SECONDS_OF_REST = 2.0


def run(bench: Bench) -> None:
    """The whole with all numbers of workers, then the parts."""
    sizes = bench.sizes.cluster
    if not sizes.workers:
        return
    if find_spec("ray") is None:
        raise Unavailable("there is no Ray: pip install 'deciduous[ray]'")
    its = bench.data(keys.DATA)
    with connected():
        for n_workers in sizes.workers:
            with Pair(bench, its, n_workers) as pair:
                pair.measure()
        measure_calls(bench.results)
    measure_trees(bench, sizes)
    measure_batches(bench, sizes)
    measure_store(bench, sizes)
    # Last, as this tells the simulation that everything is there.
    bench.results.options["cluster"] = asdict(sizes) | {
        "rows": len(its.X),
        "columns": its.X.shape[1],
        "trees": bench.setting(its.name).n_trees,
        "load_at_end": os.getloadavg()[1],  # of five minutes
    }


@contextmanager
def connected() -> Iterator[None]:
    """A Ray cluster of our own, whoever else has one on this machine, unless this process has one already."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray

    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    ray.init("local", num_cpus=MOST_PROCESSES, **options)
    try:
        yield
    finally:
        ray.shutdown()


# ----------------------------------------------------------------------------------------------------------- the whole


class Pair:
    """A forest on the cluster and one of this process, with the same rows, to which the same is done in turns."""

    def __init__(self, bench: Bench, its: DataSet, n_workers: int) -> None:
        self.bench, self.its, self.n_workers = bench, its, n_workers
        params = bench.setting(its.name).params(bench.seed)
        self.local = DareForestClassifier(**(params | {"n_jobs": n_workers}))
        self.spread = spread_forest(params, n_workers)
        rows = np.random.default_rng([bench.seed, 2]).permutation(len(its.X)).tolist()
        self.rows = iter(rows[: len(rows) // 2])  # to delete; each once

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.spread.shut_down()

    def key(self, system: str, what: str) -> str:
        """Of a series."""
        return keys.whole(system, self.n_workers, what)

    def measure(self) -> None:
        """Everything; both must be the same forest afterwards."""
        self.fit()
        deleted = self.change("delete", self.take(self.bench.sizes.n_deletions), self.delete)
        self.change("add", deleted[: self.bench.sizes.cluster.n_additions], self.add)
        self.predict()
        if self.spread.fingerprint() != self.local.fingerprint():
            raise AssertionError("The forest on the cluster is another one than that of one process.")
        for n_clients in self.bench.sizes.cluster.clients:
            self.delete_at_once(n_clients)
        self.recover()

    def take(self, n: int) -> list[int]:
        """Rows that were not deleted yet."""
        return list(islice(self.rows, n))

    def fit(self) -> None:
        """Training, in turns; the first one on the cluster also starts its processes."""
        X, y = self.its.X, self.its.y
        self.bench.results.record(self.key(keys.CLUSTER, "start and fit"), seconds(lambda: self.spread.fit(X, y)), "s")
        turns = [[seconds_after_rest(partial(its.fit, X, y)) for its in self.both.values()] for _ in range(N_FITS)]
        for system, times in zip(self.both, zip(*turns, strict=True), strict=True):
            self.bench.results.record(self.key(system, "fit"), spread(times).median, "s")

    @property
    def both(self) -> dict[str, Any]:
        """The forests by the names of their systems."""
        return {keys.LOCAL: self.local, keys.CLUSTER: self.spread}

    def change(self, what: str, rows: Sequence[int], change: Callable[[Any, int], None]) -> list[int]:
        """Change both row by row, and note what the cluster takes longer; the rows."""
        times: dict[str, list[float]] = {system: [] for system in self.both}

        def change_both(row: int) -> None:
            for system, forest in self.both.items():
                times[system].append(timed(partial(change, forest, row)))

        before = self.coordinator_seconds()
        done = len(latencies(change_both, rows, self.bench.sizes.budget))
        per_change = (self.coordinator_seconds() - before) / done
        self.bench.results.record(self.key(keys.CLUSTER, f"{what}, coordinator's processor time"), per_change, "s")
        for system, its in times.items():
            self.bench.results.record_latencies(self.key(system, what), its)
        beyond = np.subtract(times[keys.CLUSTER], times[keys.LOCAL]).tolist()
        self.bench.results.record_latencies(self.key(keys.CLUSTER, f"{what}, beyond one process"), beyond)
        return list(rows[:done])

    def coordinator_seconds(self) -> float:
        """How long processors have worked for the coordinator."""
        stat = Path(f"/proc/{self.spread.status()['pid']}/stat").read_text(encoding="utf-8")
        after_name = stat.rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def delete(self, forest: Any, row: int) -> None:
        """One row."""
        forest.delete([row])

    def add(self, forest: Any, row: int) -> None:
        """One row, back again."""
        forest.add(self.its.X[row : row + 1], self.its.y[row : row + 1], ids=[row])

    def predict(self) -> None:
        """Many rows at once, and rows one by one."""
        sizes, results = self.bench.sizes, self.bench.results
        rows = enough_rows(self.its.X_test, sizes.n_predicted)
        single = [rows[i : i + 1] for i in range(min(len(rows), sizes.n_deletions))]
        for system, forest in self.both.items():
            took = median_seconds(partial(forest.predict_proba, rows), N_PREDICTIONS)
            results.record(self.key(system, "predicted rows per second"), len(rows) / took, "rows/s")
            times = latencies(forest.predict_proba, single, sizes.budget / 10)
            results.record_latencies(self.key(system, "predict one row"), times)

    def delete_at_once(self, n_clients: int) -> None:
        """So many clients, each of which deletes one row after the other."""
        of_each = max(2, self.bench.sizes.cluster.n_at_once // n_clients)
        shares = [self.take(of_each) for _ in range(n_clients)]
        before = self.spread.status()
        times: list[float] = []

        def delete_all(rows: list[int]) -> None:
            times.extend([timed(partial(self.spread.delete, [row])) for row in rows])

        with ThreadPoolExecutor(n_clients) as threads:
            took = seconds(lambda: list(threads.map(delete_all, shares)))
        after, results = self.spread.status(), self.bench.results
        n_passes = after["changes"] - before["changes"]
        what = keys.at_once(n_clients)
        results.record(self.key(keys.CLUSTER, f"{what}: per second"), len(times) / took, "rows/s")
        results.record(self.key(keys.CLUSTER, f"{what}: rows of a pass"), len(times) / n_passes, "rows")
        results.record_latencies(self.key(keys.CLUSTER, what), times)

    def recover(self) -> None:
        """Kill a worker, then the coordinator, and wait for the next deletion; several times."""
        for who in keys.PROCESSES:
            times = [self.recovered(who) for _ in range(self.bench.sizes.cluster.n_kills)]
            self.bench.results.record_latencies(self.key(keys.CLUSTER, f"{who} killed"), times)

    def recovered(self, who: str) -> float:
        """From SIGKILL to a deletion that is acknowledged."""
        status = self.spread.status()
        victim = status["pid"] if who == "coordinator" else status["workers"][0]["pid"]
        (row,) = self.take(1)
        start = time.perf_counter()
        os.kill(victim, signal.SIGKILL)
        self.spread.delete([row])
        return time.perf_counter() - start


def seconds_after_rest(work: Callable[[], Any]) -> float:
    """How long it takes, when workers are done with what they leave for idle time, such as digests of their trees."""
    time.sleep(SECONDS_OF_REST)
    return seconds(work)


def spread_forest(params: dict[str, Any], n_workers: int) -> Any:
    """A forest on the cluster, with a thread for each worker."""
    from deciduous.ray import RayForestClassifier

    own: dict[str, Any] = {"n_jobs": 1, "n_workers": n_workers}
    return RayForestClassifier(**(params | own))


# ----------------------------------------------------------------------------------------------------------- the parts


class Echo:
    """A process that answers."""

    def echo(self) -> None:
        """Nothing."""


def call_all(processes: Sequence[Any]) -> None:
    """Call them at once, and wait for all."""
    import ray

    ray.get([its.echo.remote() for its in processes])


def measure_calls(results: Results) -> None:
    """Calls to several processes at once, until all have answered."""
    import ray

    kind: Any = ray.remote(Echo)
    processes = [kind.options(num_cpus=0).remote() for _ in range(MOST_PROCESSES)]
    n = 1
    while n <= MOST_PROCESSES:
        times = [timed(partial(call_all, processes[:n])) for _ in range(UNTIMED_CALLS + CALLS_PER_KIND)]
        results.record_latencies(keys.calls(n), times[UNTIMED_CALLS:])
        n *= 2
    for process in processes:
        ray.kill(process)


def measure_trees(bench: Bench, sizes: ClusterSizes) -> None:
    """Training, memory and single deletions of one tree, by its rows."""
    for n_rows in sizes.tree_rows:
        times: list[float] = []
        for forest, rows in single_trees(bench, n_rows, sizes):
            times += latencies(forest.delete, [[row] for row in rows], bench.sizes.budget / 10)
        bench.results.record_latencies(keys.tree(n_rows), times)


def single_trees(bench: Bench, n_rows: int, sizes: ClusterSizes) -> Iterator[tuple[DareForestClassifier, list[int]]]:
    """Trees of as many seeds as there are to be, as chance makes some of them slow; with rows to delete."""
    X, y = blobs(n_rows)
    its = bench.setting(keys.DATA)
    for seed in range(sizes.n_trees_alone):
        forest = DareForestClassifier(**(its.params(seed) | {"n_estimators": 1, "n_jobs": 1}))
        bench.results.record(keys.tree_fit(n_rows), seconds(partial(forest.fit, X, y)), "s")
        use = forest.memory_usage()
        bench.results.record(keys.tree_memory(n_rows), use.total, "B")
        bench.results.record(keys.tree_data(n_rows), use.data, "B")
        n = min(n_rows // 10, bench.sizes.n_deletions // sizes.n_trees_alone)
        yield forest, np.random.default_rng(seed).choice(n_rows, n, replace=False).tolist()


def measure_batches(bench: Bench, sizes: ClusterSizes) -> None:
    """Several rows at once, in one tree."""
    n_rows = sizes.batch_rows
    for n_together in sizes.batches:
        times: list[float] = []
        for forest, _ in single_trees(bench, n_rows, sizes):
            rows = np.random.default_rng(1).permutation(n_rows)[: n_together * sizes.n_batches]
            batches = rows.reshape(-1, n_together).tolist()
            times += latencies(forest.delete, batches, bench.sizes.budget / 10)
        bench.results.record_latencies(keys.batch(n_together), times)


def measure_store(bench: Bench, sizes: ClusterSizes) -> None:
    """One row leaves a file, by the rows that the file has; and how fast all files are read."""
    for rows_per_file in sizes.file_rows:
        with tempfile.TemporaryDirectory() as folder:
            store, n_rows = filled_store(folder, sizes.batch_rows, rows_per_file)
            took = seconds(partial(read_all, store))
            bench.results.record(keys.store(rows_per_file, keys.READING), n_rows / took, "rows/s")
            leaving = np.random.default_rng(0).choice(n_rows, sizes.n_files_changed, replace=False)
            steps = [times_of_steps(store, int(row)) for row in leaving]
        for step, times in zip(keys.STORE_STEPS, zip(*steps, strict=True), strict=True):
            bench.results.record_latencies(keys.store(rows_per_file, step), times)


def filled_store(folder: str, n_rows: int, rows_per_file: int) -> tuple[Any, int]:
    """A store with files of about so many rows."""
    from deciduous.ray._row_store import RowStore
    from deciduous.ray._rows import RowFormat, Rows

    X, y = blobs(n_rows)
    store = RowStore(folder)
    store.start(n_rows, RowFormat(X.shape[1], None))
    store.n_files = max(1, n_rows // rows_per_file)
    rows = Rows(np.arange(n_rows), X, y, np.ones(n_rows, np.uint32), None)
    for number, its in store.by_file(rows):
        store.write(number, its)
    return store, n_rows


def read_all(store: Any) -> int:
    """All rows, file by file; how many there are."""
    return sum(len(its) for its in store.all_rows())


def times_of_steps(store: Any, row: int) -> list[float]:
    """How long the steps of a change take in which a row leaves."""
    from deciduous.ray._row_store import Change

    ids = np.array([row])
    change = Change(ids, store.row_format.none())
    works = (lambda: list(store.found(ids)), lambda: store.begin(change), store.prepare, store.finish)
    return [timed(work) for work in works]


def timed(work: Callable[[], Any]) -> float:
    """How long something short takes, with the garbage of earlier work where it is."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
