"""A forest that is a view of a table."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._columns import Coded
from .._container import write_atomically
from .._progress import bar
from .._targets import given_range
from .._tasks import AUTO, settled_task
from ..errors import FolderBusyError, FolderError, InvalidInputError, SchemaChangedError, UnknownIdsError
from ..evidence.anchors import Head
from ..evidence.envelopes import as_file
from ..evidence.opening import ForestOpening
from . import _clock, _digests
from ._capture import Capture, Stamp, require_capturable
from ._changes import Comparison
from ._deeds import done
from ._door import Door
from ._finding import Finder, Finding, see_all
from ._keyring import Keyring, Where
from ._learning import categorical_choice, feature_names, learned
from ._opening import Opening
from ._placing import Place, place_at
from ._predicting import TableModel
from ._rows import ROW, Encoder
from ._settings import TARGET_RANGE, LiveColumn, Settings
from ._signing import SigningKey
from ._source import Source, connected, stored_url
from ._store import Store
from ._table import LiveTable
from ._training import (
    estimator_of,
    estimator_with,
    fitted,
    name_columns,
    resolved_params,
    without_idle_classes,
)
from ._watching import waiting_for_changes
from .receipts import CREATED, RECOVERED, SYNCED, Receipt
from .record import Effect, Record
from .reports import BROKEN, EXACT, STALE, ErasureReport, LiveVerifyReport, SyncReport
from .requests import DUE_DAYS, Requests

if TYPE_CHECKING:
    from .._tasks import Forest
    from ..reports import UpdateReport

REBUILT = "rebuilt"
SOON, LATE = 1.0, 60.0  # seconds until a database that is in trouble is tried again
Trouble = Callable[[Exception, float], None]  # told of an error, and when it is tried again
NOT_COUNTED = "Files of the folder were lost, so what changed since the receipt before is not counted."
EVADED = "`sync(compare=True)` if a sync finds nothing: triggers can be evaded"
UNCHANGED = "Nothing was changed."  # as errors say it
NO_TRIGGERS = "The triggers on the table are gone or off, so all of it was compared: `install_capture` puts them back."


class LiveForest(TableModel):
    """A forest that follows a SQL table: after `sync`, it is the forest that a fresh fit on the table would give.

    The table is the source of truth. The folder keeps the parameters, the seed, the receipts and the requests; the ids
    and keyed digests of the rows in the forest; and a snapshot of the forest, which can be rebuilt from the table at
    any time.

    Make a live forest with `create`, and open it again with `open`. Only one process at a time can have it open; other
    processes can ask that one to do work for them (see `connect`). Use it in a `with` block, or call `close`, which
    stores a snapshot.
    """

    def __init__(self, store: Store, url: str | None, verbose: int, place: Place) -> None:
        self._store = store
        self._place = place
        self._state = store.state
        self._key = self._state.key
        self._record = Record(self._state)
        self._keyring = Keyring(store.folder, self._record.signing)
        self._verbose = verbose
        self._is_closed = False
        self._forest: Forest | None = None  # as of the last receipt
        self._known_encoder: Encoder | None = None  # not read yet
        self._source = Source.of(connected(self._settings.url if url is None else url), self._settings)
        token = _digests.keyed(self._key, _digests.CAPTURE, b"", 4).hex()
        self._capture = Capture(self._source, self._settings.id, token)
        self._finder = Finder(self._source, self._capture, verbose)
        me = weakref.ref(self)  # its thread must not keep alive what nobody else needs
        self._door = Door(store.path, lambda question: done(me(), question))
        weakref.finalize(self, self._door.close)

    @property
    def _encoder(self) -> Encoder:
        encoder = self._known_encoder
        if encoder is None:
            encoder = self._known_encoder = Encoder(self._state.settings, self._key)
        return encoder

    @property
    def _settings(self) -> Settings:
        return self._encoder.settings

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One deed at a time, of the process that opened the folder, after all that earlier ones left to do."""
        with self._state.turn():
            if self._is_closed:
                raise FolderError("This live forest is closed. Open its folder again with `LiveForest.open`.")
            self._store.tidy()
            try:
                yield
            finally:
                self._place.end_all_but(self._forest, self._store)

    # ----------------------------------------------------------------------------------------------- making and opening

    @classmethod
    def create(
        cls,
        url: str,
        *,
        table: str | None = None,
        query: str | None = None,
        id: str,
        target: str,
        subject: str | None = None,
        columns: Sequence[str] | None = None,
        folder: str | os.PathLike[str],
        params: Mapping[str, Any] | None = None,
        task: str = AUTO,
        capture: bool = False,
        verbose: int = 0,
        ray: str | None = None,
        n_workers: int | None = None,
    ) -> Self:
        """Train a forest on the rows of a table, and store it in a folder.

        Parameters
        ----------
        url : str
            URL of the database, as in SQLAlchemy: `sqlite:///clinic.db`, `postgresql://user@host/clinic`. A password is
            used but not stored.
        table : str, optional
            The table or view, with its schema if it needs one.
        query : str, optional
            A query to use instead of a table.
        id : str
            The column with the row ids: unique integers, strings or UUIDs.
        target : str
            The column to predict: labels or numbers. Rows without one are left out.
        subject : str, optional
            The column that says whom each row belongs to.
        columns : list of str, optional
            The columns to split on. Default: all others. Text columns are categorical.
        folder : path
            A new folder.
        params : mapping, optional
            Parameters of `DareForestClassifier` or `DareForestRegressor`. `categorical_features` is a list of column
            names, or a mapping from column to the list of its categories.
        task : {"auto", "classification", "regression"}, default="auto"
            Whether targets are classes or numbers. `"auto"` takes the task that has the given parameters, such as
            `class_weight` or `target_range`. If both have them, text, truth values and whole numbers of which few are
            different are classes: at most 20, or up to 100 that have at least 20 rows each on average. See docs/live.md
            for the range of targets.
        capture : bool, default=False
            Whether to install triggers that record the ids of changed rows, so that `sync` does not have to compare the
            whole table.
        verbose : int, default=0
            1 shows the progress of long operations.
        ray : str, optional
            Address of a Ray cluster whose workers grow and keep the trees while this process has the folder open. The
            forest is the same. The folder must be on a file system that all machines of the cluster share.
        n_workers : int, optional
            How many workers. Default: one for each machine of the cluster.
        """
        place = place_at(ray, n_workers)
        arguments = dict(params or {})
        settled = settled_task(task, arguments)
        choice = categorical_choice(arguments.pop("categorical_features", None))
        target_range = given_range(arguments.get(TARGET_RANGE))
        origin = Source(connected(url), table, query)
        if capture:
            require_capturable(origin)
        purposes = (id, target, subject)
        store = Store.empty(folder)
        try:
            key = _digests.fresh_key()
            with origin.reading() as connection:
                names = feature_names(origin.column_names(connection), columns, purposes)
                features = tuple(map(LiveColumn, names))
                asked = Settings(stored_url(url), table, query, *purposes, features, columns is None)
                settings, n_rows = learned(origin, connection, asked, choice, settled, target_range)
                comparison = Comparison(np.empty(0, dtype=ROW), settings)
                with bar("Reading", n_rows, verbose > 0, "rows") as report:
                    see_all(comparison, origin, connection, Encoder(settings, key), report)
            rows = comparison.changes().added
            estimator = estimator_with({"verbose": verbose} | arguments, settings)
            forest = fitted(place.unfitted(estimator, store), settings, rows)
            settings = replace(settings, params=resolved_params(forest))
            opening = Opening.fresh(forest.fingerprint())
            store.begin(settings, key, rows.known, _first_receipt(settings, n_rows, opening), opening)
            live = cls(store, url, verbose, place)
        except BaseException:
            place.end_all_but(None, store)
            store.abandon()
            raise
        try:
            live._forest = forest
            live.store()
            if capture:
                live.install_capture()
        except BaseException:
            live._door.close()
            place.end_all_but(None, store)
            store.abandon()
            raise
        return live

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        url: str | None = None,
        verbose: int = 0,
        ray: str | None = None,
        n_workers: int | None = None,
    ) -> Self:
        """Open an existing live forest.

        Parameters
        ----------
        folder : path
            The folder that `create` made.
        url : str, optional
            URL of the database, if it has moved or needs a password.
        verbose : int, default=0
            1 shows the progress of long operations.
        ray : str, optional
            Address of a Ray cluster to work on, see `create`. The folder does not remember it: with each opening, the
            forest is in this process or on a cluster, as it suits.
        n_workers : int, optional
            How many workers. Default: one for each machine of the cluster.
        """
        place = place_at(ray, n_workers)
        store = Store.opened(folder)
        try:
            return cls(store, url, verbose, place)
        except BaseException:
            store.close()
            raise

    def close(self, *, store: bool = True) -> None:
        """Store a snapshot, which makes opening fast, and release the folder.

        With `store=False`, no snapshot is stored.
        """
        with self._state.turn():
            if self._is_closed:
                return
            try:
                if store:
                    self.store()
            finally:
                self._is_closed = True
                self._door.close()
                self._place.end_all_but(None, self._store)
                self._source.engine.dispose()
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close(store=kind is None)

    # ---------------------------------------------------------------------------------------------------------- syncing

    def sync(self, *, compare: bool = False) -> SyncReport:
        """Apply all changes to the table since the last sync.

        With `compare`, all rows are compared even if changes are captured, because triggers can be bypassed. When this
        method returns, the change and its receipt are on disk, and no file in the folder holds anything about deleted
        rows. If the process ends before that, the next sync does all of it.
        """
        with self._turn():
            return self._sync(frozenset(), compare)

    def watch(self, every: float = 5.0, *, on_trouble: Trouble | None = None) -> Iterator[SyncReport]:
        """Sync now, and again whenever the table may have changed. Yields a report for each sync.

        This goes on for as long as the caller asks for reports. With PostgreSQL and capture, triggers notify of changes
        at once. Otherwise the database is checked every `every` seconds: an SQLite file is compared only if something
        was written to it, any other table every time.

        If the database is locked or restarting, or the folder is locked, the sync is tried again after 1, 2, 4 and up
        to 60 seconds. `on_trouble` is called with the error and the number of seconds. An error in the first sync is
        raised.
        """
        if not every > 0:
            raise InvalidInputError(f"`every` must be a number of seconds greater than 0, but is {every!r}.")
        seconds = None
        troubles: tuple[type[Exception], ...] = (FolderBusyError, *self._source.troubles)
        while True:
            try:
                with waiting_for_changes(self._source, self.channel if self._settings.captures else None) as wait:
                    while True:
                        report = self.sync()
                        seconds = SOON
                        yield report
                        wait(every)
            except troubles as error:
                if seconds is None:
                    raise
                if on_trouble is not None:
                    on_trouble(error, seconds)
                time.sleep(seconds)
                seconds = min(2 * seconds, LATE)

    def _sync(self, erased: frozenset[str], compare: bool = False) -> SyncReport:
        """A sync that applies requests whose rows were just deleted, whether or not the forest knew of the rows."""
        begin = time.monotonic()
        known = self._forest if self._forest is not None else self._loaded()
        finding = self._found(known, compare)
        with self._forgetting_on_failure():
            forest = self._applied(finding, known)
            fingerprint = forest.fingerprint()
            receipts = self._committed(finding, fingerprint, erased)
            self._forest = forest
            if receipts:  # and names may be forgotten; after the forest has changed, as those who predict rely on
                self._known_encoder = None
                name_columns(forest, self._settings)
        remains = self._cleared(finding)
        return SyncReport(
            receipts=receipts,
            n_rows=len(self._store.index),
            n_added=sum(receipt.n_added for receipt in receipts),
            n_deleted=sum(receipt.n_deleted for receipt in receipts),
            n_updated=sum(receipt.n_updated for receipt in receipts),
            fingerprint=fingerprint,
            method=REBUILT if known is None else finding.method,
            seconds=time.monotonic() - begin,
            remains=remains,
        )

    def _found(self, forest: Forest | None, compare: bool = False) -> Finding:
        """What changed, for a forest that may be none, or behind the record."""
        held = self._store.index.rows
        if forest is None:
            is_learned = np.zeros(len(held), dtype=bool)
        elif forest is self._forest:
            is_learned = np.ones(len(held), dtype=bool)
        else:
            is_learned = np.isin(held["id"], forest.ids_)
        last = None if compare else Stamp.from_text(self._state.table_stamp)
        return self._finder.found(self._encoder, held, is_learned, last, self.requests.subjects())

    def _applied(self, finding: Finding, forest: Forest | None) -> Forest:
        """The forest after the changes: the one that was there, changed, or a new one."""
        if forest is None:
            return self._trained(finding)
        changes, rows = finding.changes, finding.changes.to_learn
        if changes or len(rows):
            ids = rows.known["id"]
            coded: Any = Coded(rows.matrix)
            forest.update(coded, rows.labels, ids, delete=changes.to_forget)
        return without_idle_classes(forest)

    def _trained(self, finding: Finding) -> Forest:
        """A fresh fit of the table, of a finding for no forest."""
        estimator = estimator_of(self._settings).set_params(verbose=self._verbose)
        return fitted(self._place.unfitted(estimator, self._store), self._settings, finding.changes.to_learn)

    def _committed(self, finding: Finding, fingerprint: str, erased: frozenset[str]) -> tuple[Receipt, ...]:
        """Writes what happened, and everything that goes with it, unless nothing did."""
        changes, is_lost = finding.changes, self._store.index_is_lost
        if not changes and not is_lost and fingerprint != self._record.opening().fingerprint:
            raise FolderError(
                "The table has not changed, but the forest that it gives is not the one of the last receipt. Settings "
                "or receipts of this folder were changed by somebody else: `verify` says more. Create it anew."
            )
        effect = self._record.effect(finding, self._store.index.rows, erased)
        receipts: tuple[Receipt, ...] = ()
        if changes or is_lost or effect.applied:
            receipts = (self._commit(finding, effect, fingerprint),)
        if effect.without_rows:
            self.requests.close_without_rows(effect.without_rows)
        return receipts

    def _commit(self, finding: Finding, effect: Effect, fingerprint: str) -> Receipt:
        changes, settings, former = finding.changes, finding.settings, self._record.opening()
        definition = settings.definition()
        opening = former.followed_by(fingerprint, has_same_parameters=definition == self._settings.definition())
        receipt = Receipt(
            0,
            SYNCED,
            _clock.now().isoformat(),
            settings.source_name,
            requests=effect.applied,
            n_rows=len(self._store.index) + changes.n_added - changes.n_deleted,
            n_added=changes.n_added,
            n_deleted=changes.n_deleted,
            n_updated=changes.n_updated,
            n_people_erased=effect.n_erased,
            n_people_changed=effect.n_changed,
            before=former.forest,
            after=opening.forest,
            parameters=opening.parameters(definition),
        )
        if self._store.index_is_lost:  # and so every row seems to be new
            receipt = replace(receipt, kind=RECOVERED, n_added=0, reason=NOT_COUNTED)
        return self._store.commit(
            changes.gone["id"],
            changes.added.known,
            None if settings == self._settings else settings,
            receipt,
            opening,
            also=lambda: self._settle(finding, effect),
        )

    def _settle(self, finding: Finding, effect: Effect) -> None:
        """What else is of the same transaction."""
        self.requests.forget_subjects(effect.applied)
        self._state.table_stamp = None if finding.stamp is None else finding.stamp.as_text()

    def _cleared(self, finding: Finding) -> str | None:
        """Clears captured ids and the log of the database; what is left to do there, in words."""
        if finding.stamp is not None:
            self._capture.clear(finding.captured, finding.stamp)
        self._keep_stamp(finding.stamp)
        is_due = self._state.table_is_to_be_rewritten
        has_left = is_due or len(finding.changes.gone) or finding.captured.numbers
        remains = self._source.leave_nothing(rewrite=is_due) if has_left else None
        if is_due and remains is None:
            self._note_rewritten()
        return " ".join(filter(None, [remains, NO_TRIGGERS if finding.lacks_triggers else None])) or None

    def _keep_stamp(self, stamp: Stamp | None) -> None:
        text = None if stamp is None else stamp.as_text()
        if text != self._state.table_stamp:
            with self._state.transaction():
                self._state.table_stamp = text

    @contextmanager
    def _forgetting_on_failure(self) -> Iterator[None]:
        """What may be ahead of the record is forgotten; the folder or the table gives it again."""
        try:
            yield
        except BaseException:
            self._forest = self._known_encoder = None
            raise

    @property
    def table(self) -> LiveTable:
        """The table, to insert and delete rows without SQL of your own. The forest follows with the next `sync`."""
        return LiveTable(self._source, self._encoder, self._state, self._turn)

    def deletion_cost(self, ids: Sequence[Any] | None = None, *, subject: Any = None) -> UpdateReport:
        """Return what it would take the forest to forget these rows, or all rows of a subject, without changing it.

        Rows of the subject that the forest does not hold, because they have no label, cost nothing.
        """
        if (ids is None) == (subject is None):
            raise InvalidInputError("Give either `ids` or `subject`, to say which rows are meant.")
        named = self.table.ids(ids) if ids is not None else self.table.ids_of(subject)
        forest, core_ids = self.forest, self._encoder.core_ids(named)
        is_held = np.isin(core_ids, forest.ids_)
        if ids is not None and not is_held.all():
            raise UnknownIdsError(np.flatnonzero(~is_held).tolist())
        cost = forest.deletion_cost(core_ids[is_held])
        return replace(cost, ids=tuple(name for name, its in zip(named, is_held.tolist(), strict=True) if its))

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

        With SQLite, the file is then rewritten (`vacuum`), because deletion alone can leave copies of rows in its
        pages. A second call with the same `idempotency_key` does nothing and returns the same request.

        If the table then holds something that the forest does not take, such as a target of another row that is beyond
        its range, an error says so. The subject's rows are gone from the table by then, and the request is open:
        correct the table, and sync.
        """
        with self._turn():
            self._source.require_table("delete from")
            subject = self._encoder.subject(subject)
            request = self.requests.receive(subject, idempotency_key=idempotency_key, due_days=due_days)
            if not request.is_open:
                is_unfinished = self._state.table_is_to_be_rewritten
                return ErasureReport(request, self._sync(frozenset()) if is_unfinished else None)
            was_due = self._state.table_is_to_be_rewritten
            # Before the rows go: if the process ends on the way, the next sync rewrites the file.
            self._state.table_is_to_be_rewritten = was_due or (vacuum and self._source.is_sqlite)
            n_deleted = self._source.delete_subject(self._settings, subject)
            if not n_deleted:
                self._state.table_is_to_be_rewritten = was_due
            with _as_left_by_erasure(request.id):
                report = self._sync(frozenset([request.id]) if n_deleted else frozenset())
            return ErasureReport(self.requests[request.id], report)

    def _note_rewritten(self) -> None:
        """The file of the table was rewritten, which is no change of its rows."""
        stamp = Stamp.from_text(self._state.table_stamp) if self._settings.captures else None
        if stamp is not None:
            self._keep_stamp(self._capture.after_vacuum(stamp))
        self._state.table_is_to_be_rewritten = False

    # ---------------------------------------------------------------------------------------------------------- capture

    def install_capture(self) -> None:
        """Install triggers on the table that record the ids of changed rows, for `sync` to use."""
        with self._turn():
            require_capturable(self._source)
            # Before there are triggers: somebody has to remove the ids that they write, also if this is interrupted.
            self._set_captures(True)
            self._capture.install()

    def remove_capture(self) -> None:
        """Remove the triggers and everything that belongs to them."""
        with self._turn():
            self._capture.remove()
            self._set_captures(False)

    @property
    def channel(self) -> str:
        """The PostgreSQL channel that is notified when changes are captured."""
        return self._capture.name

    def _set_captures(self, captures: bool) -> None:
        settings = replace(self._settings, captures=captures)
        with self._state.transaction():
            self._state.settings = settings
        self._known_encoder = Encoder(settings, self._key)

    # ------------------------------------------------------------------------------------------------------ the record

    def receipts(self, request: str | None = None) -> list[Receipt]:
        """Return all receipts, or only those about the request with this id.

        The id of a request is the reference by which the person who asked is known.
        """
        return self._record.receipts(request)

    def export_receipts(self, path: str | os.PathLike[str]) -> None:
        """Write all receipts to a JSON file."""
        self._record.export(path)

    def certificate(self, number: int | None = None, *, organisation: str | None = None) -> str:
        """Return a certificate about one receipt: an HTML page, to be printed and filed.

        Parameters
        ----------
        number : int, optional
            The number of the receipt, which is about a change, or about a request for which there was nothing left to
            erase. Default: the newest such receipt.
        organisation : str, optional
            The organisation responsible for the model, to be named on the page.
        """
        return self._record.certificate(number, organisation)

    def new_key(self, path: Where = None, *, former: Where = None, is_lost: bool = False) -> str:
        """Make a key that signs statements about the receipts from now on, and return its id.

        If there is a key already, that one signs a statement about the new one, and its private half is not needed any
        more: it is removed from the folder. Elsewhere, remove it yourself.

        Parameters
        ----------
        path : path, optional
            A new file for the private half, which only its owner can read. Default: a file in the folder.
        former : path, optional
            The file with the private half of the key in use. Default: the file in the folder.
        is_lost : bool, default=False
            Whether the private half of the key in use is lost. Then nothing vouches for the new key: tell whoever
            checks statements about it by another way.
        """
        with self._turn():
            return self._keyring.replace(path, former, is_lost, self._settings.source_name)

    def signing_keys(self) -> list[SigningKey]:
        """Return the public halves of all keys that sign or have signed statements, oldest first."""
        return self._record.signing.known_keys()

    def statements(self, first: int = 1, *, signing_key: Where = None) -> list[str]:
        """Return signed statements about the receipts from number `first` on, each as a line of JSON.

        They are made from the receipts and the private key (in the folder, or in the file `signing_key`), and are the
        same whenever they are made. docs/evidence.md says what is in them.
        """
        with self._turn():
            if first < 1:
                raise InvalidInputError(f"`first` must be the number of a receipt, from 1 on, but is {first!r}.")
            envelopes = self._record.signing.envelopes(self._keyring.current(signing_key))
            if first > len(envelopes):
                raise InvalidInputError(f"There is no receipt {first}: the newest is {len(envelopes)}.")
            return [envelope.as_json() for envelope in envelopes[first - 1 :]]

    def export_statements(self, path: str | os.PathLike[str], first: int = 1, *, signing_key: Where = None) -> None:
        """Write signed statements about the receipts from number `first` on to a file, one on each line."""
        write_atomically(path, [as_file(self.statements(first, signing_key=signing_key))])

    def head(self) -> Head:
        """Return what an anchor keeps: the number and the digest of the newest statement."""
        return self._record.signing.head()

    def opening(self) -> ForestOpening:
        """Return what opens the newest statement, for an auditor: the fingerprint of the forest, and a key.

        Do not keep it: after the next change, it allows guesses of rows that were erased to be tested.
        """
        return self._record.signing.opening()

    def verify(self) -> LiveVerifyReport:
        """Check the chain of receipts, retrain from the table, and compare. Costs as much as `create`.

        If everything matches, applied requests become verified.
        """
        with self._turn():
            problem, n_receipts = self._record.check()
            if problem is not None:
                return LiveVerifyReport(problem, None, BROKEN, n_receipts)
            outcome, problem, fingerprint = self._refitted()
            if outcome == EXACT:
                self._record.note_verification(len(self._store.index))
            return LiveVerifyReport(problem, fingerprint, outcome, n_receipts)

    def _refitted(self) -> tuple[str, str | None, str | None]:
        """How the forest compares with the table, what is wrong with it, and the fingerprint of a fresh fit."""
        if self._store.index_is_lost:
            return BROKEN, "files of the index of rows are missing or damaged: sync, to make them again", None
        finding = self._found(None)
        changes = finding.changes
        if changes:
            counts = f"{changes.n_added} rows added, {changes.n_deleted} deleted, {changes.n_updated} updated"
            way_out = "sync first" + (f" ({EVADED})" if self._settings.captures else "")
            return STALE, f"the table has changed since the last sync ({counts}): {way_out}", None
        fingerprint = self._trained(finding).fingerprint()
        if fingerprint != self._record.opening().fingerprint:
            return BROKEN, "a fresh fit of the table has another fingerprint than the last receipt", fingerprint
        if self._forest is not None and self._forest.fingerprint() != fingerprint:
            return BROKEN, "a fresh fit of the table has another fingerprint than the forest in use", fingerprint
        return EXACT, None, fingerprint

    # ------------------------------------------------------------------------------------------------------ the forest

    @property
    def forest(self) -> Forest:
        """The forest in its state after the last sync.

        If it has to be rebuilt from the table, that is a sync as well. It takes tables with the columns listed in
        `columns`. Do not modify it: the table is the source of truth.
        """
        forest = self._forest
        if forest is not None:  # also while a sync is at work: it changes the forest at one go
            return forest
        with self._turn():
            if self._forest is None and self._store.has_current_snapshot():
                self._forest = self._loaded()
            if self._forest is None:
                self.sync()
            assert self._forest is not None
            return self._forest

    def _loaded(self) -> Forest | None:
        """The snapshot, if there is one; it may be behind the record."""
        forest = self._store.read_snapshot(self._settings.params.get("n_jobs"))
        if forest is None:
            return None
        brought = self._place.brought(forest.set_params(verbose=self._verbose), self._store)
        return name_columns(brought, self._settings)

    def store(self) -> None:
        """Write a snapshot of the forest, unless there is one already. This makes opening fast."""
        with self._turn():
            if self._forest is not None:
                self._store.write_snapshot(self._forest)

    def status(self) -> dict[str, Any]:
        """Return the current status, as a dict of plain values."""
        return self._record.status() | {"has_snapshot": self._store.has_snapshot()}


@contextmanager
def _as_left_by_erasure(request: str) -> Iterator[None]:
    """An error within says what was done before, in place of that nothing was."""
    try:
        yield
    except (InvalidInputError, FolderError, SchemaChangedError) as error:
        what = "The table holds no row of this subject any more, but the forest has not followed."
        told = str(error).replace(UNCHANGED, what) if UNCHANGED in str(error) else f"{error} {what}"
        error.args = (f"{told} Then sync: request {request} is open until the forest follows.",)
        raise


def _first_receipt(settings: Settings, n_rows: int, opening: Opening) -> Receipt:
    return Receipt(
        0,
        CREATED,
        _clock.now().isoformat(),
        settings.source_name,
        n_rows=n_rows,
        n_added=n_rows,
        after=opening.forest,
        parameters=opening.parameters(settings.definition()),
    )
