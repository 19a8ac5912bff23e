"""Ctrl-C at random moments of every operation that changes a forest or a file: the state is the one before or after.

    python tests/torture/interrupts.py --interrupts 5000

Signals are real: a timer of the system raises KeyboardInterrupt in the middle of Python's code and of the core's.
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import deciduous
from deciduous import DareForestClassifier, DareForestRegressor

N_ROWS = 3_000
OPTIONS: dict[str, Any] = {"n_estimators": 3, "max_depth": 6, "n_thresholds": 3, "random_state": 1, "n_jobs": 2}
Forest = DareForestClassifier | DareForestRegressor
Rows = dict[str, tuple[int, str]]  # by name: the number that its values follow from, and to whom it belongs


def arguments_of(rows: Rows) -> dict[str, Any]:
    """Rows as `fit`, `add` and `update` take them; values and labels, or targets, are functions of the number."""
    numbers = np.array([number for number, _ in rows.values()], dtype=np.float64)
    X = np.stack([np.sin(numbers), numbers % 17, numbers % 5], axis=1).astype(np.float32)
    people = [who for _, who in rows.values()]
    return {"X": X, "y": (numbers.astype(int) * 7) % 3, "ids": list(rows), "subjects": people}


def fitted(kind: type[Forest], rows: Rows) -> Forest:
    """A fresh fit of rows."""
    return kind(**OPTIONS).fit(**arguments_of(rows))


def is_forest_of(forest: Forest, rows: Rows) -> bool:
    """Whether rows, names, subjects and trees are all those of a fresh fit."""
    if sorted(forest.ids_) != sorted(rows):
        return False
    by_person: dict[str, list[str]] = {}
    for name, (_, who) in rows.items():
        by_person.setdefault(who, []).append(name)
    assert sorted(forest.subjects_) == sorted(by_person)
    for who in random.sample(sorted(by_person), 5):
        assert sorted(forest.ids_of([who])) == sorted(by_person[who])
    assert forest.check()
    return forest.fingerprint() == fitted(type(forest), rows).fingerprint()


class Interrupted:
    """Runs things and interrupts them, at moments that are spread over the time that they take."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._seconds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        signal.signal(signal.SIGALRM, self._interrupt)

    @staticmethod
    def _interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def run(self, what: str, action: Callable[[], object]) -> None:
        """Does it, or a part of it."""
        delay = self._rng.uniform(0, self._seconds.get(what, 0.05)) + 1e-6
        begin = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                action()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            self.counts[what] += 1
        else:
            self._seconds[what] = time.monotonic() - begin


class History:
    """One forest and its file, changed and interrupted many times."""

    def __init__(self, kind: type[Forest], interrupted: Interrupted, rng: random.Random, folder: Path) -> None:
        self.interrupted, self.rng, self.folder = interrupted, rng, folder
        self.next_number = 0
        self.present = self.fresh_rows(N_ROWS)
        self.forest = fitted(kind, self.present)
        self.path = folder / "a.forest"
        self.forest.save(self.path)
        self.stored = self.present

    def fresh_rows(self, n_rows: int) -> Rows:
        """Rows that were never there."""
        numbers = range(self.next_number, self.next_number + n_rows)
        self.next_number += n_rows
        return {f"row {number}": (number, f"person {number // 4}") for number in numbers}

    def some(self, n_rows: int) -> Rows:
        """Some of the rows that are there."""
        return dict(self.rng.sample(sorted(self.present.items()), n_rows))

    def settle(self, what: str, after: Rows, action: Callable[[], object]) -> None:
        """Interrupts what should lead to these rows, and finds out whether it did."""
        self.interrupted.run(what, action)
        if sorted(self.forest.ids_) == sorted(after):
            self.present = after
        assert is_forest_of(self.forest, self.present), f"after an interrupted {what}"

    def without(self, gone: Iterable[str]) -> Rows:
        """What is left without these rows."""
        names = set(gone)
        return {name: row for name, row in self.present.items() if name not in names}

    def add(self) -> None:
        come = self.fresh_rows(300)
        self.settle("add", self.present | come, lambda: self.forest.add(**arguments_of(come)))

    def delete(self) -> None:
        gone = self.some(300)
        self.settle("delete", self.without(gone), lambda: self.forest.delete(list(gone)))

    def delete_a_person(self) -> None:
        person = self.rng.choice(self.forest.subjects_)
        gone = [name for name, row in self.present.items() if row[1] == person]
        self.settle("delete a person", self.without(gone), lambda: self.forest.delete(subjects=[person]))

    def update(self) -> None:
        changed = {name: (number + 1, who) for name, (number, who) in self.some(100).items()}
        come = self.fresh_rows(100) | changed
        gone = [name for name in self.some(100) if name not in come]
        after = self.without(gone) | come
        self.settle("update", after, lambda: self.forest.update(**arguments_of(come), delete=gone))

    def fit(self) -> None:
        rows = self.fresh_rows(100) | self.some(len(self.present) - 100)
        self.settle("fit", rows, lambda: self.forest.fit(**arguments_of(rows)))

    def save_and_load(self) -> None:
        self.interrupted.run("save", lambda: self.forest.save(self.path))
        loaded: list[Any] = []
        self.interrupted.run("load", lambda: loaded.append(deciduous.load(self.path)))
        found = loaded[0] if loaded else deciduous.load(self.path)
        if sorted(found.ids_) == sorted(self.present):
            self.stored = self.present
        assert is_forest_of(found, self.stored), "after an interrupted save"
        assert list(self.folder.iterdir()) == [self.path], "an interrupted save left a file"

    def run(self) -> None:
        """Every operation several times."""
        steps = [self.add, self.delete, self.delete_a_person, self.update, self.fit, self.save_and_load]
        for step in steps * 5:
            step()


def main() -> None:
    """Runs histories until there were enough interrupts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interrupts", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    interrupted = Interrupted(rng)
    kinds = itertools.cycle([DareForestClassifier, DareForestRegressor])
    while interrupted.counts.total() < arguments.interrupts:
        with tempfile.TemporaryDirectory() as folder:
            History(next(kinds), interrupted, rng, Path(folder)).run()
        print(f"{interrupted.counts.total()} of {arguments.interrupts} interrupts", file=sys.stderr)
    told = ", ".join(f"{n} of {what}" for what, n in sorted(interrupted.counts.items()))
    print(f"interrupts: {interrupted.counts.total()} ({told}), each left the state before or after")


if __name__ == "__main__":
    main()
