"""The coordinator: one process that holds what a forest knows of its rows, and lets workers carry out changes.

Changes are carried out one after the other; deletions that wait together become one. Whoever asks for a change names
it, so that asking again, when an answer was lost, does nothing twice.
"""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import ray
from numpy.typing import NDArray

from .._container import read_json, section
from .._state import arguments_from, entry
from .._stored import Description
from ..errors import UnknownRowError
from ..reports import UpdateReport
from ._predicting import View, predicted
from ._row_store import RowStore
from ._rows import RowFormat
from ._sharded import KINDS, Sharded
from ._team import Team
from ._worker import moment_as_dict
from .errors import CancelledError, QueueFullError

NAMESPACE = "deciduous"  # of the names of actors
IDLE_SECONDS = 0.5  # without a change, before digests are noted
STATUS_SECONDS = 1.0  # for a worker to say how it is
# What readers need to encode rows and to show predictions.
SHOWN = ("_columns", "_classes", "_class_weights", "_target_scale", "_weight_unit", "_arguments", "seed_")
SHOWN_IF_THERE = ("n_features_in_", "feature_names_in_")


class Training(Protocol):
    """Where the rows of a fit come from."""

    def train(self, forest: Sharded) -> None:
        """Train a forest on them."""


@dataclass
class Request:
    """A deletion that waits for its turn."""

    name: str
    ids: Any
    subjects: Any
    outcome: UpdateReport | BaseException | None = None
    is_answered: threading.Event = field(default_factory=threading.Event)

    def result(self) -> UpdateReport:
        """What came of it."""
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        assert self.outcome is not None
        return self.outcome


