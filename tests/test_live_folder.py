"""The files of a folder are ours: no name leads out of it, nobody else reads them, and none is left over."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deciduous.errors import FolderBusyError, FolderError, FolderInUseError
from deciduous.live import LiveForest, _state, connect, read_forest, read_record
from deciduous.live.connecting import HandedOver
from live_tables import Database, add_patients, make_live, make_patients

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions, links and forks are those of POSIX")


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A file of somebody else, which must be left as it is."""
    file = tmp_path / "canary.txt"
    file.write_text("sings")
    file.chmod(0o644)
    yield file
    assert file.read_text() == "sings"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def tamper(folder: Path, statement: str, *values: object) -> None:
    """Change the state as somebody else would."""
    with sqlite3.connect(folder / "state.db") as state:
        state.execute(statement, values)
    state.close()


# --------------------------------------------------------------------------------------------------- names and links

ENTRIES = {
    "snapshot": "UPDATE present SET snapshot = ?",
    "bucket": "UPDATE buckets SET file = ?",
}
NAMES = ["../canary.txt", "{home}/canary.txt", "canary.txt", "rows-00/../../canary.txt", "rows-0\n", "", "state.db"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.usefixtures("canary")
def test_names_that_are_not_ours_are_refused(
    sqlite_database: Database, folder: Path, tmp_path: Path, entry: str, name: str
) -> None:
    """Before any file is read, changed or removed."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    tamper(folder, ENTRIES[entry], name.format(home=tmp_path))
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "lock"}
    with pytest.raises(FolderError, match="none that a live forest makes"):
        LiveForest.open(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "lock"} == before


@posix_only
@pytest.mark.parametrize("which", ["state.db", "lock", "rows-*", "snapshot-*", "state.db-journal"])
def test_symbolic_links_in_the_place_of_files_are_refused(
    sqlite_database: Database, folder: Path, canary: Path, which: str
) -> None:
    """What they lead to is neither read nor changed."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    (folder / "state.db-journal").touch()
    (file,) = folder.glob(which)
    file.unlink()
    file.symlink_to(canary)
    with pytest.raises(FolderError, match="symbolic link"):
        LiveForest.open(folder)


@posix_only
@pytest.mark.parametrize("which", ["state.db", "lock"])
def test_second_names_of_files_that_are_written_to_are_refused(
    sqlite_database: Database, folder: Path, canary: Path, which: str
) -> None:
    """The lock would be cut off and written to, and that is the file of somebody else."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    (folder / which).unlink()
    (folder / which).hardlink_to(canary)
    with pytest.raises(FolderError, match="second name"):
        LiveForest.open(folder)


def journal_naming(file: Path, state: Path) -> bytes:
    """A journal of SQLite without pages, of a transaction on several databases that this file is to tell of."""
    size, name, magic = 4096, bytes(file), bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">5I", 0, 1, state.stat().st_size // size, 512, size)
    end = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    return header.ljust(512, b"\0") + end


@pytest.mark.parametrize("use", [LiveForest.open, read_record, read_forest])
def test_journal_that_names_another_file_is_refused(
    sqlite_database: Database, folder: Path, canary: Path, tmp_path: Path, use: Callable[[Path], object]
) -> None:
    """SQLite would remove that file, as it shows here with a database that nobody looks after."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    (folder / "state.db-journal").write_bytes(journal_naming(canary, folder / "state.db"))
    with pytest.raises(FolderError, match="names another file"):
        use(folder)
    other, lost = tmp_path / "other.db", tmp_path / "lost"
    lost.write_text("not for long")
    shutil.copy(folder / "state.db", other)
    Path(f"{other}-journal").write_bytes(journal_naming(lost, other))
    with closing(sqlite3.connect(other)) as database:
        database.execute("SELECT * FROM meta").fetchall()
    assert not lost.exists()


@posix_only
def test_stray_link_is_removed_and_not_what_it_leads_to(sqlite_database: Database, folder: Path, canary: Path) -> None:
    """Also if its name is one of ours."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    (folder / "rows-0123").symlink_to(canary)
    LiveForest.open(folder).close()
    assert not (folder / "rows-0123").is_symlink()


def test_files_of_others_stay(sqlite_database: Database, folder: Path) -> None:
    """Also those whose names begin as ours do."""
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    names = ["rows-notes.txt", "snapshot-of-monday", ".rows-x.part", "notes"]
    for name in names:
        (folder / name).write_text("mine")
    LiveForest.open(folder).close()
    assert {name for name in names if (folder / name).exists()} == set(names)


# -------------------------------------------------------------------------------------------------------- permissions


def modes(folder: Path) -> dict[str, int]:
    """The permissions of all files."""
    return {file.name: stat.S_IMODE(file.lstat().st_mode) for file in folder.iterdir()}


@posix_only
@pytest.mark.parametrize("exists", [False, True], ids=["new folder", "folder that everybody may read"])
def test_files_are_their_owners_alone(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """Whatever the umask and the folder say, and from the moment that a file is made."""
    made: dict[str, int] = {}

    def watching_open(path: object, flags: int, mode: int = 0o777, **others: object) -> int:
        descriptor = real_open(path, flags, mode, **others)  # type: ignore[arg-type]
        if Path(str(path)).parent == folder and flags & os.O_CREAT:
            made[Path(str(path)).name] = stat.S_IMODE(os.fstat(descriptor).st_mode)
        return descriptor

    real_open, umask = os.open, os.umask(0)
    try:
        if exists:
            folder.mkdir(mode=0o755)
        make_patients(sqlite_database)
        monkeypatch.setattr(os, "open", watching_open)
        with make_live(sqlite_database, folder) as live:
            sqlite_database.run("DELETE FROM patients WHERE id = 17")
            live.sync()
            live.store()
            with live._state.transaction():
                live._state.set_buckets({99: "rows-99"})
                assert "state.db-journal" in modes(folder)
                assert set(modes(folder).values()) == {0o600}
                live._state._database.execute("DELETE FROM buckets WHERE number = 99")
    finally:
        os.umask(umask)
    assert {"state.db", "lock"} < set(made)
    assert any(name.startswith(".rows-") for name in made)
    assert any(name.startswith(".snapshot-") for name in made)
    assert set(made.values()) == set(modes(folder).values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == (0o755 if exists else 0o700)


# ------------------------------------------------------------------------------------------------------------- strays


def test_erasure_after_a_snapshot_that_could_not_be_named(sqlite_database: Database, folder: Path) -> None:
    """Another program reads the state, so that the transaction fails: what was written is removed at once."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        add_patients(sqlite_database, range(120, 123))
        live.sync()
        before = set(modes(folder))
        live._state._database.execute("PRAGMA busy_timeout=0")
        reader = sqlite3.connect(folder / "state.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()
        with pytest.raises(FolderBusyError):
            live.store()
        with pytest.raises(FolderBusyError):
            live.erase("u-40")
        reader.close()
        assert set(modes(folder)) == before
        report = live.erase("u-40")
        assert report.request.state == "applied"
        assert set(modes(folder)) == {"state.db", "lock", "socket", *live._state.buckets().values()}
        assert live.verify()


# -------------------------------------------------------------------------------------------------------------- forks


@posix_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_of_the_process_that_has_the_folder_open_is_told(sqlite_database: Database, folder: Path) -> None:
    """It has the lock as well, and would sync beside its parent. Also if a thread of the parent was at work."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        deeds = [live.sync, live.verify, live.close, lambda: live.erase("u-1"), lambda: live.requests.receive("u-1")]
        with live._state.turn():
            thread = threading.Thread(target=live.sync)
            thread.start()
            child = os.fork()
            if child == 0:
                os._exit(sum(not is_refused_as_a_fork(deed) for deed in deeds))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        thread.join()
        assert live.sync().n_rows == 120


def is_refused_as_a_fork(deed: object) -> bool:
    try:
        deed()  # type: ignore[operator]
    except FolderInUseError as error:
        return "fork" in str(error)
    return False


# ---------------------------------------------------------------------------------------- a state that is not at hand


@contextmanager
def locked(folder: Path, how: str) -> Iterator[None]:
    """Another program has the state for itself, or reads it."""
    other = sqlite3.connect(folder / "state.db", isolation_level=None)
    other.execute(how)
    other.execute("SELECT * FROM meta").fetchall()
    yield
    other.close()


def test_a_state_that_others_have_locked_is_a_sentence(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens it, reads it, works on it, or asks the process that has it open; then all goes on."""
    monkeypatch.setattr(_state, "PATIENCE", 0.01)
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    told = "Another program has .*state.db locked.*try again"
    with locked(folder, "BEGIN EXCLUSIVE"):
        for deed in (LiveForest.open, connect, read_record, read_forest):
            with pytest.raises(FolderBusyError, match=told) as raised:
                deed(folder)
            assert isinstance(raised.value, TimeoutError)
    with LiveForest.open(folder) as live, connect(folder) as handed_over:
        assert isinstance(handed_over, HandedOver)
        add_patients(sqlite_database, range(120, 123))
        with locked(folder, "BEGIN"):
            for its in (live, handed_over):
                with pytest.raises(FolderBusyError, match=told):
                    its.sync()
        assert handed_over.sync().n_added == 3
        assert live.verify()


def receive(live: LiveForest, people: range) -> None:
    for i in people:
        live.requests.receive(f"u-{i}")


@pytest.mark.parametrize(
    ("pragma", "number"),
    [("max_page_count=1", errno.ENOSPC), ("query_only=ON", errno.EACCES)],
    ids=["full", "readonly"],
)
def test_a_state_that_cannot_be_written_is_an_error_of_the_system(
    sqlite_database: Database, folder: Path, pragma: str, number: int
) -> None:
    """As it is for the other files of the folder; what was to be done is done later."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        live._state._database.execute(f"PRAGMA {pragma}")  # the smallest number of pages is that of now
        with pytest.raises(OSError, match=r"state\.db") as raised:
            receive(live, range(1000))
        assert raised.value.errno == number
        live._state._database.execute("PRAGMA max_page_count=1000000")
        live._state._database.execute("PRAGMA query_only=OFF")
        before = len(list(live.requests))
        receive(live, range(1000, 1001))
        assert len(list(live.requests)) == before + 1
        assert live.verify()
