"""From what users pass in to clean arrays and numbers; most messages are worded here.

scikit-learn, SciPy and joblib are imported by the functions that need them: reading a file takes none of them.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import CandidateScheme, Criterion, EmptyForest, InvalidArgument, Params, StandardFloats
from ._refused import REASONS_OF_CRITERIA
from ._times import TEMPORAL, days
from .errors import EmptyForestError, InvalidInputError, shown

MAX_DEPTH = 256
MAX_STABILITY = 1000
MAX_TREES = 2**20 - 2
ALL_THRESHOLDS = 0
CRITERIA_OF_CLASSES = ("gini", "entropy")
CRITERIA_OF_TARGETS = ("squared_error",)
LARGEST_ID = np.iinfo(np.int64).max

INTEGER = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating, np.bool_)
NUMERIC = "biuf"  # kinds of dtypes
FEW_LABELS = 20
END_OF_LABELS = 2.0**63  # that are floats
FOREVER = 2**60  # seconds


def float32_matrix(estimator: Any, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
    """The rows as C-ordered float32, NaN allowed. Checks the names and number of columns, or learns them with reset."""
    if not reset and isinstance(X, list | tuple) and len(X) == 0:
        return np.empty((0, estimator.n_features_in_), dtype=np.float32)
    from scipy.sparse import issparse
    from sklearn.utils.validation import validate_data

    if isinstance(X, np.ndarray) and X.dtype.kind in TEMPORAL:
        X = days(X)
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
    with np.errstate(over="ignore"), StandardFloats():
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
    require_unmasked(y)
    labels = y if isinstance(y, np.ndarray) and _are_plain(y) else _one_dimensional(y)
    if n_rows is not None and len(labels) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows but y has {len(labels)} labels; give one label for each row.")
    _require_no_missing(labels)
    if labels.dtype == object:
        labels = _typed_labels(labels)
        _require_no_missing(labels)
    if labels.dtype.kind == "U":
        _require_unicode(labels)
    if labels.dtype == np.longdouble:
        labels = _as_doubles(labels)
    if labels.dtype.kind not in NUMERIC + "U":
        raise InvalidInputError(f"Labels must be numbers or strings, but y is of type {labels.dtype}.")
    if len(labels) and not _are_plain(labels):
        _require_classes(labels)
    return labels


def require_unmasked(y: Any) -> None:
    """Refuses a masked array that masks something: what is behind the mask is no target and no label."""
    if isinstance(y, np.ma.MaskedArray):
        for place in np.flatnonzero(np.ma.getmaskarray(y).ravel())[:1]:
            raise InvalidInputError(f"y[{place}] is masked. Drop that row, or give it a value.")


def _require_classes(labels: NDArray[Any]) -> None:
    from sklearn.utils.multiclass import check_classification_targets

    if labels.dtype.kind == "f":
        doubles = labels.astype(np.float64)
        for label in doubles[(doubles != np.floor(doubles)) | (np.abs(doubles) >= END_OF_LABELS)][:1].tolist():
            raise InvalidInputError(
                f"Unknown label type: continuous. y holds {label!r}, but labels are classes: strings, or whole numbers "
                "of at most 64 bits. Make classes of them, or use `DareForestRegressor`, which predicts numbers."
            )
    check_classification_targets(labels)  # which warns of very many classes


def _are_plain(labels: NDArray[Any]) -> bool:
    """Whether they are so few and simple that scikit-learn's checks, slower than adding their rows, find no fault."""
    return labels.ndim == 1 and labels.dtype.kind in "biuU" and len(labels) <= FEW_LABELS


def _one_dimensional(y: ArrayLike) -> NDArray[Any]:
    import narwhals as nw
    from sklearn.utils.validation import check_array, column_or_1d

    # NumPy turns numbers beside strings into strings, polars strings into NumPy's, which do not end in zeros, and
    # scikit-learn pandas' own integers into floats.
    if nw.dependencies.is_polars_series(y):
        y = y.to_list()
    if isinstance(y, list | tuple) or str(getattr(y, "dtype", "")).startswith(("Int", "UInt")):
        y = np.array(y, dtype=object)
    given = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    labels: NDArray[Any] = column_or_1d(given, warn=True)
    return labels


def _require_no_missing(labels: NDArray[Any]) -> None:
    missing: list[int] = []
    if labels.dtype.kind == "f":
        missing = np.flatnonzero(~np.isfinite(labels)).tolist()
    elif labels.dtype == object:
        missing = [i for i, label in enumerate(labels) if is_missing(label)]
    for i in missing:
        raise InvalidInputError(f"y[{i}] is {labels[i]}, which is not a label. Drop that row, or give it a class.")


