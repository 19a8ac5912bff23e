"""Speed-up and latency of deletions, and what d_rmax and k do to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import paper
from ..datasets import entry_of
from ..drawing import Panel, grouped_bars, line_panels
from ..measuring import geometric_mean
from ..page import Figure, Part, Table, Text
from ..protocols.deletion import ADVERSARIES, SQUARED_ERROR
from ..protocols.deletion import MODELS as DELETION_MODELS
from ..scales import Scale
from ..store import Runs
from ..task import G_DARE
from ..wording import digits, points, ratio, score, shown
from .choosing import ADVERSARY_TITLES, TITLES, along, by_dataset, extent


def speedups(runs: Runs, criterion: str, adversary: str, model: str) -> dict[str, float]:
    """The mean speed-up on each data set."""
    chosen = runs.done("deletion", criterion=criterion, adversary=adversary, model=model)
    return {name: its.mean("speedup") or 0.0 for name, its in by_dataset(chosen)}


def error_increase(runs: Runs, criterion: str, model: str) -> dict[str, float]:
    """By how much the test error grows, or R² falls, from G-DaRE to a model on each data set, as a share of one."""
    increases = {}
    for name, its in by_dataset(runs.done("deletion", criterion=criterion, adversary="random")):
        greedy = its.done("deletion", model=G_DARE).mean("score")
        other = its.done("deletion", model=model).mean("score")
        if greedy is not None and other is not None:
            increases[name] = greedy - other
    return increases


def deletion_parts(runs: Runs, scale: Scale) -> list[Part]:
    """Summary, per data set, latencies, and the figure."""
    parts: list[Part] = [
        Text(f"{_about_speedups(runs, scale)} The paper gives the summary as numbers, the data sets as a picture."),
        speedup_table(runs),
    ]
    for criterion in scale.criteria:
        if runs.done("deletion", criterion=criterion):
            parts += [_deletion_figure(runs, criterion), _by_data_set(runs, criterion), _latencies(runs, criterion)]
    return parts


def regression_parts(runs: Runs, scale: Scale) -> list[Part]:
    """R² and speed-ups by data set, the figure, and latencies."""
    return [
        Text(_about_speedups(runs, scale)),
        regression_table(runs),
        _deletion_figure(runs, SQUARED_ERROR),
        _latencies(runs, SQUARED_ERROR),
    ]


def _about_speedups(runs: Runs, scale: Scale) -> str:
    return (
        "The speed-up is the number of rows deleted one by one in the time in which one retraining deletes one. "
        f"Of worst-of-1000 it is that of the costliest of {scale.n_candidates:,} candidates each time. "
        f"Measured on at most {extent(runs)}."
    )


def regression_table(runs: Runs) -> Table:
    """For each data set and model R², what of it is lost, and the speed-ups."""
    rows = []
    for name, its in by_dataset(runs.done("deletion", criterion=SQUARED_ERROR)):
        for model in DELETION_MODELS:
            chosen = its.done("deletion", model=model)
            lost = error_increase(its, SQUARED_ERROR, model).get(name)
            faster = [chosen.done("deletion", adversary=adversary).mean("speedup") for adversary in ADVERSARIES]
            rows.append(
                [
                    entry_of(name).title,
                    TITLES[model],
                    digits(chosen.mean("random_depth") or 0),
                    score(chosen.mean("score")),
                    points(lost),
                    *(shown(value, "x") for value in faster),
                    extent(chosen),
                ]
            )
    head = ("data set", "model", "d_rmax", "R²", "R² lost, points", "speed-up: random", "worst of 1000", "measured on")
    return Table("Regression: R², and speed-up over naive retraining", head, rows, frozenset({0, 1, 7}))


def speedup_table(runs: Runs) -> Table:
    """Minimum, maximum and geometric mean over the data sets, the paper's and ours."""
    rows = []
    for criterion in ("gini", "entropy"):
        for adversary in ADVERSARIES:
            for model in DELETION_MODELS:
                ours = list(speedups(runs, criterion, adversary, model).values())
                if not ours:
                    continue
                low, high, mean = paper.speedup(criterion, adversary, model)
                figures = min(ours), max(ours), geometric_mean(ours)
                rows.append(
                    [
                        f"{criterion}, {ADVERSARY_TITLES[adversary]}",
                        TITLES[model],
                        *(f"{digits(value)}x" for value in (low, high, mean)),
                        *(f"{digits(value)}x" for value in figures),
                        ratio(figures[2], mean),
                        str(len(ours)),
                    ]
                )
    head = ("criterion, adversary", "model", "paper: min", "max", "geometric mean", "ours: min", "max",
            "geometric mean", "ratio of means", "data sets")  # fmt: skip
    return Table("Speed-up over naive retraining (Tables 2 and 9)", head, rows, frozenset({0, 1}))


