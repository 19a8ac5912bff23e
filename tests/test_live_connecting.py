"""Live forests that another process has open: their forest can be read, and what is asked for is done over there."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deciduous.errors import DeciduousError, FolderError, FolderInUseError, InvalidInputError
from deciduous.live import HandedOver, LiveForest, _door, connect, read_forest
from live_tables import COLUMNS, Database, add_patients, fresh_fingerprint, make_live, make_patients

pytestmark = pytest.mark.skipif(not _door.HAS_DOORS, reason="this system has no sockets in folders")

HOLDER = """
import sys
from deciduous.live import LiveForest
with LiveForest.open(sys.argv[1]) as live:
    if sys.argv[2] == "watch":
        for report in live.watch(0.05):
            print(report.n_rows, flush=True)
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(folder: Path, how: str = "open") -> Iterator[subprocess.Popen[str]]:
    """Another process has the folder open, or watches its table."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline()
        yield process
    finally:
        if how == "watch":
            process.kill()
        process.stdin.close()
        process.wait()
        process.stdout.close()


def table_of(database: Database) -> pd.DataFrame:
    return pd.read_sql("SELECT * FROM patients ORDER BY id", database.engine)


# ------------------------------------------------------------------------------------------------------------- reading


def test_forest_is_read_while_another_process_has_the_folder_open(database: Database, folder: Path) -> None:
    """With or without a snapshot that is current; nothing is synced, and the other process goes on."""
    make_patients(database)
    with make_live(database, folder) as live:
        params = live.params
    table = table_of(database)
    with held(folder):
        view = read_forest(folder)
        assert view.forest.fingerprint() == fresh_fingerprint(database, view) == view.status()["fingerprint"]
        assert (view.columns, view.params) == (COLUMNS, params)
        assert view.classes_.tolist() == [0, 1]
        assert view.predict(table).tolist() == view.freeze().predict(table[COLUMNS]).tolist()
        database.run("DELETE FROM patients WHERE id < 40")
        assert read_forest(folder).forest.n_rows_ == 120
        with connect(folder) as other:
            assert isinstance(other, HandedOver)
            assert other.sync().n_deleted == 40
        assert list(folder.glob("snapshot-*")) == []
        after = read_forest(folder)
        assert after.forest.fingerprint() == fresh_fingerprint(database, after)
        assert view.forest.n_rows_ == 120


def test_forest_is_read_while_nobody_has_the_folder_open(sqlite_database: Database, folder: Path) -> None:
    """A snapshot that is lost is made again from the table, and is there for the next one."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    view = read_forest(folder)
    assert view.forest.fingerprint() == fresh_fingerprint(sqlite_database, view)
    (folder.parent / "clinic.db").unlink()
    assert read_forest(folder).forest.fingerprint() == view.forest.fingerprint()
    with pytest.raises(FolderError, match="no live forest"):
        read_forest(folder / "none")


def test_forest_is_read_while_it_is_replaced(sqlite_database: Database, folder: Path) -> None:
    """Over and over: what is read is one of the forests that were, never a mixture and never an error."""
    make_patients(sqlite_database)
    fingerprints: set[str] = set()
    with make_live(sqlite_database, folder) as live:
        fingerprints.add(live.forest.fingerprint())
        seen: list[str] = []
        is_over = threading.Event()

        def read() -> None:
            while not is_over.is_set():
                view = read_forest(folder)
                assert view.forest.fingerprint() == view.status()["fingerprint"]
                seen.append(view.forest.fingerprint())

        with ThreadPoolExecutor() as threads:
            reading = threads.submit(read)
            for id in range(40):
                sqlite_database.run("DELETE FROM patients WHERE id = :id", id=id)
                fingerprints.add(live.sync().fingerprint)
                live.store()
            is_over.set()
            reading.result()
    assert seen
    assert set(seen) <= fingerprints


# --------------------------------------------------------------------------------------------------------- handing over


