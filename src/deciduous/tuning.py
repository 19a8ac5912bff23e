"""Hyperparameter tuning as in the paper (section 4, "Hyperparameter Tuning"). See docs/tuning.md.

First, T, d_max and k of a *greedy* forest, which has no random nodes, are chosen by cross-validation over a grid. Then
d_rmax of that forest is raised one by one, until the score falls below that of the greedy forest by more than a
*tolerance*. An *evaluation* is the score of a forest with one *setting* on one fold.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, cast
from warnings import catch_warnings, simplefilter

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import resample

from ._columns import learned_columns
from ._tuning_journal import TUNED, Journal, Setting, read_header
from ._validation import INTEGER, NUMBER, core_params, label_array, n_threads, seed_from
from .errors import InvalidInputError, shown
from .forest import DareForestClassifier
from .regressor import DareForestRegressor

FORMAT = 1
DECIMALS = 12  # scores that agree to so many are equal: the last bits depend on the order of sums
WITHOUT_EFFECT = ("lazy", "n_jobs", "random_state")  # on a score; the search has a seed of its own
METRIC_FOR_NUMBERS = "r2"

Forest = DareForestClassifier | DareForestRegressor
Scorer = Callable[[Any, Any, Any], float]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
Stage = Callable[[str, int], Callable[[], None]]
Evaluation = tuple[Setting, int]  # on a fold
Keep = Callable[[Evaluation, float], None]  # called with each evaluation that has ended, and its score
Evaluate = Callable[[Sequence[Evaluation], Keep], None]


# ------------------------------------------------------------------------------------------------------------- result


@dataclass(frozen=True)
class TuningResult:
    """Result of `tune`.

    Attributes
    ----------
    metric : str
        Name of the metric: "average_precision", "roc_auc" or "accuracy" of a classifier, "r2" of a regressor, or the
        `scoring` that was given.
    scores : list of dict
        A row for each setting: its parameters, `score` and `std` over the folds, and the scores of the `folds`. The
        greedy settings come first, then the best of them with random nodes. Can be passed to `pandas.DataFrame`.
    best_params : dict
        The best greedy setting.
    best_score : float
        Score of the best greedy setting.
    random_depths : dict
        The `random_depth` chosen for each tolerance.
    n_rows : int
        Number of rows used in the search.
    estimator : DareForestClassifier or DareForestRegressor
        The unfitted forest that all other parameters come from.
    fitted_forest : DareForestClassifier, DareForestRegressor or None
        The forest for the smallest tolerance, fitted on all rows. None with `refit=False`.
    """

    metric: str
    scores: list[dict[str, Any]] = field(repr=False)
    best_params: dict[str, Any]
    best_score: float
    random_depths: dict[float, int]
    n_rows: int
    estimator: Forest = field(repr=False)
    fitted_forest: Forest | None = field(repr=False)

    def forest(self, tolerance: float | None = None) -> Forest:
        """Return an unfitted forest with the parameters for this tolerance. Default: the smallest tolerance.

        If there were no tolerances, this is the greedy forest.
        """
        chosen: Forest = clone(self.estimator)
        chosen.set_params(**self.best_params, random_depth=self._random_depth(tolerance))
        return chosen

    def fit(self, X: ArrayLike, y: ArrayLike, tolerance: float | None = None, **others: Any) -> Forest:
        """Fit `forest(tolerance)` on these rows. The `others` (`ids`, `sample_weight`) are passed to its `fit`."""
        return self.forest(tolerance).fit(X, y, **others)

    def table(self, n_best: int | None = 10) -> str:
        """Return the best greedy settings, and the scores by random depth, as text.

        `n_best=None` lists all greedy settings.
        """
        ranked = sorted(self._greedy, key=_rank)
        listed = ranked[:n_best]
        lines = [f"{self.metric}, cross-validated on {self.n_rows} rows", "", _HEADING, *map(_line, listed)]
        if len(ranked) > len(listed):
            lines.append(f"… and {len(ranked) - len(listed)} greedy settings that are no better")
        if self.random_depths:
            lines += ["", _HEADING, *map(_line, self._by_random_depth), ""]
        lines += [
            f"within {t:.4g} of the greedy score: random_depth={depth}" for t, depth in self.random_depths.items()
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Plot the scores and return the figure. Needs matplotlib.

        Without `ax`, there are two plots: the greedy scores (best over k) by depth, with a line for each number of
        trees, and the scores by random depth, with a line for each tolerance. With `ax`, only the second plot is drawn,
        on these axes.
        """
        pyplot = _pyplot()
        if ax is None:
            _, (left, ax) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
            self._plot_greedy(left)
        self._plot_random_depth(ax)
        return ax.figure

    def _plot_greedy(self, ax: Any) -> None:
        for n_trees in sorted({row["n_estimators"] for row in self._greedy}):
            best: dict[int, float] = {}
            for row in (row for row in self._greedy if row["n_estimators"] == n_trees):
                best[row["max_depth"]] = max(row["score"], best.get(row["max_depth"], -math.inf))
            ax.plot(list(best), list(best.values()), marker="o", label=f"T = {n_trees}")
        ax.set(xlabel="max_depth (d_max)", ylabel=self.metric, title="greedy forests, best over k")
        ax.legend()

    def _plot_random_depth(self, ax: Any) -> None:
        rows = self._by_random_depth
        depths = [row["random_depth"] for row in rows]
        scores, spread = [row["score"] for row in rows], [row["std"] for row in rows]
        ax.errorbar(depths, scores, spread, marker="o", elinewidth=0.5, capsize=3)
        for i, (tolerance, depth) in enumerate(self.random_depths.items(), start=1):
            label = f"within {tolerance:.4g}: {depth}"
            ax.axhline(self.best_score - tolerance, color=f"C{i}", linestyle="--", label=label)
        setting = ", ".join(f"{name}={value}" for name, value in self.best_params.items())
        ax.set(xlabel="random_depth (d_rmax)", ylabel=self.metric, title=setting)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if self.random_depths:
            ax.legend(title="random_depth")

    @property
    def _greedy(self) -> list[dict[str, Any]]:
        return [row for row in self.scores if row["random_depth"] == 0]

    @property
    def _by_random_depth(self) -> list[dict[str, Any]]:
        """The rows of the best setting, from random depth 0 on."""
        return [row for row in self.scores if all(row[name] == value for name, value in self.best_params.items())]

    def _random_depth(self, tolerance: float | None) -> int:
        if tolerance is None:
            return self.random_depths[min(self.random_depths)] if self.random_depths else 0
        if tolerance not in self.random_depths:
            known = shown(self.random_depths) or "none"
            raise InvalidInputError(f"No random_depth was chosen for the tolerance {tolerance!r}; there are: {known}.")
        return self.random_depths[tolerance]