def _deletion_figure(runs: Runs, criterion: str) -> Part:
    def bars(value: Callable[[str], dict[str, float]], models: Sequence[str]) -> dict[str, dict[str, float]]:
        groups: dict[str, dict[str, float]] = {}
        for model in models:
            for name, height in value(model).items():
                groups.setdefault(name, {})[TITLES[model]] = height
        return groups

    rows = [
        (f"{title}: speed-up", bars(lambda m, a=adversary: speedups(runs, criterion, a, m), DELETION_MODELS))  # type: ignore[misc]
        for adversary, title in ADVERSARY_TITLES.items()
    ]
    errors = bars(lambda m: {n: 100 * e for n, e in error_increase(runs, criterion, m).items()}, DELETION_MODELS[1:])
    lost, caption = "test error increase, points", f"Figure 1 of the paper, redrawn with our runs ({criterion})."
    if criterion == SQUARED_ERROR:
        lost, caption = "R² lost, points", "Regression, drawn as in Figure 1 of the paper."
    return Figure(grouped_bars([*rows, (lost, errors)], [True, True, False]), caption)


def _by_data_set(runs: Runs, criterion: str) -> Table:
    rows = []
    for name, _ in by_dataset(runs.done("deletion", criterion=criterion)):
        for adversary in ADVERSARIES:
            ours = [speedups(runs, criterion, adversary, model).get(name) for model in DELETION_MODELS]
            rows.append([entry_of(name).title, ADVERSARY_TITLES[adversary], *(shown(value, "x") for value in ours)])
        errors = [error_increase(runs, criterion, model).get(name) for model in DELETION_MODELS[1:]]
        rows.append([entry_of(name).title, "test error, points more", "", *map(points, errors)])
    head = ("data set", "", *(TITLES[model] for model in DELETION_MODELS))
    return Table(f"Speed-up and error by data set ({criterion})", head, rows, frozenset({0, 1}), is_folded=True)


def _latencies(runs: Runs, criterion: str) -> Table:
    rows = []
    for name, its in by_dataset(runs.done("deletion", criterion=criterion)):
        for adversary in ADVERSARIES:
            for model in (G_DARE, "r_dare_0.25"):
                chosen = its.done("deletion", adversary=adversary, model=model)
                figures = [shown(chosen.mean("delete", key), "s") for key in ("mean", "p50", "p99", "max")]
                rows.append(
                    [
                        entry_of(name).title,
                        f"{TITLES[model]}, {ADVERSARY_TITLES[adversary]}",
                        shown(chosen.mean("retraining"), "s"),
                        *figures,
                        digits(chosen.mean("delete", "n") or 0),
                        digits(chosen.mean("rows_retrained") or 0),
                        shown(chosen.mean("choosing", "mean"), "s"),
                    ]
                )
    head = ("data set", "", "retraining", "deletion: mean", "p50", "p99", "max", "deletions", "rows retrained by one",
            "time to choose the worst")  # fmt: skip
    return Table(f"Latency of single deletions ({criterion})", head, rows, frozenset({0, 1}), is_folded=True)


