"""Live forests that predict numbers follow their table as those for classes do; what is particular are the targets."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deciduous import DareForestClassifier, DareForestRegressor, FrozenForestRegressor
from deciduous.errors import EmptyForestError, InvalidInputError, SchemaChangedError
from deciduous.live import LiveForest, connect, read_forest, read_record
from live_tables import PARAMS, Database, add_patients, fresh_fingerprint, make_live, make_patients

TARGET = "age"  # NULL for some, so that rows come and go with it


def make_bills(database: Database, folder: Path, **options: Any) -> LiveForest:
    """A live forest that predicts the age of patients, of which some are fractions."""
    return make_live(database, folder, **({"target": TARGET} | options))


def make_table(database: Database, n_rows: int = 120) -> None:
    make_patients(database, n_rows)
    database.run(f"UPDATE patients SET {TARGET} = {TARGET} + 0.25 WHERE id % 2 = 0")


def expected(database: Database, live: LiveForest) -> str:
    return fresh_fingerprint(database, live, target=TARGET)


# ------------------------------------------------------------------------------------------------- following the table


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_live_regression_follows_its_table(database: Database, folder: Path, capture: bool) -> None:
    """Rows and targets come, change and go; each time it is the forest that the estimator alone gives."""
    make_table(database)
    with make_bills(database, folder, capture=capture) as live:
        assert isinstance(live.forest, DareForestRegressor)
        assert (live.task, live.columns) == ("regression", ["ward", "pressure", "readmitted"])
        assert live.forest.fingerprint() == expected(database, live)
        live.sync()
        n_rows = live.status()["n_rows"]
        for statement, counts in (
            (f"UPDATE patients SET {TARGET} = 77.5 WHERE id = 7", (0, 0, 1)),
            (f"UPDATE patients SET {TARGET} = NULL WHERE id = 8", (0, 1, 0)),
            (f"UPDATE patients SET {TARGET} = 41.125 WHERE id = 11", (1, 0, 0)),
            ("DELETE FROM patients WHERE id < 6", (0, 5, 0)),
            ("UPDATE patients SET pressure = 99 WHERE id IN (20, 21)", (0, 0, 2)),
        ):
            database.run(statement)
            report = live.sync()
            assert (report.n_added, report.n_deleted, report.n_updated) == counts
            assert report.method == ("capture" if capture else "comparison")
            assert report.fingerprint == expected(database, live)
            n_rows += counts[0] - counts[1]
            assert report.n_rows == n_rows
        add_patients(database, range(200, 230))
        assert live.sync().fingerprint == expected(database, live)
        assert live.verify()
        assert "Certificate" in live.certificate()
    with LiveForest.open(folder) as live:
        assert (live.task, live.sync().receipts) == ("regression", ())
        assert live.forest.fingerprint() == expected(database, live)


def test_forest_is_made_again_without_its_snapshot(database: Database, folder: Path) -> None:
    """From the settings, which say what it is for, and the table."""
    make_table(database)
    make_bills(database, folder).close()
    for snapshot in folder.glob("snapshot-*"):
        snapshot.unlink()
    database.run("DELETE FROM patients WHERE id = 20")
    with LiveForest.open(folder) as live:
        assert live.sync().method == "rebuilt"
        assert isinstance(live.forest, DareForestRegressor)
        assert live.forest.fingerprint() == expected(database, live)


def test_folder_says_what_it_is_for(sqlite_database: Database, tmp_path: Path) -> None:
    """A folder for classes is as it was before there were others."""
    make_table(sqlite_database)
    make_bills(sqlite_database, tmp_path / "numbers").close()
    make_live(sqlite_database, tmp_path / "classes").close()
    for name, task in (("numbers", "regression"), ("classes", "classification")):
        with sqlite3.connect(tmp_path / name / "state.db") as state:
            (settings,) = state.execute("SELECT value FROM meta WHERE name = 'settings'").fetchone()
        state.close()
        assert json.loads(settings).get("task") == (None if task == "classification" else task)
        assert read_record(tmp_path / name)[0]["task"] == task


def test_empty_table_and_back(database: Database, folder: Path) -> None:
    """Also if zero is no target that the forest takes."""
    make_table(database)
    database.run(f"UPDATE patients SET {TARGET} = {TARGET} + 1000000")
    with make_bills(database, folder) as live:
        assert live.forest.target_range_[0] > 0
        database.run("DELETE FROM patients")
        assert live.sync().n_rows == 0
        with pytest.raises(EmptyForestError):
            live.predict([{"ward": "north", "pressure": 100, "readmitted": 1}])
        assert live.verify()
    with LiveForest.open(folder) as live:
        add_patients(database, range(40))
        database.run(f"UPDATE patients SET {TARGET} = {TARGET} + 1000000")
        assert live.sync().fingerprint == expected(database, live)


def test_change_that_the_forest_cannot_see_is_none(database: Database, folder: Path) -> None:
    """Targets are kept in fixed point: what is below its last digit is nothing of the forest."""
    make_table(database)
    with make_bills(database, folder, params=PARAMS | {"target_range": (0, 1e6)}) as live:
        (before,) = database.rows(f"SELECT {TARGET} FROM patients WHERE id = 7")[0]
        database.run(f"UPDATE patients SET {TARGET} = :value WHERE id = 7", value=math.nextafter(before, 100.0))
        assert live.sync().receipts == ()
        database.run(f"UPDATE patients SET {TARGET} = :value WHERE id = 7", value=before + 1e-4)
        assert live.sync().n_updated == 1
        assert live.sync().fingerprint == expected(database, live)


def test_decimals_are_targets(postgres_database: Database, folder: Path) -> None:
    """As doubles; a wider type is no change."""
    make_table(postgres_database)
    with make_bills(postgres_database, folder) as live:
        postgres_database.run(f"ALTER TABLE patients ALTER COLUMN {TARGET} TYPE NUMERIC(9, 3)")
        assert live.sync().receipts == ()
        postgres_database.run(f"UPDATE patients SET {TARGET} = 50.375 WHERE id = 7")
        report = live.sync()
        postgres_database.run(f"ALTER TABLE patients ALTER COLUMN {TARGET} TYPE DOUBLE PRECISION")
        assert report.fingerprint == expected(postgres_database, live)


# --------------------------------------------------------------------------------------------------------- which task


TASKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "fractions": ("age", {}, "regression"),
    "many whole numbers": ("pressure", {}, "regression"),
    "few whole numbers": ("readmitted", {}, "classification"),
    "text": ("ward", {}, "classification"),
    "few whole numbers, told": ("readmitted", {"task": "regression"}, "regression"),
    "many whole numbers, told": ("pressure", {"task": "classification"}, "classification"),
    "few whole numbers with a range": ("readmitted", {"params": PARAMS | {"target_range": (0, 9)}}, "regression"),
    "many whole numbers with stability": ("pressure", {"params": PARAMS | {"stability": 0.1}}, "classification"),
}


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize(("target", "options", "task"), TASKS.values(), ids=TASKS)
def test_task_is_guessed_or_told(
    database: Database, folder: Path, target: str, options: dict[str, Any], task: str
) -> None:
    """By the rules of the command line."""
    make_table(database)
    with make_live(database, folder, target=target, **options) as live:
        assert live.task == live.status()["task"] == task
        assert isinstance(live.forest, DareForestClassifier if task == "classification" else DareForestRegressor)
        assert live.forest.fingerprint() == fresh_fingerprint(database, live, target=target)


def test_large_whole_numbers_that_differ_are_many(sqlite_database: Database, folder: Path) -> None:
    """As floats, most of them are equal."""
    make_table(sqlite_database)
    sqlite_database.run(f"UPDATE patients SET pressure = {2**60} + id")
    with make_live(sqlite_database, folder, target="pressure") as live:
        assert live.task == "regression"


@pytest.mark.parametrize("value", ["84743.37", "1e25", "9e999"])
def test_numbers_that_are_no_classes_are_not_told(sqlite_database: Database, folder: Path, value: str) -> None:
    """The message names the column, and no value, whether a forest is made or follows its table."""
    make_table(sqlite_database)

    def assert_told_without_values(call: Any) -> None:
        with pytest.raises(InvalidInputError, match="'readmitted' is the target and holds numbers that") as caught:
            call()
        assert not re.search(r"\d", str(caught.value).replace("64 bits", ""))

    with make_live(sqlite_database, folder, target="readmitted", task="classification") as live:
        sqlite_database.run(f"UPDATE patients SET readmitted = {value} WHERE id = 77")
        assert_told_without_values(live.sync)
    again = {"target": "readmitted", "task": "classification"}
    assert_told_without_values(lambda: make_live(sqlite_database, folder.with_name("again.forest"), **again))


def test_truth_values_are_classes_unless_told(postgres_database: Database, tmp_path: Path) -> None:
    make_table(postgres_database)
    postgres_database.run("ALTER TABLE patients ALTER COLUMN readmitted TYPE BOOLEAN USING readmitted = 1")
    for task in ("classification", "regression"):
        told = {} if task == "classification" else {"task": task}
        with make_live(postgres_database, tmp_path / task, **told) as live:
            assert live.task == task
            assert live.forest.fingerprint() == fresh_fingerprint(postgres_database, live)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"target": "ward", "task": "regression"}, "'ward' is the target and holds text"),
    "fractions": ({"task": "classification"}, "labels are classes"),
    "odd task": ({"task": "clustering"}, "'clustering'"),
    "class weights": ({"task": "regression", "params": {"class_weight": "balanced"}}, "class_weight='balanced'"),
    "two tasks": ({"params": {"stability": 1, "target_range": (0, 1)}}, "Leave one of them out"),
    "unknown": ({"params": {"trees": 5}}, "no parameter 'trees'"),
    "odd range": ({"params": {"target_range": (1, 0)}}, "target_range must be"),
    "narrow range": ({"params": {"target_range": (0, 1)}}, "not from -4 to 4"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_at_creation_are_explained_and_leave_nothing(
    sqlite_database: Database, folder: Path, options: dict[str, Any], message: str
) -> None:
    """Another try in the same folder succeeds."""
    make_table(sqlite_database)
    with pytest.raises(InvalidInputError, match=message):
        make_bills(sqlite_database, folder, **options)
    make_bills(sqlite_database, folder).close()


@pytest.mark.parametrize("value", ["1e999", "-1e999", "1e301"])
def test_table_with_an_infinite_target_is_refused(sqlite_database: Database, folder: Path, value: str) -> None:
    make_table(sqlite_database)
    sqlite_database.run(f"UPDATE patients SET {TARGET} = {value} WHERE id = 7")
    with pytest.raises(InvalidInputError, match=f"'{TARGET}' is the target"):
        make_bills(sqlite_database, folder)


# ------------------------------------------------------------------------------------------------ targets not to take


@pytest.mark.parametrize("capture", [False, True], ids=["comparison", "capture"])
def test_target_that_the_forest_does_not_take_changes_nothing(database: Database, folder: Path, capture: bool) -> None:
    """The error names the column, and neither the value nor the row; when it is corrected, all goes on."""
    make_table(database)
    with make_bills(database, folder, capture=capture) as live:
        before = live.sync().fingerprint
        for value in ("123456.5", "-99999.5") + (("1e999",) if database.is_sqlite else ("'NaN'", "'Infinity'")):
            database.run(f"UPDATE patients SET {TARGET} = {value} WHERE id = 77")
            database.run("DELETE FROM patients WHERE id = 78")
            with pytest.raises(InvalidInputError, match=f"'{TARGET}' is the target") as caught:
                live.sync()
            assert not any(secret in str(caught.value) for secret in ("77", "123456", "99999"))
            assert live.forest.fingerprint() == before
            assert len(live.receipts()) == 1
        database.run(f"UPDATE patients SET {TARGET} = 50 WHERE id = 77")
        assert live.sync().fingerprint == expected(database, live)


def test_erasure_beside_a_bad_row_says_what_it_did(database: Database, folder: Path) -> None:
    """The person is gone from the table, but not from the forest until another person's row is corrected."""
    make_table(database)
    with make_bills(database, folder) as live:
        database.run(f"UPDATE patients SET {TARGET} = 123456.5 WHERE id = 77")
        for _ in range(2):
            with pytest.raises(InvalidInputError) as caught:
                live.erase("u-3")
            (request,) = live.requests.open()
            assert "Nothing was changed" not in str(caught.value)
            assert "The table holds no row of this subject any more" in str(caught.value)
            assert f"sync: request {request.id} is open" in str(caught.value)
            assert {9, 10} <= set(live.forest.ids_.tolist())
        database.run(f"UPDATE patients SET {TARGET} = 50 WHERE id = 77")
        (receipt,) = live.sync().receipts
        assert receipt.requests == (request.id,)
        assert live.requests[request.id].state == "applied"
        assert live.forest.fingerprint() == expected(database, live)


