"""The benchmarks themselves: their arithmetic, their table of requirements, and one tiny run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import before, cli, data, instructions, measuring, plots, report, runner, scale
from benchmarks.bench import Bench
from benchmarks.cases import CASES, nodes, regression
from benchmarks.decisions import KINDS, SCHEMES, YARDSTICKS, Kind
from benchmarks.measuring import exponent, latencies, least_seconds, percentile, spread
from benchmarks.requirements import REQUIREMENTS, All, Requirement, Verdict, judge, of_decision
from benchmarks.results import Results
from benchmarks.settings import FULL, NODE_ROWS, QUICK, REGRESSION, SETTINGS, TINY

PAPER = Path(__file__).resolve().parents[2] / "shared" / "paper" / "hyperparameters.csv"
APART = ("scale", "cluster")
REAL = ("adult", "surgical", "bank_marketing", "no_show", "electricity", "diabetes_stay")


def results_with(**series: list[float]) -> Results:
    """Results with these series, in seconds."""
    results = Results(machine={"cpu": "a | b"}, options={"sizes": "full"})
    for key, values in series.items():
        for value in values:
            results.record(key, value, "s")
    return results


# --------------------------------------------------------------------------------------------------------- arithmetic


def test_spread_is_mean_median_and_range() -> None:
    its = spread([1.0, 2.0, 6.0])
    assert (its.n, its.mean, its.median, its.low, its.high) == (3, 3.0, 2.0, 1.0, 6.0)


def test_percentiles_are_values_that_occurred() -> None:
    """Of 200 values, 100 do not exceed the median, and 198 do not exceed p99."""
    values = list(range(200, 0, -1))
    assert [percentile(values, q) for q in (50, 99, 100)] == [100, 198, 200]
    assert percentile([7.0], 50) == 7.0


def test_exponent_of_a_power_law_is_found_without_error() -> None:
    fitted = exponent([(x, 3 * x**1.5) for x in (10, 100, 1000, 1000)])
    assert fitted is not None
    assert fitted.value == pytest.approx(1.5)
    assert fitted.error == pytest.approx(0, abs=1e-9)


def test_exponent_has_an_error_if_points_scatter() -> None:
    """Residuals of ±0.1 in logarithms at both ends of one e-fold: the slope is 1, its variance 0.04 / 2 / 1."""
    e = np.e
    fitted = exponent([(1, np.exp(0.1)), (1, np.exp(-0.1)), (e, e * np.exp(0.1)), (e, e * np.exp(-0.1))])
    assert fitted is not None
    assert fitted.value == pytest.approx(1)
    assert fitted.error == pytest.approx(np.sqrt(0.04 / 2 / 1))


def test_one_x_has_no_exponent() -> None:
    assert exponent([(2, 3), (2, 4)]) is None


def test_latencies_end_with_the_budget_but_not_before_enough_calls() -> None:
    done: list[int] = []
    assert len(latencies(done.append, range(1000), budget=0.0)) == len(done) == 20
    assert len(latencies(done.append, range(30), budget=60.0)) == 30


def test_the_least_of_all_turns_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5.0, 20.0, 3.0, 10.0, 4.0, 30.0])
    monkeypatch.setattr(measuring, "cpu_seconds", lambda _: next(times))
    assert least_seconds([lambda: None, lambda: None], 3) == [3.0, 10.0]


def test_latencies_are_recorded_with_percentiles() -> None:
    results = Results({}, {})
    results.record_latencies("a/delete", [1.0, 2.0, 9.0])
    values = {key: series.values for key, series in results.series.items()}
    assert values == {"a/delete": [4.0], "a/delete p50": [2.0], "a/delete p99": [9.0], "a/delete max": [9.0]}


# ----------------------------------------------------------------------------------------------------------- verdicts


def test_value_is_the_quotient_of_means_over_seeds() -> None:
    """Means are 6 and 2: the quotient is 3, and the mean of the seeds' quotients would be less."""
    judgement = judge(Requirement("r", "c", "of", "over", must=3), results_with(of=[2.0, 10.0], over=[1.0, 3.0]))
    assert judgement.value == 3
    assert judgement.by_seed == pytest.approx((2, 10 / 3))
    assert judgement.verdict is Verdict.MUST


