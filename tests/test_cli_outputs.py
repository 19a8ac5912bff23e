"""Outputs never overwrite inputs, whatever they are called; other files only if asked; files with two names never."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli_runs import SMALL, all_commands, done, library_forest, loaded, run, visits
from deciduous.cli import _writing
from deciduous.cli._outputs import CONTINUED, GROWN, IN_PLACE, NEW, OUT, READ
from deciduous.cli.app import app
from deciduous.live import LiveForest

TINY = ["--trees", "2", "--depth", "2"]
SEARCH = ["--trees", "2", "--depth", "2", "--thresholds", "2", "--folds", "2"]
# Each command with an output, without that output, and what it reads.
WRITING: dict[str, tuple[list[str], list[str]]] = {
    "train": (["train", "v.csv", "-t", "stay", *TINY], ["v.csv"]),
    "train a database": (["train", "sqlite:///v.db", "--table", "visits", "-t", "stay", *TINY], ["v.db"]),
    "tune": (["tune", "v.csv", "-t", "stay", *SEARCH], ["v.csv"]),
    "predict": (["predict", "m.forest", "v.csv", "--format", "csv"], ["m.forest", "v.csv"]),
    "freeze": (["freeze", "m.forest"], ["m.forest"]),
    "export": (["export", "m.forest", "--format", "text"], ["m.forest"]),
    "delete": (["delete", "m.forest", "--ids-file", "ids.txt"], ["ids.txt"]),
    "add": (["add", "m.forest", "v.csv", "-t", "stay", "--number-rows"], ["v.csv"]),
    "update": (["update", "m.forest", "v.csv", "-t", "stay"], ["v.csv"]),
    "rows": (["rows", "m.forest", "--ids-file", "ids.txt", "--format", "csv"], ["m.forest", "ids.txt"]),
    "live receipts": (["live", "receipts", "clinic"], ["clinic/state.db", "clinic/lock", "v.db"]),
    "live key": (["live", "key", "clinic"], ["clinic/state.db", "v.db"]),
    "live statements": (["live", "statements", "clinic"], ["clinic/state.db", "v.db"]),
    "live opening": (["live", "opening", "clinic"], ["clinic/state.db", "v.db"]),
    "freeze a live forest": (["freeze", "clinic"], ["clinic/state.db", "v.db"]),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files to read, which no command may change."""
    folder = tmp_path_factory.mktemp("sources")
    table = visits()
    table.to_csv(folder / "v.csv", index=False)
    with sqlite3.connect(folder / "v.db") as connection:
        table.to_sql("visits", connection, index=False)
    connection.close()
    library_forest(table).save(folder / "m.forest")
    (folder / "ids.txt").write_text("117\n142\n")
    url = f"sqlite:///{folder}/v.db"
    with LiveForest.create(
        url,
        table="visits",
        id="id",
        target="stay",
        columns=["age"],
        folder=folder / "clinic",
        params={"n_estimators": 2},
    ) as live:
        live.new_key()
    return folder


def contents_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def parameters(path: tuple[str, ...]) -> dict[str, Any]:
    command: Any = get_command(app)
    for name in path:
        command = command.get_command(None, name)
    return {param.name: param for param in command.params}


def test_all_commands_that_write_a_file_are_looked_at() -> None:
    """Each has --force, and is in the table above; what else is a path is read, or is a folder of its own."""
    writing = set()
    for path in all_commands(get_command(app)):
        if path[0] in ("experiment", "demo"):  # whose --out is a folder that they know as theirs
            continue
        found = parameters(path)
        assert (OUT in found) == ("force" in found), path
        if OUT in found:
            writing.add(" ".join(path))
        paths = {name for name, param in found.items() if param.type_descriptor.annotation is Path}
        assert paths <= {OUT, CONTINUED, GROWN, NEW, *READ}, path
    assert writing == set(WRITING) - {"train a database", "freeze a live forest"}


