"""Exports predict what the forest predicts, in the libraries they are for."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from deciduous import DareForestClassifier, InvalidInputError
from deciduous.export import to_onnx, to_shap, to_treelite

PAGE = (Path(__file__).parents[1] / "docs/export.md").read_text()

# What docs/export.md promises.
ONNX_TOLERANCE = 1e-7  # probabilities of float32
TREELITE_TOLERANCE = 1e-12
SHAP_TOLERANCE = 1e-9
SHAP_BACKGROUND_TOLERANCE = 1e-6  # shap keeps leaf values in float32 there

Case = tuple[DareForestClassifier, NDArray[np.float32]]


def breast_cancer() -> Case:
    X, y = load_breast_cancer(return_X_y=True)
    return DareForestClassifier(20, random_state=1).fit(X[::2], y[::2]), X[1::2]


def iris() -> Case:
    X, y = load_iris(return_X_y=True)
    return DareForestClassifier(20, random_depth=2, random_state=2).fit(X[::2], y[::2]), X[1::2]


def nan_and_one_hot() -> Case:
    """A tenth of the values missing, and five columns of zeros and ones."""
    X, y = load_breast_cancer(return_X_y=True)
    bins = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.2, 0.4, 0.6, 0.8]))
    X = np.column_stack([X[:, :8], np.eye(5)[bins]])
    X[:, :8][np.random.default_rng(3).random((len(X), 8)) < 0.1] = np.nan
    forest = DareForestClassifier(20, random_depth=3, candidates="uniform", random_state=3).fit(X[::2], y[::2])
    assert any(np.isposinf(forest.tree_view(tree).threshold).any() for tree in range(20))
    return forest, X[1::2]


def weighted_strings() -> Case:
    """String labels with class weights, in leaves that are not pure."""
    bunch = load_iris()
    y = bunch.target_names[bunch.target]
    weights = {"setosa": 1.5, "versicolor": 0.1, "virginica": 3}
    forest = DareForestClassifier(10, max_depth=2, class_weight=weights, random_state=4).fit(bunch.data[::2], y[::2])
    return forest, bunch.data[1::2]


def few_rows_per_tree() -> Case:
    """Rows in one tree of twelve each, so that some trees have none."""
    X, y = load_iris(return_X_y=True)
    forest = DareForestClassifier(12, max_samples=1 / 12, random_state=5).fit(X[::15], y[::15])
    assert {bool(forest.tree_view(tree).counts.any()) for tree in range(12)} == {True, False}
    return forest, X


def after_updates() -> Case:
    """After deletions, and additions that bring a class whose label is the lowest."""
    X, y = load_iris(return_X_y=True)
    labels = np.array(["c", "b", "a"])[y]
    forest = DareForestClassifier(15, lazy=True, random_state=6).fit(X[:90], labels[:90])
    forest.delete(range(0, 90, 3))
    forest.add(X[100::2], labels[100::2])
    assert forest.classes_.tolist() == ["a", "b", "c"]
    return forest, X


def single_leaves() -> Case:
    X, y = load_iris(return_X_y=True)
    return DareForestClassifier(3, min_samples_split=1000, random_state=7).fit(X[:120], y[:120]), X


def some_single_leaves() -> Case:
    """Trees of very few rows: some are a leaf of one class, others have splits."""
    X, y = load_iris(return_X_y=True)
    forest = DareForestClassifier(20, max_samples=0.2, random_state=8).fit(X[::20], y[::20])
    assert {len(forest.tree_view(tree)) == 1 for tree in range(20)} == {True, False}
    return forest, X


def one_class() -> Case:
    X, _ = load_iris(return_X_y=True)
    return DareForestClassifier(3, random_state=9).fit(X, np.full(len(X), 7)), X


CASES = [
    breast_cancer,
    iris,
    nan_and_one_hot,
    weighted_strings,
    few_rows_per_tree,
    after_updates,
    single_leaves,
    some_single_leaves,
    one_class,
]


@cache
def forest_and_rows(case: Callable[[], Case]) -> Case:
    """The forest and rows to predict: some of the data, and some at thresholds and just beside them."""
    forest, rows = case()
    rows = rows.astype(np.float32)
    return forest, np.concatenate([rows, rows_at_thresholds(forest, rows)])


def rows_at_thresholds(forest: DareForestClassifier, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows that reach a split with its threshold, the next float32 above it, and NaN."""
    found = []
    for tree in range(forest.n_estimators):
        view = forest.tree_view(tree)
        paths = view.paths(rows).tocsc()
        for node in np.flatnonzero(~view.is_leaf)[:20]:
            reaching = paths[:, node].nonzero()[0]
            threshold = view.threshold[node]
            for value in (threshold, np.nextafter(threshold, np.float32(np.inf)), np.nan) if len(reaching) else ():
                row = rows[reaching[0]].copy()
                row[view.attribute[node]] = value if not np.isinf(value) else np.finfo(np.float32).max
                found.append(row)
    return np.array(found, dtype=np.float32).reshape(-1, rows.shape[1])


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    return forest_and_rows(request.param)


