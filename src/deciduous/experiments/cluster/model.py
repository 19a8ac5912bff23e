"""What a change costs, in formulas: the time of a pass of the coordinator, part by part, and what follows from it.

A pass carries out the deletions that wait together. Its parts follow one another, but for the trees and the files: the
workers change their trees while the coordinator makes the new files in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property

from . import keys
from .deployment import AS_IT_IS, LOCAL, Assumptions, Deployment, Design
from .measured import Measured, Times

NEGLIGIBLE = 1e-9
CLIENTS_FOR_REQUESTS = 16  # of the series from which the time of a request is taken
BYTES_OF_ID = 8
MOST_OF_FIT = 1.8  # that a batch takes, however many rows it has (docs/performance.md)
LEAST_START = 0.1  # of a recovery is the start of a process
STEPS_TO_BALANCE = 100
MOST_OF_VARIANCE = 0.1  # what is left of one where passes hardly keep up
REWRITING_SHARE = 0.25  # of the threads of all workers may write files anew in the background


class Part(StrEnum):
    """What a pass spends its time with, and what may limit how many there are."""

    COORDINATOR = "coordinator"
    CALLS = "calls to workers"
    FILES = "files"
    TREES = "trees"
    SLOWEST = "slowest tree"
    NETWORK = "network"


@dataclass(frozen=True)
class Costs:
    """What the parts of a change take in a deployment: the simulation draws from these times, the model adds them."""

    measured: Measured
    where: Deployment
    assumed: Assumptions = LOCAL
    design: Design = AS_IT_IS

    @cached_property
    def part(self) -> Costs:
        """Of what one coordinator has."""
        return Costs(self.measured, self.where.part(self.design.n_coordinators), self.assumed, self.design)

    @cached_property
    def n_files(self) -> int:
        """Of the row store."""
        return max(1, min(self.design.most_files, self.where.rows // self.design.rows_per_file))

    @cached_property
    def rows_per_file(self) -> float:
        """On average."""
        return self.where.rows / self.n_files

    def files_of(self, n_rows: float) -> float:
        """In how many files so many rows are."""
        return self.n_files * -math.expm1(n_rows * math.log1p(-1 / self.n_files)) if self.n_files > 1 else 1.0

    @property
    def bytes_per_file(self) -> float:
        """Values as they are, with ids, labels and weights."""
        return self.rows_per_file * (4 * self.where.columns + 16)

    def _file(self, step: str, operations: int, *, moves: bool) -> Times:
        there = self.measured.file(step, self.rows_per_file)
        moved = self.bytes_per_file / self.assumed.disk_bytes if moves else 0.0
        return there.like(there.mean + operations * self.assumed.file_round_trip + moved)

    @cached_property
    def find(self) -> Times:
        """Read one file."""
        return self._file("find", self.assumed.operations_per_read, moves=True)

    @cached_property
    def note(self) -> Times:
        """Write down a change, or that it is done."""
        return self._file("note", self.assumed.operations_per_write, moves=False)

    @cached_property
    def prepare(self) -> Times:
        """Make the new content of a file in memory."""
        return self._file("prepare", 0, moves=False)

    @cached_property
    def write(self) -> Times:
        """Put it in the place of the old one; the measured step also notes that the change is done."""
        its = self._file("write", self.assumed.operations_per_write, moves=True)
        return its.like(max(NEGLIGIBLE, its.mean - self.note.mean))

    @cached_property
    def request(self) -> Times:
        """A client asks the coordinator."""
        its = self.measured.call(1)
        return its.like(its.mean + self.assumed.network_round_trip)

    @cached_property
    def calls(self) -> Times:
        """The coordinator calls all workers."""
        its = self.measured.call(self.where.workers)
        return its.like(its.mean + self.assumed.network_round_trip)

    def network(self, n_rows: float) -> float:
        """Sending a change with the ids of so many rows to all workers, beyond the time of a call."""
        return self.where.workers * (self.assumed.bytes_per_call + BYTES_OF_ID * n_rows) / self.assumed.network_bytes

    @cached_property
    def tree(self) -> Times:
        """A row leaves a tree."""
        return self.measured.tree(self.where.rows_of_tree)

    def tree_of(self, factor: float) -> Times:
        """So many times what a row takes that leaves a tree."""
        return self.tree.like(self.tree.mean * factor).at_most(self.most_of_tree)

    @cached_property
    def most_of_tree(self) -> float:
        """The longest that changing a tree takes, however many rows leave it: growing most of it again."""
        return MOST_OF_FIT * self.measured.fit(self.where.rows_of_tree)

    @property
    def coordinator(self) -> float:
        """What the coordinator does itself in a pass."""
        return calibration(self.measured)[0]

    @property
    def coordinator_per_request(self) -> float:
        """What it does for each request."""
        return calibration(self.measured)[1] / self.design.requests_per_call

    @property
    def slowing(self) -> float:
        """By what factor workers are slower on average as they sometimes straggle."""
        return 1 + self.assumed.straggles * (self.assumed.straggling - 1)

    def together(self, trees: list[float], files: float) -> float:
        """How long workers and coordinator take beside each other: as long as the longest, if processors are enough."""
        longest = max(*trees, files)
        if self.where.shared_processors is None:
            return longest
        return max(longest, (sum(trees) + files) / self.where.shared_processors)

    # -------------------------------------------------------------------------------------------------- after failures

    def recovery(self, who: str) -> float:
        """From the end of a process to the next change: it starts, reads rows, and grows its trees."""
        reading = self.n_files * self.find.mean
        if who == "coordinator":
            return started(self.measured, who) + (reading if self.design.reads_all_files else 0.0)
        if not self.design.reads_all_files:
            reading *= self.where.rows_of_worker / self.where.rows
        trees = max(1.0, self.where.trees_of_worker)
        growing = self.measured.fit(self.where.rows_of_tree) * trees / min(self.where.threads, trees)
        return started(self.measured, who) + reading + growing


@dataclass(frozen=True)
class Pass:
    """A pass that deletes so many rows: the seconds of its parts, and those of all of it."""

    n_rows: float
    parts: dict[Part, float]
    seconds: float

    @property
    def per_second(self) -> float:
        """Rows, if one such pass follows the other."""
        return self.n_rows / self.seconds

    @property
    def bottleneck(self) -> Part:
        """What takes most of it."""
        return max(self.parts, key=lambda part: self.parts[part])


def pass_of(costs: Costs, n_rows: float) -> Pass:
    """The mean pass that deletes so many rows."""
    files = costs.files_of(n_rows)
    trees, slowest = tree_seconds(costs, n_rows)
    if costs.design.has_log:
        found = prepared = written = 0.0
    else:
        found, prepared, written = (files * its.mean for its in (costs.find, costs.prepare, costs.write))
    work = [trees] * costs.where.workers
    work[0] = trees + slowest
    both = costs.together(work, prepared)
    waited_for_files = max(0.0, both - trees - slowest)
    parts = {
        Part.COORDINATOR: costs.coordinator + n_rows * costs.coordinator_per_request,
        Part.CALLS: costs.calls.mean,
        Part.FILES: found + 2 * costs.note.mean + written + waited_for_files,
        Part.TREES: trees,
        Part.SLOWEST: slowest,
        Part.NETWORK: costs.network(n_rows),
    }
    return Pass(n_rows, parts, sum(parts.values()))


@dataclass(frozen=True)
class Work:
    """What a worker does in a pass: so many trees, each for so long, by so many threads."""

    trees: float
    one: Times
    threads: float

    @classmethod
    def of(cls, costs: Costs, n_rows: float) -> Work:
        """Of a mean worker."""
        where = costs.where
        of_tree = n_rows * where.trees_of_row / where.trees  # rows that leave a tree
        touched = where.trees_of_worker * (1 - math.exp(-of_tree) if where.trees_of_row < where.trees else 1.0)
        one = costs.tree_of(rows_at_once(costs, of_tree))
        one = one.like(one.mean * costs.slowing)
        return cls(touched, one, min(where.threads, max(1.0, touched)))

    @property
    def mean(self) -> float:
        """Of the time."""
        return self.trees * self.one.mean / self.threads

    @property
    def deviation(self) -> float:
        """Of the time, from worker to worker and pass to pass."""
        return self.one.deviation * math.sqrt(self.trees) / self.threads


def tree_seconds(costs: Costs, n_rows: float) -> tuple[float, float]:
    """How long a worker takes for its trees on average, and how much longer the slowest of all workers does."""
    its, workers = Work.of(costs, n_rows), costs.where.workers
    slowest_worker = its.mean + (its.deviation * math.sqrt(2 * math.log(workers)) if workers > 1 else 0.0)
    has_threads = its.threads > 1 or its.trees < 1
    slowest_tree = its.one.largest_of(its.trees * workers) if has_threads else 0.0
    return its.mean, max(slowest_worker, slowest_tree) - its.mean


def tree_deviation(costs: Costs, n_rows: float) -> float:
    """The standard deviation of the time that the trees take."""
    its = Work.of(costs, n_rows)
    return its.one.deviation_of_largest(its.trees * costs.where.workers) if its.threads > 1 else its.deviation


def rows_at_once(costs: Costs, of_tree: float) -> float:
    """How many times as long a tree takes that rows leave as one that a row leaves."""
    is_in_all = costs.where.trees_of_row == costs.where.trees
    per_touched = of_tree if is_in_all else of_tree / -math.expm1(-of_tree)
    return float(max(1.0, per_touched) ** costs.measured.merging)


# ----------------------------------------------------------------------------------------------------- what follows


def capacity(costs: Costs) -> Pass:
    """The mean pass if as many clients as may wait never stop asking.

    The first that asks again has a pass for itself; all others wait for the next one. So small passes and large ones
    take turns.
    """
    few, many = (pass_of(costs, n_rows) for n_rows in (1.0, max(1.0, costs.design.most_waiting - 1.0)))
    parts = {part: (few.parts[part] + many.parts[part]) / 2 for part in Part}
    return Pass((few.n_rows + many.n_rows) / 2, parts, (few.seconds + many.seconds) / 2)


def erasures_per_second(costs: Costs) -> tuple[float, Part]:
    """How many rows may leave per second, with all coordinators, and what it is that limits them."""
    most = capacity(costs.part)
    n_parts = costs.where.rows // costs.part.where.rows
    limits = [(most.per_second * n_parts, most.bottleneck)]
    limits.append((rewriting_capacity(costs), Part.FILES))
    return min(limits, key=lambda limit: limit[0])


def rewriting_capacity(costs: Costs) -> float:
    """How many rows may leave per second if their files are written anew in the background, each once in a while."""
    if not costs.design.has_log:
        return math.inf
    each = costs.find.mean + costs.prepare.mean + costs.write.mean
    threads = REWRITING_SHARE * costs.where.workers * costs.where.threads
    files_per_round = costs.design.seconds_between_rewrites / each * threads
    if files_per_round >= costs.n_files:
        return math.inf
    rows = math.log1p(-files_per_round / costs.n_files) / math.log1p(-1 / costs.n_files)
    return rows / costs.design.seconds_between_rewrites


def mean_pass(costs: Costs, per_second: float) -> Pass:
    """The mean pass when so many requests come per second, at random.

    A pass deletes what came during the one before, or the one row that comes first if nothing did.
    """
    its = pass_of(costs, 1.0)
    for _ in range(STEPS_TO_BALANCE):
        came = per_second * its.seconds
        if came > costs.design.most_waiting / 2:
            return capacity(costs)
        its = pass_of(costs, 0.5 * its.n_rows + 0.5 * (came + math.exp(-came)))
    return its


def alone(costs: Costs) -> float:
    """The mean time from a request to its answer when nobody else asks."""
    return costs.request.mean + pass_of(costs, 1.0).seconds


def latency(costs: Costs, per_second: float) -> float:
    """The mean time from a request to its answer when so many come per second, at random.

    Whoever comes during a pass is more likely to come during a long one, waits for its end, and then is deleted
    together with all others that came meanwhile.
    """
    its = mean_pass(costs, per_second)
    idle = math.exp(-per_second * its.seconds) / per_second  # after a pass
    busy = its.seconds / (its.seconds + idle)
    met = its.seconds * (1 + variation(costs, its, per_second))  # the pass during which somebody comes
    own = pass_of(costs, 1 + per_second * met)
    return (1 - busy) * alone(costs) + busy * (costs.request.mean + met / 2 + own.seconds)


def variation(costs: Costs, its: Pass, per_second: float) -> float:
    """The variance of the time of passes, as a share of the square of their mean.

    It comes from trees that happen to take long, and from how many rows came during the pass before.
    """
    of_trees = tree_deviation(costs, its.n_rows) ** 2
    for_row = (pass_of(costs, its.n_rows + 1).seconds - pass_of(costs, its.n_rows).seconds) * per_second
    of_rows = for_row**2 / per_second * its.seconds
    return (of_trees + of_rows) / max(1 - for_row**2, MOST_OF_VARIANCE) / its.seconds**2


# --------------------------------------------------------------------------------------------- taken from the whole


def local(measured: Measured, n_workers: int) -> Deployment:
    """Where the benchmark ran."""
    its = measured.options
    processors = measured.content["machine"]["cores"]
    return Deployment(its["rows"], its["trees"], 1.0, n_workers, 1, processors, its["columns"])


@cache
def calibration(measured: Measured) -> tuple[float, float]:
    """What the coordinator does itself in a pass, and for each request: what the parts leave of the whole.

    From the series with one worker: single deletions beside those of one process for the first, and those of several
    clients for the second. All other series are left to tell whether model and simulation are right.
    """
    bare = _Bare(measured, local(measured, 1))
    beyond = measured.value(keys.whole(keys.CLUSTER, 1, "delete, beyond one process p50"))
    known = pass_of(bare, 1.0)
    own = max(NEGLIGIBLE, beyond - bare.request.mean - (known.seconds - known.parts[Part.TREES]))
    what = keys.at_once(CLIENTS_FOR_REQUESTS)
    if not measured.has(keys.whole(keys.CLUSTER, 1, f"{what}: per second")):
        return own, NEGLIGIBLE
    per_second = measured.value(keys.whole(keys.CLUSTER, 1, f"{what}: per second"))
    n_rows = measured.value(keys.whole(keys.CLUSTER, 1, f"{what}: rows of a pass"))
    of_requests = n_rows / per_second - own - pass_of(bare, n_rows).seconds
    return own, max(NEGLIGIBLE, of_requests / n_rows)


class _Bare(Costs):
    """Costs without what the coordinator does itself."""

    coordinator = 0.0
    coordinator_per_request = 0.0


def started(measured: Measured, who: str) -> float:
    """How long a process takes to start after a failure: what reading and growing leave of the whole."""
    costs = Costs(measured, local(measured, max(measured.options["workers"])))
    whole = measured.value(keys.whole(keys.CLUSTER, costs.where.workers, f"{who} killed p50"))
    reading = costs.n_files * costs.find.mean
    growing = measured.fit(costs.where.rows) * costs.where.trees_of_worker if who == "worker" else 0.0
    return max(LEAST_START * whole, whole - reading - growing)
