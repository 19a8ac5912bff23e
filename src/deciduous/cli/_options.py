"""Options that several commands have."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .._targets import CLASSIFICATION, REGRESSION
from .._tasks import AUTO, TASKS, parameters, refuse_with_reason
from ..errors import InvalidInputError
from ._clusters import Cluster
from ._rows import Asked

ROWS = "Rows"
FOREST = "Forest"

DataArgument = Annotated[
    str, typer.Argument(help="A CSV, Parquet or Arrow file, a database URL, or - for standard input.")
]
SepOption = Annotated[
    str | None, typer.Option("--sep", help="Column separator in CSV, such as ; or tab. Default: detected.")
]
DecimalOption = Annotated[
    str | None, typer.Option("--decimal", help="Decimal separator in CSV: . or , Default: detected.")
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of CSV, such as latin1. Default: from a byte-order mark, or UTF-8."),
]
# Not looked at by Typer, to which a file that may not be read is wrong usage.
ModelArgument = Annotated[Path, typer.Argument(readable=False, help="A model file.")]
AnyModelArgument = Annotated[Path, typer.Argument(readable=False, help="A model file, or the folder of a live forest.")]
ClusterModelArgument = Annotated[Path, typer.Argument(readable=False, help="A model file, or cluster:NAME with --ray.")]
AnyClusterModelArgument = Annotated[
    Path,
    typer.Argument(readable=False, help="A model file, the folder of a live forest, or cluster:NAME with --ray."),
]
TableOption = Annotated[str | None, typer.Option("--table", help="Table or view to read from a database.")]
QueryOption = Annotated[str | None, typer.Option("--query", help="SQL query to read from a database.")]

TargetOption = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict: labels or numbers.")]
IdOption = Annotated[str | None, typer.Option("--id", help="Column with the row ids.")]
SubjectOption = Annotated[str | None, typer.Option("--subject", help="Column that says whom a row belongs to.")]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option("--categorical", help="Treat this column as categorical, even if it holds numbers or names."),
]
DropOption = Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out. May be repeated.")]
NumberRowsOption = Annotated[
    bool, typer.Option("--number-rows", help="Number the rows 0, 1, 2, … even if a column looks like ids.")
]


class Task(StrEnum):
    """What a forest is for."""

    auto = AUTO
    classification = CLASSIFICATION
    regression = REGRESSION


TaskOption = Annotated[
    Task,
    typer.Option(
        "--task",
        metavar="TASK",
        help="classification, regression, or auto: text, truth values and few different whole numbers are classes, "
        "other numbers are a regression.",
    ),
]
TargetRangeOption = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--target-range",
        metavar="LOW HIGH",
        help="Lowest and highest target of a regression to expect, also in rows that come later. Default: from the "
        "rows.",
    ),
]
TreesOption = Annotated[int, typer.Option("--trees", min=1, help="Number of trees.")]
DepthOption = Annotated[int, typer.Option("--depth", min=1, max=256, help="Maximum depth of the trees.")]
ThresholdsOption = Annotated[
    int, typer.Option("--thresholds", min=1, help="Number of thresholds sampled per attribute.")
]
RandomDepthOption = Annotated[
    int, typer.Option("--random-depth", min=0, help="Nodes above this depth split at random.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter of the estimator. May be repeated."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="Random seed. Default: a secret one.")]
# Parameters of the forest that have an option of their own.
OWN_OPTIONS = {
    "n_estimators": "--trees",
    "max_depth": "--depth",
    "n_thresholds": "--thresholds",
    "random_depth": "--random-depth",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "target_range": "--target-range",
}


MOST_THREADS = 4096


def _threads(jobs: int) -> int:
    if jobs == 0 or abs(jobs) > MOST_THREADS:
        raise typer.BadParameter(
            f"is a number of threads up to {MOST_THREADS}, or -1 for all processors, but not {jobs}."
        )
    return jobs


JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", callback=_threads, help="Number of threads; -1 for all processors.")
]

RayAddress = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS", help="Address of a Ray cluster, such as auto or ray://head:10001."),
]


RayOption = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS", help="Work on the Ray cluster there, such as auto or head:6379."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Workers of the forest on the cluster. Default: one for each machine."),
]
RowsFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        readable=False,
        help="Folder for the rows that all machines of the cluster see. Default: a temporary one on this machine.",
    ),
]


def asked_cluster(ray: str | None, workers: int | None, folder: Path | None = None) -> Cluster | None:
    """The cluster to work on, which this process then has joined; None if the work is done here."""
    if ray is not None:
        return Cluster.joined(ray, workers, folder)
    if workers is not None or folder is not None:
        raise typer.BadParameter("--workers and --folder are about a cluster: say which one with --ray.")
    return None


IdsOption = Annotated[str | None, typer.Option("--ids", help="Ids of rows, separated by commas.")]
IdsFileOption = Annotated[
    Path | None,
    typer.Option("--ids-file", readable=False, help="File with one id per line; - for standard input."),
]
SubjectsOption = Annotated[
    list[str] | None, typer.Option("--subject", help="Select all rows of this subject. May be repeated.")
]


def asked_columns(
    target: str | None = None,
    id: str | None = None,
    subject: str | None = None,
    categorical: list[str] | None = None,
    drop: list[str] | None = None,
    numbers_rows: bool = False,
) -> Asked:
    """What the user says about columns; lists may also be separated by commas."""
    return Asked(target, id, subject, _split(categorical), _split(drop), numbers_rows)


def _split(given: list[str] | None) -> tuple[str, ...]:
    return tuple(name for part in given or () for name in part.split(","))


def other_params(given: list[str] | None, target_range: tuple[float, float] | None) -> dict[str, Any]:
    """The parameters of `--set`, whose values are JSON or text, and the range of targets, if there is one."""
    from .._targets import given_range

    known = list(dict.fromkeys(name for task in TASKS for name in parameters(task) if name not in OWN_OPTIONS))
    params: dict[str, Any] = {} if target_range is None else {"target_range": given_range(target_range)}
    for part in given or ():
        name, equals, value = part.partition("=")
        if name in OWN_OPTIONS:
            raise InvalidInputError(f"--set is for parameters without an option: say {name} by {OWN_OPTIONS[name]}.")
        if not equals or name not in known:
            refuse_with_reason(name)
            raise InvalidInputError(f"--set takes NAME=VALUE, but got {part!r}. The names are {', '.join(known)}.")
        try:
            params[name] = json.loads(value)
        except ValueError:
            params[name] = value
    return params


def examples(*lines: str) -> str:
    """The end of a help text, with lines that are not filled."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
