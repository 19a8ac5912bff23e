"""How large a run is: the one table of everything that the scales differ in.

*Rows* are rows to train on. Speed-ups compare two times of the same forest, so that fewer trees leave them much the
same; fewer rows make them smaller. Forests that are to be as good as the paper's get all rows and trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .datasets import REGISTRY

ALL = tuple(REGISTRY)


@dataclass(frozen=True)
class Budget:
    """A series of updates ends after so many of them, or so many seconds."""

    n: int
    seconds: float


@dataclass(frozen=True)
class Grid:
    """What the tuning protocol tries. The defaults are the paper's."""

    n_trees: tuple[int, ...] = (10, 25, 50, 100, 250)
    depths: tuple[int, ...] = (1, 3, 5, 10, 20)
    thresholds: tuple[int, ...] = (5, 10, 25, 50)
    n_folds: int = 5
    max_rows: int | None = None
    criteria: tuple[str, ...] = ("gini", "entropy")


@dataclass(frozen=True)
class Scale:
    """How large a run is. The defaults are the paper's: everything."""

    name: str
    about: str
    scaled_down: tuple[str, ...] = ()  # in words, for the report
    datasets: tuple[str, ...] = ALL
    n_seeds: int = 5
    max_rows: int | None = None
    max_trees: int | None = None
    max_test_rows: int | None = None
    # performance: G-DaRE on the whole rows; beside its peers on fewer, if `peer_rows` says so
    whole_rows: int | None = None
    whole_trees: int | None = None
    whole_seeds: int = 5
    large_set_seeds: int = 5  # of sets of more than 50,000 rows
    peer_rows: int | None = None
    peer_trees: int | None = None
    peer_seeds: int = 5
    # deletion, random-depth, thresholds
    criteria: tuple[str, ...] = ("gini", "entropy")
    random_deletions: Budget = field(default_factory=lambda: Budget(10_000, 600.0))
    worst_deletions: Budget = field(default_factory=lambda: Budget(1_000, 1_200.0))
    n_candidates: int = 1_000
    depth_datasets: tuple[str, ...] = ALL
    depth_step: int = 1
    threshold_datasets: tuple[str, ...] = ALL
    thresholds: tuple[int, ...] = (1, 5, 10, 25, 50, 100)
    # memory, training-time: on all rows, with some of the trees, the rest by proportion
    sized_rows: int | None = None
    sized_trees: int | None = None
    timed_trees: int | None = None
    tuning: Grid = field(default_factory=Grid)
    # exactness, stream
    n_lemma_models: int = 20_000
    stream: Budget = field(default_factory=lambda: Budget(10_000, 600.0))


SMOKE = Scale(
    "smoke",
    "Everything once on a little: shows that it works. About two minutes.",
    scaled_down=(
        "three data sets, one seed, 2,000 rows to train on, 1,000 to test with, 5 trees, the worst of 100 candidates: "
        "no figure of this run says anything about the paper's",
    ),
    datasets=("surgical", "bank_marketing", "synthetic"),
    n_seeds=1,
    max_rows=2_000,
    max_trees=5,
    max_test_rows=1_000,
    whole_rows=2_000,
    whole_trees=5,
    whole_seeds=1,
    large_set_seeds=1,
    peer_rows=1_000,
    peer_trees=5,
    peer_seeds=1,
    random_deletions=Budget(50, 0.3),
    worst_deletions=Budget(3, 0.3),
    n_candidates=100,
    depth_datasets=("bank_marketing",),
    depth_step=10,
    threshold_datasets=("surgical",),
    thresholds=(1, 10, 100),
    sized_rows=2_000,
    sized_trees=5,
    timed_trees=5,
    tuning=Grid(n_trees=(5,), depths=(3, 10), thresholds=(5,), n_folds=2, max_rows=600, criteria=("gini",)),
    n_lemma_models=2_000,
    stream=Budget(60, 0.3),
)

SMALL = Scale(
    "small",
    "Every data set that is here, with forests as good as the paper's where quality is compared. About half an hour.",
    scaled_down=(
        "quality of G-DaRE: all rows, all trees; three seeds, one for sets of more than 50,000 rows",
        "quality of the other models: at most 10,000 rows and 50 trees, G-DaRE beside them on the same rows; two seeds",
        "deletion, random-depth, thresholds, batch, stream, exactness: at most 40,000 rows, 10 trees and 5,000 test "
        "rows, one seed. A speed-up falls with the rows; with fewer trees the costliest of 1,000 candidates stands out "
        "more, so worst-of-1000 is harder here than with the paper's trees",
        "series of deletions: at most 300 random ones or 0.5 s, at most 20 of worst-of-1000 or 1.5 s",
        "random-depth on three data sets in steps of two levels; thresholds on all of them",
        "memory: at most 250,000 rows and 25 trees; training-time: at most 250,000 rows and 5 trees. Both are "
        "extrapolated in proportion to the trees",
        "tuning: at most 4,000 rows, and a grid of T in (10, 50), d in (5, 10, 20), k in (5, 25); Gini only",
    ),
    n_seeds=1,
    max_rows=40_000,
    max_trees=10,
    max_test_rows=5_000,
    whole_rows=1_000_000,
    whole_seeds=3,
    large_set_seeds=1,
    peer_rows=10_000,
    peer_trees=50,
    peer_seeds=2,
    random_deletions=Budget(300, 0.5),
    worst_deletions=Budget(20, 1.5),
    depth_datasets=("surgical", "adult", "bank_marketing"),
    depth_step=2,
    sized_rows=250_000,
    sized_trees=25,
    timed_trees=5,
    tuning=Grid(n_trees=(10, 50), depths=(5, 10, 20), thresholds=(5, 25), max_rows=4_000, criteria=("gini",)),
    stream=Budget(400, 1.0),
)

PAPER = Scale("paper", "Everything: all rows and trees, five seeds. Days, and for Higgs tens of gigabytes.")

SCALES = {scale.name: scale for scale in (SMOKE, SMALL, PAPER)}
