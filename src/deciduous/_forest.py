"""What forests of all kinds of targets have in common: rows that come and go, and what is known of them."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import NO_IDS, Batch, PendingUpdate
from ._class_weights import integers_of
from ._columns import Columns, encoded, learned_columns
from ._predictor import KnowsColumns
from ._progress import Report, bar
from ._refused import refuse
from ._row_names import KINDS as ROW_NAME_TYPES
from ._row_names import Names, RowNames, kind_of, name_list, settled
from ._row_weights import in_weights, least_units, rounded_parts, rounded_weights
from ._state import arguments_state
from ._stored import depth_and_leaves
from ._storing import StorableForest, fork_safe_lock
from ._table_index import row_ids
from ._validation import (
    IN_OUR_WORDS,
    class_keys,
    core_params,
    is_lazy,
    n_threads,
    non_negative_integer,
    seconds_of,
    seed_from,
)
from .errors import InvalidInputError, OutOfBagError, RowExistsError, UnknownRowError
from .inspection import KINDS, NO_NODE, TreeView
from .reports import CheckReport, MemoryUse, NodeRecord, TrainingRows, UpdateReport, VerifyReport

LEARNED_OF_COLUMNS = {"n_features_in_", "feature_names_in_"}  # what scikit-learn's checks of X write
TAKES_LONG = {"oob_score_", "oob_prediction_", "oob_decision_function_", "feature_importances_"}
NO_CODES = np.empty(0, np.uint32)
NO_KEYS = np.empty((0, 16), np.uint8)


class DareForest(KnowsColumns, StorableForest):
    """A forest whose training rows can be deleted and added.

    What a target is, is known to the classes below: how it is checked, encoded, learned and shown.
    """

    _criteria: ClassVar[tuple[str, ...]]
    _refused: ClassVar[Mapping[str, str]]  # parameters that it does not have, each with the reason
    _y_name: ClassVar[str]

    @abstractmethod
    def _checked_targets(self, y: ArrayLike, n_rows: int | None) -> NDArray[Any]:
        """The targets as an array, one for each row."""

    @abstractmethod
    def _learn_targets(self, batch: Batch, known_classes: ArrayLike | None) -> None:
        """Learn what `fit` resolves from the targets."""

    @abstractmethod
    def _encoded_targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64] | None]:
        """All classes, with those that the batch brings; the number of each row's class; targets in fixed point."""

    @abstractmethod
    def _shown_targets(self, held: _core.HeldRows) -> NDArray[Any]:
        """The targets of rows that the forest holds."""

    @abstractmethod
    def _score_of(self, predicted: NDArray[np.float64], held: _core.HeldRows) -> float:
        """How well the core predicted the targets of these rows: accuracy, or R²."""

    @abstractmethod
    def _view_of(self, arrays: _core.TreeArrays) -> TreeView:
        """A tree as arrays over its nodes."""

    @abstractmethod
    def _shown_nodes(self, view: TreeView) -> Iterable[tuple[dict[Any, float], float | None]]:
        """The rows by class of each node, and the mean of its targets."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        # What `__new__` takes would hide it.
        signature = inspect.signature(cls.__init__)
        cls.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    def __new__(cls, *_: Any, **arguments: Any) -> Self:
        """Refuse parameters of scikit-learn's forests that these ones cannot have, and say why."""
        refuse(cls.__name__, arguments, cls._refused)
        made: Self = super().__new__(cls)
        return made

    def set_params(self, **arguments: Any) -> Self:
        """Set parameters of the estimator. They take effect at the next `fit`."""
        refuse(type(self).__name__, arguments, self._refused)
        super().set_params(**arguments)
        return self

    def _keep(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of `__init__` under their names, as scikit-learn wants it."""
        self.__dict__.update({name: value for name, value in arguments.items() if name != "self"})

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
            Class labels, of any number of classes; or targets of a regressor, which are finite numbers.
        ids : array of integers, strings or UUIDs, optional
            Unique ids of the rows, for use in `delete`. Default: the index of a pandas table, unless it is the default
            index that just numbers the rows; otherwise 0, 1, 2, …
        subjects : array of integers, strings or UUIDs, optional
            The person, or other entity, that each row belongs to. `delete(subjects=...)` deletes all rows of a subject.
            Use missing values (None, NaN) for rows that belong to nobody.
        sample_weight : array of numbers, optional
            A row of weight 3 counts as three rows. A row of weight 0 is left out. Weights that are not whole numbers
            are rounded to multiples of `weight_unit_`.
        """
        return self._fit(X, y, ids, subjects, sample_weight, None)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ids: Names | None = None,
        subjects: Names | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Call `fit` the first time, and `add` from then on.

        After each batch, the forest is the one that `fit` on all rows so far would give; that of a regressor has the
        `target_range` of the first batch. Its later targets may be at most four times as far from the middle: give a
        `target_range` that is wide enough for all batches. If weights are not whole numbers, the first batch also
        decides on `weight_unit_`, with room for three times its weight: give a `weight_unit` that suits all batches.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, ids=ids, subjects=subjects, sample_weight=sample_weight)
        self.add(X, y, ids=ids, subjects=subjects, sample_weight=sample_weight)
        return self

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
        batch = Batch.checked(
            rows,
            self._checked_targets(y, len(rows)),
            ids=ids,
            sample_weight=sample_weight,
            subjects=subjects,
            known=names,
            n_counted=0,
            holds=None,
            weight_unit=self.weight_unit,
            takes_fractions=True,
        )
        if len(batch) == 0:
            raise InvalidInputError(
                "Every sample_weight is zero: fit needs at least one row of positive weight."
                if len(rows)
                else "Found array with 0 sample(s): fit needs at least one row."
            )
        draft._learn_targets(batch, known_classes)
        draft._train(columns, batch, names)
        self.__dict__ = draft.__dict__  # in one step: Ctrl-C leaves the forest as it was, or fitted
        return self

    def _train(self, columns: Columns, batch: Batch, names: RowNames) -> None:
        """Grow trees from checked rows, with the targets of which everything is learned."""
        self._classes, codes, targets = self._encoded_targets(batch)
        seed = seed_from(self.random_state)
        params = core_params(self, columns.n_attributes, seed)
        params.min_samples_split = least_units(params.min_samples_split, no_limit=2, unit=batch.unit)
        params.min_samples_leaf = least_units(params.min_samples_leaf, no_limit=1, unit=batch.unit)
        is_lazy(self.lazy)
        arguments = arguments_state(self.get_params())
        forest = self._empty_core(params, columns)
        with IN_OUR_WORDS, bar("Training", params.n_trees, self._is_verbose()) as report:
            forest.fit(batch.ids, batch.rows, codes, batch.weights, n_threads(self.n_jobs), report, targets)
        names.change([], batch.ids, batch.names, batch.subjects)
        self._forest, self._columns, self._names = forest, columns, names
        self._params, self._arguments, self._weight_unit = params, arguments, batch.unit
        self._lock, self._pending, self._n_counted = fork_safe_lock(), None, batch.n_counted
        self.seed_ = seed

    def _unfitted(self) -> Self:
        """A forest with the same parameters that has seen no columns."""
        draft = type(self).__new__(type(self))
        draft.__dict__ = {name: its for name, its in vars(self).items() if name not in LEARNED_OF_COLUMNS}
        return draft

    def delete(self, ids: Names | None = None, *, subjects: Names | None = None) -> UpdateReport:
        """Delete training rows, given by id or by subject, as if they had never been seen.

        Give either `ids` or `subjects`. An empty list changes nothing.
        """
        ids = settled(ids)
        with self._one_state():
            row_ids = self._known_rows(ids, subjects)
            shown = self._names.shown_ids(row_ids.tolist())
            nothing = Batch.nothing(len(self._columns), self._classes, self._n_counted, self._weight_unit)
            return self._report(shown, self._update("Deleting", row_ids, nothing))

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

        New labels of a classifier are inserted into `classes_` in order; a regressor refuses targets beyond
        `target_range_`. If there are no `ids` and no index that names the rows (see `fit`), the rows get new ids, which
        the report lists. If all rows so far were numbered automatically, in this process, the numbering continues.
        Otherwise the ids are consecutive numbers from a random start above 2**62, which reveals nothing about deleted
        rows. Rows of weight 0 are left out.
        """
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        ids = row_ids(X, ids, y=y, subjects=subjects, sample_weight=sample_weight)
        with self._one_state():
            batch = self._batch(rows, y, ids, sample_weight, subjects)
            held = np.flatnonzero(self._forest.holds(batch.ids))
            if len(held):
                raise RowExistsError([batch.shown_ids[i] for i in held])
            return self._report(batch.shown_ids, self._update("Adding", NO_IDS, batch))

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
            return self._report([*gone, *batch.shown_ids], self._update("Updating", leaving, batch))

    def _update(self, what: str, leaving: NDArray[np.int64], batch: Batch) -> _core.UpdateCost:
        """Take rows out of the core and a batch in, and let what is known of rows and classes follow."""
        classes, codes, keys, weights, targets = self._classes, NO_CODES, NO_KEYS, None, None
        if len(batch):
            classes, codes, targets = self._encoded_targets(batch)
            keys, weights = class_keys(classes), integers_of(self._class_weights, classes)
        how = n_threads(self.n_jobs), is_lazy(self.lazy)
        self._pending = PendingUpdate(self._forest.n_updates, leaving.tolist(), batch, self._classes)
        try:
            # Before the core has the new classes, so that no prediction has more columns than there are labels.
            self._classes = classes
            with IN_OUR_WORDS, self._update_bar(what, len(leaving) + len(batch)) as report:
                return self._forest.update_rows(
                    leaving, batch.ids, batch.rows, codes, batch.weights, keys, weights, *how, report, targets
                )
        finally:
            self._settle()

    def _report(self, ids: list[Any], cost: _core.UpdateCost) -> UpdateReport:
        retrained = rounded_parts(cost.rows_retrained, self._weight_unit)
        return UpdateReport(tuple(ids), tuple(cost.nodes_rebuilt), tuple(retrained), cost.n_rows_regrown)

    def _batch(
        self, rows: NDArray[np.float32], y: ArrayLike, ids: Names | None, sample_weight: Any, subjects: Names | None
    ) -> Batch:
        """These rows, checked."""
        return Batch.checked(
            rows,
            self._checked_targets(y, len(rows)),
            ids=ids,
            sample_weight=sample_weight,
            subjects=subjects,
            known=self._names,
            n_counted=self._n_counted,
            holds=self._forest.holds,
            weight_unit=self._weight_unit,
            takes_fractions=self._arguments.get("weight_unit") is not None,
        )

    def _predictions(self, X: ArrayLike) -> NDArray[np.float64]:
        """What the core predicts: a row for each row of X, a column for each class, or one for the target."""
        check_is_fitted(self)
        rows = encoded(self, X, self._columns)
        with IN_OUR_WORDS:
            return self._forest.predict(rows, n_threads(self.n_jobs))

    def _out_of_bag(self) -> NDArray[np.float64]:
        """What the trees that a row does not belong to predict for it, in the order of `ids_`; NaN if there is none."""
        with self._one_state():
            predicted = self._core_out_of_bag()
            if self._names.kind is None:
                return predicted
            names = self._names.shown_ids(self._forest.ids().tolist())
            return predicted[sorted(range(len(names)), key=names.__getitem__)]

    def _core_out_of_bag(self) -> NDArray[np.float64]:
        """The same in the order of the core's ids."""
        if self._params.trees_per_row >= self._params.n_trees:
            raise OutOfBagError(self._arguments.get("max_samples"), self._params.n_trees)
        return self._forest.predict_out_of_bag(n_threads(self.n_jobs))

    @property
    def oob_score_(self) -> float:
        """Accuracy, or R² of a regressor, of the out-of-bag predictions on the rows that have one; NaN if none has.

        Needs `max_samples` below 1.
        """
        with self._one_state():
            predicted = self._core_out_of_bag()
            has_one = ~np.isnan(predicted[:, 0])
            if not has_one.any():
                return math.nan
            scored = self._forest.rows(self._forest.ids()[has_one])
            return self._score_of(predicted[has_one], scored)

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
            report = self._report(self._names.shown_ids(row_ids.tolist()), cost)
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
                units = self._forest.deletion_costs(row_ids, *how).astype(np.int64)
                return rounded_weights(units, self._weight_unit)
            by_subject = map(self._names.rows_of_subjects, name_list(subjects))
            reports = [self._report([], self._forest.deletion_cost(rows, *how)) for rows in by_subject]
            return np.array([report.n_rows_retrained for report in reports], dtype=np.int64)

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
    def weight_unit_(self) -> float:
        """What the weights of rows are multiples of: 1 if all weights passed to `fit` were whole numbers."""
        check_is_fitted(self)
        return self._weight_unit

    @property
    def n_rows_(self) -> int:
        """Number of rows in the forest."""
        check_is_fitted(self)
        return self._forest.n_rows

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
                y=self._shown_targets(held),
                sample_weight=in_weights(held.weights, self._weight_unit),
                subjects=[self._names.subjects.get(row) for row in row_ids.tolist()],
                feature_names=[f"x{i}" for i in range(self.n_features_in_)] if names is None else names.tolist(),
                y_name=self._y_name,
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
            arrays = self._tree_arrays(tree)
            view = self._shown_view(arrays)
            with _core.StandardFloats():
                thresholds = view.threshold.tolist()
            n_rows = view.counts.sum(axis=1).tolist()
            leaf_ids = np.split(arrays.ids, np.cumsum(arrays.n_ids)[:-1])
            nodes = zip(
                view.kind, view.depth.tolist(), view.attribute.tolist(), thresholds, n_rows, leaf_ids, strict=True
            )
            return [
                NodeRecord(
                    kind=KINDS[kind],
                    depth=depth,
                    attribute=None if attribute == NO_NODE else attribute,
                    threshold=None if attribute == NO_NODE else threshold,
                    n_rows=n,
                    counts=counts,
                    value=value,
                    ids=tuple(self._names.shown_ids(ids.tolist())),
                )
                for (kind, depth, attribute, threshold, n, ids), (counts, value) in zip(
                    nodes, self._shown_nodes(view), strict=True
                )
            ]

    def tree_view(self, tree: int) -> TreeView:
        """Return a tree as arrays over its nodes."""
        check_is_fitted(self)
        with self._one_state():
            return self._shown_view(self._tree_arrays(tree))

    def _shown_view(self, arrays: _core.TreeArrays) -> TreeView:
        """A tree as arrays over its nodes, with rows counted by weight."""
        view = self._view_of(arrays)
        return replace(view, counts=in_weights(view.counts, self._weight_unit))

    def _tree_views(self) -> list[TreeView]:
        """All trees, as of one moment."""
        check_is_fitted(self)
        with self._one_state():
            return [self.tree_view(tree) for tree in range(self._forest.n_trees)]

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
        with _core.StandardFloats():
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

    def __dir__(self) -> list[str]:
        """The names of what is there, without attributes that take long to compute.

        Notebooks, debuggers and scikit-learn's display look at everything that is listed here.
        """
        return [name for name in object.__dir__(self) if name not in TAKES_LONG and hasattr(self, name)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

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
