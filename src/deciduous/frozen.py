"""The forest that only predicts: no training row, id, count or seed is in it."""

from __future__ import annotations

import os
import struct
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._columns import Columns, columns_section, encoded
from ._container import Section, container, json_section, read_container, read_json, section, write_atomically
from ._predictor import ClassPredictor, KnowsColumns, NumberPredictor
from ._state import FROZEN, labels_state, require_task, target_scale_state
from ._stored import StoredFrozen
from ._targets import TargetScale
from ._validation import n_threads
from .errors import FrozenForestError
from .inspection import NO_NODE, TreeView
from .reports import FrozenMemoryUse

# What forests with rows of both kinds have and frozen ones cannot have, beside `fit`.
NEEDS_ROWS = frozenset(
    {
        "add",
        "apply",
        "check",
        "compact",
        "decision_path",
        "delete",
        "deletion_cost",
        "deletion_costs",
        "feature_importances_",
        "fingerprint",
        "freeze",
        "get_depth",
        "get_n_leaves",
        "id_type_",
        "ids_",
        "ids_of",
        "n_rows_",
        "oob_score_",
        "partial_fit",
        "rename_columns",
        "rows",
        "seed_",
        "settle",
        "subjects_",
        "tree_nodes",
        "tree_view",
        "update",
        "verify",
        "weight_unit_",
    }
)
CLASSES_NEED_ROWS = NEEDS_ROWS | {"class_counts_", "class_weight_", "oob_decision_function_"}
TARGETS_NEED_ROWS = NEEDS_ROWS | {"oob_prediction_", "predict_interval", "target_range_"}
NOT_MADE = (
    "This %(name)s holds no forest. Make one by `freeze()` of a fitted forest, or read one by `deciduous.load` or "
    "`from_bytes`."
)


