"""Exactness, batches and streams."""

from __future__ import annotations

from ..datasets import entry_of
from ..drawing import Panel, line_panels
from ..measuring import geometric_mean
from ..page import Figure, Part, Table, Text
from ..protocols.batch import SIZES
from ..protocols.exactness import LEMMA
from ..protocols.stream import KINDS, SHARES
from ..scales import Scale
from ..store import Runs
from ..wording import NOTHING, digits, points, ratio, score, shown
from .choosing import TITLES, by_dataset, extent

SIGNIFICANT = 1e-6


def exactness_parts(runs: Runs, _: Scale) -> list[Part]:
    """Fingerprints, and the Lemma if its cases are among the runs."""
    lemma = Runs(r for r in runs if r.unit.dataset == LEMMA)
    others = Runs(r for r in runs if r.unit.dataset != LEMMA)
    rows = []
    for name, its in by_dataset(others):
        for record in its:
            result, options = record.result or {}, record.unit.options
            rows.append(
                [
                    entry_of(name).title,
                    TITLES[options["model"]] + (", lazy" if options["lazy"] else ""),
                    digits(result["n_rows"]),
                    digits(result["n_deleted"]),
                    shown(result["deleting"], "s"),
                    shown(result["retraining"], "s"),
                    result["fingerprint"][:16],
                    "same" if result["matches"] else "DIFFERENT",
                ]
            )
    head = (
        "data set",
        "model",
        "rows",
        "deleted one by one",
        "deletions",
        "one retraining",
        "fingerprint",
        "retrained",
    )
    table = Table("1% of the rows deleted, compared with retraining without them", head, rows, frozenset({0, 1, 6}))
    return [table, *(_lemma_parts(lemma) if lemma else [])]


def _lemma_parts(runs: Runs) -> list[Part]:
    rows = []
    for record in runs:
        its = record.result or {}
        for who in ("paper", "ours"):
            shares = ", ".join(f"{float(at):g}: {100 * share:.1f}%" for at, share in its[who]["shares"].items())
            expected = ", ".join(f"{float(at):g}: {100 * share:.1f}%" for at, share in its["retrained"].items())
            statistic = NOTHING if its[who]["chi2"] is None else f"{its[who]['chi2']:,.1f} ({its[who]['freedom']})"
            verdict = "differs" if its[who]["p"] < SIGNIFICANT else "agrees"
            same = "" if who == "paper" else ", same bytes" if its["ours"]["matches"] else ", OTHER BYTES"
            name = record.unit.options["case"] if who == "paper" else ""
            whose = "paper's scheme" if who == "paper" else "ours"
            rows.append([name, whose, shares, expected if who == "paper" else "", statistic, f"{verdict}{same}"])
    n = max(runs.values("n_models"), default=0)
    about = (
        f"Root thresholds of {n:,.0f} stumps after one deletion. The paper resamples thresholds that become invalid "
        "and keeps the others; a threshold that a deletion makes valid is then chosen too seldom. Its Lemma A.1 does "
        "not count such thresholds. The paper's scheme is implemented as written, for stumps; the cases are in "
        "deciduous.experiments.papers_scheme."
    )
    head = (
        "case",
        "",
        "share of thresholds after deletion",
        "when retrained",
        "chi² (d.f.)",
        "compared with retraining",
    )
    return [Text(about), Table("The gap in the paper's Lemma", head, rows, frozenset({0, 1, 2, 3, 5}))]


