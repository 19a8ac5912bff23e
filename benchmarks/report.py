"""Tables out of results, as Markdown and as HTML, with the plots beside them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deciduous.experiments.wording import NOTHING, digits, shown

from . import plots
from .decisions import KINDS, SCHEMES, YARDSTICKS
from .measuring import exponent, spread
from .peers import PEERS, YARDSTICK
from .requirements import (
    JUDGED_BY,
    OURS,
    OURS_UNIFORM,
    REQUIREMENTS,
    All,
    Judgement,
    Requirement,
    Verdict,
    judge,
    of_decision,
)
from .results import STAND_INS, Results, Series
from .settings import FULL, NODE_ROWS, REGRESSION, SETTINGS

MIN_SEEDS = 3  # that the requirements ask for

STYLE = """\
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 2rem } th, td { padding: .2rem .7rem; text-align: left }
th { border-bottom: 2px solid #888 } td { border-bottom: 1px solid #ddd } img { max-width: 100% }
tr.missed td:last-child { color: #b00020; font-weight: bold } tr.met td:last-child { color: #1b7a2f }
"""


@dataclass(frozen=True)
class Table:
    """A table that both formats are made from."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write(results: Results, out: Path) -> list[Path]:
    """Write both reports and the plots; their paths."""
    out.mkdir(parents=True, exist_ok=True)
    pictures = plots.draw(results, out)
    markdown, page = out / "report.md", out / "report.html"
    markdown.write_text(as_markdown(results, pictures), encoding="utf-8")
    page.write_text(as_html(results, pictures), encoding="utf-8")
    return [markdown, page, *pictures]


# ------------------------------------------------------------------------------------------------------------- numbers


def shown_spread(series: Series | None) -> str:
    """Median and range over seeds."""
    if series is None:
        return "–"
    its = spread(series.values)
    if its.n == 1:
        return shown(its.median, series.unit)
    return f"{shown(its.median, series.unit)} ({shown(its.low, series.unit)} – {shown(its.high, series.unit)})"


# -------------------------------------------------------------------------------------------------------------- tables


def tables(results: Results) -> list[Table]:
    """All of them, the verdicts first."""
    all_of_them = [
        Table("Requirements", REQUIREMENT_HEAD, [requirement_row(its, results) for its in REQUIREMENTS]),
        Table("Beside the peers", PEER_HEAD, list(peer_rows(results))),
        Table("Single decisions, per row of the node", NODE_HEAD, list(node_rows(results))),
        Table("Single calls", DELETION_HEAD, list(deletion_rows(results))),
        Table("Cost curves", ("quantity", "grows like", "points"), list(curve_rows(results))),
        Table("Not run", ("what", "why"), [*results.skipped.items(), *results.failed.items()]),
        Table("Everything measured", ("series", "median (range)", "mean", "seeds"), list(series_rows(results))),
        Table("Machine", ("", ""), [(key, str(value)) for key, value in results.machine.items()]),
    ]
    return [table for table in all_of_them if table.rows]


REQUIREMENT_HEAD = ("requirement", "measured", "over seeds: median (range)", "must", "aim", "verdict")


def requirement_row(requirement: Requirement | All, results: Results) -> list[str]:
    """One requirement with its verdict."""
    judgement = judge(requirement, results)
    its = judgement.requirement
    measured = "–" if judgement.value is None else shown(judgement.value, its.unit)
    by_seed = shown_spread(Series(its.unit, list(judgement.by_seed)) if judgement.by_seed else None)
    is_whole = its is requirement or judgement.value is None
    name = requirement.name if is_whole else f"{requirement.name}, worst: {its.name}"
    return [name, measured, by_seed, target(its, its.must), target(its, its.aim), verdict_text(judgement, results)]


def target(its: Requirement, value: float | None) -> str:
    """A target with its direction."""
    sign = "≥" if its.bound == "at least" else "≤"
    return "" if value is None else f"{sign} {shown(value, its.unit)}"


def verdict_text(judgement: Judgement, results: Results) -> str:
    """The verdict; if nothing was measured, why."""
    case = judgement.requirement.case
    reason = results.failed.get(case) or results.skipped.get(case)
    if judgement.verdict is Verdict.NOT_MEASURED and reason:
        return f"{judgement.verdict}: {reason}"
    return f"{judgement.verdict}{caveat(judgement, results)}"


def caveat(judgement: Judgement, results: Results) -> str:
    """Why a verdict is not yet one on the requirement as it is written."""
    if judgement.verdict not in (Verdict.AIM, Verdict.MUST, Verdict.MISSED) or judgement.requirement.case == "scale":
        return ""
    reasons = []
    if results.options.get("sizes") != FULL.name:
        reasons.append("small sizes")
    if results.options.get("seeds", MIN_SEEDS) < MIN_SEEDS:
        reasons.append(f"fewer than {MIN_SEEDS} seeds")
    if judgement.requirement.of.partition("/")[0] in results.options.get(STAND_INS, {}):
        reasons.append("generated stand-in")
    return f" ({', '.join(reasons)})" if reasons else ""


PEER_HEAD = ("data", "system", "fit", "fit as S/x", "memory, data + forest", "quality")


def peer_rows(results: Results) -> Iterable[list[str]]:
    """Each data set with each system."""
    for data in (*SETTINGS, *REGRESSION):
        baseline = results.series.get(f"{data}/{YARDSTICK}/fit")
        for system in (OURS, OURS_UNIFORM, *(peer.name for peer in PEERS)):
            fit, memory, quality = (results.series.get(f"{data}/{system}/{q}") for q in ("fit", "memory", "quality"))
            if fit is not None:
                yield [data, system, shown_spread(fit), as_share(baseline, fit), shown_spread(memory), plain(quality)]


def as_share(baseline: Series | None, series: Series) -> str:
    """Mean as a fraction of the yardstick's."""
    return "–" if baseline is None else f"S/{digits(spread(baseline.values).mean / spread(series.values).mean)}"


def plain(quality: Series | None) -> str:
    """Mean quality with its measure."""
    return "–" if quality is None else f"{spread(quality.values).mean:.4f} {quality.unit}"


NODE_HEAD = ("columns, classes", "rows of the node", *(f"{s} (beside before)" for s in SCHEMES), *YARDSTICKS)


def node_rows(results: Results) -> Iterable[list[str]]:
    """Each kind and size of node with each scheme and yardstick."""
    for kind in KINDS:
        for n_rows in NODE_ROWS:
            cells = [node_cell(judge(of_decision(kind, scheme, n_rows), results), results) for scheme in SCHEMES]
            cells += [mean_of(results.series.get(kind.series(yardstick, n_rows))) for yardstick in YARDSTICKS]
            if set(cells) != {NOTHING}:
                yield [str(kind), f"{n_rows:,}", *cells]


def node_cell(judgement: Judgement, results: Results) -> str:
    """The time, and what it is of the time before, at the speed of this run."""
    time = mean_of(results.series.get(judgement.requirement.of))
    return time if judgement.value is None else f"{time} ({shown(judgement.value, 'x')})"


def mean_of(series: Series | None) -> str:
    """The mean over seeds."""
    return NOTHING if series is None else shown(spread(series.values).mean, series.unit)


DELETION_HEAD = ("data / system / what", "mean", "p50", "p99", "max", "calls, all seeds")


def deletion_rows(results: Results) -> Iterable[list[str]]:
    """Each series of latencies: medians over seeds."""
    for key, times in results.latencies.items():
        columns = (shown_spread(results.series.get(key + suffix)) for suffix in ("", " p50", " p99", " max"))
        yield [key, *columns, f"{len(times):,}"]


def curve_rows(results: Results) -> Iterable[list[str]]:
    """Each curve with its exponent."""
    for key, points in results.curves.items():
        axis, quantity = key.split("/")
        fitted = exponent(points)
        law = "–" if fitted is None else f"{axis}^{fitted.value:.2f} (± {fitted.error:.2f})"
        yield [f"{quantity} against {axis}", law, ", ".join(f"{x:g}" for x in sorted({x for x, _ in points}))]


def series_rows(results: Results) -> Iterable[list[str]]:
    """Every series."""
    for key, series in results.series.items():
        its = spread(series.values)
        yield [key, shown_spread(series), shown(its.mean, series.unit), str(its.n)]


# ------------------------------------------------------------------------------------------------------------- formats


def summary(results: Results) -> str:
    """How many verdicts of each kind there are, and what they hold for."""
    verdicts = [judge(requirement, results).verdict for requirement in REQUIREMENTS]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
    if results.options.get("sizes") != FULL.name:
        counts += ". Sizes are smaller than the requirements ask for: verdicts are an indication only"
    for data, what in results.options.get(STAND_INS, {}).items():
        counts += f". In place of {data} stood {what}"
    if its := results.options.get("scale"):
        counts += f". Of the Higgs-shaped run {its['trees_trained']} trees were trained; 50 are a straight line's word"
    return (
        f"{counts}. S and M are time and memory of scikit-learn's random forest in the same run. “Measured” is the "
        "mean over seeds, or the quotient of two such means; verdicts go by it. “Before” is the core before its second "
        f"generation; decisions are set beside it in units of the {JUDGED_BY} of the same run."
    )


def as_markdown(results: Results, pictures: Sequence[Path]) -> str:
    """The report as Markdown."""
    parts = ["# Benchmarks", summary(results)]
    for table in tables(results):
        lines = [table.head, ["---"] * len(table.head), *table.rows]
        parts += [f"## {table.title}", "\n".join("| " + " | ".join(map(escaped, line)) + " |" for line in lines)]
    parts += [f"![{picture.stem}]({picture.name})" for picture in pictures]
    return "\n\n".join(parts) + "\n"


def escaped(cell: str) -> str:
    """Without what would end a cell."""
    return cell.replace("|", "\\|").replace("\n", " ")


def as_html(results: Results, pictures: Sequence[Path]) -> str:
    """The report as one page; the plots lie beside it."""
    parts = [f"<h1>Benchmarks</h1><p>{html.escape(summary(results))}</p>"]
    parts += [html_table(table) for table in tables(results)]
    parts += [f'<img src="{picture.name}" alt="{picture.stem}">' for picture in pictures]
    head = f'<meta charset="utf-8"><title>Benchmarks</title><style>{STYLE}</style>'
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def html_table(table: Table) -> str:
    """One table; rows that end in a verdict get its colour."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    rows = "".join(
        f"<tr{colour(row)}>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return f"<h2>{html.escape(table.title)}</h2><table><tr>{head}</tr>{rows}</table>"


def colour(row: Sequence[str]) -> str:
    """The class of a row, by its last cell."""
    classes = {Verdict.MISSED: "missed", Verdict.MUST: "met", Verdict.AIM: "met"}
    return next((f' class="{name}"' for verdict, name in classes.items() if row[-1].startswith(verdict)), "")
