"""`deciduous verify`, `deciduous inspect`, `deciduous rows` and `deciduous version`."""

from __future__ import annotations

import platform
import time
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import shown
from . import _options as options
from ._clusters import home_name
from ._describing import described, described_at_home
from ._models import chosen_rows, opened, require_rows_inside, working
from ._output import CHECK_FAILED, JsonOption, counted, present, present_table, size_text
from ._outputs import App
from ._verifying import present_verification, verify_live
from ._writing import FormatOption, TableOutOption, chosen_format, writing

if TYPE_CHECKING:
    from ..reports import TrainingRows

app = App()


@app.command(
    epilog=options.examples(
        "deciduous verify patients.forest",
        "deciduous verify cluster:clinic --ray head:6379",
        "deciduous verify clinic.forest --json     # a live forest: also its receipts, and against the table",
    )
)
def verify(
    model: options.AnyClusterModelArgument,
    url: Annotated[str | None, typer.Option("--url", help="Database URL of a live forest, if it has moved.")] = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Retrain on the remaining rows, and compare every byte. Exits with 1 if there is a difference.

    A live forest is retrained from its table, and the chain of its receipts is checked as well.
    """
    cluster = options.asked_cluster(ray, workers, folder)
    if model.is_dir():
        verify_live(model, url, as_json, cluster)
        return
    with opened(model, jobs, cluster, purpose="verify") as forest:
        begin = time.perf_counter()  # without loading
        with working(forest, jobs):
            report = forest.verify()
        seconds = time.perf_counter() - begin
        n_rows = forest.n_rows_
    outcome = "exact" if report.problem is None else "broken"
    present_verification(model, outcome, report.problem, report.fingerprint, n_rows, seconds, as_json)


@app.command(
    epilog=options.examples(
        "deciduous inspect patients.forest",
        "deciduous inspect patients.forest --tree 0 --max-depth 3",
        "deciduous inspect patients.forest --importances --json",
        "deciduous inspect patients.forest --check",
        "deciduous inspect patients.forest --ids",
        "deciduous inspect cluster:clinic --ray head:6379",
    )
)
def inspect(
    model: options.AnyClusterModelArgument,
    tree: Annotated[int | None, typer.Option("--tree", min=0, help="Show a tree as text.")] = None,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", min=0, help="Depth to which the tree is shown.")
    ] = None,
    importances: Annotated[bool, typer.Option("--importances", help="Show feature importances.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Print the ids of all rows, one per line.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Recompute all statistics; exit with 1 if one is wrong.")
    ] = False,
    ray: options.RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is in a model: rows, trees, columns, classes, parameters, sizes. The seed is not shown.

    For a regression, target_range is the lowest and the highest target that a row may have.
    """
    if ids and not as_json and (tree is not None or importances or check):
        raise typer.BadParameter("--ids prints ids alone, for other programs. With --json it goes with other options.")
    is_at_home = home_name(model) is not None
    needs_estimator = tree is not None or importances or ids or check or is_at_home
    cluster = options.asked_cluster(ray, None)
    needed: AbstractContextManager[Any] = nullcontext()
    if needs_estimator:
        needed = opened(model, cluster=cluster, purpose="tree_view")
    with needed as forest:
        result = {"model": str(model), **(described_at_home(forest) if is_at_home else described(model))}
        if tree is not None:
            from ..pictures import export_text

            result["tree"] = export_text(forest, tree, max_depth=max_depth)
        if importances:
            names = result["columns"] or [f"x{i}" for i in range(forest.n_features_in_)]
            result["importances"] = dict(zip(names, forest.feature_importances_.tolist(), strict=True))
        if check:
            result["problem"] = forest.check().problem
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


@app.command(
    epilog=options.examples(
        "deciduous rows patients.forest --ids 17,42",
        "deciduous rows patients.forest --subject u-17 -o answer.csv",
        "deciduous rows patients.forest --ids 17 | sed s/north/south/ | deciduous update patients.forest -",
    )
)
def rows(
    model: options.ClusterModelArgument,
    ids: options.IdsOption = None,
    ids_file: options.IdsFileOption = None,
    subject: options.SubjectsOption = None,
    out: TableOutOption = None,
    format: FormatOption = None,
    ray: options.RayOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print training rows as the model stores them, for example to answer an access request.

    On stdout, --json prints JSON lines. With --out, it prints a summary.
    """
    require_rows_inside(model)
    asked, chosen = chosen_rows(ids, ids_file, subject), chosen_format(out, format, as_json)
    with opened(model, cluster=options.asked_cluster(ray, None), purpose="rows") as forest:
        held = forest.rows(**asked.of(forest))
    with writing(out, chosen) as write:
        write(_as_batch(held))
    if out is not None:
        result = {"model": str(model), "out": str(out), "format": chosen.value, "n_rows": len(held)}
        present(as_json, result, f"Wrote {counted(len(held), 'row')} to {out}.")


def _as_batch(held: TrainingRows) -> Any:
    """Rows as a record batch, with columns of their own names; `id`, `subject` and targets as `add` guesses them."""
    import pyarrow as pa

    about: dict[str, list[Any]] = {"id": _whole_or_text(held.ids)}
    if any(subject is not None for subject in held.subjects):
        about["subject"] = _whole_or_text(held.subjects)
    about[held.y_name] = held.y.tolist()
    if (held.sample_weight != 1).any():
        about["weight"] = held.sample_weight.tolist()
    taken = set(held.feature_names)
    columns = {name + "_" * (name in taken): values for name, values in about.items()}
    features = zip(held.feature_names, held.X.T, strict=True)
    return pa.RecordBatch.from_pydict(columns | {name: pa.array(its, from_pandas=True) for name, its in features})


def _whole_or_text(names: list[Any]) -> list[Any]:
    if all(isinstance(name, int) for name in names if name is not None):
        return names
    return [None if name is None else str(name) for name in names]


@app.command(epilog=options.examples("deciduous version", "deciduous version --json"))
def version(as_json: JsonOption = False) -> None:
    """Show the versions of deciduous, its file format, Python, NumPy and scikit-learn."""
    from .. import __version__
    from .._container import VERSION

    others = {name: version_of(name) for name in ("numpy", "scikit-learn")}
    result = {"deciduous": __version__, "format": VERSION, "python": platform.python_version(), **others}
    about = ", ".join(f"{name} {its}" for name, its in list(result.items())[2:])
    present(as_json, result, f"deciduous {__version__} (file format {VERSION}; {about})")
