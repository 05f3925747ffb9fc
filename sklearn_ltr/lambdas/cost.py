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

from sklearn_ltr._compile import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FACTORS = 16  # of a product before its logarithm is taken
MODEST = 40.0  # sigma * (s_top - s_bottom) up to which such a product stays finite


@kernel
def is_pair(i: int, j: int, grades: FloatArray, tied: bool) -> bool:
    """Whether i and j are a pair with i as the better, or an equally good, document."""
    return (grades[i] == grades[j] and i != j) if tied else grades[i] > grades[j]


@kernel
def cost_of_one(
    i: int, scores: FloatArray, grades: FloatArray, sigma: float, tied: bool
) -> float:
    """Add up log(1 + exp(-sigma (s_i - s_j))) over the pairs of document i."""
    total = 0.0
    for j in range(len(scores)):
        if is_pair(i, j, grades, tied):
            x = sigma * (scores[j] - scores[i])
            total += max(x, 0.0) + np.log1p(np.exp(-abs(x)))
    return total


@kernel
def cost_of_one_by_products(
    i: int, odds: FloatArray, grades: FloatArray, tied: bool
) -> float:
    """Do the same for scores that are not far apart, with few logarithms."""
    total, inverse, n = 0.0, 1.0 / odds[i], len(odds)
    for start in range(0, n, FACTORS):
        product = 1.0
        for j in range(start, min(start + FACTORS, n)):
            ratio = odds[j] * inverse
            product *= 1.0 + (ratio if is_pair(i, j, grades, tied) else 0.0)
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
    """Write the cost of each query; arrays are in canonical order."""
    for query in range(len(costs)):
        s = scores[offsets[query] : offsets[query + 1]]
        g = grades[offsets[query] : offsets[query + 1]]
        top = s.max()
        near = sigma * (top - s.min()) < MODEST
        odds = np.exp(sigma * (s - top))
        costs[query] = 0.0
        for tied in range(2 if tied_pairs else 1):
            total = 0.0
            for i in range(len(s)):
                if near:
                    total += cost_of_one_by_products(i, odds, g, tied == 1)
                else:
                    total += cost_of_one(i, s, g, sigma, tied == 1)
            costs[query] += 0.5 * total if tied == 1 else total


@kernel
def count_pairs(
    grades: FloatArray, offsets: IntArray, tied_pairs: bool, counts: FloatArray
) -> None:
    """Write the number of pairs of each query."""
    for query in range(len(counts)):
        g = grades[offsets[query] : offsets[query + 1]]
        counts[query] = 0.0
        for i in range(len(g)):
            for j in range(i):
                counts[query] += 1.0 if tied_pairs or g[i] != g[j] else 0.0


@kernel
def pull_together(
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
