"""RankNet's lambdas for preferences: pairs with a target probability instead of grades.

    C = (1 - P) x + log(1 + exp(-x)),        x = sigma (s_i - s_j)
    dC/ds_i = sigma ((1 - P) - 1 / (1 + exp(x))) = -dC/ds_j

with P the target probability that i beats j (section 2 of the report, its P-bar;
equation 3 is P = (1 + S) / 2).  The pairs need not be consistent with each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import exp, kernel, log1p

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def add_preference_lambdas(
    scores: FloatArray,
    pairs: IntArray,
    probabilities: FloatArray,
    weights: FloatArray,
    sigma: float,
    gradient: FloatArray,
) -> None:
    """Add dC/ds of each document to `gradient` (n_documents,).

    `pairs` is (n_pairs, 2), indices of documents i and j; `probabilities` (P) and
    `weights` are (n_pairs,).
    """
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        x = sigma * (scores[i] - scores[j])
        small = exp(-abs(x))
        j_beats_i = (small if x > 0 else 1.0) / (1.0 + small)
        lambda_ij = weights[p] * sigma * (1.0 - probabilities[p] - j_beats_i)
        gradient[i] += lambda_ij
        gradient[j] -= lambda_ij


@kernel
def preference_cost(
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
        softplus = max(-x, 0.0) + log1p(exp(-abs(x)))
        total += weights[p] * ((1.0 - probabilities[p]) * x + softplus)
    return total
