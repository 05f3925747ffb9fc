"""The order of a ranked list, decided once.

Documents are ordered by score, highest first.  Equal scores are broken *against* the
model: the lower grade first, then canonical order.  So a list does not depend on the
order of the rows (up to documents equal in score and grade, which no measure can tell
apart), data sorted by grade leaks nothing, and a constant model earns its worst case.
``stable`` breaks ties by canonical order alone, as tools that sort stably do.

Only the first ``k`` positions of a list are put in order.  A small k by insertion into
the best k so far: most documents are compared once, with the k-th.  A larger one by
merge sort, of the best k that a heap has found if the list is much longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LONGEST_SELECTION = 64
RUN = 8


@kernel
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
    buffer = np.empty(longest if k > LONGEST_SELECTION else 0, np.int64)
    for query in range(first, last):
        ranked = order[offsets[query] : offsets[query + 1]]
        n = len(ranked)
        for i in range(n):
            ranked[i] = offsets[query] + i
        if min(k, n) <= LONGEST_SELECTION:
            _insert(scores, grades, stable, ranked, min(k, n))
        elif 2 * k < n:
            _heap_select(scores, grades, stable, ranked, k)
            _merge_sort(scores, grades, stable, ranked[:k], buffer)
        else:
            _merge_sort(scores, grades, stable, ranked, buffer)


@kernel
def _insert(
    scores: FloatArray, grades: FloatArray, stable: bool, ranked: IntArray, k: int
) -> None:
    """Keep the best k so far in order; whoever drops out takes the newcomer's place."""
    for i in range(len(ranked)):
        document = ranked[i]
        hole = i
        if i >= k:
            if not precedes(scores, grades, stable, document, ranked[k - 1]):
                continue
            hole = k - 1
            ranked[i] = ranked[hole]
        while hole > 0 and precedes(scores, grades, stable, document, ranked[hole - 1]):
            ranked[hole] = ranked[hole - 1]
            hole -= 1
        ranked[hole] = document


@kernel
def _heap_select(
    scores: FloatArray, grades: FloatArray, stable: bool, ranked: IntArray, k: int
) -> None:
    """Bring the best k to the front: a heap with the last of them on top."""
    heap = ranked[:k]
    for top in range(k // 2 - 1, -1, -1):
        _sift_down(scores, grades, stable, heap, top)
    for i in range(k, len(ranked)):
        if precedes(scores, grades, stable, ranked[i], heap[0]):
            ranked[i], heap[0] = heap[0], ranked[i]
            _sift_down(scores, grades, stable, heap, 0)


@kernel
def _sift_down(
    scores: FloatArray, grades: FloatArray, stable: bool, heap: IntArray, top: int
) -> None:
    """Let ``heap[top]`` sink until both its children precede it."""
    document = heap[top]
    child = 2 * top + 1
    while child < len(heap):
        if child + 1 < len(heap) and precedes(
            scores, grades, stable, heap[child], heap[child + 1]
        ):
            child += 1
        if precedes(scores, grades, stable, heap[child], document):
            break
        heap[top] = heap[child]
        top = child
        child = 2 * top + 1
    heap[top] = document


@kernel
def _merge_sort(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    ranked: IntArray,
    buffer: IntArray,
) -> None:
    """Sort runs by insertion, then merge them in pairs, bottom up."""
    n = len(ranked)
    for start in range(0, n, RUN):
        stop = min(start + RUN, n)
        _insert(scores, grades, stable, ranked[start:stop], stop - start)
    width = RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle = start + width
            stop = min(middle + width, n)
            # nothing to merge when the runs are in order already
            if precedes(scores, grades, stable, ranked[middle], ranked[middle - 1]):
                _merge(scores, grades, stable, ranked[start:stop], width, buffer)
        width *= 2


@kernel
def _merge(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    ranked: IntArray,
    width: int,
    buffer: IntArray,
) -> None:
    """Merge ``ranked[:width]`` with ``ranked[width:]``."""
    for i in range(width):
        buffer[i] = ranked[i]
    left, right, hole, n = 0, width, 0, len(ranked)
    # the hole never overtakes the right run, so it can be filled in place
    while left < width and right < n:
        a, b = buffer[left], ranked[right]
        # arithmetic instead of a branch: which run is next is a coin toss
        from_right = int(precedes(scores, grades, stable, b, a))
        ranked[hole] = b if from_right else a
        right += from_right
        left += 1 - from_right
        hole += 1
    while left < width:
        ranked[hole] = buffer[left]
        left += 1
        hole += 1


@kernel
def run_end(scores: FloatArray, ranked: IntArray, position: int, average: bool) -> int:
    """Where the run of equal scores that starts at ``position`` ends (exclusive).

    Without averaging, a document is a run of its own.
    """
    end = position + 1
    if average:
        while end < len(ranked) and scores[ranked[end]] == scores[ranked[position]]:
            end += 1
    return end
