"""A tree as arrays, for importances, paths, pictures and exports."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ._core import StandardFloats, TreeArrays
from ._targets import TargetScale
from ._validation import CRITERIA_OF_CLASSES, CRITERIA_OF_TARGETS, criterion_of

KINDS = ("leaf", "random", "greedy")
NO_NODE = -1


@dataclass(frozen=True)
class TreeView:
    """A tree as arrays over its nodes, in preorder, left before right. Node 0 is the root.

    For leaves, the children and the attribute are -1, and the threshold is NaN. Rows with `x[attribute] <= threshold`
    go left. NaN goes right, and a threshold of +inf separates numbers from NaN.

    `values` has what each node predicts: the shares of its classes, or in a regressor the mean of its targets, in a
    single column, and NaN if it has no rows, which only a root can be without. `counts` are rows by weight. `errors`,
    in a regressor, is the sum of squared distances to that mean, in units of `step` squared.
    """

    kind: NDArray[np.uint8]
    depth: NDArray[np.int64]
    attribute: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    counts: NDArray[Any]
    values: NDArray[np.float64]
    weight: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None
    step: float = 1.0

    @classmethod
    def from_core(cls, arrays: TreeArrays, class_weights: NDArray[np.uint32] | None) -> TreeView:
        """Make a view of a tree. Class weights, if any, are applied to the shares of its nodes."""
        counts = arrays.counts.reshape(len(arrays.kind), -1).astype(np.int64)
        weighted = counts if class_weights is None else counts * class_weights.astype(np.int64)
        totals = np.maximum(weighted.sum(axis=1, keepdims=True), 1)
        with StandardFloats():
            weight = weighted.sum(axis=1).astype(np.float64)
            return cls(*_structure(arrays), counts, weighted / totals, weight)

    @classmethod
    def of_targets(cls, arrays: TreeArrays, scale: TargetScale) -> TreeView:
        """Make a view of a tree of a regressor."""
        kind, depth, attribute, threshold, left, right = _structure(arrays)
        counts = arrays.counts.reshape(-1, 1).astype(np.int64)
        weight, means = counts[:, 0].astype(np.float64), arrays.means
        errors = arrays.errors.copy()
        splits = np.flatnonzero(attribute != NO_NODE)
        its_left, its_right = left[splits], right[splits]
        with StandardFloats():
            gaps = np.square(means[its_left] - means[its_right])
            decreases = weight[its_left] * weight[its_right] / weight[splits] * gaps
            for node, decrease in zip(reversed(splits.tolist()), reversed(decreases.tolist()), strict=True):
                errors[node] = errors[left[node]] + errors[right[node]] + decrease
        step = math.ldexp(1.0, scale.exponent)
        values = scale.floats(np.where(counts[:, 0] > 0, means, np.nan))[:, None]
        return cls(kind, depth, attribute, threshold, left, right, counts, values, weight, errors, step)

    @classmethod
    def of_splits(
        cls, attribute: NDArray[np.int64], threshold: NDArray[np.float32], leaf_values: NDArray[np.float64]
    ) -> TreeView:
        """Make a view of a tree from its splits and the values of its leaves. Each leaf counts as one row."""
        n_nodes = len(attribute)
        is_leaf = attribute == NO_NODE
        left = np.where(is_leaf, NO_NODE, np.arange(n_nodes) + 1)
        right, depth = np.full(n_nodes, NO_NODE), np.zeros(n_nodes, dtype=np.int64)
        sizes, sums = np.ones(n_nodes, dtype=np.int64), leaf_values.copy()
        weight = is_leaf.astype(np.float64)
        for node in reversed(np.flatnonzero(~is_leaf).tolist()):
            right[node] = node + 1 + sizes[node + 1]
            children = [node + 1, right[node]]
            sizes[node] += sizes[children].sum()
            sums[node], weight[node] = sums[children].sum(axis=0), weight[children].sum()
        for node in np.flatnonzero(~is_leaf).tolist():
            depth[[node + 1, right[node]]] = depth[node] + 1
        kind = np.where(is_leaf, KINDS.index("leaf"), KINDS.index("greedy")).astype(np.uint8)
        counts = weight[:, None].astype(np.int64)
        return cls(kind, depth, attribute, threshold, left, right, counts, sums / weight[:, None], weight)

    def __len__(self) -> int:
        return len(self.kind)

    def of_classes(self, classes: NDArray[np.int64]) -> TreeView:
        """Return the same tree with only these classes. The others must have no rows."""
        return replace(self, counts=self.counts[:, classes], values=self.values[:, classes])

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.equal(self.attribute, NO_NODE)

    def apply(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the leaf that each row reaches."""
        nodes = np.zeros(len(rows), dtype=np.int64)
        moving = np.flatnonzero(~self.is_leaf[nodes])
        while len(moving):
            current = nodes[moving]
            with StandardFloats():
                goes_left = rows[moving, self.attribute[current]] <= self.threshold[current]
            nodes[moving] = np.where(goes_left, self.left[current], self.right[current])
            moving = moving[~self.is_leaf[nodes[moving]]]
        return nodes

    def paths(self, rows: NDArray[np.float32]) -> csr_matrix:
        """Return the nodes that each row passes through, as a sparse matrix of ones, rows by nodes."""
        parents = np.full(len(self), NO_NODE, dtype=np.int64)
        splits = np.flatnonzero(~self.is_leaf)
        parents[self.left[splits]] = splits
        parents[self.right[splits]] = splits
        passing, passed = [], []
        row_ids, nodes = np.arange(len(rows)), self.apply(rows)
        while len(row_ids):
            passing.append(row_ids)
            passed.append(nodes)
            going_on = parents[nodes] != NO_NODE
            row_ids, nodes = row_ids[going_on], parents[nodes[going_on]]
        indices = (np.concatenate(passing or [row_ids]), np.concatenate(passed or [nodes]))
        ones = np.ones(len(indices[0]), dtype=np.int64)
        return csr_matrix((ones, indices), shape=(len(rows), len(self)))

    def impurity(self, criterion: str) -> NDArray[np.float64]:
        """Return the impurity of each node: the "gini" index or the "entropy" (in bits), or for targets the variance.

        The criterion for the variance is "squared_error".
        """
        self._require_criterion(criterion)
        with StandardFloats(), np.errstate(over="ignore", under="ignore"):
            if self.errors is not None:
                return self.errors / np.maximum(self.weight, 1) * self.step * self.step
            if criterion == "gini":
                return np.asarray(1.0 - np.square(self.values).sum(axis=1), dtype=np.float64)
            logs = np.log2(self.values, out=np.zeros_like(self.values), where=self.values > 0)
            return np.asarray(-(self.values * logs).sum(axis=1), dtype=np.float64)

    def importances(self, criterion: str, n_attributes: int) -> NDArray[np.float64]:
        """Return the total decrease of impurity by each attribute; for squared errors, in units of `step` squared."""
        self._require_criterion(criterion)
        with StandardFloats():
            weighted = self.weight * self.impurity(criterion) if self.errors is None else self.errors
            splits = np.flatnonzero(~self.is_leaf)
            decrease = weighted[splits] - weighted[self.left[splits]] - weighted[self.right[splits]]
            sums = np.bincount(self.attribute[splits], weights=decrease, minlength=n_attributes)
            return sums.astype(np.float64)

    def _require_criterion(self, criterion: str) -> None:
        criterion_of(criterion, CRITERIA_OF_CLASSES if self.errors is None else CRITERIA_OF_TARGETS)


# Arrays over the nodes: kind, depth, attribute, threshold, left and right child.
Structure = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def _structure(arrays: TreeArrays) -> Structure:
    is_leaf = arrays.kind == KINDS.index("leaf")
    return (
        arrays.kind,
        arrays.depth.astype(np.int64),
        np.where(is_leaf, NO_NODE, arrays.attribute.astype(np.int64)),
        np.where(is_leaf, np.float32(np.nan), arrays.threshold),
        np.where(is_leaf, NO_NODE, np.arange(len(is_leaf)) + 1),
        np.where(is_leaf, NO_NODE, arrays.right.astype(np.int64)),
    )
