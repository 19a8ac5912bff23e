"""What follows from a file of measurements: the benchmark simulated, and what large clusters sustain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from . import keys
from .deployment import AS_IT_IS, DESIGNS, Assumptions, Deployment, Design
from .measured import Measured
from .model import Costs, Part, alone, capacity, erasures_per_second, latency, local, rewriting_capacity
from .simulation import arrivals, clients, saturated

ROWS = tuple(10**exponent for exponent in range(5, 11))
ROWS_ON_WORKERS = 10**9  # whose erasures per second are told by the number of workers
WORKERS = tuple(2**exponent for exponent in range(1, 7))
SINGLE_DELETIONS = 1_000
PASSES = {design.name: 60 if design.most_waiting < 1_000 else 16 for design in DESIGNS}
UNSATURATED = (0.05, 0.3, 0.6)  # of what can be sustained, where formulas and simulation are compared
REQUESTS_COMPARED = 1_500


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
    """How many erasures per second a forest can take in a design."""

    where: Deployment
    design: Design
    per_second: float
    limit: Part
    simulated: float  # at most what the formulas leave to files that are written in the background


@dataclass(frozen=True)
class Disagreement:
    """By what share the formulas differ from the simulation."""

    rows: int
    load: float  # as a share of what can be sustained
    of_rate: float
    of_latency: float


@dataclass(frozen=True)
class Findings:
    """Everything that follows from a file of measurements."""

    measured: Measured
    assumed: Assumptions = field(default_factory=Assumptions)
    seed: int = 0

    # ------------------------------------------------------------------------------------------ the local benchmark

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The benchmark on its own machine, measured and simulated."""
        return [its for n_workers in self.measured.options["workers"] for its in self._compared(n_workers)]

    def _compared(self, n_workers: int) -> Iterator[Comparison]:
        costs = Costs(self.measured, local(self.measured, n_workers))
        workers = f"{n_workers} worker{'s' * (n_workers > 1)}"
        one = clients(costs, 1, SINGLE_DELETIONS, self.seed)
        key = keys.whole(keys.CLUSTER, n_workers, "delete")
        yield Comparison(
            f"{workers}: one deletion, mean", "s", self.measured.value(key), one.mean_latency, alone(costs)
        )
        for q in (50, 99):
            yield Comparison(f"{workers}: one deletion, p{q}", "s", self.measured.value(f"{key} p{q}"), one.latency(q))
        for n_clients in self.measured.options["clients"]:
            what = keys.at_once(n_clients)
            its = clients(costs, n_clients, max(2, self.measured.options["n_at_once"] // n_clients), self.seed)
            simulated = {"per second": ("per s", its.per_second), "rows of a pass": ("rows", its.rows_of_pass)}
            for quantity, (unit, value) in simulated.items():
                series = keys.whole(keys.CLUSTER, n_workers, f"{what}: {quantity}")
                yield Comparison(f"{workers}, {what}: {quantity}", unit, self.measured.value(series), value)

    # ----------------------------------------------------------------------------------------------- large clusters

    def costs(self, rows: int, design: Design = AS_IT_IS) -> Costs:
        """So many rows on as few nodes as hold them."""
        return Costs(self.measured, Deployment.of(rows, self.measured, self.assumed), self.assumed, design)

    @cached_property
    def sustained(self) -> list[Sustained]:
        """Every number of rows in every design, by the formulas and simulated."""
        return [self._sustained(self.costs(rows).where, design) for design in DESIGNS for rows in ROWS]

    @cached_property
    def by_workers(self) -> list[Sustained]:
        """The same rows on more and more nodes."""
        where = self.costs(ROWS_ON_WORKERS).where
        deployments = [replace(where, workers=n) for n in WORKERS if n >= where.workers]
        return [self._sustained(its, design) for design in DESIGNS for its in deployments]

    def _sustained(self, where: Deployment, design: Design) -> Sustained:
        whole = Costs(self.measured, where, self.assumed, design)
        per_second, limit = erasures_per_second(whole)
        part = whole.part
        its = saturated(part, PASSES[design.name], self.seed)
        simulated = its.per_second * (where.rows // part.where.rows)
        return Sustained(where, design, per_second, limit, min(simulated, rewriting_capacity(whole)))

    def latency(self, rows: int, per_second: float, design: Design) -> float | Part:
        """The mean time of a deletion, or what stands in the way of so many."""
        costs = self.costs(rows, design)
        most, limit = erasures_per_second(costs)
        if per_second > most:
            return limit
        return latency(costs.part, per_second * costs.part.where.rows / rows)

    def time_lost(self, costs: Costs) -> float:
        """The share of time in which changes wait for a process that failed."""
        seconds = costs.where.workers * costs.recovery("worker") + costs.recovery("coordinator")
        return min(1.0, seconds / self.assumed.time_between_failures)

    # ---------------------------------------------------------------------------------------- formulas and simulation

    @cached_property
    def disagreements(self) -> list[Disagreement]:
        """For every number of rows, where no queue is full."""
        return [self._disagreement(rows, load) for rows in ROWS for load in UNSATURATED]

    def _disagreement(self, rows: int, load: float) -> Disagreement:
        costs = self.costs(rows)
        rate = load * capacity(costs).per_second
        its = arrivals(costs, rate, REQUESTS_COMPARED / rate, self.seed)
        return Disagreement(rows, load, rate / its.per_second - 1, latency(costs, rate) / its.mean_latency - 1)

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """For programs."""
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