@pytest.mark.parametrize("how", ["open", "watch"])
def test_everything_can_be_asked_of_the_process_that_has_the_folder_open(
    database: Database, folder: Path, how: str
) -> None:
    """The answers are those that an object of this process would give."""
    make_patients(database)
    make_live(database, folder, capture=True).close()
    with held(folder, how), connect(folder) as live:
        assert isinstance(live, HandedOver)
        request = live.requests.receive("u-3", idempotency_key="k")
        assert live.requests.receive("u-3", idempotency_key="k") == request
        assert (request.state, list(live.requests), live.requests.open()) == ("received", [request], [request])
        assert live.requests.refuse(request.id, "a reason").state == "refused"
        assert (live.requests[request.id].reason, live.requests.overdue()) == ("a reason", [])
        report = live.erase("u-5")
        assert report.request.state == "applied"
        assert report.sync is not None
        assert report.sync.fingerprint == live.status()["fingerprint"]
        assert [its.kind for its in live.receipts(report.request.id)] == ["received", "synced"]
        assert live.receipts()[-1].requests == (report.request.id,)
        add_patients(database, range(200, 210))
        assert live.sync(compare=True).n_rows == 127
        verification = live.verify()
        assert (bool(verification), verification.problem) == (True, None)
        live.store()
        assert "<html" in live.certificate()
        live.remove_capture()
        assert live.status()["captures"] is False
        live.install_capture()
        assert live.status()["captures"] is True
    with connect(folder) as live:
        assert isinstance(live, LiveForest)
        assert live.verify()


def test_errors_are_those_of_the_other_process(sqlite_database: Database, folder: Path) -> None:
    """In its words, and of the same kind."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    with held(folder), connect(folder) as live:
        assert isinstance(live, HandedOver)
        with pytest.raises(InvalidInputError, match="due_days"):
            live.requests.receive("u-3", due_days=1e9)
        with pytest.raises(KeyError, match="no request 'x'"):
            live.requests.refuse("x", "a reason")
        with pytest.raises(InvalidInputError, match="asked for something else"):
            live._do("close")
        with pytest.raises(DeciduousError, match="TypeError"):
            live._do("verify", nonsense=1)
        sqlite_database.run("ALTER TABLE patients RENAME COLUMN age TO years")
        with pytest.raises(DeciduousError, match="'age' is gone"):
            live.sync()
        assert live.status()["n_rows"] == 120


def test_socket_is_its_owners_alone_and_goes_when_the_folder_is_closed(sqlite_database: Database, folder: Path) -> None:
    """Also in a folder whose name is longer than the address of a socket may be."""
    make_patients(sqlite_database)
    deep = folder.parent / ("x" * 100) / ("y" * 100)
    for place in (folder, deep):
        with make_live(sqlite_database, place) as live:
            assert stat.S_IMODE((place / "socket").stat().st_mode) == 0o600
            with held_by_a_thread(place) as rows:
                assert rows == live.status()["n_rows"]
        assert not (place / "socket").exists()


@contextmanager
def held_by_a_thread(folder: Path) -> Iterator[int]:
    """What another thread of the same process is told."""
    with connect(folder) as live:
        assert isinstance(live, HandedOver)
        yield live.status()["n_rows"]


def test_socket_of_a_process_that_was_killed_is_no_obstacle(sqlite_database: Database, folder: Path) -> None:
    """Nobody listens at it any more; the next one to open the folder takes its place."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    with held(folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (folder / "socket").exists()
    assert read_forest(folder).forest.n_rows_ == 120
    with connect(folder) as live:
        assert isinstance(live, LiveForest)
        with held_by_a_thread(folder) as rows:
            assert rows == 120


