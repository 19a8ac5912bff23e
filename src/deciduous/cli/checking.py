"""`deciduous verify`, `deciduous inspect` and `deciduous version`."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer

from ..errors import shown
from . import _options as options
from ._describing import described
from ._models import loaded_with_rows, working
from ._output import CHECK_FAILED, JsonOption, present, present_table, size_text
from ._outputs import App
from ._verifying import present_verification, verify_live

app = App()


@app.command(
    epilog=options.examples(
        "deciduous verify patients.forest",
        "deciduous verify clinic.forest --json     # a live forest: also its receipts, and against the table",
    )
)
def verify(
    model: options.AnyModelArgument,
    url: Annotated[str | None, typer.Option("--url", help="The database of a live forest, if it has moved.")] = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Train anew from the rows that are left, and compare every byte. Exits with 1 if there is a difference.

    A live forest is trained anew from its table, and the chain of its receipts is checked.
    """
    if model.is_dir():
        verify_live(model, url, as_json)
        return
    forest = loaded_with_rows(model, jobs, "verify")
    begin = time.perf_counter()  # without loading
    with working(forest, jobs):
        report = forest.verify()
    outcome = "exact" if report.difference is None else "broken"
    seconds = time.perf_counter() - begin
    present_verification(model, outcome, report.difference, report.fingerprint, forest.n_rows_, seconds, as_json)


@app.command(
    epilog=options.examples(
        "deciduous inspect patients.forest",
        "deciduous inspect patients.forest --tree 0 --max-depth 3",
        "deciduous inspect patients.forest --importances --json",
        "deciduous inspect patients.forest --check",
        "deciduous inspect patients.forest --ids",
    )
)
def inspect(
    model: options.AnyModelArgument,
    tree: Annotated[int | None, typer.Option("--tree", min=0, help="Show a tree as text.")] = None,
    max_depth: Annotated[int | None, typer.Option("--max-depth", min=0, help="Of the tree that is shown.")] = None,
    importances: Annotated[bool, typer.Option("--importances", help="Show how much each column matters.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Print the ids of all rows, a line each.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Recount all statistics; exit with 1 if one is off.")] = False,
    as_json: JsonOption = False,
) -> None:
    """What is in a model: rows, trees, columns, classes, parameters, sizes. The seed is not shown."""
    if ids and not as_json and (tree is not None or importances or check):
        raise typer.BadParameter("--ids prints ids alone, for other programs. With --json it goes with other options.")
    needs_estimator = tree is not None or importances or ids or check
    forest: Any = loaded_with_rows(model, 1, "tree_view") if needs_estimator else None
    result = {"model": str(model), **described(model)}
    if tree is not None:
        from ..pictures import export_text

        result["tree"] = export_text(forest, tree, max_depth=max_depth)
    if importances:
        names = result["columns"] or [f"x{i}" for i in range(forest.n_features_in_)]
        result["importances"] = dict(zip(names, forest.feature_importances_.tolist(), strict=True))
    if check:
        result["problem"] = forest.check()
    if ids:
        result["ids"] = forest.ids_.tolist()
    if as_json:
        present(True, result)
    elif ids:
        typer.echo("".join(f"{id}\n" for id in result["ids"]), nl=False)
    else:
        _show(result)
    if result.get("problem") is not None:
        raise typer.Exit(CHECK_FAILED)


def _show(result: dict[str, Any]) -> None:
    tree, importances = result.pop("tree", None), result.pop("importances", None)
    rows = [[name, _in_words(name, value)] for name, value in result.items() if name not in ("model", "n_columns")]
    present_table(str(result["model"]), ["what", "value"], rows)
    if importances is not None:
        ranked = sorted(importances.items(), key=lambda item: -item[1])
        present_table("Importances", ["column", "share"], [[name, f"{its:.4f}"] for name, its in ranked])
    if tree is not None:
        typer.echo(tree)


def _in_words(name: str, value: Any) -> str:
    if name in ("bytes", "memory"):
        return size_text(value)
    if name == "columns" and value is not None:
        return f"{len(value)}: {shown(value, 10)}"
    if name == "categories":
        return shown((f"{column} ({len(its)})" for column, its in value.items()), 10) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}={its}" for key, its in value.items())
    if isinstance(value, list):
        return shown(value, 10)
    return f"{value:,}" if isinstance(value, int) else str(value)


@app.command(epilog=options.examples("deciduous version", "deciduous version --json"))
def version(as_json: JsonOption = False) -> None:
    """The versions of deciduous and of what it stands on."""
    from .. import __version__
    from .._container import VERSION

    others = {name: version_of(name) for name in ("numpy", "scikit-learn")}
    result = {"deciduous": __version__, "format": VERSION, "python": platform.python_version(), **others}
    about = ", ".join(f"{name} {its}" for name, its in list(result.items())[2:])
    present(as_json, result, f"deciduous {__version__} (file format {VERSION}; {about})")
