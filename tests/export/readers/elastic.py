"""Elastic's own learning to rank: a trained model of trees, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.export.readers import descend

SPLIT = {
    "node_index": int,
    "split_feature": int,
    "decision_type": str,
    "threshold": float,
    "default_left": bool,
    "left_child": int,
    "right_child": int,
}


def predict(body: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Score float64 rows."""
    assert set(body) == {"inference_config", "definition"}
    config = body["inference_config"]["learning_to_rank"]
    extracted = [e["query_extractor"] for e in config["feature_extractors"]]
    model = body["definition"]["trained_model"]["ensemble"]
    assert [e["feature_name"] for e in extracted] == model["feature_names"]
    assert model["target_type"] == "regression"
    weights = model["aggregate_output"]["weighted_sum"]["weights"]
    total = np.zeros(len(X))
    for tree, weight in zip(model["trained_models"], weights, strict=True):
        tree = tree["tree"]
        assert tree["feature_names"] == model["feature_names"]
        nodes = {node["node_index"]: node for node in tree["tree_structure"]}
        assert list(nodes) == list(range(len(nodes)))

        def split(node: Any, rows: np.ndarray, nodes: Any = nodes) -> Any:
            if "left_child" not in node:
                assert set(node) == {"node_index", "leaf_value"}
                return None
            assert {key: type(value) for key, value in node.items()} == SPLIT
            assert node["decision_type"] == "lte"
            x = rows[:, node["split_feature"]]
            goes_left = x <= node["threshold"]
            goes_left[np.isnan(x)] = node["default_left"]
            return goes_left, nodes[node["left_child"]], nodes[node["right_child"]]

        total += weight * descend(nodes[0], X, split, lambda n: n["leaf_value"])
    return total