def test_text_among_targets_is_a_changed_schema(sqlite_database: Database, folder: Path) -> None:
    """As text among labels that were numbers is."""
    make_table(sqlite_database)
    with make_bills(sqlite_database, folder) as live:
        sqlite_database.run(f"UPDATE patients SET {TARGET} = 'old' WHERE id = 77")
        with pytest.raises(SchemaChangedError, match=f"'{TARGET}' held numbers"):
            live.sync()
        sqlite_database.run(f"UPDATE patients SET {TARGET} = NULL WHERE id = 77")
        assert live.sync().fingerprint == expected(sqlite_database, live)


def test_range_that_the_user_gives_is_kept(database: Database, folder: Path) -> None:
    """It makes room for targets that no row had; the one that is learned says nothing but its scale."""
    make_table(database)
    with make_bills(database, folder, params=PARAMS | {"target_range": (0, 1000)}) as live:
        assert live.params["target_range"] == (0.0, 1000.0)
        database.run(f"UPDATE patients SET {TARGET} = 4000 WHERE id = 7")
        assert live.sync().fingerprint == expected(database, live)


# ---------------------------------------------------------------------------------------------------------- predicting


def test_predictions_are_those_of_the_forest(database: Database, folder: Path) -> None:
    """Of tables and of dicts, with quantiles and intervals; and of a reader, and frozen."""
    make_table(database)
    table = pd.read_sql("SELECT * FROM patients", database.engine)
    with make_bills(database, folder) as live:
        X = table[live.columns]
        means = live.predict(table)
        assert means.tolist() == live.forest.predict(X).tolist()
        assert live.predict(table.to_dict("records")).tolist() == means.tolist()
        assert np.array_equal(live.predict(X, quantiles=[0.1, 0.9]), live.forest.predict(X, quantiles=[0.1, 0.9]))
        assert np.array_equal(live.predict_interval(X, 0.8), live.forest.predict_interval(X, 0.8))
        frozen = live.freeze()
        assert isinstance(frozen, FrozenForestRegressor)
        assert frozen.predict(X).tolist() == means.tolist()
        for question in (lambda: live.predict_proba(X), lambda: live.classes_):
            with pytest.raises(InvalidInputError, match="predicts numbers"):
                question()
        assert not hasattr(live, "classes_")
        view = read_forest(folder)
        assert (view.task, view.predict(X).tolist()) == ("regression", means.tolist())
        assert view.predict_interval(X).shape == (len(X), 2)


def test_quantiles_of_classes_are_refused(sqlite_database: Database, folder: Path) -> None:
    make_table(sqlite_database)
    with make_live(sqlite_database, folder) as live:
        row = [{"age": 44.0, "ward": "north", "pressure": 120}]
        for question in (lambda: live.predict(row, quantiles=0.5), lambda: live.predict_interval(row)):
            with pytest.raises(InvalidInputError, match="predicts classes"):
                question()


def test_another_process_does_the_work(sqlite_database: Database, folder: Path) -> None:
    """And hands over what it reports of a forest of numbers."""
    make_table(sqlite_database)
    make_bills(sqlite_database, folder).close()
    script = (
        "import sys; from deciduous.live import LiveForest\n"
        "with LiveForest.open(sys.argv[1]) as live:\n"
        "    print(live.task, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"regression\n"
        with connect(folder) as live:
            assert not isinstance(live, LiveForest)
            report = live.erase("u-4")
            assert (report.request.state, live.status()["task"]) == ("applied", "regression")
            assert live.verify()
        assert other.stdin is not None
        other.stdin.close()
    with LiveForest.open(folder) as opened:
        assert opened.sync().fingerprint == expected(sqlite_database, opened)
