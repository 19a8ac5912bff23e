"""Whatever was deleted and added, the forest is the one that a fit on what is left gives, byte for byte."""

import math
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.testing import assert_array_equal, assert_equal

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError, _core
from reference import Node, fingerprint, fit_reference, fixed_point_of, regression_fingerprint
from strategies import (
    HEAVY_WEIGHTS,
    LABELS,
    REAL_WEIGHTS,
    ROW_IDS,
    SIZES,
    TARGETS,
    TUNINGS,
    WEIGHTS,
    Categories,
    Dataset,
    Forest,
    Label,
    Options,
    Row,
    Tuning,
    build_forest,
    counted,
    dataset_of,
    forest_options,
    holds_a_row,
    n_attributes,
    reference_params,
    resolved_options,
    row_contents,
    tables,
    train_forest,
)

NOTHING_CACHED: Tuning = {"min_cached_rows": 10_000, "look_ups_per_sort": 0, "reserve": 0}


def shuffled(rows: dict[int, Row], shuffle: Callable[[list], None]) -> dict[int, Row]:
    """The same rows in another order."""
    ids = list(rows)
    shuffle(ids)
    return {row_id: rows[row_id] for row_id in ids}


def without_weight_zero(rows: dict[int, Row]) -> dict[int, Row]:
    """The rows that a forest holds of these."""
    return {row_id: row for row_id, row in rows.items() if row[2] > 0}


def shares_by_label(forest: DareForestClassifier, X: np.ndarray) -> dict[Any, list[float]]:
    """The predictions for each class that has rows, whatever the order of the columns is."""
    columns = zip(forest.classes_.tolist(), forest.predict_proba(X).T.tolist(), strict=True)
    return {label: shares for label, shares in columns if any(shares)}


def targets_and_quantiles(forest: DareForestRegressor, X: np.ndarray) -> tuple[list[float], list[list[float]]]:
    """The predictions of a regressor."""
    return forest.predict(X).tolist(), forest.predict(X, quantiles=[0, 0.05, 1 / 3, 0.5, 0.95, 1]).tolist()


def importances(forest: Forest) -> list[list[float]]:
    """What each attribute takes off the impurity, tree by tree."""
    views = map(forest.tree_view, range(forest.n_estimators))
    return [view.importances(forest.criterion, forest.n_attributes_).tolist() for view in views]


def out_of_bag(forest: Forest) -> dict[Any, list[float]]:
    """What trees say of rows that they do not hold, for each class that has rows, or in one column."""
    if isinstance(forest, DareForestRegressor):
        return {"target": forest.oob_prediction_.tolist()}
    columns = zip(forest.class_counts_.items(), forest.oob_decision_function_.T.tolist(), strict=True)
    return {label: shares for (label, n), shares in columns if n > 0}


def planned_and_done(forest: Forest, ids: list[int]) -> None:
    """Deletes rows, and what the forest reports is what it had foretold."""
    foretold = forest.deletion_cost(ids)
    report = forest.delete(ids)
    assert report == foretold
    assert set(report.ids) == set(ids)
    assert sum(report.nodes_rebuilt_by_depth) == report.n_nodes_rebuilt
    assert sum(report.rows_retrained_by_depth) == report.n_rows_retrained


