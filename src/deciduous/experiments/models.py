"""The forests that are compared: ours in the paper's variants, scikit-learn's, LightGBM's; and how they are judged."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score

from ..forest import DareForestClassifier
from ..regressor import DareForestRegressor
from .datasets import DataSet, Unavailable
from .paper import Setting


def g_dare(setting: Setting, seed: int, **others: Any) -> DareForestClassifier:
    """Our greedy forest, the paper's G-DaRE."""
    return DareForestClassifier(**setting.params(seed, **others))


def r_dare(setting: Setting, seed: int, **others: Any) -> DareForestClassifier:
    """Our forest with the setting's random levels, the paper's R-DaRE."""
    return g_dare(setting, seed, random_depth=setting.random_depth, **others)


def dare_for(data: DataSet, setting: Setting, seed: int, **others: Any) -> DareForestClassifier | DareForestRegressor:
    """Our forest with the setting's random levels for these data: the classifier, or the regressor.

    The range of all targets belongs to the parameters of the regressor: without it, what is left after deletions would
    be retrained with a range of its own.
    """
    if not data.is_regression:
        return r_dare(setting, seed, **others)
    ends = float(data.y.min()), float(data.y.max())
    return DareForestRegressor(**setting.params(seed, random_depth=setting.random_depth, target_range=ends, **others))


def random_trees(setting: Setting, seed: int, **others: Any) -> DareForestClassifier:
    """The paper's Random Trees: every split at random."""
    return g_dare(setting, seed, random_depth=setting.depth, **others)


def random_forest(setting: Setting, seed: int, bootstrap: bool = False, n_jobs: int = 1) -> Any:
    """scikit-learn's random forest; without bootstrap all rows are in every tree, as in ours and the paper's."""
    return RandomForestClassifier(
        setting.n_trees, max_depth=setting.depth, bootstrap=bootstrap, n_jobs=n_jobs, random_state=seed
    )


def extra_trees(setting: Setting, seed: int, n_jobs: int = 1) -> Any:
    """scikit-learn's extremely randomised trees."""
    return ExtraTreesClassifier(setting.n_trees, max_depth=setting.depth, n_jobs=n_jobs, random_state=seed)


def lightgbm_forest(setting: Setting, seed: int, n_columns: int, n_leaves: int, n_jobs: int = 1) -> Any:
    """LightGBM as a random forest; it needs rows left out of each tree. How long it takes is up to its leaves.

    The limit of its pool of histograms was measured not to slow it down.
    """
    return needed("lightgbm").LGBMClassifier(
        boosting_type="rf",
        n_estimators=setting.n_trees,
        max_depth=setting.depth,
        num_leaves=n_leaves,
        min_child_samples=1,
        subsample=0.9,
        subsample_freq=1,
        colsample_bynode=int(n_columns**0.5) / n_columns,  # as many attributes as the others look at
        histogram_pool_size=512,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=-1,
    )


def needed(module: str) -> Any:
    """A module that only comparisons need."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise Unavailable(f"{package} is not installed; pip install {package}, or 'deciduous[experiments]'") from None


def sklearn_memory(forest: Any) -> int:
    """Bytes of the node and value arrays of scikit-learn's trees."""
    states = (tree.tree_.__getstate__() for tree in forest.estimators_)
    return sum(part.nbytes for state in states for part in state.values() if isinstance(part, np.ndarray))


def quality(model: Any, data: DataSet) -> float:
    """The measure of these data on their test part: accuracy, AUC or average precision; R² of numbers."""
    if data.is_regression:
        return float(r2_score(data.y_test, model.predict(data.X_test)))
    shares = model.predict_proba(data.X_test)
    if data.metric == "auc":
        return float(roc_auc_score(data.y_test, shares[:, 1]))
    if data.metric == "average_precision":
        return float(average_precision_score(data.y_test, shares[:, 1]))
    return float(np.mean(model.classes_[shares.argmax(axis=1)] == data.y_test))
