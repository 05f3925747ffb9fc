"""Plain evaluation of a tree ensemble: every row walks every tree, root to leaf.

This is the specification of the bit-sliced evaluation (:mod:`bit_sliced`), which gives
the same scores bit for bit.  It also evaluates small jobs, because in plain numpy there
is nothing to compile or to prepare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TreeNodes(NamedTuple):
    """Arrays over the nodes of all trees, as in a :class:`TreeEnsemble`."""

    first_node: NDArray[np.int64]  # (n_trees + 1,): the root of each tree, and n_nodes
    feature: NDArray[np.int32]  # (n_nodes,): -1 in a leaf
    threshold: NDArray[np.float64]  # (n_nodes,): ``x <= threshold`` goes left
    missing_left: NDArray[np.bool_]  # (n_nodes,): whether NaN goes left
    left: NDArray[np.int32]  # (n_nodes,): children, counted from the tree's root
    right: NDArray[np.int32]
    value: NDArray[np.float64]  # (n_nodes,): what a leaf adds to the score


def walk_trees(
    nodes: TreeNodes, scores: NDArray[np.float64], X: NDArray[np.floating]
) -> None:
    """Add the values of the leaves that a row reaches to its score, in tree order.

    The score of a row with an infinite value becomes NaN.  All rows take one step in
    all trees at a time, until every one stands in a leaf.

    Parameters
    ----------
    nodes : TreeNodes
    scores : ndarray of shape (n_rows,), float64
        Changed in place.
    X : ndarray of shape (n_rows, n_features), float32 or float64
    """
    roots, X = nodes.first_node[:-1], X.astype(np.float64)  # exact
    node = np.repeat(roots[:, np.newaxis], len(X), axis=1)  # (n_trees, n_rows)
    tree, row = np.nonzero(nodes.feature[node] >= 0)
    while len(row) > 0:
        at = node[tree, row]
        x = X[row, nodes.feature[at]]
        with np.errstate(invalid="ignore"):
            is_below = x <= nodes.threshold[at]
        goes_left = np.where(np.isnan(x), nodes.missing_left[at], is_below)
        at = roots[tree] + np.where(goes_left, nodes.left[at], nodes.right[at])
        node[tree, row] = at
        is_inner = nodes.feature[at] >= 0
        tree, row = tree[is_inner], row[is_inner]
    for leaf_of_row in node:
        scores += nodes.value[leaf_of_row]
    scores[np.isinf(X).any(axis=1)] = np.nan


class WalkBudget:
    """Chooses how to evaluate an ensemble: by walking, as long as a budget lasts.

    A walk is one row through one tree.  The first predictions of a process are made by
    walking, as long as they do not exceed the budget together; the first one that does
    ends it, and from then on everything is evaluated bit-sliced.  So the choice depends
    on the sizes of the predictions alone, and the scores do not depend on the choice.
    """

    def __init__(self, n_walks: int) -> None:
        self._n_left = n_walks

    def spend(self, n_walks: int) -> bool:
        """Return whether a prediction is to be made by walking, and deduct it."""
        n_left = self._n_left - n_walks
        self._n_left = max(n_left, 0)
        return n_left >= 0


walk_budget = WalkBudget(100_000)
