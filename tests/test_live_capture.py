"""Change capture: triggers find what comparing finds, do not get in the way of others, and go without a trace."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deciduous.errors import InvalidInputError
from live_tables import Database, add_patients, fresh_fingerprint, make_live, make_patients

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
        assert {id for (id,) in database.rows(f"SELECT id FROM {log}")} == {5, 6}
        live.sync()
        assert database.rows(f"SELECT * FROM {log}") == []


def test_changed_ids_are_captured(database: Database, folder: Path) -> None:
    """An update of the id is a deletion and an addition."""
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        database.run("UPDATE patients SET id = 7000 WHERE id = 7")
        report = live.sync()
        assert (report.method, report.added, report.deleted) == ("capture", 1, 1)
        assert report.fingerprint == fresh_fingerprint(database, live)


def test_truncation_is_captured(postgres_database: Database, folder: Path) -> None:
    """It fires no triggers of rows."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        live.sync()
        postgres_database.run("TRUNCATE patients")
        add_patients(postgres_database, range(200, 320))
        report = live.sync()
        assert (report.deleted, report.added) == (120, 120)
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
        assert (report.method, report.added, report.deleted) == ("comparison", 1, 1)
        assert report.fingerprint == fresh_fingerprint(sqlite_database, live)


def test_lost_triggers_are_noticed(database: Database, folder: Path) -> None:
    """A table that was made anew has none: changes are then found by comparing."""
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        database.run("DROP TABLE patients")
        make_patients(database, 100)
        report = live.sync()
        assert (report.method, report.rows) == ("comparison", 100)
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
            assert live.sync().deleted == 1
            slow.commit()
        report = live.sync()
        assert (report.method, report.deleted) == ("capture", 1)
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
        assert (report.method, report.deleted) == ("capture", 1)
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
            told = [notice.payload for notice in driver.notifies(timeout=5, stop_after=1)]
        assert told == [""]
        assert live.sync().deleted == 1


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
        assert live.sync().deleted == 1


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
