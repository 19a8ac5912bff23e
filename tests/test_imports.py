"""`import deciduous` is cheap: what needs scikit-learn is imported when somebody asks for it."""

from __future__ import annotations

import importlib
import json
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import deciduous
from deciduous.live import LiveForest

HEAVY = ("sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "sqlalchemy", "joblib", "ray", "cryptography")
HEAVY += ("fastapi", "uvicorn")


def heavy_after(statement: str) -> list[str]:
    """Which of the heavy libraries a fresh interpreter has imported after this statement."""
    script = f"{statement}\nimport json, sys; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "import deciduous",
        "from deciduous import UnknownRowError",
        "import deciduous.cli.app",
        "import deciduous.evidence.verifying",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert heavy_after(statement) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["version"],
        ["train", "--help"],
        ["live", "--help"],
        ["receipts", "--help"],
        ["serve", "--help"],
    ],
)
def test_commands_that_do_without_the_estimator_do_not_import_it(arguments: list[str]) -> None:
    command = f"""
import sys
from deciduous.cli import main
sys.argv = ["deciduous", *{arguments}]
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
"""
    assert heavy_after(command) == []


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a forest, a frozen one and a live one."""
    folder = tmp_path_factory.mktemp("models")
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a REAL, c TEXT, y TEXT)")
        rows = [(i, i * 1.5, "uv"[i % 2], "xy"[i % 3 == 0]) for i in range(60)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.close()
    url = f"sqlite:///{folder}/t.db"
    with LiveForest.create(url, table="t", id="id", target="y", folder=folder / "live") as live:
        live.forest.save(folder / "m.forest")
        live.forest.save(folder / "m.frozen", frozen=True)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "m.forest"],
        ["inspect", "m.frozen"],
        ["inspect", "live"],
        ["live", "status", "live"],
        ["live", "requests", "live"],
        ["live", "receipts", "live"],
    ],
    ids=" ".join,
)
def test_looking_at_models_does_not_import_the_estimator(models: Path, arguments: list[str]) -> None:
    command = f"""
import sys
from deciduous.cli import main
sys.argv = ["deciduous", *{arguments[:-1]}, {str(models / arguments[-1])!r}, "--json"]
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
"""
    assert heavy_after(command) == []


def test_the_estimator_brings_what_it_needs() -> None:
    """So that the tests above could fail."""
    assert "sklearn" in heavy_after("from deciduous import DareForestClassifier")
    assert "sklearn" in heavy_after("import deciduous; deciduous.load")


def test_all_names_are_there_in_a_fresh_interpreter() -> None:
    """By `*`, by `dir`, and one by one; each is the one of its module, and found without a search the second time."""
    script = """
import deciduous
assert set(deciduous.__all__) <= set(dir(deciduous))
names = {}
exec("from deciduous import *", names)
assert set(deciduous.__all__) <= names.keys()
assert all(name in vars(deciduous) for name in deciduous.__all__)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    for name in deciduous.__all__:
        value = getattr(deciduous, name)
        assert value is getattr(importlib.import_module(value.__module__), name)


def test_unknown_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'deciduous' has no attribute 'DareForest'"):
        _ = deciduous.DareForest  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="DareForest"):
        exec("from deciduous import DareForest")


def test_classes_keep_their_places_in_pickles() -> None:
    for name in ("DareForestClassifier", "FrozenForestClassifier", "load", "tune"):
        assert pickle.loads(pickle.dumps(getattr(deciduous, name))) is getattr(deciduous, name)
