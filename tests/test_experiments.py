"""The experiments: the store resumes, units do what they say, the smoke scale runs, the report is whole."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor, cli
from deciduous.errors import InvalidInputError
from deciduous.experiments import paper, report, runner
from deciduous.experiments.claims import Verdict, claims
from deciduous.experiments.datasets import FOLDER_VARIABLE, REGISTRY, REGRESSION, Unavailable, load
from deciduous.experiments.measuring import geometric_mean, latency_figures, standard_error
from deciduous.experiments.models import dare_for, g_dare
from deciduous.experiments.models import quality as quality_of
from deciduous.experiments.papers_scheme import CASES
from deciduous.experiments.protocols import PROTOCOLS, deletion, exactness, performance, stream
from deciduous.experiments.resident import OURS, STATM, in_process
from deciduous.experiments.scales import PAPER, SCALES, SMALL, SMOKE, Budget
from deciduous.experiments.store import Record, Runs, Store, Unit
from deciduous.experiments.task import Task, delete_random, delete_worst

typer_testing = pytest.importorskip("typer.testing")
pytest.importorskip("matplotlib")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def record_of(unit: Unit, result: dict[str, Any] | None, reason: str | None = None) -> Record:
    """A record of some run."""
    return Record(unit, "small", "abc", "0.1.0", "a machine", "2026-01-01T00:00:00+00:00", 1.0, result, reason)


# --------------------------------------------------------------------------------------------------------------- store


def test_store_keeps_records_over_runs(tmp_path: Path) -> None:
    path = tmp_path / "smoke.jsonl"
    unit = Unit("batch", "adult", 2, {"k": 5})
    assert not Store(path, "smoke").is_done(unit)
    Store(path, "smoke").add(unit, 1.5, {"score": 0.123456789, "times": [1.0, 2.0]})
    (record,) = Store(path, "smoke").runs
    assert Store(path, "smoke").is_done(Unit("batch", "adult", 2, {"k": 5}))
    assert record.unit == unit
    assert record.result == {"score": 0.1234568, "times": [1.0, 2.0]}
    assert (record.unit.seed, record.scale, record.seconds) == (2, "smoke", 1.5)
    assert "cores" in record.machine
    assert record.commit is None or re.fullmatch("[0-9a-f]{40}", record.commit)


def test_what_has_no_result_is_not_done_and_is_replaced(tmp_path: Path) -> None:
    path, unit = tmp_path / "smoke.jsonl", Unit("batch", "adult")
    Store(path, "smoke").add(unit, 0.1, reason="failed: MemoryError")
    assert not Store(path, "smoke").is_done(unit)
    assert len(Runs.read(path).without_result()) == 1
    Store(path, "smoke").add(unit, 0.1, {"score": 1.0})
    assert len(Runs.read(path)) == 1
    assert len(Runs.read(path).without_result()) == 0


def test_half_a_last_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "smoke.jsonl"
    Store(path, "smoke").add(Unit("batch", "adult"), 1.0, {})
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert len(Store(path, "smoke").runs) == 1
    assert path.read_bytes() == whole


def test_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "smoke.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(InvalidInputError, match=r"Line 1 of .* is damaged"):
        Store(path, "smoke")


def test_runs_of_another_scale_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    Store(path, "small").add(Unit("batch", "adult"), 1.0, {})
    with pytest.raises(InvalidInputError, match="holds a run of the scale small, not smoke"):
        Store(path, "smoke")


# -------------------------------------------------------------------------------------------------------------- runner


def run_quietly(request: runner.Request, store: Store) -> list[str]:
    """Runs a request; the units that were begun."""
    begun: list[str] = []
    runner.run(request, store, lambda unit: begun.append(str(unit)), lambda _: None, lambda _: None)
    return begun


def test_a_finished_unit_is_never_run_again(tmp_path: Path) -> None:
    request = runner.Request.checked(["thresholds", "batch"], "smoke", ["synthetic"])
    store = Store(tmp_path / "smoke.jsonl", "smoke")
    assert len(run_quietly(request, store)) == request.n_units == 1
    again = Store(tmp_path / "smoke.jsonl", "smoke")
    assert run_quietly(request, again) == []
    more = replace(request, protocols=(*request.protocols, PROTOCOLS["training-time"]))
    assert run_quietly(more, again) == ["training-time synthetic seed 1"]


def test_missing_data_are_noted_and_others_go_on(tmp_path: Path) -> None:
    request = runner.Request.checked(["batch"], "smoke", ["surgical", "synthetic"], folder=tmp_path)
    store = Store(tmp_path / "smoke.jsonl", "smoke")
    assert run_quietly(request, store) == ["batch synthetic seed 1"]
    (missing,) = store.runs.without_result()
    assert (missing.unit.experiment, missing.unit.dataset) == ("data", "surgical")
    assert "no surgical.parquet" in str(missing.reason)


def test_a_unit_that_fails_is_noted_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: Task) -> dict[str, Any]:
        raise ZeroDivisionError("on purpose")

    broken = replace(PROTOCOLS["batch"], run=fails)
    request = runner.Request.checked(["batch"], "smoke", ["synthetic"])
    store = Store(tmp_path / "smoke.jsonl", "smoke")
    with monkeypatch.context() as patched:
        patched.setitem(PROTOCOLS, "batch", broken)
        run_quietly(request, store)
    (record,) = store.runs
    assert record.reason == "failed: ZeroDivisionError: on purpose"
    assert "on purpose" in capsys.readouterr().err
    assert len(run_quietly(request, store)) == 1
    assert len(store.runs.done("batch")) == 1


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"No experiment is called speed\. There are performance, deletion"):
        runner.Request.checked(["speed"], "smoke")
    with pytest.raises(InvalidInputError, match=r"No data set is called iris\. There are surgical"):
        runner.Request.checked(["batch"], "smoke", ["iris"])


# -------------------------------------------------------------------------------------------------------------- scales


def test_scales_grow() -> None:
    n_units = [
        sum(len(protocol.units(scale, name)) for protocol in PROTOCOLS.values() for name in scale.datasets)
        for scale in (SMOKE, SMALL, PAPER)
    ]
    assert n_units == sorted(n_units)
    assert PAPER.scaled_down == []
    assert SMOKE.scaled_down
    assert SMALL.scaled_down


def test_paper_scale_is_the_papers() -> None:
    """Five seeds, all rows and trees, two criteria, k and the grid as in the paper."""
    task = Task(Unit("deletion", "adult"), PAPER, None)
    assert task.some_trees() == paper.setting("adult")
    assert task.setting("r_dare_0.5", "entropy").random_depth == 14
    assert (PAPER.n_seeds, PAPER.max_rows, PAPER.criteria) == (5, None, ("gini", "entropy"))
    assert PAPER.thresholds == (1, 5, 10, 25, 50, 100)
    assert PAPER.tuning.n_trees == (10, 25, 50, 100, 250)
    assert {unit.options["rows"] for unit in performance.plan(PAPER, "adult")} == {"all"}


def test_stand_in_is_not_compared_with_the_papers_scores() -> None:
    units = performance.plan(SMALL, "higgs_stand_in")
    assert {unit.options["rows"] for unit in units} == {"some"}


# --------------------------------------------------------------------------------------------------------- measurement


def test_figures_of_latencies() -> None:
    figures = latency_figures([1.0, 2.0, 3.0, 10.0])
    assert figures == {"n": 4, "mean": 4.0, "p50": 2.0, "p99": 10.0, "max": 10.0}
    assert geometric_mean([1.0, 100.0]) == pytest.approx(10.0)
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert standard_error([1.0]) is None


@pytest.fixture
def forest() -> DareForestClassifier:
    data = load("synthetic", n_train=600)
    return DareForestClassifier(3, max_depth=8, n_thresholds=5, random_state=1, n_jobs=1).fit(data.X, data.y)


def test_worst_deletions_retrain_more_than_random_ones(forest: DareForestClassifier) -> None:
    data = load("synthetic", n_train=600)
    another = DareForestClassifier(**forest.get_params()).fit(data.X, data.y)
    worst = delete_worst(forest, 1, Budget(5, 60.0), n_candidates=100)
    random = delete_random(another, 1, Budget(5, 60.0))
    assert worst["rows_retrained"] > random["rows_retrained"]
    assert (worst["delete"]["n"], random["delete"]["n"]) == (5, 5)
    assert worst["choosing"]["n"] == 5
    assert sum(worst["rows_retrained_by_depth"]) == pytest.approx(worst["rows_retrained"], abs=0.2)


def test_a_series_ends_with_its_budget(forest: DareForestClassifier) -> None:
    assert delete_random(forest, 1, Budget(200, 0.0))["delete"]["n"] == 3
    assert forest.n_rows_ == 597


def test_stream_has_all_kinds_of_operations_and_stays_exact(forest: DareForestClassifier) -> None:
    data = load("synthetic", n_train=600)
    first = DareForestClassifier(**forest.get_params()).fit(data.X[:540], data.y[:540])
    times = stream.streamed(first, data, 540, 1, Budget(60, 60.0))
    assert {kind: len(its) > 0 for kind, its in times.items()} == dict.fromkeys(stream.KINDS, True)
    assert first.n_rows_ == 540 + len(times["add"]) - len(times["delete"])
    assert first.verify()


def test_impossible_roots_are_told() -> None:
    merged = CASES[0]
    observed = exactness.Counter({(0, 1.0): 50, (0, 9.0): 50})
    its = exactness.compared(observed, merged.retrained)
    assert (its["impossible"], its["chi2"], its["p"]) == (0.5, None, 0.0)


# -------------------------------------------------------------------------------------------------------------- claims


def quality(**scores: float) -> Runs:
    """Runs of G-DaRE on all rows."""
    options = {"model": "g_dare", "rows": "all"}
    return Runs(
        record_of(Unit("performance", name, 1, options), {"score": value, "n_rows": 1, "n_trees": 1})
        for name, value in scores.items()
    )


@pytest.mark.parametrize(
    ("scores", "verdict", "found"),
    [
        ({"adult": 0.866, "surgical": 0.863}, Verdict.HOLDS, "2 of 2 sets; farther: none"),
        ({"adult": 0.8675, "surgical": 0.867}, Verdict.IN_PART, "1 of 2 sets; farther: Adult +0.55"),
        ({"adult": 0.80}, Verdict.FAILS, "0 of 1 sets; farther: Adult -6.20"),
        ({}, Verdict.NOT_MEASURED, "0 of 0 sets; farther: none"),
        ({"synthetic": 0.5}, Verdict.NOT_MEASURED, "0 of 0 sets; farther: none"),
    ],
)
def test_quality_is_judged_at_half_a_point(scores: dict[str, float], verdict: Verdict, found: str) -> None:
    claim = claims(quality(**scores))[0]
    assert (claim.verdict, claim.found) == (verdict, found)


def deletions(speedups: Sequence[float], worst: float) -> Runs:
    """Runs of the five models on one data set."""
    models = ("g_dare", "r_dare_0.1", "r_dare_0.25", "r_dare_0.5", "r_dare_1.0")
    return Runs(
        record_of(
            Unit("deletion", "adult", 1, {"criterion": "gini", "adversary": adversary, "model": model}),
            {"speedup": value * factor, "score": 0.8, "n_rows": 1, "n_trees": 1},
        )
        for adversary, factor in (("random", 1.0), ("worst_of_1000", worst))
        for model, value in zip(models, speedups, strict=True)
    )


def test_order_of_speedups_is_judged() -> None:
    by_text = {claim.text: claim for claim in claims(deletions([100, 200, 300, 400, 500], 0.1))}
    rising = by_text["R-DaRE is faster than G-DaRE, the more so the larger the tolerance (gini, random)"]
    assert rising.verdict is Verdict.HOLDS
    assert by_text["the speed-up is smaller against worst-of-1000, often by an order of magnitude"].found == (
        "smaller in 5 of 5 pairs; by 10x in the median"
    )
    falling = claims(deletions([500, 400, 300, 200, 100], 2.0))
    assert [claim.verdict for claim in falling if "(gini, random)" in claim.text] == [Verdict.FAILS]
    assert [claim.verdict for claim in falling if "worst-of-1000, often" in claim.text] == [Verdict.FAILS]


# ---------------------------------------------------------------------------------------------------------- regression


def test_only_deletion_and_exactness_are_run_with_numbers() -> None:
    """With the criterion of the regressor, for both adversaries and all models; the others plan nothing."""
    n_units = {name: len(protocol.units(SMALL, "friedman")) for name, protocol in PROTOCOLS.items()}
    assert {name for name, n in n_units.items() if n} == {"deletion", "exactness"}
    assert n_units["deletion"] == 2 * len(deletion.MODELS)
    assert {unit.options["criterion"] for unit in deletion.plan(SMALL, "friedman")} == {"squared_error"}
    request = runner.Request.checked(["batch", "exactness"], "smoke", ["friedman"])
    assert {unit.experiment for unit in request.units("friedman")} == {"exactness"}


def test_settings_for_numbers_are_ours() -> None:
    """The default forest, with a random depth for each tolerance that does not fall as tolerances grow."""
    task = Task(Unit("deletion", "friedman"), PAPER, None)
    assert task.some_trees(criterion="squared_error") == paper.Setting(100, 20, 25, 0)
    for entry in REGRESSION:
        depths = [entry.setting("squared_error", tolerance).random_depth for tolerance in paper.TOLERANCES]
        assert depths == sorted(depths)
        assert depths == list(entry.random_depths)


def test_forest_of_numbers_is_a_regressor_judged_by_r2() -> None:
    """It predicts most of Friedman's function, and its range is that of all targets."""
    data = load("friedman", n_train=2_000)
    forest = dare_for(data, paper.Setting(20, 20, 25, 2), seed=1).fit(data.X, data.y)
    assert isinstance(forest, DareForestRegressor)
    assert (forest.random_depth, forest.target_range) == (2, (data.y.min(), data.y.max()))
    assert quality_of(forest, data) == pytest.approx(forest.score(data.X_test, data.y_test))
    assert 0.7 < quality_of(forest, data) < 0.95
    assert isinstance(dare_for(load("synthetic", n_train=600), paper.Setting(1, 1, 1, 0), 1), DareForestClassifier)


