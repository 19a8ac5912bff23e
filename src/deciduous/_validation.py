"""From what users pass in to clean arrays and numbers; most messages are worded here."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from ._core import CandidateScheme, Criterion, Params
from .errors import InvalidInputError, shown

MAX_DEPTH = 256
ALL_THRESHOLDS = 0
LARGEST_ID = np.iinfo(np.int64).max
LARGEST_WEIGHT = 2**30

INTEGER = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating, np.bool_)
NUMERIC = "biuf"  # kinds of dtypes
FEW_LABELS = 20


@contextmanager
def restoring(owner: object, *names: str) -> Iterator[None]:
    """Gives attributes back their values, or their absence, if the block fails."""
    before = {name: vars(owner)[name] for name in names if name in vars(owner)}
    try:
        yield
    except BaseException:
        for name in names:
            vars(owner).pop(name, None)
        vars(owner).update(before)
        raise


def float32_matrix(estimator: Any, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
    """The rows as C-ordered float32, NaN allowed. Checks the names and number of columns, or learns them with reset."""
    if not reset and isinstance(X, list | tuple) and len(X) == 0:
        return np.empty((0, estimator.n_features_in_), dtype=np.float32)
    given = validate_data(
        estimator,
        X,
        reset=reset,
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=0,
        order="C",
        accept_sparse="csr",
    )
    if issparse(given):
        given = given.toarray()
    return finite_float32(given)


def finite_float32(given: NDArray[Any], first_column: int = 0) -> NDArray[np.float32]:
    """Numbers as a C-ordered float32 matrix, NaN allowed, infinity not. Messages count columns from `first_column`."""
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(given, dtype=np.float32)
    infinite = np.isinf(matrix)
    if infinite.any():
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        raise InvalidInputError(
            f"X[{row}, {first_column + column}] is {given[row, column]}: infinity, and values too large for float32 "
            "(beyond 3.4e38), cannot be used. Clip them, or use NaN for a missing value."
        )
    return matrix


def is_missing(value: Any) -> bool:
    """None, NaN or pandas.NA, which is told by its name, as pandas may not be installed."""
    if isinstance(value, float | np.floating):
        return bool(value != value)
    return value is None or type(value).__name__ == "NAType"


def label_array(y: ArrayLike, n_rows: int | None) -> NDArray[Any]:
    """The labels as a one-dimensional array, one for each row if their number is given."""
    labels = y if isinstance(y, np.ndarray) and _are_plain(y) else _one_dimensional(y)
    if n_rows is not None and len(labels) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but y has {len(labels)} labels; give one label for each row.")
    for i in _missing_labels(labels):
        raise InvalidInputError(f"y[{i}] is {labels[i]}, which is not a label. Drop that row, or give it a class.")
    if labels.dtype == object:
        labels = _typed_labels(labels)
    if labels.dtype.kind not in NUMERIC + "U":
        raise InvalidInputError(f"Labels must be numbers or strings, but y is of type {labels.dtype}.")
    if len(labels) and not _are_plain(labels):
        check_classification_targets(labels)
    return labels


def _are_plain(labels: NDArray[Any]) -> bool:
    """Whether they are so few and simple that scikit-learn's checks, slower than adding their rows, find no fault."""
    return labels.ndim == 1 and labels.dtype.kind in "biuU" and len(labels) <= FEW_LABELS


def _one_dimensional(y: ArrayLike) -> NDArray[Any]:
    given = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    labels: NDArray[Any] = column_or_1d(given, warn=True)
    return labels


def _missing_labels(labels: NDArray[Any]) -> list[int]:
    if labels.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(labels)).tolist()
    if labels.dtype == object:
        return [i for i, label in enumerate(labels) if label is None or label != label]
    return []


