"""The workers of a forest, as the coordinator sees them: asked all at once, and brought back when they fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from .._progress import Report
from ._worker import Moment, Plan, Step
from .errors import CancelledError, OutOfStepError, WorkerLostError

SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BETWEEN_REPORTS = 0.5


def answer_of(reference: Any, timeout: float | None = None) -> Any:
    """What a call to another process returned; what it raised is raised here as it was there."""
    try:
        return ray.get(reference, timeout=timeout)
    except RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None


def _status_of(call: Any) -> dict[str, Any] | None:
    try:
        status: dict[str, Any] = answer_of(call)
    except RayActorError:
        return None
    return status


def shares_of_trees(n_trees: int, n_workers: int) -> list[tuple[int, int]]:
    """The trees of each worker: from one number to below another."""
    ends = [n_trees * worker // n_workers for worker in range(n_workers + 1)]
    return list(pairwise(ends))


class Helper:
    """A process that calls functions."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call one."""
        return function(*arguments)


@dataclass
class Helpers:
    """Several of them."""

    handles: Sequence[Any]
    patience: float
    stop: threading.Event

    def __len__(self) -> int:
        return len(self.handles)

    def spread(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function with each of these, as each process gets done with another one; the results in order."""
        results: dict[int, Any] = {}
        waiting = list(range(len(tasks)))[::-1]
        idle = list(self.handles)
        running: dict[Any, tuple[int, Any]] = {}
        end = time.monotonic() + self.patience
        while waiting or running:
            if self.stop.is_set():
                raise CancelledError
            while waiting and idle:
                number, handle = waiting.pop(), idle.pop()
                running[handle.run.remote(function, *tasks[number])] = number, handle
            for call in ray.wait(list(running), num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)[0]:
                number, handle = running.pop(call)
                idle.insert(0, handle)
                try:
                    results[number] = answer_of(call)
                    end = time.monotonic() + self.patience
                except RayActorError as error:
                    if time.monotonic() > end:
                        raise WorkerLostError(f"No process comes back: {error}") from None
                    waiting.append(number)
                    time.sleep(SECONDS_BETWEEN_LOOKS)
        return [results[number] for number in range(len(tasks))]


@dataclass
class Team:
    """Workers, each with a share of the trees."""

    workers: Sequence[Any]  # handles of actors
    folder: str
    patience: float  # in seconds, with a worker that does not answer
    plan: Plan | None = None
    moment: Moment = field(default_factory=lambda: Moment("", 0))
    trees: list[tuple[int, int]] = field(default_factory=list)
    digests: dict[int, tuple[Moment, str]] = field(default_factory=dict)  # of shards, when they were last known
    n_recoveries: list[int] = field(default_factory=list)  # of each worker
    coming_moment: Moment | None = None  # after the change that is being carried out
    stop: threading.Event = field(default_factory=threading.Event)  # set to end a fit
    _healing: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.n_recoveries = [0] * len(self.workers)

    def load(self, plan: Plan, moment: Moment, report: Report | None = None) -> None:
        """Let all workers grow their trees from the rows in the store, unless they have."""
        self.plan, self.moment = plan, moment
        self.trees = shares_of_trees(plan.params["n_trees"], len(self.workers))
        calls = [self._load_call(number) for number in range(len(self.workers))]
        waiting = calls
        while waiting:
            waiting = ray.wait(waiting, num_returns=len(waiting), timeout=SECONDS_BETWEEN_LOOKS)[1]
            if self.stop.is_set():
                for worker in self.workers:
                    worker.cancel.remote(moment)
            if report is not None:
                report(self.n_grown())
        for number, call in enumerate(calls):
            try:
                answer_of(call)
            except RayActorError:
                self._bring_back(number)

    def n_grown(self) -> int:
        """How many trees there are by now, while workers grow them."""
        return sum(status["trees_grown"] for status in self.statuses(SECONDS_BETWEEN_REPORTS) if status)

    def statuses(self, timeout: float) -> list[dict[str, Any] | None]:
        """How each worker is; None of those that do not say so in time."""
        calls = [worker.status.remote() for worker in self.workers]
        ready = set(ray.wait(calls, num_returns=len(calls), timeout=timeout)[0])
        return [_status_of(call) if call in ready else None for call in calls]

    def _load_call(self, number: int) -> Any:
        return self.workers[number].load.remote(self.plan, self.trees[number], self.folder, self.moment)

    def apply(self, step: Step, meanwhile: Callable[[], None]) -> list[Any]:
        """Let all workers carry out a change; what it took each of them, as far as that is known."""
        self.coming_moment = step.after
        try:
            return self.all("apply", step, meanwhile=meanwhile)
        finally:
            self.coming_moment = None

    @contextmanager
    def helpers(self) -> Iterator[Helpers]:
        """Processes beside the workers, as many as these, that end with the work and take what they have read along."""
        kind: Any = ray.remote(Helper)
        options = {"num_cpus": 0, "scheduling_strategy": "SPREAD", "max_restarts": -1}
        helpers = [kind.options(**options).remote() for _ in self.workers]
        try:
            yield Helpers(helpers, self.patience, self.stop)
        finally:
            for helper in helpers:
                ray.kill(helper)

    def all(self, method: str, *arguments: Any, meanwhile: Callable[[], None] | None = None) -> list[Any]:
        """Call a method of all workers at once; the answers in their order. Workers that fail are brought back."""
        calls = [getattr(worker, method).remote(*arguments) for worker in self.workers]
        if meanwhile is not None:
            meanwhile()
        return [self._answer(number, call, method, arguments) for number, call in enumerate(calls)]

    def ask(self, name: str, *arguments: Any) -> list[Any]:
        """What the shards of all workers answer."""
        return self.all("ask", self.moment, name, *arguments)

    def ask_one(self, tree: int, name: str, *arguments: Any) -> Any:
        """What the shard with this tree answers; the last argument is the number of the tree there."""
        number = next(i for i, (first, end) in enumerate(self.trees) if first <= tree < end)
        given = self.moment, name, *arguments, tree - self.trees[number][0]
        return self._answer(number, self.workers[number].ask.remote(*given), "ask", given)

    def _answer(self, number: int, call: Any, method: str, arguments: Sequence[Any]) -> Any:
        end = time.monotonic() + self.patience
        while True:
            try:
                return answer_of(call)
            except (RayActorError, OutOfStepError) as error:
                if time.monotonic() > end:
                    raise WorkerLostError(f"Worker {number} does not come back: {error}") from None
                self._bring_back(number)
            call = getattr(self.workers[number], method).remote(*arguments)

    def _bring_back(self, number: int) -> None:
        """Let a worker that was started anew grow its trees again, and compare them with those that it had."""
        end = time.monotonic() + self.patience
        with self._healing:
            while True:
                try:
                    status = answer_of(self.workers[number].status.remote(), timeout=self.patience)
                    if status["moment"] in (self.moment, self.coming_moment or self.moment):
                        return
                    answer_of(self._load_call(number))
                    self._require_former_trees(number)
                    break
                except (RayActorError, GetTimeoutError) as error:
                    if time.monotonic() > end:
                        raise WorkerLostError(
                            f"Worker {number} does not come back within {self.patience:g} seconds; has the cluster "
                            f"room for it? {error}"
                        ) from None
                    time.sleep(SECONDS_BETWEEN_LOOKS)
            self.n_recoveries[number] += 1

    def _require_former_trees(self, number: int) -> None:
        """Compare a worker that has begun again with what it was, if that is known."""
        moment, former = self.digests.get(number, (None, ""))
        if moment != self.moment:
            return
        digest = answer_of(self.workers[number].digest.remote(moment))
        if digest != former:
            raise WorkerLostError(
                f"Worker {number} has other trees than before it failed: {digest} instead of {former}. Please report "
                "this."
            )

    def heal(self) -> None:
        """Bring back all workers that have failed."""
        for number in range(len(self.workers)):
            self._bring_back(number)

    def note_digests(self) -> None:
        """Remember what the shards are now, to be compared with if a worker fails."""
        for number, worker in enumerate(self.workers):
            moment = self.moment
            if self.digests.get(number, (None, ""))[0] != moment:
                self.digests[number] = moment, answer_of(worker.digest.remote(moment))
