"""Splits of sparse columns, of which the rows outside the default bin are stored.

No histograms are made of them.  The entries of a leaf
(:mod:`sklearn_ltr._data.binned_columns`) are sorted by column and bin, so that one pass
over them adds up the packed gradients of each bin that has rows.  The sum of the
default bin is that of the leaf minus all others, exactly, since all are integers.  So a
search takes as long as the leaf has entries, however many columns there are, and it
finds the same split as with histograms.

When a leaf is split, its entries are divided between its children, in order.  A child
that has fewer than `min_samples_leaf` entries of a column loses these: whatever the
threshold, the side without the default bin would be too small, and so it would be in
all leaves below.  This is how most entries of rare columns are soon left out.

Each thread has a part of the columns, with about as many entries as any other's, and
searches and divides the entries of these columns alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel, uint64, wait_at_barrier
from sklearn_ltr._data.binned_columns import (
    BIN_MASK,
    COLUMN_SHIFT,
    ROW_BITS,
    ROW_MASK,
)
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr._trees.growth.dividing import SplitCondition
from sklearn_ltr._trees.growth.quantization import chunk_bounds
from sklearn_ltr._trees.growth.splitting import (
    allowed_score,
    child_score,
    keep_better,
    monotonic_sign,
)
from sklearn_ltr._trees.growth.workspace import (
    GrowingTree,
    GrowthWorkspace,
    Record,
    SparseWorkspace,
    SplitRule,
    is_splittable,
)

ENTRY_TIME = 35.0  # nanoseconds for an entry of the sample, in all leaves
NO_COLUMN = np.iinfo(np.int64).max


# --- the entries of a tree ------------------------------------------------------------


@subkernel
def first_own_column(thread: int, n_threads: int, starts: NDArray[np.int64]) -> int:
    """Return the first column of a thread, given where the entries of each begin."""
    return first_at_least(starts, 0, len(starts), starts[-1] * thread // n_threads)


@subkernel
def first_at_least(
    ascending: NDArray[np.int64], first: int, last: int, wanted: int
) -> int:
    """Return the first place from `first` on of a number that is not below `wanted`."""
    low, high = int64(first), int64(last)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@subkernel
def fill_root_entries(
    tree: GrowingTree, work: GrowthWorkspace, sparse: SparseWorkspace | None
) -> None:
    """Give the root the entries of the sample in this thread's columns."""
    if sparse is None:
        return
    thread, n_threads = work.team.thread, work.team.n_threads
    first = first_own_column(thread, n_threads, sparse.starts)
    last = first_own_column(thread + 1, n_threads, sparse.starts)
    sampled, n = sparse.sampled, sparse.starts[first]
    sparse.bounds[thread, 0, 0] = n
    for column in range(first, last):
        before = n
        if sparse.is_drawn[column]:
            for i in range(sparse.starts[column], sparse.starts[column + 1]):
                entry = sparse.entries[i]
                row = entry & ROW_MASK
                place = int64(sparse.place[row])
                # always written, and counted if the row is in the sample
                sampled[n] = entry - row + place
                n += place >= 0
        if n - before < tree.rule.min_samples_leaf:
            n = before
    sparse.bounds[thread, 0, 1] = n


