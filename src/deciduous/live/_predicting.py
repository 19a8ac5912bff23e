"""What a live forest and a reader of one have in common: predictions for rows of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._columns import Coded
from .._core import StandardFloats
from ..errors import OtherTaskError
from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from ._given import by_column
from ._rows import Encoder
from ._settings import ColumnKind
from ._training import estimator_of

if TYPE_CHECKING:
    from .._tasks import Forest, Frozen


class TableModel(ABC):
    """A forest whose rows are those of a table."""

    @property
    @abstractmethod
    def forest(self) -> Forest:
        """The forest. It takes tables with the columns listed in `columns`. Do not modify it."""

    @property
    @abstractmethod
    def _encoder(self) -> Encoder: ...

    @property
    def task(self) -> str:
        """What the forest is for: "classification" or "regression"."""
        return self._encoder.settings.task

    @property
    def columns(self) -> list[str]:
        """The columns that the trees split on."""
        return [column.name for column in self._encoder.settings.columns]

    @property
    def kinds(self) -> list[ColumnKind]:
        """All columns that are read: the id, the target, the subject if there is one, and those of `columns`."""
        return self._encoder.settings.kinds()

    @property
    def params(self) -> dict[str, Any]:
        """Parameters, including the seed, with which the estimator alone gives this forest on the same rows.

        Category names that were forgotten are replaced by placeholders.
        """
        params: dict[str, Any] = estimator_of(self._encoder.settings).get_params()
        return params

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the rows, in ascending order."""
        forest = self._classifier()
        present = [label for label, n in forest.class_counts_.items() if n]
        return np.array(present, dtype=forest.classes_.dtype)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, with columns in the order of `classes_`.

        X is a pandas, polars or pyarrow table, or a list of dicts, with the columns by name; or a list of lists, in the
        order of `columns`.
        """
        rows = self._rows(X)
        return self._classifier().present_shares(rows)[1]

    def present_shares(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the classes and their predicted probabilities, both of the same state of the forest.

        Use this while another thread syncs: between `classes_` and `predict_proba`, the forest may change.
        """
        rows = self._rows(X)
        return self._classifier().present_shares(rows)

    def predict(self, X: Any, *, quantiles: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the most likely class of each row, or its target, or `quantiles` of the target."""
        rows = self._rows(X)
        return self.forest.predict(rows) if quantiles is None else self._regressor().predict(rows, quantiles=quantiles)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval for the target of each row, as two columns: its lower and its upper end."""
        rows = self._rows(X)
        return self._regressor().predict_interval(rows, coverage)

    def _classifier(self) -> DareForestClassifier:
        forest = self.forest
        if not isinstance(forest, DareForestClassifier):
            raise OtherTaskError("This live forest predicts numbers, so there are no classes and probabilities.")
        return forest

    def _regressor(self) -> DareForestRegressor:
        forest = self.forest
        if not isinstance(forest, DareForestRegressor):
            raise OtherTaskError("This live forest predicts classes, so there are no quantiles and intervals.")
        return forest

    def freeze(self) -> Frozen:
        """Return a forest that can only predict, for tables with the columns listed in `columns`."""
        return self.forest.freeze()

    def _rows(self, X: Any) -> Any:
        """The rows as numbers. Before the forest is asked for: no split of it asks for a name forgotten meanwhile."""
        encoder = self._encoder
        with StandardFloats():  # as rows of the table are read
            return Coded(encoder.matrix(by_column(X, [column.name for column in encoder.settings.columns])))
