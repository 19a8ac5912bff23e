"""The estimator: what each method and parameter does, on data small enough to reason about."""

import inspect
import math
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from deciduous import DareForestClassifier, EmptyForestError, InvalidInputError, MemoryUse, _batch
from strategies import Dataset
from test_exactness import mixed_rows

SMALL = {"n_estimators": 10, "max_depth": 10, "n_thresholds": 5, "random_state": 1}
DEFAULTS: dict[str, Any] = {
    "n_estimators": 100,
    "max_depth": 20,
    "n_thresholds": 25,
    "random_depth": 0,
    "stability": 0.0,
    "max_features": "sqrt",
    "candidates": "valid",
    "criterion": "gini",
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "max_samples": None,
    "weight_unit": None,
    "class_weight": None,
    "categorical_features": "from_dtype",
    "lazy": False,
    "n_jobs": None,
    "random_state": 0,
    "verbose": 0,
}


def small_forest(**others: Any) -> DareForestClassifier:
    """An unfitted forest that is quick to train."""
    return DareForestClassifier(**(SMALL | others))


def rows_of(n_rows: int = 200, seed: int = 0) -> Dataset:
    """Rows of three classes in eight columns of all kinds."""
    return mixed_rows(np.random.default_rng(seed), n_rows)


def fitted_on(data: Dataset, **others: Any) -> DareForestClassifier:
    """A small forest trained on these rows."""
    return small_forest(**others).fit(data.X, data.y, ids=data.ids)


def costliest_rows(forest: DareForestClassifier, n_rows: int) -> list[int]:
    """The rows whose deletion retrains the most."""
    ids = forest.ids_
    return ids[np.argsort(-forest.deletion_costs(ids), kind="stable")[:n_rows]].tolist()


def ids_by_tree(forest: DareForestClassifier, n_trees: int) -> list[list[int]]:
    """The rows of each tree, from its leaves."""
    return [sorted(i for node in forest.tree_nodes(tree) for i in node.ids) for tree in range(n_trees)]


