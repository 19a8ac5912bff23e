"""What the methods of a live forest report: plain values."""

from __future__ import annotations

from dataclasses import dataclass

from ..reports import VerifyReport
from .receipts import Receipt
from .requests import Request

EXACT, STALE, BROKEN = "exact", "stale", "broken"  # outcomes of verifications


@dataclass(frozen=True)
class SyncReport:
    """What a sync did. `receipts` is empty if the table had not changed.

    `method` says how the changes were found: by "comparison" or "capture"; "rebuilt" means by comparison, and that the
    forest was trained anew. `remains` says what is left to do in the database, if anything.
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
    """What `erase` did: the request as it is now, and the sync that applied it, if there was anything to apply."""

    request: Request
    sync: SyncReport | None

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of the erasure."""
        return () if self.sync is None else self.sync.receipts


@dataclass(frozen=True)
class LiveVerifyReport(VerifyReport):
    """Whether the record is unbroken, and the forest is the one that a fresh fit of the table gives.

    `outcome` is "exact"; "stale" if the table has changed since the last sync, which says nothing against the forest;
    or "broken" if the record or the forest is not what it should be.
    """

    outcome: str
    n_receipts: int

    @property
    def is_stale(self) -> bool:
        """Whether nothing is wrong but that the forest has not followed the table yet."""
        return self.outcome == STALE
