"""`deciduous demo` and `deciduous bench`."""

from __future__ import annotations

import importlib
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import DeciduousError
from . import _options as options
from ._output import CHECK_FAILED, JsonOption, present
from ._outputs import App

app = App()


@app.command(epilog=options.examples("deciduous demo", "deciduous demo --trees 20 --jobs 2"))
def demo(
    trees: Annotated[int, typer.Option("--trees", min=1, help="Trees in each forest.")] = 50,
    jobs: options.JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Train, delete, add back and verify on bundled data, timed against retraining."""
    from .. import demo as demonstration

    if not as_json:
        raise typer.Exit(demonstration.main(["--trees", str(trees), "--jobs", str(jobs)]))
    outcomes = [demonstration.run(data, trees, jobs, lambda _: None) for data in demonstration.data_sets()]
    present(True, {"outcomes": [asdict(its) for its in outcomes]})
    if not all(its.is_exact for its in outcomes):
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
    """Measure speed and memory beside other libraries. Needs the repository: run it in its folder.

    Options are those of `python -m benchmarks`; results are JSON, tables and plots in build/bench. With --json, how
    far it is goes to stderr.
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