def same_shares(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two predictions agree in every bit."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


# ------------------------------------------------------------------------------------------------------- parameters


def test_defaults_are_the_documented_ones() -> None:
    """All but the seed: by default that is a secret one."""
    defaults = DareForestClassifier().get_params()
    assert set(defaults) == set(DEFAULTS)
    assert defaults | {"random_state": 0} == DEFAULTS
    data = rows_of(60)
    explicit = DareForestClassifier(**DEFAULTS).fit(data.X, data.y, ids=None)
    assert explicit.fingerprint() == DareForestClassifier(random_state=0).fit(data.X, data.y).fingerprint()


@pytest.mark.parametrize(
    ("method", "parameters"),
    {
        "fit": ["self", "X", "y", "ids", "subjects", "sample_weight"],
        "delete": ["self", "ids", "subjects"],
        "add": ["self", "X", "y", "ids", "subjects", "sample_weight"],
        "deletion_cost": ["self", "ids", "subjects"],
        "deletion_costs": ["self", "ids", "subjects"],
        "rows": ["self", "ids", "subjects"],
        "predict": ["self", "X"],
        "predict_proba": ["self", "X"],
        "fingerprint": ["self"],
        "verify": ["self"],
        "check": ["self"],
        "memory_usage": ["self"],
    }.items(),
)
def test_methods_take_the_documented_arguments(method: str, parameters: list[str]) -> None:
    """Callers may name every argument."""
    assert list(inspect.signature(getattr(DareForestClassifier, method)).parameters) == parameters


@pytest.mark.parametrize(
    "call",
    [
        lambda forest: forest.predict([[0.0]]),
        lambda forest: forest.predict_proba([[0.0]]),
        lambda forest: forest.delete([0]),
        lambda forest: forest.add([[0.0]], [0]),
        lambda forest: forest.deletion_cost([0]),
        lambda forest: forest.deletion_costs([0]),
        lambda forest: forest.fingerprint(),
        lambda forest: forest.verify(),
        lambda forest: forest.check(),
        lambda forest: forest.memory_usage(),
        lambda forest: forest.ids_,
        lambda forest: forest.n_rows_,
    ],
)
def test_unfitted_forest_says_so(call: Any) -> None:
    """Nothing but fit works before fit, and the error is scikit-learn's."""
    with pytest.raises(NotFittedError):
        call(DareForestClassifier())


def test_clone_has_the_parameters_but_not_the_rows() -> None:
    """As scikit-learn's tools expect; a clone trained on the same rows is the same forest."""
    data = rows_of()
    forest = fitted_on(data, candidates="uniform", lazy=True)
    twin = clone(forest)
    assert twin.get_params() == forest.get_params()
    with pytest.raises(NotFittedError):
        twin.fingerprint()
    assert twin.fit(data.X, data.y).fingerprint() == forest.fingerprint()


def test_set_params_takes_effect_at_the_next_fit() -> None:
    """The trained forest keeps the parameters it was trained with through every update, and verifies."""
    data = rows_of()
    forest = fitted_on(data)
    twin = fitted_on(data)
    forest.set_params(max_depth=3, n_thresholds=1, random_state=99, random_depth=2)
    assert forest.get_params()["max_depth"] == 3
    for each in (forest, twin):
        each.delete(list(range(0, 50)))
        each.add(data.X[:20], data.y[:20], ids=data.ids[:20])
    assert forest.fingerprint() == twin.fingerprint()
    assert forest.verify().matches
    forest.fit(data.X, data.y)
    assert max(node.depth for node in forest.tree_nodes(0)) == 3


def test_different_seeds_give_different_forests_and_none_draws_one() -> None:
    """A seed is 64 bits; without one, two fits hardly ever agree, and `seed_` tells which was drawn."""
    data = rows_of()
    seeds = [0, 1, 2**32, 2**64 - 1, None, None]
    forests = [fitted_on(data, random_state=seed) for seed in seeds]
    assert len({forest.fingerprint() for forest in forests}) == len(seeds)
    assert fitted_on(data, random_state=forests[-1].seed_).fingerprint() == forests[-1].fingerprint()


def test_random_state_instance_is_a_seed_too() -> None:
    """Two equal RandomState instances give equal forests, as in scikit-learn."""
    data = rows_of()
    one, other = (fitted_on(data, random_state=np.random.RandomState(5)) for _ in range(2))
    assert one.fingerprint() == other.fingerprint()


# ------------------------------------------------------------------------------------------------------- predicting


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize(
    "options",
    [{}, {"candidates": "uniform"}, {"criterion": "entropy"}, {"random_depth": 2}, {"n_thresholds": None}],
    ids=str,
)
def test_accuracy_is_that_of_a_random_forest(load: Any, options: dict[str, Any]) -> None:
    """Within five points of scikit-learn's on a test set of at least 45 rows, where one row is at most 2.2 points."""
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    theirs = RandomForestClassifier(n_estimators=50, max_depth=20, random_state=0).fit(X_train, y_train)
    ours = DareForestClassifier(n_estimators=50, random_state=0, **options).fit(X_train, y_train)
    assert ours.score(X_test, y_test) >= theirs.score(X_test, y_test) - 0.05


def test_predict_proba_rows_are_shares_of_the_leaves_reached() -> None:
    """The mean over the trees of the class shares of the leaf that a walk along `tree_nodes` reaches."""
    data = rows_of()
    forest = fitted_on(data)
    trees = [forest.tree_nodes(tree) for tree in range(10)]

    def leaf_counts(nodes: list[Any], row: np.ndarray) -> dict[Any, int]:
        position = 0
        while nodes[position].kind != "leaf":
            node = nodes[position]
            goes_left = row[node.attribute] <= node.threshold  # NaN is not: it goes right
            position += 1
            if not goes_left:  # the right child is the next node of the same depth after the left one
                position += next(i for i, other in enumerate(nodes[position + 1 :], 1) if other.depth == node.depth + 1)
        return nodes[position].counts

    shares = forest.predict_proba(data.X[:20])
    for row, its_shares in zip(data.X[:20], shares, strict=True):
        total = np.zeros(len(forest.classes_))
        for nodes in trees:
            counts = np.array([leaf_counts(nodes, row).get(label, 0) for label in forest.classes_.tolist()], float)
            total += counts / counts.sum()
        assert same_shares(its_shares, total / len(trees))


def test_predict_proba_sums_to_one_and_predict_is_its_highest() -> None:
    """Sums are of at most 10 x 3 doubles, so 1e-12 is generous."""
    data = rows_of()
    forest = fitted_on(data, max_depth=3)
    shares = forest.predict_proba(data.X)
    assert shares.dtype == np.float64
    assert shares.shape == (200, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert forest.predict(data.X).tolist() == forest.classes_[shares.argmax(axis=1)].tolist()


def test_predicting_no_rows_gives_no_predictions() -> None:
    """Zero rows to predict are not zero rows to learn from."""
    forest = fitted_on(rows_of())
    nothing = np.empty((0, 8))
    assert forest.predict_proba(nothing).shape == (0, 3)
    assert forest.predict(nothing).shape == (0,)


def test_float64_integer_and_fortran_ordered_input_predict_alike() -> None:
    """Everything is used as float32."""
    X = np.random.default_rng(0).integers(0, 9, (100, 4))
    forest = small_forest().fit(X, X[:, 0] > 4)
    shares = forest.predict_proba(X)
    for same in (X.astype(np.float64), np.asfortranarray(X.astype(np.float32)), X.tolist(), X[::-1][::-1]):
        assert same_shares(forest.predict_proba(same), shares)


def test_nan_goes_right_and_may_be_predicted_without_having_been_trained_on() -> None:
    """NaN orders after every number, so it is predicted like the largest one."""
    X = np.arange(20.0).reshape(-1, 1)
    forest = small_forest().fit(X, X[:, 0] > 9)
    assert forest.predict([[math.nan]]).tolist() == forest.predict([[19.0]]).tolist() == [True]
    with_nan = small_forest().fit([[0.0], [1.0], [math.nan], [math.nan]], ["a", "a", "b", "b"])
    assert with_nan.predict([[math.nan], [0.5], [1e30]]).tolist() == ["b", "a", "a"]
    assert with_nan.tree_nodes(0)[0].threshold == math.inf


def test_minus_zero_is_zero() -> None:
    """A column of both zeros is constant, so there is nothing to split on."""
    forest = small_forest().fit([[0.0], [-0.0], [0.0], [-0.0]], [0, 1, 0, 1])
    assert [node.kind for node in forest.tree_nodes(0)] == ["leaf"]


def test_predict_tie_goes_to_the_lower_label() -> None:
    """Two rows of the same values and different classes: 0.5 each."""
    forest = small_forest().fit([[1.0], [1.0]], [7, 5])
    assert forest.predict_proba([[1.0]]).tolist() == [[0.5, 0.5]]
    assert forest.predict([[1.0]]).tolist() == [5]


def test_predict_tie_goes_to_the_lower_label_even_when_it_was_seen_last() -> None:
    """One row each at the same values, and 1 is the lowest label."""
    forest = small_forest().fit([[1.0], [1.0]], [7, 5])
    forest.add([[1.0]], [1])
    assert forest.classes_.tolist() == [1, 5, 7]
    assert len(set(forest.predict_proba([[1.0]])[0].tolist())) == 1
    assert forest.predict([[1.0]]).tolist() == [1]


# ------------------------------------------------------------------------------------------------------ labels, classes


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-3, 4], [0.0, 1.0], [np.uint8(3), np.uint8(200)]],
    ids=["strings", "booleans", "integers", "floats", "bytes"],
)
def test_labels_of_any_kind_come_back(labels: list[Any]) -> None:
    """Predictions are labels, of the type given."""
    X = np.arange(40.0).reshape(-1, 1)
    y = np.array([labels[i >= 20] for i in range(40)])
    forest = small_forest().fit(X, y)
    assert forest.classes_.dtype == y.dtype
    assert forest.predict(X).dtype == y.dtype
    assert forest.predict(X).tolist() == y.tolist()


