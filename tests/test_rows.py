"""Reading training rows back, what a forest says of them, and other names for its columns."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from deciduous import (
    DareForestClassifier,
    DareForestRegressor,
    InvalidInputError,
    UnknownRowError,
    UnknownSubjectError,
    load,
)

X = np.array([[1.5, np.nan], [-0.0, 3e38], [1e-40, -2.0], [7.0, 7.0]], dtype=np.float32)
Y = ["b", "a", "b", "c"]


def fitted(**options: Any) -> DareForestClassifier:
    return DareForestClassifier(3, random_state=0).fit(X, Y, **options)


def test_rows_come_back_as_they_were_given() -> None:
    """Numbers to the last bit, NaN included; -0.0 is 0.0, as the definition says."""
    forest = fitted(ids=[10, 11, 12, 13], subjects=["u", "v", None, "u"], sample_weight=[1, 1, 5, 2])
    rows = forest.rows([13, 10])
    assert rows.ids == [13, 10]
    assert rows.X.dtype == np.float32
    assert rows.X.tobytes() == X[[3, 0]].tobytes()
    assert rows.y.tolist() == ["c", "b"]
    assert rows.sample_weight.tolist() == [2, 1]
    assert rows.subjects == ["u", "u"]
    assert (len(rows), rows.feature_names) == (2, ["x0", "x1"])
    assert forest.rows([11]).X.tolist() == [[0.0, float(np.float32(3e38))]]
    assert forest.rows([12]).X[0, 0] == np.float32(1e-40)


def test_rows_of_a_subject_and_of_nobody() -> None:
    forest = fitted(subjects=["u", "v", None, "u"])
    assert forest.rows(subjects=["u"]).ids == [0, 3]
    assert forest.rows([2]).subjects == [None]
    nothing = forest.rows([])
    assert (len(nothing), nothing.X.shape, nothing.y.tolist()) == (0, (0, 2), [])


@pytest.mark.parametrize("stored", [False, True])
def test_rows_that_come_back_train_the_same_forest(stored: bool, tmp_path: Any) -> None:
    """Whatever happened before, and from a file as well."""
    forest = fitted(ids=["k", "l", "m", "n"])
    forest.add([[2.0, 2.0]], ["A new label"], ids=["o"])
    forest.delete(["l"])
    if stored:
        forest.save(tmp_path / "a.forest")
        loaded = load(tmp_path / "a.forest")
        assert isinstance(loaded, DareForestClassifier)
        forest = loaded
    rows = forest.rows(forest.ids_)
    fresh = DareForestClassifier(3, random_state=0).fit(rows.X, rows.y, ids=rows.ids)
    assert fresh.fingerprint() == forest.fingerprint()


def test_categories_come_back_by_name() -> None:
    """The missing value, and what is no category, are None: the forest knows no more of them."""
    given = [["red", 1.0], [None, 2.0], ["blue", 3.0]]
    forest = DareForestClassifier(2, categorical_features=[0], random_state=0).fit(given, [0, 1, 0])
    forest.add([["violet", np.nan]], [1])
    rows = forest.rows([0, 1, 2, 3])
    assert rows.X[:, 0].tolist() == ["red", None, "blue", None]
    assert rows.X[:3, 1].tolist() == [1.0, 2.0, 3.0]
    assert rows.as_dicts()[0] == {"id": 0, "subject": None, "label": 0, "weight": 1, "values": {"x0": "red", "x1": 1.0}}
    assert rows.as_dicts()[3]["values"] == {"x0": None, "x1": None}


def test_targets_are_called_targets() -> None:
    """In place of labels."""
    forest = DareForestRegressor(2, random_state=0).fit([[1.0], [2.0]], [0.5, 8.0])
    expected = {"id": 1, "subject": None, "target": 8.0, "weight": 1, "values": {"x0": 2.0}}
    assert forest.rows([1]).as_dicts() == [expected]


def test_rows_as_a_table() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red"]), "size": [1.0, 2.5, np.nan]})
    forest = DareForestClassifier(2, random_state=0).fit(table, [0, 1, 0], ids=["a", "b", "c"])
    again = forest.rows(["c", "a"]).to_pandas()
    assert again.index.tolist() == ["c", "a"]
    assert again["colour"].tolist() == ["red", "red"]
    assert again["size"].isna().tolist() == [True, False]


def test_unknown_rows_and_subjects_are_named() -> None:
    forest = fitted(subjects=["u", "v", None, "u"])
    with pytest.raises(UnknownRowError, match="17"):
        forest.rows([0, 17])
    with pytest.raises(UnknownSubjectError, match="w"):
        forest.rows(subjects=["w"])
    with pytest.raises(InvalidInputError, match="either"):
        forest.rows()


def test_deleted_rows_cannot_be_read() -> None:
    forest = fitted()
    forest.delete([1])
    with pytest.raises(UnknownRowError, match="1"):
        forest.rows([1])


def test_costs_of_subjects_are_those_of_deleting_all_of_their_rows() -> None:
    rng = np.random.default_rng(0)
    rows, people = rng.normal(size=(300, 4)), rng.integers(40, size=300)
    forest = DareForestClassifier(5, random_state=1).fit(rows, rng.integers(2, size=300), subjects=people)
    asked = [3, 17, 3]
    expected = [forest.deletion_cost(subjects=[person]).n_rows_retrained for person in asked]
    assert forest.deletion_costs(subjects=asked).tolist() == expected
    assert forest.deletion_costs(subjects=[]).tolist() == []
    with pytest.raises(UnknownSubjectError):
        forest.deletion_costs(subjects=[999])


@pytest.mark.parametrize(
    ("ids", "kind"), [(None, int), ([7, 8, 9, 10], int), (list("abcd"), str), ([UUID(int=i) for i in range(4)], UUID)]
)
def test_type_of_names(ids: Any, kind: type) -> None:
    assert fitted(ids=ids).id_type_ is kind


def test_third_positional_argument_is_refused() -> None:
    """It is `sample_weight` in scikit-learn, so nobody should be able to give ids there by mistake, or weights."""
    weights: Any = [1, 2, 3, 4]
    forest = fitted()
    with pytest.raises(TypeError, match="positional"):
        DareForestClassifier(2).fit(X, Y, weights)
    with pytest.raises(TypeError, match="positional"):
        forest.add(X, Y, weights)


def test_shares_of_classes_that_have_rows() -> None:
    """With their labels, ascending, whatever came later or is gone."""
    forest = fitted()
    forest.add([[0.0, 0.0]], ["A"], ids=[9])
    forest.delete([3])
    labels, shares = forest.present_shares(X)
    assert labels.tolist() == ["A", "a", "b"]
    assert forest.classes_.tolist() == ["A", "a", "b", "c"]
    assert forest.class_counts_ == {"A": 1, "a": 1, "b": 2, "c": 0}
    assert shares.tolist() == forest.predict_proba(X)[:, :3].tolist()


def test_logarithms_of_shares() -> None:
    forest = fitted()
    for model in (forest, forest.freeze()):
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        assert model.n_classes_ == 3


# ------------------------------------------------------------------------------------------------------- other names


def coloured() -> DareForestClassifier:
    given = [["red", 1.0], [None, 2.0], ["blue", 3.0], ["red", 0.0]]
    return DareForestClassifier(4, categorical_features=[0], random_state=0).fit(given, [0, 1, 0, 1])


def test_columns_and_categories_can_be_renamed() -> None:
    """The forest stays the same; rows are then known by the new names alone, also by a copy."""
    forest, before = coloured(), coloured().fingerprint()
    assert forest.categories_[0] == ["blue", "red", None]
    forest.rename_columns(["colour", "size"], [["azul", "rojo", None], None])
    assert forest.fingerprint() == before
    for its in (forest, DareForestClassifier.from_bytes(forest.to_bytes())):
        assert its.feature_names_in_.tolist() == ["colour", "size"]
        assert its.categories_ == [["azul", "rojo", None], None]
        assert its.rows([0]).X.tolist() == [["rojo", 1.0]]
        assert b"blue" not in its.to_bytes()
    forest.rename_columns(["farbe", "size"])
    assert forest.attribute_names() == ["farbe=azul", "farbe=rojo", "farbe=missing", "size"]
    rows = forest.rows([0, 1, 2, 3])
    fresh = DareForestClassifier(4, categorical_features={0: ["azul", "rojo", None]}, random_state=0)
    assert fresh.fit(rows.X.tolist(), rows.y).fingerprint() == before


@pytest.mark.parametrize(
    ("names", "categories"),
    [
        (["one"], None),
        (["same", "same"], None),
        (["a", "b"], [["azul", "rojo"], None]),
        (["a", "b"], [["azul", "azul", None], None]),
        (["a", "b"], [["azul", "rojo", None]]),
        (["a", "b"], [None, None]),
        (["a", "b"], [["azul", "rojo", None], ["x"]]),
    ],
)
def test_names_that_do_not_fit_change_nothing(names: list[str], categories: Any) -> None:
    forest = coloured()
    before = forest.to_bytes()
    with pytest.raises(InvalidInputError):
        forest.rename_columns(names, categories)
    assert forest.to_bytes() == before
