"""Watching goes on when the database was locked, or its server was stopped and started, and says so."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from deciduous.errors import FolderBusyError
from deciduous.live import LiveForest, SyncReport, _state, live_forest
from live_tables import Database, fresh_fingerprint, make_live, make_patients, postgres_server
from patience import LIMIT, wait_until


@contextmanager
def watched(live: LiveForest) -> Iterator[tuple[list[SyncReport], list[tuple[Exception, float]]]]:
    """Reports and troubles, as they come, of a watch in another thread."""
    reports: list[SyncReport] = []
    troubles: list[tuple[Exception, float]] = []
    is_over = threading.Event()

    def watch() -> None:
        for report in live.watch(0.05, on_trouble=lambda *trouble: troubles.append(trouble)):
            reports.append(report)
            if is_over.is_set():
                return

    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        try:
            wait_until(lambda: reports or watching.done(), "the table was synced")
            yield reports, troubles
        finally:
            is_over.set()
            if not watching.done():  # a change, to wake it up
                Database(live._settings.url).run("UPDATE patients SET pressure = 1 WHERE id = 50")
        watching.result()


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_watching_survives_a_restart_of_postgres(folder: Path, capture: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries again after longer and longer times, and then goes on where it was."""
    monkeypatch.setattr(live_forest, "SOON", 0.01)
    with postgres_server() as server:
        database = Database(server.url)
        make_patients(database)
        with make_live(database, folder, capture=capture) as live, watched(live) as (reports, troubles):
            server.stop()
            wait_until(lambda: len(troubles) > 2, "the server was missed")
            seconds = [its for _, its in troubles]
            assert seconds[:3] == [0.01, 0.02, 0.04]
            server.start()
            database.run("DELETE FROM patients WHERE id = 17")
            wait_until(lambda: any(report.n_deleted for report in reports), "the deletion was synced")
            assert live.forest.fingerprint() == fresh_fingerprint(database, live)


def test_watching_survives_a_locked_file_of_sqlite(
    sqlite_database: Database, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has it for themselves, for longer than SQLite waits."""
    monkeypatch.setattr(live_forest, "SOON", 0.01)
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live, watched(live) as (reports, troubles):
        other = sqlite3.connect(tmp_path / "clinic.db", isolation_level=None)
        other.execute("DELETE FROM patients WHERE id = 18")
        wait_until(lambda: any(report.n_deleted for report in reports), "the first deletion was synced")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM patients WHERE id = 17")
        wait_until(lambda: troubles, "the lock was noticed")
        other.execute("COMMIT")
        other.close()
        wait_until(lambda: sum(report.n_deleted for report in reports) == 2, "the second deletion was synced")
        assert "locked" in str(troubles[0][0])


def test_watching_survives_a_locked_folder(database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup of the folder, for example, whatever the database of the table is."""
    monkeypatch.setattr(live_forest, "SOON", 0.01)
    monkeypatch.setattr(_state, "PATIENCE", 0.01)
    make_patients(database)
    with make_live(database, folder) as live, watched(live) as (reports, troubles):
        wait_until(lambda: reports, "the table was synced")
        other = sqlite3.connect(folder / "state.db", isolation_level=None, timeout=LIMIT)
        other.execute("BEGIN EXCLUSIVE")
        database.run("DELETE FROM patients WHERE id = 17")
        wait_until(lambda: troubles, "the lock was noticed")
        other.execute("COMMIT")
        other.close()
        wait_until(lambda: any(report.n_deleted for report in reports), "the deletion was synced")
        assert {type(error) for error, _ in troubles} == {FolderBusyError}


def test_trouble_at_the_beginning_is_raised(sqlite_database: Database, folder: Path, tmp_path: Path) -> None:
    """It may never go away: a wrong address, or a wrong password."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    with LiveForest.open(folder, url=f"sqlite:///{tmp_path}/no/such/folder.db") as live:
        with pytest.raises(sa.exc.OperationalError):
            next(live.watch())
        live.close(store=False)
