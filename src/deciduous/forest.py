"""The classifier that lets go of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import Batch
from ._class_weights import ClassWeights, integers_of
from ._forest import DareForest
from ._predictor import ClassPredictor
from ._refused import REASONS_OF_CLASSIFIERS
from ._row_names import Names
from ._row_weights import in_weights
from ._state import class_weights_state, labels_state
from ._validation import CRITERIA_OF_CLASSES, extended_classes, label_array
from .frozen import FrozenForestClassifier
from .inspection import TreeView


class DareForestClassifier(ClassPredictor, DareForest):
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
    weight_unit : float or None, default=None
        What the weights of rows are multiples of. None means 1 if all weights passed to `fit` are whole numbers, and
        otherwise the power of two that makes their sum at most 2**28 and more than 2**27 units. It is fixed from then
        on. `min_samples_split` and `min_samples_leaf` are compared with sums of weights, except that 2 and 1 are never
        a limit.
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
        An int in [0, 2**64) is used as the seed itself. None draws a secret seed; docs/guarantees.md explains why
        the seed should stay secret.
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
    weight_unit_ : float
        Unit of the weights of rows in use.
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

    _criteria: ClassVar[tuple[str, ...]] = CRITERIA_OF_CLASSES
    _refused: ClassVar[Mapping[str, str]] = REASONS_OF_CLASSIFIERS
    _y_name: ClassVar[str] = "label"
    _frozen_kind: ClassVar[type[FrozenForestClassifier]] = FrozenForestClassifier

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
        weight_unit: float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        categorical_features: Any = "from_dtype",
        lazy: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _checked_targets(self, y: ArrayLike, n_rows: int | None) -> NDArray[Any]:
        return label_array(y, n_rows)

    def _learn_targets(self, batch: Batch, known_classes: ArrayLike | None) -> None:
        known = np.unique(batch.labels) if known_classes is None else np.unique(label_array(known_classes, None))
        self._classes, codes = extended_classes(known, batch.labels)
        self._class_weights = ClassWeights.resolved(self.class_weight, self._classes, codes, batch.weights)

    def _encoded_targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.uint32], None]:
        return *extended_classes(self._classes, batch.labels), None

    def _targets_state(self) -> dict[str, Any]:
        # A label without rows is something of rows that are gone.
        classes = self._classes[np.flatnonzero(self._forest.class_totals())]
        return {"classes": labels_state(classes), "class_weight": class_weights_state(self._weights_to_store(classes))}

    def _weights_to_store(self, classes: NDArray[Any]) -> ClassWeights | None:
        """Weights that the user gave are parameters and stay; those that rows gave leave with the rows."""
        if self._class_weights is None or self._arguments.get("class_weight") != "balanced":
            return self._class_weights
        return self._class_weights.only(classes.tolist())

    def _shown_targets(self, held: _core.HeldRows) -> NDArray[Any]:
        return self._classes[held.labels]

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
        classes are in `classes_` from the first call on. Later batches may still bring other classes. If weights are
        not whole numbers, the first batch decides on `weight_unit_`, with room for three times its weight: give a
        `weight_unit` that suits all batches.
        """
        if classes is None or self.__sklearn_is_fitted__():
            return super().partial_fit(X, y, ids=ids, subjects=subjects, sample_weight=sample_weight)
        return self._fit(X, y, ids, subjects, sample_weight, classes)

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
        return self._in_label_order(self._predictions(X))

    def _in_label_order(self, shares: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels, ascending, and in this order the columns of what the core predicts."""
        labels = self._classes[: shares.shape[1]]  # another thread may be adding some
        order = self._label_order(labels)
        return (labels, shares) if order is None else (labels[order], shares[:, order])

    @staticmethod
    def _label_order(labels: NDArray[Any]) -> NDArray[np.intp] | None:
        """The places of the labels when they ascend; None if they do already, as they do unless `add` brought some."""
        return None if (labels[:-1] < labels[1:]).all() else np.argsort(labels, kind="stable")

    @property
    def oob_decision_function_(self) -> NDArray[np.float64]:
        """For each row, in the order of `ids_`, the class probabilities by the trees that it does not belong to.

        The columns are in the order of `classes_`. A row that belongs to all trees has NaN. Needs `max_samples` below
        1.
        """
        with self._one_state():
            return self._in_label_order(self._out_of_bag())[1]

    def _score_of(self, predicted: NDArray[np.float64], held: _core.HeldRows) -> float:
        labels, shares = self._in_label_order(predicted)
        is_right = labels[shares.argmax(axis=1)] == self._shown_targets(held)
        with _core.StandardFloats():
            return float(np.average(is_right, weights=held.weights))

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, in ascending order."""
        check_is_fitted(self)
        return np.sort(self._classes)

    @property
    def class_counts_(self) -> dict[Any, float]:
        """Number of rows by class label, in ascending order of the labels. A row of weight 3 counts as three."""
        check_is_fitted(self)
        totals = in_weights(self._forest.class_totals(), self._weight_unit).tolist()
        return dict(sorted(zip(self._classes.tolist(), totals, strict=False)))

    def _view_of(self, arrays: _core.TreeArrays) -> TreeView:
        view = TreeView.from_core(arrays, integers_of(self._class_weights, self._classes))
        order = self._label_order(self._classes)
        return view if order is None else view.of_classes(order)

    def _shown_nodes(self, view: TreeView) -> Iterable[tuple[dict[Any, float], None]]:
        labels = self.classes_.tolist()
        for rows in view.counts.tolist():
            yield {label: n for label, n in zip(labels, rows, strict=True) if n}, None

    @property
    def class_weight_(self) -> dict[Any, float] | None:
        """Weights of the classes that have one, or None."""
        check_is_fitted(self)
        return None if self._class_weights is None else dict(self._class_weights.by_label)