def _require_unicode(labels: NDArray[Any]) -> None:
    for label in labels.tolist():
        if not is_unicode(label):
            raise InvalidInputError(f"y has the label {label!r}, which is not valid Unicode. Replace it.")


def is_unicode(text: str) -> bool:
    """Whether a string has no halves of characters, which cannot be written down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_doubles(labels: NDArray[Any]) -> NDArray[np.float64]:
    doubles = labels.astype(np.float64)
    if (doubles != labels).any():
        raise InvalidInputError(f"y is of type {labels.dtype}, and float64 does not hold all of its labels exactly.")
    return doubles


def _typed_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of an object array as an array of their own type, if they have one."""
    kinds = {str if isinstance(label, str) else float if isinstance(label, NUMBER) else object for label in labels}
    if len(kinds) > 1 or object in kinds:
        named = sorted({type(label).__name__ for label in labels})
        raise InvalidInputError(
            f"Labels must be all numbers or all strings, but y has labels of the types {shown(named)}."
        )
    values = [label.item() if isinstance(label, np.generic) else label for label in labels.tolist()]
    are_whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    is_beyond = are_whole and max(values, default=0) > LARGEST_ID
    try:
        typed = np.array(values, dtype=str if kinds == {str} else np.uint64 if is_beyond else None)
    except OverflowError:
        typed = np.array(values, dtype=object)
    lost = [before for before, after in zip(values, typed.tolist(), strict=True) if before != after]
    if lost or typed.dtype == object:
        reason = "end in a zero character" if kinds == {str} else "no type holds exactly beside the others"
        raise InvalidInputError(
            f"y has labels that {reason}: {shown(map(repr, lost or values))}. Use labels that NumPy can tell apart."
        )
    return typed


def id_array(ids: ArrayLike | Iterable[int] | int) -> NDArray[np.int64]:
    """Row ids as int64, each given once."""
    if isinstance(ids, list) and all(type(i) is int and -LARGEST_ID <= i <= LARGEST_ID for i in ids):
        return _each_once(np.array(ids, dtype=np.int64))  # what most lists are, and single ids in particular
    given = _id_candidates(ids)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1:
        raise InvalidInputError(f"Row ids must be a flat list, but have the shape {given.shape}.")
    if given.dtype.kind not in "iu":
        wrong = [i for i in given.tolist() if not isinstance(i, int) or isinstance(i, bool)]
        raise InvalidInputError(
            "Row ids are integers, unless `fit` got strings or UUIDs for all rows, but "
            f"{shown(map(repr, wrong))} came among them (type {given.dtype})."
        )
    if given.dtype.kind == "u" and int(given.max()) > LARGEST_ID:
        raise InvalidInputError(f"Row id {given.max()} is too large: ids go up to {LARGEST_ID}.")
    return _each_once(np.ascontiguousarray(given, dtype=np.int64))


