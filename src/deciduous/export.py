"""Export forests to other libraries: ONNX, treelite and SHAP.

An exported model is a copy: deleting rows from the forest does not change it. It takes attributes, not columns: if some
columns are categorical, pass `forest.one_hot(X)`. Its classes are those that have rows, in the order of `classes_`. See
docs/export.md.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .errors import InvalidInputError
from .forest import DareForestClassifier
from .frozen import FrozenForestClassifier
from .inspection import TreeView

# Old enough for every ONNX Runtime of the last years: nothing newer is needed.
ONNX_OPSETS = {"": 13, "ai.onnx.ml": 3}
ONNX_IR_VERSION = 8


def to_onnx(forest: DareForestClassifier | FrozenForestClassifier) -> Any:
    """Export the forest as an `onnx.ModelProto`.

    Input `X`: float32 of shape (n_rows, n_attributes), NaN allowed. Outputs: `label`, and `probabilities` as float32
    with a column for each class that has rows, in the order of `classes_`. Trees are evaluated in float64. Ties go to
    the lower label.
    """
    onnx = imported("onnx", "export")
    views, classes = trees_with_rows(forest)
    helper = onnx.helper
    graph = helper.make_graph(
        _onnx_nodes(helper, _onnx_trees(onnx, views, len(classes))),
        "deciduous",
        [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [None, forest.n_attributes_])],
        [
            helper.make_tensor_value_info("label", _onnx_type(onnx, _onnx_labels(classes)), [None]),
            helper.make_tensor_value_info("probabilities", onnx.TensorProto.FLOAT, [None, len(classes)]),
        ],
        _onnx_label_tables(onnx, classes),
    )
    model = helper.make_model(
        graph,
        producer_name="deciduous",
        ir_version=ONNX_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in ONNX_OPSETS.items()],
    )
    onnx.checker.check_model(model)
    return model


def to_treelite(forest: DareForestClassifier | FrozenForestClassifier) -> Any:
    """Export the forest as a `treelite.Model`.

    Its output has the columns of `predict_proba`, but only for classes that have rows.
    """
    builders = imported("treelite.model_builder", "export")
    views, classes = trees_with_rows(forest)
    builder = builders.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builders.Metadata(
            num_feature=forest.n_attributes_,
            task_type="kMultiClf",
            average_tree_output=True,
            num_target=1,
            num_class=[len(classes)],
            leaf_vector_shape=(1, len(classes)),
        ),
        tree_annotation=builders.TreeAnnotation(
            num_tree=len(views), target_id=[0] * len(views), class_id=[-1] * len(views)
        ),
        postprocessor=builders.PostProcessorFunc(name="identity_multiclass"),
        base_scores=[0.0] * len(classes),
    )
    for view in views:
        _build_treelite_tree(builder, view)
    return builder.commit()


def to_shap(forest: DareForestClassifier | FrozenForestClassifier) -> dict[str, Any]:
    """Export the forest as a dict for `shap.TreeExplainer`, which then explains `predict_proba` class by class.

    Classes without rows are left out. A frozen forest holds no counts, so all of its leaves have the same weight: pass
    background data to the explainer, as float32. An explainer with background data overwrites the node weights in the
    dict, so make a new dict for each explainer.
    """
    views, _ = trees_with_rows(forest)
    return {
        "trees": [_shap_tree(view, len(views)) for view in views],
        "tree_output": "probability",
        "input_dtype": np.float32,
        "internal_dtype": np.float64,
        "base_offset": 0.0,
    }


# ------------------------------------------------------------------------------------------------------------- helpers


def imported(name: str, extra: str) -> Any:
    """An optional library, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise ImportError(
            f"This needs {library}, which could not be imported ({error}). Try `pip install deciduous[{extra}]`."
        ) from error


def check_has_rows(forest: DareForestClassifier) -> None:
    """Refuse what is no forest with rows: something else, one that is not fitted, or one that has lost all its rows."""
    if not isinstance(forest, DareForestClassifier):
        raise TypeError(
            "A DareForestClassifier can be exported or drawn, and a frozen one exported, but a "
            f"{type(forest).__name__} came. Of a pipeline give the last step, of a live forest its `forest`."
        )
    check_is_fitted(forest)
    if forest.n_rows_ == 0:
        raise InvalidInputError(
            "The forest holds no rows, so there is nothing to export or to draw: all of them were deleted. "
            "Add rows first."
        )


def trees_with_rows(
    forest: DareForestClassifier | FrozenForestClassifier,
) -> tuple[list[TreeView], NDArray[Any]]:
    """The trees that predictions are the mean of, and the classes that have rows, all as of one moment."""
    if isinstance(forest, FrozenForestClassifier):
        check_is_fitted(forest)
        return forest._tree_views(), forest.classes_
    check_has_rows(forest)
    with forest._one_state():
        check_has_rows(forest)
        # A copy is a file: no label of rows that are gone.
        present = np.flatnonzero(list(forest.class_counts_.values()))
        views = [view.of_classes(present) for view in forest._tree_views() if view.counts[0].any()]
        return views, forest.classes_[present]


