"""Interaction constraints: which features the children of a split may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import subkernel


@subkernel
def restrict_children(
    node: int,
    left: int,
    feature: int,
    interaction_sets: NDArray[np.bool_],
    open_sets: NDArray[np.bool_],
    gain_factors: NDArray[np.float64],
) -> None:
    """Exclude features from the children of a node that is split by a feature.

    The children, nodes `left` and ``left + 1``, may use the features of the sets that
    hold all features on the path to them: the gain factors of the others become 0.
    """
    n_sets, n_features = interaction_sets.shape
    for child in range(left, left + 2):
        for k in range(n_sets):
            open_sets[child, k] = open_sets[node, k] and interaction_sets[k, feature]
        for j in range(n_features):
            allowed = False
            for k in range(n_sets):
                allowed |= open_sets[child, k] and interaction_sets[k, j]
            if not allowed:
                gain_factors[child, j] = 0.0
