"""Fingerprints: pinned, so that an accidental change of the definition shows, and faithful to what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier, DareForestRegressor

SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"n_estimators": 5, "random_state": 0},
    "random above": {"n_estimators": 5, "random_depth": 3, "criterion": "entropy", "random_state": 1},
    "random trees": {"n_estimators": 5, "random_depth": 20, "random_state": 2},
    "uniform": {"n_estimators": 5, "candidates": "uniform", "n_thresholds": 3, "random_state": 3},
    "all thresholds": {"n_estimators": 5, "n_thresholds": None, "criterion": "entropy", "random_state": 4},
    "share of trees": {"n_estimators": 7, "max_samples": 0.4, "min_samples_leaf": 3, "random_state": 2**64 - 1},
}

PINNED: dict[str, str] = {
    "greedy": "1bf382f606c7301c10e3e9434a16556aac547ee2b766ec0edb1690fe4304d11d",
    "random above": "2330d7f5be9d027ed449c8251eae5bdb8d29af4eaa1f305dfd2fdc2124341969",
    "random trees": "af4ca5bff5192c37ca0c7308e259c3fdcddfdda67424f3202fafbc9c663840b3",
    "uniform": "fe98c675148c3e05fb97059704a934faedcdc036ec5121475c9d8af7a633e1f2",
    "all thresholds": "0ddb3d2849d492e48b1d333a03732230bb05823658b2c3c8ff6d42ac7307a43a",
    "share of trees": "6b7afd3ee63119e3d1ae6b5f2f68be52a5d7ab28191ee04dcd05383e18493d1f",
}


def hostile_rows() -> tuple[np.ndarray, np.ndarray]:
    """A small table with ties, NaN, a constant, extremes and string labels, made without a random generator."""
    i = np.arange(120)
    with_nan = np.where(i % 11 == 0, np.nan, (i * 37) % 101)
    X = np.column_stack([i % 7, with_nan, np.full(120, 5.0), 1e-45 * i, 3e38 - 1e36 * i])
    return X, np.array(["no", "yes", "perhaps"])[(i * i) % 5 % 3]


@pytest.mark.parametrize("name", SETTINGS)
def test_fingerprint_is_pinned(name: str) -> None:
    """The same rows, parameters and seed give the same bytes for ever (or docs/algorithm.md changed)."""
    X, y = hostile_rows()
    assert DareForestClassifier(**SETTINGS[name]).fit(X, y).fingerprint() == PINNED[name]


REGRESSION_SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"n_estimators": 5, "random_state": 0},
    "random above": {"n_estimators": 5, "random_depth": 3, "target_range": (-1e4, 1e4), "random_state": 1},
    "random trees": {"n_estimators": 5, "random_depth": 20, "random_state": 2},
    "uniform": {"n_estimators": 5, "candidates": "uniform", "n_thresholds": 3, "random_state": 3},
    "all thresholds": {"n_estimators": 5, "n_thresholds": None, "random_state": 4},
    "share of trees": {"n_estimators": 7, "max_samples": 0.4, "min_samples_leaf": 3, "random_state": 2**64 - 1},
}

PINNED_REGRESSION: dict[str, str] = {
    "greedy": "6ad15ab78a0c0867c63aae4266567ec2280c509b832747e70b80be44598414a1",
    "random above": "e177ef32e63dc755f7d7bed32644295e09edad09de355f2c2ca932d4ae53cb05",
    "random trees": "62d7ea860bd69977eae395aea9122082b5745ce8c467104fea55741759cf513d",
    "uniform": "0d315ac1e3e7ab99a99d8a72ba63d27e10194ff96281d07147bb639370423133",
    "all thresholds": "4c8f316ced1a6a7a13d2fdcbbfecc618eda4cc0f7f2ca7d27f6a686ff460d452",
    "share of trees": "ad9e23c5c180e7e3e7758706934078c72537af73fbdf2af9e35df22150fc1813",
}


def hostile_targets() -> tuple[np.ndarray, np.ndarray]:
    """The same rows with targets that are mostly equal, and else from tiny to large, of both signs."""
    X, _ = hostile_rows()
    i = np.arange(len(X))
    return X, np.where(i % 3 == 0, 0.1, np.array([1e-7, -250.0, 3.0, 1 / 3, 999.5])[(i * i) % 5])


@pytest.mark.parametrize("name", REGRESSION_SETTINGS)
def test_fingerprint_of_a_regressor_is_pinned(name: str) -> None:
    """With weights, so that sums of many steps are in it."""
    X, y = hostile_targets()
    forest = DareForestRegressor(**REGRESSION_SETTINGS[name]).fit(X, y, sample_weight=1 + np.arange(len(y)) % 4)
    assert forest.fingerprint() == PINNED_REGRESSION[name]


def test_fingerprint_of_a_regressor_depends_on_targets_and_their_scale() -> None:
    """As many digits as are kept, and no more."""
    X, y = hostile_targets()

    def fingerprint(y: np.ndarray = y, target_range: tuple[float, float] = (-250.0, 999.5)) -> str:
        return DareForestRegressor(5, target_range=target_range, random_state=0).fit(X, y).fingerprint()

    step = 2.0 ** (11 - 38)  # the range is less than 2^11
    assert fingerprint(y + 0.1 * step * (np.arange(len(y)) == 7)) == fingerprint()
    variants = [
        fingerprint(),
        fingerprint(y + step * (np.arange(len(y)) == 7)),
        fingerprint(-y, (-999.5, 250.0)),
        fingerprint(target_range=(-250.0, 3000.0)),
        fingerprint(target_range=(-2040.0, -20.0)),
    ]
    assert len(set(variants)) == len(variants)
    assert fingerprint(target_range=(-251.0, 1000.0)) == fingerprint()  # another range with the same scale and offset


@pytest.mark.parametrize("target_type", [np.int16, np.int64, np.float32, object])
def test_equal_targets_of_other_types_give_the_same_fingerprint(target_type: type) -> None:
    """3, 3.0 and a float32 of 3 are one number."""
    X, _ = hostile_rows()
    y = np.arange(len(X)) % 9 - 4
    expected = DareForestRegressor(3, random_state=0).fit(X, y.astype(np.float64)).fingerprint()
    assert DareForestRegressor(3, random_state=0).fit(X, y.astype(target_type)).fingerprint() == expected


PINNED_STABLE = {
    "valid": "a79a9f4a2d07f9e4d3c3434226a6bbc24e48eae6a2b351339d1f954e6b93ae0f",
    "uniform": "7406b562a3296516b0b4d388627f9074564c496050eb113036a70bc59d139057",
}


@pytest.mark.parametrize("candidates", PINNED_STABLE)
def test_fingerprint_of_stable_splits_is_pinned(candidates: str) -> None:
    """Only nodes of many rows have noise: each row counts as a hundred."""
    X, y = hostile_rows()
    forest = DareForestClassifier(5, candidates=candidates, stability=0.5, criterion="entropy", random_state=6)
    assert forest.fit(X, y, sample_weight=np.full(len(y), 100)).fingerprint() == PINNED_STABLE[candidates]


def test_fingerprint_depends_on_values_labels_ids_and_seed() -> None:
    """Each ingredient of a forest shows in its fingerprint."""
    X, y = hostile_rows()

    def fingerprint(X: np.ndarray = X, y: np.ndarray = y, seed: int = 0, shift: int = 0) -> str:
        forest = DareForestClassifier(n_estimators=5, random_state=seed)
        return forest.fit(X, y, ids=np.arange(len(X)) + shift).fingerprint()

    other_values = X.copy()
    other_values[:, 0] = np.flip(X[:, 0])
    other_labels = np.where(y == "no", "nope", y)
    variants = [
        fingerprint(),
        fingerprint(X=other_values),
        fingerprint(y=other_labels),
        fingerprint(seed=1),
        fingerprint(shift=1),
    ]
    assert len(set(variants)) == len(variants)


@pytest.mark.parametrize("label_type", [np.int8, np.int64, np.float32, np.float64])
def test_equal_labels_of_other_types_give_the_same_fingerprint(label_type: type) -> None:
    """1, 1.0 and True are one label, as they are equal."""
    X, y = hostile_rows()
    truth = DareForestClassifier(n_estimators=3, random_state=0).fit(X, y == "no").fingerprint()
    assert (
        DareForestClassifier(n_estimators=3, random_state=0).fit(X, (y == "no").astype(label_type)).fingerprint()
        == truth
    )


def test_only_what_changed_is_hashed_again() -> None:
    """All nodes at first, none without a change, and after a deletion the changed paths and small subtrees on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    forest = DareForestClassifier(n_estimators=4, random_state=0).fit(X, X[:, 0] + rng.normal(size=5000) > 0)
    n_nodes = sum(len(forest.tree_nodes(tree)) for tree in range(4))
    forest.fingerprint()
    assert forest._forest.n_nodes_hashed == n_nodes
    forest.fingerprint()
    assert forest._forest.n_nodes_hashed == 0
    # The row that retrains least: nothing but its four paths is new. Small subtrees have up to 256 of 5,000 rows.
    forest.delete([int(np.argmin(forest.deletion_costs(np.arange(200))))])
    forest.fingerprint()
    assert 0 < forest._forest.n_nodes_hashed < n_nodes / 5
