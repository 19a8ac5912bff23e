"""Bars: long work shows how far it is, one row is no long work, and nothing that a bar does harms the forest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import deciduous._forest
from deciduous import DareForestClassifier, _progress
from strategies import KINDS, Forest

N_TREES = 20
N_ROWS, N_NEW = 120, 15
SMALL: dict[str, Any] = {"n_estimators": N_TREES, "max_depth": 5, "n_thresholds": 5, "random_state": 4}
Report = Callable[[int], None]
Update = Callable[[Forest], object]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def rows_of(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four numbers, two classes; or two different targets."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4)).astype(np.float32)
    return X, (X[:, 0] > X[:, 1]).astype(int)


ROWS, LABELS = rows_of(N_ROWS, seed=0)
NEW_ROWS, NEW_LABELS = rows_of(N_NEW, seed=1)
NAMES = [f"row {i}" for i in range(N_ROWS)]
NEW_NAMES = [f"new {i}" for i in range(N_NEW)]
SUBJECTS = [i % 30 for i in range(N_ROWS)]


def fitted(kind: type[Forest] = DareForestClassifier, **options: Any) -> Forest:
    """A forest of rows with names and subjects."""
    return kind(**(SMALL | options)).fit(ROWS, LABELS, ids=NAMES, subjects=SUBJECTS)


def loud(kind: type[Forest] = DareForestClassifier, **options: Any) -> Forest:
    """The same, with bars from now on."""
    return fitted(kind, **options).set_params(verbose=1)


def add_rows(forest: Forest) -> object:
    """Fifteen rows, some of them of a class never seen."""
    return forest.add(NEW_ROWS, NEW_LABELS * 2, ids=NEW_NAMES)


UPDATES: dict[str, tuple[str, Update]] = {
    "delete": ("Deleting", lambda forest: forest.delete(NAMES[:20])),
    "delete subjects": ("Deleting", lambda forest: forest.delete(subjects=[3, 7])),
    "delete all": ("Deleting", lambda forest: forest.delete(NAMES)),
    "add": ("Adding", add_rows),
    "partial_fit": ("Adding", lambda forest: forest.partial_fit(NEW_ROWS, NEW_LABELS, ids=NEW_NAMES).n_rows_),
}
SINGLE: dict[str, Update] = {
    "delete": lambda forest: forest.delete(NAMES[:1]),
    "delete of nothing": lambda forest: forest.delete([]),
    "add": lambda forest: forest.add(NEW_ROWS[:1], NEW_LABELS[:1], ids=["new"]),
    "add of nothing": lambda forest: forest.add(NEW_ROWS[:0], [], ids=[]),
    "add of one row with weight": lambda forest: forest.add(
        NEW_ROWS, NEW_LABELS, ids=NEW_NAMES, sample_weight=np.arange(N_NEW) == 3
    ),
    "cost": lambda forest: forest.deletion_cost(NAMES[:20]),
    "predict": lambda forest: forest.predict(NEW_ROWS),
}


def assert_same(forest: Forest, quiet: Forest) -> None:
    """All that users see is as if there had been no bar, and the forest goes on."""
    assert forest.check()
    assert forest.fingerprint() == quiet.fingerprint()
    if isinstance(forest, DareForestClassifier):
        assert forest.classes_.tolist() == quiet.classes_.tolist()
    assert forest.ids_.tolist() == quiet.ids_.tolist()
    assert forest.subjects_ == quiet.subjects_
    assert forest.ids_of(forest.subjects_) == quiet.ids_of(quiet.subjects_)
    assert forest.set_params(verbose=0).to_bytes() == quiet.to_bytes()
    more = {"ids": ["a", "b", "c"], "subjects": [1, 2, 3]}
    assert forest.add(NEW_ROWS[:3], [0, 1, 3], **more) == quiet.add(NEW_ROWS[:3], [0, 1, 3], **more)
    assert forest.fingerprint() == quiet.fingerprint()


# ------------------------------------------------------------------------------------------------------------- shown


@EVERY_KIND
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(("what", "update"), UPDATES.values(), ids=UPDATES)
def test_batches_show_a_bar_and_are_the_same(
    kind: type[Forest], what: str, update: Update, lazy: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the number of trees; without `verbose` there is none."""
    forest, quiet = loud(kind, lazy=lazy), fitted(kind, lazy=lazy)
    assert capsys.readouterr() == ("", "")
    report = update(forest)
    out, shown = capsys.readouterr()
    assert out == ""
    assert what in shown
    assert f"{N_TREES}/{N_TREES}" in shown
    assert report == update(quiet)
    assert capsys.readouterr() == ("", "")
    assert_same(forest, quiet)


