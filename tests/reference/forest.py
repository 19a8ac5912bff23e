"""Trees as functions of parameters, seed and rows (docs/algorithm.md, 2.1, 2.3, 2.4 and 2.10).

The target of a row is its class or, in regression, the integer z of 2.10. Trees count the rows of each target either
way; what the counts of z are added up to is left to scores, predictions and fingerprints.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reference.hashing import LEFT, OCCUPANCY, RIGHT, H, R, root_key
from reference.scores import SCORES, noise
from reference.splits import (
    Candidate,
    attribute_order,
    random_candidate,
    sampled_candidates,
    uniform_candidates,
)


@dataclass(frozen=True)
class ReferenceParams:
    """The parameters of a forest with everything resolved to numbers."""

    n_estimators: int
    max_depth: int
    n_thresholds: int | None
    random_depth: int
    max_features: int
    candidates: str
    criterion: str
    min_samples_split: int
    min_samples_leaf: int
    trees_per_row: int
    seed: int
    stability: float = 0.0
    class_weights: dict | None = None
    """The integer W_y of each label; None if all of them are 1."""

    @property
    def has_classes(self) -> bool:
        """Whether the forest is a classifier: targets are classes, not numbers."""
        return self.criterion != "squared_error"


class Rows(NamedTuple):
    """Rows in ascending order of their ids."""

    ids: np.ndarray
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def where(self, chosen: np.ndarray) -> "Rows":
        """The rows for which `chosen` holds."""
        return Rows(self.ids[chosen], self.X[chosen], self.y[chosen], self.weights[chosen])

    def counts(self) -> Counter:
        """The number of rows of each target that has any; a row of weight w counts as w rows."""
        counts: Counter = Counter()
        for target, weight in zip(self.y.tolist(), self.weights.tolist(), strict=True):
            counts[target] += weight
        return counts


@dataclass(frozen=True)
class Leaf:
    """A node that holds rows."""

    depth: int
    counts: Counter
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """A random or greedy node; rows with x[attribute] <= threshold are on the left."""

    kind: str
    depth: int
    attribute: int
    threshold: float
    counts: Counter
    left: "Node"
    right: "Node"


Node = Leaf | Split


@dataclass(frozen=True)
class Record:
    """One node as `tree_nodes` of a forest tells of it."""

    kind: str
    depth: int
    attribute: int | None
    threshold: float | None
    counts: dict
    ids: tuple[int, ...]


def fit_reference(
    params: ReferenceParams, ids: np.ndarray, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> list[Node]:
    """The roots of all trees of the forest of these rows, with y = z in regression.

    Without weights each row counts once.
    """
    rows = counted_rows(ids, X, y, np.ones(len(ids), int) if weights is None else weights)
    trees_of = [trees_of_row(params, row_id) for row_id in rows.ids.tolist()]
    roots = []
    for tree in range(params.n_estimators):
        belongs = np.array([tree in trees for trees in trees_of], dtype=bool)
        roots.append(build_node(params, rows.where(belongs), 0, root_key(params.seed, tree)))
    return roots


def counted_rows(ids: np.ndarray, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Rows:
    """The rows in ascending order of their ids, without those of weight 0."""
    assert X.dtype == np.float32
    rows = Rows(np.asarray(ids), X + np.float32(0.0), np.asarray(y), np.asarray(weights))  # -0.0 + 0.0 is 0.0
    counting = rows.where(rows.weights > 0)
    return counting.where(np.argsort(counting.ids))


def trees_of_row(params: ReferenceParams, row_id: int) -> set[int]:
    """The trees that a row belongs to."""
    by_rank = sorted(range(params.n_estimators), key=lambda t: R(H(params.seed, OCCUPANCY, row_id), t))
    return set(by_rank[: params.trees_per_row])


def build_node(params: ReferenceParams, rows: Rows, depth: int, key: int) -> Node:
    """Node(D, depth, key) of 2.4."""
    best = chosen_split(params, rows, depth, key)
    if best is None:
        return Leaf(depth, rows.counts(), tuple(rows.ids.tolist()))
    goes_left = rows.X[:, best.attribute] <= best.threshold
    return Split(
        kind="random" if depth < params.random_depth else "greedy",
        depth=depth,
        attribute=best.attribute,
        threshold=best.threshold,
        counts=rows.counts(),
        left=build_node(params, rows.where(goes_left), depth + 1, H(key, LEFT)),
        right=build_node(params, rows.where(~goes_left), depth + 1, H(key, RIGHT)),
    )


def chosen_split(params: ReferenceParams, rows: Rows, depth: int, key: int) -> Candidate | None:
    """The best of the considered splits, or None for a leaf."""
    counts = rows.counts()
    if depth == params.max_depth or counts.total() < params.min_samples_split or len(counts) <= 1:
        return None
    considered = considered_splits(params, rows, depth, key)
    noises = noises_of(params, rows, key, considered) if depth >= params.random_depth else [0.0] * len(considered)
    scored = []
    for candidate, its_noise in zip(considered, noises, strict=True):
        goes_left = rows.X[:, candidate.attribute] <= candidate.threshold
        left, right = rows.where(goes_left).counts(), rows.where(~goes_left).counts()
        if min(left.total(), right.total()) >= params.min_samples_leaf:
            score = SCORES[params.criterion](weighed(params, left), weighed(params, right)) + its_noise
            scored.append((score, candidate.rank, candidate.attribute, candidate.threshold, candidate))
    return min(scored)[-1] if scored else None


def noises_of(params: ReferenceParams, rows: Rows, key: int, considered: list[Candidate]) -> list[float]:
    """What is added to the scores of candidates; those of an attribute that divide the rows alike share one name."""
    parts = [(c.attribute, (rows.X[:, c.attribute] <= c.threshold).tobytes()) for c in considered]
    lowest: dict[tuple[int, bytes], int] = {}
    for part, candidate in zip(parts, considered, strict=True):
        lowest[part] = min(candidate.rank, lowest.get(part, candidate.rank))
    counts = rows.counts()
    sizes = (counts.total(), weighed(params, counts).total())
    return [noise(params.stability, params.criterion, *sizes, (key, part[0], lowest[part])) for part in parts]


def weighed(params: ReferenceParams, counts: Counter) -> Counter:
    """W_y * n_y for each class: what scores and shares are computed from."""
    if params.class_weights is None:
        return counts
    return Counter({label: params.class_weights[label] * n for label, n in counts.items()})


def considered_splits(params: ReferenceParams, rows: Rows, depth: int, key: int) -> list[Candidate]:
    """The one split of a random node, or those of the first attributes of a greedy node."""
    order = attribute_order(key, rows.X)
    if depth < params.random_depth:
        return [random_candidate(key, a, rows.X[:, a]) for a in order[:1]]
    return [candidate for a in order[: params.max_features] for candidate in greedy_candidates(params, rows, key, a)]


def greedy_candidates(params: ReferenceParams, rows: Rows, key: int, attribute: int) -> list[Candidate]:
    """The candidates of one attribute at a greedy node."""
    column = rows.X[:, attribute]
    if params.candidates == "valid":
        return sampled_candidates(key, attribute, column, rows.y, params.n_thresholds, rows.weights, params.has_classes)
    assert params.n_thresholds is not None
    return uniform_candidates(key, attribute, column, params.n_thresholds)


def preorder(node: Node) -> Iterator[Record]:
    """The nodes of a tree, parents first and left before right."""
    if isinstance(node, Leaf):
        yield Record("leaf", node.depth, None, None, dict(node.counts), node.ids)
        return
    yield Record(node.kind, node.depth, node.attribute, node.threshold, dict(node.counts), ())
    yield from preorder(node.left)
    yield from preorder(node.right)
