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

from ._connecting import connect
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
        connect(address)
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
        waiting, n_left = deque(range(len(units))), len(units)
        losses = Counter[int | None]()
        idle: list[Any] = []
        for process in list(self._homes)[n_left:]:
            self._end(process)
        self._begin_missing(n_left)
        running: dict[Any, tuple[Any, int | None]] = {its.begin.remote(): (its, None) for its in self._homes}
        while n_left:
            while waiting and idle:
                process, number = idle.pop(), waiting.popleft()
                running[process.run.remote(units[number])] = process, number
            if not running:
                raise ClusterError("No node of the cluster has a processor for units of work.")
            call = ray.wait(list(running), num_returns=1)[0][0]
            process, ended = running.pop(call)
            future: Future[Result] = Future()
            if lost := _settle(future, call):
                losses[ended] += 1
                self._end(process)
                running |= {other.begin.remote(): (other, None) for other in self._begin_missing(n_left)}
                if losses[ended] <= MOST_LOSSES:
                    if ended is not None:
                        waiting.appendleft(ended)
                    continue
                future.set_exception(
                    WorkerLostError(f"A unit was lost with each of {losses[ended]} processes that ran it: {lost}")
                )
            else:
                idle.append(process)
            if ended is None:
                future.result()
                losses[None] = 0
                continue
            n_left -= 1
            yield units[ended], future

    def _begin_missing(self, n: int) -> list[Any]:
        """Begin processes until there are so many, or no room for more."""
        n_missing = max(0, n - len(self._homes))
        return [self._begin(home) for home in self._free_homes()[:n_missing]]

    def _free_homes(self) -> list[str]:
        """The nodes with room for another process, once for each."""
        room = Counter({str(node["NodeID"]): _n_places(node, self._per_node) for node in _nodes()})
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
    nodes = _nodes()
    own = ray.get_runtime_context().get_node_id()
    machine = next(node["NodeManagerHostname"] for node in nodes if node["NodeID"] == own)
    return sum(_n_places(node, per_node) for node in nodes if node["NodeManagerHostname"] == machine) - 1


def _settle(future: Future[Any], call: Any) -> RayError | None:
    """Put into the future what a call returned or raised; the reason, if it was lost with its process."""
    try:
        future.set_result(answer_of(call))
    except RayError as error:
        if not isinstance(error, RayTaskError):
            return error
        future.set_exception(error)
    except Exception as error:
        future.set_exception(error)
    return None


def _nodes() -> list[Mapping[str, Any]]:
    """Those that run something: the head of a cluster may have no processors for it."""
    found: list[Mapping[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in found if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def _n_places(node: Mapping[str, Any], per_node: int | None) -> int:
    n_processors = int(node["Resources"]["CPU"])
    return n_processors if per_node is None else min(per_node, n_processors)
