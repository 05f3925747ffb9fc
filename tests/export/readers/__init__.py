"""Readers of formats whose own reader no package has, written from their documents.

Each computes as its engine does: in float32 or float64, with its comparison, and with
its idea of a missing value.  Values are checked as strictly as the engine checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def descend(
    root: Any,
    X: np.ndarray,
    split: Callable[[Any, np.ndarray], tuple[np.ndarray, Any, Any] | None],
    value: Callable[[Any], float],
) -> np.ndarray:
    """Return the value of the leaf of each row.

    ``split(node, rows)`` returns which of the rows go left, and the children; None for
    a leaf.
    """
    out = np.empty(len(X))
    stack = [(root, np.arange(len(X)))]
    while stack:
        node, rows = stack.pop()
        found = split(node, X[rows])
        if found is None:
            out[rows] = value(node)
            continue
        goes_left, left, right = found
        stack += [(left, rows[goes_left]), (right, rows[~goes_left])]
    return out


def float32_sum(values: list[np.ndarray]) -> np.ndarray:
    """Add in float32, one after another."""
    total = np.zeros(len(values[0]), dtype=np.float32)
    for of_tree in values:
        total += of_tree.astype(np.float32)
    return total
