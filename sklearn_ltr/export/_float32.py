"""Thresholds and leaf values for readers that compute in float32.

For every x that float32 can hold, ``x <= t`` in float64 is ``x <= at_most(t)`` and
``x < above(t)`` in float32.  Another x may cross a threshold when a reader rounds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._tree_model import Tree, TreeModel

LARGEST = np.finfo(np.float32).max


def at_most(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest finite float32 that is at most each threshold, or -inf."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = threshold.astype(np.float32)
        lower = np.nextafter(nearest, np.float32(-np.inf))
    found: NDArray[np.float32] = np.where(nearest > threshold, lower, nearest)
    return np.minimum(found, LARGEST)


def above(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the smallest float32 above each threshold, or inf."""
    lower = at_most(threshold)
    with np.errstate(over="ignore", under="ignore"):
        higher: NDArray[np.float32] = np.nextafter(lower, np.float32(np.inf))
    return higher


def limits(tree: Tree) -> NDArray[np.float64]:
    """Return the finite float32, as float64, that numbers which go left are below."""
    return np.minimum(above(tree.threshold), LARGEST).astype(np.float64)


def rounded_below(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return t such that ``x <= t`` is the same as float32(x) < float32(limit)."""
    with np.errstate(over="ignore", under="ignore"):
        before = np.nextafter(limit.astype(np.float32), np.float32(-np.inf))
    return rounded_at_most(before)


def rounded_at_most(limit: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return t such that ``x <= t`` is the same as float32(x) <= limit."""
    # numbers up to the middle between the limit and the next float32 are rounded to the
    # limit or below; the middle itself is, if the limit is even
    with np.errstate(over="ignore", under="ignore"):
        following = np.nextafter(limit, np.float32(np.inf)).astype(np.float64)
    # above the largest float32, as if there were one more
    following[np.isinf(following)] = 2.0**128
    lower = np.maximum(limit.astype(np.float64), -(2.0**128))
    middle = lower / 2 + following / 2
    is_even = limit.view(np.uint32) % 2 == 0
    found: NDArray[np.float64] = np.where(
        is_even, middle, np.nextafter(middle, -np.inf)
    )
    return found


def float32_model(model: TreeModel) -> TreeModel:
    """Return a model whose leaf values are margins that float32 can hold."""
    if model.estimator == "MARTClassifier":
        model = model.scaled(2 * model.sigma)
    for m, tree in enumerate(model.trees):
        if np.abs(tree.value).max() > LARGEST:
            raise ValueError(
                f"trees[{m}] has a leaf value of {np.abs(tree.value).max():g}, which "
                "float32 cannot hold: fit targets of a smaller scale"
            )
    return model


def float32_values(values: NDArray[np.float64]) -> list[float]:
    """Return numbers rounded to float32; they are written with all digits."""
    found: list[float] = values.astype(np.float32).astype(np.float64).tolist()
    return found
