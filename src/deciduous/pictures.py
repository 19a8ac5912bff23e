"""Show a tree as text, or as a picture with matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forest import DareForest
from .errors import InvalidInputError
from .export import check_has_rows, imported
from .forest import DareForestClassifier
from .inspection import KINDS, TreeView

# Okabe and Ito's orange, blue and green, lightened: told apart by colour-blind readers and in grey.
COLOURS = {"random": "#f7cf8b", "greedy": "#a9d3ee", "leaf": "#c4e8d6"}
INCHES_PER_BOX, INCHES_PER_LEVEL, MOST_INCHES = 2.1, 1.25, 100.0
POINTS_PER_INCH = 72
CHARACTERS_PER_LINE = 22
MOST_OF_ITS_PLACE, MOST_ROUNDS = 0.95, 5  # of the room for a box
LARGEST_WRITTEN_OUT = 1e12  # with a sign and three decimals, such a mean just fits a line


def export_text(
    forest: DareForest,
    tree: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 3,
    max_depth: int | None = None,
) -> str:
    """Return a tree as text, one line per node: its kind, its split, its number of rows, and the rows per class.

    A regressor shows the mean of the targets instead of the rows per class. The first branch of a split is the one
    where its condition holds. Nodes below `max_depth` are counted but not shown.
    """
    pictured = _Pictured.of(forest, tree, feature_names, decimals, max_depth)
    return "\n".join(_text_lines(pictured)) + "\n"


def plot_tree(
    forest: DareForest,
    tree: int = 0,
    *,
    max_depth: int | None = 3,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a tree with matplotlib and return the Axes. The colour of a node shows its kind.

    Rows for which the condition of a split holds go left. The font is as small as the boxes need, down to one point.
    Nodes below `max_depth` are counted but not drawn; None draws all nodes.
    """
    pyplot = imported("matplotlib.pyplot", "plot")
    pictured = _Pictured.of(forest, tree, feature_names, 3, max_depth)
    places = _places(pictured)
    if ax is None:
        _, ax = pyplot.subplots(figsize=_figure_size(places), layout="constrained")
    _draw(ax, pictured, places)
    return ax


# ------------------------------------------------------------------------------------------------------------- helpers


@dataclass(frozen=True)
class _Pictured:
    """A tree with what is needed to describe its nodes."""

    number: int
    view: TreeView
    n_below: NDArray[np.int64]
    feature_names: Sequence[str]
    labels: list[str] | None  # of the classes; a regressor has none
    decimals: int
    max_depth: int | None

    @classmethod
    def of(
        cls,
        forest: DareForest,
        tree: int,
        feature_names: Sequence[str] | None,
        decimals: int,
        max_depth: int | None,
    ) -> _Pictured:
        check_has_rows(forest)  # before anything is asked of what may be no forest
        with forest._one_state():
            check_has_rows(forest)
            view = forest.tree_view(tree)
            labels = [str(label) for label in forest.classes_] if isinstance(forest, DareForestClassifier) else None
        return cls(
            number=tree,
            view=view,
            n_below=_n_below(view),
            feature_names=forest.attribute_names(feature_names),
            labels=labels,
            decimals=_at_least_zero("decimals", decimals),
            max_depth=None if max_depth is None else _at_least_zero("max_depth", max_depth),
        )

    @property
    def shown(self) -> list[int]:
        """The nodes down to `max_depth`, in preorder."""
        nodes = np.arange(len(self.view))
        return nodes.tolist() if self.max_depth is None else nodes[self.view.depth <= self.max_depth].tolist()

    def kind(self, node: int) -> str:
        return KINDS[self.view.kind[node]]

    def is_cut_off(self, node: int) -> bool:
        """Whether the node has children that are not shown."""
        return bool(self.n_below[node]) and self.view.depth[node] == self.max_depth

    def split(self, node: int) -> tuple[str, str]:
        """What holds for the rows that go left: a feature, and what it is."""
        threshold = float(self.view.threshold[node])
        rule = "is not NaN" if threshold == np.inf else f"<= {threshold:.{self.decimals}f}"
        return self.feature_names[self.view.attribute[node]], rule

    def n_rows(self, node: int) -> str:
        return _number(self.view.counts[node].sum(), "row")

    def targets(self, node: int, *, largest_first: bool = False) -> list[str]:
        """Label and count of the classes present, or the mean of the targets."""
        if self.labels is None:
            return [f"mean {self.mean(node)}"] if self.view.counts[node].any() else []
        counts = [(label, n) for label, n in zip(self.labels, self.view.counts[node].tolist(), strict=False) if n]
        if largest_first:
            counts.sort(key=lambda pair: -pair[1])
        return [f"{label}: {_shown(n)}" for label, n in counts]

    def mean(self, node: int) -> str:
        return f"{self.view.values[node, 0]:z.{self.decimals}{self.mean_notation}}"

    @cached_property
    def mean_notation(self) -> str:
        """How all means of the tree are shown: written out, or in powers of ten if too large or too small for that."""
        largest = abs(self.view.values).max()
        too_small = 0 < largest < 10.0 ** (1 - max(self.decimals, 1))  # at most one digit would be left
        return "e" if too_small or largest >= LARGEST_WRITTEN_OUT else "f"

    def summary(self) -> str:
        sizes = ", ".join((self.n_rows(0), _number(len(self.view), "node"), f"depth {self.view.depth.max()}"))
        return f"tree {self.number}: {sizes}"


