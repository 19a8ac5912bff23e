"""From what users pass as X to a float32 matrix with one column for each feature, and the categories of the features.

A *feature* is a column of X. In the matrix a categorical feature holds the number of its category, and NaN for none of
them. Its *attributes*, which trees split on, are indicators, one for each category, as scikit-learn's
`OneHotEncoder(handle_unknown="ignore")` makes them. A numeric feature is its own attribute.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from typing import Any, NoReturn, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._container import json_section, read_json
from ._row_weights import weight_array
from ._state import entry, labels_from, labels_state, pads_well, require_known
from ._times import TEMPORAL, days, days_of
from ._validation import (
    INTEGER,
    NUMBER,
    NUMERIC,
    finite_float32,
    float32_matrix,
    is_missing,
    is_unicode,
)
from .errors import CorruptModelError, InvalidInputError, shown

CATEGORIES = "categories"  # name of a section of files
MAX_CATEGORIES = 2**24  # float32 holds every integer up to here
MANY_TEXTS = 50
PLAIN_NUMBERS = {bool, int, float, Decimal, type(None)}  # what NumPy makes numbers of as `_number` does, only faster

Column: TypeAlias = "nw.Series[Any] | NDArray[Any]"
Source: TypeAlias = "nw.DataFrame[Any] | NDArray[Any]"
Choice: TypeAlias = dict[int, list[Any] | None]  # categorical features, with their categories if the user lists them


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of one feature, in the order of its attributes: `values`, then the missing value if it is one.

    Learned categories ascend. Those that the dtype of a column declares (pandas category, polars Enum) keep the
    declared order and are there even if no row has them, so that any part of a table has the same attributes. Those
    that the user lists keep their order, too.
    """

    values: NDArray[Any]
    has_missing: bool

    @classmethod
    def learned(cls, column: Column, place: str) -> Self:
        """Those of a column: declared by its dtype, or else its distinct values."""
        declared = _declared(column)
        values, has_missing = _distinct(column, place)
        array = np.sort(_typed(values, place)) if declared is None else _typed(declared, place)
        return cls(array, has_missing)._checked(place)

    @classmethod
    def given(cls, listed: list[Any], place: str) -> Self:
        """Those that the user lists; a missing value among them may stand anywhere."""
        values = [value for value in listed if not is_missing(value)]
        if len(listed) - len(values) > 1:
            raise InvalidInputError(f"The categories of {place} list the missing value twice; list it once.")
        return cls(_typed(values, place), len(values) < len(listed))._checked(place)

    def _checked(self, place: str) -> Self:
        if len(self) == 0:
            raise InvalidInputError(f"{place} has no categories; a categorical feature needs at least one.")
        if len(self) > MAX_CATEGORIES:
            raise InvalidInputError(
                f"{place} has {len(self)} categories, but a feature can have {MAX_CATEGORIES} at most. "
                "Merge rare ones, or use it as numbers."
            )
        return self

    def __len__(self) -> int:
        return len(self.values) + self.has_missing

    @cached_property
    def _number_of(self) -> dict[Any, int]:
        return {value: number for number, value in enumerate(self.values.tolist())}

    def encode(self, column: Column) -> NDArray[np.float32]:
        """The number of each value's category, NaN for what is none of them.

        Values are compared, not types: 1, 1.0 and True are equal, and what cannot be a category is unknown.
        """
        number_of_missing = len(self.values) if self.has_missing else np.nan
        if (coded := _coded(column)) is not None:
            values, codes = coded
            return np.append(self.encode(values), np.float32(number_of_missing)).take(codes)
        if isinstance(column, nw.Series):
            present, is_null = _present(column)
            numbers = np.full(len(is_null), number_of_missing, dtype=np.float32)
            numbers[~is_null] = self.encode(present)
            return numbers
        numbers = self._numbers(column)
        unknown = np.flatnonzero(np.isnan(numbers))
        numbers[unknown[_missing(column[unknown])]] = number_of_missing
        return numbers

    def _numbers(self, column: NDArray[Any]) -> NDArray[np.float32]:
        """The numbers of the values, NaN for unknown and for missing ones."""
        if column.dtype.kind not in NUMERIC + "UO":
            return np.full(len(column), np.nan, dtype=np.float32)
        # A dict is exact, where NumPy compares large integers as floats, and among strings faster than a binary search.
        values = column.tolist()
        try:
            numbers = map(self._number_of.get, values, repeat(np.nan))
            return np.fromiter(numbers, dtype=np.float32, count=len(values))
        except TypeError:  # some value has no hash, so it is no category
            hashable = [value if isinstance(value, (str, *NUMBER)) else None for value in values]
            return np.array([self._number_of.get(value, np.nan) for value in hashable], dtype=np.float32)

    def listed(self) -> list[Any]:
        """As plain values; the missing one is None."""
        return [*self.values.tolist(), *[None] * self.has_missing]

    def only(self, used: NDArray[np.bool_]) -> Self:
        """Those in use. If none is, the missing value stands in, as it says nothing about any row."""
        n_values = len(self.values)
        return type(self)(self.values[used[:n_values]], bool(used[n_values:].any()) or not used.any())

    def names(self) -> list[str]:
        """The text of each category; the missing value is "missing"."""
        names = [str(value) for value in self.values.tolist()]
        return names + ["missing" if "missing" not in names else "missing value"] * self.has_missing

    def state(self) -> dict[str, Any]:
        """As plain JSON."""
        values = labels_state(self.values) if len(self.values) else None
        return {"values": values, "has_missing": self.has_missing}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Back from JSON that anyone may have written."""
        if not isinstance(state, dict):
            raise CorruptModelError("they are no object")
        require_known(state, {"has_missing", "values"})
        has_missing = entry(state, "has_missing", bool)
        values = None if state.get("values", 0) is None else entry(state, "values", dict)
        categories = cls(np.empty(0) if values is None else labels_from(values), has_missing)
        if values is not None and len(categories.values) == 0:
            raise CorruptModelError("their list is empty")
        # The core takes a feature without categories for a numeric one.
        if not 1 <= len(categories) <= MAX_CATEGORIES:
            raise CorruptModelError(f"there are {len(categories)} of them")
        return categories


@dataclass(frozen=True, eq=False)
class Columns:
    """The features: the categories of each categorical one, None for each numeric one."""

    categories: tuple[Categories | None, ...]

    @classmethod
    def numeric(cls, n_features: int) -> Self:
        """So many numeric features."""
        return cls((None,) * n_features)

    def __len__(self) -> int:
        return len(self.categories)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all features are numeric."""
        return all(categories is None for categories in self.categories)

    @property
    def n_categories(self) -> NDArray[np.uint32]:
        """The number of categories of each feature, 0 for numeric ones."""
        return np.array([0 if its is None else len(its) for its in self.categories], dtype=np.uint32)

    @property
    def n_attributes(self) -> int:
        """The number of attributes of all features."""
        return int(np.maximum(self.n_categories, 1).sum(dtype=np.int64))

    def feature_of_attribute(self) -> NDArray[np.int64]:
        """For each attribute the feature that it belongs to."""
        return np.repeat(np.arange(len(self.categories)), np.maximum(self.n_categories, 1)).astype(np.int64)

    def attribute_names(self, feature_names: Sequence[str]) -> list[str]:
        """For each attribute its name: that of its feature, and of its category if it has one, as in "colour=red"."""
        names: list[str] = []
        for feature, categories in zip(feature_names, self.categories, strict=True):
            names += [feature] if categories is None else [f"{feature}={name}" for name in categories.names()]
        return names

    def one_hot(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """An encoded matrix as trees see it, with one column for each attribute."""
        attributes = np.zeros((len(matrix), self.n_attributes), dtype=np.float32)
        begin = 0
        for column, categories in zip(matrix.T, self.categories, strict=True):
            if categories is None:
                attributes[:, begin] = column
            else:
                known = np.flatnonzero(~np.isnan(column))
                attributes[known, begin + column[known].astype(np.int64)] = 1
            begin += 1 if categories is None else len(categories)
        return attributes

    def decoded(self, matrix: NDArray[np.float32]) -> NDArray[Any]:
        """An encoded matrix with the values that it stands for: objects if some are categories."""
        if self.is_numeric:
            return matrix
        values = matrix.astype(object)
        for feature, categories in enumerate(self.categories):
            if categories is not None:
                listed = np.array([*categories.listed(), None], dtype=object)
                numbers = np.nan_to_num(matrix[:, feature], nan=len(categories)).astype(np.int64)
                values[:, feature] = listed[numbers]
        return values

    def only_used(self, is_used: NDArray[np.bool_]) -> tuple[Self, NDArray[np.uint32]]:
        """The same features without the categories that are not in use, and the numbers of the attributes left.

        Numeric features stay, and so does one attribute of each feature.
        """
        kept = is_used.copy()
        slim: list[Categories | None] = []
        begin = 0
        for categories in self.categories:
            its = slice(begin, begin + (1 if categories is None else len(categories)))
            slim.append(None if categories is None else categories.only(is_used[its]))
            kept[begin] |= categories is None or not is_used[its].any()
            begin = its.stop
        return type(self)(tuple(slim)), np.flatnonzero(kept).astype(np.uint32)

    def renamed(self, categories: Sequence[Sequence[Any] | None], places: Sequence[str]) -> Self:
        """The same features, whose categories have other names."""
        given = tuple(
            None if its is None else Categories.given(list(its), f"column {place!r}")
            for its, place in zip(categories, places, strict=False)
        )
        if [its and len(its) for its in given] != [its and len(its) for its in self.categories]:
            raise InvalidInputError("Give as many categories for each column as it has, and None for a numeric one.")
        return type(self)(given)

    def choice_when_encoded(self) -> dict[int, list[int]] | None:
        """What `categorical_features` must be to read an encoded matrix back."""
        n_by_feature = enumerate(self.n_categories.tolist())
        return None if self.is_numeric else {feature: list(range(n)) for feature, n in n_by_feature if n}

    def state(self) -> list[Any] | None:
        """As plain JSON; None if all features are numeric."""
        return None if self.is_numeric else [None if its is None else its.state() for its in self.categories]

    @classmethod
    def from_state(cls, state: Any, n_features: int) -> Self:
        """Back from JSON that anyone may have written."""
        if state is None:
            return cls.numeric(n_features)
        if not isinstance(state, list) or len(state) != n_features:
            raise CorruptModelError(f"it has no categories for each of its {n_features} features")
        return cls(tuple(_categories_from(its, feature) for feature, its in enumerate(state)))


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows that are encoded already, by somebody who knows their features; taken wherever an estimator takes X."""

    matrix: NDArray[np.float32]
    names: Sequence[str] = ()  # these two only for `fit`
    columns: Columns = field(default_factory=lambda: Columns(()))


def columns_section(columns: Columns) -> dict[str, bytes]:
    """The section of a file that holds the categories; there is none if all features are numeric."""
    state = columns.state()
    return {} if state is None else {CATEGORIES: json_section({"features": state})}


def columns_from(sections: Mapping[str, memoryview], n_features: int) -> Columns:
    """The features that a file describes."""
    if CATEGORIES not in sections:
        return Columns.numeric(n_features)
    state = read_json(sections[CATEGORIES])
    require_known(state, {"features"})
    return Columns.from_state(entry(state, "features", list), n_features)


def _categories_from(state: Any, feature: int) -> Categories | None:
    try:
        return None if state is None else Categories.from_state(state)
    except CorruptModelError as error:
        raise CorruptModelError(f"the categories of its feature {feature} cannot be used: {error.reason}") from None


def looks_like_names(n_texts: int, n_rows: int) -> bool:
    """Whether a column of so many different texts seems to hold names or dates, and not categories."""
    return n_texts > max(MANY_TEXTS, n_rows // 10)


# -------------------------------------------------------------------------------------------------- reading the whole X


def learned_columns(
    estimator: Any, X: Any, categorical_features: Any, sample_weight: ArrayLike | None = None
) -> tuple[Columns, NDArray[np.float32]]:
    """At fit: which features are categorical, their categories, and the rows. Learns names and number of features.

    Rows of weight 0 are no rows: nothing is learned from them.
    """
    if isinstance(X, Coded):
        estimator.n_features_in_, estimator.feature_names_in_ = len(X.columns), np.array(X.names, dtype=object)
        return X.columns, X.matrix
    table = _table(X)
    if table is None and (categorical_features is None or _is_from_dtype(categorical_features)):
        matrix = float32_matrix(estimator, X, reset=True)
        return Columns.numeric(matrix.shape[1]), matrix
    source = _source(estimator, X, table, reset=True)
    choice = _choice(categorical_features, source)
    if not choice and _is_plain(source):
        return Columns.numeric(source.shape[1]), float32_matrix(estimator, X, reset=True)
    _require_dense(source)
    counted = _counted(source, sample_weight)
    columns = Columns(tuple(_feature_categories(counted, i, choice) for i in range(source.shape[1])))
    return columns, _matrix(source, columns)


def features_to_learn(categorical_features: Any, X: Any) -> list[str]:
    """The names of those columns of a table whose categories `fit` would learn from the rows."""
    table = _table(X)
    assert table is not None
    choice = _choice(categorical_features, table)
    return [table.columns[feature] for feature, listed in choice.items() if listed is None]


def encoded(estimator: Any, X: Any, columns: Columns) -> NDArray[np.float32]:
    """After fit: the rows, with known categories. Checks names and number of features."""
    if isinstance(X, Coded):
        return X.matrix
    if _needs_no_checks(estimator, X, columns):
        return finite_float32(X)
    table = _table(X)
    if columns.is_numeric and (table is None or _is_plain(table)):
        return float32_matrix(estimator, X, reset=False)
    source = _source(estimator, X, table, reset=False)
    _require_dense(source)
    return _matrix(source, columns)


def _needs_no_checks(estimator: Any, X: Any, columns: Columns) -> bool:
    """Whether X is an array of floats of the right shape: all else takes longer to find out than a row to predict."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.shape[1] == len(columns)
        and columns.is_numeric
        and not hasattr(estimator, "feature_names_in_")
    )


