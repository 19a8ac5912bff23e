"""`import deciduous` is cheap: what needs scikit-learn is imported when somebody asks for it."""

from __future__ import annotations

import importlib
import json
import pickle
import subprocess
import sys

import pytest

import deciduous

HEAVY = ("sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "sqlalchemy", "joblib")


def heavy_after(statement: str) -> list[str]:
    """Which of the heavy libraries a fresh interpreter has imported after this statement."""
    script = f"{statement}\nimport json, sys; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "statement", ["import deciduous", "from deciduous import UnknownRowError", "import deciduous.cli.app"]
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert heavy_after(statement) == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["version"], ["train", "--help"], ["live", "--help"]])
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
