"""The picture: erasures per second by rows and by workers, formulas as lines, simulations as points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..drawing import COLOURS, as_svg, pyplot_without_display
from .deployment import DESIGNS
from .findings import ROWS_ON_WORKERS, Findings, Sustained
from .model import Part

STYLES = dict(zip((design.name for design in DESIGNS), ("-", "--", "-.", ":"), strict=True))
OF_PARTS = dict(zip(Part, COLOURS, strict=False))


def drawn(findings: Findings) -> str:
    """As SVG."""
    pyplot = pyplot_without_display()
    figure, (by_rows, by_workers) = pyplot.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    draw_panel(by_rows, findings.sustained, lambda its: its.where.rows)
    draw_panel(by_workers, findings.by_workers, lambda its: its.where.workers)
    by_rows.set(xlabel="rows, on as few nodes as hold them", ylabel="erasures per second that are sustained")
    by_workers.set(xlabel=f"workers, {ROWS_ON_WORKERS:,} rows")
    lines = [pyplot.Line2D([], [], color="#555555", linestyle=style, label=name) for name, style in STYLES.items()]
    met = list(dict.fromkeys(its.limit for its in [*findings.sustained, *findings.by_workers]))
    points = [
        pyplot.Line2D([], [], color=OF_PARTS[part], marker="o", linestyle="", label=f"limit: {part}") for part in met
    ]
    figure.legend(handles=[*lines, *points], loc="outside upper center", ncols=4, frameon=False)
    return as_svg(figure, pyplot)


def draw_panel(axis: Any, found: Sequence[Sustained], x: Callable[[Sustained], int]) -> None:
    """A line for each design, and the simulated points in the colours of what limits them."""
    for name, style in STYLES.items():
        of_design = [its for its in found if its.design.name == name]
        places = [x(its) for its in of_design]
        axis.plot(places, [its.per_second for its in of_design], style, color="#555555", linewidth=1.1)
        colours = [OF_PARTS[its.limit] for its in of_design]
        axis.scatter(places, [its.simulated for its in of_design], c=colours, s=22, zorder=3)
    axis.axhline(10_000, color="#bbbbbb", linewidth=0.8)
    axis.set(xscale="log", yscale="log")
    axis.grid(linewidth=0.3)
