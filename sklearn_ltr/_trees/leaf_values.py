"""Values of the leaves: one Newton step each, from sums that are exact.

    value = -learning_rate * sum(gradient) / (sum(hessian) + l2)

This is the Newton step of section 7 of the report (C. Burges, MSR-TR-2010-82), with l2
added; it is 0 if either sum is 0.  For these sums,
gradients and hessians are rounded to integers of up to 61 bits, so that they depend
neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel, uint64
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr._trees.quantization import (
    Derivatives,
    Magnitudes,
    scale_to_fit,
)
from sklearn_ltr._trees.workspace import Record


class ExactScales(NamedTuple):
    """Factors that turn gradients and hessians into integers of 61 bits."""

    gradient: float
    hessian: float


@subkernel
def exact_scales(totals: Magnitudes) -> ExactScales:
    """Choose the scales so that no sum over rows overflows.

    The sum of ``|values|`` is scaled to 2^61.  Rounding adds at most half per row, so
    sums stay below 2^62.
    """
    return ExactScales(
        scale_to_fit(2.0**61, totals.gradient), scale_to_fit(2.0**61, totals.hessian)
    )


@subkernel
def sum_derivatives(
    derivatives: Derivatives,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    scales: ExactScales,
    node: Record,
) -> None:
    """Write the sums over ``rows[first:last]`` of scaled derivatives to a leaf."""
    gradient, hessian = derivatives.gradient, derivatives.hessian
    g, h = int64(0), int64(0)
    for i in range(uint64(first), uint64(last)):
        row = uint64(rows[i])
        g += int64(np.rint(gradient[row] * scales.gradient))
        h += int64(np.rint(hessian[row] * scales.hessian))
    node.scaled_gradient, node.scaled_hessian = g, h


@subkernel
def set_leaf_value(
    node: Record,
    n_rows: int,
    scales: ExactScales,
    parameters: GrowthParameters,
) -> None:
    """Write the value of a leaf, its number of rows and its hessian to its node.

    With monotonic constraints the value may still change in `order_leaf_values`.
    """
    g, h = node.scaled_gradient, node.scaled_hessian
    node.n_rows = n_rows
    node.value = node.hessian = 0.0
    if h != 0:
        node.hessian = h / scales.hessian
        if g != 0:
            step = -(g / scales.gradient) / (
                node.hessian + parameters.l2_regularization
            )
            node.value = parameters.learning_rate * step


@subkernel
def add_to_scores(
    value: float,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    scores: NDArray[np.float64],
) -> None:
    """Add the value of a leaf to the scores of its rows, ``rows[first:last]``."""
    for i in range(uint64(first), uint64(last)):
        scores[uint64(rows[i])] += value