def _typed_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of an object array as an array of their own type, if they have one."""
    kinds = {str if isinstance(label, str) else float if isinstance(label, NUMBER) else object for label in labels}
    if len(kinds) > 1 or object in kinds:
        named = sorted({type(label).__name__ for label in labels})
        raise InvalidInputError(
            f"Labels must be all numbers or all strings, but y has labels of the types {shown(named)}."
        )
    return np.array(labels.tolist())


def weight_array(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.uint32] | None:
    """Whole, non-negative weights, one for each row; None if all of them are 1."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim == 0:
        given = np.full(n_rows, given)
    if given.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight.shape == {given.shape}, expected ({n_rows},): give one weight for each row."
        )
    if given.dtype.kind not in NUMERIC:
        raise InvalidInputError(f"sample_weight must be numbers, but is of type {given.dtype}.")
    for i in np.flatnonzero(~((given >= 0) & (given == np.floor(given)) & (given < LARGEST_WEIGHT)))[:1]:
        raise InvalidInputError(
            f"sample_weight[{i}] is {given[i]}, but a weight must be a whole number from 0 to {LARGEST_WEIGHT - 1}: "
            "a row of weight 3 counts as three rows, one of weight 0 as none. For weights of classes use class_weight."
        )
    return None if (given == 1).all() else given.astype(np.uint32)


def class_weights_of(
    class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], codes: NDArray[np.uint32], weights: Any
) -> dict[Any, float] | None:
    """What `class_weight` means for these rows: a weight for each class that it names, or that the rows have."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        _one_of("class_weight", class_weight, ("balanced",))
        n_by_class = np.bincount(codes, weights=weights, minlength=len(classes))
        present = np.flatnonzero(n_by_class)
        balanced = n_by_class.sum() / (len(present) * n_by_class[present])
        return dict(zip(classes[present].tolist(), balanced.tolist(), strict=True))
    if not isinstance(class_weight, Mapping):
        raise InvalidInputError(f"class_weight must be a dict, 'balanced' or None, but is {class_weight!r}.")
    for label, weight in class_weight.items():
        if not isinstance(label, (str, *NUMBER)):
            raise InvalidInputError(f"class_weight names {label!r}, which is no label: labels are numbers or strings.")
        plain = weight.item() if isinstance(weight, np.generic) else weight
        if not isinstance(plain, NUMBER) or not 0 < plain < 1e300:
            raise InvalidInputError(f"class_weight[{label!r}] must be a positive number, but is {weight!r}.")
    return {label: float(weight) for label, weight in class_weight.items()}


def integer_class_weights(weights: Mapping[Any, float] | None, classes: NDArray[Any]) -> NDArray[np.uint32] | None:
    """The weights of these classes as integers, of which the largest possible one is 2**20; classes not named weigh 1.

    The unit depends on the weights alone, not on the classes that happen to be there.
    """
    if weights is None:
        return None
    unit = max(1.0, *weights.values()) if weights else 1.0
    named = np.array([weights.get(label, 1.0) for label in classes.tolist()])
    return np.maximum(np.rint(named / unit * 2**20), 1).astype(np.uint32)


def id_array(ids: ArrayLike | Iterable[int] | int) -> NDArray[np.int64]:
    """Row ids as int64, each given once."""
    given = _id_candidates(ids)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1:
        raise InvalidInputError(f"Row ids must be a flat list, but have the shape {given.shape}.")
    if given.dtype.kind not in "iu":
        wrong = [i for i in given.tolist() if not isinstance(i, int) or isinstance(i, bool)]
        raise InvalidInputError(
            f"Row ids must be integers, but {shown(map(repr, wrong))} came among them (type {given.dtype})."
        )
    if int(given.max()) > LARGEST_ID:
        raise InvalidInputError(f"Row id {given.max()} is too large: ids go up to {LARGEST_ID}.")
    row_ids = np.ascontiguousarray(given, dtype=np.int64)
    if len(row_ids) == 1:
        return row_ids
    values, counts = np.unique(row_ids, return_counts=True)
    if len(values) < len(row_ids):
        raise InvalidInputError(f"Row ids must be given once each, but {shown(values[counts > 1])} came twice or more.")
    return row_ids


def _id_candidates(ids: ArrayLike | Iterable[int] | int) -> NDArray[Any]:
    """The ids as an array of integers if they are integers, of objects if not."""
    if isinstance(ids, Iterable) and not hasattr(ids, "__array__") and not isinstance(ids, str | bytes):
        elements = np.array(list(ids), dtype=object)
    else:
        elements = np.atleast_1d(np.asarray(ids))
    if elements.dtype != object or elements.ndim != 1:
        return elements
    if any(isinstance(i, bool | np.bool_) or not isinstance(i, INTEGER) for i in elements):
        return elements
    least, greatest = (min(elements), max(elements)) if len(elements) else (0, 0)
    if not -LARGEST_ID - 1 <= least <= greatest <= LARGEST_ID:
        outside = greatest if greatest > LARGEST_ID else least
        raise InvalidInputError(f"Row id {outside} does not fit into 64 bits: ids go from -2**63 to 2**63 - 1.")
    return elements.astype(np.int64)


def fresh_ids(n_rows: int, first_fresh: int) -> NDArray[np.int64]:
    """Ids that no row has or had."""
    if first_fresh > LARGEST_ID - n_rows:
        raise InvalidInputError("No fresh row ids are left above the largest one used; give `ids` explicitly.")
    return np.arange(first_fresh, first_fresh + n_rows, dtype=np.int64)


def require_one_each(name: str, n_given: int, n_rows: int) -> None:
    """Refuses a column that is longer or shorter than the rows."""
    if n_given != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but `{name}` has {n_given}; give one for each row.")


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
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        high, low = random_state.randint(0, 2**32, size=2, dtype=np.uint64)
        return (int(high) << 32) | int(low)
    if isinstance(random_state, INTEGER) and 0 <= random_state < 2**64:
        return int(random_state)
    raise InvalidInputError(
        "random_state must be an integer in [0, 2**64), a NumPy RandomState or Generator, or None for a secret seed, "
        f"but is {random_state!r}."
    )


def n_threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for, as in scikit-learn."""
    is_integer = isinstance(n_jobs, INTEGER) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_integer or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be None or an integer other than 0, but is {n_jobs!r}.")
    return max(1, int(effective_n_jobs(n_jobs)))


