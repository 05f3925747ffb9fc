"""Walks of few rows by a kernel: all trees of a row take a step at a time.

A bit-sliced block (:mod:`bit_sliced`) takes as long for one row as for 64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import as_kernel_argument, int64, kernel
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
from sklearn_ltr._core.typing import FloatArray, IntArray

# Parts of the integer that tells where a node leads
MISSING_RIGHT, BY_SET = 1, 2
FEATURE_SHIFT, CHILD_SHIFT = 2, 32


class CompiledWalk:
    """An ensemble prepared for the walks of few rows.

    Parameters
    ----------
    nodes : TreeNodes
    """

    def __init__(self, nodes: TreeNodes) -> None:
        # Nodes get new places: first the roots, then the two children of each inner
        # node, side by side.  A leaf leads to itself.
        roots, n_nodes = nodes.first_node[:-1], len(nodes.feature)
        inner = np.flatnonzero(nodes.feature >= 0)
        root = np.repeat(roots, np.diff(nodes.first_node))[inner]
        left_place = len(roots) + 2 * np.arange(len(inner))
        place = np.empty(n_nodes, dtype=np.int64)
        place[roots] = np.arange(len(roots))
        place[root + nodes.left[inner]] = left_place
        place[root + nodes.right[inner]] = left_place + 1
        step = place << CHILD_SHIFT
        step[inner] = left_place << CHILD_SHIFT
        step[inner] |= nodes.feature[inner].astype(np.int64) << FEATURE_SHIFT
        step[inner] |= np.where(nodes.missing_left[inner], 0, MISSING_RIGHT)
        step[nodes.category_node] |= BY_SET
        threshold = np.where(nodes.feature >= 0, nodes.threshold, np.inf)
        threshold[nodes.category_node] = np.arange(len(nodes.category_node))
        by_place = np.argsort(place)
        arrays = step[by_place], threshold[by_place], nodes.value[by_place]
        # the sets may be read-only
        self._arguments = len(roots), *arrays, nodes.category_set.copy()

    def add_to(self, scores: FloatArray, X: NDArray[np.floating]) -> None:
        """Add to each row's score the values of its leaves, in tree order."""
        # Rows with an infinite value get NaN, see `TreeEnsemble.add_to`.
        walk_trees(as_kernel_argument(X), scores, *self._arguments)


@kernel
def walk_trees(
    X: NDArray[np.floating],
    scores: FloatArray,
    n_trees: int,
    step: IntArray,
    threshold: FloatArray,
    value: FloatArray,
    category_set: NDArray[np.uint8],
) -> None:
    """Add the values of the leaves that a row reaches to its score, in tree order."""
    # `step` is the place of the left child, then the feature and two flags of a node;
    # the threshold of a node with a category set is the number of the set.  No step
    # waits for the one before, which is of another tree, so the processor does several
    # at once.
    reached = np.empty(n_trees, dtype=np.int64)
    going = np.empty(n_trees, dtype=np.int64)  # the trees whose walk goes on
    for i in range(len(X)):
        row, score = X[i], scores[i]
        for j in range(len(row)):
            if abs(row[j]) == np.inf:
                score = np.nan
        for tree in range(n_trees):
            reached[tree] = going[tree] = tree
        n_going = n_trees
        while n_going > 0:
            n_left = 0
            for k in range(n_going):
                tree = going[k]
                node = reached[tree]
                code = step[node]
                x = row[(code & ((1 << CHILD_SHIFT) - 1)) >> FEATURE_SHIFT]
                if code & BY_SET:
                    # (& 255, as an infinite value is no bin)
                    b = MISSING_BIN if x != x else int64(x) & 255
                    number = int64(threshold[node])
                    right = 1 - int64(category_set[number, b >> 3] >> (b & 7) & 1)
                else:
                    goes_right = x > threshold[node]
                    goes_right |= (x != x) & (code & MISSING_RIGHT != 0)
                    right = int64(goes_right)
                child = (code >> CHILD_SHIFT) + right
                reached[tree] = child
                going[n_left] = tree
                n_left += int64(child != node)
            n_going = n_left
        for tree in range(n_trees):
            score += value[reached[tree]]
        scores[i] = score
