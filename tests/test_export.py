"""Exports predict what the forest predicts, in the libraries they are for."""

from __future__ import annotations

import json
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
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from deciduous import DareForestClassifier, DareForestRegressor, FrozenForestRegressor, InvalidInputError
from deciduous.export import to_onnx, to_shap, to_treelite
from deciduous.inspection import TreeView

PAGE = (Path(__file__).parents[1] / "docs/export.md").read_text()

# What docs/export.md promises.
ONNX_TOLERANCE = 1e-7  # probabilities of float32
TREELITE_TOLERANCE = 1e-12
SHAP_TOLERANCE = 1e-9
SHAP_BACKGROUND_TOLERANCE = 1e-6  # shap keeps leaf values in float32 there
ROUNDING = 1e-14  # of means far from zero, in float64

Forest = DareForestClassifier | DareForestRegressor
Case = tuple[Forest, NDArray[np.float32]]


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


def numbers(scale: float = 1.0, offset: float = 0.0, **params: Any) -> Case:
    """A regressor of the progress of diabetes, in other units."""
    X, y = load_diabetes(return_X_y=True)
    params = {"n_estimators": 8, "random_state": 10} | params
    return DareForestRegressor(**params).fit(X[::2], scale * y[::2] + offset), X[1::2]


def diabetes() -> Case:
    return numbers(min_samples_leaf=3)


def tiny_targets() -> Case:
    return numbers(1e-300)


def huge_targets() -> Case:
    return numbers(-1e297)


def targets_small_in_float32() -> Case:
    """At the lower limit that the page has for SHAP with background data."""
    return numbers(1e-30 / 321)


def targets_large_in_float32() -> Case:
    """At the upper one."""
    return numbers(1e37 / 321)


def targets_far_from_zero() -> Case:
    """Differences of hundreds that a float32 would not see."""
    return numbers(1.0, 1e12)


def one_target() -> Case:
    return numbers(0.0, 0.1)


def targets_with_nan() -> Case:
    """A tenth of the values missing."""
    X, y = load_diabetes(return_X_y=True)
    X[np.random.default_rng(11).random(X.shape) < 0.1] = np.nan
    forest = DareForestRegressor(8, random_depth=3, candidates="uniform", random_state=11).fit(X[::2], y[::2])
    assert any(np.isposinf(forest.tree_view(tree).threshold).any() for tree in range(8))
    return forest, X[1::2]


def leaves_of_zero() -> Case:
    """Means of exactly zero, which are also the middle of all means."""
    X, y = load_iris(return_X_y=True)
    return DareForestRegressor(10, random_state=12).fit(X[::2], y[::2] - 1), X[1::2]


def targets_in_few_trees() -> Case:
    """Rows in one tree of twelve each, so that some trees have none."""
    X, y = load_diabetes(return_X_y=True)
    forest = DareForestRegressor(12, max_samples=1 / 12, random_state=13).fit(X[:9], y[:9])
    assert {bool(forest.tree_view(tree).counts.any()) for tree in range(12)} == {True, False}
    return forest, X[9:100]


def targets_after_updates() -> Case:
    """After deletions, and additions beyond the range that was fitted."""
    X, y = load_diabetes(return_X_y=True)
    forest = DareForestRegressor(8, lazy=True, random_state=14).fit(X[:200], y[:200])
    forest.delete(range(0, 200, 3))
    forest.add(X[200:220], -y[200:220], sample_weight=np.arange(20) % 3 + 1)
    return forest, X[220:]


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
NUMBER_CASES = [
    diabetes,
    tiny_targets,
    huge_targets,
    targets_far_from_zero,
    one_target,
    targets_with_nan,
    leaves_of_zero,
    targets_in_few_trees,
    targets_after_updates,
]


@cache
def forest_and_rows(case: Callable[[], Case]) -> Case:
    """The forest and rows to predict: some of the data, and some at thresholds and just beside them."""
    forest, rows = case()
    rows = rows.astype(np.float32)
    return forest, np.concatenate([rows, rows_at_thresholds(forest, rows)])


def rows_at_thresholds(forest: Forest, rows: NDArray[np.float32]) -> NDArray[np.float32]:
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


