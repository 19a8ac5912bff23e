"""Weights: a row of weight w is w rows of its class, and a class of weight w pulls w times as hard."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from deciduous import DareForestClassifier, InvalidInputError, UnknownRowError
from strategies import (
    TUNINGS,
    Dataset,
    Options,
    Tuning,
    counted,
    datasets,
    options_for,
    train_forest,
)
from test_errors import refused
from test_exactness import TINY, mixed_rows, shares_by_label
from test_forest import fitted_on, rows_of, same_shares, small_forest

SCHEMES: dict[str, Options] = {
    "valid": {},
    "every threshold": {"n_thresholds": None},
    "uniform": {"candidates": "uniform", "n_thresholds": 10},
    "random upper layers": {"random_depth": 3},
    "random trees": {"random_depth": 10},
    "entropy": {"criterion": "entropy"},
    "large leaves": {"min_samples_leaf": 5, "min_samples_split": 20},
    "weighted classes": {"class_weight": {0: 0.3, 1: 7.5}},
    "weighted classes, entropy": {"class_weight": "balanced", "criterion": "entropy", "candidates": "uniform"},
}
all_schemes = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES.keys())
both_tunings = pytest.mark.parametrize("tuning", [None, TINY], ids=["default sizes", "tiny sizes"])


def weighted_rows(n_rows: int = 300, seed: int = 0, least: int = 1) -> Dataset:
    """Rows of three classes with weights up to 4."""
    data = rows_of(n_rows, seed)
    return Dataset(data.ids, data.X, data.y, np.random.default_rng(seed).integers(least, 5, n_rows))


def repeated(data: Dataset) -> Dataset:
    """Each row as often as it weighs, without weights, under new ids."""
    copies = copies_of(data, np.arange(len(data.ids)))
    return Dataset(copies, np.repeat(data.X, data.weights, axis=0), np.repeat(data.y, data.weights))


def copies_of(data: Dataset, rows: np.ndarray) -> np.ndarray:
    """The ids of the repetitions of these rows."""
    ends = np.cumsum(data.weights)
    return np.concatenate([np.arange(ends[i] - data.weights[i], ends[i]) for i in rows])


def small_options(**others: Any) -> Options:
    """The parameters of a forest that is quick to train."""
    return small_forest(**others).get_params()


def nodes_without_ids(forest: DareForestClassifier) -> list[tuple]:
    """Kinds, splits and counts of all nodes."""
    nodes = [node for tree in range(forest.n_estimators) for node in forest.tree_nodes(tree)]
    return [(node.kind, node.depth, node.attribute, node.threshold, node.counts) for node in nodes]


def splits(forest: DareForestClassifier) -> list[tuple]:
    """Kinds and splits of all nodes, with the ids of the leaves."""
    nodes = [node for tree in range(forest.n_estimators) for node in forest.tree_nodes(tree)]
    return [(node.kind, node.depth, node.attribute, node.threshold, node.ids) for node in nodes]


def assert_same_but_for_ids(one: DareForestClassifier, other: DareForestClassifier, X: np.ndarray) -> None:
    """The same nodes and bytes of predictions."""
    assert one.check()
    assert nodes_without_ids(one) == nodes_without_ids(other)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert same_shares(one.predict_proba(X), other.predict_proba(X))


# ------------------------------------------------------------------------------------------------- weights of rows


@all_schemes
@both_tunings
def test_weight_is_repetition(scheme: Options, tuning: Tuning | None) -> None:
    """A row of weight 3 gives the splits, counts and predictions of three equal rows."""
    data = weighted_rows()
    copies = repeated(data)
    weighted = train_forest(data, small_options(**scheme), tuning)
    assert_same_but_for_ids(weighted, fitted_on(copies, **scheme), data.X)
    assert weighted.n_rows_ == 300  # rows have one id each, whatever they weigh
    assert copies.ids.size == data.weights.sum() > 600


@all_schemes
@both_tunings
def test_weight_is_repetition_after_deletions_and_additions(scheme: Options, tuning: Tuning | None) -> None:
    """One id stands for all repetitions, and an update costs as much."""
    data, rng = weighted_rows(), np.random.default_rng(5)
    pool = repeated(data)
    weighted = train_forest(data, small_options(**scheme), tuning)
    copied = train_forest(pool, small_options(**scheme), tuning)
    for leaving in rng.permutation(300).reshape(6, 50)[:4]:
        returning = leaving[:30]
        costs = [weighted.delete(leaving), copied.delete(copies_of(data, leaving))]
        assert costs[0].nodes_rebuilt_by_depth == costs[1].nodes_rebuilt_by_depth
        assert costs[0].rows_retrained_by_depth == costs[1].rows_retrained_by_depth
        assert_same_but_for_ids(weighted, copied, data.X)
        back, copies = data.where(returning), pool.where(copies_of(data, returning))
        weighted.add(back.X, back.y, ids=back.ids, sample_weight=back.weights)
        copied.add(copies.X, copies.y, ids=copies.ids)
        assert_same_but_for_ids(weighted, copied, data.X)


@given(st.data(), datasets(), TUNINGS)
def test_weight_is_repetition_on_hostile_data(draws: st.DataObject, data: Dataset, tuning: Tuning) -> None:
    """Also with ties, NaN, weights of 0 and of 1000."""
    options = draws.draw(options_for(data)) | {"max_samples": None}
    weighted = train_forest(data, options, tuning)
    copied = train_forest(repeated(data), options)
    assert_same_but_for_ids(weighted, copied, data.X)
    assert weighted.class_weight_ == copied.class_weight_


@all_schemes
def test_weights_of_one_are_no_weights(scheme: Options) -> None:
    """Given as integers, floats, booleans or one number for all rows."""
    data = rows_of(100)
    plain = fitted_on(data, **scheme).fingerprint()
    for ones in (np.ones(100, int), np.ones(100), np.ones(100, bool), [1] * 100, 1):
        forest = small_forest(**scheme).fit(data.X, data.y, sample_weight=ones)
        assert forest.fingerprint() == plain


def test_one_weight_for_all_rows_is_repetition_of_all() -> None:
    """A number stands for as many numbers as there are rows; all counts double."""
    data = rows_of(100)
    once, twice = fitted_on(data), small_forest().fit(data.X, data.y, sample_weight=2)
    doubled = [{label: 2 * n for label, n in node.counts.items()} for node in once.tree_nodes(0)]
    assert [node.counts for node in twice.tree_nodes(0)] == doubled
    assert splits(twice) == splits(once)


@all_schemes
def test_weight_zero_is_a_row_left_out(scheme: Options) -> None:
    """The same bytes as without these rows, whose ids are not held."""
    data = weighted_rows(least=0)
    held = counted(data)
    assert 0 < len(held.ids) < 300
    forest = train_forest(data, small_options(**scheme))
    assert forest.fingerprint() == train_forest(held, small_options(**scheme)).fingerprint()
    assert forest.ids_.tolist() == held.ids.tolist()
    absent = int(data.ids[data.weights == 0][0])
    with pytest.raises(UnknownRowError, match=str(absent)):
        forest.delete([absent])


@all_schemes
def test_added_weight_zero_is_a_row_left_out(scheme: Options) -> None:
    """The report names the rows that came, and the ids of the others stay free."""
    first, data = rows_of(100, seed=1), weighted_rows(least=0)
    new = Dataset(data.ids + 1000, data.X, data.y, data.weights)
    forest, without = fitted_on(first, **scheme), fitted_on(first, **scheme)
    report = forest.add(new.X, new.y, ids=new.ids, sample_weight=new.weights)
    held = counted(new)
    assert report.ids == tuple(held.ids.tolist())
    assert report == without.add(held.X, held.y, ids=held.ids, sample_weight=held.weights)
    assert forest.fingerprint() == without.fingerprint()
    forest.add(new.X[new.weights == 0], new.y[new.weights == 0], ids=new.ids[new.weights == 0])
    assert forest.n_rows_ == 400


def test_class_with_weight_zero_only_is_not_seen() -> None:
    """Neither by fit nor by add."""
    data = rows_of(100)
    with_nines = np.where(np.arange(100) < 5, 9, data.y)
    weights = np.where(np.arange(100) < 5, 0, 1)
    forest = small_forest(class_weight="balanced").fit(data.X, with_nines, sample_weight=weights)
    assert forest.classes_.tolist() == [0, 1, 2]
    assert set(forest.class_weight_) == {0, 1, 2}
    before = forest.fingerprint()
    report = forest.add(data.X[:5], [9] * 5, sample_weight=[0] * 5)
    assert (report.ids, report.n_nodes_rebuilt) == ((), 0)
    assert forest.classes_.tolist() == [0, 1, 2]
    assert forest.fingerprint() == before


def test_deletion_takes_all_the_weight_away() -> None:
    """Of six rows at 0 and one at 1, one row of weight 5 leaves: the counts lose 5 at once."""
    X, y = np.array([[0.0], [0.0], [1.0]], np.float32), np.array([0, 0, 1])
    forest = small_forest(n_estimators=1).fit(X, y, sample_weight=[5, 1, 1])
    assert forest.tree_nodes(0)[0].counts == {0: 6, 1: 1}
    assert forest.deletion_cost([0]).n_rows == 1
    forest.delete([0])
    assert forest.tree_nodes(0)[0].counts == {0: 1, 1: 1}
    assert forest.ids_.tolist() == [1, 2]


def test_id_of_a_deleted_row_comes_back_with_a_weight_of_its_own() -> None:
    """Weights do not stay behind where rows were kept."""
    data = weighted_rows()
    forest = train_forest(data, small_options())
    forest.delete(data.ids)
    forest.add(data.X, data.y, ids=data.ids)
    assert forest.fingerprint() == fitted_on(rows_of(300)).fingerprint()


def test_first_weight_may_come_late() -> None:
    """Rows that had no weights count once beside rows that have some."""
    first, later = rows_of(100, seed=1), weighted_rows(100)
    forest = fitted_on(first)
    forest.add(later.X, later.y, ids=later.ids + 100, sample_weight=later.weights)
    both = Dataset(
        np.arange(200),
        np.vstack([first.X, later.X]),
        np.concatenate([first.y, later.y]),
        np.concatenate([np.ones(100, int), later.weights]),
    )
    assert forest.fingerprint() == train_forest(both, small_options()).fingerprint()


def test_row_belongs_to_the_same_trees_whatever_it_weighs() -> None:
    """With max_samples the trees of a row follow from its id alone."""
    data = weighted_rows()
    weighted = train_forest(data, small_options(max_samples=0.5, max_depth=1))
    plain = fitted_on(rows_of(300), max_samples=0.5, max_depth=1)
    for tree in range(weighted.n_estimators):
        held = [sorted(i for node in forest.tree_nodes(tree) for i in node.ids) for forest in (weighted, plain)]
        assert held[0] == held[1]
        assert sum(weighted.tree_nodes(tree)[0].counts.values()) == data.weights[held[0]].sum()


def test_verify_retrains_with_weights() -> None:
    """The audit of a deletion knows the weights of the rows and of the classes."""
    data = weighted_rows()
    forest = train_forest(data, small_options(class_weight={0: 0.3, 1: 7.5}))
    forest.delete(data.ids[::3])
    assert forest.verify().matches


# ----------------------------------------------------------------------------------------------- weights of classes


@pytest.mark.parametrize("class_weight", [{}, {1: 1}, {0: 7.5, 1: 7.5, 2: 7.5}, {"no such class": 4.0}], ids=repr)
@all_schemes
def test_equal_class_weights_are_none(scheme: Options, class_weight: dict) -> None:
    """All W_y are the same power of two, which scales scores and leaves shares alone, to the last bit."""
    data = weighted_rows()
    plain = train_forest(data, small_options(**(scheme | {"class_weight": None})))
    forest = train_forest(data, small_options(**(scheme | {"class_weight": class_weight})))
    for _ in range(2):
        assert forest.fingerprint() == plain.fingerprint()
        assert same_shares(forest.predict_proba(data.X), plain.predict_proba(data.X))
        for changed in (plain, forest):
            changed.delete(data.ids[::2])
            changed.add(data.X[::2], data.y[::2], ids=data.ids[::2])


def test_class_weight_in_use_is_told() -> None:
    """None, the numbers of the dict, or what "balanced" came to."""
    data = Dataset(np.arange(4), np.arange(4, dtype=np.float32)[:, None], np.array([0, 0, 0, 1]))
    assert fitted_on(data).class_weight_ is None
    assert fitted_on(data, class_weight={1: 3, 7: 0.5}).class_weight_ == {1: 3.0, 7: 0.5}
    assert fitted_on(data, class_weight="balanced").class_weight_ == {0: 4 / (2 * 3), 1: 4 / (2 * 1)}


def test_balanced_counts_rows_by_weight() -> None:
    """A row of weight 3 is three rows of its class here too."""
    X, y = np.arange(3, dtype=np.float32)[:, None], np.array(["a", "b", "b"])
    forest = small_forest(class_weight="balanced").fit(X, y, sample_weight=[6, 1, 1])
    assert forest.class_weight_ == {"a": 8 / (2 * 6), "b": 8 / (2 * 2)}


@all_schemes
def test_balanced_is_the_dict_it_resolves_to(scheme: Options) -> None:
    """And stays it, whatever is deleted and added later."""
    data = weighted_rows()
    balanced = train_forest(data, small_options(**(scheme | {"class_weight": "balanced"})))
    weights = balanced.class_weight_
    named = train_forest(data, small_options(**(scheme | {"class_weight": weights})))
    assert named.fingerprint() == balanced.fingerprint()
    for forest in (balanced, named):
        forest.delete(data.ids[data.y == 1][:-1])
        forest.add(data.X[:9], [0, 1, 3] * 3, ids=range(2000, 2009), sample_weight=[1, 2, 3] * 3)
    assert balanced.class_weight_ == weights
    assert named.fingerprint() == balanced.fingerprint()
    assert same_shares(named.predict_proba(data.X), balanced.predict_proba(data.X))


def test_class_weight_sets_the_shares_of_a_leaf() -> None:
    """Two rows of class 0 and one of class 1 that weighs 6: one quarter and three quarters."""
    X = np.zeros((3, 1), np.float32)
    forest = small_forest(class_weight={1: 6}).fit(X, [0, 0, 1])
    W_0, W_1 = round(2**20 / 6), 2**20
    expected = [2 * W_0 / (2 * W_0 + W_1), W_1 / (2 * W_0 + W_1)]
    # Ten trees with the same leaf, summed and divided.
    assert forest.predict_proba(X[:1])[0] == pytest.approx(expected, rel=1e-14)
    assert forest.predict_proba(X[:1])[0] == pytest.approx([0.25, 0.75], rel=1e-5)
    assert forest.predict(X[:1]) == [1]
    assert small_forest().fit(X, [0, 0, 1]).predict(X[:1]) == [0]


def test_class_weight_is_not_a_number_of_rows() -> None:
    """A class that weighs 100 does not make a leaf large enough to split."""
    X, y = np.arange(4, dtype=np.float32)[:, None], np.array([0, 1, 0, 1])
    for limit in ({"min_samples_split": 5}, {"min_samples_leaf": 3}):
        forest = small_forest(class_weight={0: 100, 1: 100.5}, **limit).fit(X, y)
        assert [node.counts for node in forest.tree_nodes(0)] == [{0: 2, 1: 2}]


def test_class_weight_of_a_class_first_seen_by_add_applies() -> None:
    """A class weighs the same whether it came with fit or later, and so do the others."""
    data = mixed_rows(np.random.default_rng(4), 300)
    weights = {0: 0.3, 1: 1.0, 2: 7.5}
    early = data.where(data.y != 2)
    late = data.where(data.y == 2)
    forest = small_forest(class_weight=weights).fit(early.X, early.y, ids=early.ids)
    forest.add(late.X, late.y, ids=late.ids)
    fresh = fitted_on(data, class_weight=weights)
    assert forest.fingerprint() == fresh.fingerprint()
    assert shares_by_label(forest, data.X) == shares_by_label(fresh, data.X)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_class_that_left_leaves_no_trace_in_class_weights(criterion: str) -> None:
    """The heaviest class is deleted: the weights of the others are those of a forest that never saw it."""
    data = mixed_rows(np.random.default_rng(4), 300)
    options = {"class_weight": {0: 0.3, 1: 1.0, 2: 7.5}, "criterion": criterion}
    forest = fitted_on(data, **options)
    forest.delete(data.ids[data.y == 2])
    left = data.where(data.y != 2)
    fresh = fitted_on(left, **options)
    assert forest.fingerprint() == fresh.fingerprint()
    assert shares_by_label(forest, data.X) == shares_by_label(fresh, data.X)


def test_split_does_not_remember_a_class_that_left() -> None:
    """One row of the heaviest class leaves these fourteen, and a near tie is decided as if it had never come."""
    digits = "002 322 012 220 032 311 122 212 022 202 003 011 002 120"
    X = np.array([list(row) for row in digits.split()]).astype(np.float32)
    y = np.array([2, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1])
    options = {"n_thresholds": None, "max_features": None, "class_weight": {0: 0.3, 1: 1.0, 2: 7.5}}
    forest = small_forest(**options, n_estimators=3, random_state=118).fit(X, y)
    forest.delete([0])
    fresh = small_forest(**options, n_estimators=3, random_state=118).fit(X[1:], y[1:], ids=range(1, 14))
    assert forest.fingerprint() == fresh.fingerprint()


@pytest.mark.parametrize("others", [{}, {"candidates": "uniform"}, {"criterion": "entropy"}], ids=repr)
def test_balanced_class_weight_raises_recall_of_the_rare_class(others: Options) -> None:
    """One row in twenty is positive, and most of them lie among as many negatives."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.05).astype(int)
    X = (rng.normal(size=(4000, 4)) + 1.2 * y[:, None]).astype(np.float32)
    train, test = slice(0, 2000), slice(2000, None)
    recalls = {
        class_weight: recall_score(
            y[test],
            small_forest(class_weight=class_weight, n_estimators=50, min_samples_leaf=10, **others)
            .fit(X[train], y[train])
            .predict(X[test]),
        )
        for class_weight in (None, "balanced")
    }
    assert recalls["balanced"] > recalls[None] + 0.2


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.fixture
def forest() -> DareForestClassifier:
    """A fitted forest that must come out of every refusal unchanged."""
    return train_forest(weighted_rows(60), small_options(class_weight={0: 0.3, 1: 7.5}))


