"""`deciduous demo` and `deciduous bench`."""

from __future__ import annotations

import importlib
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import DeciduousError
from . import _options as options
from ._output import CHECK_FAILED, JsonOption, present
from ._outputs import App

app = App()


@app.command(  # which looks after its folder by itself
    cls=TyperCommand,
    epilog=options.examples(
        "deciduous demo", "deciduous demo --quick", "deciduous demo --trees 50 --jobs 2 --out shown"
    ),
)
def demo(
    rows: Annotated[int | None, typer.Option("--rows", min=1000, help="Number of rows. Default: 200,000.")] = None,
    trees: Annotated[int | None, typer.Option("--trees", min=1, help="Number of trees. Default: 25.")] = None,
    jobs: options.JobsOption = 1,
    out: Annotated[Path, typer.Option("--out", help="Folder to write. That of an earlier run is replaced.")] = Path(
        "build/demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Use a small table and forest. Takes seconds.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete one patient from a forest of many visits: cost, proof, certificate, and a page with the latencies.

    It takes about a minute and needs no data. With --json, the text output goes to stderr.
    """
    from ..demo import command
    from ..demo.folder import PAGE

    setting = command.setting_of(rows, trees, jobs, is_quick=quick)
    story = command.run(setting, out, sys.stderr if as_json else sys.stdout)
    if as_json:
        present(True, {"exact": story.is_exact, "page": str(out / PAGE), **story.as_dict()})
    if not story.is_exact:
        raise typer.Exit(CHECK_FAILED)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog=options.examples(
        "deciduous bench --quick",
        "deciduous bench --list --json",
        "deciduous bench --only adult predict",
    ),
)
def bench(context: typer.Context, as_json: JsonOption = False) -> None:
    """Compare speed and memory with other libraries. Needs the repository: run it in its folder.

    The options are those of `python -m benchmarks`. Results are JSON, tables and plots in build/bench. With --json,
    progress goes to stderr.
    """
    here = Path.cwd()
    if not (here / "benchmarks" / "instructions.json").exists():
        raise DeciduousError(
            "The benchmarks are not part of the installed package. Get the repository of deciduous, and run "
            "`make bench`, or this command, in its folder."
        )
    sys.path.insert(0, str(here))
    benchmarks = importlib.import_module("benchmarks.cli")
    if not as_json:
        raise typer.Exit(benchmarks.main(context.args))
    with redirect_stdout(sys.stderr):
        code = benchmarks.main(context.args)
    present(True, _bench_as_dict(benchmarks, benchmarks.parser().parse_args(context.args)))
    raise typer.Exit(code)


def _bench_as_dict(benchmarks: Any, chosen: Any) -> dict[str, Any]:
    if chosen.list:
        return {"cases": {case.name: case.about for case in benchmarks.CASES}}
    results = benchmarks.earlier_or_new(chosen.out)
    return {
        "out": str(chosen.out),
        "seconds": results.durations,
        "skipped": results.skipped,
        "failed": results.failed,
    }
