"""Random trees of any shape, and rows with values at and around their thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
from tests.oracles import trees as oracle

NAN, INF = float("nan"), float("inf")
N_FEATURES = 5
VALUES = [-INF, -3e38, -1.0, -0.0, 0.0, 1e-45, 0.1, 1.0, 1.0000001, 3e38, INF]
SHAPES = ["any", "left", "right"]


def grow(n_leaves, shape, rng) -> TreeEnsemble:
    """Return one tree of random conditions: bushy, or a chain to one side."""
    size = 2 * n_leaves - 1
    left, right = np.full((2, size), -1, dtype=np.int32)
    leaves = [0]
    for new in range(1, size, 2):
        chosen = {"any": rng.integers(len(leaves)), "left": 0, "right": -1}[shape]
        node = leaves.pop(chosen)
        left[node], right[node] = new, new + 1
        leaves = [new, *leaves] if shape == "left" else [*leaves, new]
        leaves = [*leaves, new + 1]
    inner = left >= 0
    threshold = np.where(
        rng.uniform(size=size) < 0.5, rng.normal(size=size), rng.choice(VALUES, size)
    )
    return TreeEnsemble(
        first_node=np.zeros(1, dtype=np.int64),
        feature=np.where(inner, rng.integers(N_FEATURES, size=size), -1).astype("i4"),
        threshold=threshold,
        missing_left=rng.uniform(size=size) < 0.5,
        left=left,
        right=right,
        value=np.where(inner, 0.0, rng.normal(size=size)),
        gain=np.zeros(size),
        n_rows=np.zeros(size, dtype=np.int64),
    )


def table(n_rows, dtype, rng) -> np.ndarray:
    """Return rows with values on thresholds, beside them, and missing."""
    values = [x for x in VALUES if np.isfinite(x)] + [NAN]
    X = np.where(
        rng.uniform(size=(n_rows, N_FEATURES)) < 0.5,
        rng.normal(size=(n_rows, N_FEATURES)),
        rng.choice(values, (n_rows, N_FEATURES)),
    )
    return X.astype(dtype)


def by_walking(ensemble, X) -> np.ndarray:
    """Return the scores of rows by the oracle, in plain Python."""
    scores = np.zeros(len(X))
    X = X.astype(np.float64)  # numpy would round a Python float to single precision
    for tree in range(len(ensemble)):
        part = ensemble.part(tree, tree + 1)
        for row in range(len(X)):
            scores[row] += part.value[oracle.route(X, row, part)]
    return scores


def nodes_of(ensemble) -> TreeNodes:
    ends = np.append(ensemble.first_node, len(ensemble.feature))
    return TreeNodes(ends, *(getattr(ensemble, name) for name in TreeNodes._fields[1:]))


def with_sets(ensemble, features, n_bins, rng) -> TreeEnsemble:
    """Return the trees with random category sets at the nodes of some features."""
    nodes = np.flatnonzero(np.isin(ensemble.feature, features))
    share = rng.uniform(size=(len(nodes), 1))  # some sets are empty, some are full
    is_left = rng.uniform(size=(len(nodes), 256)) < np.round(3 * share - 1, 1)
    is_left[:, n_bins:] = ensemble.missing_left[nodes, np.newaxis]
    return replace(
        ensemble,
        category_node=nodes,
        category_set=np.packbits(is_left, axis=1, bitorder="little"),
    )


def table_with_bins(n_rows, dtype, features, n_bins, rng) -> np.ndarray:
    """Return rows of which some features are bins, or missing."""
    X = table(n_rows, dtype, rng)
    X[:, features] = rng.integers(n_bins, size=(n_rows, len(features)))
    X[rng.uniform(size=X.shape) < 0.1] = NAN
    return X


def by_walking_sets(ensemble, X) -> np.ndarray:
    """Return the scores of rows by the oracle, in plain Python."""
    scores = np.zeros(len(X))
    for tree in range(len(ensemble)):
        part = ensemble.part(tree, tree + 1)
        for row in range(len(X)):
            scores[row] += part.value[oracle.route_by_set(X[row], part)]
    return scores