@subkernel
def divide_entries(
    leaf: Record,
    left_node: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Divide this thread's entries of a leaf that is split, whose bins are written."""
    if sparse is None:
        return
    bounds, rule = sparse.bounds[work.team.thread], tree.rule
    sampled, moved, least = sparse.sampled, sparse.moved, rule.min_samples_leaf
    first, last = bounds[leaf.node, 0], bounds[leaf.node, 1]
    # those that go left stay in front; the others are moved to the end
    n_left = n_right = i = first
    while i < last:
        column = sampled[i] >> COLUMN_SHIFT
        left_before, right_before = n_left, n_right
        while i < last and sampled[i] >> COLUMN_SHIFT == column:
            entry = sampled[i]
            goes_left = int64(work.goes_left[sparse.bins[entry & ROW_MASK, 0]])
            sampled[n_left] = moved[n_right] = entry
            n_left += goes_left
            n_right += 1 - goes_left
            i += 1
        if n_left - left_before < least:
            n_left = left_before
        if n_right - right_before < least:
            n_right = right_before
    n_right -= first
    for i in range(n_right):
        sampled[last - n_right + i] = moved[first + i]
    bounds[left_node, 0], bounds[left_node, 1] = first, n_left
    bounds[left_node + 1, 0], bounds[left_node + 1, 1] = last - n_right, last


# --- the sums of a column -------------------------------------------------------------


@subkernel
def sum_bins(
    first: int,
    last: int,
    total: int,
    gradients: NDArray[np.int64],
    sparse: SparseWorkspace,
) -> tuple[int, int]:
    """Add up the bins of the column of entry `first` in a leaf that has rows in them.

    The bins and their sums are written in order; returned are their number, with the
    default bin, and the first entry of the next column.
    """
    sampled, bins, sums = sparse.sampled, sparse.column_bins, sparse.column_sums
    column = sampled[first] >> COLUMN_SHIFT
    default, at_default, rest = int64(sparse.default_bin[column]), int64(-1), total
    n, i, previous = int64(0), int64(first), int64(-1)
    while i < last and sampled[i] >> COLUMN_SHIFT == column:
        entry = sampled[i]
        b, gradient = entry >> ROW_BITS & BIN_MASK, gradients[entry & ROW_MASK]
        if b != previous:
            if previous < default < b:
                at_default = n
                bins[n] = default
                n += 1
            bins[n], sums[n] = b, 0
            n += 1
            previous = b
        sums[n - 1] += gradient
        rest -= gradient
        i += 1
    if at_default < 0:
        at_default = n
        bins[n] = default
        n += 1
    sums[at_default] = rest
    return n, i


@subkernel
def sums_of_feature(
    feature: int,
    leaf: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> NDArray[np.int64]:
    """Return the packed sum of each bin of a feature in a leaf, (256,)."""
    place = tree.blocks.place[feature]
    block, slot = max(0, place) // FEATURE_BLOCK, max(0, place) % FEATURE_BLOCK
    histogram = work.histograms[leaf.histogram_index, block]
    dense: NDArray[np.int64] = histogram[slot::FEATURE_BLOCK]
    if sparse is None:
        return dense
    if place >= 0:
        return dense
    sums, column, rest = sparse.sums, -1 - place, leaf.total
    sums[:] = 0
    first, last = entries_of_column(column, leaf, work, sparse)
    for i in range(first, last):
        entry = sparse.sampled[i]
        gradient = work.buffers.packed_gradients[entry & ROW_MASK]
        sums[entry >> ROW_BITS & BIN_MASK] += gradient
        rest -= gradient
    sums[sparse.default_bin[column]] = rest
    return sums[::1]  # numba gives all of these slices one type


@subkernel
def sums_of_root(
    feature: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> NDArray[np.int64]:
    """Return the packed sum of each bin of a feature in the root of levels, (256,)."""
    place = tree.blocks.place[feature]
    block, slot = max(0, place) // FEATURE_BLOCK, max(0, place) % FEATURE_BLOCK
    dense: NDArray[np.int64] = work.levels.root[block, slot::FEATURE_BLOCK]
    if sparse is None:
        return dense
    if place >= 0:
        return dense
    # leaves may have lost entries, so they are taken from all rows
    sums, column, rest = sparse.sums, -1 - place, tree.total
    sums[:] = 0
    for i in range(sparse.starts[column], sparse.starts[column + 1]):
        entry = sparse.entries[i]
        row = sparse.place[entry & ROW_MASK]
        if row >= 0:
            gradient = work.buffers.packed_gradients[row]
            sums[entry >> ROW_BITS & BIN_MASK] += gradient
            rest -= gradient
    sums[sparse.default_bin[column]] = rest
    return sums[::1]


@subkernel
def entries_of_column(
    column: int, leaf: Record, work: GrowthWorkspace, sparse: SparseWorkspace
) -> tuple[int, int]:
    """Return where the entries of a column in a leaf begin and end."""
    thread, n_threads = int64(0), work.team.n_threads
    while first_own_column(thread + 1, n_threads, sparse.starts) <= column:
        thread += 1
    first, last = (
        sparse.bounds[thread, leaf.node, 0],
        sparse.bounds[thread, leaf.node, 1],
    )
    first = first_at_least(sparse.sampled, first, last, column << COLUMN_SHIFT)
    last = first_at_least(sparse.sampled, first, last, column + 1 << COLUMN_SHIFT)
    return first, last


# --- best-first growth ----------------------------------------------------------------


@subkernel
def search_entries(
    leaf: Record,
    candidate: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Search this thread's columns for a better split of a leaf than its candidate."""
    if sparse is None:
        return
    bounds = sparse.bounds[work.team.thread]
    i, last = bounds[leaf.node, 0], bounds[leaf.node, 1]
    gradients, parent_score = (
        work.buffers.packed_gradients,
        child_score(leaf.total, tree.rule),
    )
    while i < last:
        feature = sparse.feature[sparse.sampled[i] >> COLUMN_SHIFT]
        n_bins, i = sum_bins(i, last, leaf.total, gradients, sparse)
        if tree.allowed[leaf.node, feature]:
            direction = monotonic_sign(feature, work.special)
            score, threshold = best_threshold(
                n_bins, leaf.total, direction, tree.rule, sparse
            )
            keep_better(score - parent_score, feature, threshold, candidate)


@subkernel
def best_threshold(
    n_bins: int, total: int, direction: int, rule: SplitRule, sparse: SparseWorkspace
) -> tuple[float, int]:
    """Return the highest score of an allowed threshold, and the first with it."""
    # as `scan_thresholds`, of bins that have rows, and whose sums are known
    bins, sums = sparse.column_bins, sparse.column_sums
    missing = int64(0)
    if bins[n_bins - 1] == MISSING_BIN:
        n_bins -= 1
        missing = sums[n_bins]
    best_score, best = 0.0, int64(0)
    end = 2 * HISTOGRAM_BINS if missing else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        left = missing if offset > 0 else int64(0)
        if offset > 0 and bins[0] > 0:  # missing values alone
            score = allowed_score(left, total, direction, rule)
            if score > best_score:
                best_score, best = score, int64(offset)
        for k in range(n_bins):
            left += sums[k]
            score = allowed_score(left, total, direction, rule)
            if score > best_score:
                best_score, best = score, bins[k] + offset
    return best_score, best


# --- the condition of a split ---------------------------------------------------------


@subkernel
def condition_of(
    feature: int,
    leaf: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> SplitCondition:
    """Return the condition by which a leaf is divided, whose bins are marked."""
    place = tree.blocks.place[feature]
    block, slot = max(0, place) // FEATURE_BLOCK, max(0, place) % FEATURE_BLOCK
    if sparse is None:
        return SplitCondition(tree.blocks.values[block], slot, work.goes_left)
    # Rows and entries are divided by the bins of the rows; threads write a chunk each.
    team, bins, rows = work.team, sparse.bins, work.buffers.rows[leaf.buffer]
    first, last = chunk_bounds(team.thread, team.n_threads, leaf.start, leaf.stop)
    if place >= 0:
        values = tree.blocks.values[block]
        for i in range(first, last):
            row = uint64(rows[i])
            bins[row, 0] = values[row, slot]
    else:
        default = sparse.default_bin[-1 - place]
        for i in range(first, last):
            bins[uint64(rows[i]), 0] = default
        wait_at_barrier(team.barrier, team.n_threads)
        first, last = entries_of_column(-1 - place, leaf, work, sparse)
        first, last = chunk_bounds(team.thread, team.n_threads, first, last)
        for i in range(first, last):
            entry = sparse.sampled[i]
            bins[entry & ROW_MASK, 0] = entry >> ROW_BITS & BIN_MASK
    wait_at_barrier(team.barrier, team.n_threads)
    return SplitCondition(bins, int64(0), work.goes_left)


# --- symmetric growth -----------------------------------------------------------------


@subkernel
def search_level_entries(
    min_gain: float,
    candidate: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Search this thread's columns for a better condition of a level."""
    if sparse is None:
        return
    progress, sampled, next_entry = work.progress[0], sparse.sampled, sparse.next_entry
    bounds = sparse.bounds[work.team.thread]
    for number in range(progress.n_leaves):
        next_entry[number] = bounds[work.leaves[number].node, 0]
    while True:
        column = NO_COLUMN
        for number in range(progress.n_leaves):
            if next_entry[number] < bounds[work.leaves[number].node, 1]:
                column = min(column, sampled[next_entry[number]] >> COLUMN_SHIFT)
        if column == NO_COLUMN:
            break
        feature = sparse.feature[column]
        threshold = add_column_gains(column, feature, tree, work, sparse)
        gain = work.levels.gains[
            threshold // HISTOGRAM_BINS, threshold % HISTOGRAM_BINS
        ]
        if tree.allowed[progress.n_steps, feature] and gain > min_gain:
            keep_better(gain, feature, threshold, candidate)


@subkernel
def add_column_gains(
    column: int,
    feature: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace,
) -> int:
    """Add up the gains of a column's thresholds over all leaves; return the best."""
    gains, n_values, rule = work.levels.gains, sparse.n_bins[column], tree.rule
    direction = monotonic_sign(feature, work.special)
    gains[:, :n_values] = 0.0
    for position in range(work.progress[0].n_leaves):
        # in the order in which the gains of other features are added
        number = work.levels.order[position] if direction == 0 else position
        leaf, i = work.leaves[number], sparse.next_entry[number]
        last = sparse.bounds[work.team.thread, leaf.node, 1]
        if i == last or sparse.sampled[i] >> COLUMN_SHIFT != column:
            continue  # no threshold divides the leaf
        n_bins, sparse.next_entry[number] = sum_bins(
            i, last, leaf.total, work.buffers.packed_gradients, sparse
        )
        if is_splittable(leaf, rule):
            add_leaf_column_gains(
                n_bins, n_values, leaf.total, direction, rule, gains, sparse
            )
    best = int64(0)
    for threshold in range(2 * HISTOGRAM_BINS):
        side, b = threshold // HISTOGRAM_BINS, threshold % HISTOGRAM_BINS
        if (
            b < n_values
            and gains[side, b] > gains[best // HISTOGRAM_BINS, best % HISTOGRAM_BINS]
        ):
            best = threshold
    return best


@subkernel
def add_leaf_column_gains(
    n_bins: int,
    n_values: int,
    total: int,
    direction: int,
    rule: SplitRule,
    gains: NDArray[np.float64],
    sparse: SparseWorkspace,
) -> None:
    """Add the gain that each threshold of a column gives in one leaf."""
    bins, sums = sparse.column_bins, sparse.column_sums
    missing, parent_score = int64(0), child_score(total, rule)
    if bins[n_bins - 1] == MISSING_BIN:
        n_bins -= 1
        missing = sums[n_bins]
    for side in range(2):
        left, gain, k = missing if side > 0 else int64(0), 0.0, 0
        for b in range(n_values):
            has_rows = k < n_bins and bins[k] == b
            if has_rows:
                left += sums[k]
                k += 1
            if has_rows or b == 0:  # else as of the bin before
                score = allowed_score(left, total, direction, rule)
                gain = max(score - parent_score, 0.0)
            gains[side, b] += gain