def _onnx_trees(onnx: Any, views: list[TreeView], n_classes: int) -> dict[str, Any]:
    """The attributes of the tree operator: one entry per node, and one per leaf and class present in it."""
    sizes = [len(view) for view in views]
    is_leaf = np.concatenate([view.is_leaf for view in views])
    tree_ids, node_ids = np.repeat(np.arange(len(views)), sizes), np.concatenate([np.arange(size) for size in sizes])
    shares = np.concatenate([view.shares for view in views]) * is_leaf[:, None]
    present, class_ids = np.nonzero(shares)

    def of_splits(name: str) -> NDArray[Any]:
        values = np.concatenate([getattr(view, name) for view in views])
        return np.where(is_leaf, values.dtype.type(0), values)

    return {
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": of_splits("attribute").tolist(),
        "nodes_values_as_tensor": _doubles(onnx, of_splits("threshold")),
        "nodes_truenodeids": of_splits("left").tolist(),
        "nodes_falsenodeids": of_splits("right").tolist(),
        "nodes_missing_value_tracks_true": [0] * len(is_leaf),
        "target_treeids": tree_ids[present].tolist(),
        "target_nodeids": node_ids[present].tolist(),
        "target_ids": class_ids.tolist(),
        "target_weights_as_tensor": _doubles(onnx, shares[present, class_ids]),
        "n_targets": n_classes,
        "aggregate_function": "AVERAGE",
    }


def _onnx_nodes(helper: Any, trees: dict[str, Any]) -> list[Any]:
    # Not TreeEnsembleClassifier: it has rules of its own for two classes and for ties, which differ between releases
    # of ONNX Runtime. TreeEnsemble has leaves of a single class each, so trees would have to be repeated per class.
    return [
        helper.make_node("Cast", ["X"], ["doubles"], to=helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))),
        helper.make_node("TreeEnsembleRegressor", ["doubles"], ["probabilities"], domain="ai.onnx.ml", **trees),
        helper.make_node("Gather", ["probabilities", "label_order"], ["by_label"], axis=1),
        helper.make_node("ArgMax", ["by_label"], ["best"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "best"], ["label"], axis=0),
    ]


def _onnx_label_tables(onnx: Any, classes: NDArray[Any]) -> list[Any]:
    """The labels in ascending order and their columns: classes that were added later are out of order."""
    order = np.argsort(classes, kind="stable")
    labels = _onnx_labels(classes)[order]
    values = [label.encode() for label in labels] if labels.dtype.kind == "U" else labels.tolist()
    return [
        onnx.helper.make_tensor("labels", _onnx_type(onnx, labels), [len(labels)], values),
        onnx.numpy_helper.from_array(order.astype(np.int64), "label_order"),
    ]


def _onnx_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in a type of ONNX: int64, double, bool or string."""
    wide = {"i": np.dtype(np.int64), "u": np.dtype(np.int64), "f": np.dtype(np.float64)}.get(classes.dtype.kind)
    if wide is None or classes.dtype == np.uint64:
        return classes
    return classes.astype(wide)


def _onnx_type(onnx: Any, labels: NDArray[Any]) -> int:
    if labels.dtype.kind == "U":
        return int(onnx.TensorProto.STRING)
    return int(onnx.helper.np_dtype_to_tensor_dtype(labels.dtype))


def _doubles(onnx: Any, values: NDArray[Any]) -> Any:
    return onnx.numpy_helper.from_array(values.astype(np.float64))


def _build_treelite_tree(builder: Any, view: TreeView) -> None:
    is_leaf, shares, n_rows = view.is_leaf, view.shares.tolist(), view.counts.sum(axis=1).tolist()
    builder.start_tree()
    for node in range(len(view)):
        builder.start_node(node)
        if is_leaf[node]:
            builder.leaf(shares[node])
        else:
            builder.numerical_test(
                feature_id=int(view.attribute[node]),
                threshold=float(view.threshold[node]),
                default_left=False,
                opname="<=",
                left_child_key=int(view.left[node]),
                right_child_key=int(view.right[node]),
            )
        builder.data_count(n_rows[node])
        builder.end_node()
    builder.end_tree()


def _shap_tree(view: TreeView, n_trees: int) -> dict[str, NDArray[Any]]:
    return {
        "children_left": view.left.astype(np.int32),
        "children_right": view.right.astype(np.int32),
        "children_default": view.right.astype(np.int32),
        "features": view.attribute.astype(np.int32),
        "thresholds": np.where(view.is_leaf, -1.0, view.threshold.astype(np.float64)),
        "values": view.shares / n_trees,
        "node_sample_weight": view.weight.copy(),
    }
