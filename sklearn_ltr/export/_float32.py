"""Thresholds for readers that compute in float32.

For every x that float32 can hold, ``x <= t`` in float64 is ``x <= at_most(t)`` and
``x < above(t)`` in float32.  Another x may cross a threshold when a reader rounds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST = np.finfo(np.float32).max


def at_most(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest finite float32 that is at most each threshold, as `threshold`.

    Below all of them it is minus infinity, which no x is at most.
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = threshold.astype(np.float32)
        lower = np.nextafter(nearest, np.float32(-np.inf))
    found: NDArray[np.float32] = np.where(nearest > threshold, lower, nearest)
    return np.minimum(found, LARGEST)


def above(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the smallest float32 above each threshold, as `threshold`.

    Above all of them it is infinity, which all x are below.
    """
    lower = at_most(threshold)
    with np.errstate(over="ignore", under="ignore"):
        higher: NDArray[np.float32] = np.nextafter(lower, np.float32(np.inf))
    return higher