def test_holder_that_cannot_listen_is_named(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on systems that have no sockets in folders."""
    make_patients(sqlite_database)
    monkeypatch.setattr(_door, "HAS_DOORS", False)
    with make_live(sqlite_database, folder) as live:
        with pytest.raises(FolderInUseError, match="does not answer"):
            connect(folder)
        assert read_forest(folder).forest.fingerprint() == live.forest.fingerprint()


def test_file_in_the_place_of_the_socket_is_left_alone(sqlite_database: Database, folder: Path, tmp_path: Path) -> None:
    """It is none of ours, whether a file or a link."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    canary = tmp_path / "canary"
    canary.write_text("sings")
    for make in (lambda: (folder / "socket").symlink_to(canary), lambda: shutil.copy(canary, folder / "socket")):
        make()
        with pytest.raises(FolderError, match="place of the socket"):
            LiveForest.open(folder)
        assert (folder / "socket").read_text() == "sings"
        (folder / "socket").unlink()
    LiveForest.open(folder).close()


# ------------------------------------------------------------------------------------------------------ rude neighbours


def spoken_to(folder: Path, data: bytes) -> bytes:
    """What the process answers to some bytes, until it hangs up."""
    with _door._connected(folder) as host:
        host.settimeout(None)
        try:
            host.sendall(data)
            host.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: host.recv(1000), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


RUDE: dict[str, bytes] = {
    "nothing": b"",
    "no end": b'{"deed": "status"}',
    "garbage": bytes(range(256)) * 10 + b"\n",
    "no object": b"[1, 2]\n",
    "deep": b"[" * 60_000 + b"\n",
    "huge": b"x" * 10_000_000 + b"\n",
    "no deed": b"{}\n",
    "odd deed": b'{"deed": ["status"], "arguments": 7}\n',
    "private": b'{"deed": "__class__"}\n',
}


def test_rude_questions_do_no_harm(sqlite_database: Database, folder: Path) -> None:
    """Garbage, endless lines, many who say nothing: whoever asks properly is answered."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder):
        for data in RUDE.values():
            answer = spoken_to(folder, data)
            assert answer == b"" or "error" in json.loads(answer.splitlines()[-1])
        silent = [_door._connected(folder) for _ in range(_door.AT_ONCE // 2)]
        sockets = [its.__enter__() for its in silent]
        with held_by_a_thread(folder) as rows:
            assert rows == 120
        for its in sockets:
            its.close()


def test_those_who_say_nothing_are_sent_away(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many they are, and also if they send a byte now and then."""
    monkeypatch.setattr(_door, "PATIENCE", 0.2)
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder):
        addresses: list[Any] = [_door._connected(folder) for _ in range(2 * _door.AT_ONCE)]
        sockets = [its.__enter__() for its in addresses]
        for its in sockets:
            its.settimeout(None)
            with suppress(BrokenPipeError):  # sent away already
                its.send(b"{")
        with held_by_a_thread(folder) as rows:
            assert rows == 120
        for its in sockets:
            its.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_neither_answers_nor_keeps_the_folder(sqlite_database: Database, folder: Path) -> None:
    """When its parent has closed the folder, or is gone, others can open it."""
    make_patients(sqlite_database)
    reading, writing = os.pipe()
    with make_live(sqlite_database, folder):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    with connect(folder) as live:
        assert isinstance(live, LiveForest)
    os.close(writing)
    os.close(reading)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_live_forest_that_nobody_needs_any_more_lets_go_of_its_folder(sqlite_database: Database, folder: Path) -> None:
    """Also if it was not closed: the thread that listens does not keep it."""
    make_patients(sqlite_database)
    live = make_live(sqlite_database, folder)
    assert (folder / "socket").exists()
    del live
    gc.collect()
    assert not (folder / "socket").exists()
    with connect(folder) as again:
        assert isinstance(again, LiveForest)


def test_live_forest_that_was_closed_does_not_close_the_door_of_the_next_one(
    sqlite_database: Database, folder: Path
) -> None:
    """Neither when it is closed again, nor when it is collected, whenever that is."""
    make_patients(sqlite_database)
    live = make_live(sqlite_database, folder)
    live.close()
    with LiveForest.open(folder):
        live.close()
        del live
        gc.collect()
        with connect(folder) as other:
            assert isinstance(other, HandedOver)
