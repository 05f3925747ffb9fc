"""Move the rows of a leaf into its children, keeping their order.

Counters and row numbers are unsigned in the loops, since numba checks signed indices
for negative values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, prefetch_row, subkernel, uint64, wait_at_barrier
from sklearn_ltr._trees.workspace import (
    Record,
    Records,
    RowBuffers,
    Team,
    Workspace,
    chunk_bounds,
)

MIN_ROWS_FOR_THREADS = 512  # fewer rows are moved faster by one thread
PREFETCH_DISTANCE = 128  # rows between a prefetch and its use; a row takes about 1 ns


class SplitCondition(NamedTuple):
    """What sends a row left."""

    values: NDArray[np.uint8]  # (n_rows, 16): binned values of the feature's block
    slot: int  # of the feature
    goes_left: NDArray[np.uint8]  # (256,): 1 for the bins that go left, else 0


class Destination(NamedTuple):
    """Where rows are moved to."""

    left: int  # position of the first row that goes left
    right: int  # position of the first row that goes right
    step: int  # from one position to the next: 1 or -1


@subkernel
def count_rows_left(
    condition: SplitCondition, rows: NDArray[np.int32], first: int, last: int
) -> int:
    """Return how many of ``rows[first:last]`` go left."""
    values, n_left = condition.values, int64(0)
    for i in range(first, last):
        prefetch_row(values, int64(rows[uint64(min(i + PREFETCH_DISTANCE, last - 1))]))
        b = values[uint64(rows[uint64(i)]), condition.slot]
        n_left += int64(condition.goes_left[b])
    return n_left


@subkernel
def move_rows(
    condition: SplitCondition,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    to: Destination,
    to_rows: NDArray[np.int32],
) -> int:
    """Move ``rows[first:last]`` to `to_rows`; return how many went left.

    With a step of -1 the last row is moved first.  The position is computed without a
    branch, since which child a row goes to cannot be predicted.
    """
    values, slot, left_bins = condition.values, condition.slot, condition.goes_left
    step = to.step
    n_rows = last - first
    start = first if step > 0 else last - 1
    next_left, next_right = to.left, to.right
    for i in range(n_rows):
        ahead = start + step * min(i + PREFETCH_DISTANCE, n_rows - 1)
        prefetch_row(values, int64(rows[uint64(ahead)]))
        row = rows[uint64(start + step * i)]
        goes_left = int64(left_bins[values[uint64(row), slot]])
        position = next_right ^ (next_left ^ next_right) & -goes_left
        to_rows[uint64(position)] = row
        next_left += step * goes_left
        next_right += step * (1 - goes_left)
    return step * (next_left - to.left)


@subkernel
def count_own_rows_left(
    condition: SplitCondition, leaf: Record, work: Workspace
) -> int:
    """Return how many of this worker's rows of a leaf go left; each thread a chunk."""
    team, rows = work.team, work.buffers.rows[leaf.buffer]
    first, last = chunk_bounds(team.thread, team.n_threads, leaf.start, leaf.stop)
    team.sums[team.thread].n_left = count_rows_left(condition, rows, first, last)
    wait_at_barrier(team.barrier, team.n_threads)
    n_left = int64(0)
    for thread in range(team.n_threads):
        n_left += team.sums[thread].n_left
    return n_left


@subkernel
def fill_root(rows: NDArray[np.int32], work: Workspace) -> None:
    """Make leaf 0 the root, with the sampled rows and their packed gradients.

    Each thread takes a chunk of the rows; its sum of packed gradients is for
    `set_root_total`.
    """
    team, buffers, root = work.team, work.buffers, work.leaves[0]
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), len(rows))
    total = int64(0)
    for i in range(uint64(first), uint64(last)):
        row = rows[i]
        packed = buffers.packed_gradients[uint64(row)]
        buffers.rows[0, i] = row
        buffers.leaf_gradients[i] = packed
        total += packed
    team.sums[team.thread].packed = total
    root.buffer = root.start = root.histogram_index = root.depth = root.node = 0
    root.stop = len(rows)
    root.gain = 0.0


@subkernel
def set_root_total(root: Record, sums: Records) -> None:
    """Write the sum of packed gradients, given those of all threads."""
    root.total = 0
    for thread in range(len(sums)):
        root.total += sums[thread].packed


@subkernel
def partition(
    condition: SplitCondition,
    leaf: Record,
    n_left: int,
    left_is_smaller: bool,
    team: Team,
    buffers: RowBuffers,
) -> None:
    """Write the rows of a leaf to the other buffer, partitioned.

    First those that go left, then those that go right, each in their old order.
    Each thread moves a chunk of the rows.  Of two threads, one fills both children from
    the front and the other from the back; more threads first count the rows of each
    chunk that go left.  The packed gradients of the smaller child are gathered, since
    its histogram is the next to be made from rows.
    """
    thread, start, stop = team.thread, leaf.start, leaf.stop
    first, last = start, stop
    together = stop - start > MIN_ROWS_FOR_THREADS
    if together:
        first, last = chunk_bounds(thread, team.n_threads, start, stop)
    elif thread > 0:
        return
    rows, to_rows = buffers.rows[leaf.buffer], buffers.rows[1 - leaf.buffer]
    middle = start + n_left
    left, right, step = start, middle, int64(1)
    if together and team.n_threads > 2:
        team.sums[thread].n_left = count_rows_left(condition, rows, first, last)
        wait_at_barrier(team.barrier, team.n_threads)
        for earlier in range(thread):
            left += team.sums[earlier].n_left
        right = middle + (first - left)
    elif thread > 0:
        left, right, step = middle - 1, stop - 1, int64(-1)
    to = Destination(left, right, step)
    n_moved = move_rows(condition, rows, first, last, to, to_rows)
    child_start, filled = start, left
    if not left_is_smaller:
        child_start, filled = middle, right
        n_moved = (last - first) - n_moved
    # this thread has filled n_moved positions of the smaller child
    if step < 0:  # from the back: `filled` is the last of them; make it the first
        filled += 1 - n_moved
    source, target = uint64(filled), uint64(filled - child_start)
    for i in range(uint64(n_moved)):
        row = uint64(to_rows[source + uint64(i)])
        buffers.leaf_gradients[target + uint64(i)] = buffers.packed_gradients[row]
