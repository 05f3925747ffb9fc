"""Values of the leaves: one Newton step each, from sums that are exact.

    value = -learning_rate * sum(gradient) / (sum(hessian) + l2)

This is section 7 of the report, with l2 added.  Here gradients and hessians are
rounded to integers of 61 bits, so that the sums depend neither on the order of the rows
nor on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, int64, subkernel, uint64
from sklearn_ltr.learners._trees.quantization import (
    Derivatives,
    Magnitudes,
    scale_to_fit,
)
from sklearn_ltr.learners._trees.workspace import (
    GrownTree,
    GrowthParameters,
    Workspace,
)


class ExactScales(NamedTuple):
    """Factors that turn gradients and hessians into integers whose sums fit 62 bits."""

    gradient: float
    hessian: float


@subkernel
def newton_step(
    derivatives: Derivatives,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    scales: ExactScales,
    l2: float,
) -> float:
    """Return ``-sum(gradient) / (sum(hessian) + l2)`` over ``rows[first:last]``."""
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
def write_leaf_values(
    derivatives: Derivatives,
    totals: Magnitudes,
    parameters: GrowthParameters,
    n_leaves: int,
    work: Workspace,
    tree: GrownTree,
    scores: NDArray[np.float64],
) -> None:
    """Write the values of the leaves and add them to the scores of their rows.

    Each thread takes one leaf after another.
    """
    scales = ExactScales(
        scale_to_fit(2.0**61, totals.gradient), scale_to_fit(2.0**61, totals.hessian)
    )
    number = fetch_add(work.next_leaf)
    while number < n_leaves:
        leaf = work.leaves[number]
        start, stop, rows = leaf.start, leaf.stop, work.rows[leaf.side]
        step = newton_step(
            derivatives, rows, start, stop, scales, parameters.l2_regularization
        )
        value = parameters.learning_rate * step
        tree.value[leaf.node] = value
        tree.n_rows[leaf.node] = stop - start
        for i in range(uint64(start), uint64(stop)):
            scores[uint64(rows[i])] += value
        number = fetch_add(work.next_leaf)
