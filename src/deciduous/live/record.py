"""The record of a live forest: what was asked, what was done, and whether it was checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._container import write_atomically
from ..errors import CorruptRecordError, EvidenceError, InvalidInputError
from ..evidence.comparing import Comparison, compared
from ..evidence.keys import PublicKey
from ..evidence.verifying import verify_statements
from . import _clock
from ._changes import people_from, people_of
from ._folder import Files
from ._history import History, Request
from ._opening import Opening
from ._rows import Encoder
from ._signing import Signing
from ._state import State
from .certificate import certificate
from .receipts import CHANGES, NOTHING_LEFT, VERIFIED, Receipt, as_file
from .requests import Requests

if TYPE_CHECKING:
    from ._finding import Finding


@dataclass(frozen=True)
class Effect:
    """Whom a change concerns: how many people, and the ids of requests."""

    n_erased: int
    n_changed: int
    applied: tuple[str, ...]
    without_rows: tuple[str, ...]


class Record:
    """Receipts, and the requests that they tell of."""

    def __init__(self, state: State) -> None:
        settings = state.settings
        self._state = state
        self._source_name = settings.source_name
        self._history = History(state)
        self.signing = Signing(state, self._history)
        self.requests = Requests(state, self._history, Encoder(settings, state.key), settings.source_name)

    def receipts(self, request: str | None = None) -> list[Receipt]:
        """All receipts, or those that tell of a request."""
        if request is not None:
            self.requests[request]  # raises if there is none
        return [its for its in self._state.receipts() if request is None or request in its.requests]

    def check(self) -> tuple[str | None, int]:
        """What is wrong with the record, in words, and how many receipts are right up to there."""
        history = History(self._state)
        with self._state.lock:
            try:
                history.read().opening  # noqa: B018 (raises if it opens nothing)
                Requests(self._state, history, Encoder(self._state.settings, self._state.key), "").subjects()
            except CorruptRecordError as error:
                return error.problem, history.n_receipts
        return None, history.n_receipts

    def opening(self) -> Opening:
        """What opens the newest receipt of a change."""
        with self._state.lock:  # both as of one moment
            return self._history.read().opening

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all receipts to a JSON file."""
        write_atomically(path, [as_file(self.receipts())])

    def certificate(self, number: int | None, organisation: str | None) -> str:
        """The page about one receipt of a change or of a request without rows, or about the newest."""
        receipts = self.receipts()
        kinds = (*CHANGES, NOTHING_LEFT)
        chosen = [receipt for receipt in receipts if receipt.kind in kinds and number in (None, receipt.number)]
        if not chosen:
            raise InvalidInputError(f"There is no receipt of a change with the number {number}.")
        receipt = chosen[-1]
        checks = [its for its in receipts if its.kind == VERIFIED and its.number > receipt.number]
        requests = [self.requests[id] for id in receipt.requests]
        check = checks[0] if checks else None
        return certificate(receipt, requests, check, organisation, self.signing.current_id())

    def effect(self, finding: Finding, held: NDArray[Any], erased: frozenset[str]) -> Effect:
        """Whose rows are gone, in full or in part, and which requests are settled by that."""
        changes, asked = finding.changes, finding.asked
        askers, gone = people_from(asked.values()), people_of(changes.gone["subject"])
        concerned = np.union1d(gone, askers)
        kept = held[~np.isin(held["id"], changes.gone["id"])]
        seen = np.concatenate([kept["subject"], changes.added.known["subject"]])
        left = np.union1d(people_of(seen, concerned), finding.unlabelled)
        closed = dict(zip(asked, np.isin(askers, gone).tolist(), strict=True))
        for id, is_left in zip(asked, np.isin(askers, left).tolist(), strict=True):
            if is_left:
                del closed[id]
        return Effect(
            n_erased=len(np.setdiff1d(gone, left)),
            n_changed=len(np.intersect1d(gone, left)),
            applied=tuple(id for id, had_rows in closed.items() if had_rows or id in erased),
            without_rows=tuple(id for id, had_rows in closed.items() if not had_rows and id not in erased),
        )

    def note_verification(self, n_rows: int) -> None:
        """Write that a fresh fit of the table gave the forest; applied requests are verified with it."""
        change = self._history.read().last_change
        receipt = Receipt(
            0,
            VERIFIED,
            _clock.now().isoformat(),
            self._source_name,
            requests=tuple(request.id for request in self.requests.applied()),
            n_rows=n_rows,
            after=change.after,
            parameters=change.parameters,
        )
        with self._state.transaction():
            self._state.append(receipt)

    def status(self) -> dict[str, Any]:
        """Where things stand, as plain values."""
        with self._state.lock:
            settings, last, requests = self._state.settings, self._history.read().last_change, list(self.requests)
            fingerprint, key_id = self.opening().fingerprint, self.signing.current_id()
        return {
            "source": settings.source_name,
            "task": settings.task,
            "url": settings.url,
            "captures": settings.captures,
            "n_rows": last.n_rows,
            "fingerprint": fingerprint,
            "last_change": last.time,
            "signing_key": key_id,
            "requests_open": sum(request.is_open for request in requests),
            "requests_overdue": sum(request.is_overdue for request in requests),
        }


def read_record(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Receipt], list[Request]]:
    """Return the status, receipts and requests of a live forest, even while another process has it open."""
    files = Files(folder)
    files.require_there()
    state = State.opened(files.state_path, read_only=True)
    try:
        with state.one_view():
            record = Record(state)
            return record.status(), record.receipts(), list(record.requests)
    finally:
        state.close()


def check_against(
    folder: str | os.PathLike[str],
    statements: str | os.PathLike[str] | bytes,
    keys: Sequence[PublicKey] = (),
) -> Comparison:
    """Compare the record of a live forest with signed statements that somebody has kept.

    This tells whether an older copy of the folder was put back: a copy is consistent in itself, so only what is kept
    elsewhere can show it. It also works while another process has the folder open.

    Parameters
    ----------
    folder : path
        The folder of the live forest.
    statements : path or bytes
        A file of envelopes, as `LiveForest.export_statements` writes it: all of them, or the newest that is known.
    keys : sequence of PublicKey
        The keys whose signatures are trusted. Default: those that the record tells of.
    """
    files = Files(folder)
    files.require_there()
    state = State.opened(files.state_path, read_only=True)
    try:
        with state.one_view():
            signing = Record(state).signing
            held, own = signing.statements(), [PublicKey.from_pem(key.public_key) for key in signing.known_keys()]
    finally:
        state.close()
    if not (keys or own):
        raise InvalidInputError("This live forest has no key, so say whose signature is to be trusted: `keys=...`.")
    report = verify_statements(statements, keys or own)
    if report.problem is not None:
        raise EvidenceError(report.problem)
    return compared(held, report.statements, "the folder")
