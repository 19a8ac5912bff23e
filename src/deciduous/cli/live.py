"""`deciduous live`: forests that follow a SQL table."""

from __future__ import annotations

import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._targets import CLASSIFICATION
from .._tasks import settled_task
from ..errors import DeciduousError
from . import _options as options
from ._databases import connected_live, opened_live, require_database, where
from ._output import JsonOption, counted, note, present, present_table, shows_bars, with_commands
from ._outputs import App
from ._rows import say_task, warn_of_labels
from ._verifying import verify_live

if TYPE_CHECKING:
    from ..live import Receipt, Request, SyncReport

app = App(no_args_is_help=True, help="Forests that follow a SQL table: change the table, then sync.")

FolderArgument = Annotated[Path, typer.Argument(readable=False, help="Folder of the live forest.")]
SubjectArgument = Annotated[str, typer.Argument(help="The subject, as named in the table.")]
KeyOption = Annotated[
    str | None, typer.Option("--key", help="Idempotency key. Repeating a command with the same key does nothing.")
]
DueOption = Annotated[float, typer.Option("--due-days", min=0, help="Days until the request is due.")]
UrlOption = Annotated[str | None, typer.Option("--url", help="Database URL, if it has moved or needs a password.")]


@app.command(
    epilog=options.examples(
        "deciduous live create sqlite:///clinic.db clinic.forest --table patients --id id --target readmitted",
        "deciduous live create postgresql://me@db/clinic clinic.forest --table patients --id id \\",
        "    --target readmitted --subject person_id --capture",
        "deciduous live create sqlite:///homes.db homes.forest --table homes --id id --target price \\",
        "    --task regression --target-range 0 2000000",
    )
)
def create(
    url: Annotated[str, typer.Argument(help="Database URL, such as sqlite:///clinic.db or postgresql://me@db/clinic.")],
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    id: Annotated[str, typer.Option("--id", help="Column with the row ids.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict: labels or numbers.")],
    table: options.TableOption = None,
    query: options.QueryOption = None,
    subject: options.SubjectOption = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Columns to split on, separated by commas. Default: all others.")
    ] = None,
    categorical: options.CategoricalOption = None,
    capture: Annotated[
        bool, typer.Option("--capture", help="Install triggers that record the ids of changed rows. Makes sync fast.")
    ] = False,
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
    jobs: options.JobsOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Train a forest on a table, and store it in a folder. From then on it can follow the table.

    With --ray, the workers of a cluster grow the trees, and the forest is the same. That is for this command alone: say
    it again to sync there.
    """
    from ..live import LiveForest

    params = {
        "n_estimators": trees,
        "max_depth": depth,
        "n_thresholds": thresholds,
        "random_depth": random_depth,
        "random_state": seed,
        "n_jobs": jobs,
        "categorical_features": list(options.asked_columns(categorical=categorical).categorical) or None,
        **options.other_params(set_, target_range),
    }
    is_guessed = settled_task(task, params) is None
    cluster = options.asked_cluster(ray, workers)
    require_database(url, "A live forest follows one that is there.")
    live = LiveForest.create(
        url,
        table=table,
        query=query,
        id=id,
        target=target,
        subject=subject,
        columns=None if columns is None else columns.split(","),
        folder=folder,
        params=params,
        task=task,
        capture=capture,
        verbose=int(shows_bars()),
        **where(cluster),
    )
    with live:
        result = {"folder": str(folder), **live.status(), "columns": live.columns}
        classes = live.classes_ if live.task == CLASSIFICATION else None
        if is_guessed and (classes is None or classes.dtype.kind in "if"):
            say_task(live.task, target)
        if classes is not None:
            warn_of_labels(target, classes, result["n_rows"], live.task)
    present(
        as_json,
        result,
        f"Made {folder}: {counted(trees, 'tree')} on {counted(result['n_rows'], 'row')} of {result['source']}, "
        f"split on {', '.join(result['columns'])}.",
        f"Fingerprint {result['fingerprint']}.",
    )


@app.command(
    epilog=options.examples(
        "deciduous live sync clinic.forest",
        "deciduous live sync clinic.forest --ray head:6379",
        "deciduous live sync clinic.forest --compare     # after a restored backup, or other ways around triggers",
    )
)
def sync(
    folder: FolderArgument,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare the whole table, even if triggers recorded changes.")
    ] = False,
    url: UrlOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Apply all changes to the table since the last sync.

    If another process has the folder open, that process does the work.
    """
    with connected_live(folder, url, options.asked_cluster(ray, workers)) as live:
        report = live.sync(compare=compare)
        _show_sync(report, as_json)