def _text_lines(pictured: _Pictured) -> list[str]:
    view = pictured.view
    lines = [pictured.summary()]
    # What stands before a node, and before the lines below it. Not recursive: trees can be hundreds of levels deep.
    before = {0: ("", "")}
    for node in pictured.shown:
        branch, indent = before.pop(node)
        lines.append(branch + _text_line(pictured, node))
        if pictured.is_cut_off(node):
            lines.append(f"{indent}└── … {_number(pictured.n_below[node], 'node')} below")
        elif not view.is_leaf[node]:
            before[int(view.left[node])] = (f"{indent}├── ", f"{indent}│   ")
            before[int(view.right[node])] = (f"{indent}└── ", f"{indent}    ")
    return lines


def _text_line(pictured: _Pictured, node: int) -> str:
    parts = [pictured.kind(node)]
    if not pictured.view.is_leaf[node]:
        parts += pictured.split(node)
    targets = ", ".join(pictured.targets(node))
    return f"{' '.join(parts)}  [{pictured.n_rows(node)}{' | ' if targets else ''}{targets}]"


def _places(pictured: _Pictured) -> dict[int, tuple[float, float]]:
    """Where each shown node is drawn: the lowest ones side by side, the others over the middle of their children."""
    view = pictured.view
    across: dict[int, float] = {}
    ends = [node for node in pictured.shown if view.is_leaf[node] or pictured.is_cut_off(node)]
    across.update({node: float(place) for place, node in enumerate(ends)})
    for node in reversed(pictured.shown):
        if node not in across:
            across[node] = (across[int(view.left[node])] + across[int(view.right[node])]) / 2
    return {node: (across[node], -float(view.depth[node])) for node in pictured.shown}


def _figure_size(places: dict[int, tuple[float, float]]) -> tuple[float, float]:
    n_across, n_down = _extent(places)
    return min(max(4.0, n_across * INCHES_PER_BOX), MOST_INCHES), min(1.0 + n_down * INCHES_PER_LEVEL, MOST_INCHES)


def _extent(places: dict[int, tuple[float, float]]) -> tuple[int, int]:
    """How many boxes stand side by side, and how many levels there are."""
    return round(max(x for x, _ in places.values())) + 1, round(-min(y for _, y in places.values())) + 1


def _draw(ax: Any, pictured: _Pictured, places: dict[int, tuple[float, float]]) -> None:
    n_across, n_down = _extent(places)
    ax.set_xlim(-0.5, n_across - 0.5)
    ax.set_ylim(-n_down + 0.5, 0.5)
    ax.set_axis_off()
    size = _font_size(ax, n_across, n_down)
    _draw_edges(ax, pictured, places, size)
    for node, (x, y) in places.items():
        colour = COLOURS[pictured.kind(node)]
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#555555", "linewidth": 0.7}
        ax.text(x, y, _box_text(pictured, node), ha="center", va="center", fontsize=size, bbox=box)
    ax.set_title(pictured.summary())
    _draw_legend(ax)
    _shrink_to_fit(ax)


