"""A symmetric tree: one condition splits all leaves of a level.

The gain of a condition is the sum of the gains that it gives in the leaves of its level
(:mod:`splitting`), so a tree of d levels has d conditions and at most 2^d leaves (A.
Gulin, I. Kuralenok and D. Pavlov, "Winning the transfer learning track of Yahoo!'s
learning to rank challenge with YetiRank", 2011).  With few queries, such trees
generalise better than best-first trees of as many leaves.

- **Leaves that stay whole.**  The condition divides a leaf if this has a gain, if both
  children have at least `min_samples_leaf` rows, and if their values are in the order
  that a monotonic constraint asks for.  Any other leaf stays whole and adds nothing to
  the gain of the condition; the condition of a later level may divide it.
- **Missing values** go to the side that gives the level the higher gain.  If the sample
  has none, they go to the side with more rows.
- **Categories** are sorted once for a tree, by their sums over all rows of the sample,
  and F (:mod:`splitting`) is that of these sums.
- **Interaction constraints** hold for the features of all levels together.
- **Regularisation.**  `RIDGE` rows of the mean hessian are added to the sum of hessians
  of a leaf, as `l2_regularization` is: in its value and in second-order gains.

A tree takes as many passes of a loop as it has levels, in which threads share the
blocks.  In each block, the gains of all thresholds are added up leaf by leaf.  Of two
siblings that the last level made, the smaller one's histogram is made from its rows,
the larger one's by subtraction, and both are read while they are in the cache.  Several
workers add up the histograms of their smaller siblings once in each level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    allocate_aligned,
    int64,
    subkernel,
    uint64,
    wait_at_barrier,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr._core.trees.growth.dividing import (
    divide_rows,
    exclude_features,
    record_category_set,
    split_leaf,
)
from sklearn_ltr._core.trees.growth.histograms import (
    add_histogram,
    clear_histogram,
    fill_histogram,
    next_task,
    subtract_histogram,
)
from sklearn_ltr._core.trees.growth.loop import (
    GrowthPolicy,
    GrowthSteps,
    growth_kernel,
)
from sklearn_ltr._core.trees.growth.sparse_columns import (
    condition_of,
    divide_list,
    search_level_lists,
    sums_of_feature,
    sums_of_root,
)
from sklearn_ltr._core.trees.growth.splitting import (
    SEARCHED_SLOTS,
    OrderedBins,
    allowed_score,
    child_score,
    int64_slots,
    is_categorical,
    is_special,
    keep_better,
    mark_left_bins,
    monotonic_sign,
    order_bins,
    rounding_gain,
    split_score,
    sum_of_others,
    take_best_candidate,
)
from sklearn_ltr._core.trees.growth.workspace import (
    LEAF,
    NO_HISTOGRAM,
    NO_LEAF,
    BlockSplits,
    GrowingTree,
    GrowthParameters,
    GrowthWorkspace,
    LevelWorkspace,
    Record,
    SpecialFeatures,
    SplitRule,
    is_splittable,
    new_histogram,
    own_records,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

RIDGE = 3.0  # rows of the mean hessian

# Nanoseconds that a tree takes, as measured for 10 to 136 features
LEVEL_ROW_TIME = 5.0  # for a row in a block of features, in a level
BLOCK_TIME = 6_000.0  # for the search of a block in a leaf
LOST_TIME = 10_000.0  # in a level, by two threads


# --- histograms -------------------------------------------------------------------


@subkernel
def fill_leaf(
    leaf: Record, block: int, tree: GrowingTree, work: GrowthWorkspace
) -> None:
    """Make the histogram of a leaf from this worker's rows."""
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    gradients = work.buffers.leaf_gradients[leaf.start : leaf.stop]
    histogram = work.histograms[leaf.histogram_index, block]
    fill_histogram(histogram, block, rows, gradients, tree.blocks)


# --- the condition of a level -----------------------------------------------------


