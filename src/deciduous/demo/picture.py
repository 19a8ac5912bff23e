"""The latency of deletions against retraining, drawn by matplotlib without a display."""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from .measures import Story
from .wording import duration, times

INCHES, DOTS_PER_INCH = (9.0, 4.8), 170


@dataclass(frozen=True)
class Theme:
    """Colours, of Okabe and Ito where they mean something: told apart by colour-blind readers."""

    paper: str
    ink: str
    soft: str
    grid: str
    deletions: str
    ours: str
    peer: str


LIGHT = Theme("#ffffff", "#1d2b2a", "#5d6b6a", "#e3e9e7", "#009e73", "#0072b2", "#d55e00")
DARK = Theme("#161c1b", "#e6eeec", "#9fb0ad", "#2b3533", "#2fd6a3", "#56b4e9", "#ff9447")


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def drawn(story: Story, theme: Theme = LIGHT) -> bytes:
    """The picture, as PNG: deletions from the fastest to the slowest, and above them what retraining takes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, facecolor=theme.paper, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw_deletions(axes, story, theme)
    for seconds, colour, text in _lines(story, theme):
        _draw_line(axes, seconds, colour, f"{text}: {duration(seconds)}")
    _draw_gap(axes, story, theme)
    _dress(axes, story, theme)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _lines(story: Story, theme: Theme) -> list[tuple[float, str, str]]:
    n_batch = story.deletions.n_batch
    return [
        (story.training.scikit_learn_seconds, theme.peer, "retraining scikit-learn's forest"),
        (story.retraining, theme.ours, "retraining this forest"),
        (story.deletions.batch_seconds, theme.soft, f"deleting {n_batch:,} rows at once, 1% of all"),
    ]


def _draw_deletions(axes: Any, story: Story, theme: Theme) -> None:
    ordered = sorted(story.deletions.singles)
    percent = [100 * (place + 0.5) / len(ordered) for place in range(len(ordered))]
    axes.fill_between(percent, ordered, 1e-9, color=theme.deletions, alpha=0.12, linewidth=0)
    axes.plot(percent, ordered, ".", color=theme.deletions, markersize=5)
    text = (
        f"each dot: one row deleted\nmean {duration(story.deletions.mean)}, median {duration(story.deletions.median)}"
    )
    middle = ordered[len(ordered) // 3]
    axes.annotate(text, (4, middle * 2.2), color=theme.deletions, va="bottom", fontsize=10, fontweight="bold")


def _draw_line(axes: Any, seconds: float, colour: str, text: str) -> None:
    is_minor = text.startswith("deleting")  # its text is below the line, away from that of retraining
    axes.axhline(seconds, color=colour, linewidth=1.2 if is_minor else 2.2, linestyle=":" if is_minor else "-")
    axes.annotate(
        text,
        (0, seconds),
        xycoords=("axes fraction", "data"),
        xytext=(6, -4 if is_minor else 4),
        va="top" if is_minor else "bottom",
        textcoords="offset points",
        color=colour,
        fontsize=9 if is_minor else 10.5,
        fontweight="normal" if is_minor else "bold",
    )


def _draw_gap(axes: Any, story: Story, theme: Theme) -> None:
    """An arrow from the median to retraining, with how many times that is."""
    low, high = story.deletions.median, story.retraining
    axes.annotate("", (50, high), (50, low), arrowprops={"arrowstyle": "<->", "color": theme.ink, "linewidth": 1.2})
    axes.annotate(
        f"{times(high, low)} at the median",
        (50, (low * low * high) ** (1 / 3)),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=theme.ink,
        fontsize=10.5,
        fontweight="bold",
    )


def _dress(axes: Any, story: Story, theme: Theme) -> None:
    slowest = max(story.training.scikit_learn_seconds, story.retraining, story.deletions.batch_seconds)
    axes.set_yscale("log")
    axes.set_ylim(min(story.deletions.singles) / 2, slowest * 3)
    axes.set_xlim(0, 100)
    axes.set_facecolor(theme.paper)
    axes.yaxis.set_major_formatter(lambda value, _: _tick(value))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.set_xlabel(
        f"{len(story.deletions.singles)} single deletions, from the fastest to the slowest", color=theme.ink
    )
    axes.set_ylabel("time it takes (each step is ten times as long)", color=theme.ink)
    axes.grid(axis="y", color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.soft, which="both", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.soft)


def _tick(seconds: float) -> str:
    """A power of ten, without decimals."""
    scaled, unit = (
        (seconds, "s") if seconds > 0.9 else (seconds * 1e3, "ms") if seconds > 0.9e-3 else (seconds * 1e6, "µs")
    )
    return f"{scaled:,.0f} {unit}"
