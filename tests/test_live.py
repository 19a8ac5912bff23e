"""Live forests follow their table: whatever is done to it, a sync gives the forest of a fresh fit of the table."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import tracemalloc
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa

import deciduous
from deciduous import DareForestClassifier
from deciduous.errors import EmptyForestError, FolderError, FolderInUseError, InvalidInputError, SchemaChangedError
from deciduous.live import LiveForest, Receipt, _source, read_record
from live_tables import COLUMNS, PARAMS, Database, add_patients, fresh_fingerprint, make_live, make_patients, patient

ROOT = Path(__file__).parents[1]
POSTGRES_REMAINS = "The database may hold the deleted rows in pages and logs until they are vacuumed: see docs/live.md."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "clinic.forest"


# ------------------------------------------------------------------------------------------------- following the table


def test_new_live_forest_is_a_fresh_fit_of_the_table(database: Database, folder: Path) -> None:
    """Numbers, nulls, and text as categories; the estimator alone, fed by pandas, gives the same bytes."""
    make_patients(database)
    with make_live(database, folder) as live:
        assert live.columns == COLUMNS
        assert live.params["categorical_features"] == {"ward": ["north", "south", "west", None]}
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        assert live.receipts()[0].rows == 120
        assert live.sync().receipts == ()


@pytest.mark.parametrize("seed", range(3))
def test_any_history_gives_the_fresh_fit_by_comparison_and_by_capture(
    database: Database, tmp_path: Path, seed: int
) -> None:
    """Random inserts, updates and deletes, in batches; two live forests on one table agree with a fresh fit."""
    rng = np.random.default_rng(seed)
    make_patients(database)
    with make_live(database, tmp_path / "a") as compared, make_live(database, tmp_path / "b", capture=True) as captured:
        assert captured.sync().method == "comparison"  # once, for what changed before the triggers were there
        next_id, totals = 120, {"added": 0, "deleted": 0, "updated": 0}
        for _ in range(8):
            ids = np.array([id for (id,) in database.rows("SELECT id FROM patients")])
            doomed, changed = np.split(rng.permutation(ids)[: rng.integers(2, 30)], [rng.integers(1, 10)])
            for id in doomed.tolist():
                database.run("DELETE FROM patients WHERE id = :id", id=id)
            for id in changed.tolist():
                database.run("UPDATE patients SET age = :age WHERE id = :id", id=id, age=float(1000 + id))
            n_new = int(rng.integers(0, 20))
            if n_new:
                add_patients(database, range(next_id, next_id + n_new))
            next_id += n_new
            reports = [compared.sync(), captured.sync()]
            assert [report.method for report in reports] == ["comparison", "capture"]
            assert {report.fingerprint for report in reports} == {fresh_fingerprint(database, compared)}
            for report in reports:
                assert (report.added, report.deleted) == (n_new, len(doomed))
                assert report.updated <= len(changed)  # an update to the same value is none
            totals["added"] += n_new
            totals["deleted"] += len(doomed)
        for live in (compared, captured):
            assert live.verify()
            assert sum(receipt.deleted for receipt in live.receipts()) == totals["deleted"]
            assert sum(receipt.added for receipt in live.receipts()) == totals["added"] + 120


def test_sync_is_idempotent(database: Database, folder: Path) -> None:
    """A second sync finds nothing and writes no receipt."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("DELETE FROM patients WHERE id = 17")
        first = live.sync()
        assert (first.deleted, first.rows, len(first.receipts)) == (1, 119, 1)
        second = live.sync()
        assert (second.receipts, second.fingerprint) == ((), first.fingerprint)


def test_watch_syncs_now_and_after_each_change(database: Database, folder: Path) -> None:
    """Without capture, by looking again; a time between two looks must be a time."""
    make_patients(database)
    with make_live(database, folder) as live:
        with pytest.raises(InvalidInputError, match="greater than 0, but is 0"):
            next(live.watch(0))
        reports = live.watch(0.01)
        assert next(reports).receipts == ()
        database.run("DELETE FROM patients WHERE id = 17")
        assert next(report for report in reports if report.receipts).deleted == 1
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        reports.close()


def test_going_on_after_opening_again(database: Database, folder: Path) -> None:
    """The snapshot spares the training; without it, the table gives the same forest."""
    make_patients(database)
    make_live(database, folder).close()
    database.run("DELETE FROM patients WHERE id < 10")
    with LiveForest.open(folder) as live:
        report = live.sync()
        assert (report.method, report.deleted) == ("comparison", 10)
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    with LiveForest.open(folder) as live:
        database.run("DELETE FROM patients WHERE id = 20")
        again = live.sync()
        assert (again.method, again.deleted, again.rows) == ("rebuilt", 1, 109)
        assert again.fingerprint == fresh_fingerprint(database, live)
        assert again.receipts[0].fingerprint_before == report.fingerprint