def onnx_predictions(forest: DareForestClassifier, rows: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(forest).SerializeToString(), providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(["label", "probabilities"], {"X": rows})
    return labels, probabilities


def treelite_predictions(forest: DareForestClassifier, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    treelite = pytest.importorskip("treelite")
    return treelite.gtil.predict(to_treelite(forest), rows)[:, 0, :]


def explained(explainer: Any, rows: NDArray[np.float32], n_classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """SHAP values (rows by features by classes) and the expectations of the classes."""
    values = np.asarray(explainer.shap_values(rows)).reshape(*rows.shape, n_classes)
    return values, np.reshape(explainer.expected_value, n_classes)


def is_clear(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where the best class is ahead of the second by more than any tolerance."""
    ordered = np.sort(np.column_stack([np.zeros(len(shares)), shares]), axis=1)
    return ordered[:, -1] - ordered[:, -2] > 1e-6


# ---------------------------------------------------------------------------------------------------------------- ONNX


def test_onnx_predicts_the_same(case: Case) -> None:
    """Probabilities to the last digit of a float32, and the same labels unless two are all but equally likely."""
    forest, rows = case
    labels, probabilities = onnx_predictions(forest, rows)
    shares = forest.predict_proba(rows)
    np.testing.assert_allclose(probabilities, shares, rtol=0, atol=ONNX_TOLERANCE)
    clear = is_clear(shares)
    np.testing.assert_array_equal(labels[clear], forest.predict(rows)[clear])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([3, -1], dtype=np.int8), "int64"),
        (np.array([3, 200], dtype=np.uint8), "int64"),
        (np.array([5, 2**63 + 5], dtype=np.uint64), "uint64"),
        (np.array([0.0, 2.0]), "float64"),
        (np.array([False, True]), "bool"),
        (np.array(["nein", "jä"]), "object"),
    ],
)
def test_onnx_labels_keep_their_values(labels: NDArray[Any], expected: str) -> None:
    """Labels of each kind come back as they were given."""
    forest = DareForestClassifier(2, random_state=0).fit([[0.0], [1.0]], labels)
    got, _ = onnx_predictions(forest, np.array([[0], [1]], dtype=np.float32))
    assert got.dtype == expected
    assert got.tolist() == labels.tolist()


def test_onnx_ties_go_to_the_lower_label() -> None:
    """Two rows alike of two classes: a tie, won by the label "a" though it came second."""
    forest = DareForestClassifier(3, random_state=0).fit([[1.0]], ["b"])
    forest.add([[1.0]], ["a"])
    labels, probabilities = onnx_predictions(forest, np.array([[1]], dtype=np.float32))
    assert forest.classes_.tolist() == ["a", "b"]
    assert probabilities.tolist() == [[0.5, 0.5]]
    assert labels.tolist() == forest.predict([[1.0]]).tolist() == ["a"]


def test_onnx_input_and_outputs_are_named() -> None:
    """The model says what it takes and gives: names, types and shapes."""
    pytest.importorskip("onnx")
    forest, _ = forest_and_rows(iris)
    graph = to_onnx(forest).graph
    assert [value.name for value in graph.input] == ["X"]
    assert [value.name for value in graph.output] == ["label", "probabilities"]
    assert [dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim] == [0, 4]
    assert [dim.dim_value for dim in graph.output[1].type.tensor_type.shape.dim] == [0, 3]


# ------------------------------------------------------------------------------------------------------------ treelite


def test_treelite_predicts_the_same(case: Case) -> None:
    """Probabilities to float64 precision."""
    forest, rows = case
    np.testing.assert_allclose(
        treelite_predictions(forest, rows), forest.predict_proba(rows), rtol=0, atol=TREELITE_TOLERANCE
    )


def test_treelite_has_the_trees_that_hold_rows() -> None:
    """Trees without rows have no part in predictions, so they are left out."""
    pytest.importorskip("treelite")
    forest, _ = forest_and_rows(few_rows_per_tree)
    held = sum(bool(forest.tree_view(tree).counts.any()) for tree in range(12))
    assert to_treelite(forest).num_tree == held


# ---------------------------------------------------------------------------------------------------------------- SHAP


def test_shap_values_sum_to_the_prediction(case: Case) -> None:
    """Prediction minus expectation; the expectation is the mean of the class shares at the roots."""
    shap = pytest.importorskip("shap")
    forest, rows = case
    n_classes = len(forest.classes_)
    values, expectation = explained(shap.TreeExplainer(to_shap(forest)), rows, n_classes)
    views = [forest.tree_view(tree) for tree in range(forest.n_estimators)]
    roots = [view.shares[0] for view in views if view.counts.any()]
    np.testing.assert_allclose(expectation, np.mean(roots, axis=0), rtol=0, atol=SHAP_TOLERANCE)
    np.testing.assert_allclose(
        values.sum(axis=1) + expectation, forest.predict_proba(rows), rtol=0, atol=SHAP_TOLERANCE
    )


@pytest.mark.parametrize("case", [breast_cancer, iris, nan_and_one_hot], ids=lambda case: case.__name__)
def test_shap_values_with_background_sum_to_the_prediction(case: Callable[[], Case]) -> None:
    """With background data, the expectation is the mean prediction on it."""
    shap = pytest.importorskip("shap")
    forest, rows = forest_and_rows(case)
    background = rows[:40]
    explainer = shap.TreeExplainer(to_shap(forest), background, model_output="probability")
    values, expectation = explained(explainer, rows, len(forest.classes_))
    shares = forest.predict_proba(rows)
    np.testing.assert_allclose(expectation, shares[:40].mean(axis=0), rtol=0, atol=SHAP_TOLERANCE)
    np.testing.assert_allclose(values.sum(axis=1) + expectation, shares, rtol=0, atol=SHAP_BACKGROUND_TOLERANCE)


def test_shap_value_of_a_single_split() -> None:
    """One feature and one split of half the rows each: it explains all the difference from one half."""
    shap = pytest.importorskip("shap")
    forest = DareForestClassifier(1, random_state=0).fit([[0.0, 5.0], [1.0, 5.0]], [0, 1])
    rows = np.array([[0, 9], [1, 9], [np.nan, 9]], dtype=np.float32)
    values, expectation = explained(shap.TreeExplainer(to_shap(forest)), rows, 2)
    assert expectation.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(values[:, 0, 1], [-0.5, 0.5, 0.5], atol=1e-12)
    assert not values[:, 1].any()


# ----------------------------------------------------------------------------------------------------------------- all


@pytest.mark.parametrize("predictions", [onnx_predictions, treelite_predictions])
def test_threshold_itself_goes_left_and_the_next_float_right(predictions: Callable[..., Any]) -> None:
    """The split between 0.1 and 0.3, in float32, is exact in the copies too."""
    forest = DareForestClassifier(1, random_state=0).fit([[0.1], [0.3]], [0, 1])
    threshold = forest.tree_view(0).threshold[0]
    rows = np.array([[threshold], [np.nextafter(threshold, np.float32(1))], [np.nan]], dtype=np.float32)
    got = predictions(forest, rows)
    shares = got[1] if isinstance(got, tuple) else got
    assert shares.tolist() == forest.predict_proba(rows).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_exports_are_copies_that_deletion_does_not_reach() -> None:
    """What was exported before a deletion still knows the deleted rows."""
    treelite = pytest.importorskip("treelite")
    X, y = load_iris(return_X_y=True)
    rows = X.astype(np.float32)
    forest = DareForestClassifier(5, random_state=0).fit(X, y)
    model, before = to_treelite(forest), forest.predict_proba(X)
    forest.delete(range(50))
    np.testing.assert_allclose(treelite.gtil.predict(model, rows)[:, 0, :], before, atol=TREELITE_TOLERANCE)
    assert abs(forest.predict_proba(X) - before).max() > 0.5


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_shap])
def test_empty_forest_is_refused(export: Callable[..., Any]) -> None:
    """A forest without rows predicts nothing, so there is nothing to export."""
    pytest.importorskip("onnx")
    pytest.importorskip("treelite")
    forest = DareForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    forest.delete([0, 1])
    with pytest.raises(InvalidInputError, match=r"The forest holds no rows, so there is nothing to export"):
        export(forest)


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_shap])
def test_unfitted_forest_is_refused(export: Callable[..., Any]) -> None:
    """As everywhere in scikit-learn."""
    pytest.importorskip("onnx")
    pytest.importorskip("treelite")
    with pytest.raises(NotFittedError):
        export(DareForestClassifier())


@pytest.mark.parametrize(("export", "library"), [(to_onnx, "onnx"), (to_treelite, "treelite")])
def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, export: Callable[..., Any], library: str) -> None:
    """The message says which library is missing and how to install it."""
    for module in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    forest, _ = forest_and_rows(iris)
    with pytest.raises(ImportError, match=rf"needs {library}, .*pip install deciduous\[export\]"):
        export(forest)


def test_libraries_are_not_imported_before_they_are_needed() -> None:
    """The modules can be imported without them."""
    script = (
        "import sys, deciduous.export, deciduous.pictures;"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'onnx', 'treelite', 'shap', 'matplotlib'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python blocks of docs/export.md run one after the other, and print what it shows."""
    for library in ("onnx", "onnxruntime", "treelite", "shap", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), "docs/export.md", "exec"), {})
    output = capsys.readouterr().out
    assert output.startswith("tree 0:")
    assert textwrap.indent(output, "    ") in PAGE


@pytest.mark.parametrize("tolerance", ["1e-7", "1e-12", "1e-9", "1e-6"])
def test_tolerances_of_the_page_are_those_tested(tolerance: str) -> None:
    """docs/export.md states the numbers used here."""
    assert tolerance in PAGE
    assert float(tolerance) in {ONNX_TOLERANCE, TREELITE_TOLERANCE, SHAP_TOLERANCE, SHAP_BACKGROUND_TOLERANCE}


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_shap])
def test_what_is_no_forest_is_refused_in_a_sentence(export: Any) -> None:
    """A pipeline, or somebody else's: the error names the type and what works."""
    forest = DareForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    for other in (make_pipeline(forest), RandomForestClassifier(), None):
        with pytest.raises(TypeError, match=type(other).__name__) as caught:
            export(other)
        assert "DareForestClassifier" in str(caught.value)


