"""ONNX: trees as one TreeEnsemble in float64, networks and scalers as graphs.

In a TreeEnsemble, inner nodes of all trees are numbered apart from all leaves, and
children are one or the other.  A row goes to ``nodes_truenodeids`` where the test is
true, which is left.  But nodes of categories that send missing values left test the set
of the categories that go right, so that unseen categories go the missing way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export._estimators import MISSING, trees_alone
from sklearn_ltr.export._networks import NETWORKS, Layers, layers_of
from sklearn_ltr.export._pipelines import (
    Imputation,
    SmoothClip,
    Standardization,
    Step,
    Vectorization,
    split_pipeline,
)
from sklearn_ltr.export._tree_model import (
    Codes,
    Tree,
    TreeBuilder,
    TreeModel,
    category_tests,
    codes_of,
    joined,
)
from sklearn_ltr.preprocessing._smooth_clip import LARGEST, LIMIT, unit_of

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

__all__ = ["to_onnx"]

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10
ONNX_ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
SUM, NO_TRANSFORM = 1, 0
LEQ, MEMBER = 0, 6  # modes of nodes


def to_onnx(estimator: BaseEstimator, *, missing: str = "branch") -> ModelProto:
    """Return a fitted model as an ONNX model.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor, MARTClassifier, LambdaRankRanker, \
            RankNetRanker, or a Pipeline, BaggingRanker or BlendedRanker of them
        Fitted.  The steps of a Pipeline before the last one are SimpleImputer,
        StandardScaler, MinMaxScaler, SmoothClipScaler or TableVectorizer.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0 in
        X.  A missing category goes the same way with both.

    Returns
    -------
    model : onnx.ModelProto
        Of the input `X`, (n_documents, n_features) float64, and the output `scores`,
        (n_documents,) float64: what ``predict`` returns, or the ``decision_function``
        of a classifier.  Names of columns are in the metadata, as JSON, if there are
        any.  Trees are a TreeEnsemble of ai.onnx.ml 5 in float64: the same leaves;
        onnxruntime adds their values in the order of the trees in one thread, and
        then the scores are the same bit for bit.  Networks compute in float32, in
        another order, so the last digits of scores differ.  Categories are codes,
        as in :func:`to_lightgbm`, dates of a TableVectorizer days since 1970.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError, ValueError
        As :func:`to_lightgbm`; for other steps of a Pipeline, and networks of your own.

    See Also
    --------
    register_skl2onnx : Pipelines with encoders, imputers and other steps.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_onnx
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> [output.name for output in to_onnx(ranker).graph.output]
    ['scores']
    """
    from onnx import TensorProto, checker, helper

    MISSING.read_as("missing", missing)
    graph = OnnxGraph()
    names = graph.add_estimator(estimator, missing)
    graph.end("Squeeze")
    inputs = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", len(names)])
    output = helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "ranker", [inputs], [output], graph.constants),
        opset_imports=[
            helper.make_opsetid("", OPSET),
            helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ],
        ir_version=IR_VERSION,
        producer_name="sklearn_ltr",
    )
    helper.set_model_props(model, {"feature_names": json.dumps(names)})
    checker.check_model(model, full_check=True)
    return model


class OnnxGraph:
    """Nodes of a graph, one after another, beginning with the input X."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.last = "X"

    def constant(self, value: NDArray[np.generic]) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value), name)
        )
        return name

    def add(
        self, operator: str, *inputs: str, output: str = "", **attributes: object
    ) -> None:
        """Add a node that takes the last output, and `inputs`."""
        from onnx import helper

        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, [self.last, *inputs], [output], **attributes)
        )
        self.last = output

    def end(self, operator: str, **attributes: object) -> None:
        """Add the operator that makes `scores` of the last output, (n, columns)."""
        axis = self.constant(np.array([1], dtype=np.int64))
        self.add(operator, axis, output="scores", **attributes)

    def add_estimator(self, estimator: BaseEstimator, missing: str) -> list[str]:
        """Add a fitted model, (n, 1); return the names of its columns."""
        if isinstance(estimator, BlendedRanker):
            check_is_fitted(estimator)
            return self.add_sum(estimator.rankers_, estimator.weights_, missing)
        if isinstance(estimator, BaggingRanker):
            members = estimator._fitted().estimators_
            names = self.add_sum(members, np.ones(len(members)), missing)
            self.add("Div", self.constant(np.array(float(len(members)))))
            return names
        steps, fitted, names = split_pipeline(estimator)
        is_bag, is_network = (isinstance(fitted, c) for c in (BaggingRanker, NETWORKS))
        trees = None if is_bag or is_network else trees_alone(fitted, missing)
        if missing == "zero" and (steps or is_network):
            steps = [Imputation(zeros_for_missing(names, steps)), *steps]
        for step in steps:
            self.add_step(step)
        if is_bag:
            self.add_estimator(fitted, "branch")
        elif trees is None:
            self.add_layers(layers_of(fitted))
        else:
            self.add_trees(trees)
        return names

    def add_sum(
        self, members: Sequence[BaseEstimator], weights: FloatArray, missing: str
    ) -> list[str]:
        """Add a weighted sum of models, from the first to the last."""
        given, total = self.last, ""
        for member, weight in zip(members, weights.tolist(), strict=True):
            self.last = given
            names = self.add_estimator(member, missing)
            if weight != 1.0:
                self.add("Mul", self.constant(np.array(weight)))
            if total:
                self.add("Add", total)
            total = self.last
        return names

    def add_step(self, step: Step) -> None:
        """Add a step, in the order of scikit-learn's operations, in float64."""
        if isinstance(step, Imputation):
            given = self.last
            self.add("IsNaN")
            self.add("Where", self.constant(step.value), given)
        elif isinstance(step, Standardization):
            self.add("Sub", self.constant(step.mean))
            self.add("Div", self.constant(step.scale))
        elif isinstance(step, SmoothClip):
            self.add_smooth_clip(step)
        elif isinstance(step, Vectorization):
            self.add_vectorization(step)
        else:
            self.add("Mul", self.constant(step.factor))
            self.add("Add", self.constant(step.offset))
            if step.limits is not None:
                low, high = (np.array(limit, np.float64) for limit in step.limits)
                self.add("Clip", self.constant(low), self.constant(high))

    def add_smooth_clip(self, step: SmoothClip) -> None:
        """Add a SmoothClipScaler, in the order of its operations."""

        def number(value: float) -> str:
            return self.constant(np.array(value))

        unit = unit_of(step.scale)
        self.add("Mul", self.constant(unit))
        self.add("Sub", self.constant(step.center * unit))
        self.add("Div", self.constant(step.scale * unit))
        self.add("Clip", number(-LARGEST), number(LARGEST))
        z = self.last
        self.add("Div", number(LIMIT))
        self.add("Mul", self.last)
        self.add("Add", number(1.0))
        self.add("Sqrt")
        root, self.last = self.last, z
        self.add("Div", root)
        self.add("Div", self.constant(step.rms))

    def add_vectorization(self, step: Vectorization) -> None:
        """Add a TableVectorizer; categories are looked up by their codes."""
        from onnx import TensorProto, numpy_helper

        given, columns = self.last, []
        if step.clip is not None:
            self.take_columns(given, step.numbers)
            self.add_smooth_clip(step.clip)
            self.add_step(Imputation(np.zeros(len(step.numbers))))
            columns.append(self.last)
        if len(step.indicated) > 0:
            self.take_columns(given, step.indicated)
            self.add("IsNaN")
            self.add("Cast", to=TensorProto.DOUBLE)
            columns.append(self.last)
        for table in step.tables:
            n_known = len(table.categories)
            places = np.arange(n_known + 1.0)
            self.take_columns(given, np.array([table.feature]))
            self.add(
                "LabelEncoder",
                domain="ai.onnx.ml",
                keys_tensor=numpy_helper.from_array(
                    np.append(table.categories, np.nan), "keys"
                ),
                values_tensor=numpy_helper.from_array(places, "values"),
                default_tensor=numpy_helper.from_array(places[n_known:], "default"),
            )
            self.add("Cast", to=TensorProto.INT64)
            place, self.last = self.last, self.constant(table.numbers)
            self.add("Gather", place)  # (n, 1, columns)
            self.add("Squeeze", self.constant(np.array([1], dtype=np.int64)))
            columns.append(self.last)
        self.last = columns[0]
        if len(columns) > 1:
            self.add("Concat", *columns[1:], axis=1)

    def take_columns(self, given: str, columns: NDArray[np.intp]) -> None:
        """Add the choice of some columns of a table."""
        self.last = given
        self.add("Gather", self.constant(columns.astype(np.int64)), axis=1)

    def add_layers(self, layers: Layers) -> None:
        """Add a network, in float32."""
        from onnx import TensorProto

        self.add("Cast", to=TensorProto.FLOAT)
        for weights, bias in zip(layers.weights, layers.biases, strict=False):
            self.add("MatMul", self.constant(weights))
            self.add("Add", self.constant(bias))
            if layers.activation in ONNX_ACTIVATIONS:
                self.add(ONNX_ACTIVATIONS[layers.activation])
        self.add("MatMul", self.constant(layers.weights[-1]))
        self.add("Cast", to=TensorProto.DOUBLE)

    def add_trees(self, model: TreeModel) -> None:
        """Add trees, in float64."""
        attributes = tree_ensemble_attributes(model)
        self.add("TreeEnsemble", domain="ai.onnx.ml", **attributes)