def test_damaged_snapshot_is_made_again(sqlite_database: Database, folder: Path) -> None:
    """It is a cache: a broken one, or one of another forest, is removed."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        fingerprint = live.forest.fingerprint()
    (snapshot,) = folder.glob("snapshot-*")
    data = bytearray(snapshot.read_bytes())
    data[len(data) // 2] ^= 1
    snapshot.write_bytes(data)
    with LiveForest.open(folder) as live:
        assert live.sync().method == "rebuilt"
    (snapshot,) = folder.glob("snapshot-*")
    other = deciduous.load(snapshot)
    assert isinstance(other, DareForestClassifier)
    other.delete([5])
    other.save(snapshot)
    with LiveForest.open(folder) as live:
        assert (live.sync().method, live.forest.fingerprint()) == ("rebuilt", fingerprint)


@pytest.mark.parametrize("kind", ["strings", "uuids", "huge integers"])
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_ids_of_every_kind(database: Database, folder: Path, kind: str, capture: bool) -> None:
    """Rows are named by strings, UUIDs (PostgreSQL's own type), or integers up to 64 bits."""
    types = {"strings": "TEXT", "uuids": "TEXT" if database.is_sqlite else "UUID", "huge integers": "BIGINT"}
    make_patients(database, 0, types[kind])
    names: dict[str, Any] = {
        "strings": lambda n: f"visit-{n}",
        "uuids": lambda n: str(uuid.UUID(int=n * 2**70)),
        "huge integers": lambda n: 2**62 + n,
    }
    with database.engine.begin() as connection:
        rows = [patient(n) | {"id": names[kind](n)} for n in range(60)]
        marks = ":id" if types[kind] != "UUID" else "CAST(:id AS UUID)"
        statement = f"INSERT INTO patients VALUES ({marks}, :person_id, :age, :ward, :pressure, :readmitted)"
        connection.execute(sa.text(statement), rows)
    with make_live(database, folder, capture=capture) as live:
        live.sync()
        database.run(f"DELETE FROM patients WHERE id = {marks}", id=names[kind](7))
        report = live.sync()
        assert (report.deleted, report.rows) == (1, 59)
        assert report.fingerprint == fresh_fingerprint(database, live)


def test_view_and_query_are_followed(database: Database, tmp_path: Path) -> None:
    """A join of two tables, as a view and as a query; rows change when either table does."""
    make_patients(database)
    database.run("CREATE TABLE beds (ward TEXT PRIMARY KEY, n_beds INTEGER)")
    for ward, n_beds in (("north", 10), ("south", 20), ("west", 30)):
        database.run("INSERT INTO beds VALUES (:ward, :n_beds)", ward=ward, n_beds=n_beds)
    query = "SELECT p.id, p.person_id, p.age, b.n_beds, p.readmitted FROM patients p JOIN beds b ON b.ward = p.ward"
    database.run(f"CREATE VIEW stays AS {query}")
    with (
        make_live(database, tmp_path / "view", table="stays") as view,
        make_live(database, tmp_path / "query", table=None, source=f"{query};") as by_query,
    ):
        database.run("UPDATE beds SET n_beds = 15 WHERE ward = 'north'")
        database.run("DELETE FROM patients WHERE id = 1")
        reports = [view.sync(), by_query.sync()]
        assert {report.fingerprint for report in reports} == {fresh_fingerprint(database, view, query)}
        assert reports[0].updated > 10
        assert view.verify()
        for live, word in ((view, "view"), (by_query, "query")):
            with pytest.raises(InvalidInputError, match=word):
                live.erase("u-2")
            with pytest.raises(InvalidInputError, match=word):
                live.install_capture()
        assert [request.state for request in view.requests] == []


def test_rows_without_a_label_are_left_out(database: Database, folder: Path) -> None:
    """They come when they get one, and go when they lose it."""
    make_patients(database)
    database.run("UPDATE patients SET readmitted = NULL WHERE id < 5")
    with make_live(database, folder, capture=True) as live:
        assert live.receipts()[0].rows == 115
        live.sync()
        database.run("UPDATE patients SET readmitted = 1 WHERE id = 3")
        database.run("UPDATE patients SET readmitted = NULL WHERE id IN (50, 51)")
        report = live.sync()
        assert (report.method, report.added, report.deleted) == ("capture", 1, 2)
        assert report.fingerprint == fresh_fingerprint(database, live)


def test_labels_come_and_go(database: Database, folder: Path) -> None:
    """Columns of `predict_proba` are those of the labels in the table, ascending, as after a fresh fit."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("UPDATE patients SET readmitted = -1 WHERE id < 20")
        live.sync()
        assert live.classes_.tolist() == [-1, 0, 1]
        assert live.predict_proba([[30.0, "north", 100]]).shape == (1, 3)
        database.run("DELETE FROM patients WHERE readmitted = -1")
        report = live.sync()
        assert report.method == "rebuilt"  # not to keep a label that no row has
        assert live.classes_.tolist() == [0, 1]
        assert live.forest.classes_.tolist() == [0, 1]
        assert report.fingerprint == fresh_fingerprint(database, live)


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_empty_table_and_back(database: Database, folder: Path, capture: bool) -> None:
    """A forest without rows cannot predict, and takes rows again, also after a new start."""
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        before = live.sync().fingerprint
        database.run("DELETE FROM patients")
        assert live.sync().rows == 0
        with pytest.raises(EmptyForestError):
            live.predict([[30.0, "north", 100]])
        assert live.verify()
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    with LiveForest.open(folder) as live:
        assert live.sync().rows == 0
        add_patients(database, range(120))
        assert live.sync().rows == 120
        assert live.classes_.tolist() == [0, 1]
        # Names of categories were forgotten with their rows, so the same rows are others to this forest now.
        assert live.params["categorical_features"] == {"ward": [*(f"(forgotten {n})" for n in range(3)), None]}
        assert live.forest.fingerprint() == fresh_fingerprint(database, live) != before


def test_listed_categories_stay(database: Database, folder: Path) -> None:
    """They are the user's, not learned from rows: the forest is back when the rows are."""
    make_patients(database)
    categories = {"ward": ["west", "north", "south", None]}
    with make_live(database, folder, params=PARAMS | {"categorical_features": categories}) as live:
        before = live.sync().fingerprint
        database.run("DELETE FROM patients WHERE ward = 'south'")
        n_south = live.sync().deleted
        assert live.params["categorical_features"] == categories
        add_patients(database, [n for n in range(120) if patient(n)["ward"] == "south"])
        report = live.sync()
        assert (report.added, report.fingerprint) == (n_south, before)


def test_balanced_weights_and_secret_seeds_are_parameters_from_creation_on(database: Database, folder: Path) -> None:
    """What is drawn or resolved at creation is kept, whatever comes and goes."""
    make_patients(database)
    params = PARAMS | {"class_weight": "balanced", "random_state": None}
    with make_live(database, folder, params=params) as live:
        weights, seed = live.params["class_weight"], live.params["random_state"]
        database.run("DELETE FROM patients WHERE readmitted = 1 AND id < 60")
        report = live.sync()
        assert report.fingerprint == fresh_fingerprint(database, live)
    with LiveForest.open(folder) as live:
        assert (live.params["class_weight"], live.params["random_state"]) == (weights, seed)
        assert live.verify()


def test_predictions_take_tables_dicts_and_lists(sqlite_database: Database, folder: Path) -> None:
    """The same rows in any form have the same predictions, which are those of the estimator on the table."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        table = pd.read_sql("SELECT * FROM patients", sqlite_database.engine)
        forest = DareForestClassifier(**live.params)
        forest.fit(table[COLUMNS], table["readmitted"], ids=table["id"].tolist())
        expected = forest.predict_proba(table[COLUMNS])
        plain = table[COLUMNS].astype(object).where(table[COLUMNS].notna(), None)
        forms = [table, pl.from_pandas(table), plain.to_dict("records"), plain.to_numpy(), plain.to_numpy().tolist()]
        for rows in forms:
            assert live.predict_proba(rows).tolist() == expected.tolist()
        assert live.predict(table).tolist() == forest.predict(table[COLUMNS]).tolist()
        with pytest.raises(InvalidInputError, match="'ward'"):
            live.predict(table.drop(columns="ward"))
        with pytest.raises(InvalidInputError, match="3 values"):
            live.predict([[1.0, "north"]])


# -------------------------------------------------------------------------------------------------------------- schema


SCHEMA_CHANGES = {
    "dropped": ("pressure", "ALTER TABLE patients DROP COLUMN pressure"),
    "renamed": ("age", "ALTER TABLE patients RENAME COLUMN age TO years"),
    "new": ("bmi", "ALTER TABLE patients ADD COLUMN bmi INTEGER"),
    "dropped target": ("readmitted", "ALTER TABLE patients DROP COLUMN readmitted"),
    "dropped subject": ("person_id", "ALTER TABLE patients DROP COLUMN person_id"),
    "renamed id": ("id", "ALTER TABLE patients RENAME COLUMN id TO number"),
    "renamed target": ("readmitted", "ALTER TABLE patients RENAME COLUMN readmitted TO came_back"),
    "renamed category": ("ward", "ALTER TABLE patients RENAME COLUMN ward TO station"),
}


@pytest.mark.parametrize(("column", "statement"), SCHEMA_CHANGES.values(), ids=SCHEMA_CHANGES)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_changed_schema_is_an_error_that_names_the_column(
    database: Database, folder: Path, column: str, statement: str, capture: bool
) -> None:
    """Nothing changes, and the forest still predicts."""
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        before = live.sync().fingerprint
        database.run(statement)
        with pytest.raises(SchemaChangedError, match=f"'{column}'") as caught:
            live.sync()
        assert caught.value.column == column
        assert live.forest.fingerprint() == before
        assert len(live.receipts()) == 1
        live.remove_capture()  # also when the column that triggers speak of is gone


TYPE_CHANGES = {
    "number to text": ("age", "TEXT"),
    "number to date": ("pressure", "DATE USING DATE '2020-01-01' + pressure"),
    "text to number": ("ward", "INTEGER USING length(ward)"),
    "text to array": ("ward", "TEXT[] USING ARRAY[ward]"),
    "target to text": ("readmitted", "TEXT"),
    "target to time": ("readmitted", "TIME USING TIME '12:00'"),
    "subject to number": ("person_id", "INTEGER USING length(person_id)"),
    "id to text": ("id", "TEXT"),
}


@pytest.mark.parametrize(("column", "type"), TYPE_CHANGES.values(), ids=TYPE_CHANGES)
@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_changed_type_is_an_error_that_names_the_column(
    postgres_database: Database, folder: Path, column: str, type: str, capture: bool
) -> None:
    """Also with capture, though no trigger tells of it."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=capture) as live:
        before = live.sync().fingerprint
        postgres_database.run(f"ALTER TABLE patients ALTER COLUMN {column} TYPE {type}")
        with pytest.raises(SchemaChangedError, match=f"'{column}'") as caught:
            live.sync()
        assert caught.value.column == column
        assert live.forest.fingerprint() == before
        assert len(live.receipts()) == 1


def test_wider_types_are_no_change(postgres_database: Database, folder: Path) -> None:
    """The same values are the same rows."""
    make_patients(postgres_database)
    with make_live(postgres_database, folder, capture=True) as live:
        for column, type in (("pressure", "NUMERIC(9, 2)"), ("ward", "VARCHAR(30)"), ("readmitted", "BIGINT")):
            postgres_database.run(f"ALTER TABLE patients ALTER COLUMN {column} TYPE {type}")
        assert live.sync().receipts == ()
        assert live.sync().method == "capture"


SILENT_CHANGES = {
    "dropped and added": ["DROP COLUMN pressure", "ADD COLUMN pressure INTEGER DEFAULT 7"],
    "exchanged": ["RENAME COLUMN age TO x", "RENAME COLUMN pressure TO age", "RENAME COLUMN x TO pressure"],
    "computed anew": ["ALTER COLUMN pressure TYPE INTEGER USING 180 - pressure"],
}


@pytest.mark.parametrize("change", SILENT_CHANGES)
def test_rows_that_change_with_the_definition_of_the_table_are_found(
    database: Database, folder: Path, change: str
) -> None:
    """Such changes fire no trigger, and columns are called as before, so capture alone would miss them."""
    if database.is_sqlite and change == "computed anew":
        pytest.skip("SQLite has no such statement")
    make_patients(database)
    with make_live(database, folder, capture=True) as live:
        live.sync()
        assert live.sync().method == "capture"
        for statement in SILENT_CHANGES[change]:
            database.run(f"ALTER TABLE patients {statement}")
        report = live.sync()
        assert (report.method, report.updated > 100) == ("comparison", True)
        assert report.fingerprint == fresh_fingerprint(database, live)
        assert live.sync().method == "capture"


def test_category_that_becomes_a_number_is_an_error(sqlite_database: Database, folder: Path) -> None:
    """Rather than a value that is none of the categories; other text is such a value."""
    make_patients(sqlite_database)
    sqlite_database.run("CREATE TABLE untyped AS SELECT * FROM patients")
    sqlite_database.run("ALTER TABLE untyped ADD COLUMN floor")
    sqlite_database.run("UPDATE untyped SET floor = id % 3")
    params = PARAMS | {"categorical_features": ["floor", "ward"]}
    with make_live(sqlite_database, folder, table="untyped", params=params) as live:
        for column, wrong, right in (("floor", "ground", 7), ("ward", b"north", "nowhere")):
            sqlite_database.run(f"UPDATE untyped SET {column} = :value WHERE id = 5", value=wrong)
            with pytest.raises(SchemaChangedError, match=f"'{column}'"):
                live.sync()
            sqlite_database.run(f"UPDATE untyped SET {column} = :value WHERE id = 5", value=right)
            assert live.sync().updated == 1


def test_changed_types_are_errors_that_name_the_column(sqlite_database: Database, folder: Path) -> None:
    """Text among numbers, in features, labels and ids; the message has no value and no id."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        for column, value in (("age", "ancient"), ("readmitted", "maybe"), ("pressure", b"\1")):
            sqlite_database.run(f"UPDATE patients SET {column} = :value WHERE id = 77", value=value)
            with pytest.raises(SchemaChangedError, match=f"'{column}'") as caught:
                live.sync()
            assert "77" not in str(caught.value)
            assert "ancient" not in str(caught.value)
            sqlite_database.run(f"UPDATE patients SET {column} = 1 WHERE id = 77")
        sqlite_database.run("UPDATE patients SET age = 9e999 WHERE id = 77")
        with pytest.raises(InvalidInputError, match="'age'"):
            live.sync()
        sqlite_database.run("UPDATE patients SET age = 44 WHERE id = 77")
        assert live.sync().fingerprint == fresh_fingerprint(sqlite_database, live)


def test_other_columns_are_ignored_if_the_columns_are_listed(database: Database, folder: Path) -> None:
    """New columns and changes in others do not matter then."""
    make_patients(database)
    with make_live(database, folder, columns=["age", "pressure"]) as live:
        database.run("ALTER TABLE patients ADD COLUMN bmi INTEGER")
        database.run("UPDATE patients SET ward = 'nowhere'")
        assert live.sync().receipts == ()


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "table and query": ({"source": "select 1"}, "either `table`"),
    "neither": ({"table": None}, "either `table`"),
    "unknown column": ({"columns": ["age", "weight"]}, "'weight'"),
    "unknown subject": ({"subject": "who"}, "'who'"),
    "no column": ({"columns": []}, "at least one"),
    "target as a column": ({"columns": ["age", "readmitted"]}, "'readmitted'"),
    "unknown categorical": ({"params": {"categorical_features": ["colour"]}}, "'colour'"),
    "text that names people": ({"subject": None}, "'person_id' holds text"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_at_creation_are_explained_and_leave_nothing(
    sqlite_database: Database, folder: Path, options: dict[str, Any], message: str
) -> None:
    """Another try in the same folder succeeds."""
    make_patients(sqlite_database, 400)
    with pytest.raises(InvalidInputError, match=message):
        make_live(sqlite_database, folder, **options)
    make_live(sqlite_database, folder).close()


def test_ids_must_be_unique(sqlite_database: Database, tmp_path: Path) -> None:
    """A query may return an id twice; at creation and later that is an error."""
    make_patients(sqlite_database)
    doubled = "SELECT * FROM patients UNION ALL SELECT * FROM patients WHERE id = 100 AND age > 0"
    with pytest.raises(InvalidInputError, match="same id"):
        make_live(sqlite_database, tmp_path / "a", table=None, source=doubled)
    sqlite_database.run("CREATE TABLE twins (twin INTEGER)")
    query = "SELECT patients.* FROM patients LEFT JOIN twins ON id = 100"
    with make_live(sqlite_database, tmp_path / "b", table=None, source=query) as live:
        sqlite_database.run("INSERT INTO twins VALUES (1), (2)")
        with pytest.raises(InvalidInputError, match="same id"):
            live.sync()


def test_password_is_not_stored(postgres_database: Database, folder: Path) -> None:
    """It is used, and has to be given again if the server asks for it."""
    make_patients(postgres_database)
    secret = postgres_database.url.replace("tester@", "tester:s3cr3t-w0rd@")
    make_live(Database(secret), folder).close()
    for file in folder.iterdir():
        assert b"s3cr3t" not in file.read_bytes()
    with LiveForest.open(folder, url=secret) as live:
        assert live.sync().receipts == ()


# ------------------------------------------------------------------------------------------------------------- capture


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
        assert live.sync().remains in (None, POSTGRES_REMAINS)
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


# ---------------------------------------------------------------------------------------------------------------- lock


def test_folder_can_be_open_once_only(sqlite_database: Database, folder: Path) -> None:
    """In this process and in another one; the message says who has it. The record can be read all the same."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        with pytest.raises(FolderInUseError, match=f"process {os.getpid()}"):
            LiveForest.open(folder)
        with pytest.raises(FolderInUseError):
            make_live(sqlite_database, folder)
        code = f"from deciduous.live import LiveForest; LiveForest.open({str(folder)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert other.returncode == 1
        assert f"process {os.getpid()}" in other.stderr
        status, receipts, requests = read_record(folder)
        assert (status["rows"], len(receipts), requests) == (120, 1, [])
        assert live.sync().rows == 120
        live.close()
        with pytest.raises(sa.exc.ArgumentError):
            LiveForest.open(folder, url="no address")
    LiveForest.open(folder).close()


def test_folders_are_made_once(sqlite_database: Database, folder: Path) -> None:
    """And must be there to be opened."""
    with pytest.raises(FolderError, match="no live forest"):
        LiveForest.open(folder)
    with pytest.raises(FolderError, match="no live forest"):
        read_record(folder)
    make_patients(sqlite_database)
    make_live(sqlite_database, folder).close()
    with pytest.raises(FolderError, match="already"):
        make_live(sqlite_database, folder)


# ------------------------------------------------------------------------------------------------------------ receipts


def test_receipts_name_people_by_digest_only(sqlite_database: Database, folder: Path) -> None:
    """A person's receipts can be found by their name, and their name is in none."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        sqlite_database.run("DELETE FROM patients WHERE id = 30")
        (receipt,) = live.sync().receipts
        assert (receipt.deleted, receipt.rows, receipt.kind) == (4, 116, "synced")
        assert (len(receipt.subjects_erased), len(receipt.subjects_changed)) == (1, 1)
        assert live.receipts(subject="u-17") == [receipt]
        assert live.receipts(subject="u-10") == [receipt]  # row 30 is one of three
        assert live.receipts(subject="u-11") == []
        export = folder.parent / "receipts.json"
        live.export_receipts(export)
        text = export.read_text()
        assert "u-17" not in text
        written = json.loads(text)["receipts"]
        assert [Receipt.from_json(json.dumps(entry)) for entry in written] == live.receipts()


def test_receipts_have_a_digest_of_the_parameters(sqlite_database: Database, tmp_path: Path) -> None:
    """It is the same as long as the parameters are, another with another seed, and without the key it says nothing."""
    make_patients(sqlite_database)
    digests = []
    for number, seed in enumerate((3, 3, 4)):
        with make_live(sqlite_database, tmp_path / str(number), params=PARAMS | {"random_state": seed}) as live:
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=50 + number)
            live.sync()
            first, second = live.receipts()
            assert first.parameters == second.parameters == live._settings.parameters_digest(live._key)
            others = replace(live._settings, params=live._settings.params | {"random_state": 5})
            assert others.parameters_digest(live._key) != first.parameters
            digests.append(first.parameters)
            jobs = replace(live._settings, params=live._settings.params | {"n_jobs": 7})
            assert jobs.parameters_digest(live._key) == first.parameters  # the forest is the same
    assert len(set(digests)) == 3


def edited(folder: Path, number: int, **changes: Any) -> None:
    """Change a receipt behind the back of the live forest."""
    with sqlite3.connect(folder / "state.db") as state:
        body = json.loads(state.execute("SELECT body FROM receipts WHERE number = ?", (number,)).fetchone()[0])
        state.execute("UPDATE receipts SET body = ? WHERE number = ?", (json.dumps(body | changes), number))
    state.close()


def test_changed_record_is_noticed(sqlite_database: Database, folder: Path) -> None:
    """An edited receipt, one that was taken out, and an exchange of two."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        for id in (1, 2, 3):
            sqlite_database.run("DELETE FROM patients WHERE id = :id", id=id)
            live.sync()
    copies = {}
    for name in ("edited", "removed", "rechained", "whole"):
        copies[name] = folder.parent / name
        shutil.copytree(folder, copies[name])
    edited(copies["edited"], 3, deleted=0)
    edited(copies["rechained"], 3, previous="0" * 64)
    with sqlite3.connect(copies["removed"] / "state.db") as state:
        state.execute("DELETE FROM receipts WHERE number = 2")
    state.close()
    problems = {"edited": "receipt 3", "removed": "receipt 2 is missing", "rechained": "receipt 3", "whole": None}
    for name, copy in copies.items():
        with LiveForest.open(copy) as live:
            verification = live.verify()
            assert bool(verification) == (name == "whole")
            assert (problems[name] or "") in (verification.problem or "")


def test_verification_trains_anew_from_the_table(database: Database, folder: Path) -> None:
    """A table that moved on, or a forest that somebody changed, does not pass."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("DELETE FROM patients WHERE id = 1")
        late = live.verify()
        assert not late
        assert "1 deleted" in str(late.problem)
        live.sync()
        assert live.verify()
        live.forest.delete([50])
        assert "forest in use" in str(live.verify().problem)
    with LiveForest.open(folder) as live:  # what somebody changed was not kept
        assert live.verify()


def test_certificate_says_what_was_done_and_not_to_whom(sqlite_database: Database, folder: Path) -> None:
    """It has the request, the fingerprints and the place in the chain; after `verify` also that."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        assert "Certificate of training" in live.certificate()
        erased = live.erase("u-17")
        (receipt,) = erased.receipts
        page = live.certificate()
        for text in (
            erased.request.id,
            receipt.fingerprint_before,
            receipt.fingerprint_after,
            receipt.chain,
            "Not yet",
        ):
            assert str(text) in page
        assert "u-17" not in page
        live.verify()
        page = live.certificate(receipt.number)
        assert "trained anew" in page
        assert "now verified" in page
        with pytest.raises(InvalidInputError, match="99"):
            live.certificate(99)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium to print pages")
def test_certificate_fits_on_a_page(sqlite_database: Database, folder: Path, tmp_path: Path) -> None:
    """Also one that names many people and requests."""
    make_patients(sqlite_database, 300)
    with make_live(sqlite_database, folder) as live:
        for number in range(20):
            live.requests.receive(f"u-{number}")
        sqlite_database.run("DELETE FROM patients WHERE id < 61 OR id % 3 = 0")
        live.sync()
        live.verify()
        (tmp_path / "page.html").write_text(live.certificate(live.receipts()[-2].number))
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={tmp_path / 'page.pdf'}",
         (tmp_path / "page.html").as_uri()],
        check=True, capture_output=True, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) == 1