def categorical_forest() -> tuple[DareForestClassifier, list[list[Any]]]:
    """Colours and numbers, with missing ones, a class that is gone, and classes that came in another order."""
    rng = np.random.default_rng(0)
    rows = [[["red", "blue", "green", None][i % 4], float(rng.normal())] for i in range(120)]
    forest = DareForestClassifier(6, max_depth=6, max_features=None, categorical_features=[0], random_state=1)
    forest.fit(rows, [["b", "c", "d"][(i % 4 == 0) + (rows[i][1] > 0)] for i in range(120)])
    forest.add(rows[:9], ["a"] * 9)
    return forest, rows


def test_copies_know_no_class_that_is_gone() -> None:
    """Neither its label nor a column; the classes that have rows keep the order of `classes_`."""
    X = np.arange(40, dtype=np.float32)[:, None]
    forest = DareForestClassifier(3, random_state=0).fit(X[1:], ["c", "b", "b"] * 13)
    forest.add(X[:2], ["SECRET-LABEL", "a"], ids=[100, 101])
    forest.delete([100])
    assert forest.classes_.tolist() == ["SECRET-LABEL", "a", "b", "c"]
    shares = forest.predict_proba(X)[:, 1:]
    content = to_onnx(forest).SerializeToString()
    assert b"SECRET-LABEL" not in content
    session = pytest.importorskip("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    labels, by_onnx = session.run(None, {"X": X})
    assert labels.tolist() == forest.predict(X).tolist()
    np.testing.assert_allclose(by_onnx, shares, atol=ONNX_TOLERANCE)
    treelite = pytest.importorskip("treelite")
    np.testing.assert_allclose(treelite.gtil.predict(to_treelite(forest), X)[:, 0, :], shares, atol=TREELITE_TOLERANCE)
    assert {tree["values"].shape[1] for tree in to_shap(forest)["trees"]} == {3}


@pytest.mark.parametrize("library", ["onnx", "treelite", "shap"])
def test_frozen_forest_exports_what_it_predicts(library: str) -> None:
    """The same shares as its own, row by row, though it holds no counts."""
    forest, rows = categorical_forest()
    frozen = forest.freeze()
    attributes, expected = frozen.one_hot(rows), frozen.predict_proba(rows)
    if library == "onnx":
        runtime = pytest.importorskip("onnxruntime")
        session = runtime.InferenceSession(to_onnx(frozen).SerializeToString(), providers=["CPUExecutionProvider"])
        labels, shares = session.run(None, {"X": attributes})
        assert labels.tolist() == frozen.predict(rows).tolist()
    elif library == "treelite":
        treelite = pytest.importorskip("treelite")
        shares = treelite.gtil.predict(to_treelite(frozen), attributes)[:, 0, :]
    else:
        shap = pytest.importorskip("shap")
        explainer = shap.TreeExplainer(to_shap(frozen), attributes[:50], model_output="probability")
        values = explainer(attributes, check_additivity=False)
        shares = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(shares, expected, atol=1e-6)
