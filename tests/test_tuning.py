"""The paper's tuning protocol: what it chooses, when it stops, and that an interrupted search goes on where it was."""

import builtins
import doctest
import json
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, cross_val_score

from deciduous import DareForestClassifier, DareForestRegressor, tuning
from deciduous.errors import InvalidInputError
from deciduous.tuning import Forest, TuningResult, metric_for, random_depths_within, tune

PAGE = Path(__file__).parents[1] / "docs" / "tuning.md"
GRID: dict[str, Any] = {"n_estimators": (3, 6), "max_depth": (1, 4), "n_thresholds": (2, 5)}
N_GREEDY = 2 * 2 * 2
CV = 3


def rows_of(n_rows: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, about as many rows of each."""
    return make_classification(n_rows, 6, n_informative=3, random_state=seed)


def tuned(**others: Any) -> TuningResult:
    """A search that takes a moment."""
    X, y = rows_of()
    return tune(None, X, y, **(GRID | {"cv": CV, "random_state": 1} | others))


class Scoring:
    """Scores a forest by its parameters alone, keeps a record, and breaks down at the call that it is told to."""

    def __init__(self, score: Callable[[Forest], float], fails_at: int | None = None) -> None:
        self.score = score
        self.fails_at = fails_at
        self.forests: list[Forest] = []
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        return "Scoring()"  # the same before and after a break-down, as a function's would be

    def __call__(self, forest: Forest, *_rows_and_labels: np.ndarray) -> float:
        with self.lock:
            self.forests.append(forest)
            if len(self.forests) == self.fails_at:
                raise InterruptedError("the plug was pulled")
        return self.score(forest)


def score_of_all(forest: Forest) -> float:
    """Better with trees, depth and thresholds, worse by 0.002 with each random level."""
    return 0.8 + 0.001 * (forest.n_estimators + forest.max_depth + forest.n_thresholds) - 0.002 * forest.random_depth


# ------------------------------------------------------------------------------------------------------------- metric


@pytest.mark.parametrize(
    ("n_positive", "metric"),
    [
        (1, "average_precision"),
        (9, "average_precision"),
        (10, "roc_auc"),
        (200, "roc_auc"),
        (201, "accuracy"),
        (999, "accuracy"),
    ],
)
def test_metric_changes_at_one_and_twenty_per_cent(n_positive: int, metric: str) -> None:
    """Of 1000 rows: below 10 positive ones, from 10 to 200, and above."""
    assert metric_for([1] * n_positive + [0] * (1000 - n_positive)) == metric


def test_positive_class_is_the_greater_label() -> None:
    """Whatever the labels are: 5% are "yes", or 95% are."""
    assert metric_for(["yes"] * 5 + ["no"] * 95) == "roc_auc"
    assert metric_for(["yes"] * 95 + ["no"] * 5) == "accuracy"


def test_metric_for_more_than_two_classes_is_accuracy() -> None:
    """Even if they are rare."""
    assert metric_for([0] * 1000 + [1, 2]) == "accuracy"


@pytest.mark.parametrize(("n_positive", "metric"), [(6, "average_precision"), (60, "roc_auc")])
def test_rare_classes_are_scored_by_their_metric(n_positive: int, metric: str) -> None:
    """With labels that are words: scikit-learn's scorer of average precision knows only the label 1."""
    y = np.where(np.arange(660) < n_positive, "yes", "no")
    X = np.column_stack([y == "yes", np.arange(660) % 7])  # the first column tells the class
    result = tune(None, X, y, n_estimators=5, max_depth=3, n_thresholds=5, cv=3, tolerances=(), random_state=0)
    assert result.metric == metric
    assert result.best_score == 1.0


def test_scoring_of_the_caller_is_used() -> None:
    """By its name in scikit-learn."""
    result = tuned(scoring="neg_log_loss", tolerances=())
    assert result.metric == "neg_log_loss"
    assert result.best_score < 0


# ---------------------------------------------------------------------------------------------------------- stop rule


def test_random_depth_is_the_last_one_within_each_tolerance() -> None:
    """0.900, 0.8995, 0.898, 0.895: a fall by exactly the tolerance is within it, in spite of rounding."""
    scores = [0.900, 0.8995, 0.898, 0.895, 0.880]
    assert random_depths_within([0.0, 0.001, 0.002, 0.01], scores) == {0.0: 0, 0.001: 1, 0.002: 2, 0.01: 3}


def test_first_fall_counts_even_if_the_score_recovers() -> None:
    """The depth is raised until the score falls, so what comes behind is not looked at."""
    assert random_depths_within([0.01, 0.05], [0.9, 0.88, 0.9, 0.9]) == {0.01: 0, 0.05: 3}


def test_score_above_the_greedy_one_is_within_every_tolerance() -> None:
    """Only a fall ends the search; without one the depth of the trees does."""
    assert random_depths_within([0.0], [0.9, 0.91, 0.92]) == {0.0: 2}


def test_no_more_scores_are_asked_for_than_the_tolerances_need() -> None:
    """The third score is the first below all tolerances; without tolerances none is needed."""
    scores = iter([0.9, 0.895, 0.8, 0.7, 0.6])
    assert random_depths_within([0.001, 0.01], scores) == {0.001: 0, 0.01: 1}
    assert list(scores) == [0.7, 0.6]
    assert random_depths_within([], iter(lambda: 1 / 0, None)) == {}


def test_search_stops_after_the_first_depth_that_no_tolerance_allows() -> None:
    """Each random level costs 0.002: tolerances of 0.001, 0.002 and 0.005 allow 0, 1 and 2, and 3 is tried in vain."""
    scoring = Scoring(score_of_all)
    result = tuned(scoring=scoring, tolerances=(0.005, 0.001, 0.002), refit=False)
    assert result.random_depths == {0.001: 0, 0.002: 1, 0.005: 2}
    assert [row["random_depth"] for row in result.scores if row["random_depth"]] == [1, 2, 3]
    assert len(scoring.forests) == CV * (N_GREEDY + 3)


def test_random_depth_goes_up_to_the_depth_of_the_trees() -> None:
    """If nothing is lost by it, the result is the paper's Random Trees."""
    result = tuned(tolerances=1.0, refit=False)
    assert result.random_depths == {1.0: result.best_params["max_depth"]}


def test_random_depths_do_not_fall_as_tolerances_grow() -> None:
    """On real scores."""
    X, y = load_breast_cancer(return_X_y=True)
    tolerances = (0.0, 0.005, 0.01, 0.02, 0.05)
    result = tune(None, X, y, n_estimators=10, max_depth=6, n_thresholds=5, tolerances=tolerances, random_state=0)
    assert list(result.random_depths) == list(tolerances)
    depths = list(result.random_depths.values())
    assert depths == sorted(depths)
    assert depths[-1] > 0


# ------------------------------------------------------------------------------------------------------ greedy search


def test_best_greedy_setting_is_chosen() -> None:
    """The stub likes everything large."""
    result = tuned(scoring=Scoring(score_of_all), tolerances=())
    assert result.best_params == {"n_estimators": 6, "max_depth": 4, "n_thresholds": 5}
    assert result.best_score == pytest.approx(0.815)
    assert result.random_depths == {}
    assert len(result.scores) == N_GREEDY


def test_of_equally_good_settings_the_cheaper_is_chosen() -> None:
    """Trees count first, then depth, then thresholds; None means all thresholds, the dearest."""
    same = tuned(scoring=Scoring(lambda _: 0.5), n_thresholds=(None, 5, 2), tolerances=())
    assert same.best_params == {"n_estimators": 3, "max_depth": 1, "n_thresholds": 2}
    deep_or_many = Scoring(lambda forest: 0.5 + 0.1 * (forest.max_depth == 4 or forest.n_estimators == 6))
    assert tuned(scoring=deep_or_many, tolerances=()).best_params["n_estimators"] == 3


def test_search_on_real_data_finds_sane_values() -> None:
    """A stump is not enough, and the tuned forest is about as good as forests are on this data."""
    X, y = load_breast_cancer(return_X_y=True)
    result = tune(None, X, y, n_estimators=(2, 20), max_depth=(1, 8), n_thresholds=10, random_state=0, n_jobs=2)
    assert result.metric == "accuracy"
    assert result.best_params["n_estimators"] == 20
    assert result.best_params["max_depth"] == 8
    assert result.best_score > 0.93


def test_search_takes_any_number_of_classes() -> None:
    """By accuracy. A single stump tells only two of three classes apart."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    result = tune(None, X, names, n_estimators=1, max_depth=(1, 4), n_thresholds=5, random_state=0)
    assert result.metric == "accuracy"
    assert result.best_params["max_depth"] == 4
    assert result.fitted_forest is not None
    assert set(result.fitted_forest.predict(X)) == set(names)


def test_other_parameters_come_from_the_estimator() -> None:
    """All but the tuned ones, and the estimator itself is left alone."""
    estimator = DareForestClassifier(7, criterion="entropy", class_weight={0: 2.0}, random_depth=3, random_state=5)
    before = estimator.get_params()
    scoring = Scoring(score_of_all)
    X, y = rows_of()
    result = tune(estimator, X, y, **GRID, cv=CV, scoring=scoring, tolerances=0.001)
    assert all(f.criterion == "entropy" and f.class_weight == {0: 2.0} for f in [*scoring.forests, result.forest()])
    assert result.forest().random_state == 5
    assert estimator.get_params() == before
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_result_does_not_depend_on_the_number_of_threads(n_jobs: int) -> None:
    """Neither do the random numbers of the folds."""
    one, many = tuned(n_jobs=1), tuned(n_jobs=n_jobs)
    assert many.scores == one.scores
    assert many.random_depths == one.random_depths
    assert many.fitted_forest.fingerprint() == one.fitted_forest.fingerprint()  # type: ignore[union-attr]


def test_threads_are_used_whatever_joblib_is_told() -> None:
    """Processes could not share the record of what is finished."""
    with parallel_config(backend="loky", n_jobs=2):
        assert tuned(n_jobs=2).scores == tuned(n_jobs=1).scores


def test_random_state_decides_the_folds() -> None:
    """The same one twice gives the same scores, another one gives others."""
    assert tuned(random_state=1).scores == tuned(random_state=1).scores
    assert tuned(random_state=1).scores != tuned(random_state=2).scores


def test_progress_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """And without it nothing is printed."""
    quiet = tuned()
    assert capsys.readouterr().out == ""
    assert tuned(progress=True).scores == quiet.scores


def test_scores_are_those_of_cross_validation() -> None:
    """scikit-learn's own, with the seed of the search."""
    X, y = rows_of()
    folds = KFold(4, shuffle=True, random_state=0)
    result = tune(None, X, y, **GRID, cv=folds, tolerances=0.05, random_state=1)
    for row in result.scores:
        setting = {name: row[name] for name in tuning.TUNED}
        forest = DareForestClassifier(**setting, random_state=tuning._search_seed(1, None))
        assert row["folds"] == cross_val_score(forest, X, y, cv=folds).tolist()


# ---------------------------------------------------------------------------------------------------- folds, subsample


@pytest.mark.parametrize(("subsample", "n_rows"), [(0.5, 150), (40, 40), (1.0, 300), (None, 300)])
def test_subsample_is_a_share_or_a_number_of_rows(subsample: float | None, n_rows: int) -> None:
    """Only the search is on fewer rows; the forest in the end is fitted on all."""
    X, y = rows_of(300)
    result = tune(None, X, y, **GRID, cv=CV, subsample=subsample, tolerances=(), random_state=0)
    assert result.n_rows == n_rows
    assert result.fitted_forest is not None
    assert result.fitted_forest.n_rows_ == 300


def test_subsample_keeps_the_mix_of_classes() -> None:
    """A tenth of 1000 rows, 100 of them positive: 10 positive ones, which each forest of two folds has five of."""
    y = np.arange(1000) < 100
    seen: list[int] = []

    def scoring(_forest: DareForestClassifier, _rows: np.ndarray, labels: np.ndarray) -> float:
        seen.append(int(labels.sum()))
        return 0.5

    tune(None, np.arange(1000.0)[:, None], y, n_estimators=1, max_depth=1, n_thresholds=1, cv=2, subsample=0.1,
         scoring=scoring, tolerances=())  # fmt: skip
    assert seen == [5, 5]


def test_folds_of_the_caller_are_used() -> None:
    """A splitter, or pairs of places."""
    X, y = rows_of()
    options = GRID | {"tolerances": (), "random_state": 0, "refit": False}
    by_splitter = tune(None, X, y, cv=KFold(2), **options)
    by_pairs = tune(None, X, y, cv=[(np.arange(45, 90), np.arange(45)), (np.arange(45), np.arange(45, 90))], **options)
    assert [len(row["folds"]) for row in by_splitter.scores] == [2] * N_GREEDY
    assert by_splitter.scores == by_pairs.scores


# ------------------------------------------------------------------------------------------------------------- resume


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fails_at", [1, 10, CV * N_GREEDY + 4])
def test_interrupted_search_goes_on_where_it_was(tmp_path: Path, fails_at: int, n_jobs: int) -> None:
    """At the first evaluation, among the greedy ones, and while the random depth is raised."""
    path = tmp_path / "search.jsonl"
    options: dict[str, Any] = {"tolerances": 0.003, "n_jobs": n_jobs, "resume_from": path}
    with pytest.raises(InterruptedError):
        tuned(scoring=Scoring(score_of_all, fails_at), **options)
    n_done = len(path.read_text().splitlines()) - 1
    assert n_done >= fails_at - n_jobs
    rest = Scoring(score_of_all)
    resumed = tuned(scoring=rest, **options)
    whole = Scoring(score_of_all)
    assert resumed.scores == tuned(scoring=whole, tolerances=0.003).scores
    # The threads may each have finished one more after the file was looked at.
    assert len(whole.forests) - n_done - n_jobs <= len(rest.forests) <= len(whole.forests) - n_done


def test_finished_search_is_not_done_again(tmp_path: Path) -> None:
    """Everything is in the file, to the last bit."""
    path = tmp_path / "search.jsonl"
    first = tuned(resume_from=path)
    written = path.read_bytes()
    again = tuned(resume_from=path)
    assert again.scores == first.scores
    assert again.random_depths == first.random_depths
    assert path.read_bytes() == written


def test_search_without_seed_can_be_resumed(tmp_path: Path) -> None:
    """Its secret seed is taken from the file; the forest in the end has one of its own."""
    path = tmp_path / "search.jsonl"
    first = tuned(random_state=None, resume_from=path)
    again = tuned(random_state=None, resume_from=path)
    assert again.scores == first.scores
    assert again.fitted_forest.seed_ != first.fitted_forest.seed_  # type: ignore[union-attr]


def test_file_does_not_tell_the_seed_of_the_forest(tmp_path: Path) -> None:
    """The seed should stay secret; the search has another one."""
    path = tmp_path / "search.jsonl"
    seed = 9876543210123456789
    result = tuned(random_state=seed, resume_from=path)
    assert result.fitted_forest is not None
    assert result.fitted_forest.seed_ == seed
    assert str(seed) not in path.read_text()


def test_grid_and_tolerances_may_grow(tmp_path: Path) -> None:
    """What was scored before is used; the scores do not depend on the grid."""
    path = tmp_path / "search.jsonl"
    tuned(scoring=Scoring(score_of_all), resume_from=path, n_thresholds=2, tolerances=())
    more = Scoring(score_of_all)
    tuned(scoring=more, resume_from=path, tolerances=())
    assert len(more.forests) == CV * N_GREEDY // 2
    assert all(forest.n_thresholds == 5 for forest in more.forests)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"random_state": 2}, "random_state"),
        ({"cv": 4}, "cv"),
        ({"subsample": 60}, "subsample, cv"),
        ({"scoring": "roc_auc"}, "scoring"),
    ],
)
def test_file_of_other_settings_is_refused(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    """The message names what differs, and the file stays as it was."""
    path = tmp_path / "search.jsonl"
    tuned(resume_from=path)
    written = path.read_bytes()
    with pytest.raises(InvalidInputError, match=f"belongs to another search; it differs in: {named}\\. Nothing was"):
        tuned(resume_from=path, **change)
    assert path.read_bytes() == written


def test_file_of_other_data_is_refused(tmp_path: Path) -> None:
    """One value of one row is enough, and so is one parameter of the forest."""
    path = tmp_path / "search.jsonl"
    tuned(resume_from=path)
    X, y = rows_of()
    options = GRID | {"cv": CV, "random_state": 1, "resume_from": path}
    with pytest.raises(InvalidInputError, match="differs in: max_features"):
        tune(DareForestClassifier(max_features=None), X, y, **options)
    X[17, 2] += 1
    with pytest.raises(InvalidInputError, match="differs in: X or y"):
        tune(None, X, y, **options)


@pytest.mark.parametrize("content", ["id,name\n1,Ann\n", "{}\n", "[1]\n", '{"deciduous_tuning": 99}\n', "\0\xff"])
def test_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    """Nobody's table is overwritten because of a mistaken path."""
    path = tmp_path / "customers.csv"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match="is not a file that tune wrote"):
        tuned(resume_from=path)
    assert path.read_text() == content