def _counted(source: Source, sample_weight: ArrayLike | None) -> Source:
    weights = weight_array(sample_weight, source.shape[0])
    if weights is None or not weights.any():
        return source
    return source.filter((weights > 0).tolist()) if isinstance(source, nw.DataFrame) else source[weights > 0]


def _table(X: Any) -> nw.DataFrame[Any] | None:
    if not nw.dependencies.is_into_dataframe(X):
        return None
    try:
        table: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    except ValueError as error:
        raise InvalidInputError(f"X cannot be read as a table; name each column once. {error}") from None
    if not table.columns:
        raise InvalidInputError("X has 0 feature(s): a table needs at least one column.")
    return table


def _source(estimator: Any, X: Any, table: nw.DataFrame[Any] | None, *, reset: bool) -> Source:
    """X as something that can be read column by column, with names and number of columns checked, or learned."""
    from sklearn.utils.validation import validate_data

    if table is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return table
    if not reset and isinstance(X, list | tuple) and len(X) == 0:
        return np.empty((0, estimator.n_features_in_))
    # In an array made of a list, NumPy would turn numbers beside strings into strings.
    dtype = object if isinstance(X, list | tuple) else None
    checks = {"ensure_all_finite": False, "ensure_min_samples": 0, "accept_sparse": "csr"}
    array: NDArray[Any] = validate_data(estimator, X, reset=reset, dtype=dtype, **checks)
    return array


