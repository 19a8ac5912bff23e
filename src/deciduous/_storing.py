"""What makes a forest storable: files, bytes, pickles and copies, all through the same bytes."""

from __future__ import annotations

import math
import os
import struct
import threading
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._columns import CATEGORIES, Columns, columns_from, columns_section
from ._container import container, json_section, read_container, read_json, section, write_atomically
from ._row_names import RowNames
from ._state import (
    FOREST,
    arguments_from,
    arguments_state,
    entry,
    feature_names,
    labels_from,
    labels_state,
    pairs_from,
    pairs_state,
    params_from,
    params_state,
    require_kind,
)
from ._validation import class_keys, integer_class_weights, n_threads
from .errors import CorruptModelError, EmptyForestError
from .frozen import FrozenForestClassifier, frozen_from

FREE_MEMORY = 256 * 2**20
FREE_MEMORY_PER_BYTE = 64


class StorableForest(BaseEstimator):  # type: ignore[misc]
    """The part of a forest that turns it into bytes and back."""

    # Sizes that trade memory for time and never change a forest; see Tuning in the core. Tests vary them.
    _tuning: ClassVar[dict[str, float]] = {}

    _forest: _core.Forest
    _columns: Columns
    _params: _core.Params
    _lock: threading.RLock
    _first_fresh_id: int
    _names: RowNames
    classes_: NDArray[Any]
    class_weight_: dict[Any, float] | None
    n_features_in_: int

    def freeze(self) -> FrozenForestClassifier:
        """A forest that predicts the same and nothing else: it holds no training row, no id, no count and no seed.

        Its `classes_` are those that have rows, ascending. It does not change any more, whatever is deleted here.
        """
        check_is_fitted(self)
        names = self.feature_names_in_ if hasattr(self, "feature_names_in_") else None
        with self._lock:
            try:
                return frozen_from(self._forest, self.classes_, self._columns, names, self.n_jobs)
            except _core.EmptyForest:
                raise EmptyForestError from None

    def save(self, path: str | os.PathLike[str], *, frozen: bool = False) -> None:
        """Write the forest with its rows to one file, which `deciduous.load` reads; or without them if `frozen`.

        The file is written aside, made sure to be on the disk, and then takes the place of an old one: whatever happens
        on the way, there is the old file or the new one.
        """
        check_is_fitted(self)
        if frozen:
            self.freeze().save(path)
            return
        write_atomically(path, container(self._sections()))

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        check_is_fitted(self)
        return b"".join(container(self._sections()))

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, n_jobs: int | None = None, max_memory: float | None = None
    ) -> Self:
        """The forest that `to_bytes` gave these bytes. Anything else is a `CorruptModelError`.

        A forest can be much larger than its file. One that would take more than `max_memory` bytes, by default 256 MiB
        and 64 times the size of the file, is refused.
        """
        sections = read_container(memoryview(data).cast("B"))
        return cls._from_sections(read_json(section(sections, "meta")), sections, n_jobs, max_memory)

    @classmethod
    def _from_sections(
        cls, meta: dict[str, Any], sections: dict[str, memoryview], n_jobs: int | None, max_memory: float | None
    ) -> Self:
        require_kind(meta, FOREST)
        forest = cls(**arguments_from(entry(meta, "arguments", dict), set(cls().get_params())))
        n_bytes = sum(map(len, sections.values()))
        limit = FREE_MEMORY + FREE_MEMORY_PER_BYTE * n_bytes if max_memory is None else max_memory
        forest._restore(meta, sections, n_jobs, limit)
        return forest

    def _sections(self) -> dict[str, bytes]:
        """The forest as named sections of bytes."""
        with self._lock:
            names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
            meta = {
                "kind": FOREST,
                "arguments": arguments_state(self.get_params()),
                "params": params_state(self._params),
                "classes": labels_state(self.classes_),
                "class_weight": pairs_state(self.class_weight_),
                "n_features_in": self.n_features_in_,
                "feature_names_in": names,
                "first_fresh_id": self._first_fresh_id,
            }
            n_trees = self._forest.n_trees
            trees = {f"tree{tree:08}": self._forest.tree_as_bytes(tree) for tree in range(n_trees)}
            sections = {"meta": json_section(meta), "rows": self._forest.rows_as_bytes()}
            if self._names.kind is not None or self._names.subjects:
                sections["names"] = json_section(self._names.state(self._forest.ids().tolist()))
            return sections | columns_section(self._columns) | trees

    def _restore(
        self, meta: dict[str, Any], sections: dict[str, memoryview], n_jobs: int | None, max_memory: float
    ) -> None:
        """Take over what `_sections` wrote."""
        params = params_from(entry(meta, "params", dict))
        classes = labels_from(entry(meta, "classes", dict))
        n_features = entry(meta, "n_features_in", int)
        rows = section(sections, "rows")
        if not 1 <= n_features <= len(rows):
            raise CorruptModelError(f"it cannot have {n_features} columns in {len(rows)} bytes of rows")
        columns = columns_from(sections, n_features)
        n_trees = len(sections.keys() - {"meta", "rows", "names", CATEGORIES})
        if params.n_trees != n_trees:
            raise CorruptModelError(f"it has {n_trees} trees instead of {params.n_trees}")
        trees = [section(sections, f"tree{tree:08}") for tree in range(params.n_trees)]
        needed = memory_needed(params, columns, len(classes), rows, trees)
        if needed > max_memory:
            raise CorruptModelError(
                f"it would take about {needed:,} bytes of memory, more than {max_memory:,.0f}; "
                "if it is to be trusted, raise `max_memory`"
            )
        self.class_weight_ = pairs_from(meta, "class_weight")
        self.classes_ = classes
        forest = self._empty_core(params, columns, classes, integer_class_weights(self.class_weight_, self.classes_))
        try:
            forest.restore(_as_array(rows), [_as_array(tree) for tree in trees], n_threads(n_jobs), None)
        except (_core.CorruptData, _core.InvalidArgument) as error:
            raise CorruptModelError(str(error)) from None
        names = read_json(sections["names"]) if "names" in sections else {}
        self._names = RowNames.from_state(names, forest.ids().tolist())
        self._forest = forest
        self._columns = columns
        self._params = params
        self._lock = threading.RLock()
        self._first_fresh_id = self._checked_fresh_id(entry(meta, "first_fresh_id", int))
        self.n_features_in_ = n_features
        self.seed_ = params.seed
        if "feature_names_in" not in meta:
            raise CorruptModelError("its description has no 'feature_names_in'")
        feature_names_in = meta["feature_names_in"]
        if feature_names_in is not None:
            self.feature_names_in_ = feature_names(feature_names_in, n_features)

    def _checked_fresh_id(self, fresh: int) -> int:
        """The first id for new rows, which must be beyond those of all rows that are there."""
        least = 0 if self._names.kind is not None else max(0, int(self._forest.ids().max(initial=-1)) + 1)
        if not least <= fresh <= 2**63:
            raise CorruptModelError(f"its 'first_fresh_id' is {fresh}, outside of [{least}, {2**63}]")
        return fresh

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_forest" not in state:
            return state
        core = {"_forest", "_columns", "_params", "_lock", "_names"}
        return {name: value for name, value in state.items() if name not in core} | {"_model": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None) if "_model" in state else None
        super().__setstate__(state)
        if model is not None:
            sections = read_container(memoryview(model))
            self._restore(read_json(section(sections, "meta")), sections, None, math.inf)

    def _empty_core(
        self, params: _core.Params, columns: Columns, classes: NDArray[Any], weights: NDArray[np.uint32] | None
    ) -> _core.Forest:
        tuning = _core.Tuning()
        for name, value in self._tuning.items():
            setattr(tuning, name, value)
        return _core.Forest(params, tuning, columns.n_categories, class_keys(classes), weights)


def memory_needed(
    params: _core.Params, columns: Columns, n_classes: int, rows: memoryview, trees: list[memoryview]
) -> int:
    """About how many bytes a forest takes that a file with these sections describes, before anything is made of it."""
    if len(rows) < 8 or any(len(tree) < 8 for tree in trees):
        raise CorruptModelError("a section is too short to begin")
    # What a section claims beyond its own size is found out when it is read.
    n_rows = min(int(struct.unpack_from("<Q", rows)[0]), len(rows) // 8)
    if len(columns) * (1 + n_rows) > len(rows):
        raise CorruptModelError(f"it is too short for {n_rows} rows of {len(columns)} columns")
    headers = [struct.unpack_from("<II", tree) for tree in trees]
    n_leaves = sum(
        min(max(1, n_nodes - n_splits), len(tree)) for (n_nodes, n_splits), tree in zip(headers, trees, strict=True)
    )
    row_lists: int = 4 * n_rows * params.trees_per_row
    leaf_counts: int = 4 * n_leaves * (n_classes + 4)
    return row_lists + leaf_counts + 200 * columns.n_attributes + 500 * len(trees) + 8 * len(rows)


def _as_array(data: memoryview) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
