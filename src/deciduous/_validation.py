"""From what users pass in to clean arrays and numbers; most messages are worded here."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from ._core import CandidateScheme, Criterion, Params
from .errors import InvalidInputError, shown

MAX_DEPTH = 1000
ALL_THRESHOLDS = 0
LARGEST_ID = np.iinfo(np.int64).max

INTEGER = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating)


def float32_matrix(estimator: Any, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
    """The rows as C-ordered float32, NaN allowed. Checks the names and number of columns, or learns them with reset."""
    given = validate_data(
        estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0, order="C"
    )
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(given, dtype=np.float32)
    infinite = np.isinf(matrix)
    if infinite.any():
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        raise InvalidInputError(
            f"X[{row}, {column}] is {given[row, column]}: infinity, and values too large for float32 (beyond 3.4e38), "
            "cannot be used. Clip them, or use NaN for a missing value."
        )
    return matrix


def label_array(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """The labels as a one-dimensional array, one for each row."""
    labels: NDArray[Any] = column_or_1d(
        check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0), warn=True
    )
    if len(labels) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but y has {len(labels)} labels; give one label for each row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InvalidInputError(f"y[{bad}] is {labels[bad]}, which is not a label. Drop that row, or give it a class.")
    if len(labels):
        check_classification_targets(labels)
    return labels


def id_array(ids: ArrayLike | int) -> NDArray[np.int64]:
    """Row ids as int64, each given once."""
    given = np.atleast_1d(np.asarray(ids))
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1:
        raise InvalidInputError(f"Row ids must be a flat list, but have the shape {given.shape}.")
    if given.dtype.kind not in "iu":
        raise InvalidInputError(
            f"Row ids must be integers, but {shown(given.tolist(), at_most=3)} "
            f"{'is' if given.size == 1 else 'are'} of type {given.dtype}."
        )
    if given.dtype.kind == "u" and given.max() > LARGEST_ID:
        raise InvalidInputError(f"Row id {given.max()} does not fit into 64 bits with a sign (at most {LARGEST_ID}).")
    row_ids = np.ascontiguousarray(given, dtype=np.int64)
    values, counts = np.unique(row_ids, return_counts=True)
    if len(values) < len(row_ids):
        raise InvalidInputError(f"Row ids must be given once each, but {shown(values[counts > 1])} came twice or more.")
    return row_ids


def ids_for_rows(ids: ArrayLike | None, n_rows: int, first_fresh: int) -> NDArray[np.int64]:
    """The ids given for rows, or fresh ones."""
    if ids is None:
        if first_fresh > LARGEST_ID - n_rows:
            raise InvalidInputError("No fresh row ids are left above the largest one used; give `ids` explicitly.")
        return np.arange(first_fresh, first_fresh + n_rows, dtype=np.int64)
    row_ids = id_array(ids)
    if len(row_ids) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but `ids` has {len(row_ids)}; give one id for each row.")
    return row_ids


def label_text(label: Any) -> str:
    """A label as text, the same for equal labels of different types (1, 1.0 and True are equal)."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, NUMBER):
        return f"n:{int(value)}" if float(value).is_integer() else f"n:{float(value)!r}"
    return f"s:{value}"


def class_keys(classes: Iterable[Any]) -> NDArray[np.uint8]:
    """Digests that name classes by their labels alone, one row of 16 bytes each."""
    digests = [hashlib.blake2b(label_text(label).encode(), digest_size=16).digest() for label in classes]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), 16)


def seed_from(random_state: Any) -> int:
    """The 64-bit seed of a forest; a secret one if none is given."""
    if random_state is None:
        return secrets.randbits(64)
    if isinstance(random_state, INTEGER):
        if not 0 <= random_state < 2**64:
            raise InvalidInputError(f"random_state must be in [0, 2**64), but is {random_state}.")
        return int(random_state)
    high, low = check_random_state(random_state).randint(0, 2**32, size=2, dtype=np.uint64)
    return (int(high) << 32) | int(low)


def _integer(name: str, value: Any, least: int, greatest: int = 2**31 - 1) -> int:
    if isinstance(value, INTEGER) and not isinstance(value, bool) and least <= value <= greatest:
        return int(value)
    raise InvalidInputError(f"{name} must be an integer in [{least}, {greatest}], but is {value!r}.")


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, choices))}, but is {value!r}.")


def _n_considered(max_features: int | float | Literal["sqrt", "log2"] | None, n_attributes: int) -> int:
    """The number of attributes considered at a greedy node (the paper's p̃)."""
    if max_features is None:
        return n_attributes
    if isinstance(max_features, str):
        name = _one_of("max_features", max_features, ("sqrt", "log2"))
        return max(1, math.isqrt(n_attributes) if name == "sqrt" else n_attributes.bit_length() - 1)
    if isinstance(max_features, INTEGER):
        return min(_integer("max_features", max_features, 1), n_attributes)
    if isinstance(max_features, NUMBER) and 0 < max_features <= 1:
        return max(1, int(max_features * n_attributes))
    raise InvalidInputError(
        "max_features must be 'sqrt', 'log2', None, an integer of at least 1 or a share in (0, 1], "
        f"but is {max_features!r}."
    )


def _trees_per_row(max_samples: float | None, n_trees: int) -> int:
    if max_samples is None:
        return n_trees
    if isinstance(max_samples, float | np.floating) and 0 < max_samples <= 1:
        return math.ceil(Fraction(repr(float(max_samples))) * n_trees)  # as written: 0.07 of 100 trees are 7
    raise InvalidInputError(
        f"max_samples must be None or a share in (0.0, 1.0], but is {max_samples!r}: "
        "each row belongs to that share of the trees."
    )


def core_params(estimator: Any, n_attributes: int, seed: int) -> Params:
    """The estimator's parameters, checked, as the core wants them."""
    params = Params()
    params.n_trees = _integer("n_estimators", estimator.n_estimators, 1)
    params.trees_per_row = _trees_per_row(estimator.max_samples, params.n_trees)
    given_depth = MAX_DEPTH if estimator.max_depth is None else estimator.max_depth
    params.max_depth = _integer("max_depth", given_depth, 1, MAX_DEPTH)
    params.random_depth = min(_integer("random_depth", estimator.random_depth, 0), params.max_depth)
    scheme = _one_of("candidates", estimator.candidates, ("valid", "uniform"))
    if estimator.n_thresholds is None and scheme == "uniform":
        raise InvalidInputError(
            "n_thresholds=None means all valid thresholds; with candidates='uniform' give a number, such as 20."
        )
    params.n_thresholds = (
        ALL_THRESHOLDS if estimator.n_thresholds is None else _integer("n_thresholds", estimator.n_thresholds, 1, 10**6)
    )
    params.candidates = CandidateScheme.valid if scheme == "valid" else CandidateScheme.uniform
    criterion = _one_of("criterion", estimator.criterion, ("gini", "entropy"))
    params.criterion = Criterion.gini if criterion == "gini" else Criterion.entropy
    params.max_features = _n_considered(estimator.max_features, n_attributes)
    params.min_samples_split = _integer("min_samples_split", estimator.min_samples_split, 2)
    params.min_samples_leaf = _integer("min_samples_leaf", estimator.min_samples_leaf, 1)
    params.seed = seed
    return params