@pytest.fixture(params=[*CASES, *NUMBER_CASES], ids=lambda case: case.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    return forest_and_rows(request.param)


def predicted(forest: Any, rows: Any) -> NDArray[np.float64]:
    """What the forest predicts: a column for each class, or one for the target."""
    return forest.predict_proba(rows) if hasattr(forest, "predict_proba") else forest.predict(rows)[:, None]


def views_with_rows(forest: Forest) -> list[TreeView]:
    views = [forest.tree_view(tree) for tree in range(forest.n_estimators)]
    return [view for view in views if view.counts.any()]


def allowed(forest: Forest, tolerance: float) -> float:
    """What a tolerance for probabilities comes to in the unit of the targets."""
    if isinstance(forest, DareForestClassifier):
        return tolerance
    means = np.concatenate([view.values[view.is_leaf] for view in views_with_rows(forest)])
    return tolerance * float(means.max() - means.min()) + ROUNDING * float(abs(means).max())


def onnx_outputs(forest: Any, rows: NDArray[np.float32]) -> list[NDArray[Any]]:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(forest).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


def onnx_predictions(forest: Any, rows: NDArray[np.float32]) -> NDArray[Any]:
    return onnx_outputs(forest, rows)[-1]


def treelite_predictions(forest: Any, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    treelite = pytest.importorskip("treelite")
    return treelite.gtil.predict(to_treelite(forest), rows)[:, 0, :]


def explained(explainer: Any, rows: NDArray[np.float32], n_values: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """SHAP values (rows by features by classes) and the expectations of the classes, or of the target."""
    values = np.asarray(explainer.shap_values(rows)).reshape(*rows.shape, n_values)
    return values, np.reshape(explainer.expected_value, n_values)


def is_clear(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where the best class is ahead of the second by more than any tolerance."""
    ordered = np.sort(np.column_stack([np.zeros(len(shares)), shares]), axis=1)
    return ordered[:, -1] - ordered[:, -2] > 1e-6


# ---------------------------------------------------------------------------------------------------------------- ONNX


def test_onnx_predicts_the_same(case: Case) -> None:
    """Probabilities and means to the last digit of a float32."""
    forest, rows = case
    atol = allowed(forest, ONNX_TOLERANCE)
    np.testing.assert_allclose(onnx_predictions(forest, rows), predicted(forest, rows), rtol=0, atol=atol)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_onnx_labels_are_the_same(case: Callable[[], Case]) -> None:
    """Unless two are all but equally likely."""
    forest, rows = forest_and_rows(case)
    clear = is_clear(predicted(forest, rows))
    labels, _ = onnx_outputs(forest, rows)
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
    got, _ = onnx_outputs(forest, np.array([[0], [1]], dtype=np.float32))
    assert got.dtype == expected
    assert got.tolist() == labels.tolist()


def test_onnx_ties_go_to_the_lower_label() -> None:
    """Two rows alike of two classes: a tie, won by the label "a" though it came second."""
    forest = DareForestClassifier(3, random_state=0).fit([[1.0]], ["b"])
    forest.add([[1.0]], ["a"])
    labels, probabilities = onnx_outputs(forest, np.array([[1]], dtype=np.float32))
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


def test_onnx_output_of_a_regressor_is_a_column_of_doubles() -> None:
    """With one column, as scikit-learn's regressors have it when they are converted."""
    onnx = pytest.importorskip("onnx")
    forest, rows = forest_and_rows(diabetes)
    (output,) = to_onnx(forest).graph.output
    assert (output.name, output.type.tensor_type.elem_type) == ("prediction", onnx.TensorProto.DOUBLE)
    assert [dim.dim_value for dim in output.type.tensor_type.shape.dim] == [0, 1]
    (values,) = onnx_outputs(forest, rows)
    assert (values.dtype, values.shape) == (np.float64, (len(rows), 1))


# ------------------------------------------------------------------------------------------------------------ treelite


def test_treelite_predicts_the_same(case: Case) -> None:
    """Probabilities and means to float64 precision."""
    forest, rows = case
    atol = allowed(forest, TREELITE_TOLERANCE)
    np.testing.assert_allclose(treelite_predictions(forest, rows), predicted(forest, rows), rtol=0, atol=atol)


def test_treelite_has_the_trees_that_hold_rows() -> None:
    """Trees without rows have no part in predictions, so they are left out."""
    pytest.importorskip("treelite")
    forest, _ = forest_and_rows(few_rows_per_tree)
    held = sum(bool(forest.tree_view(tree).counts.any()) for tree in range(12))
    assert to_treelite(forest).num_tree == held


def test_treelite_knows_its_task_and_the_rows_of_nodes() -> None:
    """A regressor is one, of a single target; each leaf of a frozen forest counts as one row."""
    pytest.importorskip("treelite")
    forest, _ = forest_and_rows(targets_after_updates)
    model = json.loads(to_treelite(forest).dump_as_json())
    assert (model["task_type"], model["average_tree_output"], model["num_class"]) == ("kRegressor", True, [1])
    assert [node["data_count"] for node in model["trees"][0]["nodes"]] == forest.tree_view(0).counts[:, 0].tolist()
    for frozen in (forest.freeze(), forest_and_rows(weighted_strings)[0].freeze()):
        nodes = json.loads(to_treelite(frozen).dump_as_json())["trees"][0]["nodes"]
        leaves = [node["data_count"] for node in nodes if "leaf_value" in node]
        assert set(leaves) == {1}
        assert nodes[0]["data_count"] == len(leaves)


# ---------------------------------------------------------------------------------------------------------------- SHAP


def test_shap_values_sum_to_the_prediction(case: Case) -> None:
    """Prediction minus expectation; the expectation is the mean of the class shares, or the means, at the roots."""
    shap = pytest.importorskip("shap")
    forest, rows = case
    expected, atol = predicted(forest, rows), allowed(forest, SHAP_TOLERANCE)
    explainer = shap.TreeExplainer(to_shap(forest))
    values, expectation = explained(explainer, rows, expected.shape[1])
    roots = [view.values[0] for view in views_with_rows(forest)]
    np.testing.assert_allclose(expectation, np.mean(roots, axis=0), rtol=0, atol=atol)
    np.testing.assert_allclose(values.sum(axis=1) + expectation, expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "case",
    [
        breast_cancer,
        iris,
        nan_and_one_hot,
        diabetes,
        targets_with_nan,
        targets_far_from_zero,
        targets_small_in_float32,
        targets_large_in_float32,
    ],
    ids=lambda case: case.__name__,
)
def test_shap_values_with_background_sum_to_the_prediction(case: Callable[[], Case]) -> None:
    """With background data, the expectation is the mean prediction on it."""
    shap = pytest.importorskip("shap")
    forest, rows = forest_and_rows(case)
    expected, model = predicted(forest, rows), to_shap(forest)
    output = "probability" if model["tree_output"] == "probability" else "raw"
    explainer = shap.TreeExplainer(model, rows[:40], model_output=output)
    values, expectation = explained(explainer, rows, expected.shape[1])
    atol = allowed(forest, SHAP_TOLERANCE)
    np.testing.assert_allclose(expectation, expected[:40].mean(axis=0), rtol=0, atol=atol)
    atol = allowed(forest, SHAP_BACKGROUND_TOLERANCE)
    np.testing.assert_allclose(values.sum(axis=1) + expectation, expected, rtol=0, atol=atol)


def test_shap_value_of_a_single_split() -> None:
    """One feature and one split of half the rows each: it explains all the difference from the mean."""
    shap = pytest.importorskip("shap")
    forest = DareForestClassifier(1, random_state=0).fit([[0.0, 5.0], [1.0, 5.0]], [0, 1])
    rows = np.array([[0, 9], [1, 9], [np.nan, 9]], dtype=np.float32)
    values, expectation = explained(shap.TreeExplainer(to_shap(forest)), rows, 2)
    assert expectation.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(values[:, 0, 1], [-0.5, 0.5, 0.5], atol=1e-12)
    assert not values[:, 1].any()
    numbers = DareForestRegressor(1, random_state=0).fit([[0.0, 5.0], [1.0, 5.0]], [10, 30])
    values, expectation = explained(shap.TreeExplainer(to_shap(numbers)), rows, 1)
    assert expectation.tolist() == [20]
    np.testing.assert_allclose(values[:, :, 0], [[-10, 0], [10, 0], [10, 0]], atol=1e-12)


# ----------------------------------------------------------------------------------------------------------------- all


@pytest.mark.parametrize("predictions", [onnx_predictions, treelite_predictions])
@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_threshold_itself_goes_left_and_the_next_float_right(predictions: Callable[..., Any], kind: Any) -> None:
    """The split between 0.1 and 0.3, in float32, is exact in the copies too."""
    forest = kind(1, random_state=0).fit([[0.1], [0.3]], [0, 1])
    threshold = forest.tree_view(0).threshold[0]
    rows = np.array([[threshold], [np.nextafter(threshold, np.float32(1))], [np.nan]], dtype=np.float32)
    expected = [[0], [1], [1]] if kind is DareForestRegressor else [[1, 0], [0, 1], [0, 1]]
    assert predictions(forest, rows).tolist() == predicted(forest, rows).tolist() == expected


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
@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor])
def test_empty_forest_is_refused(export: Callable[..., Any], kind: Any) -> None:
    """A forest without rows predicts nothing, so there is nothing to export."""
    pytest.importorskip("onnx")
    pytest.importorskip("treelite")
    forest = kind(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    forest.delete([0, 1])
    with pytest.raises(InvalidInputError, match=r"The forest holds no rows, so there is nothing to export"):
        export(forest)


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_shap])
@pytest.mark.parametrize("kind", [DareForestClassifier, DareForestRegressor, FrozenForestRegressor])
def test_unfitted_forest_is_refused(export: Callable[..., Any], kind: Any) -> None:
    """As everywhere in scikit-learn."""
    pytest.importorskip("onnx")
    pytest.importorskip("treelite")
    with pytest.raises(NotFittedError):
        export(kind())


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
    shown = capsys.readouterr().out.strip().split("\n\n")
    assert [text[:7] for text in shown] == ["tree 0:", "tree 0:"]
    assert all(f"\n\n{textwrap.indent(text, '    ')}\n\n" in PAGE for text in shown)


@pytest.mark.parametrize("tolerance", ["1e-7", "1e-12", "1e-9", "1e-6", "1e-14"])
def test_tolerances_of_the_page_are_those_tested(tolerance: str) -> None:
    """docs/export.md states the numbers used here."""
    assert tolerance in PAGE
    tested = {ONNX_TOLERANCE, TREELITE_TOLERANCE, SHAP_TOLERANCE, SHAP_BACKGROUND_TOLERANCE, ROUNDING}
    assert float(tolerance) in tested


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_shap])
def test_what_is_no_forest_is_refused_in_a_sentence(export: Any) -> None:
    """A pipeline, or somebody else's: the error names the type and what works."""
    forest = DareForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    for other in (make_pipeline(forest), RandomForestClassifier(), None):
        with pytest.raises(TypeError, match=type(other).__name__) as caught:
            export(other)
        assert "A DareForestClassifier or a DareForestRegressor can be exported" in str(caught.value)


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


