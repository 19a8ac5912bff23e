"""What a forest with rows and a frozen one have in common beside their predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._columns import Columns, encoded
from ._targets import CLASSIFICATION, REGRESSION
from .errors import InvalidInputError


class KnowsColumns:
    """An estimator that knows its columns."""

    _columns: Columns
    n_features_in_: int

    def _require_fitted(self) -> None:
        check_is_fitted(self)

    @property
    def categories_(self) -> list[list[Any] | None]:
        """For each column, the list of its categories, or None if it is numeric."""
        self._require_fitted()
        return [None if its is None else its.listed() for its in self._columns.categories]

    @property
    def n_attributes_(self) -> int:
        """Number of attributes: the numeric columns, and the categories of all other columns."""
        self._require_fitted()
        return self._columns.n_attributes

    def one_hot(self, X: ArrayLike) -> NDArray[np.float32]:
        """Convert rows to one column per attribute, with categories one-hot encoded.

        This is how the trees see the rows, and what exported models take as input.
        """
        self._require_fitted()
        return self._columns.one_hot(encoded(self, X, self._columns))

    def attribute_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the attributes that trees split on: column names, and `column=category` for categories.

        If given, `feature_names` are used in place of the names of the columns.
        """
        self._require_fitted()
        n_features = self.n_features_in_
        if feature_names is None:
            feature_names = list(getattr(self, "feature_names_in_", [f"x{i}" for i in range(n_features)]))
        if len(feature_names) != n_features:
            raise InvalidInputError(
                f"feature_names has {len(feature_names)} names, but the forest has {n_features} features."
            )
        return self._columns.attribute_names(list(map(str, feature_names)))


class ClassPredictor(ClassifierMixin, KnowsColumns):  # type: ignore[misc]
    """A classifier that knows its columns."""

    _task: ClassVar[str] = CLASSIFICATION

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict class probabilities, with columns in the order of `classes_`."""

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the natural logarithms of the class probabilities. A probability of zero gives -inf."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        self._require_fitted()
        return len(self.classes_)


class NumberPredictor(RegressorMixin, KnowsColumns):  # type: ignore[misc]
    """A regressor that knows its columns."""

    _task: ClassVar[str] = REGRESSION

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the target of each row."""
