"""What is refused: the error says which value was wrong, and the forest is as it was before."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from deciduous import (
    DareForestClassifier,
    DeciduousError,
    EmptyForestError,
    InvalidInputError,
    RowExistsError,
    UnknownRowError,
)
from test_forest import fitted_on, rows_of, small_forest

N_ROWS = 60  # rows 0 to 59 in eight columns, classes 0, 1 and 2
PROBES = rows_of(20, seed=3).X


@pytest.fixture
def forest() -> DareForestClassifier:
    """A fitted forest that must come out of every refusal unchanged."""
    return fitted_on(rows_of(N_ROWS))


def state_of(forest: DareForestClassifier) -> dict[str, Any]:
    """Everything that a user can see of a forest."""
    return {
        "fingerprint": forest.fingerprint(),
        "ids": forest.ids_.tolist(),
        "n_rows": forest.n_rows_,
        "classes": forest.classes_.tolist(),
        "type of classes": forest.classes_.dtype,
        "columns": forest.n_features_in_,
        "seed": forest.seed_,
        "predictions": forest.predict_proba(PROBES).tobytes(),
        "check": forest.check(),
        "rows in memory": forest._forest.raw_data(),
    }


@contextmanager
def refused(forest: DareForestClassifier, error: type[Exception], *named: str) -> Iterator[None]:
    """The block raises this error, with these words in its message, and changes nothing."""
    before = state_of(forest)
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    for words in named:
        assert words in message
    assert state_of(forest) == before
    assert before["check"]


def new_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that a forest would accept."""
    data = rows_of(n_rows, seed=8)
    return data.X, data.y


# -------------------------------------------------------------------------------------------------------------- ids


@pytest.mark.parametrize("method", ["delete", "deletion_cost", "deletion_costs"])
@pytest.mark.parametrize(
    ("ids", "unknown"),
    [([60], (60,)), ([3, -1, 4], (-1,)), ([0, 1000, 5, 2**62], (1000, 2**62)), (77, (77,))],
    ids=["one", "one among known", "two among known", "not in a list"],
)
def test_unknown_ids_are_refused_by_name(forest: DareForestClassifier, method: str, ids: Any, unknown: tuple) -> None:
    """A KeyError that lists the unknown ids and no others; the known ones are not deleted."""
    with refused(forest, UnknownRowError, *map(str, unknown), "60 rows"):
        getattr(forest, method)(ids)
    with pytest.raises(KeyError) as caught:
        getattr(forest, method)(ids)
    assert isinstance(caught.value, DeciduousError)
    assert caught.value.ids == unknown


def test_deleted_id_is_unknown(forest: DareForestClassifier) -> None:
    """Deleting a row again is a mistake worth knowing about."""
    forest.delete([7])
    with refused(forest, UnknownRowError, "7"):
        forest.delete([8, 7])


@pytest.mark.parametrize("method", ["delete", "deletion_cost", "deletion_costs"])
def test_id_given_twice_is_refused_by_name(forest: DareForestClassifier, method: str) -> None:
    """Even though the row is there."""
    with refused(forest, InvalidInputError, "17", "twice"):
        getattr(forest, method)([3, 17, 4, 17])


def test_id_added_twice_in_one_batch_is_refused_by_name(forest: DareForestClassifier) -> None:
    """Ids are unique within a batch."""
    X, y = new_rows(3)
    with refused(forest, InvalidInputError, "101", "twice"):
        forest.add(X, y, ids=[101, 100, 101])


def test_fit_refuses_an_id_given_twice() -> None:
    """Ids are unique from the start."""
    X, y = new_rows(3)
    with pytest.raises(InvalidInputError, match=r"\b5\b"):
        small_forest().fit(X, y, ids=[5, 6, 5])


def test_id_that_exists_is_refused_by_name(forest: DareForestClassifier) -> None:
    """Also when other rows of the batch are new; a new label in the batch does not extend the classes."""
    X, _ = new_rows(3)
    with refused(forest, RowExistsError, "59"):
        forest.add(X, [0, 99, 1], ids=[100, 59, 101])
    with pytest.raises(ValueError, match="59") as caught:
        forest.add(X, [0, 99, 1], ids=[100, 59, 101])
    assert caught.value.ids == (59,)


