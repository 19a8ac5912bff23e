"""Trees as text and as pictures show the tree that is there."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from deciduous import DareForestClassifier, DareForestRegressor, InvalidInputError
from deciduous.inspection import KINDS
from deciduous.pictures import COLOURS, export_text, plot_tree

TINY = [[1, 0], [2, 0], [3, 1], [np.nan, 1], [np.nan, 0], [2.5, 1]]
TINY_LABELS = ["no", "yes", "no", "yes", "yes", "no"]
TINY_TARGETS = np.array([10, 20, 11, 80, -40, 11.5])


def tiny_forest(**params: Any) -> DareForestClassifier:
    arguments = {"n_estimators": 1, "random_depth": 1, "random_state": 0} | params
    return DareForestClassifier(**arguments).fit(TINY, TINY_LABELS)


def tiny_regressor(targets: Any = TINY_TARGETS, **params: Any) -> DareForestRegressor:
    arguments = {"n_estimators": 1, "random_depth": 1, "random_state": 0} | params
    return DareForestRegressor(**arguments).fit(TINY, targets)


def means_of(text: str) -> list[str]:
    """The means that a text shows, in the order of nodes."""
    return re.findall(r"mean (\S+)\]", text)


def iris_forest() -> DareForestClassifier:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return DareForestClassifier(3, random_depth=2, random_state=1).fit(X, y)


# ---------------------------------------------------------------------------------------------------------------- text


def test_text_shows_kinds_splits_and_counts() -> None:
    """A whole tree: a random root, greedy nodes below, and a split of numbers from NaN."""
    expected = """\
tree 0: 6 rows, 7 nodes, depth 2
random x1 <= 0.172  [6 rows | no: 3, yes: 3]
├── greedy x0 <= 1.500  [3 rows | no: 1, yes: 2]
│   ├── leaf  [1 row | no: 1]
│   └── leaf  [2 rows | yes: 2]
└── greedy x0 is not NaN  [3 rows | no: 2, yes: 1]
    ├── leaf  [2 rows | no: 2]
    └── leaf  [1 row | yes: 1]
"""
    assert export_text(tiny_forest()) == expected


def test_text_is_cut_off_at_max_depth() -> None:
    """Nodes below are counted; names and decimals are as asked for."""
    expected = """\
tree 0: 6 rows, 7 nodes, depth 2
random kind <= 0.2  [6 rows | no: 3, yes: 3]
├── greedy size <= 1.5  [3 rows | no: 1, yes: 2]
│   └── … 2 nodes below
└── greedy size is not NaN  [3 rows | no: 2, yes: 1]
    └── … 2 nodes below
"""
    assert export_text(tiny_forest(), feature_names=["size", "kind"], decimals=1, max_depth=1) == expected


def test_text_of_a_tree_without_rows_is_a_leaf() -> None:
    """With one row in one tree of three, the other two have none."""
    forest = DareForestClassifier(3, max_samples=0.3, random_state=0).fit([[1.0]], ["yes"])
    texts = sorted(export_text(forest, tree).split("\n", 1)[1] for tree in range(3))
    assert texts == ["leaf  [0 rows]\n", "leaf  [0 rows]\n", "leaf  [1 row | yes: 1]\n"]


def test_text_of_a_regressor_shows_means() -> None:
    """The same lines as those of a classifier, with the mean of the targets in place of classes."""
    expected = """\
tree 0: 6 rows, 11 nodes, depth 3
random x1 <= 0.172  [6 rows | mean 15.417]
├── greedy x0 is not NaN  [3 rows | mean -3.333]
│   ├── greedy x0 <= 1.500  [2 rows | mean 15.000]
│   │   ├── leaf  [1 row | mean 10.000]
│   │   └── leaf  [1 row | mean 20.000]
│   └── leaf  [1 row | mean -40.000]
└── greedy x0 is not NaN  [3 rows | mean 34.167]
    ├── greedy x0 <= 2.750  [2 rows | mean 11.250]
    │   ├── leaf  [1 row | mean 11.500]
    │   └── leaf  [1 row | mean 11.000]
    └── leaf  [1 row | mean 80.000]
