"""Runs what is planned and not yet done, data set by data set, so that each is read once."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInputError
from .datasets import REGISTRY, Unavailable, UnexpectedDataError, data_folder, entry_of, fetch, state_of
from .measuring import little_garbage
from .protocols import PROTOCOLS
from .protocols.exactness import LEMMA
from .scales import SCALES, Scale
from .store import Record, Store, Unit
from .task import Protocol, Task

DATA = "data"  # in place of an experiment, where a data set is missing
LARGE_DOWNLOAD = ("higgs",)  # only on demand

OnStart = Callable[[Unit], None]
OnEnd = Callable[[Record], None]


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    protocols: tuple[Protocol, ...]
    scale: Scale
    datasets: tuple[str, ...]
    folder: Path | None
    may_fetch: bool

    @classmethod
    def checked(
        cls,
        experiments: Sequence[str],
        scale: str,
        datasets: Sequence[str] = (),
        folder: Path | None = None,
        may_fetch: bool = False,
    ) -> Request:
        """A request by names. Without data sets it is for those of the scale."""
        for what, names, known in (
            ("experiment", experiments, PROTOCOLS),
            ("scale", [scale], SCALES),
            ("data set", datasets, REGISTRY),
        ):
            if unknown := [name for name in names if name not in known]:
                raise InvalidInputError(f"No {what} is called {', '.join(unknown)}. There are {', '.join(known)}.")
        its = SCALES[scale]
        chosen = tuple(PROTOCOLS[name] for name in experiments)
        return cls(chosen, its, tuple(datasets) or its.datasets, folder, may_fetch)

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


def run(request: Request, store: Store, on_start: OnStart, on_end: OnEnd, on_skip: Callable[[int], None]) -> None:
    """Run what has no result yet. What fails or is unavailable is noted, and the others go on."""
    _run_units(request, store, request.units_without_data(), on_start, on_end, on_skip)
    for dataset in request.datasets:
        units = request.units(dataset)
        if all(store.is_done(unit) for unit in units):
            on_skip(len(units))
        elif reason := missing(dataset, request):
            on_end(store.add(Unit(DATA, dataset), 0.0, reason=reason))
            on_skip(len(units))
        else:
            _run_units(request, store, units, on_start, on_end, on_skip)


def missing(dataset: str, request: Request) -> str | None:
    """Why a data set is not here, after an attempt to fetch it if there is a public source."""
    reason = state_of(dataset, request.folder)
    if reason is not None:  # results are passed on; where somebody keeps data is not
        reason = reason.replace(str(data_folder(request.folder)), "the data folder")
    if reason is None or not request.may_fetch or entry_of(dataset).fetch is None or dataset in LARGE_DOWNLOAD:
        return reason
    try:
        fetch(dataset, request.folder)
    except (Unavailable, UnexpectedDataError) as error:
        return f"{reason}; that failed: {error}"
    return None


def _run_units(
    request: Request,
    store: Store,
    units: Sequence[Unit],
    on_start: OnStart,
    on_end: OnEnd,
    on_skip: Callable[[int], None],
) -> None:
    for unit in units:
        if store.is_done(unit):
            on_skip(1)
            continue
        on_start(unit)
        on_end(_run_unit(Task(unit, request.scale, request.folder), store))


def _run_unit(task: Task, store: Store) -> Record:
    start = time.perf_counter()
    try:
        with little_garbage():
            result = PROTOCOLS[task.unit.experiment].run(task)
    except (Unavailable, UnexpectedDataError) as reason:
        return store.add(task.unit, time.perf_counter() - start, reason=str(reason))
    except Exception as error:
        traceback.print_exc()
        return store.add(task.unit, time.perf_counter() - start, reason=f"failed: {type(error).__name__}: {error}")
    return store.add(task.unit, time.perf_counter() - start, result=result)