BAD_WEIGHTS: list[tuple[Any, tuple[str, ...]]] = [
    ([1, -2, 1], ("sample_weight[1]", "-2")),
    ([math.nan, 1, 1], ("sample_weight[0]", "nan")),
    ([1, math.inf, 1], ("sample_weight[1]", "inf")),
    (-1, ("-1",)),
    ([1, 1], ("(2,)", "(3,)")),
    ([1, 1, 1, 1], ("(4,)", "(3,)")),
    ([[1], [1], [1]], ("(3, 1)", "(3,)")),
    ([], ("(0,)", "(3,)")),
    (["1", "1", "1"], ("<U1",)),
    ("balanced", ("<U8",)),
    ([1, None, 1], ("object",)),
    ([1, 1j, 1], ("complex",)),
]


@pytest.mark.parametrize(("weights", "named"), BAD_WEIGHTS, ids=repr)
def test_bad_weights_are_refused(forest: DareForestClassifier, weights: Any, named: tuple[str, ...]) -> None:
    """By fit and add alike; a new label in the batch does not extend the classes."""
    X = rows_of(3, seed=8).X
    with refused(forest, InvalidInputError, "sample_weight", *named):
        forest.fit(X, [0, 1, 9], sample_weight=weights)
    with refused(forest, InvalidInputError, "sample_weight", *named):
        forest.add(X, [0, 1, 9], sample_weight=weights)


