"""What a model file holds, read with suspicion and without scikit-learn: enough to describe a model, or to go on."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._class_weights import ClassWeights, integers_of
from ._columns import CATEGORIES, Columns, columns_from
from ._container import read_container, read_json, section
from ._row_names import NO_NAMES, RowNames
from ._state import FROZEN, class_weights_from, entry, feature_names, labels_from, model_kind, params_from, require_kind
from ._validation import class_keys, n_threads
from .errors import CorruptModelError, shown

FREE_MEMORY = 256 * 2**20
FREE_MEMORY_PER_BYTE = 64
LEAF = 0  # the kind of a node, as the core has it
FOREST_ENTRIES = {"kind", "arguments", "params", "classes", "class_weight", "n_features_in", "feature_names_in"}
FROZEN_ENTRIES = {"kind", "classes", "n_features_in", "feature_names_in"}

Sections = Mapping[str, memoryview]


@dataclass(frozen=True)
class StoredForest:
    """A forest with its rows."""

    core: _core.Forest
    params: _core.Params
    classes: NDArray[Any]
    class_weights: ClassWeights | None
    columns: Columns
    column_names: NDArray[Any] | None
    names: RowNames

    @classmethod
    def from_sections(
        cls,
        meta: Mapping[str, Any],
        sections: Sections,
        n_jobs: int | None,
        max_memory: float,
        tuning: Mapping[str, float],
    ) -> Self:
        """What the sections of a file hold, if it takes no more memory than this."""
        if unknown := set(meta) - FOREST_ENTRIES:
            raise CorruptModelError(f"its description has the unknown entries {shown(map(repr, sorted(unknown)))}")
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
        class_weights = class_weights_from(meta)
        core = empty_core(params, columns, classes, class_weights, tuning)
        try:
            core.restore(_as_array(rows), [_as_array(tree) for tree in trees], n_threads(n_jobs), None)
        except (_core.CorruptData, _core.InvalidArgument) as error:
            raise CorruptModelError(str(error)) from None
        names = read_json(sections["names"]) if "names" in sections else NO_NAMES
        row_names = RowNames.from_state(names, core.ids().tolist())
        return cls(core, params, classes, class_weights, columns, _column_names(meta, n_features), row_names)


@dataclass(frozen=True)
class StoredFrozen:
    """A forest that only predicts."""

    core: _core.FrozenForest
    classes: NDArray[Any]
    columns: Columns
    column_names: NDArray[Any] | None

    @classmethod
    def from_sections(cls, meta: Mapping[str, Any], sections: Sections) -> Self:
        """What the sections of a file hold."""
        require_kind(meta, FROZEN)
        if set(meta) != FROZEN_ENTRIES or set(sections) - {CATEGORIES} != {"meta", "frozen"}:
            raise CorruptModelError("it does not have the entries and sections of a frozen forest, and no others")
        classes = labels_from(entry(meta, "classes", dict))
        n_features = entry(meta, "n_features_in", int)
        if not 1 <= n_features <= len(sections["frozen"]) + len(sections["meta"]):
            raise CorruptModelError(f"it cannot have {n_features} columns")
        columns = columns_from(sections, n_features)
        try:
            core = _core.FrozenForest.from_bytes(_as_array(sections["frozen"]), columns.n_categories)
        except _core.CorruptData as error:
            raise CorruptModelError(str(error)) from None
        if core.n_classes != len(classes) or not (classes[:-1] < classes[1:]).all():
            raise CorruptModelError(f"its labels are not {core.n_classes} in ascending order")
        return cls(core, classes, columns, _column_names(meta, n_features))


def read_stored(data: memoryview) -> tuple[StoredForest | StoredFrozen, dict[str, Any]]:
    """What the bytes of a file hold, and its description."""
    sections = read_container(data)
    meta = read_json(section(sections, "meta"))
    if model_kind(meta) == FROZEN:
        return StoredFrozen.from_sections(meta, sections), meta
    return StoredForest.from_sections(meta, sections, 1, default_max_memory(sections), {}), meta


def default_max_memory(sections: Sections) -> float:
    """How much memory a file may take, unless its user says so."""
    return FREE_MEMORY + FREE_MEMORY_PER_BYTE * sum(map(len, sections.values()))


def empty_core(
    params: _core.Params,
    columns: Columns,
    classes: NDArray[Any],
    weights: ClassWeights | None,
    tuning: Mapping[str, float],
) -> _core.Forest:
    """A forest without rows."""
    sizes = _core.Tuning()
    for name, value in tuning.items():
        setattr(sizes, name, value)
    return _core.Forest(params, sizes, columns.n_categories, class_keys(classes), integers_of(weights, classes))


def depth_and_leaves(core: _core.Forest) -> tuple[int, int]:
    """The depth of the deepest tree, and the number of leaves of all trees."""
    depth = n_leaves = 0
    for tree in range(core.n_trees):
        arrays = core.tree_arrays(tree)
        depth = max(depth, int(arrays.depth.max()))
        n_leaves += int((arrays.kind == LEAF).sum())
    return depth, n_leaves


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


def _column_names(meta: Mapping[str, Any], n_features: int) -> NDArray[Any] | None:
    if "feature_names_in" not in meta:
        raise CorruptModelError("its description has no 'feature_names_in'")
    names = meta["feature_names_in"]
    return None if names is None else feature_names(names, n_features)


def _as_array(data: memoryview) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
