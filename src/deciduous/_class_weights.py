"""Weights of classes: resolved at `fit`, parameters from then on. See docs/algorithm.md, 2.7."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._core import StandardFloats
from ._validation import NUMBER, one_of
from .errors import InvalidInputError

LARGEST_INTEGER = 2**20  # what the largest possible weight is as an integer
NOT_NAMED = 1.0  # the weight of classes that have none


@dataclass(frozen=True)
class ClassWeights:
    """Weights by label, and the unit that makes integers of them: the largest weight that was ever among them."""

    by_label: Mapping[Any, float]
    unit: float

    @classmethod
    def of(cls, by_label: Mapping[Any, float]) -> Self:
        """These weights, in a unit that depends on them alone, not on the classes that happen to be there."""
        return cls(by_label, max(NOT_NAMED, *by_label.values()) if by_label else NOT_NAMED)

    @classmethod
    def resolved(
        cls, class_weight: Any, classes: NDArray[Any], codes: NDArray[np.uint32], row_weights: Any
    ) -> Self | None:
        """What the parameter `class_weight` means for these rows."""
        if class_weight is None:
            return None
        if isinstance(class_weight, str):
            one_of("class_weight", class_weight, ("balanced",))
            return cls.of(_balanced(classes, codes, row_weights))
        return cls.of(_checked(class_weight))

    def integers(self, classes: NDArray[Any]) -> NDArray[np.uint32]:
        """The weights of these classes as integers."""
        named = np.array([self.by_label.get(label, NOT_NAMED) for label in classes.tolist()])
        with StandardFloats():
            return np.maximum(np.rint(named / self.unit * LARGEST_INTEGER), 1).astype(np.uint32)

    def only(self, labels: Iterable[Any]) -> Self:
        """The weights of these labels, with the integers that they have now."""
        return type(self)({label: self.by_label[label] for label in labels if label in self.by_label}, self.unit)


def integers_of(weights: ClassWeights | None, classes: NDArray[Any]) -> NDArray[np.uint32] | None:
    """The weights of these classes as integers, if classes have weights."""
    return None if weights is None else weights.integers(classes)


def _balanced(classes: NDArray[Any], codes: NDArray[np.uint32], row_weights: Any) -> dict[Any, float]:
    with StandardFloats():
        n_by_class = np.bincount(codes, weights=row_weights, minlength=len(classes))
        present = np.flatnonzero(n_by_class)
        balanced = n_by_class.sum() / (len(present) * n_by_class[present])
    return dict(zip(classes[present].tolist(), balanced.tolist(), strict=True))


def _checked(class_weight: Any) -> dict[Any, float]:
    if not isinstance(class_weight, Mapping):
        raise InvalidInputError(f"class_weight must be a dict, 'balanced' or None, but is {class_weight!r}.")
    for label, weight in class_weight.items():
        if not isinstance(label, (str, *NUMBER)):
            raise InvalidInputError(f"class_weight names {label!r}, which is no label: labels are numbers or strings.")
        plain = weight.item() if isinstance(weight, np.generic) else weight
        if not isinstance(plain, NUMBER) or not 0 < plain < 1e300:
            raise InvalidInputError(f"class_weight[{label!r}] must be a positive number, but is {weight!r}.")
    return {label: float(weight) for label, weight in class_weight.items()}
