"""What makes a forest storable: files, bytes, pickles and copies, all through the same bytes."""

from __future__ import annotations

import math
import os
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import PendingUpdate
from ._class_weights import ClassWeights
from ._columns import Columns, columns_section
from ._container import Section, container, json_section, read_container, read_json, section, write_atomically
from ._row_names import RowNames
from ._state import (
    FOREST,
    arguments_from,
    choice_state,
    entry,
    params_state,
    present_state,
    require_kind,
    require_task,
    weight_unit_state,
)
from ._stored import Description, StoredForest, default_max_memory, empty_core
from ._targets import TargetScale
from ._validation import IN_OUR_WORDS, is_lazy, n_threads, non_negative_integer
from .errors import InvalidInputError
from .frozen import FrozenForestClassifier, FrozenForestRegressor

# What a pickle holds as the bytes of the forest, and nowhere else.
IN_BYTES = {"_forest", "_columns", "_params", "_lock", "_names", "_class_weights", "_arguments", "_n_counted"} | {
    "_pending",
    "_target_scale",
    "_weight_unit",
    "_classes",
    "seed_",
}


_LOCKS: WeakSet[Any] = WeakSet()


def fork_safe_lock() -> threading.RLock:
    """A lock that is free in a forked process, whoever holds it here: its holder is not there."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _free_locks() -> None:
    for lock in list(_LOCKS):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


class StorableForest(BaseEstimator):  # type: ignore[misc]
    """The part of a forest that turns it into bytes and back."""

    # Sizes that trade memory for time and never change a forest; see Tuning in the core. Tests vary them.
    _tuning: ClassVar[dict[str, float]] = {}
    _task: ClassVar[str]
    _frozen_kind: ClassVar[type[FrozenForestClassifier | FrozenForestRegressor]]

    _forest: _core.Forest
    _columns: Columns
    _params: _core.Params
    _lock: threading.RLock
    _names: RowNames
    _pending: PendingUpdate | None
    _class_weights: ClassWeights | None
    _arguments: dict[str, Any]  # parameters of the estimator that the forest was trained with, as plain values
    _n_counted: int | None  # how many rows were numbered; None unless all rows ever were, in this process
    _classes: NDArray[Any]  # labels, in the order in which the core knows them; a regressor has one
    _target_scale: TargetScale | None = None  # of a regressor
    _weight_unit: float  # what the weights of rows are multiples of
    n_features_in_: int

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Names, classes and rows are those of one moment within: updates by other threads wait."""
        if not hasattr(self, "_forest"):  # scikit-learn takes longer to see that than all else takes for a row
            check_is_fitted(self)
        with self._lock:
            self._settle()
            yield

    def _settle(self) -> None:
        """Let names and classes follow the core, or stay, according to what it did when it was asked last.

        Whatever interrupts this, Ctrl-C or the lack of memory, it is done again by the next call.
        """
        pending = self._pending
        if pending is None:
            return
        if self._forest.n_updates == pending.n_updates:
            self._classes = pending.classes
        else:
            coming = pending.coming
            self._n_counted = coming.n_counted
            self._names.change(pending.leaving, coming.ids, coming.names, coming.subjects)
        self._pending = None

    def rename_columns(self, names: Sequence[str], categories: Sequence[Sequence[Any] | None] | None = None) -> Self:
        """Rename the columns, and optionally their categories. Only the names change; the trees stay the same.

        Parameters
        ----------
        names : list of str
            A name for each column, in the order of the columns.
        categories : list, optional
            For each column, new names of its categories, in the order of `categories_` and as many as there; None for a
            numeric column. Default: the names stay.
        """
        with self._one_state():
            columns = self._columns if categories is None else self._columns.renamed(categories, names)
            if len(names) != len(columns) or len(set(names)) < len(names):
                raise InvalidInputError(f"Give {len(columns)} different names, one for each column.")
            choice = {
                name: its.listed() for name, its in zip(names, columns.categories, strict=True) if its is not None
            }
            self.categorical_features = choice or None
            # Or the file would name those of the fit.
            self._arguments = self._arguments | {"categorical_features": choice_state(self.categorical_features)}
            self.feature_names_in_ = np.array(names, dtype=object)
            self._columns = columns
            return self

    def freeze(self) -> FrozenForestClassifier | FrozenForestRegressor:
        """Return a forest that predicts the same, but holds no training rows, ids, counts or seed.

        The `classes_` of a classifier are then those that have rows, in ascending order. A frozen forest stays the same
        when rows are later deleted from the original forest.
        """
        check_is_fitted(self)
        names = self.feature_names_in_ if hasattr(self, "feature_names_in_") else None
        with self._one_state(), IN_OUR_WORDS:
            return self._frozen_kind._of_core(
                self._forest, self._columns, names, self._classes, self._target_scale, self.n_jobs
            )

    def save(self, path: str | os.PathLike[str], *, frozen: bool = False) -> None:
        """Save the forest with its rows to a file that `deciduous.load` reads. With `frozen`, leave out the rows.

        The file is written under a temporary name, flushed to disk, and then moved into place. So there is always
        either the old file or the complete new one. Classes without rows are left out. Parameters are saved as they
        were when the forest was trained.
        """
        check_is_fitted(self)
        if frozen:
            self.freeze().save(path)
            return
        write_atomically(path, self._pieces())

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` would write."""
        check_is_fitted(self)
        return b"".join(self._pieces())

    def _pieces(self) -> list[Section]:
        """The same bytes in pieces."""
        return container(self._sections())

    def _as_stored(self) -> Self:
        """The same forest, as its bytes tell it."""
        return self.from_bytes(self.to_bytes(), self.n_jobs, math.inf)

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, n_jobs: int | None = None, max_memory: float | None = None
    ) -> Self:
        """Restore a forest from the bytes that `to_bytes` returned.

        Any other bytes raise a `CorruptModelError`. A forest can be much larger than its file, so a forest that would
        take more than `max_memory` bytes is refused. Default: 256 MiB plus 64 times the size of the file.
        """
        sections = read_container(memoryview(data).cast("B"))
        return cls._from_sections(read_json(section(sections, "meta")), sections, n_jobs, max_memory)

    @classmethod
    def _from_sections(
        cls, meta: dict[str, Any], sections: dict[str, memoryview], n_jobs: int | None, max_memory: float | None
    ) -> Self:
        require_kind(meta, FOREST)
        require_task(meta, cls._task)
        forest = cls(**arguments_from(entry(meta, "arguments", dict), set(cls().get_params())))
        limit = default_max_memory(sections) if max_memory is None else max_memory
        forest._restore(meta, sections, n_jobs, limit)
        return forest

    def _sections(self) -> dict[str, Section]:
        """The forest as named sections of bytes."""
        with self._one_state():
            meta = self._meta()
            n_trees = self._forest.n_trees
            trees: dict[str, Section] = {
                f"tree{tree:08}": self._forest.tree_as_bytes(tree).data for tree in range(n_trees)
            }
            sections: dict[str, Section] = {
                "meta": json_section(meta),
                "rows": self._forest.rows_as_bytes().data,
            }
            if self._names.kind is not None or self._names.subjects:
                sections["names"] = json_section(self._names.state(self._forest.ids().tolist()))
            return sections | columns_section(self._columns) | trees

    def _meta(self) -> dict[str, Any]:
        """What the forest is beside its rows, categories and trees."""
        names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
        meta = {
            "kind": FOREST,
            "arguments": self._arguments_to_store(),
            "params": params_state(self._params),
            "n_features_in": self.n_features_in_,
            "feature_names_in": names,
        }
        return meta | self._targets_state() | weight_unit_state(self._weight_unit)

    @abstractmethod
    def _targets_state(self) -> dict[str, Any]:
        """What a file has of the targets."""

    def _arguments_to_store(self) -> dict[str, Any]:
        """What the forest was trained with; of what does not define it, what is set now."""
        n_threads(self.n_jobs), is_lazy(self.lazy), non_negative_integer("verbose", self.verbose)  # or raise
        return self._arguments | present_state(self.get_params())

    def _restore(
        self, meta: dict[str, Any], sections: dict[str, memoryview], n_jobs: int | None, max_memory: float
    ) -> None:
        """Take over what `_sections` wrote."""
        require_task(meta, self._task)
        stored = StoredForest.from_sections(meta, sections, n_jobs, max_memory, self._tuning)
        self._describe(stored, entry(meta, "arguments", dict))
        self._forest, self._names = stored.core, stored.names

    def _describe(self, its: Description, arguments: Mapping[str, Any]) -> None:
        """Take over what a forest is beside its rows and trees."""
        self._columns = its.columns
        self._params = its.params
        self._lock = fork_safe_lock()
        self._pending = None
        self._arguments = dict(arguments)
        self._n_counted = None
        self._classes, self._class_weights = its.targets.classes, its.targets.class_weights
        self._target_scale = its.targets.scale
        self._weight_unit = its.weight_unit
        self.n_features_in_ = len(its.columns)
        self.seed_ = its.params.seed
        if its.column_names is not None:
            self.feature_names_in_ = its.column_names

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_forest" not in state:
            return state
        return {name: value for name, value in state.items() if name not in IN_BYTES} | {"_model": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None) if "_model" in state else None
        super().__setstate__(state)
        if model is not None:
            sections = read_container(memoryview(model))
            self._restore(read_json(section(sections, "meta")), sections, None, math.inf)

    def _empty_core(self, params: _core.Params, columns: Columns) -> _core.Forest:
        return empty_core(params, columns, self._classes, self._class_weights, self._tuning, self._target_scale)