def test_class_whose_last_row_is_deleted_keeps_its_column_at_zero() -> None:
    """The columns of the other classes do not move, and the fingerprint forgets the class."""
    data = rows_of()
    forest = fitted_on(data)
    of_class_1 = data.ids[data.y == 1]
    others = data.y != 1
    forest.delete(of_class_1)
    shares = forest.predict_proba(data.X)
    assert forest.classes_.tolist() == [0, 1, 2]
    assert shares.shape == (200, 3)
    assert not shares[:, 1].any()
    never_saw_it = small_forest().fit(data.X[others], data.y[others], ids=data.ids[others])
    assert never_saw_it.classes_.tolist() == [0, 2]
    assert same_shares(np.ascontiguousarray(shares[:, [0, 2]]), never_saw_it.predict_proba(data.X))
    assert forest.fingerprint() == never_saw_it.fingerprint()
    assert 1 not in forest.predict(data.X)


def test_class_that_comes_back_gets_its_old_column() -> None:
    """Columns never move, so there is no second column for the same label."""
    data = rows_of()
    forest = fitted_on(data)
    before = forest.predict_proba(data.X)
    of_class_1 = data.ids[data.y == 1]
    forest.delete(of_class_1)
    forest.add(data.X[of_class_1], data.y[of_class_1], ids=of_class_1)
    assert forest.classes_.tolist() == [0, 1, 2]
    assert same_shares(forest.predict_proba(data.X), before)


@pytest.mark.parametrize(
    ("known", "new"),
    [([10, 20], [-5, 15]), (["m", "q"], ["a very long label", "b"]), ([1.0, 2.0], [0.0, 3.0])],
    ids=["integers", "strings", "floats"],
)
def test_unseen_labels_take_their_place_among_the_classes(known: list[Any], new: list[Any]) -> None:
    """Labels below and between the known ones: columns are those of a fresh fit, and nothing is cut short."""
    X = np.arange(40.0).reshape(-1, 1)
    y = np.array([known[i % 2] for i in range(40)])
    forest = small_forest(max_depth=3).fit(X, y)
    X_new = np.arange(100.0, 140.0).reshape(-1, 1)
    y_new = np.array([new[i % 2] for i in range(40)])
    report = forest.add(X_new, y_new)
    assert report.ids == tuple(range(40, 80))
    fresh = small_forest(max_depth=3).fit(np.vstack([X, X_new]), np.concatenate([y, y_new]))
    assert forest.fingerprint() == fresh.fingerprint()
    assert forest.classes_.tolist() == fresh.classes_.tolist() == sorted(known + new)
    assert forest.n_classes_ == 4
    assert forest.class_counts_ == fresh.class_counts_ == dict.fromkeys(sorted(known + new), 20)
    both = np.vstack([X, X_new])
    assert same_shares(forest.predict_proba(both), fresh.predict_proba(both))
    assert forest.tree_nodes(0) == fresh.tree_nodes(0)
    assert forest.tree_view(1).values.tolist() == fresh.tree_view(1).values.tolist()
    assert forest.predict(both).tolist() == fresh.predict(both).tolist()
    assert forest.check()
    assert forest.verify().matches


def test_classes_seen_one_after_another_are_in_order() -> None:
    """As scikit-learn promises."""
    forest = small_forest().fit([[0.0], [1.0]], ["k", "m"])
    for label, classes in [("z", "kmz"), ("a", "akmz"), ("l", "aklmz"), ("m", "aklmz")]:
        forest.add([[float(len(forest.ids_))]], [label])
        assert "".join(forest.classes_) == classes
    assert forest.predict_proba([[2.0]]).shape == (1, 5)
    assert forest.predict([[2.0], [3.0], [4.0], [5.0]]).tolist() == ["z", "a", "l", "m"]


def test_large_integer_labels_stay_apart_when_labels_of_another_integer_type_come() -> None:
    """Two labels above 2**53, which float64 cannot tell apart, and one of an unsigned type."""
    known = [2**60, 2**60 + 1]
    forest = small_forest().fit([[0.0], [1.0]], np.array(known, dtype=np.int64))
    forest.add([[2.0]], np.array([7], dtype=np.uint64))
    assert forest.classes_.tolist() == [7, *known]
    assert forest.predict([[0.0], [1.0], [2.0]]).tolist() == [*known, 7]
    fresh = small_forest().fit([[0.0], [1.0], [2.0]], np.array([*known, 7], dtype=np.int64))
    assert forest.fingerprint() == fresh.fingerprint()


def test_single_class_predicts_itself() -> None:
    """Every tree is one leaf."""
    forest = small_forest().fit([[0.0], [1.0], [2.0]], ["only"] * 3)
    assert forest.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert [len(forest.tree_nodes(tree)) for tree in range(10)] == [1] * 10


# -------------------------------------------------------------------------------------------------- deleting, adding


def test_delete_report_says_what_was_done_and_was_foretold() -> None:
    """Rows, nodes and rows retrained, by depth; the worst row of 200 changes something in 10 trees."""
    forest = fitted_on(rows_of())
    ids = costliest_rows(forest, 2)
    foretold = forest.deletion_cost(ids)
    assert forest.n_rows_ == 200
    report = forest.delete(ids)
    assert report == foretold
    assert report.ids == tuple(ids)
    assert report.n_rows == 2
    assert report.n_nodes_rebuilt == sum(report.nodes_rebuilt_by_depth) > 0
    assert report.n_rows_retrained == sum(report.rows_retrained_by_depth) > 0
    # A node is rebuilt at most once, and has at most all rows: 198 in each of 10 trees, at each depth.
    assert all(n_rows <= 10 * 198 for n_rows in report.rows_retrained_by_depth)
    assert len(report.rows_retrained_by_depth) <= SMALL["max_depth"] + 1
    assert forest.n_rows_ == 198
    assert not set(ids) & set(forest.ids_.tolist())


