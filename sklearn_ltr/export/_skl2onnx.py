"""Converters for skl2onnx, which writes whole Pipelines of scikit-learn as ONNX.

skl2onnx writes ai.onnx.ml 3, in which trees are a TreeEnsembleRegressor.  It compares
float64 numbers, but adds values in float32.  So here each tree has an output of its
own, the number of the leaf that a row comes to; the values of these leaves are looked
up and added in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.optional import require
from sklearn_ltr.export._estimators import ESTIMATORS, trees_alone
from sklearn_ltr.export._onnx import OnnxGraph, leaf_values, whole_tree
from sklearn_ltr.export._pipelines import NETWORKS, perceptron_of
from sklearn_ltr.export._tree_model import TreeModel, category_tests, codes_of

__all__ = ["register_skl2onnx"]

ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 3


def register_skl2onnx() -> None:
    """Let skl2onnx convert Pipelines that end in an estimator of this package.

    Afterwards ``skl2onnx.to_onnx`` and ``skl2onnx.convert_sklearn`` convert them, with
    all other steps that skl2onnx knows: a
    ColumnTransformer, encoders, imputers, scalers.  (:func:`to_onnx` needs no other
    package, and takes scalers only.)

    Call it once in a process; a second call changes nothing.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    See Also
    --------
    to_onnx : A model alone, or after scalers.

    Notes
    -----
    The estimators are those of :func:`to_onnx`, and so is the output, `scores`: one
    float64 for each document, of shape (n_documents,); of a MARTClassifier the
    ``decision_function``.  What :func:`to_onnx` refuses, skl2onnx refuses with the same
    error.

    Declare numbers as ``DoubleTensorType``, or give ``skl2onnx.to_onnx`` rows of
    float64: then trees compare the numbers that ``predict`` compares, documents come to
    the same leaves, and scores differ in the last digits at most, since onnxruntime
    adds in another order.  A number that was rounded to float32 may come to the other
    side of a threshold.  Categories are numbers here, the codes of an OrdinalEncoder.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx  # doctest: +SKIP
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import register_skl2onnx
    >>> X = np.array([[1.0], [2.0], [np.nan], [4.0]])
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> pipeline = make_pipeline(SimpleImputer(), ranker)
    >>> pipeline = pipeline.fit(X, [0, 1, 1, 2], lambdamartranker__groups=[7, 7, 7, 7])
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> model = skl2onnx.to_onnx(pipeline, X[:1])  # doctest: +SKIP
    >>> [output.name for output in model.graph.output]  # doctest: +SKIP
    ['scores']
    """
    require("skl2onnx", "register_skl2onnx")
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType

    def declare_scores(
        scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None
    ) -> Any:
        check_is_fitted(model)
        operator = scope.declare_local_operator(alias[type(model)], model)
        operator.inputs = inputs
        scores = scope.declare_local_variable("scores", DoubleTensorType([None]))
        operator.outputs.append(scores)
        return operator.outputs

    def set_output_type(operator: Any) -> None:
        operator.outputs[0].type = DoubleTensorType([None])

    known = *ESTIMATORS.values(), *NETWORKS
    alias = {cls: f"SklearnLtr{cls.__name__}" for cls in known}
    for cls, name in alias.items():
        update_registered_converter(
            cls, name, set_output_type, add_model, parser=declare_scores
        )


def add_model(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to the container of skl2onnx."""
    from onnx import TensorProto, helper

    graph = OnnxGraph()
    names = {"scores": operator.outputs[0].full_name}  # in the graph: in the container
    columns = []  # a table for each input of the operator
    for number, variable in enumerate(operator.inputs):
        names[f"input_{number}"] = variable.full_name
        graph.last = f"input_{number}"
        graph.add("Cast", to=TensorProto.DOUBLE)
        columns.append(graph.last)
    if len(columns) > 1:
        graph.last = columns[0]
        graph.add("Concat", *columns[1:], axis=1)
    if isinstance(operator.raw_operator, NETWORKS):
        graph.add_layers(perceptron_of(operator.raw_operator))
        graph.end("Squeeze")
    else:
        add_trees(graph, trees_alone(operator.raw_operator, "branch"))
    for constant in graph.constants:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        container.add_initializer(names[constant.name], None, None, constant)
    for node in graph.nodes:
        for name in node.output:
            if name not in names:
                names[name] = scope.get_unique_variable_name(name)
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[name] for name in node.output],
            op_domain=node.domain,
            op_version=ML_OPSET if node.domain else None,  # None: by the target
            name=scope.get_unique_operator_name(node.op_type),
            **{a.name: helper.get_attribute_value(a) for a in node.attribute},
        )


