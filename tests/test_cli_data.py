"""What is read: the same rows give the same forest from every source, and what is odd in CSV is understood or told."""

from __future__ import annotations

import datetime
import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet
from typer.testing import CliRunner

from cli_runs import SMALL, done, loaded, run
from deciduous import DareForestClassifier
from deciduous._tables import csv as csv_source
from deciduous.cli.app import app

N_ROWS = 120
DAY = datetime.date(2024, 2, 27)
NOON = datetime.datetime(2024, 2, 27, 12, 30)


def typed_table() -> pa.Table:
    """A column of each kind, with and without nulls, that trees can split on."""
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 40, N_ROWS)
    some = rng.random(N_ROWS) < 0.2

    def with_nulls(values: list[Any]) -> list[Any]:
        return [None if gone else value for value, gone in zip(values, some.tolist(), strict=True)]

    columns: dict[str, Any] = {
        "id": [f"{i:05}" for i in range(N_ROWS)],
        "ints": numbers,
        "ints with nulls": pa.array(with_nulls(numbers.tolist()), pa.int64()),
        "floats": rng.normal(size=N_ROWS).round(3),
        "floats with nulls": with_nulls(rng.normal(size=N_ROWS).round(3).tolist()),
        "bools": numbers % 2 == 0,
        "dates": [DAY + datetime.timedelta(days=int(n)) for n in numbers],
        "dates with nulls": with_nulls([DAY + datetime.timedelta(days=int(n)) for n in numbers]),
        "times": [NOON + datetime.timedelta(minutes=int(n) * 37) for n in numbers],
        "times with nulls": with_nulls([NOON + datetime.timedelta(hours=int(n)) for n in numbers]),
        "text": [f"t{n % 5}" for n in numbers],
        "text with nulls": with_nulls([f"t{n % 5}" for n in numbers]),
        "text with empty ones": ["" if gone else "full" for gone in some],
        "zip": [f"{n % 7:03}" for n in numbers],
        "y": [f"c{n // 14}" for n in numbers],
    }
    return pa.table(columns)


