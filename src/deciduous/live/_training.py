"""From settings and rows to a forest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._columns import Coded
from .._state import arguments_from, arguments_state
from .._targets import REGRESSION
from .._tasks import forest_class, parameters, task_of
from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from ._rows import EncodedRows
from ._settings import TARGET_RANGE, Settings

if TYPE_CHECKING:
    from .._tasks import Forest

NO_TEXT, NO_NUMBER = "", 0  # labels of the kinds that there are


def resolved_params(forest: Forest) -> dict[str, Any]:
    """The parameters of a fitted forest as plain values, with those that `fit` resolved."""
    resolved: dict[str, Any] = {"random_state": forest.seed_, "categorical_features": None}
    if isinstance(forest, DareForestClassifier):
        resolved["class_weight"] = forest.class_weight_
    params = forest.get_params()  # and on a cluster, others that say where it is
    return arguments_state({name: params[name] for name in parameters(task_of(forest))} | resolved)


def estimator_of(settings: Settings) -> Forest:
    """The estimator that these settings describe."""
    return estimator_with(arguments_from(settings.params, set(parameters(settings.task))), settings)


def estimator_with(arguments: Mapping[str, Any], settings: Settings) -> Forest:
    """An estimator with these parameters, and with the categories and the range of targets of these settings."""
    choice = {column.name: column.listed() for column in settings.columns if column.categories is not None}
    learned: dict[str, Any] = {"categorical_features": choice or None}
    if settings.task == REGRESSION:
        learned[TARGET_RANGE] = tuple(settings.params[TARGET_RANGE])
    return forest_class(settings.task)(**{**arguments, **learned})


def fitted(estimator: Forest, settings: Settings, rows: EncodedRows) -> Forest:
    """The forest of these rows, which may be none."""
    if len(rows):
        X: Any = _coded(settings, rows.matrix)
        return estimator.fit(X, rows.labels, ids=rows.known["id"])
    # `fit` needs a row, so the forest without rows is the one that its only row has left.
    nobody: Any = _coded(settings, np.zeros((1, len(settings.columns)), dtype=np.float32))
    estimator.fit(nobody, [_some_target(settings)], ids=[0])
    estimator.delete([0])
    return without_idle_classes(estimator)


def _some_target(settings: Settings) -> Any:
    """Something that the target may be."""
    if settings.task == REGRESSION:
        return settings.params[TARGET_RANGE][0]
    return NO_TEXT if settings.target_is_text else NO_NUMBER


def name_columns(forest: Forest, settings: Settings) -> Forest:
    """Let a forest know its columns and categories by the names of these settings, and by no others."""
    columns = settings.columns
    return forest.rename_columns([column.name for column in columns], [column.listed() for column in columns])


def _coded(settings: Settings, matrix: NDArray[np.float32]) -> Coded:
    return Coded(matrix, [column.name for column in settings.columns], settings.features())


def without_idle_classes(forest: Forest) -> Forest:
    """The same forest, without labels that no row has: they are something of rows that are gone."""
    if isinstance(forest, DareForestRegressor) or all(forest.class_counts_.values()):
        return forest
    return forest._as_stored()  # which knows no others
