"""A worker: some trees of a forest, in a process of its own, with the rows that they need."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from .. import _core
from .._state import params_from
from .._targets import TargetScale
from .._validation import class_keys
from ._memory import limited_memory, own_memory
from ._row_store import RowStore
from ._rows import RowFormat, Rows
from .errors import CancelledError, OutOfStepError

TREE_ARRAYS = ("kind", "depth", "attribute", "threshold", "right", "counts", "ids", "n_ids", "means", "errors")
LATENCIES_KEPT = 100
NO_TREES = (0, 0)


@dataclass(frozen=True)
class Moment:
    """Which state a forest is in: of which fit, after how many changes."""

    generation: str
    epoch: int


@dataclass(frozen=True)
class Plan:
    """What all workers know of a forest."""

    params: dict[str, Any]
    n_categories: NDArray[np.uint32]
    classes: NDArray[Any]  # in the order of their numbers
    class_weights: NDArray[np.uint32] | None
    scale: TargetScale | None
    tuning: dict[str, float] = field(default_factory=dict)

    def core(self, trees: tuple[int, int]) -> _core.Forest:
        """A shard without rows."""
        sizes = _core.Tuning()
        for name, value in self.tuning.items():
            setattr(sizes, name, value)
        keys = class_keys(self.classes)
        params = params_from(self.params)
        return _core.Forest(params, sizes, self.n_categories, keys, self.class_weights, self.scale, trees)

    @property
    def row_format(self) -> RowFormat:
        """How the rows are kept in files."""
        return RowFormat(len(self.n_categories), self.scale)


@dataclass(frozen=True)
class Step:
    """A change as workers carry it out. The rows that come are written down in the store."""

    before: Moment
    after: Moment
    digest: bytes  # tells this change from any other one
    leaving: NDArray[np.int64]
    folder: str
    row_format: RowFormat
    classes: NDArray[Any]  # with those that the rows bring
    class_keys: NDArray[np.uint8]  # none if no rows come
    class_weights: NDArray[np.uint32] | None
    lazy: bool

    def coming(self) -> Rows:
        """The rows that come."""
        return RowStore(self.folder).coming(self.row_format) if len(self.class_keys) else self.row_format.none()


@dataclass(frozen=True)
class Cost:
    """What a change took, as the core tells it."""

    nodes_rebuilt: list[int]
    rows_retrained: list[int]
    n_rows_regrown: int

    @classmethod
    def of(cls, cost: Any) -> Cost:
        """The same as plain values."""
        return cls(list(cost.nodes_rebuilt), list(cost.rows_retrained), cost.n_rows_regrown)


class Worker:
    """Holds a shard; does what the coordinator says, and predicts for everybody.

    Whatever is asked twice is done once: each change says which state it begins in and which one it leads to.
    """

    def __init__(self, number: int, n_threads: int, memory: int | None) -> None:
        self.number, self.n_threads = number, n_threads
        self._memory = memory
        self._peak_memory = 0
        self._core: _core.Forest | None = None
        self._moment: Moment | None = None
        self._trees = NO_TREES
        self._keys = class_keys([])
        self._loading: Moment | None = None
        self._cancelled: Moment | None = None
        self._last: tuple[bytes, Cost] | None = None
        self._lock = threading.Lock()  # of whoever changes the shard
        self._n_waiting = 0
        self._n_grown = 0
        self._latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)
        self._began = time.time()

    def load(self, plan: Plan, trees: tuple[int, int], folder: str, moment: Moment) -> None:
        """Read the rows from the store and grow these trees, unless that was done."""
        with self._lock, self._limited():
            keys = class_keys(plan.classes)
            if self._moment != moment or self._trees != trees or not np.array_equal(self._keys, keys):
                self._core = self._moment = self._last = None
                self._trees, self._keys, self._n_grown, self._loading = trees, keys, 0, moment
                store = RowStore(Path(folder)).at(moment.generation, plan.row_format)
                core = plan.core(trees)
                for rows in store.all_rows():
                    self._take(core, rows, plan.classes)
                core.grow(self.n_threads, self._note_grown)
                self._core, self._moment = core, moment

    def _limited(self) -> AbstractContextManager[None]:
        taken = 0 if self._core is None else sum(_memory(self._core, self.n_threads))
        return limited_memory(self._memory, taken)

    def _take(self, core: _core.Forest, rows: Rows, classes: NDArray[Any]) -> None:
        """Give a shard the rows that its trees need."""
        self._require_wanted()
        rows = _needed(core, rows)
        core.take_rows(rows.ids, rows.values, rows.codes(classes), rows.weights, self.n_threads, rows.targets)
        rows.wipe()

    def _note_grown(self, n_trees: int) -> None:
        self._n_grown = n_trees
        self._noted_memory()
        self._require_wanted()

    def _noted_memory(self) -> int:
        memory = own_memory()
        self._peak_memory = max(self._peak_memory, memory)
        return memory

    def _require_wanted(self) -> None:
        if self._loading is not None and self._loading == self._cancelled:
            raise CancelledError

    @ray.method(concurrency_group="status")
    def cancel(self, moment: Moment) -> None:
        """Do not grow trees for this state of the forest, now or later."""
        self._cancelled = moment

    def apply(self, step: Step) -> Cost | None:
        """Carry out a change, unless that was done; what it took."""
        self._n_waiting += 1
        begin = time.perf_counter()
        try:
            with self._lock, self._limited():
                return self._applied(step)
        finally:
            self._n_waiting -= 1
            self._latencies.append(time.perf_counter() - begin)

    def _applied(self, step: Step) -> Cost | None:
        if self._moment == step.after:
            if self._last is None:  # it began here, after a failure
                return None
            digest, cost = self._last
            if digest != step.digest:
                raise OutOfStepError(f"worker {self.number} has another change at {step.after}")
            return cost
        core = self._at(step.before)
        coming = _needed(core, step.coming())
        leaving = step.leaving[core.holds(step.leaving) > 0]
        # From here on, neither what was before nor what is after can be told until it is done.
        self._moment = None
        cost = Cost.of(
            core.update_rows(
                leaving,
                coming.ids,
                coming.values,
                coming.codes(step.classes),
                coming.weights,
                step.class_keys,
                step.class_weights,
                self.n_threads,
                step.lazy,
                None,
                coming.targets,
            )
        )
        if len(step.class_keys) > len(self._keys):
            self._keys = step.class_keys
        coming.wipe()
        self._moment, self._last = step.after, (step.digest, cost)
        return cost

    @ray.method(concurrency_group="reads")
    def add_predictions(
        self, moment: Moment, rows: NDArray[np.float32], before: tuple[NDArray[np.float64], int]
    ) -> tuple[NDArray[np.float64], int]:
        """Add what the trees predict to what trees of other workers did, in this state of the forest and no other."""
        core = self._at(moment)
        sums, n_trees = before[0].copy(), before[1]
        n_trees += core.add_predictions(rows, sums, self.n_threads)
        self._at(moment)
        return sums, n_trees

    @ray.method(concurrency_group="reads")
    def ask(self, moment: Moment, name: str, *arguments: Any) -> Any:
        """Call a method of the shard that changes nothing, in this state of the forest and no other."""
        core = self._at(moment)
        answer = ANSWERS[name](core, self.n_threads, *arguments)
        self._at(moment)
        return answer

    def digest(self, moment: Moment) -> str:
        """The shard's digest, in this state of the forest and no other."""
        with self._lock:
            trees: NDArray[np.uint8] = self._at(moment).tree_digests(self.n_threads)
            return hashlib.blake2b(trees.tobytes(), digest_size=16).hexdigest()

    def _at(self, moment: Moment) -> _core.Forest:
        if self._core is None or self._moment != moment:
            raise OutOfStepError(f"worker {self.number} is at {self._moment}, not at {moment}")
        return self._core

    @ray.method(concurrency_group="status")
    def status(self) -> dict[str, Any]:
        """How it is."""
        core = self._core
        latencies = sorted(self._latencies)
        return {
            "worker": self.number,
            "node": ray.get_runtime_context().get_node_id(),
            "pid": os.getpid(),
            "trees": self._trees[1] - self._trees[0],
            "trees_grown": self._n_grown,
            "rows": 0 if core is None else core.n_rows,
            "moment": self._moment,
            "memory": self._noted_memory(),
            "peak_memory": self._peak_memory,
            "queue": self._n_waiting,
            "last_latency": self._latencies[-1] if self._latencies else None,
            "median_latency": latencies[len(latencies) // 2] if latencies else None,
            "uptime": time.time() - self._began,
        }


def _needed(core: _core.Forest, rows: Rows) -> Rows:
    """The rows that trees of the shard belong to."""
    needs = core.needs(rows.ids) > 0
    return rows if needs.all() else rows.taken(needs)


def _tree_arrays(core: _core.Forest, _: int, tree: int) -> SimpleNamespace:
    arrays = core.tree_arrays(tree)
    return SimpleNamespace(**{name: getattr(arrays, name) for name in TREE_ARRAYS})


def _own(core: _core.Forest, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return ids[core.holds(ids) > 0]


def _deletion_costs(core: _core.Forest, n_threads: int, ids: NDArray[np.int64], lazy: bool) -> NDArray[np.int64]:
    held = core.holds(ids) > 0
    costs = np.zeros(len(ids), np.int64)
    costs[held] = core.deletion_costs(ids[held], n_threads, lazy)
    return costs


def _memory(core: _core.Forest, _: int) -> list[int]:
    use = core.memory()
    return [use.data, use.structure, use.decision_stats, use.leaf_stats]


# What may be asked of a shard; each takes the shard, how many threads it may use, and what else was given.
ANSWERS: dict[str, Callable[..., Any]] = {
    "ids": lambda core, _: core.ids(),
    "tree_digests": lambda core, n_threads: core.tree_digests(n_threads),
    "verify": lambda core, n_threads: core.verify(n_threads, None),
    "check": lambda core, n_threads: core.check(n_threads),
    "tree_arrays": _tree_arrays,
    "tree_as_bytes": lambda core, _, tree: core.tree_as_bytes(tree).tobytes(),
    "deletion_cost": lambda core, n_threads, ids, lazy: Cost.of(core.deletion_cost(_own(core, ids), n_threads, lazy)),
    "deletion_costs": _deletion_costs,
    "memory": _memory,
    "settle": lambda core, n_threads, budget: core.settle(budget, n_threads),
    "compact": lambda core, n_threads: core.compact(n_threads),
    "n_unbuilt": lambda core, _: core.n_unbuilt,
}


def moment_as_dict(moment: Moment | None) -> dict[str, Any] | None:
    """For those who print it."""
    return None if moment is None else asdict(moment)