class AnyHistory(RuleBasedStateMachine):
    """An eager and a lazy forest with sizes of their own go through the same history.

    Rows are drawn in the order in which they came, as some have random ids: histories must be the same when repeated.
    """

    labels: Sequence[list[Label]] = LABELS

    @initialize(data=st.data())
    def fit(self, data: st.DataObject) -> None:
        """Starts both forests on the same rows in different orders."""
        unit = data.draw(st.sampled_from([None, None, None, *REAL_WEIGHTS]), label="weight unit")
        weights = WEIGHTS + HEAVY_WEIGHTS if unit is None else REAL_WEIGHTS[unit]
        self.table = data.draw(tables(weights, self.labels), label="table")
        options = forest_options(self.table.n_columns, self.table.labels, self.table.categories)
        self.options: Options = data.draw(options, label="options") | {"weight_unit": unit}
        contents = data.draw(row_contents(self.table).filter(holds_a_row), label="rows")
        unique_ids = st.lists(ROW_IDS, min_size=len(contents), max_size=len(contents), unique=True)
        ids = data.draw(st.just(list(range(len(contents)))) | unique_ids, label="ids")
        self.rows: dict[int, Row] = dict(zip(ids, contents, strict=True))
        self.gone: dict[int, Row] = {}
        self.random = data.draw(st.randoms(use_true_random=False), label="order")
        self.eager = self.fitted(data.draw(TUNINGS, label="tuning"), n_jobs=1)
        self.lazy = self.fitted(data.draw(TUNINGS, label="lazy tuning"), n_jobs=2, lazy=True)
        self.rows = without_weight_zero(self.rows)
        # From now on "balanced", and the range of targets, mean what they meant for these rows.
        self.options = resolved_options(self.options, dataset_of(self.rows))

    def predictions(self, forest: Forest, X: np.ndarray) -> Any:
        """All that a forest predicts, comparable with what one with another order of classes does."""
        return shares_by_label(forest, X)

    def fitted(self, tuning: Tuning, **others: Any) -> Forest:
        """A forest fitted on the present rows in a random order."""
        present = dataset_of(shuffled(self.rows, self.random.shuffle))
        return train_forest(present, self.options, tuning, **others)

    def fresh(self) -> Forest:
        """The forest of the present rows, with a column for each category."""
        present = dataset_of(shuffled(self.rows, self.random.shuffle), self.table.categories).one_hot()
        return train_forest(present, self.options | {"categorical_features": None}, NOTHING_CACHED)

    def empty_fingerprint(self) -> str:
        """The fingerprint of the forest without rows, which cannot be fitted."""
        n = n_attributes(self.table.n_columns, self.table.categories)
        nothing = Dataset(np.empty(0, np.int64), np.empty((0, n), np.float32), np.empty(0, np.int64))
        trees = fit_reference(reference_params(self.options, nothing), nothing.ids, nothing.X, nothing.y)
        return self.fingerprint_of_no_rows(trees, n)

    def fingerprint_of_no_rows(self, trees: list[Node], n: int) -> str:
        """The fingerprint of empty trees over so many attributes."""
        return fingerprint(trees, n, [])

    def delete(self, ids: list[int]) -> None:
        """Deletes rows from both forests."""
        for forest in (self.eager, self.lazy):
            planned_and_done(forest, ids)
        self.gone |= {row_id: self.rows.pop(row_id) for row_id in ids}

    def add(self, rows: dict[int, Row], in_parts: bool = False) -> None:
        """Adds rows under ids of our choice to both forests."""
        new = dataset_of(shuffled(rows, self.random.shuffle))
        for forest in (self.eager, self.lazy):
            if in_parts:
                assert forest.partial_fit(new.X, new.y, ids=new.ids, sample_weight=new.weights) is forest
                continue
            report = forest.add(new.X, new.y, ids=new.ids, sample_weight=new.weights)
            assert set(report.ids) == set(counted(new).ids.tolist())
        self.rows |= without_weight_zero(rows)
        self.gone = {row_id: row for row_id, row in self.gone.items() if row_id not in rows}

    def free_ids(self) -> st.SearchStrategy[int]:
        """Ids that no row has."""
        return ROW_IDS.filter(lambda row_id: row_id not in self.rows)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def delete_one(self, data: st.DataObject) -> None:
        """Any row."""
        self.delete([data.draw(st.sampled_from(list(self.rows)))])

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def delete_some(self, data: st.DataObject) -> None:
        """Any set of rows, in any order."""
        some = st.lists(st.sampled_from(list(self.rows)), min_size=1, unique=True)
        self.delete(data.draw(some))

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def delete_all_of_a_class(self, data: st.DataObject) -> None:
        """A class without rows is a class never seen."""
        label = data.draw(st.sampled_from(sorted({label for _, label, _ in self.rows.values()})))
        self.delete([row_id for row_id, row in self.rows.items() if row[1] == label])

    @precondition(lambda self: self.rows)
    @rule()
    def delete_everything(self) -> None:
        """Down to empty trees."""
        self.delete(list(self.rows))

    @rule(data=st.data(), in_parts=st.booleans())
    def add_under_chosen_ids(self, data: st.DataObject, in_parts: bool) -> None:
        """New rows, maybe with values and classes never seen, maybe under ids of deleted rows."""
        contents = data.draw(row_contents(self.table, max_size=6))
        ids = data.draw(st.lists(self.free_ids(), min_size=len(contents), max_size=len(contents), unique=True))
        self.add(dict(zip(ids, contents, strict=True)), in_parts)

    @precondition(lambda self: len(self.rows) > 2)
    @rule(data=st.data(), weight=st.sampled_from([1, 200, 40_000]))
    def squeeze_a_value(self, data: st.DataObject, weight: int) -> None:
        """Rows of one class come beside a value, maybe heavy ones, and the rows at the value leave.

        What was counted on both sides of it comes together.
        """
        column = data.draw(st.integers(0, self.table.n_columns - 1))
        ordered = sorted(self.rows, key=lambda row_id: (np.isnan(v := self.rows[row_id][0][column]), v))
        chosen = self.rows[data.draw(st.sampled_from(ordered))][0][column]
        at_value = [i for i in ordered if np.array_equal(self.rows[i][0][column], chosen, equal_nan=True)]
        first = ordered.index(at_value[0])
        sides = [side for side in (ordered[:first], ordered[first + len(at_value) :]) if side]
        beside = [self.rows[data.draw(st.sampled_from(side))] for side in sides]
        ids = data.draw(st.lists(self.free_ids(), min_size=len(beside), max_size=len(beside), unique=True))
        if beside:
            self.add({i: (values, beside[0][1], weight) for i, (values, _, _) in zip(ids, beside, strict=True)})
        self.delete(at_value)

    @rule(data=st.data())
    def add_under_fresh_ids(self, data: st.DataObject) -> None:
        """The forest finds ids that no row has or had."""
        contents = data.draw(row_contents(self.table, max_size=6))
        new = dataset_of(dict(enumerate(contents)))
        ids = self.eager.add(new.X, new.y, sample_weight=new.weights).ids
        counted = without_weight_zero(dict(enumerate(contents)))
        its = [i in counted for i in range(len(contents))]
        weights = None if new.weights is None else new.weights[its]
        assert self.lazy.add(new.X[its], new.y[its], ids=ids, sample_weight=weights).ids == ids
        assert not set(ids) & (set(self.rows) | set(self.gone))
        self.rows |= dict(zip(ids, counted.values(), strict=True))

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def replace_some(self, data: st.DataObject) -> None:
        """In one step rows go, some of them under the same ids come back as others, and new ones come."""
        contents = data.draw(row_contents(self.table, min_size=0, max_size=6))
        held = st.sampled_from(list(self.rows))
        ids = data.draw(st.lists(held | ROW_IDS, min_size=len(contents), max_size=len(contents), unique=True))
        deleted = data.draw(st.lists(held, unique=True, max_size=6))
        given = dict(zip(ids, contents, strict=True))
        new = dataset_of(shuffled(given, self.random.shuffle))
        X = new.X.reshape(-1, self.table.n_columns)
        for forest in (self.eager, self.lazy):
            forest.update(X, new.y, new.ids, delete=deleted, sample_weight=new.weights)
        before = self.rows
        self.rows = {i: row for i, row in before.items() if i not in deleted and i not in given}
        self.rows |= without_weight_zero(given)
        self.gone |= {i: row for i, row in before.items() if i not in self.rows}
        self.gone = {i: row for i, row in self.gone.items() if i not in self.rows}

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Rows come back under the ids they had."""
        ids = data.draw(st.lists(st.sampled_from(list(self.gone)), min_size=1, unique=True))
        self.add({row_id: self.gone[row_id] for row_id in ids})

    @precondition(lambda self: self.rows)
    @rule()
    def foretell_single_deletions(self) -> None:
        """All costs at once are those that each row has alone."""
        ids = sorted(self.rows)
        for forest in (self.eager, self.lazy):
            costs = forest.deletion_costs(ids)
            assert costs.dtype == np.int64
            assert costs.tolist() == [forest.deletion_cost([row_id]).n_rows_retrained for row_id in ids]

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def predict_with_the_lazy_forest(self, data: st.DataObject) -> None:
        """One prediction builds what it reaches and leaves the rest unbuilt."""
        X = np.array([data.draw(self.table.values)], dtype=np.float32)
        assert self.predictions(self.lazy, X) == self.predictions(self.eager, X)

    @rule(budget=st.sampled_from([0.0, 1e-5, 1e-3, math.inf]))
    def settle(self, budget: float) -> None:
        """Builds some of what was postponed, or all, and changes nothing else."""
        n_left = self.lazy.settle(budget)
        assert n_left == self.lazy._forest.n_unbuilt
        assert n_left == 0 or budget < math.inf
        assert self.eager.settle(budget) == 0

    @rule()
    def compact(self) -> None:
        """Changes memory and nothing else, also what was postponed or set aside."""
        for forest in (self.eager, self.lazy):
            assert forest.compact() == forest.memory_usage()

    @rule()
    def store_and_load(self) -> None:
        """A pickle, which has the bytes of a file, brings back the forest with the sizes that it has."""
        self.eager, self.lazy = (pickle.loads(pickle.dumps(forest)) for forest in (self.eager, self.lazy))
        self.forget_what_files_leave_out()
        assert self.lazy.to_bytes() == type(self.lazy).from_bytes(self.lazy.to_bytes()).to_bytes()

    def forget_what_files_leave_out(self) -> None:
        """Weights that came from rows are stored for classes that have rows; others weigh 1 from then on.

        The unit of all weights, which is the largest of them, stays: a class that never comes has it here.
        """
        if (before := self.options["class_weight"]) is not None:
            unit = {"never comes": max([1.0, *before.values()])}
            self.options["class_weight"] = self.eager.class_weight_ | unit

    @rule()
    def verify(self) -> None:
        """The forests retrain themselves and compare."""
        for forest in (self.eager, self.lazy):
            assert forest.verify().matches

    @precondition(lambda self: self.rows)
    @rule()
    def read_importances_and_out_of_bag_predictions(self) -> None:
        """Those of the fresh forest, bit by bit."""
        fresh = self.fresh()
        is_in_all = self.options["max_samples"] is None or self.eager._params.trees_per_row == self.eager.n_estimators
        for forest in (self.eager, self.lazy):
            assert_array_equal(importances(forest), importances(fresh))
            if not is_in_all:
                assert_equal(out_of_bag(forest), out_of_bag(fresh))

    @rule()
    def look_at_the_lazy_forest(self) -> None:
        """Now and then only: looking builds everything that was postponed."""
        self.assert_is_as_if_fresh(self.lazy)

    @invariant()
    def eager_forest_is_as_if_fresh(self) -> None:
        """After every step."""
        self.assert_is_as_if_fresh(self.eager)

    def assert_is_as_if_fresh(self, forest: Forest) -> None:
        """Rows, nodes, predictions and the statistics in the caches are those of a fit on the present rows."""
        assert forest.ids_.tolist() == sorted(self.rows)
        assert forest.n_rows_ == len(self.rows)
        assert forest.check()
        if self.rows:
            fresh = self.fresh()
            assert forest.fingerprint() == fresh.fingerprint()
            present = dataset_of(self.rows, self.table.categories)
            # Class weights are not in the fingerprint, but they are in the shares.
            assert self.predictions(forest, present.X) == self.predictions(fresh, present.one_hot().X)
            return
        assert forest.fingerprint() == self.empty_fingerprint()
        with pytest.raises(ValueError, match="row"):
            forest.predict(np.zeros((1, self.table.n_columns), np.float32))

    def teardown(self) -> None:
        """However much the lazy forest has postponed by now, it is the same forest."""
        if hasattr(self, "lazy"):
            self.assert_is_as_if_fresh(self.lazy)


class AnyHistoryOfTargets(AnyHistory):
    """The same with regressors."""

    labels = TARGETS

    @initialize(data=st.data())
    def fit(self, data: st.DataObject) -> None:
        """The first rows decide which targets may come; a rule tries the others."""
        super().fit(data)
        low, high = self.eager.target_range_
        within = [target for target in self.table.labels if low <= target <= high]
        self.beyond = [target for target in self.table.labels if not low <= target <= high]
        self.table = replace(self.table, labels=within)

    def predictions(self, forest: Forest, X: np.ndarray) -> Any:
        """Means and quantiles."""
        return targets_and_quantiles(forest, X)

    def fingerprint_of_no_rows(self, trees: list[Node], n: int) -> str:
        """With the scale, which stays."""
        return regression_fingerprint(trees, n, 0, fixed_point_of(*self.options["target_range"]))

    def forget_what_files_leave_out(self) -> None:
        """They have the scale."""

    @precondition(lambda self: self.beyond)
    @rule(data=st.data())
    def refuse_a_target_beyond_the_range(self, data: st.DataObject) -> None:
        """Nothing changes, even where other rows of the batch could come and go; the invariant looks."""
        ((good, target, _),) = data.draw(row_contents(self.table, max_size=1))
        X = np.array([good, good], dtype=np.float32)
        y = np.array([target, data.draw(st.sampled_from(self.beyond))])
        ids = data.draw(st.lists(self.free_ids(), min_size=2, max_size=2, unique=True))
        for forest in (self.eager, self.lazy):
            with pytest.raises(InvalidInputError, match="this forest takes targets from"):
                forest.update(X, y, ids, delete=list(self.rows)[:1])


def test_every_size_that_trades_memory_for_time_is_varied() -> None:
    """A size that no test varies may change forests unseen."""
    assert set(SIZES) == {name for name in dir(_core.Tuning) if not name.startswith("_")}


TestAnyHistory = AnyHistory.TestCase
TestAnyHistoryOfTargets = AnyHistoryOfTargets.TestCase
# Histories are where the faults are: more of them than of other examples. The stress test of the core does them, too.
TestAnyHistory.settings = TestAnyHistoryOfTargets.settings = settings(max_examples=4 * settings.default.max_examples)


def mixed_rows(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Eight columns: continuous, skewed, rounded, categorical codes, rare flags, constant, with NaN."""
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.exponential(size=n_rows) ** 3,
            rng.normal(size=n_rows).round(1),
            rng.integers(0, 5, n_rows),
            rng.random(n_rows) < 0.02,
            np.full(n_rows, 7.0),
            np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            rng.integers(0, 2, n_rows),
        ]
    ).astype(np.float32)
    y = (X[:, 0] + X[:, 3] / 2 + rng.normal(size=n_rows) > 1).astype(int) + (X[:, 2] > 1.5)
    return Dataset(np.arange(n_rows), X, y)


