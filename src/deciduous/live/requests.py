"""Requests for erasure: who asked, without saying who, until when, and what became of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import InvalidInputError
from . import _digests
from ._rows import Encoder
from ._state import State, now
from .receipts import RECEIVED, REFUSED, Receipt

APPLIED = "applied"
DUE_DAYS = 30
MOST_DUE_DAYS = 36_525
NO_ROWS = "The table holds no rows of this subject: erased before, or never there."


@dataclass(frozen=True)
class Request:
    """A request for the erasure of a subject, who is named by keyed digest only."""

    id: str
    subject: str
    received: str
    due: str
    state: str
    reason: str | None
    changed: str

    @property
    def is_open(self) -> bool:
        """Whether something is still to be done."""
        return self.state == RECEIVED

    @property
    def is_overdue(self) -> bool:
        """Whether it should have been done by now."""
        return self.is_open and datetime.fromisoformat(self.due) < datetime.now(UTC)


class Requests:
    """The requests of a live forest."""

    def __init__(self, state: State, encoder: Encoder, source_name: str) -> None:
        self._state = state
        self._encoder = encoder
        self._source_name = source_name

    def __iter__(self) -> Iterator[Request]:
        return iter(self._where("1"))

    def __getitem__(self, id: str) -> Request:
        found = self._where("id = ?", id)
        if not found:
            raise KeyError(f"There is no request {id!r}.")
        return found[0]

    def open(self) -> list[Request]:
        """Those that are neither applied nor refused, the most urgent first."""
        return sorted(self._where("state = ?", RECEIVED), key=lambda request: request.due)

    def overdue(self) -> list[Request]:
        """Those that should have been done by now."""
        return [request for request in self.open() if request.is_overdue]

    def receive(self, subject: Any, *, idempotency_key: str | None = None, due_days: float = DUE_DAYS) -> Request:
        """Keep a request. It is applied by the sync that finds no row of the subject left in the table.

        The same `idempotency_key` again gives the request that it gave before, and so does a subject whose request is
        still open.
        """
        if not abs(due_days) <= MOST_DUE_DAYS:
            raise InvalidInputError(f"`due_days` must be a number of days within a century, but is {due_days!r}.")
        digest = self._encoder.subject_digest(self._encoder.subject(subject)).hex()
        token = None if idempotency_key is None else self._key_digest(idempotency_key)
        known = self._where("idempotency = ?", token) or self._where("subject = ? AND state = ?", digest, RECEIVED)
        if known:
            if known[0].subject != digest:
                raise InvalidInputError("This idempotency_key belongs to a request of another subject. Use a new one.")
            return known[0]
        received = datetime.now(UTC).replace(microsecond=0)
        request = {
            "id": secrets.token_hex(8),
            "subject": digest,
            "idempotency": token,
            "received": received.isoformat(),
            "due": (received + timedelta(days=due_days)).isoformat(),
            "state": RECEIVED,
            "changed": received.isoformat(),
        }
        with self._state.transaction():
            self._state.add_request(request)
            self._note(RECEIVED, str(request["id"]), None)
        return self[str(request["id"])]

    def refuse(self, id: str, reason: str) -> Request:
        """Close a request without erasing anything. The reason is kept as it is, so it should not say who asked."""
        request = self[id]
        if not request.is_open:
            raise InvalidInputError(f"Request {id} is {request.state} already, and cannot be refused.")
        if not reason.strip():
            raise InvalidInputError("Give the reason why the request is refused.")
        with self._state.transaction():
            self.settle([id], REFUSED, reason)
            self._note(REFUSED, id, reason)
        return self[id]

    def settle(self, ids: Iterable[str], state: str, reason: str | None = None) -> None:
        """Let requests move on, within a transaction that also writes the receipt of it."""
        for id in ids:
            self._state.set_request_state(id, state, reason)

    def applied(self) -> list[Request]:
        """Those that are applied and not yet verified."""
        return self._where("state = ?", APPLIED)

    def _note(self, kind: str, id: str, reason: str | None) -> None:
        self._state.append(Receipt(0, kind, now(), self._source_name, (id,), reason=reason))

    def _key_digest(self, idempotency_key: str) -> str:
        return _digests.keyed(self._state.key, _digests.REQUEST, idempotency_key.encode()).hex()

    def _where(self, condition: str, *values: Any) -> list[Request]:
        rows = self._state.requests(condition, *values)
        return [Request(**{name: row[name] for name in Request.__dataclass_fields__}) for row in rows]
