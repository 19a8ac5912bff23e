"""Runs cases, seed by seed, and keeps what is measured on disk as it comes."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from deciduous.experiments.measuring import little_garbage

from .bench import Bench
from .cases import CASES, Case
from .data import Unavailable
from .results import Results
from .settings import Sizes


def chosen(names: Sequence[str]) -> list[Case]:
    """The cases with these names, or all of them. Raises ValueError for a name that no case has."""
    known = {case.name for case in CASES}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"No case is called {', '.join(unknown)}. There are {', '.join(sorted(known))}.")
    return [case for case in CASES if not names or case.name in names]


def run(cases: Sequence[Case], sizes: Sizes, seeds: Sequence[int], results: Results, out: Path) -> None:
    """Run these cases. One that fails is noted, and the others go on."""
    for number, case in enumerate(cases, start=1):
        print(f"[{number}/{len(cases)}] {case.name}: {case.about}", flush=True)
        start = time.perf_counter()
        with little_garbage():
            run_case(case, sizes, seeds, results)
        results.durations[case.name] = round(time.perf_counter() - start, 2)
        results.save(out)
        print(f"    {how_it_ended(case, results)} after {results.durations[case.name]:.1f} s", flush=True)


def run_case(case: Case, sizes: Sizes, seeds: Sequence[int], results: Results) -> None:
    """All seeds of a case, or one if it needs no more."""
    try:
        for seed in seeds[:1] if case.once else seeds:
            case.run(Bench(sizes, results, seed, is_first=seed == seeds[0]))
    except Unavailable as reason:
        results.skipped[case.name] = str(reason)
    except Exception as error:
        results.failed[case.name] = f"{type(error).__name__}: {error}"
        traceback.print_exc()


def how_it_ended(case: Case, results: Results) -> str:
    """In a word or two."""
    if case.name in results.failed:
        return f"FAILED ({results.failed[case.name]})"
    if case.name in results.skipped:
        return f"skipped ({results.skipped[case.name]})"
    return "done"
