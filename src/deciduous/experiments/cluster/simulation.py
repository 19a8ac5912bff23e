"""A discrete-event simulation of a forest on a cluster, drawn from measured times.

Clients ask; the coordinator takes all that wait into a pass; workers change their trees beside each other while the
coordinator makes files; what was noted is carried out, whoever fails. Same seed, same events.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from ..measuring import percentile
from .model import Costs

Steps = Generator[simpy.Event, Any, Any]
A_CHANGE, A_FAILURE = 1, 0  # priorities at a worker
PAUSE = 0.05  # seconds before a client asks again that was refused


@dataclass
class Request:
    """A client wants a row to be deleted."""

    came: float
    answer: simpy.Event  # which can be given once


@dataclass
class Outcome:
    """What happened."""

    asked: int = 0
    refused: int = 0
    left: int = 0  # still waiting at the end
    latencies: list[float] = field(default_factory=list)
    rows_of_passes: list[int] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=lambda: {"worker": 0, "coordinator": 0})
    began: float = 0.0
    ended: float = 0.0

    @property
    def per_second(self) -> float:
        """Deletions that were acknowledged."""
        return len(self.latencies) / (self.ended - self.began) if self.latencies else 0.0

    @property
    def mean_latency(self) -> float:
        """From the request to the answer."""
        return statistics.fmean(self.latencies)

    def latency(self, q: float) -> float:
        """The latency that q per cent of the requests do not exceed."""
        return percentile(self.latencies, q)

    @property
    def rows_of_pass(self) -> float:
        """On average."""
        return statistics.fmean(self.rows_of_passes)


class Simulation:
    """A cluster at work."""

    def __init__(self, costs: Costs, seed: int, *, with_failures: bool = False) -> None:
        self.costs = costs
        self.random = np.random.default_rng(seed)
        self.env = simpy.Environment()
        self.outcome = Outcome()
        self.workers = [simpy.PreemptiveResource(self.env) for _ in range(costs.where.workers)]
        self._waiting: list[Request] = []
        self._n_waiting = 0  # with those that are being carried out
        self._somebody_waits = self.env.event()
        self._is_noted = False  # the change that is going on
        self._coordinator = self.env.process(self._coordinate())
        if with_failures:
            self.env.process(self._fail("coordinator", self._fail_coordinator))
            for worker in self.workers:
                self.env.process(self._fail("worker", partial(self._recover_worker, worker)))

    # -------------------------------------------------------------------------------------------------------- clients

    def run_clients(self, n: int, of_each: int) -> Outcome:
        """Clients of which each asks again as soon as it has its answer, until all have asked so often."""
        done = self.env.all_of([self.env.process(self._client(of_each)) for _ in range(n)])
        self.env.run(done)
        return self._finished()

    def _client(self, n: int) -> Steps:
        for _ in range(n):
            while not (yield self.env.process(self._ask())):
                yield self.env.timeout(PAUSE)

    def run_arrivals(self, per_second: float, seconds: float, *, warm: float = 0.0) -> Outcome:
        """Requests that come at random; those that are refused do not come again. The beginning is not counted."""
        self.env.process(self._arrive(per_second))
        if warm > 0:
            self.env.run(warm)
            self._forget()
        self.env.run(warm + seconds)
        return self._finished()

    def _arrive(self, per_second: float) -> Steps:
        while True:
            yield self.env.timeout(self.random.exponential(1 / per_second))
            self.env.process(self._ask())

    def _forget(self) -> None:
        """Count from here on; those that wait asked just now."""
        self.outcome = Outcome(asked=self._n_waiting, began=self.env.now)

    def _finished(self) -> Outcome:
        self.outcome.ended, self.outcome.left = self.env.now, self._n_waiting
        return self.outcome

    def _ask(self) -> Steps:
        """A request goes to the coordinator, and its answer comes back; whether it was taken."""
        began, way = self.env.now, self.costs.request.drawn(self.random)
        yield self.env.timeout(way / 2)
        self.outcome.asked += 1
        if self._n_waiting >= self.costs.design.most_waiting:
            self.outcome.refused += 1
            return False
        request = Request(began, self.env.event())
        self._waiting.append(request)
        self._n_waiting += 1
        if not self._somebody_waits.triggered:
            self._somebody_waits.succeed()
        yield request.answer
        yield self.env.timeout(way / 2)
        return True

    # ---------------------------------------------------------------------------------------------------- coordinator

    def _coordinate(self) -> Steps:
        together: list[Request] = []
        while True:
            self._is_noted = False
            try:
                if not self._waiting:
                    self._somebody_waits = self.env.event()
                    yield self._somebody_waits
                together, self._waiting = self._waiting, []
                yield from self._pass(together)
            except simpy.Interrupt:
                together = yield from self._recover(together)
            self._answer(together)
            together = []

    def _recover(self, together: list[Request]) -> Steps:
        """The coordinator is back. What was noted is carried out; other requests are made again. Those to answer."""
        yield self.env.timeout(self.costs.recovery("coordinator"))
        if self._is_noted:
            return together
        self._waiting = together + self._waiting
        return []

    def _answer(self, requests: list[Request]) -> None:
        now = self.env.now
        if requests:
            self.outcome.rows_of_passes.append(len(requests))
        for request in requests:
            self.outcome.latencies.append(now - request.came + self.costs.request.mean / 2)
            self._n_waiting -= 1
            request.answer.succeed()

    def _pass(self, requests: list[Request]) -> Steps:
        """Check, note, change trees and make files, write files."""
        costs, n_rows = self.costs, len(requests)
        n_files = self._files_of(n_rows)
        own = costs.coordinator + n_rows * costs.coordinator_per_request
        yield self.env.timeout(own + self._sum_of(costs.find, n_files))
        yield self.env.timeout(costs.note.drawn(self.random))
        self._is_noted = True
        yield self.env.timeout(costs.calls.drawn(self.random) + costs.network(n_rows))
        yield from self._change_trees(n_rows, self._sum_of(costs.prepare, n_files))
        yield self.env.timeout(self._sum_of(costs.write, n_files) + costs.note.drawn(self.random))

    def _files_of(self, n_rows: int) -> int:
        """In how many files these rows happen to be; none are written with a log."""
        if self.costs.design.has_log:
            return 0
        return len(set(self.random.integers(0, self.costs.n_files, n_rows).tolist()))

    def _sum_of(self, times: Any, n: int) -> float:
        return float(times.drawn(self.random, n).sum()) if n else 0.0

    # -------------------------------------------------------------------------------------------------------- workers

    def _change_trees(self, n_rows: int, files: float) -> Steps:
        """All workers beside each other, and beside them the coordinator, which makes files."""
        seconds = self._worker_seconds(n_rows)
        if self.costs.where.shared_processors is not None:
            yield self.env.timeout(self.costs.together(seconds.tolist(), files))
            return
        busy = [
            self.env.process(self._work(self.workers[i], float(seconds[i]))) for i in np.flatnonzero(seconds).tolist()
        ]
        yield self.env.all_of([*busy, self.env.timeout(files)])

    def _work(self, worker: simpy.PreemptiveResource, seconds: float) -> Steps:
        """Carry out a change; if the worker fails on the way, again when it is back."""
        while True:
            try:
                with worker.request(A_CHANGE) as turn:
                    yield turn
                    yield self.env.timeout(seconds)
                    return
            except simpy.Interrupt:
                continue

    def _worker_seconds(self, n_rows: int) -> NDArray[np.float64]:
        """How long each worker takes for its trees: some of its threads may wait for the slowest tree."""
        where, costs = self.costs.where, self.costs
        if where.trees_of_row == where.trees:
            trees, rows = np.arange(where.trees), np.full(where.trees, n_rows)
        else:
            trees, rows = np.unique(
                self.random.integers(0, where.trees, n_rows * where.trees_of_row), return_counts=True
            )
        seconds = costs.tree.drawn(self.random, len(trees)) * rows**costs.measured.merging
        seconds = np.minimum(seconds, costs.most_of_tree)
        owner = trees * where.workers // where.trees
        n_trees = np.bincount(owner, minlength=where.workers)
        total = np.bincount(owner, seconds, minlength=where.workers)
        longest = np.zeros(where.workers)
        np.maximum.at(longest, owner, seconds)
        spread = np.maximum(total / np.clip(n_trees, 1, where.threads), longest)
        straggling = self.random.random(where.workers) < costs.assumed.straggles
        return np.where(straggling, costs.assumed.straggling, 1.0) * spread

    # ------------------------------------------------------------------------------------------------------- failures

    def _fail(self, who: str, recover: Callable[[], Steps]) -> Steps:
        """A process that fails from time to time."""
        while True:
            yield self.env.timeout(self.random.exponential(self.costs.assumed.time_between_failures))
            self.outcome.failures[who] += 1
            yield from recover()

    def _fail_coordinator(self) -> Steps:
        self._coordinator.interrupt()
        yield self.env.timeout(self.costs.recovery("coordinator"))

    def _recover_worker(self, worker: simpy.PreemptiveResource) -> Steps:
        with worker.request(A_FAILURE) as turn:
            yield turn
            yield self.env.timeout(self.costs.recovery("worker"))


def clients(costs: Costs, n: int, of_each: int, seed: int = 0) -> Outcome:
    """So many clients, each of which asks so often, one request after the other."""
    return Simulation(costs, seed).run_clients(n, of_each)


def arrivals(costs: Costs, per_second: float, seconds: float, seed: int = 0) -> Outcome:
    """Requests that come at random for so long, after a tenth of that which is not counted."""
    return Simulation(costs, seed).run_arrivals(per_second, seconds, warm=seconds / 10)


def saturated(costs: Costs, n_passes: int, seed: int = 0) -> Outcome:
    """As many clients as may wait, for about so many passes: what the cluster can sustain."""
    n = costs.design.most_waiting
    return clients(costs, n, max(2, n_passes // 2), seed)
