"""Runs what is planned and not yet done: data set by data set, so that each is read once, or spread over a cluster."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from .datasets import REGISTRY, Unavailable, UnexpectedDataError, data_folder, entry_of, fetch, state_of
from .measuring import little_garbage
from .protocols import PROTOCOLS
from .protocols.exactness import LEMMA
from .scales import SCALES, Scale
from .store import Record, Store, Surroundings, Unit
from .task import Protocol, Task

DATA = "data"  # in place of an experiment, where a data set is missing
LARGE_DOWNLOAD = ("higgs",)  # only on demand

OnStart = Callable[[Unit], None]
OnEnd = Callable[[Record], None]
OnSkip = Callable[[int], None]


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster. With one unit on a machine at a time, the times that it measures are its own."""

    address: str
    per_node: int = 1


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    protocols: tuple[Protocol, ...]
    scale: Scale
    datasets: tuple[str, ...]
    folder: Path | None
    may_fetch: bool
    cluster: Cluster | None = None

    @classmethod
    def checked(
        cls,
        experiments: Sequence[str],
        scale: str,
        datasets: Sequence[str] = (),
        folder: Path | None = None,
        may_fetch: bool = False,
        cluster: Cluster | None = None,
    ) -> Request:
        """A request by names. Without data sets it is for those of the scale; without a cluster, for this process."""
        for what, names, known in (
            ("experiment", experiments, PROTOCOLS),
            ("scale", [scale], SCALES),
            ("data set", datasets, REGISTRY),
        ):
            if unknown := [name for name in names if name not in known]:
                raise InvalidInputError(f"No {what} is called {', '.join(unknown)}. There are {', '.join(known)}.")
        its = SCALES[scale]
        chosen = tuple(PROTOCOLS[name] for name in experiments)
        return cls(chosen, its, tuple(datasets) or its.datasets, folder, may_fetch, cluster)

    def units(self, dataset: str) -> list[Unit]:
        """What is planned for a data set."""
        return [unit for protocol in self.protocols for unit in protocol.units(self.scale, dataset)]

    def units_without_data(self) -> list[Unit]:
        """What needs no data set: the cases of the Lemma."""
        exactness = PROTOCOLS["exactness"]
        return list(exactness.plan(self.scale, LEMMA)) if exactness in self.protocols else []

    @property
    def n_units(self) -> int:
        """How many units there are in all."""
        return sum(len(self.units(dataset)) for dataset in self.datasets) + len(self.units_without_data())


def run(request: Request, store: Store, on_start: OnStart, on_end: OnEnd, on_skip: OnSkip) -> None:
    """Run what has no result yet. What fails or is unavailable is noted, and the others go on."""
    tasks = _to_do(request, store, on_end, on_skip)
    if request.cluster is not None:
        _spread(list(tasks), request.cluster, store, on_start, on_end)
        return
    for task in tasks:
        on_start(task.unit)
        on_end(_kept(task, run_task(task), store))


def _to_do(request: Request, store: Store, on_end: OnEnd, on_skip: OnSkip) -> Iterator[Task]:
    """The tasks without a result, data set by data set."""
    yield from _without_result(request, store, request.units_without_data(), on_skip)
    for dataset in request.datasets:
        units = request.units(dataset)
        if all(store.is_done(unit) for unit in units):
            on_skip(len(units))
        elif reason := missing(dataset, request):
            on_end(store.add(Unit(DATA, dataset), 0.0, reason=reason))
            on_skip(len(units))
        else:
            yield from _without_result(request, store, units, on_skip)


def _without_result(request: Request, store: Store, units: Sequence[Unit], on_skip: OnSkip) -> Iterator[Task]:
    for unit in units:
        if store.is_done(unit):
            on_skip(1)
        else:
            yield Task(unit, request.scale, request.folder)


def missing(dataset: str, request: Request) -> str | None:
    """Why a data set is not here, after an attempt to fetch it if there is a public source."""
    reason = state_of(dataset, request.folder)
    if reason is not None:
        reason = _without_folder(reason, request.folder)
    if reason is None or not request.may_fetch or entry_of(dataset).fetch is None or dataset in LARGE_DOWNLOAD:
        return reason
    try:
        fetch(dataset, request.folder)
    except (Unavailable, UnexpectedDataError) as error:
        return f"{reason}; that failed: {error}"
    return None


def _without_folder(text: str, folder: Path | None) -> str:
    """Results are passed on; where somebody keeps data is not."""
    return text.replace(str(data_folder(folder)), "the data folder")


# --------------------------------------------------------------------------------------------------------------- a unit


@dataclass(frozen=True)
class Outcome:
    """What came of a unit: a result, or why there is none."""

    seconds: float
    result: dict[str, Any] | None = None
    reason: str | None = None
    traceback: str = ""
    surroundings: Surroundings | None = None  # None: those of the store


def run_task(task: Task) -> Outcome:
    """Run a unit in this process."""
    start = time.perf_counter()
    try:
        with little_garbage():
            result = PROTOCOLS[task.unit.experiment].run(task)
    except (Unavailable, UnexpectedDataError) as reason:
        return Outcome(time.perf_counter() - start, reason=_without_folder(str(reason), task.folder))
    except Exception as error:
        return Outcome(time.perf_counter() - start, reason=_failure(error), traceback=traceback.format_exc())
    return Outcome(time.perf_counter() - start, result)


def _failure(error: Exception) -> str:
    return f"failed: {type(error).__name__}: {error}"


def _kept(task: Task, outcome: Outcome, store: Store) -> Record:
    sys.stderr.write(outcome.traceback)
    return store.add(task.unit, outcome.seconds, outcome.result, outcome.reason, outcome.surroundings)


# ------------------------------------------------------------------------------------------------------------ a cluster


def _spread(tasks: Sequence[Task], cluster: Cluster, store: Store, on_start: OnStart, on_end: OnEnd) -> None:
    """Run tasks on a cluster, whose machines all find the data sets in the same folder."""
    if not tasks:
        return
    from ..ray.errors import ClusterError
    from ..ray.spreading import Spreader

    there = [replace(task, folder=data_folder(task.folder).absolute()) for task in tasks]
    for task in there:
        on_start(task.unit)
    with Spreader(cluster.address, _run_there, cluster.per_node, cluster.per_node) as spreader:
        for task, outcome in spreader.run(there):
            try:
                its = outcome.result()
            except ClusterError as error:  # it takes whatever process runs it with it
                its = Outcome(0.0, reason=_failure(error))
            on_end(_kept(task, its, store))


def _run_there(per_node: int, task: Task) -> Outcome:
    from ..ray.spreading import n_beside

    return replace(run_task(task), surroundings=replace(_here(), n_beside=n_beside(per_node)))


_here = cache(Surroundings.here)
