"""Every option of every command with values that nobody means: a sentence and an exit code, for scripts JSON."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli_runs import PROGRAM, all_commands, library_forest, run, visits
from deciduous.cli import _reading
from deciduous.cli._output import FAULT
from deciduous.cli.app import app
from deciduous.live import LiveForest
from patience import LIMIT

HOSTILE = ["", "-1", "99999999999999999999", "nan", "ü💥\udcff", "a" * 5000, "/", "--"]
SEARCH = {"trees": "2", "depth": "2", "thresholds": "2", "folds": "2"}
LIVE = {"folder": "clinic"}
# Sound values, so that the hostile one is the only one that is not.
SOUND: dict[str, dict[str, str]] = {
    "train": {"data": "v.csv", "out": "new", "target": "stay", "trees": "2", "depth": "2"},
    "tune": {"data": "v.csv", "target": "stay", **SEARCH},
    "predict": {"model": "m.forest", "data": "v.csv"},
    "delete": {"model": "m.forest", "ids": "117", "out": "new"},
    "add": {"model": "m.forest", "data": "v.csv", "target": "stay", "out": "new"},
    "update": {"model": "m.forest", "data": "v.csv", "target": "stay", "out": "new"},
    "rows": {"model": "m.forest", "ids": "117"},
    "cost": {"model": "m.forest", "ids": "117"},
    "verify": {"model": "m.forest"},
    "inspect": {"model": "m.forest"},
    "freeze": {"model": "m.forest", "out": "new"},
    "export": {"model": "m.forest", "out": "new.txt"},
    "live create": {"url": "sqlite:///v.db", "folder": "new", "table": "visits", "id": "id", "target": "stay"},
    "live sync": LIVE,
    "live watch": {"folder": "nowhere"},
    "live erase": LIVE | {"subject": "u-1"},
    "live verify": LIVE,
    "live receive": LIVE | {"subject": "u-1"},
    "live refuse": LIVE | {"request": "0", "reason": "none"},
    "live requests": LIVE,
    "live capture": LIVE,
    "live receipts": LIVE,
    "live status": LIVE,
    "live key": LIVE,
    "live statements": LIVE,
    "live opening": LIVE,
    "live anchor": LIVE | {"log": "new"},
    "live check-against": LIVE | {"statements": "v.csv"},
    "receipts verify": {"statements": "v.csv", "keys": "v.csv"},
    "receipts anchor": {"statements": "v.csv", "keys": "v.csv", "log": "new"},
    "serve": {"folders": "nowhere"},
    "keys create": LIVE | {"scope": "predict"},
    "keys list": LIVE,
    "keys revoke": LIVE | {"id": "0"},
    "demo": {"trees": "0", "out": "new"},
    "bench": {},
    "version": {},
}
EXPERIMENT = {"scale": "smoke", "out": "runs", "data": "data", "only": "surgical", "names": "surgical"}
# Without the experiments themselves, which run for long and share one function.
COMMANDS = [
    its for its in all_commands(get_command(app)) if its[0] != "experiment" or its[1] in ("data", "fetch", "report")
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    table = visits(60)
    table.to_csv(folder / "v.csv", index=False)
    with sqlite3.connect(folder / "v.db") as connection:
        table.to_sql("visits", connection, index=False)
    connection.close()
    library_forest(table).save(folder / "m.forest")
    purposes = {"table": "visits", "id": "id", "target": "stay", "subject": "person_id", "columns": ["age"]}
    url = f"sqlite:///{folder}/v.db"
    LiveForest.create(url, **purposes, folder=folder / "clinic", params={"n_estimators": 2}).close()
    return folder


@pytest.fixture
def home(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, in which commands run."""
    shutil.copytree(sources, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(command: tuple[str, ...]) -> Iterator[list[str]]:
    """Command lines in which one value is hostile."""
    its: Any = get_command(app)
    for name in command:
        its = its.get_command(None, name)
    params = [param for param in its.params if not getattr(param, "is_flag", False)]
    is_online = "offline" in {param.name for param in its.params}
    known = {param.name for param in params}
    sound = {name: value for name, value in SOUND.get(" ".join(command), EXPERIMENT).items() if name in known}
    for param in params:
        for value in HOSTILE:
            values = sound | {param.name: value}
            options = [
                text
                for other in params
                if other.param_type_name == "option" and other.name in values
                for text in (other.opts[0], values[other.name])
            ]
            arguments = [values[other.name] for other in params if other.param_type_name == "argument"]
            yield [*command, *["--offline"] * is_online, *options, *arguments]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_hostile_values_are_a_sentence_and_json(command: tuple[str, ...]) -> None:
    for line in lines_of(command):
        result = run(*line, "--json") if "--" not in line else run(*command, "--json", *line[len(command) :])
        assert result.exit_code in (0, 1, 2, 3), (line, result.output)
        if result.exit_code >= 2:
            told = json.loads(result.stdout.splitlines()[-1])
            assert told["exit_code"] == result.exit_code, line
            assert told["error"], line
            assert told["kind"], line
            assert "Traceback" not in result.output
        else:
            assert all(json.loads(text) is not None for text in result.stdout.splitlines()), line
        shutil.rmtree("new", ignore_errors=True)
        for path in ("new", "new.txt"):
            Path(path).unlink(missing_ok=True)


@pytest.mark.parametrize("fault", [ZeroDivisionError("x"), ImportError("cannot import it", name="deciduous._core")])
@pytest.mark.usefixtures("home")
def test_faults_of_ours_are_owned(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    """A sentence with an exit code of its own; where it was is shown to those who ask."""

    def faulty(_self: Any) -> None:
        raise fault

    monkeypatch.setattr(_reading.CsvSource, "types", faulty)
    result = run("train", "v.csv", "-o", "new", "--json")
    assert result.exit_code == FAULT
    assert json.loads(result.stdout)["kind"] == type(fault).__name__
    assert f"This is a fault of deciduous. {type(fault).__name__}: {fault}." in result.stderr
    monkeypatch.setenv("DECIDUOUS_TRACEBACK", "1")
    assert run("train", "v.csv", "-o", "new").exception is fault


@pytest.mark.usefixtures("home")
def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(_self: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(_reading.CsvSource, "types", greedy)
    result = run("train", "v.csv", "-o", "new", "--json")
    assert (result.exit_code, json.loads(result.stdout)["kind"]) == (3, "MemoryError")


@pytest.mark.usefixtures("home")
def test_ctrl_c_is_json_for_scripts() -> None:
    """A real process, which reads ids from a pipe as the signal comes."""
    os.mkfifo("pipe")
    command = [*PROGRAM, "delete", "m.forest", "--ids-file", "pipe", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open("pipe", "w"):  # opened by both, or by none
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (130, "Interrupted.\n")
    assert json.loads(out) == {"error": "Interrupted.", "kind": "KeyboardInterrupt", "exit_code": 130}


@pytest.mark.usefixtures("home")
def test_scores_of_the_positive_class_take_any_two_labels() -> None:
    """Of two labels the greater is positive, as docs/tuning.md has it, be they text or numbers."""
    search = ["--trees", "2", "--depth", "2", "--thresholds", "2", "--folds", "2", "--seed", "1", "--json"]
    table = visits(60)
    by_text = json.loads(run("tune", "v.csv", "-t", "stay", "--scoring", "f1", *search).stdout)
    table.assign(stay=(table["stay"] == "short").astype(int)).to_csv("numbers.csv", index=False)
    by_number = json.loads(run("tune", "numbers.csv", "-t", "stay", "--scoring", "f1", *search).stdout)
    assert by_text["scores"] == by_number["scores"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "line",
    [
        ["train", "oracle://a/b", "--table", "t", "-o", "new"],
        ["live", "create", "oracle://a/b", "new", "--table", "t", "--id", "i", "-t", "y"],
    ],
    ids=["train", "live create"],
)
def test_a_driver_that_is_missing_is_a_sentence(line: list[str]) -> None:
    result = run(*line, "--json")
    assert result.exit_code == 3
    assert "This needs the driver oracledb" in json.loads(result.stdout)["error"]


@pytest.mark.usefixtures("home")
def test_a_kind_of_database_that_is_none_is_a_sentence() -> None:
    result = run("train", "orakle://a/b", "--table", "t", "-o", "new", "--json")
    assert result.exit_code == 3
    assert "There is no kind of database 'orakle'." in json.loads(result.stdout)["error"]


def test_labels_that_are_no_classes_are_a_sentence(home: Path) -> None:
    """As those of a query with a random target are."""
    query = "select id, age, random() / 1e19 as y from visits"
    source = ["sqlite:///v.db", home / "new", "--query", query, "--id", "id", "-t", "y"]
    result = run("live", "create", *source, "--task", "classification", "--json")
    assert result.exit_code == 3
    assert "but labels are classes" in json.loads(result.stdout)["error"]