@pytest.mark.parametrize("torn", [b'{"fold":1,"max_de', b"\0\0\0", b"\0\r\0\n", b'{"fold": 1}\n', None])
def test_damaged_last_line_is_cut_off(tmp_path: Path, torn: bytes | None) -> None:
    """A crash may leave half a line, or one that lacks nothing but its end (None)."""
    path = tmp_path / "search.jsonl"
    first = tuned(resume_from=path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] if torn is None else whole + torn)
    assert tuned(resume_from=path).scores == first.scores
    assert path.read_bytes() == whole


def test_damage_elsewhere_is_reported(tmp_path: Path) -> None:
    """No crash explains it, so it is not passed over."""
    path = tmp_path / "search.jsonl"
    tuned(resume_from=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"?\n", *lines[4:]]))
    with pytest.raises(InvalidInputError, match=r"Line 4 of .* is damaged"):
        tuned(resume_from=path)


def test_every_evaluation_is_a_line(tmp_path: Path) -> None:
    """In words that other programs can read."""
    path = tmp_path / "search.jsonl"
    result = tuned(resume_from=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert len(lines) == CV * len(result.scores)
    assert set(lines[0]) == {"n_estimators", "max_depth", "n_thresholds", "random_depth", "fold", "score"}


# ------------------------------------------------------------------------------------------------------------- result


def test_forest_has_the_parameters_of_its_tolerance() -> None:
    """The default is the smallest tolerance, as in the forest that is fitted already."""
    result = tuned(scoring=Scoring(score_of_all), tolerances=(0.002, 0.005))
    assert [result.forest(t).random_depth for t in (None, 0.002, 0.005)] == [1, 1, 2]
    assert not hasattr(result.forest(), "classes_")
    X, y = rows_of()
    assert result.fitted_forest is not None
    assert result.fitted_forest.fingerprint() == result.fit(X, y).fingerprint()
    assert result.fit(X, y, 0.005, ids=range(100, 190)).ids_[0] == 100
    with pytest.raises(InvalidInputError, match=r"tolerance 0\.5; there are: 0\.002, 0\.005"):
        result.forest(0.5)


def test_without_tolerances_the_forest_is_greedy() -> None:
    """And there is no fitted one if none is wanted."""
    result = tuned(tolerances=(), refit=False)
    assert result.forest().random_depth == 0
    assert result.fitted_forest is None
    with pytest.raises(InvalidInputError, match=r"tolerance 0\.1; there are: none"):
        result.forest(0.1)


def test_table_reads_well() -> None:
    """Two of the eight greedy settings, the random depths 0 to 2, and what each tolerance allows."""
    lines = tuned(scoring=Scoring(score_of_all), tolerances=(0.001, 0.002)).table(n_best=2).splitlines()
    assert lines[0] == "Scoring(), cross-validated on 90 rows"
    assert [line.split() for line in lines[3:5]] == [
        ["6", "4", "5", "0", "0.8150", "0.0000"],
        ["3", "4", "5", "0", "0.8120", "0.0000"],  # as good as 6, 1, 5, and cheaper
    ]
    assert lines[5] == "… and 6 greedy settings that are no better"
    assert [line.split()[3] for line in lines[8:11]] == ["0", "1", "2"]
    assert lines[-1] == "within 0.002 of the greedy score: random_depth=1"


def test_table_can_list_everything() -> None:
    """All greedy settings with None; all thresholds are called so."""
    table = tuned(n_estimators=range(1, 12), n_thresholds=None, tolerances=())
    assert "… and 12 greedy settings" in table.table()
    assert len([line for line in table.table(None).splitlines() if line.split()[2:3] == ["all"]]) == 22


def test_plot_draws_greedy_scores_and_random_depths() -> None:
    """A line for each number of trees on the left, one for each tolerance on the right."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = tuned(scoring=Scoring(score_of_all), tolerances=(0.001, 0.002))
    figure = result.plot()
    left, right = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["T = 3", "T = 6"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["within 0.001: 0", "within 0.002: 1"]
    figure.canvas.draw()
    own, ax = pyplot.subplots()
    assert result.plot(ax) is own
    assert tuned(tolerances=()).plot().axes[1].get_legend() is None
    pyplot.close("all")


def test_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    genuine = builtins.__import__

    def without_matplotlib(name: str, *others: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return genuine(name, *others)

    result = tuned(tolerances=())
    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'deciduous\[plot\]'"):
        result.plot()


# ---------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": ()}, "n_estimators is empty"),
        ({"n_estimators": (10, 0)}, "n_estimators must be an integer"),
        ({"n_estimators": "10"}, "n_estimators must be a number or a list"),
        ({"max_depth": (3, 2.5)}, "max_depth must be an integer"),
        ({"max_depth": (3, None)}, "max_depth must be numbers, without None"),
        ({"n_thresholds": (5, True)}, "n_thresholds must be an integer"),
        ({"tolerances": (0.1, -0.1)}, "but -0.1 is among them"),
        ({"tolerances": float("nan")}, "but nan is among them"),
        ({"tolerances": "0.1"}, "tolerances must be a number or a list"),
        ({"tolerances": True}, "but True is among them"),
        ({"scoring": "beauty"}, "but is 'beauty'"),
        ({"scoring": 3}, "but is 3"),
        ({"scoring": lambda *_: float("nan")}, "scoring gave nan for Setting"),
        ({"scoring": lambda *_: "good"}, "scoring gave 'good' for Setting"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": True}, "cv must be at least 2"),
        ({"cv": 2.5}, "cv must be a number of folds"),
        ({"cv": []}, "cv gives no folds"),
        ({"cv": 60}, "Class 0 has 4. rows in the search, too few for cv=60 folds"),
        ({"subsample": 0}, r"subsample must be None, a share .* in \[1, 90\], but is 0"),
        ({"subsample": 91}, "but is 91"),
        ({"subsample": 1.5}, r"but is 1\.5"),
        ({"subsample": 4}, "Class 0 has 2 rows in the search"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ({"random_state": -1}, "random_state must be an integer"),
    ],
)
def test_bad_argument_is_refused(change: dict[str, Any], message: str) -> None:
    """With a message that says which, and what it was."""
    with pytest.raises(InvalidInputError, match=message):
        tuned(**change)


def test_search_on_a_cluster_without_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else needs it."""
    for name in [name for name in sys.modules if name.startswith("deciduous.ray")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'deciduous\[ray\]'"):
        tuned(ray="auto")


def test_bad_data_or_estimator_is_refused() -> None:
    """As `fit` would, and one class is nothing to tune on."""
    X, y = rows_of()
    with pytest.raises(InvalidInputError, match="needs rows of two classes or more, but y has only 1"):
        tune(None, X, np.ones(90))
    with pytest.raises(InvalidInputError, match="90 rows but y has 89 labels"):
        tune(None, X, y[1:])
    with pytest.raises(InvalidInputError, match="needs a DareForestClassifier or a DareForestRegressor, or None"):
        tune(RandomForestClassifier(), X, y)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="criterion must be one of"):
        tune(DareForestClassifier(criterion="beauty"), X, y)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------- regressor


def tuned_regressor(**others: Any) -> TuningResult:
    """A search for a regressor that takes a moment."""
    X, y = make_regression(90, 6, n_informative=3, noise=5.0, random_state=0)
    return tune(DareForestRegressor(random_state=1), X, y, **(GRID | {"cv": CV, "random_state": 1} | others))


def test_regressor_is_tuned_by_r2() -> None:
    """On real data: a stump is not enough, and the forest in the end is a regressor that lets go of rows."""
    X, y = load_diabetes(return_X_y=True)
    tolerances = (0.0, 0.01, 0.05, 0.2)
    result = tune(DareForestRegressor(min_samples_leaf=3), X, y, n_estimators=(2, 20), max_depth=(1, 6),
                  n_thresholds=10, tolerances=tolerances, random_state=0, n_jobs=2)  # fmt: skip
    assert result.metric == "r2"
    assert result.best_params == {"n_estimators": 20, "max_depth": 6, "n_thresholds": 10}
    assert 0.35 < result.best_score < 0.55
    depths = list(result.random_depths.values())
    assert depths == sorted(depths)
    assert depths[-1] > 0
    forest = result.fitted_forest
    assert isinstance(forest, DareForestRegressor)
    assert (forest.min_samples_leaf, forest.n_rows_) == (3, 442)
    assert forest.delete([3]).n_rows == 1


@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_squared_error"])
def test_scores_of_a_regressor_are_those_of_cross_validation(scoring: str | None) -> None:
    """scikit-learn's own, with the seed of the search; R² is the default of both."""
    X, y = make_regression(60, 4, noise=5.0, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    template = DareForestRegressor(max_features=None)
    result = tune(template, X, y, **GRID, cv=folds, scoring=scoring, tolerances=0.05, random_state=1)
    for row in result.scores:
        setting = {name: row[name] for name in tuning.TUNED}
        forest = DareForestRegressor(**setting, max_features=None, random_state=tuning._search_seed(1, None))
        assert row["folds"] == cross_val_score(forest, X, y, cv=folds, scoring=scoring).tolist()


def test_tolerances_of_a_regressor_are_absolute() -> None:
    """As for a classifier: each random level costs 0.002, and 3 is tried in vain."""
    scoring = Scoring(score_of_all)
    result = tuned_regressor(scoring=scoring, tolerances=(0.005, 0.001, 0.002), refit=False)
    assert result.random_depths == {0.001: 0, 0.002: 1, 0.005: 2}
    assert len(scoring.forests) == CV * (N_GREEDY + 3)
    assert isinstance(result.forest(0.005), DareForestRegressor)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "average_precision", "f1_macro", "rand_score"])
