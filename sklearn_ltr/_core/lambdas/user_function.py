"""Derivatives of a user's cost: a function that is called, and checked."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.data import TrainingData, query_at
from sklearn_ltr._core.lambdas.base import Lambdas
from sklearn_ltr._core.lambdas.ranked_queries import move_queries
from sklearn_ltr._core.typing import FloatArray, IntArray

LARGEST_TOTAL = 1e150  # of |gradient|, and of hessian; their squares are finite

# (scores, grades, offsets) -> (dC/ds, d2C/ds2)
ObjectiveFunction = Callable[
    [FloatArray, FloatArray, IntArray], tuple[ArrayLike, ArrayLike]
]


class UserLambdas(Lambdas):
    """Computes gradient and hessian by a user's function, for one data set.

    Parameters
    ----------
    data : TrainingData
        Its `sample_weight` multiplies the derivatives of a query.
    function : callable
        ``function(scores, grades, offsets) -> (gradient, hessian)``.
    needs_hessian : bool
        Whether the hessian must not vanish.
    """

    def __init__(
        self, data: TrainingData, function: ObjectiveFunction, *, needs_hessian: bool
    ) -> None:
        self._data, self._function = data, function
        self._needs_hessian = needs_hessian
        self.offsets = data.offsets
        self.documents = np.arange(data.n_rows)
        self._sample_weight = data.sample_weight

    def reordered(self, queries: IntArray) -> UserLambdas:
        """Return the lambdas of these queries (n_selected,), in their order."""
        other = copy(self)
        other.offsets, documents = move_queries(self.offsets, queries)
        other.documents = self.documents[documents]
        other._sample_weight = self._sample_weight[queries]
        return other

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""
        start, stop = self.offsets[first], self.offsets[last]
        documents = self.documents[start:stop]
        offsets = self.offsets[first : last + 1] - start
        # copies: the function may keep or change them
        returned = self._function(
            scores[start:stop].copy(), self._data.y[documents], offsets.copy()
        )
        gradient, hessian = self._read(returned, documents)
        weights = np.repeat(self._sample_weight[first:last], np.diff(offsets))
        gradient, hessian = gradient * weights, hessian * weights
        for name, values in (("gradient", gradient), ("hessian", hessian)):
            total = np.abs(values).sum()
            if not total <= LARGEST_TOTAL:
                raise ValueError(
                    f"objective returned a {name} that adds up to {total:.3g}, more "
                    f"than {LARGEST_TOTAL:g}: divide it"
                )
        if self._needs_hessian and gradient.any() and not hessian.any():
            raise ValueError(
                "objective returned a hessian of zeros, but leaf values divide by sums "
                "of hessians: return ones for steps along the mean gradient"
            )
        return gradient, hessian

    def _read(
        self, returned: Any, documents: NDArray[np.integer]
    ) -> tuple[FloatArray, ...]:
        """Return gradient and hessian as float64, checked."""
        n = len(documents)
        wanted = f"(gradient, hessian), two arrays of shape ({n},)"
        try:
            gradient, hessian = returned
        except (TypeError, ValueError):
            raise TypeError(
                f"objective must return {wanted}, got {described(returned)}"
            ) from None
        arrays = []
        for name, array in (("gradient", gradient), ("hessian", hessian)):
            values = np.asarray(array)
            if values.dtype.kind not in "fiu":
                raise TypeError(
                    f"objective must return {wanted} of real numbers, but its {name} "
                    f"is {described(array)}"
                )
            if values.shape != (n,):
                raise ValueError(
                    f"objective must return {wanted}, one number for each document, "
                    f"but its {name} has shape {values.shape}"
                )
            arrays.append(values.astype(np.float64))
        gradient, hessian = arrays
        for values, valid, wanted in (
            (gradient, np.isfinite(gradient), "finite gradients"),
            (hessian, np.isfinite(hessian) & (hessian >= 0), "finite hessians >= 0"),
        ):
            if not valid.all():
                first, data = int(np.argmin(valid)), self._data
                query = query_at(documents[first], data.offsets)
                assert data.query_ids is not None
                raise ValueError(
                    f"objective must return {wanted}, but returned {values[first]} for "
                    f"row {data.rows[documents[first]]} of X, in the query "
                    f"{data.query_ids[query]!r}"
                )
        return gradient, hessian


def described(value: object) -> str:
    """Return the type and size of an object, for error messages."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"{type(value).__name__}{size}"