def sources(table: pa.Table, folder: Path) -> dict[str, list[str]]:
    """The table in every kind of source."""
    arrow_csv.write_csv(table, folder / "arrow.csv")
    frame = table.to_pandas()
    frame.to_csv(folder / "pandas.csv", index=False)
    parquet.write_table(table, folder / "t.parquet")
    frame.to_parquet(folder / "pandas.parquet")
    feather.write_feather(table, folder / "t.feather")
    coded = table.set_column(table.column_names.index("text"), "text", table["text"].dictionary_encode())
    parquet.write_table(coded, folder / "coded.parquet")
    with sqlite3.connect(folder / "t.db") as connection:
        frame.to_sql("t", connection, index=False)
    connection.close()
    files = ["arrow.csv", "pandas.csv", "t.parquet", "pandas.parquet", "t.feather", "coded.parquet"]
    return {name: [name] for name in files} | {"sqlite": ["sqlite:///t.db", "--table", "t"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trained(*arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = done("train", *arguments, "-o", "m.forest", "--force", *SMALL)
    return result


# ------------------------------------------------------------------------------------------------------ the same forest


@pytest.mark.filterwarnings("ignore::DeprecationWarning:sqlite3")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pandas")
def test_every_source_gives_the_same_forest_for_columns_of_every_kind(home: Path) -> None:
    """Ids with zeros in front stay text, times are days, and empty text is missing, wherever rows come from."""
    fingerprints, columns = {}, {}
    for name, where in sources(typed_table(), home).items():
        fingerprints[name] = trained(*where)["fingerprint"]
        forest = loaded("m.forest")
        columns[name] = dict(zip(forest.feature_names_in_.tolist(), forest.categories_, strict=True))
        assert forest.ids_.tolist()[3] == "00003"
    assert len(set(map(str, columns.values()))) == 1, columns
    assert len(set(fingerprints.values())) == 1, fingerprints
    known = columns["t.parquet"]
    assert {name for name, its in known.items() if its is not None} == {
        "text",
        "text with nulls",
        "text with empty ones",
        "zip",
    }
    assert known["zip"] == [f"{n:03}" for n in range(7)]
    assert known["text with empty ones"] == ["full", None]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:sqlite3")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pandas")
@pytest.mark.parametrize("column", ["ints", "ints with nulls", "floats", "bools", "dates", "times", "zip"])
def test_categories_are_the_same_text_from_every_source(home: Path, column: str) -> None:
    """Also those of numbers, times and truth values; SQLite has integers for the last."""
    others = set(typed_table().column_names) - {"id", column, "y"}
    found = {}
    for name, where in sources(typed_table(), home).items():
        if not (name == "sqlite" and column == "bools"):
            trained(*where, "--categorical", column, "--drop", ",".join(others))
            found[name] = loaded("m.forest").categories_[0]
    assert len(set(map(str, found.values()))) == 1, found


def test_dates_are_days_and_the_library_agrees(home: Path) -> None:
    table = typed_table()
    sources(table, home)
    trained("pandas.csv", "--drop", ",".join(set(table.column_names) - {"id", "dates", "times", "y"}))
    forest = DareForestClassifier(5, max_depth=6, random_state=3)
    forest.fit(table.select(["dates", "times"]), table["y"].to_numpy(zero_copy_only=False), ids=table["id"].to_pylist())
    assert loaded("m.forest").fingerprint() == forest.fingerprint()


def test_numbers_are_compared_with_text_categories_by_their_text(home: Path) -> None:
    """A model that knows zips as text finds them in a column of integers, and a model of numbers finds text."""
    rng = np.random.default_rng(1)
    zips = rng.integers(10_000, 10_005, N_ROWS)
    y = (zips > 10_002).astype(int)
    pd.DataFrame({"zip": zips.astype(str), "y": y}).to_parquet("text.parquet")
    pd.DataFrame({"zip": zips, "y": y}).to_parquet("ints.parquet")
    pd.DataFrame({"zip": zips.astype(float), "y": y}).to_csv("floats.csv", index=False)
    for training in ("text.parquet", "ints.parquet"):
        trained(training)
        for source in ("text.parquet", "ints.parquet", "floats.csv"):
            result = run("predict", "m.forest", source, "--json")
            assert result.exit_code == 0, result.output
            assert [json.loads(line)["prediction"] for line in result.stdout.splitlines()] == y.tolist()
            assert "Warning" not in result.stderr
    assert home.exists()


@pytest.mark.usefixtures("home")
def test_words_for_missing_values_are_values_where_a_forest_knows_them() -> None:
    """A country whose code is NA, in a model that the library has made."""
    table = pd.DataFrame({"country": ["NA", "DE"] * 40, "y": [0, 1] * 40})
    forest = DareForestClassifier(3, random_state=0, categorical_features=["country"])
    forest.fit(table[["country"]], table["y"]).save("m.forest")
    table.to_csv("t.csv", index=False)
    lines = run("predict", "m.forest", "t.csv", "--json").stdout.splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == table["y"].tolist()


# ------------------------------------------------------------------------------------------------------------- warnings


@pytest.mark.usefixtures("home")
def test_unknown_categories_are_warned_of() -> None:
    table = pd.DataFrame({"ward": ["north", "south"] * 40, "y": [0, 1] * 40})
    table.to_csv("t.csv", index=False)
    trained("t.csv")
    table.assign(ward=["north", "east"] * 40).to_csv("new.csv", index=False)
    told = done("predict", "m.forest", "new.csv", "-o", "p.csv")
    assert len(told["warnings"]) == 1
    assert "40 of 80 values (50%) of 'ward' are unknown to the forest, such as 'east'" in told["warnings"][0]
    result = run("add", "m.forest", "new.csv", "-t", "y", "-o", "n.forest")
    assert f"Warning: {told['warnings'][0]}\n" in result.stderr
    assert "warnings" not in done("predict", "m.forest", "t.csv", "-o", "q.csv")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("labels", "message"),
    [(["a"] * 300, "All labels in 'y' are a"), ([f"name {i}" for i in range(300)], "'y' has 300 different values")],
    ids=["one class", "hundreds of classes"],
)
def test_odd_labels_are_warned_of(labels: list[str], message: str) -> None:
    table = pd.DataFrame({"id": range(300), "a": range(300), "y": labels})
    table.to_csv("t.csv", index=False)
    with sqlite3.connect("t.db") as connection:
        table.to_sql("t", connection, index=False)
    connection.close()
    live = ["live", "create", "sqlite:///t.db", "live", "--table", "t", "--id", "id", "-t", "y", "--trees", "2"]
    for result in (trained("t.csv"), done(*live)):
        (told,) = result["warnings"]
        assert message in told


# ------------------------------------------------------------------------------------------------------------------ CSV


def small() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"id": range(80), "a": rng.normal(size=80).round(3), "name": rng.choice(["ü", "é"], 80)})
    return table.assign(y=(table["a"] > 0).astype(int))


