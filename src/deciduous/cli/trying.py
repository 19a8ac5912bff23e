"""`deciduous demo` and `deciduous bench`."""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..errors import DeciduousError
from . import _options as options
from ._output import CHECK_FAILED, JsonOption, present

app = typer.Typer()


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
        "deciduous bench --quick", "deciduous bench --list", "deciduous bench --only adult predict"
    ),
)
def bench(context: typer.Context) -> None:
    """Measure speed and memory beside other libraries. Needs the repository: run it in its folder.

    Options are those of `python -m benchmarks`; results are JSON, tables and plots in build/bench.
    """
    here = Path.cwd()
    if not (here / "benchmarks" / "instructions.json").exists():
        raise DeciduousError(
            "The benchmarks are not part of the installed package. Get the repository of deciduous, and run "
            "`make bench`, or this command, in its folder."
        )
    sys.path.insert(0, str(here))
    raise typer.Exit(importlib.import_module("benchmarks.cli").main(context.args))
