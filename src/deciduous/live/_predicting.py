"""What a live forest and a reader of one have in common: predictions for rows of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._columns import Coded
from .._core import StandardFloats
from ..forest import DareForestClassifier
from ..frozen import FrozenForestClassifier
from ._given import by_column
from ._rows import Encoder
from ._training import estimator_of


class TableModel(ABC):
    """A forest whose rows are those of a table."""

    @property
    @abstractmethod
    def forest(self) -> DareForestClassifier:
        """The forest. It takes tables with the columns listed in `columns`. Do not modify it."""

    @property
    @abstractmethod
    def _encoder(self) -> Encoder: ...

    @property
    def columns(self) -> list[str]:
        """The columns that the trees split on."""
        return [column.name for column in self._encoder.settings.columns]

    @property
    def params(self) -> dict[str, Any]:
        """Parameters, including the seed, with which `DareForestClassifier().fit` on the same rows gives this forest.

        Category names that were forgotten are replaced by placeholders.
        """
        params: dict[str, Any] = estimator_of(self._encoder.settings).get_params()
        return params

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the rows, in ascending order."""
        forest = self.forest
        present = [label for label, n in forest.class_counts_.items() if n]
        return np.array(present, dtype=forest.classes_.dtype)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, with columns in the order of `classes_`.

        X is a pandas, polars or pyarrow table, or a list of dicts, with the columns by name; or a list of lists, in the
        order of `columns`.
        """
        rows = self._rows(X)
        return self.forest.present_shares(rows)[1]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most likely class of each row."""
        rows = self._rows(X)
        return self.forest.predict(rows)

    def freeze(self) -> FrozenForestClassifier:
        """Return a forest that can only predict, for tables with the columns listed in `columns`."""
        return self.forest.freeze()

    def _rows(self, X: Any) -> Any:
        """The rows as numbers. Before the forest is asked for: no split of it asks for a name forgotten meanwhile."""
        encoder = self._encoder
        with StandardFloats():  # as rows of the table are read
            return Coded(encoder.matrix(by_column(X, [column.name for column in encoder.settings.columns])))