@pytest.mark.parametrize(
    ("bound", "value", "verdict"),
    [
        ("at least", 1.9, Verdict.MISSED),
        ("at least", 2.0, Verdict.MUST),
        ("at least", 4.0, Verdict.AIM),
        ("at most", 4.1, Verdict.MISSED),
        ("at most", 4.0, Verdict.MUST),
        ("at most", 2.0, Verdict.AIM),
    ],
)
def test_verdict_goes_by_the_direction(bound: str, value: float, verdict: Verdict) -> None:
    must, aim = (2, 4) if bound == "at least" else (4, 2)
    its = Requirement("r", "c", "of", None, bound, must, aim)  # type: ignore[arg-type]
    assert judge(its, results_with(of=[value])).verdict is verdict


def test_without_a_target_a_value_is_only_reported() -> None:
    assert judge(Requirement("r", "c", "of"), results_with(of=[1.0])).verdict is Verdict.REPORTED


def test_what_is_missing_was_not_measured() -> None:
    assert judge(Requirement("r", "c", "of", "over", must=1), results_with(of=[1.0])).verdict is Verdict.NOT_MEASURED


@pytest.fixture
def half_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, `of` took 8 s where the yardstick took 2."""
    monkeypatch.setattr(before, "results", lambda: results_with(of=[7.0, 9.0], over=[2.0]))


@pytest.mark.usefixtures("half_the_speed")
def test_what_was_before_is_compared_in_units_of_its_yardstick() -> None:
    """Now it is twice the yardstick, and was four times; that all clocks run half as fast makes no difference."""
    its = Requirement("r", "c", "of", "over", "at most", must=0.5, beside_before=True)
    judgement = judge(its, results_with(of=[8.0, 8.0], over=[4.0, 4.0]))
    assert (judgement.value, judgement.by_seed) == (0.5, (0.5, 0.5))
    assert judgement.verdict is Verdict.MUST


@pytest.mark.usefixtures("half_the_speed")
def test_without_a_yardstick_what_was_before_is_the_unit() -> None:
    its = Requirement("r", "c", "of", bound="at most", must=1, beside_before=True)
    assert judge(its, results_with(of=[6.0])).value == 0.75


@pytest.mark.usefixtures("half_the_speed")
def test_what_was_not_measured_before_is_not_judged() -> None:
    its = Requirement("r", "c", "other", bound="at most", must=1, beside_before=True)
    assert judge(its, results_with(other=[6.0])).verdict is Verdict.NOT_MEASURED


def test_the_worst_of_several_speaks_for_all() -> None:
    """A part that meets its aim is not the worst, however large its value; one that was not measured says nothing."""
    parts = [Requirement(key, "c", key, None, "at most", 5, aim) for key, aim in (("a", 4), ("b", 1), ("c", 1))]
    every = All("r", "c", tuple(parts))
    assert judge(every, results_with(a=[4.0], b=[2.0])).requirement.name == "b"
    assert judge(every, results_with(a=[4.0], b=[2.0])).verdict is Verdict.MUST
    assert judge(every, results_with(a=[6.0], b=[2.0])).verdict is Verdict.MISSED
    assert judge(every, results_with(a=[4.0], b=[1.0])).verdict is Verdict.AIM
    assert judge(every, results_with()).verdict is Verdict.NOT_MEASURED


def test_all_that_is_set_beside_before_was_measured_before() -> None:
    parts = [part for requirement in REQUIREMENTS for part in requirement.parts if part.beside_before]
    assert [part.of for part in parts if before.quotient(part.of, part.over) is None] == []
    assert len(parts) == len(KINDS) * len(SCHEMES) * len(NODE_ROWS) + len(SETTINGS)


def test_both_yardsticks_were_measured_before() -> None:
    keys = {kind.series(yardstick, n_rows) for kind in KINDS for yardstick in YARDSTICKS for n_rows in NODE_ROWS}
    assert keys <= set(before.results().series)


def test_decisions_aim_at_the_prototype_where_it_asks_for_more_than_the_must() -> None:
    """256 rows, valid: 33 ns where there were 144. 64 rows: 91 of 183, and half as much again is more than half."""
    continuous, one_hot = Kind("continuous", 2), Kind("one-hot", 2)
    assert of_decision(continuous, "valid", 256).aim == pytest.approx(1.5 * 33 / 144)
    assert of_decision(continuous, "valid", 64).aim == of_decision(continuous, "valid", 128).aim == 0.5
    assert of_decision(continuous, "random", 256).aim is of_decision(one_hot, "valid", 256).aim is None


def test_every_requirement_has_a_case() -> None:
    """`scale` is a command of its own."""
    assert {requirement.case for requirement in REQUIREMENTS} <= {case.name for case in CASES} | {"scale"}


def test_requirements_are_named_once() -> None:
    names = [requirement.name for requirement in REQUIREMENTS]
    assert len(names) == len(set(names))


def test_aims_are_beyond_musts() -> None:
    for its in (part for requirement in REQUIREMENTS for part in requirement.parts):
        if its.aim is not None and its.must is not None:
            assert its.aim >= its.must if its.bound == "at least" else its.aim <= its.must


# -------------------------------------------------------------------------------------------------------------- report


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0000123, "s", "12.3 µs"),
        (2.5, "s", "2.5 s"),
        (0.0, "s", "0 ns"),
        (3.2e9, "B", "3.2 GB"),
        (45_000, "x", "45,000x"),
        (0.86, "accuracy", "0.86 accuracy"),
    ],
)
def test_numbers_are_shown_in_a_fitting_unit(value: float, unit: str, text: str) -> None:
    assert report.shown(value, unit) == text


def small_results() -> Results:
    """Adult as if its fit were S/6, which is between must and aim, and its deletion S/100, which is too slow."""
    results = results_with(**{"adult/scikit-learn/fit": [3.0, 3.0], "adult/deciduous/fit": [0.5, 0.5]})
    results.record_latencies("adult/deciduous/delete", [0.02, 0.04])
    for x in (10, 100):
        results.record_point("n/fit", x, 2.0 * x)
    results.skipped["surgical"] = "no such file"
    return results


def test_report_has_verdicts_exponents_and_reasons() -> None:
    text = report.as_markdown(small_results(), [])
    assert "| adult: fit, S/x | 6x | 6x (6x – 6x) | ≥ 5x | ≥ 8x | must met |" in text
    assert "| adult: deletion, S/x | 100x | 100x | ≥ 2,500x | ≥ 5,000x | MISSED |" in text
    assert "not measured: no such file" in text
    assert "| fit against n | n^1.00 (± 0.00) | 10, 100 |" in text
    assert "a \\| b" in text


def decisions_as_before(share: float) -> Results:
    """Decisions of 64 and 128 rows that take this share of the time before on a machine of half the speed."""
    results = Results({}, {"sizes": "full"})
    for kind in KINDS:
        for n_rows in (64, 128):
            for what in (*SCHEMES, *YARDSTICKS):
                then = before.results().series[kind.series(what, n_rows)].values
                results.record(
                    kind.series(what, n_rows), 2 * spread(then).mean * (share if what in SCHEMES else 1), "s"
                )
    return results


def test_report_has_decisions_beside_before() -> None:
    text = report.as_markdown(decisions_as_before(0.4), [])
    assert "| decision, valid, continuous, 2 classes: time / before, worst: " in text
    assert text.count("| 0.4x | 0.4x | ≤ 0.5x |") == len(KINDS)
    assert text.count("| 0.4x | 0.4x | ≤ 0.333x |") == 2 * len(KINDS)
    assert text.count(" (0.4x) |") == 2 * len(KINDS) * len(SCHEMES)
    assert "| decision, valid, continuous, 2 classes: time / before | – |" in report.as_markdown(small_results(), [])


def test_picture_has_the_decisions_before_at_the_speed_of_the_run() -> None:
    results, kind = decisions_as_before(0.5), KINDS[0]
    now, then = plots.node_points(results, kind, "valid"), plots.points_before(results, kind, "valid")
    assert [n_rows for n_rows, _ in now] == [n_rows for n_rows, _ in then] == [64, 128]
    assert [time for _, time in now] == pytest.approx([time / 2 for _, time in then])


def test_page_has_the_same_verdicts_in_colour() -> None:
    page = report.as_html(small_results(), [Path("x/cost-curves.svg")])
    assert '<tr class="met"><td>adult: fit, S/x</td>' in page
    assert '<tr class="missed"><td>adult: deletion, S/x</td>' in page
    assert '<img src="cost-curves.svg"' in page


def test_smaller_sizes_are_said_to_be_an_indication() -> None:
    results = small_results()
    assert "an indication only" not in report.summary(results)
    results.options["sizes"] = QUICK.name
    assert "an indication only" in report.summary(results)
    assert "| must met (small sizes) |" in report.as_markdown(results, [])


def test_few_seeds_are_said_to_be_few() -> None:
    results = small_results()
    results.options["seeds"] = 1
    assert "| must met (fewer than 3 seeds) |" in report.as_markdown(results, [])


def test_a_stand_in_is_said_to_be_one() -> None:
    """In the summary with its reason, and beside the verdicts on its data, not beside others."""
    results = small_results()
    for system, seconds in (("scikit-learn", 4.0), ("deciduous", 1.0)):
        results.record(f"california_housing/{system}/fit", seconds, "s")
    assert "| california_housing: fit, S/x | 4x | 4x | ≥ 3x |  | must met |" in report.as_markdown(results, [])
    results.note_stand_in("california_housing", "generated data")
    text = report.as_markdown(results, [])
    assert "In place of california_housing stood generated data." in text
    assert "| california_housing: fit, S/x | 4x | 4x | ≥ 3x |  | must met (generated stand-in) |" in text
    assert "| adult: fit, S/x | 6x | 6x (6x – 6x) | ≥ 5x | ≥ 8x | must met |" in text


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    results = small_results()
    assert Results.load(results.save(tmp_path)) == results


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.mark.skipif(not PAPER.exists(), reason=f"the paper's tables are not at {PAPER}")
def test_hyperparameters_are_the_papers() -> None:
    with PAPER.open(encoding="utf-8") as file:
        rows = {row["dataset"]: row for row in csv.DictReader(file) if row["criterion"] == "gini"}
    for name, its in SETTINGS.items():
        paper = rows[name.partition("_80")[0]]
        assert (its.depth, its.k, its.random_depth) == tuple(int(paper[c]) for c in ("d_max", "k", "d_rmax_tol_0.5"))
        if name != "synthetic_800k":  # which has 10 trees, as the peers' figures
            assert its.n_trees == int(paper["T"])


def test_full_runs_take_the_trees_of_the_setting() -> None:
    assert all(FULL.setting(name) == setting for name, setting in (SETTINGS | REGRESSION).items())
    assert QUICK.setting("adult").n_trees < SETTINGS["adult"].n_trees


# ---------------------------------------------------------------------------------------------------------------- data


def test_absent_data_are_unavailable_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(data.Unavailable, match=rf"no adult.parquet .*set {data.FOLDER_VARIABLE}"):
        data.load("adult", 10)


@pytest.mark.parametrize("make", data.HOSTILE.values(), ids=list(data.HOSTILE))
def test_hostile_sets_have_both_classes(make: data.Maker) -> None:
    X, y = make(200)
    assert len(X) == len(y) == 200
    assert set(y) == {0, 1}


def test_distinct_values_are_distinct() -> None:
    X, _ = data.distinct_values(100)
    assert all(len(set(column)) == 100 for column in X.T)


def test_pieces_of_higgs_make_no_difference_to_its_shape() -> None:
    X, y = data.higgs_shaped(1_000)
    assert X.shape == (1_000, 28)
    assert X.dtype == np.float32
    assert 0.3 < y.mean() < 0.7


@pytest.mark.parametrize("columns", data.COLUMNS)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_labels_of_both_kinds_of_columns_are_even(columns: str, n_classes: int) -> None:
    X, y = data.labelled(columns, 200, n_classes)
    assert X.shape == (200, 40)
    assert np.bincount(y).tolist() == [200 // n_classes] * n_classes


def test_one_hot_columns_have_one_of_each_category() -> None:
    X = data.one_hot_columns(50)
    assert set(X.reshape(50, 8, 5).sum(axis=2).flat) == {1}


def test_stand_in_has_the_ties_of_california_housing() -> None:
    """Real prices are capped: one in twenty is at the cap. Places and ages have few values, ratios many."""
    X, y = data.california_shaped(20_640)
    assert X.shape == (20_640, 8)
    assert y.max() == 5.0
    assert 0.04 < (y == 5.0).mean() < 0.06
    _, age, rooms, _, _, _, latitude, longitude = (len(np.unique(column)) for column in X.T)
    assert age == 52
    assert max(latitude, longitude) < 1_000 < 15_000 < rooms


def test_absent_data_have_a_stand_in_that_is_noted_or_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    bench = Bench(TINY, Results({}, {}), 0, is_first=True)
    housing = regression.available(bench, "california_housing")
    assert housing is not None
    assert (housing.X.shape, housing.X_test.shape) == ((300, 8), (4_128, 8))
    assert (
        "generated data of its shape: no california_housing.parquet" in bench.results.options["stand_ins"][housing.name]
    )
    assert regression.available(bench, "electricity") is None
    assert "no electricity.parquet" in bench.results.skipped["regression of electricity"]


def test_numbers_become_classes_by_their_median() -> None:
    assert regression.above_median(np.array([3.0, 1.0, 1.0, 9.0])).tolist() == [1, 0, 0, 1]


# ---------------------------------------------------------------------------------------------------- single decisions


@pytest.mark.parametrize(("n_rows", "n_nodes"), [(8, 20_000), (1_000, 2), (100_000, 3)])
def test_a_gather_counts_the_nodes_that_it_gathers(n_rows: int, n_nodes: int) -> None:
    """At least as many as asked for, and less than one lot more."""
    subject = nodes.gather(np.zeros((n_rows, 40), np.float32), n_nodes)
    assert n_nodes <= subject.n_decisions < n_nodes + max(1, nodes.ROWS_AT_ONCE / n_rows)
    subject.work()


def test_storing_the_rows_is_no_part_of_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours take 9 s for 100 trees and 2 s for one: 7 s for 99 decisions of 10 rows."""
    times = iter([[9.0, 9.0, 9.0, 5.0, 5.0], [2.0, 2.0, 2.0, 0.0, 0.0]])
    monkeypatch.setattr(nodes, "least_seconds", lambda *_: next(times))
    results = Results({}, {})
    kind = KINDS[0]
    nodes.measure(Bench(TINY, results, 0, is_first=True), kind, 10)
    assert results.series[kind.series("valid", 10)].values == pytest.approx([7 / 99 / 10])


