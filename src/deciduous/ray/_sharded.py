"""The estimator that the coordinator holds: the usual one, over a core whose trees are with workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._batch import Batch
from .._class_weights import integers_of
from .._columns import Columns, columns_section
from .._container import Section, json_section
from .._forest import DareForest
from .._row_names import RowNames
from .._state import params_state
from .._stored import Description
from .._validation import extended_classes
from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from ._row_store import Change, RowStore
from ._sharded_core import Arriving, Fill, ShardedCore
from ._team import Team
from ._worker import Plan


class Sharded(DareForest):
    """A forest whose core is a team."""

    _forest: Any  # a ShardedCore
    _team: Team
    _store: RowStore
    _requests: list[str]  # names of those that the next change carries out
    _fill: Fill | None = None  # brings the rows of a fit into the store

    def attach(self, team: Team, store: RowStore) -> None:
        """Say where trees and rows are."""
        self._team, self._store, self._requests = team, store, []

    def _plan(self, params: _core.Params, columns: Columns) -> Plan:
        weights = integers_of(self._class_weights, self._classes)
        return Plan(
            params_state(params), columns.n_categories, self._classes, weights, self._target_scale, self._tuning
        )

    def _empty_core(self, params: _core.Params, columns: Columns) -> Any:
        core = ShardedCore(self._team, self._store, self._plan(params, columns))
        core.expect(self._arriving)
        return core

    def _train(self, columns: Columns, batch: Batch, names: RowNames) -> None:
        self._arriving = self._what_comes(batch)
        super()._train(columns, batch, names)

    def fit_filled(self, columns: Columns, batch: Batch, fill: Fill, *, has_names: bool) -> None:
        """Train on rows from elsewhere, whose columns are known, with targets like those of a batch."""
        self._fill = fill
        self._learn_targets(batch, None)
        self._train(columns, batch, RowNames())
        if has_names:
            self._names, self._n_counted = self._names_in_store(), None
        self._fill = None

    def _update(self, what: str, leaving: NDArray[np.int64], batch: Batch) -> Any:
        self._forest.expect(self._what_comes(batch))
        return super()._update(what, leaving, batch)

    def _what_comes(self, batch: Batch) -> Arriving:
        return Arriving(lambda: self._classes, batch.names, batch.subjects, self._requests, self._fill)

    def _names_in_store(self) -> RowNames:
        names = RowNames()
        for rows in self._store.all_rows():
            if rows.names:
                names.kind = "s" if isinstance(rows.names[0], str) else "u"
            names.learn(rows.ids, rows.names, rows.subjects)
        return names

    def present_classes(self) -> bytes:
        """Which classes have rows."""
        present: bytes = (self._forest.class_totals() > 0).tobytes()
        return present

    @contextmanager
    def for_requests(self, requests: list[str]) -> Iterator[None]:
        """Changes within carry these requests out."""
        self._requests = requests
        try:
            yield
        finally:
            self._requests = []

    def description(self) -> dict[str, Section]:
        """What the store keeps of the forest beside its rows."""
        sections: dict[str, Section] = {"meta": json_section(self._meta())}
        return sections | columns_section(self._columns)

    def save_folder(self, path: str, request: str) -> None:
        """Copy what the store has to a folder that is not there yet: all of it, or nothing."""
        with self._team.helpers() as helpers:
            self._store.copy_to(path, self.fingerprint(), request, helpers.spread)

    def resume(self, its: Description, arguments: dict[str, Any], change: Change | None) -> None:
        """Go on with the forest in the store, after completing a change that was begun."""
        self._describe(its, arguments)
        if change is not None:
            if change.coming.labels is not None and len(change.coming):
                self._classes = extended_classes(self._classes, change.coming.labels)[0]
            self._store.finish()
        self._arriving = Arriving(lambda: self._classes)
        self._forest = self._empty_core(its.params, its.columns)
        self._forest.resume()
        self._names = self._names_in_store()


class ShardedClassifier(Sharded, DareForestClassifier):
    """A classifier over a team."""


class ShardedRegressor(Sharded, DareForestRegressor):
    """A regressor over a team."""


KINDS: dict[str, type[Sharded]] = {"classification": ShardedClassifier, "regression": ShardedRegressor}