_HEADING = f"{'trees':>6}{'depth':>7}{'thresholds':>12}{'random depth':>14}{'score':>12}{'std':>12}"


def _line(row: dict[str, Any]) -> str:
    n_thresholds = "all" if row["n_thresholds"] is None else row["n_thresholds"]
    return (
        f"{row['n_estimators']:>6}{row['max_depth']:>7}{n_thresholds:>12}{row['random_depth']:>14}"
        f"{_digits(row['score']):>12}{_digits(row['std']):>12}"
    )


def _digits(score: float) -> str:
    """Four decimals; five digits of what a share of one cannot be, such as squared errors."""
    return f"{score:.4f}" if abs(score) < 10 else f"{score:.5g}"


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("A plot needs matplotlib. Install it with: pip install 'deciduous[plot]'") from error
    return pyplot


# ----------------------------------------------------------------------------------------------------------- protocol


def tune(
    estimator: Forest | None,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_estimators: Iterable[int] | int = (10, 25, 50, 100, 250),
    max_depth: Iterable[int] | int = (1, 3, 5, 10, 20),
    n_thresholds: Iterable[int | None] | int | None = (5, 10, 25, 50),
    tolerances: Iterable[float] | float = (0.001, 0.0025, 0.005, 0.01),
    scoring: str | Scorer | None = None,
    cv: Any = 5,
    subsample: float | int | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
    resume_from: str | os.PathLike[str] | None = None,
    ray: str | None = None,
) -> TuningResult:
    """Choose hyperparameters by the protocol of the paper (Brophy and Lowd, 2021).

    First, `n_estimators` (T), `max_depth` (d_max) and `n_thresholds` (k) are chosen by cross-validation. Then, for each
    tolerance, the largest `random_depth` (d_rmax) is chosen that costs no more than this tolerance. Of equally good
    settings, the cheapest is chosen: fewer trees, then lower depth, then fewer thresholds. The result does not depend
    on `n_jobs` and `ray`.

    Parameters
    ----------
    estimator : DareForestClassifier, DareForestRegressor or None
        The forest that all other parameters come from. None means `DareForestClassifier(random_state=random_state)`.
    X, y : arrays
        Training rows, and labels or targets, as for `fit`.
    n_estimators, max_depth, n_thresholds : numbers to try
        The grid. The defaults are those of the paper.
    tolerances : numbers
        How much the score may fall, in absolute terms: 0.001 is the paper's "0.1%". If empty, no random nodes are
        tried. With "neg_mean_squared_error", they are in squared units of the target.
    scoring : str, callable or None
        A scorer as in scikit-learn, such as "accuracy" for a classifier and "r2" or "neg_mean_squared_error" for a
        regressor. None chooses a metric by the share of positive rows, see `metric_for`; for a regressor, "r2".
    cv : int, splitter or iterable of (train, test)
        The number of folds, which are stratified for a classifier; a splitter; or the folds themselves.
    subsample : float, int or None
        Fraction or number of rows to use in the search, for a classifier stratified by class; for large data.
    refit : bool
        Whether to fit the forest for the smallest tolerance on all rows at the end.
    n_jobs : int or None
        Number of evaluations to run in parallel, in threads; -1 means all processors. Has no effect with `ray`.
    random_state : int, RandomState instance or None
        Determines the subsample, the folds and the seed of the forests in the search.
    progress : bool
        Whether to show a progress bar, if `rich` is installed.
    resume_from : path or None
        A file to which each evaluation is appended as soon as it is finished. If the file exists, evaluations in it are
        not repeated. It must come from the same data and settings, but the grid and the tolerances may differ.
    ray : str or None
        Address of a Ray cluster, such as "auto" or "ray://head:10001", on which to run the evaluations, each in a
        process and on a processor of its own. A process that is connected to a cluster already uses that one. The final
        forest is fitted in this process. Needs `pip install 'deciduous[ray]'`, here and on the cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deciduous.tuning import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tune(None, X, y, n_estimators=[5, 10], max_depth=[1, 3], n_thresholds=5, random_state=0)
    >>> result.metric
    'accuracy'
    >>> result.fitted_forest.n_rows_
    150
    """
    template = _template(estimator, random_state, n_jobs)
    columns, rows = learned_columns(clone(template), X, template.categorical_features)
    searched = clone(template).set_params(categorical_features=columns.choice_when_encoded())
    labels = template._checked_targets(y, len(rows))
    classes = np.unique(labels) if is_classifier(template) else None
    grid = _grid(template, columns.n_attributes, n_estimators, max_depth, n_thresholds)
    accepted = _checked_tolerances(tolerances)
    metric, scorer = _scorer(scoring, template, labels)
    threads = n_threads(n_jobs)
    seed = _search_seed(random_state, resume_from)
    chosen = _search_rows(labels, classes is not None, subsample, seed)
    part, part_labels = rows[chosen], labels[chosen]
    folds = _folds(part, part_labels, classes, cv, seed)
    drawn = {"seed": seed, "scoring": metric, "subsample": _digest(chosen), "cv": _digest(*chain(*folds))}
    journal = Journal.opened(resume_from, _header(template, _digest(rows, labels, columns.n_categories), drawn))
    judge = _Judge(searched, part, part_labels, folds, metric, scorer, seed)
    evaluating = nullcontext(partial(_in_threads, judge, threads)) if ray is None else _on_cluster(judge, ray)
    with evaluating as evaluate, _progress_bar(progress) as stage:
        search = _Search(len(folds), journal, evaluate, stage)
        search.run(grid)
        best = min(grid, key=lambda setting: _rank(search.row(setting)))
        depths = random_depths_within(accepted, search.by_random_depth(best))
    result = TuningResult(
        metric=metric,
        scores=[search.row(setting) for setting in [*grid, *_tried(best, depths)]],
        best_params={name: value for name, value in best._asdict().items() if name != "random_depth"},
        best_score=search.row(best)["score"],
        random_depths=depths,
        n_rows=len(part),
        estimator=template,
        fitted_forest=None,
    )
    return replace(result, fitted_forest=result.fit(X, y)) if refit else result


