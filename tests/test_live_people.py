"""Whether something of a person is left is asked of the table, and not of the rows that the forest was trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from deciduous.errors import InvalidInputError
from deciduous.live import LiveForest
from live_tables import Database, make_live, make_patients


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_person_with_a_row_without_a_label_is_not_erased_in_full(
    database: Database, folder: Path, capture: bool
) -> None:
    """The forest never saw that row, but it is theirs; the request is applied when it is gone, too."""
    make_patients(database)
    database.run("UPDATE patients SET readmitted = NULL WHERE id = 51")
    with make_live(database, folder, capture=capture) as live:
        live.sync()
        request = live.requests.receive("u-17")
        database.run("DELETE FROM patients WHERE id IN (52, 53)")
        (receipt,) = live.sync().receipts
        assert (receipt.n_people_erased, receipt.n_people_changed, receipt.requests) == (0, 1, ())
        assert live.requests[request.id].state == "received"
        database.run("DELETE FROM patients WHERE person_id = 'u-17'")
        live.sync()
        assert not live.requests[request.id].is_open


def test_person_without_labels_is_known(database: Database, folder: Path) -> None:
    """A request of theirs stays open while the table has their rows, and `erase` deletes them."""
    make_patients(database)
    database.run("UPDATE patients SET readmitted = NULL WHERE person_id IN ('u-17', 'u-18')")
    with make_live(database, folder) as live:
        request = live.requests.receive("u-17")
        live.sync()
        assert live.requests[request.id].state == "received"
        assert live.erase("u-17").request.state == "applied"
        assert live.erase("u-18").request.state == "applied"
        assert live.erase("u-18").request.state == "nothing left to erase"
        assert database.rows("SELECT count(*) FROM patients WHERE readmitted IS NULL") == [(0,)]


def test_people_are_known_if_no_row_with_a_label_is_of_anybody(database: Database, folder: Path) -> None:
    """What a subject is, a number here, is learned from all rows of the table."""
    make_patients(database)
    database.run("ALTER TABLE patients ADD COLUMN asker INTEGER")
    database.run("UPDATE patients SET asker = 7, readmitted = NULL WHERE id IN (51, 60)")
    with make_live(database, folder, subject="asker", columns=["age", "ward"]) as live:
        request = live.requests.receive(7)
        live.sync()
        assert live.requests[request.id].state == "received"
        assert live.erase(7).request.state == "applied"
        assert database.rows("SELECT count(*) FROM patients WHERE asker IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("source", ["view", "query"])
def test_views_and_queries_are_asked_for_rows_without_labels(database: Database, folder: Path, source: str) -> None:
    """As tables are."""
    make_patients(database)
    database.run("CREATE VIEW half AS SELECT * FROM patients WHERE id % 2 = 1")
    query = {"table": "half"} if source == "view" else {"table": None, "query": "SELECT * FROM half"}
    database.run("UPDATE patients SET readmitted = NULL WHERE id = 51")
    with make_live(database, folder, **query) as live:
        request = live.requests.receive("u-17")
        database.run("DELETE FROM patients WHERE id = 53")
        assert live.sync().receipts[0].n_people_erased == 0
        assert live.requests[request.id].is_open
        database.run("DELETE FROM patients WHERE id = 51")
        live.sync()
        assert not live.requests[request.id].is_open


@pytest.mark.parametrize("given", ["u-17", "u-17   "])
def test_blank_padded_subjects_are_those_that_sql_calls_equal(
    postgres_database: Database, folder: Path, given: str
) -> None:
    """PostgreSQL fills CHAR(n) with blanks, which count for nothing."""
    make_patients(postgres_database)
    postgres_database.run("ALTER TABLE patients ALTER person_id TYPE CHAR(12), ALTER ward TYPE CHAR(9)")
    with make_live(postgres_database, folder) as live:
        assert live.predict_proba([{"age": 44, "ward": "north", "pressure": 120}]).shape == (1, 2)
        assert live.params["categorical_features"]["ward"] == ["north", "south", "west", None]
        request = live.requests.receive(given)
        live.sync()
        assert live.requests[request.id].state == "received"
        erased = live.erase(given)
        assert (erased.request.id, erased.request.state) == (request.id, "applied")
        assert erased.receipts[0].n_people_erased == 1
        assert erased.receipts[0].n_deleted == 3


def test_blanks_of_other_texts_count(database: Database, folder: Path) -> None:
    """In a column of text 'a' and 'a ' are two people."""
    make_patients(database)
    database.run("UPDATE patients SET person_id = 'u-17 ' WHERE id = 51")
    with make_live(database, folder) as live:
        assert live.erase("u-17").receipts[0].n_deleted == 2
        assert live.erase("u-17 ").receipts[0].n_deleted == 1


def test_request_that_comes_while_a_sync_reads_is_left_to_the_next(sqlite_database: Database, folder: Path) -> None:
    """The sync has seen the table as it was before the person asked."""
    make_patients(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        late = []

        @sa.event.listens_for(live._source.engine, "after_cursor_execute")
        def ask(*_: object) -> None:
            if not late:
                late.append(live.requests.receive("somebody new"))

        live.sync()
        assert live.requests[late[0].id].state == "received"
        live.sync()
        assert live.requests[late[0].id].state == "nothing left to erase"


@pytest.mark.parametrize(
    "purposes",
    [
        {"id": "id", "target": "id"},
        {"id": "id", "target": "readmitted", "subject": "readmitted"},
        {"id": "id", "target": "readmitted", "subject": "id"},
        {"id": "id", "target": "readmitted", "columns": ["age", "id"]},
        {"id": "id", "target": "readmitted", "columns": ["age", "age"]},
    ],
)
def test_column_has_one_purpose(sqlite_database: Database, folder: Path, purposes: dict[str, str]) -> None:
    """Nothing is made otherwise."""
    make_patients(sqlite_database)
    with pytest.raises(InvalidInputError, match=r"'id'|'readmitted'|each once"):
        LiveForest.create(sqlite_database.url, table="patients", folder=folder, **purposes)
    assert list(folder.glob("state.db")) == []
