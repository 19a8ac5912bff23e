"""Live forests survive the end of their process at any moment: the next sync gives the forest of a fresh fit.

Processes are killed for real (SIGKILL): at random moments, and at each call to the C library that changes a file, of
Python and SQLite alike, writes half way through.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous.errors import FolderError
from deciduous.live import LiveForest
from live_tables import INSERT, Database, add_patients, fresh_fingerprint, make_live, make_patients, patient
from native_libraries import built_library
from patience import LIMIT

N_ROWS = 400
HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="preloads a library, as Linux does it")


class Worker:
    """The process of `live_worker.py`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, what: str, folder: Path, **task: Any) -> dict[str, Any]:
        """How a child that was to do this ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"what": what, "folder": str(folder)} | task) + "\n")
        self._process.stdin.flush()
        ending: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert ending["status"] in (0, -9)
        return ending


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker whose children count their calls."""
    with started_worker(tmp_path_factory.mktemp("native")) as worker:
        yield worker


@contextmanager
def started_worker(home: Path) -> Iterator[Worker]:
    """A worker, with the library that it needs in a folder."""
    library = built_library("kill_at_call", home)
    process = subprocess.Popen(
        [sys.executable, HERE / "live_worker.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1"},
    )
    yield Worker(process)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=LIMIT) == 0
    assert process.stdout is not None
    process.stdout.close()


class Table:
    """The table of patients, with the number of rows that were added and deleted so far."""

    def __init__(self, database: Database) -> None:
        self.database = database
        make_patients(database, N_ROWS)
        self.n_added, self.n_deleted, self.next_id = N_ROWS, 0, N_ROWS
        self.rng = np.random.default_rng(0)

    def change(self) -> None:
        """Delete, update and insert some rows; none that came later goes, so that each one is counted."""
        ids = [id for (id,) in self.database.rows(f"SELECT id FROM patients WHERE id BETWEEN 3 AND {N_ROWS - 1}")]
        doomed = self.rng.choice(ids, 3, replace=False).tolist()
        with self.database.engine.begin() as connection:
            for id in doomed:
                connection.exec_driver_sql(f"DELETE FROM patients WHERE id = {id}")
            connection.exec_driver_sql(f"UPDATE patients SET age = {self.next_id} WHERE id < 3")
        self.add()
        self.n_deleted += 3

    def add(self) -> None:
        """Insert some rows."""
        add_patients(self.database, range(self.next_id, self.next_id + 3))
        self.next_id += 3
        self.n_added += 3


def assert_recovers(table: Table, folder: Path, *, rows_may_be_gone: bool = False) -> None:
    """A sync gives the forest of a fresh fit, the record is whole and exact, and no file is left over."""
    with LiveForest.open(folder) as live:
        report = live.sync()
        assert report.fingerprint == fresh_fingerprint(table.database, live)
        assert live.sync().receipts == ()
        receipts = [receipt for receipt in live.receipts() if receipt.n_rows is not None]
        assert live.verify()
        for before, after in pairwise(receipts):
            if after.kind == "synced":
                assert after.n_rows == before.n_rows + after.n_added - after.n_deleted
                assert after.before == before.after
        if not rows_may_be_gone:
            assert sum(receipt.n_added for receipt in receipts) == table.n_added
            assert sum(receipt.n_deleted for receipt in receipts) == table.n_deleted
        named = {*live._state.buckets().values(), "state.db", "lock"}
    files = {file.name for file in folder.iterdir()}
    assert files - named == {file.name for file in folder.glob("snapshot-*")}
    assert len(files - named) == 1


def killed_syncs(worker: Worker, folder: Path, change: Callable[[], None], first: int, step: int) -> Iterator[None]:
    """Syncs after changes, each killed some calls later than the one before, from the first calls to the last."""
    change()
    n_calls = worker.run("sync", folder)["calls"]
    assert n_calls > 20
    moments = range(first, n_calls + 5, step)
    n_killed = 0
    for at_call in moments:
        change()
        n_killed += worker.run("sync", folder, at_call=at_call)["status"] == -9
        yield
    assert n_killed >= len(moments) - 10 // step


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.slow, id="each call"), pytest.param(False, id="some")])
def is_thorough(request: pytest.FixtureRequest) -> bool:
    """Whether each call is tried. By default those are tried with capture that are not tried without."""
    return bool(request.param)


