"""Change capture: triggers find what comparing finds, do not get in the way of others, and go without a trace."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deciduous.errors import InvalidInputError
from deciduous.live import LiveForest, SyncReport, _clock
from live_tables import Database, add_patients, fresh_fingerprint, make_live, make_patients
from patience import LIMIT

ROOT = Path(__file__).parents[1]


def test_capture_is_removed_without_a_trace(database: Database, folder: Path) -> None:
    """Tables, triggers and functions are those from before."""
    make_patients(database)
    before = database.objects()
    with make_live(database, folder, capture=True) as live:
        assert database.objects() > before
        live.install_capture()  # once more does no harm
        live.remove_capture()
        assert database.objects() == before
        database.run("DELETE FROM patients WHERE id = 3")
        assert (live.sync().method, live.status()["captures"]) == ("comparison", False)


def test_captured_ids_are_removed_by_the_sync(database: Database, folder: Path) -> None:
    """The log holds ids until they were dealt with, and nothing but ids."""
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        (log,) = [name for name in database.objects() if re.fullmatch(r"deciduous_patients_\w{8}", name)]
        database.run("DELETE FROM patients WHERE id IN (5, 6)")
        assert {id for (id,) in database.rows(f"SELECT id FROM {log} WHERE mark IS NULL")} == {5, 6}
        live.sync()
        ((id, mark),) = database.rows(f"SELECT id, mark FROM {log}")
        assert id is None
        assert re.fullmatch(r"[0-9a-f]{16}", mark)


def test_changed_ids_are_captured(database: Database, folder: Path) -> None:
    """An update of the id is a deletion and an addition."""
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        database.run("UPDATE patients SET id = 7000 WHERE id = 7")
        report = live.sync()
        assert (report.method, report.n_added, report.n_deleted) == ("capture", 1, 1)
        assert report.fingerprint == fresh_fingerprint(database, live)


def test_truncation_is_captured(postgres_database: Database, folder: Path) -> None:
    """It fires no triggers of rows."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        postgres_database.run("TRUNCATE patients")
        add_patients(postgres_database, range(200, 320))
        report = live.sync()
        assert (report.n_deleted, report.n_added) == (120, 120)
        assert report.fingerprint == fresh_fingerprint(postgres_database, live)


def test_rows_that_triggers_miss_are_found_by_counting(sqlite_database: Database, folder: Path) -> None:
    """SQLite's REPLACE removes a row that stands in the way of another unique column, and fires no trigger for it."""
    make_patients(sqlite_database)
    sqlite_database.run("CREATE UNIQUE INDEX one_each ON patients (age, ward, pressure, person_id)")
    with make_live(sqlite_database, folder, capture=True) as live:
        live.sync()
        sqlite_database.run(
            "INSERT OR REPLACE INTO patients SELECT 5000, person_id, age, ward, pressure, 0 FROM patients WHERE id = 4"
        )
        report = live.sync()
        assert (report.method, report.n_added, report.n_deleted) == ("comparison", 1, 1)
        assert report.fingerprint == fresh_fingerprint(sqlite_database, live)


def test_lost_triggers_are_noticed(database: Database, folder: Path) -> None:
    """A table that was made anew has none: changes are then found by comparing."""
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        database.run("DROP TABLE patients")
        make_patients(database, 100)
        report = live.sync()
        assert (report.method, report.n_rows) == ("comparison", 100)
        assert "install_capture" in str(report.remains)
        live.install_capture()
        assert "install_capture" not in str(live.sync().remains)
        database.run("DELETE FROM patients WHERE id = 3")
        assert live.sync().method == "capture"


