"""Makes golden model files, once for each version of the format: `python tests/make_golden_files.py`.

Files that exist are kept: a golden file shows what an old release wrote, so it is never made anew.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from deciduous import DareForestClassifier, DareForestRegressor

GOLDEN_FOLDER = Path(__file__).parent / "data" / "golden"


def columns(n_rows: int, seed: int) -> np.ndarray:
    """Four columns: numbers, ties, indicators, and numbers of which a third are missing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n_rows), rng.integers(0, 5, n_rows), rng.integers(0, 2, n_rows), rng.normal(size=n_rows)]
    ).astype(np.float32)
    X[rng.random(n_rows) < 1 / 3, 3] = np.nan
    return X


def greedy_with_missing_values() -> DareForestClassifier:
    """300 rows, so that the first column has more than 256 values and is stored plainly."""
    X = columns(300, seed=1)
    y = (X[:, 0] + X[:, 1] > 2).astype(int) + np.isnan(X[:, 3])
    return DareForestClassifier(n_estimators=3, max_depth=6, n_thresholds=5, random_state=11).fit(X, y)


def weighted_strings_sampled() -> DareForestClassifier:
    """String labels, row weights, class weights, and each row in two of five trees."""
    X = columns(60, seed=2)
    y = np.array(["oak", "beech", "Lärche"])[(X[:, 1] % 3).astype(int)]
    return DareForestClassifier(
        n_estimators=5,
        max_depth=4,
        n_thresholds=None,
        criterion="entropy",
        max_samples=0.4,
        class_weight={"oak": 2.5, "Lärche": 0.1, "elm": 3.0},
        random_state=2**64 - 1,
    ).fit(X, y, ids=np.arange(60) * 7 - 100, sample_weight=np.arange(60) % 4)


def uniform_random_after_updates() -> DareForestClassifier:
    """Uniform candidates below random nodes; rows came and went, one class went altogether, another came late."""
    X = columns(80, seed=3)
    y = (X[:, 0] > 0).astype(int)
    y[:5] = 7
    forest = DareForestClassifier(
        n_estimators=4, max_depth=5, random_depth=2, candidates="uniform", n_thresholds=3, random_state=5
    ).fit(X, y)
    forest.delete(range(20))
    forest.add(columns(10, seed=4), [0, 1, -3, 0, 1, -3, 0, 1, -3, 0])
    return forest


def categorical() -> DareForestClassifier:
    """Strings with missing ones, listed numbers, and 300 categories, of which some have no rows any more."""
    rng = np.random.default_rng(6)
    X = np.empty((330, 4), dtype=object)
    X[:, 0] = rng.choice(np.array(["red", "grün", "blue", None], dtype=object), 330)
    X[:, 1] = columns(330, seed=6)[:, 3]
    X[:, 2] = [f"shop {i % 300:03}" for i in range(330)]
    X[:, 3] = rng.choice([1, 2.5, np.nan, 4], 330)
    y = ((X[:, 0] == "red") | (X[:, 3] == 4)).astype(int) + (np.arange(330) % 3 == 0)
    choice = {0: "auto", 2: "auto", 3: [4, 1, None, 2.5]}
    forest = DareForestClassifier(
        n_estimators=4, max_depth=6, max_features=40, categorical_features=choice, random_state=9
    ).fit(X, y)
    forest.delete(range(0, 300, 4))
    forest.add(np.array([["violet", 0.5, "shop 999", 7]] * 3, dtype=object), [0, 1, 2])
    return forest


def regression() -> DareForestRegressor:
    """Weighted rows, each in three of four trees; some went, and some came whose targets are beyond the range."""
    X = columns(90, seed=7)
    y = 930 + 10.0 * X[:, 0].astype(np.float64) + X[:, 1] ** 2 + np.arange(90) / 7
    forest = DareForestRegressor(
        n_estimators=4,
        max_depth=6,
        n_thresholds=4,
        random_depth=1,
        max_samples=0.75,
        target_range=(900, 1020),
        random_state=13,
    ).fit(X, y, ids=np.arange(90) * 3 - 40, sample_weight=np.arange(90) % 3)
    forest.delete(forest.ids_[::5])
    forest.add(columns(5, seed=8), [512.0, 1500.25, 950.1, 1024 + 1e-9, 899.0], ids=range(1000, 1005))
    return forest


def weights_in_units() -> DareForestClassifier:
    """Weights with fractions, in a unit that `fit` resolves; limits of leaves in that unit."""
    X = columns(70, seed=9)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] == 4)
    forest = DareForestClassifier(
        n_estimators=3, max_depth=5, min_samples_leaf=2, min_samples_split=6, random_state=17
    ).fit(X, y, sample_weight=np.arange(70) / 8)
    forest.delete(range(1, 70, 6))
    forest.add(columns(3, seed=10), [0, 1, 2], sample_weight=[0.1, 2.75, 1e-9])
    return forest


FORESTS: dict[str, Callable[[], DareForestClassifier | DareForestRegressor]] = {
    "v1-greedy-with-missing-values": greedy_with_missing_values,
    "v1-weighted-strings-sampled": weighted_strings_sampled,
    "v1-uniform-random-after-updates": uniform_random_after_updates,
    "v1-categorical": categorical,
    "v1-regression": regression,
    "v1-weights-in-units": weights_in_units,
}


def main() -> None:
    """Write what is missing, and print the fingerprints to pin."""
    GOLDEN_FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in FORESTS.items():
        path = GOLDEN_FOLDER / f"{name}.forest"
        if path.exists():
            print(f"{name}: exists, kept")
            continue
        forest = make()
        forest.save(path)
        print(f"{name}: {forest.fingerprint()}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