class Node(NamedTuple):
    """A node of a TreeEnsembleRegressor, by the names of the operator's attributes."""

    treeids: int
    nodeids: int
    modes: str = "LEAF"
    featureids: int = 0
    values: float = 0.0
    missing_value_tracks_true: int = 0
    truenodeids: int = 0
    falsenodeids: int = 0


def add_trees(graph: OnnxGraph, model: TreeModel) -> None:
    """Add trees: their leaves are found, looked up and added."""
    from onnx import TensorProto, numpy_helper

    trees, codes = [whole_tree(tree) for tree in model.trees], codes_of(model)
    nodes: list[Node] = []
    for m, tree in enumerate(trees):
        tests, n_nodes = category_tests(tree, codes), len(tree.feature)
        for node, j in enumerate(tree.feature.tolist()):
            limit, missing = float(tree.threshold[node]), int(tree.missing_left[node])
            child, other = int(tree.left[node]), int(tree.right[node])
            members: list[int] = []
            if node in tests:
                members, child, other = tests[node]
                limit, missing = -np.inf, 0  # no number is at most minus infinity
            if tree.is_leaf[node]:
                nodes.append(Node(m, node))
            elif not members:
                test = Node(m, node, "BRANCH_LEQ", j, limit, missing, child, other)
                nodes.append(test)
            else:
                # a node for each category; NaN equals no number, and so fails all tests
                more = range(n_nodes, n_nodes + len(members) - 1)
                n_nodes += len(more)
                nodes += [
                    Node(m, number, "BRANCH_EQ", j, float(code), 0, child, failed)
                    for code, number, failed in zip(
                        members, [node, *more], [*more, other], strict=True
                    )
                ]
    columns: dict[str, Any] = {
        f"nodes_{name}": list(column)
        for name, column in zip(Node._fields, zip(*nodes, strict=True), strict=True)
    }
    values = np.array(columns.pop("nodes_values"))
    leaves = [np.flatnonzero(tree.is_leaf) for tree in trees]
    n_leaves = [len(part) for part in leaves]
    tree_of_leaf = np.repeat(np.arange(len(trees)), n_leaves).tolist()
    # output m is the number of the leaf among those of tree m
    number = np.concatenate([np.arange(float(n)) for n in n_leaves])
    graph.add(
        "TreeEnsembleRegressor",
        domain=ML_DOMAIN,
        n_targets=len(trees),
        aggregate_function="SUM",
        post_transform="NONE",
        **columns,
        nodes_values_as_tensor=numpy_helper.from_array(values, "values"),
        target_treeids=tree_of_leaf,
        target_nodeids=np.concatenate(leaves).tolist(),
        target_ids=tree_of_leaf,
        target_weights_as_tensor=numpy_helper.from_array(number, "leaves"),
    )
    graph.add("Cast", to=TensorProto.INT64)  # exact, as there are below 2^24 leaves
    first = np.cumsum([0, *n_leaves[:-1]], dtype=np.int64)
    graph.add("Add", graph.constant(first))
    found = graph.last
    graph.last = graph.constant(leaf_values(trees))
    graph.add("Gather", found)
    graph.end("ReduceSum", keepdims=0)