def test_transactions_that_commit_late_are_not_lost(postgres_database: Database, folder: Path) -> None:
    """One that captured first and commits after a sync is dealt with by the next."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        with postgres_database.engine.connect() as slow:
            slow.execute(sa.text("DELETE FROM patients WHERE id = 10"))
            postgres_database.run("DELETE FROM patients WHERE id = 11")
            assert live.sync().n_deleted == 1
            slow.commit()
        report = live.sync()
        assert (report.method, report.n_deleted) == ("capture", 1)
        assert report.fingerprint == fresh_fingerprint(postgres_database, live)


def test_tables_in_other_schemas_and_with_unusual_names(postgres_database: Database, folder: Path) -> None:
    """Names are quoted where they have to be, in queries and in triggers."""
    make_patients(postgres_database)
    postgres_database.run("DROP SCHEMA IF EXISTS ward_9 CASCADE")
    postgres_database.run("CREATE SCHEMA ward_9")
    postgres_database.run("ALTER TABLE patients SET SCHEMA ward_9")
    postgres_database.run('ALTER TABLE ward_9.patients RENAME TO "Patients of 9"')
    postgres_database.run('ALTER TABLE ward_9."Patients of 9" RENAME COLUMN pressure TO "Blood pressure"')
    with make_live(postgres_database, folder, table="ward_9.Patients of 9", capture=True) as live:
        live.sync()
        postgres_database.run('DELETE FROM ward_9."Patients of 9" WHERE id = 3')
        report = live.sync()
        assert (report.method, report.n_deleted) == ("capture", 1)
        query = 'SELECT * FROM ward_9."Patients of 9"'
        assert report.fingerprint == fresh_fingerprint(postgres_database, live, query)
        live.remove_capture()


def test_others_need_no_rights_on_the_log(postgres_database: Database, folder: Path) -> None:
    """Whoever may change the table may go on to do so, and somebody who listens is told, without ids."""
    make_patients(postgres_database)
    postgres_database.run("GRANT USAGE ON SCHEMA public TO public")
    postgres_database.run(f"CREATE ROLE {(role := f'clerk_{os.urandom(4).hex()}')} LOGIN")
    postgres_database.run(f"GRANT SELECT, DELETE ON patients TO {role}")
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        with postgres_database.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            connection.exec_driver_sql(f'LISTEN "{live.channel}"')
            connection.commit()
            Database(postgres_database.url.replace("tester@", f"{role}@")).run("DELETE FROM patients WHERE id = 3")
            told = [notice.payload for notice in driver.notifies(timeout=LIMIT, stop_after=1)]
        assert told == [""]
        assert live.sync().n_deleted == 1


def test_capture_that_is_impossible_is_refused_before_anything_is_made(database: Database, folder: Path) -> None:
    """A view, or a table on which this user may make no triggers: there is no folder to clear away."""
    make_patients(database)
    database.run("CREATE VIEW stays AS SELECT * FROM patients")
    before = database.objects()
    with pytest.raises(InvalidInputError, match="view"):
        make_live(database, folder, table="stays", capture=True)
    assert not folder.exists()
    if database.is_sqlite:
        return
    database.run("GRANT USAGE ON SCHEMA public TO public")
    database.run(f"CREATE ROLE {(role := f'reader_{os.urandom(4).hex()}')} LOGIN")
    database.run(f"GRANT SELECT ON patients TO {role}")
    reader = Database(database.url.replace("tester@", f"{role}@"))
    with pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
        make_live(reader, folder, capture=True)
    assert database.objects() == before
    with make_live(reader, folder) as live:  # which needs no more than to read
        assert live.sync().receipts == ()


def test_renamed_id_stops_the_triggers_of_postgres_until_they_are_removed(
    postgres_database: Database, folder: Path
) -> None:
    """They cannot write down an id that they do not find; nothing gets past them unseen."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        postgres_database.run("ALTER TABLE patients RENAME COLUMN id TO number")
        with pytest.raises(sa.exc.ProgrammingError, match='no field "id"'):
            postgres_database.run("DELETE FROM patients WHERE number = 3")
        live.remove_capture()
        postgres_database.run("DELETE FROM patients WHERE number = 3")
        postgres_database.run("ALTER TABLE patients RENAME COLUMN number TO id")
        live.install_capture()
        assert live.sync().n_deleted == 1


def test_triggers_of_a_folder_that_is_gone_can_be_removed_by_hand(database: Database, folder: Path) -> None:
    """By the statements of docs/live.md."""
    make_patients(database)
    before = database.objects()
    make_live(database, folder, capture=True).close()
    (name,) = [name for name in database.objects() if re.fullmatch(r"deciduous_patients_\w{8}", name)]
    shutil.rmtree(folder)
    title = "SQLite" if database.is_sqlite else "PostgreSQL"
    page = (ROOT / "docs" / "live.md").read_text()
    (block,) = re.findall(rf"```sql\n-- {title}\n(.*?)```", page, flags=re.DOTALL)
    for statement in block.replace("deciduous_patients_0a1b2c3d", name).strip().split(";")[:-1]:
        database.run(statement)
    assert database.objects() == before


# ------------------------------------------------------------------------------- changes that triggers do not tell of


def assert_found(database: Database, live: LiveForest, report: SyncReport, n_updated: int) -> None:
    """By comparing, and after that capture goes on."""
    assert (report.method, report.n_updated) == ("comparison", n_updated)
    assert report.fingerprint == fresh_fingerprint(database, live)
    assert live.verify()
    database.run("UPDATE patients SET age = age + 1 WHERE id = 40")
    again = live.sync()
    assert (again.method, again.n_updated) == ("capture", 1)


