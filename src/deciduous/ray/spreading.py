"""Units of work on a cluster: run by its processes in any order, and given back as they end.

The processes are actors, not plain tasks: a driver that cancels a task in the moment in which it ends is ended by Ray
itself ("Check failed: it != submissible_tasks_.end()", Ray 2.60), while an actor can be killed at any moment.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Self, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._connecting import join, nodes
from ._team import answer_of
from .errors import ClusterError, WorkerLostError

MOST_LOSSES = 3  # of a unit, with the process that ran it; the next one is an error
ANYWHERE = ""  # in place of a node

Shared = TypeVar("Shared")
Unit = TypeVar("Unit")
Result = TypeVar("Result")


class Spreader(Generic[Shared, Unit, Result]):
    """Lets processes of a cluster call a function with units of work, for as long as its context lasts.

    What all units need is sent to each machine once. Each process takes a processor. With `per_node`, there are no more
    of them than that on a node of the cluster; without, as many as there are processors.
    """

    def __init__(
        self, address: str, function: Callable[[Shared, Unit], Result], shared: Shared, per_node: int | None = None
    ) -> None:
        join(address)
        self._given = function, ray.put(shared)
        self._per_node = per_node
        self._homes: dict[Any, str] = {}  # of processes: nodes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self._homes):
            self._end(process)

    def run(self, units: Sequence[Unit]) -> Iterator[tuple[Unit, Future[Result]]]:
        """Run all units, and give each as it ends. One that is lost with its process, or machine, is run again."""
        for surplus in list(self._homes)[len(units) :]:
            self._end(surplus)
        self._begin_missing(len(units))
        work = _Work(units, list(self._homes))
        while work.n_left:
            process, number, future = work.next_ended()
            if (loss := _loss(future)) is None:
                work.go_on(process)
            else:
                self._end(process)
                work.welcome(self._begin_missing(work.n_left))
                if work.put_back(number):
                    continue
                future = Future()
                future.set_exception(
                    WorkerLostError(f"Every process that was given this work was lost, lately: {loss}")
                )
            if number is None:
                future.result()  # nothing, or why no process begins
            else:
                work.n_left -= 1
                yield units[number], future

    def _begin_missing(self, n: int) -> list[Any]:
        """Begin processes until there are so many, or no room for more."""
        n_missing = max(0, n - len(self._homes))
        return [self._begin(home) for home in self._free_homes()[:n_missing]]

    def _free_homes(self) -> list[str]:
        """The nodes with room for another process, once for each."""
        room = Counter({str(node["NodeID"]): _n_places(node, self._per_node) for node in nodes()})
        if self._per_node is None:  # Ray itself finds a place, and may add nodes
            room = Counter({ANYWHERE: max(1, room.total())})
        return list((room - Counter(self._homes.values())).elements())

    def _begin(self, home: str) -> Any:
        strategy = "SPREAD" if home == ANYWHERE else NodeAffinitySchedulingStrategy(home, soft=False)
        kind: Any = ray.remote(num_cpus=1)(_Process)
        process = kind.options(scheduling_strategy=strategy).remote(*self._given)
        self._homes[process] = home
        return process

    def _end(self, process: Any) -> None:
        del self._homes[process]
        ray.kill(process)


class _Work:
    """Units, by their numbers, and the processes that run them."""

    def __init__(self, units: Sequence[Any], processes: Sequence[Any]) -> None:
        self._units = units
        self._waiting = deque(range(len(units)))
        self._idle: list[Any] = []
        self._calls: dict[Any, tuple[Any, int | None]] = {}  # a process, and the unit that it runs; None: it begins
        self._losses = Counter[int | None]()
        self.n_left = len(units)
        self.welcome(processes)

    def welcome(self, processes: Sequence[Any]) -> None:
        """Give these processes units as soon as they are there."""
        self._calls |= {process.begin.remote(): (process, None) for process in processes}

    def next_ended(self) -> tuple[Any, int | None, Future[Any]]:
        """Wait for any process: what it has ended, and what came of it."""
        while self._waiting and self._idle:
            process, number = self._idle.pop(), self._waiting.popleft()
            self._calls[process.run.remote(self._units[number])] = process, number
        if not self._calls:
            raise ClusterError("No node of the cluster has a processor for units of work.")
        call = ray.wait(list(self._calls), num_returns=1)[0][0]
        process, ended = self._calls.pop(call)
        return process, ended, _future_of(call)

    def go_on(self, process: Any) -> None:
        """Give this process units, as it has nothing to do."""
        self._idle.append(process)
        self._losses[None] = 0

    def put_back(self, number: int | None) -> bool:
        """Run a unit again, or begin a process again, that was lost; not if that has happened too often."""
        self._losses[number] += 1
        if self._losses[number] > MOST_LOSSES:
            return False
        self._waiting.extendleft([] if number is None else [number])
        return True


class _Process(Generic[Shared, Unit, Result]):
    """Runs units on the cluster, one after the other."""

    def __init__(self, function: Callable[[Shared, Unit], Result], shared: Shared) -> None:
        self._function, self._shared = function, shared

    def begin(self) -> None:
        """Answers when the process is there: until then, others are given the units."""

    def run(self, unit: Unit) -> Result:
        return self._function(self._shared, unit)


def n_beside(per_node: int) -> int:
    """In a unit: how many other units may be running on the same machine, which can be several nodes of a cluster."""
    present = nodes()
    own = ray.get_runtime_context().get_node_id()
    machine = next(node["NodeManagerHostname"] for node in present if node["NodeID"] == own)
    return sum(_n_places(node, per_node) for node in present if node["NodeManagerHostname"] == machine) - 1


def _future_of(call: Any) -> Future[Any]:
    """What a call returned or raised."""
    future: Future[Any] = Future()
    try:
        future.set_result(answer_of(call))
    except Exception as error:
        future.set_exception(error)
    return future


def _loss(future: Future[Any]) -> RayError | None:
    """Why the cluster lost what was run; None if it was run, even if it raised an error."""
    error = future.exception()
    return error if isinstance(error, RayError) and not isinstance(error, RayTaskError) else None


def _n_places(node: Mapping[str, Any], per_node: int | None) -> int:
    n_processors = int(node["Resources"]["CPU"])
    return n_processors if per_node is None else min(per_node, n_processors)
