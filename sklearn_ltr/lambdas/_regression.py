r"""A regression of the scores on the grades, added to the lambdas of a query.

For a query of n documents, with bars for means over them and h_i for the hessians of
its pairs, the cost

    C  =  1/2  w hbar / sigma^2  sum_i (sigma (s_i - sbar) - t_i)^2
    t_i  =  (y_i - ybar) / (standard deviation of all y - ybar)

has the derivatives

    dC/ds_i      =  w hbar / sigma (sigma (s_i - sbar) - t_i)
    d2C/ds_i^2   =  w hbar

where hbar and, in the second one, sbar are taken as constants.  So its curvature is w
times that of the pairs, in lists of any length and for metrics of any scale.  It acts
on all documents, also on those below the cutoff that no pair reaches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel
from sklearn_ltr._queries import TrainingData

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Regression:
    """Adds the derivatives of the regression to those of the pairs.

    Parameters
    ----------
    data : TrainingData
        Its `y`, `offsets` and `weights`; a query has two different grades.
    weight : float > 0
        The curvature of the regression, in units of that of the pairs.
    sigma : float > 0
    """

    def __init__(self, data: TrainingData, weight: float, sigma: float) -> None:
        self._offsets = data.offsets
        self._weight, self._sigma = weight, sigma
        self._targets = np.empty(len(data.y))
        largest = float(np.abs(data.y).max())  # squares of smaller numbers are finite
        fill_targets(data.y / largest, data.offsets, data.weights, self._targets)

    def add(
        self, scores: FloatArray, gradient: FloatArray, hessian: FloatArray
    ) -> None:
        """Add dC/ds and d2C/ds2 to those of the pairs, (n_documents,) each."""
        add_regression(
            scores,
            self._targets,
            self._offsets,
            self._weight,
            self._sigma,
            gradient,
            hessian,
        )


@kernel
def fill_targets(
    grades: FloatArray, offsets: IntArray, weights: FloatArray, targets: FloatArray
) -> None:
    """Write the centred grades, in units of their weighted standard deviation."""
    square_sum, weight_sum = 0.0, 0.0
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        mean = 0.0
        for i in range(start, stop):
            mean += grades[i]
        mean /= stop - start
        for i in range(start, stop):
            targets[i] = grades[i] - mean
            square_sum += weights[query] * targets[i] * targets[i]
            weight_sum += weights[query]
    deviation = np.sqrt(square_sum / weight_sum)
    for i in range(len(targets)):
        targets[i] /= deviation


@kernel
def add_regression(
    scores: FloatArray,
    targets: FloatArray,
    offsets: IntArray,
    weight: float,
    sigma: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Add the derivatives of the regression of all queries."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        score_sum, hessian_sum = 0.0, 0.0
        for i in range(start, stop):
            score_sum += scores[i]
            hessian_sum += hessian[i]
        mean_score = score_sum / (stop - start)
        curvature = weight * hessian_sum / (stop - start)
        for i in range(start, stop):
            residual = sigma * (scores[i] - mean_score) - targets[i]
            gradient[i] += curvature / sigma * residual
            hessian[i] += curvature
