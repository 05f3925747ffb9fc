"""Plain evaluation of a tree ensemble: every row walks every tree, root to leaf.

This is the specification of the compiled ways (:mod:`compiled_walk`,
:mod:`bit_sliced`), which give the same scores bit for bit.  A model's first predictions
use these walks, because plain numpy needs no compiling and little preparation
(`TreeEnsemble.add_to`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.typing import FloatArray, IntArray

STEPS_PER_SELECTION = 3  # of the walks that are not at a leaf yet

NO_NODES = np.empty(0, dtype=np.int64)
NO_SETS = np.empty((0, 32), dtype=np.uint8)


class TreeNodes(NamedTuple):
    """Arrays over the nodes of all trees, as in a :class:`TreeEnsemble`.

    `first_node` alone differs: its last element is the number of nodes.
    """

    first_node: IntArray  # (n_trees + 1,): the root of each tree, and n_nodes
    feature: NDArray[np.int32]  # (n_nodes,): -1 in a leaf
    threshold: FloatArray  # (n_nodes,): ``x <= threshold`` goes left
    missing_left: NDArray[np.bool_]  # (n_nodes,): whether NaN goes left
    left: NDArray[np.int32]  # (n_nodes,): children, counted from the tree's root
    right: NDArray[np.int32]
    value: FloatArray  # (n_nodes,): a leaf adds its value to the score
    category_node: IntArray = NO_NODES  # (n_sets,): nodes with a category set
    category_set: NDArray[np.uint8] = NO_SETS  # (n_sets, 32): bits of bins; left if 1


class TreeWalk:
    """An ensemble prepared for walks: one walk takes one row through one tree.

    Parameters
    ----------
    nodes : TreeNodes
    """

    def __init__(self, nodes: TreeNodes) -> None:
        self._roots, self._value = nodes.first_node[:-1], nodes.value
        is_inner, node = nodes.feature >= 0, np.arange(len(nodes.feature))
        root = np.repeat(self._roots, np.diff(nodes.first_node))
        # at 2 node the left child, at 2 node + 1 the right one; a leaf leads to itself
        sides = [np.where(is_inner, root + s, node) for s in (nodes.left, nodes.right)]
        self._child = np.column_stack(sides).ravel()
        self._is_inner = is_inner
        self._feature = np.where(is_inner, nodes.feature, 0).astype(np.intp)
        self._threshold, self._missing_right = nodes.threshold, ~nodes.missing_left
        self._set_of_node: IntArray | None = None
        if len(nodes.category_node) > 0:
            self._set_of_node = np.full(len(node), -1)
            self._set_of_node[nodes.category_node] = np.arange(len(nodes.category_node))
            self._goes_right = ~unpack_sets(nodes.category_set)

    def add_to(self, scores: FloatArray, X: NDArray[np.floating]) -> None:
        """Add to each row's score the values of its leaves, in tree order."""
        # Rows with an infinite value get NaN, see `TreeEnsemble.add_to`.
        terms = np.concatenate([scores[np.newaxis], self._value[self.leaves(X)]])
        scores[:] = np.add.accumulate(terms)[-1]  # a plain sum may add in another order
        scores[np.isinf(X).any(axis=1)] = np.nan

    def leaves(self, X: NDArray[np.floating]) -> IntArray:
        """Return the leaf, a node, that each row reaches: (n_trees, n_rows) int64."""
        # All walks take a step at a time, until all have come to a leaf.
        n_trees, (n_rows, n_features) = len(self._roots), X.shape
        values = X.astype(np.float64).ravel()  # exact
        has_missing = bool(np.isnan(values).any())
        reached = node = np.repeat(self._roots, n_rows)
        row = np.tile(np.arange(n_rows) * n_features, n_trees)  # its place in `values`
        walk: Any = slice(None)  # the walks that are not at a leaf
        while len(node) > 0:
            for _ in range(STEPS_PER_SELECTION):
                node = self._step(
                    node, values.take(row + self._feature.take(node)), has_missing
                )
            reached[walk] = node
            going = np.flatnonzero(self._is_inner.take(node))
            node, row = node.take(going), row.take(going)
            walk = going if isinstance(walk, slice) else walk.take(going)
        return reached.reshape(n_trees, n_rows)

    def _step(self, node: IntArray, x: FloatArray, has_missing: bool) -> IntArray:
        """Return the nodes that follow, for the values that the nodes test."""
        with np.errstate(invalid="ignore"):
            right = x > self._threshold.take(node)
        if has_missing:
            right = np.where(np.isnan(x), self._missing_right.take(node), right)
        if self._set_of_node is not None:
            number = self._set_of_node.take(node)
            by_set = np.flatnonzero(number >= 0)
            b = np.nan_to_num(x[by_set], nan=MISSING_BIN).astype(np.intp)
            right[by_set] = self._goes_right[number[by_set], b]
        return self._child.take(2 * node + right)


def unpack_sets(category_set: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether each bin is in each set: (n_sets, 256) bool."""
    return np.unpackbits(category_set, axis=1, bitorder="little").view(np.bool_)