def test_fit_needs_a_row_of_positive_weight(forest: DareForestClassifier) -> None:
    """Rows of weight 0 are no rows."""
    with refused(forest, InvalidInputError, "positive weight"):
        forest.fit(rows_of(3).X, [0, 1, 0], sample_weight=[0, 0, 0])


def test_id_given_twice_is_refused_at_weight_zero_too(forest: DareForestClassifier) -> None:
    """Which of the two rows was meant to be left out is not for the forest to guess."""
    with refused(forest, InvalidInputError, "101", "twice"):
        forest.add(rows_of(3).X, [0, 1, 0], ids=[100, 101, 101], sample_weight=[1, 0, 1])


def test_weights_beyond_what_counts_hold_are_refused(forest: DareForestClassifier) -> None:
    """A forest holds fewer than 2^30 rows; five rows of weight 2^30 - 1 are more, and would wrap around."""
    X, y = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [1.0]], np.float32), [0, 0, 0, 0, 0, 1]
    weights = [2**30 - 1] * 4 + [4, 1]  # 2^32 in class 0
    with pytest.raises(InvalidInputError, match=str(2**32 + 1)):
        small_forest(weight_unit=1).fit(X, y, sample_weight=weights)
    rows = rows_of(6)
    with refused(forest, InvalidInputError, "2^30"):
        forest.add(rows.X, y, sample_weight=weights)
    with refused(forest, InvalidInputError, "sample_weight[1]", str(2**30)):
        forest.add(rows.X[:2], y[:2], sample_weight=[1, 2**30])