def _shrink_to_fit(ax: Any) -> None:
    """Make the letters so small that no box is wider or higher than the place it has, which keeps boxes apart."""
    for _ in range(MOST_ROUNDS):  # small letters are wider than their size says
        ax.figure.draw_without_rendering()  # lays out the axes
        (left, bottom), (right, top) = ax.transData.transform([(0, 0), (1, 1)])
        boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
        across = max(box.width for box in boxes) / (right - left)
        down = max(box.height for box in boxes) / (top - bottom)
        if max(across, down) <= MOST_OF_ITS_PLACE:
            return
        for text in ax.texts:
            text.set_fontsize(max(1.0, text.get_fontsize() * MOST_OF_ITS_PLACE / max(across, down)))


def _font_size(ax: Any, n_across: int, n_down: int) -> float:
    """As large as the boxes allow: lines of CHARACTERS_PER_LINE side by side, five lines and an edge per level."""
    area = ax.get_position()
    width, height = ax.figure.get_size_inches() * POINTS_PER_INCH * (area.width, area.height)
    return float(np.clip(min(width / n_across / (0.6 * CHARACTERS_PER_LINE), height / n_down / 8.5), 3.0, 10.0))


def _draw_edges(ax: Any, pictured: _Pictured, places: dict[int, tuple[float, float]], size: float) -> None:
    view = pictured.view
    for node, (x, y) in places.items():
        if view.is_leaf[node] or pictured.is_cut_off(node):
            continue
        for child, answer in ((int(view.left[node]), "yes"), (int(view.right[node]), "no")):
            below_x, below_y = places[child]
            ax.plot([x, below_x], [y, below_y], color="#888888", linewidth=1, zorder=0)
            if node == 0:
                shown = {"facecolor": "white", "edgecolor": "none", "pad": 1}
                middle = ((x + below_x) / 2, (y + below_y) / 2)
                ax.text(*middle, answer, ha="center", va="center", fontsize=size, color="#555555", bbox=shown)


def _box_text(pictured: _Pictured, node: int) -> str:
    targets = pictured.targets(node)
    if len(targets) > 4:
        targets = [*pictured.targets(node, largest_first=True)[:3], f"{len(targets) - 3} more classes"]
    lines = [] if pictured.view.is_leaf[node] else _wrapped(pictured.split(node), " ")
    lines += [pictured.n_rows(node), *_wrapped(targets, ", ")]
    if pictured.is_cut_off(node):
        lines.append(f"… {_number(pictured.n_below[node], 'node')} below")
    return "\n".join(lines).replace("$", r"\$")  # a dollar sign would begin a formula


def _wrapped(parts: Iterable[str], separator: str) -> list[str]:
    """The parts in lines of at most CHARACTERS_PER_LINE, if possible without a break inside a part."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1] + separator + part) <= CHARACTERS_PER_LINE:
            lines[-1] += separator + part
        else:
            lines += textwrap.wrap(part, CHARACTERS_PER_LINE) or [part]
    return lines


def _draw_legend(ax: Any) -> None:
    patches = imported("matplotlib.patches", "plot")
    handles = [patches.Patch(facecolor=COLOURS[kind], edgecolor="#555555", label=kind) for kind in COLOURS]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)


def _n_below(view: TreeView) -> NDArray[np.int64]:
    """How many nodes are below each node."""
    sizes = np.ones(len(view), dtype=np.int64)
    for node in reversed(np.flatnonzero(~view.is_leaf).tolist()):
        sizes[node] += sizes[view.left[node]] + sizes[view.right[node]]
    return sizes - 1


def _at_least_zero(name: str, value: int) -> int:
    try:
        number = index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidInputError(f"{name} must be a whole number, zero or more, but is {value!r}.")
    return number


def _number(n: float, what: str) -> str:
    return f"{_shown(n)} {what}" if n == 1 else f"{_shown(n)} {what}s"


def _shown(n: float) -> str:
    """A number of rows, which is a sum of weights."""
    return f"{n:.6g}" if isinstance(n, float) else str(n)
