"""The cost of RankNet: the sum of the costs of the pairs of each query.

The cost of one pair is that of :mod:`sklearn_ltr._core.lambdas.pair`.  Where document i
has the higher grade it is log(1 + e_j / e_i) with e = exp(sigma s), so the cost of the
pairs of one document with all worse ones is the logarithm of a product.  For equal
grades it is half the sum of log(1 + e_j / e_i) and log(1 + e_i / e_j).

Judged pairs need not be consistent with each other.
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._core.compile import exp, kernel, log, subkernel, uint64
from sklearn_ltr._core.lambdas.pair import pair_cost, tied_lambda
from sklearn_ltr._core.typing import FloatArray, IntArray

FACTORS_PER_LOG = 16  # factors that are multiplied before a logarithm is taken
MAX_SPREAD = 40.0  # sigma (s_top - s_bottom) up to which their product is finite

# Scores, grades and offsets; a plain tuple, which numba recognises faster than a named
GradedLists = tuple[FloatArray, FloatArray, IntArray]


@subkernel
def cost_of_document(
    i: int, scores: FloatArray, first: int, last: int, sigma: float
) -> float:
    """Return the sum of log(1 + exp(-sigma (s_i - s_j))) over j = first to last - 1."""
    total = 0.0
    for j in range(first, last):
        total += pair_cost(sigma * (scores[i] - scores[j]), 1.0)
    return total


@subkernel
def cost_of_document_by_products(
    i: int, exp_scores: FloatArray, first: int, last: int
) -> float:
    """Return `cost_of_document` for scores within MAX_SPREAD, with fewer logarithms."""
    total, inverse = 0.0, 1.0 / exp_scores[i]
    for start in range(first, last, FACTORS_PER_LOG):
        product = 1.0
        for j in range(uint64(start), uint64(min(start + FACTORS_PER_LOG, last))):
            product *= 1.0 + exp_scores[j] * inverse
        total += log(product)
    return total


@kernel
def pair_costs(
    lists: GradedLists, sigma: float, tied_pairs: bool, costs: FloatArray
) -> None:
    """Write the cost of each query, the sum over its pairs, to `costs` (n_queries,)."""
    # the documents of a query must be in order of decreasing grade
    scores, grades, offsets = lists
    for query in range(len(costs)):
        s = scores[offsets[query] : offsets[query + 1]]
        g = grades[offsets[query] : offsets[query + 1]]
        n, top = len(s), s.max()
        by_products = sigma * (top - s.min()) < MAX_SPREAD
        exp_scores = np.empty(n)
        for i in range(n):
            exp_scores[i] = exp(sigma * (s[i] - top))
        total, start, stop = 0.0, 0, 0
        for i in range(n):
            if i == stop:  # documents start to stop - 1 have the grade of i
                start = i
                while stop < n and g[stop] == g[i]:
                    stop += 1
            if by_products:
                total += cost_of_document_by_products(i, exp_scores, stop, n)
                if tied_pairs:
                    total += 0.5 * cost_of_document_by_products(i, exp_scores, start, i)
                    total += 0.5 * cost_of_document_by_products(
                        i, exp_scores, i + 1, stop
                    )
            else:
                total += cost_of_document(i, s, stop, n, sigma)
                if tied_pairs:
                    total += 0.5 * cost_of_document(i, s, start, i, sigma)
                    total += 0.5 * cost_of_document(i, s, i + 1, stop, sigma)
        costs[query] = total


@kernel
def weighted_pair_costs(
    lists: GradedLists,
    document_weight: FloatArray,
    sigma: float,
    tied_pairs: bool,
    costs: FloatArray,
    pair_weights: FloatArray,
) -> None:
    """Write the cost of each query, with pairs weighing w_i w_j, and their weight."""
    # as `pair_costs`, without products of factors, each of which has a power here
    scores, grades, offsets = lists
    for query in range(len(costs)):
        total, weight = 0.0, 0.0
        stop = offsets[query + 1]
        for i in range(offsets[query], stop):
            for j in range(i + 1, stop):
                is_tied = grades[i] == grades[j]
                if is_tied and not tied_pairs:
                    continue
                x = sigma * (scores[i] - scores[j])
                cost = pair_cost(abs(x), 0.5) if is_tied else pair_cost(x, 1.0)
                pair_weight = document_weight[i] * document_weight[j]
                total += pair_weight * cost
                weight += pair_weight
        costs[query], pair_weights[query] = total, weight


@kernel
def add_tied_pairs(
    first: int,
    last: int,
    lists: GradedLists,
    sigma: float,
    sample_weight: FloatArray,
    weights: FloatArray | None,
    gradient: FloatArray,
) -> None:
    """Add the lambdas of pairs of equal grade, for queries first to last - 1."""
    # `weights` of pairs as in :mod:`pairs`; neither document is the better one, so both
    # rows are the same.
    scores, grades, offsets = lists
    for query in range(first, last):
        for i in range(offsets[query], offsets[query + 1]):
            for j in range(offsets[query], i):
                if grades[i] == grades[j]:
                    x = sigma * (scores[i] - scores[j])
                    lambda_ij = sample_weight[query] * tied_lambda(x, sigma)
                    if weights is not None:
                        lambda_ij *= weights[0, i] * weights[0, j]
                    gradient[i] += lambda_ij
                    gradient[j] -= lambda_ij


@kernel
def judged_pair_cost(
    scores: FloatArray,
    pairs: IntArray,
    probabilities: FloatArray,
    weights: FloatArray,
    sigma: float,
) -> float:
    """Return the weighted sum of the costs of all pairs."""
    total = 0.0
    for p in range(len(pairs)):
        x = sigma * (scores[pairs[p, 0]] - scores[pairs[p, 1]])
        total += weights[p] * pair_cost(x, probabilities[p])
    return total