BAD_CLASS_WEIGHTS: list[tuple[Any, tuple[str, ...]]] = [
    ("balance", ("'balanced'", "'balance'")),
    ([1, 2], ("[1, 2]",)),
    (2.5, ("2.5",)),
    (((0, 1.0),), ("(0, 1.0)",)),
    ({0: 1, 1: 0}, ("class_weight[1]", "0")),
    ({0: -0.5}, ("class_weight[0]", "-0.5")),
    ({"yes": math.nan}, ("class_weight['yes']", "nan")),
    ({2: math.inf}, ("class_weight[2]", "inf")),
    ({0: "3"}, ("class_weight[0]", "'3'")),
    ({0: None}, ("class_weight[0]", "None")),
]


@pytest.mark.parametrize(("class_weight", "named"), BAD_CLASS_WEIGHTS, ids=repr)
def test_bad_class_weights_are_refused(forest: DareForestClassifier, class_weight: Any, named: tuple[str, ...]) -> None:
    """By fit; a forest that was fitted before goes on with the weights it had."""
    X, y = rows_of(3, seed=8).X, [0, 1, 9]
    before = forest.class_weight_
    forest.set_params(class_weight=class_weight)
    with refused(forest, InvalidInputError, "class_weight", *named):
        forest.fit(X, y)
    assert forest.class_weight_ == before == {0: 0.3, 1: 7.5}
    forest.add(X, y)
    assert forest.check()
    assert forest.verify().matches


def test_class_weight_set_after_fit_waits_for_the_next_fit() -> None:
    """`class_weight_` is what counts: parameters changed later change no forest."""
    data, new = rows_of(60), rows_of(20, seed=8)
    forest, untouched = fitted_on(data, class_weight={1: 7.5}), fitted_on(data, class_weight={1: 7.5})
    forest.set_params(class_weight=None)
    for one in (forest, untouched):
        one.add(new.X, new.y, ids=range(2000, 2020))
    assert forest.fingerprint() == untouched.fingerprint()
    assert same_shares(forest.predict_proba(data.X), untouched.predict_proba(data.X))


def test_class_weight_changed_in_place_after_fit_changes_nothing() -> None:
    """The forest keeps a copy of the dict."""
    data, new = rows_of(60), rows_of(20, seed=8)
    weights = {1: 7.5}
    forest, untouched = fitted_on(data, class_weight=weights), fitted_on(data, class_weight={1: 7.5})
    weights[1] = 0.1
    for one in (forest, untouched):
        one.add(new.X, new.y, ids=range(2000, 2020))
    assert forest.class_weight_ == {1: 7.5}
    assert forest.fingerprint() == untouched.fingerprint()
