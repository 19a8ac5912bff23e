"""What the methods of a live forest report: plain values."""

from __future__ import annotations

from dataclasses import dataclass

from .receipts import Receipt
from .requests import Request


@dataclass(frozen=True)
class SyncReport:
    """What a sync did. `receipts` is empty if the table had not changed.

    `method` says how the changes were found: by "comparison" or "capture"; "rebuilt" means by comparison, and that the
    forest was trained anew. `remains` says what is left to do in the database, if anything.
    """

    receipts: tuple[Receipt, ...]
    rows: int
    added: int
    deleted: int
    updated: int
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
class LiveVerification:
    """Whether the record is unbroken, and the forest is the one that a fresh fit of the table gives."""

    matches: bool
    problem: str | None
    fingerprint: str | None
    n_receipts: int

    def __bool__(self) -> bool:
        return self.matches
