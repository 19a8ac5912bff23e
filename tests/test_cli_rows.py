"""`deciduous rows` and `deciduous update`: what is stored of somebody, and corrections of it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from cli_runs import N_ROWS, SMALL, done, library_forest, loaded, run, visits
from deciduous.cli.app import app


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    visits().to_csv("visits.csv", index=False)
    done("train", "visits.csv", "--target", "stay", "-o", "t.forest", *SMALL)
    return "t.forest"


def test_rows_of_a_subject_are_what_was_read(model: str) -> None:
    found = pd.read_csv(io.StringIO(run("rows", model, "--subject", "u-4").stdout))
    expected = visits().query("person_id == 'u-4'")
    assert found["id"].tolist() == expected["id"].tolist() == [112, 113, 114]
    assert found["subject"].tolist() == ["u-4"] * 3
    assert found["label"].tolist() == expected["stay"].tolist()
    for column in ("age", "beds"):
        assert found[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-6, nan_ok=True)
    assert found["ward"].fillna("").tolist() == expected["ward"].fillna("").tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_rows_in_a_file(model: str, suffix: str) -> None:
    out = f"answer.{suffix}"
    report = done("rows", model, "--ids", "117,101", "-o", out)
    assert report == {"model": model, "out": out, "format": suffix, "n_rows": 2}
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}
    assert read[suffix](out)["id"].tolist() == [117, 101]
    assert run("rows", model, "--ids", "117", "-o", out).exit_code == 3  # what is there stays


def test_lines_of_json_on_stdout(model: str) -> None:
    lines = run("rows", model, "--ids", "111,101", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [111, 101]
    assert json.loads(lines[0])["age"] is None  # NaN is no JSON


def test_unknown_rows_are_told(model: str) -> None:
    assert (result := run("rows", model, "--ids", "1")).exit_code == 3
    assert "does not hold the rows 1" in result.stderr
    assert run("rows", model).exit_code == 2


def test_corrected_rows_give_the_forest_that_was_trained_on_them(model: str) -> None:
    """One row is replaced and one is new; the pipe from `rows` to `update` changes nothing by itself."""
    before = loaded(model).fingerprint()
    piped = run("rows", model, "--ids", "120,121").stdout
    again = CliRunner().invoke(app, ["update", model, "-", "--json"], input=piped)
    assert json.loads(again.stdout)["fingerprint"] == before
    table = visits()
    table.loc[table["id"] == 120, ["age", "stay"]] = [99.5, "short"]
    new = table[table["id"] == 120].assign(id=999)
    pd.concat([table[table["id"] == 120], new]).to_csv("corrected.csv", index=False)
    updated = done("update", model, "corrected.csv", "--target", "stay")
    assert (updated["n_rows"], updated["n_rows_left"]) == (2, N_ROWS + 1)
    assert updated["fingerprint"] == library_forest(pd.concat([table, new])).fingerprint()
    assert done("verify", model)["matches"]


def test_update_needs_ids(model: str) -> None:
    visits().drop(columns="id").to_csv("nameless.csv", index=False)
    before = Path(model).read_bytes()
    assert (result := run("update", model, "nameless.csv", "--target", "stay")).exit_code == 3
    assert "--id" in result.stderr
    assert Path(model).read_bytes() == before


def test_subjects_that_are_integers(model: str) -> None:
    """Typed as text, they are found, and rows that are added are theirs."""
    table = visits().assign(person_id=lambda its: its["id"] // 3)
    table.to_csv("numbered.csv", index=False)
    done("train", "numbered.csv", "--target", "stay", "-o", model, "--force", *SMALL)
    before = loaded(model).fingerprint()
    assert 33 in loaded(model).subjects_
    assert len(done("cost", model, "--subject", "40", "--subject", "41", "--each")["costs"]) == 2
    assert done("delete", model, "--subject", "40")["ids"] == [120, 121, 122]
    table[table["person_id"] == 40].to_csv("back.csv", index=False)
    assert done("add", model, "back.csv", "--target", "stay")["fingerprint"] == before
    assert loaded(model).ids_of([40]) == [120, 121, 122]
    assert loaded(model).rows([120]).subjects == [40]
