"""Units of work on a cluster: begun together, run in any order, and given back as they end.

Each is a task of Ray, in a process of the cluster, and takes one of its processors. A unit that is lost with its
process, or with the machine, is run again, so it must not matter how often a unit is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from ._connecting import connect
from ._team import answer_of
from .errors import ClusterError, WorkerLostError

MOST_LOSSES = 3  # of a unit, with the process that ran it; the next one is an error

Shared = TypeVar("Shared")
Unit = TypeVar("Unit")
Result = TypeVar("Result")


class Spreader(Generic[Shared, Unit, Result]):
    """Lets the processes of a cluster call a function with units of work.

    What all units need is sent to each machine once. With `per_node`, no more units than that run on a machine of the
    cluster at a time; without, as many as it has processors.
    """

    def __init__(
        self, address: str, function: Callable[[Shared, Unit], Result], shared: Shared, per_node: int | None = None
    ) -> None:
        connect(address)
        self._task: Any = ray.remote(num_cpus=1, max_retries=MOST_LOSSES)(function)
        self._shared = ray.put(shared)
        self._per_node = per_node

    @contextmanager
    def run(self, units: Sequence[Unit]) -> Iterator[Iterator[tuple[Unit, Callable[[], Result]]]]:
        """Begin all units. Gives them as they end, with a call that returns the result or raises what was raised.

        When the context is left, by Ctrl-C or an error, too, units that have not ended are stopped.
        """
        running: dict[Any, Unit] = {}
        with _places(self._per_node) as strategy:
            task = self._task.options(scheduling_strategy=strategy)
            try:
                for unit in units:
                    running[task.remote(self._shared, unit)] = unit
                yield _ended(running)
            finally:
                for call in running:
                    ray.cancel(call, force=True)


def n_beside(per_node: int) -> int:
    """In a unit: how many other units may be running on the same machine, which can be several nodes of a cluster."""
    nodes = _nodes()
    own = ray.get_runtime_context().get_node_id()
    machine = next(node["NodeManagerHostname"] for node in nodes if node["NodeID"] == own)
    return sum(_n_places(node, per_node) for node in nodes if node["NodeManagerHostname"] == machine) - 1


def _ended(running: dict[Any, Unit]) -> Iterator[tuple[Unit, Callable[[], Any]]]:
    while running:
        call = ray.wait(list(running), num_returns=1)[0][0]
        yield running.pop(call), partial(_result, call)


def _result(call: Any) -> Any:
    try:
        return answer_of(call)
    except RayTaskError:  # which is an error of the unit all the same
        raise
    except RayError as error:
        n_processes = MOST_LOSSES + 1
        raise WorkerLostError(f"A unit was lost with each of {n_processes} processes that ran it: {error}") from None


@contextmanager
def _places(per_node: int | None) -> Iterator[Any]:
    """Where units may run, in the words of Ray."""
    if per_node is None:
        yield "SPREAD"
        return
    nodes = _nodes()
    if not nodes:
        raise ClusterError("No machine of the cluster has a processor for tasks.")
    group = placement_group([{"CPU": _n_places(node, per_node)} for node in nodes], strategy="STRICT_SPREAD")
    try:
        yield PlacementGroupSchedulingStrategy(group)
    finally:
        remove_placement_group(group)


def _nodes() -> list[Mapping[str, Any]]:
    """Those that run tasks: the head of a cluster may have no processors for them."""
    found: list[Mapping[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in found if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def _n_places(node: Mapping[str, Any], per_node: int) -> int:
    return min(per_node, int(node["Resources"]["CPU"]))
