"""The leaves of a growing tree: the root, and the division of a leaf in two.

The rows of a leaf are contiguous in one of two buffers.  When the leaf is divided, its
rows are moved to the same place in the other buffer, the rows of the left child first.
Rows keep their order.  Each thread moves a chunk of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    int64,
    prefetch_row,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._core.trees.constraints import restrict_children
from sklearn_ltr._core.trees.growth.quantization import chunk_bounds
from sklearn_ltr._core.trees.growth.workspace import (
    NO_HISTOGRAM,
    NOT_DIVIDED,
    SET_BYTES,
    GrowingTree,
    Record,
    Records,
    RowBuffers,
    SpecialFeatures,
    SplitRule,
    Team,
    new_histogram,
)

MIN_ROWS_FOR_THREADS = 512  # fewer rows are moved faster by one thread
# Rows between the prefetch of a row and its use, which takes about 1 ns for each
MOVE_PREFETCH_DISTANCE = 128


@subkernel
def fill_root(
    n_rows: int, total: int, root: Record, buffers: RowBuffers, team: Team
) -> None:
    """Make a leaf the root, with all rows of the sample and their packed gradients."""
    first, last = chunk_bounds(team.thread, team.n_threads, int64(0), n_rows)
    for i in range(uint64(first), uint64(last)):
        buffers.rows[0, i] = i
        buffers.leaf_gradients[i] = buffers.packed_gradients[i]
    root.buffer = root.start = root.depth = root.node = 0
    root.stop, root.total, root.gain = n_rows, total, 0.0
    root.n_left = NOT_DIVIDED
    root.histogram_index = root.child_histogram = NO_HISTOGRAM


@subkernel
def is_left_smaller(leaf: Record, rule: SplitRule) -> bool:
    """Return whether the left child of a leaf has at most half of all workers' rows."""
    mask = rule.quantization.count_mask
    is_smaller: bool = 2 * (leaf.left_total & mask) <= leaf.total & mask
    return is_smaller


# --- the rows of the children -----------------------------------------------------


class SplitCondition(NamedTuple):
    """The condition under which a split sends a row left: by the bin of its feature."""

    values: NDArray[np.uint8]  # (n_rows, 16): binned values of the feature's block
    slot: int  # of the feature
    goes_left: NDArray[np.uint8]  # (256,): 1 for the bins that go left, else 0


class Destination(NamedTuple):
    """Positions that rows are moved to."""

    left: int  # position of the first row that goes left
    right: int  # position of the first row that goes right
    step: int  # from one position to the next: 1 or -1


@subkernel
def divide_rows(
    condition: SplitCondition,
    leaf: Record,
    rule: SplitRule,
    exchanges: bool,
    team: Team,
    buffers: RowBuffers,
) -> bool:
    """Divide the rows of a leaf, whose `left_total` is known, between its children."""
    # Returns whether threads have counted rows in `Team.n_left`: they must wait for
    # each other before they do that again.
    n_before, leaf.n_left = int64(0), leaf.left_total & rule.quantization.count_mask
    # of several workers, the packed sum counts the rows of all
    is_large = leaf.stop - leaf.start > MIN_ROWS_FOR_THREADS
    counts = exchanges or (team.n_threads > 2 and is_large)
    if counts:
        n_before, leaf.n_left = count_left_by_chunk(condition, leaf, team, buffers)
    partition(condition, leaf, n_before, is_left_smaller(leaf, rule), team, buffers)
    return counts


@subkernel
def record_category_set(
    goes_left: NDArray[np.uint8], category_set: NDArray[np.uint8]
) -> None:
    """Write the bins that go left as bits."""
    for byte in range(SET_BYTES):
        bits = int64(0)
        for bit in range(8):
            bits |= int64(goes_left[8 * byte + bit]) << bit
        category_set[byte] = bits


@subkernel
def count_left_by_chunk(
    condition: SplitCondition, leaf: Record, team: Team, buffers: RowBuffers
) -> tuple[int, int]:
    """Count the rows that go left: in the chunks of lower threads, and in the leaf."""
    rows = buffers.rows[leaf.buffer]
    first, last = chunk_bounds(team.thread, team.n_threads, leaf.start, leaf.stop)
    team.n_left[team.thread] = count_rows_left(condition, rows, first, last)
    wait_at_barrier(team.barrier, team.n_threads)
    n_before, n_left = int64(0), int64(0)
    for other in range(team.n_threads):
        n_before += team.n_left[other] if other < team.thread else 0
        n_left += team.n_left[other]
    return n_before, n_left


@subkernel
def count_rows_left(
    condition: SplitCondition, rows: NDArray[np.int32], first: int, last: int
) -> int:
    """Return how many of ``rows[first:last]`` go left."""
    values, n_left = condition.values, int64(0)
    for i in range(first, last):
        ahead = min(i + MOVE_PREFETCH_DISTANCE, last - 1)
        prefetch_row(values, int64(rows[uint64(ahead)]))
        b = values[uint64(rows[uint64(i)]), condition.slot]
        n_left += int64(condition.goes_left[b])
    return n_left


