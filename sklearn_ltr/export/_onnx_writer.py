"""ONNX: trees as one TreeEnsemble in float64, networks and scalers as graphs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._layers import (
    NETWORKS,
    Layers,
    Scaling,
    Standardization,
    layers_of,
    split_pipeline,
)
from sklearn_ltr.export._lightgbm_writer import without_init_score
from sklearn_ltr.export._onnx_trees import tree_ensemble_attributes

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10
ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def to_onnx(estimator: Any) -> Any:
    """Return a fitted model as an ONNX model.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor, MARTClassifier, LambdaRankRanker, \
            RankNetRanker or a Pipeline of one of them
        Fitted.  The steps of a Pipeline before the last one are StandardScaler or
        MinMaxScaler.

    Returns
    -------
    model : onnx.ModelProto
        Of the input `X`, (n_documents, n_features) float64, and the output `scores`,
        (n_documents,) float64: what ``predict`` returns, or the ``decision_function``
        of a classifier.  Names of columns are in the metadata, as JSON, if there are
        any.  Trees are a TreeEnsemble of ai.onnx.ml 5 in float64: the same leaves;
        onnxruntime adds their values in the order of the trees in one thread, and
        then the scores are the same bit for bit.  Networks compute in float32, in an
        order of their own, so the last digits of scores differ.  Categories are codes,
        as in :func:`to_lightgbm`.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError, ValueError
        As :func:`to_lightgbm`; for other steps of a Pipeline, and networks of your own.

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

    scalings, fitted, names = split_pipeline(estimator)
    graph = Graph()
    for scaling in scalings:
        graph.add_scaling(scaling)
    if isinstance(fitted, NETWORKS):
        graph.add_layers(layers_of(fitted))
    else:
        graph.add_trees(fitted)
    axis = graph.constant(np.array([1], dtype=np.int64))
    graph.nodes.append(helper.make_node("Squeeze", [graph.last, axis], ["scores"]))
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


class Graph:
    """Nodes of a graph, one after another, beginning with the input X."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "X"

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value), name)
        )
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> None:
        """Add a node that takes the last output, and `inputs`."""
        from onnx import helper

        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, [self.last, *inputs], [output], **attributes)
        )
        self.last = output

    def add_scaling(self, scaling: Scaling) -> None:
        """Add a scaler, in the order of scikit-learn's operations, in float64."""
        if isinstance(scaling, Standardization):
            self.add("Sub", self.constant(scaling.mean))
            self.add("Div", self.constant(scaling.scale))
            return
        self.add("Mul", self.constant(scaling.factor))
        self.add("Add", self.constant(scaling.offset))
        if scaling.limits is not None:
            low, high = (np.array(limit, np.float64) for limit in scaling.limits)
            self.add("Clip", self.constant(low), self.constant(high))

    def add_layers(self, layers: Layers) -> None:
        """Add a network, in float32."""
        from onnx import TensorProto

        self.add("Cast", to=TensorProto.FLOAT)
        for weights, bias in zip(layers.weights, layers.biases, strict=False):
            self.add("MatMul", self.constant(weights))
            self.add("Add", self.constant(bias))
            if layers.activation in ACTIVATIONS:
                self.add(ACTIVATIONS[layers.activation])
        self.add("MatMul", self.constant(layers.weights[-1]))
        self.add("Cast", to=TensorProto.DOUBLE)

    def add_trees(self, fitted: Any) -> None:
        """Add trees, in float64."""
        model = without_init_score(to_tree_model(fitted)).with_base_score_in_leaves()
        attributes = tree_ensemble_attributes(model)
        self.add("TreeEnsemble", domain="ai.onnx.ml", **attributes)
