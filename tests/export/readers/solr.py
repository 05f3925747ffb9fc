"""Solr's Learning to Rank: trees, linear models and networks, in float32."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.export.readers import descend, float32_sum

NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
SLACK = np.float32(1e-6)
ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: np.where(x < 0, 0, x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x.astype(np.float64))),
    "tanh": lambda x: np.tanh(x.astype(np.float64)),
}


def names_of_features(definitions: list[dict[str, Any]], store: str) -> list[str]:
    """Return the names of features, as the feature store accepts them."""
    for feature in definitions:
        assert set(feature) == {"store", "name", "class", "params"}
        assert feature["store"] == store
    return [feature["name"] for feature in definitions]


def predict(body: dict[str, Any], names: list[str], X: np.ndarray) -> np.ndarray:
    """Score float32 rows by a model."""
    assert set(body) == {"store", "name", "class", "features", "params"}
    columns = []
    for feature in body["features"]:
        x = X[:, names.index(feature["name"])].astype(np.float32)
        columns.append(normalize(x, feature["norm"]) if "norm" in feature else x)
    X = np.column_stack(columns)
    names = [feature["name"] for feature in body["features"]]
    kind = body["class"].removeprefix("org.apache.solr.ltr.model.")
    return {
        "MultipleAdditiveTreesModel": trees,
        "LinearModel": linear,
        "NeuralNetworkModel": network,
    }[kind](body["params"], names, X)


def number(text: Any) -> np.float32:
    """Return what Float.parseFloat does."""
    assert NUMBER.fullmatch(text), text
    return np.float32(text)


def normalize(x: np.ndarray, norm: dict[str, Any]) -> np.ndarray:
    params = {key: number(text) for key, text in norm["params"].items()}
    if norm["class"] == "org.apache.solr.ltr.norm.StandardNormalizer":
        assert params["std"] > 0
        return (x - params["avg"]) / params["std"]
    assert norm["class"] == "org.apache.solr.ltr.norm.MinMaxNormalizer"
    assert params["min"] != params["max"]
    return (x - params["min"]) / (params["max"] - params["min"])


def trees(params: dict[str, Any], names: list[str], X: np.ndarray) -> np.ndarray:
    is_null_zero = params.get("isNullSameAsZero", True)
    assert isinstance(is_null_zero, bool)  # text, as in Solr's guide, is refused
    if is_null_zero:
        X = np.nan_to_num(X, nan=0.0)

    def split(node: Any, rows: np.ndarray) -> Any:
        if "feature" not in node:
            assert set(node) == {"value"}
            return None
        assert set(node) - {"missing"} == {"feature", "threshold", "left", "right"}
        x = rows[:, names.index(node["feature"])]
        goes_left = x <= number(node["threshold"]) + SLACK
        if not is_null_zero:
            assert node["missing"] in ("left", "right")
            goes_left[np.isnan(x)] = node["missing"] == "left"
        return goes_left, node["left"], node["right"]

    return float32_sum(
        [
            descend(tree["root"], X, split, lambda node: number(node["value"]))
            * number(tree["weight"])
            for tree in params["trees"]
        ]
    )


def linear(params: dict[str, Any], names: list[str], X: np.ndarray) -> np.ndarray:
    weights = params["weights"]
    assert set(weights) == set(names)
    return float32_sum(
        [X[:, j] * np.float32(weights[name]) for j, name in enumerate(names)]
    )


def network(params: dict[str, Any], names: list[str], X: np.ndarray) -> np.ndarray:
    for layer in params["layers"]:
        assert all(type(w) is float for row in layer["matrix"] for w in row)
        matrix = np.array(layer["matrix"], dtype=np.float32)
        bias = np.array(layer["bias"], dtype=np.float32)
        assert matrix.shape == (len(bias), X.shape[1])
        z = X @ matrix.T + bias
        X = ACTIVATIONS[layer["activation"]](z).astype(np.float32)
    assert X.shape[1] == 1
    return X[:, 0]
