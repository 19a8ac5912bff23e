"""The command line: what commands do to files and tables is what the library does, and they say what went wrong."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import deciduous
from cli_runs import FEATURES, N_ROWS, PROGRAM, SMALL, all_commands, done, library_forest, loaded, run, visits
from deciduous import DareForestClassifier, FrozenForestClassifier
from deciduous._container import container, read_container
from deciduous._tables import csv as csv_source
from deciduous.cli.app import app
from deciduous.export import to_onnx, to_treelite
from deciduous.live import LiveForest
from live_tables import Database, add_patients, fresh_fingerprint, make_patients
from patience import LIMIT, wait_until

ROOT = Path(__file__).parents[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def csv(home: Path) -> str:
    visits().to_csv(home / "visits.csv", index=False)
    return "visits.csv"


@pytest.fixture
def model(csv: str) -> str:
    done("train", csv, "--target", "stay", "-o", "m.forest", *SMALL)
    return "m.forest"


# ----------------------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("path", list(all_commands(get_command(app))), ids=" ".join)
def test_every_command_helps_with_examples(path: tuple[str, ...]) -> None:
    """Its own examples, that begin with its own name; and each prints JSON if asked."""
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert f"  deciduous {' '.join(path)}" in result.stdout.split("Examples:")[1]
    assert "--json " in result.stdout.split("Options:")[1].split("Examples:")[0]


def test_every_command_of_the_plan_is_there() -> None:
    words = "train predict delete add update cost verify inspect rows tune freeze export serve demo bench version"
    live = "create sync verify watch erase receive refuse requests capture receipts status"
    evidence = "key statements opening anchor check-against"
    assert {" ".join(path) for path in all_commands(get_command(app)) if path[0] != "experiment"} == {
        *words.split(),
        *(f"live {name}" for name in (*live.split(), *evidence.split())),
        *(f"keys {name}" for name in ("create", "list", "revoke")),
        "receipts verify",
        "receipts anchor",
    }


def test_page_is_what_help_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make docs` would change nothing, and the table of exit codes is that of the program."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_cli = importlib.import_module("make_cli")
    text = make_cli.PAGE.read_text(encoding="utf-8")
    assert make_cli.page(text) == text
    from deciduous.cli._output import EXIT_CODES

    assert all(f"| {code} | {meaning} |" in text for code, meaning in EXIT_CODES.items())


def test_transcript_is_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands of it are run, in processes of their own, on real data."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    transcripts = importlib.import_module("make_transcript")
    shown = transcripts.transcript_of(transcripts.PAGE.read_text(encoding="utf-8"))
    assert "verify" in shown
    assert transcripts.masked(transcripts.run(shown)) == transcripts.masked(shown)


def documented_keys(command: str) -> set[str]:
    """The keys that docs/cli.md promises for a command, without what comes by options."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \|$", page, re.MULTILINE)
    text = next(keys for names, keys in rows if f"`{command}`" in names)
    return set(re.findall(r"`(\w[\w-]*)`", text.split(";")[0]))


def test_version() -> None:
    assert done("version").keys() == documented_keys("version")
    assert run("--version").stdout == f"deciduous {deciduous.__version__}\n"
    assert run("version").stdout.startswith(f"deciduous {deciduous.__version__} ")


# ------------------------------------------------------------------------------------------------------------- training


def test_training_gives_the_forest_of_the_library(model: str) -> None:
    """Down to the bytes of the forest; ids, subjects, names and categories are those of the file."""
    forest, expected = loaded(model), library_forest(visits())
    assert forest.fingerprint() == expected.fingerprint()
    assert forest.feature_names_in_.tolist() == FEATURES
    assert forest.categories_ == [None, ["north", "south", None], None, None]
    assert forest.subjects_ == expected.subjects_
    assert (forest.verbose, forest.n_jobs) == (0, None)  # of the command, not of the model


@pytest.mark.parametrize("kind", ["csv.gz", "tsv", "parquet", "feather", "arrows", "sqlite", "query"])
def test_every_source_gives_the_same_forest(model: str, kind: str) -> None:
    """Whatever the container, the same rows are the same forest."""
    table, where = visits(), [f"same.{kind}"]
    if kind == "csv.gz":
        table.to_csv(where[0], index=False)
    elif kind == "tsv":
        table.to_csv(where[0], index=False, sep="\t")
    elif kind == "parquet":
        table.astype({"ward": "category"}).to_parquet(where[0])
    elif kind == "feather":
        table.to_feather(where[0])
    elif kind == "arrows":
        content = pa.Table.from_pandas(table)
        with pa.ipc.new_stream(where[0], content.schema) as stream:
            stream.write_table(content, max_chunksize=50)
    else:
        with sqlite3.connect("same.db") as connection:
            table.to_sql("visits", connection, index=False)
        connection.close()
        of_table = ["--table", "visits"] if kind == "sqlite" else ["--query", "select * from visits where id > 0;"]
        where = ["sqlite:///same.db", *of_table]
    result = done("train", *where, "--target", "stay", "-o", "other.forest", *SMALL)
    assert result["fingerprint"] == loaded(model).fingerprint()
    assert result.keys() == documented_keys("train")


