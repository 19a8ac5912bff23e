"""The command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from deciduous.experiments import machine

from . import report, runner, scale
from .cases import CASES
from .results import FILE_NAME, Results
from .settings import FULL, QUICK

EXAMPLES = """\
examples:
  python -m benchmarks                         everything, about an hour on a quiet machine
  python -m benchmarks --quick                 everything in small, within five minutes
  python -m benchmarks --only adult predict    two cases, three seeds each
  python -m benchmarks --list                  what cases there are
  python -m benchmarks scale --minutes 60      8.8 million Higgs-shaped rows; adds to the results in --out
  python -m benchmarks report                  tables and plots anew, from the results in --out

The real data sets are looked for in the folder that DECIDUOUS_DATA names, or in the cache (deciduous experiment fetch);
without them their cases are skipped. For California housing, generated data of its shape stand in, and the report
says so. Peers that are not installed are left out (dependency group `bench`).
"""


def parser() -> argparse.ArgumentParser:
    """What can be said."""
    arguments = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure deciduous beside its peers; write JSON, tables with verdicts, and plots.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = arguments.add_argument
    add("command", nargs="?", choices=("run", "scale", "report"), default="run", help="what to do (default: run)")
    add("--quick", action="store_true", help="small sizes: within five minutes, verdicts only an indication")
    add("--only", nargs="+", default=[], metavar="NAME", help="only these cases")
    add("--seeds", type=positive, default=3, metavar="N", help="how often each case is repeated (default: 3)")
    add("--out", type=Path, default=Path("build/bench"), metavar="DIR", help="where to write (default: build/bench)")
    add("--list", action="store_true", help="list the cases and stop")
    of_scale = arguments.add_argument_group("scale")
    usual = scale.Scale()
    of_scale.add_argument("--minutes", type=float, default=usual.minutes, help="limit of time (default: 60)")
    of_scale.add_argument("--rows", type=positive, default=usual.n_rows, help="rows (default: 8800000)")
    of_scale.add_argument("--trees", type=positive, default=usual.n_trees, help="trees (default: 50)")
    of_scale.add_argument("--random-depth", type=int, default=usual.random_depth, help="d_rmax (default: 3)")
    return arguments


def positive(text: str) -> int:
    """A number of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but is {number}")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; the exit status is 1 if a case failed."""
    its_parser = parser()
    options = its_parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{case.name:<16} {case.about}" for case in CASES))
        return 0
    if options.command == "run":
        try:
            runner.chosen(options.only)
        except ValueError as error:
            its_parser.error(str(error))
        results = run(options)
    else:
        results = earlier_or_new(options.out)
    if options.command == "scale":
        run_scale(options, results)
    for path in report.write(results, options.out):
        print(path)
    return 1 if results.failed else 0


def run(options: argparse.Namespace) -> Results:
    """The chosen cases."""
    sizes = QUICK if options.quick else FULL
    results = Results(machine.description(), {"sizes": sizes.name, "seeds": options.seeds, "only": options.only})
    runner.run(runner.chosen(options.only), sizes, range(options.seeds), results, options.out)
    return results


def run_scale(options: argparse.Namespace, results: Results) -> None:
    """The run with millions of rows, added to what is there."""
    its = scale.Scale(options.rows, options.trees, options.random_depth, options.minutes)
    scale.run(its, results)
    results.save(options.out)


def earlier_or_new(out: Path) -> Results:
    """The results in this folder, or none yet."""
    path = out / FILE_NAME
    return Results.load(path) if path.exists() else Results(machine.description(), {"sizes": FULL.name})
