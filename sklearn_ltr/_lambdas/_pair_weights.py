r"""Weights of pairs, for clicks: a pair is divided by propensities of its documents.

With document i the better one (clicked) and j the worse, the cost of their pair is

    L_ij / (t+_i t-_j),        L_ij = |Delta_ij| log(1 + exp(-sigma (s_i - s_j)))

With t+ the propensity of the clicked document and t- = 1 its expectation is the cost of
the pair if users had examined every document (Joachims et al., WSDM 2017).  In Hu et
al., WWW 2019, t+ and t- depend on the position and are estimated along with the model,
from the sums over pairs

    better_cost_i = sum_j L_ij / t-_j,        worse_cost_j = sum_i L_ij / t+_i.

The weights of one data set are an array of shape (2, n_documents) with the rows
better_weight = 1 / t+ and worse_weight = 1 / t-; or (4, n_documents), to which these
two sums are written, times the factors of the query that its lambdas have.  None: there
are no weights, and each of the functions below does nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import exp, log1p, subkernel, uint64
from sklearn_ltr._lambdas._pair_loop import (
    BETTER_COST,
    BETTER_WEIGHT,
    DISCOUNT_ABOVE,
    DISCOUNT_BELOW,
    DOCUMENT_BLOCK,
    GAIN,
    GRADE,
    GRADIENT,
    HESSIAN,
    MULTIPLIER,
    SCORE,
    WORSE_COST,
    WORSE_WEIGHT,
    average_over_equal_documents,
    compare_grades,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WEIGHTS, COSTS = slice(0, 2), slice(2, 4)  # rows of the array


@subkernel
def pack_weights(
    weights: FloatArray | None,
    start: int,
    length: int,
    position: IntArray,
    documents: FloatArray,
) -> None:
    """Pack the weights of a list by position; its first document is `start`."""
    if weights is None:
        return
    for i in range(length):
        p = uint64(position[i])
        documents[BETTER_WEIGHT, p] = weights[0, start + i]
        documents[WORSE_WEIGHT, p] = weights[1, start + i]
        documents[BETTER_COST, p] = documents[WORSE_COST, p] = 0.0
    for p in range(length, length + uint64(DOCUMENT_BLOCK)):
        documents[BETTER_WEIGHT, p] = documents[WORSE_WEIGHT, p] = 0.0


@subkernel
def add_pair_costs(
    weights: FloatArray | None,
    n: int,
    k: int,
    documents: FloatArray,
    sigma: float,
    min_distance: float,
    gap_scale: float,
    table: FloatArray | None,
) -> None:
    """Add up the costs of the pairs of each document, with |Delta| as of its lambda."""
    if weights is None or len(weights) == 2:
        return
    for p in range(min(k, n)):
        if table is not None:
            compare_grades(p, uint64(p), uint64(n), documents, table)
        for q in range(p + 1, n):
            delta = documents[GAIN, p] - documents[GAIN, q]
            delta *= documents[DISCOUNT_ABOVE, p] - documents[DISCOUNT_BELOW, q]
            delta *= documents[MULTIPLIER, p]
            if delta == 0.0:
                continue
            better, worse = (p, q) if delta > 0 else (q, p)
            gap = documents[SCORE, p] - documents[SCORE, q]
            x = sigma * (documents[SCORE, worse] - documents[SCORE, better])
            cost = abs(delta) / (min_distance + gap_scale * gap)
            cost *= max(x, 0.0) + log1p(exp(-abs(x)))
            documents[BETTER_COST, better] += cost * documents[WORSE_WEIGHT, worse]
            documents[WORSE_COST, worse] += cost * documents[BETTER_WEIGHT, better]


@subkernel
def write_pair_costs(
    weights: FloatArray | None,
    start: int,
    length: int,
    position: IntArray,
    documents: FloatArray,
    factor: float,
) -> None:
    """Write the costs of the documents of a list, times a factor."""
    if weights is None or len(weights) == 2:
        return
    for i in range(length):
        p = uint64(position[i])
        weights[2, start + i] = documents[BETTER_COST, p] * factor
        weights[3, start + i] = documents[WORSE_COST, p] * factor


@subkernel
def average_over_equals(
    weights: FloatArray | None, n: int, k: int, documents: FloatArray
) -> None:
    """Give documents of equal score, grade and weights the mean of their derivatives.

    Among those of different weights, the order in which they were given decides.
    """
    if weights is None:
        average_over_equal_documents(n, k, documents)
        return
    for first in range(min(k, n)):
        is_first, n_equal, gradient_sum, hessian_sum = True, 0, 0.0, 0.0
        for i in range(n):
            if is_equal(first, i, documents):
                is_first &= i >= first
                n_equal += 1
                gradient_sum += documents[GRADIENT, i]
                hessian_sum += documents[HESSIAN, i]
        if not is_first or n_equal == 1:
            continue
        for i in range(first, n):
            if is_equal(first, i, documents):
                documents[GRADIENT, i] = gradient_sum / n_equal
                documents[HESSIAN, i] = hessian_sum / n_equal


@subkernel
def is_equal(i: int, j: int, documents: FloatArray) -> bool:
    """Return whether the documents at two positions have equal score and weights."""
    equal = documents[SCORE, i] == documents[SCORE, j]
    equal &= documents[GRADE, i] == documents[GRADE, j]
    equal &= documents[BETTER_WEIGHT, i] == documents[BETTER_WEIGHT, j]
    equal &= documents[WORSE_WEIGHT, i] == documents[WORSE_WEIGHT, j]
    return bool(equal)
