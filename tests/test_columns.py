"""What users pass as X becomes one float32 matrix, whatever container it comes in, and categories are one-hot."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.preprocessing import OneHotEncoder

from deciduous import _columns
from deciduous._columns import Categories, Columns, columns_from, columns_section, encoded, learned_columns
from deciduous.errors import CorruptModelError, InvalidInputError

NAN = math.nan


class Estimator(BaseEstimator):
    """Something that scikit-learn can record names and numbers of features on."""


def learned(X: Any, categorical_features: Any = "from_dtype") -> tuple[Columns, np.ndarray, Estimator]:
    estimator = Estimator()
    columns, matrix = learned_columns(estimator, X, categorical_features)
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    return columns, matrix, estimator


def objects(rows: list[list[Any]]) -> np.ndarray:
    return np.array(rows, dtype=object)


def assert_same(one: np.ndarray, other: Any) -> None:
    np.testing.assert_array_equal(one, np.array(other, dtype=np.float32))


def refusal(X: Any, categorical_features: Any = "from_dtype") -> str:
    with pytest.raises(InvalidInputError) as caught:
        learned_columns(Estimator(), X, categorical_features)
    return str(caught.value)


# ------------------------------------------------------------------------------------------ as scikit-learn would do it

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "strings": st.sampled_from(["", "a", "B", "é", "zz", "1", "nan"]),
    "integers": st.integers(-3, 3) | st.sampled_from([2**53, 2**53 + 1, -(2**60)]),
    "floats": st.floats(-2, 2, width=16),
    "bools": st.booleans(),
}


@st.composite
def fit_and_test_columns(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    missing = draw(st.sampled_from([None, NAN]))
    column = st.lists(values | st.just(missing) if draw(st.booleans()) else values, min_size=1, max_size=12)
    return draw(column), draw(column)


@settings(max_examples=300, deadline=None)
@given(fit_and_test_columns(), fit_and_test_columns())
def test_attributes_are_those_of_scikit_learns_encoder(
    one: tuple[list[Any], list[Any]], other: tuple[list[Any], list[Any]]
) -> None:
    """Also for categories and missing values that were not there at fit, which have no indicator."""
    n_fit, n_test = (min(map(len, parts)) for parts in zip(one, other, strict=True))
    fit = objects([[a, b] for a, b in zip(one[0][:n_fit], other[0][:n_fit], strict=True)])
    test = objects([[a, b] for a, b in zip(one[1][:n_test], other[1][:n_test], strict=True)])
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(fit)
    columns, matrix, estimator = learned(fit, [0, 1])
    assert_same(columns.one_hot(matrix), encoder.transform(fit))
    assert_same(columns.one_hot(encoded(estimator, test, columns)), encoder.transform(test))
    assert columns.n_attributes == sum(map(len, encoder.categories_))


@settings(deadline=None)
@given(st.lists(st.floats(-2, 2, width=16) | st.just(NAN), min_size=1), st.lists(st.integers(-4, 4), min_size=1))
def test_categories_of_a_numeric_matrix_are_its_numbers(fit: list[float], test: list[int]) -> None:
    """In float32 as in float64; integers are equal to floats."""
    X = np.array(fit)[:, np.newaxis]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X)
    columns, matrix, estimator = learned(X.astype(np.float32), [0])
    assert_same(columns.one_hot(matrix), encoder.transform(X))
    Z = np.array(test)[:, np.newaxis]
    assert_same(columns.one_hot(encoded(estimator, Z, columns)), encoder.transform(Z.astype(float)))


def test_numeric_features_pass_between_indicators() -> None:
    """NaN is kept in them, and attributes are numbered in the order of the features."""
    X = objects([["b", 1.5, 7], [None, NAN, 7], ["a", 2, 9]])
    columns, matrix, _ = learned(X, [0, 2])
    assert_same(matrix, [[1, 1.5, 0], [2, NAN, 0], [0, 2, 1]])
    assert_same(columns.one_hot(matrix), [[0, 1, 0, 1.5, 1, 0], [0, 0, 1, NAN, 1, 0], [1, 0, 0, 2, 0, 1]])
    assert columns.feature_of_attribute().tolist() == [0, 0, 0, 1, 2, 2]
    assert columns.n_categories.tolist() == [3, 0, 2]
    assert columns.n_categories.dtype == np.uint32
    names = ["colour=a", "colour=b", "colour=missing", "size", "shape=7", "shape=9"]
    assert columns.attribute_names(["colour", "size", "shape"]) == names
    assert [None if its is None else its.listed() for its in columns.categories] == [["a", "b", None], None, [7, 9]]


# -------------------------------------------------------------------------------------------------------- any container

COLOURS = ["red", None, "blue", "red", "green"]
NUMBERS = [1, 2, None, 4, 5]
FLAGS = [True, False, None, True, False]
SIZES = [0.5, None, NAN, 2.0, -1.0]
NAMES = ["colour", "number", "flag", "size"]
EXPECTED = [[2, 1, 1, 0.5], [3, 2, 0, NAN], [0, NAN, NAN, NAN], [2, 4, 1, 2], [1, 5, 0, -1]]


def pandas_frame(**dtypes: Any) -> pandas.DataFrame:
    series = {name: pandas.Series(its, dtype=object) for name, its in zip(NAMES, all_columns(), strict=True)}
    return pandas.DataFrame({name: its.astype(dtypes.get(name, object)) for name, its in series.items()})


def all_columns() -> list[list[Any]]:
    return [COLOURS, NUMBERS, FLAGS, SIZES]


def polars_frame(colour: Any) -> polars.DataFrame:
    return polars.DataFrame(dict(zip(NAMES, all_columns(), strict=True)), strict=False).with_columns(
        polars.col("colour").cast(colour)
    )


def arrow_table() -> pyarrow.Table:
    table = pyarrow.table(dict(zip(NAMES, all_columns(), strict=True)))
    # Two chunks, each with a dictionary of its own.
    halves = [table.column("colour").slice(0, 2), table.column("colour").slice(2)]
    chunks = [half.combine_chunks().dictionary_encode() for half in halves]
    plain = [chunk.combine_chunks() if isinstance(chunk, pyarrow.ChunkedArray) else chunk for chunk in chunks]
    return table.set_column(0, "colour", pyarrow.chunked_array(plain))


def containers() -> dict[str, tuple[Any, Any]]:
    """The same rows in many ways, with what makes the first column categorical."""
    rows = [list(row) for row in zip(*all_columns(), strict=True)]
    nullable = {"number": "Int64", "flag": "boolean", "size": "Float64"}
    arrow = {"number": "int64[pyarrow]", "flag": "bool[pyarrow]", "size": "float64[pyarrow]"}
    dictionary = pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
    return {
        "list": (rows, [0]),
        "tuples": ([tuple(row) for row in rows], [True, False, False, False]),
        "objects": (objects(rows), [0]),
        "pandas": (pandas_frame(colour="category"), "from_dtype"),
        "pandas objects": (pandas_frame(), ["colour"]),
        "pandas strings": (pandas_frame(colour="string", **nullable), ["colour"]),
        "pandas nullable": (pandas_frame(colour="category", **nullable), "from_dtype"),
        "pandas arrow": (pandas_frame(colour=dictionary, **arrow), "from_dtype"),
        "pandas arrow strings": (pandas_frame(colour="string[pyarrow]", **arrow), [0]),
        "polars": (polars_frame(polars.Categorical), "from_dtype"),
        "polars enum": (polars_frame(polars.Enum(["blue", "green", "red"])), "from_dtype"),
        "polars strings": (polars_frame(polars.String), {"colour": "auto"}),
        "pyarrow": (arrow_table(), "from_dtype"),
        "pyarrow strings": (pyarrow.table(dict(zip(NAMES, all_columns(), strict=True))), np.array(["colour"])),
    }


@pytest.mark.parametrize("kind", containers())
def test_every_container_gives_the_same_matrix(kind: str) -> None:
    """At fit, and afterwards with the categories that any other container gave."""
    X, categorical_features = containers()[kind]
    columns, matrix, estimator = learned(X, categorical_features)
    assert_same(matrix, EXPECTED)
    assert columns.categories[0] is not None
    assert columns.categories[0].names() == ["blue", "green", "red", "missing"]
    has_names = kind not in ("list", "tuples", "objects")
    assert getattr(estimator, "feature_names_in_", np.array([])).tolist() == (NAMES if has_names else [])
    assert estimator.n_features_in_ == 4
    for other, _ in containers().values():
        if hasattr(other, "columns") == has_names:  # else scikit-learn warns about names
            assert_same(encoded(estimator, other, columns), EXPECTED)


@pytest.mark.parametrize("kind", ["pandas", "pandas nullable", "pandas arrow", "polars", "pyarrow", "sparse", "list"])
def test_tables_of_numbers_are_matrices(kind: str) -> None:
    """Without categories there is nothing to learn; nulls are NaN, and bools are 0 and 1."""
    frame = pandas.DataFrame({"i": [1, 2, 3], "f": [0.5, NAN, 2], "b": [True, False, True]})
    nulls = {"i": [1, None, 3], "f": [0.5, None, 2.0], "b": [True, None, False]}
    has_nulls = kind in ("pandas nullable", "pandas arrow", "polars", "pyarrow")
    X: Any = {
        "pandas": frame,
        "pandas nullable": pandas.DataFrame(nulls, dtype=object).astype({"i": "Int64", "f": "Float64", "b": "boolean"}),
        "pandas arrow": pyarrow.table(nulls).to_pandas(types_mapper=pandas.ArrowDtype),
        "polars": polars.DataFrame(nulls),
        "pyarrow": pyarrow.table(nulls),
        "sparse": csr_matrix(frame.to_numpy(dtype=float)),
        "list": frame.to_numpy(dtype=float).tolist(),
    }[kind]
    expected = [[1, 0.5, 1], [NAN, NAN, NAN], [3, 2, 0]] if has_nulls else [[1, 0.5, 1], [2, NAN, 0], [3, 2, 1]]
    for categorical_features in ("from_dtype", None, [], [False, False, False], {}):
        columns, matrix, estimator = learned(X, categorical_features)
        assert columns.is_numeric
        assert columns.n_attributes == len(columns) == 3
        assert_same(matrix, expected)
        assert_same(encoded(estimator, X, columns), expected)
        assert_same(columns.one_hot(matrix), expected)


def test_columns_of_unusual_numbers_are_numbers() -> None:
    """Decimals, numbers among objects, categories of numbers that are not wanted as such, sparse columns, nulls."""
    frame = polars.DataFrame({"d": [Decimal("1.5"), None], "n": [None, None]})
    assert_same(learned(frame)[1], [[1.5, NAN], [NAN, NAN]])
    unusual = pandas.DataFrame(
        {
            "o": pandas.Series([1, pandas.NA], dtype=object),
            "c": pandas.Categorical([3, 1]),
            "s": pandas.arrays.SparseArray([0.0, 1.0]),
        }
    ).set_axis([5, 5])
    assert_same(learned(unusual, None)[1], [[1, 3, 0], [NAN, 1, 1]])
    assert_same(learned(pyarrow.table({"n": pyarrow.nulls(2)}))[1], [[NAN], [NAN]])


def test_large_integers_beside_nulls_are_exact() -> None:
    """2**60 and 2**60 + 1 are one float, but two categories."""
    values = [2**60, None, 2**60 + 1]
    for X in (polars.DataFrame({"a": values}), pyarrow.table({"a": values}), [[value] for value in values]):
        columns, matrix, estimator = learned(X, [0])
        assert_same(matrix, [[0], [2], [1]])
        if isinstance(X, list):
            assert_same(encoded(estimator, np.array([[2.0**60], [NAN], [2.0**60]]), columns), [[0], [2], [0]])


def test_nulls_within_an_arrow_dictionary_are_missing() -> None:
    """Arrow allows null as an entry of the dictionary, too."""
    array = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, None, 2]), pyarrow.array(["q", None, "a"]))
    columns, matrix, _ = learned(pyarrow.table({"a": array}))
    assert_same(matrix, [[1], [2], [2], [0]])
    assert columns.attribute_names(["a"]) == ["a=a", "a=q", "a=missing"]


def test_names_of_features_are_checked_after_fit() -> None:
    """By scikit-learn, for every table."""
    for build in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        columns, _, estimator = learned(build({"a": ["x", "y"], "b": [1, 2]}), ["a"])
        with pytest.raises(ValueError, match="feature names"):
            encoded(estimator, build({"a": ["x"], "c": [1]}), columns)
        with pytest.raises(ValueError, match="feature names"):
            encoded(estimator, build({"b": [1], "a": ["x"]}), columns)
    columns, _, estimator = learned([["x", 1], ["y", 2]], [0])
    with pytest.raises(ValueError, match="has 1 features, but Estimator is expecting 2"):
        encoded(estimator, [["x"]], columns)


def test_names_of_columns_need_not_be_strings() -> None:
    """Then features have indices only, which count from the left."""
    frame = pandas.DataFrame({5: ["x", "y"], 0: [1, 2]})
    assert_same(learned(frame, [0])[1], [[0, 1], [1, 2]])
    assert "X[0] holds" not in refusal(frame, [1])
    assert "X[5] holds text, such as 'x'" in refusal(frame, [1])
    assert "has no names of features" in refusal(frame, ["x"])


def test_no_rows_are_no_problem_after_fit() -> None:
    """As an empty list, array or table."""
    columns, _, estimator = learned([["x", 1], ["y", 2]], [0])
    for X in ([], np.empty((0, 2)), objects([]).reshape(0, 2), polars.DataFrame({"a": [], "b": []})):
        if isinstance(X, polars.DataFrame):
            with pytest.warns(UserWarning, match="feature names"):
                assert encoded(estimator, X, columns).shape == (0, 2)
        else:
            assert encoded(estimator, X, columns).shape == (0, 2)


# ----------------------------------------------------------------------------------------------------------- categories


def test_unknown_values_of_any_type_are_none_of_the_categories() -> None:
    """Never an exception: not even for values that have no hash, or that are not equal to themselves."""
    columns, _, estimator = learned(objects([["a"], ["b"]]), [0])
    strange = [["c"], [1], [None], [NAN], [pandas.NA], [b"a"], [(1, [2])], [{}], [datetime.date(2020, 1, 1)], ["a"]]
    strange_column = np.empty((len(strange), 1), dtype=object)
    strange_column[:, 0] = [row[0] for row in strange]
    assert_same(encoded(estimator, strange_column, columns), [[NAN]] * 9 + [[0]])
    for X in (np.ones((2, 1)), np.array([["c"], ["d"]]), np.array([["a"]], dtype="S1"), np.zeros((1, 1), "M8[ns]")):
        assert np.isnan(encoded(estimator, X, columns)).all()


def test_dates_are_not_the_integers_that_numpy_makes_of_them() -> None:
    """The list of an array of nanoseconds holds integers."""
    columns, _, estimator = learned([[0], [1]], [0])
    assert np.isnan(encoded(estimator, np.zeros((1, 1), "M8[ns]"), columns)).all()


DAYS = [0.0, 1.5, NAN, -365.0]  # since 1970-01-01
POINTS = [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 2, 12), None, datetime.datetime(1969, 1, 1)]
SPANS = [datetime.timedelta(0), datetime.timedelta(hours=36), None, datetime.timedelta(days=-365)]


@pytest.mark.parametrize("values", [POINTS, SPANS], ids=["points in time", "durations"])
@pytest.mark.parametrize("make", ["pandas", "zoned", "polars", "pyarrow", "array"])
def test_times_are_days(make: str, values: list[Any]) -> None:
    """Of tables and arrays, with NaN for what is missing; times of a zone are those of UTC."""
    series = pandas.Series(values, dtype="M8[us]" if values is POINTS else "m8[us]")
    if make == "zoned" and values is POINTS:
        series = series.dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata")
    X: Any = pandas.DataFrame({"a": series})
    if make == "polars":
        X = polars.DataFrame({"a": values})
    elif make == "pyarrow":
        X = pyarrow.table({"a": values})
    elif make == "array":
        X = series.to_numpy()[:, np.newaxis]
    columns, matrix, estimator = learned(X, None)
    assert_same(matrix, [[day] for day in DAYS])
    assert_same(encoded(estimator, X, columns), [[day] for day in DAYS])


def test_dates_are_whole_days_and_times_of_day_are_parts_of_one() -> None:
    table = polars.DataFrame({"day": [datetime.date(2020, 1, 1)], "time": [datetime.time(6)]})
    _, matrix, _ = learned(table, None)
    assert_same(matrix, [[18262.0, 0.25]])


def test_strings_never_equal_numbers_but_numbers_of_all_types_do() -> None:
    """1, 1.0 and True are one category, "1" is another feature's."""
    columns, _, estimator = learned([[1], [2]], [0])
    values = [1, 1.0, True, "1", np.int8(2), np.float32(2), Decimal(2), 2.5]
    assert_same(encoded(estimator, [[value] for value in values], columns).T, [[0, 0, 0, NAN, 1, 1, 1, NAN]])
    columns, _, estimator = learned([["1"], ["2"]], [0])
    assert_same(encoded(estimator, [["1"], [1], ["1.0"]], columns), [[0], [NAN], [NAN]])


