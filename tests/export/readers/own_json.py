"""The JSON of `to_json`, scored as docs/model_format.md says, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.export.readers import descend

ACTIVATIONS = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}


def predict(model: Any, X: np.ndarray) -> np.ndarray:
    """Score rows of objects: numbers, days, text, and None where they are missing."""
    if "rankers" in model:
        scores = [predict(each, X) for each in model["rankers"]]
        return sum(w * s for w, s in zip(model["weights"], scores, strict=True))
    if "estimators" in model:
        return sum(predict(each, X) for each in model["estimators"]) / len(
            model["estimators"]
        )
    if "steps" in model:
        *steps, last = model["steps"]
        for step in steps:
            X = transform(step, X)
        return predict(last, X)
    return of_trees(model, X) if "trees" in model else of_network(model, X)


def of_trees(model: Any, X: np.ndarray) -> np.ndarray:
    """Score rows by trees."""
    total = np.full(len(X), model["base_score"])
    for tree in model["trees"]:

        def split(node: int, rows: np.ndarray, tree: Any = tree) -> Any:
            j = tree["feature"][node]
            if j < 0:
                return None
            feature, values = model["features"][j], rows[:, j].tolist()
            if feature["type"] == "number":
                x = np.array(values, dtype=np.float64)
                left, missing = x <= tree["threshold"][node], np.isnan(x)
            else:
                lefts = tree["left_categories"][str(node)]
                left = np.array([v in lefts for v in values], dtype=bool)
                known = feature["categories"]
                missing = np.array([v not in known for v in values], dtype=bool)
            left = np.where(missing, tree["missing_left"][node], left)
            return left, tree["left"][node], tree["right"][node]

        total += descend(0, X, split, lambda node, tree=tree: tree["value"][node])
    return total


def of_network(model: Any, X: np.ndarray) -> np.ndarray:
    """Score rows by a network, in float32."""
    a = X.astype(np.float64).astype(np.float32)
    *hidden, last = model["layers"]
    for layer in hidden:
        z = a @ np.float32(layer["matrix"]).T + np.float32(layer["bias"])
        a = ACTIVATIONS[model["activation"]](z)
    return (a @ np.float32(last["matrix"]).T)[:, 0]


def transform(step: Any, X: np.ndarray) -> np.ndarray:
    """Return the rows that a step makes of rows."""
    if step["estimator"] == "TableVectorizer":
        return vectorize(step, X)
    X, own, given = X.astype(np.float64), step["estimator"], step["parameters"]
    if own == "SimpleImputer":
        return np.where(np.isnan(X), step["statistics"], X)
    if own == "SmoothClipScaler":
        return smooth(step, X)
    if own == "StandardScaler":
        X = X - np.array(step["mean"], float) if given["with_mean"] else X
        return X / np.array(step["scale"], float) if given["with_std"] else X
    X = X * np.array(step["scale"], float) + np.array(step["min"], float)
    return np.clip(X, *given["feature_range"]) if given["clip"] else X


def smooth(step: Any, X: np.ndarray) -> np.ndarray:
    """Return scaled and smoothly clipped numbers."""
    scale = [np.inf if s is None else s for s in step["scale"]]
    z = np.clip((X / 2 - np.array(step["center"]) / 2) / (np.array(scale) / 2),
                -1e100, 1e100)  # fmt: skip
    return z / np.sqrt(1 + (z / 3) ** 2) / np.array(step["rms"])


def vectorize(step: Any, X: np.ndarray) -> np.ndarray:
    """Return the columns of a table as numbers."""
    features = step["features"]
    numbers = [j for j, f in enumerate(features) if f["type"] == "number"]
    columns = [np.nan_to_num(smooth(step, X[:, numbers].astype(np.float64)))]
    columns.append(np.isnan(X[:, step["indicated"]].astype(np.float64)))
    categorical = [j for j in range(len(features)) if j not in numbers]
    for j, of_column in zip(categorical, step["tables"], strict=True):
        row = {value: i for i, value in enumerate(features[j]["categories"])}
        last = len(row)  # of missing and unknown ones
        index = [row.get(value, last) for value in X[:, j].tolist()]
        columns.append(np.array(of_column["rows"])[index])
    return np.hstack(columns)