@subkernel
def search_level(tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Find this thread's candidate for the condition; threads share the blocks."""
    progress, splits, blocks = work.progress[0], work.splits, tree.blocks
    candidate = work.candidates[work.team.thread, 0]
    candidate.gain = candidate.feature = 0
    # rounding errors alone may give a gain
    min_gain = 0.0
    for number in range(progress.n_leaves):
        if is_splittable(work.leaves[number], tree.rule):
            min_gain += rounding_gain(work.leaves[number].total, tree.rule)
    block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    while block < len(blocks.n_bins):
        add_level_gains(block, tree, work)
        for slot in range(FEATURE_BLOCK):
            feature, gain = blocks.feature[block, slot], splits.score[slot]
            is_allowed = feature >= 0 and tree.allowed[progress.n_steps, feature]
            if is_allowed and gain > min_gain:
                keep_better(gain, feature, splits.threshold[slot], candidate)
        block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    if progress.n_steps == 0:
        divide_list(0, NO_LEAF, tree, work, work.sparse)
    for pair in range(progress.n_pairs):
        smaller, larger = work.levels.order[2 * pair], work.levels.order[2 * pair + 1]
        if is_splittable(work.leaves[larger], tree.rule):
            divide_list(smaller, larger, tree, work, work.sparse)
    search_level_lists(min_gain, candidate, tree, work, work.sparse)


@subkernel
def add_level_gains(block: int, tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Find the best threshold of each feature of a block over all leaves."""
    splits, gains, n_bins = work.splits, work.levels.gains, tree.blocks.n_bins[block]
    n_used_slots = tree.blocks.n_used_slots[block]
    progress, root, order = work.progress[0], work.levels.root[block], work.levels.order
    if progress.n_steps == 0:
        if not tree.exchanges:
            fill_leaf(work.leaves[0], block, tree, work)
        clear_histogram(root, n_bins)
        add_histogram(root, work.histograms[0, block], n_bins)
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        any_missing |= root[MISSING_BIN * FEATURE_BLOCK + slot]
        # rare categories go where missing values go
        feature = max(0, tree.blocks.feature[block, slot])
        any_missing |= is_categorical(feature, work.special)
    n_sides, n_new = 2 if any_missing else 1, 2 * progress.n_pairs
    gains[:n_sides, : n_bins * FEATURE_BLOCK] = 0.0
    for i in range(progress.n_leaves):
        leaf = work.leaves[order[i]]
        has_larger = i < n_new and i % 2 == 0
        larger = work.leaves[order[i + 1]] if has_larger else leaf
        if not is_splittable(larger, tree.rule):
            continue  # nor is the smaller one
        histogram = work.histograms[leaf.histogram_index, block]
        if has_larger and not tree.exchanges:
            fill_leaf(leaf, block, tree, work)
        if i < n_new and not has_larger:
            smaller = work.leaves[order[i - 1]].histogram_index
            subtract_histogram(histogram, work.histograms[smaller, block], n_bins)
        if is_splittable(leaf, tree.rule):
            for side in range(n_sides):
                for first in range(0, n_used_slots, SEARCHED_SLOTS):
                    slots = histogram[first:], gains[side, first:]
                    add_leaf_gains(*slots, side, n_bins, leaf.total, tree.rule)
    replace_special_gains(block, tree, work.special, work)
    for side in range(n_sides):
        keep_best_thresholds(gains[side], n_bins, side * HISTOGRAM_BINS, splits)


@subkernel
def keep_best_thresholds(
    gains: FloatArray, n_bins: int, offset: int, splits: BlockSplits
) -> None:
    """Store the thresholds, plus `offset`, whose gain exceeds that in `splits`."""
    # LLVM vectorizes this with arrays of one axis only: it is 20 times as fast
    score, threshold = splits.score, splits.threshold
    for b in range(n_bins):
        for slot in range(FEATURE_BLOCK):
            gain = gains[b * FEATURE_BLOCK + slot]
            better = gain > score[slot]
            score[slot] = gain if better else score[slot]
            threshold[slot] = b + offset if better else threshold[slot]


@subkernel
def add_leaf_gains(
    histogram: IntArray,
    gains: FloatArray,
    side: int,
    n_bins: int,
    total: int,
    rule: SplitRule,
) -> None:
    """Add the gain that each threshold of the first features gives in one leaf."""
    left_sum = int64_slots()
    mask, parent_score = rule.quantization.count_mask, child_score(total, rule)
    least = rule.min_samples_leaf
    most = (total & mask) - least
    for slot in range(SEARCHED_SLOTS):
        missing = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
        left_sum[slot] = missing if side > 0 else 0
    for b in range(n_bins):
        for slot in range(SEARCHED_SLOTS):  # vectorises
            left = left_sum[slot] + histogram[uint64(b * FEATURE_BLOCK + slot)]
            left_sum[slot] = left
            gain, n_left = split_score(left, total, rule) - parent_score, left & mask
            divides = gain > 0.0
            divides &= n_left >= least
            divides &= n_left <= most
            gains[uint64(b * FEATURE_BLOCK + slot)] += gain if divides else 0.0


@subkernel
def select_condition(tree: GrowingTree, work: GrowthWorkspace) -> None:
    """Make the best of all threads' candidates the condition of the level."""
    work.next_task[work.team.thread, 0] = 0  # for the next search
    level = work.levels.level[0]
    level.total = tree.total
    take_best_candidate(level, work.candidates, work.team.n_threads, int64(0))


# --- categorical and constrained features -----------------------------------------


@subkernel
def replace_special_gains(
    block: int,
    tree: GrowingTree,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> None:
    """Replace the gains of a block's features that are categorical or constrained."""
    if special is None:
        return
    # Of a categorical feature, thresholds are places in the order of its categories
    levels, n_bins, rule = work.levels, tree.blocks.n_bins[block], tree.rule
    for slot in range(FEATURE_BLOCK):
        feature = tree.blocks.feature[block, slot]
        if feature < 0 or not is_special(feature, special):
            continue
        for b in range(n_bins):
            levels.gains[0, b * FEATURE_BLOCK + slot] = 0.0
            levels.gains[1, b * FEATURE_BLOCK + slot] = 0.0
        root = levels.root[block, slot::FEATURE_BLOCK]
        ordered = order_bins(feature, root, n_bins, tree.total, rule, special)
        for number in range(work.progress[0].n_leaves):
            leaf = work.leaves[number]
            if is_splittable(leaf, tree.rule):
                histogram = work.histograms[leaf.histogram_index, block]
                sums, gains = histogram[slot::FEATURE_BLOCK], levels.gains[:, slot:]
                add_ordered_gains(sums, leaf.total, ordered, rule, gains)
        for b in range(len(ordered.bins)):
            levels.gains[0, b * FEATURE_BLOCK + slot] *= ordered.fraction
            levels.gains[1, b * FEATURE_BLOCK + slot] *= ordered.fraction


@subkernel
def add_ordered_gains(
    sums: IntArray, total: int, ordered: OrderedBins, rule: SplitRule, gains: FloatArray
) -> None:
    """Add the gain of each threshold among ordered bins that one leaf allows."""
    # bins that are not in the order go right together, or left
    rest, n_bins = sum_of_others(sums, ordered.bins, total), len(ordered.bins)
    parent_score = child_score(total, rule)
    for side in range(2):
        left = rest if side > 0 else int64(0)
        for i in range(n_bins):
            left += sums[ordered.bins[i]]
            if min(i + 1, n_bins - i - 1) <= ordered.most:
                score = allowed_score(left, total, ordered.direction, rule)
                gains[side, i * FEATURE_BLOCK] += max(score - parent_score, 0.0)


# --- the leaves of the next level -------------------------------------------------


@subkernel
def split_level(tree: GrowingTree, work: GrowthWorkspace) -> bool:
    """Split the leaves in which the condition of their level has a gain."""
    progress, level, team = work.progress[0], work.levels.level[0], work.team
    if level.gain <= 0.0:
        return False
    # each thread marks the bins for itself, and none has to wait for another
    feature, rule, special = level.feature, tree.rule, work.special
    root = sums_of_root(feature, tree, work, work.sparse)
    mark_left_bins(level, root, rule, special, work.goes_left)
    is_set = is_categorical(feature, special)
    direction = monotonic_sign(feature, special)
    if team.thread == 0:
        # here by level, where a best-first tree has features by node
        n_steps = progress.n_steps
        exclude_features(n_steps, n_steps + 1, feature, special, tree.allowed)
    n_bins = MISSING_BIN  # as many as a sparse column may have
    if tree.blocks.place[feature] >= 0:
        n_bins = tree.blocks.n_bins[tree.blocks.place[feature] // FEATURE_BLOCK]
    n_leaves = progress.n_leaves
    progress.n_pairs = 0
    for number in range(n_leaves):
        leaf = work.leaves[number]
        if not is_splittable(leaf, tree.rule):
            continue
        sums = sums_of_feature(feature, leaf, tree, work, work.sparse)
        leaf.left_total = sum_on_left(sums, n_bins, work.goes_left)
        score = allowed_score(leaf.left_total, leaf.total, direction, rule)
        leaf.gain = score - child_score(leaf.total, rule)
        if leaf.gain <= 0.0:
            continue
        leaf.feature, leaf.threshold = feature, level.threshold
        leaf.missing_left = level.missing_left
        if is_set and team.thread == 0:
            record_category_set(work.goes_left, work.category_set[leaf.node])
        condition = condition_of(feature, leaf, tree, work, work.sparse)
        if divide_rows(condition, leaf, rule, tree.exchanges, team, work.buffers):
            wait_at_barrier(team.barrier, team.n_threads)
        pair = 2 * progress.n_pairs
        work.levels.order[pair], work.levels.order[pair + 1] = split_leaf(
            number, tree, work.leaves, progress, team
        )
        progress.n_pairs += 1
    position, first_new_node = 2 * progress.n_pairs, 2 * n_leaves - 1
    for number in range(n_leaves):
        if work.leaves[number].node < first_new_node:  # it has stayed whole
            work.levels.order[position] = number
            position += 1
    return True


@subkernel
def sum_on_left(sums: IntArray, n_bins: int, goes_left: NDArray[np.uint8]) -> int:
    """Return the packed sum of the bins that go left."""
    total: int = sums[MISSING_BIN] * int64(goes_left[MISSING_BIN])
    for b in range(n_bins):
        total += sums[b] * int64(goes_left[b])
    return total


# --- several workers ---------------------------------------------------------------


@subkernel
def needs_sums_of_level(tree: GrowingTree, work: GrowthWorkspace) -> bool:
    """Make histograms for an exchange if those of the level are not there."""
    if work.leaves[work.levels.order[0]].histogram_index != NO_HISTOGRAM:
        return False
    n_new = max(1, 2 * work.progress[0].n_pairs)
    for i in range(0, n_new, 2):
        leaf = work.leaves[work.levels.order[i]]
        leaf.histogram_index = new_histogram(work.progress[0])
    n_used_slots = tree.blocks.n_used_slots
    block = next_task(int64(1), n_used_slots, work.team, work.next_task)
    while block < len(n_used_slots):
        for i in range(0, n_new, 2):
            fill_leaf(work.leaves[work.levels.order[i]], block, tree, work)
        block = next_task(int64(1), n_used_slots, work.team, work.next_task)
    wait_at_barrier(work.team.barrier, work.team.n_threads)
    work.next_task[work.team.thread, 0] = 0
    return True


# --- the policy -------------------------------------------------------------------

STEPS = GrowthSteps(None, search_level, select_condition, split_level)


class Symmetric(GrowthPolicy):
    """Splits all leaves of a level by one condition."""

    name = "symmetric"
    kernel = growth_kernel("grow_symmetric", STEPS)
    kernel_together = growth_kernel(
        "grow_symmetric_together", STEPS._replace(needs_sums=needs_sums_of_level)
    )
    ridge = RIDGE

    def limits(self, max_leaf_nodes: int, max_depth: int) -> tuple[int, int]:
        """Return a level more than a full tree of as many leaves has."""
        # since many leaves stay whole
        max_depth = min(max_depth, (max_leaf_nodes + 1).bit_length())
        return 2**max_depth, max_depth

    def most_steps(self, parameters: GrowthParameters) -> int:
        """Return the number of levels."""
        return parameters.max_depth

    def n_histograms(self, parameters: GrowthParameters, exchanges: bool) -> int:
        """Return the number of leaves above the last level, whose leaves need none."""
        return parameters.max_leaf_nodes // 2

    def most_exchanged(self, parameters: GrowthParameters) -> int:
        """Return the number of pairs that a level has."""
        return parameters.max_leaf_nodes // 2

    def new_levels(
        self, parameters: GrowthParameters, n_blocks: int, n_threads: int
    ) -> LevelWorkspace:
        """Return the memory for levels."""
        size, n_leaves = HISTOGRAM_BINS * FEATURE_BLOCK, parameters.max_leaf_nodes
        return LevelWorkspace(
            allocate_aligned((n_blocks, size), np.int64),
            own_records(n_threads, 1, LEAF),
            np.zeros((n_threads, n_leaves), dtype=np.int64),
            allocate_aligned((n_threads, 2, size), np.float64),
        )

    def growth_time(
        self, parameters: GrowthParameters, n_blocks: int, n_rows: float, n_threads: int
    ) -> float:
        """Return twice the nanoseconds that threads save, as `share` takes them."""
        # threads save the time of all blocks but those of the busiest one
        n_levels = parameters.max_depth
        n_saved = n_blocks - math.ceil(n_blocks / n_threads)
        saved = LEVEL_ROW_TIME * n_saved * n_levels * n_rows
        saved += BLOCK_TIME * n_saved * parameters.max_leaf_nodes
        return 2 * (saved - LOST_TIME * n_levels)


SYMMETRIC = Symmetric()
