"""From settings and rows to a forest."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._columns import Categories, Coded, Columns
from .._state import arguments_from, arguments_state
from ..forest import DareForestClassifier
from ._rows import EncodedRows
from ._settings import LiveColumn, Settings

NO_TEXT, NO_NUMBER = "", 0  # labels of the kinds that there are
FORGOTTEN = 2**52  # from here on, stand-ins for categories that are numbers: exact in every type that has any


def resolved_params(forest: DareForestClassifier) -> dict[str, Any]:
    """The parameters of a fitted forest as plain values, with those that `fit` resolved."""
    resolved = {"random_state": forest.seed_, "class_weight": forest.class_weight_, "categorical_features": None}
    return arguments_state(forest.get_params() | resolved)


def estimator_of(settings: Settings) -> DareForestClassifier:
    """The estimator that these settings describe."""
    arguments = arguments_from(settings.params, set(DareForestClassifier().get_params()))
    return with_categories(DareForestClassifier(**arguments), settings)


def with_categories(estimator: DareForestClassifier, settings: Settings) -> DareForestClassifier:
    """The same estimator, with the categories of these settings."""
    choice = {column.name: _listed(column) for column in settings.columns if column.categories is not None}
    estimator.set_params(categorical_features=choice or None)
    return estimator


def _listed(column: LiveColumn) -> list[Any]:
    """The categories as the estimator takes them, with something that no row has in the place of forgotten names."""
    names = column.categories or ()
    is_text = all(isinstance(name, str) for name in names if name is not None)
    stand_ins = (f"(forgotten {n})" if is_text else FORGOTTEN + n for n in count())
    free = (value for value in stand_ins if value not in names)
    # By its place, so that a name that is forgotten does not move the others.
    values = [stand_in if name is None else name for name, stand_in in zip(names, free, strict=False)]
    return [*values, *[None] * column.has_missing]


def fitted(estimator: DareForestClassifier, settings: Settings, rows: EncodedRows) -> DareForestClassifier:
    """The forest of these rows, which may be none."""
    if len(rows):
        X: Any = _coded(settings, rows.matrix)
        return estimator.fit(X, rows.labels, ids=rows.known["id"])
    # `fit` needs a row, so the forest without rows is the one that its only row has left.
    nobody: Any = _coded(settings, np.zeros((1, len(settings.columns)), dtype=np.float32))
    estimator.fit(nobody, [NO_TEXT if settings.target_is_text else NO_NUMBER], ids=[0])
    estimator.delete([0])
    return without_idle_classes(estimator)


def name_columns(forest: DareForestClassifier, settings: Settings) -> DareForestClassifier:
    """Let a forest know its columns and categories by the names of these settings, and by no others."""
    coded = _coded(settings, np.empty((0, len(settings.columns)), dtype=np.float32))
    with_categories(forest, settings)
    known = arguments_state(forest.get_params())["categorical_features"]
    forest._arguments = forest._arguments | {"categorical_features": known}  # or its file would name those of the fit
    forest.feature_names_in_ = np.array(coded.names, dtype=object)
    forest._columns = coded.columns
    return forest


def rows_for(forest: DareForestClassifier, matrix: NDArray[np.float32]) -> Any:
    """Encoded rows, as the methods of a forest take them."""
    return Coded(matrix, forest.feature_names_in_, forest._columns)


def _coded(settings: Settings, matrix: NDArray[np.float32]) -> Coded:
    categories = (
        None if column.categories is None else Categories.given(_listed(column), f"column {column.name!r}")
        for column in settings.columns
    )
    return Coded(matrix, [column.name for column in settings.columns], Columns(tuple(categories)))


def without_idle_classes(forest: DareForestClassifier) -> DareForestClassifier:
    """The same forest, without labels that no row has: they are something of rows that are gone."""
    if (forest._forest.class_totals() > 0).all():
        return forest
    return DareForestClassifier.from_bytes(forest.to_bytes(), forest.n_jobs, math.inf)  # which knows no others
