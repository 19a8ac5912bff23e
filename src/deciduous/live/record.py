"""The record of a live forest: what was asked, what was done, and whether it was checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._container import write_atomically
from ..errors import FolderError, InvalidInputError
from ._changes import Changes, people_from, people_of, people_texts
from ._folder import STATE
from ._rows import Encoder
from ._state import State, now
from .certificate import certificate
from .receipts import CHANGES, VERIFIED, Receipt, first_break
from .requests import Request, Requests


@dataclass(frozen=True)
class Effect:
    """Whom a change concerns: digests of subjects, and ids of requests."""

    erased: tuple[str, ...]
    changed: tuple[str, ...]
    applied: tuple[str, ...]
    unfounded: tuple[str, ...]


class Record:
    """Receipts and requests."""

    def __init__(self, state: State) -> None:
        settings = state.settings
        self._state = state
        self._encoder = Encoder(settings, state.key)
        self._source_name = settings.source_name
        self.requests = Requests(state, self._encoder, settings.source_name)

    def receipts(self, subject: Any = None) -> list[Receipt]:
        """All receipts, or those that speak of a subject or of requests of theirs."""
        if subject is None:
            return list(self._state.receipts())
        digest = self._encoder.subject_digest(self._encoder.subject(subject)).hex()
        ids = {request.id for request in self.requests if request.subject == digest}
        return [
            receipt
            for receipt in self._state.receipts()
            if digest in (*receipt.subjects_erased, *receipt.subjects_changed) or ids.intersection(receipt.requests)
        ]

    def first_break(self) -> str | None:
        """Where the chain of receipts is broken, in words, or None."""
        return first_break(self._state.receipts(), self._state.key)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all receipts to a JSON file."""
        receipts = [receipt.as_dict() for receipt in self._state.receipts()]
        content = {"format": "deciduous-receipts-1", "receipts": receipts}
        write_atomically(path, [json.dumps(content, indent=1, ensure_ascii=False).encode()])

    def certificate(self, number: int | None) -> str:
        """The page about one receipt of a change, or about the newest."""
        receipts = self.receipts()
        chosen = [receipt for receipt in receipts if receipt.kind in CHANGES and number in (None, receipt.number)]
        if not chosen:
            raise InvalidInputError(f"There is no receipt of a change with the number {number}.")
        receipt = chosen[-1]
        checks = [its for its in receipts if its.kind == VERIFIED and its.number > receipt.number]
        requests = [self.requests[id] for id in receipt.requests]
        return certificate(receipt, requests, checks[0] if checks else None)

    def effect(self, changes: Changes, held: NDArray[Any], erased: frozenset[str]) -> Effect:
        """Whose rows are gone, in full or in part, and which requests are settled by that."""
        requests = self.requests.open()
        gone = people_of(changes.gone)
        concerned = np.union1d(gone, people_from(request.subject for request in requests))
        kept = held[~np.isin(held["id"], changes.gone["id"])]
        left = np.union1d(people_of(kept, concerned), people_of(changes.added.known, concerned))
        left_texts, gone_texts = set(people_texts(left)), set(people_texts(gone))
        closed = [request for request in requests if request.subject not in left_texts]
        applied = [request.id for request in closed if request.subject in gone_texts or request.id in erased]
        return Effect(
            erased=people_texts(np.setdiff1d(gone, left)),
            changed=people_texts(np.intersect1d(gone, left)),
            applied=tuple(applied),
            unfounded=tuple(request.id for request in closed if request.id not in applied),
        )

    def note_verification(self, n_rows: int, fingerprint: str, parameters: str) -> None:
        """Write that a fresh fit of the table gave the forest; applied requests are verified with it."""
        applied = [request.id for request in self.requests.applied()]
        receipt = Receipt(
            0,
            VERIFIED,
            now(),
            self._source_name,
            requests=tuple(applied),
            rows=n_rows,
            fingerprint_after=fingerprint,
            parameters=parameters,
        )
        with self._state.transaction():
            self._state.append(receipt)
            self.requests.settle(applied, VERIFIED)

    def status(self) -> dict[str, Any]:
        """Where things stand, as plain values."""
        settings, last, requests = self._state.settings, self._state.last_change(), list(self.requests)
        return {
            "source": settings.source_name,
            "url": settings.url,
            "captures": settings.captures,
            "rows": last.rows,
            "fingerprint": last.fingerprint_after,
            "last_change": last.time,
            "requests_open": sum(request.is_open for request in requests),
            "requests_overdue": sum(request.is_overdue for request in requests),
        }


def read_record(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Receipt], list[Request]]:
    """The status, receipts and requests of a live forest, also while another process has it open."""
    path = Path(folder) / STATE
    if not path.exists():
        raise FolderError(f"There is no live forest in {folder}. `LiveForest.create` makes one.")
    state = State.opened(path, read_only=True)
    try:
        record = Record(state)
        return record.status(), record.receipts(), list(record.requests)
    finally:
        state.close()