@pytest.fixture
def plain(home: Path) -> str:
    """The fingerprint of a file without anything odd."""
    small().to_csv(home / "plain.csv", index=False)
    return str(trained("plain.csv")["fingerprint"])


@pytest.mark.parametrize(
    ("writing", "options"),
    [
        ({"sep": ";", "decimal": ","}, []),
        ({"sep": ";", "decimal": ","}, ["--sep", ";", "--decimal", ","]),
        ({"sep": "\t", "decimal": ","}, ["--sep", "tab"]),
        ({"sep": ":"}, ["--sep", ":"]),
        ({"sep": ",", "decimal": ","}, ["--decimal", ","]),
        ({"encoding": "latin1"}, ["--encoding", "latin1"]),
        ({"encoding": "utf-16"}, []),
        ({"encoding": "utf-8-sig"}, []),
        ({"encoding": "utf-16-le"}, ["--encoding", "utf-16-le"]),
    ],
    ids=str,
)
def test_ways_of_writing_csv_give_the_same_forest(plain: str, writing: dict[str, str], options: list[str]) -> None:
    small().to_csv("odd.csv", index=False, **writing)  # type: ignore[call-overload]
    assert trained("odd.csv", *options)["fingerprint"] == plain


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
def test_rows_come_by_the_standard_input(plain: str, kind: str) -> None:
    content = Path("plain.csv").read_bytes()
    if kind == "csv.gz":
        content = gzip.compress(content)
    elif kind != "csv":
        sink = pa.BufferOutputStream()
        table = pa.Table.from_pandas(small(), preserve_index=False)
        if kind == "parquet":
            parquet.write_table(table, sink)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        content = sink.getvalue().to_pybytes()
    line = ["train", "-", "-o", "n.forest", *SMALL, "--json"]
    result = CliRunner().invoke(app, line, input=content)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["fingerprint"] == plain


ODD = {
    "open quote": (b'id,a,y\n1,"x,0\n2,y,1\n3,z,0\n', [], "Line 2 of odd.csv opens a quote that is not closed"),
    "open quote in the last line": (b'id,a,y\n1,x,0\n2,z,"1', [], "Line 3 of odd.csv opens a quote"),
    "two open quotes": (b'id,a,y\n1,"x,0\n2,"y,1\n3,z,0\n', [], "Line 2 of odd.csv opens a quote"),
    "long open quote": (b'id,a,y\n1,"x,0\n' + b"2,y,1\n" * 400_000, [], "Line 2 of odd.csv opens a quote"),
    "not UTF-8": (b"a,y\n\xff,1\n", [], "odd.csv is not text in UTF-8. Say what it is: --encoding"),
    "UTF-16 cut off": (b"\xff\xfei\x00d\x00,\x00", [], "odd.csv"),
    "other encoding": (b"a,y\n\xff,1\n", ["--encoding", "ascii"], "odd.csv is not text in ASCII"),
    "no such encoding": (b"a,y\n1,1\n", ["--encoding", "klingon"], "There is no encoding 'klingon'"),
    "no text encoding": (b"a,y\n1,1\n", ["--encoding", "hex"], "There is no encoding 'hex'"),
    "long separator": (b"a,y\n1,1\n", ["--sep", ", "], "--sep is one character"),
    "odd decimal": (b"a,y\n1,1\n", ["--decimal", "x"], "--decimal is . or ,"),
    "both the same": (b"a,y\n1,1\n", ["--decimal", ",", "--sep", ","], "must differ"),
}