"""
    assert export_text(tiny_regressor()) == expected


@pytest.mark.parametrize(
    ("unit", "decimals", "expected"),
    [
        (1.0, 0, ["15", "-3", "34"]),
        (1.0, 1, ["15.4", "-3.3", "34.2"]),
        (1e9, 3, ["15416666666.667", "-3333333333.333", "34166666666.667"]),
        (1e12, 3, ["1.542e+13", "-3.333e+12", "3.417e+13"]),
        (1e298, 3, ["1.542e+299", "-3.333e+298", "3.417e+299"]),
        (1e-3, 3, ["0.015", "-0.003", "0.034"]),
        (1e-5, 3, ["1.542e-04", "-3.333e-05", "3.417e-04"]),
        (1e-30, 1, ["1.5e-29", "-3.3e-30", "3.4e-29"]),
    ],
)
def test_means_are_written_so_that_they_can_be_read(unit: float, decimals: int, expected: list[str]) -> None:
    """In powers of ten if there would be too many digits or none, all means of a tree alike."""
    text = export_text(tiny_regressor(unit * TINY_TARGETS), decimals=decimals, max_depth=1)
    assert means_of(text) == expected


def test_means_of_zero_have_no_sign() -> None:
    """Whether they are exactly zero or only shown as such."""
    forest = DareForestRegressor(1, random_state=0).fit([[0.0], [1.0], [2.0]], [-0.0001, 5, -4.9999])
    assert means_of(export_text(forest)).count("0.000") == 2
    assert "-0.000" not in export_text(forest)
    assert means_of(export_text(tiny_regressor(np.zeros(6)))) == ["0.000"]


def test_text_of_a_regressor_s_tree_without_rows_has_no_mean() -> None:
    """With one row in one tree of three, the other two have none."""
    forest = DareForestRegressor(3, max_samples=0.3, random_state=0).fit([[1.0]], [7.5])
    texts = sorted(export_text(forest, tree).split("\n", 1)[1] for tree in range(3))
    assert texts == ["leaf  [0 rows]\n", "leaf  [0 rows]\n", "leaf  [1 row | mean 7.500]\n"]


def test_text_uses_the_names_of_columns() -> None:
    """A data frame brings its own names."""
    frame = pd.DataFrame(TINY, columns=["width", "height"])
    forest = DareForestClassifier(1, random_state=0).fit(frame, TINY_LABELS)
    assert set(re.findall(r"greedy (\w+)", export_text(forest))) <= {"width", "height"}


def test_text_follows_deletions() -> None:
    """What is shown after a deletion is what a fresh fit shows."""
    forest = tiny_forest()
    forest.delete([0, 4])
    kept = [1, 2, 3, 5]
    fresh = DareForestClassifier(1, random_depth=1, random_state=0).fit(
        [TINY[i] for i in kept], [TINY_LABELS[i] for i in kept], ids=kept
    )
    assert export_text(forest) == export_text(fresh)


def test_text_has_a_line_for_each_node() -> None:
    """And each kind as often as the tree has it."""
    forest = iris_forest()
    for tree in range(3):
        lines = export_text(forest, tree).splitlines()[1:]
        shown = [re.search(r"random|greedy|leaf", line)[0] for line in lines]
        assert shown == [KINDS[kind] for kind in forest.tree_view(tree).kind]


def test_text_of_a_deep_tree() -> None:
    """Powers of two of alternating classes: uniform thresholds split off the greatest few at each level."""
    n = 120
    rows = np.float32(2.0) ** np.arange(n)[:, None]
    forest = DareForestClassifier(1, max_depth=None, random_depth=200, random_state=0).fit(rows, np.arange(n) % 2)
    assert forest.get_depth() > 40
    assert len(export_text(forest).splitlines()) == len(forest.tree_view(0)) + 1


# ------------------------------------------------------------------------------------------------------------ pictures


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Matplotlib without a screen; figures are closed afterwards."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")


def boxes(ax: Any) -> list[Any]:
    """The texts of the nodes: those in a box with an edge."""
    return [text for text in ax.texts if text.get_bbox_patch() and text.get_bbox_patch().get_edgecolor()[3] > 0]


@pytest.mark.usefixtures("pyplot")
def test_picture_shows_kinds_splits_and_counts() -> None:
    """One box per node, in preorder, in the colour of its kind."""
    colors = pytest.importorskip("matplotlib.colors")
    forest = tiny_forest()
    drawn = boxes(plot_tree(forest, max_depth=None))
    expected = ["random", "greedy", "leaf", "leaf", "greedy", "leaf", "leaf"]
    shown = [colors.to_hex(text.get_bbox_patch().get_facecolor()) for text in drawn]
    assert shown == [COLOURS[kind] for kind in expected]
    assert drawn[0].get_text() == "x1 <= 0.172\n6 rows\nno: 3, yes: 3"
    assert drawn[4].get_text() == "x0 is not NaN\n3 rows\nno: 2, yes: 1"
    assert drawn[6].get_text() == "1 row\nyes: 1"


@pytest.mark.usefixtures("pyplot")
def test_picture_of_a_regressor_shows_means() -> None:
    """In place of classes."""
    drawn = boxes(plot_tree(tiny_regressor(), max_depth=1))
    assert drawn[0].get_text() == "x1 <= 0.172\n6 rows\nmean 15.417"
    assert drawn[1].get_text() == "x0 is not NaN\n3 rows\nmean -3.333\n… 4 nodes below"


@pytest.mark.usefixtures("pyplot")
@pytest.mark.parametrize("unit", [1.0, -3.1e9, 1e-30, 1e297])
def test_boxes_of_means_do_not_overlap(unit: float) -> None:
    """Also with means of many digits, which stay on one line."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = DareForestRegressor(1, random_depth=1, random_state=2).fit(X[:100], unit * y[:100])
    ax = plot_tree(forest, max_depth=4)
    ax.figure.canvas.draw()
    drawn = boxes(ax)
    assert all(re.search(r"^mean \S+$", text.get_text(), re.MULTILINE) for text in drawn)
    extents = [text.get_bbox_patch().get_window_extent() for text in drawn]
    assert len(extents) > 5
    assert not any(one.overlaps(other) for i, one in enumerate(extents) for other in extents[:i])