def test_a_missing_value_is_the_last_category_if_it_occurs_at_fit() -> None:
    """However it is written; else it is unknown."""
    missing = [[None], [NAN], [pandas.NA], [np.float32(NAN)]]
    columns, matrix, estimator = learned([*missing, ["a"]], [0])
    assert_same(matrix, [[1], [1], [1], [1], [0]])
    assert_same(encoded(estimator, np.array([[NAN], [0.0]]), columns), [[1], [NAN]])
    columns, _, estimator = learned([["a"]], [0])
    assert np.isnan(encoded(estimator, missing, columns)).all()


def test_a_feature_may_be_missing_altogether() -> None:
    """Then missing is its only category."""
    columns, matrix, _ = learned([[None], [None]], [0])
    assert_same(columns.one_hot(matrix), [[1], [1]])
    assert_same(learned(pandas.DataFrame({"a": pandas.Categorical([None, None])}))[1], [[0], [0]])


def test_declared_categories_keep_their_order_and_are_there_without_rows() -> None:
    """So that fitting on some of the rows gives the same attributes. Missing comes last, and only if it occurs."""
    colours = ["z", "b", "a"]
    for column in (
        pandas.Series(pandas.Categorical(["b", "a"], categories=colours)),
        pandas.Series(pandas.Categorical(["b", "a"], categories=colours, ordered=True)),
    ):
        frame = pandas.DataFrame({"c": column})
        columns, matrix, estimator = learned(frame)
        assert columns.attribute_names(["c"]) == ["c=z", "c=b", "c=a"]
        assert_same(matrix, [[1], [2]])
        assert columns.state() == learned(frame, {"c": "auto"})[0].state() == learned(frame.iloc[:1])[0].state()
        other = pandas.DataFrame({"c": pandas.Categorical(["a", "x", None, "z"], categories=["a", "x", "z"])})
        assert_same(encoded(estimator, other, columns), [[2], [NAN], [NAN], [0]])
    enum = polars.DataFrame({"c": polars.Series(["b", None], dtype=polars.Enum(colours))})
    assert learned(enum)[0].attribute_names(["c"]) == ["c=z", "c=b", "c=a", "c=missing"]
    numbers = pandas.DataFrame({"c": pandas.Categorical([3, None], categories=[5, 3])})
    assert learned(numbers)[0].attribute_names(["c"]) == ["c=5", "c=3", "c=missing"]


