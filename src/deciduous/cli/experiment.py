"""`deciduous experiment`: the evaluation of the paper, run with our forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import DeciduousError
from ..experiments import datasets, paper, report, runner
from ..experiments.protocols import PROTOCOLS
from ..experiments.scales import SCALES
from ..experiments.store import Record, Runs, Store, Unit
from ..experiments.wording import NOTHING, sentence
from . import _options as options
from ._output import CHECK_FAILED, JsonOption, note, present, present_table

# Plain help, as that of the other commands.
app = typer.Typer(rich_markup_mode=None)
Scale = StrEnum("Scale", list(SCALES))  # type: ignore[misc]

ScaleOption = Annotated[Scale, typer.Option("--scale", help=" ".join(f"{s.name}: {s.about}" for s in SCALES.values()))]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for results and report.")]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", envvar=datasets.FOLDER_VARIABLE, help="Folder of the data sets. Default: in the user's cache."
    ),
]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", help="Only this data set. May be repeated.")]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Do not download missing data sets.")]
PerNodeOption = Annotated[
    int,
    typer.Option(
        "--per-node", min=1, help="With --ray: units on a node at a time. More than one makes measured times unfair."
    ),
]
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
        ray: options.RayAddress = None,
        per_node: PerNodeOption = 1,
        as_json: JsonOption = False,
    ) -> None:
        cluster = None if ray is None else runner.Cluster(ray, per_node)
        request = runner.Request.checked(experiments, scale.value, only or (), data, not offline, cluster)
        store = Store(results_path(out, scale.value), scale.value)
        _run_with_progress(request, store)
        path = report.write(store.runs, request.scale, out / f"{scale.value}.html")
        without = store.runs.without_result()
        result = {
            "results": str(store.path),
            "report": str(path),
            "done": len(store.runs) - len(without),
            "without_result": {str(record.unit): record.reason for record in without},
        }
        present(as_json, result, f"Results: {store.path}", f"Report:  {path}")
        if any(str(record.reason).startswith("failed") for record in without):
            raise typer.Exit(CHECK_FAILED)

    return command


def _register(name: str, about: str, experiments: Sequence[str]) -> None:
    examples = options.examples(
        f"deciduous experiment {name} --scale smoke",
        f"deciduous experiment {name} --data data --only adult --offline --json",
    )
    app.command(name, help=about, epilog=examples)(_command(experiments))


for _protocol in PROTOCOLS.values():
    _register(_protocol.name, sentence(_protocol.about), [_protocol.name])
_register("all", "Run all experiments, one data set after the other.", list(PROTOCOLS))


@app.command("report", epilog=options.examples("deciduous experiment report --scale smoke"))
def write_report(scale: ScaleOption = DEFAULT_SCALE, out: OutOption = DEFAULT_OUT, as_json: JsonOption = False) -> None:
    """Rebuild the report from finished runs: tables and figures, compared with the paper's."""
    path = results_path(out, scale.value)
    if not path.exists():
        raise DeciduousError(f"There is no {path}. Run `deciduous experiment all --scale {scale.value}` first.")
    written = report.write(Runs.read(path), SCALES[scale.value], out / f"{scale.value}.html")
    present(as_json, {"report": str(written)}, f"Report: {written}")


@app.command("data", epilog=options.examples("deciduous experiment data --data data"))
def list_data(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the data sets: rows, attributes compared with the paper's, origin, and which are available here."""
    folder = datasets.data_folder(data)
    listed = [_described(its, data) for its in datasets.REGISTRY.values()]
    if as_json:
        present(True, {"folder": str(folder), "datasets": listed})
        return
    rows = [
        [
            its["name"],
            f"{its['train_rows']:,} + {its['test_rows']:,}",
            f"{its['attributes']:,}" + (f" ({its['attributes_of_paper']:,})" if its["attributes_of_paper"] else ""),
            NOTHING if its["positive"] is None else f"{100 * its['positive']:.1f}%",
            its["metric"],
            its["state"],
            f"{its['origin']} ({its['licence']})",
        ]
        for its in listed
    ]
    columns = ["name", "train + test rows", "attributes (paper)", "positive", "metric", "here", "origin, licence"]
    present_table(f"Data sets in {folder}", columns, rows)


def _described(its: datasets.Entry, data: Path | None) -> dict[str, Any]:
    missing = "no, can be fetched" if its.fetch else "no"
    is_regression = its.is_regression
    return {
        "name": its.name,
        "train_rows": its.expected.n_train,
        "test_rows": its.expected.n_test,
        "attributes": its.expected.n_attributes,
        "attributes_of_paper": None if is_regression else paper.dataset(its.paper_name).n_attributes,
        "positive": None if is_regression else its.expected.mean_label,
        "mean_target": its.expected.mean_label if is_regression else None,
        "metric": its.metric,
        "state": "made" if not its.is_real else missing if datasets.state_of(its.name, data) else "yes",
        "origin": its.origin,
        "licence": its.licence,
    }


@app.command("fetch", epilog=options.examples("deciduous experiment fetch adult bank_marketing --data data"))
def fetch_data(
    names: Annotated[list[str], typer.Argument(help="Data sets to download.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download data sets from their public sources (UCI, OpenML), and check them."""
    fetched = {}
    for name in names:
        note(f"Fetching {name} …")
        fetched[name] = str(datasets.fetch(name, data))
    present(as_json, {"files": fetched}, *(f"{name}: {path}" for name, path in fetched.items()))


@app.command("scale", epilog=options.examples("deciduous experiment scale --out results"))
def simulate_scale(
    measured: Annotated[
        Path | None,
        typer.Option("--measured", help="Results of `bench --only cluster`. Default: those that come along."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the simulation.")] = 0,
    out: OutOption = DEFAULT_OUT,
    as_json: JsonOption = False,
) -> None:
    """Simulate forests on Ray clusters: erasures per second, by rows and workers, and what limits them."""
    if find_spec("simpy") is None:
        raise DeciduousError("The simulation needs SimPy: pip install 'deciduous[experiments]'.")
    from ..experiments.cluster import telling
    from ..experiments.cluster.findings import Findings
    from ..experiments.cluster.measured import MEASURED, Measured
    from ..experiments.cluster.picture import drawn

    findings = Findings(Measured.read(measured or MEASURED), seed=seed)
    picture = out / "erasures.svg"
    out.mkdir(parents=True, exist_ok=True)
    picture.write_text(drawn(findings), encoding="utf-8")
    if as_json:
        present(True, {"picture": str(picture)} | findings.as_json())
        return
    for table in (tell(findings) for tell in (telling.comparison, telling.nodes, telling.designs)):
        present_table(table.title, list(table.head), [list(row) for row in table.rows])
    present(False, {}, f"Picture: {picture}")


def _run_with_progress(request: runner.Request, store: Store) -> None:
    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("planning", total=request.n_units)

        def on_start(unit: Unit) -> None:
            progress.update(bar, description=str(unit)[:60].ljust(60))

        def on_end(record: Record) -> None:
            on_start(record.unit)  # all begin together on a cluster
            if record.reason:
                console.print(f"{record.unit}: {record.reason}", highlight=False, markup=False)
            if record.unit.experiment != runner.DATA:
                progress.advance(bar)

        runner.run(request, store, on_start, on_end, lambda n: progress.advance(bar, n))
        progress.update(bar, description="done")
