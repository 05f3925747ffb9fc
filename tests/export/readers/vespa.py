"""Vespa: the importer of LightGBM's JSON, and its two evaluations of the expression."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.export.readers import descend


def predict(text: str, X: np.ndarray, held: type = np.float64) -> np.ndarray:
    """Score rows, of objects: numbers, and text of categories or None.

    All is float64, but the optimized evaluation has its constants held in float32.
    """
    model = json.loads(text)
    names = model["feature_names"]
    infos = model["feature_infos"]
    categorical = [j for j, n in enumerate(names) if infos.get(n, {}).get("values")]
    listed = model["pandas_categorical"]
    assert len(listed) == len(categorical)
    labels = dict(zip(categorical, listed, strict=True))

    def split(node: Any, rows: np.ndarray) -> Any:
        if "left_child" not in node:
            return None
        j = node["split_feature"]
        if node["decision_type"] == "==":
            # older versions of the importer do not ask for it
            assert node["default_left"] is False
            codes = map(int, node["threshold"].split("||"))
            among = {labels[j][code] for code in codes}
            goes_left = np.array([value in among for value in rows[:, j]], dtype=bool)
        else:
            x, t = rows[:, j].astype(np.float64), np.float64(held(node["threshold"]))
            goes_left = ~(x >= t) if node["default_left"] else x < t
        return goes_left, node["left_child"], node["right_child"]

    total = np.zeros(len(X))
    for tree in model["tree_info"]:
        total += descend(
            tree["tree_structure"], X, split, lambda node: held(node["leaf_value"])
        )
    return 1 / (1 + np.exp(-total)) if model["objective"] == "binary" else total
