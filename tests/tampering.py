"""Sound files, ways to change what they say, and what becomes of them when they are loaded."""

from collections.abc import Callable
from functools import reduce
from operator import delitem, getitem, setitem
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from deciduous import CorruptModelError, DareForestClassifier, DareForestRegressor, EmptyForestError
from file_format import Column, Model, Tree, container, sections_of, table_of

BAD_FOLDER = Path(__file__).parent / "data" / "bad"  # every bad file ever met
NAN, INF = float("nan"), float("inf")

Forest = DareForestClassifier | DareForestRegressor
Change = Callable[[Model], Any]


# ------------------------------------------------------------------------------------------------------ sound files


def tiny_forest() -> DareForestClassifier:
    """Eight weighted rows in two trees of a random root and greedy nodes below; one column plain, one coded."""
    forest = DareForestClassifier(
        n_estimators=2, max_depth=3, random_depth=1, n_thresholds=2, class_weight={0: 2.0}, random_state=8
    )
    X = [[0.5, 1], [1.5, 0], [2.5, NAN], [3.5, 1], [4.5, 0], [5.5, 1], [6.5, NAN], [7.5, 0]]
    return forest.fit(
        X, [0, 1, 2, 1, 0, 2, 0, 1], ids=[-4, 1, 2, 3, 5, 8, 13, 21], sample_weight=[1, 2, 1, 3, 1, 1, 1, 1]
    )


def tiny_regressor() -> DareForestRegressor:
    """The rows of the tiny forest, with numbers as targets."""
    forest = DareForestRegressor(
        n_estimators=2, max_depth=3, random_depth=1, n_thresholds=2, target_range=(-10, 40), random_state=8
    )
    X = [[0.5, 1], [1.5, 0], [2.5, NAN], [3.5, 1], [4.5, 0], [5.5, 1], [6.5, NAN], [7.5, 0]]
    y = [-7.25, 0.1, 3.5, 3.5, 12.0, 1e-3, 39.0, -0.3]
    return forest.fit(X, y, ids=[-4, 1, 2, 3, 5, 8, 13, 21], sample_weight=[1, 2, 1, 3, 1, 1, 1, 1])


def categorical_forest(kind: type[Forest] = DareForestClassifier) -> Any:
    """Twelve rows of three colours or none, a number, and two sizes that are numbers; a row of an unknown colour."""
    forest = kind(
        n_estimators=2, max_depth=4, max_features=2, categorical_features={0: "auto", 2: [2.5, 1]}, random_state=2
    )
    colours = ["red", "blue", None, "green"] * 3
    X = [[colours[i], i / 2, [1, 2.5, 7][i % 3]] for i in range(12)]
    forest.fit(X, [0, 1, 1, 0, 1, 2, 0, 0, 2, 1, 1, 0])
    forest.add([["violet", 9.5, 1]], [2])
    return forest


def with_a_plain_column(data: bytes) -> bytes:
    """The same forest with its first column stored plainly, which readers must understand for any number of values."""
    parts = Model.parsed(data)
    column = parts.rows.columns[0]
    if column.codes is not None:
        parts.rows.columns[0] = Column([column.values[code] for code in column.codes])
    return parts.packed()


WRITTEN = tiny_forest().to_bytes()
SOUND = with_a_plain_column(WRITTEN)
SECTIONS = sections_of(SOUND)
CATEGORICAL = categorical_forest().to_bytes()
WRITTEN_REGRESSION = tiny_regressor().to_bytes()
REGRESSION = with_a_plain_column(WRITTEN_REGRESSION)
# The tiny forests by what their targets are, each with what reads it.
TINY: dict[str, tuple[bytes, type[Forest]]] = {
    "classes": (SOUND, DareForestClassifier),
    "numbers": (REGRESSION, DareForestRegressor),
}


def model() -> Model:
    """The tiny forest, taken apart."""
    return Model.parsed(SOUND)


# ---------------------------------------------------------------------------------------------------------- changes


def changed(change: Change, sound: bytes = SOUND) -> bytes:
    """The file of the tiny forest after a change to its parts."""
    parts = Model.parsed(sound)
    change(parts)
    return parts.packed()


def with_entry(i: int, **fields: Any) -> bytes:
    """The file with a line of its table changed, and the checksum of the table right again."""
    table = table_of(SECTIONS)
    for name, value in fields.items():
        setattr(table[i], name, value)
    return container(SECTIONS, table)


# What is set may also be a claim that is not true, as the number of rows is.


