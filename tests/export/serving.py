"""What the readers of served models are given, and what they shall answer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._compile import INTERPRETED
from sklearn_ltr.export import TreeModel, to_tree_model
from sklearn_ltr.export._float32 import LARGEST, at_most
from sklearn_ltr.mart import MARTRegressor
from tests.export.models import (
    GROUPS,
    TREES,
    N,
    fitted,
    grades,
    numbers,
    rows_of,
    score,
    table,
)
from tests.export.readers import descend, float32_sum

N_ROWS = 2_000 if INTERPRETED else 100_000
NUMERIC = (
    "ranker",
    "regressor",
    "classifier",
    "on top",
    "one leaf",
    "missing",
    "named",
)


@cache
def served() -> dict[str, Any]:
    """Return more models by name: a stump without a split, and one of named columns."""
    X = numbers()
    named = pd.DataFrame(X[:, :4], columns=["title", "é fresh", "n/a", "price"])
    return fitted() | {
        "one leaf": MARTRegressor(n_estimators=2, min_samples_leaf=N).fit(X, X[:, 0]),
        "missing": MARTRegressor(n_estimators=2, min_samples_leaf=99).fit(
            X[:, [3]] * 0, np.isnan(X[:, 3]) + 0.1
        ),
        "named": LambdaMARTRanker(**TREES).fit(named, grades(X), groups=GROUPS),
        "text": LambdaMARTRanker(**TREES).fit(
            table().drop(columns="kind"), grades(table()), groups=GROUPS
        ),
    }


def own_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Return our scores of an array, which gets the names of the columns."""
    names = getattr(model, "feature_names_in_", None)
    table = X.astype(np.float64)
    return score(model, table if names is None else pd.DataFrame(table, columns=names))


def codes(model: Any, X: Any) -> np.ndarray:
    """Return a table as float64: text categories are their codes, 1000 if unseen."""
    if not isinstance(X, pd.DataFrame):
        return X
    columns = []
    for j, feature in enumerate(to_tree_model(model).features):
        values = X.iloc[:, j]
        if feature.is_text:
            code = {text: i for i, text in enumerate(feature.categories)}
            known = {text: code.get(text, 1000) for text in values.dropna().unique()}
            values = values.astype(object).map(known)
        columns.append(values.astype(np.float64))
    return np.column_stack(columns)


def rows(model: Any) -> Any:
    """Random rows; half of their numbers are at thresholds or beside, or NaN."""
    n_features = to_tree_model(model).n_features
    if n_features == 5 or to_tree_model(model).has_categories:
        return rows_of(model, N_ROWS)
    return float32_rows(model).astype(np.float64)


def float32_rows(
    model: Any, n: int = N_ROWS, seed: int = 2, among: np.ndarray | None = None
) -> np.ndarray:
    """Rows of float32, half of whose numbers are at thresholds or beside, or NaN.

    The other half are those of rows `among`, or random.
    """
    rng = np.random.default_rng(seed)
    described = to_tree_model(model)
    if among is None:
        among = numbers(seed, n)
        if described.n_features < among.shape[1]:
            among = among[:, 4 - described.n_features : 4]
    X = among[rng.integers(0, len(among), n)]
    X = np.clip(X, -1e38, 1e38).astype(np.float32)
    for j in range(described.n_features):
        near = [at_most(tree.threshold[tree.feature == j]) for tree in described.trees]
        near = np.concatenate([*near, np.zeros(1, np.float32)])
        with np.errstate(over="ignore", under="ignore"):
            sides = [np.nextafter(near, np.float32(s)) for s in (np.inf, -np.inf)]
        near = np.concatenate([near, *sides])
        # nothing is above the largest float32, so `<` cannot send it left
        near = np.append(near[np.abs(near) < LARGEST], np.float32(np.nan))
        chosen = rng.random(n) < 0.5
        X[chosen, j] = rng.choice(near, chosen.sum())
    return X


def values_of_trees(model: TreeModel, X: np.ndarray) -> list[np.ndarray]:
    """Return the leaf value of each tree for float64 rows, by the description."""

    def of(tree: Any) -> np.ndarray:
        def split(node: int, rows: np.ndarray) -> Any:
            if tree.feature[node] < 0:
                return None
            x = rows[:, tree.feature[node]]
            goes_left = x <= tree.threshold[node]
            goes_left[np.isnan(x)] = tree.missing_left[node]
            return goes_left, tree.left[node], tree.right[node]

        return descend(0, X, split, lambda node: tree.value[node])

    return [of(tree) for tree in model.trees]


def float32_scores(model: Any, X: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Return what a reader adds in float32 that finds the right leaf of each tree."""
    described = to_tree_model(model).with_base_score_in_leaves()
    values = values_of_trees(described, X.astype(np.float64))
    return float32_sum([factor * of_tree for of_tree in values])


@cache
def networks() -> dict[str, Any]:
    """Return networks of every activation, by its name, and a linear one."""
    X = np.nan_to_num(numbers()[:, :4])
    y = grades(numbers())
    found: dict[str, Any] = {
        activation: LambdaRankRanker(
            hidden_layer_sizes=(6, 3),
            activation=activation,
            max_iter=3,
            random_state=0,
        ).fit(X, y, groups=GROUPS)
        for activation in ("identity", "logistic", "tanh", "relu")
    }
    found["linear"] = RankNetRanker(
        hidden_layer_sizes=(), max_iter=3, random_state=0
    ).fit(X, y, groups=GROUPS)
    return found
