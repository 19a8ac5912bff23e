"""A guard against slow code that no clock disturbs: instructions of a fixed workload of the core, under callgrind.

`make guard` builds `tests/cpp/workload.cpp` and calls this. Phases are told apart by running the program up to the end
of each and subtracting: a series of phases for classes, and one for regression. Counts belong to a compiler and a
processor's features; with others there is nothing to compare, and the guard says so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BASELINE = Path(__file__).with_name("instructions.json")
SERIES = (("fit", "delete", "predict"), ("regression-fit", "regression-delete"))  # each includes those before it
PHASES = tuple(phase for series in SERIES for phase in series)
TOLERANCE = 0.10
HOW_TO_UPDATE = "`make guard UPDATE=1` makes these counts the baseline; say in the commit why they changed."


def count(workload: Path, phase: str) -> int:
    """Instructions of the workload up to the end of a phase."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(workload), phase]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return total(out.read_text(encoding="utf-8"))


def total(report: str) -> int:
    """The sum that a file of callgrind ends with."""
    line = next(line for line in report.splitlines() if line.startswith(("summary:", "totals:")))
    return int(line.split()[1])


def by_phase(cumulative: Mapping[str, int]) -> dict[str, int]:
    """What each phase adds to the one before it in its series."""
    return {
        phase: cumulative[phase] - (cumulative[before] if before else 0)
        for series in SERIES
        for before, phase in zip((None, *series), series, strict=False)
    }


def regressions(baseline: Mapping[str, int], counts: Mapping[str, int]) -> list[str]:
    """The phases that take over a tenth more instructions than the baseline."""
    return [phase for phase in PHASES if counts[phase] > (1 + TOLERANCE) * baseline[phase]]


def comparison(baseline: Mapping[str, int], counts: Mapping[str, int]) -> str:
    """A line for each phase."""
    return "\n".join(
        f"guard: {phase:<18}{counts[phase]:>15,} instructions, {counts[phase] / baseline[phase] - 1:+.1%}"
        for phase in PHASES
    )


def kind_of_counts(workload: Path) -> str:
    """The compiler and processor that counts depend on, as the workload itself tells."""
    return subprocess.run([str(workload), "kind"], check=True, capture_output=True, text=True).stdout.strip()


def update(workload: Path, counts: Mapping[str, int]) -> int:
    """Make these counts the baseline."""
    content = {"kind": kind_of_counts(workload), "instructions": dict(counts)}
    BASELINE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"guard: wrote {BASELINE.name}: {content}")
    return 0


def compare(baseline: Mapping[str, int], counts: Mapping[str, int]) -> int:
    """Print how the counts differ; 1 if a phase got slower than is tolerated."""
    print(comparison(baseline, counts))
    if slower := regressions(baseline, counts):
        print(f"guard: {', '.join(slower)} takes over {TOLERANCE:.0%} more instructions than before. {HOW_TO_UPDATE}")
        return 1
    if any(counts[phase] < (1 - TOLERANCE) * baseline[phase] for phase in PHASES):
        print(f"guard: faster than the baseline, which should be lowered. {HOW_TO_UPDATE}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and compare, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", type=Path, help="the program, built from tests/cpp/workload.cpp")
    parser.add_argument("--update", action="store_true", help="make the counts the baseline")
    options = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("guard: skipped, as valgrind is not installed")
        return 0
    stored: dict[str, Any] = (
        json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {"kind": "nothing yet"}
    )
    kind = kind_of_counts(options.workload)
    if not options.update and stored["kind"] != kind:
        print(f"guard: skipped, as the baseline is of {stored['kind']} and this is {kind}")
        return 0
    counts = by_phase({phase: count(options.workload, phase) for phase in PHASES})
    return update(options.workload, counts) if options.update else compare(stored["instructions"], counts)


if __name__ == "__main__":
    sys.exit(main())
