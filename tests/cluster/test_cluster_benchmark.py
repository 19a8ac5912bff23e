"""The benchmark of forests on a cluster, in small: it measures what is judged, and what the simulation needs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray has no wheel for this Python")

from benchmarks import runner
from benchmarks.cases import CASES
from benchmarks.requirements import REQUIREMENTS, judge
from benchmarks.results import Results
from benchmarks.settings import TINY, ClusterSizes
from deciduous.experiments import machine
from deciduous.experiments.cluster import keys
from deciduous.experiments.cluster.measured import Measured
from deciduous.experiments.cluster.model import Costs, erasures_per_second, local

pytestmark = [pytest.mark.usefixtures("cluster"), pytest.mark.filterwarnings("ignore")]

SMALL = ClusterSizes(
    clients=(4, 16, 64),
    n_at_once=8,
    n_additions=3,
    n_kills=1,
    tree_rows=(100, 200),
    n_trees_alone=1,
    batches=(1, 2),
    batch_rows=100,
    n_batches=2,
    file_rows=(10, 50),
    n_files_changed=3,
)


def test_tiny_run_measures_what_is_judged_and_simulated(tmp_path: Path) -> None:
    """Requirements have their values, and the model its times."""
    results = Results(machine.description(), {"sizes": TINY.name})
    case = next(case for case in CASES if case.name == "cluster")
    sizes = replace(TINY, max_rows=1_000, n_deletions=10, cluster=SMALL)
    runner.run([case], sizes, range(1), results, tmp_path)
    assert results.failed == {}
    assert [its.name for its in REQUIREMENTS if its.case == "cluster" and judge(its, results).value is None] == []
    assert json.loads((tmp_path / "results.json").read_text())["options"]["cluster"]["workers"] == [1, 2]
    measured = Measured.read(tmp_path / "results.json")
    assert measured.value(keys.whole(keys.CLUSTER, 2, "16 clients: rows of a pass")) >= 1
    for n_workers in (1, 2):
        assert erasures_per_second(Costs(measured, local(measured, n_workers)))[0] > 0
