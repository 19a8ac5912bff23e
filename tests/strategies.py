"""Hypothesis strategies for tiny hostile data sets and for every parameter that may meet them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from deciduous import DareForestClassifier, DareForestRegressor
from reference import FixedPoint, ReferenceParams, fixed_point_of, target_range
from reference.targets import LARGEST_TARGET

Forest = DareForestClassifier | DareForestRegressor
KINDS: list[type[Forest]] = [DareForestClassifier, DareForestRegressor]
Values = tuple[float, ...]
Label = int | str | float  # a float is a target of a regressor
Row = tuple[Values, Label, int]  # the last is its weight
ClassWeight = dict[Label, float] | str | None
Categories = dict[int, list[float]]  # of the categorical columns
Columns = tuple[int, SearchStrategy[Values], Categories]  # how many they are and what is in them
Options = dict[str, Any]
Tuning = dict[str, float]

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
AFTER_ONE = float(np.nextafter(np.float32(1), np.float32(2)))
BEFORE_ONE = float(np.nextafter(np.float32(1), np.float32(0)))

COLUMN_VALUES = {
    "constant": [1.5],
    "binary": [0.0, 1.0],
    "ties": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    "signed zeros": [-0.0, 0.0, 1.0, -1.0],
    "numbers and NaN": [math.nan, 0.0, 1.0, 2.0],
    "one number and NaN": [math.nan, 5.0],
    "denormal": [-2 * SMALLEST, -SMALLEST, -0.0, SMALLEST, 2 * SMALLEST, 1e-38],
    "huge": [-LARGEST, -3e38, 0.0, 1.0, 3e38, LARGEST],
    "huge and tiny": [-LARGEST, -SMALLEST, SMALLEST, LARGEST, math.nan],
    "neighbours": [BEFORE_ONE, 1.0, AFTER_ONE, -1.0],
}

# Lists of categories, and values of their columns: some are not listed, and so of no category.
CATEGORY_VALUES: dict[str, tuple[list[float], list[float]]] = {
    "one category": ([3.0], [3.0, 4.0]),
    "one category that all rows have": ([7.0], [7.0]),
    "one category that no row has": ([9.0], [1.0, 2.0]),
    "two, in descending order": ([1.0, 0.0], [0.0, 1.0]),
    "some are unknown": ([2.0, 0.0, 5.0], [0.0, 1.0, 2.0, 3.0, 5.0]),
    "all are unknown but one": ([4.0, 6.0], [0.0, 1.0, 2.0, 3.0, 4.0]),
    "missing is a category": ([1.0, math.nan, 2.0], [1.0, 2.0, math.nan]),
    "nothing but missing is a category": ([math.nan], [0.0, 1.0, math.nan]),
    "missing is none": ([0.0, 1.0], [0.0, 1.0, math.nan]),
    "halves and negative numbers": ([-0.5, -0.0, 1.5, -2.0], [-2.0, -0.5, -0.0, 0.0, 1.5]),
    "more categories than rows": ([float(i) for i in range(40)], [float(i) for i in range(0, 50, 3)]),
}

LABELS: list[list[Label]] = [
    [0],
    [0, 1],
    [0] * 15 + [1],
    [-3, 0, 7],
    [0, 1, 2, 3, 4],
    ["no", "yes"],
    ["b", "a long label", "", "ä", "10"],
]

# For regressors. Some that differ are one number in fixed point.
TARGETS: list[list[Label]] = [
    [7.25],
    [0.0, -0.0],
    [0.0, 1.0],
    [3.5] * 15 + [3.75],
    [0.1, float(np.nextafter(0.1, 1)), 0.1 + 1e-9, 0.2],
    [-3.0, -2.0, -1.5, -1e6],
    [-1.0, 0.0, 0.5, 2.0, 100.0],
    [math.sin(i) * 10 ** (i % 3) for i in range(60)],
    [-1e300, -7e299, 0.0, 1.0, 3e299, 1e300],
    [1e300, 9.99e299, 9.9999999999e299],
    [1e-30, -1e-30, 3e-30, 0.0, 1e-40],
    [0.0, 5e-324, 1e-300, 2e-300, -1e-290],
    [1e300, 1e-30, -1e-300, -1.0, 2e15],
]

NUMERIC_COLUMNS: SearchStrategy[SearchStrategy[float]] = st.sampled_from(list(COLUMN_VALUES.values())).map(
    st.sampled_from
) | st.just(st.floats(width=32, allow_infinity=False))

# Rows mostly count once; rows of weight 0 are none.
WEIGHTS = [[1], [1], [1], [1, 1, 1, 2], [0, 1, 2, 3], [1, 7, 1000]]
# Counts are kept in 8, 16 or 32 bits: some rows bring them to those limits, and two together beyond.
HEAVY_WEIGHTS = [[1, 1, 1, 1, 128, 255, 256], [1, 1, 1, 1, 1, 33_000, 40_000, 65_535], [1, 1, 2**21 + 1]]

# Weights that are no whole numbers, by the unit that they are rounded to multiples of.
REAL_WEIGHTS = {2**-8: [[0.25, 1, 2.5], [0, 1e-9, 0.7]], 0.3: [[0.1, 0.45, 1, 77.7]]}

ROW_IDS = st.integers(-20, 60) | st.sampled_from([-(2**62), -(2**40), 2**32, 2**53 + 1, 2**62])


@dataclass(frozen=True)
class Table:
    """Where the rows of one data set come from, now and in later additions."""

    n_columns: int
    values: SearchStrategy[Values]
    labels: list[Label]
    weights: SearchStrategy[int]
    categories: Categories = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """Rows to fit on."""

    ids: np.ndarray
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None  # all of them 1
    categories: Categories = field(default_factory=dict)

    def where(self, chosen: np.ndarray) -> "Dataset":
        """The rows for which `chosen` holds."""
        weights = None if self.weights is None else self.weights[chosen]
        return Dataset(self.ids[chosen], self.X[chosen], self.y[chosen], weights, self.categories)

    def one_hot(self) -> "Dataset":
        """The same rows with a column for each attribute."""
        if not self.categories:
            return self
        return Dataset(self.ids, attributes_of(self.X, self.categories), self.y, self.weights)


def one_hot(n_columns: int, category: int) -> Values:
    """The indicators of a category."""
    return tuple(float(column == category) for column in range(n_columns))


def n_attributes(n_columns: int, categories: Categories) -> int:
    """How many attributes so many columns have: each category is one."""
    return n_columns - len(categories) + sum(map(len, categories.values()))


def attributes_of(X: np.ndarray, categories: Categories) -> np.ndarray:
    """The one-hot matrix: column by column, category by category in the order of the list, the missing value last."""
    attributes: list[list[float]] = []
    for number, column in enumerate(X.T.tolist()):
        if number not in categories:
            attributes.append(column)
            continue
        listed = categories[number]
        attributes += [[float(value == its) for value in column] for its in listed if not math.isnan(its)]
        attributes += [[float(math.isnan(value)) for value in column] for its in listed if math.isnan(its)]
    return np.array(attributes, dtype=np.float32).T.reshape(len(X), len(attributes))


@st.composite
def mixed_columns(draw: st.DrawFn) -> Columns:
    """Up to five numeric columns, each with troubles of its own."""
    columns = draw(st.lists(NUMERIC_COLUMNS, min_size=1, max_size=5))
    return len(columns), st.tuples(*columns), {}


@st.composite
def categorical_columns(draw: st.DrawFn) -> Columns:
    """Up to five columns, at least one of them categorical."""
    kinds = draw(st.lists(st.sampled_from(list(CATEGORY_VALUES)) | st.none(), min_size=1, max_size=5).filter(any))
    listed = {number: CATEGORY_VALUES[kind][0] for number, kind in enumerate(kinds) if kind is not None}
    columns = [draw(NUMERIC_COLUMNS) if kind is None else st.sampled_from(CATEGORY_VALUES[kind][1]) for kind in kinds]
    return len(columns), st.tuples(*columns), listed


@st.composite
def one_hot_columns(draw: st.DrawFn) -> Columns:
    """More columns than rows, nearly all of them constant at any node."""
    n_columns = draw(st.integers(6, 30))
    return n_columns, st.integers(0, n_columns - 1).map(lambda category: one_hot(n_columns, category)), {}


@st.composite
def tables(draw: st.DrawFn, weights: list[list[int]] = WEIGHTS, labels: Sequence[list[Label]] = LABELS) -> Table:
    """A kind of data set; `weights` and `labels` are choices for those of its rows."""
    n_columns, values, categories = draw(
        mixed_columns() | mixed_columns() | one_hot_columns() | categorical_columns() | categorical_columns()
    )
    its_labels, its_weights = draw(st.sampled_from(labels)), draw(st.sampled_from(weights))
    return Table(n_columns, values, its_labels, st.sampled_from(its_weights), categories)


@st.composite
def row_contents(draw: st.DrawFn, table: Table, min_size: int = 1, max_size: int = 24) -> list[Row]:
    """Values, labels and weights of rows, with many rows of the same values."""
    distinct = draw(st.lists(table.values, min_size=1, max_size=max_size))
    row = st.tuples(st.sampled_from(distinct), st.sampled_from(table.labels), table.weights)
    return draw(st.lists(row, min_size=min_size, max_size=max_size))


@st.composite
def datasets(draw: st.DrawFn, weights: list[list[int]] = WEIGHTS, labels: Sequence[list[Label]] = LABELS) -> Dataset:
    """Rows in any order under any ids; with `TARGETS` as labels, rows of a regressor."""
    table = draw(tables(weights, labels))
    contents = draw(row_contents(table).filter(holds_a_row))
    ids = draw(st.lists(ROW_IDS, min_size=len(contents), max_size=len(contents), unique=True))
    return dataset_of(dict(zip(ids, contents, strict=True)), table.categories)


def holds_a_row(contents: list[Row]) -> bool:
    """Whether not all weights are 0."""
    return any(weight > 0 for _, _, weight in contents)


def dataset_of(rows: dict[int, Row], categories: Categories | None = None) -> Dataset:
    """The arrays of these rows."""
    return Dataset(
        ids=np.array(list(rows), dtype=np.int64),
        X=np.array([values for values, _, _ in rows.values()], dtype=np.float32),
        y=np.array([label for _, label, _ in rows.values()]),
        weights=np.array([weight for _, _, weight in rows.values()]) if rows else np.empty(0, np.int64),
        categories=categories or {},
    )


def class_weights(labels: list[Label]) -> SearchStrategy[ClassWeight]:
    """Mostly none; dicts name some of the classes, be there rows of them or not."""
    dicts = st.dictionaries(st.sampled_from(labels), st.sampled_from([0.3, 1, 7.5]))
    return st.none() | st.none() | dicts | st.just("balanced")


def target_ranges(targets: list[Any]) -> SearchStrategy[tuple[float, float] | None]:
    """Mostly that of the rows of `fit`, or one that has all targets, or more."""
    low, high = min(targets), max(targets)
    wider = (max(low - abs(low), -LARGEST_TARGET), min(high + 1.0, LARGEST_TARGET))
    return st.sampled_from([None, None, (low, high), wider])


@st.composite
def options_of_targets(draw: st.DrawFn, labels: list[Label]) -> Options:
    """The parameters that only a classifier, or only a regressor, has."""
    if isinstance(labels[0], float):
        return {"criterion": "squared_error", "target_range": draw(target_ranges(labels))}
    return {
        "criterion": draw(st.sampled_from(["gini", "entropy"])),
        "stability": draw(st.sampled_from([0.0, 0.0, 0.02, 1, 30.5])),
        "class_weight": draw(class_weights(labels)),
    }


@st.composite
def forest_options(
    draw: st.DrawFn, n_columns: int, labels: list[Label], categories: Categories | None = None
) -> Options:
    """Every parameter that decides what the forest is: a regressor if the labels are floats."""
    candidates = draw(st.sampled_from(["valid", "uniform"]))
    n_thresholds = st.sampled_from([1, 2, 3, 25])
    return {
        "n_estimators": draw(st.integers(1, 6)),
        "max_depth": draw(st.sampled_from([1, 2, 4, 20])),
        "n_thresholds": draw(n_thresholds | st.none() if candidates == "valid" else n_thresholds),
        "random_depth": draw(st.sampled_from([0, 0, 1, 2, 20])),
        "max_features": draw(st.integers(1, n_attributes(n_columns, categories or {})) | st.just("sqrt")),
        "candidates": candidates,
        "min_samples_split": draw(st.sampled_from([2, 2, 3, 5])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 4])),
        "max_samples": draw(st.sampled_from([None, None, 0.25, 0.5, 0.75])),
        "categorical_features": categories or None,
        "random_state": draw(st.integers(0, 2**64 - 1)),
    } | draw(options_of_targets(labels))


def options_for(data: Dataset) -> SearchStrategy[Options]:
    """The same for forests that are trained on these rows."""
    return forest_options(data.X.shape[1], sorted(set(data.y.tolist())), data.categories)


# Sizes that decide when statistics are cached and candidates are sampled: small ones bring the machinery of
# large nodes to tiny data, large ones switch it off.
SIZES: dict[str, SearchStrategy[float]] = {
    "min_cached_rows": st.sampled_from([1, 2, 4, 8, 10_000]),
    "max_bytes_per_row": st.sampled_from([16, 1_000_000, 1_000_000]),
    "max_bytes_per_row_with_target": st.sampled_from([16, 1_000_000, 1_000_000]),
    "min_settled_rows": st.sampled_from([0, 3, 500]),
    "min_alternate_rows": st.sampled_from([1, 4, 100]),
    "max_alternate_share": st.sampled_from([0.5, 3.0]),
    "rows_per_change": st.sampled_from([0, 2, 16]),
    "min_postponed_rows": st.sampled_from([0, 4, 33]),
    "max_postponed_rows": st.sampled_from([0, 5, 512]),
    "max_batch_beside_alternates": st.sampled_from([0, 2, 16]),
    "max_small_rows": st.sampled_from([0, 3, 64]),
    "max_small_classes": st.sampled_from([2, 8]),
    "max_rows_with_bits": st.sampled_from([0, 5, 32_768]),
    "look_ups_per_sort": st.sampled_from([0, 3, 1_000_000]),
    "rows_per_look_up": st.sampled_from([0, 2]),
    "rows_per_target_look_up": st.sampled_from([0, 2, 20]),
    "rows_per_code": st.sampled_from([0, 1, 3, 1_000]),
    "max_codes": st.sampled_from([1, 3, 256]),
    "max_categories_with_bits": st.sampled_from([0, 2, 128]),
    "max_laid_out_values": st.sampled_from([0, 1 << 22]),
    "min_rows_for_threads": st.sampled_from([0, 256]),
    "reserve": st.sampled_from([0, 1, 5]),
    "max_waste": st.sampled_from([0.0, 0.25, 1000.0]),
}
TUNINGS: SearchStrategy[Tuning] = st.fixed_dictionaries(SIZES)


def is_regressor(options: Options) -> bool:
    """Whether the forest with these parameters has targets in place of classes."""
    return options.get("criterion") == "squared_error"


def predicted(forest: Any, X: np.ndarray) -> np.ndarray:
    """All that a forest predicts of rows, one column after the other: shares of classes, or means and quantiles."""
    if not hasattr(forest, "predict_interval"):
        return forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)
    return np.column_stack([forest.predict(X), forest.predict(X, quantiles=[0, 0.1, 0.5, 0.9, 1])])


def build_forest(options: Options, tuning: Tuning | None = None, **others: Any) -> Forest:
    """An unfitted forest of the kind of its criterion; `others` are parameters that must not matter."""
    kind = DareForestRegressor if is_regressor(options) else DareForestClassifier
    forest = kind(**options, **others)
    if tuning is not None:
        forest._tuning = tuning
    return forest


def train_forest(data: Dataset, options: Options, tuning: Tuning | None = None, **others: Any) -> Forest:
    """A forest trained on these rows with their weights."""
    forest = build_forest(options, tuning, **others)
    return forest.fit(data.X, data.y, ids=data.ids, sample_weight=data.weights)


def counted(data: Dataset) -> Dataset:
    """The rows of positive weight: all that a forest holds."""
    return data if data.weights is None else data.where(data.weights > 0)


def rows_by_class(data: Dataset, unit: float | None = None) -> Counter:
    """The number of rows of each class; a row counts as often as its weight has units."""
    weights = np.ones(len(data.ids), int) if data.weights is None else data.weights
    numbers = [max(1, round(Fraction(w) / Fraction(unit or 1))) if w else 0 for w in weights.tolist()]
    return sum((Counter({label: n}) for label, n in zip(data.y.tolist(), numbers, strict=True)), Counter())


def resolved_class_weight(
    class_weight: ClassWeight, data: Dataset, unit: float | None = None
) -> dict[Label, float] | None:
    """The class weights as numbers: "balanced" is n / (number of classes * n_y)."""
    if class_weight != "balanced":
        return class_weight
    counts = rows_by_class(data, unit)
    return {label: counts.total() / (len(counts) * n) for label, n in counts.items()}


def integer_class_weights(weights: dict[Label, float] | None, labels: Iterable[Label]) -> dict[Label, int] | None:
    """W_y of these classes: round(2^20 * w_y / u), half to even, and at least 1."""
    if weights is None:
        return None
    u = Fraction(max([1.0, *weights.values()]))
    return {label: max(1, round(2**20 * Fraction(weights.get(label, 1.0)) / u)) for label in labels}


def resolved_options(options: Options, data: Dataset) -> Options:
    """The same with what `fit` on these rows learns from all targets: a forest of part of them is the same with it."""
    if not is_regressor(options):
        unit = options.get("weight_unit")
        return options | {"class_weight": resolved_class_weight(options.get("class_weight"), data, unit)}
    return options | {"target_range": options.get("target_range") or target_range(data.y, data.weights)}


def fixed_point(options: Options, data: Dataset) -> FixedPoint:
    """What targets of the regressor of these rows are counted in."""
    return fixed_point_of(*resolved_options(options, data)["target_range"])


def reference_params(options: Options, data: Dataset) -> ReferenceParams:
    """The same parameters with everything that `fit` on these rows resolves as numbers; categories are one-hot."""
    numbers = resolved_options(options, data)
    for name in ("categorical_features", "target_range", "weight_unit"):
        numbers.pop(name, None)
    numbers["class_weights"] = integer_class_weights(numbers.pop("class_weight", None), rows_by_class(data))
    share = numbers.pop("max_samples")
    numbers["trees_per_row"] = math.ceil((1.0 if share is None else share) * options["n_estimators"])
    numbers["seed"] = numbers.pop("random_state")
    if numbers["max_features"] == "sqrt":
        numbers["max_features"] = max(1, math.isqrt(n_attributes(data.X.shape[1], data.categories)))
    return ReferenceParams(**numbers)
