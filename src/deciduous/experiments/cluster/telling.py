"""Findings as tables and sentences, for the documentation and the command."""

from __future__ import annotations

from collections.abc import Callable

from ..page import Table
from ..wording import digits, shown
from . import keys
from .deployment import AS_IT_IS, DESIGNS, Design
from .findings import ROWS, UNSATURATED, Findings
from .measured import Measured, Times
from .model import Costs, Part, local

RATES = tuple(10**exponent for exponent in range(5))  # erasures per second
BEYOND = "beyond one process"
LARGE_TREE = 1_000_000


def block(findings: Findings, name: str) -> str:
    """What stands between the markers of this name in the documentation."""
    return machine(findings.measured) if name == "machine" else TABLES[name](findings).as_markdown()


def machine(measured: Measured) -> str:
    """Where the measurements are from."""
    its, options = measured.content["machine"], measured.options
    return (
        f"Measured on {its['date'][:10]} on {its['cores']} processors ({its['cpu']}): {options['rows']:,} rows of "
        f"{options['columns']} columns in {options['trees']} trees. The machine had a load of "
        f"{its['load_average']:.1f} when it began, and of {options['load_at_end']:.1f} in the last five minutes, that "
        f"of the benchmark included; above {its['cores']} others were at work, and times are longer than they need be."
    )


# --------------------------------------------------------------------------------------------------- what was measured


def whole(findings: Findings) -> Table:
    """Forests on the cluster of the benchmark."""
    measured = findings.measured
    rows = [row for n_workers in measured.options["workers"] for row in whole_rows(measured, n_workers)]
    return Table(
        "Beside one process",
        ("workers: what", "cluster: mean; median, p99", "one process, as many threads", BEYOND),
        rows,
    )


def whole_rows(measured: Measured, n_workers: int) -> list[list[str]]:
    """Those for so many workers."""

    def series(what: str) -> tuple[str, str]:
        ours, theirs = (keys.whole(system, n_workers, what) for system in (keys.CLUSTER, keys.LOCAL))
        return ours, theirs

    def ratio(what: str) -> str:
        ours, theirs = (measured.value(key) for key in series(what))
        return f"{digits(ours / theirs)}x"

    rows = [["fit", *(shown(measured.value(key), "s") for key in series("fit")), ratio("fit")]]
    for what in ("delete", "add"):
        beyond = series(f"{what}, {BEYOND}")[0]
        rows.append([what, *(spread_of(measured, key) for key in (*series(what), beyond))])
    what = "predict one row"
    rows.append([what, *(spread_of(measured, key) for key in series(what)), ratio(what)])
    what = "predicted rows per second"
    rows.append([f"{what}, in batches", *(digits(measured.value(key)) for key in series(what)), ratio(what)])
    for who in keys.PROCESSES:
        killed = series(f"{who} killed")[0]
        rows.append([f"{who} killed, until the next deletion is done", spread_of(measured, killed), "", ""])
    return [[f"{n_workers}: {what}", *cells] for what, *cells in rows]


def spread_of(measured: Measured, key: str) -> str:
    """Mean, median and p99 of a series of times."""
    mean, *others = (shown(measured.value(key + suffix), "s") for suffix in ("", " p50", " p99"))
    return f"{mean}; {', '.join(others)}"


def parts(findings: Findings) -> Table:
    """What the simulation draws from."""
    measured = findings.measured
    costs = Costs(measured, local(measured, 1))
    rows = [
        ["a call to one process", spread_of_times(costs.request)],
        ["… for each process more that is called at once", shown(measured.call(2).mean - measured.call(1).mean, "s")],
        [f"a file of {digits(costs.rows_per_file)} rows: read", spread_of_times(costs.find)],
        ["… made anew in memory", spread_of_times(costs.prepare)],
        ["… written", spread_of_times(costs.write)],
        ["a change noted", spread_of_times(costs.note)],
        ["the coordinator's own work, per pass", shown(costs.coordinator, "s")],
        ["… and per request", shown(costs.coordinator_per_request, "s")],
        [f"a row leaves a tree of {costs.where.rows:,} rows", spread_of_times(costs.tree)],
        [f"a row leaves a tree of {LARGE_TREE:,} rows", spread_of_times(measured.tree(LARGE_TREE))],
        ["… grows with the rows n of the tree like", f"n^{measured.exponent_of_rows:.2f}"],
        ["… and with the rows k that leave at once like", f"k^{measured.merging:.2f}"],
        [f"a tree of {LARGE_TREE:,} rows grows", shown(measured.fit(LARGE_TREE), "s")],
        ["memory of a row in a worker", shown(measured.bytes_of_row, "B")],
        ["… and in each of its trees", shown(measured.bytes_of_row_in_tree, "B")],
    ]
    return Table("Parts", ("part", "mean; median, p99"), rows)