def zeros_for_missing(names: list[str], steps: list[Step]) -> FloatArray:
    """Return 0 for each column of numbers, NaN for categories, which stay missing."""
    zeros = np.zeros(len(names))
    for step in steps:
        if isinstance(step, Vectorization):
            zeros[[table.feature for table in step.tables]] = np.nan
    return zeros


def tree_ensemble_attributes(model: TreeModel) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble that adds the trees."""
    from onnx import TensorProto, helper, numpy_helper

    trees = [whole_tree(tree) for tree in model.trees]
    first_inner = np.cumsum([0, *(int((~t.is_leaf).sum()) for t in trees)])
    first_leaf = np.cumsum([0, *(int(t.is_leaf.sum()) for t in trees)])
    codes = codes_of(model)
    arrays, sets = zip(
        *map(partial(node_arrays, codes), trees, first_inner, first_leaf), strict=True
    )
    members = [member for of_tree in sets for member in of_tree]
    columns = joined(arrays)
    modes = columns.pop("nodes_modes").astype(np.uint8)
    weights = leaf_values(trees)
    attributes: dict[str, Any] = {
        "aggregate_function": SUM,
        "post_transform": NO_TRANSFORM,
        "n_targets": 1,
        "tree_roots": first_inner[:-1].tolist(),
        "nodes_splits": numpy_helper.from_array(columns.pop("nodes_splits"), "splits"),
        "nodes_modes": helper.make_tensor(
            "modes", TensorProto.UINT8, [len(modes)], modes.tolist()
        ),
        "leaf_targetids": [0] * len(weights),
        "leaf_weights": numpy_helper.from_array(weights, "weights"),
        **{key: values.tolist() for key, values in columns.items()},
    }
    if members:
        attributes["membership_values"] = numpy_helper.from_array(
            np.array(members), "members"
        )
    return attributes


def whole_tree(tree: Tree) -> Tree:
    """Return the tree; one of a single leaf gets a root, which ONNX needs."""
    if len(tree.feature) > 1:
        return tree
    builder = TreeBuilder()
    root = builder.add(None, feature=0)
    builder.add((root, "left"), value=tree.value[0])
    builder.add((root, "right"), value=tree.value[0])
    return builder.tree()


def leaf_values(trees: Sequence[Tree]) -> NDArray[np.float64]:
    """Return the values of all leaves, tree by tree."""
    return np.concatenate([tree.value[tree.is_leaf] for tree in trees])


def node_arrays(
    codes: Codes, tree: Tree, first_inner: int, first_leaf: int
) -> tuple[dict[str, NDArray[Any]], list[float]]:
    """Return what describes the inner nodes of a tree; their sets, NaN after each."""
    inner = np.flatnonzero(~tree.is_leaf)
    number = np.where(
        tree.is_leaf,
        first_leaf + np.cumsum(tree.is_leaf) - 1,
        first_inner + np.cumsum(~tree.is_leaf) - 1,
    )
    mode = np.full(len(tree.feature), LEQ)
    split, tracks_true = tree.threshold.copy(), tree.missing_left.copy()
    true, false = tree.left.copy(), tree.right.copy()
    members: list[float] = []
    for node, test in category_tests(tree, codes).items():
        true[node], false[node], tracks_true[node] = test.child, test.other, False
        if test.codes:
            mode[node], split[node] = MEMBER, 0.0
            members += [*map(float, test.codes), np.nan]
        else:  # no set is empty in ONNX: no number is at most minus infinity
            split[node] = -np.inf
    arrays = {
        "nodes_featureids": tree.feature[inner],
        "nodes_modes": mode[inner],
        "nodes_splits": split[inner],
        "nodes_missing_value_tracks_true": tracks_true[inner].astype(np.int64),
        "nodes_truenodeids": number[true[inner]],
        "nodes_trueleafs": tree.is_leaf[true[inner]].astype(np.int64),
        "nodes_falsenodeids": number[false[inner]],
        "nodes_falseleafs": tree.is_leaf[false[inner]].astype(np.int64),
    }
    return arrays, members