def set_rows(**fields: Any) -> Change:
    """The ids, labels, weights or columns are others, or what is claimed about them."""
    return lambda parts: vars(parts.rows).update(fields)


def set_row(field: str, index: int, value: Any) -> Change:
    """An id, a label or a weight is another."""
    return lambda parts: setitem(getattr(parts.rows, field), index, value)


def set_column(column: int, **fields: Any) -> Change:
    """The values or codes of a column are others, or what is claimed about them."""
    return lambda parts: vars(parts.rows.columns[column]).update(fields)


def set_value(column: int, index: int, value: float) -> Change:
    """A value of a column, or of its dictionary, is another."""
    return lambda parts: setitem(parts.rows.columns[column].values, index, value)


def set_code(index: int, code: int) -> Change:
    """A code of the coded column is another."""
    return lambda parts: setitem(parts.rows.columns[1].codes, index, code)


def replace_tree(tree: Tree) -> Change:
    """The second tree is this one."""
    return lambda parts: setitem(parts.trees, 1, tree)


def set_tree(**fields: Any) -> Change:
    """What is claimed about the second tree is another."""
    return lambda parts: vars(parts.trees[1]).update(fields)


def set_node(field: str, index: int, value: Any) -> Change:
    """The kind, attribute or threshold of a node of the second tree is another."""
    return lambda parts: setitem(getattr(parts.trees[1], field), index, value)


def set_meta(*path: Any, to: Any) -> Change:
    """An entry of the description is another."""
    return lambda parts: setitem(reduce(getitem, path[:-1], parts.meta), path[-1], to)


def drop_meta(*path: Any) -> Change:
    """An entry of the description is left out."""
    return lambda parts: delitem(reduce(getitem, path[:-1], parts.meta), path[-1])


def set_categories(*path: Any, to: Any) -> Change:
    """An entry of the categories is another."""
    return lambda parts: setitem(reduce(getitem, path[:-1], parts.categories), path[-1], to)


# ---------------------------------------------------------------------------------------------- what becomes of them


def refusal(data: bytes, reader: type[Forest] = DareForestClassifier) -> str:
    """The reason why these bytes are refused."""
    with pytest.raises(CorruptModelError) as caught:
        reader.from_bytes(data)
    assert caught.value.reason
    assert caught.value.reason in str(caught.value)
    return caught.value.reason


def survives_saving(forest: Forest) -> bool:
    """Whether a forest that was loaded can be saved, and comes back as it was."""
    again = type(forest).from_bytes(forest.to_bytes())
    return bool(again.fingerprint() == forest.fingerprint() and again.to_bytes() == forest.to_bytes())


def assert_predicts(forest: Forest, probes: np.ndarray) -> None:
    """Shares that sum up to 1, or numbers that are finite; or the error of a forest without rows."""
    if not forest.n_rows_:
        with pytest.raises(EmptyForestError):
            forest.predict(probes)
        return
    assert len(forest.predict(probes)) == 2
    if isinstance(forest, DareForestClassifier):
        assert np.allclose(forest.predict_proba(probes).sum(axis=1), 1)
    else:
        assert np.isfinite(forest.predict(probes)).all()
        assert np.isfinite(forest.predict(probes, quantiles=[0, 0.5, 1])).all()


def target_to_add(forest: Forest) -> np.ndarray:
    """A label of the forest, or one of its kind; or a number that a regressor takes."""
    if isinstance(forest, DareForestRegressor):
        return np.array(forest.target_range_[:1])
    return forest.classes_[:1] if len(forest.classes_) else np.zeros(1, dtype=forest.classes_.dtype)


def outcome(data: bytes, *, updates: bool = False, reader: type[Forest] = DareForestClassifier) -> str | None:
    """The reason for a refusal; or None if these bytes are a forest that works."""
    try:
        forest = reader.from_bytes(data)
    except CorruptModelError as error:
        return error.reason or "no reason given"
    assert forest.check()
    probes = np.zeros((2, forest.n_features_in_), dtype=np.float32)
    assert_predicts(forest, probes)
    if updates:
        forest.delete(forest.ids_[:2])
        assert forest.check()
        ids = {None: None, "s": ["a fresh name"], "u": [UUID(int=5)]}[forest._names.kind]
        (fresh,) = forest.add(probes[:1], target_to_add(forest), ids=ids).ids
        assert fresh in forest.ids_
        assert forest.check()
    assert survives_saving(forest)
    return None
