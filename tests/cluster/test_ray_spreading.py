"""Searches and experiments on a cluster give what they give without, whoever runs which unit, and whoever is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import make_classification

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError
from deciduous.experiments import report, runner
from deciduous.experiments.scales import SCALES, SMOKE
from deciduous.experiments.store import Runs, Store
from deciduous.experiments.task import Task
from deciduous.tuning import Forest, TuningResult, tune

typer_testing = pytest.importorskip("typer.testing")
pytest.importorskip("ray", reason="Ray has no wheel for this Python")
ray_forests = pytest.importorskip("deciduous.ray")
pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

CV = 3
GRID: dict[str, Any] = {"n_estimators": (3, 6), "max_depth": (1, 4), "n_thresholds": (2, 5)}
N_GREEDY = CV * 2 * 2 * 2
CPUS_OF_NODE = 8  # as conftest.py says


@pytest.fixture(autouse=True, scope="module")
def functions_of_this_file(cluster: Any) -> None:  # noqa: ARG001
    """The processes of the cluster cannot import them."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


@contextmanager
def free(*cpus: int) -> Iterator[None]:
    """So many processors are free on each node: every process that is begun takes seconds here."""
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group([{"CPU": CPUS_OF_NODE - n} for n in cpus], strategy="STRICT_SPREAD")
    ray.get(group.ready())
    try:
        yield
    finally:
        remove_placement_group(group)


def tuned(estimator: Any = None, **others: Any) -> TuningResult:
    X, y = make_classification(90, 6, n_informative=3, random_state=0)
    return tune(estimator, X, y, **(GRID | {"cv": CV, "random_state": 1, "tolerances": (0.01, 0.1)} | others))


def assert_same(one: TuningResult, other: TuningResult) -> None:
    plain = [replace(result, estimator=None, fitted_forest=None) for result in (one, other)]
    assert plain[0] == plain[1]
    assert one.table() == other.table()
    assert one.fitted_forest.fingerprint() == other.fitted_forest.fingerprint()


def assert_same_lines(one: Path, other: Path) -> None:
    """A journal has the evaluations in the order in which they ended."""
    (header, *lines), (other_header, *others) = (path.read_text().splitlines() for path in (one, other))
    assert header == other_header
    assert sorted(lines) == sorted(others)


@dataclass
class Scoring:
    """Scores a forest by its parameters, after it has left a line in a file, and done something."""

    calls: Path
    act: Callable[[Forest, Path], None] = lambda _forest, _calls: None

    def __repr__(self) -> str:
        return "Scoring()"  # for journals, the same whatever it does

    def __call__(self, forest: Forest, *_rows_and_labels: Any) -> float:
        with self.calls.open("a") as file:
            file.write(f"{os.getpid()}\n")
        self.act(forest, self.calls)
        return 0.8 + 0.001 * (forest.n_estimators + forest.max_depth + forest.n_thresholds - 2 * forest.random_depth)

    @property
    def pids(self) -> list[str]:
        return self.calls.read_text().splitlines()


def command(*arguments: str) -> str:
    """What a command prints, on standard output."""
    from deciduous.cli.app import app

    done = typer_testing.CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return str(done.stdout)


# -------------------------------------------------------------------------------------------------------------- tuning


@pytest.mark.parametrize(
    ("estimator", "cpus"),
    [(DareForestClassifier(random_state=1), (1, 0, 0)), (DareForestRegressor(random_state=1), (1, 1, 1))],
)
def test_a_search_is_the_same_as_without_a_cluster(tmp_path: Path, estimator: Any, cpus: tuple[int, ...]) -> None:
    here = tuned(estimator, resume_from=tmp_path / "here.jsonl")
    with free(*cpus):
        there = tuned(estimator, resume_from=tmp_path / "there.jsonl", ray="auto", progress=True)
    assert_same(here, there)
    assert_same_lines(tmp_path / "here.jsonl", tmp_path / "there.jsonl")