def rare_positives(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Two positives in a hundred: most thresholds are not valid, and few rows decide which are."""
    rows = mixed_rows(rng, n_rows)
    return Dataset(rows.ids, rows.X, np.where(rng.random(n_rows) < 0.02, "yes", "no"))


def almost_no_positives(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Two positives in a thousand: with the last of them, whole trees become leaves."""
    rows = mixed_rows(rng, n_rows)
    return Dataset(rows.ids, rows.X, (rng.permutation(n_rows) < n_rows / 500).astype(int))


def weighted_rows(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Rows that count once to six times."""
    rows = mixed_rows(rng, n_rows)
    return Dataset(rows.ids, rows.X, rows.y, rng.integers(1, 7, n_rows))


def wide_one_hot(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Sixty indicators of three categorical columns, some of them with a single row."""
    codes = [np.minimum(rng.geometric(0.2, n_rows) - 1, 19) for _ in range(3)]
    X = np.hstack([np.eye(20, dtype=np.float32)[code] for code in codes])
    y = (codes[0] + codes[1] * rng.integers(0, 2, n_rows)) % 3
    return Dataset(np.arange(n_rows), X, y)


def categorical_rows(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Four categorical columns between two numeric ones.

    One has more categories than a byte can number, many with a single row; one has values that are no category, and
    missing ones that are; one has missing values that are none; one is a flag.
    """
    many, some, few = (
        rng.integers(0, 400, n_rows),
        np.minimum(rng.geometric(0.3, n_rows), 9),
        rng.integers(0, 4, n_rows),
    )
    flag = rng.integers(0, 2, n_rows)
    columns = [
        rng.normal(size=n_rows),
        many,
        np.where(rng.random(n_rows) < 0.1, np.nan, some),
        np.where(rng.random(n_rows) < 0.1, np.nan, few),
        flag,
        np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
    ]
    categories: Categories = {1: [*range(399, -1, -1)], 2: [7, np.nan, 1, 2, 3, 5], 3: [0, 1, 2, 3], 4: [1]}
    y = (many % 3 == 0).astype(int) + (some + few * flag + rng.integers(0, 3, n_rows) > 4)
    return Dataset(np.arange(n_rows), np.column_stack(columns).astype(np.float32), y, categories=categories)


def smooth_targets(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Targets that are all different."""
    rows = mixed_rows(rng, n_rows)
    y = 3.0 * rows.X[:, 0] - rows.X[:, 2] ** 2 + rows.X[:, 3] + rng.normal(size=n_rows)
    return Dataset(rows.ids, rows.X, y)


def few_targets(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Nine targets in ten are zero, the others one of four numbers, and rows count once to six times."""
    rows = mixed_rows(rng, n_rows)
    amounts = np.array([0.5, 20.0, 1e-7, -3.0])[rng.integers(0, 4, n_rows)]
    y = np.where((rng.random(n_rows) < 0.1) | (rows.X[:, 4] > 0), amounts, 0.0)
    return Dataset(rows.ids, rows.X, y, rng.integers(1, 7, n_rows))


def categorical_targets(rng: np.random.Generator, n_rows: int) -> Dataset:
    """Huge targets with a long tail, that depend on categories."""
    rows = categorical_rows(rng, n_rows)
    y = 1e200 * (rows.y + np.nan_to_num(rows.X[:, 3])) * rng.exponential(size=n_rows) ** 3
    return replace(rows, y=y)


class MediumHistory:
    """A forest of a few hundred rows that sees random deletions and additions, some of them nasty."""

    def __init__(self, options: Options, tuning: Tuning | None, lazy: bool, data: Dataset, n_rows: int = 400) -> None:
        """Fits on the first rows of the pool; the others wait to be added."""
        self.data = data
        self.one_hot = data.one_hot()
        categories = {"categorical_features": data.categories or None}
        self.rng = random.Random(7)
        self.present = set(data.ids[:n_rows].tolist())
        self.options = resolved_options(options, self.present_rows(data))
        self.forest = train_forest(self.present_rows(data), options | categories, tuning, lazy=lazy, n_jobs=2)

    def present_rows(self, data: Dataset) -> Dataset:
        """The present rows."""
        return data.where(np.array(sorted(self.present)))

    def step(self) -> None:
        """One random operation; additions are as frequent as deletions."""
        absent = sorted(set(self.data.ids.tolist()) - self.present)
        n_rows = self.rng.choice([1, 1, 1, 1, 2, 5, 30])
        if len(self.present) < 60 or (self.rng.random() < 0.5 and absent):
            self.add(self.rng.sample(absent, min(n_rows, len(absent))))
        else:
            self.delete(self.rng.choice([self.any_rows, self.rows_of_one_value, self.extreme_rows])(n_rows))

    def any_rows(self, n_rows: int) -> list[int]:
        """Rows at random."""
        return self.rng.sample(sorted(self.present), n_rows)

    def rows_of_one_value(self, n_rows: int) -> list[int]:
        """Rows that share a value, so that a value may vanish and its neighbours meet."""
        column = self.data.X[:, self.rng.randrange(self.data.X.shape[1])]
        value = column[self.rng.choice(sorted(self.present))]
        return [i for i in sorted(self.present) if column[i] == value][:n_rows] or self.any_rows(1)

    def extreme_rows(self, n_rows: int) -> list[int]:
        """The rows with the largest values of a column, so that its range shrinks."""
        column = self.data.X[:, self.rng.randrange(self.data.X.shape[1])]
        return sorted(self.present, key=lambda i: -column[i])[: min(n_rows, 5)]

    def delete(self, ids: list[int]) -> None:
        """Deletes present rows."""
        planned_and_done(self.forest, ids)
        self.present -= set(ids)

    def add(self, ids: list[int]) -> None:
        """Adds rows of the pool."""
        new = self.data.where(np.array(ids))
        self.forest.add(new.X, new.y, ids=new.ids, sample_weight=new.weights)
        self.present |= set(ids)

    def assert_is_as_if_fresh(self) -> None:
        """Compares with a fit on the present rows, with a column for each category."""
        assert self.forest.check()
        fresh = train_forest(self.present_rows(self.one_hot), self.options)
        assert self.forest.fingerprint() == fresh.fingerprint()


HISTORIES: dict[str, Options] = {
    "greedy": {"n_thresholds": 5},
    "every threshold": {"n_thresholds": None, "max_depth": 6},
    "random upper layers": {"random_depth": 4, "n_thresholds": 3},
    "uniform": {"candidates": "uniform", "n_thresholds": 10},
    "entropy, large leaves": {"criterion": "entropy", "min_samples_leaf": 4, "n_thresholds": 2},
    "each row in a quarter of the trees": {"max_samples": 0.25, "n_thresholds": 1},
    "stable": {"stability": 0.3, "n_thresholds": 5},
    "weighted classes": {"class_weight": {0: 0.3, 1: 2.5, "yes": 30}, "n_thresholds": 5},
}
TINY: Tuning = {
    "min_cached_rows": 4,
    "max_bytes_per_row": 1_000_000,
    "look_ups_per_sort": 1_000_000,
    "rows_per_look_up": 0,
    "reserve": 1,
}


TARGET_HISTORIES: dict[str, Options] = {
    name: options | {"criterion": "squared_error"}
    for name, options in {
        "greedy": {"n_thresholds": 5},
        "every threshold": {"n_thresholds": None, "max_depth": 6},
        "random upper layers": {"random_depth": 4, "n_thresholds": 3},
        "uniform, large leaves": {"candidates": "uniform", "n_thresholds": 10, "min_samples_leaf": 4},
        "each row in a quarter of the trees": {"max_samples": 0.25, "n_thresholds": 1, "max_features": None},
    }.items()
}


DrawRows = Callable[[np.random.Generator, int], Dataset]
DRAWS: list[DrawRows] = [mixed_rows, rare_positives, almost_no_positives, wide_one_hot, weighted_rows, categorical_rows]
TARGET_DRAWS: list[DrawRows] = [smooth_targets, few_targets, categorical_targets]


def long_histories(draws: list[DrawRows], histories: dict[str, Options]) -> Iterator[Any]:
    """All combinations. Half of them are slow tests: any two rows, options, sizes and modes meet in the other half."""
    for (i, draw_rows), (j, name), (k, sizes), (m, mode) in product(
        enumerate(draws), enumerate(histories), enumerate(["default", "tiny"]), enumerate(["eager", "lazy"])
    ):
        yield pytest.param(
            draw_rows,
            histories[name],
            TINY if sizes == "tiny" else None,
            mode == "lazy",
            marks=[pytest.mark.slow] if (i + j + k + m) % 2 else [],
            id=f"{draw_rows.__name__}-{name}-{sizes} sizes-{mode}",
        )


@pytest.mark.parametrize(
    ("draw_rows", "options", "tuning", "lazy"),
    [*long_histories(DRAWS, HISTORIES), *long_histories(TARGET_DRAWS, TARGET_HISTORIES)],
)
def test_long_history_leaves_no_trace(
    draw_rows: DrawRows,
    options: Options,
    tuning: Tuning | None,
    lazy: bool,
) -> None:
    """Two hundred random operations on a few hundred rows end in the forest of the rows that are left."""
    data = draw_rows(np.random.default_rng(0), 800)
    small = {"n_estimators": 8, "max_depth": 12, "random_state": 11}
    history = MediumHistory(small | options, tuning, lazy, data)
    for step in range(1, 201):
        history.step()
        if step % 25 == 0:
            history.assert_is_as_if_fresh()


def growing_histories() -> Iterator[Any]:
    """Rows and options for classifiers, and for regressors, which are told the range of targets to come."""
    for draw_rows, (name, options) in product([mixed_rows, categorical_rows], HISTORIES.items()):
        yield pytest.param(draw_rows, options, id=f"{draw_rows.__name__}-{name}")
    for draw_rows, (name, options) in product([smooth_targets, few_targets], TARGET_HISTORIES.items()):
        yield pytest.param(draw_rows, options | {"target_range": (-20, 20)}, id=f"{draw_rows.__name__}-{name}")


@pytest.mark.parametrize("tuning", [None, TINY], ids=["default sizes", "tiny sizes"])
@pytest.mark.parametrize(("draw_rows", "options"), list(growing_histories()))
def test_forest_that_grows_and_shrinks_stays_exact(
    draw_rows: DrawRows, options: Options, tuning: Tuning | None
) -> None:
    """From 20 rows to 800 and back to 5: columns, nodes and caches pass every size at which they change."""
    data = draw_rows(np.random.default_rng(3), 800)
    small = {"n_estimators": 8, "max_depth": 12, "random_state": 12}
    history = MediumHistory(small | options, tuning, lazy=False, data=data, n_rows=20)
    for begin in range(20, 800, 60):
        history.add(list(range(begin, begin + 60)))
        history.assert_is_as_if_fresh()
    leaving = history.rng.sample(range(800), 795)
    for begin in range(0, 795, 53):
        history.delete(leaving[begin : begin + 53])
        history.assert_is_as_if_fresh()


both_targets = pytest.mark.parametrize(
    ("draw_rows", "criterion"),
    [(mixed_rows, "gini"), (smooth_targets, "squared_error")],
    ids=["classifier", "regressor"],
)


@both_targets
def test_adding_back_is_undo(draw_rows: DrawRows, criterion: str) -> None:
    """Delete, then add the same rows: the same bytes as before."""
    data = draw_rows(np.random.default_rng(1), 400)
    forest = build_forest({"n_estimators": 10, "random_state": 3, "criterion": criterion}).fit(data.X, data.y)
    before = forest.fingerprint()
    gone = np.arange(0, 400, 3)
    forest.delete(gone.tolist())
    assert forest.fingerprint() != before
    forest.add(data.X[gone], data.y[gone], ids=gone)
    assert forest.fingerprint() == before


def test_verify_of_a_regressor_finds_it_equal_to_retraining() -> None:
    """Even when all rows at both ends of the range of targets are gone, with which `fit` would choose another."""
    data = smooth_targets(np.random.default_rng(2), 400)
    forest = build_forest({"n_estimators": 10, "random_state": 4, "criterion": "squared_error"}).fit(data.X, data.y)
    forest.delete(np.argsort(data.y)[np.r_[:190, 210:400]].tolist())
    assert forest.verify().matches
    left = data.where(forest.ids_)
    alone = build_forest(forest.get_params()).fit(left.X, left.y, ids=left.ids)
    assert alone.fingerprint() != forest.fingerprint()
    assert alone.target_range_[0] > forest.target_range_[0]


def test_verify_finds_the_forest_equal_to_retraining() -> None:
    """The audit of a deletion: retrain on what is left and compare."""
    data = rare_positives(np.random.default_rng(2), 400)
    forest = build_forest({"n_estimators": 10, "random_state": 4}).fit(data.X, data.y)
    forest.delete(data.ids[data.y == "yes"].tolist()[:-1])
    report = forest.verify()
    assert report.matches
    assert report.problem is None


@both_targets
def test_deletion_cost_changes_nothing(draw_rows: DrawRows, criterion: str) -> None:
    """Asking for the cost of any deletion leaves the forest as it was."""
    data = draw_rows(np.random.default_rng(5), 300)
    forest = build_forest({"n_estimators": 10, "random_state": 5, "criterion": criterion}, TINY).fit(data.X, data.y)
    before = forest.fingerprint()
    forest.deletion_cost(list(range(0, 300, 2)))
    forest.deletion_costs(list(range(300)))
    assert forest.check()
    assert forest.fingerprint() == before