@pytest.mark.parametrize("lazy", [False, True])
def test_deletions_of_extreme_targets_are_exact(lazy: bool) -> None:
    """The experiment gives both forests the range of all rows: among those deleted may be the ends of it."""
    task = Task(Unit("exactness", "friedman", 1, {"model": "r_dare_0.25", "lazy": lazy}), SMOKE, None)
    assert exactness.run(task)["matches"]
    data = task.some_data()
    gone = np.array([data.y.argmin(), data.y.argmax()])
    left = np.setdiff1d(np.arange(len(data.y)), gone)
    setting = task.some_trees(criterion="squared_error")
    forest = dare_for(data, setting, 1, lazy=lazy).fit(data.X, data.y)
    forest.delete(gone)
    retrained = dare_for(data, setting, 1).fit(data.X[left], data.y[left], ids=left)
    assert forest.fingerprint() == retrained.fingerprint()


def exactness_of(dataset: str, matches: bool) -> Record:
    """A record of a forest that was deleted from and retrained."""
    options = {"model": "g_dare", "lazy": False}
    figures = {"n_rows": 9, "n_trees": 1, "n_deleted": 1, "deleting": 1.0, "retraining": 1.0, "fingerprint": "a" * 32}
    return record_of(Unit("exactness", dataset, 1, options), figures | {"matches": matches})


