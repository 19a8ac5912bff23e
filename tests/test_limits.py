"""Exactness at the limits of what counts are kept in: 8 and 16 bits, and 2^30 rows."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, _core
from deciduous.errors import InvalidInputError
from strategies import KINDS, Dataset, Forest, Options, Tuning, train_forest

EVERYTHING_CACHED: Tuning = {
    "min_cached_rows": 1,
    "max_bytes_per_row": 1_000_000,
    "max_bytes_per_row_with_target": 1_000_000,
    "look_ups_per_sort": 1_000_000,
    "reserve": 3,
}
ONE_SPLIT: Options = {"n_estimators": 1, "max_depth": 1, "n_thresholds": 2, "max_features": None}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def assert_is_as_if_fresh(forest: Forest) -> None:
    """The forest is the one that retraining gives, and so are its caches."""
    assert forest.check()
    assert forest.verify().matches


def pairs_of_rows(n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """One column with two rows at each value, one of each class."""
    return np.repeat(np.arange(float(n_values)), 2)[:, None], np.tile([0, 1], n_values)


@EVERY_KIND
def test_buckets_that_merge_beyond_16_bits_stay_exact(kind: type[Forest]) -> None:
    """Two heavy rows beside a cut whose last rows leave: each bucket fits into 16 bits, both together do not."""
    X, y = pairs_of_rows(40)
    forest = kind(**ONE_SPLIT, random_state=0).fit(X, y)
    forest.add([[12], [16]], [0, 0], ids=[100, 101], sample_weight=[40_000, 40_000])
    forest.delete([28, 29])
    assert_is_as_if_fresh(forest)


CLASS_WEIGHTS = {"unweighted": None, "weighted classes": {0: 1e-6, 1: 1.0}}
SCORES: dict[str, Options] = {
    f"{criterion}, {name}": {"criterion": criterion, "class_weight": class_weight}
    for criterion in ("gini", "entropy")
    for name, class_weight in CLASS_WEIGHTS.items()
} | {"squared error": {"criterion": "squared_error"}}


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("n_labels", [2, 10])
@pytest.mark.parametrize("distance", [1, 2], ids=["next to it", "in its bucket"])
@pytest.mark.parametrize("heavy", [200, 40_000, 2**29 - 2000])
def test_any_value_may_leave_between_heavy_rows(heavy: int, distance: int, n_labels: int, score: Options) -> None:
    """Heavy rows come beside every value in turn, the value leaves, they leave, and the value comes back.

    Those at a neighbouring value outgrow the 8 bits of values, others meet only when buckets are added up.
    """
    X, y = pairs_of_rows(40)
    y = np.arange(len(y)) % n_labels
    options = ONE_SPLIT | score
    rows = Dataset(np.arange(len(y)), X.astype(np.float32), y)
    for seed, value in product(range(2), range(2, 38)):
        # Made anew: a record that has once outgrown its bits is wide from then on.
        forest = train_forest(rows, options | {"random_state": seed}, EVERYTHING_CACHED)
        beside = [[value - distance], [value + distance]]
        forest.add(beside, [0, 0], ids=[100, 101], sample_weight=[heavy, heavy])
        forest.delete([2 * value, 2 * value + 1])
        assert_is_as_if_fresh(forest)
        forest.delete([100, 101])
        forest.add(X[2 * value : 2 * value + 2], y[2 * value : 2 * value + 2], ids=[2 * value, 2 * value + 1])
        assert_is_as_if_fresh(forest)


@EVERY_KIND
@pytest.mark.parametrize("batch", [5_000, 80_000])
def test_buckets_of_many_rows_stay_exact(batch: int, kind: type[Forest]) -> None:
    """Without weights: two values have 40,000 rows each when the values between them leave."""
    X, y = pairs_of_rows(40)
    forest = kind(**ONE_SPLIT, random_state=0).fit(X, y)
    values = np.tile([[12.0], [16.0]], (40_000, 1))
    for begin in range(0, len(values), batch):
        ids = range(1000 + begin, 1000 + begin + batch)
        forest.partial_fit(values[begin : begin + batch], np.zeros(batch, int), ids=ids)
    forest.delete([28, 29])
    assert_is_as_if_fresh(forest)


def test_more_attributes_than_records_can_name_are_refused() -> None:
    """A category is an attribute: sixteen columns of 2^24 categories are 2^28 of them, and one more is too many."""
    n_categories = np.array([2**24] * 16 + [0], dtype=np.uint32)
    with pytest.raises(_core.InvalidArgument, match=str(2**28 + 1)):
        _core.Forest(_core.Params(), _core.Tuning(), n_categories, np.zeros((1, 16), np.uint8), None)


@EVERY_KIND
def test_rows_beyond_the_limit_are_refused_before_anything_changes(kind: type[Forest]) -> None:
    """A forest holds fewer than 2^30 rows by weight; one that is full takes no more, and works on."""
    X, y = pairs_of_rows(10)
    forest = kind(**ONE_SPLIT, random_state=0).fit(X, y)
    forest.add([[3.5]], [1], ids=[50], sample_weight=[2**30 - 1 - len(y)])
    full = forest.fingerprint()
    more: dict[str, Any] = {"ids": [51, 52], "sample_weight": [1, 2**29]}
    for labels in ([0, 1], [0, 2]):  # the second one would be a new class
        with pytest.raises(InvalidInputError, match=r"fewer than 2\^30 rows"):
            forest.add([[1], [2]], labels, **more)
    assert forest.fingerprint() == full
    if kind is DareForestClassifier:
        assert forest.classes_.tolist() == [0, 1]
    assert_is_as_if_fresh(forest)
    forest.delete([50])
    assert forest.fingerprint() == kind(**ONE_SPLIT, random_state=0).fit(X, y).fingerprint()
