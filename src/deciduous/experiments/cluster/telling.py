"""What measurements, model and simulation say, as tables and sentences for the documentation and the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from ..page import Table
from ..wording import digits, shown
from . import keys
from .deployment import AS_IT_IS, DESIGNS, Assumptions, Deployment, Design
from .measured import Measured, Times
from .model import Costs, Part, capacity, erasures_per_second, latency, local, rewriting_capacity
from .simulation import Outcome, arrivals, clients, saturated

ROWS = tuple(10**exponent for exponent in range(5, 11))
RATES = tuple(10**exponent for exponent in range(5))
SINGLE_DELETIONS = 1_000
PASSES = {design.name: 60 if design.most_waiting < 1_000 else 16 for design in DESIGNS}
UNSATURATED = (0.05, 0.3, 0.6)  # of what can be sustained, where model and simulation are compared
REQUESTS_COMPARED = 1_500
ROWS_ON_WORKERS = 10**9  # whose erasures per second are told by the number of workers
WORKERS = tuple(2**exponent for exponent in range(1, 7))


@dataclass(frozen=True)
class Comparison:
    """The same quantity three times: measured, simulated, and from the formulas, which say only some of them."""

    what: str
    unit: str
    measured: float
    simulated: float
    modelled: float | None = None

    @property
    def error(self) -> float:
        """Of the simulation, as a share of what was measured."""
        return self.simulated / self.measured - 1


@dataclass(frozen=True)
class Sustained:
    """How many erasures per second so many rows can take in a design."""

    where: Deployment
    design: Design
    per_second: float
    limit: Part
    simulated: float  # at most what the formulas leave to files that are written in the background


@dataclass(frozen=True)
class Findings:
    """Everything that follows from a file of measurements."""

    measured: Measured
    assumed: Assumptions = Assumptions()  # noqa: RUF009
    seed: int = 0

    # ------------------------------------------------------------------------------------------ the local benchmark

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The benchmark of this machine, measured and simulated."""
        return [its for n_workers in self.measured.options["workers"] for its in self._compared(n_workers)]

    def _compared(self, n_workers: int) -> Iterator[Comparison]:
        costs = Costs(self.measured, local(self.measured, n_workers))
        workers = f"{n_workers} worker{'s' * (n_workers > 1)}"
        alone = clients(costs, 1, SINGLE_DELETIONS, self.seed)
        key = keys.whole(keys.CLUSTER, n_workers, "delete")
        whole = self.measured.times(key)
        yield Comparison(
            f"{workers}: one deletion, mean", "s", whole.mean, alone.mean_latency, latency(costs, 1 / whole.mean / 1e9)
        )
        for q in (50, 99):
            yield Comparison(
                f"{workers}: one deletion, p{q}", "s", self.measured.value(f"{key} p{q}"), alone.latency(q)
            )
        for n_clients in self.measured.options["clients"]:
            what = keys.at_once(n_clients)
            of_each = max(2, self.measured.options["n_at_once"] // n_clients)
            its = clients(costs, n_clients, of_each, self.seed)
            series = keys.whole(keys.CLUSTER, n_workers, what)
            for quantity, unit, simulated in (
                ("per second", "per s", its.per_second),
                ("rows of a pass", "rows", its.rows_of_pass),
            ):
                measured = self.measured.value(f"{series}: {quantity}")
                yield Comparison(f"{workers}, {what}: {quantity}", unit, measured, simulated)

    def comparison_table(self) -> Table:
        """Measured, simulated, modelled."""
        rows = [
            [
                its.what,
                shown(its.measured, its.unit),
                shown(its.simulated, its.unit),
                shown(its.modelled, its.unit),
                f"{100 * its.error:+.0f}%",
            ]
            for its in self.comparisons
        ]
        return Table("Measured and simulated", ("", "measured", "simulated", "formula", "simulated / measured"), rows)

    def machine(self) -> str:
        """Where the measurements are from."""
        its, options = self.measured.content["machine"], self.measured.options
        return (
            f"Measured on {its['date'][:10]} on {its['cores']} processors ({its['cpu']}), which had a load of "
            f"{its['load_average']:.1f} when it began: {options['rows']:,} rows of {options['columns']} columns in "
            f"{options['trees']} trees."
        )

    def whole_table(self) -> Table:
        """What was measured of forests on the cluster of the benchmark."""
        rows = []
        for n_workers in self.measured.options["workers"]:
            for what in ("fit", "delete", "add", "predict one row"):
                ours, theirs = (keys.whole(system, n_workers, what) for system in (keys.CLUSTER, keys.LOCAL))
                rows.append([f"{n_workers}: {what}", self._cell(ours), self._cell(theirs), self._beyond(ours, theirs)])
            ours, theirs = (
                keys.whole(system, n_workers, "predicted rows per second") for system in (keys.CLUSTER, keys.LOCAL)
            )
            ratio = f"{digits(self.measured.value(ours) / self.measured.value(theirs))}x"
            rows.append(
                [
                    f"{n_workers}: rows predicted per second, in batches",
                    digits(self.measured.value(ours)),
                    digits(self.measured.value(theirs)),
                    ratio,
                ]
            )
            for who in keys.PROCESSES:
                key = keys.whole(keys.CLUSTER, n_workers, f"{who} killed")
                rows.append([f"{n_workers}: {who} killed, until the next deletion is done", self._cell(key), "", ""])
        head = ("workers: what", "cluster: mean, median, p99", "one process, as many threads", "beyond one process")
        return Table("Beside one process", head, rows)

    def _cell(self, key: str) -> str:
        mean = shown(self.measured.value(key), "s")
        if not self.measured.has(f"{key} p50"):
            return mean
        return ", ".join([mean, *(shown(self.measured.value(f"{key} p{q}"), "s") for q in (50, 99))])

    def _beyond(self, ours: str, theirs: str) -> str:
        if self.measured.has(f"{ours}, beyond one process"):
            return self._cell(f"{ours}, beyond one process")
        return f"{digits(self.measured.value(ours) / self.measured.value(theirs))}x"

    def parts_table(self) -> Table:
        """What the simulation draws from."""
        costs = Costs(self.measured, local(self.measured, 1))
        rows = [
            ["a call to one process", self._times(costs.request)],
            [
                "… for each process more that is called at once",
                shown(self.measured.call(2).mean - self.measured.call(1).mean, "s"),
            ],
            [f"a file of {digits(costs.rows_per_file)} rows: read", self._times(costs.find)],
            ["… made anew in memory", self._times(costs.prepare)],
            ["… written", self._times(costs.write)],
            ["a change noted", self._times(costs.note)],
            ["the coordinator's own work, per pass", shown(costs.coordinator, "s")],
            ["… and per request", shown(costs.coordinator_per_request, "s")],
            ["a row leaves a tree of these rows", self._times(costs.tree)],
            ["a row leaves a tree of 1,000,000 rows", self._times(self.measured.tree(1_000_000))],
            ["… grows with the rows of the tree like", f"n^{self.measured.exponent_of_rows:.2f}"],
            ["… and with the rows that leave at once like", f"k^{self.measured.merging:.2f}"],
            ["a tree of 1,000,000 rows grows", shown(self.measured.fit(1_000_000), "s")],
            ["memory of a row in a worker", shown(self.measured.bytes_of_row, "B")],
            ["… and in each of its trees", shown(self.measured.bytes_of_row_in_tree, "B")],
        ]
        return Table("Parts", ("part", "mean; median, p99"), rows)

    @staticmethod
    def _times(times: Times) -> str:
        mean, p50, p99 = times.mean, times.percentile(50), times.percentile(99)
        return f"{shown(mean, 's')}; {shown(p50, 's')}, {shown(p99, 's')}"

    # ----------------------------------------------------------------------------------------------- large clusters

    def costs(self, rows: int, design: Design = AS_IT_IS) -> Costs:
        """So many rows on as few nodes as hold them."""
        return Costs(self.measured, Deployment.of(rows, self.measured, self.assumed), self.assumed, design)

    @cached_property
    def sustained(self) -> list[Sustained]:
        """Every number of rows in every design, by the formulas and simulated."""
        return [self._sustained(rows, design) for design in DESIGNS for rows in ROWS]

    @cached_property
    def by_workers(self) -> list[Sustained]:
        """The same rows on more and more nodes."""
        where = self.costs(ROWS_ON_WORKERS).where
        deployments = [replace(where, workers=n) for n in WORKERS if n >= where.workers]
        return [self._sustained_by(its, design) for design in DESIGNS for its in deployments]

    def _sustained(self, rows: int, design: Design) -> Sustained:
        return self._sustained_by(self.costs(rows).where, design)

    def _sustained_by(self, where: Deployment, design: Design) -> Sustained:
        whole = Costs(self.measured, where, self.assumed, design)
        per_second, limit = erasures_per_second(whole)
        part = where.part(design.n_coordinators)
        its = saturated(Costs(self.measured, part, self.assumed, design), PASSES[design.name], self.seed)
        simulated = its.per_second * (where.rows // part.rows)
        return Sustained(where, design, per_second, limit, min(simulated, rewriting_capacity(whole)))

    def nodes_table(self) -> Table:
        """What so many rows take."""
        rows = []
        for n_rows in ROWS:
            costs = self.costs(n_rows)
            where = costs.where
            rows.append(
                [
                    f"{n_rows:,}",
                    f"{where.trees:,}, {where.trees_of_row:,}",
                    f"{where.workers:,}",
                    shown(where.bytes_of_worker(self.measured), "B"),
                    f"{digits(costs.rows_per_file)}",
                    shown(costs.recovery("worker"), "s"),
                    shown(costs.recovery("coordinator"), "s"),
                    f"{100 * self.time_lost(costs):.2g}%",
                ]
            )
        head = (
            "rows",
            "trees, of which a row is in",
            "nodes",
            "memory of each",
            "rows per file",
            "worker back after",
            "coordinator",
            "time lost",
        )
        return Table("Nodes", head, rows)

    def time_lost(self, costs: Costs) -> float:
        """The share of time in which changes wait for a process that failed."""
        seconds = costs.where.workers * costs.recovery("worker") + costs.recovery("coordinator")
        return min(1.0, seconds / self.assumed.time_between_failures)

    def rates_table(self, design: Design = AS_IT_IS) -> Table:
        """For each number of rows and rate: the mean latency where it is sustained, else what stands in the way."""
        rows = [[f"{n_rows:,}", *(self._rate(n_rows, rate, design) for rate in RATES)] for n_rows in ROWS]
        return Table(design.name, ("rows", *(f"{rate:,} per s" for rate in RATES)), rows)

    def _rate(self, rows: int, rate: int, design: Design) -> str:
        costs = self.costs(rows, design)
        most, limit = erasures_per_second(costs)
        if rate > most:
            return f"**{limit}**"
        part = costs.where.part(design.n_coordinators)
        share = part.rows / rows
        return shown(latency(Costs(self.measured, part, self.assumed, design), rate * share), "s")

    def designs_table(self) -> Table:
        """What each design sustains."""
        rows = []
        for n_rows in ROWS:
            of_rows = [its for its in self.sustained if its.where.rows == n_rows]
            rows.append(
                [
                    f"{n_rows:,}",
                    *(f"{digits(its.per_second)} ({digits(its.simulated)}): {its.limit}" for its in of_rows),
                ]
            )
        return Table("Designs", ("rows", *(design.name for design in DESIGNS)), rows)

    def block(self, name: str) -> str:
        """What stands between the markers of this name in the documentation."""
        if name == "machine":
            return self.machine()
        tables: dict[str, Callable[[], Table]] = {
            "whole": self.whole_table,
            "parts": self.parts_table,
            "comparison": self.comparison_table,
            "agreement": self.agreement_table,
            "nodes": self.nodes_table,
            "rates": self.rates_table,
            "designs": self.designs_table,
            "last": lambda: self.rates_table(DESIGNS[-1]),
        }
        return tables[name]().as_markdown()

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """The same for programs."""
        return {
            "comparisons": [asdict(its) for its in self.comparisons],
            "sustained": [
                {
                    "design": its.design.name,
                    "n_rows": its.where.rows,
                    "n_workers": its.where.workers,
                    "per_second": its.per_second,
                    "simulated": its.simulated,
                    "limit": its.limit,
                }
                for its in self.sustained
            ],
        }

    # ---------------------------------------------------------------------------------------- model and simulation

    @cached_property
    def disagreements(self) -> list[tuple[int, float, float, float]]:
        """Rows, share of what can be sustained, and by what share the formulas are off: rates, and mean latencies."""
        found = []
        for rows in ROWS:
            costs = self.costs(rows)
            most = capacity(costs).per_second
            for share in UNSATURATED:
                rate = share * most
                its: Outcome = arrivals(costs, rate, REQUESTS_COMPARED / rate, self.seed)
                found.append((rows, share, its.per_second / rate - 1, latency(costs, rate) / its.mean_latency - 1))
        return found

    @property
    def largest_disagreement(self) -> float:
        """Of latencies."""
        return max(abs(of_latency) for *_, of_latency in self.disagreements)

    def agreement_table(self) -> Table:
        """The formula's mean latency against the simulated one."""
        by_rows = {rows: [its for its in self.disagreements if its[0] == rows] for rows in ROWS}
        lines = [[f"{rows:,}", *(f"{100 * its[3]:+.0f}%" for its in found)] for rows, found in by_rows.items()]
        return Table("Agreement", ("rows", *(f"at {share:.0%} of what is sustained" for share in UNSATURATED)), lines)
