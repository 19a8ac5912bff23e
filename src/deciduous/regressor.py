"""The regressor that lets go of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._batch import Batch
from ._columns import encoded
from ._forest import DareForest
from ._predictor import NumberPredictor
from ._refused import REASONS_OF_REGRESSORS
from ._state import target_scale_state
from ._targets import ONLY_CLASS, TargetScale, given_range, share_array, target_array
from ._validation import CRITERIA_OF_TARGETS, IN_OUR_WORDS, NUMBER, n_threads
from .errors import InvalidInputError
from .frozen import FrozenForestRegressor
from .inspection import TreeView


class DareForestRegressor(NumberPredictor, DareForest):
    """A random forest for numbers that supports exact deletion and addition of training rows.

    After any sequence of `delete` and `add`, the forest is byte for byte the one that `fit` would build on the
    remaining rows with the same parameters and seed. Targets are kept in fixed point with 38 binary digits for their
    range, so that sums are exact and do not depend on the order of rows: see docs/algorithm.md, 2.10.

    Parameters
    ----------
    n_estimators, max_depth, n_thresholds, random_depth, max_features, candidates, min_samples_split, \
min_samples_leaf, max_samples, weight_unit, categorical_features, lazy, n_jobs, random_state, verbose
        As in `DareForestClassifier`.
    criterion : {"squared_error"}, default="squared_error"
        Function that measures the quality of a split. `"friedman_mse"` would choose the same splits.
    target_range : (float, float) or None, default=None
        The lowest and the highest target to expect. None takes those of the rows passed to `fit`. Together with the
        other parameters and the seed, it defines the forest. Rows with targets beyond the range can be added up to the
        limits in `target_range_`, at least three times the size of the range away.

    Attributes
    ----------
    target_range_ : (float, float)
        The lowest and the highest target that a row of this forest may have.
    weight_unit_ : float
        Unit of the weights of rows in use.
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
    seed_ : int
        Seed in use.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from deciduous import DareForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> limits = (0, 400)
    >>> forest = DareForestRegressor(n_estimators=10, target_range=limits, random_state=0).fit(X, y)
    >>> forest.delete([3, 17]).n_rows
    2
    >>> others = [i for i in range(442) if i not in (3, 17)]
    >>> retrained = DareForestRegressor(n_estimators=10, target_range=limits, random_state=0)
    >>> forest.fingerprint() == retrained.fit(X[others], y[others], ids=others).fingerprint()
    True
    """

    _criteria: ClassVar[tuple[str, ...]] = CRITERIA_OF_TARGETS
    _refused: ClassVar[Mapping[str, str]] = REASONS_OF_REGRESSORS
    _y_name: ClassVar[str] = "target"
    _frozen_kind: ClassVar[type[FrozenForestRegressor]] = FrozenForestRegressor
    _target_scale: TargetScale

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 20,
        n_thresholds: int | None = 25,
        random_depth: int = 0,
        max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt",
        candidates: Literal["valid", "uniform"] = "valid",
        criterion: Literal["squared_error"] = "squared_error",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_samples: float | None = None,
        weight_unit: float | None = None,
        target_range: tuple[float, float] | None = None,
        categorical_features: Any = "from_dtype",
        lazy: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _checked_targets(self, y: ArrayLike, n_rows: int | None) -> NDArray[Any]:
        return target_array(y, n_rows)

    def _learn_targets(self, batch: Batch, known_classes: ArrayLike | None) -> None:  # noqa: ARG002
        ends = given_range(self.target_range) or (float(batch.labels.min()), float(batch.labels.max()))
        self._target_scale = TargetScale.of_range(*ends)
        self._classes, self._class_weights = ONLY_CLASS, None

    def _encoded_targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]:
        return ONLY_CLASS, np.zeros(len(batch), np.uint32), self._target_scale.fixed(batch.labels)

    def _targets_state(self) -> dict[str, Any]:
        return target_scale_state(self._target_scale)

    def _shown_targets(self, held: _core.HeldRows) -> NDArray[Any]:
        return self._target_scale.targets(held.targets)

    def _view_of(self, arrays: _core.TreeArrays) -> TreeView:
        return TreeView.of_targets(arrays, self._target_scale)

    def _shown_nodes(self, view: TreeView) -> Iterable[tuple[dict[Any, float], float]]:
        return (({}, value) for value in view.values[:, 0].tolist())

    @property
    def target_range_(self) -> tuple[float, float]:
        """The lowest and the highest target that a row of this forest may have."""
        check_is_fitted(self)
        return self._target_scale.limits

    def predict(self, X: ArrayLike, *, quantiles: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict the target of each row: the mean, over the trees, of the means of the leaves reached.

        With `quantiles`, a list of numbers in [0, 1], return a column for each of them instead: the quantiles of the
        targets of the training rows in these leaves, as in quantile regression forests (Meinshausen, 2006). A training
        row counts with its share of each leaf that it shares with the row to predict. A quantile is always the target
        of some training row, to the precision in which targets are kept; nothing is interpolated. For a single number,
        the result has one dimension.
        """
        if quantiles is None:
            means = self._predictions(X)[:, 0]
            return self._target_scale.floats(means)
        shares = share_array(quantiles)
        check_is_fitted(self)
        columns = self._target_scale.targets(self._quantiles(encoded(self, X, self._columns), shares.ravel()))
        return columns[:, 0] if shares.ndim == 0 else columns

    def _quantiles(self, rows: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles in fixed point: a row for each row, a column for each share."""
        with IN_OUR_WORDS:
            return self._forest.predict_quantiles(rows, shares, n_threads(self.n_jobs))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval for the target of each row, as two columns: its lower and its upper end.

        `coverage` is the share of targets that the interval aims at: 0.9 gives the quantiles 0.05 and 0.95. The
        training rows themselves are inside more often, as they are in the leaves that they are compared with.
        """
        if not isinstance(coverage, NUMBER) or not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be a number between 0 and 1, but is {coverage!r}.")
        share = float(coverage)
        return self.predict(X, quantiles=[(1 - share) / 2, (1 + share) / 2])

    @property
    def oob_prediction_(self) -> NDArray[np.float64]:
        """For each row, in the order of `ids_`, the prediction of the trees that it does not belong to; NaN if none."""
        means = self._out_of_bag()[:, 0]
        return self._target_scale.floats(means)

    def _score_of(self, predicted: NDArray[np.float64], held: _core.HeldRows) -> float:
        # In fixed point, whose squares are neither too large nor too small, whatever the targets are.
        with _core.StandardFloats():
            return float(r2_score(held.targets, predicted[:, 0], sample_weight=held.weights))