@pytest.mark.parametrize(("content", "options", "message"), ODD.values(), ids=ODD)
def test_odd_csv_is_told_with_the_line(home: Path, content: bytes, options: list[str], message: str) -> None:
    (home / "odd.csv").write_bytes(content)
    result = run("train", "odd.csv", "-t", "y", "-o", "m.forest", *options)
    assert (result.exit_code, result.stdout) == (3, ""), result.output
    assert message in result.stderr


def test_open_quotes_are_found_wherever_they_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a column that nobody asked for, far from the beginning: the rows between two of them would be lost."""
    monkeypatch.setattr(csv_source, "BLOCK", 256)
    rows = [f"{i},{i % 7},fine,{i % 2}" for i in range(400)]
    (home / "t.csv").write_text("\n".join(["id,a,note,y", *rows]))
    trained("t.csv", "--drop", "note")
    rows[300], rows[303] = '300,6,"oops,0', '303,2,"oops,1'
    (home / "t.csv").write_text("\n".join(["id,a,note,y", *rows]))
    for line in (["train", "t.csv", "--drop", "note", "-o", "n.forest"], ["predict", "m.forest", "t.csv"]):
        result = run(*line)
        assert result.exit_code == 3, result.output
        assert "Line 302 of t.csv opens a quote that is not closed" in result.stderr


def test_quotes_are_looked_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many values have several lines: it is a look at the whole file."""
    monkeypatch.setattr(csv_source, "BLOCK", 256)
    looks: list[str] = []
    look = csv_source.CsvSource._require_closed_quotes
    monkeypatch.setattr(csv_source.CsvSource, "_require_closed_quotes", lambda its: (looks.append(its.name), look(its)))
    (home / "t.csv").write_text("\n".join(["id,a,y", *(f'{i},"two\nlines {i % 3}",{i % 2}' for i in range(400))]))
    trained("t.csv")
    assert loaded("m.forest").n_rows_ == 400
    assert len(looks) <= 3  # as often as the file is read


def test_options_of_csv_are_for_csv(home: Path) -> None:
    small().to_parquet(home / "t.parquet")
    result = run("train", "t.parquet", "-o", "m.forest", "--sep", ";")
    assert result.exit_code == 3
    assert "are for CSV, but t.parquet is something else" in result.stderr


def test_zeros_in_front_are_found_wherever_they_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only in the first rows, which types are guessed from."""
    monkeypatch.setattr(csv_source, "BLOCK", 256)
    rows = [f"{i + 100},{i % 3 + 1},{i % 2}" for i in range(200)] + ["007,01,0", "008,1,1"]
    (home / "t.csv").write_text("\n".join(["id,zip,y", *rows]))
    trained("t.csv")
    forest = loaded("m.forest")
    assert "007" in forest.ids_.tolist()
    assert forest.categories_ == [["01", "1", "2", "3"]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_index_beside_ids_is_left_out_and_said(home: Path, kind: str) -> None:
    table = small().set_index(np.random.default_rng(0).permutation(80) + 7)

    def write(written: pd.DataFrame) -> None:
        (written.to_csv if kind == "csv" else written.to_parquet)(home / f"t.{kind}")

    write(table)
    result = run("train", f"t.{kind}", "-o", "m.forest", *SMALL)
    assert "the index of pandas" in result.stderr
    assert loaded("m.forest").feature_names_in_.tolist() == ["a", "name"]
    table.drop(columns="id").to_csv(home / "t.csv") if kind == "csv" else table.drop(columns="id").to_parquet(
        "t.parquet"
    )
    result = run("train", f"t.{kind}", "-o", "m.forest", "--force", *SMALL)
    assert "the index of pandas, names the rows" in result.stderr
    assert sorted(loaded("m.forest").ids_.tolist()) == sorted(table.index.tolist())