class FrozenForest(KnowsColumns, BaseEstimator):  # type: ignore[misc]
    """What frozen forests of all kinds of targets have in common."""

    _task: ClassVar[str]
    _needs_rows: ClassVar[frozenset[str]]
    _frozen: _core.FrozenForest
    _columns: Columns
    n_features_in_: int

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @classmethod
    def _of_core(
        cls,
        forest: _core.Forest,
        columns: Columns,
        column_names: NDArray[Any] | None,
        classes: NDArray[Any],
        target_scale: TargetScale | None,
        n_jobs: int | None,
    ) -> Self:
        """The frozen form of a forest with rows. Canonical: which classes came first, or are gone, does not show in it.

        Of the categories it knows only those that a split asks for; the others are as good as unknown ones.
        """
        present = np.flatnonzero(forest.class_totals())
        order = present[np.argsort(classes[present])].astype(np.uint32)
        core = forest.freeze(order, n_threads(n_jobs))
        slim, kept = columns.only_used(core.used_attributes().astype(bool))
        core = core.with_attributes(slim.n_categories, kept)
        labels = classes[order]
        if labels.dtype.kind == "U":
            labels = np.array(labels.tolist())  # as wide as the longest that is left
        frozen = cls(n_jobs=n_jobs)
        frozen._take(core, slim, None if column_names is None else column_names.copy(), labels, target_scale)
        return frozen

    def _take(
        self,
        core: _core.FrozenForest,
        columns: Columns,
        column_names: NDArray[Any] | None,
        classes: NDArray[Any],
        target_scale: TargetScale | None,
    ) -> None:
        self._frozen = core
        self._columns = columns
        self.n_features_in_ = len(columns)
        if column_names is not None:
            self.feature_names_in_ = column_names
        self._take_targets(classes, target_scale)

    @abstractmethod
    def _take_targets(self, classes: NDArray[Any], scale: TargetScale | None) -> None:
        """Take over what is known of the targets: labels in ascending order, or the scale of numbers."""

    @abstractmethod
    def _targets_state(self) -> dict[str, Any]:
        """What a file has of the targets."""

    def _predictions(self, X: ArrayLike) -> NDArray[np.float64]:
        """What the core predicts: a row for each row of X, a column for each class, or one for the target."""
        self._require_fitted()
        return self._frozen.predict(encoded(self, X, self._columns), n_threads(self.n_jobs))

    def _require_fitted(self) -> None:
        check_is_fitted(self, msg=NOT_MADE)

    def memory_usage(self) -> FrozenMemoryUse:
        """Return the size of the forest: bytes in memory and as a file, and what they hold."""
        self._require_fitted()
        core = self._frozen
        return FrozenMemoryUse(core.n_trees, core.n_nodes, core.n_leaf_values, core.memory, len(self.to_bytes()))

    @abstractmethod
    def _shown_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of leaves as predictions have them."""

    def _tree_views(self) -> list[TreeView]:
        """The trees as arrays, read from the bytes of docs/format.md, 9; leaves count as one row each."""
        data = self._frozen.as_bytes().data
        n_attributes, _, n_trees, n_values, n_nodes = struct.unpack_from("<IIIIQ", data)
        place = struct.calcsize("<IIIIQ")

        def taken(kind: str, n: int) -> NDArray[Any]:
            nonlocal place
            array = np.frombuffer(data, np.dtype(kind), n, place)
            place += array.nbytes
            return array

        def index_kind(n: int) -> str:
            return "<u1" if n <= 2**8 else "<u2" if n <= 2**16 else "<u4"

        values = self._shown_values(taken("<f8", n_values * self._frozen.n_classes).reshape(n_values, -1))
        is_split = np.unpackbits(taken("<u1", (n_nodes + 7) // 8), count=n_nodes, bitorder="little").astype(bool)
        attributes, thresholds = np.full(n_nodes, NO_NODE), np.full(n_nodes, np.nan, np.float32)
        attributes[is_split] = taken(index_kind(n_attributes), int(is_split.sum()))
        thresholds[is_split] = taken("<f4", int(is_split.sum()))
        shown = np.zeros((n_nodes, values.shape[1]))
        shown[~is_split] = values[taken(index_kind(n_values), int((~is_split).sum()))]
        # A tree of n splits has n + 1 leaves: it ends where leaves outnumber splits for the first time.
        balance = np.cumsum(np.where(is_split, 1, -1))
        ends = [int(np.argmax(balance == -tree)) + 1 for tree in range(1, n_trees + 1)]
        begins = [0, *ends[:-1]]
        return [
            TreeView.of_splits(attributes[a:b], thresholds[a:b], shown[a:b]) for a, b in zip(begins, ends, strict=True)
        ]

    # ---------------------------------------------------------------------------------------------- what it cannot do

    def fit(self, X: Any = None, y: Any = None, **others: Any) -> NoReturn:  # noqa: ARG002
        """Not supported: raises a `FrozenForestError` that explains why."""
        raise FrozenForestError("fit")

    def __getattr__(self, name: str) -> Any:
        if name in self._needs_rows:
            raise FrozenForestError(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __sklearn_clone__(self) -> Self:
        return self  # scikit-learn's clones are to be fitted again, which a frozen forest cannot be

    def __sklearn_is_fitted__(self) -> bool:
        return "_frozen" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------------------------------------------------- storing

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the forest to a file that `deciduous.load` reads. An old file is replaced in full or not at all."""
        write_atomically(path, container(self._sections()))

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` would write."""
        return b"".join(container(self._sections()))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, n_jobs: int | None = None) -> Self:
        """Restore a forest from the bytes that `to_bytes` returned. Other bytes raise a `CorruptModelError`."""
        sections = read_container(memoryview(data).cast("B"))
        return cls._from_sections(read_json(section(sections, "meta")), sections, n_jobs)

    @classmethod
    def _from_sections(cls, meta: Mapping[str, Any], sections: Mapping[str, memoryview], n_jobs: int | None) -> Self:
        forest = cls(n_jobs=n_jobs)
        forest._restore(meta, sections)
        return forest

    def _sections(self) -> dict[str, Section]:
        self._require_fitted()
        meta = {
            "kind": FROZEN,
            "n_features_in": self.n_features_in_,
            "feature_names_in": self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None,
        } | self._targets_state()
        sections: dict[str, Section] = {"meta": json_section(meta), "frozen": self._frozen.as_bytes().data}
        return sections | columns_section(self._columns)

    def _restore(self, meta: Mapping[str, Any], sections: Mapping[str, memoryview]) -> None:
        """Take over what `_sections` wrote."""
        stored = StoredFrozen.from_sections(meta, sections)
        require_task(meta, self._task)
        targets = stored.targets
        self._take(stored.core, stored.columns, stored.column_names, targets.classes, targets.scale)

    def __getstate__(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs} | ({"_model": self.to_bytes()} if self.__sklearn_is_fitted__() else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.n_jobs = state["n_jobs"]
        if "_model" in state:
            sections = read_container(memoryview(state["_model"]))
            self._restore(read_json(section(sections, "meta")), sections)


class FrozenForestClassifier(ClassPredictor, FrozenForest):
    """A forest that can only predict, made by `DareForestClassifier.freeze` or read by `deciduous.load`.

    Its predictions are those of the original forest, to the last bit. It holds the splits, the class probabilities of
    the leaves, the names of the columns, and the categories used in splits. It holds no training rows, ids, counts or
    seed, and no classes without rows. Rows cannot be deleted from it or added to it: change the original forest, and
    freeze that again. Equal forests give frozen forests with equal bytes, whatever their history.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads for predictions; -1 means all processors.

    Attributes
    ----------
    classes_ : ndarray
        Class labels in ascending order, which is the order of the columns of `predict_proba`. Classes without rows are
        left out.
    n_features_in_ : int
        Number of columns.
    """

    _needs_rows: ClassVar[frozenset[str]] = CLASSES_NEED_ROWS
    classes_: NDArray[Any]

    def _take_targets(self, classes: NDArray[Any], scale: TargetScale | None) -> None:  # noqa: ARG002
        self.classes_ = classes

    def _targets_state(self) -> dict[str, Any]:
        return {"classes": labels_state(self.classes_)}

    def _shown_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict class probabilities, with columns in the order of `classes_`."""
        return self._predictions(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the most likely class of each row. Ties go to the lower label."""
        best: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return np.take(self.classes_, best)

    def present_shares(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return `classes_`, all of which have rows, and their predicted probabilities."""
        return self.classes_, self.predict_proba(X)


class FrozenForestRegressor(NumberPredictor, FrozenForest):
    """A forest that can only predict numbers, made by `DareForestRegressor.freeze` or read by `deciduous.load`.

    Its predictions are those of the original forest, to the last bit. It holds the splits, the means of the leaves, the
    names of the columns, and the categories used in splits. It holds no training rows, ids, counts or seed, so it has
    no quantiles. Note that a leaf with a single row has the target of that row as its mean.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads for predictions; -1 means all processors.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    """

    _needs_rows: ClassVar[frozenset[str]] = TARGETS_NEED_ROWS
    _target_scale: TargetScale

    def _take_targets(self, classes: NDArray[Any], scale: TargetScale | None) -> None:  # noqa: ARG002
        assert scale is not None
        self._target_scale = scale

    def _targets_state(self) -> dict[str, Any]:
        return target_scale_state(self._target_scale)

    def _shown_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._target_scale.floats(values)

    def predict(self, X: ArrayLike, *, quantiles: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict the target of each row. With `quantiles`, raise a `FrozenForestError`: they need training rows."""
        if quantiles is not None:
            raise FrozenForestError("quantiles")
        means = self._predictions(X)[:, 0]
        return self._target_scale.floats(means)
