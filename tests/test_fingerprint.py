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
    "greedy": "7d5d62fdf8e48ebb0e247ca29bcbe9ba34f4f5c11a76353c5e03c7a95d713bce",
    "random above": "42dc2251225f99a0915d6fa81a408fdbffe9d9da09f80d300c9d294ad89f83da",
    "random trees": "77fe209744bc5f51235ce7713d2ac8814110e1ca7e9ab7b492d55f10ee8e49af",
    "uniform": "0d56607c0d2d17f882ab43d507e239ad3ba1080182b35c7e2c4657bd1425a047",
    "all thresholds": "0ac2809ccce66089ba29a71dfbcd69ff28b3140ff9e9edf49e0b804557ac8c4b",
    "share of trees": "c923946c7ee9e10fcfc841043dace25ce6359ed1852f4b6c2e1f03063bb76e87",
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