@pytest.mark.parametrize("way", ["copied over", "replaced", "backup API", "with a log"])
def test_restored_backup_of_sqlite_is_found(sqlite_database: Database, folder: Path, tmp_path: Path, way: str) -> None:
    """With as many rows as before, the triggers and their log included."""
    file, backup = tmp_path / "clinic.db", tmp_path / "backup.db"
    make_patients(sqlite_database)
    if way == "with a log":
        sqlite_database.run("PRAGMA journal_mode=WAL")
    with make_live(sqlite_database, folder, capture=True) as live:
        live.sync()
        with sqlite3.connect(file) as old, sqlite3.connect(backup) as new:
            old.backup(new)
        old.close()
        new.close()
        sqlite_database.run("UPDATE patients SET pressure = 11 WHERE id < 10")
        assert live.sync().method == "capture"
        if way == "replaced":
            backup.rename(file)
        elif way == "copied over":
            file.write_bytes(backup.read_bytes())
        else:
            with sqlite3.connect(backup) as old, sqlite3.connect(file) as new:
                old.backup(new)
            old.close()
            new.close()
        assert_found(sqlite_database, live, live.sync(), 10)


def test_restored_backup_of_postgres_is_found(postgres_database: Database, folder: Path) -> None:
    """All tables, the log of the triggers among them, are as they were before the last sync."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        log = live.channel
        postgres_database.run("CREATE TABLE kept AS SELECT * FROM patients")
        postgres_database.run(f"CREATE TABLE kept_log AS SELECT * FROM {log}")
        postgres_database.run("UPDATE patients SET pressure = 11 WHERE id < 10")
        assert live.sync().method == "capture"
        # As a server that is set back to an earlier moment has it: not one of the catalogs tells.
        with postgres_database.engine.begin() as connection:
            for statement in (
                "UPDATE patients SET pressure = kept.pressure FROM kept WHERE kept.id = patients.id",
                f"DELETE FROM {log}",
                f"INSERT INTO {log} (id, number, mark) OVERRIDING SYSTEM VALUE SELECT id, number, mark FROM kept_log",
            ):
                connection.exec_driver_sql(statement)
        assert_found(postgres_database, live, live.sync(), 10)


EVASIONS = {
    "switched off and on": [
        "ALTER TABLE patients DISABLE TRIGGER ALL",
        "UPDATE patients SET pressure = 11 WHERE id < 10",
        "ALTER TABLE patients ENABLE TRIGGER ALL",
    ],
    "one that is switched off and on": [
        'ALTER TABLE patients DISABLE TRIGGER "{row}"',
        "UPDATE patients SET pressure = 11 WHERE id < 10",
        'ALTER TABLE patients ENABLE ALWAYS TRIGGER "{row}"',
    ],
    "made anew": [
        'ALTER TRIGGER "{row}" ON patients RENAME TO other',
        "ALTER TABLE patients DISABLE TRIGGER other",
        "UPDATE patients SET pressure = 11 WHERE id < 10",
        'ALTER TRIGGER other ON patients RENAME TO "{row}"',
        'ALTER TABLE patients ENABLE TRIGGER "{row}"',
    ],
}


@pytest.mark.parametrize("way", EVASIONS)
def test_triggers_of_postgres_that_were_off_for_a_while(postgres_database: Database, folder: Path, way: str) -> None:
    """The catalog tells that something was done to them."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        for statement in EVASIONS[way]:
            postgres_database.run(statement.format(row=f"{live.channel}_row"))
        assert_found(postgres_database, live, live.sync(), 10)


def test_triggers_of_postgres_that_are_off(postgres_database: Database, folder: Path) -> None:
    """All is compared, each time, and the report says so."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        postgres_database.run("ALTER TABLE patients DISABLE TRIGGER ALL")
        for age in (70, 71):
            postgres_database.run("UPDATE patients SET age = :age WHERE id = 3", age=age)
            report = live.sync()
            assert (report.method, report.n_updated) == ("comparison", 1)
            assert "install_capture" in str(report.remains)
        live.install_capture()
        live.sync()
        postgres_database.run("UPDATE patients SET age = 72 WHERE id = 3")
        assert live.sync().method == "capture"


def test_sessions_of_postgres_that_replicate_are_captured(postgres_database: Database, folder: Path) -> None:
    """They switch ordinary triggers off, and so do those that restore; ours always fire."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        with postgres_database.engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            connection.exec_driver_sql("UPDATE patients SET pressure = 11 WHERE id < 10")
        report = live.sync()
        assert (report.method, report.n_updated) == ("capture", 10)
        assert report.fingerprint == fresh_fingerprint(postgres_database, live)