def _is_plain(source: Source) -> bool:
    """Whether scikit-learn reads this as numbers without losing anything: all but tables with unusual columns."""
    if not isinstance(source, nw.DataFrame):
        return True
    dtypes = source.schema.values()
    is_pandas = source.implementation.is_pandas_like()
    return is_pandas and all(dtype.is_numeric() or isinstance(dtype, nw.Boolean) for dtype in dtypes)


def _require_dense(source: Source) -> None:
    from scipy.sparse import issparse

    if issparse(source):
        raise InvalidInputError(
            "X is sparse, but has categorical features. Give a table or an array, such as X.toarray()."
        )


def _matrix(source: Source, columns: Columns) -> NDArray[np.float32]:
    matrix = np.empty((len(source), len(columns.categories)), dtype=np.float32)
    for feature, categories in enumerate(columns.categories):
        matrix[:, feature] = encoded_column(source[:, feature], categories, feature, _place(source, feature))
    return matrix


def encoded_column(column: Column, categories: Categories | None, feature: int, place: str) -> NDArray[np.float32]:
    """One column as the forest keeps it: numbers, or numbers of categories. `place` is how messages name it."""
    if categories is not None:
        return categories.encode(column)
    return finite_float32(_numbers(column, place)[:, np.newaxis], feature)[:, 0]


