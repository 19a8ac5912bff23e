"""Plain values that the forest returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class UpdateReport:
    """What a deletion or an addition changed, or what a deletion would change.

    A node is *rebuilt* if its split changed, or if it turned from a leaf into a split or back. The *retrained* rows are
    the rows under such nodes, summed over the trees: the paper's measure of the cost of a deletion. Depth 0 is the
    root. They are counted by weight. If weights are not whole numbers, the total is rounded, and the depths add up to
    it.

    A lazy forest counts changes that are already known, and small subtrees that it postponed without checking whether
    they change. A split that turns out to be different when something reads it later is in no report.

    The *regrown* rows are those of the subtrees that were actually grown again; each counts once, whatever its weight.
    There are fewer of them if a subtree that had been set aside could be used again, or if a lazy forest postponed the
    work. There are a few more if subtrees that are set aside had to be updated, too. This number is known only after
    the change: it is None in the report of `deletion_cost`, and comparisons between reports ignore it.
    """

    ids: tuple[Any, ...]
    nodes_rebuilt_by_depth: tuple[int, ...]
    rows_retrained_by_depth: tuple[int, ...]
    n_rows_regrown: int | None = field(default=0, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows deleted or added."""
        return len(self.ids)

    @property
    def n_nodes_rebuilt(self) -> int:
        """Number of rebuilt nodes in all trees."""
        return sum(self.nodes_rebuilt_by_depth)

    @property
    def n_rows_retrained(self) -> int:
        """Number of retrained rows in all trees."""
        return sum(self.rows_retrained_by_depth)

    def __repr__(self) -> str:
        return (
            f"UpdateReport(n_rows={self.n_rows}, n_nodes_rebuilt={self.n_nodes_rebuilt}, "
            f"n_rows_retrained={self.n_rows_retrained}, n_rows_regrown={self.n_rows_regrown})"
        )


@dataclass(frozen=True)
class CheckReport:
    """Result of `check`: whether the statistics stored in a forest agree with its rows.

    The report is true if they do. Otherwise `problem` says what is wrong.
    """

    problem: str | None

    @property
    def matches(self) -> bool:
        """Whether everything agrees."""
        return self.problem is None

    def __bool__(self) -> bool:
        return self.matches


@dataclass(frozen=True)
class VerifyReport(CheckReport):
    """Result of `verify`: whether training on the rows of the forest gives the same forest.

    If not, `problem` describes the first difference.
    """

    fingerprint: str | None


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows as returned by `rows` of a forest, in the form that `fit` and `add` take.

    `y` has labels, or the targets of a regressor. `y_name` is "label" or "target": what tables of the rows call it.
    """

    ids: list[Any]
    X: NDArray[Any]
    y: NDArray[Any]
    sample_weight: NDArray[Any]
    subjects: list[Any]
    feature_names: list[str]
    y_name: str

    def __len__(self) -> int:
        return len(self.ids)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return a dict for each row: `id`, `subject`, `label` or `target`, `weight`, and `values` by column.

        NaN is None.
        """
        columns = self.ids, self.subjects, self.y.tolist(), self.sample_weight.tolist(), self.X.tolist()
        return [
            {
                "id": id,
                "subject": subject,
                self.y_name: y,
                "weight": weight,
                "values": {
                    name: None if value != value else value
                    for name, value in zip(self.feature_names, values, strict=True)
                },
            }
            for id, subject, y, weight, values in zip(*columns, strict=True)
        ]

    def to_pandas(self) -> Any:
        """Return the columns as a pandas DataFrame, with the ids as its index.

        It does not include `y`, `subjects` and `sample_weight`.
        """
        import pandas as pd

        return pd.DataFrame(self.X, index=pd.Index(self.ids, name="id"), columns=self.feature_names).infer_objects()


@dataclass(frozen=True)
class MemoryUse:
    """Bytes in use for the rows, the nodes, the statistics of splits, and the rows and counts of leaves."""

    data: int
    structure: int
    decision_stats: int
    leaf_stats: int

    @property
    def total(self) -> int:
        """Sum of all bytes."""
        return self.data + self.structure + self.decision_stats + self.leaf_stats


@dataclass(frozen=True)
class FrozenMemoryUse:
    """Size of a frozen forest. Leaves with the same class probabilities, or the same mean, share one *leaf value*."""

    n_trees: int
    n_nodes: int
    n_leaf_values: int
    total: int
    stored: int

    @property
    def bytes_per_node(self) -> float:
        """Bytes of the stored forest per node, including the description and the leaf values."""
        return self.stored / self.n_nodes


@dataclass(frozen=True)
class NodeRecord:
    """One node of a tree, as returned by `tree_nodes`.

    `n_rows` counts a row of weight 3 as three. `counts` has the rows of each class; in a regressor it is empty, and
    `value` is the mean of the targets, NaN in a tree without rows. Leaves have the ids of their rows.
    """

    kind: str
    depth: int
    attribute: int | None
    threshold: float | None
    n_rows: float
    counts: dict[Any, float]
    value: float | None
    ids: tuple[Any, ...]
