"""What is typed: options, exit codes, and the last lines."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import IO

from ..errors import DeciduousError
from .folder import PAGE, fresh_folder
from .measures import Setting, Story
from .telling import Teller

ROWS, TREES, SINGLES = 200_000, 25, 300
QUICK_ROWS, QUICK_TREES, QUICK_SINGLES = 4_000, 5, 40
FEWEST_ROWS = 1_000
OUT = Path("build/demo")
NOT_EXACT, PROBLEM, INTERRUPTED = 1, 3, 130

EXAMPLES = """
examples:
  python -m deciduous.demo                        the whole story, in about a minute
  python -m deciduous.demo --quick                a small one, in seconds
  python -m deciduous.demo --rows 500000 --trees 50 --jobs -1
  python -m deciduous.demo --out /tmp/forgotten

The folder of an earlier run is replaced, and no other. Exit code: 0 if all was exact, 1 if not, 3 for a problem.
"""


def setting_of(rows: int | None, trees: int | None, jobs: int, *, is_quick: bool) -> Setting:
    """How large everything is, as far as it is not said."""
    usual = (QUICK_ROWS, QUICK_TREES, QUICK_SINGLES) if is_quick else (ROWS, TREES, SINGLES)
    return Setting(rows or usual[0], trees or usual[1], jobs, usual[2])


def run(setting: Setting, out: Path, file: IO[str] | None = None) -> Story:
    """The demonstration, into a folder, told to a stream."""
    from .story import n_steps, told  # which takes a while, and may be interrupted, too

    start = time.perf_counter()
    teller = Teller(n_steps(), file)
    with fresh_folder(out) as folder:
        story = told(setting, folder, teller)
    verdict = "Exact, byte for byte." if story.is_exact else "NOT EXACT, which should not be: please report it."
    teller.end(f"{verdict} All of it took {time.perf_counter() - start:.0f} s.", is_good=story.is_exact)
    teller.say("the whole story", str(out / PAGE))
    return story


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; 0 if everything was exact."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    setting = setting_of(chosen.rows, chosen.trees, chosen.jobs, is_quick=chosen.quick)
    try:
        return 0 if run(setting, chosen.out).is_exact else NOT_EXACT
    except (DeciduousError, OSError) as error:
        print(f"{error}", file=sys.stderr)
        return PROBLEM
    except KeyboardInterrupt:
        print("Interrupted. Nothing was left behind.", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deciduous.demo",
        description="One patient is deleted from a forest of many visits: what it takes, the proof, the certificate, "
        "and a page with a picture of deletions against retraining.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=_rows, metavar="N", help=f"rows of the table (default: {ROWS:,})")
    parser.add_argument("--trees", type=_trees, metavar="T", help=f"trees of the forest (default: {TREES})")
    parser.add_argument(
        "--jobs", type=_jobs, default=1, metavar="J", help="threads (default: 1; -1 for all processors)"
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"the folder to write (default: {OUT})")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows and {QUICK_TREES} trees, in seconds")
    return parser


def _rows(text: str) -> int:
    return _at_least(FEWEST_ROWS, text)


def _trees(text: str) -> int:
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    if (number := int(text)) < least:
        raise argparse.ArgumentTypeError(f"must be {least:,} or more, but is {number:,}")
    return number


def _jobs(text: str) -> int:
    if (number := int(text)) == 0:
        raise argparse.ArgumentTypeError("must be a number of threads, or -1 for all processors, but is 0")
    return number