def test_postgres_gives_the_same_forest(postgres_database: Database, model: str) -> None:
    visits().to_sql("visits", postgres_database.engine, index=False)
    result = done("train", postgres_database.url, "--table", "visits", "--target", "stay", "-o", "o.forest", *SMALL)
    assert result["fingerprint"] == loaded(model).fingerprint()


def test_guesses_are_said(csv: str) -> None:
    result = run("train", csv, "--target", "stay", "-o", "m.forest", *SMALL)
    assert "Guessed: 'id' names the rows" in result.stderr
    assert "Guessed: 'person_id' says to whom a row belongs" in result.stderr
    assert "3 columns of numbers, 1 of categories: ward (2)" in result.stderr
    assert "Left out: 'name'" in result.stderr
    assert "Guessed" not in result.stdout


def test_what_is_said_overrides_guesses(csv: str) -> None:
    drops = ["--drop", "id,name", "--drop", "ward"]
    chosen = ["--number-rows", "--subject", "beds", "--categorical", "person_id"]
    others = ["--set", "min_samples_leaf=3", "--set", "class_weight=balanced"]
    result = done("train", csv, "--target", "stay", *drops, *chosen, *others, "-o", "m.forest", *SMALL)
    assert (result["id"], result["subject"]) == (None, "beds")
    forest = loaded("m.forest")
    assert forest.ids_.tolist() == list(range(N_ROWS))
    assert forest.feature_names_in_.tolist() == ["age", "urgent", "person_id"]
    assert forest.subjects_ == [1, 2, 3, 4]
    assert len(forest.categories_[2] or ()) == N_ROWS // 3
    assert (forest.min_samples_leaf, forest.class_weight) == (3, "balanced")


@pytest.mark.usefixtures("home")
def test_quotes_and_names_in_any_script() -> None:
    """Separators and lines within quotes, names that are not ASCII, a byte-order mark: what pandas makes of it, too."""
    rows = [f'{i};"a, b{i % 3}";"x\ny""{i % 2}";{i / 7:.3f};{"да" if i % 2 else "нет"}' for i in range(60)]
    header = '"id";"na, me, or";"ünï ""q"" cödé";数;ответ'
    Path("odd.csv").write_text("\n".join(["", header, *rows]), encoding="utf-8-sig")
    result = run("train", "odd.csv", "--target", "ответ", "-o", "m.forest", *SMALL)
    assert result.exit_code == 0, result.output
    assert "separated by ';'" in result.stderr
    forest, table = loaded("m.forest"), pd.read_csv("odd.csv", sep=";")
    assert forest.feature_names_in_.tolist() == ["na, me, or", 'ünï "q" cödé', "数"]
    assert (forest.classes_.tolist(), forest.categories_[1]) == (["да", "нет"], ['x\ny"0', 'x\ny"1'])
    lines = [json.loads(line) for line in run("predict", "m.forest", "odd.csv", "--json").stdout.splitlines()]
    assert [its["prediction"] for its in lines] == forest.predict(table[forest.feature_names_in_]).tolist()


@pytest.mark.usefixtures("home")
def test_an_index_of_pandas_names_the_rows() -> None:
    """A first column without a name is not something to split on."""
    table = visits()[["age", "beds", "stay"]].set_index(np.arange(N_ROWS) + 7)
    table.to_csv("indexed.csv")
    assert done("train", "indexed.csv", "--target", "stay", "-o", "m.forest", *SMALL)["id"] == ""
    forest = loaded("m.forest")
    assert forest.feature_names_in_.tolist() == ["age", "beds"]
    assert forest.ids_.tolist() == table.index.tolist()


@pytest.mark.usefixtures("home")
def test_nested_columns_are_left_out() -> None:
    table = visits()
    table["lists"] = [[1, 2]] * N_ROWS
    table["records"] = [{"u": 1.0, "v": 2.0}] * N_ROWS
    table.to_parquet("nested.parquet")
    result = run("train", "nested.parquet", "--target", "stay", "-o", "m.forest", *SMALL)
    assert result.exit_code == 0, result.output
    assert all(f"Left out: {name!r}, which holds values of the type" in result.stderr for name in ("lists", "records"))
    assert loaded("m.forest").fingerprint() == library_forest(visits()).fingerprint()


