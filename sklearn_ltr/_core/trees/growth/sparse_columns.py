"""Splits of sparse columns, of which the rows outside the default bin are stored.

A *key* is a bin of a sparse column in which there are rows, but not the default bin;
keys are numbered by column and bin.  The histogram of a leaf is a list of the keys that
have rows in the leaf, with their sums of packed gradients.  The sum of the default bin
is that of the leaf minus all others, exactly, since all are integers.  So a search
takes as long as the list is, and it finds the same split as with all bins.

When a leaf is split, the sums of the smaller child are made from its rows, each of
which has its keys.  One pass over the list of the parent turns it into that of the
larger child, by subtraction, and writes that of the smaller one.  Both lose columns of
which they have fewer than `min_samples_leaf` rows: whatever the threshold, the side
without the default bin would be too small, and so it would be in all leaves below.
This is how most of many rare columns are soon left out.

Each thread has a part of the columns, with about as many entries as any other's; it
makes the lists of these columns, and searches them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import int64, subkernel, uint64, wait_at_barrier
from sklearn_ltr._core.data.binned_columns import BIN_MASK, ROW_BITS, ROW_MASK
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr._core.trees.growth.dividing import SplitCondition
from sklearn_ltr._core.trees.growth.quantization import chunk_bounds
from sklearn_ltr._core.trees.growth.splitting import (
    allowed_score,
    child_score,
    keep_better,
    monotonic_sign,
)
from sklearn_ltr._core.trees.growth.workspace import (
    NO_LEAF,
    GrowingTree,
    GrowthWorkspace,
    Record,
    SparseWorkspace,
    SplitRule,
    Team,
    is_splittable,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

# Nanoseconds for an entry of the sample, in all leaves
ENTRY_TIME = 20.0
NO_COLUMN = np.iinfo(np.int64).max


# --- this thread's columns ------------------------------------------------------------


@subkernel
def first_own_column(thread: int, n_threads: int, starts: IntArray) -> int:
    """Return the first column of a thread, given where the entries of each begin."""
    wanted = starts[len(starts) - 1] * thread // n_threads
    return first_at_least(starts, 0, len(starts) - 1, wanted)


@subkernel
def own_columns(team: Team, sparse: SparseWorkspace) -> tuple[int, int]:
    """Return the first column of this thread, and that of the next one."""
    first = first_own_column(team.thread, team.n_threads, sparse.starts)
    return first, first_own_column(team.thread + 1, team.n_threads, sparse.starts)


@subkernel
def first_at_least(
    ascending: NDArray[np.integer], first: int, last: int, wanted: int
) -> int:
    """Return the first place from `first` on of a number that is not below `wanted`."""
    low, high = int64(first), int64(last)
    while low < high:
        middle = (low + high) // 2
        if int64(ascending[middle]) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@subkernel
def take_own_keys(
    tree: GrowingTree, work: GrowthWorkspace, sparse: SparseWorkspace | None
) -> None:
    """Copy the keys of each row of the sample that are in this thread's columns."""
    if sparse is None:
        return
    thread = work.team.thread
    first, last = own_columns(work.team, sparse)
    first_key, last_key = sparse.first_key[first], sparse.first_key[last]
    own_keys, own_start = sparse.own_keys, sparse.own_start[thread]
    n = sparse.starts[first]
    for i in range(tree.n_rows):
        own_start[i] = n
        row = sparse.rows[i]
        for j in range(sparse.row_start[row], sparse.row_start[row + 1]):
            key = sparse.row_keys[uint64(j)]
            is_own = first_key <= int64(key) < last_key
            if is_own and sparse.is_drawn[sparse.key_column[key]]:
                own_keys[n] = key
                n += 1
    own_start[tree.n_rows] = n
    sparse.list_end[thread, 0] = 2 * sparse.starts[first]
    for index in range(sparse.bounds.shape[1]):  # all lists are empty
        for end in range(2):
            sparse.bounds[thread, index, end] = sparse.list_end[thread, 0]


# --- lists of keys --------------------------------------------------------------------


