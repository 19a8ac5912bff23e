"""How large a run is: the one table of everything that the scales differ in.

*Rows* are rows to train on. Speed-ups compare two times of the same forest, so that fewer trees leave them much the
same; fewer rows make them smaller. Forests that are to be as good as the paper's get all rows and trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .datasets import REGISTRY

ALL = tuple(REGISTRY)
MANY_ROWS = 50_000


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
    datasets: tuple[str, ...] = ALL
    n_seeds: int = 5
    max_rows: int | None = None
    max_trees: int | None = None
    max_test_rows: int | None = None
    # performance: G-DaRE on the whole rows; compared with its peers on fewer, if `peer_rows` says so
    whole_rows: int | None = None
    whole_trees: int | None = None
    whole_seeds: int = 5
    large_set_seeds: int = 5  # of sets of more than MANY_ROWS
    peer_rows: int | None = None
    peer_trees: int | None = None
    peer_seeds: int = 5
    # deletion, random-depth, stability, thresholds
    criteria: tuple[str, ...] = ("gini", "entropy")
    random_deletions: Budget = field(default_factory=lambda: Budget(10_000, 600.0))
    worst_deletions: Budget = field(default_factory=lambda: Budget(1_000, 1_200.0))
    n_candidates: int = 1_000
    depth_datasets: tuple[str, ...] = ALL
    depth_step: int = 1
    stability_datasets: tuple[str, ...] = ALL
    stabilities: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8)
    stability_trees: int | None = None
    stability_seeds: int = 5
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
    stream_trees: int | None = None  # of more than ten, as `max_samples` puts a row into a tenth of them

    @property
    def scaled_down(self) -> list[str]:
        """What is less than in the paper, in words."""
        if self.max_rows is None:
            return []
        grid = self.tuning
        return [
            f"quality of G-DaRE: {_rows_and_trees(self.whole_rows, self.whole_trees)}, {self.whole_seeds} seeds, "
            f"{self.large_set_seeds} for sets of more than {MANY_ROWS:,} rows",
            f"all models on the same rows: {_rows_and_trees(self.peer_rows, self.peer_trees)}, {self.peer_seeds} seeds",
            f"deletion, random-depth, thresholds, batch, stream, exactness: "
            f"{_rows_and_trees(self.max_rows, self.max_trees)} (stream: {self.stream_trees}), at most "
            f"{self.max_test_rows or 0:,} test rows, {self.n_seeds} seed(s). A speed-up falls with the rows; with "
            "fewer trees the costliest of the candidates stands out more, so that worst-of-1000 is harder",
            f"series of deletions: {self.random_deletions.n} random ones or {self.random_deletions.seconds} s, "
            f"{self.worst_deletions.n} of the worst of {self.n_candidates:,} or {self.worst_deletions.seconds} s",
            f"random-depth on {', '.join(self.depth_datasets)} in steps of {self.depth_step}",
            f"stability: {_rows_and_trees(self.max_rows, self.stability_trees)}, {self.stability_seeds} seed(s)",
            f"memory: {_rows_and_trees(self.sized_rows, self.sized_trees)}; training-time: "
            f"{_rows_and_trees(self.sized_rows, self.timed_trees)}; both extrapolated in proportion to the trees",
            f"tuning ({', '.join(grid.criteria)}): at most {grid.max_rows or 0:,} rows; T in {grid.n_trees}, d_max in "
            f"{grid.depths}, k in {grid.thresholds}, {grid.n_folds} folds",
        ]


def _rows_and_trees(n_rows: int | None, n_trees: int | None) -> str:
    rows = "all rows" if n_rows is None else f"at most {n_rows:,} rows"
    return f"{rows}, {'all trees' if n_trees is None else f'{n_trees} trees'}"


SMOKE = Scale(
    "smoke",
    "Everything once on a little: shows that it works. About two minutes.",
    datasets=("surgical", "bank_marketing", "synthetic", "electricity", "friedman"),
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
    stability_datasets=("surgical", "synthetic"),
    stabilities=(0.2,),
    stability_trees=5,
    stability_seeds=1,
    threshold_datasets=("surgical",),
    thresholds=(1, 10, 100),
    sized_rows=2_000,
    sized_trees=5,
    timed_trees=5,
    tuning=Grid(n_trees=(5,), depths=(3, 10), thresholds=(5,), n_folds=2, max_rows=600, criteria=("gini",)),
    n_lemma_models=2_000,
    stream=Budget(60, 0.3),
    stream_trees=10,
)

SMALL = Scale(
    "small",
    "Every data set that is here, with forests as good as the paper's where quality is compared. About half an hour.",
    n_seeds=1,
    max_rows=40_000,
    max_trees=10,
    max_test_rows=60_000,
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
    stabilities=(0.05, 0.2, 0.8),
    stability_trees=25,
    stability_seeds=3,
    sized_rows=250_000,
    sized_trees=25,
    timed_trees=5,
    tuning=Grid(n_trees=(10, 50), depths=(5, 10, 20), thresholds=(5, 25), max_rows=4_000, criteria=("gini",)),
    stream=Budget(400, 1.0),
    stream_trees=50,
)

PAPER = Scale("paper", "Everything: all rows and trees, five seeds. Days, and for Higgs tens of gigabytes.")

SCALES = {scale.name: scale for scale in (SMOKE, SMALL, PAPER)}