def batch_parts(runs: Runs, _: Scale) -> list[Part]:
    """Seconds by size of the batch, and as a share of retraining."""
    rows, lines = [], {}
    for name, its in by_dataset(runs):
        retraining = its.mean("retraining")
        times = {size: its.mean("batches", size, "deleting") for size in SIZES}
        rows.append(
            [
                entry_of(name).title,
                *(shown(value, "s") for value in times.values()),
                shown(retraining, "s"),
                ratio(times["1%"], retraining),
                ratio(times["10%"], retraining),
                "yes" if all((record.result or {})["is_first_forest_again"] for record in its) else "NO",
            ]
        )
        points_ = [(its.mean("batches", size, "n"), times[size]) for size in SIZES]
        lines[name] = sorted((n, took / retraining) for n, took in points_ if n and took and retraining)
    head = ("data set", *(f"delete {size}" for size in SIZES), "retraining", "1% / retraining", "10% / retraining",
            "same after adding back")  # fmt: skip
    panel = Panel("one batch, as a share of retraining", "rows in the batch", "time / retraining", lines, True, True)
    about = Text(f"One thread, G-DaRE. Measured on at most {extent(runs)}. The paper gives no figures for batches.")
    return [about, Figure(line_panels([panel], 1), "Below 1 a batch is faster than retraining."),
            Table("Batches", head, rows)]  # fmt: skip


def stream_parts(runs: Runs, _: Scale) -> list[Part]:
    """Latencies by kind of operation, and quality."""
    about = Text(
        f"Single rows, one thread, random order of adds, deletions and queries. Measured on at most {extent(runs)}. A "
        "lazy forest retrains when a query passes; the query pays for it. The paper has no such experiment."
    )
    return [about, _stream_figure(runs), _stream_summary(runs), _stream_table(runs)]


def _variants(runs: Runs) -> list[tuple[str, Runs]]:
    return [
        (f"max_samples {share:g}{', lazy' if lazy else ''}", runs.done("stream", max_samples=share, lazy=lazy))
        for share in SHARES
        for lazy in (False, True)
    ]


def _stream_figure(runs: Runs) -> Part:
    panels = []
    for kind in KINDS:
        lines = {}
        for title, its in _variants(runs):
            by_percentile: dict[float, list[float]] = {}
            for record in its:
                for q, value in (record.result or {}).get(kind, {}).get("percentiles", {}).items():
                    by_percentile.setdefault(float(q), []).append(value)
            lines[title] = [(q, geometric_mean(values)) for q, values in sorted(by_percentile.items())]
        panels.append(Panel(kind, "percentile", "seconds, geometric mean over data sets", lines, is_log_y=True))
    return Figure(line_panels(panels), "Distribution of latencies, geometric mean over the data sets.")


def _stream_summary(runs: Runs) -> Table:
    """Over all data sets: geometric means of latencies, and the loss of quality."""
    eager = dict(_scores(runs.done("stream", max_samples=1.0, lazy=False)))
    rows = []
    for title, its in _variants(runs):
        cells = []
        for kind in KINDS:
            for key in ("p50", "p99"):
                values = its.values(kind, key)
                cells.append(shown(geometric_mean(values) if values else None, "s"))
        losses = [value - eager[name] for name, value in _scores(its) if name in eager]
        cells.append(points(sum(losses) / len(losses)) if losses else NOTHING)
        cells.append(points(min(losses)) if losses else NOTHING)
        rows.append([title, *cells])
    head = ("variant", *(f"{kind} {key}" for kind in KINDS for key in ("p50", "p99")), "quality, points (mean)",
            "worst data set")  # fmt: skip
    return Table("Over all data sets", head, rows)


def _scores(runs: Runs) -> list[tuple[str, float]]:
    return [(name, its.mean("score") or 0.0) for name, its in by_dataset(runs)]


def _stream_table(runs: Runs) -> Table:
    rows = []
    for name, mine in by_dataset(runs):
        for title, its in _variants(mine):
            latencies = [shown(its.mean(kind, key), "s") for kind in KINDS for key in ("p50", "p99", "max")]
            rows.append([entry_of(name).title, title, *latencies, score(its.mean("score"))])
    head = ("data set", "", *(f"{kind} {key}" for kind in KINDS for key in ("p50", "p99", "max")), "test score")
    return Table("By data set", head, rows, frozenset({0, 1}), is_folded=True)
