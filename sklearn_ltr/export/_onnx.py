"""ONNX: trees as one TreeEnsemble in float64, networks and scalers as graphs.

In a TreeEnsemble, inner nodes of all trees are numbered apart from all leaves, and
children are one or the other.  A row goes to ``nodes_truenodeids`` where the test is
true, which is left.  But nodes of categories that send missing values left test the set
of the categories that go right, so that unseen categories go the missing way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export._estimators import MISSING, trees_alone
from sklearn_ltr.export._pipelines import (
    NETWORKS,
    Imputation,
    Standardization,
    Step,
    perceptron_of,
    split_pipeline,
)
from sklearn_ltr.export._tree_model import (
    Node,
    Tree,
    TreeModel,
    category_tests,
    codes_of,
    joined,
    unfold,
)
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
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

    def constant(self, value: ArrayLike) -> str:
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
            self.add("Div", self.constant(float(len(members))))
            return names
        steps, fitted, names = split_pipeline(estimator)
        is_bag, is_network = (isinstance(fitted, c) for c in (BaggingRanker, NETWORKS))
        trees = None if is_bag or is_network else trees_alone(fitted, missing)
        if missing == "zero" and (steps or is_network):
            zeros = np.zeros(len(names))  # categories stay missing
            for step in steps:
                if isinstance(step, TableVectorizer):
                    zeros[[table.feature for table in step._tables]] = np.nan
            steps = [Imputation(zeros), *steps]
        for step in steps:
            self.add_step(step)
        if is_bag:
            self.add_estimator(fitted, "branch")
        elif trees is None:
            self.add_layers(perceptron_of(fitted))
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
                self.add("Mul", self.constant(weight))
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
        elif isinstance(step, SmoothClipScaler):
            self.add_smooth_clip(step)
        elif isinstance(step, TableVectorizer):
            self.add_vectorization(step)
        else:
            self.add("Mul", self.constant(step.factor))
            self.add("Add", self.constant(step.offset))
            if step.limits is not None:
                self.add("Clip", *(self.constant(float(end)) for end in step.limits))

    def add_smooth_clip(self, step: SmoothClipScaler) -> None:
        """Add a SmoothClipScaler, in the order of its operations."""
        unit = unit_of(step.scale_)
        self.add("Mul", self.constant(unit))
        self.add("Sub", self.constant(step.center_ * unit))
        self.add("Div", self.constant(step.scale_ * unit))
        self.add("Clip", self.constant(-LARGEST), self.constant(LARGEST))
        z = self.last
        self.add("Div", self.constant(LIMIT))
        self.add("Mul", self.last)
        self.add("Add", self.constant(1.0))
        self.add("Sqrt")
        root, self.last = self.last, z
        self.add("Div", root)
        self.add("Div", self.constant(step.rms_))

    def add_vectorization(self, step: TableVectorizer) -> None:
        """Add a TableVectorizer; categories are looked up by their codes."""
        from onnx import TensorProto, numpy_helper

        given, columns = self.last, []
        if step.scaler_ is not None:
            self.take_columns(given, step._numbers)
            self.add_smooth_clip(step.scaler_)
            self.add_step(Imputation(np.zeros(len(step._numbers))))
            columns.append(self.last)
        if len(step._indicated) > 0:
            self.take_columns(given, step._numbers[step._indicated])
            self.add("IsNaN")
            self.add("Cast", to=TensorProto.DOUBLE)
            columns.append(self.last)
        for table in step._tables:
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
        """Add a node that takes some columns of a table."""
        self.last = given
        self.add("Gather", self.constant(columns.astype(np.int64)), axis=1)

    def add_layers(self, network: MultilayerPerceptron) -> None:
        """Add a network, in float32."""
        from onnx import TensorProto

        self.add("Cast", to=TensorProto.FLOAT)
        for coef, bias in zip(network.coefs, network.intercepts, strict=False):
            self.add("MatMul", self.constant(coef))
            self.add("Add", self.constant(bias))
            if network.activation in ONNX_ACTIVATIONS:
                self.add(ONNX_ACTIVATIONS[network.activation])
        self.add("MatMul", self.constant(network.coefs[-1]))
        self.add("Cast", to=TensorProto.DOUBLE)

    def add_trees(self, model: TreeModel) -> None:
        """Add trees, in float64."""
        from onnx import TensorProto, helper, numpy_helper

        trees, codes = [whole_tree(tree) for tree in model.trees], codes_of(model)
        first_inner, first_leaf = [0], 0
        columns: list[dict[str, NDArray[Any]]] = []  # of the inner nodes of each tree
        members: list[float] = []  # of sets of categories, NaN after each
        for tree in trees:
            inner = np.flatnonzero(~tree.is_leaf)
            number = np.where(
                tree.is_leaf,
                first_leaf + np.cumsum(tree.is_leaf) - 1,
                first_inner[-1] + np.cumsum(~tree.is_leaf) - 1,
            )
            mode = np.full(len(tree.feature), LEQ)
            split, tracks_true = tree.threshold.copy(), tree.missing_left.copy()
            true, false = tree.left.copy(), tree.right.copy()
            for node, test in category_tests(tree, codes).items():
                true[node], false[node] = test.child, test.other
                tracks_true[node] = False
                if test.codes:
                    mode[node], split[node] = MEMBER, 0.0
                    members += [*map(float, test.codes), np.nan]
                else:  # no set is empty in ONNX: no number is at most minus infinity
                    split[node] = -np.inf
            columns.append(
                {
                    "nodes_featureids": tree.feature[inner],
                    "nodes_modes": mode[inner],
                    "nodes_splits": split[inner],
                    "nodes_missing_value_tracks_true": tracks_true[inner],
                    "nodes_truenodeids": number[true[inner]],
                    "nodes_trueleafs": tree.is_leaf[true[inner]],
                    "nodes_falsenodeids": number[false[inner]],
                    "nodes_falseleafs": tree.is_leaf[false[inner]],
                }
            )
            first_inner.append(first_inner[-1] + len(inner))
            first_leaf += int(tree.is_leaf.sum())
        nodes = joined(columns)
        modes = nodes.pop("nodes_modes").tolist()
        splits = numpy_helper.from_array(nodes.pop("nodes_splits"), "splits")
        weights = leaf_values(trees)
        attributes: dict[str, Any] = {
            "aggregate_function": SUM,
            "post_transform": NO_TRANSFORM,
            "n_targets": 1,
            "tree_roots": first_inner[:-1],
            "nodes_splits": splits,
            "nodes_modes": helper.make_tensor(
                "modes", TensorProto.UINT8, [len(modes)], modes
            ),
            "leaf_targetids": [0] * len(weights),
            "leaf_weights": numpy_helper.from_array(weights, "weights"),
            **{key: v.astype(np.int64).tolist() for key, v in nodes.items()},
        }
        if members:
            attributes["membership_values"] = numpy_helper.from_array(
                np.array(members), "members"
            )
        self.add("TreeEnsemble", domain="ai.onnx.ml", **attributes)


def whole_tree(tree: Tree) -> Tree:
    """Return a tree with a root, which ONNX needs, also if it is a single leaf."""
    if len(tree.feature) > 1:
        return tree
    root, leaf = Node(feature=0), Node(value=tree.value[0])
    leaves = {"left": leaf, "right": leaf}
    return unfold(root, lambda node: (node, leaves if node is root else {}))


def leaf_values(trees: Sequence[Tree]) -> NDArray[np.float64]:
    """Return the values of all leaves, tree by tree."""
    return np.concatenate([tree.value[tree.is_leaf] for tree in trees])
