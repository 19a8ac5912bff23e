"""The index of a pandas table names its rows, unless it only counts them or `ids` are given."""

from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciduous import DareForestClassifier, InvalidInputError, RowExistsError
from test_forest import rows_of, small_forest

DATA = rows_of(60)
TABLE = pd.DataFrame(DATA.X, columns=[f"x{i}" for i in range(DATA.X.shape[1])])
LABELS = pd.Series(DATA.y)


def test_row_that_the_index_names_is_the_one_that_is_deleted() -> None:
    """After `train_test_split`: the forest is the one without that very row, not another one."""
    X, _, y, _ = train_test_split(TABLE, LABELS, random_state=0)
    forest = small_forest().fit(X, y)
    assert forest.ids_.tolist() == sorted(X.index)
    forest.delete([X.index[0]])
    rest = small_forest().fit(X.iloc[1:].to_numpy(), y.iloc[1:].to_numpy(), ids=X.index[1:])
    assert forest.fingerprint() == rest.fingerprint()


INDEXES: dict[str, list[Any]] = {
    "integers": [7 * i - 100 for i in range(60)],
    "strings": [f"visit-{i}" for i in range(60)],
    "UUIDs": [UUID(int=i) for i in range(60)],
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_index_is_as_good_as_ids(index: list[Any]) -> None:
    """In `fit`, `add`, `partial_fit` and `update`."""
    named = TABLE.set_axis(index)
    parts = {"add": named.iloc[20:30], "partial_fit": named.iloc[30:40], "update": named.iloc[35:50]}
    forest = small_forest().fit(named.iloc[:20], DATA.y[:20])
    other = small_forest().fit(TABLE.iloc[:20].reset_index(drop=True), DATA.y[:20], ids=index[:20])
    forest.add(parts["add"], DATA.y[20:30])
    other.add(parts["add"], DATA.y[20:30], ids=index[20:30])
    forest.partial_fit(parts["partial_fit"], DATA.y[30:40])
    other.partial_fit(parts["partial_fit"], DATA.y[30:40], ids=index[30:40])
    forest.update(parts["update"], DATA.y[35:50], None)
    other.update(parts["update"], DATA.y[35:50], index[35:50])
    assert set(forest.ids_.tolist()) == set(index[:50])
    assert forest.fingerprint() == other.fingerprint()


def test_given_ids_are_stronger_than_the_index() -> None:
    """The index is what is used if nobody says otherwise."""
    forest = small_forest().fit(TABLE.set_axis(INDEXES["strings"]), DATA.y, ids=range(100, 160))
    assert forest.ids_.tolist() == list(range(100, 160))


def test_index_that_counts_the_rows_names_none() -> None:
    """Rows of such a table are numbered, in `add` too: they do not collide with those that are there."""
    forest = small_forest().fit(TABLE, LABELS)
    assert forest.add(TABLE.iloc[:5], LABELS.iloc[:5]).ids == (60, 61, 62, 63, 64)
    shuffled = small_forest().fit(TABLE.sample(frac=1, random_state=0), DATA.y)
    assert min(shuffled.add(TABLE.iloc[:5], LABELS.iloc[:5]).ids) >= 2**62


def test_chunks_of_a_table_are_the_table() -> None:
    """As `read_csv(chunksize=...)` gives them: their index goes on."""
    parts = small_forest()
    for begin in range(0, 60, 20):
        parts.partial_fit(TABLE.iloc[begin : begin + 20], LABELS.iloc[begin : begin + 20])
    assert parts.fingerprint() == small_forest().fit(TABLE, LABELS).fingerprint()


def test_row_that_is_there_is_not_added_again() -> None:
    """Rows cut out of the table have their old names."""
    forest = small_forest().fit(TABLE, LABELS)
    with pytest.raises(RowExistsError, match="reset_index"):
        forest.add(TABLE.iloc[[3, 17]], LABELS.iloc[[3, 17]])
    before = forest.fingerprint()
    forest.delete([3, 17])
    forest.add(TABLE.iloc[[3, 17]], LABELS.iloc[[3, 17]])
    assert forest.fingerprint() == before


BAD_INDEXES: dict[str, tuple[Any, str]] = {
    "floats": (np.arange(60) / 2, "float64"),
    "dates": (pd.date_range("2026-01-01", periods=60), "datetime64"),
    "durations": (pd.timedelta_range("1h", periods=60), "timedelta64"),
    "two levels": (pd.MultiIndex.from_product([range(6), range(10)]), "2 levels"),
    "twice the same": ([*range(59), 3], "3 twice"),
    "mixed": ([*range(59), "a"], "object"),
    "booleans": ([True, False] * 30, "bool"),
    "missing": ([*map(str, range(59)), None], "integers, strings or UUIDs"),
}


@pytest.mark.parametrize(("index", "words"), BAD_INDEXES.values(), ids=BAD_INDEXES)
def test_index_that_cannot_name_rows_is_refused_with_the_ways_out(index: Any, words: str) -> None:
    """And both ways out work."""
    table = TABLE.set_axis(index)
    for fit_or_add in (small_forest().fit, small_forest().fit(TABLE, LABELS).add):
        with pytest.raises(InvalidInputError, match=words) as caught:
            fit_or_add(table, DATA.y)
        assert "`ids=`" in str(caught.value)
        assert "reset_index(drop=True)" in str(caught.value)
    expected = small_forest().fit(TABLE, LABELS).fingerprint()
    assert small_forest().fit(table, DATA.y, ids=range(60)).fingerprint() == expected
    assert small_forest().fit(table.reset_index(drop=True), DATA.y).fingerprint() == expected


@pytest.mark.parametrize("name", ["y", "subjects", "sample_weight", "ids"])
def test_columns_in_another_order_than_the_table_are_refused(name: str) -> None:
    """Their index says so; whoever knows better says `to_numpy()`."""
    X = TABLE.sample(frac=1, random_state=0)
    columns = {"y": LABELS.loc[X.index], name: pd.Series(np.arange(60) % 3 if name == "y" else np.arange(60) + 1)}
    with pytest.raises(InvalidInputError, match="another index") as caught:
        small_forest().fit(X, **columns)
    assert f"`{name}.loc[X.index]`" in str(caught.value)
    small_forest().fit(X, **columns | {name: columns[name].loc[X.index]})
    small_forest().fit(X, **columns | {name: columns[name].to_numpy()})


def test_tables_without_an_index_and_arrays_are_numbered() -> None:
    """Polars has none; a pipeline hands on an array: ids are places in it."""
    X, _, y, _ = train_test_split(TABLE, LABELS, random_state=0)
    assert small_forest().fit(pl.from_pandas(X), y.to_numpy()).ids_.tolist() == list(range(45))
    pipeline = make_pipeline(StandardScaler(), small_forest()).fit(X, y)
    assert pipeline[-1].ids_.tolist() == list(range(45))
    kept = make_pipeline(StandardScaler().set_output(transform="pandas"), small_forest()).fit(X, y)
    assert kept[-1].ids_.tolist() == sorted(X.index)


def test_cross_validation_works_with_tables() -> None:
    """Its parts have the index of the whole; any that names rows will do."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for index in (X.index, [f"patient-{i}" for i in X.index]):
        scores = cross_val_score(DareForestClassifier(5, random_state=0), X.set_axis(index), y.set_axis(index), cv=3)
        assert scores.min() > 0.8
