"""One document against all below it: force times swap delta.

For a pair of documents i, j with i of the higher grade (section 7 of the report),

    rho_ij        = 1 / (1 + exp(sigma (s_i - s_j)))
    dC/ds_i      -= sigma |Delta_ij| rho_ij              dC/ds_j += the same
    d2C/ds_i^2   += sigma^2 |Delta_ij| rho_ij (1 - rho_ij)        and d2C/ds_j^2 alike

are the derivatives of the cost |Delta_ij| log(1 + exp(-sigma (s_i - s_j))) at a fixed
order.  sigma is left out here, and multiplied in once per document.

With e_i = exp(sigma (s_i - s_top)) the pair needs no exponential of its own:
rho_ij = e_j / (e_i + e_j), exactly.

Arrays are by position in the ranked list, padded to whole blocks of 16: a loop that
starts at a block runs in full vectors.  (Its counter is unsigned: numba checks a signed
index for negatives, which a vector cannot.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel, uint64

FloatArray = NDArray[np.float64]

WIDEST = 600.0  # sigma * (s_top - s_bottom) up to which no e underflows
APART = 0.01  # keeps the score distance from dividing by zero


@kernel
def push_below(
    p: int,
    first: int,
    grades: FloatArray,
    scores: FloatArray,
    odds: FloatArray,
    delta: FloatArray,
    gap: float,
    slope: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Add the pairs of position p with the positions from `first` on.

    A pair's delta is divided by ``gap + slope * |score distance|``.  One division a
    pair, and no branches: a pair that does not count has delta 0.  Returns the sum of
    |lambda_ij|.
    """
    grade, score, odd = grades[p], scores[p], odds[p]
    pull, bend, strength = 0.0, 0.0, 0.0
    for q in range(uint64(first), uint64(len(grades))):
        above_is_better = grade > grades[q]
        better = odd if above_is_better else odds[q]
        worse = odds[q] if above_is_better else odd
        distance = gap + slope * abs(score - scores[q])
        inverse = 1.0 / ((odd + odds[q]) * distance)
        force = delta[q] * worse * inverse if grade != grades[q] else 0.0
        push = force if above_is_better else -force
        curvature = force * (better * distance * inverse)
        gradient[q] += push
        hessian[q] += curvature
        pull -= push
        bend += curvature
        strength += force
    gradient[p] += pull
    hessian[p] += bend
    return strength


@kernel
def push_below_far(
    p: int,
    grades: FloatArray,
    scores: FloatArray,
    sigma: float,
    delta: FloatArray,
    gap: float,
    slope: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Do the same with an exponential per pair, for scores of any spread."""
    strength = 0.0
    for q in range(p + 1, len(grades)):
        if grades[p] == grades[q] or delta[q] == 0.0:
            continue
        sign = 1.0 if grades[p] > grades[q] else -1.0
        apart = scores[p] - scores[q]
        small = np.exp(-sigma * abs(apart))
        high, low = 1.0 / (1.0 + small), small / (1.0 + small)
        rho, other = (low, high) if sign * apart > 0 else (high, low)
        force = delta[q] * rho / (gap + slope * abs(apart))
        gradient[p] -= sign * force
        gradient[q] += sign * force
        hessian[p] += force * other
        hessian[q] += force * other
        strength += force
    return strength


@kernel
def swap_deltas(
    p: int,
    first: int,
    worth: FloatArray,
    upper: float,
    lower: FloatArray,
    factor: float,
    delta: FloatArray,
) -> None:
    """Write |Delta| of swapping position p with those from `first` on."""
    for q in range(uint64(first), uint64(len(worth))):
        delta[q] = abs(worth[p] - worth[q]) * abs(upper - lower[q]) * factor


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