def kill_the_first(_forest: Forest, calls: Path) -> None:
    if len(calls.read_text().splitlines()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def kill_all(_forest: Forest, _calls: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_evaluation_that_is_lost_with_its_process_is_run_again(tmp_path: Path) -> None:
    scoring = Scoring(tmp_path / "calls", kill_the_first)
    with free(1, 1, 0):
        there = tuned(scoring=scoring, resume_from=tmp_path / "there.jsonl", ray="auto", tolerances=())
    assert len(scoring.pids) == N_GREEDY + 1
    assert str(os.getpid()) not in scoring.pids
    here = tuned(scoring=Scoring(tmp_path / "others"), resume_from=tmp_path / "here.jsonl", tolerances=())
    assert_same(here, there)
    assert_same_lines(tmp_path / "here.jsonl", tmp_path / "there.jsonl")


def test_an_evaluation_that_ends_every_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deciduous.ray.spreading.MOST_LOSSES", 1)
    scoring = Scoring(tmp_path / "calls", kill_all)
    with (
        free(1, 1, 0),
        pytest.raises(ray_forests.WorkerLostError, match="Every process that was given this work was lost"),
    ):
        tuned(scoring=scoring, ray="auto", n_estimators=3, max_depth=1, n_thresholds=2, cv=2)
    assert 2 <= len(scoring.pids) <= 4


def not_a_number(forest: Forest, _calls: Path) -> None:
    raise InvalidInputError(f"no score for {forest.n_estimators} trees")


def test_an_error_is_that_of_the_evaluation(tmp_path: Path) -> None:
    with free(1, 0, 0):
        for scoring, error, message in (
            (Scoring(tmp_path / "calls", not_a_number), InvalidInputError, "no score for 6 trees"),
            (lambda *_: {}["k"], KeyError, "^'k'$"),
        ):
            with pytest.raises(error, match=message) as raised:
                tuned(scoring=scoring, ray="auto")
            assert type(raised.value) is error


def wait(_forest: Forest, _calls: Path) -> None:
    time.sleep(0.2)


def test_an_interrupted_search_stops_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "there.jsonl"

    def interrupt() -> None:
        while not path.exists() or len(path.read_text().splitlines()) < 5:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    begun = Scoring(tmp_path / "calls", wait)
    with free(1, 1, 1):
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            tuned(scoring=begun, resume_from=path, ray="auto")
        n_done = len(path.read_text().splitlines()) - 1
        time.sleep(0.5)
        n_begun = len(begun.pids)
        assert 4 <= n_done < N_GREEDY
        time.sleep(0.5)
        assert len(begun.pids) == n_begun < N_GREEDY
        rest = Scoring(tmp_path / "rest")
        there = tuned(scoring=rest, resume_from=path, ray="auto")
    whole = Scoring(tmp_path / "whole")
    assert_same(tuned(scoring=whole, resume_from=tmp_path / "here.jsonl"), there)
    assert_same_lines(tmp_path / "here.jsonl", path)
    assert len(rest.pids) == len(whole.pids) - n_done


def test_the_command_tells_the_same(tmp_path: Path) -> None:
    X, y = make_classification(90, 3, n_informative=2, n_redundant=0, random_state=0)
    lines = [f"{a},{b},{c},{label}" for (a, b, c), label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines]))
    grid = ("--trees", "3", "--depth", "2", "--thresholds", "3", "--folds", "2", "--seed", "1")
    tune = ("tune", str(tmp_path / "t.csv"), "--target", "y", *grid, "--json")
    with free(1, 1, 1):
        assert command(*tune, "--ray", "auto") == command(*tune)


# --------------------------------------------------------------------------------------------------------- experiments


def exact(runs: Runs) -> dict[str, Any]:
    """The results without times."""
    return {
        record.unit.key: {name: its for name, its in record.result.items() if name not in ("deleting", "retraining")}
        for record in runs
        if record.result is not None
    }


def quietly(request: runner.Request, store: Store) -> None:
    runner.run(request, store, lambda _: None, lambda _: None, lambda _: None)


def test_an_experiment_has_the_same_results_as_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCALES, "smoke", replace(SMOKE, n_lemma_models=100))
    request = runner.Request.checked(["exactness"], "smoke", ["synthetic"])
    here = Store(tmp_path / "here.jsonl", "smoke")
    quietly(request, here)
    options = (
        "--scale",
        "smoke",
        "--only",
        "synthetic",
        "--offline",
        "--out",
        str(tmp_path),
        "--ray",
        "auto",
        "--json",
    )
    path = tmp_path / "smoke.jsonl"
    with free(2, 2, 2):
        command("experiment", "exactness", *options)
        written = path.read_bytes()
        command("experiment", "exactness", *options)
    assert path.read_bytes() == written
    there = Runs.read(path)
    assert exact(there) == exact(here.runs)
    assert len(exact(there)) == request.n_units
    assert {record.n_beside for record in there} == {2}  # the nodes of the cluster are one machine
    assert {record.machine for record in there} == {record.machine for record in here.runs}
    page = report.as_html(there, SMOKE)
    assert "11: up to 2 others may have run on the same machine at the same time" in page
    assert "beside others" not in report.as_html(here.runs, SMOKE)
    assert report.as_html(Runs(reversed(there.records)), SMOKE) == page


def kill_one(_per_node: int, task: Task) -> runner.Outcome:
    if task.option("case") == "vanish":
        os.kill(os.getpid(), signal.SIGKILL)
    return runner.Outcome(1.0, {}, traceback="what it said\n")


def test_a_unit_that_ends_its_process_is_noted_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deciduous.ray.spreading.MOST_LOSSES", 0)
    monkeypatch.setattr(runner, "_run_there", kill_one)
    request = runner.Request.checked(["exactness"], "smoke", cluster=runner.Cluster("auto"))
    store = Store(tmp_path / "smoke.jsonl", "smoke")
    with free(2, 2, 2):
        quietly(replace(request, datasets=()), store)
    assert len(store.runs) == 7
    (lost,) = store.runs.without_result()
    assert lost.unit.options == {"case": "vanish"}
    assert str(lost.reason).startswith("failed: WorkerLostError: Every process")
    assert capsys.readouterr().err.count("what it said") == 6
