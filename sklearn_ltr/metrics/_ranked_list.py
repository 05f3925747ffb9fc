"""The order of a ranked list: documents by decreasing score, with a fixed tie rule.

Equal scores are ordered *against* the model: the lower grade first, then canonical
order.  So a list does not depend on the order of the rows (except among documents equal
in score and grade, which no metric distinguishes), data sorted by grade does not leak
into the result, and a constant model gets its worst value.  With ``stable`` ties are
broken by canonical order alone, as stable sorts do.

Only the first ``k`` positions of a list are put in order.

Lists of up to 32 documents are ranked side by side (:mod:`._short_lists`), each
document by the number of those that precede it.  In longer lists,

1. blocks of 128 documents are sorted by the same count: it takes more comparisons than
   a sort, but they are vectorized and have no branches;
2. then either blocks are merged in pairs, down to position k; or, if k is small, only
   the first block is sorted, and later documents that precede the k-th so far are
   inserted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import (
    REGISTER_LANES,
    float32_lanes,
    int64,
    prefetch_row,
    range_kernel,
    subkernel,
    uint32,
    uint32_lanes,
    uint64,
)
from sklearn_ltr._core.data import (
    QueryGroups,
    check_scores,
    count_rows,
    places_in_queries,
)
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._short_lists import (
    DOCUMENTS_PER_LINE,
    N_LISTS,
    WINDOW,
    document_lanes,
    index_lanes,
    sort_by_length,
    take_lanes,
)

__all__ = ["rank_scores"]


FLOAT32_LIMIT = 3e38  # scores beyond it are clipped before rounding to float32


class SortKeys(NamedTuple):
    """What documents are ordered by."""

    scores: FloatArray  # (n_documents,)
    grades: FloatArray  # (n_documents,)
    stable: bool  # break ties by canonical order instead of by grade


@subkernel
def precedes(keys: SortKeys, a: int, b: int) -> bool:
    """Whether document a is ranked above document b."""
    if keys.scores[a] != keys.scores[b]:
        return bool(keys.scores[a] > keys.scores[b])
    if not keys.stable and keys.grades[a] != keys.grades[b]:
        return bool(keys.grades[a] < keys.grades[b])
    return a < b


@range_kernel
def rank_documents(
    first: int,
    last: int,
    scores: FloatArray,
    grades: FloatArray,
    offsets: IntArray,
    k: int,
    order: IntArray,
    stable: bool,
) -> None:
    """Write the ranked lists of queries ``first`` to ``last - 1`` into ``order``."""
    # order[offsets[q] + p], OUT, is the document at position p of query q's list; those
    # below position k follow in some deterministic order.
    keys = SortKeys(scores, grades, stable)
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    buffer = np.empty(longest + REGISTER_LANES, np.int64)
    queries = np.empty(WINDOW, np.int64)
    for start in range(first, last, WINDOW):
        n_queries = min(WINDOW, last - start)
        n_short = sort_by_length(offsets, start, start + n_queries, queries)
        # lists are taken out of their order, so the CPU does not foresee what is read
        ahead, end = offsets[start + n_queries], offsets[min(start + 2 * WINDOW, last)]
        for document in range(ahead, end, DOCUMENTS_PER_LINE):
            prefetch_row(scores, document)
            prefetch_row(grades, document)
            prefetch_row(order, document)
        for group in range(0, n_short, N_LISTS):
            own = queries[group : min(group + N_LISTS, n_short)]
            _rank_short_lists(keys, offsets, own, order)
        for query in queries[n_short:n_queries]:
            _rank_long_list(keys, offsets[query], offsets[query + 1], k, order, buffer)


@subkernel
def _rank_short_lists(
    keys: SortKeys, offsets: IntArray, queries: IntArray, order: IntArray
) -> None:
    """Put lists of up to LONGEST_SHORT documents in order, side by side."""
    scores, grades = document_lanes(), document_lanes()
    n_below, n_above = document_lanes(), document_lanes()
    query, first, size = index_lanes(), index_lanes(), index_lanes()
    longest = take_lanes(queries, offsets, query, first, size)
    lanes = uint64(N_LISTS)
    for i in range(longest):
        for lane in range(lanes):
            index = i * lanes + lane
            is_document = int64(i) < size[lane]
            document = uint64(first[lane] + min(int64(i), size[lane] - 1))
            scores[index] = keys.scores[document] if is_document else -np.inf
            grades[index] = keys.grades[document]
            n_below[index] = n_above[index] = 0.0
    # Each document is compared with those `step` further on, in all lists at once.
    # Preceding documents before it and behind it are counted apart: a loop that adds to
    # two places of one array cannot be vectorized.
    for step in range(lanes, longest * lanes, lanes):
        for i in range(longest * lanes - step):
            j = i + step
            j_precedes = scores[j] > scores[i]
            if not keys.stable:
                j_precedes |= (scores[j] == scores[i]) & (grades[j] < grades[i])
            n_below[i] += 1.0 if j_precedes else 0.0
            n_above[j] += 0.0 if j_precedes else 1.0
    for i in range(longest):
        for lane in range(lanes):
            if int64(i) < size[lane]:
                position = n_below[i * lanes + lane] + n_above[i * lanes + lane]
                order[uint64(first[lane]) + uint64(position)] = first[lane] + int64(i)


@subkernel
def _rank_long_list(
    keys: SortKeys, start: int, stop: int, k: int, order: IntArray, buffer: IntArray
) -> None:
    """Put the top k of a list in order."""
    n = stop - start
    n_top = min(k, n)
    inserts = n_top <= REGISTER_LANES and n_top * n_top < n + 64
    for block in range(
        start, start + REGISTER_LANES if inserts else stop, REGISTER_LANES
    ):
        size = min(REGISTER_LANES, stop - block)
        _sort_block(keys, order, block, size, buffer)
    if inserts:
        _insert_into_top(keys, order, start, start + REGISTER_LANES, stop, n_top)
        return
    width = int64(REGISTER_LANES)
    while width < n:
        for middle in range(start + width, stop, 2 * width):
            _merge_neighbors(keys, order, middle, width, stop, k, buffer)
        width *= 2


@subkernel
def _insert_into_top(
    keys: SortKeys, order: IntArray, start: int, first: int, stop: int, k: int
) -> None:
    """Insert documents `first` to ``stop - 1`` into the top k of those before them."""
    # the document that drops out of the top k takes the index of the inserted one
    scores = keys.scores
    last = start + k - 1
    for block in range(first, stop, REGISTER_LANES):
        end = min(block + REGISTER_LANES, stop)
        bound, n_candidates = scores[order[last]], 0
        for document in range(uint64(block), uint64(end)):
            order[document] = int64(document)
            n_candidates += int64(scores[document] >= bound)
        if n_candidates == 0:
            continue
        for document in range(block, end):
            if not precedes(keys, document, order[last]):
                continue
            hole = last
            order[document] = order[hole]
            while hole > start and precedes(keys, document, order[hole - 1]):
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = document


@subkernel
def _sort_block(
    keys: SortKeys, order: IntArray, start: int, n: int, n_placed: IntArray
) -> None:
    """Put up to REGISTER_LANES documents from `start` on in order."""
    # Scores are rounded to float32, so that one instruction compares twice as many.
    # All documents of equal rounded score count the same number of preceding documents,
    # the position of the first of them; among themselves they are sorted by insertion.
    # `n_placed[i]` counts the documents placed so far whose first position is i.
    rounded, n_above = float32_lanes(), uint32_lanes()
    for i in range(REGISTER_LANES):
        rounded[i], n_above[i] = np.float32(0.0), uint32(0)
    for i in range(n):
        score = min(max(keys.scores[start + i], -FLOAT32_LIMIT), FLOAT32_LIMIT)
        rounded[i] = np.float32(score)
        n_placed[i] = 0
    for j in range(n):
        own = rounded[j]
        for i in range(REGISTER_LANES):
            n_above[i] += uint32(own > rounded[i])
    for i in range(n):
        first = start + int64(n_above[i])
        hole = first + n_placed[first - start]
        n_placed[first - start] += 1
        while hole > first and precedes(keys, start + i, order[hole - 1]):
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = start + i


@subkernel
def _merge_neighbors(
    keys: SortKeys,
    order: IntArray,
    middle: int,
    width: int,
    stop: int,
    k: int,
    buffer: IntArray,
) -> None:
    """Merge two neighbouring runs of `width` documents, each sorted down to k."""
    # The right run starts at `middle` and may be shorter.  The top k of both go to the
    # left run as far as it has space, the rest to the right run.
    n = min(k, width)
    m = min(n, stop - middle)
    left, right = order[middle - width : middle - width + n], order[middle : middle + m]
    if not precedes(keys, right[0], left[n - 1]):
        return
    for i in range(n):
        buffer[i] = left[i]
    a, b = 0, 0
    while a < n:
        # Arithmetic instead of a branch: which run is next cannot be predicted.
        from_right = 0
        if b < m:
            from_right = int(precedes(keys, right[b], buffer[a]))
        document = right[b] if from_right else buffer[a]
        if a + b < n:
            left[a + b] = document
        else:
            right[a + b - n] = document
        b += from_right
        a += 1 - from_right


@subkernel
def run_end(scores: FloatArray, ranked: IntArray, position: int, average: bool) -> int:
    """Return the end (exclusive) of the run of equal scores from `position` on."""
    # without `average`, each document is a run of its own
    end = position + 1
    if average:
        while end < len(ranked) and scores[ranked[end]] == scores[ranked[position]]:
            end += 1
    return end


def rank_scores(y_score: ArrayLike, *, groups: IdsLike) -> NDArray[np.int64]:
    """Rank documents by their scores, each within its query.

    Parameters
    ----------
    y_score : array-like of shape (n_documents,)
        Score of each document, finite; higher is ranked first.  Numbers of any real
        type, compared as given.
    groups : array-like of shape (n_documents,)
        Query of each document: numbers, text, dates, or tuples of these.

    Returns
    -------
    ranks : ndarray of shape (n_documents,), int64
        Rank of each document in its query, from 1, in the order of the rows.  Equal
        scores are ranked in the order of the rows.

    Raises
    ------
    ValueError
        For scores that are not one finite number per row, or groups of another length.

    Examples
    --------
    >>> from sklearn_ltr.metrics import rank_scores
    >>> rank_scores([0.1, 0.7, 0.9, 0.2], groups=["a", "b", "a", "b"])
    array([2, 1, 1, 2])
    """
    queries = QueryGroups.from_groups(groups, count_rows(y_score, "y_score"))
    scores = check_scores(y_score, queries, "y_score", only_order=True)
    order = np.empty(queries.n_documents, dtype=np.int64)
    offsets, longest = queries.offsets, int(queries.sizes.max())
    rank_documents(0, queries.n_queries, scores, scores, offsets, longest, order, True)
    ranks = np.empty_like(order)
    ranks[order] = places_in_queries(offsets) + 1
    return queries.unsort(ranks)