@subkernel
def divide_list(
    smaller: int,
    larger: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Make this thread's lists of two siblings, or of the root, which has none."""
    if sparse is None:
        return
    leaf, sums = work.leaves[smaller], sparse.sum_of_key
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    own_keys, own_start = sparse.own_keys, sparse.own_start[work.team.thread]
    for i in range(len(rows)):
        row, gradient = uint64(rows[i]), work.buffers.leaf_gradients[leaf.start + i]
        for j in range(uint64(own_start[row]), uint64(own_start[row + uint64(1)])):
            sums[own_keys[j]] += gradient
    if larger == NO_LEAF:
        write_root_list(leaf.histogram_index, tree, work, sparse)
    else:
        parent = work.leaves[larger].histogram_index
        write_lists(leaf.histogram_index, parent, tree.rule, work, sparse)
    for i in range(len(rows)):
        row = uint64(rows[i])
        for j in range(uint64(own_start[row]), uint64(own_start[row + uint64(1)])):
            sums[own_keys[j]] = 0


@subkernel
def write_root_list(
    index: int, tree: GrowingTree, work: GrowthWorkspace, sparse: SparseWorkspace
) -> None:
    """Write the list of the root, given the sum of each key."""
    thread = work.team.thread
    first, last = own_columns(work.team, sparse)
    mask, n = tree.rule.quantization.count_mask, sparse.list_end[thread, 0]
    sparse.bounds[thread, index, 0] = n
    for column in range(first, last):
        before, n_rows = n, int64(0)
        for key in range(sparse.first_key[column], sparse.first_key[column + 1]):
            key_sum = sparse.sum_of_key[key]
            sparse.list_keys[n], sparse.list_sums[n] = key, key_sum
            n_rows += key_sum & mask
            n += key_sum != 0
        if n_rows < tree.rule.min_samples_leaf:
            n = before
    sparse.bounds[thread, index, 1] = sparse.list_end[thread, 0] = n


@subkernel
def write_lists(
    smaller: int,
    larger: int,
    rule: SplitRule,
    work: GrowthWorkspace,
    sparse: SparseWorkspace,
) -> None:
    """Divide the list of a parent, which becomes that of its larger child."""
    thread, mask = work.team.thread, rule.quantization.count_mask
    bounds = sparse.bounds[thread]
    make_room(smaller, larger, work, sparse)
    keys, sums, of_smaller = sparse.list_keys, sparse.list_sums, sparse.sum_of_key
    i = n_large = bounds[larger, 0]
    n_small, last = sparse.list_end[thread, 0], bounds[larger, 1]
    bounds[smaller, 0] = n_small
    while i < last:
        next_column = sparse.first_key[int64(sparse.key_column[keys[i]]) + 1]
        small_before, large_before = n_small, n_large
        small_rows, large_rows = int64(0), int64(0)
        while i < last and int64(keys[i]) < next_column:
            key = keys[i]
            small_sum = of_smaller[key]
            large_sum = sums[i] - small_sum
            if small_sum != 0:
                keys[n_small], sums[n_small] = key, small_sum
                n_small += 1
            keys[n_large], sums[n_large] = key, large_sum
            n_large += large_sum != 0
            small_rows += small_sum & mask
            large_rows += large_sum & mask
            i += 1
        if small_rows < rule.min_samples_leaf:
            n_small = small_before
        if large_rows < rule.min_samples_leaf:
            n_large = large_before
    bounds[larger, 1], bounds[smaller, 1] = n_large, n_small
    sparse.list_end[thread, 0] = n_small


@subkernel
def make_room(
    n_lists: int, parent: int, work: GrowthWorkspace, sparse: SparseWorkspace
) -> None:
    """Move this thread's lists together if another as long as the parent's has no room.

    Keys in all lists are at most as many as entries, for twice as many of which there
    is room.
    """
    thread = work.team.thread
    bounds = sparse.bounds[thread]
    first_column, last_column = own_columns(work.team, sparse)
    room = 2 * sparse.starts[last_column] - sparse.list_end[thread, 0]
    if bounds[parent, 1] - bounds[parent, 0] <= room:
        return
    n = 2 * sparse.starts[first_column]
    for index in range(n_lists):  # they are in this order
        first, last = bounds[index, 0], bounds[index, 1]
        bounds[index, 0] = n
        for i in range(first, last):
            sparse.list_keys[n] = sparse.list_keys[i]
            sparse.list_sums[n] = sparse.list_sums[i]
            n += 1
        bounds[index, 1] = n
    sparse.list_end[thread, 0] = n


# --- the sums of a column -------------------------------------------------------------


class ColumnPart(NamedTuple):
    """The part of a leaf's list that is of one column, and what is not in the list."""

    first: int  # of its keys
    end: int
    default: int  # the default bin
    rest: int  # packed sum of this bin
    total: int  # packed sum of the leaf


@subkernel
def part_of_column(
    first: int, last: int, column: int, total: int, sparse: SparseWorkspace
) -> ColumnPart:
    """Return the part of a column, which begins at `first`, of the list of a leaf."""
    i, rest, next_column = uint64(first), total, sparse.first_key[column + 1]
    while i < uint64(last) and int64(sparse.list_keys[i]) < next_column:
        rest -= sparse.list_sums[i]
        i += uint64(1)
    default = int64(sparse.default_bin[column])
    return ColumnPart(int64(first), int64(i), default, rest, total)


@subkernel
def block_and_slot(place: int) -> tuple[int, int]:
    """Return block and slot of a feature by its `Blocks.place`; any if it is sparse."""
    return max(0, place) // FEATURE_BLOCK, max(0, place) % FEATURE_BLOCK


@subkernel
def sums_of_feature(
    feature: int,
    leaf: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> IntArray:
    """Return the packed sum of each bin of a feature in a leaf, (256,)."""
    place = tree.blocks.place[feature]
    block, slot = block_and_slot(place)
    histogram = work.histograms[leaf.histogram_index, block]
    of_bytes: IntArray = histogram[slot::FEATURE_BLOCK]
    if sparse is None:
        return of_bytes
    if place >= 0:
        return of_bytes
    sums, column = sparse.sums[work.team.thread], -1 - place
    sums[:] = 0
    owner, n_threads = int64(0), work.team.n_threads
    while first_own_column(owner + 1, n_threads, sparse.starts) <= column:
        owner += 1
    keys, bounds = sparse.list_keys, sparse.bounds[owner, leaf.histogram_index]
    first = first_at_least(keys, bounds[0], bounds[1], sparse.first_key[column])
    part = part_of_column(first, bounds[1], column, leaf.total, sparse)
    for i in range(part.first, part.end):
        sums[sparse.key_bin[keys[i]]] = sparse.list_sums[i]
    return with_default(sums, column, part.rest, sparse)


@subkernel
def sums_of_root(
    feature: int,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> IntArray:
    """Return the packed sum of each bin of a feature in the root of levels, (256,)."""
    place = tree.blocks.place[feature]
    block, slot = block_and_slot(place)
    of_bytes: IntArray = work.levels.root[block, slot::FEATURE_BLOCK]
    if sparse is None:
        return of_bytes
    if place >= 0:
        return of_bytes
    sums, column, rest = sparse.sums[work.team.thread], -1 - place, tree.total
    sums[:] = 0
    for i in range(sparse.starts[column], sparse.starts[column + 1]):
        entry = sparse.entries[i]
        row = sparse.place[entry & ROW_MASK]
        if row >= 0:
            gradient = work.buffers.packed_gradients[row]
            sums[entry >> ROW_BITS & BIN_MASK] += gradient
            rest -= gradient
    return with_default(sums, column, rest, sparse)


@subkernel
def with_default(
    sums: IntArray, column: int, rest: int, sparse: SparseWorkspace
) -> IntArray:
    """Return the sums of a column with that of its default bin, `rest`."""
    sums[sparse.default_bin[column]] = rest
    return sums[::1]  # numba gives this slice the type of those of histograms


# --- best-first growth ----------------------------------------------------------------


@subkernel
def search_list(
    leaf: Record,
    candidate: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Search this thread's columns for a better split of a leaf than its candidate."""
    if sparse is None:
        return
    bounds = sparse.bounds[work.team.thread, leaf.histogram_index]
    i, last = bounds[0], bounds[1]
    parent_score = child_score(leaf.total, tree.rule)
    while i < last:
        column = int64(sparse.key_column[sparse.list_keys[uint64(i)]])
        part = part_of_column(i, last, column, leaf.total, sparse)
        feature = sparse.feature[column]
        if tree.allowed[leaf.node, feature]:
            direction = monotonic_sign(feature, work.special)
            score, threshold = best_threshold(part, direction, tree.rule, sparse)
            keep_better(score - parent_score, feature, threshold, candidate)
        i = part.end


@subkernel
def best_threshold(
    part: ColumnPart, direction: int, rule: SplitRule, sparse: SparseWorkspace
) -> tuple[float, int]:
    """Return the highest score of an allowed threshold, and the first with it."""
    # as `scan_thresholds`, of bins that have rows
    first, end, default, rest, total = part
    keys, bins, sums = sparse.list_keys, sparse.key_bin, sparse.list_sums
    missing, lowest = int64(0), min(default, int64(bins[keys[uint64(first)]]))
    if bins[keys[uint64(end - 1)]] == MISSING_BIN:
        end -= 1
        missing = sums[end]
    best_score, best = 0.0, int64(0)
    for offset in range(0, 2 * HISTOGRAM_BINS if missing else 1, HISTOGRAM_BINS):
        left, has_default = missing if offset > 0 else int64(0), False
        if offset > 0 and lowest > 0:  # missing values alone
            score = allowed_score(left, total, direction, rule)
            if score > best_score:
                best_score, best = score, int64(offset)
        for i in range(uint64(first), uint64(end)):
            b = int64(bins[keys[i]])
            if b > default and not has_default:
                has_default = True
                left += rest
                score = allowed_score(left, total, direction, rule)
                if score > best_score:
                    best_score, best = score, default + offset
            left += sums[i]
            score = allowed_score(left, total, direction, rule)
            if score > best_score:
                best_score, best = score, b + offset
        if not has_default:
            score = allowed_score(left + rest, total, direction, rule)
            if score > best_score:
                best_score, best = score, default + offset
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
    block, slot = block_and_slot(place)
    of_bytes = SplitCondition(tree.blocks.values[block], slot, work.goes_left)
    if sparse is None:
        return of_bytes
    if place >= 0:
        return of_bytes
    # the bins of rows that are not in the leaf do not matter
    team, bins, rows = work.team, sparse.bins, work.buffers.rows[leaf.buffer]
    column = -1 - place
    first, last = chunk_bounds(team.thread, team.n_threads, leaf.start, leaf.stop)
    for i in range(first, last):
        bins[uint64(rows[i]), 0] = sparse.default_bin[column]
    wait_at_barrier(team.barrier, team.n_threads)
    first, last = sparse.starts[column], sparse.starts[column + 1]
    first, last = chunk_bounds(team.thread, team.n_threads, first, last)
    for i in range(first, last):
        entry = sparse.entries[i]
        row = sparse.place[entry & ROW_MASK]
        if row >= 0:
            bins[row, 0] = entry >> ROW_BITS & BIN_MASK
    wait_at_barrier(team.barrier, team.n_threads)
    return SplitCondition(bins, int64(0), work.goes_left)


# --- symmetric growth -----------------------------------------------------------------


@subkernel
def search_level_lists(
    min_gain: float,
    candidate: Record,
    tree: GrowingTree,
    work: GrowthWorkspace,
    sparse: SparseWorkspace | None,
) -> None:
    """Search this thread's columns for a better condition of a level."""
    if sparse is None:
        return
    progress, leaves, thread = work.progress[0], work.leaves, work.team.thread
    place, bounds = sparse.place_in_list[thread], sparse.bounds[thread]
    for number in range(progress.n_leaves):
        index = leaves[number].histogram_index
        # a leaf that cannot be split has no list
        is_searched = is_splittable(leaves[number], tree.rule)
        place[number] = bounds[index, 0] if is_searched else bounds[index, 1]
    while True:
        column = NO_COLUMN
        for number in range(progress.n_leaves):
            if place[number] < bounds[leaves[number].histogram_index, 1]:
                key = sparse.list_keys[place[number]]
                column = min(column, int64(sparse.key_column[key]))
        if column == NO_COLUMN:
            break
        feature = sparse.feature[column]
        threshold = add_column_gains(column, feature, tree, work, sparse)
        side, b = threshold // HISTOGRAM_BINS, threshold % HISTOGRAM_BINS
        gain = work.levels.gains[side, b]
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
    place = sparse.place_in_list[work.team.thread]
    direction = monotonic_sign(feature, work.special)
    gains[:, :n_values] = 0.0
    for position in range(work.progress[0].n_leaves):
        # in the order in which the gains of other features are added
        number = work.levels.order[position] if direction == 0 else position
        leaf, i = work.leaves[number], place[number]
        last = sparse.bounds[work.team.thread, leaf.histogram_index, 1]
        part = part_of_column(i, last, column, leaf.total, sparse)
        if part.end > i:  # else no threshold divides the leaf
            place[number] = part.end
            add_leaf_gains_of_column(part, n_values, direction, rule, gains, sparse)
    best, highest = int64(0), 0.0
    for side in range(2):
        for b in range(n_values):
            if gains[side, b] > highest:
                best, highest = side * HISTOGRAM_BINS + b, gains[side, b]
    return best


@subkernel
def add_leaf_gains_of_column(
    part: ColumnPart,
    n_values: int,
    direction: int,
    rule: SplitRule,
    gains: FloatArray,
    sparse: SparseWorkspace,
) -> None:
    """Add the gain that each threshold of a column gives in one leaf."""
    first, end, default, rest, total = part
    keys, bins, sums = sparse.list_keys, sparse.key_bin, sparse.list_sums
    missing, parent_score = int64(0), child_score(total, rule)
    if bins[keys[uint64(end - 1)]] == MISSING_BIN:
        end -= 1
        missing = sums[end]
    for side in range(2):
        left, gain, i = missing if side > 0 else int64(0), 0.0, int64(first)
        for b in range(n_values):
            has_rows = b == default
            if has_rows:
                left += rest
            elif i < end and bins[keys[uint64(i)]] == b:
                has_rows = True
                left += sums[i]
                i += 1
            if has_rows or b == 0:  # else as of the bin before
                score = allowed_score(left, total, direction, rule)
                gain = max(score - parent_score, 0.0)
            gains[side, b] += gain
