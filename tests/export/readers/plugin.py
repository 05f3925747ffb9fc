"""Elasticsearch and OpenSearch Learning to Rank: feature sets, trees, linear models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.export.readers import descend, float32_sum

NODE_KEYS = {
    "nodeid": int,
    "depth": int,
    "split": str,
    "split_condition": float,
    "no": int,
    "yes": int,
    "missing": int,
    "leaf": float,
    "children": list,
}
# those of all versions; "rank:ndcg" was refused before 1.5.9 and OpenSearch 3.2
NO_TRANSFORM = {"binary:logitraw", "rank:pairwise", "reg:linear"}
SIGMOID = {"binary:logistic", "reg:logistic"}


def names_of_features(body: dict[str, Any]) -> list[str]:
    """Return the names of a feature set, as the plugin accepts it."""
    (key, feature_set), *others = body.items()
    assert (key, others) == ("featureset", [])
    for feature in feature_set["features"]:
        assert set(feature) == {"name", "params", "template_language", "template"}
        assert all(isinstance(p, str) for p in feature["params"])
    return [feature["name"] for feature in feature_set["features"]]


def predict(
    body: dict[str, Any], names: list[str], X: np.ndarray, missing: str = "branch"
) -> np.ndarray:
    """Score float32 rows by a model.

    Versions send a missing value where the model says ("branch"), to the child "no", or
    where 0 goes ("zero").
    """
    assert set(body) == {"model"} and set(body["model"]) == {"name", "model"}
    model = body["model"]["model"]
    X = X.astype(np.float32)
    definition = json.loads(model["definition"])
    if model["type"] == "model/linear":
        return linear(definition, model.get("feature_normalizers", {}), names, X)
    assert model["type"] == "model/xgboost+json" and set(model) == {
        "type",
        "definition",
    }
    assert set(definition) == {"objective", "splits"}
    for root in definition["splits"]:
        check(root, names)

    def split(node: Any, rows: np.ndarray) -> Any:
        if "leaf" in node:
            return None
        x = rows[:, names.index(node["split"])]
        threshold = np.float32(node["split_condition"])
        goes_left = threshold > x
        goes_left[np.isnan(x)] = {
            "branch": node["missing"] == node["yes"],
            "no": False,
            "zero": threshold > 0,
        }[missing]
        return goes_left, *node["children"]

    total = float32_sum(
        [descend(root, X, split, lambda n: n["leaf"]) for root in definition["splits"]]
    )
    if definition["objective"] in SIGMOID:
        return (1 / (1 + np.exp(-total.astype(np.float64)))).astype(np.float32)
    assert definition["objective"] in NO_TRANSFORM
    return total


def check(root: dict[str, Any], names: list[str]) -> None:
    """Check what the plugin checks."""
    stack = [root]
    while stack:
        node = stack.pop()
        for key, value in node.items():
            assert isinstance(value, NODE_KEYS[key])
        if "leaf" in node:
            assert "nodeid" in node
            continue
        assert set(node) == set(NODE_KEYS) - {"leaf"}
        assert node["split"] in names
        yes, no = node["children"]
        assert (node["yes"], node["no"]) == (yes["nodeid"], no["nodeid"])
        assert np.isfinite(np.float32(node["split_condition"]))
        stack += [yes, no]


def linear(
    weights: dict[str, float],
    normalizers: dict[str, Any],
    names: list[str],
    X: np.ndarray,
) -> np.ndarray:
    """Add weighted, normalized features in float32."""
    terms = []
    for name, weight in weights.items():
        x = X[:, names.index(name)]
        if name in normalizers:
            ((kind, params),) = normalizers[name].items()
            first, second = (np.float32(value) for value in params.values())
            # "min_max" is refused for columns with numbers below 0
            assert (kind, *params) == ("standard", "mean", "standard_deviation")
            assert second > 0
            x = (x - first) / second
        terms.append(x * np.float32(weight))
    return float32_sum(terms)