def _place(source: Source, feature: int) -> str:
    """How messages name a feature."""
    return f"X[{source.columns[feature]!r}]" if isinstance(source, nw.DataFrame) else f"X[:, {feature}]"


# -------------------------------------------------------------------------------------------------- reading one column


def _present(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values that are not null, and which ones are.

    NumPy has no nulls: integers beside them would become floats, and entries of dictionaries just any entry.
    """
    is_null = series.is_null()
    return series.filter(~is_null).to_numpy(), is_null.to_numpy().astype(bool)


def _declared(column: Column) -> list[Any] | None:
    """The categories that the dtype of a column declares, if it does.

    Read from the native dtype, as narwhals gives them as strings, and only those that occur.
    """
    if not isinstance(column, nw.Series) or not _is_categorical(column.dtype):
        return None
    # The dtypes of polars' Categorical and of arrow's dictionaries share or collect values, but declare none.
    is_declared = column.implementation.is_pandas_like() or isinstance(column.dtype, nw.Enum)
    declared = getattr(column.to_native().dtype, "categories", None) if is_declared else None
    return None if declared is None else list(declared)


def _coded(column: Column) -> tuple[NDArray[Any], NDArray[np.integer[Any]]] | None:
    """The values that the dtype of a pandas column declares, and the place of each row's among them, -1 for none."""
    if not isinstance(column, nw.Series) or not column.implementation.is_pandas() or _declared(column) is None:
        return None
    series = column.to_native()
    return series.dtype.categories.to_numpy(), series.cat.codes.to_numpy()


def _is_categorical(dtype: Any) -> bool:
    return isinstance(dtype, nw.Categorical | nw.Enum)


def _distinct(column: Column, place: str) -> tuple[list[Any], bool]:
    """The distinct values of a column, or those that it declares, in any order, and whether it misses some."""
    if (coded := _coded(column)) is not None:
        return coded[0].tolist(), bool((coded[1] < 0).any())
    if isinstance(column, nw.Series):
        present, is_null = _present(column)
        values, has_missing = _distinct(present, place)
        return values, has_missing or bool(is_null.any())
    if column.dtype.kind not in NUMERIC + "UO":
        raise InvalidInputError(
            f"{place} is of type {column.dtype}, but categories must be strings or numbers. Convert them to strings."
        )
    if column.dtype != object:
        values = np.unique(column).tolist()
    else:
        try:
            values = list(set(column.tolist()))
        except TypeError as error:
            raise InvalidInputError(
                f"{place} holds values that cannot be categories ({error}). Convert them to strings."
            ) from None
    present_values = [value for value in values if not is_missing(value)]
    return present_values, len(present_values) < len(values)


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind not in "fO":
        return np.zeros(len(values), dtype=bool)
    return np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=len(values))


