"""Quantiles next to those of quantile-forest, the usual package for them, on real data."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split

from deciduous import DareForestRegressor

quantile_forest = pytest.importorskip("quantile_forest", reason="quantile-forest is not installed")

SHARES = [0.05, 0.25, 0.5, 0.75, 0.95]


def diabetes() -> tuple[NDArray[Any], NDArray[Any]]:
    """All columns as float32, which both packages compare."""
    X, y = load_diabetes(return_X_y=True)
    return X.astype(np.float32), y


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_quantiles_of_the_same_leaves_are_between_theirs(depth: int) -> None:
    """One tree of all thresholds is the same tree in both; of n targets they take one at floor(q (n - 1)) or the next.

    The lowest target with a share of at least q of the rows is always one of these two.
    """
    X, y = diabetes()
    ours = DareForestRegressor(
        1, max_depth=depth, n_thresholds=None, max_features=None, min_samples_leaf=5, random_state=0
    ).fit(X, y)
    theirs = quantile_forest.RandomForestQuantileRegressor(
        1, max_depth=depth, bootstrap=False, min_samples_leaf=5, max_samples_leaf=None, random_state=0
    ).fit(X, y)
    same_leaf = [leaves == leaves.T for leaves in (ours.apply(X), theirs.apply(X))]
    assert (same_leaf[0] == same_leaf[1]).all()
    shares = np.linspace(0.01, 0.99, 99).tolist()
    lower, higher = (theirs.predict(X, quantiles=shares, interpolation=which) for which in ("lower", "higher"))
    quantiles = ours.predict(X, quantiles=shares)
    assert ((quantiles == lower) | (quantiles == higher)).all()
    assert (lower < higher).mean() > 0.5


def test_forests_predict_as_good_quantiles() -> None:
    """The same loss within a tenth, and intervals that cover as many of the targets that were held out."""
    X, y = diabetes()
    losses, coverages = [], []
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        ours = DareForestRegressor(200, min_samples_leaf=5, random_state=seed).fit(X_train, y_train)
        theirs = quantile_forest.RandomForestQuantileRegressor(
            200, min_samples_leaf=5, max_features="sqrt", max_samples_leaf=None, random_state=seed
        ).fit(X_train, y_train)
        pair = ours.predict(X_test, quantiles=SHARES), theirs.predict(X_test, quantiles=SHARES, weighted_leaves=True)
        losses.append([[mean_pinball_loss(y_test, its[:, i], alpha=q) for i, q in enumerate(SHARES)] for its in pair])
        coverages.append([np.mean((its[:, 0] <= y_test) & (y_test <= its[:, -1])) for its in pair])
    our_losses, their_losses = np.mean(losses, axis=0)
    assert our_losses == pytest.approx(their_losses, rel=0.1)
    our_coverage, their_coverage = np.mean(coverages, axis=0)
    assert our_coverage == pytest.approx(their_coverage, abs=0.03)
    assert 0.85 < our_coverage < 0.97