def linked(folder: Path, name: str, how: str) -> str:
    """Another way to name a file; as a path from its folder."""
    if how == "itself":
        return name
    if how == "spelled otherwise":
        return f"../{folder.name}/./{name}"
    link = folder / f"link-{how[:4]}-{name.replace('/', '-')}"
    if not os.path.lexists(link):
        (link.symlink_to if how == "symbolic link" else link.hardlink_to)(folder / name)
    return link.name


@pytest.mark.parametrize("how", ["itself", "spelled otherwise", "symbolic link", "hard link"])
@pytest.mark.parametrize("command", WRITING)
def test_what_is_read_is_never_written(sources: Path, monkeypatch: pytest.MonkeyPatch, command: str, how: str) -> None:
    """Refused in one sentence, also with --force, and nothing changes."""
    monkeypatch.chdir(sources)
    arguments, read = WRITING[command]
    for name in read:
        out = linked(sources, name, how)
        before = contents_of(sources)
        result = run(*arguments, "-o", out, "--force")
        if how == "hard link":
            os.remove(out)
            before.pop(out)
        assert (result.exit_code, result.stdout) == (3, ""), result.output
        assert result.stderr.count("\n") == 1
        expected = ("is what is read", "is in the folder of the live forest", "names of the same file")
        assert any(text in result.stderr for text in expected), result.stderr
        assert contents_of(sources) == before
    for link in sources.glob("link-*"):
        link.unlink()