@app.command(
    epilog=options.examples("deciduous live verify clinic.forest", "deciduous live verify clinic.forest --json")
)
def verify(
    folder: FolderArgument,
    url: UrlOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the receipts, retrain from the table, and compare every byte, as `deciduous verify` does.

    Exits with 1 if something is wrong, and with 5 if the table has changed since the last sync. In that case, sync
    first.
    """
    verify_live(folder, url, as_json, options.asked_cluster(ray, workers))


@app.command(
    epilog=options.examples(
        "deciduous live watch clinic.forest",
        "deciduous live watch clinic.forest --every 60 --json >> syncs.jsonl",
    )
)
def watch(
    folder: FolderArgument,
    every: Annotated[float, typer.Option("--every", min=0.01, help="Seconds between checks of the database.")] = 5,
    url: UrlOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sync whenever the table changes, until Ctrl-C. Prints a line for each sync that found changes.

    With PostgreSQL and --capture (see create), triggers report changes. Otherwise the database is checked every few
    seconds.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what supervisors send: end as with Ctrl-C
    with opened_live(folder, url, options.asked_cluster(ray, workers)) as live:
        try:
            for number, report in enumerate(live.watch(every, on_trouble=_show_trouble)):
                if report.receipts or number == 0:
                    _show_sync(report, as_json)
                live.store()  # after the line: a change is acknowledged before the snapshot is written
        except KeyboardInterrupt:
            note("Stopped.")


@app.command(
    epilog=options.examples(
        "deciduous live erase clinic.forest u-17",
        "deciduous live erase clinic.forest u-17 --key request-2031 --json",
    )
)
def erase(
    folder: FolderArgument,
    subject: SubjectArgument,
    key: KeyOption = None,
    due_days: DueOption = 30,
    vacuum: Annotated[bool, typer.Option("--vacuum/--no-vacuum", help="Rewrite the SQLite file.")] = True,
    url: UrlOption = None,
    ray: options.RayOption = None,
    workers: options.WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete all rows of a subject from the table, and sync.

    If another process has the folder open, that process does the work.
    """
    with connected_live(folder, url, options.asked_cluster(ray, workers)) as live:
        report = live.erase(subject, idempotency_key=key, due_days=due_days, vacuum=vacuum)
    request = report.request
    result = {
        "request": asdict(request),
        "sync": None if report.sync is None else _sync_as_dict(report.sync),
    }
    lines = [f"Request {request.id}: {request.state}." + (f" {request.reason}" if request.reason else "")]
    if report.sync is not None:
        lines.append(_sync_line(report.sync))
    present(as_json, result, *lines)


@app.command(
    epilog=options.examples("deciduous live capture clinic.forest", "deciduous live capture clinic.forest --remove")
)
def capture(
    folder: FolderArgument,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the triggers and everything that belongs to them.")
    ] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Install triggers that record the ids of changed rows, as `create --capture` does, or remove them.

    The forest is the same either way. Without triggers, each sync compares the whole table.
    """
    with connected_live(folder, url) as live:
        if remove:
            live.remove_capture()
        else:
            live.install_capture()
        source = live.status()["source"]
    what = f"Removed the triggers from {source}." if remove else f"Installed triggers on {source}."
    present(as_json, {"folder": str(folder), "captures": not remove}, what)


@app.command(
    epilog=options.examples(
        "deciduous live receipts clinic.forest",
        "deciduous live receipts clinic.forest --request 5d1c0e9a2b7f4e63 --json",
        "deciduous live receipts clinic.forest --certificate 2 --organisation 'City Clinic' -o certificate.html",
    )
)
def receipts(
    folder: FolderArgument,
    request: Annotated[str | None, typer.Option("--request", help="Only receipts about this request.")] = None,
    certificate: Annotated[
        int | None,
        typer.Option("--certificate", min=1, help="Write a certificate about this receipt, to print and file."),
    ] = None,
    organisation: Annotated[
        str | None,
        typer.Option("--organisation", help="Organisation responsible for the model, named on the certificate."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File for the certificate, or for the receipts as JSON."),
    ] = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List receipts, write them to a file, or write a certificate.

    This also works while another process has the folder open.
    """
    from ..live import read_record

    if certificate is not None and out is None:
        raise typer.BadParameter("Name the file of the certificate with --out.")
    if request is None and out is None:
        listed = read_record(folder)[1]
    else:
        with connected_live(folder, url, needs_table=False) as live:
            listed = live.receipts(request)
            page = None if certificate is None else live.certificate(certificate, organisation=organisation)
    if out is not None:
        _write_record(listed, page, out)
        present(as_json, {"folder": str(folder), "out": str(out)}, f"Wrote {out}.")
    elif as_json:
        present(True, {"receipts": [receipt.as_dict() for receipt in listed]})
    else:
        rows = [_receipt_cells(receipt) for receipt in listed]
        present_table(str(folder), ["number", "kind", "time", "rows", "changes", "requests", "forest"], rows)


def _receipt_cells(receipt: Receipt) -> list[str]:
    return [
        str(receipt.number),
        receipt.kind,
        receipt.time,
        "" if receipt.n_rows is None else f"{receipt.n_rows:,}",
        f"+{receipt.n_added} -{receipt.n_deleted} ~{receipt.n_updated}",
        ", ".join(receipt.requests),
        (receipt.after or "")[:16],
    ]


def _write_record(receipts: list[Receipt], page: str | None, out: Path) -> None:
    from .._container import write_atomically
    from ..live.receipts import as_file

    write_atomically(out, [as_file(receipts) if page is None else page.encode()])


@app.command(
    epilog=options.examples(
        "deciduous live receive clinic.forest u-17",
        "deciduous live receive clinic.forest u-17 --key letter-2031 --due-days 14 --json",
    )
)
def receive(
    folder: FolderArgument,
    subject: SubjectArgument,
    key: KeyOption = None,
    due_days: DueOption = 30,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record a request for erasure. The sync that finds no row of the subject left in the table settles it."""
    with connected_live(folder, url) as live:
        request = live.requests.receive(subject, idempotency_key=key, due_days=due_days)
    _show_request(request, as_json)


@app.command(
    epilog=options.examples(
        "deciduous live refuse clinic.forest 5d1c0e9a2b7f4e63 --reason 'The law keeps it for ten years.'"
    )
)
def refuse(
    folder: FolderArgument,
    request: Annotated[str, typer.Argument(help="Id of the request.")],
    reason: Annotated[
        str, typer.Option("--reason", help="The reason. It is stored as it is, so it should not say who asked.")
    ],
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a request without erasing anything."""
    with connected_live(folder, url, needs_table=False) as live:
        refused = live.requests.refuse(request, reason)
    _show_request(refused, as_json)


@app.command(
    epilog=options.examples("deciduous live requests clinic.forest", "deciduous live requests clinic.forest --open")
)
def requests(
    folder: FolderArgument,
    only_open: Annotated[bool, typer.Option("--open", help="Only requests that still need action.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the requests for erasure and their outcomes. Also works while another process syncs."""
    from ..live import read_record

    listed = [its for its in read_record(folder)[2] if its.is_open or not only_open]
    if as_json:
        present(True, {"requests": [_request_as_dict(its) for its in listed]})
        return
    columns = ["request", "state", "received", "due", "reason"]
    rows = [[its.id, _state_of(its), its.received, its.due, its.reason or ""] for its in listed]
    present_table(str(folder), columns, rows)


def _show_request(request: Request, as_json: bool) -> None:
    reason = f" {request.reason}" if request.reason else ""
    due = f" It is due {request.due}." if request.is_open else ""
    present(as_json, {"request": _request_as_dict(request)}, f"Request {request.id}: {request.state}.{due}{reason}")


def _request_as_dict(request: Request) -> dict[str, Any]:
    return asdict(request) | {"is_overdue": request.is_overdue}


def _state_of(request: Request) -> str:
    return f"{request.state}, OVERDUE" if request.is_overdue else request.state


@app.command(epilog=options.examples("deciduous live status clinic.forest --json"))
def status(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Show the status: rows, last change, open and overdue requests. Also works while another process syncs."""
    from ..live import read_record

    where, _, asked = read_record(folder)
    result = {"folder": str(folder), **where, "requests": [_request_as_dict(its) for its in asked if its.is_open]}
    if as_json:
        present(True, result)
        return
    rows = [[name.replace("_", " "), str(value)] for name, value in where.items()]
    present_table(str(folder), ["what", "value"], rows)
    for its in asked:
        if its.is_open:
            typer.echo(f"Open: request {its.id}, due {its.due}" + (", OVERDUE." if its.is_overdue else "."))


def _show_trouble(error: Exception, seconds: float) -> None:
    reason = " ".join(str(getattr(error, "orig", None) or error).split())
    told = reason if isinstance(error, DeciduousError) else f"The database says: {reason.rstrip('.')}."
    note(f"{told} Trying again in {seconds:g} s.")


def _show_sync(report: SyncReport, as_json: bool) -> None:
    present(as_json, _sync_as_dict(report), _sync_line(report))


def _sync_as_dict(report: SyncReport) -> dict[str, Any]:
    return asdict(report) | {"receipts": [receipt.number for receipt in report.receipts]}


def _sync_line(report: SyncReport) -> str:
    time = f"{report.receipts[-1].time} " if report.receipts else ""
    what = f"+{report.n_added} -{report.n_deleted} ~{report.n_updated}" if report.receipts else "no change"
    remains = f" {with_commands(report.remains)}" if report.remains else ""
    return (
        f"{time}{what}, {counted(report.n_rows, 'row')}, by {report.method} in {report.seconds:.2f} s, "
        f"fingerprint {report.fingerprint}.{remains}"
    )
