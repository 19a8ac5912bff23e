"""Requests for erasure: until when, and what became of them; and who asked, for as long as that is needed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from .._row_names import text_of
from ..errors import CorruptRecordError, InvalidInputError, UnknownRequestError
from . import _clock, _digests
from ._history import APPLIED, History, Request
from ._rows import Encoder
from ._state import OpenRequest, State
from .receipts import NOTHING_LEFT, RECEIVED, REFUSED, Receipt

__all__ = ["DUE_DAYS", "NO_ROWS", "Request", "Requests"]

DUE_DAYS = 30
MOST_DUE_DAYS = 36_525
NO_ROWS = "The table holds no rows of this subject: erased before, or never there."


class Requests:
    """The requests for erasure of a live forest.

    Their permanent record is in the receipts. Until a request is settled, the state also keeps a keyed digest of its
    subject, to recognise the rows of that subject. Afterwards the person is known only by the id of the request.
    """

    def __init__(self, state: State, history: History, encoder: Encoder, source_name: str) -> None:
        self._state = state
        self._history = history
        self._encoder = encoder
        self._source_name = source_name

    def __iter__(self) -> Iterator[Request]:
        with self._state.lock:
            return iter(list(self._history.read().requests.values()))

    def __getitem__(self, id: str) -> Request:
        found = self._history.read().requests.get(id)
        if found is None:
            raise UnknownRequestError(id)
        return found

    def open(self) -> list[Request]:
        """Return the requests that are neither applied nor refused, most urgent first."""
        return sorted((request for request in self if request.is_open), key=lambda request: request.due)

    def overdue(self) -> list[Request]:
        """Return the open requests that are past their due date."""
        return [request for request in self.open() if request.is_overdue]

    def applied(self) -> list[Request]:
        """Return the requests that are applied but not yet verified."""
        return [request for request in self if request.state == APPLIED]

    def subjects(self) -> dict[str, bytes]:
        """Return the keyed digests of the subjects of open requests, by request id, oldest first."""
        with self._state.lock:  # both as of one moment
            kept, history = self._state.open_requests(), self._history.read()
            is_open = [request.id for request in history.requests.values() if request.is_open]
        for id in is_open:
            if id not in kept or kept[id].commitment != history.subject_of(id):
                raise CorruptRecordError(f"what is kept of the open request {id} is not what its receipt tells of")
        if len(kept) > len(is_open):
            raise CorruptRecordError("something is kept of requests that are not open")
        return {id: kept[id].subject for id in is_open}

    def receive(self, subject: Any, *, idempotency_key: str | None = None, due_days: float = DUE_DAYS) -> Request:
        """Record a request for erasure. The sync that finds no row of the subject left in the table applies it.

        The same `idempotency_key` for the same subject returns the same request again, and so does a subject whose
        request is still open. A digest of the key is kept for good, so use a random key: it must not identify the
        person.
        """
        if not abs(due_days) <= MOST_DUE_DAYS:
            raise InvalidInputError(f"`due_days` must be a number of days within a century, but is {due_days!r}.")
        name = self._encoder.subject(subject)
        digest = self._encoder.subject_digest(name)
        token = None if idempotency_key is None else self._token(idempotency_key, name)
        with self._state.transaction():
            known = self._known(digest, token)
            return known if known is not None else self._received(digest, token, due_days)

    def _known(self, digest: bytes, token: str | None) -> Request | None:
        same_key = None if token is None else self._history.read().with_key(token)
        if same_key is not None:
            return same_key
        return next((self[id] for id, subject in self.subjects().items() if subject == digest), None)

    def _received(self, digest: bytes, token: str | None, due_days: float) -> Request:
        now = _clock.now()
        try:
            due = (now + timedelta(days=due_days)).isoformat()
        except OverflowError:
            raise InvalidInputError(
                f"The clock of this machine says {now.isoformat()}, after which there is no due date. Set it right."
            ) from None
        kept = OpenRequest(_digests.fresh_key(), digest)
        receipt = self._receipt(RECEIVED, secrets.token_hex(8), due=due, subject=kept.commitment, idempotency=token)
        (id,) = receipt.requests
        self._state.add_open_request(id, kept)
        self._state.append(receipt)
        return Request(id, receipt.time, due, RECEIVED, None, receipt.time)

    def refuse(self, id: str, reason: str) -> Request:
        """Close a request without erasing anything. The reason is stored as it is, so it should not say who asked."""
        with self._state.turn():  # no sync may apply it meanwhile
            request = self[id]
            if not request.is_open:
                raise InvalidInputError(f"Request {id} is {request.state} already, and cannot be refused.")
            if not reason.strip():
                raise InvalidInputError("Give the reason why the request is refused.")
            self._close(REFUSED, (id,), reason)
            return self[id]

    def close_without_rows(self, ids: tuple[str, ...]) -> None:
        """Close requests of subjects that have no rows."""
        self._close(NOTHING_LEFT, ids, NO_ROWS)

    def forget_subjects(self, ids: tuple[str, ...]) -> None:
        """Forget who made these requests. Call this in the transaction that records them as settled."""
        self._state.forget_open_requests(ids)

    def _close(self, kind: str, ids: tuple[str, ...], reason: str) -> None:
        with self._state.transaction():
            for id in ids:
                self._state.append(self._receipt(kind, id, reason=reason))
            self.forget_subjects(ids)
        self._state.finish_rewriting()

    def _receipt(self, kind: str, id: str, **entries: Any) -> Receipt:
        return Receipt(0, kind, _clock.now().isoformat(), self._source_name, (id,), **entries)

    def _token(self, idempotency_key: str, subject: Any) -> str:
        """By which a key is known again. It lasts, and so it takes long to try keys and subjects."""
        return _digests.slow(self._state.key, _digests.canonical([idempotency_key, text_of(subject)]))
