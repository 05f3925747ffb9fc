"""The order of a ranked list, decided once.

Documents are ordered by score, highest first.  Equal scores are broken *against* the
model: the lower grade first, then canonical order.  So a list does not depend on the
order of the rows (up to documents equal in score and grade, which no measure can tell
apart), data sorted by grade leaks nothing, and a constant model earns its worst case.
``stable`` breaks ties by canonical order alone, as tools that sort stably do.

Only the first ``k`` positions of a list are put in order: a short list by insertion
into the best k so far (each of the other documents is compared once with the k-th),
a long one by merge sort of insertion-sorted runs.
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
        lo = offsets[query]
        n = offsets[query + 1] - lo
        ranked = order[lo : lo + n]
        if min(k, n) <= LONGEST_SELECTION:
            _select(scores, grades, stable, lo, min(k, n), ranked)
        else:
            _merge_sort(scores, grades, stable, lo, ranked, buffer)


@kernel
def _select(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    lo: int,
    k: int,
    ranked: IntArray,
) -> None:
    """Keep the best k so far in order; whoever drops out takes the newcomer's place."""
    for i in range(len(ranked)):
        document = lo + i
        if i < k:
            hole = i
        elif precedes(scores, grades, stable, document, ranked[k - 1]):
            ranked[i] = ranked[k - 1]
            hole = k - 1
        else:
            ranked[i] = document
            continue
        while hole > 0 and precedes(scores, grades, stable, document, ranked[hole - 1]):
            ranked[hole] = ranked[hole - 1]
            hole -= 1
        ranked[hole] = document


@kernel
def _merge_sort(
    scores: FloatArray,
    grades: FloatArray,
    stable: bool,
    lo: int,
    ranked: IntArray,
    buffer: IntArray,
) -> None:
    """Sort the whole list: runs by insertion, then merged pairwise, bottom up."""
    n = len(ranked)
    for start in range(0, n, RUN):
        stop = min(start + RUN, n)
        _select(scores, grades, stable, lo + start, stop - start, ranked[start:stop])
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
    left, right, n = 0, width, len(ranked)
    # the hole never overtakes the right run, so it can be filled in place
    for hole in range(n):
        if left == width:
            break
        if right < n and precedes(scores, grades, stable, ranked[right], buffer[left]):
            ranked[hole] = ranked[right]
            right += 1
        else:
            ranked[hole] = buffer[left]
            left += 1


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
