"""What forests say of rows (docs/algorithm.md, 2.8 and 2.10)."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from reference.forest import Leaf, Node, ReferenceParams, Split, trees_of_row, weighed
from reference.targets import FixedPoint, sums_of

LEAF_WEIGHT = 2**60
ROUNDING = 2.0**-50  # more than a share loses as a double


def leaf_of(node: Node, x: np.ndarray) -> Leaf:
    """The leaf that the values x reach."""
    while isinstance(node, Split):
        node = node.left if x[node.attribute] <= node.threshold else node.right
    return node


def mean_of_leaves(
    trees: Sequence[Node], X: np.ndarray, width: int, values: Callable[[Counter], list[float]]
) -> np.ndarray:
    """The mean, over the trees that hold rows, of the values that the counts of the leaves reached give."""
    holding_rows = [tree for tree in trees if tree.counts]
    sums = np.zeros((len(X), width))
    for tree in holding_rows:  # in the order of the trees, as sums of doubles depend on it
        for i, x in enumerate(X):
            sums[i] += values(leaf_of(tree, x).counts)
    return sums / len(holding_rows)


def predict_proba(params: ReferenceParams, trees: Sequence[Node], X: np.ndarray, classes: Sequence) -> np.ndarray:
    """The mean class shares of the leaves reached."""

    def shares(counts: Counter) -> list[float]:
        its = weighed(params, counts)
        return [its[label] / its.total() for label in classes]

    return mean_of_leaves(trees, X, len(classes), shares)


def predict(params: ReferenceParams, trees: Sequence[Node], X: np.ndarray) -> list:
    """The class with the highest share; ties go to the lower label."""
    labels = sorted({label for tree in trees for label in tree.counts})
    return [labels[int(np.argmax(shares))] for shares in predict_proba(params, trees, X, labels)]


def mean_z(counts: Counter) -> float:
    """What a leaf of a regression forest says."""
    n, S = sums_of(counts)
    return float(S) / float(n)  # both rounded first: S / n of integers of any size would be rounded only once


def predict_targets(fixed_point: FixedPoint, trees: Sequence[Node], X: np.ndarray) -> np.ndarray:
    """The predictions of a regression forest: the mean of the mean targets of the leaves reached."""
    return fixed_point.target(mean_of_leaves(trees, X, 1, lambda counts: [mean_z(counts)])[:, 0])


def quantile(weights: Counter, share: float) -> float:
    """The lowest z that has, together with all lower ones, at least this share of the weight."""
    wanted = (share - ROUNDING) * float(weights.total())
    reached = 0
    for z in sorted(weights):
        reached += weights[z]
        if float(reached) >= wanted:
            return float(z)
    raise AssertionError("no share is more than 1")


def weights_around(trees: Sequence[Node], x: np.ndarray) -> Counter:
    """What the rows of each z weigh for x: its leaves weigh the same, and the rows of a leaf share that."""
    weights: Counter = Counter()
    for counts in (leaf_of(tree, x).counts for tree in trees if tree.counts):
        part = LEAF_WEIGHT // counts.total()
        for z, n in counts.items():
            weights[z] += n * part
    return weights


def predict_quantiles(
    fixed_point: FixedPoint, trees: Sequence[Node], X: np.ndarray, shares: Sequence[float]
) -> np.ndarray:
    """Quantiles of the targets in the leaves reached, a column for each share."""
    around = [weights_around(trees, x) for x in X]
    z = np.array([[quantile(weights, share) for share in shares] for weights in around])
    return fixed_point.target_of_rows(z.reshape(len(X), len(shares)))


def out_of_bag(
    params: ReferenceParams,
    trees: Sequence[Node],
    ids: Sequence[int],
    X: np.ndarray,
    predicted: Callable[[Sequence[Node], np.ndarray], np.ndarray],
) -> list[np.ndarray | None]:
    """What is predicted for each row by the trees that it does not belong to; None if none of them holds rows."""
    rows = []
    for row_id, x in zip(ids, X, strict=True):
        its_own = trees_of_row(params, row_id)
        others = [tree for t, tree in enumerate(trees) if t not in its_own]
        rows.append(predicted(others, x[None])[0] if any(tree.counts for tree in others) else None)
    return rows
