"""What a forest is for: classes or numbers. The one home of which estimators a task has, and of how it is guessed.

Without scikit-learn, which takes a second to import, until an estimator is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._refused import REASONS
from ._targets import CLASSIFICATION, REGRESSION
from ._validation import END_OF_LABELS, criterion_of
from .errors import InvalidInputError, shown

if TYPE_CHECKING:
    from .forest import DareForestClassifier
    from .frozen import FrozenForestClassifier, FrozenForestRegressor
    from .regressor import DareForestRegressor

    Forest = DareForestClassifier | DareForestRegressor
    Frozen = FrozenForestClassifier | FrozenForestRegressor

TASKS = (CLASSIFICATION, REGRESSION)
OTHERS = ((CLASSIFICATION, REGRESSION), (REGRESSION, CLASSIFICATION))
AUTO = "auto"  # the task is that of the parameters, or what the targets look like
FEW, MANY = 20, 100  # different whole numbers
ROWS_FOR_EACH = 20  # that classes have on average, if there are more than a few


def forest_class(task: str) -> type[Forest]:
    """The estimator of a task."""
    from .forest import DareForestClassifier
    from .regressor import DareForestRegressor

    return DareForestClassifier if task == CLASSIFICATION else DareForestRegressor


def frozen_class(task: str) -> type[Frozen]:
    """The forest of a task that only predicts."""
    from .frozen import FrozenForestClassifier, FrozenForestRegressor

    return FrozenForestClassifier if task == CLASSIFICATION else FrozenForestRegressor


def task_of(model: Any) -> str:
    """The task of a model, frozen or not."""
    its: str = model._task
    return its


# ----------------------------------------------------------------------------------------------------------- parameters


def parameters(task: str) -> list[str]:
    """The names of the parameters of a task's estimator."""
    return list(forest_class(task)._get_param_names())


def settled_task(asked: str, params: Mapping[str, Any]) -> str | None:
    """The task that is asked for, or the only one that has these parameters; None if the targets have to tell.

    Raises if the parameters do not fit.
    """
    if asked not in (AUTO, *TASKS):
        raise InvalidInputError(f"The task must be {AUTO}, {CLASSIFICATION} or {REGRESSION}, but is {asked!r}.")
    misfits = {task: [name for name in params if not _fits(task, name, params[name])] for task in TASKS}
    for name in misfits[CLASSIFICATION]:
        if name in misfits[REGRESSION]:
            _refuse_unknown(name, params[name])
    fitting = [task for task in TASKS if not misfits[task]]
    if asked in fitting:
        return asked
    if asked == AUTO and fitting:
        return fitting[0] if len(fitting) == 1 else None
    others = [(name, other) for task, other in OTHERS for name in misfits[task][:1] if asked in (AUTO, task)]
    told = [f"{name}={params[name]!r} is for {other}" for name, other in others]
    if asked != AUTO:
        told.append(f"the task is {asked}")
    raise InvalidInputError(f"{', but '.join(told)}. Leave one of them out.")


def _fits(task: str, name: str, value: Any) -> bool:
    return name in parameters(task) and (name != "criterion" or value in forest_class(task)._criteria)


def _refuse_unknown(name: str, value: Any) -> None:
    if name == "criterion":
        criterion_of(value, tuple(criterion for task in TASKS for criterion in forest_class(task)._criteria))
    refuse_with_reason(name)
    known = list(dict.fromkeys(its for task in TASKS for its in parameters(task)))
    raise InvalidInputError(f"There is no parameter {name!r}. The parameters are {shown(known, 30)}.")


def refuse_with_reason(name: str) -> None:
    """Raise if this is a parameter of scikit-learn's forests that ours cannot have, and say why."""
    if name in REASONS:
        raise InvalidInputError(f"There is no parameter {name!r}: {REASONS[name]}")


# ------------------------------------------------------------------------------------------------------------- guessing


@dataclass
class SeenNumbers:
    """Numbers in a column of targets, seen batch by batch: are they measured, or do they name classes?

    They are measured if one of them is not whole or has more than 64 bits, or if more than 100 are different, or more
    than 20 that have fewer than 20 rows each on average.
    """

    n_rows: int = 0
    has_fractions: bool = False
    has_giants: bool = False
    distinct: set[Any] = field(default_factory=set)  # as many of them as matter

    def see(self, numbers: NDArray[Any]) -> None:
        """Take in the numbers of another batch, as they are: as floats, large integers that differ may be equal."""
        self.n_rows += len(numbers)
        if numbers.dtype == object:
            different = [its for its in set(numbers.tolist()) if math.isfinite(its)]
            self.has_fractions = self.has_fractions or any(its != int(its) for its in different)
        else:
            finite = np.unique(numbers[np.isfinite(numbers)])
            self.has_fractions = self.has_fractions or bool((finite != np.floor(finite)).any())
            different = finite[[*range(min(len(finite), MANY)), -1]].tolist() if len(finite) else []
        self.has_giants = self.has_giants or any(abs(its) >= END_OF_LABELS for its in different)
        if len(self.distinct) <= MANY:
            self.distinct.update(different)

    @property
    def why_measured(self) -> str | None:
        """What such targets hold that classes do not; None if they may be classes."""
        n = len(self.distinct)
        if self.has_fractions:
            return "numbers that are not whole"
        if self.has_giants:
            return "numbers of more than 64 bits"
        is_many = n > MANY or (n > FEW and n * ROWS_FOR_EACH > self.n_rows)
        return "numbers with many different values" if is_many else None

    @property
    def task(self) -> str:
        """The task of such targets."""
        return CLASSIFICATION if self.why_measured is None else REGRESSION
