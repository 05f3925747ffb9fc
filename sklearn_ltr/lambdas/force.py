"""One document against all below it: force times swap delta.

For a pair of documents i, j with i of the higher grade (section 7 of the report),

    rho_ij        = 1 / (1 + exp(sigma (s_i - s_j)))
    dC/ds_i      -= sigma |Delta_ij| rho_ij              dC/ds_j += the same
    d2C/ds_i^2   += sigma^2 |Delta_ij| rho_ij (1 - rho_ij)        and d2C/ds_j^2 alike

are the derivatives of the cost |Delta_ij| log(1 + exp(-sigma (s_i - s_j))) at a fixed
order.  sigma is left out here, and multiplied in once per document.

With e_i = exp(sigma (s_i - s_top)) the pair needs no exponential of its own:
rho_ij = e_j / (e_i + e_j), exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel

FloatArray = NDArray[np.float64]

WIDEST = 600.0  # sigma * (s_top - s_bottom) up to which no e underflows
APART = 0.01  # keeps the score distance from dividing by zero


@kernel
def push_below(
    grade: float,
    odd: float,
    grades: FloatArray,
    odds: FloatArray,
    delta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> tuple[float, float, float]:
    """Add the pairs of one document with all below it to the gradients of those.

    Returns what the pairs add to its own gradient and hessian, and their sum of
    |lambda|.  The arrays hold the documents below; the loop has no branches.
    """
    slope, bend, strength = 0.0, 0.0, 0.0
    for q in range(len(grades)):
        above_is_better = grade > grades[q]
        rho = (odds[q] if above_is_better else odd) / (odd + odds[q])
        force = delta[q] * rho if grade != grades[q] else 0.0
        push = force if above_is_better else -force
        curvature = force * (1.0 - rho)
        gradient[q] += push
        hessian[q] += curvature
        slope -= push
        bend += curvature
        strength += force
    return slope, bend, strength


@kernel
def push_below_far(
    grade: float,
    score: float,
    grades: FloatArray,
    scores: FloatArray,
    sigma: float,
    delta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> tuple[float, float, float]:
    """Do the same with an exponential per pair, for scores of any spread."""
    slope, bend, strength = 0.0, 0.0, 0.0
    for q in range(len(grades)):
        if grade == grades[q]:
            continue
        above_is_better = grade > grades[q]
        apart = sigma * (score - scores[q])  # >= 0: the list is in order, or far below
        small = np.exp(-abs(apart))
        high, low = 1.0 / (1.0 + small), small / (1.0 + small)
        rho, other = (low, high) if (apart > 0) == above_is_better else (high, low)
        force = delta[q] * rho
        push = force if above_is_better else -force
        gradient[q] += push
        hessian[q] += force * other
        slope -= push
        bend += force * other
        strength += force
    return slope, bend, strength


@kernel
def swap_deltas(
    worth: float,
    upper: float,
    factor: float,
    worths: FloatArray,
    lower: FloatArray,
    delta: FloatArray,
) -> None:
    """Write |Delta| of swapping a document with each below, from a metric's terms."""
    for q in range(len(worths)):
        delta[q] = abs(worth - worths[q]) * abs(upper - lower[q]) * factor


@kernel
def divide_by_distance(
    score: float, scores: FloatArray, sigma: float, delta: FloatArray
) -> None:
    """Divide the deltas of a document's pairs by ``0.01 + sigma |s_p - s_q|``."""
    for q in range(len(scores)):
        delta[q] /= APART + sigma * abs(score - scores[q])


@kernel
def share_among_equals(
    scores: FloatArray,
    grades: FloatArray,
    k: int,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Give documents of equal score and grade their mean lambda.

    Nothing but the order of the rows decides which of them stands where; the mean is
    the expected lambda over their orders.  From position k on the list is not in order,
    but only the run that reaches over k can have unequal lambdas there.
    """
    n, start = len(scores), 0
    while start < min(k, n):
        s, g = scores[start], grades[start]
        stop = start + 1
        while stop < min(k, n) and scores[stop] == s and grades[stop] == g:
            stop += 1
        end = n if stop == k else stop
        count, g_sum, h_sum = 0, 0.0, 0.0
        for i in range(start, end):
            if scores[i] == s and grades[i] == g:
                count += 1
                g_sum += gradient[i]
                h_sum += hessian[i]
        if count > 1:
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient[i], hessian[i] = g_sum / count, h_sum / count
        start = stop