def test_deletion_costs_are_those_of_each_row_alone() -> None:
    """One number per id in the order given, nothing changes, and deleting a row costs what was foretold."""
    data = rows_of()
    forest = fitted_on(data)
    ids = [150, 3, 77, 12]
    before = forest.fingerprint()
    costs = forest.deletion_costs(ids)
    assert costs.shape == (4,)
    assert costs.dtype == np.int64
    assert forest.fingerprint() == before
    for row_id, cost in zip(ids, costs.tolist(), strict=True):
        assert fitted_on(data).delete([row_id]).n_rows_retrained == cost


def test_batch_is_one_pass_and_ends_where_single_deletions_end() -> None:
    """The batch retrains no more than the deletions one by one do."""
    data = rows_of()
    ids = list(range(0, 60, 2))
    batch, singles = fitted_on(data), fitted_on(data)
    batch_cost = batch.delete(ids).n_rows_retrained
    single_costs = sum(singles.delete([row_id]).n_rows_retrained for row_id in ids)
    assert batch.fingerprint() == singles.fingerprint()
    assert batch_cost < single_costs


@pytest.mark.parametrize(
    "ids",
    [7, np.int64(7), [7], (7,), np.array([7], np.int32), np.array([7], np.uint8), range(7, 8)],
    ids=["int", "numpy int", "list", "tuple", "int32 array", "uint8 array", "range"],
)
def test_delete_takes_ids_in_any_integer_form(ids: Any) -> None:
    """One id needs no list."""
    forest = fitted_on(rows_of(50))
    assert forest.delete(ids).ids == (7,)
    assert forest.n_rows_ == 49


def test_ids_may_be_any_64_bit_integers_and_are_listed_in_order() -> None:
    """Negative and extreme ones too."""
    ids = [5, -(2**63), 0, 2**63 - 1, -1]
    forest = small_forest().fit(np.arange(5.0).reshape(-1, 1), [0, 1, 0, 1, 0], ids=ids)
    assert forest.ids_.tolist() == sorted(ids)
    assert forest.ids_.dtype == np.int64
    forest.delete([2**63 - 1, -(2**63)])
    assert forest.ids_.tolist() == [-1, 0, 5]
    assert forest.check()


def test_default_ids_count_from_zero_and_go_on() -> None:
    """0 to n-1 from fit, then n, n+1, … from add."""
    data = rows_of(50)
    forest = small_forest().fit(data.X, data.y)
    assert forest.ids_.tolist() == list(range(50))
    report = forest.add(data.X[:3], data.y[:3])
    assert report.ids == (50, 51, 52)
    assert report.n_rows == 3
    assert forest.ids_.tolist() == list(range(53))


def test_fresh_ids_are_never_those_of_deleted_rows() -> None:
    """Neither after deleting the largest id, nor everything."""
    data = rows_of(50)
    forest = small_forest().fit(data.X, data.y)
    used = set(range(50))
    for gone in ([49], list(range(40, 49)), None):
        forest.delete(forest.ids_ if gone is None else gone)
        new = forest.add(data.X[:2], data.y[:2]).ids
        assert len(set(new)) == 2
        assert not set(new) & used
        used |= set(new)


def test_rows_without_ids_get_random_ones_once_ids_were_given() -> None:
    """A contiguous block far beyond ids that people use, which tells nothing of rows that are gone."""
    data = rows_of(50)
    forest = small_forest().fit(data.X, data.y)
    forest.add(data.X[:1], data.y[:1], ids=[1000])
    forest.delete([1000])
    one, other = (forest.add(data.X[:3], data.y[:3]).ids for _ in range(2))
    for block in (one, other):
        assert block == tuple(range(block[0], block[0] + 3))
        assert 2**62 <= block[0] <= block[-1] < 2**63
    assert one[0] != other[0]
    assert forest.ids_.tolist() == sorted([*range(50), *one, *other])


def test_random_ids_are_never_held_ones() -> None:
    """The first two blocks drawn touch rows that are there; the third does not."""
    starts = iter([100, 103, 200])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_batch.secrets, "randbelow", lambda _: next(starts))
        held = np.array([2**62 + 104])
        ids = _batch.random_ids(5, lambda given: np.isin(given, held))
    assert ids.tolist() == [2**62 + 200 + i for i in range(5)]


def test_counting_goes_on_over_rows_of_weight_zero() -> None:
    """They have a place in a fit on all rows, so they have one in batches, too."""
    data = rows_of(60)
    weights = np.ones(60, dtype=int)
    weights[20:40] = 0
    parts = small_forest()
    for begin in (0, 20, 40):
        its = slice(begin, begin + 20)
        parts.partial_fit(data.X[its], data.y[its], sample_weight=weights[its])
    whole = small_forest().fit(data.X, data.y, sample_weight=weights)
    assert parts.ids_.tolist() == whole.ids_.tolist()
    assert parts.fingerprint() == whole.fingerprint()


def test_deleted_id_may_be_added_again_by_name() -> None:
    """Only ids that the forest chooses are always new."""
    data = rows_of(50)
    forest = small_forest().fit(data.X, data.y)
    before = forest.fingerprint()
    forest.delete([49])
    assert forest.add(data.X[49:], data.y[49:], ids=[49]).ids == (49,)
    assert forest.fingerprint() == before


def test_add_report_counts_what_was_rebuilt() -> None:
    """Adding back the rows whose deletion costs most rebuilds at least one node again."""
    data = rows_of()
    forest = fitted_on(data)
    ids = costliest_rows(forest, 1)
    forest.delete(ids)
    report = forest.add(data.X[ids], data.y[ids], ids=ids)
    assert report.ids == tuple(ids)
    assert report.n_nodes_rebuilt > 0
    assert report.n_rows_retrained > 0


