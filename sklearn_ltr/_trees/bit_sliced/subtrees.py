"""Trees divided into subtrees of at most 256 leaves, since a leaf code has 8 bits.

Most trees have no more leaves: they are one subtree each.  From a larger tree, subtrees
are cut off, from the bottom up.  Each subtree is then evaluated as if it were a tree,
with additional leaves that add -0.0, which changes no score:

- The subtree above has an "alias leaf" in place of the subtree that was cut off.
- The subtree that was cut off has an "outside leaf", which is reached by the rows that
  do not reach the subtree's root.

So for each row, exactly one subtree of a tree adds a leaf value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr._trees.tree_walk import TreeNodes

MAX_LEAVES = 256  # of a subtree: what codes of 8 bits can tell apart


class Subtrees(NamedTuple):
    """The nodes of all trees, with children as the subtrees see them.

    Nodes are numbered through all trees.  After the n_nodes nodes come the alias leaves
    of the n_subtrees subtrees, and then their outside leaves: n_total in all.  (Those
    that are not needed, of the subtrees at the roots of trees, exist but are not used.)
    """

    root: NDArray[np.int64]  # (n_subtrees,): the node where each begins, ascending
    left: NDArray[np.int64]  # (n_total,): a child or its alias leaf; -1 in a leaf
    right: NDArray[np.int64]  # (n_total,)
    parent: NDArray[np.int64]  # (n_nodes,): -1 for the roots of trees
    alias: NDArray[np.int64]  # (n_nodes,): a subtree root's alias leaf; else the node
    # (n_total,): leaves under a node within its subtree, alias leaves counted as one
    # each, the outside leaf not
    n_leaves: NDArray[np.int64]


def divide_into_subtrees(nodes: TreeNodes) -> Subtrees:
    """Return the subtrees of all trees; a child must come after its parent."""
    n_nodes, is_inner = len(nodes.feature), nodes.feature >= 0
    tree_roots = nodes.first_node[:-1]
    tree_root = np.repeat(tree_roots, np.diff(nodes.first_node))
    left = np.where(is_inner, tree_root + nodes.left, -1)
    right = np.where(is_inner, tree_root + nodes.right, -1)
    parent = np.full(n_nodes, -1)
    parent[left[is_inner]] = parent[right[is_inner]] = np.flatnonzero(is_inner)
    n_leaves = np.ones(n_nodes, dtype=np.int64)
    is_root = np.zeros(n_nodes, dtype=np.bool_)
    is_root[tree_roots] = True
    cut_off_subtrees(left, right, n_leaves, is_root)
    root = np.flatnonzero(is_root)
    alias = np.arange(n_nodes)
    alias[root] = n_nodes + np.arange(len(root))
    added_leaves = np.full(2 * len(root), -1)
    return Subtrees(
        root=root,
        left=np.append(np.where(is_inner, alias[left], -1), added_leaves),
        right=np.append(np.where(is_inner, alias[right], -1), added_leaves),
        parent=parent,
        alias=alias,
        n_leaves=np.append(n_leaves, np.ones_like(added_leaves)),
    )


@kernel
def cut_off_subtrees(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    n_leaves: NDArray[np.int64],
    is_root: NDArray[np.bool_],
) -> None:
    """Mark the roots of subtrees, and count the leaves under each node in its subtree.

    Where two children have too many leaves together, the larger is cut off, and if
    need be the smaller, too.  A subtree that is not at the root of its tree can have
    one leaf less: it has an outside leaf.

    Parameters
    ----------
    left, right : ndarrays of shape (n_nodes,), int64
        Children, counted through all trees; -1 in a leaf.
    n_leaves : ndarray of shape (n_nodes,), int64
        All 1; filled in.
    is_root : ndarray of shape (n_nodes,), bool
        True for the roots of trees; the roots of other subtrees become True.
    """
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            small, large = left[node], right[node]
            if n_leaves[small] > n_leaves[large]:
                small, large = large, small
            n_leaves[node] = n_leaves[small] + n_leaves[large]
            most = MAX_LEAVES if is_root[node] else MAX_LEAVES - 1
            for child in (large, small):
                if n_leaves[node] > most:
                    is_root[child] = True
                    n_leaves[node] -= n_leaves[child] - 1
