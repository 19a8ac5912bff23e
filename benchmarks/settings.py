"""The data sets with their hyperparameters, and how large a run is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from deciduous.experiments import datasets, paper
from deciduous.experiments.paper import Setting

__all__ = [
    "FULL",
    "NODE_ROWS",
    "QUICK",
    "REGRESSION",
    "SETTINGS",
    "TINY",
    "UNIFORM",
    "ClusterSizes",
    "CurveSizes",
    "Setting",
    "Sizes",
]


# The paper's hyperparameters (Gini), and d_rmax at a tolerance of 0.5%. The two sizes of Synthetic and the 10 trees of
# the larger one are those of the peers' figures.
SETTINGS = {name: paper.setting(name, tolerance="0.5") for name in ("adult", "surgical", "bank_marketing", "no_show")}
SETTINGS["synthetic_80k"] = paper.setting("synthetic", tolerance="0.5")
SETTINGS["synthetic_800k"] = replace(SETTINGS["synthetic_80k"], n_trees=10)

# The data sets whose targets are numbers. Ten trees of the largest, as scikit-learn takes long enough for them.
REGRESSION = {
    name: datasets.entry_of(name).setting() for name in ("california_housing", "electricity", "diabetes_stay")
}
REGRESSION["diabetes_stay"] = replace(REGRESSION["diabetes_stay"], n_trees=10)

UNIFORM = {"candidates": "uniform", "n_thresholds": 20}
NODE_ROWS = tuple(2**exponent for exponent in range(3, 17))  # of the nodes whose decisions are timed


@dataclass(frozen=True)
class CurveSizes:
    """The point through which all cost curves go, and the values that each parameter takes."""

    n: int
    trees: int
    axes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class ClusterSizes:
    """What is measured of forests on a Ray cluster; nothing without workers."""

    workers: tuple[int, ...] = (1, 2)
    clients: tuple[int, ...] = (4, 16, 64)
    n_at_once: int = 640  # deletions by all clients together
    n_additions: int = 200
    n_kills: int = 5
    tree_rows: tuple[int, ...] = (5_000, 20_000, 80_000, 320_000, 1_280_000)
    n_trees_alone: int = 4
    batches: tuple[int, ...] = (1, 4, 16, 64)
    batch_rows: int = 80_000
    n_batches: int = 20
    file_rows: tuple[int, ...] = (512, 4_096, 32_768)
    n_files_changed: int = 100


@dataclass(frozen=True)
class Sizes:
    """How large a run is. All but `FULL` are smaller than what the targets speak of."""

    name: str
    n_trees: Mapping[str, int] = field(default_factory=dict)  # instead of those of the setting
    max_rows: int = 1_000_000
    n_deletions: int = 1_000  # of a series of single deletions …
    budget: float = 60.0  # … which ends after this many seconds
    n_predicted: int = 20_000
    n_costs: int = 1_000  # rows of deletion_costs
    lazy_block: int = 20  # lazy deletions between two predictions
    river_seconds: float = 20.0
    process_memory: tuple[str, ...] = tuple(SETTINGS)
    curves: CurveSizes = field(
        default_factory=lambda: CurveSizes(
            20_000,
            10,
            {
                "n": (10_000, 30_000, 100_000, 300_000, 1_000_000),
                "T": (5, 10, 20, 40, 80),
                "d": (4, 8, 12, 16, 20),
                "k": (5, 10, 25, 50, 100),
                "p": (10, 20, 40, 80, 160),
            },
        )
    )
    curve_deletions: int = 300
    hostile_rows: int = 40_000
    hostile_trees: int = 20
    n_worst: int = 10  # rounds of worst-of-1000
    n_alternations: int = 100
    tie_seeds_screened: int = 60
    tie_seeds_worst: int = 3
    tie_seeds_ordinary: int = 7
    node_rows: tuple[int, ...] = NODE_ROWS
    node_work: int = 500_000  # rows that the decisions of one size have together …
    min_node_trees: int = 200  # … or more: so many decisions that they take longer than storing the rows
    score_rows: int = 20_000
    score_trees: int = 10
    cluster: ClusterSizes = field(default_factory=ClusterSizes)

    def setting(self, data: str) -> Setting:
        """The hyperparameters for a data set in a run of this size."""
        own = (SETTINGS | REGRESSION)[data]
        return replace(own, n_trees=self.n_trees.get(data, own.n_trees))


FULL = Sizes("full")

QUICK = Sizes(
    "quick",
    n_trees={
        "adult": 10,
        "surgical": 10,
        "bank_marketing": 10,
        "no_show": 4,
        "synthetic_80k": 2,
        "synthetic_800k": 1,
        "california_housing": 10,
        "electricity": 10,
        "diabetes_stay": 2,
    },
    max_rows=100_000,
    n_deletions=200,
    budget=0.5,
    n_costs=200,
    river_seconds=1.0,
    process_memory=("adult", "synthetic_80k"),
    curves=CurveSizes(
        4_000,
        3,
        {
            "n": (4_000, 8_000, 16_000),
            "T": (2, 4, 8),
            "d": (5, 10, 20),
            "k": (5, 10, 20),
            "p": (10, 20, 40),
        },
    ),
    curve_deletions=60,
    hostile_rows=5_000,
    hostile_trees=5,
    n_worst=2,
    n_alternations=20,
    tie_seeds_screened=6,
    tie_seeds_worst=1,
    tie_seeds_ordinary=3,
    node_rows=(16, 256, 4_096),
    node_work=100_000,
    score_rows=5_000,
    score_trees=4,
    cluster=ClusterSizes(
        clients=(4, 16, 64),
        n_at_once=256,
        n_additions=50,
        n_kills=1,
        tree_rows=(5_000, 20_000, 80_000),
        n_trees_alone=2,
        batches=(1, 16),
        n_batches=5,
        file_rows=(512, 4_096),
        n_files_changed=20,
    ),
)

# For the test of the benchmarks themselves.
TINY = Sizes(
    "tiny",
    n_trees=dict.fromkeys(SETTINGS | REGRESSION, 2),
    max_rows=300,
    n_deletions=20,
    budget=0.05,
    n_predicted=100,
    n_costs=20,
    lazy_block=5,
    river_seconds=0.02,
    process_memory=(),
    curves=CurveSizes(100, 1, {"n": (100, 200), "T": (1, 2), "d": (2, 4), "k": (2, 4), "p": (10, 20)}),
    curve_deletions=20,
    hostile_rows=120,
    hostile_trees=2,
    n_worst=1,
    n_alternations=4,
    tie_seeds_screened=2,
    tie_seeds_worst=1,
    tie_seeds_ordinary=1,
    node_rows=(8, 32),
    node_work=1_000,
    min_node_trees=8,
    score_rows=200,
    score_trees=2,
    cluster=ClusterSizes(workers=()),  # tests/cluster has a test of its own
)
