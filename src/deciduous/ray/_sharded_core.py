"""Stands in for a forest of the core in an estimator: the trees are with workers, the rows in files.

The estimator checks, names and encodes as it always does; only what it asks of the core is asked of the workers here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._targets import ONLY_CLASS
from ..errors import InvalidInputError
from ._row_store import Change, RowStore
from ._rows import RowFormat, Rows, canonical
from ._team import Team
from ._worker import NO_TREES, Cost, Moment, Plan, Step


@dataclass
class Census:
    """How many rows there are, and how many of each class by weight."""

    n_rows: int = 0
    of_class: dict[Any, int] = field(default_factory=dict)

    def count(self, rows: Rows, sign: int = 1) -> None:
        """Count rows that are there, or those that leave."""
        self.n_rows += sign * len(rows)
        labels = ONLY_CLASS[np.zeros(len(rows), np.int64)] if rows.labels is None else rows.labels
        distinct, places = np.unique(labels, return_inverse=True)
        sums = np.bincount(places, weights=rows.weights, minlength=len(distinct))
        for label, n in zip(distinct.tolist(), sums.tolist(), strict=True):
            self.of_class[label] = self.of_class.get(label, 0) + sign * int(n)

    @classmethod
    def together(cls, parts: list[Census]) -> Census:
        """Of all parts."""
        whole = cls(sum(part.n_rows for part in parts))
        for part in parts:
            for label, n in part.of_class.items():
                whole.of_class[label] = whole.of_class.get(label, 0) + n
        return whole

    def totals(self, classes: NDArray[Any]) -> NDArray[np.int64]:
        """The rows of each of these classes."""
        return np.array([self.of_class.get(label, 0) for label in classes.tolist()], np.int64)


Fill = Callable[[RowStore, Plan], Census]  # brings the rows of a fit into the store


@dataclass
class Arriving:
    """What the core is not told of rows that come."""

    classes: Callable[[], NDArray[Any]]  # with those that the rows bring
    names: list[Any] | None = None
    subjects: list[Any] | None = None
    requests: list[str] = field(default_factory=list)
    fill: Fill | None = None  # brings the rows, instead of those that the core is given


class ShardedCore:
    """A forest whose trees are with the workers of a team."""

    def __init__(self, team: Team, store: RowStore, plan: Plan) -> None:
        self._team, self._store, self._plan = team, store, plan
        self._head = plan.core(NO_TREES)  # knows the classes, for the fingerprint
        self.n_trees: int = plan.params["n_trees"]
        self.n_updates = 0
        self._census = Census()
        self._arriving: Arriving | None = None

    def expect(self, arriving: Arriving) -> None:
        """Be told what the core is not told of rows that come next."""
        self._arriving = arriving

    # --------------------------------------------------------------------------------------------- fit and restart

    def fit(
        self,
        ids: NDArray[np.int64],
        values: NDArray[np.float32],
        codes: NDArray[np.uint32],
        weights: NDArray[np.uint32] | None,
        n_threads: int,  # noqa: ARG002
        report: Any,
        targets: NDArray[np.int64] | None,
    ) -> None:
        """Put these rows, or those of the files that are expected, into the store; let workers grow trees from them."""
        arriving = self._arriving
        assert arriving is not None
        if arriving.fill is not None:
            self._census = arriving.fill(self._store, self._plan)
        else:
            rows = self._rows(ids, values, codes, weights, targets)
            self._census.count(rows)
            self._store.start(len(rows), self._plan.row_format)
            for number, its in self._store.by_file(rows):
                self._store.write(number, its)
        self._team.load(self._plan, self._moment, report)

    def resume(self) -> None:
        """Count what is in the store, and let workers grow their trees from it, unless they have."""
        for rows in self._store.all_rows():
            self._census.count(rows)
        self._team.load(self._plan, self._moment)

    def go_on(self) -> None:
        """Let workers come back to the rows in the store."""
        self._team.load(self._plan, self._moment)

    def _rows(
        self,
        ids: NDArray[np.int64],
        values: NDArray[np.float32],
        codes: NDArray[np.uint32],
        weights: NDArray[np.uint32] | None,
        targets: NDArray[np.int64] | None,
    ) -> Rows:
        """Rows that arrive, with what the core is not told of them."""
        assert self._arriving is not None
        is_regressor = self._plan.scale is not None
        return Rows(
            ids,
            canonical(values),
            None if is_regressor else self._arriving.classes()[codes],
            np.ones(len(ids), np.uint32) if weights is None else weights,
            (np.empty(0, np.int64) if targets is None else targets) if is_regressor else None,
            self._arriving.names,
            self._arriving.subjects,
        )

    @property
    def n_rows(self) -> int:
        return self._census.n_rows

    @property
    def _moment(self) -> Moment:
        return Moment(self._store.generation, self._store.epoch)

    # ------------------------------------------------------------------------------------------------------- changes

    def update_rows(
        self,
        leaving: NDArray[np.int64],
        ids: NDArray[np.int64],
        values: NDArray[np.float32],
        codes: NDArray[np.uint32],
        weights: NDArray[np.uint32] | None,
        class_keys: NDArray[np.uint8],
        class_weights: NDArray[np.uint32] | None,
        n_threads: int,  # noqa: ARG002
        lazy: bool,
        report: Any,
        targets: NDArray[np.int64] | None,
    ) -> Cost:
        """Take rows out and others in: written down first, then with all workers, then in the files."""
        assert self._arriving is not None
        coming = self._rows(ids, values, codes, weights, targets)
        change = Change(leaving, coming, self._arriving.requests)
        after = Moment(self._moment.generation, self._moment.epoch + 1)
        classes = self._arriving.classes()
        step = Step(
            self._moment,
            after,
            change.digest,
            leaving,
            str(self._store.folder),
            self.row_format,
            classes,
            class_keys,
            class_weights,
            lazy,
        )
        self._store.begin(change)
        try:
            costs = self._team.apply(step, self._store.prepare)
        except BaseException:
            self._take_back()
            raise
        self._learn_classes(classes, class_keys, class_weights)
        self._store.finish(lambda left: self._census.count(left, -1))
        self._team.plan, self._team.moment = self._plan, after
        self._census.count(coming)
        self.n_updates += 1
        if report is not None:
            report(self.n_trees)
        return _sum_of(costs)

    def _take_back(self) -> None:
        """A worker cannot carry out a change: those that have done so go back to the rows in the store."""
        self._store.give_up()
        self.go_on()

    def _learn_classes(
        self, classes: NDArray[Any], keys: NDArray[np.uint8], weights: NDArray[np.uint32] | None
    ) -> None:
        if len(keys) <= len(self._plan.classes):
            return
        plan = self._plan
        self._plan = Plan(plan.params, plan.n_categories, classes, weights, plan.scale, plan.tuning)
        self._head = self._plan.core(NO_TREES)

    # -------------------------------------------------------------------------------------------------------- reading

    def fingerprint(self, n_threads: int) -> str:  # noqa: ARG002
        present = np.flatnonzero(self.class_totals()).astype(np.uint32)
        return self._head.fingerprint_of(self.n_rows, present, np.concatenate(self._team.ask("tree_digests")))

    def predict_out_of_bag(self, *_: Any) -> NDArray[np.float64]:
        raise InvalidInputError("Out-of-bag predictions take all rows and trees in one place: use `to_local()`.")

    def verify(self, n_threads: int, report: Any) -> str | None:  # noqa: ARG002
        found = [problem for problem in self._team.ask("verify") if problem is not None]
        return found[0] if found else None

    def check(self, n_threads: int) -> str | None:  # noqa: ARG002
        found = [problem for problem in self._team.ask("check") if problem is not None]
        return found[0] if found else None

    def holds(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        held = np.zeros(len(ids), np.uint8)
        for places, _ in self._store.found(ids):
            held[places] = 1
        return held

    def ids(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.unique(np.concatenate(self._team.ask("ids")))
        return found

    def rows(self, ids: NDArray[np.int64]) -> SimpleNamespace:
        """What the files know of rows, in this order."""
        values = np.empty((len(ids), len(self._plan.n_categories)), np.float32)
        labels, weights = np.empty(len(ids), np.uint32), np.empty(len(ids), np.uint32)
        targets = np.empty(0 if self._plan.scale is None else len(ids), np.int64)
        for places, rows in self._store.found(ids):
            values[places], weights[places] = rows.values, rows.weights
            labels[places] = rows.codes(self._plan.classes)
            if rows.targets is not None:
                targets[places] = rows.targets
        return SimpleNamespace(values=values.ravel(), labels=labels, weights=weights, targets=targets)

    def deletion_cost(self, ids: NDArray[np.int64], n_threads: int, lazy: bool) -> Cost:  # noqa: ARG002
        return _sum_of(self._team.ask("deletion_cost", ids, lazy))

    def deletion_costs(self, ids: NDArray[np.int64], n_threads: int, lazy: bool) -> NDArray[np.int64]:  # noqa: ARG002
        costs: NDArray[np.int64] = np.sum(self._team.ask("deletion_costs", ids, lazy), axis=0)
        return costs

    def tree_arrays(self, tree: int) -> Any:
        return self._team.ask_one(tree, "tree_arrays")

    def tree_as_bytes(self, tree: int) -> NDArray[np.uint8]:
        return np.frombuffer(self._team.ask_one(tree, "tree_as_bytes"), np.uint8)

    def rows_as_bytes(self) -> NDArray[np.uint8]:
        core = self._plan.core(NO_TREES)
        for rows in self._store.all_rows():
            core.take_rows(rows.ids, rows.values, rows.codes(self._plan.classes), rows.weights, 1, rows.targets)
        return core.rows_as_bytes()

    def class_totals(self) -> NDArray[np.int64]:
        return self._census.totals(self._plan.classes)

    def memory(self) -> SimpleNamespace:
        use = np.sum(self._team.ask("memory"), axis=0).tolist()
        return SimpleNamespace(data=use[0], structure=use[1], decision_stats=use[2], leaf_stats=use[3])

    def settle(self, budget: float, n_threads: int) -> int:  # noqa: ARG002
        return sum(self._team.ask("settle", budget))

    def compact(self, n_threads: int) -> None:  # noqa: ARG002
        self._team.ask("compact")

    @property
    def n_unbuilt(self) -> int:
        return sum(self._team.ask("n_unbuilt"))

    @property
    def n_classes(self) -> int:
        return len(self._plan.classes)

    @property
    def row_format(self) -> RowFormat:
        """How the rows are kept in files."""
        return self._plan.row_format


def _sum_of(costs: list[Cost | None]) -> Cost:
    """What a change took with all workers; of those that began anew meanwhile, nothing is known."""
    known = [cost for cost in costs if cost is not None]
    depth = max((len(cost.nodes_rebuilt) for cost in known), default=0)

    def total(name: str) -> list[int]:
        return [sum(its[i] for cost in known if i < len(its := getattr(cost, name))) for i in range(depth)]

    return Cost(total("nodes_rebuilt"), total("rows_retrained"), sum(cost.n_rows_regrown for cost in known))
