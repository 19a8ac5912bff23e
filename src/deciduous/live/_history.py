"""What the receipts tell: where the forest is, and what became of each request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import CorruptRecordError, EvidenceError
from ..evidence.keys import PublicKey
from . import _clock
from ._opening import Opening
from ._state import NOT_OPENED, State
from .receipts import CHANGES, KEYED, NOTHING_LEFT, RECEIVED, RECOVERED, REFUSED, SYNCED, VERIFIED, Receipt

APPLIED = "applied"
STEPS = {  # what a receipt makes of the requests that it names: from which state, to which
    SYNCED: (RECEIVED, APPLIED),
    RECOVERED: (RECEIVED, APPLIED),
    VERIFIED: (APPLIED, VERIFIED),
    REFUSED: (RECEIVED, REFUSED),
    NOTHING_LEFT: (RECEIVED, NOTHING_LEFT),
}


@dataclass(frozen=True)
class Request:
    """A request for erasure. Its `id` is the reference by which the person who asked is known."""

    id: str
    received: str
    due: str
    state: str
    reason: str | None
    changed: str

    @property
    def is_open(self) -> bool:
        """Whether the request still needs action."""
        return self.state == RECEIVED

    @property
    def is_overdue(self) -> bool:
        """Whether the request is open and past its due date."""
        return self.is_open and datetime.fromisoformat(self.due) < _clock.now()


def public_half(receipt: Receipt) -> PublicKey:
    """The public half of the key that a receipt tells of."""
    try:
        return PublicKey(bytes.fromhex(receipt.signing_key or ""))
    except EvidenceError:
        raise CorruptRecordError(f"receipt {receipt.number} does not tell of a key that can sign") from None


class History:
    """Receipts, read in order and checked as a chain. What was read once is not read again."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._last: Receipt | None = None
        self._last_change: Receipt | None = None
        self._requests: dict[str, Request] = {}
        self._subjects: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._key_receipts: list[Receipt] = []

    def read(self) -> History:
        """This history, up to the newest receipt that is on the disk."""
        with self._state.lock:
            for receipt in self._state.receipts(after=self._last):
                self._take(receipt)
            if self._last is None or not self._state.is_newest(self._last):
                raise CorruptRecordError(f"receipt {self.n_receipts + 1} is missing")
            return self

    @property
    def n_receipts(self) -> int:
        """How many there are."""
        return 0 if self._last is None else self._last.number

    @property
    def last_change(self) -> Receipt:
        """The newest receipt of a change of the forest."""
        if self._last_change is None:
            raise CorruptRecordError("receipt 1 is missing")
        return self._last_change

    @property
    def opening(self) -> Opening:
        """What opens the commitments of the last change, if it does."""
        opening = self._state.opening
        if opening.forest != self.last_change.after:
            raise CorruptRecordError(NOT_OPENED)
        return opening

    @property
    def requests(self) -> dict[str, Request]:
        """All requests, oldest first."""
        return self._requests

    def subject_of(self, id: str) -> str:
        """The commitment to the subject of a request."""
        return self._subjects[id]

    def with_key(self, token: str) -> Request | None:
        """The request that came with an idempotency key."""
        id = self._keys.get(token)
        return None if id is None else self._requests[id]

    @property
    def key_receipts(self) -> list[Receipt]:
        """The receipts of keys that sign statements, oldest first."""
        return list(self._key_receipts)

    def _take(self, receipt: Receipt) -> None:
        if receipt.kind == RECEIVED:
            self._receive(receipt)
        elif receipt.kind == KEYED:
            self._take_key(receipt)
        elif receipt.requests:
            self._step(receipt)
        if receipt.kind in (*CHANGES, VERIFIED):
            self._follow(receipt)
        self._last = receipt

    def _receive(self, receipt: Receipt) -> None:
        (id, *more), due, subject = receipt.requests, receipt.due, receipt.subject
        if more or id in self._requests or due is None or subject is None:
            raise CorruptRecordError(f"receipt {receipt.number} does not tell of a new request")
        self._requests[id] = Request(id, receipt.time, due, RECEIVED, None, receipt.time)
        self._subjects[id] = subject
        if receipt.idempotency is not None:
            self._keys[receipt.idempotency] = id

    def _take_key(self, receipt: Receipt) -> None:
        public_half(receipt)  # raises if it is none
        if receipt.requests or receipt.signing_key in [its.signing_key for its in self._key_receipts]:
            raise CorruptRecordError(f"receipt {receipt.number} does not tell of a new key")
        self._key_receipts.append(receipt)

    def _step(self, receipt: Receipt) -> None:
        origin, goal = STEPS.get(receipt.kind, (None, ""))
        for id in receipt.requests:
            request = self._requests.get(id)
            if request is None or request.state != origin:
                raise CorruptRecordError(f"receipt {receipt.number} does not fit what was told of its requests before")
            reason = receipt.reason if goal in (REFUSED, NOTHING_LEFT) else None
            self._requests[id] = replace(request, state=goal, reason=reason, changed=receipt.time)

    def _follow(self, receipt: Receipt) -> None:
        former = None if self._last_change is None else self._last_change.after
        begins_with = receipt.after if receipt.kind == VERIFIED else receipt.before
        if begins_with != former:
            raise CorruptRecordError(f"receipt {receipt.number} does not begin with the forest that was there")
        if receipt.kind in CHANGES:
            self._last_change = receipt
