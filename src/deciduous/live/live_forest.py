"""A forest that is a view of a table."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._progress import bar
from ..errors import FolderError, InvalidInputError
from ..forest import DareForestClassifier
from . import _digests
from ._capture import Capture, require_capturable
from ._changes import Comparison
from ._finding import Finder, Finding, see_all
from ._given import by_column
from ._learning import categorical_choice, feature_names, learned
from ._rows import ROW, Encoder
from ._settings import LiveColumn, Settings
from ._source import Source, connected, stored_url
from ._state import now
from ._store import Store
from ._training import estimator_of, fitted, has_idle_classes, resolved_params, with_categories
from ._watching import waiting_for_changes
from .receipts import CREATED, RECOVERED, SYNCED, Receipt
from .record import Effect, Record
from .reports import ErasureReport, LiveVerification, SyncReport
from .requests import APPLIED, DUE_DAYS, NO_ROWS, Requests

REBUILT = "rebuilt"
NOT_COUNTED = "Files of the folder were lost, so what changed since the receipt before is not counted."
NO_TRIGGERS = "The triggers on the table are gone, so all of it was compared: `install_capture` puts them back."


class LiveForest:
    """A forest that follows a table: after `sync` it is the one that a fresh fit of the table would give.

    The table is the truth. The folder keeps parameters, seed, receipts and requests; ids and keyed digests of the rows
    that the forest holds; and a snapshot of the forest, which can be made again from the table at any time.

    Make one with `create`, and open it again with `open`. One process at a time has it open. Use it in a `with` block,
    or call `close`, which stores a snapshot.
    """

    def __init__(self, store: Store, url: str | None, verbose: int) -> None:
        self._store = store
        self._state = store.state
        self._key = self._state.key
        self._record = Record(self._state)
        self._verbose = verbose
        self._lock = threading.RLock()
        self._is_closed = False
        self._forest: DareForestClassifier | None = None  # as of the last receipt
        self._encoder = Encoder(self._state.settings, self._key)
        self._source = Source.of(connected(self._settings.url if url is None else url), self._settings)
        token = _digests.keyed(self._key, _digests.CAPTURE, b"", 4).hex()
        self._capture = Capture(self._source, self._settings.id, token)
        self._finder = Finder(self._source, self._capture, verbose)

    @property
    def _settings(self) -> Settings:
        return self._encoder.settings

    # ----------------------------------------------------------------------------------------------- making and opening

    @classmethod
    def create(
        cls,
        url: str,
        *,
        table: str | None = None,
        source: str | None = None,
        id: str,
        target: str,
        subject: str | None = None,
        columns: Sequence[str] | None = None,
        folder: str | os.PathLike[str],
        params: Mapping[str, Any] | None = None,
        capture: bool = False,
        verbose: int = 0,
    ) -> Self:
        """Train a forest on the rows of a table, and keep it in a folder.

        Parameters
        ----------
        url : str
            The database, as SQLAlchemy names it: `sqlite:///clinic.db`, `postgresql://user@host/clinic`. A password is
            used, and not stored.
        table : str, optional
            The table or view, with its schema if it needs one.
        source : str, optional
            A query, instead of a table.
        id : str
            The column that names rows: unique integers, strings or UUIDs.
        target : str
            The column of labels. Rows without a label are left out.
        subject : str, optional
            The column that says to whom a row belongs.
        columns : list of str, optional
            The columns that trees split on. Default: all others. Text is categories.
        folder : path
            A new folder.
        params : mapping, optional
            Parameters of `DareForestClassifier`. `categorical_features` names columns, or lists their categories.
        capture : bool, default=False
            Install triggers that write down the ids of changed rows, so that `sync` need not compare the whole table.
        verbose : int, default=0
            1 shows how far long work is.
        """
        arguments = dict(params or {})
        choice = categorical_choice(arguments.pop("categorical_features", None))
        estimator = DareForestClassifier(**({"verbose": verbose} | arguments))
        origin = Source(connected(url), table, source)
        if capture:
            require_capturable(origin)
        purposes = (id, target, subject)
        store = Store.empty(folder)
        try:
            key = _digests.fresh_key()
            with origin.reading() as connection:
                names = feature_names(origin.column_names(connection), columns, purposes)
                features = tuple(map(LiveColumn, names))
                asked = Settings(stored_url(url), table, source, *purposes, features, columns is None)
                settings, n_rows = learned(origin, connection, asked, choice)
                comparison = Comparison(np.empty(0, dtype=ROW), settings)
                with bar("Reading", n_rows, verbose > 0, "rows") as report:
                    see_all(comparison, origin, connection, Encoder(settings, key), report)
            rows = comparison.changes().added
            forest = fitted(with_categories(estimator, settings), settings, rows)
            settings = replace(settings, params=resolved_params(forest))
            store.begin(settings, key, rows.known, _first_receipt(settings, key, n_rows, forest.fingerprint()))
            live = cls(store, url, verbose)
            live._forest = forest
            live.store()
            if capture:
                live.install_capture()
        except BaseException:
            store.abandon()
            raise
        return live

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, url: str | None = None, verbose: int = 0) -> Self:
        """Open a live forest.

        Parameters
        ----------
        folder : path
            The folder that `create` made.
        url : str, optional
            The database, if it has moved or needs a password.
        verbose : int, default=0
            1 shows how far long work is.
        """
        store = Store.opened(folder)
        try:
            return cls(store, url, verbose)
        except BaseException:
            store.close()
            raise

    def close(self, *, store: bool = True) -> None:
        """Store a snapshot, so that opening is fast, and let others open the folder."""
        with self._lock:
            if self._is_closed:
                return
            try:
                if store:
                    self.store()
            finally:
                self._is_closed = True
                self._source.engine.dispose()
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close(store=kind is None)

    # ---------------------------------------------------------------------------------------------------------- syncing

    def sync(self) -> SyncReport:
        """Apply what changed in the table since the last sync.

        When it returns, the change is on the disk, with a receipt, and no file of the folder knows of rows that are
        gone. If the process ends before that, the next sync does it all.
        """
        with self._lock:
            return self._sync(frozenset())

    def watch(self, every: float = 5.0) -> Iterator[SyncReport]:
        """Sync now, and again whenever the table may have changed, for as long as reports are asked for.

        With PostgreSQL and capture that is at once, when the triggers notify; else the database is looked at `every` so
        many seconds: an SQLite file is compared only if somebody wrote to it, another table each time.
        """
        if not every > 0:
            raise InvalidInputError(f"`every` must be a number of seconds greater than 0, but is {every!r}.")
        with waiting_for_changes(self._source, self.channel if self._settings.captures else None) as wait:
            while True:
                yield self.sync()
                wait(every)

    def _sync(self, erased: frozenset[str]) -> SyncReport:
        """A sync that applies requests whose rows were just deleted, whether or not the forest knew of the rows."""
        begin = time.monotonic()
        known = self._forest if self._forest is not None else self._loaded()
        finding = self._found(known)
        with self._forgetting_on_failure():
            finding, forest = self._applied(finding, known)
            fingerprint = forest.fingerprint()
            receipts = self._committed(finding, fingerprint, erased)
            self._forest = forest
        remains = self._cleared(finding)
        return SyncReport(
            receipts=receipts,
            rows=len(self._store.index),
            added=sum(receipt.added for receipt in receipts),
            deleted=sum(receipt.deleted for receipt in receipts),
            updated=sum(receipt.updated for receipt in receipts),
            fingerprint=fingerprint,
            method=finding.method if forest is known else REBUILT,
            seconds=time.monotonic() - begin,
            remains=remains,
        )

    def _found(self, forest: DareForestClassifier | None) -> Finding:
        """What changed, for a forest that may be none, or behind the record."""
        held = self._store.index.rows
        if forest is None:
            is_learned = np.zeros(len(held), dtype=bool)
        elif forest is self._forest:
            is_learned = np.ones(len(held), dtype=bool)
        else:
            is_learned = np.isin(held["id"], forest.ids_)
        return self._finder.found(self._encoder, held, is_learned, self._state.table_stamp)

    def _applied(self, finding: Finding, forest: DareForestClassifier | None) -> tuple[Finding, DareForestClassifier]:
        """The forest after the changes: the one that was there, changed, or a new one."""
        if forest is not None:
            changes = finding.changes
            if len(changes.to_forget):
                forest.delete(changes.to_forget)
            if len(changes.to_learn):
                forest.add(changes.to_learn.matrix, changes.to_learn.labels, ids=changes.to_learn.known["id"])
            if not has_idle_classes(forest):
                return finding, forest
            # The label of a class without rows is something of rows that are gone.
            finding = self._found(None)
        return finding, self._trained(finding)

    def _trained(self, finding: Finding) -> DareForestClassifier:
        """A fresh fit of the table, of a finding for no forest."""
        estimator = estimator_of(self._settings).set_params(verbose=self._verbose)
        return fitted(estimator, self._settings, finding.changes.to_learn)

    def _committed(self, finding: Finding, fingerprint: str, erased: frozenset[str]) -> tuple[Receipt, ...]:
        """Writes what happened, and everything that goes with it, unless nothing did."""
        changes, is_lost = finding.changes, self._store.index_is_lost
        if not changes and not is_lost and fingerprint != self._state.last_fingerprint():
            raise FolderError(
                "The table has not changed, but the forest that it gives is not the one of the last receipt. Settings "
                "or receipts of this folder were changed by somebody else: `verify` says more. Create it anew."
            )
        effect = self._record.effect(changes, self._store.index.rows, erased)
        receipts: tuple[Receipt, ...] = ()
        if changes or is_lost or effect.applied:
            receipts = (self._commit(finding, effect, fingerprint),)
        for request in effect.unfounded:
            self.requests.refuse(request, NO_ROWS)
        return receipts

    def _commit(self, finding: Finding, effect: Effect, fingerprint: str) -> Receipt:
        changes, settings = finding.changes, finding.settings
        receipt = Receipt(
            0,
            SYNCED,
            now(),
            settings.source_name,
            requests=effect.applied,
            rows=len(self._store.index) + changes.n_added - changes.n_deleted,
            added=changes.n_added,
            deleted=changes.n_deleted,
            updated=changes.n_updated,
            subjects_erased=effect.erased,
            subjects_changed=effect.changed,
            fingerprint_before=self._state.last_fingerprint(),
            fingerprint_after=fingerprint,
            parameters=settings.parameters_digest(self._key),
        )
        if self._store.index_is_lost:  # and so every row seems to be new
            receipt = replace(receipt, kind=RECOVERED, added=0, reason=NOT_COUNTED)
        written = self._store.commit(
            changes.gone["id"],
            changes.added.known,
            None if settings == self._settings else settings,
            receipt,
            also=lambda: self.requests.settle(effect.applied, APPLIED),
        )
        self._encoder = Encoder(settings, self._key)
        return written

    def _cleared(self, finding: Finding) -> str | None:
        """Clears captured ids and the log of the database; what is left to do there, in words."""
        self._capture.clear(finding.captured)
        if finding.captured.stamp != self._state.table_stamp:
            self._state.set_table_stamp(finding.captured.stamp)
        has_left = len(finding.changes.gone) or finding.captured.numbers
        remains = self._source.leave_nothing(rewrite=False) if has_left else None
        return " ".join(filter(None, [remains, NO_TRIGGERS if finding.lacks_triggers else None])) or None

    @contextmanager
    def _forgetting_on_failure(self) -> Iterator[None]:
        """A forest that may be ahead of the record is forgotten; the snapshot or the table gives it again."""
        try:
            yield
        except BaseException:
            self._forest = None
            raise

    # ---------------------------------------------------------------------------------------------------------- erasing

    @property
    def requests(self) -> Requests:
        """The requests for erasure."""
        return self._record.requests

    def erase(
        self,
        subject: Any,
        *,
        idempotency_key: str | None = None,
        due_days: float = DUE_DAYS,
        vacuum: bool = True,
    ) -> ErasureReport:
        """Delete all rows of a subject from the table, and sync.

        With SQLite the file is then rewritten (`vacuum`), because deleting alone can leave copies in its pages. The
        same `idempotency_key` again does nothing and gives the same request.
        """
        with self._lock:
            self._source.require_table("delete from")
            subject = self._encoder.subject(subject)
            request = self.requests.receive(subject, idempotency_key=idempotency_key, due_days=due_days)
            if not request.is_open:
                return ErasureReport(request, None)
            n_deleted = self._source.delete_subject(self._settings, subject)
            report = self._sync(frozenset([request.id]) if n_deleted else frozenset())
            if n_deleted:
                report = replace(report, remains=self._rewritten(vacuum))
            return ErasureReport(self.requests[request.id], report)

    def _rewritten(self, vacuum: bool) -> str | None:
        """Clears what deletions left in the database; what is left to do there, in words."""
        remains = self._source.leave_nothing(rewrite=vacuum)
        if vacuum and remains is None and self._settings.captures:
            self._state.set_table_stamp(self._capture.stamp_after_vacuum(self._state.table_stamp))
        return remains

    # ---------------------------------------------------------------------------------------------------------- capture

    def install_capture(self) -> None:
        """Install triggers on the table that write down ids of changed rows, for `sync` to look at."""
        with self._lock:
            require_capturable(self._source)
            # Before there are triggers: somebody has to remove the ids that they write, also if this is interrupted.
            self._set_captures(True)
            self._capture.install()

    def remove_capture(self) -> None:
        """Remove the triggers, and all that belongs to them."""
        with self._lock:
            self._capture.remove()
            self._set_captures(False)

    @property
    def channel(self) -> str:
        """The channel on which PostgreSQL notifies those who listen that something was captured."""
        return self._capture.name

    def _set_captures(self, captures: bool) -> None:
        settings = replace(self._settings, captures=captures)
        with self._state.transaction():
            self._state.settings = settings
        self._encoder = Encoder(settings, self._key)

    # ------------------------------------------------------------------------------------------------------ the record

    def receipts(self, subject: Any = None) -> list[Receipt]:
        """All receipts, or those that speak of a subject or of requests of theirs."""
        return self._record.receipts(subject)

    def export_receipts(self, path: str | os.PathLike[str]) -> None:
        """Write all receipts to a JSON file."""
        self._record.export(path)

    def certificate(self, number: int | None = None) -> str:
        """A page of HTML, to be printed and filed, about one receipt of a change; by default about the newest."""
        return self._record.certificate(number)

    def verify(self) -> LiveVerification:
        """Check the chain of receipts, train anew from the table, and compare. Costs as much as `create`.

        If all is well, applied requests are verified from now on.
        """
        with self._lock:
            problem, fingerprint = self._record.first_break(), None
            n_receipts = len(self.receipts())
            if problem is None:
                problem, fingerprint = self._refitted()
            if problem is None and fingerprint is not None:
                parameters = self._settings.parameters_digest(self._key)
                self._record.note_verification(len(self._store.index), fingerprint, parameters)
            return LiveVerification(problem is None, problem, fingerprint, n_receipts)

    def _refitted(self) -> tuple[str | None, str | None]:
        """What is wrong with the forest, and the fingerprint of a fresh fit of the table."""
        if self._store.index_is_lost:
            return "files of the index of rows are missing or damaged: sync, to make them again", None
        finding = self._found(None)
        changes = finding.changes
        if changes:
            return (
                f"the table has changed since the last sync ({changes.n_added} rows added, {changes.n_deleted} "
                f"deleted, {changes.n_updated} updated): sync first"
            ), None
        fingerprint = self._trained(finding).fingerprint()
        if fingerprint != self._state.last_fingerprint():
            return "a fresh fit of the table has another fingerprint than the last receipt", fingerprint
        if self._forest is not None and self._forest.fingerprint() != fingerprint:
            return "a fresh fit of the table has another fingerprint than the forest in use", fingerprint
        return None, fingerprint

    # ------------------------------------------------------------------------------------------------------ the forest

    @property
    def forest(self) -> DareForestClassifier:
        """The forest as of the last sync. If it has to be made anew from the table, that is a sync, too.

        It sees categories as numbers. Do not change it: the table is the truth.
        """
        with self._lock:
            if self._forest is None and self._store.has_current_snapshot():
                self._forest = self._loaded()
            if self._forest is None:
                self.sync()
            assert self._forest is not None
            return self._forest

    def _loaded(self) -> DareForestClassifier | None:
        """The snapshot, if there is one; it may be behind the record."""
        forest = self._store.read_snapshot(self._settings.params.get("n_jobs"))
        return None if forest is None else forest.set_params(verbose=self._verbose)

    def store(self) -> None:
        """Write a snapshot of the forest, unless there is one, so that opening is fast."""
        with self._lock:
            if self._forest is not None:
                self._store.write_snapshot(self._forest)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, ascending."""
        return np.sort(self.forest.classes_)

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Class shares of each row, in the order of `classes_`.

        Rows are a table of pandas, polars or pyarrow, or a list of dicts, with the columns by name; or a list of lists,
        in the order of `columns`.
        """
        forest = self.forest
        shares = forest.predict_proba(self._encoder.matrix(by_column(rows, self.columns)))
        return shares[:, np.argsort(forest.classes_[: shares.shape[1]], kind="stable")]

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        return self.forest.predict(self._encoder.matrix(by_column(rows, self.columns)))

    @property
    def columns(self) -> list[str]:
        """The columns that trees split on."""
        return [column.name for column in self._settings.columns]

    @property
    def params(self) -> dict[str, Any]:
        """Parameters with which `DareForestClassifier().fit` on the same rows gives the same forest, seed included.

        Names of categories that were forgotten are replaced.
        """
        categories = {
            column.name: [
                *(f"(forgotten {n})" if name is None else name for n, name in enumerate(column.categories)),
                *[None] * column.has_missing,
            ]
            for column in self._settings.columns
            if column.categories is not None
        }
        params: dict[str, Any] = estimator_of(self._settings).get_params()
        return params | {"categorical_features": categories or None}

    def status(self) -> dict[str, Any]:
        """Where things stand, as plain values."""
        return self._record.status() | {"has_snapshot": self._store.has_snapshot()}


def _first_receipt(settings: Settings, key: bytes, n_rows: int, fingerprint: str) -> Receipt:
    return Receipt(
        0,
        CREATED,
        now(),
        settings.source_name,
        rows=n_rows,
        added=n_rows,
        fingerprint_after=fingerprint,
        parameters=settings.parameters_digest(key),
    )