NOT_INTEGERS: list[tuple[Any, str]] = [
    ([3.0, 4.0], "3.0"),
    (3.5, "3.5"),
    ([math.nan], "nan"),
    (["3", "4"], "3"),
    ("3", "3"),
    ([True, False], "True"),
    (True, "True"),
    ([None], "None"),
    ([2**64], str(2**64)),
    ([2**63], str(2**63)),
    (np.array([5], dtype="datetime64[s]"), "datetime64"),
]


@pytest.mark.parametrize(("ids", "named"), NOT_INTEGERS, ids=repr)
@pytest.mark.parametrize("method", ["delete", "deletion_cost", "deletion_costs"])
def test_ids_that_are_not_64_bit_integers_are_refused(
    forest: DareForestClassifier, method: str, ids: Any, named: str
) -> None:
    """Whole floats, digits and booleans are no ids: they hint at a mistake."""
    with refused(forest, InvalidInputError, named):
        getattr(forest, method)(ids)


@pytest.mark.parametrize(("ids", "named"), NOT_INTEGERS, ids=repr)
def test_add_refuses_ids_that_are_not_64_bit_integers(forest: DareForestClassifier, ids: Any, named: str) -> None:
    """The same rule as for delete."""
    X, y = new_rows(np.size(ids))
    with refused(forest, InvalidInputError, named):
        forest.add(X, y, ids=ids)


def test_boolean_among_integer_ids_is_refused(forest: DareForestClassifier) -> None:
    """A list of 5 and True is not row 5 and row 1."""
    with refused(forest, InvalidInputError, "True"):
        forest.delete([5, True])


def test_ids_in_a_table_are_refused(forest: DareForestClassifier) -> None:
    """The shape is named."""
    with refused(forest, InvalidInputError, "(2, 2)"):
        forest.delete([[1, 2], [3, 4]])


@pytest.mark.parametrize("n_ids", [0, 2, 4])
def test_number_of_ids_must_be_that_of_rows(forest: DareForestClassifier, n_ids: int) -> None:
    """Three rows: neither fewer nor more ids."""
    X, y = new_rows(3)
    with refused(forest, InvalidInputError, "3 rows", str(n_ids)):
        forest.add(X, y, ids=list(range(100, 100 + n_ids)))


def test_refused_addition_uses_up_no_ids() -> None:
    """Forests with the same accepted history choose the same fresh ids."""
    data = rows_of(N_ROWS)
    forest = small_forest().fit(data.X, data.y)
    X, y = new_rows(2)
    with refused(forest, InvalidInputError, "inf"):
        forest.add(X + np.inf, y)
    with refused(forest, RowExistsError, "5"):
        forest.add(X, y, ids=[1000, 5])
    assert forest.add(X, y).ids == (60, 61)


# ----------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("n_columns", [1, 7, 9])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "add"])
def test_wrong_number_of_columns_is_refused(forest: DareForestClassifier, method: str, n_columns: int) -> None:
    """Both numbers are named: eight, and the one met; even if there are no rows."""
    for n_rows in (3, 0):
        rest = ([0] * n_rows,) if method == "add" else ()
        with refused(forest, ValueError, str(n_columns), "8"):
            getattr(forest, method)(np.zeros((n_rows, n_columns)), *rest)


@pytest.mark.parametrize(
    ("value", "named"), [(np.inf, "inf"), (-np.inf, "-inf"), (1e39, "1e+39"), (-1e300, "-1e+300")], ids=str
)
@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "add"])
def test_values_without_a_finite_float32_are_refused(
    forest: DareForestClassifier, method: str, value: float, named: str
) -> None:
    """Infinity and what float32 cannot hold; the place and the value are named."""
    X, y = new_rows(4)
    X = X.astype(np.float64)
    X[2, 5] = value
    rest = (y,) if method in ("fit", "add") else ()
    with refused(forest, InvalidInputError, "2, 5", named):
        getattr(forest, method)(X, *rest)


def test_largest_float32_and_nan_are_accepted(forest: DareForestClassifier) -> None:
    """The limits of what is refused."""
    X, y = new_rows(2)
    X = X.astype(np.float64)
    X[0, 0], X[1, 0], X[0, 1] = np.finfo(np.float32).max, np.finfo(np.float32).min, math.nan
    forest.add(X, y)
    assert forest.check()
    assert np.isfinite(forest.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("X", "named"),
    [([0.0] * 8, "1D"), (np.zeros((2, 2, 2)), "3"), ([["x"] * 8], "numeric"), (np.zeros((1, 8), complex), "omplex")],
    ids=["flat", "three dimensions", "text", "complex"],
)
@pytest.mark.parametrize("method", ["fit", "predict", "add"])
def test_input_that_is_no_table_of_numbers_is_refused(
    forest: DareForestClassifier, method: str, X: Any, named: str
) -> None:
    """The messages are scikit-learn's."""
    rest = ([0],) if method in ("fit", "add") else ()
    with refused(forest, ValueError, named):
        getattr(forest, method)(X, *rest)


