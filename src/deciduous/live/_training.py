"""From settings and rows to a forest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._columns import Coded
from .._state import arguments_from, arguments_state
from ..forest import DareForestClassifier
from ._rows import EncodedRows
from ._settings import Settings

NO_TEXT, NO_NUMBER = "", 0  # labels of the kinds that there are


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
    choice = {column.name: column.listed() for column in settings.columns if column.categories is not None}
    estimator.set_params(categorical_features=choice or None)
    return estimator


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
    columns = settings.columns
    return forest.rename_columns([column.name for column in columns], [column.listed() for column in columns])


def _coded(settings: Settings, matrix: NDArray[np.float32]) -> Coded:
    return Coded(matrix, [column.name for column in settings.columns], settings.features())


def without_idle_classes(forest: DareForestClassifier) -> DareForestClassifier:
    """The same forest, without labels that no row has: they are something of rows that are gone."""
    if all(forest.class_counts_.values()):
        return forest
    return DareForestClassifier.from_bytes(forest.to_bytes(), forest.n_jobs, math.inf)  # which knows no others