@subkernel
def partition(
    condition: SplitCondition,
    leaf: Record,
    n_before: int,
    left_is_smaller: bool,
    team: Team,
    buffers: RowBuffers,
) -> None:
    """Write the rows of a leaf to the other buffer, the rows that go left first."""
    # `n_before` of the rows that go left are in the chunks of lower threads, which only
    # three threads or more need to know: of two threads, one fills both children from
    # the front and the other from the back.
    thread, start, stop = team.thread, leaf.start, leaf.stop
    rows, to_rows = buffers.rows[leaf.buffer], buffers.rows[1 - leaf.buffer]
    first, last = chunk_bounds(thread, team.n_threads, start, stop)
    middle = start + leaf.n_left
    left, right, step = start, middle, int64(1)
    if stop - start <= MIN_ROWS_FOR_THREADS:
        if thread > 0:
            return
        first, last = start, stop
    elif team.n_threads > 2:
        left, right = start + n_before, middle + (first - start - n_before)
    elif thread > 0:
        left, right, step = middle - 1, stop - 1, int64(-1)
    to = Destination(left, right, step)
    n_moved = move_rows(condition, rows, first, last, to, to_rows)
    # The packed gradients of the smaller child are gathered, since its histogram is the
    # next to be made from rows.  This thread has filled n_moved of its positions.
    filled = left
    if not left_is_smaller:
        filled = right
        n_moved = (last - first) - n_moved
    if step < 0:  # from the back: `filled` is the last of them; make it the first
        filled += 1 - n_moved
    for i in range(uint64(filled), uint64(filled + n_moved)):
        row = uint64(to_rows[i])
        buffers.leaf_gradients[i] = buffers.packed_gradients[row]


@subkernel
def move_rows(
    condition: SplitCondition,
    rows: NDArray[np.int32],
    first: int,
    last: int,
    to: Destination,
    to_rows: NDArray[np.int32],
) -> int:
    """Move ``rows[first:last]`` to `to_rows`; return how many went left."""
    # With a step of -1 the last row is moved first.  The position is computed without a
    # branch, since the processor cannot predict which child a row goes to.
    values, slot, left_bins = condition.values, condition.slot, condition.goes_left
    step = to.step
    n_rows = last - first
    start = first if step > 0 else last - 1
    next_left, next_right = to.left, to.right
    for i in range(n_rows):
        ahead = start + step * min(i + MOVE_PREFETCH_DISTANCE, n_rows - 1)
        prefetch_row(values, int64(rows[uint64(ahead)]))
        row = rows[uint64(start + step * i)]
        goes_left = int64(left_bins[values[uint64(row), slot]])
        position = next_right ^ (next_left ^ next_right) & -goes_left
        to_rows[uint64(position)] = row
        next_left += step * goes_left
        next_right += step * (1 - goes_left)
    return step * (next_left - to.left)


# --- the children -----------------------------------------------------------------


@subkernel
def split_leaf(
    number: int, tree: GrowingTree, leaves: Records, progress: Record, team: Team
) -> tuple[int, int]:
    """Turn a leaf whose rows are divided into its two children; return their numbers.

    The left child keeps the leaf's number.  The child with fewer rows is returned
    first; it gets a new histogram (of several workers: when it is made).  The other one
    keeps its parent's, from which its own will be computed in place.
    """
    new, n_nodes = int64(progress.n_leaves), 2 * progress.n_leaves - 1
    progress.n_leaves += 1
    left, right = leaves[number], leaves[new]
    # the nodes are shared, so one thread writes them; the leaves are each thread's own
    if team.thread == 0:
        record_split(tree.nodes, left, n_nodes, tree.rule.gain_unit)
    is_left = is_left_smaller(left, tree.rule)
    histogram_index = left.child_histogram
    if not tree.exchanges:
        histogram_index = new_histogram(progress)
    right.histogram_index = histogram_index
    if is_left:
        right.histogram_index = left.histogram_index
        left.histogram_index = histogram_index
    right.stop = left.stop
    left.stop = right.start = left.start + left.n_left
    left.buffer = right.buffer = 1 - left.buffer
    left.depth = right.depth = left.depth + 1
    left.node = n_nodes
    right.node = n_nodes + 1
    right.total = left.total - left.left_total
    left.total = left.left_total
    left.gain = right.gain = 0.0
    left.n_left = right.n_left = NOT_DIVIDED
    left.child_histogram = right.child_histogram = NO_HISTOGRAM
    return (number, new) if is_left else (new, number)


@subkernel
def exclude_features(
    node: int,
    left: int,
    feature: int,
    special: SpecialFeatures | None,
    allowed: NDArray[np.bool_],
) -> None:
    """Exclude features from the children of a node by interaction constraints."""
    # the children are `left` and the next one; in a symmetric tree, levels
    if special is not None:
        sets = special.constraints.interaction_sets
        if len(sets) > 0:
            restrict_children(node, left, feature, sets, special.open_sets, allowed)


@subkernel
def record_split(nodes: Records, leaf: Record, n_nodes: int, gain_unit: float) -> None:
    """Write the best split of a leaf into its node; its children are new nodes."""
    node = nodes[leaf.node]
    node.feature = leaf.feature
    node.threshold = leaf.threshold
    node.missing_left = leaf.missing_left
    node.left = n_nodes
    node.right = n_nodes + 1
    node.gain = leaf.gain * gain_unit