# ----------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("method", ["fit", "add"])
@pytest.mark.parametrize("n_labels", [0, 3, 5])
def test_number_of_labels_must_be_that_of_rows(forest: DareForestClassifier, method: str, n_labels: int) -> None:
    """Four rows; both numbers are named."""
    X, _ = new_rows(4)
    with refused(forest, InvalidInputError, "4 rows", str(n_labels)):
        getattr(forest, method)(X, [0] * n_labels)


@pytest.mark.parametrize("method", ["fit", "add"])
@pytest.mark.parametrize(
    ("y", "named"),
    [
        ([0.0, math.nan, 1.0], "nan"),
        ([0.0, math.inf, 1.0], "inf"),
        (np.array([0, math.nan, 1], dtype=object), "nan"),
        (np.array(["a", math.nan, "b"], dtype=object), "nan"),
        (np.array(["a", None, "b"], dtype=object), "None"),
    ],
    ids=["NaN", "infinity", "NaN among objects", "NaN among strings", "None among strings"],
)
def test_labels_that_are_missing_are_refused_by_place(
    forest: DareForestClassifier, method: str, y: Any, named: str
) -> None:
    """A row without a class cannot be learned; y[1] is the one in each case."""
    X, _ = new_rows(3)
    with refused(forest, ValueError, "y[1]", named):
        getattr(forest, method)(X, y)


def test_missing_label_is_refused_by_a_forest_of_strings() -> None:
    """Not turned into a class called nan or None."""
    X, _ = new_rows(3)
    forest = small_forest().fit(X, ["a", "b", "a"])
    for missing in (math.nan, None):
        with refused(forest, ValueError, str(missing)):
            forest.add(X[:2], np.array(["a", missing], dtype=object))


@pytest.mark.parametrize("method", ["fit", "add"])
def test_fractions_are_no_labels(forest: DareForestClassifier, method: str) -> None:
    """A regression target given by mistake."""
    X, _ = new_rows(3)
    with refused(forest, ValueError, "continuous"):
        getattr(forest, method)(X, [0.5, 1.25, 2.0])


@pytest.mark.parametrize("method", ["fit", "add"])
def test_labels_in_several_columns_are_refused(forest: DareForestClassifier, method: str) -> None:
    """One label for each row; the shape is named."""
    X, _ = new_rows(3)
    with refused(forest, ValueError, "(3, 2)"):
        getattr(forest, method)(X, np.zeros((3, 2), int))


def test_labels_of_another_kind_are_refused_by_add(forest: DareForestClassifier) -> None:
    """Strings have no order among numbers, nor numbers among strings; the label is named."""
    X, _ = new_rows(2)
    with refused(forest, InvalidInputError, "yes"):
        forest.add(X, ["yes", "no"])
    of_strings = small_forest().fit(X, ["yes", "no"])
    with refused(of_strings, InvalidInputError, "1"):
        of_strings.add(X, [1, 0])


# ------------------------------------------------------------------------------------------------------- parameters

