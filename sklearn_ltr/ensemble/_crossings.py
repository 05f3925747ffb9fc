r"""Where two documents of a blend swap ranks, and how each swap changes a metric.

The score of document i is a line in alpha,

    s_i(alpha) = alpha * s1_i + (1 - alpha) * s2_i,    0 < alpha < 1.

Just above alpha = 0 the documents are ordered by s2, and those of equal s2 by s1.  A
document j that is ranked below i there rises above i if and only if s1_j > s1_i.  Their
lines then cross at

    alpha = deficit / (deficit + advantage) = 1 / (1 + advantage / deficit),

where deficit = s2_i - s2_j >= 0 is how far j is below i at alpha = 0, and
advantage = s1_j - s1_i > 0 how far it is above i at alpha = 1.  Whether two lines cross
is decided by a comparison of scores, so it is exact; only the alpha is rounded.

The ranking changes by swaps of adjacent documents, each pair of documents at most once.
A sweep over alpha applies the earliest crossing of adjacent documents again and again.
It is the root of a tournament tree over positions, where each inner node holds the
child with the earlier crossing.  A swap at position p changes the crossings at p - 1, p
and p + 1; updating their paths to the root takes O(log n).

With a cutoff k, only the k-skyband matters: the documents that fewer than k others beat
in both scores.  All others are never among the first k and are removed beforehand.  Of
n documents with two independent scores, about k (1 + log(n / k)) remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel, subkernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@subkernel
def crossing_alpha(scores_1: FloatArray, scores_2: FloatArray, p: int) -> float:
    """Return the alpha at which document p + 1 rises above p; infinity if never."""
    advantage = float(scores_1[p + 1] - scores_1[p])
    deficit = float(scores_2[p] - scores_2[p + 1])
    # with deficit 0 the quotient is infinite, and alpha is 0
    return 1.0 / (1.0 + advantage / deficit) if advantage > 0 else np.inf


@subkernel
def update_winner(alphas: FloatArray, winner: IntArray, node: int) -> None:
    """Store the earlier crossing of the two children; of equal ones, the upper."""
    left, right = winner[2 * node], winner[2 * node + 1]
    winner[node] = right if alphas[right] < alphas[left] else left


@subkernel
def grow_array(values: Any) -> Any:
    """Return an array of twice the length whose first half is `values`."""
    result = np.empty(2 * len(values), values.dtype)
    result[: len(values)] = values
    return result


@kernel
def crossings(
    scores_1: FloatArray, scores_2: FloatArray, gain: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the swaps of one ranking between alpha = 0 and alpha = 1.

    Parameters
    ----------
    scores_1, scores_2, gain : (n,) float64, CHANGED
        Scores of the two rankers, and gain of each document, in the order just above
        alpha = 0.  On return they are in the order just below alpha = 1.

    Returns
    -------
    alphas : (n_swaps,) float64, non-decreasing
    positions : (n_swaps,) int64
        At ``alphas[i]`` the documents at positions ``positions[i]`` and
        ``positions[i] + 1`` swap.  Swaps of documents with equal gains are left out.
    """
    n, size, n_swaps = len(scores_1), 1, 0
    while size < n:
        size *= 2
    next_alpha = np.full(size, np.inf)  # of the swap at each position
    winner = np.empty(2 * size, np.int64)  # tree: root 1, children of i 2i and 2i + 1
    for p in range(size):
        winner[size + p] = p
        if p < n - 1:
            next_alpha[p] = crossing_alpha(scores_1, scores_2, p)
    for node in range(size - 1, 0, -1):
        update_winner(next_alpha, winner, node)
    alphas, positions = np.empty(n), np.empty(n, np.int64)
    alpha, p = 0.0, winner[1]
    while next_alpha[p] < np.inf:
        # rounding must not make a later swap come at a smaller alpha
        alpha = max(alpha, next_alpha[p])
        if gain[p] != gain[p + 1]:
            if n_swaps == len(alphas):
                alphas, positions = grow_array(alphas), grow_array(positions)
            alphas[n_swaps], positions[n_swaps] = alpha, p
            n_swaps += 1
        for values in (scores_1, scores_2, gain):
            values[p], values[p + 1] = values[p + 1], values[p]
        for q in range(max(p - 1, 0), min(p + 2, n - 1)):
            next_alpha[q] = crossing_alpha(scores_1, scores_2, q)
            node = (size + q) // 2
            while node > 0:
                update_winner(next_alpha, winner, node)
                node //= 2
        p = winner[1]
    return alphas[:n_swaps], positions[:n_swaps]


@subkernel
def k_skyband(scores_1: FloatArray, k: int) -> IntArray:
    """Return the indices of the documents that fewer than k others beat in both scores.

    `scores_1` is in the order just above alpha = 0.  There, all documents before j are
    ranked above j; they stay above it for every alpha if their `scores_1` is not lower.
    """
    kept = np.empty(len(scores_1), np.int64)
    highest = np.full(k, -np.inf)  # the k highest scores so far, non-increasing
    n_kept = 0
    for j in range(len(scores_1)):
        if j >= k and scores_1[j] <= highest[k - 1]:
            continue
        hole = min(j, k - 1)
        while hole > 0 and highest[hole - 1] < scores_1[j]:
            highest[hole] = highest[hole - 1]
            hole -= 1
        highest[hole] = scores_1[j]
        kept[n_kept] = j
        n_kept += 1
    return kept[:n_kept]


@subkernel
def changes_by_swaps(
    gain: FloatArray, positions: IntArray, discount: FloatArray, u: float, v: float
) -> FloatArray:
    """Return the change of a closed-form metric of scale 1 by each swap of neighbours.

    ``metrics/_closed_form.py`` derives the formula and defines c, u and v.  `gain` is
    CHANGED from the order before the first swap to that after the last.
    """
    c = np.ones(len(gain))
    for p in range(len(gain) - 1):
        c[p + 1] = c[p] + gain[p] * (u + v * c[p])
    changes = np.empty(len(positions))
    for i in range(len(positions)):
        p = positions[i]
        c_p = c[p]
        difference = gain[p + 1] - gain[p]
        changes[i] = difference * (discount[p] - discount[p + 1]) * c_p
        gain[p], gain[p + 1] = gain[p + 1], gain[p]
        c[p + 1] = c_p + gain[p] * (u + v * c_p)
    return changes


@kernel
def changes_of_list(
    scores_1: FloatArray,
    scores_2: FloatArray,
    gain: FloatArray,
    ranked: IntArray,
    k: int,
    discount: FloatArray,
    u: float,
    v: float,
) -> tuple[FloatArray, FloatArray]:
    """Return where a closed-form metric of one query changes, and by how much.

    Parameters
    ----------
    scores_1, scores_2, gain : (n_documents,) float64
        Of all documents of all queries.
    ranked : (n,) int64
        The documents of the query, in the order just above alpha = 0.
    k : int
        Cutoff of the metric.
    discount : (longest list,) float64
    u, v : float
        ``cascade_coefficients`` of the metric.

    Returns
    -------
    alphas : (n_changes,) float64, non-decreasing
    changes : (n_changes,) float64
        Of the metric with scale 1; not zero.
    """
    if k < len(ranked):
        ranked = ranked[k_skyband(scores_1[ranked], k)]
    gains = gain[ranked]
    alphas, positions = crossings(scores_1[ranked], scores_2[ranked], gains.copy())
    changes = changes_by_swaps(gains, positions, discount, u, v)
    nonzero = changes != 0
    return alphas[nonzero], changes[nonzero]
