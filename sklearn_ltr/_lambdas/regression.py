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

from typing import NamedTuple

import numpy as np

from sklearn_ltr._compile import ThreadTeam, kernel
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._typing import FloatArray, IntArray


class GradeSpread(NamedTuple):
    """The unit of the grades, and their spread."""

    largest: float  # squares of grades in units of the largest are finite
    deviation: float  # weighted standard deviation of the centred ones, in this unit


class Regression:
    """Adds the derivatives of the regression to the derivatives of the pairs.

    `weight` is the curvature of the regression, in units of the curvature of the pairs.
    """

    def __init__(
        self,
        data: TrainingData,
        weight: float,
        sigma: float,
        index: QueryIndex,
        team: ThreadTeam,
    ) -> None:
        self._offsets, self._team = data.offsets, team
        self._weight, self._sigma = weight, sigma
        spread = spread_on_all_workers(data, index)
        self._targets = data.y / spread.largest
        centre_grades(data.offsets, self._targets)
        self._targets /= spread.deviation

    def add(
        self, scores: FloatArray, gradient: FloatArray, hessian: FloatArray
    ) -> None:
        """Add dC/ds and d2C/ds2 to the sums over pairs, (n_documents,) each."""
        self._team.share(
            2.5 * len(scores),
            add_regression,
            scores,
            self._targets,
            self._offsets,
            self._weight,
            self._sigma,
            gradient,
            hessian,
        )


def spread_on_all_workers(data: TrainingData, index: QueryIndex) -> GradeSpread:
    """Return the spread of the grades of all workers."""
    rows = index.gather_rows(data.y, data.sample_weight)
    own = None if rows is None else spread_of_grades(*rows)
    spread = index.comm.gather(own)[0]
    assert spread is not None  # worker 0 has all rows
    return spread


def spread_of_grades(
    y: FloatArray, offsets: IntArray, weights: FloatArray
) -> GradeSpread:
    """Return the spread of the grades of some queries."""
    largest = float(np.abs(y).max())
    centred = y / largest
    centre_grades(offsets, centred)
    return GradeSpread(largest, weighted_deviation(centred, offsets, weights))


@kernel
def centre_grades(offsets: IntArray, grades: FloatArray) -> None:
    """Subtract from each grade the mean of its query."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        mean = 0.0
        for i in range(start, stop):
            mean += grades[i]
        mean /= stop - start
        for i in range(start, stop):
            grades[i] -= mean


@kernel
def weighted_deviation(
    centred: FloatArray, offsets: IntArray, weights: FloatArray
) -> float:
    """Return the standard deviation of centred grades, weighted by query."""
    square_sum, weight_sum = 0.0, 0.0
    for query in range(len(offsets) - 1):
        for i in range(offsets[query], offsets[query + 1]):
            square_sum += weights[query] * centred[i] * centred[i]
            weight_sum += weights[query]
    return float(np.sqrt(square_sum / weight_sum))


@kernel
def add_regression(
    thread: int,
    n_threads: int,
    scores: FloatArray,
    targets: FloatArray,
    offsets: IntArray,
    weight: float,
    sigma: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Add the derivatives of the regression of a thread's share of the queries."""
    n_queries = len(offsets) - 1
    first, last = n_queries * thread // n_threads, n_queries * (thread + 1) // n_threads
    for query in range(first, last):
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