def step_of(database: Database, is_thorough: bool) -> int:
    """From one call to the next one tried; a round takes longer with PostgreSQL."""
    if is_thorough:
        return 1
    return 2 if database.is_sqlite else 5


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_sync_killed_at_each_call_that_changes_a_file(
    database: Database, tmp_path: Path, worker: Worker, capture: bool, is_thorough: bool
) -> None:
    """From the first to the last, closing included."""
    table, folder = Table(database), tmp_path / "clinic.forest"
    with make_live(database, folder, capture=capture) as live:
        live.sync()  # the first one after triggers were made does more than others
    step = step_of(database, is_thorough)
    for _ in killed_syncs(worker, folder, table.change, capture % step, step):
        assert_recovers(table, folder)


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_sync_of_additions_killed_at_each_call_that_changes_a_file(
    database: Database, tmp_path: Path, worker: Worker, capture: bool, is_thorough: bool
) -> None:
    """The snapshot stays until there is a new one, and so nothing has to be trained anew."""
    table, folder = Table(database), tmp_path / "clinic.forest"
    with make_live(database, folder, capture=capture) as live:
        live.sync()  # the first one after triggers were made does more than others
    step = step_of(database, is_thorough)
    for _ in killed_syncs(worker, folder, table.add, capture % step, step):
        with LiveForest.open(folder) as live:
            assert live.sync().method != "rebuilt"
        assert_recovers(table, folder)


def test_sync_killed_at_random_moments(database: Database, tmp_path: Path, worker: Worker) -> None:
    """Thirty times, with one change upon the other before the sync that is let through."""
    table, folder = Table(database), tmp_path / "clinic.forest"
    make_live(database, folder, capture=not database.is_sqlite).close()
    table.change()
    seconds = worker.run("sync", folder)["seconds"]
    n_killed = n_rounds = 0
    while n_killed < 30:
        table.change()
        moment = float(table.rng.uniform(0, seconds))
        ending = worker.run("sync", folder, after_seconds=moment)
        if ending["status"] == -9:
            n_killed += 1
        else:  # those before may have been slow, on a busy machine
            seconds = min(seconds, ending["seconds"])
        n_rounds += 1
        if n_rounds % 3 == 0:
            assert_recovers(table, folder)
    assert_recovers(table, folder)


def test_erase_killed_at_each_call_that_changes_a_file(database: Database, tmp_path: Path, worker: Worker) -> None:
    """The request is there or not; if the rows are gone from the table, the next sync applies it."""
    table, folder = Table(database), tmp_path / "clinic.forest"
    make_live(database, folder).close()
    n_calls = worker.run("erase", folder, subject="u-39")["calls"]
    assert n_calls > 30
    for at_call in range(0, n_calls + 5, 2 if database.is_sqlite else 10):
        subject = f"victim {at_call}"
        database.run("UPDATE patients SET person_id = :subject WHERE id IN (3, 4)", subject=subject)
        with LiveForest.open(folder) as live:
            live.sync()
            known = {request.id for request in live.requests}
        ending = worker.run("erase", folder, subject=subject, at_call=at_call)
        n_left = database.rows("SELECT count(*) FROM patients WHERE person_id = :s", s=subject)[0][0]
        assert_recovers(table, folder, rows_may_be_gone=True)
        with LiveForest.open(folder) as live:
            requests = [request.state for request in live.requests if request.id not in known]
            if ending["status"] == 0 or (n_left == 0 and requests):
                assert requests[0] in ("applied", "verified")
            else:
                assert requests in ([], ["received"])
        if not n_left:
            add_patients(database, [3, 4])


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_creation_killed_at_each_call_that_changes_a_file(
    sqlite_database: Database, tmp_path: Path, worker: Worker, capture: bool, is_thorough: bool
) -> None:
    """There is a live forest, or another try makes one."""
    table, before = Table(sqlite_database), sqlite_database.objects()
    task = {"url": sqlite_database.url, "capture": capture}
    n_calls = worker.run("create", tmp_path / "whole", **task)["calls"]
    assert n_calls > 10
    n_made = len(sqlite_database.objects() - before)
    with LiveForest.open(tmp_path / "whole") as live:
        live.remove_capture()
    n_killed, step = 0, step_of(sqlite_database, is_thorough)
    moments = range(capture % step, n_calls + 2, step)
    for at_call in moments:
        folder = tmp_path / str(at_call)
        ending = worker.run("create", folder, **task, at_call=at_call)
        n_killed += ending["status"] == -9
        assert len(sqlite_database.objects() - before) in (0, n_made)
        assert_created(table, folder, ending["status"], capture)
        assert sqlite_database.objects() == before
    assert n_killed >= len(moments) - 4 // step


