"""`deciduous serve`: models over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._databases import require_table
from ._output import JsonOption, note, present
from ._outputs import App
from ._serving import KeysFileOption, keys_path, needed

app = App()


@app.command(
    epilog=options.examples(
        "deciduous keys create clinic.forest --scope predict --note 'the ward'",
        "deciduous serve clinic.forest",
        "deciduous serve clinic.forest homes.forest --host 0.0.0.0 --port 8080 --organisation 'City Clinic'",
        "deciduous serve clinic.forest --insecure-local     # without keys, for this machine alone",
    )
)
def serve(
    folders: Annotated[list[Path], typer.Argument(readable=False, help="Folders of live forests.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen at; 0 for any.")] = 8000,
    insecure_local: Annotated[
        bool, typer.Option("--insecure-local", help="Ask for no keys. Only with an address of this machine alone.")
    ] = False,
    keys: KeysFileOption = None,
    organisation: Annotated[
        str | None,
        typer.Option("--organisation", help="Organisation responsible for the models, named on certificates."),
    ] = None,
    every: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between looks at the tables, which others may change.")
    ] = 60,
    vacuum: Annotated[bool, typer.Option("--vacuum/--no-vacuum", help="Rewrite SQLite files after deletions.")] = True,
    rate: Annotated[float, typer.Option("--rate", min=0.01, help="Requests per second that a key may make.")] = 200,
    largest_body: Annotated[int, typer.Option("--largest-body", min=1024, help="Bytes that a request may have.")] = 10
    * 2**20,
    most_rows: Annotated[int, typer.Option("--most-rows", min=1, help="Rows that a request may have.")] = 10_000,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Predictions at the same time.")] = 4,
    url: Annotated[
        str | None, typer.Option("--url", help="Database URL of all models, if it has moved or needs a password.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve models over HTTP: they predict, take rows in, forget rows, and prove it. See docs/service.md.

    Ends with Ctrl-C or SIGTERM, after what is under way. Each request leaves a line on stderr, without values of rows.
    """
    needed()
    from ..service.server import serve as run
    from ..service.settings import Settings

    def say(names: list[str], url: str) -> None:
        present(as_json, {"models": names, "url": url}, f"Serving {', '.join(names)} at {url}")

    for folder in folders:
        require_table(folder, url)
    settings = Settings(
        largest_body=largest_body,
        most_rows=most_rows,
        threads=threads,
        rate=rate,
        burst=max(1, round(2 * rate)),
        every=every,
        vacuum=vacuum,
        organisation=organisation,
    )
    run(
        folders,
        host,
        port,
        url=url,
        keys=keys_path(folders[0], keys),
        insecure_local=insecure_local,
        settings=settings,
        tell=say,
    )
    note("Stopped.")