def test_metric_for_classes_is_refused_with_a_regressor(tmp_path: Path, scoring: str) -> None:
    """Before the search begins, so there is no file of it."""
    path = tmp_path / "search.jsonl"
    with pytest.raises(InvalidInputError, match=f"scoring='{scoring}' does not go with a DareForestRegressor.* 'r2'"):
        tuned_regressor(scoring=scoring, resume_from=path)
    assert not path.exists()


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_poisson_deviance"])
def test_metric_for_numbers_is_refused_with_a_classifier(tmp_path: Path, scoring: str) -> None:
    """Even if the labels are numbers, whose squared distance could be worked out."""
    path = tmp_path / "search.jsonl"
    with pytest.raises(InvalidInputError, match=f"scoring='{scoring}' does not go with a DareForestClassifier"):
        tuned(scoring=scoring, resume_from=path)
    assert not path.exists()


def test_other_metrics_of_scikit_learn_are_taken() -> None:
    """Those for numbers by a regressor, those for classes by a classifier."""
    for scoring in ("neg_mean_absolute_error", "explained_variance", "neg_root_mean_squared_error"):
        assert tuned_regressor(scoring=scoring, tolerances=(), refit=False).metric == scoring
    for scoring in ("f1", "balanced_accuracy", "neg_log_loss", "matthews_corrcoef", "positive_likelihood_ratio"):
        assert tuning._can_judge(tuning.get_scorer(scoring), has_classes=True)