def test_forest_keeps_no_view_of_the_arrays_it_was_given() -> None:
    """What callers do to their arrays afterwards is their own business."""
    data = rows_of()
    X, y, ids = data.X.copy(), data.y.copy(), data.ids.copy()
    forest = small_forest().fit(X, y, ids=ids)
    X[:], y[:], ids[:] = 0, 0, 0
    assert forest.fingerprint() == fitted_on(data).fingerprint()
    assert forest.verify().matches


@pytest.mark.parametrize("lazy", [False, True])
def test_forest_shrinks_to_one_class_one_row_and_none_and_grows_again(lazy: bool) -> None:
    """At each stage it is the forest of what is left; without rows it refuses to predict."""
    data = rows_of()
    forest = fitted_on(data, lazy=lazy)
    whole = forest.fingerprint()

    forest.delete(data.ids[data.y != 0])
    only_0 = data.ids[data.y == 0]
    assert forest.predict_proba(data.X[:2]).tolist() == [[1.0, 0.0, 0.0]] * 2
    assert forest.fingerprint() == small_forest().fit(data.X[only_0], data.y[only_0], ids=only_0).fingerprint()

    last = only_0[-1:]
    forest.delete(only_0[:-1])
    assert forest.n_rows_ == 1
    assert forest.ids_.tolist() == last.tolist()
    assert forest.predict(data.X[:2]).tolist() == [0, 0]
    assert forest.fingerprint() == small_forest().fit(data.X[last], data.y[last], ids=last).fingerprint()

    forest.delete(last)
    assert forest.n_rows_ == 0
    assert forest.ids_.tolist() == []
    assert forest.check()
    assert forest.verify().matches
    for predict in (forest.predict, forest.predict_proba):
        with pytest.raises(EmptyForestError, match="no rows"):
            predict(data.X[:2])

    forest.add(data.X, data.y, ids=data.ids)
    assert forest.fingerprint() == whole
    assert same_shares(forest.predict_proba(data.X), fitted_on(data).predict_proba(data.X))
    assert forest.check()


def test_empty_forest_may_be_filled_with_classes_never_seen() -> None:
    """The old classes keep their columns, at zero."""
    forest = small_forest().fit([[0.0], [1.0]], ["a", "b"])
    forest.delete([0, 1])
    forest.add([[0.0], [1.0]], ["c", "d"])
    assert forest.classes_.tolist() == ["a", "b", "c", "d"]
    assert forest.predict_proba([[0.0]]).tolist() == [[0.0, 0.0, 1.0, 0.0]]
    assert forest.ids_.tolist() == [2, 3]
    fresh = small_forest().fit([[0.0], [1.0]], ["c", "d"], ids=[2, 3])
    assert forest.fingerprint() == fresh.fingerprint()


# ------------------------------------------------------------------------------------------------------- the trees


@pytest.mark.parametrize(
    ("share", "n_trees", "n_its_trees"),
    [(0.25, 10, 3), (0.5, 10, 5), (0.01, 7, 1), (0.75, 7, 6), (1.0, 4, 4)],
)
def test_every_row_is_in_exactly_its_share_of_the_trees(share: float, n_trees: int, n_its_trees: int) -> None:
    """ceil(q T) trees, also after deletions and for rows added later."""
    data = rows_of(120)
    forest = small_forest(max_samples=share, n_estimators=n_trees).fit(data.X[:100], data.y[:100])

    def assert_shares() -> None:
        counts = np.bincount(np.concatenate(ids_by_tree(forest, n_trees)).astype(int), minlength=120)
        assert counts[forest.ids_].tolist() == [n_its_trees] * forest.n_rows_
        assert counts.sum() == n_its_trees * forest.n_rows_

    assert_shares()
    forest.delete(list(range(30)))
    forest.add(data.X[100:], data.y[100:])
    assert forest.n_rows_ == 90
    assert_shares()
    assert forest.verify().matches


def test_max_samples_of_one_is_every_tree() -> None:
    """The share 1.0 and None are the same forest."""
    data = rows_of()
    assert fitted_on(data, max_samples=1.0).fingerprint() == fitted_on(data).fingerprint()


def test_trees_without_rows_have_no_say() -> None:
    """Three rows in one of ten trees each: at least seven trees are empty, yet the shares sum to one."""
    forest = small_forest(max_samples=0.1).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert sum(not ids for ids in ids_by_tree(forest, 10)) >= 7
    np.testing.assert_allclose(forest.predict_proba([[0.0]]).sum(), 1.0, atol=1e-12)


@pytest.mark.parametrize("random_depth", [4, 5, 100])
def test_random_depth_of_max_depth_gives_random_nodes_only(random_depth: int) -> None:
    """The paper's Random Trees: four layers of random nodes, then leaves."""
    data = rows_of()
    forest = fitted_on(data, max_depth=4, random_depth=random_depth)
    kinds = {node.kind for tree in range(10) for node in forest.tree_nodes(tree)}
    assert kinds == {"leaf", "random"}
    assert forest.fingerprint() == fitted_on(data, max_depth=4, random_depth=4).fingerprint()


@pytest.mark.parametrize("random_depth", [0, 1, 3])
def test_nodes_above_the_random_depth_are_random_and_those_below_greedy(random_depth: int) -> None:
    """A node's depth alone decides; leaves may be anywhere."""
    forest = fitted_on(rows_of(), random_depth=random_depth)
    forest.delete(list(range(0, 100, 3)))
    splits = [node for tree in range(10) for node in forest.tree_nodes(tree) if node.kind != "leaf"]
    assert {node.kind for node in splits if node.depth < random_depth} == ({"random"} if random_depth else set())
    assert {node.kind for node in splits if node.depth >= random_depth} == {"greedy"}