def spread_of_times(times: Times) -> str:
    """Mean, median and p99."""
    return f"{shown(times.mean, 's')}; {', '.join(shown(times.percentile(q), 's') for q in (50, 99))}"


def comparison(findings: Findings) -> Table:
    """Measured, simulated, from the formulas."""
    rows = [
        [
            its.what,
            *(shown(value, its.unit) for value in (its.measured, its.simulated, its.modelled)),
            f"{100 * its.error:+.0f}%",
        ]
        for its in findings.comparisons
    ]
    return Table("Measured and simulated", ("", "measured", "simulated", "formula", "simulated / measured"), rows)


def agreement(findings: Findings) -> Table:
    """The formula's mean latency against the simulated one."""
    rows = [
        [f"{n_rows:,}", *(f"{100 * its.of_latency:+.0f}%" for its in findings.disagreements if its.rows == n_rows)]
        for n_rows in ROWS
    ]
    return Table("Agreement", ("rows", *(f"at {load:.0%} of what is sustained" for load in UNSATURATED)), rows)


# -------------------------------------------------------------------------------------------------- large clusters


def nodes(findings: Findings) -> Table:
    """What so many rows take."""
    head = (
        "rows",
        "trees, of which a row is in",
        "nodes",
        "memory of each",
        "rows per file",
        "worker back after",
        "coordinator back after",
        "time lost",
    )
    return Table("Nodes", head, [nodes_row(findings, n_rows) for n_rows in ROWS])


def nodes_row(findings: Findings, n_rows: int) -> list[str]:
    """One number of rows."""
    costs = findings.costs(n_rows)
    where = costs.where
    return [
        f"{n_rows:,}",
        f"{where.trees:,}, {where.trees_of_row:,}",
        f"{where.workers:,}",
        shown(where.bytes_of_worker(findings.measured), "B"),
        digits(costs.rows_per_file),
        *(shown(costs.recovery(who), "s") for who in keys.PROCESSES),
        f"{100 * findings.time_lost(costs):.2g}%",
    ]


def rates(findings: Findings, design: Design = AS_IT_IS) -> Table:
    """For each number of rows and rate: the mean latency where it is sustained, else what stands in the way."""
    rows = [[f"{n_rows:,}", *(rate_cell(findings.latency(n_rows, rate, design)) for rate in RATES)] for n_rows in ROWS]
    return Table(design.name, ("rows", *(f"{rate:,} per s" for rate in RATES)), rows)


def rate_cell(found: float | Part) -> str:
    """A time, or what stands in the way."""
    return f"**{found}**" if isinstance(found, Part) else shown(found, "s")


def designs(findings: Findings) -> Table:
    """What each design sustains."""
    rows = [
        [
            f"{n_rows:,}",
            *(
                f"{digits(its.per_second)} ({digits(its.simulated)}): {its.limit}"
                for its in findings.sustained
                if its.where.rows == n_rows
            ),
        ]
        for n_rows in ROWS
    ]
    return Table("Erasures per second", ("rows", *(design.name for design in DESIGNS)), rows)


def rates_of_last(findings: Findings) -> Table:
    """Those of the design that goes furthest."""
    return rates(findings, DESIGNS[-1])


TABLES: dict[str, Callable[[Findings], Table]] = {
    "whole": whole,
    "parts": parts,
    "comparison": comparison,
    "agreement": agreement,
    "nodes": nodes,
    "rates": rates,
    "designs": designs,
    "last": rates_of_last,
}
