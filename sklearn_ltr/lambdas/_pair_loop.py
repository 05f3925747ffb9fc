"""One document against all below it: force times swap delta.

For a pair of documents i, j with i of the higher grade (section 7 of the report),

    rho_ij        = 1 / (1 + exp(sigma (s_i - s_j)))
    dC/ds_i      -= sigma |Delta_ij| rho_ij              dC/ds_j += the same
    d2C/ds_i^2   += sigma^2 |Delta_ij| rho_ij (1 - rho_ij)        and d2C/ds_j^2 alike

are the derivatives of the cost |Delta_ij| log(1 + exp(-sigma (s_i - s_j))) at a fixed
order.  sigma is left out here, and multiplied in once per document.

With e_i = exp(sigma (s_i - s_top)) the pair needs no exponential of its own:
rho_ij = e_j / (e_i + e_j), exactly.  And with p above q, the swap delta in the form

    Delta_pq = (worth_p - worth_q) * (upper_p - lower_q) * weight_p

(:mod:`sklearn_ltr.metrics`; upper_p >= lower_q) has the sign of the better document's
lambda: it is positive where p is the better one.

What the pair loop knows of a list is one array, `documents`: its rows are named below,
its columns are positions, and behind the last follow some of nobody, up to a whole
number of BLOCKs: of worth 0, e 0 and a depth below all, so that all their pairs are 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import REGISTER_LANES, float64_lanes, subkernel, uint64

FloatArray = NDArray[np.float64]

SCORE, GRADE, DEPTH, ODDS, WORTH, WEIGHT, UPPER, LOWER, GRADIENT, HESSIAN = range(10)
N_ROWS = 10
BLOCK = 16  # a loop over whole blocks runs in full vectors


@subkernel
def push_lanes(
    first: int,
    n: int,
    k: int,
    documents: FloatArray,
    gap: float,
    table: FloatArray | None,
) -> float:
    """Add the pairs of positions first to first + REGISTER_LANES - 1 with all above them.

    A pair's delta is divided by the `gap` plus the difference of their depths.  One
    division a pair, and no branches.  Returns the sum of |lambda_ij|.

    What the lanes get is added up on the stack: a loop that writes nowhere else is a
    loop of vectors without further checks.  (And counters are unsigned: numba checks a
    signed index for negatives, which a vector cannot.)
    """
    gradient, hessian = float64_lanes(), float64_lanes()
    stop = min(first + REGISTER_LANES, n)
    size = uint64((stop - first + BLOCK - 1) // BLOCK * BLOCK)
    start = uint64(first)
    for lane in range(size):
        gradient[lane], hessian[lane] = 0.0, 0.0
    strength = 0.0
    for p in range(min(k, stop)):
        below = uint64(max(p + 1 - first, 0))
        block = below // uint64(BLOCK) * uint64(BLOCK)
        if table is not None:
            compare_grades(p, start + block, start + size, documents, table)
        nearest, odds = gap - documents[DEPTH, p], documents[ODDS, p]
        worth, weight = documents[WORTH, p], documents[WEIGHT, p]
        upper = documents[UPPER, p]
        pull, bend = 0.0, 0.0
        for lane in range(block, size):
            q = start + lane
            is_better = worth > documents[WORTH, q]
            better = odds if is_better else documents[ODDS, q]
            worse = documents[ODDS, q] if is_better else odds
            distance = nearest + documents[DEPTH, q]
            inverse = 1.0 / ((odds + documents[ODDS, q]) * distance)
            delta = (worth - documents[WORTH, q]) * (upper - documents[LOWER, q])
            push = delta * weight * worse * inverse if lane >= below else 0.0
            force = abs(push)
            curvature = force * (better * distance * inverse)
            gradient[lane] += push
            hessian[lane] += curvature
            pull += push
            bend += curvature
            strength += force
        documents[GRADIENT, p] -= pull
        documents[HESSIAN, p] += bend
    for lane in range(size):
        documents[GRADIENT, start + lane] += gradient[lane]
        documents[HESSIAN, start + lane] += hessian[lane]
    return strength


@subkernel
def push_far(
    n: int,
    k: int,
    documents: FloatArray,
    sigma: float,
    gap: float,
    slope: float,
    table: FloatArray | None,
) -> float:
    """Do the same for a whole list of any spread, with an exponential per pair."""
    strength = 0.0
    for p in range(min(k, n)):
        if table is not None:
            compare_grades(p, uint64(p), uint64(n), documents, table)
        worth, weight = documents[WORTH, p], documents[WEIGHT, p]
        for q in range(p + 1, n):
            delta = (worth - documents[WORTH, q]) * weight
            delta *= documents[UPPER, p] - documents[LOWER, q]
            if delta == 0.0:
                continue
            apart = documents[SCORE, p] - documents[SCORE, q]
            small = np.exp(-sigma * apart)
            high, low = 1.0 / (1.0 + small), small / (1.0 + small)
            rho, other = (low, high) if delta > 0 else (high, low)
            push = delta * rho / (gap + slope * apart)
            documents[GRADIENT, p] -= push
            documents[GRADIENT, q] += push
            documents[HESSIAN, p] += abs(push) * other
            documents[HESSIAN, q] += abs(push) * other
            strength += abs(push)
    return strength


@subkernel
def compare_grades(
    p: int, first: int, stop: int, documents: FloatArray, table: FloatArray
) -> None:
    """Let positions first to stop - 1 be worth 1 less or more than p, which has 0.

    For what has no worth of its own: RankNet, whose every swap counts 1, and metrics
    that say for each pair in a `table` what its swap counts.
    """
    grade = documents[GRADE, p]
    for q in range(first, stop):
        worse = -1.0 if documents[GRADE, q] < grade else 0.0
        documents[WORTH, q] = 1.0 if documents[GRADE, q] > grade else worse
    documents[WORTH, p] = 0.0
    for q in range(first, min(stop, uint64(len(table)))):
        documents[LOWER, q] = -table[p, q]


@subkernel
def share_among_equals(n: int, k: int, documents: FloatArray) -> None:
    """Give documents of equal score and grade their mean lambda.

    Nothing but the order of the rows decides which of them stands where; the mean is
    the expected lambda over their orders.  From position k on the list is not in order,
    but only the run that reaches over k can have unequal lambdas there.
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
            g_sum, h_sum = 0.0, 0.0
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    g_sum += gradient[i]
                    h_sum += hessian[i]
            for i in range(start, end):
                if scores[i] == s and grades[i] == g:
                    gradient[i], hessian[i] = g_sum / n_equal, h_sum / n_equal
        start = stop
