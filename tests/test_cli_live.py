"""Live folders from the command line, while another process has them open."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deciduous
from cli_runs import done, run
from deciduous.cli.live import _show_trouble as show_trouble
from deciduous.errors import FolderBusyError
from deciduous.live import LiveForest, _state, read_forest
from patience import LIMIT

N_ROWS = 120


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A live forest on a table with numbers, categories and people; commands run beside it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "id": np.arange(N_ROWS),
            "age": rng.normal(50, 12, N_ROWS).round(2),
            "ward": rng.choice(["north", "south", "west"], N_ROWS),
            "person": [f"u-{i // 3}" for i in range(N_ROWS)],
        }
    )
    table["stay"] = np.where((table["age"] > 50) ^ (table["ward"] == "west"), "long", "short")
    with sqlite3.connect("clinic.db") as connection:
        table.to_sql("visits", connection, index=False)
    connection.close()
    table.to_csv("visits.csv", index=False)
    purposes = ["--table", "visits", "--id", "id", "--target", "stay", "--subject", "person"]
    done("live", "create", f"sqlite:///{tmp_path}/clinic.db", "clinic", *purposes, "--trees", "5", "--seed", "1")
    return tmp_path / "clinic"


def change(statement: str) -> None:
    with sqlite3.connect("clinic.db") as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("command", ["status", "receipts", "sync", "verify"])
def test_a_folder_that_others_have_locked_is_a_sentence(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_state, "PATIENCE", 0.01)
    other = sqlite3.connect(folder / "state.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    result = run("live", command, folder)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"Another program has {folder / 'state.db'} locked, a backup")
    told = json.loads(run("live", command, folder, "--json").stdout)
    assert (told["kind"], told["exit_code"], told["error"]) == ("FolderBusyError", 3, result.stderr.strip())
    other.close()
    done("live", command, folder)


def test_what_watching_outlasts_is_told_by_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not the database that has a folder locked."""
    show_trouble(FolderBusyError(folder / "state.db", 30), 2)
    show_trouble(sqlite3.OperationalError("database is locked"), 4)
    of_folder, of_database = capsys.readouterr().err.splitlines()
    assert of_folder.startswith(f"Another program has {folder / 'state.db'} locked")
    assert of_folder.endswith("what could not be done is done then. Trying again in 2 s.")
    assert of_database == "The database says: database is locked. Trying again in 4 s."


HOLDER = """
import sys
from deciduous.live import LiveForest
with LiveForest.open(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the folder open, and does nothing of its own accord."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.communicate(timeout=LIMIT)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def predicted(model: object) -> list[dict[str, Any]]:
    result = run("predict", model, "visits.csv", "--proba", "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def check_reading(folder: Path) -> None:
    """All that only reads a model takes a live folder, and takes rows as the table has them."""
    table = pd.read_csv("visits.csv")
    expected = read_forest(folder)
    lines = predicted(folder)
    assert [line["prediction"] for line in lines] == expected.predict(table).tolist()
    assert [line["p_long"] for line in lines] == expected.predict_proba(table)[:, 0].tolist()
    told = done("inspect", folder, "--importances")
    assert (told["kind"], told["columns"]) == ("live", ["age", "ward"])
    assert told["categories"] == {"ward": ["north", "south", "west"]}
    assert told["fingerprint"] == done("live", "status", folder)["fingerprint"]
    assert set(told["importances"]) == {"age", "ward"}
    done("freeze", folder, "-o", "m.frozen")
    assert predicted("m.frozen") == lines
    assert deciduous.load("m.frozen").classes_.tolist() == ["long", "short"]
    assert "ward=west" in Path(done("export", folder, "-o", "m.txt")["out"]).read_text()
    for name in ("m.frozen", "m.txt"):
        Path(name).unlink()


def test_models_of_live_folders_are_read(folder: Path) -> None:
    check_reading(folder)


@pytest.mark.usefixtures("holder")
def test_models_of_live_folders_are_read_while_another_process_has_them_open(folder: Path) -> None:
    check_reading(folder)


def test_rows_of_live_forests_are_those_of_the_table(folder: Path) -> None:
    for line in (["delete", folder, "--ids", "3"], ["add", folder, "visits.csv"]):
        result = run(*line)
        assert result.exit_code == 3
        assert "follows its table: change the table" in result.stderr


@pytest.mark.usefixtures("holder")
def test_commands_are_handed_over_to_the_process_that_has_the_folder_open(folder: Path) -> None:
    """Sync, erasure, verification, requests, receipts and certificates; the same folder is then as it should be."""
    change("DELETE FROM visits WHERE id = 7")
    stale = run("live", "verify", folder, "--json")
    assert stale.exit_code == 5
    assert json.loads(stale.stdout)["outcome"] == "stale"
    assert done("live", "sync", folder, "--compare")["n_deleted"] == 1
    received = done("live", "receive", folder, "u-5", "--due-days", "14", "--key", "letter 1")["request"]
    assert received["state"] == "received"
    assert done("live", "receive", folder, "u-5", "--key", "letter 1")["request"]["id"] == received["id"]
    refused = done("live", "refuse", folder, received["id"], "--reason", "The law keeps it.")["request"]
    assert (refused["state"], refused["reason"]) == ("refused", "The law keeps it.")
    erased = done("live", "erase", folder, "u-20")
    assert (erased["request"]["state"], erased["sync"]["n_deleted"]) == ("applied", 3)
    assert done("verify", folder)["matches"]
    listed = done("live", "requests", folder)["requests"]
    assert [its["state"] for its in listed] == ["refused", "verified"]
    assert done("live", "requests", folder, "--open")["requests"] == []
    receipts = done("live", "receipts", folder, "--request", erased["request"]["id"])["receipts"]
    assert receipts
    numbers = [its["number"] for its in receipts if its["kind"] == "synced"]
    done("live", "receipts", folder, "--certificate", numbers[0], "-o", "page.html")
    assert "<html" in Path("page.html").read_text()
    done("live", "receipts", folder, "-o", "all.json")
    assert json.loads(Path("all.json").read_text())["format"].startswith("deciduous-receipts-")
    assert done("live", "status", folder)["n_rows"] == N_ROWS - 4


def test_requests_are_listed_and_refused_without_the_table(folder: Path) -> None:
    with LiveForest.open(folder) as live:
        id = live.requests.receive("u-3").id
    os.rename("clinic.db", "moved.db")
    assert done("live", "requests", folder)["requests"][0]["id"] == id
    assert "received" in run("live", "requests", folder).stdout
    assert done("live", "refuse", folder, id, "--reason", "Nothing to erase.")["request"]["state"] == "refused"
    unknown = run("live", "refuse", folder, "nobody", "--reason", "x", "--json")
    assert unknown.exit_code == 3
    assert "nobody" in json.loads(unknown.stdout)["error"]


def test_a_changed_table_is_not_told_as_corruption(folder: Path) -> None:
    change("UPDATE visits SET age = age + 1 WHERE id = 3")
    for command in (["verify", folder], ["live", "verify", folder]):
        result = run(*command)
        assert result.exit_code == 5
        assert result.stdout.startswith("Not compared: the table has changed since the last sync")
    assert done("live", "sync", folder)["n_updated"] == 1
    assert done("live", "verify", folder)["outcome"] == "exact"
