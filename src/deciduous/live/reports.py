"""What the methods of a live forest report: plain values."""

from __future__ import annotations

from dataclasses import dataclass

from ..reports import VerifyReport
from .receipts import Receipt
from .requests import Request

EXACT, STALE, BROKEN = "exact", "stale", "broken"  # outcomes of verifications


@dataclass(frozen=True)
class SyncReport:
    """Result of a sync. `receipts` is empty if the table had not changed.

    `method` says how the changes were found: by "comparison" or "capture". "rebuilt" means by comparison, and that the
    forest was retrained from scratch. `remains` says what is left to do in the database, if anything.
    """

    receipts: tuple[Receipt, ...]
    n_rows: int
    n_added: int
    n_deleted: int
    n_updated: int
    fingerprint: str
    method: str
    seconds: float
    remains: str | None = None


@dataclass(frozen=True)
class ErasureReport:
    """Result of `erase`: the request in its current state, and the sync that applied it, if one was needed."""

    request: Request
    sync: SyncReport | None

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of the erasure."""
        return () if self.sync is None else self.sync.receipts


@dataclass(frozen=True)
class LiveVerifyReport(VerifyReport):
    """Result of `LiveForest.verify`: whether the record is intact, and a fresh fit on the table gives the forest.

    `outcome` is "exact"; "stale" if the table has changed since the last sync, which does not mean that the forest is
    wrong; or "broken" if the record or the forest is not what it should be.
    """

    outcome: str
    n_receipts: int

    @property
    def is_stale(self) -> bool:
        """Whether the only problem is that the table has changed since the last sync."""
        return self.outcome == STALE
