"""What formats store of inner nodes, for explanations; scores do not depend on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._tree_model import Tree


def node_means(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return mean value and number of the training rows of each node, (n_nodes,)."""
    value, n_rows = tree.value.copy(), tree.n_rows.copy()
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children before parents
        children = [tree.left[node], tree.right[node]]
        n_rows[node] = n_rows[children].sum()
        weights = n_rows[children] if n_rows[node] > 0 else None
        value[node] = np.average(value[children], weights=weights)
    return value, n_rows
