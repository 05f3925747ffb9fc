"""The order of a ranked list, decided once.

Documents are ordered by score, highest first.  Equal scores are broken *against* the
model: the lower grade first, then canonical order.  So a list does not depend on the
order of the rows (up to documents equal in score and grade, which no measure can tell
apart), data sorted by grade leaks nothing, and a constant model earns its worst case.
``stable`` breaks ties by canonical order alone, as tools that sort stably do.

Only the first ``k`` positions of a list are put in order.  In blocks of 128 documents:
a document's position is the number of those that stand above it, and counting these
takes more comparisons than sorting would, but whole vectors of them, and no branch.
Then blocks are merged in pairs, as far as position k; or, where k is small, what stands
above the k-th so far is inserted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import (
    REGISTER_LANES,
    float32_lanes,
    int64,
    kernel,
    subkernel,
    uint32,
    uint32_lanes,
    uint64,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

HIGHEST = 3e38  # about what a float32 can hold


@subkernel
def precedes(
    scores: FloatArray, grades: FloatArray, stable: bool, a: int, b: int
) -> bool:
    """Whether document a stands above document b."""
    if scores[a] != scores[b]:
        return bool(scores[a] > scores[b])
    if not stable and grades[a] != grades[b]:
        return bool(grades[a] < grades[b])
    return a < b


@kernel
def rank_documents(
    scores: FloatArray,
    grades: FloatArray,
    offsets: IntArray,
    first: int,
    last: int,
    k: int,
    order: IntArray,
    stable: bool = False,
) -> None:
    """Write the ranked lists of queries ``first`` to ``last - 1`` into ``order``.

    Parameters
    ----------
    scores, grades : (n_documents,) float64
        In canonical order; scores without NaN.
    offsets : (n_queries + 1,) int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    first, last : int
        Range of queries; other parts of ``order`` are not touched.
    k : int
        How many positions must be in order.  The documents below position k follow
        in some deterministic order.
    order : (n_documents,) int64, OUT
        ``order[offsets[q] + p]`` is the document at position p of query q's list,
        counted over all queries.
    stable : bool
        Break ties by canonical order instead of by grade.
    """
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    buffer = np.empty(longest + REGISTER_LANES, np.int64)
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        n = stop - start
        few = min(k, n)
        inserts = few <= REGISTER_LANES and few * few < n + 64
        for block in range(
            start, start + REGISTER_LANES if inserts else stop, REGISTER_LANES
        ):
            size = min(REGISTER_LANES, stop - block)
            _count(scores, grades, stable, order, block, size, buffer)
        if inserts:
            _insert(
                scores, grades, stable, order, start, start + REGISTER_LANES, stop, few
            )
            continue
        width = int64(REGISTER_LANES)
        while width < n:
            for middle in range(start + width, stop, 2 * width):
                _merge(scores, grades, stable, order, middle, width, stop, k, buffer)
            width *= 2


@subkernel
def _insert(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    order: IntArray,
    start: int,
    first: int,
    stop: int,
    k: int,
) -> None:
    """Insert documents `first` to ``stop - 1`` into the best k of those before them.

    Whoever drops out takes the newcomer's place.
    """
    last = start + k - 1
    for block in range(first, stop, REGISTER_LANES):
        end = min(block + REGISTER_LANES, stop)
        bound, n_high = scores[order[last]], 0
        for document in range(uint64(block), uint64(end)):
            order[document] = int64(document)
            n_high += int64(scores[document] >= bound)
        if n_high == 0:
            continue
        for document in range(block, end):
            if not precedes(scores, grades, stable, document, order[last]):
                continue
            hole = last
            order[document] = order[hole]
            while hole > start and precedes(
                scores, grades, stable, document, order[hole - 1]
            ):
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = document


@subkernel
def _count(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    order: IntArray,
    start: int,
    n: int,
    taken: IntArray,
) -> None:
    """Put up to REGISTER_LANES documents from `start` on in order.

    Scores are compared as float32, twice as many at a time.  A run of those that are
    equal has as many above it as its first position says; within the run a document
    goes above those before it that it precedes.
    """
    rounded, above = float32_lanes(), uint32_lanes()
    for i in range(REGISTER_LANES):
        rounded[i], above[i] = np.float32(0.0), uint32(0)
    for i in range(n):
        score = min(max(scores[start + i], -HIGHEST), HIGHEST)
        rounded[i] = np.float32(score)
        taken[i] = 0
    for j in range(n):
        own = rounded[j]
        for i in range(REGISTER_LANES):
            above[i] += uint32(own > rounded[i])
    for i in range(n):
        top = start + int64(above[i])
        hole = top + taken[top - start]
        taken[top - start] += 1
        while hole > top and precedes(
            scores, grades, stable, start + i, order[hole - 1]
        ):
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = start + i


@subkernel
def _merge(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    order: IntArray,
    middle: int,
    width: int,
    stop: int,
    k: int,
    buffer: IntArray,
) -> None:
    """Merge two neighbours of `width` documents, of which the first k are in order.

    The best go to the front of the left one; what does not fit there goes right.
    """
    n = min(k, width)
    m = min(n, stop - middle)
    left, right = order[middle - width : middle - width + n], order[middle : middle + m]
    if not precedes(scores, grades, stable, right[0], left[n - 1]):
        return
    for i in range(n):
        buffer[i] = left[i]
    a, b = 0, 0
    while a < n:
        # arithmetic instead of a branch: which run is next is a coin toss
        from_right = 0
        if b < m:
            from_right = int(precedes(scores, grades, stable, right[b], buffer[a]))
        document = right[b] if from_right else buffer[a]
        if a + b < n:
            left[a + b] = document
        else:
            right[a + b - n] = document
        b += from_right
        a += 1 - from_right


@subkernel
def run_end(scores: FloatArray, ranked: IntArray, position: int, average: bool) -> int:
    """Where the run of equal scores that starts at ``position`` ends (exclusive).

    Without averaging, a document is a run of its own.
    """
    end = position + 1
    if average:
        while end < len(ranked) and scores[ranked[end]] == scores[ranked[position]]:
            end += 1
    return end