def test_stability_changes_nodes_of_at_least_1000_rows_and_no_others() -> None:
    """Rows of weight 20 count as twenty: the same splits until there are enough of them."""
    data = rows_of()
    n_rows = len(data.y)

    def fingerprint(weight: int, stability: float) -> str:
        weights = np.full(n_rows, weight)
        forest = small_forest(stability=stability, max_depth=1)
        return forest.fit(data.X, data.y, ids=data.ids, sample_weight=weights).fingerprint()

    assert n_rows < 1000 <= 20 * n_rows
    assert fingerprint(1, stability=1.0) == fingerprint(1, stability=0.0)
    assert fingerprint(20, stability=1.0) != fingerprint(20, stability=0.0)


def test_stable_splits_are_turned_by_fewer_deletions() -> None:
    """That is what the noise is for: fewer rows are retrained under large nodes."""
    data = mixed_rows(np.random.default_rng(3), 4000)

    def rows_retrained(stability: float) -> float:
        forest = DareForestClassifier(5, max_depth=2, n_thresholds=10, stability=stability, random_state=5)
        forest.fit(data.X, data.y, ids=data.ids)
        return sum(forest.delete([row]).n_rows_retrained for row in data.ids[:1000].tolist())

    assert rows_retrained(1.0) < 0.6 * rows_retrained(0.0)


@pytest.mark.parametrize(
    ("option", "holds"),
    [
        ({"max_depth": 3}, lambda node: node.depth <= 3),
        ({"min_samples_leaf": 7}, lambda node: node.kind != "leaf" or len(node.ids) >= 7),
        ({"min_samples_split": 20}, lambda node: node.kind == "leaf" or sum(node.counts.values()) >= 20),
    ],
    ids=["max_depth", "min_samples_leaf", "min_samples_split"],
)
def test_limits_on_nodes_hold_before_and_after_updates(option: dict[str, int], holds: Any) -> None:
    """Every node of every tree obeys, and the limit is one that an unlimited forest breaks."""
    data = rows_of()
    forest = fitted_on(data, **option)
    assert not all(holds(node) for tree in range(10) for node in fitted_on(data).tree_nodes(tree))
    for update in (lambda: None, lambda: forest.delete(list(range(60))), lambda: forest.add(data.X[:30], data.y[:30])):
        update()
        assert all(holds(node) for tree in range(10) for node in forest.tree_nodes(tree))


def test_max_depth_none_grows_until_the_leaves_are_pure() -> None:
    """One distinct value per row and alternating classes: one row per leaf."""
    X = np.arange(64.0).reshape(-1, 1)
    forest = small_forest(max_depth=None).fit(X, np.arange(64) % 2)
    leaves = [node for tree in range(10) for node in forest.tree_nodes(tree) if node.kind == "leaf"]
    assert {len(node.ids) for node in leaves} == {1}


@pytest.mark.parametrize(
    ("max_features", "n_considered"), [("sqrt", 2), ("log2", 3), (3, 3), (0.5, 4), (None, 8), (100, 8), (1.0, 8)]
)
def test_max_features_in_all_its_forms(max_features: Any, n_considered: int) -> None:
    """Of 8 columns: a rule, a number, a share, all; as good as giving the number."""
    data = rows_of()
    assert (
        fitted_on(data, max_features=max_features).fingerprint()
        == fitted_on(data, max_features=n_considered).fingerprint()
    )


def test_uniform_candidates_lie_in_the_range_and_not_on_midpoints() -> None:
    """A valid threshold of whole numbers is a midpoint of two of them; a uniform one hardly ever is."""
    X = np.arange(100.0).reshape(-1, 1)
    y = np.random.default_rng(0).integers(0, 2, 100)
    thresholds = {
        scheme: np.array(
            [
                node.threshold
                for tree in range(10)
                for node in small_forest(candidates=scheme).fit(X, y).tree_nodes(tree)
                if node.kind == "greedy"
            ]
        )
        for scheme in ("valid", "uniform")
    }
    assert (thresholds["valid"] * 2 % 1 == 0).all()
    assert (thresholds["uniform"] * 2 % 1 != 0).mean() > 0.9
    for scheme in thresholds:
        assert ((thresholds[scheme] >= 0) & (thresholds[scheme] < 99)).all()


def test_uniform_candidates_follow_deletions_exactly() -> None:
    """Deleting the rows with the extreme values changes the range that thresholds are drawn from."""
    data = rows_of()
    for n_thresholds in (1, 20):
        forest = fitted_on(data, candidates="uniform", n_thresholds=n_thresholds)
        extremes = np.argsort(data.X[:, 1])[-20:]
        forest.delete(extremes)
        left = np.setdiff1d(data.ids, extremes)
        fresh = small_forest(candidates="uniform", n_thresholds=n_thresholds)
        assert forest.fingerprint() == fresh.fit(data.X[left], data.y[left], ids=left).fingerprint()


def test_tree_nodes_are_consistent_with_the_rows() -> None:
    """Counts add up from the leaves, and every row is in the leaf its values lead to."""
    data = rows_of()
    forest = fitted_on(data)
    nodes = forest.tree_nodes(0)
    assert nodes[0].depth == 0
    assert nodes[0].counts == {label: int((data.y == label).sum()) for label in (0, 1, 2)}
    for node in nodes:
        if node.kind == "leaf":
            assert sum(node.counts.values()) == len(node.ids)
            assert all((data.y[list(node.ids)] == label).sum() == n for label, n in node.counts.items())


# ----------------------------------------------------------------------------------- what must not make a difference


