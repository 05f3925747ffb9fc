"""What a tree may look like: its size, regularisation and constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Constraints(NamedTuple):
    """What the trees must not do; without rows: no constraint."""

    # (n_features,) or (0,): the score must not fall as the feature grows (1), must not
    # rise (-1), or may do both (0)
    monotonic: NDArray[np.int8]
    # (n_sets, n_features) or (0, n_features): the features of a path from the root to
    # a leaf are all in one of the sets; every feature is in a set
    interaction_sets: NDArray[np.bool_]


NO_CONSTRAINTS = Constraints(np.empty(0, np.int8), np.empty((0, 0), np.bool_))


class GrowthParameters(NamedTuple):
    """Size of the trees and values of their leaves."""

    max_leaf_nodes: int  # >= 2
    max_depth: int  # of a leaf; the root has depth 0
    min_samples_leaf: int
    # added to the sum of hessians: in leaf values, and in second-order gains
    l2_regularization: float
    learning_rate: float  # of one tree; its leaf values are multiplied by it
    second_order: bool  # in gains, W is the sum of hessians, else the number of rows
    # of categorical features, see category_splits.py
    category_smoothing: float = 0.0
    min_samples_category: int = 1
    max_split_categories: int = 255
    constraints: Constraints = NO_CONSTRAINTS
