"""`deciduous delete`, `deciduous add`, `deciduous update` and `deciduous cost`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from .._tables.csv import CsvForm
from ..errors import InvalidInputError, shown
from . import _options as options
from ._models import changing, chosen_rows, keep, names_of, opened, working
from ._output import JsonOption, counted, present
from ._outputs import App
from ._reading import Source, source_of
from ._rows import Asked, Rows, rows_for

if TYPE_CHECKING:
    from .._forest import DareForest
    from ..reports import UpdateReport

app = App()

OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Where to write the model. Default: replace the model file."),
]
SHOWN_IDS = 1000  # of long lists, scripts get the beginning


@app.command(
    epilog=options.examples(
        "deciduous delete patients.forest --ids 17,42",
        "deciduous delete patients.forest --subject u-17",
        "deciduous delete cluster:clinic --ids 17,42 --ray head:6379",
        "sqlite3 clinic.db 'select id from gone' | deciduous delete patients.forest --ids-file -",
    )
)
def delete(
    model: options.ClusterModelArgument,
    ids: options.IdsOption = None,
    ids_file: options.IdsFileOption = None,
    subject: options.SubjectsOption = None,
    out: OutOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Delete training rows from a model, exactly, and save the model.

    The model file is replaced in full or not at all. Copies of the old file still hold the rows: delete these copies,
    too.
    """
    chosen = chosen_rows(ids, ids_file, subject)
    cluster = options.asked_cluster(ray, workers, folder)
    with changing(model), opened(model, jobs, cluster, purpose="delete") as forest:
        rows = chosen.of(forest)
        _update(forest, lambda: forest.delete(**rows), "Deleted", out or model, jobs, as_json)