def test_lazy_forest_postpones_and_ends_as_the_eager_one() -> None:
    """The rows whose deletion costs most leave unbuilt subtrees; predictions, fingerprints and audits build them."""
    data = rows_of(400)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True)
    ids = costliest_rows(eager, 3)
    report, postponed = eager.delete(ids), lazy.delete(ids)
    assert postponed.n_rows_retrained >= report.n_rows_retrained  # whether small subtrees change was not asked
    assert postponed.n_rows_regrown == 0 < report.n_rows_regrown
    assert eager._forest.n_unbuilt == 0
    n_postponed = lazy._forest.n_unbuilt
    assert n_postponed > 0
    assert lazy.check()

    assert same_shares(lazy.predict_proba(data.X[:1]), eager.predict_proba(data.X[:1]))
    assert lazy.check()
    assert same_shares(lazy.predict_proba(data.X), eager.predict_proba(data.X))
    assert lazy.fingerprint() == eager.fingerprint()
    assert lazy._forest.n_unbuilt == 0
    assert lazy.verify().matches


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_settled_forest_has_nothing_left_to_build(n_jobs: int) -> None:
    """Without time nothing is built; with enough of it everything is, and the forest is the eager one."""
    data = rows_of(400)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True, n_jobs=n_jobs)
    ids = costliest_rows(eager, 3)
    for forest in (eager, lazy):
        forest.delete(ids)
    n_postponed = lazy._forest.n_unbuilt
    assert lazy.settle(budget=0) == n_postponed > 0
    assert lazy.settle() == lazy._forest.n_unbuilt == 0
    assert lazy.settle(budget=10**400) == 0
    assert lazy.check()
    assert same_shares(lazy.predict_proba(data.X), eager.predict_proba(data.X))
    assert lazy.fingerprint() == eager.fingerprint()


def test_large_subtrees_are_settled_level_by_level_and_end_the_same() -> None:
    """A root of more rows than are grown in one go is postponed as a whole."""
    random = np.random.default_rng(3)
    X = random.normal(size=(10_000, 3)).astype(np.float32)
    y = (X[:, 0] + random.normal(size=len(X)) > 0).astype(int)
    forests = [DareForestClassifier(n_estimators=2, max_depth=6, random_state=1, lazy=lazy) for lazy in (False, True)]
    eager, lazy = (forest.fit(X, y) for forest in forests)
    for forest in (eager, lazy):
        forest.delete(list(range(2_000)))
    assert lazy._forest.n_unbuilt > 0
    assert lazy.settle() == 0
    assert lazy.fingerprint() == eager.fingerprint()


@pytest.mark.parametrize("budget", [-1, math.nan, "soon", None, True])
def test_budget_that_is_no_time_is_refused(budget: Any) -> None:
    """The message names it."""
    forest = fitted_on(rows_of(40), lazy=True)
    with pytest.raises(InvalidInputError, match=re.escape(f"infinity, but is {budget!r}")):
        forest.settle(budget)


@pytest.mark.parametrize(
    "read",
    [
        lambda forest: forest.settle() or forest.fingerprint(),
        lambda forest: forest.fingerprint(),
        lambda forest: (forest.verify().matches, forest.fingerprint()),
        lambda forest: (forest.verify().fingerprint, forest.tree_nodes(3)),
        lambda forest: [forest.tree_nodes(tree) for tree in range(10)],
        lambda forest: forest.predict_proba(rows_of(400).X).tobytes(),
        lambda forest: forest.delete(list(range(300, 320))).ids,
        lambda forest: forest.add(rows_of(5, seed=9).X, rows_of(5, seed=9).y, ids=range(900, 905)).ids,
    ],
    ids=["settle", "fingerprint", "verify", "one tree", "all trees", "predictions", "delete", "add"],
)
def test_whatever_reads_a_lazy_forest_first_sees_the_eager_one(read: Any) -> None:
    """After two batches with nothing built in between."""
    data = rows_of(400)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True)
    for batch in (costliest_rows(eager, 3), list(range(100, 140))):
        present = [row_id for row_id in batch if row_id in set(eager.ids_.tolist())]
        for forest in (eager, lazy):
            forest.delete(present)
    assert lazy._forest.n_unbuilt > 0
    assert read(lazy) == read(eager)
    assert lazy.check()
    assert lazy.fingerprint() == eager.fingerprint()


def lazy_after_single_deletions() -> tuple[DareForestClassifier, DareForestClassifier, Dataset]:
    """An eager and a lazy forest after the same deletions, one by one, with nothing read in between."""
    data = rows_of(1_000, seed=4)
    eager, lazy = fitted_on(data), fitted_on(data, lazy=True)
    for row_id in range(0, 400, 4):
        for forest in (eager, lazy):
            forest.delete([row_id])
    assert lazy._forest.n_unbuilt > 0
    assert lazy.check()
    return eager, lazy, data


def test_lazy_forest_takes_in_a_class_while_splits_are_undecided() -> None:
    """Statistics, which know what is undecided, do not survive a new class."""
    eager, lazy, data = lazy_after_single_deletions()
    for forest in (eager, lazy):
        forest.add(data.X[:3], [9, 9, 9], ids=range(5_000, 5_003))
    assert lazy.check()
    assert lazy.fingerprint() == eager.fingerprint()


def test_lazy_forest_follows_rows_that_go_and_come_back() -> None:
    """Splits that lost and won again in between are what they were, and so is all else."""
    eager, lazy, data = lazy_after_single_deletions()
    for row_id in range(0, 400, 8):
        for forest in (eager, lazy):
            forest.add(data.X[row_id : row_id + 1], data.y[row_id : row_id + 1], ids=[row_id])
    assert lazy.check()
    for rows in (data.X[500:501], data.X[:50], data.X):
        assert same_shares(lazy.predict_proba(rows), eager.predict_proba(rows))
        assert lazy.check()
    assert lazy.fingerprint() == eager.fingerprint()


def test_forest_that_stops_being_lazy_decides_what_it_passes() -> None:
    """Deletions of an eager kind pass splits that were left undecided before."""
    eager, lazy, data = lazy_after_single_deletions()
    lazy.set_params(lazy=False)
    for forest in (eager, lazy):
        forest.delete(list(range(401, 600, 7)))
    assert lazy.check()
    assert lazy.settle() == 0
    assert lazy.fingerprint() == eager.fingerprint()
    assert same_shares(lazy.predict_proba(data.X), eager.predict_proba(data.X))


