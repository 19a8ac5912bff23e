"""The data: sets of the experiments as they read them, the paper's Synthetic in two sizes, and hostile ones.

Real sets are not part of the project. They are looked for where the experiments look for them: in the folder that the
environment variable DECIDUOUS_DATA names, or in the user's cache, where `deciduous experiment fetch` puts them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from deciduous.experiments import datasets
from deciduous.experiments.datasets import (
    FOLDER_VARIABLE,
    SPLIT_SEED,
    TRAIN_SHARE,
    DataSet,
    Labels,
    Rows,
    Unavailable,
    blobs,
    higgs_shaped,
)

__all__ = [
    "COLUMNS",
    "FOLDER_VARIABLE",
    "HOSTILE",
    "DataSet",
    "Labels",
    "Maker",
    "Rows",
    "Unavailable",
    "blobs",
    "categorical_frame",
    "higgs_shaped",
    "labelled",
    "load",
    "stand_in",
]

N_SYNTHETIC = {"synthetic_80k": 100_000, "synthetic_800k": 1_000_000}  # rows, the test part included

Maker = Callable[[int], tuple[Rows, Labels]]  # from a number of rows


def load(name: str, max_rows: int) -> DataSet:
    """A data set by name, of at most this many rows to train on."""
    if name in N_SYNTHETIC:
        return synthetic(name, min(N_SYNTHETIC[name], int(max_rows / TRAIN_SHARE)))
    return datasets.load(name).first(max_rows)


def stand_in(name: str, max_rows: int) -> DataSet | None:
    """Generated data of the shape of a set that is not here, if there is a maker of them."""
    if name not in STAND_INS:
        return None
    its = datasets.entry_of(name)
    n_train = min(its.expected.n_train, max_rows)
    X, y = STAND_INS[name](n_train + its.expected.n_test)
    return DataSet(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:], its.metric)


@lru_cache(maxsize=2)
def synthetic(name: str, n_rows: int) -> DataSet:
    """The paper's Synthetic in another size."""
    X, y = blobs(n_rows)
    n_train = int(TRAIN_SHARE * len(X))
    return DataSet(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def categorical_frame(name: str, max_rows: int) -> tuple[Any, Labels]:
    """The train part as a pandas frame of float32 and category columns, with its labels."""
    its = datasets.table(name, datasets.data_folder())
    types: dict[str, Any] = dict.fromkeys(its.numeric, np.float32)
    types |= dict.fromkeys(its.categories, "category")
    return its.train[:max_rows].astype(types), its.y[:max_rows]


# ----------------------------------------------------------------------------------------------------------- stand-ins


def california_shaped(n: int) -> tuple[Rows, Labels]:
    """Columns with distributions and ties as those of California housing, and prices with one in twenty at the cap."""
    random = np.random.default_rng(SPLIT_SEED)
    centre = random.integers(0, 12, n)  # of a city, along the coast
    latitude = np.round(33 + 0.5 * centre + random.normal(0, 0.4, n), 2)
    longitude = np.round(-117 - 0.4 * centre + random.normal(0, 0.5, n), 2)
    income = np.round(np.clip(np.exp(random.normal(1.25, 0.45, n)), 0.5, 15.0), 4)
    age = np.clip(np.rint(random.normal(29, 14, n)), 1, 52)
    households = np.rint(np.exp(random.normal(6.0, 0.7, n))) + 1
    rooms = np.rint(households * (3 + 0.6 * income * np.exp(random.normal(0, 0.15, n))))
    bedrooms = np.rint(households * np.exp(random.normal(0.06, 0.06, n)))
    population = np.rint(households * np.exp(random.normal(1.03, 0.25, n))) + 1
    crowd = population / households
    inland = longitude + 117 + 0.4 * centre
    worth = np.exp(0.12 * age / 52 - 0.4 * inland + 0.1 * np.sin(3 * latitude) + random.normal(0, 0.28, n))
    price = np.round(np.clip(1.75 * worth * income / 3.5 * (3 / crowd) ** 0.4, 0.15, 5.0), 3)
    X = np.stack([income, age, rooms / households, bedrooms / households, population, crowd, latitude, longitude], 1)
    return X.astype(np.float32), price


STAND_INS: dict[str, Maker] = {"california_housing": california_shaped}

# ---------------------------------------------------------------------------------------------------- kinds of columns


def continuous_columns(n: int) -> Rows:
    """40 normal columns."""
    X: Rows = np.random.default_rng(SPLIT_SEED).standard_normal((n, 40), dtype=np.float32)
    return X


def one_hot_columns(n: int, n_levels: int = 5) -> Rows:
    """8 categories as 40 columns of zeros and ones."""
    level = np.random.default_rng(SPLIT_SEED).integers(0, n_levels, (n, 8, 1))
    X: Rows = (level == np.arange(n_levels)).reshape(n, -1).astype(np.float32)
    return X


COLUMNS: dict[str, Callable[[int], Rows]] = {"continuous": continuous_columns, "one-hot": one_hot_columns}


def labelled(columns: str, n: int, n_classes: int) -> tuple[Rows, Labels]:
    """Rows of this kind, and labels by the sum of two columns and noise: classes of equal size, as far as rows go."""
    X = COLUMNS[columns](n)
    score = X[:, 0] + X[:, -1] + np.random.default_rng([SPLIT_SEED, 1]).normal(size=n)
    return X, score.argsort().argsort() * n_classes // n


# ------------------------------------------------------------------------------------------------------------- hostile


def rare_positives(n: int) -> tuple[Rows, Labels]:
    """0.2 per cent of the rows are positive."""
    X, y = blobs(n, 40, weights=[0.998], flip_y=0.0)
    y[:2] = (0, 1)  # both classes, however few the rows
    return X, y


def distinct_values(n: int) -> tuple[Rows, Labels]:
    """No column has a value twice, and half of the label is noise: every cut is valid."""
    random = np.random.default_rng(SPLIT_SEED)
    X = np.stack([random.permutation(n) for _ in range(40)], axis=1).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + random.normal(0, n / 2, n) > n).astype(np.int64)
    return X, y


def wide_one_hot(n: int, n_levels: int = 1_000) -> tuple[Rows, Labels]:
    """A category of 1,000 levels as that many columns; each level has its own share of positives."""
    random = np.random.default_rng(SPLIT_SEED)
    level = random.integers(0, n_levels, n)
    X = np.zeros((n, n_levels), dtype=np.float32)
    X[np.arange(n), level] = 1.0
    return X, (random.random(n) < random.random(n_levels)[level]).astype(np.int64)


def duplicates(n: int, n_different: int = 50) -> tuple[Rows, Labels]:
    """Few different rows, many times each, with labels that disagree."""
    random = np.random.default_rng(SPLIT_SEED)
    which = random.integers(0, n_different, n)
    X = random.normal(size=(n_different, 40)).astype(np.float32)[which]
    return X, (random.random(n) < random.random(n_different)[which]).astype(np.int64)


HOSTILE: dict[str, Maker] = {
    "0.2% positives": rare_positives,
    "all values distinct": distinct_values,
    "1,000 one-hot columns": wide_one_hot,
    "duplicates only": duplicates,
}
