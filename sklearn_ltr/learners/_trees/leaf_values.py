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
from sklearn_ltr.learners._trees.growth_parameters import GrowthParameters
from sklearn_ltr.learners._trees.quantization import (
    Derivatives,
    Magnitudes,
    scale_to_fit,
)
from sklearn_ltr.learners._trees.workspace import Record


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
def newton_step(
    derivatives: Derivatives,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    scales: ExactScales,
    l2: float,
) -> float:
    """Return ``-sum(gradient) / (sum(hessian) + l2)`` over ``rows[first:last]``.

    0 if either sum is 0.
    """
    gradient, hessian = derivatives.gradient, derivatives.hessian
    g, h = int64(0), int64(0)
    for i in range(uint64(first), uint64(last)):
        row = uint64(rows[i])
        g += int64(np.rint(gradient[row] * scales.gradient))
        h += int64(np.rint(hessian[row] * scales.hessian))
    if g == 0 or h == 0:
        return 0.0
    return -(g / scales.gradient) / (h / scales.hessian + l2)


@subkernel
def add_leaf_value(
    leaf: Record,
    node: Record,
    derivatives: Derivatives,
    rows: NDArray[np.int32],
    scales: ExactScales,
    parameters: GrowthParameters,
    scores: NDArray[np.float64],
) -> None:
    """Write the value of a leaf to its node, and add it to the scores of its rows.

    These are ``rows[leaf.start : leaf.stop]``.  With monotonic constraints the value
    may still change, and is added by `order_leaf_values`.
    """
    start, stop, l2 = leaf.start, leaf.stop, parameters.l2_regularization
    step = newton_step(derivatives, rows, start, stop, scales, l2)
    value = parameters.learning_rate * step
    node.value = value
    node.n_rows = stop - start
    if len(parameters.constraints.monotonic) > 0:
        return
    for i in range(uint64(start), uint64(stop)):
        scores[uint64(rows[i])] += value