@pytest.mark.parametrize("fails_at", [10, CV * N_GREEDY + 4])
def test_interrupted_search_for_a_regressor_goes_on(tmp_path: Path, fails_at: int) -> None:
    """Among the greedy evaluations, and while the random depth is raised; the file is refused with a classifier."""
    path = tmp_path / "search.jsonl"
    with pytest.raises(InterruptedError):
        tuned_regressor(scoring=Scoring(score_of_all, fails_at), tolerances=0.003, resume_from=path)
    rest = Scoring(score_of_all)
    resumed = tuned_regressor(scoring=rest, tolerances=0.003, resume_from=path)
    whole = Scoring(score_of_all)
    assert resumed.scores == tuned_regressor(scoring=whole, tolerances=0.003).scores
    assert len(rest.forests) == len(whole.forests) - fails_at + 1
    with pytest.raises(InvalidInputError, match=r"differs in: X or y.* criterion"):
        tuned(resume_from=path)


def test_search_for_a_regressor_does_not_depend_on_the_number_of_threads() -> None:
    """Nor on what shows its progress."""
    one, many = tuned_regressor(n_jobs=1), tuned_regressor(n_jobs=3, progress=True)
    assert many.scores == one.scores
    assert many.fitted_forest.fingerprint() == one.fitted_forest.fingerprint()  # type: ignore[union-attr]