def test_categories_that_are_only_shared_are_learned() -> None:
    """The dictionaries of polars' Categorical and of arrow hold what happened to come along: the values count."""
    array = pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0]), pyarrow.array(["z", "q", "a"]))
    assert learned(pyarrow.table({"c": array}))[0].attribute_names(["c"]) == ["c=a", "c=z"]
    frame = polars.DataFrame({"c": polars.Series(["z", "q", "a"], dtype=polars.Categorical)})
    assert learned(frame[::2])[0].attribute_names(["c"]) == ["c=a", "c=z"]


def test_listed_categories_keep_their_order() -> None:
    """Others are unknown from the start; a missing value in the list is the last category, wherever it stands."""
    X = [["red", 1], ["green", 2], [None, 3]]
    columns, matrix, _ = learned(X, {0: ["red", None, "blue"]})
    assert_same(matrix, [[0, 1], [NAN, 2], [2, 3]])
    assert columns.attribute_names(["c", "n"]) == ["c=red", "c=blue", "c=missing", "n"]
    columns, matrix, _ = learned(
        polars.DataFrame(X, schema=["c", "n"], orient="row"), {"c": "auto", 1: np.array([3, 1])}
    )
    assert columns.attribute_names(["c", "n"]) == ["c=green", "c=red", "c=missing", "n=3", "n=1"]
    assert_same(matrix, [[1, 1], [0, NAN], [2, 0]])


