"""The command line with a target of numbers: what it guesses, what it refuses, and every command on such a model."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import deciduous
from cli_runs import FEATURES, N_ROWS, SMALL, done, run, visits
from deciduous import DareForestRegressor, FrozenForestRegressor
from deciduous.cli.app import app
from live_tables import Database
from test_cli import documented_keys

TRAIN = ["--target", "cost", "--drop", "stay", *SMALL]


def bills(n_rows: int = N_ROWS) -> pd.DataFrame:
    """The visits, and what each cost; one is not known."""
    table = visits(n_rows)
    rng = np.random.default_rng(7)
    table["cost"] = (300 + 40 * table["beds"] + rng.normal(0, 20, n_rows)).round(2)
    table.loc[9, "cost"] = np.nan
    return table


def library_forest(table: pd.DataFrame, **options: Any) -> DareForestRegressor:
    """What the library makes of the same rows."""
    settings: dict[str, Any] = {"n_estimators": 5, "max_depth": 6, "random_state": 3, "categorical_features": ["ward"]}
    table = table[table["cost"].notna()]
    X = table[FEATURES].astype({"urgent": float})
    names = {"ids": table["id"].tolist(), "subjects": table["person_id"].tolist()}
    return DareForestRegressor(**(settings | options)).fit(X, table["cost"], **names)


def loaded(path: str) -> DareForestRegressor:
    forest = deciduous.load(path)
    assert isinstance(forest, DareForestRegressor)
    return forest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which commands run, with rows as CSV and as Parquet."""
    monkeypatch.chdir(tmp_path)
    bills().to_csv("bills.csv", index=False)
    bills().to_parquet("bills.parquet")
    return tmp_path


@pytest.fixture
def model(home: Path) -> str:
    done("train", home / "bills.csv", *TRAIN, "-o", "m.forest")
    return "m.forest"


# ------------------------------------------------------------------------------------------------------------- training


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite"])
@pytest.mark.usefixtures("home")
def test_training_gives_the_forest_of_the_library(kind: str) -> None:
    """From any source; the guess is told, with the way to override it, and so are rows without a target."""
    where = [f"bills.{kind}"]
    if kind == "sqlite":
        with sqlite3.connect("bills.db") as connection:
            bills().to_sql("bills", connection, index=False)
        connection.close()
        where = ["sqlite:///bills.db", "--table", "bills"]
    result = run("train", *where, *TRAIN, "-o", "m.forest", "--json")
    assert "Guessed: regression, as 'cost' holds numbers that are not whole (--task cl" in result.stderr
    assert "Left out: 1 row without a target." in result.stderr
    told = json.loads(result.stdout)
    assert told.keys() == documented_keys("train") - {"classes"} | {"target_range"}
    assert (told["task"], told["n_rows"]) == ("regression", N_ROWS - 1)
    assert told["fingerprint"] == loaded("m.forest").fingerprint() == library_forest(bills()).fingerprint()
    assert tuple(told["target_range"]) == loaded("m.forest").target_range_


@pytest.mark.usefixtures("home")
def test_postgres_gives_the_same_forest(postgres_database: Database) -> None:
    """Also with a target of decimals."""
    bills().to_sql("bills", postgres_database.engine, index=False)
    for type in ("DOUBLE PRECISION", "NUMERIC(9, 2)"):
        postgres_database.run(f"ALTER TABLE bills ALTER COLUMN cost TYPE {type}")
        result = done("train", postgres_database.url, "--table", "bills", *TRAIN, "-o", "m.forest", "--force")
        assert result["fingerprint"] == library_forest(bills()).fingerprint()


GUESSES: dict[str, tuple[Any, list[str], str]] = {
    "fractions": (lambda i: i % 2 + 0.5, [], "regression"),
    "many whole numbers": (lambda i: i, [], "regression"),
    "many large whole numbers": (lambda i: 2**60 + i, [], "regression"),
    "few whole numbers": (lambda i: i % 5, [], "classification"),
    "few whole numbers that are said to be targets": (lambda i: i % 5, ["--task", "regression"], "regression"),
    "many whole numbers that are said to be labels": (lambda i: i, ["--task", "classification"], "classification"),
    "few whole numbers with a range": (lambda i: i % 5, ["--target-range", "-1", "9"], "regression"),
    "many whole numbers with weights": (lambda i: i, ["--set", "class_weight=balanced"], "classification"),
    "text": (lambda i: f"t{i % 50}", [], "classification"),
    "truth values": (lambda i: i % 2 == 0, [], "classification"),
    "truth values that are said to be targets": (lambda i: i % 2 == 0, ["--task", "regression"], "regression"),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("value", "options", "task"), GUESSES.values(), ids=GUESSES)