# ------------------------------------------------------------------------------------------------------------ requests


def test_request_is_applied_by_the_sync_that_finds_no_row_left(database: Database, folder: Path) -> None:
    """Received, applied, verified: whoever deletes the rows, and however many steps it takes."""
    make_patients(database)
    with make_live(database, folder) as live:
        request = live.requests.receive("u-17")
        assert (request.state, request.is_open, request.is_overdue) == ("received", True, False)
        assert datetime.fromisoformat(request.due) - datetime.fromisoformat(request.received) == timedelta(days=30)
        database.run("DELETE FROM patients WHERE id = 51")
        assert live.sync().receipts[0].requests == ()
        assert live.requests[request.id].state == "received"
        database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        assert live.sync().receipts[0].requests == (request.id,)
        assert live.requests[request.id].state == "applied"
        assert live.verify()
        assert live.requests[request.id].state == "verified"
        assert [receipt.kind for receipt in live.receipts(subject="u-17")] == [
            "received", "synced", "synced", "verified",
        ]  # fmt: skip


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_erase_deletes_and_syncs(database: Database, folder: Path, capture: bool) -> None:
    """All rows of a person, those that the forest does not know yet included; once for each key."""
    make_patients(database)
    with make_live(database, folder, capture=capture) as live:
        live.sync()
        database.run("UPDATE patients SET person_id = 'u-17' WHERE id = 100")
        report = live.erase("u-17", idempotency_key="ticket 4711")
        assert report.request.state == "applied"
        assert report.sync is not None
        assert report.sync.rows == 116
        assert database.rows("SELECT count(*) FROM patients WHERE person_id = 'u-17'") == [(0,)]
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        again = live.erase("u-17", idempotency_key="ticket 4711")
        assert (again.request.id, again.sync) == (report.request.id, None)
        with pytest.raises(InvalidInputError, match="another subject"):
            live.erase("u-18", idempotency_key="ticket 4711")
        add_patients(database, [5000])
        database.run("UPDATE patients SET person_id = 'new' WHERE id = 5000")
        assert live.erase("new").request.state == "applied"
        assert b"ticket" not in (folder / "state.db").read_bytes()


