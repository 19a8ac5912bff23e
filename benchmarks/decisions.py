"""Single decisions of nodes: what kinds of them are measured, beside what, and how their series are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .peers import YARDSTICK
from .settings import UNIFORM

GATHER = "gather"  # of the values that a greedy node looks at, and nothing else: the physical limit
YARDSTICKS = (GATHER, YARDSTICK)

SCHEMES: dict[str, dict[str, Any]] = {
    "valid": {"n_thresholds": 10},
    "uniform": UNIFORM,
    "random": {"random_depth": 1},
}


@dataclass(frozen=True)
class Kind:
    """Columns (by their name in the data) and number of classes."""

    columns: str
    n_classes: int

    def __str__(self) -> str:
        return f"{self.columns}, {self.n_classes} classes"

    def series(self, what: str, n_rows: int) -> str:
        """The time per row of a scheme or a yardstick."""
        return f"{self}/{what}/node of {n_rows:,} rows"


KINDS = tuple(Kind(columns, n_classes) for columns in ("continuous", "one-hot") for n_classes in (2, 10))