class Coordinator:
    """Holds the forest."""

    def __init__(
        self,
        task: str,
        folder: str,
        name: str,
        n_workers: int,
        patience: float,
        max_waiting: int,
        durable: bool,
    ) -> None:
        self._task, self._max_waiting, self._patience = task, max_waiting, patience
        self._store = RowStore(folder, name, durable=durable)
        workers = [ray.get_actor(worker_name(name, i), namespace=NAMESPACE) for i in range(n_workers)]
        self._team = Team(workers, folder, patience)
        self._forest: Sharded | None = None
        self._waiting: list[Request] = []
        self._n_waiting = 0
        self._queue = threading.Lock()
        self._changing = threading.Lock()
        self._last_change = time.monotonic()
        self._n_changes = self._n_merged = 0
        self._fit_request = ""  # that of the forest, or of the fit that is going on
        self._cancelled: set[str] = set()
        self._began = time.time()
        if self._store.is_ours:
            self._resume()
        threading.Thread(target=self._watch, daemon=True).start()

    def _resume(self) -> None:
        """Go on with the forest in the store."""
        self._store.claim(self._patience)
        sections = self._store.open()
        meta = read_json(section(sections, "meta"))
        kind = KINDS[self._task]
        its = Description.described(meta, sections, most_features=float("inf"))
        arguments = entry(meta, "arguments", dict)
        forest = kind(**arguments_from(arguments, set(kind().get_params())))
        forest.attach(self._team, self._store)
        change = self._store.resume(RowFormat(len(its.columns), its.targets.scale))
        forest.resume(its, arguments, change)
        self._forest = forest
        self._describe()  # whoever was to do so was killed, perhaps

    def _watch(self) -> None:
        """When nothing changes for a while, note digests, and see to workers that failed."""
        while True:
            time.sleep(IDLE_SECONDS)
            if self._forest is None or time.monotonic() - self._last_change < IDLE_SECONDS:
                continue
            if self._changing.acquire(blocking=False):
                try:
                    self._team.heal()
                    self._team.note_digests()
                except Exception:  # whoever asks the workers next will hear of it
                    pass
                finally:
                    self._changing.release()

    # ------------------------------------------------------------------------------------------------------------ fit

    @ray.method(concurrency_group="changes")
    def fit(self, request: str, parameters: dict[str, Any], training: Training) -> None:
        """Train a forest in the place of the present one, if there is one."""
        with self._changing:
            if request == self._fit_request:
                return
            former, former_request = self._forest, self._fit_request
            place = self._store.generation, self._store.epoch, self._store.n_files
            self._fit_request = request
            try:
                self._store.claim()
                self._forest = self._trained(request, parameters, training)
            except BaseException:
                self._fit_request = former_request
                self._go_back(former, *place)
                raise
            self._last_change = time.monotonic()

    def _trained(self, request: str, parameters: dict[str, Any], training: Training) -> Sharded:
        self._team.stop.clear()
        if request in self._cancelled:
            raise CancelledError
        forest = KINDS[self._task](**parameters)
        forest.attach(self._team, self._store)
        training.train(forest)
        self._store.adopt(forest.description())
        return forest

    def _go_back(self, former: Sharded | None, generation: str, epoch: int, n_files: int) -> None:
        """Leave everything as it was before a fit."""
        self._team.stop.clear()
        if self._store.generation != generation:
            self._store.discard()
        self._store.generation, self._store.epoch, self._store.n_files = generation, epoch, n_files
        if former is not None:
            self._store.row_format = former._forest.row_format
            former._forest.go_on()

    @ray.method(concurrency_group="status")
    def cancel(self, request: str) -> None:
        """Stop this fit, whether it is going on or waits for its turn."""
        self._cancelled.add(request)
        if request == self._fit_request:
            self._team.stop.set()

    # -------------------------------------------------------------------------------------------------------- changes

    @ray.method(concurrency_group="changes")
    def change(self, request: str, name: str, arguments: dict[str, Any]) -> Any:
        """Call a method that changes the forest, unless this request was carried out."""
        with self._place_in_queue(), self._changing:
            if request in self._store.done_requests:
                return None
            with self._fitted().for_requests([request]):
                try:
                    result = getattr(self._fitted(), name)(**arguments)
                    return None if isinstance(result, Sharded) else result
                finally:
                    self._after_change()
                    self._describe()

    @ray.method(concurrency_group="changes")
    def set_params(self, parameters: dict[str, Any]) -> None:
        """Set parameters of the estimator."""
        with self._changing:
            if self._forest is not None:
                self._forest.set_params(**parameters)
                self._describe()

    @ray.method(concurrency_group="changes")
    def delete(self, name: str, ids: Any, subjects: Any) -> UpdateReport:
        """Delete rows, together with all others that wait to be deleted."""
        request = Request(name, ids, subjects)
        self._fitted()
        with self._place_in_queue():
            with self._queue:
                self._waiting.append(request)
                leads = len(self._waiting) == 1
            if leads:  # those who come while it waits for its turn are served together with it
                self._serve_waiting()
            request.is_answered.wait()
        return request.result()

    def _serve_waiting(self) -> None:
        with self._changing:
            with self._queue:
                together, self._waiting = self._waiting, []
            try:
                self._delete_together(together)
            finally:
                for request in together:
                    request.is_answered.set()

    @contextmanager
    def _place_in_queue(self) -> Iterator[None]:
        with self._queue:
            if self._n_waiting >= self._max_waiting:
                raise QueueFullError(self._n_waiting)
            self._n_waiting += 1
        try:
            yield
        finally:
            with self._queue:
                self._n_waiting -= 1

    def _delete_together(self, requests: list[Request]) -> None:
        """Delete what several ask for, in one pass; each that cannot be carried out fails alone."""
        forest = self._fitted()
        to_do: list[tuple[Request, list[int]]] = []
        taken: set[int] = set()
        for request in requests:
            try:
                if request.name in self._store.done_requests:
                    request.outcome = _unknown_cost(())
                    continue
                rows = forest._known_rows(request.ids, request.subjects).tolist()
                if twice := taken.intersection(rows):
                    raise UnknownRowError(forest._names.shown_ids(sorted(twice)), forest.n_rows_ - len(taken))
                taken.update(rows)
                to_do.append((request, rows))
            except Exception as error:  # whoever asked hears of it
                request.outcome = error
        if not to_do:
            return
        shown = {request.name: tuple(forest._names.shown_ids(rows)) for request, rows in to_do}
        present = forest.present_classes()
        try:
            with forest.for_requests([request.name for request, _ in to_do]):
                report = forest.delete(forest._names.shown_ids(sorted(taken)))
            for request, _ in to_do:
                request.outcome = UpdateReport(
                    shown[request.name],
                    report.nodes_rebuilt_by_depth,
                    report.rows_retrained_by_depth,
                    report.n_rows_regrown,
                )
        except BaseException as error:  # whoever asked hears of it
            for request, _ in to_do:
                request.outcome = error
        finally:
            self._n_merged += len(to_do) - 1
            self._after_change()
            if forest.present_classes() != present:  # a label without rows must not stay
                self._describe()

    def _after_change(self) -> None:
        self._n_changes += 1
        self._last_change = time.monotonic()

    def _describe(self) -> None:
        self._store.describe(self._fitted().description())

    # -------------------------------------------------------------------------------------------------------- reading

    @ray.method(concurrency_group="reads")
    def save_folder(self, path: str, request: str) -> None:
        """Copy the rows, with what else it takes to grow the forest from them, to a folder that is not there yet."""
        with self._changing:
            self._fitted().save_folder(path, request)

    @ray.method(concurrency_group="reads")
    def read(self, name: str, arguments: dict[str, Any]) -> Any:
        """A method that changes nothing, or a property; between changes."""
        with self._changing:
            found = getattr(self._fitted(), name)
            return found(**arguments) if inspect.ismethod(found) else found

    @ray.method(concurrency_group="reads")
    def view(self) -> View:
        """The state of the forest, for those who predict."""
        with self._changing:
            return self._view()

    @ray.method(concurrency_group="reads")
    def predict(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], View]:
        """What the trees predict, between changes: for those who were too slow beside them."""
        with self._changing:
            self._team.heal()
            view = self._view()
            return predicted(view, rows, len(view.attributes["_classes"])), view

    def _view(self) -> View:
        forest = self._fitted()
        attributes = {name: getattr(forest, name) for name in SHOWN}
        attributes |= {name: getattr(forest, name) for name in SHOWN_IF_THERE if hasattr(forest, name)}
        return View(self._team.moment, list(self._team.workers), attributes)

    @ray.method(concurrency_group="status")
    def processes(self) -> list[Any]:
        """The workers."""
        return list(self._team.workers)

    @ray.method(concurrency_group="changes")
    def heal(self) -> None:
        """Bring back workers that have failed."""
        with self._changing:
            self._team.heal()

    @ray.method(concurrency_group="status")
    def describe_parameters(self) -> tuple[str, dict[str, Any]]:
        """The task, and what the forest was made with."""
        return self._task, ({} if self._forest is None else self._forest.get_params())

    @ray.method(concurrency_group="status")
    def status(self) -> dict[str, Any]:
        """How everybody is."""
        workers = self._team.statuses(STATUS_SECONDS)
        for status in workers:
            if status is not None:
                status["moment"] = moment_as_dict(status["moment"])
        forest = self._forest
        return {
            "pid": os.getpid(),
            "uptime": time.time() - self._began,
            "folder": str(self._store.folder),
            "fitted": forest is not None,
            "rows": 0 if forest is None else forest._forest.n_rows,
            "trees": 0 if forest is None else forest._forest.n_trees,
            "epoch": self._store.epoch,
            "waiting": self._n_waiting,
            "changes": self._n_changes,
            "merged": self._n_merged,
            "recoveries": list(self._team.n_recoveries),
            "workers": workers,
        }

    def _fitted(self) -> Sharded:
        if self._forest is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This forest is not fitted yet. Call `fit` first.")
        return self._forest


def worker_name(forest: str, number: int) -> str:
    """What the cluster knows a worker by."""
    return f"{forest}/worker-{number}"


def _unknown_cost(ids: tuple[Any, ...]) -> UpdateReport:
    """The report of a change that was carried out, but whose answer was lost."""
    return UpdateReport(ids, (), (), None)