@pytest.mark.parametrize("command", WRITING)
def test_another_file_that_is_there_is_replaced_only_by_force(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(sources)
    out = tmp_path / "mine.txt"
    out.write_text("mine")
    arguments, _ = WRITING[command]
    before = contents_of(sources)
    refused = run(*arguments, "-o", out)
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert refused.stderr == f"There is a file {out} already. Name another one, or replace it with --force.\n"
    assert out.read_text() == "mine"
    done(*arguments, "-o", out, "--force")
    assert b"mine" not in out.read_bytes()[:4]
    assert contents_of(sources) == before


@pytest.mark.parametrize("command", WRITING)
def test_a_file_with_two_names_is_never_replaced(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The other name would keep what was there, such as a model with rows that are to be gone."""
    monkeypatch.chdir(sources)
    out = tmp_path / "mine.txt"
    out.write_text("mine")
    (tmp_path / "other.txt").hardlink_to(out)
    result = run(*WRITING[command][0], "-o", out, "--force")
    assert result.exit_code == 3
    assert f"names of the same file (hard links); one of them is {tmp_path / 'other.txt'}." in result.stderr
    assert out.read_text() == (tmp_path / "other.txt").read_text() == "mine"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    library_forest(visits()).save(tmp_path / "m.forest")
    visits().to_csv("v.csv", index=False)
    return tmp_path / "m.forest"


def in_place(command: str) -> list[str]:
    return {
        "delete": ["delete", "--ids", "117"],
        "add": ["add", "v.csv", "-t", "stay", "--number-rows"],
        "update": ["update", "v.csv", "-t", "stay"],
    }[command]


@pytest.mark.parametrize("command", IN_PLACE)
def test_models_are_changed_in_place_without_force(model: Path, command: str) -> None:
    name, *others = in_place(command)
    before = loaded(str(model)).n_rows_
    done(name, model, *others)
    done("delete", model, "--ids", "142", "-o", "../" + model.parent.name + "/m.forest")  # the same, said aloud
    assert loaded(str(model)).n_rows_ == before - 1 + {"delete": -1, "add": before, "update": 0}[command]


@pytest.mark.parametrize("command", IN_PLACE)
def test_a_model_with_two_names_is_not_changed(model: Path, command: str) -> None:
    """Named: the other one in the same folder; counted: those elsewhere."""
    name, *others = in_place(command)
    before = model.read_bytes()
    other = model.with_name("copy.forest")
    other.hardlink_to(model)
    result = run(name, model, *others)
    assert result.exit_code == 3
    assert f"is one of 2 names of the same file (hard links); one of them is {other}." in result.stderr
    elsewhere = model.parent / "elsewhere"
    elsewhere.mkdir()
    other.rename(elsewhere / "copy.forest")
    assert (
        "is one of 2 names of the same file (hard links); the others are in other folders."
        in run(name, model, *others).stderr
    )
    assert model.read_bytes() == (elsewhere / "copy.forest").read_bytes() == before


@pytest.mark.parametrize("command", IN_PLACE)
def test_models_at_the_end_of_symbolic_links_are_changed(model: Path, command: str) -> None:
    """Not the link, which would leave the rows in the file that it leads to."""
    name, *others = in_place(command)
    link = model.with_name("link.forest")
    link.symlink_to(model.name)
    result = done(name, link, *others)
    assert link.is_symlink()
    assert loaded(str(model)).fingerprint() == result["fingerprint"]


def test_predictions_at_the_end_of_symbolic_links_are_replaced(model: Path) -> None:
    real, link = model.with_name("real.csv"), model.with_name("link.csv")
    real.write_text("old")
    link.symlink_to(real.name)
    done("predict", model, "v.csv", "-o", link, "--force")
    assert link.is_symlink()
    assert real.read_text().startswith('"id","prediction"')


def test_predictions_are_written_to_a_file_of_their_own_first(model: Path) -> None:
    """Whatever lies in the folder stays as it is, what was private stays private, and an error leaves nothing."""
    Path("canary").write_text("sing")
    Path(".p.csv.part").symlink_to("canary")
    Path("p.csv").touch(0o600)
    done("predict", model, "v.csv", "-o", "p.csv", "--force")
    assert Path("canary").read_text() == "sing"
    assert os.stat("p.csv").st_mode & 0o777 == 0o600
    before = contents_of(Path())
    Path("late.csv").write_text(Path("v.csv").read_text() + "1,2\n")
    assert run("predict", model, "late.csv", "-o", "p.csv", "--force").exit_code == 3
    Path("late.csv").unlink()
    assert contents_of(Path()) == before


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_predictions_are_private_while_they_are_written(
    model: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """And as private as the file that they replace, afterwards; a link that somebody has put there is not followed."""
    out, canary = model.parent / "predictions.csv", model.parent / "canary"
    out.write_text("old")
    out.chmod(mode)
    canary.write_text("sings")
    (model.parent / ".predictions.csv.part").symlink_to(canary)
    seen: set[int] = set()
    real_writer = _writing._columns_writer

    def looking_writer(*arguments: Any) -> Any:
        parts = [file for file in model.parent.glob(".predictions.csv*") if not file.is_symlink()]
        seen.update(stat.S_IMODE(file.stat().st_mode) for file in parts)
        return real_writer(*arguments)

    monkeypatch.setattr(_writing, "_columns_writer", looking_writer)
    done("predict", model, "v.csv", "-o", out, "--force")
    assert (seen, stat.S_IMODE(out.stat().st_mode)) == ({0o600}, mode)
    assert canary.read_text() == "sings"


def test_one_file_is_not_written_twice(model: Path) -> None:
    result = run("tune", "v.csv", "-t", "stay", *SEARCH, "-o", "same", "--resume", "same")
    assert (result.exit_code, result.stderr) == (3, "same is named twice as a file to write. Name two files.\n")
    for resume in ("v.csv", "./v.csv"):
        result = run("tune", "v.csv", "-t", "stay", *SEARCH, "--resume", resume)
        assert "is what is read" in result.stderr
    assert sorted(path.name for path in model.parent.iterdir()) == ["m.forest", "v.csv"]


def test_devices_are_not_replaced(model: Path) -> None:
    result = run("freeze", model, "-o", "/dev/null", "--force")
    assert result.exit_code == 3
    assert "a device or pipe" in result.stderr


def test_a_new_name_needs_no_force(model: Path) -> None:
    done("train", "v.csv", "-t", "stay", *SMALL, "-o", "new.forest")
    assert model.with_name("new.forest").exists()
