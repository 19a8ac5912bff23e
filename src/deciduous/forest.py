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
    """A random forest that supports exact deletion and addition of training rows.

    After any sequence of `delete` and `add`, the forest is byte for byte the one that `fit` would build on the
    remaining rows with the same parameters and seed. "The paper" below is Brophy and Lowd (2021), and symbols in
    parentheses are its symbols.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees (T).
    max_depth : int or None, default=20
        Maximum depth of a tree (d_max), at most 256. None means 256.
    n_thresholds : int or None, default=25
        Number of thresholds sampled per attribute at a greedy node (k). None considers all valid thresholds, as an
        ordinary random forest does. Deletions are then slower, because large nodes are not cached.
    random_depth : int, default=0
        Nodes above this depth split at random (d_rmax). They hardly ever need retraining. `random_depth >= max_depth`
        gives the paper's Random Trees.
    stability : float, default=0.0
        How much large nodes prefer a split that stays the same over one that is slightly better. In nodes with at least
        1,000 rows, noise is added to the scores: `stability` times the square root of the number of rows, drawn once
        for each threshold. A single row that is added or deleted then does not flip a near tie. Deletions get faster
        and predictions slightly worse; by how much depends on the data. 0 gives the paper's forest.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of attributes considered at a greedy node (p̃): a rule, a number, a fraction, or None for all.
    candidates : {"valid", "uniform"}, default="valid"
        What thresholds are sampled from: the valid thresholds, as in the paper, or the range of the attribute. With
        `"uniform"`, `n_thresholds=1` gives Extra Trees, and 20 to 30 thresholds are about as accurate as `"valid"` with
        fewer retrainings.
    criterion : {"gini", "entropy"}, default="gini"
        Function that measures the quality of a split.
    min_samples_split : int, default=2
        Minimum number of rows needed to split a node. Nodes with fewer rows are leaves.
    min_samples_leaf : int, default=1
        Minimum number of rows on each side of a split. Other splits are not considered.
    max_samples : float or None, default=None
        Fraction of the trees that each row belongs to. A deletion then affects only those trees.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in scores and leaf values. Classes that are not listed have weight 1. "balanced" gives
        every class the same total weight on the rows passed to `fit`. The weights are fixed from then on: deletions and
        additions do not change them.
    categorical_features : "from_dtype", None, array-like of {bool, int, str} or mapping, default="from_dtype"
        Which columns are categorical. "from_dtype" means the columns of a table that have a categorical dtype, and None
        means no column. A mask, indices or names work as in scikit-learn's `HistGradientBoostingClassifier`. A mapping
        gives the list of categories of each categorical column ("auto" learns them). Each category is an attribute: the
        forest is the one that the one-hot matrix would give, but that matrix is never built. Categories are determined
        by `fit` and fixed from then on. Other values belong to no category, and neither do missing values if `fit` saw
        none.
    lazy : bool, default=False
        Postpone retraining a subtree until something reads it. For small subtrees, also postpone the check whether they
        change at all. The resulting forest is the same.
    n_jobs : int or None, default=None
        Number of threads, which work on different trees; never more than there are cores. -1 means all cores. The
        forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        An int in [0, 2**64) is used as the seed itself. None draws a secret seed; the README explains why the seed
        should stay secret.
    verbose : int, default=0
        1 shows the progress of `fit`, `verify`, and of `delete` and `add` with more than one row.

    Attributes
    ----------
    classes_ : ndarray
        Class labels in ascending order, which is the order of the columns of `predict_proba`. Labels first seen by
        `add` are inserted in order. Classes without rows stay until the next `fit`; loaded and copied forests do not
        have them.
    n_classes_ : int
        Number of classes.
    ids_ : ndarray
        Ids of the rows in the forest, in ascending order.
    subjects_ : list
        Subjects that have rows in the forest.
    n_rows_ : int
        Number of rows in the forest.
    n_features_in_ : int
        Number of columns seen during `fit`.
    categories_ : list
        For each column, the list of its categories, or None if it is numeric. The category None stands for missing
        values.
    class_weight_ : dict or None
        Class weights in use.
    seed_ : int
        Seed in use.

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
        """Build the forest from training rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Numbers, which are converted to float32, and categories (see `categorical_features`): an array, a sparse
            matrix, or a pandas, polars or pyarrow table. NaN is a value of its own and sorts after every number.
        y : array of shape (n_rows,)
            Class labels. There can be any number of classes.
        ids : array of integers, strings or UUIDs, optional
            Unique ids of the rows, for use in `delete`. Default: the index of a pandas table, unless it is the default
            index that just numbers the rows; otherwise 0, 1, 2, …
        subjects : array of integers, strings or UUIDs, optional
            The person, or other entity, that each row belongs to. `delete(subjects=...)` deletes all rows of a subject.
            Use missing values (None, NaN) for rows that belong to nobody.
        sample_weight : array of whole numbers, optional
            A row of weight 3 counts as three rows. A row of weight 0 is left out.
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
        """Call `fit` the first time, and `add` from then on.

        After each batch, the forest is the one that `fit` on all rows so far would give. If `classes` is given, these
        classes are in `classes_` from the first call on. Later batches may still bring other classes.
        """
        if self.__sklearn_is_fitted__():
            self.add(X, y, ids=ids, subjects=subjects, sample_weight=sample_weight)
            return self
        return self._fit(X, y, ids, subjects, sample_weight, classes)

    def delete(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """Delete training rows, given by id or by subject, as if they had never been seen.

        Give either `ids` or `subjects`. An empty list changes nothing.
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

        New labels are inserted into `classes_` in order. If there are no `ids` and no index that names the rows (see
        `fit`), the rows get new ids, which the report lists. If all rows so far were numbered automatically, in this
        process, the numbering continues. Otherwise the ids are consecutive numbers from a random start above 2**62,
        which reveals nothing about deleted rows. Rows of weight 0 are left out.
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

        Rows whose ids are in the forest are replaced: values, label, weight and subject. Rows with other ids are added.
        Rows listed in `delete` are deleted, unless X gives them new values. A row given with weight 0 is deleted if it
        is in the forest, and not added if it is not. Predictions in other threads see the forest before or after the
        whole update, and nothing in between.

        X may have no rows. The report lists the deleted rows first, then the rows that were given.
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
        """Return the report that `delete` would return for these rows, without changing anything.

        With `lazy=True`, small subtrees whose retraining would be postponed count as retrained, whether or not they
        will change. Subtrees that are already postponed cost nothing more. Changes that show only when the rows are
        looked at are not known yet.
        """
        check_is_fitted(self)
        ids = settled(ids)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            cost = self._forest.deletion_cost(row_ids, n_threads(self.n_jobs), is_lazy(self.lazy))
            report = UpdateReport.from_core(self._names.shown_ids(row_ids.tolist()), cost)
            return replace(report, n_rows_regrown=None)

    def deletion_costs(self, ids: Names | None = None, *, subjects: Names | None = None) -> NDArray[np.int64]:
        """Return how many rows would be retrained if each row, or each subject, were deleted on its own.

        Nothing is changed.
        """
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
        """Predict class probabilities, with columns in the order of `classes_`.

        A class without rows keeps its column, which is zero. Saved and copied forests do not have that column.
        """
        return self._labelled_shares(X)[1]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the most likely class of each row. Ties go to the lower label."""
        labels, shares = self._labelled_shares(X)
        best: NDArray[Any] = np.take(labels, shares.argmax(axis=1))
        return best

    def present_shares(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the classes that have rows, in ascending order, and their predicted probabilities.

        Both belong to the same state of the forest. Use this to predict while other threads update the forest: between
        reading `classes_` and calling `predict_proba`, the forest may change.
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
        """Return a digest of the canonical form of the forest.

        Equal forests have equal fingerprints, whatever their history.
        """
        check_is_fitted(self)
        return self._forest.fingerprint(n_threads(self.n_jobs))

    def verify(self) -> VerifyReport:
        """Retrain on the forest's own rows and compare. Costs as much as `fit`."""
        check_is_fitted(self)
        with self._one_state():
            with bar("Retraining", self._forest.n_trees, self._is_verbose()) as report:
                difference = self._forest.verify(n_threads(self.n_jobs), report)
            return VerifyReport(difference, self.fingerprint())

    def check(self) -> CheckReport:
        """Recompute every stored statistic and compare. Costs about as much as `fit`."""
        check_is_fitted(self)
        return CheckReport(self._forest.check(n_threads(self.n_jobs)))

    # ---------------------------------------------------------------------------------------------------- inspecting

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the rows in the forest, in ascending order."""
        check_is_fitted(self)
        with self._one_state():
            held = self._forest.ids()
            if self._names.kind is None:
                return held
            names = sorted(self._names.shown_ids(held.tolist()))
            return np.array(names, dtype=object if self._names.kind == "u" else None)

    @property
    def id_type_(self) -> type:
        """Type of the row ids: `int`, `str` or `UUID`."""
        check_is_fitted(self)
        return int if self._names.kind is None else ROW_NAME_TYPES[self._names.kind]

    def ids_of(self, subjects: Names) -> list[Any]:
        """Return the ids of all rows of these subjects, in ascending order."""
        check_is_fitted(self)
        with self._one_state():
            return sorted(self._names.shown_ids(self._names.rows_of_subjects(subjects).tolist()))

    @property
    def subjects_(self) -> list[Any]:
        """Subjects that have rows in the forest, sorted as text."""
        check_is_fitted(self)
        with self._one_state():
            return sorted(self._names.people(), key=str)

    @property
    def n_rows_(self) -> int:
        """Number of rows in the forest."""
        check_is_fitted(self)
        return self._forest.n_rows

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, in ascending order."""
        check_is_fitted(self)
        return np.sort(self._classes)

    @property
    def class_counts_(self) -> dict[Any, int]:
        """Number of rows by class label, in ascending order of the labels. A row of weight 3 counts as three."""
        check_is_fitted(self)
        totals = self._forest.class_totals().tolist()
        return dict(sorted(zip(self._classes.tolist(), totals, strict=False)))

    def rows(self, ids: Names | None = None, *, subjects: Names | None = None) -> TrainingRows:
        """Return training rows as the forest stores them, for example to answer an access request.

        Give either `ids` or `subjects`. Numbers are float32, and categories are given by name. A value that was not a
        known category at `fit` is None, because the forest never stored it.
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
        """Return the bytes in use, by purpose.

        After predictions for many rows, and until the next change, the structure is held twice: as it is stored, and in
        a layout for fast predictions. The second copy takes about half as much again, or more with many classes.
        """
        check_is_fitted(self)
        use = self._forest.memory()
        return MemoryUse(use.data, use.structure, use.decision_stats, use.leaf_stats)

    def settle(self, budget: float = math.inf) -> int:
        """Do postponed work now, and return the number of subtrees that are still unbuilt.

        The work consists of subtrees that deletions and additions with `lazy=True` have postponed, and of the
        statistics that make deletions fast, which are missing after loading and after a new class was added. Call this
        in idle times. It stops after about `budget` seconds, but computes the statistics of one tree in one go. Other
        threads get their turn in between. Predictions stay the same.
        """
        check_is_fitted(self)
        return self._forest.settle(seconds_of(budget), n_threads(self.n_jobs))

    def compact(self) -> MemoryUse:
        """Free memory that `fit` on the same rows would not use, and return the memory that is then in use.

        Nothing else changes. This takes about as long as copying the forest. Deletions and additions keep waste below a
        quarter on their own. This method frees the rest, subtrees that were set aside, and memory of columns that have
        few distinct values again.
        """
        check_is_fitted(self)
        with self._one_state():
            self._forest.compact(n_threads(self.n_jobs))
            return self.memory_usage()

    def tree_nodes(self, tree: int) -> list[NodeRecord]:
        """Return the nodes of a tree in preorder, left before right."""
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
        """Return a tree as arrays over its nodes."""
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
        """Weights of the classes that have one, or None."""
        check_is_fitted(self)
        return None if self._class_weights is None else dict(self._class_weights.by_label)

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the leaf that each row reaches in each tree, as the index of the node in preorder."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        return np.column_stack([view.apply(rows) for view in self._tree_views()])

    def decision_path(self, X: ArrayLike) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Return the nodes that each row passes through, and where the nodes of each tree begin, as in scikit-learn."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        paths = [view.paths(rows) for view in self._tree_views()]
        begins = np.cumsum([0] + [path.shape[1] for path in paths])
        return hstack(paths).tocsr(), begins

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity, averaged over the trees."""
        check_is_fitted(self)
        views = self._tree_views()
        decreases = [view.importances(self._params.criterion.name, self._columns.n_attributes) for view in views]
        shares = [decrease / decrease.sum() for decrease in decreases if decrease.sum() > 0]
        by_attribute = np.mean(shares, axis=0) if shares else np.zeros(self._columns.n_attributes)
        by_feature = np.bincount(self._columns.feature_of_attribute(), by_attribute, self.n_features_in_)
        return by_feature.astype(np.float64)

    def get_depth(self) -> int:
        """Return the depth of the deepest tree. A tree that is a single leaf has depth 0."""
        check_is_fitted(self)
        with self._one_state():
            return depth_and_leaves(self._forest)[0]

    def get_n_leaves(self) -> int:
        """Return the number of leaves of all trees together."""
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
