"""Replacing, adding and deleting rows in one step; whatever interrupts it, names and rows are of one moment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import UUID

import numpy as np
import pytest

import deciduous
from deciduous import DareForestClassifier, InvalidInputError, UnknownRowError

SMALL: dict[str, Any] = {"n_estimators": 3, "max_depth": 5, "n_thresholds": 5, "random_state": 3}
INTERRUPTED = {
    str(Path(deciduous.__file__).parent / name)
    for name in ("forest.py", "_storing.py", "_batch.py", "_row_names.py", "_progress.py")
}


def rows_of(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four numbers, two classes."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4)).astype(np.float32)
    return X, (X[:, 0] > X[:, 1]).astype(int)


X, Y = rows_of(80)
OTHER_X, OTHER_Y = rows_of(80, seed=1)
KINDS: dict[str, Callable[[int], Any]] = {
    "integers": lambda i: i,
    "strings": lambda i: f"row {i}",
    "UUIDs": lambda i: UUID(int=i + 1),
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)


def fitted(name: Callable[[int], Any], **options: Any) -> DareForestClassifier:
    """Sixty rows with names and subjects."""
    forest = DareForestClassifier(**(SMALL | options))
    return forest.fit(X[:60], Y[:60], ids=[name(i) for i in range(60)], subjects=[i % 10 for i in range(60)])


def seen(forest: DareForestClassifier) -> tuple[Any, ...]:
    """All that a user can find out about rows, names, subjects and classes."""
    rows_of_subjects = {subject: forest.ids_of([subject]) for subject in forest.subjects_}
    return (
        forest.fingerprint(),
        forest.ids_.tolist(),
        rows_of_subjects,
        forest.classes_.tolist(),
        forest.n_rows_,
        forest.to_bytes(),
    )


@EVERY_KIND
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_rows_are_replaced_added_and_deleted_in_one_step(name: Callable[[int], Any], lazy: bool) -> None:
    """The forest is the one that a fit on what is left gives; names and subjects have followed."""
    forest = fitted(name, lazy=lazy)
    given = [*range(10, 20), *range(60, 70)]
    report = forest.update(
        OTHER_X[given],
        OTHER_Y[given],
        [name(i) for i in given],
        delete=[name(i) for i in range(5, 15)],
        subjects=[100] * 20,
    )
    assert sorted(report.ids) == sorted(name(i) for i in [*range(5, 10), *given])
    kept = [*range(5), *range(20, 60)]
    fresh = DareForestClassifier(**SMALL).fit(
        np.concatenate([X[kept], OTHER_X[given]]),
        np.concatenate([Y[kept], OTHER_Y[given]]),
        ids=[name(i) for i in kept + given],
        subjects=[i % 10 for i in kept] + [100] * 20,
    )
    assert forest.fingerprint() == fresh.fingerprint()
    assert forest.check()
    assert forest.ids_of([100]) == sorted(name(i) for i in given)
    assert all(forest.ids_of([subject]) == fresh.ids_of([subject]) for subject in fresh.subjects_)
    assert forest.subjects_ == fresh.subjects_


def test_update_without_rows_deletes() -> None:
    """X may have no rows, and y may be empty, whatever the labels are."""
    forest, twin = fitted(int), fitted(int)
    assert forest.update(X[:0], [], [], delete=[3, 4]) == twin.delete([3, 4])
    assert seen(forest) == seen(twin)
    assert forest.update([], [], []).n_rows == 0
    assert seen(forest) == seen(twin)


def test_row_given_with_weight_zero_goes() -> None:
    """A row of weight 0 is no row, so nothing takes the place of the old one; new ones do not come."""
    forest, twin = fitted(int), fitted(int)
    report = forest.update(X[[3, 61]], Y[[3, 61]], [3, 61], sample_weight=[0, 0])
    assert report.ids == (3,)
    twin.delete([3])
    assert forest.ids_.tolist() == twin.ids_.tolist()
    assert forest.fingerprint() == twin.fingerprint()


def test_update_without_ids_adds_rows_under_fresh_ones() -> None:
    """As `add` does, beside a deletion."""
    forest = DareForestClassifier(5, random_state=0).fit(X[:60], Y[:60])
    assert forest.update(X[60:62], Y[60:62], None, delete=[0]).ids == (0, 60, 61)
    assert forest.ids_.tolist() == [*range(1, 62)]


def test_update_brings_new_classes() -> None:
    """At the end of `classes_`, while the last row of another class goes."""
    forest = DareForestClassifier(**SMALL).fit(X[:20], ["a"] * 19 + ["b"])
    forest.update(X[20:22], ["c", "c"], [20, 0], delete=[19])
    assert forest.classes_.tolist() == ["a", "b", "c"]
    fresh = DareForestClassifier(**SMALL).fit(
        X[[20, *range(1, 19), 21]], ["c"] + ["a"] * 18 + ["c"], ids=[20, *range(1, 19), 0]
    )
    assert forest.fingerprint() == fresh.fingerprint()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((X[:1], Y[:1], [0]), {"delete": [59, 777]}), UnknownRowError, "777"),
        (((X[:2], Y[:2], [0, 0]), {}), InvalidInputError, "once each"),
        (((X[:1], Y[:1], [0]), {"delete": [1, 1]}), InvalidInputError, "once each"),
        (((X[:2], Y[:1], [0, 1]), {}), InvalidInputError, "labels"),
        (((X[:2], Y[:2], [0]), {}), InvalidInputError, "ids"),
        (((X[:1], Y[:1], [0]), {"subjects": [1, 2]}), InvalidInputError, "subjects"),
        (((X[:1] * np.inf, Y[:1], [0]), {}), InvalidInputError, "infinity"),
        (((X[:1], Y[:1], [0]), {"sample_weight": [2**30 - 59]}), InvalidInputError, "2\\^30"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_before_anything_changes(
    arguments: tuple[tuple[Any, ...], dict[str, Any]], error: type[Exception], message: str
) -> None:
    """The error says what, and the forest is as it was."""
    forest = fitted(int)
    before = seen(forest)
    with pytest.raises(error, match=message):
        forest.update(*arguments[0], **arguments[1])
    assert seen(forest) == before


def test_weight_of_the_rows_that_leave_makes_room() -> None:
    """A row that weighs almost as much as a forest may hold is replaced by another such row."""
    forest = DareForestClassifier(**SMALL).fit(X[:2], [0, 1], sample_weight=[2**30 - 2, 1])
    forest.update(OTHER_X[:1], [0], [0], sample_weight=[2**30 - 2])
    assert forest.n_rows_ == 2
    assert forest.check()


# ------------------------------------------------------------------------------------------------------- interrupts

NEW = [*range(50, 80)]
CHANGES: dict[str, Callable[[DareForestClassifier, Callable[[int], Any]], object]] = {
    "add": lambda forest, name: forest.add(
        X[60:70], [7, *Y[61:70]], ids=[name(i) for i in range(60, 70)], subjects=[5] * 10
    ),
    "delete": lambda forest, name: forest.delete([name(i) for i in range(20)]),
    "delete subjects": lambda forest, _: forest.delete(subjects=[3, 7]),
    "update": lambda forest, name: forest.update(
        OTHER_X[NEW], [7, *OTHER_Y[NEW[1:]]], [name(i) for i in NEW], delete=[name(1)], subjects=[5] * len(NEW)
    ),
    "fit": lambda forest, name: forest.fit(
        X[:9, :3], list("aabbaabba"), ids=[name(i) for i in range(9)], subjects=[2] * 9
    ),
}


@contextmanager
def interrupted_at(event: int) -> Iterator[list[int]]:
    """Ctrl-C at the n-th line that is about to run, of the modules that know of rows and their names."""
    n_events = [0]

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        if frame.f_code.co_filename not in INTERRUPTED:
            return None
        if what == "line":
            n_events[0] += 1
            if n_events[0] == event:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield n_events
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("name", [KINDS["integers"], KINDS["strings"]], ids=["integers", "strings"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_interrupt_at_any_line_leaves_the_forest_before_or_after_the_change(
    name: Callable[[int], Any], change: Callable[[DareForestClassifier, Callable[[int], Any]], object]
) -> None:
    """Names, subjects, classes, fresh ids and the rows of the core, and all of it goes on."""
    before = fitted(name)
    start = before.to_bytes()
    after = DareForestClassifier.from_bytes(start)
    change(after, name)
    states = [seen(before), seen(after)]
    n_events, found = 0, set()
    while True:
        forest = DareForestClassifier.from_bytes(start)
        n_events += 1
        try:
            with interrupted_at(n_events):
                change(forest, name)
        except KeyboardInterrupt:
            is_interrupted = True
        else:
            is_interrupted = False
        state = seen(forest)
        assert state in states, f"interrupted at line event {n_events}"
        found.add(states.index(state))
        assert forest.predict_proba(X[:2, : forest.n_features_in_]).shape == (2, len(forest.classes_))
        if not is_interrupted:
            break
    assert n_events > 20  # the interrupts did come
    assert found == {0, 1}