def make_partitions(database: Database) -> None:
    """The table of patients in two partitions."""
    make_patients(database)
    database.run("ALTER TABLE patients RENAME TO old")
    database.run("CREATE TABLE patients (LIKE old) PARTITION BY RANGE (id)")
    for name, begin, end in (("few", 0, 60), ("many", 60, 1000)):
        database.run(f"CREATE TABLE {name} PARTITION OF patients FOR VALUES FROM ({begin}) TO ({end})")
    database.run("INSERT INTO patients SELECT * FROM old")


PARTITIONS = {
    "detached, changed and attached": [
        "ALTER TABLE patients DETACH PARTITION few",
        "UPDATE few SET pressure = 11 WHERE id < 10",
        "ALTER TABLE patients ATTACH PARTITION few FOR VALUES FROM (0) TO (60)",
    ],
    "exchanged": [
        "CREATE TABLE other (LIKE few)",
        "INSERT INTO other SELECT * FROM few",
        "UPDATE other SET pressure = 11 WHERE id < 10",
        "ALTER TABLE patients DETACH PARTITION few",
        "ALTER TABLE patients ATTACH PARTITION other FOR VALUES FROM (0) TO (60)",
    ],
    "off for one partition": [
        "ALTER TABLE few DISABLE TRIGGER ALL",
        "UPDATE patients SET pressure = 11 WHERE id < 10",
        "ALTER TABLE few ENABLE TRIGGER ALL",
    ],
    "truncated alone": [
        "CREATE TABLE other AS SELECT * FROM few",
        "UPDATE other SET pressure = 11 WHERE id < 10",
        "TRUNCATE few",
        "INSERT INTO few SELECT * FROM other",
    ],
}


@pytest.mark.parametrize("way", PARTITIONS)
def test_partitions_that_were_changed_behind_the_triggers(postgres_database: Database, folder: Path, way: str) -> None:
    """With as many rows as before; ordinary changes of partitions are captured."""
    make_partitions(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        postgres_database.run("UPDATE few SET age = 50 WHERE id = 20")
        assert (live.sync().method, live.sync().method) == ("capture", "capture")
        for statement in PARTITIONS[way]:
            postgres_database.run(statement)
        assert_found(postgres_database, live, live.sync(), 10)


def test_tables_that_inherit_are_compared(postgres_database: Database, folder: Path) -> None:
    """Their rows are in the table, and its triggers do not see them."""
    make_patients(postgres_database)
    postgres_database.run("CREATE TABLE heirs () INHERITS (patients)")
    postgres_database.run(
        "INSERT INTO heirs SELECT id + 1000, person_id, age, ward, pressure, readmitted FROM patients"
    )
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        postgres_database.run("UPDATE patients SET age = 50 WHERE id = 1020")
        report = live.sync()
        assert (report.method, report.n_updated) == ("comparison", 1)
        assert report.fingerprint == fresh_fingerprint(postgres_database, live)


def without_triggers(database: Database, statement: str) -> None:
    """Change an SQLite file as a program does that has switched triggers off for itself."""
    connection = sqlite3.connect(database.engine.url.database or "")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.execute(f"PRAGMA schema_version = {version}")
    connection.commit()
    connection.close()


def test_changes_without_a_trace_are_found_by_comparing(
    sqlite_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what `compare` is for, and `verify` says so; and a day later, or with another clock, a sync does it."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder, capture=True) as live:
        live.sync()
        without_triggers(sqlite_database, "UPDATE patients SET pressure = 11 WHERE id < 10")
        report = live.sync()
        assert (report.method, report.receipts) == ("capture", ())
        assert "compare=True" in str(live.verify().problem)
        assert_found(sqlite_database, live, live.sync(compare=True), 10)
        now = _clock.now()
        for later in (90_000, -90_000):
            without_triggers(sqlite_database, f"UPDATE patients SET pressure = {later % 83} WHERE id < 10")
            assert live.sync().receipts == ()
            monkeypatch.setattr(_clock, "system_time", lambda later=later: now + timedelta(seconds=later))
            assert_found(sqlite_database, live, live.sync(), 10)
            monkeypatch.undo()
            live.sync(compare=True)