def test_types_of_categories_do_not_depend_on_the_container() -> None:
    """Whole numbers are integers, even where missing values made floats of them."""
    for X, kind, names in (
        (np.array([[1.0], [NAN]]), "i", ["1", "missing"]),
        ([[1], [2.5]], "f", ["1.0", "2.5"]),
        ([[-0.0], [0.5]], "f", ["0.0", "0.5"]),
        ([[True], [None]], "b", ["True", "missing"]),
        (np.array([[2**63 + 1]], dtype=np.uint64), "u", [str(2**63 + 1)]),
        ([[1e300]], "f", ["1e+300"]),
        (np.array([["b"], ["a"]]), "U", ["a", "b"]),
    ):
        its = learned(X, [0])[0].categories[0]
        assert its is not None
        assert (its.values.dtype.kind, its.names()) == (kind, names)


def test_encoding_keeps_up_with_a_million_rows() -> None:
    """A test of the result; the time would show as a test that never ends."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 1000, 10**6)
    its = Categories(np.array([f"category {i:03}" for i in range(1000)]), False)
    assert_same(its.encode(its.values.astype(object)[numbers]), numbers)
    assert_same(its.encode(its.values[numbers]), numbers)
    assert_same(Categories(np.arange(1000), False).encode(numbers), numbers)


# ------------------------------------------------------------------------------------------------------------- refusals

TABLE = pandas.DataFrame({"colour": ["red", "blue"], "size": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("categorical_features", "message"),
    [
        ([2], "names the feature 2, but the features of X go from 0 to 1"),
        ([-1], "names the feature -1, but the features of X go from 0 to 1"),
        (["color"], "names 'color', but the features of X are colour, size"),
        ([True], "is a mask of 1 bools, but X has 2 features"),
        ([0.0], "is [0.0]"),
        ([None], "is [None]"),
        ([0, True], "is [0, True]"),
        ("colour", "is 'colour'"),
        ({0}, "is {0}"),
        (3, "is 3"),
        ({True: "auto"}, "names True, which is neither a name nor an index"),
        ({(1, 2): "auto"}, "names (1, 2), which is neither"),
        ({"colour": "red"}, "categorical_features['colour'] must be \"auto\" or a list of categories, but is 'red'"),
        ({"colour": 3}, "or a list of categories, but is 3"),
        ({"colour": {"red"}}, "or a list of categories, but is {'red'}"),
        ({"colour": "auto", 0: "auto"}, "names a feature twice"),
        ({"colour": []}, "X['colour'] has no categories"),
        ({"colour": ["a", "b", "a"]}, "The categories of X['colour'] list 'a' twice"),
        ({"size": [1, True]}, "list 1 twice"),
        ({"size": [None, 1, NAN]}, "list the missing value twice"),
        ({"colour": ["a", 1]}, "types int, str, but must be all strings or all numbers. Convert them to strings"),
        ({"colour": [datetime.date(2020, 1, 1)]}, "are of the types date"),
        ({"colour": [["a"]]}, "are of the types list"),
        ({"size": [math.inf]}, "X['size'] holds inf, which is no category"),
        ({"size": [10**30 + 1]}, "that no type of NumPy holds exactly. Convert them to strings"),
        ({"size": [10**400]}, "that no type of NumPy holds exactly"),
        ({"size": [2**63 + 1, -1]}, "that no type of NumPy holds exactly"),
        ({"size": [2**53 + 1, 0.5]}, "that no type of NumPy holds exactly"),
        ({"colour": ["a\0"]}, "has the category 'a\\x00', which cannot be stored"),
        ({"colour": ["\ud800"]}, "which cannot be stored"),
        (None, "X['colour'] holds text, such as 'red'"),
        (["size"], "name it in `categorical_features`"),
    ],
)
def test_what_cannot_be_meant_is_named(categorical_features: Any, message: str) -> None:
    """With the value that was met and a way out."""
    assert message in refusal(TABLE, categorical_features)


@pytest.mark.parametrize(
    ("X", "categorical_features", "message"),
    [
        (np.ones((2, 2)), ["a"], "names 'a', but X has no names of features. Give a table that has, or indices."),
        (csr_matrix(np.eye(2)), [0], "X is sparse, but has categorical features"),
        (np.zeros((2, 1), "M8[D]"), [0], "X[:, 0] is of type datetime64[D], but categories must be strings or numbers"),
        (np.array([[b"a"]]), [0], "X[:, 0] is of type |S1"),
        (objects([["a"], [1]]), [0], "The categories of X[:, 0] are of the types int, str"),
        (objects([[{}], [{}]]), [0], "X[:, 0] holds values that cannot be categories"),
        (np.array([[1.0], [math.inf]]), [0], "X[:, 0] holds inf, which is no category"),
        (np.empty((0, 1)), [0], "X[:, 0] has no categories"),
        ([["a", "b"]], [0], "X[:, 1] holds text, such as 'b'"),
        (np.array([["a", "1.5"]]), [0], "X[:, 1] holds text, such as '1.5'"),
        ([["a", 1.0], ["b", math.inf]], [0], "X[1, 1] is inf: infinity, and values too large for float32"),
        ([["a", 10**400]], [0], "X[0, 1] is inf: infinity"),
        (
            polars.DataFrame({"a": [1.0, 2.0], "b": [1.0, 1e39]}),
            None,
            "X[1, 1] is 1e+39: infinity, and values too large",
        ),
        (pyarrow.table({"a": [1, 2], "b": ["x", None]}), None, "X['b'] holds text, such as 'x'"),
        (pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01"])}), ["a"], "X['a'] is of type datetime64"),
        (
            pandas.DataFrame({"a": pandas.cut([1, 2], 2)}),
            "from_dtype",
            "The categories of X['a'] are of the types Interval",
        ),
        (pandas.DataFrame({"a": [1, "x"]}), None, "X['a'] holds text, such as 'x'"),
        (polars.DataFrame(), None, "X has 0 feature(s): a table needs at least one column."),
        (pandas.DataFrame(index=[0, 1]), "from_dtype", "X has 0 feature(s)"),
        (polars.DataFrame({"a": [[1], [2]]}), None, "of the type ndarray, which is not a number"),
        (
            pandas.DataFrame([["a", 1]], columns=["a", "a"]),
            "from_dtype",
            "X cannot be read as a table; name each column",
        ),
    ],
)
def test_what_cannot_be_used_is_named(X: Any, categorical_features: Any, message: str) -> None:
    """With the place where it was met and a way out."""
    assert message in refusal(X, categorical_features)


def test_arrays_without_categories_are_refused_in_scikit_learns_words() -> None:
    """Its own checks of estimators rely on them."""
    for categorical_features in (None, "from_dtype"):
        with pytest.raises(ValueError, match="could not convert string to float"):
            learned_columns(Estimator(), objects([["a"]]), categorical_features)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        learned_columns(Estimator(), ["a", "b"], [0])


def test_text_is_refused_after_fit_too() -> None:
    """Where the feature is numeric; sparse rows have no categories."""
    columns, _, estimator = learned(TABLE, ["colour"])
    with pytest.raises(InvalidInputError, match=r"X\['size'\] holds text, such as 'big'"):
        encoded(estimator, pandas.DataFrame({"colour": ["red"], "size": ["big"]}), columns)
    columns, _, estimator = learned(np.eye(2), [0])
    with pytest.raises(InvalidInputError, match="X is sparse"):
        encoded(estimator, csr_matrix(np.eye(2)), columns)


def test_there_is_a_limit_to_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 2**24 a float32 cannot number them; many long strings would fill the memory."""
    assert _columns.MAX_CATEGORIES == 2**24
    monkeypatch.setattr(_columns, "MAX_CATEGORIES", 3)
    assert len(learned([["a"], ["b"], [None]], [0])[0].categories[0] or ()) == 3
    assert "X[:, 0] has 4 categories, but a feature can have 3 at most" in refusal([["a"], ["b"], ["c"], [None]], [0])
    monkeypatch.setattr(_columns, "MAX_CATEGORIES", 2**24)
    short = [[str(i)] for i in range(2**10)]
    assert "has 1025 categories of up to 1048576 characters, which is too" in refusal([["x" * 2**20], *short], [0])


