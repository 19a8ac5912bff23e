"""The one who writes: a thread that changes a table and lets its forest follow, for many who wait in a queue.

Changes of different rows that wait at the same time share a sync, which costs about as much as one of them alone. A
change is acknowledged when its sync has a receipt, and so is on the disk. What waits has not begun, and can be
withdrawn.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ..live import LiveForest, LiveTable, SyncReport
from .metrics import Metrics
from .problems import NotFollowedError, ProblemError
from .settings import Settings

log = logging.getLogger("deciduous.service")
MOST_AT_ONCE = 256  # changes that share a sync
STORE_AFTER = 2.0  # seconds without a change, until a snapshot is worth its time
SOON, LATE = 1.0, 60.0  # seconds until a sync that failed is tried again
REMEMBERED = 32  # durations


INSERTED, DELETED = "insert", "delete"  # kinds of changes, for metrics


@dataclass(frozen=True)
class Changed:
    """A change that was made: how many rows, and the sync that followed, of this change and others."""

    n_rows: int
    report: SyncReport


@dataclass
class _Deed:
    do: Callable[[Any], Any]
    kind: str | None = None  # of a change
    ids: frozenset[str] = frozenset()  # of its rows
    outcome: Future[Any] = field(default_factory=Future)


class Writer:
    """Does one thing at a time with a live forest, and syncs it now and then, until it is closed."""

    def __init__(self, name: str, live: LiveForest, settings: Settings, metrics: Metrics) -> None:
        self._name = name
        self._live = live
        self._settings = settings
        self._metrics = metrics
        self._waiting: deque[_Deed] = deque()
        self._wakes = threading.Condition()
        self._is_closing = False
        self._is_stored = True
        self._next_sync = 0.0
        self._pause = SOON
        self._durations: deque[float] = deque(maxlen=REMEMBERED)
        self.is_loaded = False  # whether there is a forest to predict with
        self.trouble: str | None = None  # why the last sync failed, if it did
        self.last_sync: float | None = None  # in seconds since 1970
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"deciduous writer of {name}")

    def start(self) -> None:
        """Begin, with a sync."""
        self._thread.start()

    @property
    def n_waiting(self) -> int:
        """How many deeds wait for their turn."""
        return len(self._waiting)

    @property
    def usual_seconds(self) -> float | None:
        """What a sync with changes took lately; None before the first."""
        durations = list(self._durations)
        return median(durations) if durations else None

    def change(self, kind: str, ids: Iterable[Any], do: Callable[[LiveTable], int]) -> Future[Changed]:
        """Have rows with these ids inserted or deleted."""
        return self._submitted(_Deed(do, kind, frozenset(map(repr, ids))))

    def do(self, do: Callable[[LiveForest], Any]) -> Future[Any]:
        """Have something else done."""
        return self._submitted(_Deed(do))

    def _submitted(self, deed: _Deed) -> Future[Any]:
        with self._wakes:
            if self._is_closing:
                raise ProblemError("shutting-down", "The service is shutting down. Nothing was changed.", retry_after=5)
            if not self.is_loaded:
                raise ProblemError("not-ready", "The model is being read. Nothing was changed.", retry_after=2)
            if len(self._waiting) >= self._settings.most_waiting:
                wait = self.usual_seconds or 1.0
                raise ProblemError("overloaded", "Too many changes wait. Nothing was changed.", retry_after=wait)
            self._waiting.append(deed)
            self._wakes.notify()
        return deed.outcome

    def close(self) -> None:
        """Take nothing more, do what waits, and end."""
        with self._wakes:
            self._is_closing = True
            self._wakes.notify()
        if self._thread.is_alive():
            self._thread.join()

    # -------------------------------------------------------------------------------------------------- in the thread

    def _run(self) -> None:
        while (deeds := self._next()) is not None:
            if not deeds:
                self._idle()
            elif deeds[0].kind is None:
                self._do(deeds[0])
            else:
                self._change(deeds)

    def _next(self) -> list[_Deed] | None:
        """What to do next, which is nothing if it is time to look after things, and None at the end."""
        with self._wakes:
            while not self._waiting:
                if self._is_closing:
                    return None
                seconds = self._next_sync - time.monotonic()
                if not self._is_stored:
                    seconds = min(seconds, STORE_AFTER)
                if seconds <= 0 or not self._wakes.wait(seconds):
                    return []
            deeds = [self._waiting.popleft()]
            touched = set(deeds[0].ids)
            while self._may_join(deeds, touched):
                deeds.append(self._waiting.popleft())
                touched |= deeds[-1].ids
            return deeds

    def _may_join(self, deeds: list[_Deed], touched: set[str]) -> bool:
        """Whether the next one that waits is a change, too, of other rows: else one could undo the other."""
        if not self._waiting or len(deeds) == MOST_AT_ONCE or deeds[0].kind is None:
            return False
        following = self._waiting[0]
        return following.kind is not None and touched.isdisjoint(following.ids)

    def _idle(self) -> None:
        """Keep a snapshot, or look at the table: others may have changed it."""
        try:
            if self._is_stored or time.monotonic() >= self._next_sync:
                self._sync()
            else:
                self._live.store()
                self._is_stored = True
        except Exception as error:  # it is told in the log and by `ready`, and tried again
            self._note_trouble(error)

    def _sync(self) -> SyncReport:
        begin = time.monotonic()
        report = self._live.sync()
        seconds = time.monotonic() - begin
        if report.receipts:
            self._durations.append(seconds)
            self._metrics.time("deciduous_sync_seconds", seconds, model=self._name)
            self._is_stored = False
        self.is_loaded, self.trouble, self.last_sync = True, None, time.time()
        self._next_sync, self._pause = time.monotonic() + self._settings.every, SOON
        return report

    def _note_trouble(self, error: Exception) -> None:
        self.trouble = type(error).__name__
        log.warning("model=%s sync failed: %s", self._name, self.trouble)
        self._is_stored = True  # nothing that could be stored now
        self._next_sync, self._pause = time.monotonic() + self._pause, min(2 * self._pause, LATE)

    def _do(self, deed: _Deed) -> None:
        if not deed.outcome.set_running_or_notify_cancel():
            return
        try:
            deed.outcome.set_result(deed.do(self._live))
        except Exception as error:
            deed.outcome.set_exception(error)

    def _change(self, deeds: list[_Deed]) -> None:
        """One transaction, in which each change is made or fails by itself; then one sync follows them all."""
        made: list[tuple[_Deed, int]] = []
        try:
            with self._live.table.together() as table:
                for deed in deeds:
                    _try(deed, table, made)
        except Exception as error:  # none of them was made
            for deed in deeds:
                _fail(deed, error)
            return
        if not made:
            return
        try:
            report = self._sync()
        except Exception as error:
            self._note_trouble(error)
            for deed, _ in made:
                failure = NotFollowedError()
                failure.__cause__ = error
                deed.outcome.set_exception(failure)
            return
        for deed, n_rows in made:
            self._metrics.count("deciduous_changed_rows_total", n_rows, model=self._name, kind=str(deed.kind))
            deed.outcome.set_result(Changed(n_rows, report))


def _try(deed: _Deed, table: LiveTable, made: list[tuple[_Deed, int]]) -> None:
    """A change, unless it was withdrawn."""
    if not deed.outcome.set_running_or_notify_cancel():
        return
    try:
        made.append((deed, deed.do(table)))
    except Exception as error:
        deed.outcome.set_exception(error)


def _fail(deed: _Deed, error: Exception) -> None:
    """Tell an error, unless the deed has an outcome, or is withdrawn at this moment."""
    outcome = deed.outcome
    if not outcome.done() and (outcome.running() or outcome.set_running_or_notify_cancel()):
        outcome.set_exception(error)
