"""What makes a forest storable: files, bytes, pickles and copies, all through the same bytes."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._container import container, json_section, read_container, read_json, section, write_atomically
from ._row_names import RowNames
from ._state import (
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
)
from ._validation import class_keys, integer_class_weights, n_threads
from .errors import CorruptModelError


class StorableForest(BaseEstimator):  # type: ignore[misc]
    """The part of a forest that turns it into bytes and back."""

    # Sizes that trade memory for time and never change a forest; see Tuning in the core. Tests vary them.
    _tuning: ClassVar[dict[str, int]] = {}

    _forest: _core.Forest
    _params: _core.Params
    _lock: threading.RLock
    _first_fresh_id: int
    _names: RowNames
    classes_: NDArray[Any]
    class_weight_: dict[Any, float] | None
    n_features_in_: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forest with its rows to one file, which `deciduous.load` reads.

        The file is written aside, made sure to be on the disk, and then takes the place of an old one: whatever happens
        on the way, there is the old file or the new one.
        """
        check_is_fitted(self)
        write_atomically(path, container(self._sections()))

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        check_is_fitted(self)
        return b"".join(container(self._sections()))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, n_jobs: int | None = None) -> Self:
        """The forest that `to_bytes` gave these bytes. Anything else is a `CorruptModelError`."""
        sections = read_container(memoryview(data).cast("B"))
        meta = read_json(section(sections, "meta"))
        forest = cls(**arguments_from(entry(meta, "arguments", dict), set(cls().get_params())))
        forest._restore(meta, sections, n_jobs)
        return forest

    def _sections(self) -> dict[str, bytes]:
        """The forest as named sections of bytes."""
        with self._lock:
            names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
            meta = {
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
            return sections | trees

    def _restore(self, meta: dict[str, Any], sections: dict[str, memoryview], n_jobs: int | None) -> None:
        """Take over what `_sections` wrote."""
        params = params_from(entry(meta, "params", dict))
        classes = labels_from(entry(meta, "classes", dict))
        n_attributes = entry(meta, "n_features_in", int)
        rows = section(sections, "rows")
        if not 1 <= n_attributes <= len(rows):
            raise CorruptModelError(f"it cannot have {n_attributes} attributes in {len(rows)} bytes of rows")
        n_trees = len(sections.keys() - {"meta", "rows", "names"})
        if params.n_trees != n_trees:
            raise CorruptModelError(f"it has {n_trees} trees instead of {params.n_trees}")
        trees = [section(sections, f"tree{tree:08}") for tree in range(params.n_trees)]
        self.class_weight_ = pairs_from(meta, "class_weight")
        self.classes_ = classes
        forest = self._empty_core(
            params, n_attributes, classes, integer_class_weights(self.class_weight_, self.classes_)
        )
        try:
            forest.restore(_as_array(rows), [_as_array(tree) for tree in trees], n_threads(n_jobs), None)
        except (_core.CorruptData, _core.InvalidArgument) as error:
            raise CorruptModelError(str(error)) from None
        names = read_json(sections["names"]) if "names" in sections else {}
        self._names = RowNames.from_state(names, forest.ids().tolist())
        self._forest = forest
        self._params = params
        self._lock = threading.RLock()
        self._first_fresh_id = entry(meta, "first_fresh_id", int)
        self.n_features_in_ = n_attributes
        self.seed_ = params.seed
        columns = meta.get("feature_names_in")
        if columns is not None:
            self.feature_names_in_ = feature_names(columns, n_attributes)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_forest" not in state:
            return state
        core = {"_forest", "_params", "_lock", "_names"}
        return {name: value for name, value in state.items() if name not in core} | {"_model": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None) if "_model" in state else None
        super().__setstate__(state)
        if model is not None:
            sections = read_container(memoryview(model))
            self._restore(read_json(section(sections, "meta")), sections, None)

    def _empty_core(
        self, params: _core.Params, n_attributes: int, classes: NDArray[Any], weights: NDArray[np.uint32] | None
    ) -> _core.Forest:
        tuning = _core.Tuning()
        for name, value in self._tuning.items():
            setattr(tuning, name, value)
        return _core.Forest(params, tuning, n_attributes, class_keys(classes), weights)


def _as_array(data: memoryview) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
