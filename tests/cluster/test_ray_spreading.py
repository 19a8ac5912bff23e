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
from deciduous.tuning import Forest, TuningResult, tune

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


# -------------------------------------------------------------------------------------------------------------- tuning


@pytest.mark.parametrize("cpus", [(1, 0, 0), (1, 1, 1)])
@pytest.mark.parametrize("estimator", [DareForestClassifier(random_state=1), DareForestRegressor(random_state=1)])
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
    with free(1, 1, 0), pytest.raises(ray_forests.WorkerLostError, match="each of 2 processes"):
        tuned(scoring=scoring, ray="auto", n_estimators=3, max_depth=1, n_thresholds=2, cv=2)
    assert 2 <= len(scoring.pids) <= 4


def not_a_number(forest: Forest, _calls: Path) -> None:
    raise InvalidInputError(f"no score for {forest.n_estimators} trees")


def test_an_error_is_that_of_the_evaluation(tmp_path: Path) -> None:
    with free(1, 0, 0):
        for scoring, error, message in (
            (Scoring(tmp_path / "calls", not_a_number), InvalidInputError, "no score for 6 trees"),
            (lambda *_: float("nan"), InvalidInputError, r"scoring gave nan for Setting\(n_estimators=6"),
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
