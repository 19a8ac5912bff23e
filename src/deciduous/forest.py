"""The forest that lets go of data."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import Batch
from ._columns import encoded, learned_columns
from ._progress import Report, bar
from ._row_names import Names, RowNames, kind_of, name_list, settled
from ._storing import StorableForest
from ._validation import (
    class_keys,
    class_weights_of,
    core_params,
    extended_classes,
    integer_class_weights,
    is_lazy,
    label_array,
    n_threads,
    non_negative_integer,
    restoring,
    seed_from,
)
from .errors import EmptyForestError, InvalidInputError, RowExistsError, UnknownRowError
from .inspection import KINDS, TreeView
from .reports import MemoryUse, NodeRecord, UpdateReport, VerifyReport


class DareForestClassifier(ClassifierMixin, StorableForest):  # type: ignore[misc]
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
        Threads, over trees; -1 for all processors. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        An int in [0, 2**64) is the seed itself. None draws a secret one; see the README on why it should stay secret.
    verbose : int, default=0
        1 shows how far `fit`, `verify`, and `delete` and `add` of more than one row are.

    Attributes
    ----------
    classes_ : ndarray
        Labels, in the order of the columns of `predict_proba`. Labels first seen by `add` come at the end.
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
        ids: Names | None = None,
        *,
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
            Unique names of the rows, for `delete`. Default: 0, 1, 2, …
        subjects : array of integers, strings or UUIDs, optional
            The person, or whatever it is, that each row belongs to: `delete(subjects=...)` removes all rows of one.
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
        with restoring(self, "n_features_in_", "feature_names_in_"):
            columns, rows = learned_columns(self, X, self.categorical_features, sample_weight)
            ids = settled(ids)
            names = RowNames(kind_of(ids) if ids is not None else None)
            batch = Batch.checked(rows, y, ids, sample_weight, subjects, names, first_fresh=0)
            if len(batch) == 0:
                raise InvalidInputError(
                    "Every sample_weight is zero: fit needs at least one row of positive weight."
                    if len(rows)
                    else "Found array with 0 sample(s): fit needs at least one row."
                )
            known = np.unique(batch.labels) if known_classes is None else np.unique(label_array(known_classes, None))
            classes, codes = extended_classes(known, batch.labels)
            seed = seed_from(self.random_state)
            class_weight = class_weights_of(self.class_weight, classes, codes, batch.weights)
            weights = integer_class_weights(class_weight, classes)
            params = core_params(self, columns.n_attributes, seed)
            is_lazy(self.lazy)
            forest = self._empty_core(params, columns, classes, weights)
            with _in_our_words(), bar("Training", params.n_trees, self._is_verbose()) as report:
                forest.fit(batch.ids, batch.rows, codes, batch.weights, n_threads(self.n_jobs), report)

        self._forest = forest
        self._columns = columns
        self._params = params
        self._lock = threading.RLock()
        self._first_fresh_id = batch.next_fresh
        self._names = names
        self._names.learn(batch.ids, batch.names, batch.subjects)
        self.class_weight_ = class_weight
        self.classes_ = classes
        self.seed_ = seed
        return self

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

        `classes`, if given, fixes the order of `classes_` at the first call; others may come later all the same.
        """
        if self.__sklearn_is_fitted__():
            self.add(X, y, ids, subjects=subjects, sample_weight=sample_weight)
            return self
        return self._fit(X, y, ids, subjects, sample_weight, classes)

    def delete(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """Remove training rows, by name or all rows of subjects, as if they had never been seen.

        Give `ids` or `subjects`. An empty list changes nothing.
        """
        check_is_fitted(self)
        ids = settled(ids)
        with self._lock:
            row_ids = self._core_ids(ids, subjects)
            with self._naming_unknown(ids, row_ids), self._update_bar("Deleting", len(row_ids)) as report:
                n_before = self._forest.n_rows
                try:
                    cost = self._forest.delete_rows(row_ids, n_threads(self.n_jobs), is_lazy(self.lazy), report)
                    shown = self._names.shown_ids(row_ids.tolist())
                finally:  # also if Ctrl-C came while the core worked: the rows are gone
                    if self._forest.n_rows < n_before:
                        self._names.forget(row_ids.tolist())
        return UpdateReport.from_core(shown, cost)

    def add(
        self,
        X: ArrayLike,
        y: ArrayLike,
        ids: Names | None = None,
        *,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> UpdateReport:
        """Add training rows as if they had been there from the start.

        Labels never seen before extend `classes_` at its end. Without `ids` the rows get fresh ones, never used before;
        the report names them. Rows of weight 0 are left out.
        """
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        ids = settled(ids)
        with self._lock:
            batch = Batch.checked(rows, y, ids, sample_weight, subjects, self._names, self._first_fresh_id)
            held = np.flatnonzero(self._forest.holds(batch.ids))
            if len(held):
                raise RowExistsError([batch.ids[i] if batch.names is None else batch.names[i] for i in held])
            if len(batch) == 0:
                return UpdateReport((), (), ())
            classes, codes = extended_classes(self.classes_, batch.labels)
            with _in_our_words(), self._update_bar("Adding", len(batch)) as report, self._taking_in(batch, classes):
                cost = self._forest.add_rows(
                    batch.ids,
                    batch.rows,
                    codes,
                    batch.weights,
                    class_keys(classes),
                    integer_class_weights(self.class_weight_, classes),
                    n_threads(self.n_jobs),
                    is_lazy(self.lazy),
                    report,
                )
        return UpdateReport.from_core(batch.ids.tolist() if batch.names is None else batch.names, cost)

    @contextmanager
    def _taking_in(self, batch: Batch, classes: NDArray[Any]) -> Iterator[None]:
        """What the estimator knows of new rows and classes, if the core takes them in."""
        known, n_before = self.classes_, self._forest.n_rows
        # Before the core has the new classes, so that no prediction has more columns than there are labels.
        self.classes_ = classes
        try:
            yield
        finally:  # also if Ctrl-C came while the core worked: the rows are in
            if self._forest.n_rows > n_before:
                self._first_fresh_id = batch.next_fresh
                self._names.learn(batch.ids, batch.names, batch.subjects)
            else:
                self.classes_ = known

    def deletion_cost(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """The report that `delete` of these rows would return. Nothing changes.

        With `lazy=True`, small subtrees that would be left for later count as retrained, whether or not they will
        change; those that were left before cost nothing more.
        """
        check_is_fitted(self)
        ids = settled(ids)
        with self._lock:
            row_ids = self._core_ids(ids, subjects)
            with self._naming_unknown(ids, row_ids):
                cost = self._forest.deletion_cost(row_ids, n_threads(self.n_jobs), is_lazy(self.lazy))
            return UpdateReport.from_core(self._names.shown_ids(row_ids.tolist()), cost)

    def deletion_costs(self, ids: Names) -> NDArray[np.int64]:
        """For each row, how many rows would be retrained if it alone were deleted. Nothing changes."""
        check_is_fitted(self)
        ids = settled(ids)
        row_ids = self._names.core_ids(ids)
        with self._naming_unknown(ids, row_ids):
            return self._forest.deletion_costs(row_ids, n_threads(self.n_jobs), is_lazy(self.lazy)).astype(np.int64)

    # ---------------------------------------------------------------------------------------------------- predicting

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class shares of each row, in the order of `classes_`. A class without rows keeps its column, at zero."""
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        try:
            return self._forest.predict(rows, n_threads(self.n_jobs))
        except _core.EmptyForest:
            raise EmptyForestError from None

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely class of each row; of equally likely ones, that of the lower label."""
        shares = self.predict_proba(X)
        classes = self.classes_[: shares.shape[1]]
        by_label = np.argsort(classes, kind="stable")
        best: NDArray[np.intp] = by_label[shares[:, by_label].argmax(axis=1)]
        return np.take(classes, best)

    # ------------------------------------------------------------------------------------------------------ checking

    def fingerprint(self) -> str:
        """A digest of the canonical forest: equal forests have equal fingerprints, however they came about."""
        check_is_fitted(self)
        return self._forest.fingerprint(n_threads(self.n_jobs))

    def verify(self) -> VerifyReport:
        """Retrain from the forest's own rows and compare. Costs as much as `fit`."""
        check_is_fitted(self)
        with self._lock:
            with bar("Retraining", self._forest.n_trees, self._is_verbose()) as report:
                difference = self._forest.verify(n_threads(self.n_jobs), report)
            return VerifyReport(difference is None, difference, self.fingerprint())

    def check(self) -> str | None:
        """Recount every stored statistic; the first disagreement, or None. Costs about as much as `fit`."""
        check_is_fitted(self)
        return self._forest.check(n_threads(self.n_jobs))

    # ---------------------------------------------------------------------------------------------------- inspecting

    @property
    def ids_(self) -> NDArray[Any]:
        """The rows in the forest, ascending."""
        check_is_fitted(self)
        with self._lock:
            held = self._forest.ids()
            if self._names.kind is None:
                return held
            names = sorted(self._names.shown_ids(held.tolist()))
            return np.array(names, dtype=object if self._names.kind == "u" else None)

    def ids_of(self, subjects: Names) -> list[Any]:
        """The rows of these subjects, ascending."""
        check_is_fitted(self)
        with self._lock:
            return sorted(self._names.shown_ids(self._names.rows_of_subjects(subjects).tolist()))

    @property
    def subjects_(self) -> list[Any]:
        """The subjects that rows in the forest belong to, in the order of their text."""
        check_is_fitted(self)
        with self._lock:
            return sorted(self._names.rows_of, key=str)

    @property
    def n_rows_(self) -> int:
        """The number of rows in the forest."""
        check_is_fitted(self)
        return self._forest.n_rows

    def memory_usage(self) -> MemoryUse:
        """Bytes in use, by purpose.

        After a prediction of many rows and until the next change, the structure is there twice: as it is kept, and laid
        out for rows to walk down, which takes about half as much again, or more for many classes.
        """
        check_is_fitted(self)
        use = self._forest.memory()
        return MemoryUse(use.data, use.structure, use.decision_stats, use.leaf_stats)

    def tree_nodes(self, tree: int) -> list[NodeRecord]:
        """The nodes of a tree in preorder, left before right."""
        check_is_fitted(self)
        arrays = self._tree_arrays(tree)
        labels = self.classes_.tolist()
        counts = arrays.counts.reshape(len(arrays.kind), -1)
        leaf_ids = np.split(arrays.ids, np.cumsum(arrays.n_ids)[:-1])
        columns = (arrays.kind, arrays.depth, arrays.attribute, arrays.threshold, counts, leaf_ids)
        return [
            NodeRecord(
                kind=KINDS[kind],
                depth=int(depth),
                attribute=None if KINDS[kind] == "leaf" else int(attribute),
                threshold=None if KINDS[kind] == "leaf" else float(threshold),
                counts={label: n for label, n in zip(labels, rows.tolist(), strict=False) if n},
                ids=tuple(self._names.shown_ids(ids.tolist())),
            )
            for kind, depth, attribute, threshold, rows, ids in zip(*columns, strict=True)
        ]

    def tree_view(self, tree: int) -> TreeView:
        """A tree as arrays over its nodes."""
        check_is_fitted(self)
        return TreeView.from_core(self._tree_arrays(tree), integer_class_weights(self.class_weight_, self.classes_))

    @property
    def categories_(self) -> list[list[Any] | None]:
        """For each column its categories, or None if it is numeric."""
        check_is_fitted(self)
        return [None if its is None else its.listed() for its in self._columns.categories]

    def one_hot(self, X: ArrayLike) -> NDArray[np.float32]:
        """The rows as the trees see them: a column for each attribute, and each category is one."""
        check_is_fitted(self)
        return self._columns.one_hot(encoded(self, X, self._columns))

    def attribute_names(self) -> list[str]:
        """What the trees ask for: names of columns, and for categories `column=category`."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        return self._columns.attribute_names(list(names))

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """For each row and tree, the leaf that the row reaches: its place among the nodes in preorder."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        views = (self.tree_view(tree) for tree in range(self._forest.n_trees))
        return np.column_stack([view.apply(rows) for view in views])

    def decision_path(self, X: ArrayLike) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Which nodes each row passes, and where the nodes of each tree begin, as scikit-learn's forests tell it."""
        check_is_fitted(self)
        rows = self.one_hot(X)
        paths = [self.tree_view(tree).paths(rows) for tree in range(self._forest.n_trees)]
        begins = np.cumsum([0] + [path.shape[1] for path in paths])
        return hstack(paths).tocsr(), begins

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in the decrease of impurity, averaged over the trees."""
        check_is_fitted(self)
        views = [self.tree_view(tree) for tree in range(self._forest.n_trees)]
        decreases = [view.importances(self._params.criterion.name, self._columns.n_attributes) for view in views]
        shares = [decrease / decrease.sum() for decrease in decreases if decrease.sum() > 0]
        by_attribute = np.mean(shares, axis=0) if shares else np.zeros(self._columns.n_attributes)
        by_feature = np.bincount(self._columns.feature_of_attribute(), by_attribute, self.n_features_in_)
        return by_feature.astype(np.float64)

    def get_depth(self) -> int:
        """The depth of the deepest tree; that of a single leaf is 0."""
        check_is_fitted(self)
        return max(int(self.tree_view(tree).depth.max()) for tree in range(self._forest.n_trees))

    def get_n_leaves(self) -> int:
        """The number of leaves of all trees."""
        check_is_fitted(self)
        return sum(int(self.tree_view(tree).is_leaf.sum()) for tree in range(self._forest.n_trees))

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
        return bar(what, self._forest.n_trees, self._is_verbose() and n_rows > 1)

    def _tree_arrays(self, tree: int) -> _core.TreeArrays:
        n_trees = self._forest.n_trees
        if not 0 <= tree < n_trees:
            raise InvalidInputError(f"tree must be in [0, {n_trees - 1}], but is {tree!r}.")
        return self._forest.tree_arrays(tree)

    def _core_ids(self, ids: Names | None, subjects: Names | None) -> NDArray[np.int64]:
        """The core's ids of rows given by name or by subject."""
        if (ids is None) == (subjects is None):
            raise InvalidInputError("Give either `ids` or `subjects`, to say which rows are meant.")
        return self._names.core_ids(ids) if ids is not None else self._names.rows_of_subjects(subjects)

    @contextmanager
    def _naming_unknown(self, ids: Names | None, row_ids: NDArray[np.int64]) -> Iterator[None]:
        """Turns the core's complaint about unknown rows into one that names them."""
        try:
            yield
        except _core.UnknownRow:
            unknown = np.flatnonzero(self._forest.holds(row_ids) == 0)
            named = row_ids.tolist() if self._names.kind is None else name_list(ids)
            raise UnknownRowError([named[i] for i in unknown], self._forest.n_rows) from None


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turns the core's refusal of rows into an error of the package."""
    try:
        yield
    except _core.InvalidArgument as error:
        raise InvalidInputError(str(error)) from None
