"""Export forests to other libraries: ONNX, treelite and SHAP.

An exported model is a copy: deleting rows from the forest does not change it. It takes attributes, not columns: if some
columns are categorical, pass `forest.one_hot(X)`. The classes of a classifier are those that have rows, in the order of
`classes_`. See docs/export.md.
"""

from __future__ import annotations

import importlib
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ._forest import DareForest
from ._targets import TargetScale
from .errors import InvalidInputError
from .frozen import FrozenForest
from .inspection import TreeView

# Old enough for every ONNX Runtime of the last years: nothing newer is needed.
ONNX_OPSETS = {"": 13, "ai.onnx.ml": 3}
ONNX_IR_VERSION = 8
AS_THEY_ARE = TargetScale(0, 0.0)  # values on no scale


def to_onnx(forest: DareForest | FrozenForest) -> Any:
    """Export the forest as an `onnx.ModelProto`.

    Input `X`: float32 of shape (n_rows, n_attributes), NaN allowed. Outputs of a classifier: `label`, and
    `probabilities` as float32 with a column for each class that has rows, in the order of `classes_`. Ties go to the
    lower label. Output of a regressor: `prediction`, float64 of shape (n_rows, 1), with the precision of float32. Trees
    are evaluated in float64.
    """
    onnx = imported("onnx", "export")
    views, classes = trees_with_rows(forest)
    helper = onnx.helper
    parts = _onnx_numbers(onnx, views) if classes is None else _onnx_classes(onnx, views, classes)
    graph = helper.make_graph(
        parts.nodes,
        "deciduous",
        [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [None, forest.n_attributes_])],
        parts.outputs,
        parts.constants,
    )
    model = helper.make_model(
        graph,
        producer_name="deciduous",
        ir_version=ONNX_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in ONNX_OPSETS.items()],
    )
    onnx.checker.check_model(model)
    return model


def to_treelite(forest: DareForest | FrozenForest) -> Any:
    """Export the forest as a `treelite.Model`.

    The output of a classifier has the columns of `predict_proba`, but only for classes that have rows. That of a
    regressor has a single column, with the values of `predict`.
    """
    builders = imported("treelite.model_builder", "export")
    views, classes = trees_with_rows(forest)
    n_values = views[0].values.shape[1]
    is_regressor, all_classes = classes is None, -1
    builder = builders.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builders.Metadata(
            num_feature=forest.n_attributes_,
            task_type="kRegressor" if is_regressor else "kMultiClf",
            average_tree_output=True,
            num_target=1,
            num_class=[n_values],
            leaf_vector_shape=(1, n_values),
        ),
        tree_annotation=builders.TreeAnnotation(
            num_tree=len(views), target_id=[0] * len(views), class_id=[0 if n_values == 1 else all_classes] * len(views)
        ),
        postprocessor=builders.PostProcessorFunc(name="identity" if is_regressor else "identity_multiclass"),
        base_scores=[0.0] * n_values,
    )
    for view in views:
        _build_treelite_tree(builder, view)
    return builder.commit()


