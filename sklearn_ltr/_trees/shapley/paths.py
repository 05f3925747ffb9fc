"""The paths of trees: which edges test the same feature, and which rows follow them.

An edge leads from a node to a child and has the number of the child.  A path may test a
feature more than once, but the feature is one player: its condition is that all edges
which test it are followed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, subkernel
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.tree_walk import TreeNodes

# Rows that go through a tree together.  With 64, loops over them are long enough, and
# the numbers that a tree of 31 leaves needs for each of them stay in the cache.
LANES = 64


class TreePaths(NamedTuple):
    """Arrays over the nodes of all trees; children come after their parents.

    All nodes are counted from the first tree's root.
    """

    first_node: NDArray[np.int64]  # (n_trees + 1,): the root of each tree, and n_nodes
    column: NDArray[np.int64]  # place of a node's feature in `tested`; -1 in a leaf
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    cover: NDArray[np.float64]  # training rows
    set_number: NDArray[np.int64]  # row of `category_set`; -1: the threshold decides
    category_set: NDArray[np.uint8]  # (n_sets, 32)
    # of the edge that ends in a node (-1 in a root):
    parent: NDArray[np.int64]
    same_feature: NDArray[np.int64]  # the last edge above that tests its feature; or -1
    slot: NDArray[np.int64]  # place of its feature among those of the path
    n_slots: NDArray[np.int64]  # distinct features on the path to a node
    tested: NDArray[np.int64]  # (n_tested,): the features that nodes test, ascending


def find_paths(nodes: TreeNodes, n_rows: NDArray[np.int64]) -> TreePaths:
    """Return the paths of trees, of which `n_rows` are the training rows of leaves."""
    n_nodes = len(nodes.feature)
    root = np.repeat(nodes.first_node[:-1], np.diff(nodes.first_node))
    is_inner = nodes.feature >= 0
    tested = np.unique(nodes.feature[is_inner]).astype(np.int64)
    set_number = np.full(n_nodes, -1)
    set_number[nodes.category_node] = np.arange(len(nodes.category_node))
    paths = TreePaths(
        first_node=nodes.first_node,
        column=np.where(is_inner, np.searchsorted(tested, nodes.feature), -1),
        threshold=nodes.threshold,
        missing_left=nodes.missing_left,
        left=np.where(is_inner, root + nodes.left, -1),
        right=np.where(is_inner, root + nodes.right, -1),
        value=nodes.value,
        cover=np.where(is_inner, 0.0, n_rows),
        set_number=set_number,
        category_set=nodes.category_set,
        parent=np.full(n_nodes, -1),
        same_feature=np.full(n_nodes, -1),
        slot=np.full(n_nodes, -1),
        n_slots=np.zeros(n_nodes, dtype=np.int64),
        tested=tested,
    )
    follow_edges(paths)
    return paths


@kernel
def follow_edges(paths: TreePaths) -> None:
    """Fill the arrays of edges, from the roots down, and the covers of inner nodes."""
    for node in range(len(paths.column)):
        column = paths.column[node]
        if column < 0:
            continue
        same, edge = int64(-1), int64(node)
        while same < 0 and paths.parent[edge] >= 0:
            if paths.column[paths.parent[edge]] == column:
                same = edge
            edge = paths.parent[edge]
        n_slots = paths.n_slots[node]
        for child in (paths.left[node], paths.right[node]):
            paths.parent[child] = node
            paths.same_feature[child] = same
            paths.slot[child] = n_slots if same < 0 else paths.slot[same]
            paths.n_slots[child] = n_slots + 1 if same < 0 else n_slots
    for node in range(len(paths.column) - 1, -1, -1):
        if paths.parent[node] >= 0:
            paths.cover[paths.parent[node]] += paths.cover[node]


@subkernel
def find_left_rows(
    paths: TreePaths, node: int, columns: NDArray[np.float64], goes_left: NDArray[Any]
) -> None:
    """Write whether each of LANES rows goes left at a node, 1.0 or 0.0.

    `columns` has the tested features of these rows, (n_tested, LANES).
    """
    x = columns[paths.column[node]]
    if paths.set_number[node] >= 0:
        members = paths.category_set[paths.set_number[node]]
        for lane in range(LANES):
            b = int64(MISSING_BIN) if np.isnan(x[lane]) else int64(x[lane])
            goes_left[lane] = members[b >> 3] >> (b & 7) & 1
        return
    threshold = paths.threshold[node]
    if paths.missing_left[node]:
        for lane in range(LANES):
            goes_left[lane] = 0.0 if x[lane] > threshold else 1.0
    else:
        for lane in range(LANES):
            goes_left[lane] = 1.0 if x[lane] <= threshold else 0.0