@pytest.mark.usefixtures("home")
def test_task_is_guessed_or_told(value: Any, options: list[str], task: str, kind: str) -> None:
    """The word on a guess is there if numbers were looked at, and only then."""
    table = pd.DataFrame({"x": np.arange(240) % 7, "y": [value(i) for i in range(240)]})
    table.to_csv("y.csv", index=False)
    table.to_parquet("y.parquet", index=False)
    result = run("train", f"y.{kind}", *SMALL, *options, "-o", "y.forest", "--json")
    assert json.loads(result.stdout)["task"] == task
    is_guess = not options and table["y"].dtype.kind in "if"
    assert (f"Guessed: {task}" in result.stderr) == is_guess


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (lambda _: 0.5, "numbers that are not whole"),
        (lambda i: i, "numbers with many different values"),
        (lambda i: 10**25 + i, "numbers of more than 64 bits"),
    ],
    ids=["fractions", "many", "large"],
)
@pytest.mark.usefixtures("home")
def test_reason_of_a_guess_is_true(value: Any, reason: str) -> None:
    """Of numbers that classes cannot be, training to classes is refused with the number, and no word of NumPy's."""
    pd.DataFrame({"x": np.arange(60) % 7, "y": [str(value(i)) for i in range(60)]}).to_csv("y.csv", index=False)
    result = run("train", "y.csv", *SMALL, "-o", "y.forest", "--json")
    assert f"Guessed: regression, as 'y' holds {reason} (--task classification)." in result.stderr
    if reason != "numbers with many different values":
        told = run("train", "y.csv", *SMALL, "-o", "n.forest", "--task", "classification")
        assert told.exit_code == 3
        assert "train with --task regression" in told.stderr
        assert "np." not in told.stderr
        assert "cast" not in told.stderr


@pytest.mark.usefixtures("home")
def test_limits_of_large_targets_can_be_told_apart() -> None:
    pd.DataFrame({"x": np.arange(60), "y": 2**60 + 2**10 * np.arange(60)}).to_csv("y.csv", index=False)
    result = run("train", "y.csv", *SMALL, "-o", "y.forest")
    low, high = loaded("y.forest").target_range_
    assert f"takes targets from {low!r} to {high!r}" in result.stdout
    pd.DataFrame({"x": [1], "y": [2**62]}).to_csv("far.csv", index=False)
    assert f"targets are numbers from {low!r} to {high!r}" in run("add", "y.forest", "far.csv").stderr


@pytest.mark.usefixtures("home")
def test_people_see_the_limits_of_targets() -> None:
    result = run("train", "bills.csv", *TRAIN, "--target-range", "0", "500", "-o", "m.forest")
    assert "Trained 5 trees on 239 rows of 4 columns, takes targets from -2048 to 2048" in result.stdout
    assert loaded("m.forest").target_range == (0.0, 500.0)


REFUSED = {
    "class weights": (["--task", "regression", "--set", "class_weight=balanced"], "class_weight='balanced' is for"),
    "stability": (["--task", "regression", "--set", "stability=0.1"], "stability=0.1 is for classification"),
    "entropy": (["--task", "regression", "--set", "criterion=entropy"], "criterion='entropy' is for classification"),
    "range of labels": (["--task", "classification", "--target-range", "0", "9"], "is for regression, but the task"),
    "both": (["--set", "stability=1", "--target-range", "0", "9"], "Leave one of them out"),
    "odd range": (["--target-range", "9", "0"], "(lowest, highest)"),
    "no number": (["--target-range", "0", "nan"], "(lowest, highest)"),
    "range by --set": (["--set", "target_range=[0,9]"], "by --target-range"),
    "odd criterion": (["--set", "criterion=mae"], "'squared_error', but is 'mae'"),
}