def to_shap(forest: DareForest | FrozenForest) -> dict[str, Any]:
    """Export the forest as a dict for `shap.TreeExplainer`.

    The explainer then explains `predict_proba` class by class, without classes that have no rows; for a regressor,
    `predict`. A frozen forest holds no counts, so all of its leaves have the same weight: pass background data to the
    explainer, as float32. An explainer with background data overwrites the node weights in the dict, so make a new dict
    for each explainer.
    """
    views, classes = trees_with_rows(forest)
    # With background data SHAP keeps values in float32, which cannot tell 1e9 from 1e9 + 1.
    offset = _scale_of_leaves(views).offset if classes is None else 0.0
    return {
        "trees": [_shap_tree(view, len(views), offset) for view in views],
        "tree_output": "raw_value" if classes is None else "probability",
        "input_dtype": np.float32,
        "internal_dtype": np.float64,
        "base_offset": offset,
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


def check_has_rows(forest: DareForest) -> None:
    """Refuse what is no forest with rows: something else, one that is not fitted, or one that has lost all its rows."""
    if not isinstance(forest, DareForest):
        raise TypeError(
            "A DareForestClassifier or a DareForestRegressor can be exported or drawn, and a frozen one exported, but "
            f"a {type(forest).__name__} came. Of a pipeline give the last step, of a live forest its `forest`."
        )
    check_is_fitted(forest)
    if forest.n_rows_ == 0:
        raise InvalidInputError(
            "The forest holds no rows, so there is nothing to export or to draw: all of them were deleted. "
            "Add rows first."
        )


def trees_with_rows(forest: DareForest | FrozenForest) -> tuple[list[TreeView], NDArray[Any] | None]:
    """The trees that predictions are the mean of, and the classes that have rows, all as of one moment.

    A regressor has no classes: None.
    """
    if isinstance(forest, FrozenForest):
        check_is_fitted(forest)
        return forest._tree_views(), forest.classes_ if is_classifier(forest) else None
    check_has_rows(forest)
    with forest._one_state():
        check_has_rows(forest)
        views = [view for view in forest._tree_views() if view.counts[0].any()]
        if not is_classifier(forest):
            return views, None
        # A copy is a file: no label of rows that are gone.
        present = np.flatnonzero(list(forest.class_counts_.values()))
        return [view.of_classes(present) for view in views], forest.classes_[present]


def _scale_of_leaves(views: list[TreeView]) -> TargetScale:
    """The scale on which the values of the leaves are from -1 to 1, so that float32 has the most digits for them.

    Their own magnitude may be beyond float32, and their differences may be small compared with it.
    """
    values = np.concatenate([view.values[view.is_leaf] for view in views])
    low, high = float(values.min()), float(values.max())
    half = (high - low) / 2
    return TargetScale(math.frexp(half)[1], low + half)


class _OnnxParts(NamedTuple):
    """What the graph of a model consists of, beside its input."""

    nodes: list[Any]
    outputs: list[Any]
    constants: list[Any]


def _onnx_classes(onnx: Any, views: list[TreeView], classes: NDArray[Any]) -> _OnnxParts:
    """The parts of a classifier: the trees, and a choice of the most likely class."""
    helper = onnx.helper
    return _OnnxParts(
        [
            *_onnx_trees(onnx, views, AS_THEY_ARE, "probabilities"),
            helper.make_node("Gather", ["probabilities", "label_order"], ["by_label"], axis=1),
            helper.make_node("ArgMax", ["by_label"], ["best"], axis=1, keepdims=0),
            helper.make_node("Gather", ["labels", "best"], ["label"], axis=0),
        ],
        [
            helper.make_tensor_value_info("label", _onnx_type(onnx, _onnx_labels(classes)), [None]),
            helper.make_tensor_value_info("probabilities", onnx.TensorProto.FLOAT, [None, len(classes)]),
        ],
        _onnx_label_tables(onnx, classes),
    )


def _onnx_numbers(onnx: Any, views: list[TreeView]) -> _OnnxParts:
    """The parts of a regressor: trees of scaled values, because the tree operator returns float32, and the scale."""
    helper = onnx.helper
    scale = _scale_of_leaves(views)
    return _OnnxParts(
        [
            *_onnx_trees(onnx, views, scale, "scaled"),
            helper.make_node("Cast", ["scaled"], ["scaled_doubles"], to=onnx.TensorProto.DOUBLE),
            helper.make_node("Mul", ["scaled_doubles", "unit"], ["distance"]),
            helper.make_node("Add", ["distance", "offset"], ["prediction"]),
        ],
        [helper.make_tensor_value_info("prediction", onnx.TensorProto.DOUBLE, [None, 1])],
        [
            helper.make_tensor("unit", onnx.TensorProto.DOUBLE, [1], [math.ldexp(1.0, scale.exponent)]),
            helper.make_tensor("offset", onnx.TensorProto.DOUBLE, [1], [scale.offset]),
        ],
    )


def _onnx_trees(onnx: Any, views: list[TreeView], scale: TargetScale, output: str) -> list[Any]:
    """The nodes that evaluate the trees in float64; their output is float32."""
    # Not TreeEnsembleClassifier: it has rules of its own for two classes and for ties, which differ between releases
    # of ONNX Runtime. TreeEnsemble has leaves of a single class each, so trees would have to be repeated per class.
    trees = _onnx_tree_attributes(onnx, views, scale)
    return [
        onnx.helper.make_node("Cast", ["X"], ["doubles"], to=onnx.TensorProto.DOUBLE),
        onnx.helper.make_node("TreeEnsembleRegressor", ["doubles"], [output], domain="ai.onnx.ml", **trees),
    ]


def _onnx_tree_attributes(onnx: Any, views: list[TreeView], scale: TargetScale) -> dict[str, Any]:
    """The attributes of the tree operator: one entry per node, and one per leaf and class present in it."""
    sizes = [len(view) for view in views]
    is_leaf = np.concatenate([view.is_leaf for view in views])
    tree_ids, node_ids = np.repeat(np.arange(len(views)), sizes), np.concatenate([np.arange(size) for size in sizes])
    values = scale.scaled(np.concatenate([view.values for view in views]))
    has_value = (values != 0) & is_leaf[:, None]
    has_value[:, 0] |= is_leaf & ~has_value.any(axis=1)  # every leaf has an entry, also one whose mean is zero
    present, target_ids = np.nonzero(has_value)

    def of_splits(name: str) -> NDArray[Any]:
        ours = np.concatenate([getattr(view, name) for view in views])
        return np.where(is_leaf, ours.dtype.type(0), ours)

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
        "target_ids": target_ids.tolist(),
        "target_weights_as_tensor": _doubles(onnx, values[present, target_ids]),
        "n_targets": values.shape[1],
        "aggregate_function": "AVERAGE",
    }


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
    is_leaf, n_rows = view.is_leaf, np.rint(view.counts.sum(axis=1)).astype(int).tolist()
    values = (
        view.values.tolist() if view.values.shape[1] > 1 else view.values[:, 0].tolist()
    )  # no vectors of length one
    builder.start_tree()
    for node in range(len(view)):
        builder.start_node(node)
        if is_leaf[node]:
            builder.leaf(values[node])
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


def _shap_tree(view: TreeView, n_trees: int, offset: float) -> dict[str, NDArray[Any]]:
    return {
        "children_left": view.left.astype(np.int32),
        "children_right": view.right.astype(np.int32),
        "children_default": view.right.astype(np.int32),
        "features": view.attribute.astype(np.int32),
        "thresholds": np.where(view.is_leaf, -1.0, view.threshold.astype(np.float64)),
        "values": (view.values - offset) / n_trees,
        "node_sample_weight": view.weight.copy(),
    }