BAD_PARAMETERS: list[tuple[str, Any]] = [
    *[("n_estimators", value) for value in (0, -1, 2.5, "10", None, True, math.nan)],
    *[("max_depth", value) for value in (0, -3, 2.5, "deep", True, 10**9)],
    *[("n_thresholds", value) for value in (0, -1, 1.5, "all", True)],
    *[("random_depth", value) for value in (-1, 0.5, "all", None, True)],
    *[("stability", value) for value in (-0.1, 1001, math.nan, math.inf, "0.1", None, True)],
    *[("max_features", value) for value in (0, -2, 0.0, 1.5, -0.5, math.nan, "all", True, [1])],
    *[("candidates", value) for value in ("best", None, 1, "VALID", ["valid"])],
    *[("criterion", value) for value in ("log_loss", None, 0, "Gini")],
    *[("min_samples_split", value) for value in (1, 0, -1, 2.5, "2", None, True)],
    *[("min_samples_leaf", value) for value in (0, -1, 0.5, "1", None, True)],
    *[("max_samples", value) for value in (0.0, -0.5, 1.5, 2, "half", math.nan, True)],
    *[("lazy", value) for value in ("no", None, 2, 0.5)],
    *[("n_jobs", value) for value in (0, 1.5, "two", math.nan)],
    *[("random_state", value) for value in (-1, 2**64, "seed", 1.5)],
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS, ids=repr)
def test_bad_parameter_is_refused_by_fit_and_leaves_the_old_forest(
    forest: DareForestClassifier, name: str, value: Any
) -> None:
    """Name and value are in the message; a new forest is not fitted and an old one stays in use."""
    X, y = new_rows(30)
    good = forest.get_params()
    forest.set_params(**{name: value})
    with pytest.raises((ValueError, TypeError)) as caught:
        forest.fit(X, y)
    forest.set_params(**good)
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert state_of(forest) == state_of(fitted_on(rows_of(N_ROWS)))


def test_all_thresholds_are_refused_for_uniform_candidates(forest: DareForestClassifier) -> None:
    """There is no end to the points of a range."""
    X, y = new_rows(30)
    before = state_of(forest)
    forest.set_params(candidates="uniform", n_thresholds=None)
    with pytest.raises(InvalidInputError, match="n_thresholds=None"):
        forest.fit(X, y)
    assert state_of(forest) == before


def test_bad_number_of_threads_leaves_the_forest_untouched_in_every_method(forest: DareForestClassifier) -> None:
    """`n_jobs` is read at every call, so it can be wrong at every call; a new label makes no difference to that."""
    X, _ = new_rows(2)
    before = state_of(forest)
    calls: list[Any] = [
        lambda: forest.delete([1]),
        lambda: forest.add(X, [0, 99]),
        lambda: forest.add(X, [0, 99], ids=[200, 201]),
        lambda: forest.deletion_cost([1]),
        lambda: forest.deletion_costs([1]),
        lambda: forest.predict(X),
        lambda: forest.fingerprint(),
        lambda: forest.verify(),
        lambda: forest.check(),
    ]
    forest.set_params(n_jobs=0)
    for call in calls:
        with pytest.raises(ValueError, match="n_jobs"):
            call()
    forest.set_params(n_jobs=None)
    assert state_of(forest) == before
    assert forest.add(X, [0, 1], ids=[60, 61]).ids == (60, 61)


# ------------------------------------------------------------------------------------------------------- failed fit


@pytest.mark.parametrize(
    "arguments",
    [
        {"X": np.full((3, 5), np.inf), "y": [0, 1, 0]},
        {"X": np.zeros((3, 5)), "y": [0, 1]},
        {"X": np.zeros((3, 5)), "y": [0, math.nan, 1]},
        {"X": np.zeros((3, 5)), "y": [0, 1, 0], "ids": [1, 1, 2]},
        {"X": np.zeros((3, 5)), "y": [0, 1, 0], "ids": [1.5, 2.5, 3.5]},
        {"X": np.zeros((0, 5)), "y": []},
    ],
    ids=["infinity", "labels missing", "NaN label", "id twice", "fractional ids", "no rows"],
)
def test_failed_fit_leaves_the_old_forest_usable(forest: DareForestClassifier, arguments: dict[str, Any]) -> None:
    """The refused table has five columns, the forest in use eight: it still predicts and learns rows of eight."""
    with refused(forest, ValueError):
        forest.fit(**arguments)
    X, y = new_rows(4)
    twin = fitted_on(rows_of(N_ROWS))
    ids = range(200, 204)
    assert forest.add(X, y, ids=ids) == twin.add(X, y, ids=ids)
    assert forest.delete([0]) == twin.delete([0])
    assert forest.fingerprint() == twin.fingerprint()


def test_fit_with_bad_parameters_and_other_columns_leaves_the_old_forest_usable(
    forest: DareForestClassifier,
) -> None:
    """Parameters are checked last or first: the old forest's number of columns stays."""
    before = state_of(forest)
    forest.set_params(criterion="guess")
    with pytest.raises(InvalidInputError, match="guess"):
        forest.fit(np.zeros((3, 5)), [0, 1, 0])
    assert state_of(forest) == before


