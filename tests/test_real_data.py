"""Real data: deletions from the Adult census data leave the retrained forest, and accuracy is the paper's.

The data sets lie beside the repository, not in it, since their licences differ; without them these tests are skipped.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier
from deciduous.experiments.datasets import load
from strategies import Dataset

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
N_SAMPLE = 5_000
SETTING = {
    "n_estimators": 50,
    "max_depth": 20,
    "n_thresholds": 5,
    "n_jobs": 2,
    "random_state": 1,
}  # the paper's for Adult
PAPER_ACCURACY = 0.862  # of T=50, d=20 and k=5, which is SETTING

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(not (DATA / "adult.parquet").exists(), reason=f"the shared data sets are not at {DATA}")


@pytest.fixture(scope="module")
def adult() -> tuple[Dataset, Dataset]:
    """The designated train and test parts, prepared as the paper's scripts do: five numbers, the rest one-hot."""
    data = load("adult", DATA)
    parts = ((data.X, data.y), (data.X_test, data.y_test))
    return tuple(Dataset(np.arange(len(y)), X, y) for X, y in parts)


@pytest.fixture(scope="module")
def sample(adult: tuple[Dataset, Dataset]) -> Dataset:
    """Five thousand training rows under their row numbers."""
    rows = np.sort(np.random.default_rng(0).choice(len(adult[0].ids), N_SAMPLE, replace=False))
    return Dataset(rows, adult[0].X[rows], adult[0].y[rows])


def retrained_without(data: Dataset, gone: np.ndarray, options: dict[str, Any]) -> DareForestClassifier:
    """The forest that never saw these rows."""
    left = ~np.isin(data.ids, gone)
    return DareForestClassifier(**options).fit(data.X[left], data.y[left], ids=data.ids[left])


def test_adult_is_prepared_as_the_index_of_the_data_says(adult: tuple[Dataset, Dataset]) -> None:
    """107 columns, 32,561 and 16,281 rows, 24.08 and 23.62 per cent of them positive."""
    train, test = adult
    assert train.X.shape == (32_561, 107)
    assert test.X.shape == (16_281, 107)
    assert round(100 * train.y.mean(), 2) == 24.08
    assert round(100 * test.y.mean(), 2) == 23.62


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"random_depth": 3},
        {"candidates": "uniform", "n_thresholds": 20},
        {"max_samples": 0.2},
        {"criterion": "entropy"},
    ],
    ids=["greedy", "random upper layers", "uniform", "a fifth of the trees", "entropy"],
)
def test_one_per_cent_of_adult_deleted_one_by_one_and_at_once(
    sample: Dataset, options: dict[str, Any], lazy: bool
) -> None:
    """Fifty rows of 5,000, by turns and as a batch: the retrained forest both times, and back when they are added."""
    setting = SETTING | {"n_estimators": 10} | options
    gone = np.random.default_rng(1).choice(sample.ids, N_SAMPLE // 100, replace=False)
    forest = DareForestClassifier(**setting, lazy=lazy).fit(sample.X, sample.y, ids=sample.ids)
    whole = forest.fingerprint()
    retrained = retrained_without(sample, gone, setting)

    foretold = [forest.deletion_cost([row_id]) for row_id in gone[:1]]
    assert [forest.delete([row_id]) for row_id in gone[:1]] == foretold
    for row_id in gone[1:]:
        forest.delete([row_id])
    assert forest.check()
    assert forest.fingerprint() == retrained.fingerprint()
    assert forest.predict_proba(sample.X).tobytes() == retrained.predict_proba(sample.X).tobytes()

    positions = np.searchsorted(sample.ids, gone)
    forest.add(sample.X[positions], sample.y[positions], ids=gone)
    assert forest.check()
    assert forest.fingerprint() == whole

    forest.delete(gone)
    assert forest.check()
    assert forest.fingerprint() == retrained.fingerprint()
    assert forest.verify().matches


def test_adversary_deletes_the_costliest_rows_of_adult(sample: Dataset) -> None:
    """Ten times the worst of a hundred random rows: dearer than the mean, foretold, and exact."""
    setting = SETTING | {"n_estimators": 10}
    forest = DareForestClassifier(**setting).fit(sample.X, sample.y, ids=sample.ids)
    rng = np.random.default_rng(2)
    gone = []
    for _ in range(10):
        offered = rng.choice(forest.ids_, 100, replace=False)
        costs = forest.deletion_costs(offered)
        worst = int(offered[costs.argmax()])
        assert forest.delete([worst]).n_rows_retrained == costs.max() > costs.mean()
        gone.append(worst)
    assert forest.check()
    assert forest.fingerprint() == retrained_without(sample, np.array(gone), setting).fingerprint()


def test_accuracy_on_adult_is_the_papers(adult: tuple[Dataset, Dataset]) -> None:
    """T=50, d=20, k=5, all training rows: within 1.5 points of .862; the test set's standard error is 0.27 points."""
    train, test = adult
    forest = DareForestClassifier(**SETTING).fit(train.X, train.y)
    assert abs(forest.score(test.X, test.y) - PAPER_ACCURACY) <= 0.015
