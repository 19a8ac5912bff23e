"""`deciduous train` and `deciduous tune`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from . import _options as options
from ._csv import CsvForm
from ._models import changing, working
from ._output import JsonOption, counted, present, shows_bars, size_text
from ._outputs import App
from ._reading import source_of
from ._rows import Rows, training_rows

app = App()

OutOption = Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")]


@app.command(
    epilog=options.examples(
        "deciduous train patients.csv --target diagnosis -o patients.forest",
        "deciduous train visits.parquet --target readmitted --id visit --subject person --trees 50 -o visits.forest",
        "deciduous train sqlite:///clinic.db --table patients --target readmitted -o patients.forest",
        "deciduous train data.csv --target y --categorical zip --drop name --set class_weight=balanced -o m.forest",
    )
)
def train(
    data: options.DataArgument,
    out: OutOption,
    target: options.TargetOption = None,
    id: options.IdOption = None,
    subject: options.SubjectOption = None,
    categorical: options.CategoricalOption = None,
    drop: options.DropOption = None,
    number_rows: options.NumberRowsOption = False,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    trees: options.TreesOption = 100,
    depth: options.DepthOption = 20,
    thresholds: options.ThresholdsOption = 25,
    random_depth: options.RandomDepthOption = 0,
    set_: options.SetOption = None,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Train a forest on the rows of a file or table, and write it to a model file.

    Numbers are numeric, text is categorical, and empty cells are missing values. Guesses are reported on stderr.
    """
    from ..forest import DareForestClassifier

    forest = DareForestClassifier(
        trees,
        max_depth=depth,
        n_thresholds=thresholds,
        random_depth=random_depth,
        random_state=seed,
        **options.other_params(set_),
    )
    asked = options.asked_columns(target, id, subject, categorical, drop, number_rows)
    rows = training_rows(source_of(data, table, query, CsvForm.checked(sep, decimal, encoding)), asked)
    _fit_and_save(forest, rows, out, jobs, as_json)


@app.command(
    epilog=options.examples(
        "deciduous tune patients.csv --target diagnosis -o patients.forest",
        "deciduous tune patients.csv --target diagnosis --trees 10,50 --depth 5,10 --folds 3 --seed 7",
        "deciduous tune big.parquet --target y --sample 20000 --resume tuning.jsonl -o big.forest",
    )
)
def tune(
    data: options.DataArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Train with the chosen parameters, and write this model file."),
    ] = None,
    target: options.TargetOption = None,
    id: options.IdOption = None,
    subject: options.SubjectOption = None,
    categorical: options.CategoricalOption = None,
    drop: options.DropOption = None,
    number_rows: options.NumberRowsOption = False,
    table: options.TableOption = None,
    query: options.QueryOption = None,
    sep: options.SepOption = None,
    decimal: options.DecimalOption = None,
    encoding: options.EncodingOption = None,
    trees: Annotated[str, typer.Option("--trees", help="Numbers of trees to try.")] = "10,25,50,100,250",
    depth: Annotated[str, typer.Option("--depth", help="Depths to try.")] = "1,3,5,10,20",
    thresholds: Annotated[str, typer.Option("--thresholds", help="Numbers of thresholds to try.")] = "5,10,25,50",
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0, help="How much the score may fall because of random nodes.")
    ] = 0.001,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of cross-validation folds.")] = 5,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Use only this many rows in the search.")
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option("--scoring", help="A scikit-learn scorer. Default: chosen by the share of positive rows."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="File that keeps finished evaluations, to resume from.")
    ] = None,
    set_: options.SetOption = None,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Choose the number of trees, depth, thresholds and random depth by cross-validation, as in the paper.

    With --out, a forest with these parameters is then trained on all rows.
    """
    from ..forest import DareForestClassifier
    from ..tuning import tune as search

    grid = {
        "n_estimators": _numbers("--trees", trees),
        "max_depth": _numbers("--depth", depth),
        "n_thresholds": _numbers("--thresholds", thresholds),
    }
    asked = options.asked_columns(target, id, subject, categorical, drop, number_rows)
    rows = training_rows(source_of(data, table, query, CsvForm.checked(sep, decimal, encoding)), asked)
    template = DareForestClassifier(random_state=seed, **options.other_params(set_))
    result = search(
        template,
        rows.table,
        rows.labels,
        **grid,
        tolerances=(tolerance,),
        scoring=scoring,
        cv=folds,
        subsample=sample,
        refit=False,
        n_jobs=jobs,
        random_state=seed,
        progress=shows_bars(),
        resume_from=resume,
    )
    chosen = result.best_params | {"random_depth": result.random_depths[tolerance]}
    found = {"metric": result.metric, "score": result.best_score, "params": chosen, "scores": result.scores}
    if out is None:
        present(as_json, found, result.table())
        return
    if not as_json:
        typer.echo(result.table())
    _fit_and_save(result.forest(), rows, out, jobs, as_json, found)


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{option} takes whole numbers, separated by commas, but got {text!r}.") from None


def _fit_and_save(
    forest: Any, rows: Rows, out: Path, jobs: int, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    begin = time.perf_counter()
    n_rows, n_columns = len(rows), rows.table.num_columns
    with working(forest, jobs):
        forest.fit(rows.table, rows.labels, ids=rows.ids, subjects=rows.subjects)
        seconds = time.perf_counter() - begin
        fingerprint = forest.fingerprint()
    with changing(out):
        forest.save(out)
    n_trees = forest.n_estimators
    result = {
        "model": str(out),
        "n_rows": n_rows,
        "n_columns": n_columns,
        "classes": forest.classes_.tolist(),
        "n_trees": n_trees,
        "target": rows.roles.target,
        "id": rows.roles.id,
        "subject": rows.roles.subject,
        "bytes": out.stat().st_size,
        "seconds": seconds,
        "fingerprint": fingerprint,
    }
    present(
        as_json,
        (more or {}) | result,
        f"Trained {counted(n_trees, 'tree')} on {counted(n_rows, 'row')} of {counted(n_columns, 'column')}, "
        f"{len(forest.classes_)} class{'' if len(forest.classes_) == 1 else 'es'}, in {seconds:.2f} s.",
        f"Wrote {out} ({size_text(out.stat().st_size)}), fingerprint {fingerprint}.",
    )
