"""Plain values that the forest returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import UpdateCost


@dataclass(frozen=True)
class UpdateReport:
    """What a deletion or an addition did, or what a deletion would do.

    A *rebuilt* node is one whose split changed, or that turned from a leaf into a split or back. The rows *retrained*
    are the rows under such nodes, summed over the trees: the paper's measure of the cost of a deletion. Depth 0 is the
    root. A lazy forest counts what is known to change, and small subtrees that it left for later without asking; a
    split that turns out to be another one when somebody looks at it later is in no report. The rows *regrown* are those
    of the subtrees that were really grown again: fewer where a subtree that had been set aside came back, or is left
    for later by a lazy forest; a few more where what is set aside had to follow. That is known afterwards: a cost that
    was only worked out has None there, and equals the report of the deletion.
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

    @classmethod
    def from_core(cls, ids: Iterable[Any], cost: UpdateCost) -> UpdateReport:
        """The report of an update of these rows."""
        return cls(tuple(ids), tuple(cost.nodes_rebuilt), tuple(cost.rows_retrained), cost.n_rows_regrown)


@dataclass(frozen=True)
class CheckReport:
    """Whether what a forest keeps agrees with its rows. It is true if all is well; `problem` says what is not."""

    problem: str | None

    @property
    def matches(self) -> bool:
        """Whether all is well."""
        return self.problem is None

    def __bool__(self) -> bool:
        return self.matches


@dataclass(frozen=True)
class VerifyReport(CheckReport):
    """Whether the forest is the one that training on its rows gives. `problem` says where they differ first."""

    fingerprint: str | None


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows of a forest, as `DareForestClassifier.rows` reads them back: what `fit` and `add` take."""

    ids: list[Any]
    X: NDArray[Any]
    y: NDArray[Any]
    sample_weight: NDArray[np.uint32]
    subjects: list[Any]
    feature_names: list[str]

    def __len__(self) -> int:
        return len(self.ids)

    def as_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row: `id`, `subject`, `label`, `weight`, and `values` by column; NaN as None."""
        columns = self.ids, self.subjects, self.y.tolist(), self.sample_weight.tolist(), self.X.tolist()
        return [
            {
                "id": id,
                "subject": subject,
                "label": label,
                "weight": weight,
                "values": {
                    name: None if value != value else value
                    for name, value in zip(self.feature_names, values, strict=True)
                },
            }
            for id, subject, label, weight, values in zip(*columns, strict=True)
        ]

    def to_pandas(self) -> Any:
        """A table of the columns, with the ids as its index; `y`, `subjects` and `sample_weight` are beside it."""
        import pandas as pd

        return pd.DataFrame(self.X, index=pd.Index(self.ids, name="id"), columns=self.feature_names).infer_objects()


@dataclass(frozen=True)
class MemoryUse:
    """Bytes in use: the rows, the nodes, the statistics of splits, and the rows and counts of leaves."""

    data: int
    structure: int
    decision_stats: int
    leaf_stats: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.structure + self.decision_stats + self.leaf_stats


@dataclass(frozen=True)
class FrozenMemoryUse:
    """How large a frozen forest is. Leaves with the same class shares have one *leaf value* in common."""

    n_trees: int
    n_nodes: int
    n_leaf_values: int
    total: int
    stored: int

    @property
    def bytes_per_node(self) -> float:
        """Bytes of the stored forest for each node, the description and the class shares included."""
        return self.stored / self.n_nodes


@dataclass(frozen=True)
class NodeRecord:
    """One node of a tree, as `tree_nodes` lists it."""

    kind: str
    depth: int
    attribute: int | None
    threshold: float | None
    counts: dict[Any, int]
    ids: tuple[Any, ...]