@app.command(
    epilog=options.examples(
        "deciduous add patients.forest new.csv",
        "deciduous add patients.forest new.parquet --target diagnosis --id patient",
        "deciduous add houses.forest sold.csv --target price",
        "deciduous add cluster:clinic new.csv --ray head:6379",
    )
)
def add(
    model: options.ClusterModelArgument,
    data: options.DataArgument,
    target: options.TargetOption = None,
    id: options.IdOption = None,
    subject: options.SubjectOption = None,
    drop: options.DropOption = None,
    number_rows: options.NumberRowsOption = False,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    out: OutOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Add rows to a model as if they had been there from the start, and save the model.

    Columns are matched by name; other columns are ignored. Without an id column, rows get new numbers as ids. Targets
    of a regression must be within the limits of the model, which `deciduous inspect` shows as target_range.
    """
    asked = options.asked_columns(target, id, subject, None, drop, number_rows)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    cluster = options.asked_cluster(ray, workers, folder)
    with changing(model), opened(model, jobs, cluster, purpose="add") as forest:
        rows = _rows_for(forest, source, asked)
        work = partial(forest.add, rows.table, rows.labels, ids=rows.ids, subjects=rows.subjects)
        _update(forest, work, "Added", out or model, jobs, as_json, names_fresh=rows.ids is None)


@app.command(
    epilog=options.examples(
        "deciduous update patients.forest corrected.csv",
        "deciduous update patients.forest corrected.csv --ray head:6379 --workers 8 --folder /shared",
        "deciduous rows patients.forest --ids 17 | sed s/north/south/ | deciduous update patients.forest -",
    )
)
def update(
    model: options.ClusterModelArgument,
    data: options.DataArgument,
    target: options.TargetOption = None,
    id: options.IdOption = None,
    subject: options.SubjectOption = None,
    drop: options.DropOption = None,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    out: OutOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Replace rows of a model with corrected ones, as if these had been there from the start, and save the model.

    Rows whose ids are in the model are replaced, including label and subject. Other rows are added.
    """
    asked = options.asked_columns(target, id, subject, None, drop)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    cluster = options.asked_cluster(ray, workers, folder)
    with changing(model), opened(model, jobs, cluster, purpose="update") as forest:
        rows = _rows_for(forest, source, asked)
        if rows.ids is None:
            raise InvalidInputError("Say which rows are replaced: name the column of ids with --id.")
        work = partial(forest.update, rows.table, rows.labels, rows.ids, subjects=rows.subjects)
        _update(forest, work, "Updated", out or model, jobs, as_json)


def _rows_for(forest: DareForest, source: Source, asked: Asked) -> Rows:
    rows = rows_for(forest, source, asked)
    if rows.ids is not None and forest.id_type_ is UUID:
        rows.ids = names_of(forest, rows.ids)
    return rows


@app.command(
    epilog=options.examples(
        "deciduous cost patients.forest --ids 17,42",
        "deciduous cost patients.forest --ids 17,42 --each --json",
        "deciduous cost cluster:clinic --ids 17,42 --ray head:6379",
    )
)
def cost(
    model: options.ClusterModelArgument,
    ids: options.IdsOption = None,
    ids_file: options.IdsFileOption = None,
    subject: options.SubjectsOption = None,
    each: Annotated[
        bool, typer.Option("--each", help="Show the cost of deleting each row, or subject, on its own.")
    ] = False,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Show what a deletion would cost, without doing it: nodes to rebuild, and rows under them to retrain on."""
    chosen = chosen_rows(ids, ids_file, subject)
    cluster = options.asked_cluster(ray, workers, folder)
    with opened(model, jobs, cluster, purpose="deletion_cost") as forest:
        rows = chosen.of(forest)
        with working(forest, jobs):
            if not each:
                report = forest.deletion_cost(**rows)
                line = f"Deleting {counted(report.n_rows, 'row')} would take: {_in_words(report)}"
                present(as_json, _as_dict(report), line)
                return
            costs = forest.deletion_costs(**rows).tolist()
    kind, named = ("id", rows["ids"]) if "ids" in rows else ("subject", rows["subjects"])
    by_row = [{kind: name, "n_rows_retrained": n} for name, n in zip(named, costs, strict=True)]
    present(
        as_json,
        {"costs": by_row},
        *(f"{name}: {counted(n, 'row')} to retrain on" for name, n in zip(named, costs, strict=True)),
    )


def _update(
    forest: Any,
    work: Callable[[], UpdateReport],
    done: str,
    out: Path,
    jobs: int,
    as_json: bool,
    *,
    names_fresh: bool = False,
) -> None:
    begin = time.perf_counter()
    with working(forest, jobs):
        report = work()
        seconds = time.perf_counter() - begin
        fingerprint = forest.fingerprint()
    did = "Wrote" if keep(forest, out) else "Changed"
    result = {
        "model": str(out),
        **_as_dict(report),
        "n_rows_left": forest.n_rows_,
        "seconds": seconds,
        "fingerprint": fingerprint,
    }
    present(
        as_json,
        result,
        f"{done} {counted(report.n_rows, 'row')} in {seconds:.2f} s: {_in_words(report)}",
        *([f"Their ids are {shown(_runs(report.ids))}."] if names_fresh else []),
        f"{did} {out} ({counted(forest.n_rows_, 'row')}), fingerprint {fingerprint}.",
    )


def _as_dict(report: UpdateReport) -> dict[str, Any]:
    return {
        "n_rows": report.n_rows,
        "ids": list(report.ids[:SHOWN_IDS]),
        "n_nodes_rebuilt": report.n_nodes_rebuilt,
        "n_rows_retrained": report.n_rows_retrained,
    }


def _in_words(report: UpdateReport) -> str:
    return f"{counted(report.n_nodes_rebuilt, 'node')} rebuilt, {counted(report.n_rows_retrained, 'row')} retrained on."


def _runs(ids: Sequence[int]) -> list[str]:
    """Numbers, with those that follow each other as a range."""
    runs: list[list[int]] = []
    for id in ids:
        if runs and id == runs[-1][1] + 1:
            runs[-1][1] = id
        else:
            runs.append([id, id])
    return [str(first) if first == last else f"{first} to {last}" for first, last in runs]