def categorical_regressor() -> tuple[DareForestRegressor, list[list[Any]]]:
    """Colours and numbers, with missing ones, and a target that depends on both."""
    _, rows = categorical_forest()
    forest = DareForestRegressor(6, max_depth=6, max_features=None, categorical_features=[0], random_state=1)
    return forest.fit(rows, [1e9 + 100.0 * len(colour or "") + number for colour, number in rows]), rows


@pytest.mark.parametrize("library", ["onnx", "treelite", "shap"])
@pytest.mark.parametrize("make", [categorical_forest, categorical_regressor])
@pytest.mark.parametrize("is_frozen", [False, True], ids=["with rows", "frozen"])
def test_categories_are_exported_one_hot(library: str, make: Callable[[], Any], is_frozen: bool) -> None:
    """Copies predict what the forest predicts, row by row, and so does a frozen one, though it holds no counts."""
    forest, rows = make()
    its = forest.freeze() if is_frozen else forest
    attributes, expected = its.one_hot(rows), predicted(its, rows)
    if library == "onnx":
        values = onnx_predictions(its, attributes)
    elif library == "treelite":
        values = treelite_predictions(its, attributes)
    else:
        explainer = pytest.importorskip("shap").TreeExplainer(to_shap(its), attributes[:50])
        parts, expectation = explained(explainer, attributes, expected.shape[1])
        values = parts.sum(axis=1) + expectation
    np.testing.assert_allclose(values, expected, rtol=0, atol=allowed(forest, SHAP_BACKGROUND_TOLERANCE))


def test_frozen_forest_exports_its_labels() -> None:
    """Those that it predicts itself."""
    forest, rows = categorical_forest()
    frozen = forest.freeze()
    labels, _ = onnx_outputs(frozen, frozen.one_hot(rows))
    assert labels.tolist() == frozen.predict(rows).tolist()