def test_requests_that_cannot_be_met_are_refused_with_a_reason(sqlite_database: Database, folder: Path) -> None:
    """Of people without rows, or by decision of a human."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        nobody = live.erase("u-999")
        assert nobody.request.state == "refused"
        assert "no rows" in str(nobody.request.reason)
        held = live.requests.receive("u-3")
        assert live.requests.refuse(held.id, "Needed for a legal claim.").reason == "Needed for a legal claim."
        with pytest.raises(InvalidInputError, match="refused already"):
            live.requests.refuse(held.id, "Again.")
        with pytest.raises(KeyError, match="unknown"):
            live.requests["unknown"]
        sqlite_database.run("DELETE FROM patients WHERE person_id = 'u-3'")
        live.sync()
        assert live.requests[held.id].state == "refused"
        assert live.verify()


def test_requests_have_due_dates(sqlite_database: Database, folder: Path) -> None:
    """The most urgent comes first, and what is late shows."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        later, soon = live.requests.receive("u-1"), live.requests.receive("u-2", due_days=10)
        late = live.requests.receive("u-3", due_days=-1)
        assert live.requests.receive("u-1").id == later.id  # still open
        assert [request.id for request in live.requests.open()] == [late.id, soon.id, later.id]
        assert [request.id for request in live.requests.overdue()] == [late.id]
        assert (live.status()["requests_open"], live.status()["requests_overdue"]) == (3, 1)
        assert read_record(folder)[0]["requests_overdue"] == 1
        for wrong in (float("nan"), float("inf"), 1e9):
            with pytest.raises(InvalidInputError, match=f"but is {wrong}"):
                live.requests.receive("u-4", due_days=wrong)


