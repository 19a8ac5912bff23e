"""The data: real sets prepared as the paper's scripts do, the paper's Synthetic, and hostile ones.

Real sets are not part of the project. They are looked for in the folder that the environment variable DECIDUOUS_DATA
names, by default `../shared/data`: one parquet file each, and `PREP.json`, which says how to prepare them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import OneHotEncoder

FOLDER_VARIABLE = "DECIDUOUS_DATA"
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
SPLIT_SEED = 1  # of the paper's scripts
TRAIN_SHARE = 0.8
N_SYNTHETIC = {"synthetic_80k": 100_000, "synthetic_800k": 1_000_000}  # rows, the test part included
METRICS = {"bank_marketing": "AUC", "no_show": "AUC"}  # of the paper; accuracy for the others

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]
Maker = Callable[[int], tuple[Rows, Labels]]  # from a number of rows


class Unavailable(Exception):  # noqa: N818
    """Something that a case needs is not here; the text says what."""


@dataclass(frozen=True)
class DataSet:
    """Rows to train on and rows to test with."""

    name: str
    X: Rows
    y: Labels
    X_test: Rows
    y_test: Labels

    @property
    def metric(self) -> str:
        """The measure of quality that the paper uses for these data."""
        return METRICS.get(self.name, "accuracy")

    def first(self, n_rows: int) -> DataSet:
        """The same with at most this many rows to train on, and as many to test with."""
        return DataSet(self.name, self.X[:n_rows], self.y[:n_rows], self.X_test[:n_rows], self.y_test[:n_rows])


def load(name: str, max_rows: int) -> DataSet:
    """A data set by name, of at most this many rows to train on."""
    if name in N_SYNTHETIC:
        return synthetic(name, min(N_SYNTHETIC[name], int(max_rows / TRAIN_SHARE)))
    return real(name).first(max_rows)


# ------------------------------------------------------------------------------------------------------ real data sets


def folder() -> Path:
    """Where the real sets are, or should be."""
    return Path(os.environ.get(FOLDER_VARIABLE, DEFAULT_FOLDER))


def preparation(name: str) -> dict[str, Any]:
    """What PREP.json says about a set."""
    path = folder() / "PREP.json"
    if not path.exists() or not (folder() / f"{name}.parquet").exists():
        raise Unavailable(f"no {name}.parquet with PREP.json in {folder()}; set {FOLDER_VARIABLE} to where they are")
    prep: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[name]
    return prep


@dataclass(frozen=True)
class Table:
    """A real set before it is encoded: pandas frames of the columns in use, and labels."""

    numeric: list[str]
    categories: list[str]
    train: Any
    y: Labels
    test: Any
    y_test: Labels


@lru_cache(maxsize=1)
def table(name: str) -> Table:
    """Read a real set, derive and drop columns, and split it as the paper does."""
    prep = preparation(name)
    frame = read_frame(name)
    for column, parts in prep.get("derive", {}).items():
        derive_dates(frame, column, parts)
    y = frame[prep["target"]].isin(np.atleast_1d(prep["positive"]).tolist()).to_numpy().astype(np.int64)
    is_train = train_mask(frame, prep.get("split_column"))
    frame = frame[prep["numeric"] + prep["one_hot"]]
    train, test = frame[is_train].reset_index(drop=True), frame[~is_train].reset_index(drop=True)
    return Table(prep["numeric"], prep["one_hot"], train, y[is_train], test, y[~is_train])


def read_frame(name: str) -> Any:
    """The parquet file as a pandas frame."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"reading the real data sets needs {error.name}") from None
    return pandas.read_parquet(folder() / f"{name}.parquet")


def derive_dates(frame: Any, column: str, parts: str) -> None:
    """`prefix_{day,hour}` adds the columns prefix_day and prefix_hour of a column of times."""
    import pandas

    pattern = re.fullmatch(r"(\w+_)\{([\w,]+)\}", parts)
    if pattern is None:
        raise ValueError(f"PREP.json wants {parts!r} derived from {column}, which is not of the form prefix_{{day,…}}.")
    times = pandas.to_datetime(frame[column])
    for part in pattern[2].split(","):
        frame[pattern[1] + part] = getattr(times.dt, part)


def train_mask(frame: Any, split_column: str | None) -> NDArray[np.bool_]:
    """The designated train part, or the paper's 80 per cent."""
    if split_column is not None:
        designated: NDArray[np.bool_] = (frame[split_column] == "train").to_numpy()
        return designated
    is_train = np.zeros(len(frame), dtype=bool)
    chosen = np.random.RandomState(SPLIT_SEED).choice(len(frame), int(TRAIN_SHARE * len(frame)), replace=False)
    is_train[chosen] = True
    return is_train


@lru_cache(maxsize=4)
def real(name: str) -> DataSet:
    """A real set, one-hot: the encoder knows the train part only."""
    its = table(name)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    encoder.fit(its.train[its.categories])

    def encoded(frame: Any) -> Rows:
        numbers = frame[its.numeric].to_numpy(np.float32)
        return np.ascontiguousarray(np.hstack([numbers, encoder.transform(frame[its.categories])]))

    return DataSet(name, encoded(its.train), its.y, encoded(its.test), its.y_test)


def categorical_frame(name: str, max_rows: int) -> tuple[Any, Labels]:
    """The train part as a pandas frame of float32 and category columns, with its labels."""
    its = table(name)
    types: dict[str, Any] = dict.fromkeys(its.numeric, np.float32)
    types |= dict.fromkeys(its.categories, "category")
    return its.train[:max_rows].astype(types), its.y[:max_rows]


# ---------------------------------------------------------------------------------------------------------- generated


@lru_cache(maxsize=2)
def synthetic(name: str, n_rows: int) -> DataSet:
    """The paper's Synthetic: clusters at the corners of a 5-cube, 30 useless attributes, 5% of the labels flipped."""
    X, y = blobs(n_rows, 40)
    n_train = int(TRAIN_SHARE * len(X))
    return DataSet(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def blobs(n_rows: int, n_columns: int, **others: Any) -> tuple[Rows, Labels]:
    """Rows in the manner of the paper's Synthetic; `make_classification` shuffles them already."""
    options = {"n_informative": 5, "n_redundant": 5, "n_clusters_per_class": 2, "flip_y": 0.05} | others
    X, y = make_classification(n_rows, n_columns, random_state=SPLIT_SEED, **options)
    return X.astype(np.float32), y.astype(np.int64)


def higgs_shaped(n_rows: int, seed: int = 0) -> tuple[Rows, Labels]:
    """28 continuous columns, 7 of them made from the other 21, and a class that no few of them give away.

    Made in pieces, so that making it takes little more memory than having it.
    """
    X = np.empty((n_rows, 28), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)
    for piece, random in pieces(n_rows, seed):
        raw = random.standard_normal((piece.stop - piece.start, 21), dtype=np.float32)
        made = np.stack([raw[:, i] * raw[:, i + 7] + 0.5 * np.abs(raw[:, i + 14]) for i in range(7)], axis=1)
        X[piece] = np.hstack([raw, made])
        logit = made[:, :4].sum(axis=1) - made[:, 4:].sum(axis=1) + 0.3 * raw[:, :3].sum(axis=1)
        y[piece] = random.random(len(raw)) < 1 / (1 + np.exp(-0.6 * logit))
    return X, y


def pieces(n_rows: int, seed: int, size: int = 500_000) -> Iterator[tuple[slice, np.random.Generator]]:
    """Consecutive ranges of rows, each with its own source of random numbers."""
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows)), np.random.default_rng([seed, begin])


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