@pytest.mark.usefixtures("pyplot")
def test_picture_is_cut_off_at_max_depth() -> None:
    """Nodes at `max_depth` say how many are below."""
    drawn = boxes(plot_tree(tiny_forest(), max_depth=1))
    assert [text.get_text().splitlines()[-1] for text in drawn] == [
        "no: 3, yes: 3",
        "… 2 nodes below",
        "… 2 nodes below",
    ]


@pytest.mark.usefixtures("pyplot")
def test_picture_is_written_as_png(tmp_path: Path) -> None:
    """A real tree is drawn and saved."""
    bunch = load_breast_cancer()
    forest = DareForestClassifier(2, random_depth=2, random_state=1).fit(bunch.data, bunch.target_names[bunch.target])
    ax = plot_tree(forest, feature_names=bunch.feature_names)
    ax.figure.savefig(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("pyplot")
@pytest.mark.parametrize("max_depth", [0, 2, 3, None])
@pytest.mark.parametrize("tree", range(3))
def test_boxes_do_not_overlap(max_depth: int | None, tree: int) -> None:
    """Also with long names of features and classes."""
    bunch = load_breast_cancer()
    X, y = bunch.data[::3], bunch.target_names[bunch.target[::3]]
    ax = plot_tree(
        DareForestClassifier(3, random_depth=2, random_state=2).fit(X, y),
        tree,
        max_depth=max_depth,
        feature_names=[f"the so-called {name}" for name in bunch.feature_names],
    )
    ax.figure.canvas.draw()
    extents = [text.get_bbox_patch().get_window_extent() for text in boxes(ax)]
    for i, extent in enumerate(extents):
        assert not any(extent.overlaps(other) for other in extents[:i])


def test_picture_is_drawn_into_given_axes(pyplot: Any) -> None:
    """No figure is made then, and the Axes are returned."""
    figure, axes = pyplot.subplots(1, 2)
    assert plot_tree(iris_forest(), 1, ax=axes[1]) is axes[1]
    assert pyplot.get_fignums() == [figure.number]
    assert not axes[0].texts


@pytest.mark.usefixtures("pyplot")
def test_picture_of_a_single_leaf() -> None:
    """A forest of one class."""
    ax = plot_tree(DareForestClassifier(1, random_state=0).fit([[1.0], [2.0]], [5, 5]))
    assert [text.get_text() for text in boxes(ax)] == ["2 rows\n5: 2"]


@pytest.mark.usefixtures("pyplot")
def test_picture_of_many_classes_names_some() -> None:
    """Of ten classes, three, and how many more."""
    rows = np.arange(10.0)[:, None]
    drawn = boxes(plot_tree(DareForestClassifier(1, random_state=0).fit(rows, np.arange(10)), max_depth=0))
    assert "0: 1, 1: 1, 2: 1\n7 more classes" in drawn[0].get_text()


@pytest.mark.usefixtures("pyplot")
def test_dollar_signs_are_not_formulas() -> None:
    """Names such as US$ and A$ are drawn as they are."""
    ax = plot_tree(tiny_forest(), feature_names=["US$ and A$", r"$\frac"])
    ax.figure.canvas.draw()


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("show", [export_text, plot_tree])
class TestRefused:
    @pytest.fixture(autouse=True)
    def _needs_matplotlib(self) -> None:
        pytest.importorskip("matplotlib")

    @pytest.mark.parametrize("make", [tiny_forest, tiny_regressor])
    def test_empty_forest(self, show: Callable[..., Any], make: Callable[[], Any]) -> None:
        """There is nothing to draw."""
        forest = make()
        forest.delete(range(6))
        with pytest.raises(InvalidInputError, match="The forest holds no rows, so there is nothing"):
            show(forest)

    @pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
    def test_unfitted_forest(self, show: Callable[..., Any], kind: Any) -> None:
        """As everywhere in scikit-learn."""
        with pytest.raises(NotFittedError):
            show(kind())

    def test_tree_that_does_not_exist(self, show: Callable[..., Any]) -> None:
        """The message says which there are."""
        with pytest.raises(InvalidInputError, match=r"tree must be in \[0, 0\], but is 1"):
            show(tiny_forest(), 1)

    def test_wrong_number_of_names(self, show: Callable[..., Any]) -> None:
        """A name for each feature, or none."""
        with pytest.raises(InvalidInputError, match="feature_names has 1 names, but the forest has 2 features"):
            show(tiny_forest(), feature_names=["size"])

    @pytest.mark.parametrize("max_depth", [-1, 1.5, "2"])
    def test_impossible_depth(self, show: Callable[..., Any], max_depth: Any) -> None:
        """Whole numbers from zero."""
        with pytest.raises(InvalidInputError, match=f"max_depth must be a whole number.*but is {max_depth!r}"):
            show(tiny_forest(), max_depth=max_depth)


def test_negative_decimals_are_refused() -> None:
    """There is no such precision."""
    with pytest.raises(InvalidInputError, match="decimals must be a whole number, zero or more, but is -1"):
        export_text(tiny_forest(), decimals=-1)


@pytest.mark.parametrize("picture", [export_text, plot_tree])
def test_what_is_no_forest_with_rows_is_refused_in_a_sentence(picture: Callable[..., Any]) -> None:
    """A frozen forest has no rows to count; of a pipeline the last step is meant."""
    forest = tiny_forest()
    for other in (forest.freeze(), tiny_regressor().freeze(), make_pipeline(forest), RandomForestClassifier(), None):
        with pytest.raises(TypeError, match=f"a {type(other).__name__} came"):
            picture(other)


def test_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it; text needs no library."""
    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib, .*pip install deciduous\[plot\]"):
        plot_tree(tiny_forest())
    assert export_text(tiny_forest())


def test_the_largest_classes_are_named() -> None:
    """Of nine classes the three with the most rows, and how many more there are."""
    y = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 90])
    forest = DareForestClassifier(1, max_depth=1, random_state=0).fit(np.arange(len(y))[:, None], y)
    texts = [text.get_text() for text in plot_tree(forest, max_depth=0).texts]
    assert any("8: 90" in text and "7: 8" in text and "6: 7" in text and "6 more classes" in text for text in texts)


@pytest.mark.parametrize(
    ("size", "max_depth"), [(None, 5), ((8, 6), 1), ((8, 6), 3), ((8, 6), 4), ((3, 3), 2)], ids=repr
)
def test_boxes_of_many_classes_do_not_overlap(pyplot: Any, size: Any, max_depth: int) -> None:
    """In axes of our own or in small ones, with long names of columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=[f"a rather long name of a column {i}" for i in range(3)])
    forest = DareForestClassifier(1, max_depth=8, random_state=0).fit(X, rng.integers(0, 12, 800))
    ax = plot_tree(forest, max_depth=max_depth, ax=None if size is None else pyplot.subplots(figsize=size)[1])
    ax.figure.canvas.draw()
    extents = [text.get_bbox_patch().get_window_extent() for text in boxes(ax)]
    assert len(extents) > 2
    assert not any(one.overlaps(other) for i, one in enumerate(extents) for other in extents[:i])