@EVERY_KIND
@pytest.mark.parametrize("update", SINGLE.values(), ids=SINGLE)
def test_single_rows_show_none(kind: type[Forest], update: Update, capsys: pytest.CaptureFixture[str]) -> None:
    """They take a moment; a service that deletes row by row is not to be flooded."""
    forest = loud(kind)
    update(forest)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_without_rich_there_are_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Not more than one in ten seconds."""
    monkeypatch.setattr(_progress, "find_spec", lambda _name: None)
    forest = loud()
    add_rows(forest)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.0)
    forest.delete(NAMES[:20])
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"Deleting: {n} of {N_TREES} trees" for n in range(1, N_TREES + 1)]


@pytest.mark.parametrize("verbose", [-1, 0.5, "yes", None])
def test_verbose_that_is_no_number_is_refused_before_anything_changes(verbose: Any) -> None:
    """Also if it was set after fit."""
    forest, quiet = fitted(), fitted()
    forest.set_params(verbose=verbose)
    for update in (lambda: forest.delete(NAMES[:20]), lambda: add_rows(forest)):
        with pytest.raises(ValueError, match="verbose"):
            update()
    assert_same(forest.set_params(verbose=0), quiet)


# ----------------------------------------------------------------------------------------------------------- failing


@contextmanager
def shown_by(report: Report, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException | None]]:
    """Bars are this callback; collects what is raised where nobody can catch it."""

    @contextmanager
    def bar(_what: str, _n_steps: int, is_shown: bool) -> Iterator[Report | None]:
        yield report if is_shown else None

    unraisable: list[BaseException | None] = []
    with monkeypatch.context() as patch:
        patch.setattr(deciduous._forest, "bar", bar)
        patch.setattr(sys, "unraisablehook", lambda its: unraisable.append(its.exc_value))
        yield unraisable


class BarError(Exception):
    """What a bar may raise."""


def raising(error: type[BaseException], at: int) -> Report:
    """Breaks down when this many trees are done, and from then on."""

    def report(n_done: int) -> None:
        if n_done >= at:
            raise error("the terminal is gone")

    return report


@EVERY_KIND
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at", [1, 7, N_TREES])
@pytest.mark.parametrize("update", [update for _, update in UPDATES.values()], ids=UPDATES)
def test_callback_that_raises_does_not_stop_an_update(
    kind: type[Forest], update: Update, at: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an update would be no forest: it is carried through, and the error is reported as one that is ignored."""
    forest, quiet = loud(kind, n_jobs=n_jobs), fitted(kind, n_jobs=n_jobs)
    with shown_by(raising(BarError, at), monkeypatch) as unraisable:
        update(forest)
    update(quiet)
    if n_jobs == 1:
        assert len(unraisable) == N_TREES + 1 - at
    assert unraisable  # one of two threads reports, and tells at the end of all trees, whoever grew them
    assert all(type(its) is BarError for its in unraisable)
    assert_same(forest, quiet)


