"""Choose short lists that kernels process side by side.

A list of three or ten documents does not fill the vectors of a CPU.  N_LISTS lists
do, each in its own lane: element `i * N_LISTS + lane` of an array belongs to
document `i` of list `lane`.  Lists of about equal length are put together, since the
longest one sets the time.
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._core.compile import CACHE_LINE, int64, stack_array, subkernel, uint64
from sklearn_ltr._core.typing import IntArray

N_LISTS = 8  # lists side by side
LONGEST_SHORT = 32  # documents; longer lists are as fast by themselves
# Queries searched for lists of equal length: few, so that their documents stay in cache
WINDOW = 256

DOCUMENTS_PER_LINE = CACHE_LINE // 8  # of float64, in a line of the cache

document_lanes = stack_array(np.float64, N_LISTS * LONGEST_SHORT)
list_lanes = stack_array(np.float64, N_LISTS)
index_lanes = stack_array(np.int64, N_LISTS)


@subkernel
def sort_by_length(offsets: IntArray, first: int, last: int, queries: IntArray) -> int:
    """Write queries first to last - 1 by length; return how many are short."""
    # The others, long ones and those without documents, are written after them.
    # `n_before[m]` counts the queries before the next one of m documents.
    n_before = np.zeros(LONGEST_SHORT + 3, np.int64)
    for query in range(first, last):
        n_before[_length_class(offsets, query) + uint64(1)] += 1
    for length in range(1, LONGEST_SHORT + 2):
        n_before[length + 1] += n_before[length]
    n_short = int64(n_before[LONGEST_SHORT + 1])
    for query in range(first, last):
        length_class = _length_class(offsets, query)
        queries[uint64(n_before[length_class])] = query
        n_before[length_class] += 1
    return n_short


@subkernel
def _length_class(offsets: IntArray, query: int) -> int:
    """Return the length of a list, LONGEST_SHORT + 1 if it is longer or empty."""
    length = offsets[query + 1] - offsets[query]
    return uint64(length if 0 < length <= LONGEST_SHORT else LONGEST_SHORT + 1)


@subkernel
def take_lanes(
    queries: IntArray,
    offsets: IntArray,
    query: IntArray,
    start: IntArray,
    size: IntArray,
) -> int:
    """Write the query, first document and length of each lane; return the longest."""
    # Where there are fewer queries than lanes, the first one is in several
    for lane in range(uint64(N_LISTS)):
        own = uint64(queries[lane] if lane < uint64(len(queries)) else queries[0])
        query[lane], start[lane] = own, offsets[own]
        size[lane] = offsets[own + uint64(1)] - offsets[own]
    return uint64(size[len(queries) - 1])