# --------------------------------------------------------------------------------------------------------------- scale


def test_scale_extrapolates_by_a_line_through_two_forests() -> None:
    """5 s at 2 trees and 9 s at 4: 2 s for a tree, and one second beside them."""
    assert scale.line_through((2, 5.0), (4, 9.0), 50) == pytest.approx(101)
    assert scale.line_through((2, 5.0), (2, 6.0), 50) == pytest.approx(150)


def test_scale_takes_as_many_trees_as_the_time_allows() -> None:
    """Of 1,000 s, 800 are for training, at 10 s for a tree."""
    first = scale.Fit(2, 20.0, 0)
    assert scale.affordable_trees(first, 1000.0, 50) == 50
    assert scale.affordable_trees(first, 100.0, 50) == 8
    assert scale.affordable_trees(first, 0.0, 50) == 2


def judged_scale(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> list[Verdict]:
    """The verdicts after a run of this many rows, on 500 rows in truth."""
    monkeypatch.setattr(scale, "higgs_shaped", lambda _: data.higgs_shaped(500))
    results = Results({}, {})
    scale.run(scale.Scale(n_rows=n_rows, n_trees=3, minutes=1, n_jobs=1, n_deletions=20), results)
    return [judge(requirement, results).verdict for requirement in REQUIREMENTS if requirement.case == "scale"]


def test_scale_records_what_the_requirements_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged_scale(scale.N_ROWS, monkeypatch) == [Verdict.MUST, Verdict.REPORTED]


def test_a_smaller_scale_run_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in little memory say nothing of 8.8 million."""
    assert judged_scale(500, monkeypatch) == [Verdict.NOT_MEASURED, Verdict.NOT_MEASURED]


# --------------------------------------------------------------------------------------------------------------- guard


def test_phases_are_the_differences_of_what_was_counted() -> None:
    cumulative = {"fit": 100, "delete": 150, "predict": 180, "regression-fit": 40, "regression-delete": 60}
    by_phase = {"fit": 100, "delete": 50, "predict": 30, "regression-fit": 40, "regression-delete": 20}
    assert instructions.by_phase(cumulative) == by_phase


def test_guard_fails_above_a_tenth_more(capsys: pytest.CaptureFixture[str]) -> None:
    baseline = dict.fromkeys(instructions.PHASES, 100)
    assert instructions.compare(baseline, baseline | {"fit": 110}) == 0
    assert instructions.compare(baseline, baseline | {"delete": 111}) == 1
    assert "delete takes over 10% more" in capsys.readouterr().out
    assert instructions.compare(baseline, baseline | {"predict": 50}) == 0
    assert "should be lowered" in capsys.readouterr().out


def test_sum_of_a_callgrind_file_is_read() -> None:
    assert instructions.total("events: Ir\nfn=(1)\n1 2\n\ntotals: 123\n") == 123


def test_guard_says_that_valgrind_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert instructions.main(["no-such-workload"]) == 0
    assert "valgrind is not installed" in capsys.readouterr().out


def test_baseline_has_all_phases() -> None:
    stored = json.loads(instructions.BASELINE.read_text(encoding="utf-8"))
    assert tuple(stored["instructions"]) == instructions.PHASES


# ------------------------------------------------------------------------------------------------------------ all of it


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Path]:
    """Every case on a few hundred rows."""
    out = tmp_path_factory.mktemp("bench")
    results = Results({"cpu": "any"}, {"sizes": TINY.name})
    runner.run(runner.chosen([]), TINY, range(2), results, out)
    report.write(results, out)
    return results, out


def test_tiny_run_has_no_failure(tiny_run: tuple[Results, Path]) -> None:
    assert tiny_run[0].failed == {}


def test_tiny_run_measures_every_requirement(tiny_run: tuple[Results, Path]) -> None:
    """All but those of data that are not here, of `scale`, and of `cluster`, which tests/cluster measures."""
    results, _ = tiny_run
    absent = [name for name in REAL if any(name in what for what in results.skipped)]
    missing = [its.name for its in REQUIREMENTS if its.case not in APART and judge(its, results).value is None]
    assert [name for name in missing if not any(data in name for data in [*absent, "one row"])] == []


def test_tiny_run_writes_its_files(tiny_run: tuple[Results, Path]) -> None:
    results, out = tiny_run
    assert Results.load(out / "results.json").series == results.series
    assert {"report.md", "report.html", "results.json"} <= {path.name for path in out.iterdir()}


def test_tiny_run_draws_the_decisions(tiny_run: tuple[Results, Path]) -> None:
    pytest.importorskip("matplotlib")
    assert (tiny_run[1] / "nodes.svg").exists()


def test_tiny_run_has_all_curves(tiny_run: tuple[Results, Path]) -> None:
    assert set(tiny_run[0].curves) == {f"{axis}/{what}" for axis in "nTdkp" for what in ("fit", "deletion", "memory")}


def test_a_case_that_fails_is_noted_and_the_others_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(_: Bench) -> None:
        raise ZeroDivisionError("on purpose")

    def is_unavailable(_: Bench) -> None:
        raise data.Unavailable("not today")

    def works(bench: Bench) -> None:
        bench.results.record("a/b/c", 1.0, "s")

    results = Results({}, {})
    cases = [runner.Case(run.__name__, "", run) for run in (fails, is_unavailable, works)]
    runner.run(cases, TINY, range(3), results, tmp_path)
    assert results.failed == {"fails": "ZeroDivisionError: on purpose"}
    assert results.skipped == {"is_unavailable": "not today"}
    assert results.series["a/b/c"].values == [1.0, 1.0, 1.0]
    assert "FAILED (ZeroDivisionError: on purpose)" in capsys.readouterr().out


def test_cases_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [case.name for case in CASES]


def test_unknown_case_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--only", "nonsense"])
    assert "No case is called nonsense. There are adult" in capsys.readouterr().err
