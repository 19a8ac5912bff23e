"""What a forest is beside its rows and trees, as plain JSON, and back, checked as if an enemy had written it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import CandidateScheme, Criterion, Params
from ._validation import MAX_DEPTH
from .errors import CorruptModelError

# Resolved parameters that define a forest, with the range of each.
CORE_RANGES = {
    "n_trees": (1, 2**20 - 2),
    "trees_per_row": (1, 2**20 - 2),
    "max_depth": (1, MAX_DEPTH),
    "random_depth": (0, MAX_DEPTH),
    "n_thresholds": (0, 10**6),
    "max_features": (1, 2**30),
    "min_samples_split": (2, 2**31 - 1),
    "min_samples_leaf": (1, 2**31 - 1),
    "seed": (0, 2**64 - 1),
}
LABEL_TYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U\d{1,9}")


def params_state(params: Params) -> dict[str, Any]:
    """The core's parameters."""
    numbers = {name: getattr(params, name) for name in CORE_RANGES}
    return numbers | {"candidates": params.candidates.name, "criterion": params.criterion.name}


def params_from(state: Mapping[str, Any]) -> Params:
    """The core's parameters, each in its range."""
    params = Params()
    for name, (least, greatest) in CORE_RANGES.items():
        value = entry(state, name, int)
        if not least <= value <= greatest:
            raise CorruptModelError(f"its parameter {name} is {value}, outside of [{least}, {greatest}]")
        setattr(params, name, value)
    if params.trees_per_row > params.n_trees:
        raise CorruptModelError(f"a row cannot be in {params.trees_per_row} of {params.n_trees} trees")
    params.candidates = _member(CandidateScheme, entry(state, "candidates", str))
    params.criterion = _member(Criterion, entry(state, "criterion", str))
    if params.candidates == CandidateScheme.uniform and params.n_thresholds == 0:
        raise CorruptModelError("it has uniform candidates without a number of thresholds")
    return params


def _member(kinds: Any, name: str) -> Any:
    if name not in kinds.__members__:
        raise CorruptModelError(f"it names {name!r}, which is not known")
    return kinds[name]


def entry(state: Mapping[str, Any], name: str, kind: type) -> Any:
    """An entry that must be there and of this kind."""
    value = state.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CorruptModelError(f"its description has no {name!r} of the kind {kind.__name__}")
    return value


def labels_state(labels: NDArray[Any]) -> dict[str, Any]:
    """Labels with their type."""
    if not LABEL_TYPES.fullmatch(labels.dtype.str):
        raise TypeError(f"Labels of type {labels.dtype} cannot be stored.")
    return {"type": labels.dtype.str, "values": labels.tolist()}


def labels_from(state: Mapping[str, Any]) -> NDArray[Any]:
    """Distinct labels of one type."""
    kind = entry(state, "type", str)
    values = entry(state, "values", list)
    if not LABEL_TYPES.fullmatch(kind):
        raise CorruptModelError(f"it has labels of the unknown type {kind!r}")
    if kind[1] == "U" and any(not isinstance(value, str) or len(value) > int(kind[2:]) for value in values):
        raise CorruptModelError("a label is not of the type of the labels")
    if kind[1] != "U" and any(not isinstance(value, bool | int | float) for value in values):
        raise CorruptModelError("a label is not of the type of the labels")
    try:
        # The length of strings is that of the longest one, not what the file claims.
        labels = np.array(values, dtype=kind if kind[1] != "U" else None) if values else np.empty(0, dtype=kind[:2])
    except (ValueError, OverflowError, TypeError) as error:
        raise CorruptModelError(f"its labels do not fit their type: {error}") from None
    if labels.ndim != 1 or len(np.unique(labels)) != len(labels):
        raise CorruptModelError("its labels are not distinct")
    return labels


def pairs_state(weights: Mapping[Any, float] | None) -> list[list[Any]] | None:
    """Weights by label, in the order of the labels' text."""
    if weights is None:
        return None
    plain = {_plain(label): float(weight) for label, weight in weights.items()}
    return [[label, plain[label]] for label in sorted(plain, key=repr)]


def pairs_from(state: Mapping[str, Any], name: str) -> dict[Any, float] | None:
    """Weights by label."""
    pairs = state.get(name)
    if pairs is None:
        return None
    is_sound = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str | int | float)
        and isinstance(pair[1], int | float)
        and 0 < pair[1] < float("inf")
        for pair in pairs
    )
    if not is_sound:
        raise CorruptModelError(f"its {name!r} are not weights of labels")
    return {label: float(weight) for label, weight in pairs}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def arguments_state(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The estimator's own parameters; those that are no plain values, such as generators, are left out."""
    stored = {name: _plain(value) for name, value in arguments.items() if name != "class_weight"}
    plain = {name: value for name, value in stored.items() if isinstance(value, bool | int | float | str | None)}
    class_weight = arguments["class_weight"]
    weights = class_weight if class_weight is None or isinstance(class_weight, str) else pairs_state(class_weight)
    return plain | {"class_weight": weights}


def arguments_from(state: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """The estimator's own parameters."""
    for name, value in state.items():
        if name not in known:
            raise CorruptModelError(f"it has the unknown parameter {name!r}")
        if name != "class_weight" and not isinstance(value, bool | int | float | str | None):
            raise CorruptModelError(f"its parameter {name!r} is not a plain value")
    arguments = dict(state)
    if not isinstance(state.get("class_weight"), str | None):
        arguments["class_weight"] = pairs_from(state, "class_weight")
    return arguments


def feature_names(names: Any, n_attributes: int) -> NDArray[Any]:
    """The names of the columns."""
    if not isinstance(names, list) or len(names) != n_attributes or not all(isinstance(n, str) for n in names):
        raise CorruptModelError(f"its names of columns are not {n_attributes} strings")
    return np.array(names, dtype=object)
