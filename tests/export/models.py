"""Small models of every kind, and rows that lie on and beside their thresholds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    NothingLearnedWarning,
    RankNetRanker,
)
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.export import to_tree_model
from sklearn_ltr.export._float32 import LARGEST, at_most
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.export.readers import float32_sum

N_ROWS = 2_000 if INTERPRETED else 20_000
NUMERIC = (
    "regressor", "classifier", "dropped trees", "on top", "one leaf", "missing", "named"
)  # fmt: skip
OF_PLAIN_ROWS = ("ranker", *NUMERIC[:-1], "categories", "regressor of categories")
N_QUERIES, LENGTH = 40, 15
N = N_QUERIES * LENGTH
GROUPS = np.repeat(np.arange(N_QUERIES), LENGTH)
TREES: dict[str, Any] = {
    "n_estimators": 8,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 4,
    "category_smoothing": 1.0,
    "random_state": 0,
}
WORDS = np.array(["alpha", "beta", "gamma", 'de"lta', "", "zeta"])


def numbers(seed: int = 0, n: int = N) -> np.ndarray:
    """Columns of numbers: continuous, with zeros, of few values, with NaN, huge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(n) < 0.3, 1] = 0.0
    X[:, 2] = rng.integers(-2, 3, n)
    X[rng.random(n) < 0.2, 3] = np.nan
    X[:, 4] = rng.lognormal(0.0, 20.0, n)
    return X


def table(seed: int = 0, n: int = N, extra: bool = False) -> pd.DataFrame:
    """Numbers and categories; with `extra`, categories that are not in others."""
    rng = np.random.default_rng(seed + 1)
    X = numbers(seed, n)
    words = [*WORDS, "unseen"] if extra else WORDS
    text = pd.Categorical.from_codes(
        rng.integers(-1, len(words), n), categories=list(words)
    )
    # one of the codes becomes missing
    codes = rng.integers(0, 12 if extra else 9, n) * 3
    return pd.DataFrame(
        {
            "price": X[:, 0],
            "site": text,
            "kind": pd.Categorical(codes).set_categories(sorted({*codes} - {6})),
            "missing": X[:, 3],
        }
    )


def grades(X: Any) -> np.ndarray:
    """Grades 0 to 3 that depend on all columns."""
    if isinstance(X, pd.DataFrame):
        signal = (
            X["price"].to_numpy()
            + X["site"].cat.codes.to_numpy() % 2
            + X["kind"].cat.codes.to_numpy() % 3
            + X["missing"].isna().to_numpy()
        )
    else:
        signal = X[:, 0] + (X[:, 1] == 0) + X[:, 2] ** 2 / 2 + np.isnan(X[:, 3])
    return np.clip(np.floor(signal), 0, 3)


@cache
def fitted() -> dict[str, Any]:
    """Return models by name."""
    X, C = numbers(), table()
    y, yc = grades(X), grades(C)
    ranker = LambdaMARTRanker(**TREES).fit(X, y, groups=GROUPS)
    return {
        "ranker": ranker,
        "regressor": MARTRegressor(**TREES).fit(X, y),
        "classifier": MARTClassifier(**TREES, sigma=0.7).fit(X, y > 1),
        "categories": LambdaMARTRanker(**TREES).fit(C, yc, groups=GROUPS),
        "regressor of categories": MARTRegressor(**TREES).fit(C, yc),
        "dropped trees": LambdaMARTRanker(
            **TREES, dart={"rate_drop": 0.5, "skip_drop": 0}, path_smooth=2.0
        ).fit(X, y, groups=GROUPS),
        "on top": LambdaMARTRanker(**TREES, init=ranker).fit(X, y, groups=GROUPS),
    }


def score(model: Any, X: Any) -> np.ndarray:
    """Return the raw scores of any of the models."""
    return getattr(model, "decision_function", model.predict)(X)


def rows_of(model: Any, n: int = N_ROWS, seed: int = 1) -> Any:
    """Random rows; half of their numbers are thresholds, or next to one, or NaN."""
    rng = np.random.default_rng(seed)
    is_table = hasattr(model, "feature_names_in_")
    X = table(seed, n, extra=True) if is_table else numbers(seed, n)
    described = to_tree_model(model)
    for j, feature in enumerate(described.features):
        t = [tree.threshold[tree.feature == j] for tree in described.trees]
        t = np.concatenate([*t, np.zeros(1)])
        with np.errstate(over="ignore"):
            sides = [np.nextafter(t, np.inf), np.nextafter(t, -np.inf)]
        near = np.concatenate([t, *sides])
        near = np.append(near[np.isfinite(near)], np.nan)
        if feature.categories is None:
            column = X.iloc[:, j].to_numpy().copy() if is_table else X[:, j]
            chosen = rng.random(n) < 0.5
            column[chosen] = rng.choice(near, chosen.sum())
            if is_table:
                X.isetitem(j, column)
    return X


def leaves_of(model: Any, X: Any) -> np.ndarray:
    """Return the leaf of each row in each tree, from the description alone."""
    columns = [X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j]
               for j in range(model.n_features)]  # fmt: skip
    found = np.zeros((len(X), len(model.trees)), dtype=np.int64)
    for m, tree in enumerate(model.trees):
        at = np.zeros(len(X), dtype=np.int64)
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            j = tree.feature[node]
            known, x = model.features[j].categories, columns[j]
            if known is None:
                x = np.asarray(x, dtype=np.float64)
                left, missing = x <= tree.threshold[node], np.isnan(x)
            else:
                left = x.isin(tree.left_categories[node]).to_numpy()
                missing = ~x.isin(known).to_numpy()
            left = np.where(missing, tree.missing_left[node], left)
            at[(at == node) & ~left] = tree.right[node]
            at[(at == node) & left] = tree.left[node]
        found[:, m] = at
    return found


def plain_score(model: Any, X: Any) -> np.ndarray:
    """Score rows from the description alone."""
    scores = np.full(len(X), model.base_score)
    for tree, leaf in zip(model.trees, leaves_of(model, X).T, strict=True):
        scores += tree.value[leaf]
    return scores


@cache
def served() -> dict[str, Any]:
    """Return more models by name: a stump without a split, and one of named columns."""
    X = numbers()
    named = pd.DataFrame(X[:, :4], columns=["title", "é fresh", "n/a", "price"])
    with pytest.warns(NothingLearnedWarning):
        one_leaf = MARTRegressor(n_estimators=2, min_samples_leaf=N).fit(X, X[:, 0])
    return fitted() | {
        "one leaf": one_leaf,
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
        return rows_of(model)
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


def float32_scores(model: Any, X: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Return what a reader adds in float32 that finds the right leaf of each tree."""
    described = to_tree_model(model).with_base_score_in_leaves()
    leaves = leaves_of(described, X.astype(np.float64)).T
    return float32_sum(
        [
            factor * tree.value[leaf]
            for tree, leaf in zip(described.trees, leaves, strict=True)
        ]
    )


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


def onnx_session(exported, n_threads=1):
    """Return onnxruntime's session of an exported model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(
        exported.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
