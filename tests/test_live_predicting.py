"""Whatever a live forest gives to predict with takes the rows of the table: the forest, a frozen one, exports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import deciduous
from deciduous import DareForestClassifier
from deciduous.export import to_onnx
from deciduous.live import LiveForest
from live_tables import COLUMNS, PARAMS, WARDS, Database, contents, fresh_fingerprint, make_live, make_patients


def table_of(database: Database) -> pd.DataFrame:
    """The rows of the table."""
    return pd.read_sql("SELECT * FROM patients ORDER BY id", database.engine)


def assert_predicts_rows_of_the_table(live: LiveForest, table: pd.DataFrame, home: Path) -> None:
    """All models that it gives predict what the estimator alone does, for tables of any library."""
    forest = DareForestClassifier(**live.params)
    forest.fit(table[COLUMNS], table["readmitted"], ids=table["id"].tolist())
    expected = forest.predict_proba(table[COLUMNS]).tolist()
    assert live.forest.fingerprint() == forest.fingerprint()
    live.freeze().save(home / "frozen")
    loaded = deciduous.load(home / "frozen")
    for model in (live.forest, live.forest.freeze(), live.freeze(), loaded):
        assert list(model.feature_names_in_) == COLUMNS
        for rows in (table[COLUMNS], pl.from_pandas(table[COLUMNS])):
            assert model.predict_proba(rows).tolist() == expected
    assert live.predict_proba(table).tolist() == expected
    assert live.forest.attribute_names() == forest.attribute_names()
    assert to_onnx(live.forest) == to_onnx(forest)
    np.testing.assert_array_equal(live.forest.one_hot(table[COLUMNS]), forest.one_hot(table[COLUMNS]))


def test_models_of_a_live_forest_take_rows_of_the_table(database: Database, folder: Path, tmp_path: Path) -> None:
    """At first, after changes, after a new start, and after a category has gone."""
    make_patients(database)
    with make_live(database, folder) as live:
        assert_predicts_rows_of_the_table(live, table_of(database), tmp_path)
        database.run("DELETE FROM patients WHERE id < 30")
        database.run("UPDATE patients SET ward = 'north', age = 200 WHERE id BETWEEN 40 AND 60")
        live.sync()
        assert_predicts_rows_of_the_table(live, table_of(database), tmp_path)
    with LiveForest.open(folder) as live:
        assert_predicts_rows_of_the_table(live, table_of(database), tmp_path)
        database.run("DELETE FROM patients WHERE ward = 'west'")
        live.sync()
        assert_predicts_rows_of_the_table(live, table_of(database), tmp_path)
        live.store()
        assert WARDS[2] not in str(live.forest.categories_) + str(live.forest.get_params())
        assert not [name for name, data in contents(folder).items() if b"west" in data]
    with LiveForest.open(folder) as live:
        assert_predicts_rows_of_the_table(live, table_of(database), tmp_path)
        assert live.verify()


@pytest.mark.parametrize("type", ["INTEGER", "DOUBLE PRECISION", "BOOLEAN"])
def test_categories_that_are_numbers_can_be_forgotten(database: Database, folder: Path, type: str) -> None:
    """What stands in for them is a number, too, so that the estimator still takes the parameters."""
    make_patients(database)
    value = "pressure > 150" if type == "BOOLEAN" else f"CAST(pressure / 30 AS {type}) + {0.5 * (type[0] == 'D')}"
    database.run(f"ALTER TABLE patients ADD COLUMN code {type}")
    database.run(f"UPDATE patients SET code = {value}")
    params = PARAMS | {"categorical_features": ["ward", "code"]}
    with make_live(database, folder, params=params) as live:
        database.run("DELETE FROM patients WHERE pressure > 150")
        live.sync()
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        table = table_of(database)
        assert live.freeze().predict(table[live.columns]).tolist() == live.predict(table).tolist()
        assert live.verify()


def test_stand_in_for_a_forgotten_name_is_none_of_the_names(sqlite_database: Database, folder: Path) -> None:
    """Even if a ward is called like one."""
    make_patients(sqlite_database)
    sqlite_database.run("UPDATE patients SET ward = '(forgotten 2)' WHERE ward = 'north'")
    with make_live(sqlite_database, folder) as live:
        sqlite_database.run("DELETE FROM patients WHERE ward = 'west'")
        live.sync()
        listed = live.params["categorical_features"]["ward"]
        assert len(set(listed)) == len(listed) == 4
        assert live.forest.fingerprint() == fresh_fingerprint(sqlite_database, live)
