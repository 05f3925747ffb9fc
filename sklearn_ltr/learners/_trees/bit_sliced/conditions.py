"""What the nodes of all trees ask of a row, each question once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Trees(NamedTuple):
    """Arrays over the nodes of all trees, as in a :class:`TreeEnsemble`."""

    first_node: NDArray[np.int64]  # (n_trees + 1,): the last one's end, too
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]


class Questions(NamedTuple):
    """What is asked by all trees, each once: sorted by column, threshold, and NaN."""

    feature: NDArray[np.int64]  # (n_columns,): the columns that are asked about
    first: NDArray[np.int64]  # (n_columns + 1,): the questions about a column;
    middle: NDArray[np.int64]  # (n_columns,): from here on, NaN goes right
    threshold: NDArray[np.float64]  # (n_questions,): x <= threshold goes left
    of_node: NDArray[np.int64]  # (n_nodes,)


def questions_of(trees: Trees) -> Questions:
    """Find what the nodes ask, each question once."""
    nodes = np.flatnonzero(trees.feature >= 0)
    feature, threshold = trees.feature[nodes], trees.threshold[nodes]
    to_right = ~trees.missing_left[nodes]
    order = np.lexsort((threshold, to_right, feature))
    nodes, feature, threshold = nodes[order], feature[order], threshold[order]
    to_right = to_right[order]
    is_new = np.ones(len(nodes), dtype=np.bool_)
    is_new[1:] = (
        (feature[1:] != feature[:-1])
        | (to_right[1:] != to_right[:-1])
        | (threshold[1:] != threshold[:-1])
    )
    of_node = np.zeros(len(trees.feature), dtype=np.int64)
    of_node[nodes] = np.cumsum(is_new) - 1
    keys = 2 * feature[is_new].astype(np.int64) + to_right[is_new]
    columns = np.unique(keys >> 1)
    return Questions(
        feature=columns,
        first=np.append(np.searchsorted(keys, 2 * columns), len(keys)),
        middle=np.searchsorted(keys, 2 * columns + 1),
        threshold=threshold[is_new] + 0.0,  # -0.0 - 0.0 would have a sign
        of_node=of_node,
    )
