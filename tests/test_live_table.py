"""Rows that are put into the table of a live forest, or taken out of it, without SQL: all or none, as it can follow."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

from deciduous._progress import heard_by
from deciduous.errors import InvalidInputError, TakenIdsError, UnknownIdsError
from deciduous.live import LiveForest
from live_tables import Database, fresh_fingerprint, make_live, make_patients, patient


@pytest.fixture
def live(database: Database, folder: Path) -> Any:
    make_patients(database)
    with make_live(database, folder) as live:
        yield live


def table_of(database: Database) -> list[tuple[Any, ...]]:
    return database.rows("SELECT * FROM patients ORDER BY id")


@pytest.mark.parametrize("as_table", [False, True], ids=["dicts", "pandas"])
def test_rows_that_are_inserted_are_in_the_forest_after_a_sync(
    database: Database, live: LiveForest, as_table: bool
) -> None:
    rows = [patient(n) for n in range(200, 230)]
    assert live.table.insert(pd.DataFrame(rows).convert_dtypes() if as_table else rows) == 30
    assert live.sync().n_added == 30
    assert live.forest.fingerprint() == fresh_fingerprint(database, live)


def test_rows_that_are_deleted_are_gone_after_a_sync(database: Database, live: LiveForest) -> None:
    assert live.table.delete([3, 5]) == 2
    assert live.sync().n_deleted == 2
    assert live.forest.fingerprint() == fresh_fingerprint(database, live)


def test_row_without_a_target_is_inserted_and_left_out(database: Database, live: LiveForest) -> None:
    assert live.table.insert([patient(300) | {"readmitted": None}]) == 1
    assert live.sync().receipts == ()
    assert len(table_of(database)) == 121


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"age": "old"}, "'age'"),
        ({"ward": 7}, "'ward'"),
        ({"readmitted": 0.5}, "'readmitted'"),
        ({"pressure": 1e300}, "'pressure'"),
        ({"person_id": 9}, "Subjects"),
        ({"id": "seventeen"}, "'id'"),
        ({"id": None}, "'id'"),
        ({"id": True}, "'id'"),
        ({"id": 2**70}, "'id'"),
        ({"weight": 3}, "'weight'"),
    ],
)
def test_rows_that_the_forest_cannot_follow_are_refused(
    database: Database, live: LiveForest, change: dict[str, Any], named: str
) -> None:
    """None of them is inserted, the good one included, and the message tells a column and no value."""
    before, state = table_of(database), live.status()
    with pytest.raises(InvalidInputError, match=r"Nothing was changed|Subjects") as caught:
        live.table.insert([patient(200), patient(201) | change])
    assert named in str(caught.value)
    assert "seventeen" not in str(caught.value)
    assert (table_of(database), live.status()) == (before, state)
    assert live.sync().receipts == ()


def test_ids_are_taken_or_unknown_by_their_places(database: Database, live: LiveForest) -> None:
    before = table_of(database)
    with pytest.raises(TakenIdsError, match="places 1, counted") as taken:
        live.table.insert([patient(200), patient(7)])
    assert taken.value.places == (1,)
    with pytest.raises(UnknownIdsError, match="places 0, counted"):
        live.table.delete([999, 7])
    with pytest.raises(InvalidInputError, match="several rows"):
        live.table.insert([patient(200), patient(200)])
    with pytest.raises(InvalidInputError, match="several rows"):
        live.table.delete([7, 7])
    assert table_of(database) == before


def test_several_changes_are_made_together_and_fail_alone(database: Database, live: LiveForest) -> None:
    with live.table.together() as table:
        table.insert([patient(200)])
        for wrong in ([patient(3)], [patient(201) | {"age": "old"}]):
            with pytest.raises(InvalidInputError):
                table.insert(wrong)
        with pytest.raises(UnknownIdsError):
            table.delete([3, 999])
        table.delete([4])
    report = live.sync()
    assert (report.n_added, report.n_deleted) == (1, 1)
    assert live.forest.fingerprint() == fresh_fingerprint(database, live)


def test_none_of_several_changes_is_made_if_the_block_fails(database: Database, live: LiveForest) -> None:
    before = table_of(database)
    with suppress(KeyboardInterrupt), live.table.together() as table:
        table.insert([patient(200)])
        raise KeyboardInterrupt
    assert table_of(database) == before
    assert live.sync().receipts == ()


@pytest.mark.parametrize("missing", ["id", "age", "readmitted", "person_id"])
def test_rows_without_a_column_are_refused(live: LiveForest, missing: str) -> None:
    rows = [patient(200), {name: value for name, value in patient(201).items() if name != missing}]
    with pytest.raises(InvalidInputError, match=f"without '{missing}'"):
        live.table.insert(rows)


def test_constraints_of_the_table_are_told_without_values(database: Database, live: LiveForest) -> None:
    database.run("CREATE UNIQUE INDEX once ON patients (person_id) WHERE pressure > 1000")
    same = {"person_id": "u-same", "pressure": 1001}
    with pytest.raises(InvalidInputError, match="a constraint of the table") as caught:
        live.table.insert([patient(200) | same, patient(201) | same])
    assert "u-same" not in str(caught.value)
    assert live.sync().receipts == ()


def test_views_and_queries_are_refused(database: Database, folder: Path) -> None:
    make_patients(database)
    database.run("CREATE VIEW adults AS SELECT * FROM patients WHERE age > 30")
    with make_live(database, folder, table="adults") as live:
        for change in (lambda: live.table.insert([patient(200)]), lambda: live.table.delete([1])):
            with pytest.raises(InvalidInputError, match="The source is a view, and only a table"):
                change()


def test_what_the_database_makes_of_rows_is_read_back(sqlite_database: Database, folder: Path) -> None:
    """In a column of whole numbers SQLite turns the text "12" into a number, which the forest would not take."""
    sqlite_database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, ward INTEGER, y INTEGER)")
    for n in range(40):
        sqlite_database.run("INSERT INTO t VALUES (:n, :ward, :y)", n=n, ward="uvw"[n % 3], y=n % 2)
    with make_live(sqlite_database, folder, table="t", target="y", subject=None) as live:
        with pytest.raises(InvalidInputError, match="column 'ward'"):
            live.table.insert([{"id": 50, "ward": "12", "y": 1}])
        assert live.table.insert([{"id": 50, "ward": "u", "y": 1}]) == 1
        assert live.sync().n_added == 1


def test_uuids_may_come_as_text(postgres_database: Database, folder: Path) -> None:
    postgres_database.run("CREATE TABLE visits (id UUID PRIMARY KEY, who UUID, age INTEGER, y INTEGER)")
    names = [str(UUID(int=n)) for n in range(60)]
    for n, name in enumerate(names[:50]):
        postgres_database.run("INSERT INTO visits VALUES (:id, :id, :n, :y)", id=name, n=n, y=n % 2)
    with make_live(postgres_database, folder, table="visits", target="y", subject="who") as live:
        live.table.insert([{"id": name, "who": name, "age": 3, "y": 1} for name in names[50:]])
        live.table.delete(names[:4])
        report = live.sync()
        assert (report.n_added, report.n_deleted) == (10, 4)
        assert live.deletion_cost(names[50:51]).n_rows == 1
        assert live.deletion_cost(subject=names[50]).n_rows == 1


def test_deletion_cost_is_that_of_the_forest(live: LiveForest) -> None:
    cost = live.deletion_cost([3, 4, 5])
    assert cost == live.forest.deletion_cost([3, 4, 5])
    assert live.deletion_cost(subject="u-1") == cost
    with pytest.raises(UnknownIdsError, match="places 1,"):
        live.deletion_cost([3, 999])
    with pytest.raises(InvalidInputError, match="either"):
        live.deletion_cost()
    live.table.insert([patient(300) | {"person_id": "u-1", "readmitted": None}])
    assert live.deletion_cost(subject="u-1") == cost


def test_deletion_is_followed_by_vacuum_unless_told_otherwise(sqlite_database: Database, folder: Path) -> None:
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        for vacuum in (True, False):
            before = sqlite_database.rows("PRAGMA schema_version")
            live.table.delete([int(vacuum)], vacuum=vacuum)
            live.sync()
            assert (sqlite_database.rows("PRAGMA schema_version") != before) == vacuum
        with pytest.raises(UnknownIdsError):
            live.table.delete([0])
        assert not live._state.table_is_to_be_rewritten


def test_a_listener_hears_how_far_a_verification_is(sqlite_database: Database, folder: Path) -> None:
    make_patients(sqlite_database)
    heard: list[tuple[str, int, int]] = []
    with make_live(sqlite_database, folder) as live, heard_by(lambda *step: heard.append(step)):
        assert live.verify()
    assert ("Reading", 120, 120) in heard
    assert heard[-1] == ("Training", 5, 5)
