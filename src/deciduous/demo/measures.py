"""What a run of the demonstration found: plain values. Times are in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, TypeVar

T = TypeVar("T")
Report = Callable[[int], None]  # called with the number of parts done


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and how long it takes."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


@dataclass(frozen=True)
class Setting:
    """How large everything is."""

    n_rows: int
    n_trees: int
    n_jobs: int
    n_singles: int  # rows that are deleted one by one, to see how long that takes
    depth: int = 20
    n_thresholds: int = 10


@dataclass(frozen=True)
class Training:
    """The table and the forest of it."""

    n_patients: int
    n_columns: int
    n_nodes: int
    seconds: float
    scikit_learn_seconds: float
    accuracy: float
    scikit_learn_accuracy: float


@dataclass(frozen=True)
class Erasure:
    """The patient's rows leave the forest."""

    n_visits: int
    n_nodes_rebuilt: int
    n_rows_retrained: int
    seconds: float


@dataclass(frozen=True)
class TableErasure:
    """The same by the live table: out of the database, the forest and all files, with a receipt."""

    seconds: float
    fingerprint: str
    reference: str  # by which the patient finds the receipt
    receipt: int
    files_before: int  # that named the patient or a visit
    files_after: int
    files_searched: int
    bytes_searched: int
    is_verified: bool  # a fresh fit of the table, and the chain of receipts


@dataclass(frozen=True)
class Proof:
    """Fingerprints of the forest after the erasure, and of one that never saw the patient."""

    after_deletion: str
    retrained: str
    retraining_seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether both are the same, byte for byte."""
        return self.after_deletion == self.retrained


@dataclass(frozen=True)
class Deletions:
    """Many single deletions and a batch of one in a hundred rows, from the same forest."""

    singles: Sequence[float]
    n_batch: int
    batch_seconds: float
    accuracy: float  # when all of them are gone
    is_exact: bool  # compared with a fresh fit of the rows that are left then

    @property
    def mean(self) -> float:
        """Of a single deletion."""
        return fmean(self.singles)

    @property
    def median(self) -> float:
        """Of a single deletion."""
        return median(self.singles)

    @property
    def slowest(self) -> float:
        """The single deletion that took longest."""
        return max(self.singles)


@dataclass(frozen=True)
class Story:
    """All of it. Without SQLAlchemy there is no table."""

    setting: Setting
    training: Training
    erasure: Erasure
    table: TableErasure | None
    proof: Proof
    deletions: Deletions

    @property
    def retraining(self) -> float:
        """Our own fit: the faster one of the two that were timed."""
        return min(self.training.seconds, self.proof.retraining_seconds)

    @property
    def is_exact(self) -> bool:
        """Whether each forest was the one that retraining gives, and no file names the patient."""
        in_table = self.table is None or (
            self.table.is_verified
            and self.table.fingerprint == self.proof.retrained
            and self.table.files_after == 0 < self.table.files_before
        )
        return self.proof.is_exact and self.deletions.is_exact and in_table

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        its = self.deletions
        summary = {"mean": its.mean, "median": its.median, "slowest": its.slowest}
        return asdict(self) | {"retraining_seconds": self.retraining, "single_deletion": summary}
