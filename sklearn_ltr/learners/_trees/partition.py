"""Move the rows of a leaf into its children, keeping their order.

(Counters and row numbers are unsigned: numba checks a signed index for negatives.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, prefetch_row, subkernel, uint64, wait_at_barrier
from sklearn_ltr.learners._trees.binning import MISSING, BinnedData
from sklearn_ltr.learners._trees.workspace import Leaves, Workspace, is_small

SMALL = 512  # rows that one thread moves faster than two
LOOK_AHEAD = 128  # rows between a prefetch and its use, which takes a nanosecond


@subkernel
def share(thread: int, n_threads: int, start: int, stop: int) -> tuple[int, int]:
    """Return the part of ``start:stop`` that is a thread's."""
    n = stop - start
    return start + n * thread // n_threads, start + n * (thread + 1) // n_threads


@subkernel
def count_going_left(
    codes: NDArray[np.uint8],
    place: int,
    threshold: int,
    missing_left: bool,
    rows: NDArray[np.int32],
) -> int:
    """Return how many of the rows a cut sends to the left."""
    n_rows, n_left = len(rows), 0
    for i in range(n_rows):
        prefetch_row(codes, int64(rows[min(i + LOOK_AHEAD, n_rows - 1)]))
        code = codes[uint64(rows[i]), place]
        n_left += missing_left if code == MISSING else code <= threshold
    return n_left


@subkernel
def move_rows(
    codes: NDArray[np.uint8],
    place: int,
    threshold: int,
    missing_left: bool,
    rows: NDArray[np.int32],
    left: int,
    right: int,
    step: int,
    to_rows: NDArray[np.int32],
) -> int:
    """Move rows to the places from `left` and `right` on; return how many went left.

    `step` is 1, or -1: then the last row is the first to be moved, and places fall.
    (No branch asks where a row goes: its answer is a coin toss.)
    """
    n_rows, missing = len(rows), int64(missing_left)
    start = 0 if step > 0 else n_rows - 1
    next_left, next_right = left, right
    for i in range(n_rows):
        ahead = start + step * min(i + LOOK_AHEAD, n_rows - 1)
        prefetch_row(codes, int64(rows[uint64(ahead)]))
        row = rows[uint64(start + step * i)]
        code = codes[uint64(row), place]
        goes_left = int64(code <= threshold) | missing & int64(code == MISSING)
        to = next_right ^ (next_left ^ next_right) & -goes_left
        to_rows[uint64(to)] = row
        next_left += step * goes_left
        next_right += step * (1 - goes_left)
    return step * (next_left - left)


@subkernel
def gather(
    words: NDArray[np.int64], rows: NDArray[np.int32], of_rows: NDArray[np.int64]
) -> None:
    """Write ``words[rows]``."""
    for i in range(uint64(len(rows))):
        of_rows[i] = words[uint64(rows[i])]


@subkernel
def partition(
    thread: int,
    n_threads: int,
    table: BinnedData,
    leaves: Leaves,
    leaf: int,
    n_left: int,
    work: Workspace,
) -> None:
    """Put the rows of a leaf that go left before those that go right.

    Of two threads, one fills both sides from the front and the other from the back; of
    more, each must know how many rows those before it send left.  The words of the
    smaller side are gathered: its histogram is the next to be made.
    """
    start, stop, side = leaves.start[leaf], leaves.stop[leaf], leaves.side[leaf]
    together = stop - start > SMALL
    if not together and thread > 0:
        return
    first, last = share(thread, n_threads, start, stop) if together else (start, stop)
    feature = leaves.feature[leaf]
    codes, place = table.codes[table.block[feature]], table.place[feature]
    threshold, missing_left = leaves.threshold[leaf], leaves.missing_left[leaf]
    rows, to_rows = work.rows[side, first:last], work.rows[1 - side, start:stop]
    left, right, step = int64(0), n_left, int64(1)
    if together and n_threads > 2:
        work.sums[thread, 3] = count_going_left(
            codes, place, threshold, missing_left, rows
        )
        wait_at_barrier(work.barrier, n_threads)
        for before in range(thread):
            left += work.sums[before, 3]
        right = n_left + (first - start) - left
    elif thread > 0:
        left, right, step = n_left - 1, stop - start - 1, int64(-1)
    own_left = move_rows(
        codes, place, threshold, missing_left, rows, left, right, step, to_rows
    )
    if is_small(n_left, stop - start):
        small, n_small, at = to_rows[:n_left], own_left, left
    else:
        small, n_small, at = to_rows[n_left:], len(rows) - own_left, right - n_left
    own = slice(at, at + n_small) if step > 0 else slice(at + 1 - n_small, at + 1)
    gather(work.words, small[own], work.leaf_words[own])