def _typed(values: list[Any], place: str) -> NDArray[Any]:
    """Distinct categories as an array of their own type, which does not depend on the container that they came in."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not plain:
        return np.empty(0)
    if all(isinstance(value, str) for value in plain):
        array = _typed_strings(plain, place)
    elif all(isinstance(value, NUMBER) for value in plain):
        array = _typed_numbers(plain, place)
    else:
        types = sorted({type(value).__name__ for value in plain})
        raise InvalidInputError(
            f"The categories of {place} are of the types {shown(types)}, but must be all strings or all numbers. "
            "Convert them to strings."
        )
    repeated = [value for value, n in Counter(plain).items() if n > 1]
    if repeated:
        raise InvalidInputError(f"The categories of {place} list {shown(map(repr, repeated))} twice; list each once.")
    return array


def _typed_strings(values: list[str], place: str) -> NDArray[Any]:
    if not pads_well(values):
        longest = max(map(len, values))
        raise InvalidInputError(
            f"{place} has {len(values)} categories of up to {longest} characters, which is too much. Shorten them."
        )
    for value in values:
        if value.endswith("\0") or not is_unicode(value):
            raise InvalidInputError(
                f"{place} has the category {value!r}, which cannot be stored: it ends in a zero character, or is not "
                "valid Unicode. Replace it."
            )
    return np.array(values, dtype=str)


def _typed_numbers(values: list[Any], place: str) -> NDArray[Any]:
    """Whole numbers as integers: tables turn them into floats when some are missing."""
    for value in values:
        if value in (math.inf, -math.inf):
            raise InvalidInputError(f"{place} holds {value}, which is no category. Use NaN for a missing value.")
    try:
        array = np.array(values, dtype=_number_type(values))
    except OverflowError:
        array = np.empty(0)
    if array.tolist() != values:
        raise InvalidInputError(
            f"The categories of {place} are numbers that no type of NumPy holds exactly. Convert them to strings."
        )
    return array + array.dtype.type(0) if array.dtype.kind == "f" else array  # there is one zero


def _number_type(values: list[Any]) -> type[np.generic]:
    if all(isinstance(value, bool) for value in values):
        return np.bool_
    are_whole = all(value == int(value) for value in values)
    least, greatest = min(values), max(values)
    if are_whole and least >= -(2**63) and greatest < 2**63:
        return np.int64
    return np.uint64 if are_whole and least >= 0 and greatest < 2**64 else np.float64


def _numbers(column: Column, place: str) -> NDArray[Any]:
    """A numeric column, with NaN where values are missing."""
    if isinstance(column, nw.Series):
        present, is_null = _present(column)
        if not is_null.any():
            return _numbers(present, place)
        numbers = np.full(len(is_null), np.nan)
        numbers[~is_null] = _numbers(present, place)
        return numbers
    if column.dtype.kind in NUMERIC:
        return column
    if column.dtype.kind in TEMPORAL:
        return days(column)
    if column.dtype == object and set(map(type, column)) <= PLAIN_NUMBERS:
        with suppress(OverflowError):
            return column.astype(np.float64)  # None is NaN
    values = column.tolist() if column.dtype == object else list(column)  # `tolist` turns some dates into integers
    return np.array([_number(value, place) for value in values], dtype=np.float64)


def _number(value: Any, place: str) -> float:
    if isinstance(value, (*NUMBER, Decimal)):
        try:
            return float(value)
        except OverflowError:
            return math.inf  # refused together with other values that are too large
    if is_missing(value):
        return math.nan
    in_days = days_of(value)
    return _refuse(value, place) if in_days is None else in_days


def _refuse(value: Any, place: str) -> NoReturn:
    if isinstance(value, str):
        raise InvalidInputError(
            f"{place} holds text, such as {str(value)!r}. To use it as categories, name it in `categorical_features`, "
            'or make it a column of a category dtype with categorical_features="from_dtype". If not, turn it into '
            "numbers."
        )
    raise InvalidInputError(
        f"{place} holds {value!r} of the type {type(value).__name__}, which is not a number. Turn it into numbers; or "
        "into strings, and name it in `categorical_features`, to use it as categories."
    )


# ------------------------------------------------------------------------------------------ which ones are categorical


def _feature_categories(source: Source, feature: int, choice: Choice) -> Categories | None:
    if feature not in choice:
        return None
    place = _place(source, feature)
    listed = choice[feature]
    return Categories.learned(source[:, feature], place) if listed is None else Categories.given(listed, place)


def _is_from_dtype(rule: Any) -> bool:
    return isinstance(rule, str) and rule == "from_dtype"


def _choice(rule: Any, source: Source) -> Choice:
    """The features that `categorical_features` means."""
    if rule is None:
        return {}
    if _is_from_dtype(rule):
        dtypes = source.schema.values() if isinstance(source, nw.DataFrame) else ()
        return {feature: None for feature, dtype in enumerate(dtypes) if _is_categorical(dtype)}
    if isinstance(rule, Mapping):
        listed = [(_feature(key, source), _listed(key, given)) for key, given in rule.items()]
        if len(dict(listed)) < len(listed):
            raise InvalidInputError(f"categorical_features names a feature twice, by name and by index: {rule!r}.")
        return dict(listed)
    if isinstance(rule, str | bytes | Set) or not isinstance(rule, Iterable):
        _refuse_rule(rule)
    entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in rule]
    if entries and all(isinstance(entry, bool) for entry in entries):
        return _masked(entries, source.shape[1])
    if any(isinstance(entry, bool) or not isinstance(entry, str | int) for entry in entries):
        _refuse_rule(rule)
    return {_feature(entry, source): None for entry in entries}


def _refuse_rule(rule: Any) -> NoReturn:
    raise InvalidInputError(
        'categorical_features must be "from_dtype", None, a list of names, indices or bools, or a dict from names or '
        f"indices to lists of categories, but is {rule!r}."
    )


def _masked(mask: list[bool], n_features: int) -> Choice:
    if len(mask) != n_features:
        raise InvalidInputError(
            f"categorical_features is a mask of {len(mask)} bools, but X has {n_features} features; give one for each."
        )
    return {feature: None for feature, is_categorical in enumerate(mask) if is_categorical}


def _feature(key: Any, source: Source) -> int:
    """The index of a feature that is named, or given by its index."""
    n_features = source.shape[1]
    if isinstance(key, INTEGER) and not isinstance(key, bool):
        if not 0 <= key < n_features:
            raise InvalidInputError(
                f"categorical_features names the feature {key}, but the features of X go from 0 to {n_features - 1}."
            )
        return int(key)
    if not isinstance(key, str):
        raise InvalidInputError(f"categorical_features names {key!r}, which is neither a name nor an index.")
    names = source.columns if isinstance(source, nw.DataFrame) else []
    if not all(isinstance(name, str) for name in names) or not names:
        raise InvalidInputError(
            f"categorical_features names {key!r}, but X has no names of features. Give a table that has, or indices."
        )
    if key not in names:
        raise InvalidInputError(f"categorical_features names {key!r}, but the features of X are {shown(names)}.")
    return names.index(key)


def _listed(key: Any, given: Any) -> list[Any] | None:
    """The categories that the user lists, None for "auto"."""
    if isinstance(given, str) and given == "auto":
        return None
    # A set of strings has another order each time that Python runs.
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f'categorical_features[{key!r}] must be "auto" or a list of categories, but is {given!r}.'
        )
    return list(given)