@EVERY_KIND
@pytest.mark.parametrize("update", [update for _, update in UPDATES.values()], ids=UPDATES)
def test_interrupt_in_a_callback_waits_for_the_end_of_the_update(
    kind: type[Forest], update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C is not lost: it comes when the forest is whole again."""
    forest, quiet = loud(kind), fitted(kind)
    with shown_by(raising(KeyboardInterrupt, 1), monkeypatch) as unraisable, pytest.raises(KeyboardInterrupt):
        update(forest)
    update(quiet)
    assert unraisable == []
    assert_same(forest, quiet)


@EVERY_KIND
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_that_raises_stops_fit_and_verify(
    kind: type[Forest], n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They change nothing before they are done: the old forest stays."""
    forest, quiet = loud(kind, n_jobs=n_jobs), fitted(kind, n_jobs=n_jobs)
    with shown_by(raising(BarError, 1), monkeypatch) as unraisable:
        with pytest.raises(BarError):
            forest.fit(NEW_ROWS[:, :2], NEW_LABELS)
        with pytest.raises(BarError):
            forest.verify()
        with pytest.raises(BarError):
            kind(verbose=1, n_jobs=n_jobs).fit(NEW_ROWS, NEW_LABELS)
    assert unraisable == []
    assert forest.verify()
    assert_same(forest, quiet)


@pytest.mark.parametrize("update", [update for _, update in UPDATES.values()], ids=UPDATES)
def test_callback_hears_of_every_tree(update: Update, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, if there is one thread."""
    forest = loud(n_jobs=1)
    heard: list[int] = []
    with shown_by(heard.append, monkeypatch) as unraisable:
        update(forest)
    assert heard == list(range(1, N_TREES + 1))
    assert unraisable == []


def test_callback_hears_of_the_end_whichever_thread_grew_the_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tiny trees the calling thread often gets none."""
    for _ in range(300):
        heard: list[int] = []
        with shown_by(heard.append, monkeypatch):
            DareForestClassifier(2, n_jobs=2, verbose=1, random_state=0).fit(NEW_ROWS, NEW_LABELS)
        assert heard[-1] == 2


def test_bar_that_cannot_begin_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes before the update."""

    @contextmanager
    def bar(_what: str, _n_steps: int, _is_shown: bool) -> Iterator[None]:
        raise BarError("no terminal")
        yield

    forest, quiet = loud(), fitted()
    with monkeypatch.context() as patch:
        patch.setattr(deciduous._forest, "bar", bar)
        for _, update in UPDATES.values():
            with pytest.raises(BarError):
                update(forest)
    assert_same(forest, quiet)


@EVERY_KIND
@pytest.mark.parametrize("update", [update for _, update in UPDATES.values()], ids=UPDATES)
def test_bar_that_cannot_end_leaves_the_forest_before_or_after_the_update(
    kind: type[Forest], update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the terminal goes away under it; rows, names, classes and fresh ids are of one moment."""

    @contextmanager
    def bar(_what: str, _n_steps: int, _is_shown: bool) -> Iterator[None]:
        yield
        raise BarError("the terminal is gone")

    forest = loud(kind)
    with monkeypatch.context() as patch:
        patch.setattr(deciduous._forest, "bar", bar)
        with suppress(BarError):
            update(forest)
    assert_before_or_after(forest, update)


class InterruptedCore:
    """A core in whose update the user presses Ctrl-C: Python tells as soon as the update is done."""

    def __init__(self, core: Any) -> None:
        self.core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    def update_rows(self, *arguments: Any) -> None:
        self.core.update_rows(*arguments)
        raise KeyboardInterrupt


@EVERY_KIND
@pytest.mark.parametrize("update", [update for _, update in UPDATES.values()], ids=UPDATES)
def test_interrupt_leaves_the_forest_before_or_after_the_update(kind: type[Forest], update: Update) -> None:
    """Without a bar, too: the core cannot be interrupted, so Ctrl-C arrives when it is done."""
    forest = fitted(kind)
    core = forest._forest
    forest._forest = InterruptedCore(core)
    with pytest.raises(KeyboardInterrupt):
        update(forest)
    forest._forest = core
    assert_before_or_after(forest, update)


def assert_before_or_after(forest: Forest, update: Update) -> None:
    """The forest is one of the two, in all that users see."""
    quiet = fitted(type(forest))
    if forest.fingerprint() != quiet.fingerprint():
        update(quiet)
    assert_same(forest, quiet)
