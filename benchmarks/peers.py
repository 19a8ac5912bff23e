"""The peers: other forests on the same rows, with as many trees of the same depth, in one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import RandomForestRegressor

from deciduous.experiments.models import (
    extra_trees,
    lightgbm_forest,
    needed,
    quality,
    random_forest,
    sklearn_memory,
)

from .settings import Setting

__all__ = [
    "DEEP_LIGHTGBM",
    "PEERS",
    "YARDSTICK",
    "Peer",
    "needed",
    "quality",
    "random_forest",
    "regression_forest",
    "river_forest",
    "sklearn_memory",
]

YARDSTICK = "scikit-learn"  # its fit is S, and M is the memory of data and its forest
DEEP_LIGHTGBM = "LightGBM rf, 4096 leaves"  # with trees as deep as the others'


@dataclass(frozen=True)
class Peer:
    """A forest that is fit beside ours."""

    name: str
    make: Callable[[Setting, int, int], Any]  # from setting, seed and number of columns


def regression_forest(setting: Setting, seed: int) -> Any:
    """scikit-learn's for numbers: all rows in every tree, and as many columns looked at as ours looks at."""
    return RandomForestRegressor(
        setting.n_trees, max_depth=setting.depth, bootstrap=False, max_features="sqrt", n_jobs=1, random_state=seed
    )


def river_forest(setting: Setting, seed: int) -> Any:
    """river's adaptive random forest, which learns row by row and never forgets on request."""
    return needed("river.forest").ARFClassifier(n_models=setting.n_trees, max_depth=setting.depth, seed=seed)


PEERS = (
    Peer(YARDSTICK, lambda setting, seed, _: random_forest(setting, seed)),
    Peer("ExtraTrees", lambda setting, seed, _: extra_trees(setting, seed)),
    Peer("LightGBM rf, 31 leaves", lambda setting, seed, p: lightgbm_forest(setting, seed, p, 31)),  # its default
    Peer(DEEP_LIGHTGBM, lambda setting, seed, p: lightgbm_forest(setting, seed, p, 4096)),
)
