"""Distinct labels stay distinct, or are refused: none is silently taken for another."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deciduous import DareForestClassifier, InvalidInputError
from deciduous._validation import class_keys

LARGE = 2**53  # the next integer is no double
BEYOND = 2**63  # the first that is no int64


def fitted(y: Any) -> DareForestClassifier:
    """A forest of as many rows as labels."""
    return DareForestClassifier(3, random_state=0).fit(np.arange(float(len(y)))[:, None], y)


NEAR: dict[str, Any] = {
    "list": [LARGE, LARGE + 1, -5],
    "tuple": (LARGE, LARGE + 1, 3),
    "array": np.array([LARGE, LARGE + 1, -(LARGE + 1)]),
    "unsigned": np.array([BEYOND, BEYOND + 1, 0], dtype=np.uint64),
    "list beyond int64": [BEYOND, BEYOND + 1, 5],
    "numbers of NumPy": [np.int64(LARGE), np.int64(LARGE + 1), np.uint64(3)],
    "pandas": pd.Series([LARGE, LARGE + 1, 2]),
    "pandas, nullable": pd.Series([LARGE, LARGE + 1, 2], dtype="Int64"),
    "pandas, nullable beyond int64": pd.Series(np.array([BEYOND, BEYOND + 1, 2], np.uint64), dtype="UInt64"),
    "pandas, categories": pd.Series([LARGE, LARGE + 1, 2], dtype="category"),
    "polars": pl.Series([LARGE, LARGE + 1, 2]),
    "arrow": pa.array([LARGE, LARGE + 1, 2]),
    "objects": np.array([LARGE, LARGE + 1, 2], dtype=object),
}


@pytest.mark.parametrize("y", NEAR.values(), ids=NEAR)
def test_large_integers_stay_distinct(y: Any) -> None:
    """Three labels are three classes, in files, too."""
    expected = sorted(y.to_pylist() if isinstance(y, pa.Array) else [int(label) for label in y])
    forest = fitted(y)
    assert forest.classes_.tolist() == expected
    loaded = DareForestClassifier.from_bytes(forest.to_bytes())
    assert loaded.classes_.tolist() == expected
    assert loaded.fingerprint() == forest.fingerprint()


ZERO = ["a", "a\0"]
REFUSED: dict[str, tuple[Any, str]] = {
    "floats beside large integers": ([LARGE, LARGE + 1, 0.0], str(LARGE + 1)),
    "negative beside large unsigned": ([BEYOND, -1], str(BEYOND)),
    "beyond 64 bits": ([2**64, 5], str(2**64)),
    "far beyond 64 bits": ([10**400, 5], "exactly"),
    "zero at the end": (ZERO, "zero character"),
    "zero at the end, objects": (np.array(ZERO, dtype=object), "zero character"),
    "zero at the end, pandas": (pd.Series(ZERO), "zero character"),
    "zero at the end, polars": (pl.Series(ZERO), "zero character"),
    "zero at the end, arrow": (pa.array(ZERO), "zero character"),
    "numbers beside strings": ([1, "1"], "int, str"),
    "numbers beside strings, objects": (np.array([1, "1"], dtype=object), "int, str"),
    "half a character": (["\ud800", "a"], "Unicode"),
    "infinity": ([1.0, float("inf")], "inf"),
    "NA": (np.array(["a", pd.NA], dtype=object), "NA"),
    "masked": (np.ma.array([0, 1], mask=[0, 1]), r"y\[1\] is masked"),
    "nullable with NA": (pd.Series([1, None], dtype="Int64"), "NA"),
    "wide floats": (np.array([1, np.longdouble(LARGE) + np.longdouble(1)], dtype=np.longdouble), "float64"),
}


@pytest.mark.parametrize(("y", "words"), REFUSED.values(), ids=REFUSED)
def test_labels_that_would_merge_are_refused(y: Any, words: str) -> None:
    """By `fit`, and by `add` before anything changes."""
    if words == "float64" and np.longdouble(LARGE) + np.longdouble(1) == LARGE:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(InvalidInputError, match=words):
        fitted(y)
    forest = fitted([0, 1])
    before = forest.fingerprint()
    with pytest.raises(InvalidInputError):
        forest.add([[7.0]] * len(y), y)
    assert forest.fingerprint() == before
    assert forest.classes_.tolist() == [0, 1]


ADDED: dict[str, tuple[Any, Any, list[Any] | None]] = {
    "floats to integers": ([-1, LARGE + 1], np.array([float(LARGE)]), [-1, LARGE + 1, LARGE]),
    "integers to floats": (np.array([0.0, float(LARGE)]), [LARGE + 1], [0, LARGE, LARGE + 1]),
    "unsigned to integers": ([0, 1], np.array([BEYOND + 1], np.uint64), [0, 1, BEYOND + 1]),
    "integers to unsigned": (np.array([0, BEYOND + 1], np.uint64), [7], [0, BEYOND + 1, 7]),
    "unsigned to negative": ([-1, 0], np.array([BEYOND + 1], np.uint64), None),
    "negative to unsigned": (np.array([0, BEYOND + 1], np.uint64), [-1], None),
    "large to floats": (np.array([0.5, 1.0]).round(), [LARGE + 1], [0, 1, LARGE + 1]),
    "wider integers": (np.array([1, 2], np.int8), [300], [1, 2, 300]),
    "the same in other types": ([0, 1], np.array([True, False]), [0, 1]),
}


@pytest.mark.parametrize(("known", "added", "classes"), ADDED.values(), ids=ADDED)
def test_labels_that_come_later_stay_distinct(known: Any, added: Any, classes: list[Any] | None) -> None:
    """In a type that holds both exactly; if there is none, they are refused and nothing changes."""
    forest = fitted(known)
    X = np.full((len(added), 1), 7.0)
    if classes is None:
        before = forest.fingerprint()
        with pytest.raises(InvalidInputError, match="exactly"):
            forest.add(X, added)
        assert forest.fingerprint() == before
        return
    forest.add(X, added)
    assert forest.classes_.tolist() == sorted(classes)
    assert forest.verify()


def test_keys_of_classes_are_those_of_the_definition() -> None:
    """docs/algorithm.md, 2.9: whole numbers in decimal digits, whatever their type; others as Python writes them."""
    texts = [(1, "n:1"), (1.0, "n:1"), (True, "n:1"), (0.5, "n:0.5"), (-0.0, "n:0"), ("1", "s:1")]
    texts += [(LARGE + 1, f"n:{LARGE + 1}"), (2**64 - 1, f"n:{2**64 - 1}"), (1e22, "n:10000000000000000000000")]
    texts += [(np.float32(0.1), "n:0.10000000149011612"), (np.uint64(BEYOND + 1), f"n:{BEYOND + 1}")]
    for label, text in texts:
        assert class_keys([label]).tobytes() == hashlib.blake2b(text.encode(), digest_size=16).digest()


@pytest.mark.parametrize("ids", [["a", "a\0"], pl.Series(["a", "a\0"]), pd.Series(["a", "a\0"])], ids=str)
def test_names_of_rows_that_would_merge_are_refused(ids: Any) -> None:
    """`ids_` is an array of NumPy, where both would be the same."""
    with pytest.raises(InvalidInputError, match="zero character"):
        DareForestClassifier(3).fit([[0.0], [1.0]], [0, 1], ids=ids)


@pytest.mark.parametrize("values", [["a", "a\0"], [LARGE, LARGE + 1, 0.5]], ids=repr)
def test_categories_that_would_merge_are_refused(values: list[Any]) -> None:
    """Those of a column, and those that are listed."""
    X = np.array([[value] for value in values], dtype=object)
    for choice in ([0], {0: values}):
        with pytest.raises(InvalidInputError, match=r"X\[:, 0\]"):
            DareForestClassifier(3, categorical_features=choice).fit(X, list(range(len(values))))
