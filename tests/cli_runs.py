"""Commands without a process of their own, rows for them, and what the library makes of the same rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner

import deciduous
from deciduous import DareForestClassifier
from deciduous.cli.app import app

PROGRAM = [str(Path(sys.executable).parent / "deciduous")]
SMALL = ["--trees", "5", "--depth", "6", "--seed", "3"]
N_ROWS = 240

# The runner makes all commands anew for each run: that takes several times as long as most runs, of which we do many.
typer.testing._get_command = cache(get_command)  # type: ignore[attr-defined]


def run(*arguments: object) -> Any:
    """A command, without a process of its own."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: object) -> Any:
    """A command that must succeed, and what it prints as JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def visits(n_rows: int = N_ROWS) -> pd.DataFrame:
    """Numbers with gaps, whole numbers, truth values, categories with gaps, and names of people."""
    rng = np.random.default_rng(5)
    age = rng.normal(50, 15, n_rows).round(2)
    table = pd.DataFrame(
        {
            "id": np.arange(n_rows) + 100,
            "age": np.where(np.arange(n_rows) % 11 == 0, np.nan, age),
            "ward": rng.choice(np.array(["north", "south", None], dtype=object), n_rows),
            "beds": rng.integers(1, 5, n_rows),
            "urgent": rng.integers(0, 2, n_rows).astype(bool),
            "name": [f"name {i}" for i in range(n_rows)],
            "person_id": [f"u-{i // 3}" for i in range(n_rows)],
        }
    )
    table["stay"] = np.where(age + rng.normal(0, 10, n_rows) > 50, "long", "short")
    return table


FEATURES = ["age", "ward", "beds", "urgent"]


def library_forest(table: pd.DataFrame, **options: Any) -> DareForestClassifier:
    """What the library makes of the same rows."""
    settings: dict[str, Any] = {"n_estimators": 5, "max_depth": 6, "random_state": 3, "categorical_features": ["ward"]}
    forest = DareForestClassifier(**(settings | options))
    X = table[FEATURES].astype({"urgent": float})
    return forest.fit(X, table["stay"], ids=table["id"].tolist(), subjects=table["person_id"].tolist())


def loaded(path: str) -> DareForestClassifier:
    forest = deciduous.load(path)
    assert isinstance(forest, DareForestClassifier)
    return forest


def all_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "list_commands"):
        yield path
        return
    for name in command.list_commands(None):
        yield from all_commands(command.get_command(None, name), (*path, name))
