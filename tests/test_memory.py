"""What a history leaves behind in memory is bounded, by the core's own accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier
from deciduous.reports import MemoryUse
from strategies import KINDS, Forest

N_ROWS = 1200
SMALL: dict[str, Any] = {"n_estimators": 5, "random_state": 1, "n_thresholds": 10}


def rows_of(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, small integers and indicators; three classes, one of them rare."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=(n_rows, 4)), rng.integers(0, 40, (n_rows, 2)), rng.integers(0, 2, (n_rows, 3))]
    )
    return X.astype(np.float32), (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int) + (X[:, 1] > 2)


X, Y = rows_of(5 * N_ROWS, 0)
TARGETS = X[:, 0] * Y + np.sin(X[:, 1])
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
Change = tuple[list[int], list[int]]  # rows that go, rows that come


def replace_half() -> Iterator[Change]:
    """Row by row."""
    for i in range(N_ROWS // 2):
        yield [i], [N_ROWS + i]


def replace_all_four_times() -> Iterator[Change]:
    """In batches of fifty."""
    for begin in range(0, 4 * N_ROWS, 50):
        yield [*range(begin, begin + 50)], [*range(N_ROWS + begin, N_ROWS + begin + 50)]


def shrink_to_a_tenth() -> Iterator[Change]:
    """Row by row."""
    for i in range(N_ROWS - N_ROWS // 10):
        yield [i], []


def double_and_halve() -> Iterator[Change]:
    """In batches of a hundred."""
    for begin in range(N_ROWS, 2 * N_ROWS, 100):
        yield [], [*range(begin, begin + 100)]
    for begin in range(0, N_ROWS, 100):
        yield [*range(begin, begin + 100)], []


def made(kind: type[Forest], **options: Any) -> tuple[Forest, np.ndarray]:
    """An unfitted forest, and labels or targets for all rows."""
    if kind is DareForestClassifier:
        return kind(**SMALL, **options), Y
    return kind(**SMALL, **options, target_range=(TARGETS.min(), TARGETS.max())), TARGETS


def after(kind: type[Forest], history: Callable[[], Iterator[Change]], **options: Any) -> tuple[Forest, Forest]:
    """The forest at the end of the history, and one that is fitted on the same rows."""
    forest, y = made(kind, **options)
    forest.fit(X[:N_ROWS], y[:N_ROWS])
    present = set(range(N_ROWS))
    for gone, new in history():
        forest.update(X[new], y[new], new, delete=gone)
        present = (present | set(new)) - set(gone)
    rows = sorted(present)
    return forest, made(kind, **options)[0].fit(X[rows], y[rows], ids=rows)


def kept(use: MemoryUse) -> int:
    """All but the statistics, which are a cache."""
    return use.data + use.structure + use.leaf_stats


HISTORIES = [replace_half, replace_all_four_times, shrink_to_a_tenth, double_and_halve]
EVERY_HISTORY = pytest.mark.parametrize("history", HISTORIES, ids=[its.__name__ for its in HISTORIES])


@EVERY_KIND
@EVERY_HISTORY
@pytest.mark.parametrize("options", [{}, {"lazy": True}, {"max_samples": 0.5}], ids=["eager", "lazy", "some trees"])
def test_history_leaves_little_waste(
    kind: type[Forest], history: Callable[[], Iterator[Change]], options: dict[str, Any]
) -> None:
    """By itself a forest stays below 1.3 times a fresh one; compacted, it takes no more."""
    forest, fresh = after(kind, history, **options)
    assert forest.fingerprint() == fresh.fingerprint()
    assert kept(forest.memory_usage()) < 1.3 * kept(fresh.memory_usage())
    before = forest.memory_usage()
    use = forest.compact()
    assert use == forest.memory_usage()
    assert use.total <= before.total
    assert kept(use) <= kept(fresh.memory_usage())
    assert forest.fingerprint() == fresh.fingerprint()
    assert forest.check()


@EVERY_KIND
def test_columns_with_few_values_again_are_small_again(kind: type[Forest]) -> None:
    """A column that has ever had more than 256 values takes four bytes a row until the forest is compacted."""
    few = np.arange(1000, dtype=np.float32).reshape(-1, 1) % 50
    forest = kind(**SMALL).fit(few, np.arange(1000) % 2)
    fresh = forest.memory_usage()
    many = np.arange(1000, dtype=np.float32).reshape(-1, 1)
    for values in (many, few):
        for begin in range(0, 300, 100):
            ids = range(begin, begin + 100)
            forest.update(values[ids], [i % 2 for i in ids], ids)
    assert forest.memory_usage().data > fresh.data + 3 * 1000
    assert forest.compact().data <= fresh.data


@EVERY_KIND
def test_empty_forest_takes_no_memory_for_rows(kind: type[Forest]) -> None:
    """Nor for leaves; it can still be filled again."""
    forest, y = made(kind)
    forest.fit(X[:N_ROWS], y[:N_ROWS])
    before = forest.memory_usage()
    forest.delete(forest.ids_)
    assert forest.compact().total < before.total / 50
    forest.add(X[:N_ROWS], y[:N_ROWS], ids=range(N_ROWS))
    assert forest.fingerprint() == made(kind)[0].fit(X[:N_ROWS], y[:N_ROWS]).fingerprint()
