"""The weights of queries: what they leave out, and how large they may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._parameters import LARGEST, SMALLEST
from sklearn_ltr._queries import TrainingData


def with_weight(data: TrainingData, name: str) -> TrainingData:
    """Return the queries of a weight above zero: the others are as if not given.

    Raises
    ------
    ValueError
        If the largest weight is so large or small that sums would not be finite
        numbers, or zero.
    """
    check_weights(data.weights, name)
    if data.weights.all():
        return data
    return data.subset(data.weights > 0)


def check_weights(
    weights: NDArray[np.float64],
    name: str,
    bounds: tuple[float, float] = (SMALLEST, LARGEST),
) -> None:
    """Raise a ValueError unless the largest weight is within the bounds."""
    largest, (low, high) = weights.max(), bounds
    if not low <= largest <= high:
        raise ValueError(
            f"{name} has a largest value of {largest:.3g}, out of [{low:g}, {high:g}]: "
            "divide all weights by it"
        )