@pytest.mark.parametrize(("subsample", "n_rows"), [(0.5, 45), (40, 40)])
def test_subsample_for_a_regressor_is_of_any_rows(subsample: float, n_rows: int) -> None:
    """Its targets are no classes to be stratified by; the forest in the end is fitted on all rows."""
    result = tuned_regressor(subsample=subsample, tolerances=())
    assert result.n_rows == n_rows
    assert result.fitted_forest is not None
    assert result.fitted_forest.n_rows_ == 90


def test_bad_targets_are_refused() -> None:
    """As `fit` would, and rows of one target are nothing to tune on."""
    X = np.arange(90.0)[:, None]
    forest = DareForestRegressor()
    with pytest.raises(InvalidInputError, match=r"needs rows of different targets, but y has only 2\.5"):
        tune(forest, X, np.full(90, 2.5))
    with pytest.raises(InvalidInputError, match="90 rows but y has 89 targets"):
        tune(forest, X, np.arange(89.0))
    with pytest.raises(InvalidInputError, match="targets are finite numbers"):
        tune(forest, X, np.r_[np.nan, np.arange(89.0)])
    with pytest.raises(InvalidInputError, match="There are 9 rows in the search, too few for cv=5 folds"):
        tune(forest, X, np.arange(90.0), subsample=9)


def test_table_of_squared_errors_reads_well() -> None:
    """Numbers of any size have columns of their own."""
    result = tuned_regressor(scoring=Scoring(lambda forest: -1234567.8 * forest.max_depth), tolerances=1e9)
    lines = result.table(n_best=1).splitlines()
    assert lines[3].split() == ["3", "1", "2", "0", "-1.2346e+06", "0.0000"]
    assert len(lines[2]) == len(lines[3])


# -------------------------------------------------------------------------------------------------------------- pages


def test_examples_run() -> None:
    """Those of the docstrings and of the page."""
    result = doctest.testmod(tuning)
    assert result.attempted > 0
    assert result.failed == 0
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_page_names_every_argument() -> None:
    """The page is about all of them."""
    arguments = set(tune.__kwdefaults__)
    assert arguments <= set(re.findall(r"`(\w+)(?:=[^`]*)?`", PAGE.read_text()))
