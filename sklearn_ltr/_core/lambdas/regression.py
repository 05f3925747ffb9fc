r"""A regression of the scores on the grades, added to the lambdas of a query.

For a query of documents with weights w_i (`document_weight`; 1 without), with sbar and
ybar for means by these weights and h_i for the hessians of its pairs, the cost

    C  =  1/2  r hbar / sigma^2  sum_i w_i (sigma (s_i - sbar) - t_i)^2
    t_i   =  (y_i - ybar) / (standard deviation of all y - ybar, by w)
    hbar  =  sum_i h_i / sum_i w_i

has the derivatives

    dC/ds_i      =  r hbar / sigma w_i (sigma (s_i - sbar) - t_i)
    d2C/ds_i^2   =  r hbar w_i

where hbar and, in the second one, sbar are taken as constants.  So its curvature,
summed over a query, is r times that of the pairs: in lists of any length, and for
metrics and weights of any scale (the h_i have products of two weights).  It acts on all
documents, also on those below the cutoff that no pair reaches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_ltr._core.compile import ThreadTeam, kernel, shared_kernel, subkernel
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.typing import FloatArray, IntArray


class Regression:
    """Adds the derivatives of the regression to the derivatives of the pairs.

    `weight` is r above: the curvature in units of that of the pairs.
    """

    def __init__(
        self,
        data: TrainingData,
        weight: float,
        sigma: float,
        index: QueryIndex,
        team: ThreadTeam,
    ) -> None:
        self._team, document_weight = team, data.columns.document_weight
        largest, deviation = spread_on_all_workers(data, index)
        targets = data.y / largest
        centre_grades(data.offsets, document_weight, targets)
        targets /= deviation
        # a plain tuple, which numba recognises faster than a named one
        self._arrays = targets, data.offsets, document_weight, weight, sigma

    def add(
        self, scores: FloatArray, gradient: FloatArray, hessian: FloatArray
    ) -> None:
        """Add dC/ds and d2C/ds2 to the sums over pairs, (n_documents,) each."""
        time = 2.5 * len(scores)
        self._team.share(time, add_regression, scores, self._arrays, gradient, hessian)


def spread_on_all_workers(data: TrainingData, index: QueryIndex) -> tuple[float, float]:
    """Return the largest grade, and the deviation of centred grades in units of it."""
    # squares of grades in these units are finite
    weights, document_weight = data.sample_weight, data.columns.document_weight
    if document_weight is not None:
        weights = weights * data.has_weighted_pairs  # the others have no regression
        gathered = index.gather_rows(document_weight, weights)
        document_weight = None if gathered is None else gathered[0]
    rows, spread = index.gather_rows(data.y, weights), None
    if rows is not None:
        y, offsets, weights = rows
        largest = float(np.abs(y).max())
        centred = y / largest
        centre_grades(offsets, document_weight, centred)
        deviation = weighted_deviation(centred, offsets, weights, document_weight)
        spread = largest, deviation
    spread = index.comm.gather(spread)[0]
    assert spread is not None  # worker 0 has all rows
    return spread


@subkernel
def weight_of(document_weight: FloatArray | None, i: int) -> float:
    """Return the weight of a document, 1 without weights."""
    if document_weight is None:
        return 1.0
    weight: float = document_weight[i]
    return weight


@kernel
def centre_grades(
    offsets: IntArray, document_weight: FloatArray | None, grades: FloatArray
) -> None:
    """Subtract from each grade the mean of its query."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        mean, total = 0.0, 0.0
        for i in range(start, stop):
            weight = weight_of(document_weight, i)
            mean += weight * grades[i]
            total += weight
        mean /= total
        for i in range(start, stop):
            grades[i] -= mean


@kernel
def weighted_deviation(
    centred: FloatArray,
    offsets: IntArray,
    weights: FloatArray,
    document_weight: FloatArray | None,
) -> float:
    """Return the standard deviation of centred grades, by query and document."""
    square_sum, weight_sum = 0.0, 0.0
    for query in range(len(offsets) - 1):
        for i in range(offsets[query], offsets[query + 1]):
            weight = weights[query] * weight_of(document_weight, i)
            square_sum += weight * centred[i] * centred[i]
            weight_sum += weight
    return float(np.sqrt(square_sum / weight_sum))


@shared_kernel
def add_regression(
    thread: int,
    n_threads: int,
    scores: FloatArray,
    arrays: tuple[Any, ...],
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Add the derivatives of the regression of a thread's share of the queries."""
    # t_i and w_i of each document, w_i None if all are 1; `weight` is r
    targets, offsets, document_weight, weight, sigma = arrays
    n_queries = len(offsets) - 1
    first, last = n_queries * thread // n_threads, n_queries * (thread + 1) // n_threads
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        score_sum, hessian_sum, total = 0.0, 0.0, 0.0
        for i in range(start, stop):
            w = weight_of(document_weight, i)
            score_sum += w * scores[i]
            hessian_sum += hessian[i]
            total += w
        mean_score = score_sum / total
        curvature = weight * hessian_sum / total
        for i in range(start, stop):
            residual = sigma * (scores[i] - mean_score) - targets[i]
            w = weight_of(document_weight, i)
            gradient[i] += curvature / sigma * w * residual
            hessian[i] += curvature * w