@pytest.mark.parametrize("command", ["train", "tune", "live create"])
@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_parameters_that_do_not_fit_are_refused_before_anything_is_read(
    home: Path, command: str, options: list[str], message: str
) -> None:
    """Of data that is not there, nobody hears."""
    where = ["sqlite:///none.db", "new", "--table", "t", "--id", "id"] if command != "train" else ["none.csv"]
    where = ["none.csv", "-o", "new"] if command != "live create" else where
    before = sorted(home.iterdir())
    result = run(*command.split(), *where, "--target", "cost", *options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr
    assert sorted(home.iterdir()) == before


BAD_TARGETS = {
    "text": (["--target", "ward", "--task", "regression"], "'north'"),
    "names": (["--target", "name", "--task", "regression"], "string: 'name "),
    "beyond the range": (["--target", "cost", "--target-range", "0", "1"], "Row 1 holds "),
    "fractions as classes": (["--target", "cost", "--task", "classification"], "--task regression"),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("options", "message"), BAD_TARGETS.values(), ids=BAD_TARGETS)
@pytest.mark.usefixtures("home")
def test_targets_that_cannot_be_used_are_named(options: list[str], message: str, kind: str) -> None:
    """With the value, or the row, and nothing is written."""
    bills().assign(ward="north").to_csv("bills.csv", index=False)
    bills().assign(ward="north").to_parquet("bills.parquet")
    result = run("train", f"bills.{kind}", *options, "-o", "m.forest", *SMALL)
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr
    assert not Path("m.forest").exists()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e301])
@pytest.mark.usefixtures("home")
def test_infinite_target_is_told_with_its_row(value: float) -> None:
    """Whatever the task is."""
    for column in ("cost", "beds"):
        table = bills().astype({"beds": float})
        table.loc[17, column] = value
        table.to_csv("bad.csv", index=False)
        result = run("train", "bad.csv", "--target", column, "-o", "m.forest", *SMALL)
        assert result.exit_code == 3
        assert f"Row 18 holds {value} in column '{column}'" in result.stderr


@pytest.mark.usefixtures("home")
def test_times_are_no_targets() -> None:
    """Of text they are classes, as they were before there was a regression."""
    table = bills().assign(day=[f"2020-01-{1 + i % 28:02}" for i in range(N_ROWS)])
    table.to_csv("days.csv", index=False)
    result = run("train", "days.csv", "--target", "day", "--task", "regression", "-o", "m.forest")
    assert (result.exit_code, "'day' holds times" in result.stderr) == (3, True)
    assert done("train", "days.csv", "--target", "day", "-o", "m.forest", *SMALL)["task"] == "classification"


@pytest.mark.usefixtures("home")
def test_targets_that_are_all_the_same_are_a_warning() -> None:
    bills().assign(cost=7.5).to_csv("same.csv", index=False)
    told = done("train", "same.csv", *TRAIN, "-o", "m.forest")
    assert "All targets in 'cost' are 7.5" in told["warnings"][0]


@pytest.mark.usefixtures("home")
def test_tuning_chooses_by_the_metric_of_numbers() -> None:
    """R² if nothing else is said; the model is then a regressor."""
    grid = ["--trees", "2,4", "--depth", "3", "--thresholds", "5", "--folds", "2", "--seed", "3", "--drop", "stay"]
    told = done("tune", "bills.csv", "--target", "cost", *grid, "-o", "m.forest")
    assert (told["metric"], told["task"]) == ("r2", "regression")
    assert loaded("m.forest").n_estimators == told["params"]["n_estimators"]
    squared = done("tune", "bills.csv", "--target", "cost", *grid, "--scoring", "neg_mean_squared_error")
    assert squared["score"] < 0


# ----------------------------------------------------------------------------------------------------------- predicting


def predictions(*arguments: object) -> pd.DataFrame:
    result = run("predict", *arguments)
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def test_predictions_quantiles_and_intervals_are_those_of_the_library(model: str) -> None:
    """A column for each quantile, and two for the interval."""
    forest, X = loaded(model), bills()[FEATURES].astype({"urgent": float})
    found = predictions(model, "bills.csv", "--quantiles", "0.05,0.5,1", "--interval", "0.8")
    assert found.columns.tolist() == ["id", "prediction", "q_0.05", "q_0.5", "q_1", "lower", "upper"]
    assert found["prediction"].tolist() == forest.predict(X).tolist()
    assert found[["q_0.05", "q_0.5", "q_1"]].to_numpy().tolist() == forest.predict(X, quantiles=[0.05, 0.5, 1]).tolist()
    assert found[["lower", "upper"]].to_numpy().tolist() == forest.predict_interval(X, 0.8).tolist()
    assert predictions(model, "bills.parquet").columns.tolist() == ["id", "prediction"]


def test_predictions_to_files(model: str) -> None:
    told = done("predict", model, "bills.csv", "--interval", "0.9", "-o", "out.parquet")
    assert told["n_rows"] == N_ROWS
    assert (pd.read_parquet("out.parquet").eval("upper - lower") >= 0).all()
    lines = run("predict", model, "bills.csv", "--json").stdout.splitlines()
    assert isinstance(json.loads(lines[0])["prediction"], float)


