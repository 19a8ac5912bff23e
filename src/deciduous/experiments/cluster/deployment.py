"""Where a forest runs, how its cluster carries out changes, and what of that is assumed instead of measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from .measured import Measured

ROWS_PER_TREE = 1_000_000  # the most; forests of more rows have them in a share of the trees
FEWEST_TREES = 50
DAY = 86_400.0


@dataclass(frozen=True)
class Assumptions:
    """What cannot be measured on one machine."""

    threads: int = 16  # of a node
    memory: float = 100e9  # bytes of a node that a worker may take
    network_round_trip: float = 0.0002  # seconds
    network_bytes: float = 1.25e9  # per second: 10 Gbit/s
    bytes_per_call: float = 2_000.0
    file_round_trip: float = 0.0005  # seconds for an operation on a file of a shared file system
    operations_per_read: int = 2  # open, read
    operations_per_write: int = 5  # open and write, take the old one away, rename, so that either is whole
    disk_bytes: float = 1e9  # per second, of the shared file system, for one reader or writer
    straggles: float = 0.001  # the share of changes that a worker is slow to carry out …
    straggling: float = 10.0  # … by this factor
    time_between_failures: float = 30 * DAY  # of a process


LOCAL = Assumptions(network_round_trip=0, network_bytes=math.inf, file_round_trip=0, disk_bytes=math.inf, straggles=0)


@dataclass(frozen=True)
class Design:
    """How changes are carried out. The defaults are what the package does."""

    name: str = "as it is"
    rows_per_file: int = 512
    most_files: int = 16_384
    most_waiting: int = 64  # changes, with those that are being carried out
    requests_per_call: int = 1
    seconds_between_rewrites: float = 0.0  # 0: files are written anew with each change; else a log is, and they later
    reads_all_files: bool = True  # whoever recovers; else a worker reads the files of its own rows
    n_coordinators: int = 1  # each with workers, trees and rows of its own

    @property
    def has_log(self) -> bool:
        """Whether files are written anew later."""
        return self.seconds_between_rewrites > 0


AS_IT_IS = Design()
WITH_LOG = replace(
    AS_IT_IS,
    name="with a log",
    most_files=2**26,
    seconds_between_rewrites=3_600.0,
    reads_all_files=False,
)
IN_BULK = replace(WITH_LOG, name="a log, requests in bulk", most_waiting=2_000, requests_per_call=100)
MANY_ORDERS = replace(IN_BULK, name="a log, bulk, 8 coordinators", n_coordinators=8)
DESIGNS = (AS_IT_IS, WITH_LOG, IN_BULK, MANY_ORDERS)


@dataclass(frozen=True)
class Deployment:
    """A forest on a cluster."""

    rows: int
    trees: int
    share: float | Fraction  # of the rows that each tree has: `max_samples`
    workers: int
    threads: int = 1  # of a worker
    shared_processors: int | None = None  # of one machine on which all processes run
    columns: int = 40

    @property
    def trees_of_row(self) -> int:
        """In how many trees a row is (docs/algorithm.md)."""
        return math.ceil(Fraction(str(self.share)) * self.trees)

    @property
    def rows_of_tree(self) -> float:
        """On average."""
        return self.rows * self.trees_of_row / self.trees

    @property
    def trees_of_worker(self) -> float:
        """On average."""
        return self.trees / self.workers

    @property
    def rows_of_worker(self) -> float:
        """How many rows at least one tree of a worker has."""
        none_of_them = (1 - self.trees_of_row / self.trees) ** self.trees_of_worker
        return float(self.rows * (1 - none_of_them))

    def bytes_of_worker(self, measured: Measured) -> float:
        """The memory of a worker: values once, and what each tree keeps."""
        in_trees = self.trees_of_worker * self.rows_of_tree * measured.bytes_of_row_in_tree
        values = measured.bytes_of_row * self.columns / int(measured.options["columns"])
        return self.rows_of_worker * values + in_trees

    def part(self, n: int) -> Deployment:
        """One of n parts with workers, trees and rows of their own; itself if rows are in trees of several parts."""
        n = min(n, self.workers) if self.trees_of_row == 1 else 1
        its = replace(self, rows=self.rows // n, trees=self.trees // n, workers=self.workers // n)
        return replace(its, share=Fraction(1, its.trees) if n > 1 else self.share)

    @classmethod
    def of(cls, rows: int, measured: Measured, assumed: Assumptions) -> Deployment:
        """So many rows on as few nodes as have the memory."""
        trees = max(FEWEST_TREES, math.ceil(rows / ROWS_PER_TREE))
        share = min(Fraction(1), Fraction(ROWS_PER_TREE, rows))
        workers = 1
        while (its := cls(rows, trees, share, workers, assumed.threads)).bytes_of_worker(measured) > assumed.memory:
            workers += 1
        return its
