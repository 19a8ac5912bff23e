"""The peers: other forests on the same rows, with as many trees of the same depth, in one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score

from .data import DataSet, Unavailable
from .settings import Setting

YARDSTICK = "scikit-learn"  # its fit is S, and M is the memory of data and its forest


@dataclass(frozen=True)
class Peer:
    """A forest that is fit beside ours."""

    name: str
    make: Callable[[Setting, int, int], Any]  # from setting, seed and number of columns


def random_forest(setting: Setting, seed: int, _: int = 0) -> Any:
    """scikit-learn's random forest without bootstrap, as ours and the paper's: all rows in every tree."""
    return RandomForestClassifier(
        setting.n_trees, max_depth=setting.depth, bootstrap=False, n_jobs=1, random_state=seed
    )


def extra_trees(setting: Setting, seed: int, _: int = 0) -> Any:
    """scikit-learn's extremely randomised trees."""
    return ExtraTreesClassifier(setting.n_trees, max_depth=setting.depth, n_jobs=1, random_state=seed)


def lightgbm_rf(n_leaves: int, setting: Setting, seed: int, n_columns: int) -> Any:
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
        n_jobs=1,
        random_state=seed,
        verbose=-1,
    )


def river_forest(setting: Setting, seed: int) -> Any:
    """river's adaptive random forest, which learns row by row and never forgets on request."""
    return needed("river.forest").ARFClassifier(n_models=setting.n_trees, max_depth=setting.depth, seed=seed)


PEERS = (
    Peer(YARDSTICK, random_forest),
    Peer("ExtraTrees", extra_trees),
    Peer("LightGBM rf, 31 leaves", partial(lightgbm_rf, 31)),  # its default
    Peer("LightGBM rf, 4096 leaves", partial(lightgbm_rf, 4096)),  # about as deep as the others grow
)


def needed(module: str) -> Any:
    """A module of the dependency group `bench`."""
    try:
        return import_module(module)
    except ImportError:
        raise Unavailable(f"{module.partition('.')[0]} is not installed (dependency group bench)") from None


def sklearn_memory(forest: Any) -> int:
    """Bytes of the node and value arrays of scikit-learn's trees."""
    states = (tree.tree_.__getstate__() for tree in forest.estimators_)
    return sum(part.nbytes for state in states for part in state.values() if isinstance(part, np.ndarray))


def quality(model: Any, data: DataSet) -> float:
    """Accuracy or AUC on the test part, whichever the paper uses for these data."""
    shares = model.predict_proba(data.X_test)
    if data.metric == "AUC":
        return float(roc_auc_score(data.y_test, shares[:, 1]))
    return float(np.mean(model.classes_[shares.argmax(axis=1)] == data.y_test))
