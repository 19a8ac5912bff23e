"""A live forest that somebody else may have open: work on it, or read its forest, all the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import numpy as np

from .._container import write_atomically
from ..errors import FolderInUseError, UnknownRequestError
from ..evidence.anchors import Head
from ..evidence.envelopes import as_file
from ..evidence.opening import ForestOpening
from ._deeds import result_of
from ._door import asked
from ._kept import Kept
from ._keyring import Where
from ._predicting import TableModel
from ._rows import Encoder
from ._signing import SigningKey
from ._training import name_columns
from .live_forest import LiveForest
from .receipts import Receipt
from .record import Record
from .reports import ErasureReport, LiveVerifyReport, SyncReport
from .requests import DUE_DAYS, Request

if TYPE_CHECKING:
    from .._tasks import Forest

TRIES = 10  # the folder may be opened, closed and changed in between


class HandedOver:
    """A live forest that another process has open. That process does what is asked for here."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self.requests = HandedOverRequests(self)
        self.status()  # or an error, if nobody answers

    def _do(self, deed: str, **arguments: Any) -> Any:
        return result_of(asked(self._folder, {"deed": deed, "arguments": arguments}))

    def sync(self, *, compare: bool = False) -> SyncReport:
        """Apply all changes to the table since the last sync."""
        report: SyncReport = self._do("sync", compare=compare)
        return report

    def erase(
        self, subject: Any, *, idempotency_key: str | None = None, due_days: float = DUE_DAYS, vacuum: bool = True
    ) -> ErasureReport:
        """Delete all rows of a subject from the table, and sync."""
        options = {"idempotency_key": idempotency_key, "due_days": due_days, "vacuum": vacuum}
        report: ErasureReport = self._do("erase", subject=_plain(subject), **options)
        return report

    def verify(self) -> LiveVerifyReport:
        """Check the chain of receipts, retrain from the table, and compare."""
        verification: LiveVerifyReport = self._do("verify")
        return verification

    def store(self) -> None:
        """Write a snapshot of the forest."""
        self._do("store")

    def status(self) -> dict[str, Any]:
        """Return the current status, as a dict of plain values."""
        status: dict[str, Any] = self._do("status")
        return status

    def receipts(self, request: str | None = None) -> list[Receipt]:
        """Return all receipts, or only those about the request with this id."""
        receipts: list[Receipt] = self._do("receipts", request=request)
        return receipts

    def certificate(self, number: int | None = None, *, organisation: str | None = None) -> str:
        """Return a certificate about one receipt of a change, as an HTML page. Default: the newest receipt."""
        page: str = self._do("certificate", number=number, organisation=organisation)
        return page

    def new_key(self, path: Where = None, *, former: Where = None, is_lost: bool = False) -> str:
        """Make a key that signs statements about the receipts from now on, and return its id."""
        id: str = self._do("new_key", path=_absolute(path), former=_absolute(former), is_lost=is_lost)
        return id

    def signing_keys(self) -> list[SigningKey]:
        """Return the public halves of all keys that sign or have signed statements, oldest first."""
        keys: list[SigningKey] = self._do("signing_keys")
        return keys

    def statements(self, first: int = 1, *, signing_key: Where = None) -> list[str]:
        """Return signed statements about the receipts from this number on, each as a line of JSON."""
        lines: list[str] = self._do("statements", first=first, signing_key=_absolute(signing_key))
        return lines

    def export_statements(self, path: str | os.PathLike[str], first: int = 1, *, signing_key: Where = None) -> None:
        """Write signed statements about the receipts to a file, one on each line."""
        write_atomically(path, [as_file(self.statements(first, signing_key=signing_key))])

    def head(self) -> Head:
        """Return what an anchor keeps: the number and the digest of the newest statement."""
        head: Head = self._do("head")
        return head

    def opening(self) -> ForestOpening:
        """Return what opens the newest statement, for an auditor."""
        opening: ForestOpening = self._do("opening")
        return opening

    def install_capture(self) -> None:
        """Install triggers on the table."""
        self._do("install_capture")

    def remove_capture(self) -> None:
        """Remove the triggers."""
        self._do("remove_capture")

    def close(self) -> None:
        """Do nothing: nothing is open in this process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class HandedOverRequests:
    """The requests of a live forest that another process has open."""

    def __init__(self, live: HandedOver) -> None:
        self._live = live

    def __iter__(self) -> Iterator[Request]:
        requests: list[Request] = self._live._do("requests")
        return iter(requests)

    def __getitem__(self, id: str) -> Request:
        for request in self:
            if request.id == id:
                return request
        raise UnknownRequestError(id)

    def open(self) -> list[Request]:
        """Return the requests that are neither applied nor refused, most urgent first."""
        return sorted((request for request in self if request.is_open), key=lambda request: request.due)

    def overdue(self) -> list[Request]:
        """Return the open requests that are past their due date."""
        return [request for request in self.open() if request.is_overdue]

    def receive(self, subject: Any, *, idempotency_key: str | None = None, due_days: float = DUE_DAYS) -> Request:
        """Record a request for erasure."""
        options = {"idempotency_key": idempotency_key, "due_days": due_days}
        request: Request = self._live._do("receive", subject=_plain(subject), **options)
        return request

    def refuse(self, id: str, reason: str) -> Request:
        """Close a request without erasing anything."""
        request: Request = self._live._do("refuse", id=id, reason=reason)
        return request


def _plain(subject: Any) -> Any:
    plain = subject.item() if isinstance(subject, np.generic) else subject
    return str(plain) if isinstance(plain, UUID) else plain


def _absolute(path: Where) -> str | None:
    """A path that another process understands as this one does."""
    return None if path is None else os.path.abspath(path)


def connect(
    folder: str | os.PathLike[str],
    *,
    url: str | None = None,
    verbose: int = 0,
    ray: str | None = None,
    n_workers: int | None = None,
) -> LiveForest | HandedOver:
    """Open a live forest or, if another process has it open, ask that process to do the work.

    The result has `sync`, `erase`, `verify`, `requests`, `receipts`, `certificate`, `status`, `store`, and methods for
    capture and for signed statements in both cases. `url`, `verbose`, `ray` and `n_workers` (see `LiveForest.open`)
    have an effect only if the forest is opened in this process.
    """
    for attempt in range(TRIES):
        try:
            return LiveForest.open(folder, url=url, verbose=verbose, ray=ray, n_workers=n_workers)
        except FolderInUseError:
            try:
                return HandedOver(folder)
            except FolderInUseError:  # closed in between, perhaps
                if attempt == TRIES - 1:
                    raise
    raise AssertionError


class ForestView(TableModel):
    """The forest of a live table at one point in time, as returned by `read_forest`. It predicts rows of the table."""

    def __init__(self, forest: Forest, encoder: Encoder, status: dict[str, Any]) -> None:
        self._forest = forest
        self._known_encoder = encoder
        self._status = status

    @property
    def forest(self) -> Forest:
        """The forest as a separate estimator. It takes tables with the columns listed in `columns`."""
        return self._forest

    @property
    def _encoder(self) -> Encoder:
        return self._known_encoder

    def status(self) -> dict[str, Any]:
        """Return the status at that time, as a dict of plain values."""
        return dict(self._status)


def read_forest(folder: str | os.PathLike[str], *, url: str | None = None) -> ForestView:
    """Read the forest of a live table, in its state after the last sync, to make predictions.

    This also works while another process has the folder open. Nothing is synced. If the folder holds no snapshot of
    that forest, the process that has the folder open stores one. If there is no such process, the forest is built from
    the table, at `url` if the database has moved or needs a password.
    """
    for _ in range(TRIES):
        view = _stored_view(folder)
        if view is not None:
            return view
        with connect(folder, url=url) as live:
            if isinstance(live, LiveForest):
                return ForestView(live.forest, live._encoder, live.status())
            live.store()
    raise FolderInUseError(folder, "by a process that changes it faster than it can be read")


def _stored_view(folder: str | os.PathLike[str]) -> ForestView | None:
    """The forest as of the last receipt, if it is kept, and is not replaced while it is read."""
    kept = Kept.looked_at(folder)
    try:
        with kept.state.one_view():
            if not kept.has_current_snapshot():
                return None
            name, fingerprint = str(kept.state.snapshot), kept.state.last_fingerprint()
            settings, status = kept.state.settings, Record(kept.state).status()
        forest = kept.load_snapshot(name, fingerprint, settings.params.get("n_jobs"))
        encoder = Encoder(settings, kept.state.key)
    except FileNotFoundError:
        return None
    finally:
        kept.close()
    return None if forest is None else ForestView(name_columns(forest, settings), encoder, status)
