"""The lambdas of whole queries: a list is laid out by position, pushed, and shared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    REGISTER_LANES,
    allocate_aligned,
    kernel,
    subkernel,
    uint64,
)
from sklearn_ltr.lambdas._exponential import exponential
from sklearn_ltr.lambdas._pair_loop import (
    BLOCK,
    DEPTH,
    GRADE,
    GRADIENT,
    HESSIAN,
    LOWER,
    N_ROWS,
    ODDS,
    SCORE,
    UPPER,
    WEIGHT,
    WORTH,
    push_far,
    push_lanes,
    share_among_equals,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FAINTEST = 1e-260  # the least e of which sums and products do not underflow
BELOW_ALL = 600.0  # where e is fainter than that
APART = 0.01  # keeps the score distance from dividing by zero


@subkernel
def lay_out(
    lo: int,
    n: int,
    k: int,
    scores: FloatArray,
    grades: FloatArray,
    order: IntArray,
    worth: FloatArray,
    terms: FloatArray,
    first_term: int,
    scale: float,
    sigma: float,
    slope: float,
    documents: FloatArray,
    place: IntArray,
) -> tuple[bool, bool]:
    """Fill in what the pair loop knows of the list that starts at `lo`.

    ``place[i]`` becomes the position of its i-th document in canonical order.  A depth
    is `slope` times how far a score is below the highest.  Returns whether scores
    differ, and whether they are too far apart for their exponentials.
    """
    start, own, length = uint64(lo), uint64(first_term), uint64(n)
    for p in range(length):
        place[order[start + p] - lo] = p
    for i in range(length):  # in the order of memory, which may be far away
        p = uint64(place[i])
        documents[SCORE, p] = scores[start + i]
        documents[GRADE, p] = grades[start + i]
        documents[WORTH, p] = worth[start + i]
    for p in range(uint64(min(k, n))):
        documents[WEIGHT, p] = terms[0, own + p] * scale
        documents[UPPER, p] = terms[1, own + p]
    top, n_lower, n_far = documents[SCORE, 0], 0, 0
    for p in range(length):
        below = top - documents[SCORE, p]
        odds = exponential(-sigma * below)
        n_lower += below > 0
        n_far += odds < FAINTEST
        documents[ODDS, p], documents[DEPTH, p] = odds, slope * below
        documents[LOWER, p] = terms[2, own + p]
        documents[GRADIENT, p], documents[HESSIAN, p] = 0.0, 0.0
    for row in range(N_ROWS):
        for p in range(length, length + uint64(BLOCK)):
            documents[row, p] = BELOW_ALL if row == DEPTH else 0.0
    return n_lower > 0, n_far > 0


@kernel
def push_queries(
    scores: FloatArray,
    grades: FloatArray,
    order: IntArray,
    offsets: IntArray,
    first: int,
    last: int,
    worth: FloatArray,
    terms: FloatArray,
    first_term: IntArray,
    table: FloatArray | None,
    k: int,
    scale: FloatArray,
    query_weight: FloatArray,
    sigma: float,
    distance_normalization: bool,
    query_normalization: bool,
    documents: FloatArray,
    place: IntArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write the gradient and hessian of the documents of queries first..last - 1.

    Swap deltas come from the worth and the `terms` (weight, upper, lower) of a closed
    form, those of a query from its `first_term` on; or from a `table` (n, n): if that
    is empty, all are 1, which is RankNet.  `documents` and `place` are memory for the
    longest list, see :func:`room_for`.
    """
    slope = sigma if distance_normalization else 0.0
    for query in range(first, last):
        lo, n = offsets[query], offsets[query + 1] - offsets[query]
        differ, far = lay_out(
            lo,
            n,
            k,
            scores,
            grades,
            order,
            worth,
            terms,
            first_term[query],
            scale[query],
            sigma,
            slope,
            documents,
            place,
        )
        gap = APART if distance_normalization and differ else 1.0
        if far:
            strength = push_far(n, k, documents, sigma, gap, slope, table)
        else:
            strength = 0.0
            for top in range(0, n, REGISTER_LANES):
                strength += push_lanes(top, n, k, documents, gap, table)
        share_among_equals(n, k, documents)
        factor = query_weight[query] * sigma
        if query_normalization and strength > 0:
            factor *= np.log1p(2.0 * strength) / (2.0 * strength * np.log(2.0))
        for i in range(uint64(n)):
            p = uint64(place[i])
            gradient[uint64(lo) + i] = documents[GRADIENT, p] * factor
            hessian[uint64(lo) + i] = documents[HESSIAN, p] * factor * sigma


def room_for(longest: int) -> tuple[FloatArray, IntArray]:
    """Return memory for `documents` and `place`, rows allocate_aligned to lines of the cache."""
    width = -(-longest // BLOCK) * BLOCK + BLOCK
    rows = allocate_aligned((N_ROWS, width), np.float64)
    return rows, np.empty(longest, dtype=np.int64)
