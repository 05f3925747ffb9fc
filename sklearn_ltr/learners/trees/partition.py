"""Move the rows of a leaf into its children, keeping their order.

(Counters and row numbers are unsigned: numba checks a signed index for negatives.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, prefetch_row, uint64, wait
from sklearn_ltr.learners.trees.binning import BLOCK, MISSING
from sklearn_ltr.learners.trees.state import Leaves, Workspace

SMALL = 2048  # rows that one thread moves faster than two
LOOK_AHEAD = 128  # rows between a prefetch and its use, which takes a nanosecond


@kernel
def share(thread: int, n_threads: int, start: int, stop: int) -> tuple[int, int]:
    """Return the part of ``start:stop`` that is a thread's."""
    n = stop - start
    return start + n * thread // n_threads, start + n * (thread + 1) // n_threads


@kernel
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


@kernel
def move_rows(
    goes_left: NDArray[np.uint8],
    rows: NDArray[np.int32],
    words: NDArray[np.int64],
    left: int,
    right: int,
    to_rows: NDArray[np.int32],
    to_words: NDArray[np.int64],
) -> None:
    """Move `rows` and their words to the places from `left` and `right` on."""
    next_left, next_right = uint64(left), uint64(right)
    for i in range(uint64(len(rows))):
        to = next_left if goes_left[i] else next_right
        next_left += uint64(goes_left[i])
        next_right += uint64(1 - goes_left[i])
        to_rows[to] = rows[i]
        to_words[to] = words[i]


@kernel
def partition(
    thread: int,
    n_threads: int,
    codes: NDArray[np.uint8],
    leaves: Leaves,
    leaf: int,
    n_left: int,
    work: Workspace,
) -> None:
    """Put the rows of a leaf that go left before those that go right."""
    start, stop, side = leaves.start[leaf], leaves.stop[leaf], leaves.side[leaf]
    together = stop - start > SMALL
    if not together and thread > 0:
        return
    first, last = share(thread, n_threads, start, stop) if together else (start, stop)
    block, place = leaves.feature[leaf] // BLOCK, leaves.feature[leaf] % BLOCK
    work.sums[thread, 3] = mark_rows(
        codes[block],
        place,
        leaves.threshold[leaf],
        leaves.missing_left[leaf],
        work.rows[side, first:last],
        work.goes_left[first:last],
    )
    left = int64(0)
    if together:
        wait(work.barrier, n_threads)
        for before in range(thread):
            left += work.sums[before, 3]
    right = n_left + (first - start) - left
    move_rows(
        work.goes_left[first:last],
        work.rows[side, first:last],
        work.words[side, first:last],
        start + left,
        start + right,
        work.rows[1 - side],
        work.words[1 - side],
    )
