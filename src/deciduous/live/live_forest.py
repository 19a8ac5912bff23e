"""A forest that is a view of a table."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from .._container import write_atomically
from .._progress import bar
from .._validation import is_missing
from ..errors import FolderError, InvalidInputError
from ..forest import DareForestClassifier
from . import _digests
from ._capture import Capture, Captured
from ._changes import Changes, Comparison, people_from, people_of, people_texts
from ._folder import STATE
from ._learning import categorical_choice, feature_names, learned
from ._row_index import n_buckets_for
from ._rows import ROW, Encoder
from ._settings import LiveColumn, Settings
from ._source import Source, connected, require_same_columns, stored_url
from ._state import State, now
from ._store import Store
from ._training import estimator_of, fitted, has_idle_classes, resolved_params, with_categories
from ._watching import waiting_for_changes
from .certificate import certificate
from .receipts import CREATED, SYNCED, VERIFIED, Receipt, first_break
from .requests import APPLIED, DUE_DAYS, NO_ROWS, Request, Requests

COMPARISON, CAPTURE, REBUILT = "comparison", "capture", "rebuilt"


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


@dataclass(frozen=True)
class _Finding:
    """What a look at the table gave."""

    changes: Changes
    method: str
    captured: Captured
    settings: Settings  # with the names of categories that still have rows


@dataclass(frozen=True)
class _Effect:
    """Whom a change concerns: digests of subjects, and ids of requests."""

    erased: tuple[str, ...]
    changed: tuple[str, ...]
    applied: tuple[str, ...]
    unfounded: tuple[str, ...]


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
        self._verbose = verbose
        self._lock = threading.RLock()
        self._is_closed = False
        self._forest: DareForestClassifier | None = None
        self._key = self._state.key
        self._take_over(self._state.settings)
        self._source = Source.of(connected(self._settings.url if url is None else url), self._settings)
        token = _digests.keyed(self._key, _digests.CAPTURE, b"", 4).hex()
        self._capture = Capture(self._source, self._settings.id, token)

    def _take_over(self, settings: Settings) -> None:
        self._settings = settings
        self._encoder = Encoder(settings, self._key)

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
        purposes = (id, target, subject)
        store = Store.empty(folder)
        try:
            key = _digests.fresh_key()
            with origin.reading() as connection:
                names = feature_names(origin.column_names(connection), columns, purposes)
                features = tuple(map(LiveColumn, names))
                asked = Settings(stored_url(url), table, source, *purposes, features, columns is None)
                settings, n_rows = learned(origin, connection, asked, choice)
                comparison = Comparison(np.empty(0, dtype=ROW), len(names))
                _see_all(comparison, origin, connection, settings, Encoder(settings, key), n_rows, verbose)
            rows = comparison.changes().added
            forest = fitted(with_categories(estimator, settings), settings, rows)
            settings = replace(settings, params=resolved_params(forest), n_buckets=n_buckets_for(n_rows))
            store.begin(settings, key, rows.known, _first_receipt(settings, key, n_rows, forest.fingerprint()))
        except BaseException:
            store.abandon()
            raise
        live = cls(store, url, verbose)
        live._forest = forest
        live.store()
        if capture:
            live.install_capture()
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
        finding = self._found()
        with self._forgetting_on_failure():
            finding, forest = self._applied(finding)
            fingerprint = forest.fingerprint()
            receipts = self._committed(finding, fingerprint, erased)
            self._forest = forest
        remains = self._cleared(finding)
        return SyncReport(
            receipts=receipts,
            rows=len(self._store.index),
            added=finding.changes.n_added,
            deleted=finding.changes.n_deleted,
            updated=finding.changes.n_updated,
            fingerprint=fingerprint,
            method=finding.method,
            seconds=time.monotonic() - begin,
            remains=remains,
        )

    def _found(self, *, anew: bool = False) -> _Finding:
        """What changed, found by capture if that is possible; with all rows if the forest has to be made anew."""
        settings, held = self._settings, self._store.index.rows
        if self._forest is None and not anew:
            self._forest = self._loaded()
        anew = anew or self._forest is None
        with self._source.reading() as connection:
            require_same_columns(settings, self._source.column_names(connection))
            captured = Captured([], None)
            if settings.captures and self._capture.is_installed(connection):
                captured = self._capture.captured(connection)
            changes, method = None, CAPTURE
            if not anew and captured.ids is not None:
                changes = self._captured_changes(connection, captured.ids, held)
            if changes is None:
                changes, method = self._compared(connection, held, keeps_everything=anew), COMPARISON
            if len(changes.gone):
                settings = self._without_idle_names(connection)
        return _Finding(changes, REBUILT if anew else method, captured, settings)

    def _captured_changes(self, connection: sa.Connection, ids: list[Any], held: NDArray[Any]) -> Changes | None:
        """The changes of captured rows, or None if there must be others: the number of rows would not be right."""
        comparison = Comparison(held, len(self._settings.columns))
        if ids:
            for rows in self._source.rows(connection, self._settings, self._capture.ids()):
                comparison.see(self._encoder.encoded(rows))
        core_ids = self._encoder.core_ids(ids) if ids else np.empty(0, dtype=np.int64)
        changes = comparison.changes(core_ids)
        n_expected = len(held) + changes.n_added - changes.n_deleted
        return changes if self._source.count(connection, self._settings) == n_expected else None

    def _compared(self, connection: sa.Connection, held: NDArray[Any], *, keeps_everything: bool) -> Changes:
        comparison = Comparison(held, len(self._settings.columns), keeps_everything=keeps_everything)
        _see_all(comparison, self._source, connection, self._settings, self._encoder, len(held), self._verbose)
        return comparison.changes()

    def _without_idle_names(self, connection: sa.Connection) -> Settings:
        """The settings without the names of learned categories that no row has any more."""
        columns = tuple(
            self._source.without_idle_names(connection, self._settings, column) if column.is_learned else column
            for column in self._settings.columns
        )
        return replace(self._settings, columns=columns)

    def _applied(self, finding: _Finding) -> tuple[_Finding, DareForestClassifier]:
        """The forest after the changes."""
        changes, forest = finding.changes, self._forest
        if forest is not None and finding.method != REBUILT:
            if len(changes.gone):
                forest.delete(changes.gone["id"])
            if len(changes.added):
                forest.add(changes.added.matrix, changes.added.labels, ids=changes.added.known["id"])
            if not has_idle_classes(forest):
                return finding, forest
            # The label of a class without rows is something of rows that are gone.
            finding = self._found(anew=True)
        assert finding.changes.everything is not None
        estimator = estimator_of(self._settings).set_params(verbose=self._verbose)
        return finding, fitted(estimator, self._settings, finding.changes.everything)

    def _committed(self, finding: _Finding, fingerprint: str, erased: frozenset[str]) -> tuple[Receipt, ...]:
        """Writes what happened, and everything that goes with it, unless nothing did."""
        changes = finding.changes
        if not changes and fingerprint != self._state.last_fingerprint():
            raise FolderError(
                "The table has not changed, but the forest that it gives is not the one of the last receipt. Settings "
                "or receipts of this folder were changed by somebody else: `verify` says more. Create it anew."
            )
        effect = self._effect(changes, erased)
        receipts: tuple[Receipt, ...] = ()
        if changes or effect.applied:
            receipts = (self._commit(finding, effect, fingerprint),)
        for request in effect.unfounded:
            self.requests.refuse(request, NO_ROWS)
        return receipts

    def _effect(self, changes: Changes, erased: frozenset[str]) -> _Effect:
        """Whose rows are gone, in full or in part, and which requests are settled by that."""
        held, requests = self._store.index.rows, self.requests.open()
        gone = people_of(changes.gone)
        concerned = np.union1d(gone, people_from(request.subject for request in requests))
        kept = held[~np.isin(held["id"], changes.gone["id"])]
        left = np.union1d(people_of(kept, concerned), people_of(changes.added.known, concerned))
        left_texts, gone_texts = set(people_texts(left)), set(people_texts(gone))
        closed = [request for request in requests if request.subject not in left_texts]
        applied = [request.id for request in closed if request.subject in gone_texts or request.id in erased]
        return _Effect(
            erased=people_texts(np.setdiff1d(gone, left)),
            changed=people_texts(np.intersect1d(gone, left)),
            applied=tuple(applied),
            unfounded=tuple(request.id for request in closed if request.id not in applied),
        )

    def _commit(self, finding: _Finding, effect: _Effect, fingerprint: str) -> Receipt:
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
        written = self._store.commit(
            changes.gone["id"],
            changes.added.known,
            None if settings == self._settings else settings,
            receipt,
            also=lambda: self.requests.settle(effect.applied, APPLIED),
        )
        self._take_over(settings)
        return written

    def _cleared(self, finding: _Finding) -> str | None:
        """Clears captured ids and the log of the database; what is left to do there, in words."""
        self._capture.clear(finding.captured)
        has_left = len(finding.changes.gone) or finding.captured.numbers
        return self._source.leave_nothing(rewrite=False) if has_left else None

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
        return Requests(self._state, self._encoder, self._settings.source_name)

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
                report = replace(report, remains=self._source.leave_nothing(rewrite=vacuum))
            return ErasureReport(self.requests[request.id], report)

    # ---------------------------------------------------------------------------------------------------------- capture

    def install_capture(self) -> None:
        """Install triggers on the table that write down ids of changed rows, for `sync` to look at."""
        with self._lock:
            self._source.require_table("capture changes of")
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
        self._take_over(settings)

    # ------------------------------------------------------------------------------------------------------ the record

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

    def export_receipts(self, path: str | os.PathLike[str]) -> None:
        """Write all receipts to a JSON file."""
        receipts = [receipt.as_dict() for receipt in self._state.receipts()]
        content = {"format": "deciduous-receipts-1", "receipts": receipts}
        write_atomically(path, [json.dumps(content, indent=1, ensure_ascii=False).encode()])

    def certificate(self, number: int | None = None) -> str:
        """A page of HTML, to be printed and filed, about one receipt of a change; by default about the newest."""
        receipts = self.receipts()
        chosen = [
            receipt for receipt in receipts if receipt.kind in (CREATED, SYNCED) and number in (None, receipt.number)
        ]
        if not chosen:
            raise InvalidInputError(f"There is no receipt of a change with the number {number}.")
        receipt = chosen[-1]
        checks = [its for its in receipts if its.kind == VERIFIED and its.number > receipt.number]
        requests = [self.requests[id] for id in receipt.requests]
        return certificate(receipt, requests, checks[0] if checks else None)

    def verify(self) -> LiveVerification:
        """Check the chain of receipts, train anew from the table, and compare. Costs as much as `create`.

        If all is well, applied requests are verified from now on.
        """
        with self._lock:
            receipts = self.receipts()
            problem, fingerprint = first_break(receipts, self._key), None
            if problem is None:
                problem, fingerprint = self._refitted()
            if problem is None:
                self._note_verification(fingerprint)
            return LiveVerification(problem is None, problem, fingerprint, len(receipts))

    def _refitted(self) -> tuple[str | None, str | None]:
        """What is wrong with the forest, and the fingerprint of a fresh fit of the table."""
        finding = self._found(anew=True)
        changes = finding.changes
        if changes:
            return (
                f"the table has changed since the last sync ({changes.n_added} rows added, {changes.n_deleted} "
                f"deleted, {changes.n_updated} updated): sync first"
            ), None
        assert changes.everything is not None
        estimator = estimator_of(self._settings).set_params(verbose=self._verbose)
        fingerprint = fitted(estimator, self._settings, changes.everything).fingerprint()
        if fingerprint != self._state.last_fingerprint():
            return "a fresh fit of the table has another fingerprint than the last receipt", fingerprint
        if self._forest is not None and self._forest.fingerprint() != fingerprint:
            return "a fresh fit of the table has another fingerprint than the forest in use", fingerprint
        return None, fingerprint

    def _note_verification(self, fingerprint: str | None) -> None:
        applied = [request.id for request in self.requests.applied()]
        receipt = Receipt(
            0,
            VERIFIED,
            now(),
            self._settings.source_name,
            requests=tuple(applied),
            rows=len(self._store.index),
            fingerprint_after=fingerprint,
            parameters=self._settings.parameters_digest(self._key),
        )
        with self._state.transaction():
            self._state.append(receipt)
            self.requests.settle(applied, VERIFIED)

    # ------------------------------------------------------------------------------------------------------ the forest

    @property
    def forest(self) -> DareForestClassifier:
        """The forest as of the last sync. If it has to be made anew from the table, that is a sync, too.

        It sees categories as numbers. Do not change it: the table is the truth.
        """
        with self._lock:
            if self._forest is None:
                self._forest = self._loaded()
            if self._forest is None:
                self.sync()
            assert self._forest is not None
            return self._forest

    def _loaded(self) -> DareForestClassifier | None:
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
        shares = forest.predict_proba(self._encoder.matrix(self._by_column(rows)))
        return shares[:, np.argsort(forest.classes_[: shares.shape[1]], kind="stable")]

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        return self.forest.predict(self._encoder.matrix(self._by_column(rows)))

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
        return status_of(self._state) | {"has_snapshot": self._store.has_snapshot()}

    def _by_column(self, rows: Any) -> list[list[Any]]:
        """The values of the columns, as plain values."""
        if nw.dependencies.is_into_dataframe(rows):
            table = nw.from_native(rows, eager_only=True)
            self._require_columns(table.columns)
            return [[_plain(value) for value in table[name].to_list()] for name in self.columns]
        listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
        if listed and isinstance(listed[0], Mapping):
            self._require_columns(listed[0])
            return [[_plain(row.get(name)) for row in listed] for name in self.columns]
        if any(len(row) != len(self.columns) for row in listed):
            raise InvalidInputError(f"Each row needs {len(self.columns)} values: {', '.join(self.columns)}.")
        return [[_plain(row[place]) for row in listed] for place in range(len(self.columns))]

    def _require_columns(self, found: Any) -> None:
        missing = [name for name in self.columns if name not in found]
        if missing:
            raise InvalidInputError(
                f"Rows have no column {missing[0]!r}. The forest splits on {', '.join(self.columns)}."
            )


def read_record(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Receipt], list[Request]]:
    """The status, receipts and requests of a live forest, also while another process has it open."""
    path = Path(folder) / STATE
    if not path.exists():
        raise FolderError(f"There is no live forest in {folder}. `LiveForest.create` makes one.")
    state = State.opened(path, read_only=True)
    try:
        settings = state.settings
        requests = Requests(state, Encoder(settings, state.key), settings.source_name)
        return status_of(state), list(state.receipts()), list(requests)
    finally:
        state.close()


def status_of(state: State) -> dict[str, Any]:
    """Where things stand, as plain values."""
    settings, last = state.settings, state.last_change()
    requests = list(Requests(state, Encoder(settings, state.key), settings.source_name))
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


def _see_all(
    comparison: Comparison,
    source: Source,
    connection: sa.Connection,
    settings: Settings,
    encoder: Encoder,
    n_expected: int,
    verbose: int,
) -> None:
    """Show all rows of the source to a comparison."""
    n_done = 0
    with bar("Reading", n_expected, verbose > 0, "rows") as report:
        for rows in source.rows(connection, settings):
            comparison.see(encoder.encoded(rows))
            n_done += len(rows)
            if report is not None:
                report(n_done)


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


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if is_missing(plain) else plain