def test_columns_that_turn_into_text_late(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, labels and features that begin as numbers are what the whole file says they are."""
    monkeypatch.setattr(csv_source, "BLOCK", 256)
    rows = [f"{i},{i % 3},{i % 2}" for i in range(200)] + [f"x{i},red,{i % 2}.0" for i in range(200)]
    (home / "late.csv").write_text("\n".join(["id,colour,y", *rows]))
    result = done("train", "late.csv", "-o", "m.forest", *SMALL)
    assert (result["target"], result["n_rows"]) == ("y", 400)
    forest = loaded("m.forest")
    assert forest.categories_ == [["0", "1", "2", "red"]]
    assert forest.classes_.tolist() == [0.0, 1.0]
    assert "x7" in forest.ids_.tolist()


def test_rows_without_label_are_left_out(home: Path) -> None:
    table = visits()
    table.loc[table["id"] < 110, "stay"] = None
    for name, write in (("v.csv", table.to_csv), ("v.parquet", table.to_parquet)):
        write(home / name, index=False)
        result = run("train", name, "--target", "stay", "-o", f"{name}.forest", *SMALL)
        assert result.exit_code == 0, result.output
        assert "10 rows without a label" in result.stderr
        assert loaded(f"{name}.forest").fingerprint() == library_forest(table[table["id"] >= 110]).fingerprint()


def test_tune_finds_and_trains(csv: str) -> None:
    grid = ["--trees", "3,5", "--depth", "2,4", "--thresholds", "5", "--folds", "2", "--seed", "1"]
    found = done("tune", csv, "--target", "stay", *grid)
    assert found.keys() == documented_keys("tune")
    assert found["params"]["n_estimators"] in (3, 5)
    trained = done("tune", csv, "--target", "stay", *grid, "-o", "m.forest", "--resume", "tuning.jsonl")
    assert trained["params"] == found["params"]
    forest = loaded("m.forest")
    assert forest.get_params()["n_estimators"] == found["params"]["n_estimators"]
    assert forest.ids_of(["u-1"]) == [103, 104, 105]
    assert (
        "cross-validated on 240 rows" in run("tune", csv, "--target", "stay", *grid, "--resume", "tuning.jsonl").stdout
    )


# ------------------------------------------------------------------------------------------------------------- updating


def test_delete_verify_and_add_back(model: str) -> None:
    """The file is then that of a fresh fit, and in the end the first one again."""
    before = loaded(model).fingerprint()
    cost = done("cost", model, "--ids", "117,142")
    deleted = done("delete", model, "--ids", "117, 142")
    assert deleted.keys() == documented_keys("delete")
    assert {name: deleted[name] for name in cost} == cost
    table = visits()
    gone = table["id"].isin([117, 142])
    assert deleted["fingerprint"] == library_forest(table[~gone]).fingerprint() == loaded(model).fingerprint()
    verified = done("verify", model)
    assert verified.keys() == documented_keys("verify")
    assert (verified["matches"], verified["n_rows"]) == (True, N_ROWS - 2)
    table[gone].to_csv("back.csv", index=False)
    added = done("add", model, "back.csv", "--target", "stay")
    assert (added["ids"], added["fingerprint"]) == ([117, 142], before)


def test_delete_of_subjects_and_of_ids_in_a_file(model: str) -> None:
    assert done("delete", model, "--subject", "u-1", "--subject", "u-2", "-o", "new.forest")["n_rows"] == 6
    assert loaded(model).n_rows_ == N_ROWS  # the result is elsewhere
    Path("ids.txt").write_text("101\n102\n\n")
    assert done("delete", "new.forest", "--ids-file", "ids.txt")["n_rows_left"] == N_ROWS - 8
    piped = CliRunner().invoke(app, ["delete", "new.forest", "--ids-file", "-", "--json"], input="110\n111\n")
    assert json.loads(piped.stdout)["ids"] == [110, 111]


def test_costs_of_each_row(model: str) -> None:
    costs = done("cost", model, "--ids", "101,102,103", "--each")["costs"]
    expected = loaded(model).deletion_costs([101, 102, 103]).tolist()
    assert [its["n_rows_retrained"] for its in costs] == expected
    assert "u-0: " in run("cost", model, "--subject", "u-0", "--each").stdout


@pytest.mark.usefixtures("home")
def test_rows_named_by_text_and_uuid() -> None:
    """Ids that look like numbers are still text if the forest's are."""
    table = visits().drop(columns=["name", "person_id"])
    for kind in ("text", "uuid"):
        names = [f"v{i}" if i else "17" for i in range(N_ROWS)]
        if kind == "uuid":
            import uuid

            names = [uuid.UUID(int=i) for i in range(N_ROWS)]
        forest = DareForestClassifier(3, random_state=0).fit(table[["age", "beds"]], table["stay"], ids=names)
        forest.save("t.forest")
        assert done("delete", "t.forest", "--ids", str(names[0]))["n_rows"] == 1
        table.assign(id=[str(name) for name in names]).iloc[:1].to_csv("back.csv", index=False)
        added = done("add", "t.forest", "back.csv", "--target", "stay")
        assert added["fingerprint"] == forest.fingerprint()


@pytest.mark.usefixtures("home")
def test_added_rows_get_fresh_numbers_and_the_only_other_column_is_the_target() -> None:
    table = visits()[["age", "beds", "stay"]]
    table.to_csv("t.csv", index=False)
    done("train", "t.csv", "--target", "stay", "-o", "t.forest", *SMALL)
    table.iloc[:3].to_csv("more.csv", index=False)
    added = run("add", "t.forest", "more.csv", "--number-rows")
    ids = sorted(set(loaded("t.forest").ids_.tolist()) - set(range(240)))
    assert len(ids) == 3
    assert f"Their ids are {ids[0]} to {ids[-1]}.\n" in added.stdout
    assert "they get fresh numbers" in added.stderr
    again = done("add", "t.forest", "more.csv")["ids"]
    assert set(again) == set(loaded("t.forest").ids_.tolist()) - {*range(240), *ids}
    assert done("delete", "t.forest", "--ids", ",".join(map(str, ids)))["n_rows_left"] == 243


def test_verify_tells_a_forest_that_retraining_does_not_give(model: str) -> None:
    """A tree of another seed, in a file with right checksums."""
    other = library_forest(visits(), random_state=4)
    sections = dict(read_container(memoryview(Path(model).read_bytes())))
    sections["tree00000001"] = read_container(memoryview(other.to_bytes()))["tree00000001"]
    Path("odd.forest").write_bytes(b"".join(container(sections)))
    result = run("verify", "odd.forest", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["matches"] is False
    assert "tree 1" in json.loads(result.stdout)["problem"]
    assert run("verify", "odd.forest").stdout.startswith("NOT the forest")


# ----------------------------------------------------------------------------------------------- predicting and looking


def test_predictions_in_all_formats_are_those_of_the_library(csv: str, model: str) -> None:
    table, forest = visits(), loaded(model)
    shares = forest.predict_proba(table[FEATURES])
    for out, read in (
        ("p.csv", pd.read_csv),
        ("p.parquet", pd.read_parquet),
        ("p.jsonl", lambda path: pd.read_json(path, lines=True)),
    ):
        assert done("predict", model, csv, "--proba", "-o", out)["n_rows"] == N_ROWS
        written = read(out)
        assert written["id"].tolist() == table["id"].tolist()
        assert written["prediction"].tolist() == forest.predict(table[FEATURES]).tolist()
        assert np.allclose(written[["p_long", "p_short"]], shares, rtol=0, atol=1e-12)
    assert not list(Path().glob(".p.*"))
    lines = run("predict", model, csv, "--json").stdout.splitlines()
    assert json.loads(lines[0]) == {"id": 100, "prediction": forest.predict(table[FEATURES][:1])[0]}
    assert run("predict", model, csv).stdout.splitlines()[0] == '"id","prediction"'


def test_predictions_of_frozen_forests_and_of_forests_without_names(csv: str, model: str) -> None:
    done("freeze", model, "-o", "m.frozen")
    assert isinstance(deciduous.load("m.frozen"), FrozenForestClassifier)
    assert run("predict", "m.frozen", csv).stdout == run("predict", model, csv).stdout
    table = visits()[["age", "beds"]]
    DareForestClassifier(3, random_state=0).fit(table.to_numpy(), visits()["stay"]).save("array.forest")
    table.to_csv("two.csv", index=False)
    lines = run("predict", "array.forest", "two.csv").stdout.splitlines()
    assert (lines[0], len(lines)) == ('"row","prediction"', N_ROWS + 1)
    assert lines[1].startswith("0,")


def test_inspect(model: str) -> None:
    result = done("inspect", model, "--tree", "0", "--importances", "--check")
    assert result.keys() >= documented_keys("inspect")
    assert (result["n_rows"], result["n_trees"], result["problem"]) == (N_ROWS, 5, None)
    assert set(result["importances"]) == set(FEATURES)
    assert "random_state" not in json.dumps(result)
    shown = run("inspect", model, "--tree", "0", "--importances").stdout
    assert all(text in shown for text in ("ward (3)", "fingerprint", "Importances", "tree 0: 240 rows"))
    done("freeze", model, "-o", "m.frozen")
    assert done("inspect", "m.frozen")["kind"] == "frozen"


def test_ids_are_listed_for_other_programs(model: str) -> None:
    """What is printed can be read by `--ids-file`."""
    Path("ids.txt").write_text(run("inspect", model, "--ids").stdout)
    assert Path("ids.txt").read_text().splitlines() == [str(id) for id in visits()["id"]]
    assert done("inspect", model, "--ids", "--check")["ids"] == visits()["id"].tolist()
    assert done("delete", model, "--ids-file", "ids.txt")["n_rows_left"] == 0
    assert run("inspect", model, "--ids").stdout == ""


def test_keys_are_those_of_the_page(csv: str, model: str) -> None:
    """Of the commands whose results are not looked at elsewhere."""
    keys = {
        "add": done("add", model, csv, "--target", "stay", "--number-rows").keys(),
        "cost": done("cost", model, "--ids", "117").keys(),
        "freeze": done("freeze", model, "-o", "m.frozen").keys() - {"n_trees", "n_nodes"},
        "export": done("export", model, "-o", "m.txt").keys() - {"format"},
        "experiment data": done("experiment", "data", "--data", ".").keys(),
    }
    assert {command: set(its) for command, its in keys.items()} == {
        command: documented_keys(command) - {"n_trees", "n_nodes", "format"} for command in keys
    }
    assert done("predict", model, csv, "-o", "p.csv").keys() == {"model", "out", "format", "n_rows"}


@pytest.mark.parametrize("name", ["m.onnx", "m.tl", "m.txt"])
def test_export(model: str, name: str) -> None:
    result = done("export", model, "-o", name)
    content = Path(name).read_bytes()
    assert result["bytes"] == len(content)
    if name == "m.onnx":
        import onnx

        onnx.checker.check_model(onnx.load(name))
    elif name == "m.tl":
        import treelite

        assert treelite.Model.deserialize(name).num_tree == 5
    else:
        assert content.decode().count("tree ") == 5


def test_export_of_a_frozen_model(model: str) -> None:
    """What predicts can be exported; text tells of rows, which it does not hold."""
    done("freeze", model, "-o", "m.frozen")
    done("export", "m.frozen", "-o", "m.onnx")
    done("export", "m.frozen", "-o", "m.tl")
    assert Path("m.onnx").read_bytes() == to_onnx(deciduous.load("m.frozen")).SerializeToString()
    assert Path("m.tl").read_bytes() == to_treelite(deciduous.load("m.frozen")).serialize_bytes()
    refused = run("export", "m.frozen", "-o", "m.txt")
    assert refused.exit_code == 3
    assert "A frozen forest has no `tree_view`" in refused.stderr


@pytest.mark.usefixtures("home")
def test_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = run("bench", "--list")
    assert missing.exit_code == 3
    assert "Get the repository" in missing.stderr
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert "adult" in run("bench", "--list").stdout
    assert "adult" in done("bench", "--list")["cases"]


def test_demo(home: Path) -> None:
    """One object; the story is on stderr."""
    result = run("demo", "--quick", "--rows", "1000", "--trees", "2", "--out", home / "shown", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told.keys() == documented_keys("demo")
    assert told["exact"]
    assert told["setting"]["n_rows"] == 1000
    assert told["proof"]["retrained"] in result.stderr
    assert "<h1>" in Path(told["page"]).read_text(encoding="utf-8")
    refused = run("demo", "--quick", "--out", home)
    assert refused.exit_code == 3
    assert "not of the demonstration" in refused.stderr


def test_bench_keeps_stdout_for_json(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object; how far it is, and the files that it wrote, are on stderr."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    result = run("bench", "report", "--out", home / "bench", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout).keys() == documented_keys("bench")
    assert str(home / "bench" / "report.md") in result.stderr
    assert run("bench", "--only", "nonsense", "--json").exit_code == 2


@pytest.mark.usefixtures("home")
def test_experiments_keep_stdout_for_json() -> None:
    """One object; bars and what has no result are on stderr."""
    where = ["--data", "data", "--out", "runs", "--scale", "smoke", "--offline"]
    result = run("experiment", "batch", "--only", "synthetic", "--only", "surgical", *where, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told.keys() == documented_keys("experiment …")
    assert (told["done"], list(told["without_result"])) == (1, ["data surgical seed 1"])
    assert "surgical" in result.stderr
    assert Path(told["results"]).exists()
    assert done("experiment", "report", "--scale", "smoke", "--out", "runs") == {"report": told["report"]}
    missing = run("experiment", "fetch", "surgical", "--data", "data", "--json")
    assert missing.exit_code == 3
    assert "no public loader" in json.loads(missing.stdout)["error"]


# ------------------------------------------------------------------------------------------------------------ bad input


BAD: dict[str, tuple[list[str], int, str]] = {
    "no such option": (["train", "visits.csv", "--trget", "stay"], 2, "No such option"),
    "no out": (["train", "visits.csv"], 2, "--out"),
    "no trees": (["train", "visits.csv", "-o", "x", "--trees", "0"], 2, "--trees"),
    "no rows named": (["delete", "m.forest"], 2, "--ids"),
    "rows named twice": (["delete", "m.forest", "--ids", "1", "--subject", "u"], 2, "--ids"),
    "odd numbers": (["tune", "visits.csv", "--trees", "many"], 2, "'many'"),
    "odd format": (["predict", "m.forest", "visits.csv", "-o", "x.doc"], 2, "--format"),
    "parquet on stdout": (["predict", "m.forest", "visits.csv", "--format", "parquet"], 2, "--out"),
    "no ids": (["delete", "m.forest", "--ids", " , "], 2, "--ids takes ids"),
    "ids and more": (["inspect", "m.forest", "--ids", "--check"], 2, "--json"),
    "no threads": (["train", "visits.csv", "-t", "stay", "-o", "x", "--jobs", "0"], 2, "-1 for all processors"),
    "odd export": (["export", "m.forest", "-o", "x.doc"], 2, "--format"),
    "no folder": (["train", "visits.csv", "-t", "stay", "-o", "nowhere/x"], 3, "There is no folder nowhere"),
    "folder to write": (["delete", "m.forest", "--ids", "117", "-o", "."], 3, "is a folder"),
    "folder to read": (["train", ".", "-o", "x"], 3, ". is a folder"),
    "no file": (["train", "none.csv", "-o", "x"], 3, "There is no file none.csv"),
    "odd name": (["train", "m.forest", "-o", "x"], 3, "cannot be told from its name"),
    "table of a file": (["train", "visits.csv", "--table", "a", "-o", "x"], 3, "are for databases"),
    "database without table": (["train", "sqlite:///a.db", "-o", "x"], 3, "--table or --query"),
    "no such table": (["train", "sqlite:///a.db", "--table", "t", "-t", "y", "-o", "x"], 3, "no table or view 't'"),
    "no database": (["train", "sqlite:///none.db", "--table", "t", "-o", "x"], 3, "There is no database none.db"),
    "nothing to follow": (["live", "create", "sqlite:///none.db", "f", "--id", "i", "-t", "y"], 3, "none.db"),
    "no URL": (["live", "create", "clinic.db", "f", "--id", "i", "-t", "y"], 3, "clinic.db is not the URL"),
    "no table to follow": (["live", "create", "sqlite:///a.db", "f", "--id", "i", "-t", "y"], 3, "--table or --query"),
    "no such kind of database": (["train", "odd://a", "--table", "t", "-o", "x"], 3, "no kind of database 'odd'."),
    "no server": (["train", "postgresql://a:secret@127.0.0.1:1/b", "--table", "t", "-o", "x"], 3, "The database says:"),
    "no target": (["train", "visits.csv", "-o", "x"], 3, "--target"),
    "no such column": (["train", "visits.csv", "--target", "nope", "-o", "x"], 3, "no column 'nope'"),
    "one column twice": (["train", "visits.csv", "-t", "stay", "--id", "stay", "-o", "x"], 3, "different columns"),
    "numbers as labels": (
        ["train", "visits.csv", "--target", "age", "--task", "classification", "-o", "x"],
        3,
        "but labels are classes",
    ),
    "ids twice": (["train", "visits.csv", "-t", "stay", "--id", "beds", "-o", "x"], 3, "twice or more"),
    "ids missing": (["train", "visits.csv", "-t", "stay", "--id", "ward", "-o", "x"], 3, "in column 'ward'"),
    "odd parameter": (["train", "visits.csv", "-t", "stay", "--set", "trees=3", "-o", "x"], 3, "takes NAME=VALUE"),
    "parameter that no forest has": (
        ["train", "visits.csv", "-t", "stay", "--set", "warm_start=true", "-o", "x"],
        3,
        "There is no parameter 'warm_start': a forest is a function of",
    ),
    "parameter with an option": (["train", "visits.csv", "-o", "x", "--set", "n_jobs=2"], 3, "n_jobs by --jobs"),
    "odd value": (["train", "visits.csv", "-t", "stay", "--set", "criterion=best", "-o", "x"], 3, "criterion must be"),
    "empty file": (["train", "empty.csv", "-o", "x"], 3, "is empty"),
    "empty compressed file": (["train", "empty.csv.gz", "-o", "x"], 3, "empty.csv.gz is empty"),
    "half a compressed file": (["train", "half.csv.gz", "-t", "y", "-o", "x"], 3, "half.csv.gz cannot be read"),
    "no Parquet file": (["train", "odd.parquet", "-t", "y", "-o", "x"], 3, "odd.parquet cannot be read"),
    "broken Parquet file": (["train", "broken.parquet", "-t", "stay", "-o", "x"], 3, "broken.parquet cannot be read"),
    "half an Arrow file": (["train", "half.arrow", "-t", "stay", "-o", "x"], 3, "half.arrow cannot be read"),
    "no Arrow file": (["train", "odd.arrow", "-t", "y", "-o", "x"], 3, "odd.arrow cannot be read"),
    "nested target": (["train", "nested.parquet", "-t", "s", "-o", "x"], 3, "Column 's' of nested.parquet cannot be"),
    "infinity": (["train", "infinite.csv", "-t", "y", "-o", "x"], 3, "Row 3 holds inf in column 'a'"),
    "too large": (["predict", "m.forest", "large.csv"], 3, "Row 200 holds 1e+39 in column 'age'"),
    "no labels": (["train", "unlabelled.csv", "-t", "y", "-o", "x"], 3, "no rows with a value in"),
    "ragged file": (["train", "ragged.csv", "-t", "y", "-o", "x"], 3, "Expected 2 columns, got 3"),
    "names twice": (["train", "twice.csv", "-t", "y", "-o", "x"], 3, "more than one column 'y'"),
    "no rows": (["train", "header.csv", "-t", "y", "-o", "x"], 3, "no rows with a value in"),
    "not text": (["train", "latin.csv", "-t", "y", "-o", "x"], 3, "latin.csv is not text in UTF-8"),
    "only a target": (["train", "header.csv", "-t", "y", "--drop", "a", "-o", "x"], 3, "header.csv"),
    "no model": (["verify", "none.forest"], 3, "There is no model none.forest"),
    "a folder": (["predict", ".", "visits.csv"], 3, "is a folder"),
    "no model inside": (["verify", "visits.csv"], 3, "not a model that can be loaded"),
    "unknown rows": (["delete", "m.forest", "--ids", "7"], 3, "does not hold the rows 7"),
    "what rows there are": (["delete", "m.forest", "--ids", "7"], 3, "`deciduous inspect --ids` lists the 240 rows"),
    "no file of ids": (["delete", "m.forest", "--ids-file", "none.txt"], 3, "none.txt: No such file"),
    "file of other things": (["delete", "m.forest", "--ids-file", "latin.csv"], 3, "latin.csv is not text in UTF-8"),
    "ids of another kind": (["delete", "m.forest", "--ids", "seven"], 3, "named by whole numbers"),
    "unknown subject": (["delete", "m.forest", "--subject", "nobody"], 3, "no rows of nobody"),
    "rows that are there": (["add", "m.forest", "visits.csv", "-t", "stay"], 3, "or use --number-rows"),
    "columns missing": (["predict", "m.forest", "header.csv"], 3, "no column 'age'"),
    "column of another kind": (["predict", "m.forest", "worded.csv"], 3, "Column 'age' of worded.csv is not"),
    "frozen": (["delete", "m.frozen", "--ids", "7"], 3, "it only predicts"),
    "frozen trees": (["inspect", "m.frozen", "--importances"], 3, "it only predicts"),
    "no live forest": (["live", "status", "."], 3, "`deciduous live create` makes one"),
    "no live folder": (["live", "sync", "nowhere"], 3, "nowhere"),
    "certificate to nowhere": (["live", "receipts", ".", "--certificate", "1"], 2, "--out"),
}  # fmt: skip


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sound files and odd ones; no command may change it."""
    folder = tmp_path_factory.mktemp("odd")
    table = visits()
    table.to_csv(folder / "visits.csv", index=False)
    forest = library_forest(table)
    forest.save(folder / "m.forest")
    forest.save(folder / "m.frozen", frozen=True)
    table.assign(age="old").to_csv(folder / "worded.csv", index=False)
    table.assign(age=np.where(np.arange(N_ROWS) == 199, 1e39, 40.0)).to_csv(folder / "large.csv", index=False)
    contents = {
        "empty": b"",
        "ragged": b"a,y\n1,2\n1,2,3\n",
        "twice": b"y,y\n1,2\n",
        "header": b"a,y\n",
        "latin": b"a,y\n\xff,1\n",
        "infinite": b"a,y\n1,0\n2,\ninf,1\n",
        "unlabelled": b"a,y\n1,\n2,NaN\n",
    }
    for name, content in contents.items():
        (folder / f"{name}.csv").write_bytes(content)
    (folder / "empty.csv.gz").write_bytes(gzip.compress(b""))
    (folder / "half.csv.gz").write_bytes(gzip.compress((folder / "visits.csv").read_bytes())[:2000])
    table.to_parquet(folder / "broken.parquet")
    with open(folder / "broken.parquet", "r+b") as file:
        file.seek(100)
        file.write(bytes(3000))
    (folder / "odd.parquet").write_bytes(b"a,y\n1,2\n")
    (folder / "odd.arrow").write_bytes(b"a,y\n1,2\n")
    content = pa.Table.from_pandas(table)
    with pa.ipc.new_stream(folder / "half.arrow", content.schema) as stream:
        stream.write_table(content, max_chunksize=50)
    os.truncate(folder / "half.arrow", (folder / "half.arrow").stat().st_size // 2)
    pd.DataFrame({"a": [1, 2], "s": [{"u": 1}, {"u": 2}]}).to_parquet(folder / "nested.parquet")
    sqlite3.connect(folder / "a.db").execute("VACUUM").connection.close()
    return folder


def contents_of(folder: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_bad_input_is_a_sentence_and_an_exit_code(
    odd_files: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[list[str], int, str]
) -> None:
    """No traceback, nothing on stdout, no file written; with --json the message is there, too."""
    monkeypatch.chdir(odd_files)
    command, code, message = arguments
    before = contents_of(odd_files)
    result = run(*command)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert message in " ".join(result.stderr.split())
    assert "secret" not in result.stderr
    told = json.loads(run(*command, "--json").stdout) if "--json" not in message else {"error": message, "exit_code": 2}
    assert message in told["error"]
    assert "\n" not in told["error"]
    assert told["exit_code"] == code
    assert contents_of(odd_files) == before


def test_ways_out_are_commands(csv: str, model: str) -> None:
    """What the library tells to do in Python is told as options."""
    refused = run("add", model, csv, "--target", "stay")
    assert refused.exit_code == 3
    assert refused.stderr.endswith("or use --number-rows to get fresh ones.\n")
    with sqlite3.connect("visits.db") as connection:
        visits().to_sql("visits", connection, index=False)
    connection.close()
    table = ["--table", "visits", "--id", "id", "--target", "stay"]
    refused = run("live", "create", "sqlite:///visits.db", "clinic", *table)
    assert refused.exit_code == 3
    assert "Leave it out with --columns, " in refused.stderr
    assert "or name it with --categorical if" in refused.stderr


def test_an_extra_that_is_missing_is_named(csv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("train", csv, "--target", "stay", "-o", "m.forest")
    assert result.exit_code == 3
    assert "deciduous[cli]" in result.stderr


def test_a_driver_that_is_missing_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    result = run("train", "postgresql://me@nowhere/clinic", "--table", "patients", "-o", home / "m.forest")
    assert result.exit_code == 3
    assert "This needs psycopg. Install it with: pip install 'deciduous[postgres]'" in result.stderr


# ---------------------------------------------------------------------------------------------------------- live tables


def init(database: Database, *options: str) -> dict[str, Any]:
    columns = ["--id", "id", "--target", "readmitted", "--subject", "person_id"]
    return done("live", "create", database.url, "clinic", "--table", "patients", *columns, *SMALL, *options)


def test_life_of_a_live_forest(database: Database, home: Path) -> None:
    """Made, synced, a person erased, verified, filed; each step as the library does it."""
    make_patients(database)
    made = init(database)
    assert made.keys() >= documented_keys("live create")
    database.run("DELETE FROM patients WHERE id = 17")
    synced = done("live", "sync", "clinic")
    assert synced.keys() == documented_keys("live sync")
    assert (synced["n_deleted"], synced["n_rows"], synced["receipts"]) == (1, 119, [2])
    erased = done("live", "erase", "clinic", "u-20", "--key", "request 1")
    assert (erased["request"]["state"], erased["sync"]["n_deleted"]) == ("applied", 3)
    again = done("live", "erase", "clinic", "u-20", "--key", "request 1")
    reference = erased["request"]["id"]
    assert (again["request"]["id"], again["sync"]) == (reference, None)
    assert done("verify", "clinic")["fingerprint"] == erased["sync"]["fingerprint"]
    database.run("DELETE FROM patients WHERE id = 3")
    stale = run("verify", "clinic")
    assert stale.exit_code == 5
    assert stale.stdout.startswith("Not compared: the table has changed since the last sync")
    assert "-1" in run("live", "sync", "clinic").stdout
    with LiveForest.open(home / "clinic") as live:
        assert live.forest.fingerprint() == fresh_fingerprint(database, live)
        while_open = done("live", "status", "clinic")
        assert while_open["n_rows"] == 115
        assert done("live", "sync", "clinic")["receipts"] == []  # handed over
    where = ["--url", f"sqlite:///{home}/moved.db"]
    for command in (["live", "sync", "clinic"], ["verify", "clinic"]):
        moved = run(*command, *where)
        assert (moved.exit_code, moved.stdout) == (3, "")
        assert f"There is no database {home}/moved.db. Say with --url where it is now." in moved.stderr
    assert done("live", "receipts", "clinic", "--request", reference, *where)["receipts"]
    assert not (home / "moved.db").exists()
    receipts = done("live", "receipts", "clinic")["receipts"]
    assert [its["kind"] for its in receipts] == ["created", "synced", "received", "synced", "verified", "synced"]
    assert [its["number"] for its in done("live", "receipts", "clinic", "--request", reference)["receipts"]] == [
        3,
        4,
        5,
    ]
    done("live", "receipts", "clinic", "--certificate", "4", "-o", "page.html")
    assert "<html" in Path("page.html").read_text()
    done("live", "receipts", "clinic", "-o", "all.json")
    assert len(json.loads(Path("all.json").read_text())["receipts"]) == 6
    assert "verified" in run("live", "receipts", "clinic").stdout
    assert "requests open" in run("live", "status", "clinic").stdout


@pytest.mark.usefixtures("home")
def test_capture_is_installed_and_removed(database: Database) -> None:
    """Syncs say how they found what changed."""
    make_patients(database)
    init(database)
    methods = []
    for number, command in enumerate((None, ["clinic"], ["clinic", "--remove"])):
        if command is not None:
            result = done("live", "capture", *command)
            assert result.keys() == documented_keys("live capture")
            assert result["captures"] is ("--remove" not in command)
        done("live", "sync", "clinic")  # the first one after an installation compares
        database.run(f"DELETE FROM patients WHERE id = {number + 1}")
        methods.append(done("live", "sync", "clinic")["method"])
    assert methods == ["comparison", "capture", "comparison"]


@pytest.mark.usefixtures("home")
def test_lost_triggers_name_the_command_that_puts_them_back(sqlite_database: Database) -> None:
    make_patients(sqlite_database)
    init(sqlite_database, "--capture")
    names = sqlite_database.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in names:
        sqlite_database.run(f'DROP TRIGGER "{name}"')
    assert "`deciduous live capture` puts them back" in run("live", "sync", "clinic").stdout


def lines_of(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


@pytest.mark.parametrize(("how", "capture"), [("SIGINT", True), ("SIGTERM", False)], ids=["capture", "comparison"])
def test_watch_syncs_on_change_and_ends_cleanly(database: Database, home: Path, how: str, capture: bool) -> None:
    """A real process: a line for each change, a snapshot after it, and exit code 0 with a signal.

    With capture PostgreSQL notifies, so a change is there long before the next look, which would come after 10 minutes.
    """
    make_patients(database)
    init(database, *["--capture"] * capture)
    every = "600" if capture and not database.is_sqlite else "0.05"
    watcher = subprocess.Popen(
        [*PROGRAM, "live", "watch", "clinic", "--every", every, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        lines = lines_of(watcher)
        assert next(lines)["receipts"] == []
        for number, id in enumerate((17, 18, 19), start=2):
            database.run("DELETE FROM patients WHERE id = :id", id=id)
            line = next(lines)
            assert (line["n_deleted"], line["receipts"]) == (1, [number])
        add_patients(database, [500])
        assert next(lines)["n_added"] == 1
        wait_until(lambda: list((home / "clinic").glob("snapshot-*")), "a snapshot was stored")
        watcher.send_signal(getattr(signal, how))
        _, errors = watcher.communicate(timeout=LIMIT)
        assert (watcher.returncode, errors) == (0, "Stopped.\n")
    finally:
        watcher.kill()
        watcher.communicate()
    assert list((home / "clinic").glob("snapshot-*"))
    assert done("verify", "clinic")["n_rows"] == 118
