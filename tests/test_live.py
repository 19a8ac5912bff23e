"""Live forests follow their table: whatever is done to it, a sync gives the forest of a fresh fit of the table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa

import deciduous
from deciduous import DareForestClassifier
from deciduous.errors import EmptyForestError, FolderError, FolderInUseError, InvalidInputError
from deciduous.live import LiveForest, _source, read_record
from live_tables import COLUMNS, PARAMS, Database, add_patients, fresh_fingerprint, make_live, make_patients, patient

# ------------------------------------------------------------------------------------------------- following the table


def test_new_live_forest_is_a_fresh_fit_of_the_table(database: Database, folder: Path) -> None:
    """Numbers, nulls, and text as categories; the estimator alone, fed by pandas, gives the same bytes."""
    make_patients(database)
    with make_live(database, folder) as live:
        assert live.columns == COLUMNS
        assert live.params["categorical_features"] == {"ward": ["north", "south", "west", None]}
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        assert live.receipts()[0].n_rows == 120
        assert live.sync().receipts == ()


def test_interrupt_while_rows_are_read_is_one(tmp_path: Path) -> None:
    """SQLAlchemy closes the connection then; the next sync finds everything as it was."""
    database = Database(f"sqlite:///{tmp_path}/clinic.db")
    make_patients(database)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    def interrupt(connection: Any, _: Any) -> None:
        connection.row_factory = interrupted

    with make_live(database, tmp_path / "folder") as live:
        sa.event.listen(live._source.engine, "connect", interrupt)
        with pytest.raises(KeyboardInterrupt):
            live.sync()
        sa.event.remove(live._source.engine, "connect", interrupt)
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
                assert (report.n_added, report.n_deleted) == (n_new, len(doomed))
                assert report.n_updated <= len(changed)  # an update to the same value is none
            totals["added"] += n_new
            totals["deleted"] += len(doomed)
        for live in (compared, captured):
            assert live.verify()
            assert sum(receipt.n_deleted for receipt in live.receipts()) == totals["deleted"]
            assert sum(receipt.n_added for receipt in live.receipts()) == totals["added"] + 120


def test_sync_is_idempotent(database: Database, folder: Path) -> None:
    """A second sync finds nothing and writes no receipt."""
    make_patients(database)
    with make_live(database, folder) as live:
        database.run("DELETE FROM patients WHERE id = 17")
        first = live.sync()
        assert (first.n_deleted, first.n_rows, len(first.receipts)) == (1, 119, 1)
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
        assert next(report for report in reports if report.receipts).n_deleted == 1
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        reports.close()


def test_going_on_after_opening_again(database: Database, folder: Path) -> None:
    """The snapshot spares the training; without it, the table gives the same forest."""
    make_patients(database)
    make_live(database, folder).close()
    database.run("DELETE FROM patients WHERE id < 10")
    with LiveForest.open(folder) as live:
        report = live.sync()
        assert (report.method, report.n_deleted) == ("comparison", 10)
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    with LiveForest.open(folder) as live:
        database.run("DELETE FROM patients WHERE id = 20")
        again = live.sync()
        assert (again.method, again.n_deleted, again.n_rows) == ("rebuilt", 1, 109)
        assert again.fingerprint == fresh_fingerprint(database, live)
        assert again.receipts[0].before == report.receipts[0].after


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
        assert (report.n_deleted, report.n_rows) == (1, 59)
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
        make_live(database, tmp_path / "query", table=None, query=f"{query};") as by_query,
    ):
        database.run("UPDATE beds SET n_beds = 15 WHERE ward = 'north'")
        database.run("DELETE FROM patients WHERE id = 1")
        reports = [view.sync(), by_query.sync()]
        assert {report.fingerprint for report in reports} == {fresh_fingerprint(database, view, query)}
        assert reports[0].n_updated > 10
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
        assert live.receipts()[0].n_rows == 115
        live.sync()
        database.run("UPDATE patients SET readmitted = 1 WHERE id = 3")
        database.run("UPDATE patients SET readmitted = NULL WHERE id IN (50, 51)")
        report = live.sync()
        assert (report.method, report.n_added, report.n_deleted) == ("capture", 1, 2)
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
        assert report.method == "comparison"
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
        assert live.sync().n_rows == 0
        with pytest.raises(EmptyForestError):
            live.predict([[30.0, "north", 100]])
        assert live.verify()
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    with LiveForest.open(folder) as live:
        assert live.sync().n_rows == 0
        add_patients(database, range(120))
        assert live.sync().n_rows == 120
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
        n_south = live.sync().n_deleted
        assert live.params["categorical_features"] == categories
        add_patients(database, [n for n in range(120) if patient(n)["ward"] == "south"])
        report = live.sync()
        assert (report.n_added, report.fingerprint) == (n_south, before)


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
        assert (status["n_rows"], len(receipts), requests) == (120, 1, [])
        assert live.sync().n_rows == 120
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