# -------------------------------------------------------------------------------------------------------------- storing


@settings(deadline=None)
@given(fit_and_test_columns())
def test_columns_come_back_from_json(column: tuple[list[Any], list[Any]]) -> None:
    """With the same categories, beside a numeric feature."""
    columns, matrix, estimator = learned([[0.5, value] for value in column[0]], [1])
    back = columns_from({name: memoryview(its) for name, its in columns_section(columns).items()}, 2)
    assert back.state() == columns.state()
    assert_same(encoded(estimator, [[0.5, value] for value in column[0]], back), matrix)
    assert_same(
        encoded(estimator, [[0.5, value] for value in column[1]], back),
        encoded(estimator, [[0.5, value] for value in column[1]], columns),
    )


def test_numeric_columns_need_no_state() -> None:
    """So files without categories are what they were before there were any."""
    assert Columns.numeric(3).state() is None
    assert columns_section(Columns.numeric(3)) == {}
    assert columns_from({}, 3).n_attributes == 3
    assert Columns.from_state(None, 2).n_categories.tolist() == [0, 0]


SOUND = {"values": {"type": "<U1", "values": ["a", "b"]}, "has_missing": True}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ([SOUND], "it has no categories for each of its 2 features"),
        ("ab", "it has no categories for each"),
        ({"0": SOUND}, "it has no categories for each"),
        ([None, 3], "the categories of its feature 1 cannot be used: they are no object"),
        ([None, {}], "no 'has_missing' of the kind bool"),
        ([None, SOUND | {"has_missing": 1}], "no 'has_missing' of the kind bool"),
        ([None, {"has_missing": True}], "no 'values' of the kind dict"),
        ([None, SOUND | {"values": ["a"]}], "no 'values' of the kind dict"),
        ([None, {"values": None, "has_missing": False}], "there are 0 of them"),
        ([None, SOUND | {"values": {"type": "<U1", "values": []}}], "their list is empty"),
        ([None, SOUND | {"values": {"type": "<U1"}}], "no 'values' of the kind list"),
        ([None, SOUND | {"values": {"type": "<U1", "values": ["a", "a"]}}], "not distinct"),
        ([None, SOUND | {"values": {"type": "<U1", "values": ["a", None]}}], "not of the type"),
        ([None, SOUND | {"values": {"type": "<M8[ns]", "values": [1]}}], "unknown type"),
        ([None, SOUND | {"values": {"type": "<f8", "values": [NAN]}}], "does not fit the type"),
        ([None, SOUND | {"values": {"type": "<U9", "values": ["a"]}}], "not as long as their type"),
    ],
)
def test_hostile_states_are_refused(state: Any, reason: str) -> None:
    """With the reason."""
    with pytest.raises(CorruptModelError) as caught:
        Columns.from_state(state, 2)
    assert reason in caught.value.reason


