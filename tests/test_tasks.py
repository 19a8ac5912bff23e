"""What a forest is for: what parameters say about it, what targets look like, and the range that stands for a scale."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciduous import DareForestClassifier, DareForestRegressor
from deciduous._targets import CLASSIFICATION, LARGEST_TARGET, REGRESSION, TargetScale, plain_range
from deciduous._tasks import AUTO, SeenNumbers, forest_class, settled_task, task_of
from deciduous.errors import InvalidInputError


@pytest.mark.parametrize(
    ("asked", "params", "settled"),
    [
        (AUTO, {}, None),
        (AUTO, {"n_estimators": 5, "max_depth": 3}, None),
        (AUTO, {"class_weight": None}, CLASSIFICATION),
        (AUTO, {"criterion": "entropy"}, CLASSIFICATION),
        (AUTO, {"criterion": "squared_error"}, REGRESSION),
        (AUTO, {"target_range": (0, 1)}, REGRESSION),
        (AUTO, DareForestClassifier().get_params(), CLASSIFICATION),
        (AUTO, DareForestRegressor().get_params(), REGRESSION),
        (REGRESSION, {"target_range": (0, 1)}, REGRESSION),
        (CLASSIFICATION, {"stability": 0.1}, CLASSIFICATION),
    ],
)
def test_parameters_that_only_one_task_has_settle_it(asked: str, params: dict[str, Any], settled: str | None) -> None:
    assert settled_task(asked, params) == settled


@pytest.mark.parametrize(
    ("asked", "params", "message"),
    [
        ("clustering", {}, "auto, classification or regression, but is 'clustering'"),
        (REGRESSION, {"class_weight": "balanced"}, "class_weight='balanced' is for classification, but the task is"),
        (REGRESSION, {"criterion": "entropy"}, "criterion='entropy' is for classification"),
        (CLASSIFICATION, {"target_range": (0, 1)}, r"target_range=\(0, 1\) is for regression"),
        (AUTO, {"target_range": (0, 1), "stability": 1}, "is for regression, but stability=1 is for classification"),
        (AUTO, {"criterion": "mae"}, "'gini', 'entropy', 'squared_error', but is 'mae'"),
        (AUTO, {"n_trees": 7}, "no parameter 'n_trees'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(asked: str, params: dict[str, Any], message: str) -> None:
    """The message names the parameter and its value."""
    with pytest.raises(InvalidInputError, match=message):
        settled_task(asked, params)


@pytest.mark.parametrize(
    ("numbers", "task"),
    [
        ([0, 1] * 50, CLASSIFICATION),
        (range(20), CLASSIFICATION),  # few, however rare each of them is
        (range(21), REGRESSION),
        (list(range(21)) * 20, CLASSIFICATION),  # each has rows enough to be learned
        (list(range(100)) * 20, CLASSIFICATION),
        (list(range(101)) * 50, REGRESSION),
        ([0, 1] * 50 + [0.5], REGRESSION),
        ([-3.0, -2.0, np.inf, np.nan], CLASSIFICATION),
    ],
)
def test_numbers_are_measured_or_name_classes(numbers: Any, task: str) -> None:
    """At once and in batches alike."""
    values = np.array(numbers, dtype=np.float64)
    at_once, in_batches = SeenNumbers(), SeenNumbers()
    at_once.see(values)
    for part in np.array_split(values, 7):
        in_batches.see(part)
    assert at_once.task == in_batches.task == task


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        (np.arange(300) + 2**60, "numbers with many different values"),
        (np.array([Decimal(2**60 + i) for i in range(300)], dtype=object), "numbers with many different values"),
        (np.array([2**60 + i for i in range(300)] + [1.0], dtype=object), "numbers with many different values"),
        (np.array([Decimal("1.00000000000000000001"), 1], dtype=object), "numbers that are not whole"),
        (np.array([Decimal("NaN"), Decimal(1), 2.0], dtype=object), None),
        (np.array([3.5]), "numbers that are not whole"),
        (np.full(50, 0.25), "numbers that are not whole"),
        (np.array([-1e25, 1.0]), "numbers of more than 64 bits"),
        (np.array([True, False]), None),
        (np.array([]), None),
    ],
    ids=str,
)
def test_numbers_are_seen_as_they_are(numbers: np.ndarray, why: str | None) -> None:
    """As floats, large integers that differ may be equal; and the reason for a guess is the true one."""
    seen = SeenNumbers()
    seen.see(numbers)
    assert seen.why_measured == why
    assert seen.task == (CLASSIFICATION if why is None else REGRESSION)


@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION])
def test_models_know_their_task(task: str) -> None:
    """Frozen or not."""
    forest = forest_class(task)(n_estimators=2, random_state=0).fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    assert task_of(forest) == task_of(forest.freeze()) == task


TARGETS = st.floats(-LARGEST_TARGET, LARGEST_TARGET)
EXTREMES = [
    (0.0, 0.0),
    (-LARGEST_TARGET, LARGEST_TARGET),
    (LARGEST_TARGET, LARGEST_TARGET),
    (9e299, LARGEST_TARGET),
    (9.999999999999987e299, LARGEST_TARGET),
    (5e-324, 5e-324),
    (2.0**53, 2.0**53 + 2),
    (-(2.0**53) - 4, -(2.0**53) - 2),
    (1.0, 1.0 + 2**-52),
]


@pytest.mark.parametrize("ends", EXTREMES)
def test_plain_range_of_extremes_has_their_scale(ends: tuple[float, float]) -> None:
    """Where rounding and limits are in the way."""
    assert TargetScale.of_range(*plain_range(*ends)) == TargetScale.of_range(*ends)


@given(TARGETS, TARGETS, st.integers(0, 3))
def test_plain_range_has_the_scale_of_two_targets(one: float, other: float, n_steps: int) -> None:
    """Also of two that are neighbours."""
    for low, high in ((min(one, other), max(one, other)), (one, min(LARGEST_TARGET, one + n_steps * math.ulp(one)))):
        ends = plain_range(low, high)
        assert TargetScale.of_range(*ends) == TargetScale.of_range(low, high)
        assert -LARGEST_TARGET <= ends[0] <= ends[1] <= LARGEST_TARGET


@given(st.floats(-1e9, 1e9), st.floats(0.001, 1e6), st.floats(0, 1))
def test_plain_range_tells_nothing_but_the_scale(low: float, size: float, share: float) -> None:
    """So that it can be kept in the place of the lowest and the highest target, which are those of somebody."""
    scale = TargetScale.of_range(low, low + size)
    smaller = (low, low + size * (1 - share / 2))
    if TargetScale.of_range(*smaller) == scale:
        assert plain_range(*smaller) == plain_range(low, low + size)


def test_targets_that_round_to_a_limit_are_within() -> None:
    """The command line and live tables ask the same function as the forest, half a step beyond the limit."""
    from deciduous.live._rows import plain_targets

    scale = TargetScale.of_range(0.0, 1.0)
    low, high = scale.limits
    step = 2.0**scale.exponent
    ends = np.array([low - 0.4 * step, high + 0.4 * step])
    assert not scale.beyond(ends).any()
    assert scale.floats(scale.fixed(ends)).tolist() == [low, high]
    assert plain_targets("y", ends.tolist(), scale).tolist() == ends.tolist()
    beyond = np.array([low - 0.6 * step, high + 0.6 * step, np.nan, np.inf])
    assert scale.beyond(beyond).all()
    for target in beyond.tolist():
        with pytest.raises(InvalidInputError, match="takes"):
            scale.fixed(np.array([target]))
        with pytest.raises(InvalidInputError, match="this forest takes"):
            plain_targets("y", [target], scale)
