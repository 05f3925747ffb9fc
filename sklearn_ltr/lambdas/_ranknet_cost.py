"""The cost of RankNet: the cross entropy of the pairs of each query.

    C = 1/2 (1 - S_ij) sigma (s_i - s_j) + log(1 + exp(-sigma (s_i - s_j)))

(section 2 of the report), where S_ij is 1 if i is the better document and 0 if both are
equally good.  For S = 1 that is log(1 + e_j / e_i) with e = exp(sigma s), so the cost
of a document with all worse ones is the logarithm of a product.  For S = 0 it is half
of log(1 + e_j / e_i) + log(1 + e_i / e_j).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel, subkernel, uint64

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FACTORS = 16  # of a product before its logarithm is taken
MODEST = 40.0  # sigma * (s_top - s_bottom) up to which such a product stays finite


@subkernel
def cost_of_one(
    i: int, scores: FloatArray, first: int, last: int, sigma: float
) -> float:
    """Add up log(1 + exp(-sigma (s_i - s_j))) over the documents first to last - 1."""
    total = 0.0
    for j in range(first, last):
        x = sigma * (scores[j] - scores[i])
        total += max(x, 0.0) + np.log1p(np.exp(-abs(x)))
    return total


@subkernel
def cost_of_one_by_products(i: int, odds: FloatArray, first: int, last: int) -> float:
    """Do the same for scores that are not far apart, with few logarithms."""
    total, inverse = 0.0, 1.0 / odds[i]
    for start in range(first, last, FACTORS):
        product = 1.0
        for j in range(uint64(start), uint64(min(start + FACTORS, last))):
            product *= 1.0 + odds[j] * inverse
        total += np.log(product)
    return total


@kernel
def pair_costs(
    scores: FloatArray,
    grades: FloatArray,
    offsets: IntArray,
    sigma: float,
    tied_pairs: bool,
    costs: FloatArray,
) -> None:
    """Write the cost of each query, its documents ordered from high grade to low."""
    for query in range(len(costs)):
        s = scores[offsets[query] : offsets[query + 1]]
        g = grades[offsets[query] : offsets[query + 1]]
        n, top = len(s), s.max()
        near = sigma * (top - s.min()) < MODEST
        odds = np.exp(sigma * (s - top))
        total, start, stop = 0.0, 0, 0
        for i in range(n):
            if i == stop:  # the equals of i stand from start to stop, the worse behind
                start = i
                while stop < n and g[stop] == g[i]:
                    stop += 1
            if near:
                total += cost_of_one_by_products(i, odds, stop, n)
                if tied_pairs:
                    total += 0.5 * cost_of_one_by_products(i, odds, start, i)
                    total += 0.5 * cost_of_one_by_products(i, odds, i + 1, stop)
            else:
                total += cost_of_one(i, s, stop, n, sigma)
                if tied_pairs:
                    total += 0.5 * cost_of_one(i, s, start, i, sigma)
                    total += 0.5 * cost_of_one(i, s, i + 1, stop, sigma)
        costs[query] = total


@kernel
def add_tied_pairs(
    scores: FloatArray,
    grades: FloatArray,
    offsets: IntArray,
    first: int,
    last: int,
    sigma: float,
    weights: FloatArray,
    gradient: FloatArray,
) -> None:
    """Add what pairs of equal grade pull, for queries first to last - 1.

    Equation 3 of the report for S = 0: lambda_ij = sigma (1/2 - 1 / (1 + exp(x)))
    = sigma/2 tanh(x / 2), x = sigma (s_i - s_j).
    """
    for query in range(first, last):
        for i in range(offsets[query], offsets[query + 1]):
            for j in range(offsets[query], i):
                if grades[i] == grades[j]:
                    half = 0.5 * sigma * (scores[i] - scores[j])
                    pull = 0.5 * sigma * weights[query] * np.tanh(half)
                    gradient[i] += pull
                    gradient[j] -= pull