def metric_for(y: ArrayLike) -> str:
    """Return the paper's metric for these labels.

    It depends on the share of positive rows, which are those with the greater of two labels: "average_precision" below
    1%, "roc_auc" up to 20%, and "accuracy" above. With more than two classes, it is "accuracy".
    """
    classes, counts = np.unique(label_array(y, None), return_counts=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"Tuning needs rows of two classes or more, but y has only {shown(classes) or 'no rows'}."
        )
    n_rows, n_positive = int(counts.sum()), int(counts[-1])
    if len(classes) > 2 or 5 * n_positive > n_rows:
        return "accuracy"
    return "average_precision" if 100 * n_positive < n_rows else "roc_auc"


def random_depths_within(tolerances: Iterable[float], scores: Iterable[float]) -> dict[float, int]:
    """Return, for each tolerance, the last random depth before the score first falls by more than that.

    `scores` are those of the random depths 0, 1, 2, …; no more of them are consumed than the tolerances need.
    """
    last = dict.fromkeys(tolerances, 0)
    within = list(last)
    if not within:
        return last
    following = iter(scores)
    greedy = next(following)
    for depth, score in enumerate(following, start=1):
        within = [tolerance for tolerance in within if round(greedy - score - tolerance, DECIMALS) <= 0]
        last |= dict.fromkeys(within, depth)
        if not within:
            break
    return last


