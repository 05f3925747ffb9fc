"""The state of a saved network: checked before kernels see its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._estimators.base import require
from sklearn_ltr._networks import SGD, Adam, MultilayerPerceptron

FITTED_STATE = (
    "network_",
    "n_features_in_",
    "n_iter_",
    "_fitted_architecture",
    "_optimizer",
    "_seed",
    "_sigma",
)


def check_saved_network(ranker: Any) -> None:
    """Raise an error if the fitted attributes of a ranker do not fit together."""
    if isinstance(ranker.network_, MultilayerPerceptron):
        ranker.network_.check(ranker.n_features_in_)
    check_optimizer(ranker._optimizer, ranker.network_.parameters)
    require(0 < ranker._sigma < np.inf, f"its sigma was {ranker._sigma!r}")


def check_optimizer(optimizer: Any, weights: Sequence[NDArray[Any]]) -> None:
    """Raise an error unless an optimizer can continue to train these weights."""
    require(isinstance(optimizer, Adam | SGD), f"its optimizer is {optimizer!r}")
    arrays = optimizer.arrays
    require(len(arrays) in (0, len(weights)), "arrays of its optimizer are missing")
    for w, array in zip(weights, arrays, strict=False):
        shape = (2, w.size) if isinstance(optimizer, Adam) else (w.size,)
        require(
            isinstance(array, np.ndarray)
            and array.dtype == w.dtype
            and array.shape == shape
            and array.flags.c_contiguous
            and np.isfinite(array).all(),
            "an array of its optimizer does not fit the weights",
        )
    for field in fields(optimizer):
        value = getattr(optimizer, field.name)
        if field.type in ("int", "float"):
            require(
                isinstance(value, int | float) and 0 <= value < np.inf,
                f"{field.name} of its optimizer is {value!r}",
            )