def test_states_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One long string among many short ones: NumPy would make them all as long."""
    values = ["x" * 2**20, *map(str, range(2**10))]
    with pytest.raises(CorruptModelError, match="differ too much in length"):
        Columns.from_state([{"values": {"type": "<U1", "values": values}, "has_missing": False}], 1)
    monkeypatch.setattr(_columns, "MAX_CATEGORIES", 2)
    with pytest.raises(CorruptModelError, match="there are 3 of them"):
        Columns.from_state([SOUND], 1)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["values", "has_missing", "type"]), x),
    )
)
def test_any_state_is_columns_or_corrupt(state: Any) -> None:
    """No other exception, and what is read can be written again."""
    try:
        columns = Columns.from_state([state], 1)
    except CorruptModelError:
        return
    assert json.dumps(columns.state(), allow_nan=False)


# ----------------------------------------------------------------------------------------------------------------- uses


def test_only_used_categories_are_left() -> None:
    """One attribute of each feature stays; where no category is in use it is that of missing values."""
    columns, _, estimator = learned([["a", 1, "p"], ["b", 2, "q"], [None, 3, "r"]], [0, 2])
    used = np.array([False, True, True, False, False, False, False])
    slim, kept = columns.only_used(used)
    assert slim.attribute_names(["x", "y", "z"]) == ["x=b", "x=missing", "y", "z=missing"]
    assert kept.tolist() == [1, 2, 3, 4]
    assert_same(encoded(estimator, [["a", 1, "p"], ["b", 2, "q"], [None, 3, "r"]], slim)[:, 0], [NAN, 0, 1])


def test_an_encoded_matrix_can_be_read_again() -> None:
    """Numbers of categories are categories, and none of them stays none."""
    columns, matrix, estimator = learned([["a", 1], ["b", 2], [None, 3]], [0])
    unknown = encoded(estimator, [["c", 4], ["b", 5]], columns)
    again, same, _ = learned(np.vstack([matrix, unknown]), columns.choice_when_encoded())
    assert_same(same, np.vstack([matrix, unknown]))
    assert again.n_categories.tolist() == [3, 0]
    assert Columns.numeric(2).choice_when_encoded() is None