def test_creation_with_capture_killed_at_random_moments(database: Database, tmp_path: Path, worker: Worker) -> None:
    """Fifteen times; PostgreSQL is told nothing when a client is killed, and must not keep half of the triggers."""
    table, before = Table(database), database.objects()
    task = {"url": database.url, "capture": True}
    seconds = worker.run("create", tmp_path / "whole", **task)["seconds"]
    n_made = len(database.objects() - before)
    with LiveForest.open(tmp_path / "whole") as live:
        live.remove_capture()
    n_killed = n_rounds = 0
    while n_killed < 15:
        folder = tmp_path / str(n_rounds)
        # Most of the time goes to training; triggers are made at the end.
        moment = float(table.rng.uniform(0, seconds) if n_rounds % 2 else table.rng.uniform(0.7, 1.1) * seconds)
        ending = worker.run("create", folder, **task, after_seconds=moment)
        n_killed += ending["status"] == -9
        n_rounds += 1
        if ending["status"] == 0:  # the first may have been slow, on a busy machine
            seconds = min(seconds, ending["seconds"])
        assert len(database.objects() - before) in (0, n_made)
        assert_created(table, folder, ending["status"], capture=True)
        assert database.objects() == before


@pytest.mark.parametrize("n_failing", [1, 4])
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_erasure_that_is_acknowledged_has_left_nothing_whatever_failed_before(
    sqlite_database: Database, tmp_path: Path, worker: Worker, capture: bool, n_failing: int, is_thorough: bool
) -> None:
    """Calls that change files fail, one after the other, while a row comes, is stored, and is erased until it works."""
    table, folder = Table(sqlite_database), tmp_path / "clinic.forest"
    with make_live(sqlite_database, folder, capture=capture) as live:
        live.sync()
    number, id = 1234.5677, 0x1B2C3D4E5F607182
    images = [struct.pack("<f", number).hex(), struct.pack("<q", id).hex()]
    shutil.copytree(folder, tmp_path / "before")
    step = step_of(sqlite_database, is_thorough) if n_failing == 1 else 3
    n_calls, at_call, n_failures = 2, capture % step, 0
    while at_call < n_calls:
        shutil.rmtree(folder)  # a record that gets longer takes more calls, and the last one would never come
        shutil.copytree(tmp_path / "before", folder)
        sqlite_database.run("DELETE FROM patients WHERE id = :id", id=id)
        row = patient(5) | {"id": id, "person_id": "secret", "age": number}
        sqlite_database.run(INSERT, **row)
        ending = worker.run("fail", folder, subject="secret", images=images, at_call=at_call, n_calls=n_failing)
        assert ending["status"] == 0
        assert ending["result"]["found"] == []
        n_failures += ending["result"]["n_failures"]
        n_calls = ending["result"]["n_calls"]
        at_call += step
    assert n_failures > 20
    assert_recovers(table, folder, rows_may_be_gone=True)


def problem_of_opening(folder: Path) -> str | None:
    """What the error says, if there is one."""
    try:
        LiveForest.open(folder).close()
    except FolderError as error:
        return str(error)
    return None


def assert_created(table: Table, folder: Path, status: int, capture: bool) -> None:
    """A live forest is there, or can be made, that follows the table, and its triggers can be removed."""
    problem = problem_of_opening(folder)
    if problem is not None:
        assert status == -9
        assert "LiveForest.create" in problem  # the way out
        make_live(table.database, folder, capture=capture).close()
    with LiveForest.open(folder) as live:
        # Rows that changed while there were no triggers yet are found by comparing all of them, once.
        assert live.sync().method != "capture"
        table.database.run("UPDATE patients SET age = age + 1 WHERE id = 50")
        report = live.sync()
        assert report.n_updated == 1
        assert report.fingerprint == fresh_fingerprint(table.database, live)
        has_triggers = report.method == "capture"
        assert (report.remains is not None and "install_capture" in report.remains) == (
            live.status()["captures"] and not has_triggers
        )
        live.install_capture()
        live.sync()
        table.database.run("UPDATE patients SET age = age - 1 WHERE id = 50")
        assert live.sync().method == "capture"
        live.remove_capture()
    assert_recovers(table, folder)
