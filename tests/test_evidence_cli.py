"""Evidence from the command line: signing in one folder, and checking in another that has nothing but files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import statement_reader as independent
from cli_runs import PROGRAM, done, run, visits
from deciduous.live import LiveForest


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A live forest with a key, and a folder for whoever checks."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("v.db") as connection:
        visits(60).to_sql("visits", connection, index=False)
    connection.close()
    purposes = {"table": "visits", "id": "id", "target": "stay", "subject": "person_id", "columns": ["age"]}
    LiveForest.create(f"sqlite:///{tmp_path}/v.db", **purposes, folder="clinic", params={"n_estimators": 2}).close()
    Path("auditor").mkdir()
    return tmp_path / "clinic"


def signed(*more: str) -> dict[str, Any]:
    """Hand statements and keys to the auditor."""
    return done("live", "statements", "clinic", "-o", "auditor/statements.jsonl", "--force", *more)


def test_the_whole_way(clinic: Path) -> None:
    """A key, an erasure, statements, anchors, another key; and each time, what the auditor hears."""
    made = done("live", "key", "clinic", "--new", "-o", "auditor/first.pem")
    assert made["out"] == "auditor/first.pem"
    (first,) = made["keys"]
    assert independent.id_of(Path("auditor/first.pem").read_text()) == first["id"]
    assert done("live", "status", "clinic")["signing_key"] == first["id"]
    done("live", "erase", "clinic", "u-3")
    assert signed() == {"folder": "clinic", "out": "auditor/statements.jsonl", "n_statements": 4}
    text = Path("auditor/statements.jsonl").read_text()
    assert run("live", "statements", "clinic").stdout == text
    assert done("live", "statements", "clinic", "--first", "3")["statements"] == text.splitlines()[2:]
    independent.chain_in(text, [Path("auditor/first.pem").read_text()])
    anchored = done("live", "anchor", "clinic", "auditor/anchors.log")
    check = ["receipts", "verify", "auditor/statements.jsonl", "--key", "auditor/first.pem"]
    found = done(*check, "--anchors", "auditor/anchors.log")
    assert (found["matches"], found["first"], found["last"], found["head"]) == (True, 1, 4, anchored["statement"])
    assert found["anchored"] == [{"number": 4, "time": anchored["time"]}]

    second = done("live", "key", "clinic", "--new")["keys"][-1]["id"]
    done("live", "erase", "clinic", "u-4")
    signed()
    Path("auditor/earlier.jsonl").write_text(text)
    assert done(*check, "--earlier", "auditor/earlier.jsonl")["n_earlier"] == 4
    withheld = ["receipts", "verify", "auditor/earlier.jsonl", *check[3:], "--earlier", "auditor/statements.jsonl"]
    result = run(*withheld)
    assert (result.exit_code, "kept earlier, this file ends with number 4, and" in result.stdout) == (1, True)
    done("live", "opening", "clinic", "-o", "auditor/opening.json")
    assert os.stat("auditor/opening.json").st_mode & 0o777 == 0o600
    told = run(*check, "--opening", "auditor/opening.json")
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert lines[0].startswith("Statements 1 to 7 of record ")
    assert f"Signed by key {second}, for which statement 5 vouches: 5 to 7." in lines
    fingerprint = done("live", "status", "clinic")["fingerprint"]
    assert f"The newest statement is about the forest with fingerprint {fingerprint}." in lines
    assert "This proves:" in lines
    assert lines[lines.index("It does not prove:") + 1].startswith("- That the statements are true")
    assert "u-3" not in told.stdout + text
    assert done("live", "key", "clinic", "--id", first["id"][:8], "-o", "old.pem")["out"] == "old.pem"
    assert Path("old.pem").read_bytes() == Path("auditor/first.pem").read_bytes()
    assert first["id"] in run("live", "key", "clinic").stdout
    assert clinic.is_dir()


@pytest.mark.usefixtures("clinic")
def test_what_is_wrong_ends_with_a_code(tmp_path: Path) -> None:
    """1 for evidence that is none, 3 for files that are none; a sentence, and JSON if asked."""
    done("live", "key", "clinic", "--new", "-o", "auditor/key.pem")
    signed()
    check = ["receipts", "verify", "auditor/statements.jsonl", "--key", "auditor/key.pem"]
    (tmp_path / "auditor" / "log").write_text("x")
    (tmp_path / "auditor" / "opening").write_text("{}")
    for more, problem in (
        (["--anchors", "auditor/log"], "the last line of the log of anchors is not complete"),
        (["--opening", "auditor/opening"], "the opening does not have the entries"),
    ):
        result = run(*check, *more)
        assert (result.exit_code, problem in result.stdout) == (1, True)
    Path("auditor/statements.jsonl").write_text(Path("auditor/statements.jsonl").read_text()[:-10])
    result = run(*check)
    assert (result.exit_code, result.stdout.startswith("NOT evidence that holds: the file ends within a line")) == (
        1,
        True,
    )
    found = json.loads(run(*check, "--json").stdout)
    assert (found["matches"], found["last"], found["proves"]) == (False, None, [])
    assert run("receipts", "anchor", *check[2:3], "log", *check[3:]).exit_code == 3
    assert not Path("log").exists()
    for arguments, problem in (
        (["receipts", "verify", "nowhere", "--key", "auditor/key.pem"], "nowhere: No such file"),
        (["receipts", "verify", "auditor/statements.jsonl", "--key", "v.db"], "does not hold public Ed25519 keys"),
        (["live", "statements", "clinic", "--first", "9"], "There is no receipt 9: the newest is 2."),
        (["live", "key", "clinic", "--id", "x", "-o", "new"], "There is no one key whose id begins with 'x'"),
        (["live", "key", "clinic", "--new", "--at", "auditor/key.pem"], "There is a file auditor/key.pem already"),
        (["live", "key", "clinic", "--new", "--at", "clinic/key.pem"], "is in the folder of the live forest"),
        (["live", "anchor", "clinic", "clinic/log"], "is in the folder of the live forest"),
        (["live", "anchor", "clinic", "auditor"], "is a folder"),
    ):
        result = run(*arguments)
        assert (result.exit_code, problem in result.stderr, result.stderr.count("\n")) == (3, True, 1), result.stderr
    assert run("receipts", "verify", "auditor/statements.jsonl").exit_code == 2
    assert run("live", "key", "clinic", "--lost").exit_code == 2
    assert len(done("live", "key", "clinic")["keys"]) == 1


@pytest.mark.usefixtures("clinic")
def test_ways_out_are_commands() -> None:
    for arguments, way_out in (
        (["live", "statements", "clinic"], "`deciduous live key FOLDER --new` makes one."),
        (["live", "key", "clinic", "-o", "new"], "`deciduous live key FOLDER --new` makes one."),
        (["live", "check-against", "clinic", "v.db"], "say with --key whose signature"),
    ):
        result = run(*arguments)
        assert (result.exit_code, way_out in result.stderr) == (3, True), result.stderr
    done("live", "key", "clinic", "--new", "--at", "key.pem")
    result = run("live", "statements", "clinic")
    assert (
        "Say where it is with --signing-key, or, if it is lost, make another key: `deciduous live key" in result.stderr
    )
    assert "Say where it is with --former" in run("live", "key", "clinic", "--new").stderr
    signed("--signing-key", "key.pem")
    done("live", "key", "clinic", "--new", "--at", "second.pem", "--former", "key.pem")
    done("live", "key", "clinic", "--new", "--lost")
    assert len(done("live", "key", "clinic")["keys"]) == 3


def test_an_older_copy_that_is_put_back_is_told(clinic: Path) -> None:
    """By statements that were kept, and by a log of anchors."""
    done("live", "key", "clinic", "--new", "-o", "auditor/key.pem")
    shutil.copytree(clinic, "copy")
    done("live", "erase", "clinic", "u-3")
    signed()
    done("live", "anchor", "clinic", "auditor/anchors.log")
    compare = ["live", "check-against", "clinic", "auditor/statements.jsonl"]
    found = done(*compare, "--key", "auditor/key.pem")
    assert (found["matches"], found["outcome"], found["newest"], found["n_receipts"]) == (True, "continued", 4, 4)
    assert run(*compare).stdout == "The folder goes on from statement 4: it has 4 receipts now.\n"
    shutil.rmtree(clinic)
    shutil.copytree("copy", clinic)
    result = run(*compare)
    assert result.exit_code == 1
    assert result.stdout.startswith("NOT the folder that these statements tell of: the folder ends with number 2, and")
    result = run("live", "anchor", "clinic", "auditor/anchors.log")
    assert (result.exit_code, "an older copy was put back" in result.stderr) == (3, True)
    for _ in range(2):
        done("live", "receive", "clinic", "u-5")
        done("live", "erase", "clinic", "u-5")
    found = json.loads(run(*compare, "--json").stdout)
    assert (found["outcome"], found["matches"]) == ("forked", False)
    assert "and is the same up to statement 2" in found["problem"]


def test_another_process_may_have_it_open(clinic: Path) -> None:
    with LiveForest.open(clinic) as live:
        key = done("live", "key", "clinic", "--new")["keys"][0]["id"]
        assert live.status()["signing_key"] == key
        signed()
        assert Path("auditor/statements.jsonl").read_text().splitlines() == live.statements()
        done("live", "anchor", "clinic", "auditor/anchors.log")
        done("live", "check-against", "clinic", "auditor/statements.jsonl")


@pytest.mark.usefixtures("clinic")
def test_the_auditor_needs_no_database_library() -> None:
    """In a process that cannot import what live forests and models need."""
    done("live", "key", "clinic", "--new", "-o", "auditor/key.pem")
    signed()
    script = """
import sys
for name in ("sqlalchemy", "sklearn", "scipy", "pandas", "pyarrow", "psycopg"):
    sys.modules[name] = None
from deciduous.cli import main
sys.argv = ["deciduous", "receipts", "verify", "statements.jsonl", "--key", "key.pem", "--json"]
main()
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd="auditor", capture_output=True, text=True)
    assert (ended.returncode, json.loads(ended.stdout)["matches"]) == (0, True), ended.stderr
    without = script.replace('"sqlalchemy", ', '"cryptography", "sqlalchemy", ')
    ended = subprocess.run([sys.executable, "-c", without], cwd="auditor", capture_output=True, text=True)
    assert ended.returncode == 3
    assert "pip install 'deciduous[evidence]'" in json.loads(ended.stdout)["error"]
    assert subprocess.run([*PROGRAM, "receipts", "--help"], capture_output=True, check=True).stdout
