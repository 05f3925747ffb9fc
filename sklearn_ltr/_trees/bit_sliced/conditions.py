"""The distinct conditions ``x <= threshold`` of an ensemble.

Many nodes test the same feature against the same threshold.  Each distinct test, a
condition, is evaluated once for a row, and all nodes share the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._trees.tree_walk import TreeNodes

# Bit vectors are numbered: first these three, then one for each condition, which has a
# 1 for each row that goes right, then the outputs of gates (circuits.py).
ZERO, ONE = 0, 1  # 512 zeros, 512 ones
MISSING = 2  # the rows where the feature being evaluated is missing
FIRST_CONDITION = 3


class Conditions(NamedTuple):
    """Distinct conditions, sorted by feature.

    Within a feature, first those that send NaN left, then those that send it right;
    within these, sorted by threshold.
    """

    feature: NDArray[np.int64]  # (n_tested,): the features that nodes test, ascending
    first: NDArray[np.int64]  # (n_tested + 1,): where a feature's conditions begin
    first_missing_right: NDArray[np.int64]  # (n_tested,): from here NaN goes right
    # (n_conditions,), float64, or float32 for rows of float32: x <= threshold goes left
    threshold: NDArray[np.floating]


def collect_conditions(nodes: TreeNodes) -> tuple[Conditions, NDArray[np.int64]]:
    """Return the distinct conditions, and the number of each node's; 0 in a leaf.

    0, too, where a category set decides (category_sets.py).
    """
    inner = np.setdiff1d(np.flatnonzero(nodes.feature >= 0), nodes.category_node)
    feature, threshold = nodes.feature[inner], nodes.threshold[inner]
    missing_right = ~nodes.missing_left[inner]
    order = np.lexsort((threshold, missing_right, feature))
    inner, feature, threshold = inner[order], feature[order], threshold[order]
    missing_right = missing_right[order]
    is_new = np.ones(len(inner), dtype=np.bool_)
    is_new[1:] = (
        (feature[1:] != feature[:-1])
        | (missing_right[1:] != missing_right[:-1])
        | (threshold[1:] != threshold[:-1])
    )
    condition_of_node = np.zeros(len(nodes.feature), dtype=np.int64)
    condition_of_node[inner] = np.cumsum(is_new) - 1
    keys = 2 * feature[is_new].astype(np.int64) + missing_right[is_new]
    tested = np.unique(keys >> 1)
    conditions = Conditions(
        feature=tested,
        first=np.append(np.searchsorted(keys, 2 * tested), len(keys)),
        first_missing_right=np.searchsorted(keys, 2 * tested + 1),
        # 0.0 for -0.0: the sign bit of -0.0 - 0.0 would be set
        threshold=threshold[is_new] + 0.0,
    )
    return conditions, condition_of_node


def round_down_to_float32(threshold: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the largest float32 t' <= t: a float32 x <= t' if and only if x <= t."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > threshold, below, nearest)
