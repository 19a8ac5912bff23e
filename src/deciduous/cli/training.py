"""`deciduous train` and `deciduous tune`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from .._tables.csv import CsvForm
from .._targets import CLASSIFICATION, span_text
from .._tasks import forest_class, settled_task, task_of
from ..errors import InvalidInputError
from . import _options as options
from ._clusters import Cluster, home_name, required
from ._models import changing, keep, working
from ._output import JsonOption, counted, present, shows_bars, size_text
from ._outputs import App
from ._reading import source_of
from ._rows import Rows, training_rows

app = App()

OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="Model file to write; or cluster:NAME with --ray, to leave the forest there."),
]


@app.command(
    epilog=options.examples(
        "deciduous train patients.csv --target diagnosis -o patients.forest",
        "deciduous train visits.parquet --target readmitted --id visit --subject person --trees 50 -o visits.forest",
        "deciduous train sqlite:///clinic.db --table patients --target readmitted -o patients.forest",
        "deciduous train data.csv --target y --categorical zip --drop name --set class_weight=balanced -o m.forest",
        "deciduous train houses.csv --target price --task regression --target-range 0 2000000 -o houses.forest",
        "deciduous train visits.parquet --target y --ray head:6379 --folder /shared/clinic -o cluster:clinic",
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
    task: options.TaskOption = options.Task.auto,
    target_range: options.TargetRangeOption = None,
    set_: options.SetOption = None,
    seed: options.SeedOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    folder: options.RowsFolderOption = None,
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Train a forest on the rows of a file or table, and write it to a model file.

    Numbers are numeric, text is categorical, and empty cells are missing values. A target of numbers with
    fractions, or with many different values, is a regression. Guesses are reported on stderr.

    With --ray, the workers of a cluster grow the trees, each with --jobs threads (default: one), and the forest is the
    same. They also read the rows, if DATA is a Parquet file whose columns to split on are all numbers.
    """
    params = {
        "n_estimators": trees,
        "max_depth": depth,
        "n_thresholds": thresholds,
        "random_depth": random_depth,
        "random_state": seed,
        **options.other_params(set_, target_range),
    }
    settled = settled_task(task, params)
    asked = options.asked_columns(target, id, subject, categorical, drop, number_rows)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    cluster = options.asked_cluster(ray, workers, folder)
    if (name := home_name(out)) is not None:
        required(cluster, out).require_free(name)
    workers_read = cluster is not None and "categorical_features" not in params
    rows, found = training_rows(source, asked, settled, target_range, workers_read=workers_read)
    _fit_and_save(forest_class(found)(**params), rows, out, jobs, as_json, cluster=cluster)


@app.command(
    epilog=options.examples(
        "deciduous tune patients.csv --target diagnosis -o patients.forest",
        "deciduous tune patients.csv --target diagnosis --trees 10,50 --depth 5,10 --folds 3 --seed 7",
        "deciduous tune big.parquet --target y --sample 20000 --resume tuning.jsonl -o big.forest",
        "deciduous tune big.parquet --target y --ray auto --resume tuning.jsonl",
        "deciduous tune houses.csv --target price --task regression --scoring r2 --tolerance 0.01",
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
        typer.Option(
            "--scoring",
            help="A scikit-learn scorer. Default: chosen by the share of positive rows; r2 for a regression.",
        ),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="File that keeps finished evaluations, to resume from.")
    ] = None,
    task: options.TaskOption = options.Task.auto,
    target_range: options.TargetRangeOption = None,
    set_: options.SetOption = None,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = -1,
    ray: options.RayAddress = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the number of trees, depth, thresholds and random depth by cross-validation, as in the paper.

    With --out, a forest with these parameters is then trained on all rows. With --ray, the search runs on a cluster.
    """
    from ..tuning import tune as search

    grid = {
        "n_estimators": _numbers("--trees", trees),
        "max_depth": _numbers("--depth", depth),
        "n_thresholds": _numbers("--thresholds", thresholds),
    }
    asked = options.asked_columns(target, id, subject, categorical, drop, number_rows)
    params = options.other_params(set_, target_range)
    settled = settled_task(task, params)
    source = source_of(data, table, query, CsvForm.checked(sep, decimal, encoding))
    rows, found = training_rows(source, asked, settled, target_range)
    template = forest_class(found)(random_state=seed, **params)
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
        ray=ray,
    )
    chosen = result.best_params | {"random_depth": result.random_depths[tolerance]}
    told = {"metric": result.metric, "score": result.best_score, "params": chosen, "scores": result.scores}
    if out is None:
        present(as_json, told, result.table())
        return
    if not as_json:
        typer.echo(result.table())
    _fit_and_save(result.forest(), rows, out, jobs, as_json, told)


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{option} takes whole numbers, separated by commas, but got {text!r}.") from None


def _fit_and_save(
    estimator: Any,
    rows: Rows,
    out: Path,
    jobs: int,
    as_json: bool,
    more: dict[str, Any] | None = None,
    cluster: Cluster | None = None,
) -> None:
    begin = time.perf_counter()
    n_rows = len(rows)
    with _placed(estimator, out, cluster) as forest:
        with working(forest, jobs):
            _fit(forest, rows)
            seconds = time.perf_counter() - begin
            fingerprint = forest.fingerprint()
        with changing(out):
            is_file = keep(forest, out)
        about, in_words = _targets_of(forest)
        n_trees, n_columns = forest.n_estimators, forest.n_features_in_
    size = out.stat().st_size if is_file else None
    result = {
        "model": str(out),
        "n_rows": n_rows,
        "n_columns": n_columns,
        **about,
        "n_trees": n_trees,
        "target": rows.roles.target,
        "id": rows.roles.id,
        "subject": rows.roles.subject,
        **({} if size is None else {"bytes": size}),
        "seconds": seconds,
        "fingerprint": fingerprint,
    }
    present(
        as_json,
        (more or {}) | result,
        f"Trained {counted(n_trees, 'tree')} on {counted(n_rows, 'row')} of {counted(n_columns, 'column')}, "
        f"{in_words}, in {seconds:.2f} s.",
        f"{f'Left {out} on the cluster' if size is None else f'Wrote {out} ({size_text(size)})'}, fingerprint "
        f"{fingerprint}.",
    )


def _placed(estimator: Any, out: Path, cluster: Cluster | None) -> AbstractContextManager[Any]:
    """The same estimator where its forest is to be trained."""
    if cluster is None:
        return nullcontext(estimator)
    name = home_name(out)
    return cluster.for_a_while(estimator) if name is None else cluster.for_good(estimator, name)


def _fit(forest: Any, rows: Rows) -> None:
    if rows.file is None:
        forest.fit(rows.table, rows.labels, ids=rows.ids, subjects=rows.subjects)
        return
    try:
        forest.fit(rows.file, target=rows.roles.target, id=rows.roles.id, subject=rows.roles.subject)
    except FileNotFoundError:
        raise InvalidInputError(
            f"{rows.file} is on this machine, but workers on others do not see it. Put it where all of them do."
        ) from None


def _targets_of(forest: Any) -> tuple[dict[str, Any], str]:
    """What the forest predicts, for scripts and in words."""
    task = task_of(forest)
    if task == CLASSIFICATION:
        classes = forest.classes_.tolist()
        return {"task": task, "classes": classes}, f"{len(classes)} class{'' if len(classes) == 1 else 'es'}"
    limits = forest.target_range_
    return {"task": task, "target_range": list(limits)}, f"takes targets {span_text(*limits)}"
