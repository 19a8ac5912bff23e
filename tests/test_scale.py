"""Large clusters: formulas and simulation agree, requests are conserved, and the page says what was measured."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from deciduous import InvalidInputError
from deciduous.experiments.cluster import keys, model
from deciduous.experiments.cluster.deployment import AS_IT_IS, DESIGNS, LOCAL, MANY_ORDERS, Assumptions, Deployment
from deciduous.experiments.cluster.findings import ROWS, Findings
from deciduous.experiments.cluster.measured import Curve, Line, Measured, Times
from deciduous.experiments.cluster.model import Costs, Part, erasures_per_second, latency, pass_of
from deciduous.experiments.cluster.simulation import Simulation, arrivals, clients, saturated

ROOT = Path(__file__).parents[1]
MOST_DISAGREEMENT = 0.3  # of mean latencies where no queue is full, as docs/scale.md has it
STEPS = dict(zip(keys.STORE_STEPS, (0.002, 0.001, 0.003, 0.0015), strict=True))


def measured_with(scatter: Callable[[float], list[float]]) -> Measured:
    """A benchmark in which everything has a time that is known, and scatters like this."""
    latencies = {keys.calls(n): scatter(0.0005 + 0.0001 * n) for n in (1, 2, 4)}
    latencies |= {keys.tree(n): scatter(0.0002 * (n / 1_000) ** 0.5) for n in (1_000, 4_000)}
    latencies |= {keys.batch(k): scatter(0.0002 * k**0.5) for k in (1, 4, 16)}
    latencies |= {keys.store(n, step): scatter(STEPS[step]) for n in (500, 1_000) for step in STEPS}
    latencies |= {keys.whole(keys.LOCAL, 1, "delete"): scatter(0.002)}
    values = {key: sum(times) / len(times) for key, times in latencies.items()}
    values |= {keys.tree_fit(n): n / 1e6 for n in (1_000, 4_000)} | {keys.whole(keys.LOCAL, 1, "fit"): 0.01}
    values |= {keys.tree_data(n): 160.0 * n for n in (1_000, 4_000)}
    values |= {keys.tree_memory(n): 200.0 * n for n in (1_000, 4_000)}
    values |= {keys.whole(keys.CLUSTER, 1, "delete, beyond one process p50"): 0.0135}
    values |= {keys.whole(keys.CLUSTER, 2, f"{who} killed p50"): 2.0 for who in keys.PROCESSES}
    options = {"rows": 1_000, "columns": 40, "trees": 10, "workers": [1, 2]}
    series = {key: {"unit": "s", "values": [value]} for key, value in values.items()}
    content = {"machine": {"cores": 2}, "options": {"cluster": options}, "series": series, "latencies": latencies}
    return Measured(content)


def steady() -> Measured:
    return measured_with(lambda mean: [mean])


def scattered() -> Measured:
    shape = np.random.default_rng(0).lognormal(0.0, 0.8, 500)
    return measured_with(lambda mean: (mean * shape / shape.mean()).tolist())


@pytest.fixture(scope="module")
def findings() -> Findings:
    """What the measurements say that come with the package."""
    return Findings(Measured.read())


def small_cluster(measured: Measured, **assumed: Any) -> Costs:
    where = Deployment(rows=2_000, trees=12, share=1.0, workers=3, threads=2)
    return Costs(measured, where, replace(LOCAL, **assumed))


# ----------------------------------------------------------------------------------------------------------- arithmetic


def test_the_largest_of_several_times_is_what_drawing_them_gives() -> None:
    times = Times.of(np.random.default_rng(0).exponential(1.0, 2_000).tolist())
    random = np.random.default_rng(1)
    largest = np.array([times.drawn(random, 20).max() for _ in range(4_000)])
    assert times.largest_of(20) == pytest.approx(largest.mean(), rel=0.03)
    assert times.deviation_of_largest(20) == pytest.approx(largest.std(), rel=0.1)
    assert times.largest_of(1) == pytest.approx(times.mean)


def test_lines_and_curves_go_through_their_points() -> None:
    assert Line.through([(1, 3.0), (2, 5.0), (4, 9.0)]).at(8) == pytest.approx(17)
    power = Curve([(10, 100.0), (100, 1_000.0), (1_000, 10_000.0)])
    assert [power.at(x) for x in (1, 30, 1e6)] == pytest.approx([10, 300, 1e7])
    assert Line.through([(1, 2.0)]).at(5) == 2.0


@pytest.mark.parametrize(("share", "trees", "of_row"), [(1.0, 50, 50), (0.1, 50, 5), (0.07, 100, 7), (0.001, 50, 1)])
def test_a_row_is_in_as_many_trees_as_the_definition_says(share: float, trees: int, of_row: int) -> None:
    """The share as it is written, as in docs/algorithm.md: 0.07 of 100 trees are 7, not 8."""
    assert Deployment(10_000, trees, share, 1).trees_of_row == of_row


@pytest.mark.parametrize("rows", ROWS)
def test_nodes_hold_what_they_are_given(findings: Findings, rows: int) -> None:
    """As few as that, and trees as large as they were measured."""
    its = Deployment.of(rows, findings.measured, Assumptions())
    assert its.bytes_of_worker(findings.measured) <= Assumptions().memory
    assert its.rows_of_tree <= 1_000_000
    assert its.trees_of_row >= 1
    if its.workers > 1:
        fewer = replace(its, workers=its.workers - 1)
        assert fewer.bytes_of_worker(findings.measured) > Assumptions().memory


def test_parts_share_nothing_or_are_the_whole() -> None:
    assert Deployment(10**6, 50, 1.0, 4).part(4).workers == 4
    part = Deployment(10**9, 1_000, 0.001, 8).part(4)
    assert (part.rows, part.trees, part.workers, part.trees_of_row) == (250_000_000, 250, 2, 1)


# ----------------------------------------------------------------------------------------------------------- simulation


def test_same_seed_same_events() -> None:
    costs = small_cluster(scattered())
    first, again, other = (arrivals(costs, 30.0, 5.0, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.latencies != other.latencies


def test_without_chance_the_simulation_is_the_formula() -> None:
    """One client, and times that do not scatter: request, pass and answer, to the last digit."""
    costs = small_cluster(steady())
    assert clients(costs, 1, 5).latencies == pytest.approx([costs.request.mean + pass_of(costs, 1).seconds] * 5)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_formula_and_simulation_agree_where_no_queue_is_full(share: float) -> None:
    costs = small_cluster(scattered())
    rate = share * model.capacity(costs).per_second
    its = arrivals(costs, rate, 3_000 / rate)
    assert its.refused == 0
    assert its.per_second == pytest.approx(rate, rel=0.1)
    assert latency(costs, rate) == pytest.approx(its.mean_latency, rel=MOST_DISAGREEMENT)


def test_what_is_sustained_is_what_the_formula_says() -> None:
    costs = small_cluster(scattered())
    assert saturated(costs, 60).per_second == pytest.approx(model.capacity(costs).per_second, rel=0.2)


def test_more_than_can_be_sustained_is_refused() -> None:
    costs = small_cluster(scattered())
    most = model.capacity(costs).per_second
    its = arrivals(costs, 3 * most, 20.0)
    assert its.refused > 0.3 * its.asked
    assert its.per_second < 1.5 * most


def test_every_request_is_answered_once_whoever_fails() -> None:
    """Failures every few seconds of everybody: what was asked was acknowledged, refused, or still waits."""
    costs = small_cluster(scattered(), time_between_failures=5.0)
    its = Simulation(costs, 3, with_failures=True).run_arrivals(20.0, 200.0)
    assert min(its.failures.values()) > 5
    assert its.asked == len(its.latencies) + its.refused + its.left
    assert len(its.latencies) == sum(its.rows_of_passes)
    assert max(its.latencies) > 1.0  # the time of a recovery


def test_failures_take_the_time_that_the_formula_says() -> None:
    """Of a client that never stops: recoveries of any worker stop everybody."""
    costs = small_cluster(steady(), time_between_failures=100.0)
    with_failures = Simulation(costs, 0, with_failures=True).run_clients(1, 20_000)
    without = Simulation(costs, 0).run_clients(1, 20_000)
    lost = costs.where.workers * costs.recovery("worker") + costs.recovery("coordinator")
    slower = without.per_second / with_failures.per_second
    assert slower == pytest.approx(1 + lost / costs.assumed.time_between_failures, rel=0.05)


# ------------------------------------------------------------------------------------------------------- the findings


def test_agreement_is_as_the_page_says(findings: Findings) -> None:
    for its in findings.disagreements:
        assert abs(its.of_latency) < MOST_DISAGREEMENT, its
        assert abs(its.of_rate) < 0.1, its


def test_simulated_points_are_on_the_lines(findings: Findings) -> None:
    for its in findings.sustained:
        assert its.simulated == pytest.approx(its.per_second, rel=0.35), its


def test_the_present_design_ends_at_its_files_and_another_one_gets_there(findings: Findings) -> None:
    per_second, limit = erasures_per_second(findings.costs(10**10, AS_IT_IS))
    assert (limit, per_second < 10) == (Part.FILES, True)
    assert erasures_per_second(findings.costs(10**10, MANY_ORDERS))[0] > 10_000
    by_design = [erasures_per_second(findings.costs(10**10, design))[0] for design in DESIGNS]
    assert by_design == sorted(by_design)


def test_page_has_the_numbers_of_the_measurements(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/make_scale.py` would change nothing: no table was written by hand."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_scale = importlib.import_module("make_scale")
    text = make_scale.PAGE.read_text(encoding="utf-8")
    assert len(make_scale.BLOCK.findall(text)) == 9
    assert make_scale.page(text, findings) == text
    assert make_scale.PICTURE.read_text(encoding="utf-8").startswith("<svg")


def test_command_says_what_is_documented(findings: Findings) -> None:
    line = next(line for line in (ROOT / "docs/cli.md").read_text().splitlines() if "`experiment scale`" in line)
    assert all(f"`{key}`" in line for key in ("picture", *findings.as_json()))
    json.dumps(findings.as_json())


def test_results_without_the_case_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"options": {}}')
    with pytest.raises(InvalidInputError, match="--only cluster"):
        Measured.read(path)


# ------------------------------------------------------------------------------------------------------------ manifests


def manifests(name: str) -> list[Any]:
    return list(yaml.safe_load_all((ROOT / "examples/cluster" / name).read_text(encoding="utf-8")))


def test_ray_up_example_has_what_the_launcher_needs() -> None:
    (its,) = manifests("ray-up.yaml")
    assert its["provider"]["type"] == "local"
    assert {"cluster_name", "auth", "head_start_ray_commands", "worker_start_ray_commands"} <= its.keys()
    assert its["max_workers"] == len(its["provider"]["worker_ips"])
    for commands in ("head_start_ray_commands", "worker_start_ray_commands"):
        assert any("ray start" in command for command in its[commands])
    assert any("--autoscaling-config" in command for command in its["head_start_ray_commands"])
    assert any("deciduous[ray]" in command for command in its["setup_commands"])


def test_kuberay_example_has_what_the_operator_needs() -> None:
    """All pods see the folder, and workers are as large as the page says."""
    claim, its = manifests("kuberay.yaml")
    assert (claim["kind"], claim["spec"]["accessModes"]) == ("PersistentVolumeClaim", ["ReadWriteMany"])
    assert (its["apiVersion"], its["kind"]) == ("ray.io/v1", "RayCluster")
    head, (workers,) = its["spec"]["headGroupSpec"], its["spec"]["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    assert its["spec"]["rayVersion"].startswith("2.60")
    for group in (head, workers):
        assert "rayStartParams" in group
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        (mount,) = container["volumeMounts"]
        assert mount["mountPath"] == "/mnt/forests"
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert container["resources"]["limits"] == container["resources"]["requests"]