def test_what_a_model_cannot_tell_is_refused(model: str) -> None:
    """Before rows are read, which are not there."""
    done("train", "bills.csv", "--target", "stay", "--drop", "cost", *SMALL, "-o", "classes.forest")
    done("freeze", model, "-o", "m.frozen")
    for path, options, code, message in (
        (model, ["--proba"], 3, "predicts numbers"),
        ("classes.forest", ["--quantiles", "0.5"], 3, "predicts classes"),
        ("classes.forest", ["--interval", "0.5"], 3, "predicts classes"),
        ("m.frozen", ["--proba"], 3, "predicts numbers"),
        ("m.frozen", ["--quantiles", "0.5"], 3, "has no `--quantiles`"),
        ("m.frozen", ["--interval", "0.5"], 3, "has no `--interval`"),
        (model, ["--quantiles", "half"], 2, "'half'"),
        (model, ["--quantiles", "0.5,1.5"], 2, "'0.5,1.5'"),
        (model, ["--interval", "1"], 2, "between 0 and 1"),
    ):
        result = run("predict", path, "none.csv", *options)
        assert (result.exit_code, result.stdout) == (code, ""), options
        assert message in " ".join(result.stderr.split())


# ------------------------------------------------------------------------------------------- deleting, adding, checking


def test_rows_leave_and_come_back(model: str) -> None:
    """Each step is the forest of the library, and in the end the file is the same, byte for byte."""
    before = Path(model).read_bytes()
    cost = done("cost", model, "--ids", "101,117")
    left = done("delete", model, "--ids", "101,117")
    assert left["n_rows_retrained"] == cost["n_rows_retrained"]
    table = bills()
    ends = table["cost"].min(), table["cost"].max()  # of all rows, of which the scale of the targets is
    others = library_forest(table[~table["id"].isin([101, 117])], target_range=ends)
    assert left["fingerprint"] == others.fingerprint()
    assert done("verify", model)["matches"]
    table[table["id"].isin([101, 117])].to_csv("back.csv", index=False)
    done("add", model, "back.csv", "--target", "cost")
    assert Path(model).read_bytes() == before


def test_rows_are_printed_with_their_targets_and_can_be_corrected(model: str) -> None:
    """The pipe from `rows` to `update` changes nothing by itself; a corrected target is learned."""
    before = loaded(model).fingerprint()
    piped = run("rows", model, "--ids", "120,121").stdout
    assert pd.read_csv(io.StringIO(piped))["target"].tolist() == pytest.approx(
        bills().query("id in [120, 121]")["cost"].tolist(), abs=1e-7
    )
    again = CliRunner().invoke(app, ["update", model, "-", "--json"], input=piped)
    assert json.loads(again.stdout)["fingerprint"] == before
    table = bills()
    table.loc[table["id"] == 120, "cost"] = 333.25
    table[table["id"] == 120].to_csv("corrected.csv", index=False)
    updated = done("update", model, "corrected.csv", "--target", "cost")
    assert updated["fingerprint"] == library_forest(table).fingerprint()


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "text": ("dear", "'dear'"),
    "infinite": (np.inf, "Row 2 holds inf in column 'cost'"),
    "beyond the range": (1e6, "Row 2 holds 1000000.0 in column 'cost'"),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("command", ["add", "update"])
