"""Move the rows of a leaf into its children, keeping their order.

(Counters and row numbers are unsigned: numba checks a signed index for negatives.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, prefetch_row, subkernel, uint64, wait
from sklearn_ltr.learners.trees.binning import MISSING, BinnedTable
from sklearn_ltr.learners.trees.state import Leaves, Workspace, is_small

SMALL = 512  # rows that one thread moves faster than two
LOOK_AHEAD = 128  # rows between a prefetch and its use, which takes a nanosecond


@subkernel
def share(thread: int, n_threads: int, start: int, stop: int) -> tuple[int, int]:
    """Return the part of ``start:stop`` that is a thread's."""
    n = stop - start
    return start + n * thread // n_threads, start + n * (thread + 1) // n_threads


@subkernel
def mark_rows(
    codes: NDArray[np.uint8],
    place: int,
    threshold: int,
    missing_left: bool,
    rows: NDArray[np.int32],
    goes_left: NDArray[np.uint8],
) -> int:
    """Note which rows a cut sends to the left, and return how many."""
    n_rows, n_left = len(rows), 0
    for i in range(n_rows):
        prefetch_row(codes, int64(rows[min(i + LOOK_AHEAD, n_rows - 1)]))
        code = codes[uint64(rows[i]), place]
        left = missing_left if code == MISSING else code <= threshold
        goes_left[i] = left
        n_left += left
    return n_left


@subkernel
def move_rows(
    goes_left: NDArray[np.uint8],
    rows: NDArray[np.int32],
    left: int,
    right: int,
    to_rows: NDArray[np.int32],
) -> None:
    """Move `rows` to the places from `left` and `right` on."""
    next_left, next_right = uint64(left), uint64(right)
    for i in range(uint64(len(rows))):
        to = next_left if goes_left[i] else next_right
        next_left += uint64(goes_left[i])
        next_right += uint64(1 - goes_left[i])
        to_rows[to] = rows[i]


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
    table: BinnedTable,
    leaves: Leaves,
    leaf: int,
    n_left: int,
    work: Workspace,
) -> None:
    """Put the rows of a leaf that go left before those that go right.

    The words of the smaller side are gathered: its histogram is the next to be made.
    """
    start, stop, side = leaves.start[leaf], leaves.stop[leaf], leaves.side[leaf]
    together = stop - start > SMALL
    if not together and thread > 0:
        return
    first, last = share(thread, n_threads, start, stop) if together else (start, stop)
    feature = leaves.feature[leaf]
    own_left = mark_rows(
        table.codes[table.block[feature]],
        table.place[feature],
        leaves.threshold[leaf],
        leaves.missing_left[leaf],
        work.rows[side, first:last],
        work.goes_left[first:last],
    )
    # the first thread's begin where the left side does, the last one's end with it
    left = int64(0) if thread == 0 else n_left - own_left
    if together and n_threads > 2:
        work.sums[thread, 3] = own_left
        wait(work.barrier, n_threads)
        left = work.sums[:thread, 3].sum()
    right = (first - start) - left  # rows before these that go right
    to_rows = work.rows[1 - side, start:stop]
    move_rows(
        work.goes_left[first:last],
        work.rows[side, first:last],
        left,
        n_left + right,
        to_rows,
    )
    if is_small(n_left, stop - start):
        small, n_small, place = to_rows[:n_left], own_left, left
    else:
        small, n_small, place = to_rows[n_left:], last - first - own_left, right
    own = slice(place, place + n_small)
    gather(work.words, small[own], work.leaf_words[own])