def test_failed_fit_with_named_columns_leaves_the_old_names() -> None:
    """Column names belong to the forest in use."""
    pandas = pytest.importorskip("pandas")
    forest = small_forest().fit(pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}), [0, 1])
    with pytest.raises(InvalidInputError):
        forest.fit(pandas.DataFrame({"c": [0.0, 1.0], "d": [1.0, 0.0]}), [0, math.nan])
    assert forest.feature_names_in_.tolist() == ["a", "b"]
    assert forest.predict(pandas.DataFrame({"a": [0.0], "b": [1.0]})).tolist() == [0]


def test_first_fit_that_fails_leaves_an_unfitted_forest() -> None:
    """There is nothing to fall back to."""
    forest = small_forest()
    with pytest.raises(InvalidInputError):
        forest.fit([[0.0], [np.inf]], [0, 1])
    with pytest.raises(ValueError, match="not fitted"):
        forest.predict([[0.0]])


# ---------------------------------------------------------------------------------------------------- empty batches


@pytest.mark.parametrize("nothing", [[], (), np.empty(0), np.empty(0, np.int64), range(0)], ids=repr)
def test_deleting_nothing_is_a_no_op(forest: DareForestClassifier, nothing: Any) -> None:
    """The reports count nothing."""
    before = state_of(forest)
    for report in (forest.delete(nothing), forest.deletion_cost(nothing)):
        assert report.ids == ()
        assert (report.n_rows, report.n_nodes_rebuilt, report.n_rows_retrained) == (0, 0, 0)
    costs = forest.deletion_costs(nothing)
    assert costs.shape == (0,)
    assert costs.dtype == np.int64
    assert state_of(forest) == before


@pytest.mark.parametrize("ids", [None, [], np.empty(0, np.int64)], ids=repr)
@pytest.mark.parametrize("y", [[], np.empty(0, int), np.empty(0, str)], ids=repr)
def test_adding_nothing_is_a_no_op(forest: DareForestClassifier, y: Any, ids: Any) -> None:
    """The report counts nothing, classes keep their type, and no ids are used up."""
    before = state_of(forest)
    report = forest.add(np.empty((0, 8)), y, ids=ids)
    assert report.ids == ()
    assert (report.n_rows, report.n_nodes_rebuilt, report.n_rows_retrained) == (0, 0, 0)
    assert state_of(forest) == before
    X, y = new_rows(1)
    assert forest.add(X, y, ids=[60]).ids == (60,)


def test_empty_batches_are_no_ops_for_an_empty_forest(forest: DareForestClassifier) -> None:
    """Nothing to delete from nothing."""
    forest.delete(forest.ids_)
    before = forest.fingerprint()
    assert forest.delete([]).n_rows == 0
    assert forest.add(np.empty((0, 8)), []).n_rows == 0
    assert forest.deletion_costs([]).shape == (0,)
    assert forest.fingerprint() == before
    assert forest.check()


def test_empty_forest_knows_no_rows(forest: DareForestClassifier) -> None:
    """Deleting from it is an unknown id; predicting is an error that says why."""
    forest.delete(forest.ids_)
    with pytest.raises(UnknownRowError, match="0 rows"):
        forest.delete([3])
    with pytest.raises(EmptyForestError, match="holds no rows"):
        forest.predict(PROBES)
    assert issubclass(EmptyForestError, ValueError)


def test_forest_emptied_at_the_last_moment_gives_the_same_error(
    forest: DareForestClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread deletes everything just before the core predicts: still EmptyForestError."""

    def delete_everything_first(n_jobs: int | None) -> int:  # noqa: ARG001
        monkeypatch.undo()
        forest.delete(forest.ids_)
        return 1

    monkeypatch.setattr("deciduous._forest.n_threads", delete_everything_first)
    with pytest.raises(EmptyForestError):
        forest.predict_proba(PROBES)


def test_tree_that_does_not_exist_is_refused(forest: DareForestClassifier) -> None:
    """There are ten trees, 0 to 9."""
    with refused(forest, DeciduousError, "10"):
        forest.tree_nodes(10)


def test_every_error_is_one_of_ours_and_the_fitting_builtin() -> None:
    """Callers may catch either."""
    builtins = {InvalidInputError: ValueError, EmptyForestError: ValueError, UnknownRowError: KeyError}
    for error, builtin in builtins.items():
        assert issubclass(error, DeciduousError)
        assert issubclass(error, builtin)
    assert issubclass(RowExistsError, InvalidInputError)
