"""The lambdas of whole queries: a list is laid out by position, pushed, and shared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import LANES, aligned, kernel, subkernel, uint64
from sklearn_ltr.lambdas.exponential import exponential
from sklearn_ltr.lambdas.force import (
    BLOCK,
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
    scale: float,
    sigma: float,
    documents: FloatArray,
) -> tuple[bool, bool]:
    """Fill in what the pair loop knows of the list that starts at `lo`.

    Returns whether scores differ, and whether they are too far apart for their
    exponentials.
    """
    start, length = uint64(lo), uint64(n)
    for p in range(length):
        document = uint64(order[start + p])
        documents[SCORE, p] = scores[document]
        documents[GRADE, p] = grades[document]
        documents[WORTH, p] = worth[document]
    for p in range(uint64(min(k, n))):
        documents[WEIGHT, p] = terms[0, start + p] * scale
        documents[UPPER, p] = terms[1, start + p]
    top, n_lower, n_far = documents[SCORE, 0], 0, 0
    for p in range(length):
        odds = exponential(sigma * (documents[SCORE, p] - top))
        n_lower += documents[SCORE, p] < top
        n_far += odds < FAINTEST
        documents[ODDS, p] = odds
        documents[LOWER, p] = terms[2, start + p]
        documents[GRADIENT, p], documents[HESSIAN, p] = 0.0, 0.0
    for p in range(length, length + uint64(BLOCK)):
        for row in range(N_ROWS):
            documents[row, p] = 0.0
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
    by_grade: bool,
    table: FloatArray,
    k: int,
    scale: FloatArray,
    query_weight: FloatArray,
    sigma: float,
    distance_normalization: bool,
    query_normalization: bool,
    documents: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write the gradient and hessian of the documents of queries first..last - 1.

    Swap deltas come from the worth and the `terms` (weight, upper, lower) of a closed
    form; if `by_grade`, from `table` (n, n), or all are 1 if that is empty: RankNet.
    `documents` is memory for the longest list, see :func:`room_for`.
    """
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
            scale[query],
            sigma,
            documents,
        )
        gap, slope = 1.0, 0.0
        if distance_normalization and differ:
            gap, slope = APART, sigma
        if far:
            strength = push_far(n, k, documents, sigma, gap, slope, by_grade, table)
        else:
            strength = 0.0
            for top in range(0, n, LANES):
                strength += push_lanes(
                    top, n, k, documents, gap, slope, by_grade, table
                )
        share_among_equals(n, k, documents)
        factor = query_weight[query] * sigma
        if query_normalization and strength > 0:
            factor *= np.log1p(2.0 * strength) / (2.0 * strength * np.log(2.0))
        for p in range(uint64(n)):
            document = uint64(order[uint64(lo) + p])
            gradient[document] = documents[GRADIENT, p] * factor
            hessian[document] = documents[HESSIAN, p] * factor * sigma


def room_for(longest: int) -> FloatArray:
    """Return memory for `documents`, its rows aligned to lines of the cache."""
    width = -(-longest // BLOCK) * BLOCK + BLOCK
    return aligned((N_ROWS, width), np.float64)