def test_regression_is_judged_on_its_own() -> None:
    """A forest of numbers that differs says nothing about the paper's claim, and has a section of its own."""
    runs = Runs([exactness_of("adult", True), exactness_of("friedman", False)])
    by_text = {claim.text: claim for claim in claims(runs)}
    ours = by_text["regression: deletion gives the same bytes as retraining"]
    theirs = by_text["deletion gives the model that retraining gives (ours: the same bytes)"]
    assert (ours.verdict, theirs.verdict) == (Verdict.FAILS, Verdict.HOLDS)
    page = report.as_html(runs, SMALL)
    assert page.index('id="exactness"') < page.index("same</td>") < page.index('id="exactness-regression"')
    assert page.index('id="exactness-regression"') < page.index("DIFFERENT</td>")


def test_table_of_regression_has_r2_and_both_speedups() -> None:
    """In the report and on the page of the documentation."""
    runs = Runs(
        record_of(
            Unit("deletion", "friedman", 1, {"criterion": "squared_error", "adversary": adversary, "model": model}),
            {"speedup": speedup, "score": score, "n_rows": 80, "n_trees": 7, "random_depth": depth, "delete": {"n": 3}},
        )
        for adversary, factor in (("random", 1.0), ("worst_of_1000", 0.1))
        for model, speedup, score, depth in (("g_dare", 300 * factor, 0.85, 0), ("r_dare_1.0", 500 * factor, 0.842, 6))
    )
    text = report.as_markdown(runs, SMALL)
    assert "| Friedman | G-DaRE | 0 | 0.8500 | +0.00 | 300x | 30x | 80 rows, 7 trees, 1 seed |" in text
    assert "| Friedman | R-DaRE 1.0% | 6 | 0.8420 | +0.80 | 500x | 50x | 80 rows, 7 trees, 1 seed |" in text
    page = report.as_html(runs, SMALL)
    assert "deletion, regression" in page
    assert "R² lost, points" in page
    assert 'id="deletion"' not in page


