"""Receipts: what was done to a live forest, one after the other, chained by keyed digests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from . import _digests

CREATED, SYNCED, RECOVERED, VERIFIED = "created", "synced", "recovered", "verified"  # of the forest
RECEIVED, REFUSED = "received", "refused"  # of a request
CHANGES = (CREATED, SYNCED, RECOVERED)
FIRST_CHAIN = "0" * 64


@dataclass(frozen=True)
class Receipt:
    """One entry of the record. It holds counts and digests, and neither values nor ids of rows nor names of people.

    `kind` says what happened: the forest was created, synced with its table, recovered from it after files were lost,
    or verified; a request for erasure was received, or refused.
    """

    number: int
    kind: str
    time: str
    source: str
    requests: tuple[str, ...] = ()
    rows: int | None = None
    added: int = 0
    deleted: int = 0
    updated: int = 0
    subjects_erased: tuple[str, ...] = ()
    subjects_changed: tuple[str, ...] = ()
    fingerprint_before: str | None = None
    fingerprint_after: str | None = None
    parameters: str | None = None
    reason: str | None = None
    previous: str = FIRST_CHAIN
    chain: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def as_json(self) -> str:
        """As one line of JSON."""
        return _digests.canonical(self.as_dict()).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Back from JSON."""
        state: dict[str, Any] = json.loads(text)
        several = {field.name for field in fields(cls) if str(field.type).startswith("tuple")}
        values: dict[str, Any] = {name: tuple(its) if name in several else its for name, its in state.items()}
        return cls(**values)

    def digest(self, key: bytes) -> str:
        """What `chain` must be: a keyed digest of all other entries, that of the previous receipt among them."""
        content = {name: value for name, value in self.as_dict().items() if name != "chain"}
        return _digests.keyed(key, _digests.CHAIN, _digests.canonical(content), 32).hex()


def first_break(receipts: Iterable[Receipt], key: bytes) -> str | None:
    """Where the chain of all receipts is broken, in words, or None."""
    previous = FIRST_CHAIN
    for number, receipt in enumerate(receipts, start=1):
        if receipt.number != number:
            return f"receipt {number} is missing"
        if receipt.previous != previous:
            return f"receipt {number} does not follow from the one before it"
        if receipt.chain != receipt.digest(key):
            return f"receipt {number} is not what was written"
        previous = receipt.chain
    return None
