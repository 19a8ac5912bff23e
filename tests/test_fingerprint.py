"""Fingerprints: pinned, so that an accidental change of the definition shows, and faithful to what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deciduous import DareForestClassifier

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
