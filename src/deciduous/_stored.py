"""What a model file holds, read with suspicion and without scikit-learn: enough to describe a model, or to go on."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._class_weights import ClassWeights, integers_of
from ._columns import CATEGORIES, Columns, columns_from
from ._container import read_container, read_json, section
from ._row_names import NO_NAMES, RowNames
from ._state import (
    FROZEN,
    class_weights_from,
    entry,
    feature_names,
    labels_from,
    model_kind,
    params_from,
    require_kind,
    require_known,
    target_scale_from,
    task_in,
    weight_unit_from,
)
from ._targets import CLASSIFICATION, ONLY_CLASS, REGRESSION, TargetScale
from ._validation import CRITERIA_OF_CLASSES, CRITERIA_OF_TARGETS, class_keys, n_threads
from .errors import CorruptModelError

FREE_MEMORY = 256 * 2**20
FREE_MEMORY_PER_BYTE = 64
LEAF = 0  # the kind of a node, as the core has it
FOREST_ENTRIES = {"kind", "arguments", "params", "n_features_in", "feature_names_in", "weight_unit"}
FROZEN_ENTRIES = {"kind", "n_features_in", "feature_names_in"}

Sections = Mapping[str, memoryview]


@dataclass(frozen=True)
class StoredClasses:
    """The labels of a classifier, and their weights."""

    entries: ClassVar[set[str]] = {"classes", "class_weight"}
    frozen_entries: ClassVar[set[str]] = {"classes"}
    task: ClassVar[str] = CLASSIFICATION
    criteria: ClassVar[tuple[str, ...]] = CRITERIA_OF_CLASSES
    scale: ClassVar[None] = None

    classes: NDArray[Any]
    class_weights: ClassWeights | None

    def told(self) -> dict[str, Any]:
        """For those who ask what is in a file."""
        return {"classes": self.classes.tolist()}


@dataclass(frozen=True)
class StoredNumbers:
    """The scale of the targets of a regressor."""

    entries: ClassVar[set[str]] = {"targets"}
    frozen_entries: ClassVar[set[str]] = entries
    task: ClassVar[str] = REGRESSION
    criteria: ClassVar[tuple[str, ...]] = CRITERIA_OF_TARGETS
    classes: ClassVar[NDArray[Any]] = ONLY_CLASS
    class_weights: ClassVar[None] = None

    scale: TargetScale

    def told(self) -> dict[str, Any]:
        """For those who ask what is in a file."""
        return {"target_range": list(self.scale.limits)}


def _targets_in(meta: Mapping[str, Any]) -> StoredClasses | StoredNumbers:
    """What a description says of the targets. That of a frozen forest has no weights of classes."""
    if task_in(meta) == REGRESSION:
        return StoredNumbers(target_scale_from(meta))
    weights = None if model_kind(meta) == FROZEN else class_weights_from(meta)
    return StoredClasses(labels_from(entry(meta, "classes", dict)), weights)


@dataclass(frozen=True)
class Description:
    """What a forest is beside its rows and trees."""

    params: _core.Params
    targets: StoredClasses | StoredNumbers
    columns: Columns
    column_names: NDArray[Any] | None
    weight_unit: float

    @classmethod
    def described(cls, meta: Mapping[str, Any], sections: Sections, most_features: float) -> Description:
        """What these sections of a file say."""
        targets = _targets_in(meta)
        require_known(meta, FOREST_ENTRIES | targets.entries)
        params = params_from(entry(meta, "params", dict))
        if params.criterion.name not in targets.criteria:
            raise CorruptModelError(f"its criterion {params.criterion.name!r} does not fit its targets")
        if targets.task == REGRESSION and params.stability > 0:
            raise CorruptModelError(f"its stability is {params.stability}, which a regressor does not have")
        n_features = entry(meta, "n_features_in", int)
        if not 1 <= n_features <= most_features:
            raise CorruptModelError(f"it cannot have {n_features} columns in {most_features:.0f} bytes of rows")
        columns = columns_from(sections, n_features)
        return Description(params, targets, columns, _column_names(meta, n_features), weight_unit_from(meta))


@dataclass(frozen=True)
class StoredForest(Description):
    """A forest with its rows."""

    core: _core.Forest
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
        rows = section(sections, "rows")
        its = cls.described(meta, sections, len(rows))
        params, targets, columns = its.params, its.targets, its.columns
        n_trees = len(sections.keys() - {"meta", "rows", "names", CATEGORIES})
        if params.n_trees != n_trees:
            raise CorruptModelError(f"it has {n_trees} trees instead of {params.n_trees}")
        trees = [section(sections, f"tree{tree:08}") for tree in range(params.n_trees)]
        needed = memory_needed(params, columns, len(targets.classes), rows, trees)
        if needed > max_memory:
            raise CorruptModelError(
                f"it would take about {needed:,} bytes of memory, more than {max_memory:,.0f}; "
                "if it is to be trusted, raise `max_memory`"
            )
        core = empty_core(params, columns, targets.classes, targets.class_weights, tuning, targets.scale)
        try:
            core.restore(_as_array(rows), [_as_array(tree) for tree in trees], n_threads(n_jobs), None)
        except (_core.CorruptData, _core.InvalidArgument) as error:
            raise CorruptModelError(str(error)) from None
        names = read_json(sections["names"]) if "names" in sections else NO_NAMES
        row_names = RowNames.from_state(names, core.ids().tolist())
        return cls(params, targets, columns, its.column_names, its.weight_unit, core, row_names)


@dataclass(frozen=True)
class StoredFrozen:
    """A forest that only predicts."""

    core: _core.FrozenForest
    targets: StoredClasses | StoredNumbers
    columns: Columns
    column_names: NDArray[Any] | None

    @classmethod
    def from_sections(cls, meta: Mapping[str, Any], sections: Sections) -> Self:
        """What the sections of a file hold."""
        require_kind(meta, FROZEN)
        targets = _targets_in(meta)
        entries = FROZEN_ENTRIES | targets.frozen_entries
        if set(meta) != entries or set(sections) - {CATEGORIES} != {"meta", "frozen"}:
            raise CorruptModelError("it does not have the entries and sections of a frozen forest, and no others")
        n_features = entry(meta, "n_features_in", int)
        if not 1 <= n_features <= len(sections["frozen"]) + len(sections["meta"]):
            raise CorruptModelError(f"it cannot have {n_features} columns")
        columns = columns_from(sections, n_features)
        try:
            core = _core.FrozenForest.from_bytes(
                _as_array(sections["frozen"]), columns.n_categories, targets.task == REGRESSION
            )
        except _core.CorruptData as error:
            raise CorruptModelError(str(error)) from None
        classes = targets.classes
        if core.n_classes != len(classes) or not (classes[:-1] < classes[1:]).all():
            raise CorruptModelError(f"its labels are not {core.n_classes} in ascending order")
        return cls(core, targets, columns, _column_names(meta, n_features))


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
    target_scale: TargetScale | None,
) -> _core.Forest:
    """A forest without rows."""
    sizes = _core.Tuning()
    for name, value in tuning.items():
        setattr(sizes, name, value)
    weights_of_classes = integers_of(weights, classes)
    return _core.Forest(params, sizes, columns.n_categories, class_keys(classes), weights_of_classes, target_scale)


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
