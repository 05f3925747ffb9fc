"""Lambdas and hessians of the pairs of one list: force times swap delta.

For a pair of documents i, j with i of the higher grade (section 7 of the report),

    rho_ij        = 1 / (1 + exp(sigma (s_i - s_j)))
    dC/ds_i      -= sigma |Delta_ij| rho_ij              dC/ds_j += the same
    d2C/ds_i^2   += sigma^2 |Delta_ij| rho_ij (1 - rho_ij)        and d2C/ds_j^2 alike

are the derivatives of the cost |Delta_ij| log(1 + exp(-sigma (s_i - s_j))) at a fixed
order.  The factors sigma and sigma^2 are left out here; they are applied once per
document.

No exponential per pair is needed: with exp_score_i = exp(sigma (s_i - s_top)),
rho_ij = exp_score_j / (exp_score_i + exp_score_j), exactly.

With position p above position q, the swap delta in the form

    Delta_pq = (gain_p - gain_q) * (discount_above_p - discount_below_q) * multiplier_p

(:mod:`sklearn_ltr.metrics`; discount_above_p >= discount_below_q) is positive if p is
the better document and negative if q is.  So is lambda_pq = Delta_pq * rho, with rho
the probability that the worse document beats the better one; it decreases dC/ds_p and
increases dC/ds_q.

Where pairs are weighted, Delta_pq of a pair whose better document is i and whose worse
is j is multiplied by better_weight_i * worse_weight_j (:mod:`.._pair_weights`).

All that the loops read and write is in one array `documents` of shape (N_ROWS, width):
its rows are listed below, its columns are positions.  After the last position it is
padded to a whole number of DOCUMENT_BLOCKs with documents of gain 0, exp_score 0 and a
score gap above all others, whose pairs all contribute 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    REGISTER_LANES,
    exp,
    float64_lanes,
    subkernel,
    sum_of_lanes,
    uint64,
)

FloatArray = NDArray[np.float64]

# The rows of `documents`.  SCORE_GAP is sigma (s_top - s) with distance normalisation
# and 0 without; MULTIPLIER includes the scale of the query.
(
    SCORE,
    GRADE,
    SCORE_GAP,
    EXP_SCORE,
    GAIN,
    MULTIPLIER,
    DISCOUNT_ABOVE,
    DISCOUNT_BELOW,
    GRADIENT,
    HESSIAN,
) = range(10)
N_ROWS = 10
# Further rows where pairs are weighted
BETTER_WEIGHT, WORSE_WEIGHT, BETTER_COST, WORSE_COST = range(N_ROWS, N_ROWS + 4)
N_WEIGHTED_ROWS = N_ROWS + 4
DOCUMENT_BLOCK = 16  # loops over whole blocks need no scalar remainder loop


@subkernel
def add_pairs_of_lanes(
    first: int,
    n: int,
    k: int,
    documents: FloatArray,
    min_distance: float,
    table: FloatArray | None,
    weights: FloatArray | None,
) -> float:
    """Add the pairs of REGISTER_LANES documents with all documents above them.

    The documents, one per lane, are those at positions `first` to
    ``first + REGISTER_LANES - 1``.  A pair's swap delta is divided by its distance,
    `min_distance` plus the difference of the score gaps.  The loop takes one division
    per pair and has no branches.  Pairs are weighted unless `weights` is None.  Returns
    the sum of |lambda_pq|.

    The sums of the lanes are on the stack: LLVM vectorizes a loop that writes nowhere
    else without checks for aliasing.  Counters are unsigned because numba checks
    whether a signed index is negative, which cannot be vectorized.
    """
    gradient, hessian = float64_lanes(), float64_lanes()
    lambdas, hessians = float64_lanes(), float64_lanes()  # of the pairs of one document
    abs_lambdas = float64_lanes()
    stop = min(first + REGISTER_LANES, n)
    size = uint64(
        (stop - first + DOCUMENT_BLOCK - 1) // DOCUMENT_BLOCK * DOCUMENT_BLOCK
    )
    start = uint64(first)
    for lane in range(size):
        gradient[lane], hessian[lane], abs_lambdas[lane] = 0.0, 0.0, 0.0
    for p in range(min(k, stop)):
        first_below = uint64(max(p + 1 - first, 0))  # lane of the first position > p
        block = first_below // uint64(DOCUMENT_BLOCK) * uint64(DOCUMENT_BLOCK)
        if table is not None:
            compare_grades(p, start + block, start + size, documents, table)
        base_distance = min_distance - documents[SCORE_GAP, p]
        exp_score = documents[EXP_SCORE, p]
        gain, multiplier = documents[GAIN, p], documents[MULTIPLIER, p]
        discount_above = documents[DISCOUNT_ABOVE, p]
        for lane in range(block, size):
            q = start + lane
            p_is_better = gain > documents[GAIN, q]
            exp_better = exp_score if p_is_better else documents[EXP_SCORE, q]
            exp_worse = documents[EXP_SCORE, q] if p_is_better else exp_score
            distance = base_distance + documents[SCORE_GAP, q]
            inverse = 1.0 / ((exp_score + documents[EXP_SCORE, q]) * distance)
            delta = (gain - documents[GAIN, q]) * (
                discount_above - documents[DISCOUNT_BELOW, q]
            )
            lambda_pq = (
                delta * multiplier * exp_worse * inverse if lane >= first_below else 0.0
            )
            abs_lambda = abs(lambda_pq)
            hessian_pq = abs_lambda * (exp_better * distance * inverse)
            if weights is not None:
                weight = (
                    documents[BETTER_WEIGHT, uint64(p)] * documents[WORSE_WEIGHT, q]
                    if p_is_better
                    else documents[BETTER_WEIGHT, q]
                    * documents[WORSE_WEIGHT, uint64(p)]
                )
                lambda_pq, hessian_pq = lambda_pq * weight, hessian_pq * weight
                abs_lambda *= weight
            lambdas[lane], hessians[lane] = lambda_pq, hessian_pq
            gradient[lane] += lambda_pq
            hessian[lane] += hessian_pq
            abs_lambdas[lane] += abs_lambda
        documents[GRADIENT, p] -= sum_of_lanes(lambdas, block, size)
        documents[HESSIAN, p] += sum_of_lanes(hessians, block, size)
    for lane in range(size):
        documents[GRADIENT, start + lane] += gradient[lane]
        documents[HESSIAN, start + lane] += hessian[lane]
    return sum_of_lanes(abs_lambdas, uint64(0), size)


@subkernel
def add_pairs_by_exponentials(
    n: int,
    k: int,
    documents: FloatArray,
    sigma: float,
    min_distance: float,
    gap_scale: float,
    table: FloatArray | None,
    weights: FloatArray | None,
) -> float:
    """Do the same for a whole list, with one exponential per pair.

    This is slower, but exact for scores so far apart that EXP_SCORE underflows.
    """
    abs_lambda_sum = 0.0
    for p in range(min(k, n)):
        if table is not None:
            compare_grades(p, uint64(p), uint64(n), documents, table)
        gain, multiplier = documents[GAIN, p], documents[MULTIPLIER, p]
        for q in range(p + 1, n):
            delta = (gain - documents[GAIN, q]) * multiplier
            delta *= documents[DISCOUNT_ABOVE, p] - documents[DISCOUNT_BELOW, q]
            if delta == 0.0:
                continue
            score_difference = documents[SCORE, p] - documents[SCORE, q]
            small = exp(-sigma * score_difference)
            high, low = 1.0 / (1.0 + small), small / (1.0 + small)
            rho, one_minus_rho = (low, high) if delta > 0 else (high, low)
            lambda_pq = delta * rho / (min_distance + gap_scale * score_difference)
            if weights is not None:
                better, worse = (p, q) if delta > 0 else (q, p)
                lambda_pq *= documents[BETTER_WEIGHT, better]
                lambda_pq *= documents[WORSE_WEIGHT, worse]
            abs_lambda_sum += abs(lambda_pq)
            documents[GRADIENT, p] -= lambda_pq
            documents[GRADIENT, q] += lambda_pq
            documents[HESSIAN, p] += abs(lambda_pq) * one_minus_rho
            documents[HESSIAN, q] += abs(lambda_pq) * one_minus_rho
    return abs_lambda_sum


@subkernel
def compare_grades(
    p: int, first: int, stop: int, documents: FloatArray, table: FloatArray
) -> None:
    """Set the gains relative to p: 0 for p, and for q -1, 0 or 1 by grade.

    Used where documents have no gain of their own: for RankNet, whose swaps all count
    1 (`table` is empty), and for metrics whose swap deltas come as a `table` (n, n),
    for which DISCOUNT_ABOVE is 0 and DISCOUNT_BELOW becomes the negative delta.  Sets
    positions `first` to ``stop - 1``.
    """
    grade = documents[GRADE, p]
    for q in range(first, stop):
        worse = -1.0 if documents[GRADE, q] < grade else 0.0
        documents[GAIN, q] = 1.0 if documents[GRADE, q] > grade else worse
    documents[GAIN, p] = 0.0
    for q in range(first, min(stop, uint64(len(table)))):
        documents[DISCOUNT_BELOW, q] = -table[p, q]


@subkernel
def average_over_equal_documents(n: int, k: int, documents: FloatArray) -> None:
    """Give documents of equal score and grade the mean of their derivatives.

    Their order in the list is only that of the rows; the mean is the expected value
    over all orders.  Below position k the list is not sorted, but derivatives of equal
    documents can differ there only in the run that extends across position k.
    """
    scores, grades = documents[SCORE], documents[GRADE]
    gradient, hessian = documents[GRADIENT], documents[HESSIAN]
    start = 0
    while start < min(k, n):
        s, g = scores[start], grades[start]
        stop = start + 1
        while stop < min(k, n) and scores[stop] == s and grades[stop] == g:
            stop += 1
        end = n if stop == k else stop
        n_equal = 0
        for i in range(uint64(start), uint64(end)):
            n_equal += (scores[i] == s) & (grades[i] == g)
        if n_equal > 1:
            gradient_sum, hessian_sum = 0.0, 0.0
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient_sum += gradient[i]
                    hessian_sum += hessian[i]
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient[i] = gradient_sum / n_equal
                    hessian[i] = hessian_sum / n_equal
        start = stop