def non_negative_integer(name: str, value: int) -> int:
    """A parameter that must be 0 or more; booleans count as 0 and 1."""
    return _integer(name, int(value) if isinstance(value, bool | np.bool_) else value, 0)


def is_lazy(lazy: bool) -> bool:
    """The parameter `lazy`, which must be a bool."""
    if isinstance(lazy, bool | np.bool_):
        return bool(lazy)
    raise InvalidInputError(f"lazy must be True or False, but is {lazy!r}.")


def extended_classes(known: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes with labels not seen before at the end, and the numbers of these labels among them."""
    labels = labels.astype(_common_type(known, labels), copy=False)
    fresh = np.setdiff1d(labels, known)
    classes = np.concatenate([known, fresh]) if len(fresh) else known
    order = np.argsort(classes)
    codes = order[np.searchsorted(classes, labels, sorter=order)]
    return classes, codes.astype(np.uint32)


def _common_type(known: NDArray[Any], labels: NDArray[Any]) -> np.dtype[Any]:
    """A type that holds both kinds of labels exactly: that of the known ones if possible."""
    are_numeric = [array.dtype.kind in NUMERIC for array in (known, labels)]
    if not any(are_numeric):
        return np.result_type(known, labels)
    if all(are_numeric):
        for dtype in (known.dtype, np.result_type(known, labels)):
            if (labels.astype(dtype) == labels).all() and (known.astype(dtype) == known).all():
                return dtype
    raise InvalidInputError(
        f"The forest's labels are of type {known.dtype}, but y[0] is {labels[0]!r} of type {labels.dtype}, and no "
        "type holds both exactly. Use labels of one type."
    )


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