def _each_once(row_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(row_ids) <= 1:
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
    """How many threads `n_jobs` asks for, as in scikit-learn, but not more than the machine has cores.

    It may come from a file that another machine, or somebody else, wrote.
    """
    is_integer = isinstance(n_jobs, INTEGER) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_integer or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be None or an integer other than 0, but is {n_jobs!r}.")
    if n_jobs == 1:
        return 1
    from joblib import cpu_count, effective_n_jobs

    n_wanted = max(1, int(effective_n_jobs(n_jobs)))
    return n_wanted if n_wanted == 1 else min(n_wanted, cpu_count())


def non_negative_integer(name: str, value: int) -> int:
    """A parameter that must be 0 or more; booleans count as 0 and 1."""
    return _integer(name, int(value) if isinstance(value, bool | np.bool_) else value, 0)


def is_lazy(lazy: bool) -> bool:
    """The parameter `lazy`, which must be a bool."""
    if isinstance(lazy, bool | np.bool_):
        return bool(lazy)
    raise InvalidInputError(f"lazy must be True or False, but is {lazy!r}.")


def seconds_of(budget: float) -> float:
    """A number of seconds, or infinity."""
    if isinstance(budget, NUMBER) and not isinstance(budget, bool | np.bool_) and budget >= 0:  # NaN is not
        return float(min(budget, FOREVER))
    raise InvalidInputError(f"budget must be a number of seconds, 0 or more, or infinity, but is {budget!r}.")


def extended_classes(known: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes with labels not seen before at the end, and the numbers of these labels among them."""
    dtype = _common_type(known, labels)
    labels, known = labels.astype(dtype, copy=False), known.astype(dtype, copy=False)
    if len(known):
        codes = _places(known, labels)
        if (known[codes] == labels).all():
            return known, codes
    classes = np.concatenate([known, np.setdiff1d(labels, known)])
    return classes, _places(classes, labels)


def _places(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.uint32]:
    """Where each label is among the classes, or anywhere if it is none of them."""
    order = np.argsort(classes)
    places = np.searchsorted(classes, labels, sorter=order)
    return order[np.minimum(places, len(classes) - 1)].astype(np.uint32)


def _common_type(known: NDArray[Any], labels: NDArray[Any]) -> np.dtype[Any]:
    """A type that holds both kinds of labels exactly: that of the known ones if possible."""
    are_numeric = [array.dtype.kind in NUMERIC for array in (known, labels)]
    if not any(are_numeric):
        return np.result_type(known, labels)
    if all(are_numeric):
        for dtype in (known.dtype, labels.dtype, np.result_type(known, labels)):
            if _holds(dtype, known) and _holds(dtype, labels):
                return dtype
    raise InvalidInputError(
        f"The forest's labels are of type {known.dtype}, but y[0] is {labels[0]!r} of type {labels.dtype}, and no "
        "type holds both exactly. Use labels of one type."
    )


def _holds(dtype: np.dtype[Any], labels: NDArray[Any]) -> bool:
    """Whether a type holds these numbers exactly. NumPy compares large integers as floats, Python does not."""
    if dtype == labels.dtype:
        return True
    distinct = np.unique(labels)
    with np.errstate(all="ignore"):
        return bool(distinct.astype(dtype).tolist() == distinct.tolist())


def _integer(name: str, value: Any, least: int, greatest: int = 2**31 - 1) -> int:
    if isinstance(value, INTEGER) and not isinstance(value, bool) and least <= value <= greatest:
        return int(value)
    raise InvalidInputError(f"{name} must be an integer in [{least}, {greatest}], but is {value!r}.")


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """A parameter that must be one of these words."""
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, choices))}, but is {value!r}.")


def criterion_of(value: Any, choices: tuple[str, ...]) -> str:
    """The parameter `criterion`, which must be one of these."""
    if isinstance(value, str) and value not in choices and value in REASONS_OF_CRITERIA:
        raise InvalidInputError(
            f"criterion={value!r} is not one of {shown(map(repr, choices))}: {REASONS_OF_CRITERIA[value]}"
        )
    return one_of("criterion", value, choices)


def _n_considered(max_features: int | float | Literal["sqrt", "log2"] | None, n_attributes: int) -> int:
    """The number of attributes considered at a greedy node (the paper's p̃)."""
    if max_features is None:
        return n_attributes
    if isinstance(max_features, str):
        name = one_of("max_features", max_features, ("sqrt", "log2"))
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


def _stability(given: Any) -> float:
    if isinstance(given, NUMBER) and not isinstance(given, bool | np.bool_) and 0 <= given <= MAX_STABILITY:
        return float(given)
    raise InvalidInputError(
        f"stability must be a number from 0 to {MAX_STABILITY}, but is {given!r}: 0 chooses the best splits, 0.05 to "
        "0.2 splits that rows seldom turn."
    )


def core_params(estimator: Any, n_attributes: int, seed: int) -> Params:
    """The estimator's parameters, checked, as the core wants them where weights are whole numbers."""
    params = Params()
    params.n_trees = _integer("n_estimators", estimator.n_estimators, 1, MAX_TREES)
    params.trees_per_row = _trees_per_row(estimator.max_samples, params.n_trees)
    given_depth = MAX_DEPTH if estimator.max_depth is None else estimator.max_depth
    params.max_depth = _integer("max_depth", given_depth, 1, MAX_DEPTH)
    params.random_depth = min(_integer("random_depth", estimator.random_depth, 0), params.max_depth)
    params.stability = _stability(getattr(estimator, "stability", 0.0))
    scheme = one_of("candidates", estimator.candidates, ("valid", "uniform"))
    if estimator.n_thresholds is None and scheme == "uniform":
        raise InvalidInputError(
            "n_thresholds=None means all valid thresholds; with candidates='uniform' give a number, such as 20."
        )
    params.n_thresholds = (
        ALL_THRESHOLDS if estimator.n_thresholds is None else _integer("n_thresholds", estimator.n_thresholds, 1, 10**6)
    )
    params.candidates = CandidateScheme.valid if scheme == "valid" else CandidateScheme.uniform
    params.criterion = Criterion[criterion_of(estimator.criterion, estimator._criteria)]
    params.max_features = _n_considered(estimator.max_features, n_attributes)
    params.min_samples_split = _integer("min_samples_split", estimator.min_samples_split, 2)
    params.min_samples_leaf = _integer("min_samples_leaf", estimator.min_samples_leaf, 1)
    params.seed = seed
    return params


class _InOurWords:
    """Turns errors of the core into those of the package. A class, as deletions enter it often."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, InvalidArgument):
            raise InvalidInputError(str(error)) from None
        if isinstance(error, EmptyForest):
            raise EmptyForestError from None


IN_OUR_WORDS = _InOurWords()
