r"""When two documents of a blend change places, and what each swap is worth.

The score of document i is a line in alpha,

    s_i(alpha) = alpha * s1_i + (1 - alpha) * s2_i,    0 < alpha < 1.

Just above alpha = 0 a list stands by s2, and where that is equal by s1.  So a document
j that stands below i rises above it if and only if s1_j > s1_i, where the lines meet:

    alpha = 1 / (1 + gain / lead),    lead = s2_i - s2_j,    gain = s1_j - s1_i.

Whether two lines meet is a comparison, which no rounding touches; rounding may only
shift where.  A list changes by swaps of neighbours, each pair of lines at most once.
The next swap is the earliest meeting of neighbours, kept by a tournament over the
positions; it makes new neighbours in two places, which takes log(n) steps.

A document with k others that both rankers put above it is never among the first k.
With a cutoff k all such documents are left out first: of n documents that two unrelated
rankers order, about k (1 + log(n / k)) remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def meeting(first: FloatArray, second: FloatArray, p: int) -> float:
    """Alpha at which position p + 1 rises above p; infinite if it never does."""
    gain, lead = float(first[p + 1] - first[p]), float(second[p] - second[p + 1])
    # the quotient may be infinite: alpha is 0 then
    return 1.0 / (1.0 + gain / lead) if gain > 0 else np.inf


@kernel
def play(when: FloatArray, winner: IntArray, node: int) -> None:
    """Let the earlier of two meetings win, the upper of two at once."""
    left, right = winner[2 * node], winner[2 * node + 1]
    winner[node] = right if when[right] < when[left] else left


@kernel
def longer(values: Any) -> Any:
    """Twice the room, with the values in the first half."""
    result = np.empty(2 * len(values), values.dtype)
    result[: len(values)] = values
    return result


@kernel
def crossings(
    first: FloatArray, second: FloatArray, worth: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the swaps of one list between alpha = 0 and alpha = 1.

    Parameters
    ----------
    first, second, worth : (n,) float64, CHANGED
        Scores of the two rankers and worths, in the order just above alpha = 0; they
        come out in the order just below alpha = 1.

    Returns
    -------
    alphas : float64, rising
    positions : int64
        At ``alphas[i]`` the documents at ``positions[i]`` and the one below it swap
        places.  Swaps of equal worth are left out.
    """
    n, size, n_swaps = len(first), 1, 0
    while size < n:
        size *= 2
    when = np.full(size, np.inf)
    winner = np.empty(2 * size, np.int64)
    for p in range(size):
        winner[size + p] = p
        if p < n - 1:
            when[p] = meeting(first, second, p)
    for node in range(size - 1, 0, -1):
        play(when, winner, node)
    alphas, positions = np.empty(n), np.empty(n, np.int64)
    now, p = 0.0, winner[1]
    while when[p] < np.inf:
        now = max(now, when[p])
        if worth[p] != worth[p + 1]:
            if n_swaps == len(alphas):
                alphas, positions = longer(alphas), longer(positions)
            alphas[n_swaps], positions[n_swaps] = now, p
            n_swaps += 1
        for values in (first, second, worth):
            values[p], values[p + 1] = values[p + 1], values[p]
        for q in range(max(p - 1, 0), min(p + 2, n - 1)):
            when[q] = meeting(first, second, q)
            node = (size + q) // 2
            while node > 0:
                play(when, winner, node)
                node //= 2
        p = winner[1]
    return alphas[:n_swaps], positions[:n_swaps]


@kernel
def contenders(first: FloatArray, k: int) -> IntArray:
    """Return who is among the first k somewhere between alpha = 0 and alpha = 1.

    `first` is in the order just above alpha = 0: those who come before j are above it
    there, and stay above if `first` is not lower.
    """
    kept = np.empty(len(first), np.int64)
    highest = np.full(k, -np.inf)  # the k highest so far, falling
    n_kept = 0
    for j in range(len(first)):
        if j >= k and first[j] <= highest[k - 1]:
            continue
        hole = min(j, k - 1)
        while hole > 0 and highest[hole - 1] < first[j]:
            highest[hole] = highest[hole - 1]
            hole -= 1
        highest[hole] = first[j]
        kept[n_kept] = j
        n_kept += 1
    return kept[:n_kept]


@kernel
def changes_by_swaps(
    worth: FloatArray, positions: IntArray, discount: FloatArray, u: float, v: float
) -> FloatArray:
    """Return by how much each swap raises a built-in measure of scale 1.

    The formula is derived at the head of ``metrics/_closed_form.py``.  `worth` is in
    the order before the first swap; it comes out in that after the last. CHANGED
    """
    from_above = np.ones(len(worth))
    for p in range(len(worth) - 1):
        from_above[p + 1] = from_above[p] + worth[p] * (u + v * from_above[p])
    changes = np.empty(len(positions))
    for i in range(len(positions)):
        p = positions[i]
        c = from_above[p]
        gain = worth[p + 1] - worth[p]
        changes[i] = gain * (discount[p] - discount[p + 1]) * c
        worth[p], worth[p + 1] = worth[p + 1], worth[p]
        from_above[p + 1] = c + worth[p] * (u + v * c)
    return changes


@kernel
def changes_of_list(
    scores_1: FloatArray,
    scores_2: FloatArray,
    worth: FloatArray,
    ranked: IntArray,
    k: int,
    discount: FloatArray,
    u: float,
    v: float,
) -> tuple[FloatArray, FloatArray]:
    """Return where a built-in measure of one list changes, and by how much.

    `ranked` are its documents in the order just above alpha = 0.
    """
    if k < len(ranked):
        ranked = ranked[contenders(scores_1[ranked], k)]
    worths = worth[ranked]
    alphas, positions = crossings(scores_1[ranked], scores_2[ranked], worths.copy())
    changes = changes_by_swaps(worths, positions, discount, u, v)
    counts = changes != 0
    return alphas[counts], changes[counts]