def _rank(row: dict[str, Any]) -> tuple[float, ...]:
    """Better rows have lower ranks."""
    return (-round(row["score"], DECIMALS), *Setting(*(row[name] for name in TUNED)).cost)


@dataclass(frozen=True)
class _Judge:
    """Scores forests on the folds. Goes to the processes that do so, with the rows."""

    template: Forest
    rows: NDArray[np.float32]
    labels: NDArray[Any]
    folds: list[Fold]
    metric: str
    scorer: Scorer
    seed: int

    def score(self, evaluation: Evaluation, n_threads: int = 1) -> float:
        """The score of a forest with a setting on a fold."""
        setting, fold = evaluation
        train, test = self.folds[fold]
        forest = clone(self.template).set_params(**setting._asdict(), random_state=self.seed, n_jobs=n_threads)
        forest.fit(self.rows[train], self.labels[train])
        try:
            score = self.scorer(forest, self.rows[test], self.labels[test])
        except ValueError as error:  # of scikit-learn
            raise InvalidInputError(f"scoring={self.metric!r} does not go with this y: {error}") from error
        if not isinstance(score, NUMBER) or not math.isfinite(score):
            raise InvalidInputError(
                f"A score must be a finite number, but scoring gave {score!r} for {setting} on fold {fold}."
            )
        return float(score)


