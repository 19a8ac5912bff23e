"""What a live forest and a reader of one have in common: predictions for rows of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import StandardFloats
from ..forest import DareForestClassifier
from ..frozen import FrozenForestClassifier
from ._given import by_column
from ._rows import Encoder
from ._training import estimator_of, rows_for

T = TypeVar("T")


class TableModel(ABC):
    """A forest whose rows are those of a table."""

    @property
    @abstractmethod
    def forest(self) -> DareForestClassifier:
        """The forest. It takes tables with the columns `columns`. Do not change it: the table is the truth."""

    @property
    @abstractmethod
    def _encoder(self) -> Encoder: ...

    @property
    def columns(self) -> list[str]:
        """The columns that trees split on."""
        return [column.name for column in self._encoder.settings.columns]

    @property
    def params(self) -> dict[str, Any]:
        """Parameters with which `DareForestClassifier().fit` on the same rows gives the same forest, seed included.

        Names of categories that were forgotten are replaced.
        """
        params: dict[str, Any] = estimator_of(self._encoder.settings).get_params()
        return params

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the rows, ascending."""
        return self._with_classes(lambda _: None)[1]

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Class shares of each row, in the order of `classes_`.

        Rows are a table of pandas, polars or pyarrow, or a list of dicts, with the columns by name; or a list of lists,
        in the order of `columns`.
        """
        matrix = self._matrix(rows)
        shares, _, places = self._with_classes(lambda forest: forest.predict_proba(rows_for(forest, matrix)))
        return shares[:, places]

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        matrix, forest = self._matrix(rows), self.forest
        return forest.predict(rows_for(forest, matrix))

    def freeze(self) -> FrozenForestClassifier:
        """The forest as one that only predicts, for tables with the columns `columns`."""
        return self.forest.freeze()

    def _matrix(self, rows: Any) -> NDArray[np.float32]:
        """The rows as numbers. Before the forest is asked for: no split of it asks for a name forgotten meanwhile."""
        encoder = self._encoder
        with StandardFloats():  # as rows of the table are read
            return encoder.matrix(by_column(rows, [column.name for column in encoder.settings.columns]))

    def _with_classes(self, look: Callable[[DareForestClassifier], T]) -> tuple[T, NDArray[Any], NDArray[np.intp]]:
        """What a look at the forest gives, the classes that have rows, ascending, and where the forest has them.

        A forest keeps classes without rows, too. All of it is of one moment: if there was an update, look again.
        """
        while True:
            forest = self.forest
            n_updates = forest._forest.n_updates
            seen, present, labels = look(forest), np.flatnonzero(forest._forest.class_totals()), forest.classes_
            if forest._forest.n_updates == n_updates:
                places = present[np.argsort(labels[present], kind="stable")]
                return seen, labels[places], places
