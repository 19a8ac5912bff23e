"""Figures as SVG, drawn by matplotlib without a display."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .datasets import Unavailable

# Okabe and Ito's, told apart by colour-blind readers.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a00", "#000000")
WIDTH = 11.0  # inches; the page is that wide

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Lines over x, by name."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Points]
    is_log_x: bool = False
    is_log_y: bool = False
    errors: Mapping[str, Sequence[float]] = field(default_factory=dict)


def line_panels(panels: Sequence[Panel], n_columns: int = 3) -> str:
    """Panels side by side, one legend for all."""
    pyplot = pyplot_without_display()
    n_columns = min(n_columns, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure, axes = pyplot.subplots(
        n_rows, n_columns, squeeze=False, figsize=(WIDTH, 2.7 * n_rows + 0.5), layout="constrained"
    )
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    styles = {name: "-" if i < len(COLOURS) else "--" for i, name in enumerate(names)}
    for axis, panel in zip(axes.flat, panels, strict=False):
        for name, points in panel.lines.items():
            x, y = zip(*points, strict=True) if points else ((), ())
            axis.plot(x, y, styles[name], color=colours[name], marker="o", markersize=3, linewidth=1.3)
        axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        axis.set(xscale="log" if panel.is_log_x else "linear", yscale="log" if panel.is_log_y else "linear")
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    _legend(figure, pyplot, colours, styles)
    return as_svg(figure, pyplot)


def grouped_bars(rows: Sequence[tuple[str, Mapping[str, Mapping[str, float]]]], is_log: Sequence[bool]) -> str:
    """Rows of bars: for each, its label, and for each group (on the x axis) the height of each bar by name."""
    pyplot = pyplot_without_display()
    figure, axes = pyplot.subplots(
        len(rows), 1, squeeze=False, figsize=(WIDTH, 2.4 * len(rows) + 0.8), layout="constrained", sharex=True
    )
    names = list(dict.fromkeys(name for _, groups in rows for bars in groups.values() for name in bars))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    groups = list(dict.fromkeys(group for _, its in rows for group in its))
    width = 0.8 / max(1, len(names))
    for axis, (label, its), is_logarithmic in zip(axes.flat, rows, is_log, strict=True):
        for i, name in enumerate(names):
            places = [place for place, group in enumerate(groups) if name in its.get(group, {})]
            heights = [its[groups[place]][name] for place in places]
            axis.bar([place - 0.4 + (i + 0.5) * width for place in places], heights, width, color=colours[name])
        axis.set(ylabel=label, yscale="log" if is_logarithmic else "linear")
        axis.set_xticks(range(len(groups)), [group.replace("_", "\n") for group in groups], fontsize=8)
        axis.grid(axis="y", linewidth=0.4)
        axis.axhline(0 if not is_logarithmic else 1, color="#888888", linewidth=0.6)
    _legend(figure, pyplot, colours, dict.fromkeys(names, "-"))
    return as_svg(figure, pyplot)


def _legend(figure: Any, pyplot: Any, colours: Mapping[str, str], styles: Mapping[str, str]) -> None:
    lines = [pyplot.Line2D([], [], color=colours[name], linestyle=styles[name], linewidth=3) for name in colours]
    if len(lines) > 1:
        figure.legend(lines, list(colours), loc="outside upper center", ncols=min(7, len(lines)), frameon=False)


def as_svg(figure: Any, pyplot: Any) -> str:
    """The figure, which is closed; the same bytes each time."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return re.sub(
        r"<metadata>.*?</metadata>", "", buffer.getvalue()[buffer.getvalue().index("<svg") :], flags=re.DOTALL
    )


def pyplot_without_display() -> Any:
    """Matplotlib in our style, or the reason why it is not here."""
    try:
        import matplotlib
    except ImportError:
        raise Unavailable("The report needs matplotlib; pip install 'deciduous[experiments]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False})
    pyplot.rcParams.update({"axes.spines.right": False, "font.family": "sans-serif", "svg.hashsalt": "deciduous"})
    return pyplot
