"""Commands on a cluster give what they give without one, for model files and for forests that live there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli_runs import PROGRAM, SMALL, done, run, visits
from deciduous.cli._reading import source_of
from deciduous.cli._rows import Asked, training_rows

pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

CLINIC = "cluster:clinic"


@pytest.fixture
def there(cluster: Any) -> list[str]:
    """The options that say where to work."""
    return ["--ray", cluster.address]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows, in which commands run."""
    monkeypatch.chdir(tmp_path)
    table = visits()
    table.to_csv("v.csv", index=False)
    corrected = table[:3].assign(stay="short")
    corrected.to_csv("corrected.csv", index=False)
    table[:5].assign(id=range(900, 905)).to_csv("new.csv", index=False)
    return tmp_path


@contextmanager
def left_there(there: list[str], *training: object) -> Iterator[dict[str, Any]]:
    """A forest that `train` leaves on the cluster."""
    Path("rows").mkdir()
    result = done("train", *training, *SMALL, "-o", CLINIC, *there, "--workers", 1, "--folder", "rows")
    try:
        yield result
    finally:
        ray_forests.connect("clinic").shut_down()


def same(with_ray: dict[str, Any], without: dict[str, Any]) -> None:
    """What both tell is the same, but for times and for what is only told of files."""
    differing = {"seconds", "model", "bytes", "kind", "memory"}
    assert {name: its for name, its in with_ray.items() if name not in differing} == {
        name: its for name, its in without.items() if name not in differing
    }


def test_model_files_are_those_of_one_process(home: Path, there: list[str]) -> None:
    """Byte for byte; nothing else is left behind."""
    more = [*there, "--workers", 1, "--folder", home]
    same(done("train", "v.csv", *SMALL, "-t", "stay", "-o", "r.forest", *more), train_here())
    same(done("add", "r.forest", "new.csv", "-t", "stay", *more), done("add", "m.forest", "new.csv", "-t", "stay"))
    assert Path("r.forest").read_bytes() == Path("m.forest").read_bytes()
    assert predicted("r.forest", more) == predicted("m.forest", [])
    assert {path.name for path in home.iterdir()} == {"v.csv", "corrected.csv", "new.csv", "r.forest", "m.forest"}


def train_here(*arguments: object) -> dict[str, Any]:
    return done("train", *(arguments or ["v.csv"]), *SMALL, "-t", "stay", "-o", "m.forest")


def predicted(model: str, more: list[Any]) -> str:
    result = run("predict", model, "v.csv", "--proba", *more)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_a_forest_that_lives_on_the_cluster_is_worked_on_there(home: Path, there: list[str]) -> None:
    """By each command, as a file is; in the end it gives the same file."""
    without = train_here()
    with left_there(there, "v.csv", "-t", "stay") as result:
        same(result, without)
        assert result["model"] == CLINIC
        for command, *others in (
            ["delete", "--subject", "u-17"],
            ["add", "new.csv", "-t", "stay"],
            ["update", "corrected.csv", "-t", "stay"],
            ["cost", "--ids", "103,104", "--each"],
            ["verify"],
            ["inspect", "--ids", "--check", "--tree", "1", "--importances"],
        ):
            same(done(command, CLINIC, *others, *there), done(command, "m.forest", *others))
        rows = [run("rows", model, "--ids", "103", *more) for model, more in ((CLINIC, there), ("m.forest", []))]
        assert rows[0].exit_code == 0
        assert rows[0].stdout == rows[1].stdout
        assert predicted(CLINIC, there) == predicted("m.forest", [])
        done("freeze", CLINIC, "-o", "a.frozen", *there)
        done("freeze", "m.forest", "-o", "b.frozen")
        assert Path("a.frozen").read_bytes() == Path("b.frozen").read_bytes()
        assert ray_forests.connect("clinic").to_bytes() == Path("m.forest").read_bytes()
        refused_beside_a_forest(home, there)
    assert not list(home.glob("cluster*"))


def refused_beside_a_forest(home: Path, there: list[str]) -> None:
    """What does not go with a forest that lives on the cluster."""
    (home / "empty").mkdir()
    train = ["train", "v.csv", "-t", "stay", *SMALL, *there]
    refused("has a forest 'clinic' already", *train, "-o", CLINIC, "--folder", "empty")
    refused("is not empty", *train, "-o", "cluster:other", "--folder", "rows")
    refused("leave out --out", "delete", CLINIC, "--ids", "103", "-o", "m2.forest", *there)
    refused("leave out --workers", "delete", CLINIC, "--ids", "103", "--workers", "3", *there)
    refused("no forest 'nobody'. `deciduous train -o cluster:NAME` leaves one", "verify", "cluster:nobody", *there)
    refused("hold the rows 99999", "delete", CLINIC, "--ids", "99999", *there)


def refused(message: str, *arguments: object, code: int = 3) -> None:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.split()), result.output