def test_subjects_may_be_integers_given_as_text(database: Database, folder: Path) -> None:
    """As a command line gives them; what cannot be one is refused, and so is a column that changes its kind."""
    make_patients(database)
    database.run("CREATE TABLE numbers AS SELECT id, id / 3 AS person, age, readmitted FROM patients")
    with make_live(database, folder, table="numbers", subject="person") as live:
        assert live.erase("17").request.state == "applied"
        assert live.erase(np.int64(18)).request.state == "applied"
        assert live.receipts(subject=17) == live.receipts(subject="17") != []
        for wrong in ("u-17", 17.0, None):
            with pytest.raises(InvalidInputError, match="integers"):
                live.erase(wrong)
        if database.is_sqlite:
            database.run("UPDATE numbers SET person = 'somebody' WHERE id = 1")
            with pytest.raises(SchemaChangedError, match="'person'"):
                live.sync()


def test_erase_needs_subjects(sqlite_database: Database, folder: Path) -> None:
    """Without a column of them, rows are deleted by SQL."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder, subject=None, columns=COLUMNS) as live:
        with pytest.raises(InvalidInputError, match="no column of subjects"):
            live.erase("u-1")
        assert list(live.requests) == []


# ------------------------------------------------------------------------------------------------------------- economy


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def test_sync_of_a_deletion_writes_little(sqlite_database: Database, folder: Path) -> None:
    """The snapshot goes, and one part of the index is written anew; a new snapshot waits until `store` or `close`."""
    make_patients(sqlite_database, 9_000)
    with make_live(sqlite_database, folder, params=PARAMS | {"max_depth": 20}) as live:
        parts = {file.name for file in folder.glob("rows-*")}
        assert len(parts) == 4
        sqlite_database.run("DELETE FROM patients WHERE id = 17")
        begin = time.time() - 1
        live.sync()
        assert list(folder.glob("snapshot-*")) == []
        now = {file.name for file in folder.glob("rows-*")}
        assert (len(now & parts), len(now)) == (3, 4)
        written = sum(file.stat().st_size for file in folder.iterdir() if file.name not in parts)
        assert written < folder_size(folder) / 2
        live.store()
        (snapshot,) = folder.glob("snapshot-*")
        assert snapshot.stat().st_mtime > begin
        assert written < snapshot.stat().st_size


def test_memory_goes_by_what_changed(sqlite_database: Database, folder: Path, monkeypatch: Any) -> None:
    """Comparing 60,000 rows takes a fraction of what they would take as Python values."""
    make_patients(sqlite_database, 60_000)
    with make_live(sqlite_database, folder, params={"n_estimators": 1, "max_depth": 3}) as live:
        sqlite_database.run("DELETE FROM patients WHERE id = 17")
        monkeypatch.setattr(_source, "CHUNK", 1_000)
        tracemalloc.start()
        live.sync()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        rows = sqlite_database.rows("SELECT * FROM patients")
        everything = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(rows) == 59_999
        assert peak < everything / 2


def test_progress_is_shown(sqlite_database: Database, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For reading and for training."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder, verbose=1) as live:
        live.sync()
    shown = capsys.readouterr().err
    assert "Reading" in shown
    assert "Training" in shown