# ------------------------------------------------------------------------------------------------------- smoke, report


def invoke(*arguments: str) -> Any:
    """The command line, without a process of its own."""
    from deciduous.cli.app import app

    return typer_testing.CliRunner().invoke(app, ["experiment", *arguments], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of everything at the scale smoke."""
    out = tmp_path_factory.mktemp("smoke")
    done = invoke("all", "--scale", "smoke", "--offline", "--data", str(SHARED_DATA), "--out", str(out))
    assert done.exit_code == 0, done.output
    return out


def test_smoke_runs_every_experiment(smoke: Path) -> None:
    runs = Runs.read(smoke / "smoke.jsonl")
    assert all(len(runs.done(name)) > 0 for name in PROTOCOLS if name not in ("random-depth", "thresholds"))
    missing = runs.without_result()
    absent = {record.unit.dataset for record in missing if record.unit.experiment == "data"}
    real = [name for name in SMOKE.datasets if REGISTRY[name].is_real]
    assert absent == {name for name in real if not (SHARED_DATA / f"{name}.parquet").exists()}
    assert [record for record in missing if record.unit.experiment != "data" and "lightgbm" not in str(record)] == []


def test_smoke_is_exact(smoke: Path) -> None:
    runs = Runs.read(smoke / "smoke.jsonl")
    results = [record.result or {} for record in runs.done("exactness")]
    assert all(its["matches"] if "matches" in its else its["ours"]["matches"] for its in results)
    assert all((record.result or {})["is_first_forest_again"] for record in runs.done("batch"))


def test_second_run_finds_everything_done(smoke: Path) -> None:
    before = (smoke / "smoke.jsonl").read_bytes()
    arguments = ("all", "--scale", "smoke", "--offline", "--data", str(SHARED_DATA), "--out", str(smoke))
    assert invoke(*arguments, "--only", "synthetic").exit_code == 0
    assert (smoke / "smoke.jsonl").read_bytes() == before


class Parsed(HTMLParser):
    """Tags that were opened and not closed, what the page refers to, and its headings' names."""

    VOID = ("meta", "br", "img", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        its = dict(attrs)
        self.references += [str(its[key]) for key in ("src", "href", "xlink:href") if its.get(key)]
        if tag == "h2":
            self.names.append(str(its["id"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_is_one_whole_page_with_every_experiment(smoke: Path) -> None:
    page = (smoke / "smoke.html").read_text(encoding="utf-8")
    parsed = Parsed()
    parsed.feed(page)
    assert parsed.open == []
    assert [target for target in parsed.references if not target.startswith("#")] == []
    run = {record.unit.experiment for record in Runs.read(smoke / "smoke.jsonl")} - {"data"}
    sections = [name for name in PROTOCOLS if name in run]
    for name in ("deletion", "exactness"):
        sections.insert(sections.index(name) + 1, f"{name}-regression")
    assert parsed.names == ["claims", "data", *sections, "missing", "run"]
    assert "stand-in" in page
    assert "no ctr.parquet" in page or "not part of this run" in page
    assert "cores" in page


def test_report_can_be_built_anew(smoke: Path) -> None:
    before = (smoke / "smoke.html").read_text(encoding="utf-8")
    assert invoke("report", "--scale", "smoke", "--out", str(smoke)).exit_code == 0
    assert (smoke / "smoke.html").read_text(encoding="utf-8") == before


def test_report_of_nothing_still_is_a_page() -> None:
    page = report.as_html(Runs([]), SMALL)
    assert "not measured" in page


# --------------------------------------------------------------------------------------------------------- command line


def test_errors_are_messages(tmp_path: Path) -> None:
    done = invoke("batch", "--only", "iris", "--out", str(tmp_path))
    assert done.exit_code == 3
    assert "No data set is called iris" in done.output
    done = invoke("report", "--scale", "small", "--out", str(tmp_path))
    assert done.exit_code == 3
    assert "Run `deciduous experiment all --scale small` first" in " ".join(done.output.split())


def test_data_sets_are_listed_with_their_state(tmp_path: Path) -> None:
    lines = invoke("data", "--data", str(tmp_path)).output
    assert "no, can be fetched" in lines
    assert all(name in lines for name in ("surgical", "higgs_stand_in", "98 (99)"))
    assert re.search(r"friedman .* 80,000 \+ 20,000 .* – .* r2 .* made", lines)


def test_every_experiment_is_a_command() -> None:
    listed = invoke("--help").output
    assert all(name in listed for name in [*PROTOCOLS, "all", "report", "data", "fetch"])
    assert all(name in invoke("batch", "--help").output for name in SCALES)


def test_command_line_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In a sentence, with the code of a problem, and without a traceback."""
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("deciduous.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    told = "The command line needs typer. Install it with: pip install 'deciduous[cli]'\n"
    assert capsys.readouterr() == ("", told)


def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    task = Task(Unit("performance", "synthetic", 1, {"model": "lightgbm_rf", "rows": "some"}), SMOKE, None)
    with pytest.raises(Unavailable, match="lightgbm is not installed"):
        performance.run(task)


@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc")
def test_accounting_is_what_a_process_takes(tmp_path: Path) -> None:
    """Within 10%, on rows and trees enough that what Python itself takes does not count."""
    data, setting = load("synthetic", n_train=20_000), paper.Setting(20, 20, 10, 0)
    np.savez(tmp_path / "rows.npz", X=data.X, y=data.y)
    growth = in_process(tmp_path / "rows.npz", OURS, setting, 1)
    accounted = g_dare(setting, 1).fit(data.X, data.y).memory_usage().total
    assert growth.resident == pytest.approx(accounted, rel=0.1)
    assert growth.peak > growth.resident


def test_variable_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert str(tmp_path)[:20] in invoke("data").output