@pytest.mark.usefixtures("home")
def test_what_cannot_be_is_refused_before_anything_changes(there: list[str]) -> None:
    train_here()
    before = Path("m.forest").read_bytes()
    run("freeze", "m.forest", "-o", "m.frozen")
    refused("say on which one with --ray", "verify", CLINIC)
    refused("say on which one with --ray", "export", CLINIC, "-o", "m.onnx")
    refused("say on which one with --ray", "train", "v.csv", "-t", "stay", "-o", CLINIC)
    refused("say which one with --ray", "verify", "m.forest", "--workers", 2, code=2)
    refused("Invalid value for '--workers'", "verify", "m.forest", "--workers", 0, *there, code=2)
    refused("with --folder", "train", "v.csv", "-t", "stay", "-o", CLINIC, *there)
    refused("There is no folder", "verify", "m.forest", "--folder", "nowhere", *there)
    refused("Name a file", "delete", "m.forest", "--ids", "103", "-o", CLINIC, *there)
    refused("is frozen", "predict", "m.frozen", "v.csv", *there)
    refused("There is no model", "delete", "no.forest", "--ids", "103", *there)
    assert Path("m.forest").read_bytes() == before


@pytest.mark.usefixtures("home")
def test_a_cluster_that_is_not_there_and_ray_that_is_not_installed() -> None:
    """In processes of their own, as this one has joined a cluster."""
    train_here()
    before = Path("m.forest").read_bytes()
    delete = ["delete", "m.forest", "--ids", "103", "--ray", "127.0.0.1:1"]
    result = subprocess.run([*PROGRAM, *delete], capture_output=True, text=True)
    assert result.returncode == 3
    assert "There is no Ray cluster at 127.0.0.1:1" in result.stderr
    without = f"""
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *others: None if name == "ray" else found(name, *others)
from deciduous.cli import main
sys.argv = ["deciduous", *{delete}]
main()
"""
    result = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert result.returncode == 3
    assert "pip install 'deciduous[ray]'" in result.stderr
    assert Path("m.forest").read_bytes() == before


def parquet(table: pd.DataFrame) -> None:
    table.to_parquet("v.parquet", index=False)


@pytest.mark.usefixtures("home")
def test_workers_read_parquet_where_that_changes_nothing(there: list[str]) -> None:
    """What they read gives the forest of the rows as this process reads them, and the same is told."""
    train = ["train", "v.parquet", "-t", "stay", *SMALL]
    numbers = visits()[["id", "age", "beds", "person_id", "stay"]].astype({"beds": "int32"})
    for table in (numbers, numbers.drop(columns=["id", "person_id"]).assign(stay=visits()["age"].fillna(7.5))):
        parquet(table)
        assert is_left_to_workers()
        here = run(*train, "-o", "m.forest", "--force")
        result = run(*train, "-o", "r.forest", "--force", *there, "--workers", 1)
        assert result.exit_code == 0, result.output
        assert result.stderr == here.stderr
        assert Path("r.forest").read_bytes() == Path("m.forest").read_bytes()


@pytest.mark.usefixtures("home")
def test_a_file_that_only_this_machine_sees_is_told(there: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("v.parquet")

    monkeypatch.setattr(ray_forests.RayForestClassifier, "fit", fit)
    parquet(visits()[["id", "age", "stay"]])
    refused("workers on others do not see it", "train", "v.parquet", "-t", "stay", "-o", "r.forest", *there)


def is_left_to_workers() -> bool:
    rows, _ = training_rows(source_of("v.parquet"), Asked(target="stay"), None, None, workers_read=True)
    assert len(rows) == len(rows.labels)
    return rows.file == "v.parquet"


@pytest.mark.parametrize(
    "change",
    [
        {"ward": "north"},  # text, which may be dates or missing values
        {"urgent": True},
        {"many": 2**60},  # float64 does not hold all of these
        {"__index_level_0__": 1.0},  # is left out
        {"stay": ["long", None] * 120},
        {"stay": ["long", "NA"] * 120},
    ],
)
@pytest.mark.usefixtures("home")
def test_other_files_are_read_by_the_command(change: dict[str, Any]) -> None:
    """As rules for values come into it."""
    parquet(visits()[["id", "age", "stay"]].assign(**change))
    assert not is_left_to_workers()


def test_no_rows_stay_when_a_command_fails(home: Path, there: list[str]) -> None:
    """Neither in the folder for rows, nor on the cluster."""
    rows = home / "rows"
    rows.mkdir()
    train_here()
    refused("hold the rows 99999", "delete", "m.forest", "--ids", "99999", *there, "--workers", 1, "--folder", rows)
    assert list(rows.iterdir()) == []
    bad = visits()[["id", "age", "stay"]]
    bad.loc[3, "age"] = float("inf")
    bad.to_parquet("bad.parquet", index=False)
    refused(
        "infinit", "train", "bad.parquet", "-t", "stay", *SMALL, "-o", CLINIC, *there, "--workers", 1, "--folder", rows
    )
    with pytest.raises(ray_forests.UnknownForestError):
        ray_forests.connect("clinic")
    shutil.rmtree(rows)
