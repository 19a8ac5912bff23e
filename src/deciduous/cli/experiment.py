"""`deciduous experiment`: the evaluation of the paper, run with our forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..errors import DeciduousError
from ..experiments import datasets, paper, report, runner
from ..experiments.protocols import PROTOCOLS
from ..experiments.scales import SCALES
from ..experiments.store import Record, Runs, Store, Unit
from ..experiments.wording import sentence
from ._output import CHECK_FAILED

app = typer.Typer(
    no_args_is_help=True,
    help="Run the paper's experiments, ours beside theirs. Runs can be interrupted and go on where they were.",
)
Scale = StrEnum("Scale", list(SCALES))  # type: ignore[misc]

ScaleOption = Annotated[Scale, typer.Option("--scale", help=" ".join(f"{s.name}: {s.about}" for s in SCALES.values()))]
OutOption = Annotated[Path, typer.Option("--out", help="Folder of results and report.")]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar=datasets.FOLDER_VARIABLE, help="Folder of data sets. Default: in the user's cache."),
]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", help="Only this data set; may be repeated.")]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Do not fetch data sets that are not there.")]
DEFAULT_SCALE = Scale("small")
DEFAULT_OUT = Path("deciduous-experiments")


def results_path(out: Path, scale: str) -> Path:
    """Where the runs of a scale are kept."""
    return out / f"{scale}.jsonl"


def _command(experiments: Sequence[str]) -> Callable[..., None]:
    """A command that runs these experiments."""

    def command(
        scale: ScaleOption = DEFAULT_SCALE,
        data: DataOption = None,
        out: OutOption = DEFAULT_OUT,
        only: OnlyOption = None,
        offline: OfflineOption = False,
    ) -> None:
        request = runner.Request.checked(experiments, scale.value, only or (), data, not offline)
        store = Store(results_path(out, scale.value), scale.value)
        _run_with_progress(request, store)
        path = report.write(store.runs, request.scale, out / f"{scale.value}.html")
        console.print(f"Results: {store.path}\nReport:  {path}")
        failed = [record for record in store.runs.without_result() if str(record.reason).startswith("failed")]
        if failed:
            raise typer.Exit(CHECK_FAILED)

    return command


for _protocol in PROTOCOLS.values():
    app.command(_protocol.name, help=sentence(_protocol.about))(_command([_protocol.name]))
app.command("all", help="All experiments, one data set after the other.")(_command(list(PROTOCOLS)))


@app.command("report")
def write_report(scale: ScaleOption = DEFAULT_SCALE, out: OutOption = DEFAULT_OUT) -> None:
    """Build the page anew from what was run: tables and figures, the paper's beside ours."""
    path = results_path(out, scale.value)
    if not path.exists():
        raise DeciduousError(f"There is no {path}. Run `deciduous experiment all --scale {scale.value}` first.")
    written = report.write(Runs.read(path), SCALES[scale.value], out / f"{scale.value}.html")
    console.print(f"Report: {written}")


@app.command("data")
def list_data(data: DataOption = None) -> None:
    """List the data sets: rows, attributes beside the paper's, origin, and which are here."""
    table = Table(title=f"Data sets in {datasets.data_folder(data)}", title_justify="left")
    for column in ("name", "train + test rows", "attributes (paper)", "positive", "metric", "here", "origin, licence"):
        table.add_column(column)
    for its in datasets.REGISTRY.values():
        here = "made" if not its.is_real else "no" if datasets.state_of(its.name, data) else "yes"
        table.add_row(
            its.name,
            f"{its.expected.n_train:,} + {its.expected.n_test:,}",
            f"{its.expected.n_attributes:,} ({paper.dataset(its.paper_name).n_attributes:,})",
            f"{100 * its.expected.positive_rate:.1f}%",
            its.metric,
            here if here != "no" else "no, can be fetched" if its.fetch else "no",
            f"{its.origin} ({its.licence})",
        )
    console.print(table)


@app.command("fetch")
def fetch_data(names: Annotated[list[str], typer.Argument(help="Data sets.")], data: DataOption = None) -> None:
    """Download data sets from their public sources (UCI, OpenML), and check them."""
    for name in names:
        console.print(f"{name}: {datasets.fetch(name, data)}")


console = Console()


def _run_with_progress(request: runner.Request, store: Store) -> None:
    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("planning", total=request.n_units)

        def on_start(unit: Unit) -> None:
            progress.update(bar, description=str(unit)[:60].ljust(60))

        def on_end(record: Record) -> None:
            if record.reason:
                progress.console.print(f"{record.unit}: {record.reason}", highlight=False)
            if record.unit.experiment != runner.DATA:
                progress.advance(bar)

        runner.run(request, store, on_start, on_end, lambda n: progress.advance(bar, n))
        progress.update(bar, description="done")
