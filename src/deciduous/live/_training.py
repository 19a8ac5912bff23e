"""From settings and rows to a forest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._state import arguments_from, arguments_state
from ..forest import DareForestClassifier
from ._rows import EncodedRows
from ._settings import Settings

NO_TEXT, NO_NUMBER = "", 0  # labels for a forest that has no rows


def resolved_params(forest: DareForestClassifier) -> dict[str, Any]:
    """The parameters of a fitted forest as plain values, with those that `fit` resolved."""
    resolved = {"random_state": forest.seed_, "class_weight": forest.class_weight_, "categorical_features": None}
    return arguments_state(forest.get_params() | resolved)


def estimator_of(settings: Settings) -> DareForestClassifier:
    """The estimator that these settings describe. It sees categories as numbers: their names stay in the settings."""
    arguments = arguments_from(settings.params, set(DareForestClassifier().get_params()))
    return with_categories(DareForestClassifier(**arguments), settings)


def with_categories(estimator: DareForestClassifier, settings: Settings) -> DareForestClassifier:
    """The same estimator, with the categories of these settings."""
    numbers = {
        place: list(range(column.n_attributes))
        for place, column in enumerate(settings.columns)
        if column.categories is not None
    }
    estimator.set_params(categorical_features=numbers or None)
    return estimator


def fitted(estimator: DareForestClassifier, settings: Settings, rows: EncodedRows) -> DareForestClassifier:
    """The forest of these rows, which may be none."""
    if len(rows):
        return estimator.fit(rows.matrix, rows.labels, ids=rows.known["id"])
    # `fit` needs a row, so the forest without rows is the one that its only row has left.
    nobody = np.zeros((1, len(settings.columns)), dtype=np.float32)
    estimator.fit(nobody, [NO_TEXT if settings.target_is_text else NO_NUMBER], ids=[0])
    estimator.delete([0])
    return estimator


def has_idle_classes(forest: DareForestClassifier) -> bool:
    """Whether the forest remembers a label that no row has; one without rows has to remember one, which is nobody's."""
    n_idle = int((forest._forest.class_totals() == 0).sum())
    return n_idle > 0 and not (forest.n_rows_ == 0 and forest.classes_.tolist() in ([NO_TEXT], [NO_NUMBER]))