def test_lazy_forest_foretells_what_its_own_deletions_cost() -> None:
    """What is unbuilt has nothing to retrain, so costs may be lower than an eager forest's, but they are true."""
    forest = fitted_on(rows_of(400), lazy=True)
    forest.delete(costliest_rows(forest, 3))
    n_unbuilt = forest._forest.n_unbuilt
    foretold = forest.deletion_cost(list(range(100, 110)))
    alone = forest.deletion_costs([200]).tolist()
    assert forest._forest.n_unbuilt == n_unbuilt > 0
    assert forest.deletion_cost([200]).n_rows_retrained == alone[0]
    assert forest.delete(list(range(100, 110))) == foretold


@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_number_of_threads_does_not_matter(n_jobs: int) -> None:
    """Fit, updates, predictions and reports are those of the default."""
    data = rows_of()
    forest, default = fitted_on(data, n_jobs=n_jobs), fitted_on(data)
    assert forest.fingerprint() == default.fingerprint()
    ids = list(range(0, 100, 7))
    assert forest.deletion_costs(ids).tolist() == default.deletion_costs(ids).tolist()
    assert forest.delete(ids) == default.delete(ids)
    assert forest.add(data.X[ids], data.y[ids], ids=ids) == default.add(data.X[ids], data.y[ids], ids=ids)
    assert same_shares(forest.predict_proba(data.X), default.predict_proba(data.X))
    assert forest.fingerprint() == default.fingerprint()
    assert forest.check()


def test_order_of_rows_does_not_matter() -> None:
    """Neither in fit, nor in delete, nor in add; ids are what names a row."""
    data = rows_of()
    shuffled = np.random.default_rng(1).permutation(200)
    forest = fitted_on(data)
    other = small_forest().fit(data.X[shuffled], data.y[shuffled], ids=data.ids[shuffled])
    assert forest.fingerprint() == other.fingerprint()
    gone = np.arange(0, 200, 4)
    forest.delete(gone)
    other.delete(gone[::-1])
    assert forest.fingerprint() == other.fingerprint()
    forest.add(data.X[gone], data.y[gone], ids=gone)
    back = np.random.default_rng(2).permutation(gone)
    other.add(data.X[back], data.y[back], ids=back)
    assert forest.fingerprint() == other.fingerprint()
    assert same_shares(forest.predict_proba(data.X), other.predict_proba(data.X))


# ------------------------------------------------------------------------------------------------------- inspection


def test_fingerprint_is_a_hex_digest_that_follows_the_rows() -> None:
    """32 bytes; it changes with an id, a label, a row, and comes back when the row does."""
    data = rows_of()
    forest = fitted_on(data)
    digest = forest.fingerprint()
    assert len(bytes.fromhex(digest)) == 32
    assert forest.fingerprint() == digest
    assert small_forest().fit(data.X, data.y, ids=data.ids + 1).fingerprint() != digest
    assert small_forest().fit(data.X, data.y + 1, ids=data.ids).fingerprint() != digest
    forest.delete([5])
    assert forest.fingerprint() != digest
    forest.add(data.X[5:6], data.y[5:6], ids=[5])
    assert forest.fingerprint() == digest


def test_verify_and_check_report_a_sound_forest() -> None:
    """The report is true, names no difference and gives the fingerprint that was verified."""
    forest = fitted_on(rows_of())
    forest.delete(list(range(50)))
    report = forest.verify()
    assert report
    assert report.matches is True
    assert report.problem is None
    assert report.fingerprint == forest.fingerprint()
    assert forest.check()


def test_memory_usage_tells_data_structure_and_statistics_apart() -> None:
    """All are counted, they add up, and 2,000 rows of 8 columns need at least a byte per cell and more than 200 do."""
    usage = fitted_on(rows_of(2000)).memory_usage()
    assert isinstance(usage, MemoryUse)
    names = [field.name for field in fields(usage)]
    assert names == ["data", "structure", "decision_stats", "leaf_stats"]
    assert all(isinstance(getattr(usage, name), int) and getattr(usage, name) > 0 for name in names)
    assert usage.total == sum(getattr(usage, name) for name in names)
    assert usage.data >= 2000 * 8
    small = fitted_on(rows_of(200)).memory_usage()
    assert small.data < usage.data
    assert small.structure < usage.structure
    assert small.leaf_stats < usage.leaf_stats


def test_refit_replaces_the_old_forest() -> None:
    """Rows, classes, columns and fresh ids start again."""
    data = rows_of()
    forest = fitted_on(data)
    forest.add(data.X[:5], data.y[:5])
    X, y = np.arange(20.0).reshape(-1, 2), ["u", "v"] * 5
    assert forest.fit(X, y) is forest
    assert forest.fingerprint() == small_forest().fit(X, y).fingerprint()
    assert forest.ids_.tolist() == list(range(10))
    assert forest.classes_.tolist() == ["u", "v"]
    assert forest.n_features_in_ == 2
    assert forest.add(X[:1], y[:1]).ids == (10,)


def test_fit_accepts_a_data_frame() -> None:
    """Column names are learned as in scikit-learn, and other ones are refused."""
    pandas = pytest.importorskip("pandas")
    data = rows_of()
    frame = pandas.DataFrame(data.X, columns=list("abcdefgh"))
    forest = small_forest().fit(frame, pandas.Series(data.y), ids=pandas.Series(data.ids))
    assert forest.fingerprint() == fitted_on(data).fingerprint()
    assert forest.feature_names_in_.tolist() == list("abcdefgh")
    forest.delete(pandas.Index([1, 2]))
    forest.add(frame[1:3], data.y[1:3], ids=[1, 2])
    assert forest.fingerprint() == fitted_on(data).fingerprint()
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame.rename(columns={"a": "z"}))


def test_cost_does_not_claim_what_only_the_deletion_can_tell() -> None:
    """How many rows are really grown again depends on what was set aside; before, that is None, not 0."""
    forest = fitted_on(rows_of(100))
    cost = forest.deletion_cost(list(range(20)))
    report = forest.delete(list(range(20)))
    assert cost.n_rows_regrown is None
    assert report.n_rows_regrown is not None
    assert cost == report