def random_depth_parts(runs: Runs, _: Scale) -> list[Part]:
    """Efficiency, error, and rows retrained by depth."""
    parts: list[Part] = [Text(f"Measured on at most {extent(runs)}.", is_note=True)]
    for name, its in by_dataset(runs):
        panels = [_depth_curve(its, "speedup", "speed-up", is_log_y=True), _depth_curve(its, "score", "test score")]
        panels += [_retrained_panel(its, adversary) for adversary in ADVERSARIES]
        svg = line_panels(panels, n_columns=4)
        parts.append(Figure(svg, f"Figure 2 of the paper, redrawn for {entry_of(name).title}."))
    return [*parts, _depth_table(runs)]


def _depth_curve(runs: Runs, key: str, label: str, is_log_y: bool = False) -> Panel:
    adversaries = ADVERSARIES if key == "speedup" else ADVERSARIES[:1]
    lines = {
        ADVERSARY_TITLES[adversary]: along(runs.done("random-depth", adversary=adversary), "random_depth", key)
        for adversary in adversaries
    }
    return Panel(label, "d_rmax", label, lines, is_log_y=is_log_y)


def _retrained_panel(runs: Runs, adversary: str) -> Panel:
    lines: dict[str, list[tuple[float, float]]] = {}
    for record in runs.done("random-depth", adversary=adversary):
        d_rmax = record.unit.options["random_depth"]
        if record.unit.seed == 1 and d_rmax in (0, 4, 10, 20):
            by_depth = (record.result or {})["rows_retrained_by_depth"]
            lines[f"d_rmax {d_rmax}"] = [(depth, rows) for depth, rows in enumerate(by_depth) if rows > 0]
    title = f"rows retrained, {ADVERSARY_TITLES[adversary]}"
    return Panel(title, "depth", "rows per deletion", lines, is_log_y=True)


def _depth_table(runs: Runs) -> Table:
    rows = []
    for name, its in by_dataset(runs):
        for (x, random), (_, worst), (_, quality), (_, n_rows) in zip(
            along(its.done("random-depth", adversary="random"), "random_depth", "speedup"),
            along(its.done("random-depth", adversary="worst_of_1000"), "random_depth", "speedup"),
            along(its.done("random-depth", adversary="random"), "random_depth", "score"),
            along(its.done("random-depth", adversary="random"), "random_depth", "rows_retrained"),
            strict=False,
        ):
            cells = [shown(random, "x"), shown(worst, "x"), score(quality), digits(n_rows)]
            rows.append([entry_of(name).title, f"{x:.0f}", *cells])
    head = ("data set", "d_rmax", "speed-up, random", "speed-up, worst of 1000", "test score", "rows retrained, random")
    return Table("Effect of d_rmax", head, rows, is_folded=True)


def threshold_parts(runs: Runs, _: Scale) -> list[Part]:
    """Quality and efficiency by k."""
    quality = {name: along(its, "k", "score") for name, its in by_dataset(runs)}
    faster = {name: along(its, "k", "speedup") for name, its in by_dataset(runs)}
    svg = line_panels(
        [
            Panel("test score", "k", "score", quality, is_log_x=True),
            Panel("speed-up, random adversary", "k", "speed-up", faster, is_log_x=True, is_log_y=True),
        ],
        n_columns=2,
    )
    ks = sorted({record.unit.options["k"] for record in runs})
    rows = []
    for name, its in by_dataset(runs):
        scores, gains = dict(along(its, "k", "score")), dict(along(its, "k", "speedup"))
        rows.append([entry_of(name).title, "score", *(score(scores.get(k)) for k in ks)])
        rows.append([entry_of(name).title, "speed-up", *(shown(gains.get(k), "x") for k in ks)])
    table = Table("Effect of k", ("data set", "", *(f"k = {k}" for k in ks)), rows, frozenset({0, 1}), is_folded=True)
    note = Text(f"Measured on at most {extent(runs)}.", is_note=True)
    return [note, Figure(svg, "Figure 3 of the paper, redrawn for all data sets."), table]
