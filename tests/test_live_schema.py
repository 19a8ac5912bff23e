"""What a live forest can be made on; and a table whose definition changes, which must not go unnoticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deciduous.errors import InvalidInputError, SchemaChangedError
from deciduous.live import LiveForest
from live_tables import PARAMS, Database, fresh_fingerprint, make_live, make_patients

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
        assert (report.method, report.n_updated > 100) == ("comparison", True)
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
            assert live.sync().n_updated == 1


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
    "table and query": ({"query": "select 1"}, "either `table`"),
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
        make_live(sqlite_database, tmp_path / "a", table=None, query=doubled)
    sqlite_database.run("CREATE TABLE twins (twin INTEGER)")
    query = "SELECT patients.* FROM patients LEFT JOIN twins ON id = 100"
    with make_live(sqlite_database, tmp_path / "b", table=None, query=query) as live:
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


@pytest.mark.parametrize("label", ["1.00000000000000000001", "'NaN'", "0.5"])
def test_decimals_that_doubles_would_merge_are_no_labels(postgres_database: Database, folder: Path, label: str) -> None:
    """The nearest double to the first is 1. Whole decimals are labels, and what others write later is refused, too."""
    make_patients(postgres_database)
    postgres_database.run("ALTER TABLE patients ALTER readmitted TYPE NUMERIC(40, 20)")
    with make_live(postgres_database, folder) as live:
        assert live.classes_.tolist() == [0, 1]
        before = live.forest.fingerprint()
        postgres_database.run(f"UPDATE patients SET readmitted = {label} WHERE id = 3")
        with pytest.raises(InvalidInputError, match="'readmitted'"):
            live.sync()
        assert live.forest.fingerprint() == before
