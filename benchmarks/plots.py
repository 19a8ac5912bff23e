"""Plots of results: single decisions, cost curves and distributions of latencies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import before
from .decisions import KINDS, SCHEMES, YARDSTICKS, Kind
from .measuring import exponent, spread
from .requirements import JUDGED_BY, OURS
from .results import Results
from .settings import NODE_ROWS, SETTINGS

QUANTITIES = {"fit": "seconds", "deletion": "seconds", "memory": "bytes"}


def draw(results: Results, out: Path) -> list[Path]:
    """All plots that there is something for, as SVG; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    drawn = []
    if any(node_points(results, kind, JUDGED_BY) for kind in KINDS):
        drawn.append(save(nodes(results), out / "nodes.svg"))
    if results.curves:
        drawn.append(save(curves(results), out / "cost-curves.svg"))
    if any(f"{data}/{OURS}/delete" in results.latencies for data in SETTINGS):
        drawn.append(save(distributions(results), out / "deletion-latencies.svg"))
    if any("/lazy/" in key for key in results.latencies):
        drawn.append(save(variants(results), out / "variant-latencies.svg"))
    return drawn


def save(figure: Any, path: Path) -> Path:
    """Write and close."""
    from matplotlib import pyplot

    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    return path


def nodes(results: Results) -> Any:
    """Nanoseconds per row of a decision against rows of the node, a panel for each kind."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(11, 9), sharex=True, sharey=True, layout="constrained")
    for panel, kind in zip(panels.flat, KINDS, strict=True):
        panel.set(xscale="log", yscale="log", xlabel="rows of the node", ylabel="ns per row", title=str(kind))
        for number, scheme in enumerate(SCHEMES):
            colour = f"C{number}"
            line(panel, node_points(results, kind, scheme), "o-", color=colour, markersize=3, label=scheme)
            line(panel, points_before(results, kind, scheme), "--", color=colour, label=f"{scheme}, before")
        for yardstick, style in zip(YARDSTICKS, ("-", ":"), strict=True):
            line(panel, node_points(results, kind, yardstick), style, color="grey", linewidth=0.8, label=yardstick)
    panels.flat[0].legend(fontsize=8)
    return figure


def node_points(results: Results, kind: Kind, what: str) -> list[tuple[int, float]]:
    """Rows and nanoseconds of all sizes that were measured."""
    keys = {n_rows: kind.series(what, n_rows) for n_rows in NODE_ROWS}
    return [(n, 1e9 * spread(results.series[key].values).mean) for n, key in keys.items() if key in results.series]


def points_before(results: Results, kind: Kind, scheme: str) -> list[tuple[int, float]]:
    """What was before, at the speed that the yardstick has in this run."""
    return [
        (n_rows, yardstick * quotient)
        for n_rows, yardstick in node_points(results, kind, JUDGED_BY)
        if (quotient := before.quotient(kind.series(scheme, n_rows), kind.series(JUDGED_BY, n_rows))) is not None
    ]


def line(panel: Any, points: list[tuple[int, float]], style: str, **others: Any) -> None:
    """Through these points, if there are any."""
    if points:
        panel.plot(*zip(*points, strict=True), style, **others)


def curves(results: Results) -> Any:
    """A panel for each quantity and parameter, with the fitted exponent."""
    from matplotlib import pyplot

    axes_names = list(dict.fromkeys(key.partition("/")[0] for key in results.curves))
    figure, panels = pyplot.subplots(
        len(QUANTITIES), len(axes_names), squeeze=False, figsize=(3 * len(axes_names), 8), layout="constrained"
    )
    for row, (quantity, unit) in zip(panels, QUANTITIES.items(), strict=True):
        for panel, name in zip(row, axes_names, strict=True):
            curve(panel, results.curves.get(f"{name}/{quantity}", []), name, f"{quantity}, {unit}")
    return figure


def curve(panel: Any, points: list[tuple[float, float]], name: str, label: str) -> None:
    """The points of all seeds and the line of the exponent."""
    panel.set(xscale="log", yscale="log", xlabel=name, ylabel=label)
    if not points:
        return
    x, y = np.asarray(points).T
    panel.plot(x, y, "o", markersize=4)
    # Ticks where the points are; and costs that hardly change shall look so.
    panel.set_xticks(sorted(set(x)), [f"{value:.3g}".replace("e+0", "e") for value in sorted(set(x))], fontsize=8)
    panel.set_xticks([], minor=True)
    panel.set_ylim(min(y.min() / 1.2, y.max() / 4), y.max() * 1.2)
    panel.yaxis.set_minor_formatter("")
    fitted = exponent(points)
    if fitted is not None:
        ends = np.array([x.min(), x.max()])
        middle = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
        panel.plot(ends, middle[1] * (ends / middle[0]) ** fitted.value, "-", linewidth=1)
        panel.set_title(f"{name}^{fitted.value:.2f}", fontsize=10)


def distributions(results: Results) -> Any:
    """Single random deletions on the data sets of the table."""
    return tails(results, {data: f"{data}/{OURS}/delete" for data in SETTINGS}, "Single random deletions")


def variants(results: Results) -> Any:
    """Eager and other deletions, on the largest data set that has both."""
    data = next(key.partition("/")[0] for key in reversed(results.latencies) if "/lazy/" in key)
    names = ("eager", "random_depth", "uniform", "max_samples", "lazy")
    return tails(results, {name: f"{data}/{name}/delete" for name in names}, f"Single deletions, {data}")


def tails(results: Results, keys: dict[str, str], title: str) -> Any:
    """The share of deletions that take longer than a time, on logarithmic scales."""
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for label, key in keys.items():
        if times := sorted(results.latencies.get(key, [])):
            panel.step(times, 1 - np.arange(len(times)) / len(times), where="post", label=label)
    panel.set(xscale="log", yscale="log", xlabel="seconds", ylabel="share that takes at least as long", title=title)
    panel.legend()
    return figure
