"""The figures of the core before its second generation, for requirements that speak of them.

`before.json` is a file of results as any run writes it, cut down to the series that are needed: the memory of the data
sets for three seeds, and the decisions of nodes, one run in the hour of the figures in
docs/development/performance-notes.md. Times belong to a machine; they are therefore read only as quotients with a
yardstick of the same file.
"""

from __future__ import annotations

import statistics
from functools import cache
from pathlib import Path

from .results import Results

FILE = Path(__file__).with_name("before.json")


@cache
def results() -> Results:
    """What was measured then."""
    return Results.load(FILE)


def quotient(of: str, over: str | None) -> float | None:
    """The mean of one series then, divided by that of another if there is another; None if it was not measured."""
    series = results().series
    if of not in series or (over is not None and over not in series):
        return None
    return statistics.fmean(series[of].values) / (statistics.fmean(series[over].values) if over else 1.0)