@pytest.mark.parametrize(("value", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_with_a_target_that_is_not_taken_change_nothing(
    model: str, command: str, value: Any, message: str, kind: str
) -> None:
    """Not even by the good rows beside them."""
    before = Path(model).read_bytes()
    table = bills().iloc[20:22].assign(id=[900, 901])
    table["cost"] = [340.5, value]
    if isinstance(value, str):
        table = table.astype({"cost": str})
    table.to_csv("bad.csv", index=False) if kind == "csv" else table.to_parquet("bad.parquet")
    result = run(command, model, f"bad.{kind}", "--target", "cost")
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr
    assert Path(model).read_bytes() == before


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_without_a_target_are_left_out_and_told(model: str, kind: str) -> None:
    """As rows without a label are; if there are no others, that is an error."""
    before = Path(model).read_bytes()
    table = bills().iloc[8:10].assign(id=[900, 901])
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[kind]
    write(table[1:], f"none.{kind}", index=False)
    assert run("add", model, f"none.{kind}", "--target", "cost").exit_code == 3
    assert Path(model).read_bytes() == before
    write(table, f"some.{kind}", index=False)
    result = run("add", model, f"some.{kind}", "--target", "cost")
    assert "Left out: 1 row without a target." in result.stderr
    assert 900 in loaded(model).ids_
    assert 901 not in loaded(model).ids_


def test_inspection_tells_the_task_and_the_limits(model: str) -> None:
    """Of a forest and of a frozen one; importances, a tree and the check as for classes."""
    told = done("inspect", model, "--importances", "--tree", "0", "--check")
    assert (told["task"], tuple(told["target_range"])) == ("regression", loaded(model).target_range_)
    assert "classes" not in told
    assert sum(told["importances"].values()) == pytest.approx(1)
    assert "mean" in told["tree"]
    assert told["problem"] is None
    assert "regression" in run("inspect", model).stdout
    done("freeze", model, "-o", "m.frozen")
    frozen = done("inspect", "m.frozen")
    assert (frozen["kind"], frozen["task"], frozen["target_range"]) == ("frozen", "regression", told["target_range"])
    assert isinstance(deciduous.load("m.frozen"), FrozenForestRegressor)
    assert predictions("m.frozen", "bills.csv").equals(predictions(model, "bills.csv"))


@pytest.mark.parametrize("suffix", ["onnx", "tl", "txt"])
def test_exports_are_written(model: str, suffix: str) -> None:
    assert done("export", model, "-o", f"m.{suffix}")["bytes"] == Path(f"m.{suffix}").stat().st_size > 0


# ---------------------------------------------------------------------------------------------------------- live tables


@pytest.mark.usefixtures("home")
def test_live_commands_follow_a_table_of_numbers(database: Database) -> None:
    """Made, synced, verified, inspected and asked for predictions; a target that is not taken changes nothing."""
    bills().drop(columns=["name", "stay"]).to_sql("bills", database.engine, index=False)
    source = [database.url, "live", "--table", "bills", "--id", "id", "--subject", "person_id", "--target", "cost"]
    result = run("live", "create", *source, *SMALL, "--json")
    assert "Guessed: regression, as 'cost' holds numbers" in result.stderr
    made = json.loads(result.stdout)
    assert (made["task"], made["n_rows"]) == ("regression", N_ROWS - 1)
    assert made.keys() >= documented_keys("live create")
    assert predictions("live", "bills.csv", "--interval", "0.9").shape == (N_ROWS, 4)
    database.run("DELETE FROM bills WHERE id = 120")
    assert done("live", "sync", "live")["n_deleted"] == 1
    assert done("live", "status", "live")["task"] == done("inspect", "live")["task"] == "regression"
    assert done("live", "verify", "live")["outcome"] == "exact"
    database.run("UPDATE bills SET cost = 1e9 WHERE id = 121")
    assert (refused := run("live", "sync", "live")).exit_code == 3
    assert "--target-range" in refused.stderr
    database.run("UPDATE bills SET cost = 300 WHERE id = 121")
    erased = done("live", "erase", "live", "u-7")
    assert erased["request"]["state"] == "applied"
    done("live", "receipts", "live", "--certificate", "2", "-o", "page.html")
    done("freeze", "live", "-o", "live.frozen")
    assert run("rows", "live", "--ids", "101").exit_code == 3


@pytest.mark.parametrize(("column", "task"), [("beds", "classification"), ("cost", "regression")])
@pytest.mark.usefixtures("home")
def test_live_task_can_be_told(column: str, task: str) -> None:
    """What is told is not a guess; a text target is no regression."""
    with sqlite3.connect("bills.db") as connection:
        bills().to_sql("bills", connection, index=False)
    connection.close()
    source = ["sqlite:///bills.db", "--table", "bills", "--id", "id", "--columns", "age,ward"]
    guessed = run("live", "create", source[0], "guessed", *source[1:], "--target", column, *SMALL, "--json")
    assert json.loads(guessed.stdout)["task"] == task
    assert f"Guessed: {task}, as '{column}'" in guessed.stderr
    told = run("live", "create", source[0], "told", *source[1:], "--target", "beds", "--task", "regression", *SMALL)
    assert (told.exit_code, "Guessed" in told.stderr) == (0, False)
    text = run("live", "create", source[0], "text", *source[1:], "--target", "stay", "--task", "regression")
    assert (text.exit_code, "'stay'" in text.stderr, "--task classification" in text.stderr) == (3, True, True)
