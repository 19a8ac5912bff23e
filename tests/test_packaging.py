"""What a release says of itself is the same everywhere, and the package does without what wheels leave out."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import deciduous
from deciduous.cli.app import EXPERIMENTS, NO_EXPERIMENTS

ROOT = Path(__file__).parents[1]
WITHOUT = f"""
import sys
sys.modules[{EXPERIMENTS!r}] = None  # as if it were not there
from deciduous.cli import main
main()
"""


def run_without_experiments(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False)


def test_version_has_one_home() -> None:
    """The package has it; its metadata, the citation and the changelog say the same."""
    assert version("deciduous") == deciduous.__version__
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    cited = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == [deciduous.__version__]
    first, *others = re.findall(r"^## (?:\[)?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = others if first == "Unreleased" else [first, *others]
    assert released[:1] in ([], [deciduous.__version__])


def test_without_the_experiments_the_command_says_how_to_get_them() -> None:
    for command in (["experiment", "all"], ["experiment", "--help"]):
        ended = run_without_experiments(*command)
        assert (ended.returncode, ended.stderr.strip()) == (3, NO_EXPERIMENTS)


def test_without_the_experiments_everything_else_is_there() -> None:
    shown = run_without_experiments("--help")
    assert shown.returncode == 0
    assert "experiment" in shown.stdout
    assert run_without_experiments("version").returncode == 0
