"""A tree as arrays, for importances, paths, pictures and exports."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ._core import StandardFloats, TreeArrays

KINDS = ("leaf", "random", "greedy")
NO_NODE = -1


@dataclass(frozen=True)
class TreeView:
    """A tree as arrays over its nodes, in preorder, left before right. Node 0 is the root.

    For leaves, the children and the attribute are -1, and the threshold is NaN. Rows with `x[attribute] <= threshold`
    go left. NaN goes right, and a threshold of +inf separates numbers from NaN.
    """

    kind: NDArray[np.uint8]
    depth: NDArray[np.int64]
    attribute: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    counts: NDArray[np.int64]
    shares: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def from_core(cls, arrays: TreeArrays, class_weights: NDArray[np.uint32] | None) -> TreeView:
        """Make a view of a tree. Class weights, if any, are applied to the shares of its nodes."""
        is_leaf = arrays.kind == KINDS.index("leaf")
        counts = arrays.counts.reshape(len(arrays.kind), -1).astype(np.int64)
        weighted = counts if class_weights is None else counts * class_weights.astype(np.int64)
        totals = np.maximum(weighted.sum(axis=1, keepdims=True), 1)
        return cls(
            kind=arrays.kind,
            depth=arrays.depth.astype(np.int64),
            attribute=np.where(is_leaf, NO_NODE, arrays.attribute.astype(np.int64)),
            threshold=np.where(is_leaf, np.float32(np.nan), arrays.threshold),
            left=np.where(is_leaf, NO_NODE, np.arange(len(is_leaf)) + 1),
            right=np.where(is_leaf, NO_NODE, arrays.right.astype(np.int64)),
            counts=counts,
            shares=weighted / totals,
            weight=weighted.sum(axis=1).astype(np.float64),
        )

    @classmethod
    def of_splits(
        cls, attribute: NDArray[np.int64], threshold: NDArray[np.float32], leaf_shares: NDArray[np.float64]
    ) -> TreeView:
        """Make a view of a tree from its splits and the shares of its leaves. Each leaf counts as one row."""
        n_nodes = len(attribute)
        is_leaf = attribute == NO_NODE
        left = np.where(is_leaf, NO_NODE, np.arange(n_nodes) + 1)
        right, depth = np.full(n_nodes, NO_NODE), np.zeros(n_nodes, dtype=np.int64)
        sizes, sums = np.ones(n_nodes, dtype=np.int64), leaf_shares.copy()
        weight = is_leaf.astype(np.float64)
        for node in reversed(np.flatnonzero(~is_leaf).tolist()):
            right[node] = node + 1 + sizes[node + 1]
            children = [node + 1, right[node]]
            sizes[node] += sizes[children].sum()
            sums[node], weight[node] = sums[children].sum(axis=0), weight[children].sum()
        for node in np.flatnonzero(~is_leaf).tolist():
            depth[[node + 1, right[node]]] = depth[node] + 1
        kind = np.where(is_leaf, KINDS.index("leaf"), KINDS.index("greedy")).astype(np.uint8)
        counts = np.rint(sums).astype(np.int64)
        return cls(kind, depth, attribute, threshold, left, right, counts, sums / weight[:, None], weight)

    def __len__(self) -> int:
        return len(self.kind)

    def of_classes(self, classes: NDArray[np.int64]) -> TreeView:
        """Return the same tree with only these classes. The others must have no rows."""
        return replace(self, counts=self.counts[:, classes], shares=self.shares[:, classes])

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
        """Return the Gini index or the entropy (in bits) of each node."""
        if criterion == "gini":
            return np.asarray(1.0 - np.square(self.shares).sum(axis=1), dtype=np.float64)
        logs = np.log2(self.shares, out=np.zeros_like(self.shares), where=self.shares > 0)
        return np.asarray(-(self.shares * logs).sum(axis=1), dtype=np.float64)

    def importances(self, criterion: str, n_attributes: int) -> NDArray[np.float64]:
        """Return the total decrease of impurity by each attribute."""
        weighted = self.weight * self.impurity(criterion)
        splits = np.flatnonzero(~self.is_leaf)
        decrease = weighted[splits] - weighted[self.left[splits]] - weighted[self.right[splits]]
        sums = np.bincount(self.attribute[splits], weights=decrease, minlength=n_attributes)
        return sums.astype(np.float64)
