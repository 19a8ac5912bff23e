"""The forest that lets go of data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import NO_IDS, Batch, PendingUpdate
from ._class_weights import ClassWeights, integers_of
from ._columns import encoded, learned_columns
from ._predictor import Predictor
from ._progress import Report, bar
from ._row_names import KINDS as ROW_NAME_TYPES
from ._row_names import Names, RowNames, kind_of, name_list, settled
from ._state import arguments_state
from ._stored import depth_and_leaves
from ._storing import StorableForest, fork_safe_lock
from ._table_index import row_ids
from ._validation import (
    class_keys,
    core_params,
    extended_classes,
    is_lazy,
    label_array,
    n_threads,
    non_negative_integer,
    seconds_of,
    seed_from,
)
from .errors import EmptyForestError, InvalidInputError, RowExistsError, UnknownRowError
from .inspection import KINDS, TreeView
from .reports import CheckReport, MemoryUse, NodeRecord, TrainingRows, UpdateReport, VerifyReport

LEARNED_OF_COLUMNS = {"n_features_in_", "feature_names_in_"}  # what scikit-learn's checks of X write
NO_CODES = np.empty(0, np.uint32)
NO_KEYS = np.empty((0, 16), np.uint8)


class DareForestClassifier(Predictor, StorableForest):
    """A random forest from which training rows can be deleted, and to which rows can be added, exactly.

    After any history of `delete` and `add` the forest is, byte for byte, the one that `fit` would give on the rows that
    are left, with the same parameters and seed.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees (the paper's T).
    max_depth : int or None, default=20
        Depth at which every node is a leaf (d_max), at most 256, which is also what None means.
    n_thresholds : int or None, default=25
        Thresholds sampled per attribute at a greedy node (k). None considers all valid ones, as an ordinary random
        forest does; deletions are then slower, as large nodes are not cached.
    random_depth : int, default=0
        Nodes above this depth split at random (d_rmax): they hardly ever need retraining. `random_depth >= max_depth`
        gives the paper's Random Trees.
    stability : float, default=0.0
        How much large nodes prefer splits that stay to splits that are a little better: the scores of nodes of at least
        1,000 rows get a noise of this many times the root of the number of rows, drawn once for each threshold, so that
        near ties are not turned by a row that comes or goes. Deletions get faster and predictions a little worse, how
        much depends on the data; 0 is the paper's forest.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Attributes considered at a greedy node (p̃): a rule, a number, a share, or all.
    candidates : {"valid", "uniform"}, default="valid"
        What thresholds are sampled from: the valid ones (the paper's), or the range of the attribute. With `"uniform"`,
        `n_thresholds=1` is Extra Trees, and 20 to 30 is about as accurate as `"valid"` with fewer retrainings.
    criterion : {"gini", "entropy"}, default="gini"
        Measure of the quality of a split.
    min_samples_split : int, default=2
        Nodes with fewer rows are leaves.
    min_samples_leaf : int, default=1
        Splits that leave fewer rows on a side are not considered.
    max_samples : float or None, default=None
        Share of the trees that each row belongs to. A deletion then touches those trees only.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in scores and leaf values; classes not named weigh 1. "balanced" gives every class the
        same weight in total, as of `fit`: the weights are parameters from then on, whatever is deleted or added.
    categorical_features : "from_dtype", None, array-like of {bool, int, str} or mapping, default="from_dtype"
        Which columns are categorical: those of a categorical dtype in a table, none, a mask, indices, or names, as
        scikit-learn's `HistGradientBoostingClassifier` takes them; or a mapping from column to the list of its
        categories ("auto" learns them). The forest is the one of the one-hot matrix, which is never made: a category is
        an attribute. Categories are resolved by `fit` and are parameters from then on; other values, and missing ones
        if `fit` saw none, are none of them.
    lazy : bool, default=False
        Postpone the retraining of subtrees until something reads them, and for small ones also the question whether
        they change at all. The forest is the same in the end.
    n_jobs : int or None, default=None
        Threads, over trees, but not more than there are cores; -1 for all of them. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        An int in [0, 2**64) is the seed itself. None draws a secret one; see the README on why it should stay secret.
    verbose : int, default=0
        1 shows how far `fit`, `verify`, and `delete` and `add` of more than one row are.

    Attributes
    ----------
    classes_ : ndarray
        Labels, ascending: the columns of `predict_proba`. Labels first seen by `add` take their place among them;
        classes without rows stay until the forest is fitted, loaded or copied.
    n_classes_ : int
        How many they are.
    ids_ : ndarray
        The rows in the forest, ascending.
    subjects_ : list
        The subjects that rows in the forest belong to.
    n_rows_ : int
        How many they are.
    n_features_in_ : int
        Number of columns seen by `fit`.
    categories_ : list
        For each column its categories, or None if it is numeric. Missing values are the category None.
    class_weight_ : dict or None
        Weights of the classes in use.
    seed_ : int
        The seed in use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deciduous import DareForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DareForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> forest.delete([3, 17]).n_rows
    2
    >>> others = [i for i in range(150) if i not in (3, 17)]
    >>> retrained = DareForestClassifier(n_estimators=10, random_state=0).fit(X[others], y[others], ids=others)
    >>> forest.fingerprint() == retrained.fingerprint()
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 20,
        n_thresholds: int | None = 25,
        random_depth: int = 0,
        stability: float = 0.0,
        max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt",
        candidates: Literal["valid", "uniform"] = "valid",
        criterion: Literal["gini", "entropy"] = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_samples: float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        categorical_features: Any = "from_dtype",
        lazy: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_thresholds = n_thresholds
        self.random_depth = random_depth
        self.stability = stability
        self.max_features = max_features
        self.candidates = candidates
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.lazy = lazy
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------------------------------ training and updating

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ids: Names | None = None,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Numbers, used as float32, and categories (see `categorical_features`): an array, a sparse matrix, or a
            table of pandas, polars or pyarrow. NaN is a value of its own that orders after every number.
        y : array of shape (n_rows,)
            Labels, of any number of classes.
        ids : array of integers, strings or UUIDs, optional
            Unique names of the rows, for `delete`. Default: the index of a pandas table, unless it is the one that
            counts its rows; else 0, 1, 2, …
        subjects : array of integers, strings or UUIDs, optional
            The person, or whatever it is, that each row belongs to: `delete(subjects=...)` removes all rows of one.
            Missing values (None, NaN) for rows that belong to nobody.
        sample_weight : array of whole numbers, optional
            A row of weight 3 counts as three rows; one of weight 0 is left out.
        """
        return self._fit(X, y, ids, subjects, sample_weight, None)

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        ids: Names | None,
        subjects: Names | None,
        sample_weight: ArrayLike | None,
        known_classes: ArrayLike | None,
    ) -> Self:
        draft = self._unfitted()
        columns, rows = learned_columns(draft, X, self.categorical_features, sample_weight)
        ids = row_ids(X, ids, y=y, subjects=subjects, sample_weight=sample_weight)
        names = RowNames(kind_of(ids) if ids is not None else None)
        batch = Batch.checked(rows, y, ids, sample_weight, subjects, names, n_counted=0)
        if len(batch) == 0:
            raise InvalidInputError(
                "Every sample_weight is zero: fit needs at least one row of positive weight."
                if len(rows)
                else "Found array with 0 sample(s): fit needs at least one row."
            )
        known = np.unique(batch.labels) if known_classes is None else np.unique(label_array(known_classes, None))
        classes, codes = extended_classes(known, batch.labels)
        seed = seed_from(self.random_state)
        class_weights = ClassWeights.resolved(self.class_weight, classes, codes, batch.weights)
        params = core_params(self, columns.n_attributes, seed)
        is_lazy(self.lazy)
        arguments = arguments_state(self.get_params())
        forest = self._empty_core(params, columns, classes, class_weights)
        with IN_OUR_WORDS, bar("Training", params.n_trees, self._is_verbose()) as report:
            forest.fit(batch.ids, batch.rows, codes, batch.weights, n_threads(self.n_jobs), report)
        names.change([], batch.ids, batch.names, batch.subjects)
        learned = {
            "_forest": forest,
            "_columns": columns,
            "_params": params,
            "_lock": fork_safe_lock(),
            "_pending": None,
            "_n_counted": batch.n_counted,
            "_arguments": arguments,
            "_names": names,
            "_class_weights": class_weights,
            "_classes": classes,
            "seed_": seed,
        }
        self.__dict__ = vars(draft) | learned  # in one step: Ctrl-C leaves the forest as it was, or fitted
        return self

    def _unfitted(self) -> Self:
        """A forest with the same parameters that has seen no columns."""
        draft = type(self).__new__(type(self))
        draft.__dict__ = {name: its for name, its in vars(self).items() if name not in LEARNED_OF_COLUMNS}
        return draft

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        ids: Names | None = None,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """`fit` at first, `add` from then on: batch by batch the forest is the one that `fit` on all rows gives.

        `classes`, if given, are in `classes_` from the first call on; others may come later all the same.
        """
        if self.__sklearn_is_fitted__():
            self.add(X, y, ids=ids, subjects=subjects, sample_weight=sample_weight)
            return self
        return self._fit(X, y, ids, subjects, sample_weight, classes)

    def delete(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """Remove training rows, by name or all rows of subjects, as if they had never been seen.

        Give `ids` or `subjects`. An empty list changes nothing.
        """
        ids = settled(ids)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            shown = self._names.shown_ids(row_ids.tolist())
            nothing = Batch.nothing(len(self._columns), self._classes, self._n_counted)
            return UpdateReport.from_core(shown, self._update("Deleting", row_ids, nothing))

    def add(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ids: Names | None = None,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> UpdateReport:
        """Add training rows as if they had been there from the start.

        Labels never seen before take their place in `classes_`. Without `ids`, and without an index of their own (see
        `fit`), the rows get fresh ones, which the report names: if all rows so far were numbered, in this process, the
        numbers that come next; else a block of numbers from a random place beyond 2**62, which tells nothing of rows
        that are gone. Rows of weight 0 are left out.
        """
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        ids = row_ids(X, ids, y=y, subjects=subjects, sample_weight=sample_weight)
        with self._one_state():
            batch = self._batch(rows, y, ids, sample_weight, subjects)
            held = np.flatnonzero(self._forest.holds(batch.ids))
            if len(held):
                raise RowExistsError([batch.shown_ids[i] for i in held])
            return UpdateReport.from_core(batch.shown_ids, self._update("Adding", NO_IDS, batch))

    def update(
        self,
        X: ArrayLike,
        y: ArrayLike,
        ids: Names | None,
        *,
        delete: Names | None = None,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> UpdateReport:
        """Replace, add and delete training rows in one step.

        Rows whose ids the forest holds are replaced: old values, label, weight and subject go, the given ones come.
        Rows with other ids are added. Rows named in `delete` go, unless they are given anew. A row given with weight 0
        goes, too, or does not come. Predictions in other threads see the forest before all of it or after.

        X may have no rows. The report names the rows that went for good, then those that were given.
        """
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        ids = row_ids(X, ids, y=y, subjects=subjects, sample_weight=sample_weight)
        delete = settled(delete)
        with self._one_state():
            batch = self._batch(rows, y, ids, sample_weight, subjects)
            deleted = NO_IDS if delete is None else self._known_rows(delete, None)
            given = np.concatenate([batch.ids, batch.left_out])
            leaving = np.union1d(deleted, given[self._forest.holds(given) > 0])
            gone = self._names.shown_ids(np.setdiff1d(leaving, batch.ids).tolist())
            return UpdateReport.from_core([*gone, *batch.shown_ids], self._update("Updating", leaving, batch))

    def _update(self, what: str, leaving: NDArray[np.int64], batch: Batch) -> _core.UpdateCost:
        """Take rows out of the core and a batch in, and let what is known of rows and classes follow."""
        classes, codes, keys, weights = self._classes, NO_CODES, NO_KEYS, None
        if len(batch):
            classes, codes = extended_classes(classes, batch.labels)
            keys, weights = class_keys(classes), integers_of(self._class_weights, classes)
        how = n_threads(self.n_jobs), is_lazy(self.lazy)
        self._pending = PendingUpdate(self._forest.n_updates, leaving.tolist(), batch, self._classes)
        try:
            # Before the core has the new classes, so that no prediction has more columns than there are labels.
            self._classes = classes
            with IN_OUR_WORDS, self._update_bar(what, len(leaving) + len(batch)) as report:
                return self._forest.update_rows(
                    leaving, batch.ids, batch.rows, codes, batch.weights, keys, weights, *how, report
                )
        finally:
            self._settle()

    def _batch(
        self, rows: NDArray[np.float32], y: ArrayLike, ids: Names | None, sample_weight: Any, subjects: Names | None
    ) -> Batch:
        """These rows, checked."""
        counted, holds = self._n_counted, self._forest.holds
        return Batch.checked(rows, y, ids, sample_weight, subjects, self._names, counted, holds)

    def deletion_cost(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """The report that `delete` of these rows would return. Nothing changes.

        With `lazy=True`, small subtrees that would be left for later count as retrained, whether or not they will
        change; those that were left before cost nothing more, and what takes a look at rows first is not known yet.
        """
        check_is_fitted(self)
        ids = settled(ids)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            cost = self._forest.deletion_cost(row_ids, n_threads(self.n_jobs), is_lazy(self.lazy))
            report = UpdateReport.from_core(self._names.shown_ids(row_ids.tolist()), cost)
            return replace(report, n_rows_regrown=None)

    def deletion_costs(self, ids: Names | None = None, *, subjects: Names | None = None) -> NDArray[np.int64]:
        """For each row, or each subject, how many rows would be retrained if it alone were deleted. Nothing changes."""
        ids, subjects = settled(ids), settled(subjects)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            how = n_threads(self.n_jobs), is_lazy(self.lazy)
            if subjects is None:
                return self._forest.deletion_costs(row_ids, *how).astype(np.int64)
            by_subject = map(self._names.rows_of_subjects, name_list(subjects))
            costs = [sum(self._forest.deletion_cost(rows, *how).rows_retrained) for rows in by_subject]
            return np.array(costs, dtype=np.int64)

    # ---------------------------------------------------------------------------------------------------- predicting

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class shares of each row, in the order of `classes_`.

        A class without rows keeps its column, at zero. It is in no file and no copy.
        """
        return self._labelled_shares(X)[1]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely class of each row; of equally likely ones, that of the lower label."""
        labels, shares = self._labelled_shares(X)
        best: NDArray[Any] = np.take(labels, shares.argmax(axis=1))
        return best

    def present_shares(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The classes that have rows, ascending, and the share of each in the predictions, all of one moment.

        For those who predict while other threads update the forest: `classes_` and `predict_proba`, asked for one
        after the other, may be those of two moments.
        """
        while True:
            n_updates = self._forest.n_updates
            (labels, shares), counts = self._labelled_shares(X), self.class_counts_
            if self._forest.n_updates == n_updates:
                is_present = np.array([counts[label] > 0 for label in labels.tolist()])
                return labels[is_present], shares[:, is_present]

    def _labelled_shares(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels, ascending, and the class shares of each row in this order."""
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        try:
            shares = self._forest.predict(rows, n_threads(self.n_jobs))
        except _core.EmptyForest:
            raise EmptyForestError from None
        labels = self._classes[: shares.shape[1]]  # another thread may be adding some
        order = self._label_order(labels)
        return (labels, shares) if order is None else (labels[order], shares[:, order])

    @staticmethod
    def _label_order(labels: NDArray[Any]) -> NDArray[np.intp] | None:
        """The places of the labels when they ascend; None if they do already, as they do unless `add` brought some."""
        return None if (labels[:-1] < labels[1:]).all() else np.argsort(labels, kind="stable")

    # ------------------------------------------------------------------------------------------------------ checking

    def fingerprint(self) -> str:
        """A digest of the canonical forest: equal forests have equal fingerprints, however they came about."""
        check_is_fitted(self)
        return self._forest.fingerprint(n_threads(self.n_jobs))

    def verify(self) -> VerifyReport:
        """Retrain from the forest's own rows and compare. Costs as much as `fit`."""
        check_is_fitted(self)
        with self._one_state():
            with bar("Retraining", self._forest.n_trees, self._is_verbose()) as report:
                difference = self._forest.verify(n_threads(self.n_jobs), report)
            return VerifyReport(difference, self.fingerprint())

    def check(self) -> CheckReport:
        """Recount every stored statistic, and compare. Costs about as much as `fit`."""
        check_is_fitted(self)
        return CheckReport(self._forest.check(n_threads(self.n_jobs)))

    # ---------------------------------------------------------------------------------------------------- inspecting

    @property
    def ids_(self) -> NDArray[Any]:
        """The rows in the forest, ascending."""
        check_is_fitted(self)
        with self._one_state():
            held = self._forest.ids()
            if self._names.kind is None:
                return held
            names = sorted(self._names.shown_ids(held.tolist()))
            return np.array(names, dtype=object if self._names.kind == "u" else None)

    @property
    def id_type_(self) -> type:
        """What the names of rows are: `int`, `str` or `UUID`."""
        check_is_fitted(self)
        return int if self._names.kind is None else ROW_NAME_TYPES[self._names.kind]

    def ids_of(self, subjects: Names) -> list[Any]:
        """The rows of these subjects, ascending."""
        check_is_fitted(self)
        with self._one_state():
            return sorted(self._names.shown_ids(self._names.rows_of_subjects(subjects).tolist()))

    @property
    def subjects_(self) -> list[Any]:
        """The subjects that rows in the forest belong to, in the order of their text."""
        check_is_fitted(self)
        with self._one_state():
            return sorted(self._names.people(), key=str)

    @property
    def n_rows_(self) -> int:
        """The number of rows in the forest."""
        check_is_fitted(self)
        return self._forest.n_rows

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, ascending."""
        check_is_fitted(self)
        return np.sort(self._classes)

    @property
    def class_counts_(self) -> dict[Any, int]:
        """How many rows each class has, by label, ascending; a row of weight 3 counts as three."""
        check_is_fitted(self)
        totals = self._forest.class_totals().tolist()
        return dict(sorted(zip(self._classes.tolist(), totals, strict=False)))

    def rows(self, ids: Names | None = None, *, subjects: Names | None = None) -> TrainingRows:
        """Training rows as the forest holds them, by name or all rows of subjects: what to answer an access request.

        Numbers are float32, and categories their names; a value that was none of the categories at `fit` is None,
        because the forest has never known more of it.
        """
        ids = settled(ids)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            held = self._forest.rows(row_ids)
            names = getattr(self, "feature_names_in_", None)
            return TrainingRows(
                ids=self._names.shown_ids(row_ids.tolist()),
                X=self._columns.decoded(held.values.reshape(len(row_ids), len(self._columns))),
                y=self._classes[held.labels],
                sample_weight=held.weights,
                subjects=[self._names.subjects.get(row) for row in row_ids.tolist()],
                feature_names=[f"x{i}" for i in range(self.n_features_in_)] if names is None else names.tolist(),
            )

    def memory_usage(self) -> MemoryUse:
        """Bytes in use, by purpose.

        After a prediction of many rows and until the next change, the structure is there twice: as it is kept, and laid
        out for rows to walk down, which takes about half as much again, or more for many classes.
        """
        check_is_fitted(self)
        use = self._forest.memory()
        return MemoryUse(use.data, use.structure, use.decision_stats, use.leaf_stats)

    def settle(self, budget: float = math.inf) -> int:
        """Make up for work that was left for later; how many subtrees are unbuilt still.

        That is: subtrees that deletions and additions with `lazy=True` postponed, and the statistics that make
        deletions fast, which are gone after loading and after a new class came. It is meant for idle times. It ends
        after about `budget` seconds; the statistics of one tree are made in one go. Other threads get their turns
        meanwhile. What the forest predicts stays the same.
        """
        check_is_fitted(self)
        return self._forest.settle(seconds_of(budget), n_threads(self.n_jobs))

    def compact(self) -> MemoryUse:
        """Give back what `fit` on the same rows would not take; what is in use then. Nothing else changes.

        It takes about as long as copying the forest. Deletions and additions keep waste below a quarter by themselves;
        this is for the rest, for subtrees that were set aside, and for columns that have few distinct values again.
        """
        check_is_fitted(self)
        with self._one_state():
            self._forest.compact(n_threads(self.n_jobs))
            return self.memory_usage()

    def tree_nodes(self, tree: int) -> list[NodeRecord]:
        """The nodes of a tree in preorder, left before right."""
        check_is_fitted(self)
        with self._one_state():
            return self._tree_nodes(self._tree_arrays(tree))

    def _tree_nodes(self, arrays: _core.TreeArrays) -> list[NodeRecord]:
        labels = self._classes.tolist()
        counts = arrays.counts.reshape(len(arrays.kind), -1)
        leaf_ids = np.split(arrays.ids, np.cumsum(arrays.n_ids)[:-1])
        with _core.StandardFloats():
            thresholds = arrays.threshold.tolist()
        columns = (arrays.kind, arrays.depth, arrays.attribute, thresholds, counts, leaf_ids)
        return [
            NodeRecord(
                kind=KINDS[kind],
                depth=int(depth),
                attribute=None if KINDS[kind] == "leaf" else int(attribute),
                threshold=None if KINDS[kind] == "leaf" else threshold,
                counts=dict(sorted((label, n) for label, n in zip(labels, rows.tolist(), strict=False) if n)),
                ids=tuple(self._names.shown_ids(ids.tolist())),
            )
            for kind, depth, attribute, threshold, rows, ids in zip(*columns, strict=True)
        ]

    def tree_view(self, tree: int) -> TreeView:
        """A tree as arrays over its nodes."""
        check_is_fitted(self)
        with self._one_state():
            weights = integers_of(self._class_weights, self._classes)
            view = TreeView.from_core(self._tree_arrays(tree), weights)
            order = self._label_order(self._classes)
            return view if order is None else view.of_classes(order)

    def _tree_views(self) -> list[TreeView]:
        """All trees, as of one moment."""
        check_is_fitted(self)
        with self._one_state():
            return [self.tree_view(tree) for tree in range(self._forest.n_trees)]

    @property
    def class_weight_(self) -> dict[Any, float] | None:
        """The weights of the classes that have one."""
        check_is_fitted(self)
        return None if self._class_weights is None else dict(self._class_weights.by_label)

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """For each row and tree, the leaf that the row reaches: its place among the nodes in preorder."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        return np.column_stack([view.apply(rows) for view in self._tree_views()])

    def decision_path(self, X: ArrayLike) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Which nodes each row passes, and where the nodes of each tree begin, as scikit-learn's forests tell it."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        paths = [view.paths(rows) for view in self._tree_views()]
        begins = np.cumsum([0] + [path.shape[1] for path in paths])
        return hstack(paths).tocsr(), begins

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in the decrease of impurity, averaged over the trees."""
        check_is_fitted(self)
        views = self._tree_views()
        decreases = [view.importances(self._params.criterion.name, self._columns.n_attributes) for view in views]
        shares = [decrease / decrease.sum() for decrease in decreases if decrease.sum() > 0]
        by_attribute = np.mean(shares, axis=0) if shares else np.zeros(self._columns.n_attributes)
        by_feature = np.bincount(self._columns.feature_of_attribute(), by_attribute, self.n_features_in_)
        return by_feature.astype(np.float64)

    def get_depth(self) -> int:
        """The depth of the deepest tree; that of a single leaf is 0."""
        check_is_fitted(self)
        with self._one_state():
            return depth_and_leaves(self._forest)[0]

    def get_n_leaves(self) -> int:
        """The number of leaves of all trees."""
        check_is_fitted(self)
        with self._one_state():
            return depth_and_leaves(self._forest)[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # -------------------------------------------------------------------------------------------------------- helpers

    def _is_verbose(self) -> bool:
        return non_negative_integer("verbose", self.verbose) > 0

    def _update_bar(self, what: str, n_rows: int) -> AbstractContextManager[Report | None]:
        return bar(what, self._forest.n_trees, n_rows > 1 and self._is_verbose())

    def _tree_arrays(self, tree: int) -> _core.TreeArrays:
        n_trees = self._forest.n_trees
        if not 0 <= tree < n_trees:
            raise InvalidInputError(f"tree must be in [0, {n_trees - 1}], but is {tree!r}.")
        return self._forest.tree_arrays(tree)

    def _known_rows(self, ids: Names | None, subjects: Names | None) -> NDArray[np.int64]:
        """The core's ids of rows given by name or by subject, all of which it holds."""
        if (ids is None) == (subjects is None):
            raise InvalidInputError("Give either `ids` or `subjects`, to say which rows are meant.")
        if ids is None:
            return self._names.rows_of_subjects(subjects)
        row_ids = self._names.core_ids(ids)
        held = self._forest.holds(row_ids)
        if b"\0" in held.tobytes():  # a tenth of the time in which NumPy finds out that there are none
            unknown = np.flatnonzero(held == 0)
            named = row_ids.tolist() if self._names.kind is None else name_list(ids)
            raise UnknownRowError([named[i] for i in unknown], self._forest.n_rows)
        return row_ids


class _InOurWords:
    """Turns the core's refusal of rows into an error of the package. A class, as deletions enter it often."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _core.InvalidArgument):
            raise InvalidInputError(str(error)) from None


IN_OUR_WORDS = _InOurWords()
