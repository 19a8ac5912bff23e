"""What stable splits gain and lose, compared with the random levels of R-DaRE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..datasets import entry_of
from ..drawing import Panel, line_panels
from ..page import Figure, Part, Table, Text
from ..scales import Scale
from ..store import Runs
from ..wording import digits, points, score, shown
from .choosing import along, by_dataset, extent

CURVES = {"stable splits": ("stability", "random_depth"), "R-DaRE": ("random_depth", "stability")}  # varied, and 0
LEAST_LOSS = 0.0025  # up to which a forest counts as hardly worse


@dataclass(frozen=True)
class Trade:
    """A forest compared with the greedy one."""

    value: float  # of what is varied
    speedup: float
    factor: float  # how much faster deletions are
    score: float
    change: float  # of the score
    rows_retrained: float


def trades(runs: Runs, curve: str) -> list[Trade]:
    """The forests of a curve, the greedy one first."""
    varied, fixed = CURVES[curve]
    its = Runs(record for record in runs if record.unit.options[fixed] == 0)
    columns = [along(its, varied, key) for key in ("speedup", "score", "rows_retrained")]
    times = along(its, varied, "delete", "mean")
    return [
        Trade(x, speedup, times[0][1] / time, quality, quality - columns[1][0][1], n_rows)
        for (x, speedup), (_, quality), (_, n_rows), (_, time) in zip(*columns, times, strict=True)
    ]


def fastest(curve: Sequence[Trade]) -> Trade:
    """The fastest forest that is hardly worse than the greedy one."""
    return max((its for its in curve if its.change >= -LEAST_LOSS), key=lambda its: its.factor)


def stability_parts(runs: Runs, _: Scale) -> list[Part]:
    """Speed against score for each data set, and which of the two ways gains more where little is lost."""
    panels = [_panel(entry_of(name).title, its) for name, its in by_dataset(runs)]
    return [
        Text(f"Measured on at most {extent(runs)}.", is_note=True),
        Figure(line_panels(panels), "Deletions compared with those of the greedy forest; up and left is better."),
        fastest_table(runs),
        _all_of_them(runs),
    ]


def fastest_table(runs: Runs) -> Table:
    """For each data set the fastest forest of both ways that is hardly worse, and which of them is faster."""
    rows = []
    for name, its in by_dataset(runs):
        best = {curve: fastest(trades(its, curve)) for curve in CURVES}
        cells = [f"{shown(trade.factor, 'x')} ({trade.value:g}, {points(trade.change)})" for trade in best.values()]
        faster = max(best, key=lambda curve: best[curve].factor)
        rows.append([entry_of(name).title, *cells, faster if best[faster].value else "neither"])
    return Table(
        f"The fastest forest that loses at most {100 * LEAST_LOSS:g} points, compared with the greedy one",
        ("data set", "stable splits (stability, points)", "R-DaRE (d_rmax, points)", "faster"),
        rows,
        frozenset({0, 3}),
    )


def _panel(title: str, runs: Runs) -> Panel:
    lines = {curve: [(-100 * trade.change, trade.factor) for trade in trades(runs, curve)] for curve in CURVES}
    return Panel(title, "points of score lost", "deletions, times as fast", lines)


def _all_of_them(runs: Runs) -> Table:
    rows = [
        [
            entry_of(name).title,
            curve,
            f"{trade.value:g}",
            shown(trade.speedup, "x"),
            shown(trade.factor, "x"),
            score(trade.score),
            points(trade.change),
            digits(trade.rows_retrained),
        ]
        for name, its in by_dataset(runs)
        for curve in CURVES
        for trade in trades(its, curve)
    ]
    head = ("data set", "", "value", "speed-up", "compared with greedy", "score", "points", "rows retrained by one")
    return Table("Stable splits and random levels", head, rows, frozenset({0, 1}), is_folded=True)
