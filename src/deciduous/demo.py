"""What the package is for, on bundled data: train, delete, add back, verify, each timed against retraining.

Run with `make demo`, or `python -m deciduous.demo --help`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.model_selection import train_test_split

from .forest import DareForestClassifier

SEED = 2021
N_SINGLE_DELETIONS = 50


@dataclass(frozen=True)
class DataSet:
    """Rows to train on and rows to test with."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """What happened to one data set; times in seconds."""

    name: str
    shape: tuple[int, int]
    n_classes: int
    accuracy: float
    retraining: float
    one_deletion: float
    batch: float
    batch_size: int
    addition: float
    accuracy_after: float
    is_exact: bool


def data_sets() -> Iterator[DataSet]:
    """Three sets that come with scikit-learn, and a generated one."""
    generated = make_classification(25_000, 40, n_informative=5, n_redundant=5, flip_y=0.05, random_state=SEED)
    for name, (X, y) in {
        "iris": load_iris(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "generated": generated,
    }.items():
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED, stratify=y)
        yield DataSet(name, X_train, y_train, X_test, y_test)


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(data: DataSet, n_trees: int, n_jobs: int | None, advance: Callable[[str], None]) -> Outcome:
    """Train, delete rows one by one and in a batch, compare with retraining, and add all of them back."""
    params: dict[str, Any] = {"n_estimators": n_trees, "n_thresholds": 10, "random_state": SEED, "n_jobs": n_jobs}
    forest = DareForestClassifier(**params)
    advance("training")
    forest.fit(data.X, data.y)
    before = forest.fingerprint()
    accuracy = forest.score(data.X_test, data.y_test)

    n = len(data.X)
    leaving = np.random.default_rng(SEED).permutation(n)[: min(N_SINGLE_DELETIONS, n // 10) + max(1, n // 100)]
    singles, batch = np.split(leaving, [len(leaving) - max(1, n // 100)])
    advance("deleting rows")
    one_deletion = seconds(lambda: [forest.delete([row]) for row in singles.tolist()]) / len(singles)
    batch_time = seconds(lambda: forest.delete(batch))
    accuracy_after = forest.score(data.X_test, data.y_test)

    advance("retraining, to compare")
    staying = np.setdiff1d(np.arange(n), leaving)
    retrained = DareForestClassifier(**params)
    retraining = seconds(lambda: retrained.fit(data.X[staying], data.y[staying], ids=staying))
    is_exact = forest.fingerprint() == retrained.fingerprint()

    advance("adding them back")
    addition = seconds(lambda: forest.add(data.X[leaving], data.y[leaving], ids=leaving))
    is_exact = is_exact and forest.fingerprint() == before and forest.verify().matches
    advance("done")
    return Outcome(
        data.name,
        data.X.shape,
        len(forest.classes_),
        accuracy,
        retraining,
        one_deletion,
        batch_time,
        len(batch),
        addition,
        accuracy_after,
        is_exact,
    )


def duration(value: float) -> str:
    """Seconds, in the unit that suits them."""
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def speed_up(slow: float, fast: float) -> str:
    """How many times faster, with a bar on a logarithmic scale."""
    ratio = slow / fast
    return f"{ratio:,.0f}x".rjust(8) + " " + "█" * max(1, round(4 * math.log10(max(ratio, 1.0))))


def table_of(outcomes: list[Outcome], n_trees: int) -> Table:
    """One row for each data set."""
    table = Table(title=f"Forests of {n_trees} trees that let go of data", title_justify="left")
    table.add_column("data")
    table.add_column("rows × columns, classes")
    for column in ("retrain", "delete 1", "delete 1%", "add back"):
        table.add_column(column, justify="right")
    table.add_column("deletion against retraining")
    table.add_column("test accuracy\nbefore → after", justify="right")
    table.add_column("same bytes as\nretraining?")
    for its in outcomes:
        table.add_row(
            its.name,
            f"{its.shape[0]:,} × {its.shape[1]}, {its.n_classes}",
            duration(its.retraining),
            duration(its.one_deletion),
            duration(its.batch),
            duration(its.addition),
            speed_up(its.retraining, its.one_deletion),
            f"{its.accuracy:.3f} → {its.accuracy_after:.3f}",
            "[green]yes[/green]" if its.is_exact else "[bold red]NO[/bold red]",
        )
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; 0 if every forest was exact."""
    parser = argparse.ArgumentParser(
        prog="python -m deciduous.demo",
        description="Train forests on bundled data, delete and add rows, and compare with retraining.",
        epilog="Example: python -m deciduous.demo --trees 20 --jobs 2",
    )
    parser.add_argument("--trees", type=int, default=50, metavar="T", help="trees in each forest (default: 50)")
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="threads (default: 1; -1 for all)")
    chosen = parser.parse_args(arguments)
    console = Console(width=140 if not Console().is_terminal else None)
    columns = (TextColumn("{task.description:<40}"), BarColumn(), MofNCompleteColumn())
    outcomes = []
    with Progress(*columns, console=console, transient=True) as progress:
        for data in data_sets():
            task = progress.add_task(data.name, total=5)

            def advance(what: str, task: Any = task, name: str = data.name) -> None:
                progress.update(task, advance=1, description=f"{name}: {what}")

            outcomes.append(run(data, chosen.trees, chosen.jobs, advance))
    console.print(table_of(outcomes, chosen.trees))
    console.print(
        "“Same bytes” compares fingerprints: after the deletions with a forest retrained on the rows that are left, "
        "and after adding\nthe rows back with the first forest. `delete 1` is the mean of single deletions; the bar is "
        "on a logarithmic scale."
    )
    return 0 if all(its.is_exact for its in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