def _in_threads(judge: _Judge, n_threads: int, evaluations: Sequence[Evaluation], keep: Keep) -> None:
    n_inner = max(1, n_threads // max(1, len(evaluations)))

    def evaluate(evaluation: Evaluation) -> None:
        keep(evaluation, judge.score(evaluation, n_inner))

    # Threads that share memory, whatever the caller's joblib settings.
    Parallel(n_jobs=n_threads, require="sharedmem")(delayed(evaluate)(evaluation) for evaluation in evaluations)


@contextmanager
def _on_cluster(judge: _Judge, address: str) -> Iterator[Evaluate]:
    from .ray.spreading import Spreader

    with Spreader(address, _Judge.score, judge) as spreader:

        def evaluate(evaluations: Sequence[Evaluation], keep: Keep) -> None:
            for evaluation, score in spreader.run(evaluations):
                keep(evaluation, score.result())

        yield evaluate


@dataclass(frozen=True)
class _Search:
    """Has settings scored on all folds; what the journal holds is not done again."""

    n_folds: int
    journal: Journal
    evaluate: Evaluate
    stage: Stage

    def run(self, grid: Sequence[Setting]) -> None:
        """Score these settings."""
        advance = self.stage("greedy forests", len(grid) * self.n_folds)
        self._score(grid, advance)

    def by_random_depth(self, best: Setting) -> Iterator[float]:
        """The scores of the random depths from 0 to the depth of the trees, worked out when asked for."""
        advance = self.stage("random depth", best.max_depth * self.n_folds)
        yield self.row(best)["score"]
        for depth in range(1, best.max_depth + 1):
            setting = best._replace(random_depth=depth)
            self._score([setting], advance)
            yield self.row(setting)["score"]

    def row(self, setting: Setting) -> dict[str, Any]:
        """What is known of a setting whose evaluations are finished."""
        scores = [self.journal.scores[setting, fold] for fold in range(self.n_folds)]
        return {**setting._asdict(), "score": fmean(scores), "std": pstdev(scores), "folds": scores}

    def _score(self, settings: Sequence[Setting], advance: Callable[[], None]) -> None:
        wanted = [(setting, fold) for setting in settings for fold in range(self.n_folds)]
        missing = [evaluation for evaluation in wanted if evaluation not in self.journal.scores]
        for _ in range(len(wanted) - len(missing)):
            advance()

        def keep(evaluation: Evaluation, score: float) -> None:
            self.journal.record(*evaluation, score)
            advance()

        self.evaluate(missing[::-1], keep)  # the largest first, to end together


def _tried(best: Setting, random_depths: dict[float, int]) -> list[Setting]:
    """The settings with random nodes that were scored: up to the first that no tolerance allows."""
    if not random_depths:
        return []
    last = min(max(random_depths.values()) + 1, best.max_depth)
    return [best._replace(random_depth=depth) for depth in range(1, last + 1)]


@contextmanager
def _progress_bar(is_shown: bool) -> Iterator[Stage]:
    """Gives a function that begins a stage of the search and returns what to call after each of its steps."""
    if not is_shown or find_spec("rich") is None:
        yield lambda _description, _n_steps: lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        yield lambda description, n_steps: partial(bar.advance, bar.add_task(description, total=n_steps))


# ---------------------------------------------------------------------------------------------------------- arguments


def _template(estimator: Any, random_state: Any, n_jobs: int | None) -> Forest:
    if estimator is None:
        return DareForestClassifier(random_state=random_state, n_jobs=n_jobs)
    if not isinstance(estimator, Forest):
        raise InvalidInputError(
            f"tune needs a DareForestClassifier or a DareForestRegressor, or None for a classifier with default "
            f"parameters, but got {estimator!r}."
        )
    unfitted: Forest = clone(estimator)
    return unfitted


def _grid(template: Forest, n_attributes: int, n_estimators: Any, max_depth: Any, n_thresholds: Any) -> list[Setting]:
    """All greedy settings, the cheapest first."""
    trial = clone(template)
    axes = {"n_estimators": n_estimators, "max_depth": max_depth, "n_thresholds": n_thresholds}
    for name, values in axes.items():
        axes[name] = _several(name, values)
        for value in axes[name]:
            core_params(trial.set_params(**{name: value}), n_attributes, 0)  # refuses what no forest can have
    if not all(axes.values()):
        raise InvalidInputError(f"{next(name for name in axes if not axes[name])} is empty: give the numbers to try.")
    if None in axes["max_depth"]:
        raise InvalidInputError("max_depth must be numbers, without None: random_depth is raised up to it.")
    return sorted({Setting(*values) for values in product(*axes.values())}, key=lambda setting: setting.cost)


def _several(name: str, values: Any) -> list[Any]:
    """The values as Python's own numbers, if they are numbers; one value is a list of one."""
    if isinstance(values, str | bytes):
        raise InvalidInputError(f"{name} must be a number or a list of numbers, but is {values!r}.")
    several = list(values) if isinstance(values, Iterable) else [values]
    return [value.item() if isinstance(value, np.generic) else value for value in several]


def _checked_tolerances(tolerances: Any) -> list[float]:
    given = _several("tolerances", tolerances)
    for tolerance in given:
        if isinstance(tolerance, bool) or not isinstance(tolerance, NUMBER) or not 0 <= tolerance < math.inf:
            raise InvalidInputError(
                f"tolerances must be numbers of at least 0, such as 0.001 for 0.1%, but {tolerance!r} is among them."
            )
    return sorted({float(tolerance) for tolerance in given})


def _scorer(scoring: Any, template: Forest, labels: NDArray[Any]) -> tuple[str, Scorer]:
    """The name of the metric, and the function that scores a forest."""
    default = metric_for(labels) if is_classifier(template) else _metric_for_numbers(labels)
    if callable(scoring):
        return _text(scoring), scoring
    name = default if scoring is None else scoring
    try:
        scorer = get_scorer(name)
    except (ValueError, TypeError):
        raise InvalidInputError(
            f"scoring must be None, the name of a scorer of scikit-learn such as {default!r}, or a function of "
            f"(forest, X, y), but is {scoring!r}."
        ) from None
    if not _can_judge(scorer, is_classifier(template)):
        what, such = ("classes", "'accuracy'") if is_classifier(template) else ("numbers", "'r2'")
        raise InvalidInputError(
            f"scoring={name!r} does not go with a {type(template).__name__}, which predicts {what}: choose a metric "
            f"for {what}, such as {such}."
        )
    return name, _of_positive(scorer, labels)


def _metric_for_numbers(targets: NDArray[np.float64]) -> str:
    if len(targets) == 0 or targets.min() == targets.max():
        held = f"only {float(targets[0])!r}" if len(targets) else "no rows"
        raise InvalidInputError(f"Tuning needs rows of different targets, but y has {held}.")
    return METRIC_FOR_NUMBERS


def _can_judge(scorer: Any, has_classes: bool) -> bool:
    """Whether a scorer of scikit-learn is for classes, or for numbers. It does not say, so it is tried on a few."""
    if scorer._response_method != "predict":  # but shares of classes
        return has_classes
    few = np.array(["no", "no", "yes", "yes"] if has_classes else [0.5, 1.5, 2.25, 3.5])
    tried: Any = _of_positive(scorer, few)
    with catch_warnings():
        simplefilter("error", UserWarning)  # metrics of clusterings take numbers, and warn
        try:
            tried._score_func(few, few[[0, 2, 1, 3]], **tried._kwargs)
        except (ValueError, TypeError, UserWarning):
            return False
    return True


def _of_positive(scorer: Any, labels: NDArray[Any]) -> Scorer:
    """The scorer, for which the greater of two labels is positive: scikit-learn's own take the label 1 for it."""
    classes, options = np.unique(labels), dict(scorer._kwargs)
    default = inspect.signature(scorer._score_func).parameters.get("pos_label")
    asks = default is not None and default.default is not None and options.get("average", "binary") == "binary"
    if not asks or len(classes) != 2:
        return cast(Scorer, scorer)
    scored = make_scorer(
        scorer._score_func,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        **options | {"pos_label": classes[-1].item()},
    )
    return cast(Scorer, scored)


def _text(value: Any) -> str:
    """A value as text that is the same in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _search_seed(random_state: Any, resume_from: str | os.PathLike[str] | None) -> int:
    """The seed of the search: the one of an earlier run if there is no other.

    It is a digest, since it is written to the file, and the seed of the forest in the end should stay secret.
    """
    if random_state is None and resume_from is not None:
        earlier = read_header(Path(resume_from))
        if earlier is not None:
            return int(earlier["settings"]["seed"])
    seed = hashlib.blake2b(f"deciduous search {seed_from(random_state)}".encode(), digest_size=8)
    return int.from_bytes(seed.digest(), "little")


def _generator(seed: int) -> np.random.RandomState:
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))


def _search_rows(labels: NDArray[Any], has_classes: bool, subsample: Any, seed: int) -> NDArray[np.intp]:
    """The places of the rows that the search uses, ascending."""
    everything = np.arange(len(labels))
    if subsample is None:
        return everything
    is_count = isinstance(subsample, INTEGER) and not isinstance(subsample, bool) and 1 <= subsample <= len(labels)
    if not is_count and not (isinstance(subsample, float | np.floating) and 0 < subsample <= 1):
        raise InvalidInputError(
            f"subsample must be None, a share in (0.0, 1.0] or a number of rows in [1, {len(labels)}], "
            f"but is {subsample!r}."
        )
    n_rows = int(subsample) if is_count else max(1, round(subsample * len(labels)))
    strata = labels if has_classes else None
    drawn = resample(everything, replace=False, n_samples=n_rows, stratify=strata, random_state=_generator(seed))
    return np.sort(drawn)


def _folds(
    rows: NDArray[np.float32], labels: NDArray[Any], classes: NDArray[Any] | None, cv: Any, seed: int
) -> list[Fold]:
    """Places of rows to train on and to test with. Without classes, the folds are not stratified."""
    if not isinstance(cv, INTEGER):
        return _given_folds(rows, labels, classes is not None, cv)
    if isinstance(cv, bool) or cv < 2:
        raise InvalidInputError(f"cv must be at least 2 folds, but is {cv!r}.")
    if classes is None:
        _require_pairs(labels, int(cv))
        return list(KFold(int(cv), shuffle=True, random_state=_generator(seed)).split(rows))
    for label in classes.tolist():
        n_held = int((labels == label).sum())
        if n_held < cv:
            raise InvalidInputError(
                f"Class {label!r} has {n_held} rows in the search, too few for cv={cv} folds. Use fewer folds, a "
                "larger subsample, or a splitter that does without, such as KFold."
            )
    splitter = StratifiedKFold(int(cv), shuffle=True, random_state=_generator(seed))
    return list(splitter.split(rows, labels))


def _require_pairs(targets: NDArray[Any], cv: int) -> None:
    """Two rows in each fold, as R² needs them."""
    if len(targets) < 2 * cv:
        raise InvalidInputError(
            f"There are {len(targets)} rows in the search, too few for cv={cv} folds of at least 2. Use fewer folds or "
            "a larger subsample."
        )


def _given_folds(rows: NDArray[np.float32], labels: NDArray[Any], has_classes: bool, cv: Any) -> list[Fold]:
    try:
        splits = check_cv(cv, labels, classifier=has_classes).split(rows, labels)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"cv must be a number of folds, a splitter or (train, test) pairs: {error}") from error
    if not folds:
        raise InvalidInputError("cv gives no folds: it must give at least one pair of (train, test).")
    return folds


# ------------------------------------------------------------------------------------------------------------ journal


def _header(template: Forest, data: str, drawn: dict[str, Any]) -> dict[str, Any]:
    """What evaluations depend on, beside their settings."""
    others = {name: _text(value) for name, value in template.get_params().items() if name not in TUNED + WITHOUT_EFFECT}
    return {"deciduous_tuning": FORMAT, "data": data, "settings": drawn | others}


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
