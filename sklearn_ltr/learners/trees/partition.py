"""Move the rows of a leaf into its children, keeping their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, prefetch_row, wait
from sklearn_ltr.learners.trees.binning import BLOCK, MISSING
from sklearn_ltr.learners.trees.histogram import LOOK_AHEAD
from sklearn_ltr.learners.trees.state import Leaves, Workspace

SMALL = 2048  # rows that one thread moves faster than two


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
        code = codes[rows[i], place]
        left = missing_left if code == MISSING else code <= threshold
        goes_left[i] = left
        n_left += left
    return n_left


@kernel
def move_rows(
    goes_left: NDArray[np.uint8],
    source: int,
    first: int,
    last: int,
    left: int,
    right: int,
    work: Workspace,
) -> None:
    """Move ``rows[source, first:last]`` to the places from `left` and `right` on."""
    for i in range(first, last):
        to = left if goes_left[i] else right
        left += goes_left[i]
        right += 1 - goes_left[i]
        work.rows[1 - source, to] = work.rows[source, i]
        work.words[1 - source, to] = work.words[source, i]


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
    move_rows(work.goes_left, side, first, last, start + left, start + right, work)
