"""The documentation is true: examples run, every name is described, the commands exist."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import deciduous
from deciduous import DareForestClassifier, DareForestRegressor
from deciduous import forest as forest_module
from deciduous import regressor as regressor_module

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
KINDS = (DareForestClassifier, DareForestRegressor)
PARAMETERS = [(kind, name) for kind in KINDS for name in inspect.signature(kind).parameters]
PUBLIC = [
    (kind, name)
    for kind in KINDS
    for name, member in inspect.getmembers(kind)
    if name[0] != "_" and getattr(getattr(member, "fget", member), "__module__", "").startswith("deciduous")
]


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/guide.md", "docs/regression.md", "docs/live.md", "docs/evidence.md", "docs/performance.md"],
)
def test_examples_run(page: str) -> None:
    """Every Python block of the page runs, one after the other, assertions included."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_script_runs(example: Path) -> None:
    """Each script runs to its end and says something."""
    command = [sys.executable, "-W", "ignore", str(example)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("module", [forest_module, regressor_module])
def test_docstring_examples_run(module: ModuleType) -> None:
    """The doctests of the estimators pass."""
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("command", re.findall(r"^    make ([a-z-]+)", README, re.MULTILINE))
def test_readme_command_is_a_target(command: str) -> None:
    """Each `make` command that the README names exists."""
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "cpp/core/README.md",
        *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("**/*.md")),
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    """Each relative link and each named file of ours exists."""
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text)
    for target in links + re.findall(r"`((?:tests|docs|src|cpp)/[\w/.]+)`", text):
        assert (ROOT / page).parent.joinpath(target).exists() or (ROOT / target).exists(), target


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_parameter_is_documented_with_its_default(kind: type, name: str) -> None:
    """The class docstring has an entry for each parameter, naming the default that the signature has.

    A regressor refers to the classifier for those that both have, with the same default.
    """
    default = inspect.signature(kind).parameters[name].default
    text = kind.__doc__ or ""
    if re.search(rf"\b{name}\b[^:]*\n +As in `DareForestClassifier`\.$", text, re.MULTILINE):
        assert default == inspect.signature(DareForestClassifier).parameters[name].default
        return
    shown = f'"{default}"' if isinstance(default, str) else str(default)
    assert re.search(rf"^\s+{name} : .*default={re.escape(shown)}$", text, re.MULTILINE)


@pytest.mark.parametrize(("kind", "name"), PUBLIC)
def test_method_is_documented(kind: type, name: str) -> None:
    """Each public method and property says what it does."""
    assert inspect.getdoc(getattr(kind, name))


@pytest.mark.parametrize("name", [n for n in deciduous.__all__ if n != "DareForestClassifier"])
def test_exported_name_is_documented(name: str) -> None:
    """Everything the package exports has a docstring of its own."""
    assert inspect.getdoc(getattr(deciduous, name))


def test_api_page_is_what_the_docstrings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make docs` would change nothing."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_api = importlib.import_module("make_api")
    assert make_api.PAGE.read_text() == make_api.page()


def test_results_of_the_experiments_are_those_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make docs` would change nothing: no number of the page was written by hand."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_experiments = importlib.import_module("make_experiments")
    if not make_experiments.RUN.exists():
        pytest.skip("there is no run: `make experiments` makes one")
    text = make_experiments.PAGE.read_text(encoding="utf-8")
    assert make_experiments.page(text) == text


def test_paper_symbols_are_mapped_to_our_names() -> None:
    """The table of symbols in docs/algorithm.md names parameters that exist."""
    table = (ROOT / "docs/algorithm.md").read_text().split("## 2.")[0]
    named = set(re.findall(r"\| `(\w+)` \|", table))
    assert named >= {"n_estimators", "max_depth", "random_depth", "n_thresholds", "max_features"}
    assert named <= {name for _, name in PARAMETERS}
