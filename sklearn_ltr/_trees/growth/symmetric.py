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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import (
    ThreadTeam,
    allocate_aligned,
    int64,
    shared_kernel,
    subkernel,
    wait_at_barrier,
)
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.constraints import restrict_children
from sklearn_ltr._trees.growth.blocks import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    Blocks,
)
from sklearn_ltr._trees.growth.dividing import (
    MIN_ROWS_FOR_THREADS,
    SplitCondition,
    count_left_by_chunk,
    fill_root,
    is_left_smaller,
    partition,
    record_category_set,
    split_leaf,
)
from sklearn_ltr._trees.growth.exchange import HistogramExchange
from sklearn_ltr._trees.growth.quantization import Quantization
from sklearn_ltr._trees.growth.splitting import (
    MAX_SPLIT_CATEGORIES,
    SplitRule,
    add_histogram,
    best_candidate,
    child_score,
    child_value,
    clear_histogram,
    fill_histogram,
    keep_better,
    make_rule,
    mark_left_bins,
    next_task,
    rounding_gain,
    share_not_by_chance,
    sort_categories,
    split_score,
    subtract_histogram,
)
from sklearn_ltr._trees.growth.workspace import (
    LEAF,
    BlockSplits,
    GrowthWorkspace,
    Record,
    Records,
    SpecialFeatures,
    is_splittable,
    own_records,
    record_dtype,
    workspace_of_thread,
)
from sklearn_ltr._trees.parameters import GrowthParameters

RIDGE = 3.0  # rows of the mean hessian

# Nanoseconds that a tree takes, as measured for 10 to 136 features
LEVEL_ROW_TIME = 5.0  # for a row in a block of features, in a level
BLOCK_TIME = 6_000.0  # for the search of a block in a leaf
LOST_TIME = 10_000.0  # in a level, by two threads

PROGRESS = record_dtype(
    n_levels=np.int64,  # that are split
    n_leaves=np.int64,  # 0: the tree is not begun
    n_pairs=np.int64,  # of siblings that the last level made
    is_filled=np.bool_,  # whether the last histograms of this worker's rows are made
    is_grown=np.bool_,
)


class LevelWorkspace(NamedTuple):
    """Memory for the levels of a tree, as one thread sees it."""

    # In that of all threads, what is a thread's own has the thread as a first axis

    root: NDArray[np.int64]  # (n_blocks, 256 * 16): the root's histogram; shared
    # this thread's own, the same in all threads but for `gains`
    state: Records  # (1,) PROGRESS
    # (1,) LEAF: the condition of the level that is split, as of a leaf of all rows
    level: Records
    # (max_leaf_nodes,): the leaves; first the siblings that the last level made, the
    # smaller before the larger one
    order: NDArray[np.int64]
    # (2, 256 * 16), as histograms: gain of each threshold of a block, summed over the
    # leaves of the level; missing values go right in [0], left in [1]
    gains: NDArray[np.float64]


class SymmetricGrowth:
    """Splits one level of a tree after another, for one worker or several together.

    Parameters
    ----------
    blocks : Blocks
    parameters : GrowthParameters
    workspace : GrowthWorkspace
        Of all threads of this worker.
    team : ThreadTeam
    comm : Comm
    """

    def __init__(
        self,
        blocks: Blocks,
        parameters: GrowthParameters,
        workspace: GrowthWorkspace,
        team: ThreadTeam,
        comm: Comm,
    ) -> None:
        self._workspace, self._team, self._comm = workspace, team, comm
        most = parameters.max_leaf_nodes // 2 if comm.n_workers > 1 else 0
        self._exchange = HistogramExchange(blocks, most, comm)
        n_threads = team.n_threads
        self._levels = LevelWorkspace(
            allocate_aligned(workspace.histograms.shape[1:], np.int64),
            own_records(n_threads, 1, PROGRESS),
            own_records(n_threads, 1, LEAF),
            np.zeros((n_threads, parameters.max_leaf_nodes), dtype=np.int64),
            allocate_aligned(
                (n_threads, 2, HISTOGRAM_BINS * FEATURE_BLOCK), np.float64
            ),
        )

    def split_leaves(
        self,
        blocks: Blocks,
        n_rows: int,
        total: int,
        quantization: Quantization,
        allowed: NDArray[np.bool_],
        parameters: GrowthParameters,
        nodes: Records,
    ) -> None:
        """Write the splits of a tree into its nodes; all workers call this together."""
        exchanges = self._comm.n_workers > 1
        given = blocks, n_rows, total, quantization, allowed, parameters, exchanges
        own = self._workspace, self._levels, nodes
        self._levels.state[:] = np.zeros((), dtype=PROGRESS)
        if not exchanges:
            # threads save the time of all blocks but those of the busiest one
            n_blocks, n_levels = len(blocks.n_bins), parameters.max_depth
            n_saved = n_blocks - math.ceil(n_blocks / self._team.n_threads)
            saved = LEVEL_ROW_TIME * n_saved * n_levels * n_rows
            saved += BLOCK_TIME * n_saved * parameters.max_leaf_nodes
            time = 2 * (saved - LOST_TIME * n_levels)
            self._team.share(time, grow_levels, *given, *own)
            return
        state, n_summed = self._levels.state[0, 0], 0
        self._team.share(np.inf, grow_levels, *given, *own)
        while not state.is_grown:
            new = self._workspace.histograms[n_summed : state.n_leaves]
            self._exchange.add_up(new, blocks)
            n_summed = state.n_leaves
            self._team.share(np.inf, grow_levels, *given, *own)


# --- the loop ---------------------------------------------------------------------


@shared_kernel
def grow_levels(
    thread: int,
    n_threads: int,
    blocks: Blocks,
    n_rows: int,
    total: int,
    quantization: Quantization,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    exchanges: bool,
    workspace: GrowthWorkspace,
    levels: LevelWorkspace,
    nodes: Records,
) -> None:
    """Split level by level; if it `exchanges`, until sums of histograms are needed."""
    # `n_rows` is the number of this worker's rows; `total`, as all packed sums of
    # leaves, is over all workers.
    work = workspace_of_thread(thread, n_threads, workspace)
    levels = LevelWorkspace(
        levels.root,
        levels.state[thread],
        levels.level[thread],
        levels.order[thread],
        levels.gains[thread],
    )
    team, state, special = work.team, levels.state[0], work.special
    rule = make_rule(parameters, quantization)
    if state.n_leaves == 0:
        fill_root(n_rows, total, work.leaves[0], work.buffers, team)
        state.n_leaves, levels.order[0], levels.level[0].total = 1, 0, total
        wait_at_barrier(team.barrier, team.n_threads)
    while state.n_levels < parameters.max_depth:
        if exchanges and not state.is_filled:
            fill_level(blocks, work, levels)
            state.is_filled = True
            return
        find_level_splits(
            blocks,
            quantization,
            rule,
            allowed[state.n_levels],
            parameters,
            exchanges,
            special,
            work,
            levels,
        )
        wait_at_barrier(team.barrier, team.n_threads)
        level = levels.level[0]
        select_condition(level, work)
        if level.gain <= 0.0:
            break
        divide_leaves(
            blocks,
            quantization,
            rule,
            allowed,
            parameters,
            exchanges,
            special,
            work,
            levels,
            nodes,
        )
        state.n_levels += 1
        state.is_filled = False
        wait_at_barrier(team.barrier, team.n_threads)
    state.is_grown = True


@subkernel
def select_condition(level: Record, work: GrowthWorkspace) -> None:
    """Make the best of all threads' candidates the condition of the level."""
    work.next_task[work.team.thread, 0] = 0  # for the next search
    best = best_candidate(work.candidates, work.team.n_threads, int64(0))
    level.gain, level.feature = best.gain, best.feature
    level.threshold, level.missing_left = best.threshold, best.missing_left


# --- the condition of a level -----------------------------------------------------


@subkernel
def fill_level(blocks: Blocks, work: GrowthWorkspace, levels: LevelWorkspace) -> None:
    """Make the histograms that this worker's rows give; threads share the blocks."""
    state = levels.state[0]
    block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    while block < len(blocks.n_bins):
        for i in range(0, max(1, 2 * state.n_pairs), 2):
            fill_leaf(levels.order[i], block, blocks, work)
        block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    wait_at_barrier(work.team.barrier, work.team.n_threads)
    work.next_task[work.team.thread, 0] = 0


@subkernel
def fill_leaf(number: int, block: int, blocks: Blocks, work: GrowthWorkspace) -> None:
    """Make the histogram of a leaf from this worker's rows."""
    leaf, buffers = work.leaves[number], work.buffers
    fill_histogram(
        work.histograms[leaf.histogram_index, block],
        block,
        buffers.rows[leaf.buffer, leaf.start : leaf.stop],
        blocks,
        buffers.leaf_gradients[leaf.start : leaf.stop],
    )


@subkernel
def find_level_splits(
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    exchanges: bool,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
    levels: LevelWorkspace,
) -> None:
    """Find this thread's candidate for the condition; threads share the blocks."""
    candidate = work.candidates[work.team.thread, 0]
    candidate.gain = candidate.feature = 0
    # rounding errors alone may give a gain
    least = 0.0
    for number in range(levels.state[0].n_leaves):
        leaf = work.leaves[number]
        if is_splittable(work.leaves, number, quantization.count_mask, parameters):
            least += rounding_gain(leaf.total, quantization, rule)
    block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)
    while block < len(blocks.n_bins):
        add_level_gains(
            block,
            blocks,
            quantization,
            rule,
            parameters,
            exchanges,
            special,
            work,
            levels,
        )
        propose_conditions(
            work.splits, blocks.feature[block], allowed, least, candidate
        )
        block = next_task(int64(1), blocks.n_used_slots, work.team, work.next_task)


@subkernel
def add_level_gains(
    block: int,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    parameters: GrowthParameters,
    exchanges: bool,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
    levels: LevelWorkspace,
) -> None:
    """Find the best threshold of each feature of a block over all leaves."""
    splits, gains, n_bins = work.splits, levels.gains, blocks.n_bins[block]
    state, root = levels.state[0], levels.root[block]
    leaves, mask = work.leaves, quantization.count_mask
    if state.n_levels == 0:
        if not exchanges:
            fill_leaf(int64(0), block, blocks, work)
        clear_histogram(root, n_bins)
        add_histogram(root, work.histograms[0, block], n_bins)
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        any_missing |= root[MISSING_BIN * FEATURE_BLOCK + slot]
        if special is not None:  # rare categories go where missing values go
            any_missing |= special.n_categories[max(0, blocks.feature[block, slot])]
    n_sides, n_new = 2 if any_missing else 1, 2 * state.n_pairs
    gains[:n_sides, : n_bins * FEATURE_BLOCK] = 0.0
    for i in range(state.n_leaves):
        number = levels.order[i]
        has_larger = i < n_new and i % 2 == 0
        larger = levels.order[i + 1] if has_larger else number
        if not is_splittable(leaves, larger, mask, parameters):
            continue  # nor is the smaller one
        leaf = leaves[number]
        histogram = work.histograms[leaf.histogram_index, block]
        if has_larger and not exchanges:
            fill_leaf(number, block, blocks, work)
        if i < n_new and not has_larger:
            of_smaller = leaves[levels.order[i - 1]].histogram_index
            subtract_histogram(histogram, work.histograms[of_smaller, block], n_bins)
        if is_splittable(leaves, number, mask, parameters):
            for side in range(n_sides):
                add_leaf_gains(
                    histogram,
                    side,
                    n_bins,
                    leaf.total,
                    quantization,
                    rule,
                    splits.left_sum,
                    gains[side],
                )
    if special is not None:
        replace_special_gains(
            block, blocks, quantization, rule, parameters, special, work, levels
        )
    for side in range(n_sides):
        for b in range(n_bins):
            for slot in range(FEATURE_BLOCK):  # vectorises
                gain = gains[side, b * FEATURE_BLOCK + slot]
                better = gain > splits.score[slot]
                splits.score[slot] = gain if better else splits.score[slot]
                threshold = b + side * HISTOGRAM_BINS
                splits.threshold[slot] = threshold if better else splits.threshold[slot]


@subkernel
def add_leaf_gains(
    histogram: NDArray[np.int64],
    side: int,
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    left_sum: NDArray[np.int64],
    gains: NDArray[np.float64],
) -> None:
    """Add the gain that each threshold of a block gives in one leaf."""
    mask, parent_score = quantization.count_mask, child_score(total, quantization, rule)
    for slot in range(FEATURE_BLOCK):
        missing = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
        left_sum[slot] = missing if side > 0 else 0
    for b in range(n_bins):
        for slot in range(FEATURE_BLOCK):  # vectorises
            left_sum[slot] += histogram[b * FEATURE_BLOCK + slot]
            left = left_sum[slot]
            right = total - left
            both = split_score(left, right, quantization, rule)
            gain = both - parent_score
            divides = gain > 0.0
            divides &= min(left & mask, right & mask) >= rule.min_samples_leaf
            gains[b * FEATURE_BLOCK + slot] += gain if divides else 0.0


@subkernel
def propose_conditions(
    splits: BlockSplits,
    features: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    least: float,
    best: Record,
) -> None:
    """Keep the best of the conditions of a block and of the candidate so far."""
    # of features with equal gains the first is best, as in `propose_splits`
    for slot in range(FEATURE_BLOCK):
        feature = features[slot]
        if feature < 0 or not allowed[feature]:
            continue
        if splits.score[slot] > least:
            keep_better(splits.score[slot], feature, splits.threshold[slot], best)


# --- categorical and constrained features -----------------------------------------


@subkernel
def replace_special_gains(
    block: int,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    parameters: GrowthParameters,
    special: SpecialFeatures,
    work: GrowthWorkspace,
    levels: LevelWorkspace,
) -> None:
    """Replace the gains of a block's features that are categorical or constrained."""
    # Of a categorical feature, thresholds are places in the order of its categories
    order, gains = special.category_order.category, levels.gains
    monotonic, mask = special.constraints.monotonic, quantization.count_mask
    for slot in range(FEATURE_BLOCK):
        feature, direction = blocks.feature[block, slot], int64(0)
        if feature < 0:
            continue
        if len(monotonic) > 0:
            direction = int64(monotonic[feature])
        n_categories, n_ordered = special.n_categories[feature], blocks.n_bins[block]
        if n_categories == 0 and direction == 0:
            continue
        for b in range(n_ordered):
            gains[0, b * FEATURE_BLOCK + slot] = 0.0
            gains[1, b * FEATURE_BLOCK + slot] = 0.0
            order[b] = b
        most, factor = n_ordered, 1.0
        if n_categories > 0:
            n_ordered = sort_categories(
                levels.root[block],
                slot,
                n_categories,
                levels.level[0].total,
                quantization,
                rule,
                special.category_order,
            )
            most = MAX_SPLIT_CATEGORIES
            factor = share_not_by_chance(
                levels.root[block],
                slot,
                order[:n_ordered],
                levels.level[0].total,
                quantization,
                rule,
            )
        for number in range(levels.state[0].n_leaves):
            leaf = work.leaves[number]
            if is_splittable(work.leaves, number, mask, parameters):
                add_ordered_gains(
                    work.histograms[leaf.histogram_index, block],
                    slot,
                    order[:n_ordered],
                    most,
                    direction,
                    leaf.total,
                    quantization,
                    rule,
                    gains,
                )
        for b in range(n_ordered):
            gains[0, b * FEATURE_BLOCK + slot] *= factor
            gains[1, b * FEATURE_BLOCK + slot] *= factor


@subkernel
def add_ordered_gains(
    histogram: NDArray[np.int64],
    slot: int,
    order: NDArray[np.int64],
    most: int,
    direction: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    gains: NDArray[np.float64],
) -> None:
    """Add the gain of each threshold among ordered bins that one leaf allows."""
    # bins that are not in the order go right together, or left
    rest = total
    for b in order:
        rest -= histogram[b * FEATURE_BLOCK + slot]
    for side in range(2):
        left = rest if side > 0 else int64(0)
        for i in range(len(order)):
            left += histogram[order[i] * FEATURE_BLOCK + slot]
            is_small_set = min(i + 1, len(order) - i - 1) <= most
            if is_small_set:
                gains[side, i * FEATURE_BLOCK + slot] += gain_in_leaf(
                    left, total, direction, quantization, rule
                )


@subkernel
def gain_in_leaf(
    left: int, total: int, direction: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return the gain in a leaf, given the sum on the left; 0 if it stays whole."""
    right, mask = total - left, quantization.count_mask
    if min(left & mask, right & mask) < rule.min_samples_leaf:
        return 0.0
    rise = child_value(right, quantization, rule)
    rise -= child_value(left, quantization, rule)
    if direction * rise < 0.0:
        return 0.0
    # in the order of `add_leaf_gains`, whose gains are the same
    both = split_score(left, right, quantization, rule)
    return max(both - child_score(total, quantization, rule), 0.0)


# --- the leaves of the next level -------------------------------------------------


@subkernel
def divide_leaves(
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    parameters: GrowthParameters,
    exchanges: bool,
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
    levels: LevelWorkspace,
    nodes: Records,
) -> None:
    """Divide the leaves in which the condition of their level has a gain."""
    # each thread marks the bins for itself, and none has to wait for another
    state, level, team = levels.state[0], levels.level[0], work.team
    feature, direction, is_set = level.feature, int64(0), False
    block, slot = blocks.block[feature], blocks.slot[feature]
    mark_left_bins(
        level,
        levels.root[block],
        slot,
        quantization,
        rule,
        special,
        work.goes_left,
    )
    condition = SplitCondition(blocks.values[block], slot, work.goes_left)
    if special is not None:
        is_set = special.n_categories[feature] > 0
        if len(special.constraints.monotonic) > 0:
            direction = int64(special.constraints.monotonic[feature])
        if team.thread == 0 and len(special.constraints.interaction_sets) > 0:
            # here by level, where a best-first tree has them by node
            restrict_children(
                state.n_levels,
                state.n_levels + 1,
                feature,
                special.constraints.interaction_sets,
                special.open_sets,
                allowed,
            )
    n_leaves, mask = state.n_leaves, quantization.count_mask
    state.n_pairs = 0
    for number in range(n_leaves):
        leaf = work.leaves[number]
        histogram = work.histograms[leaf.histogram_index, block]
        if not is_splittable(work.leaves, number, mask, parameters):
            continue
        left_total = sum_on_left(histogram, slot, blocks.n_bins[block], work.goes_left)
        leaf.gain = gain_in_leaf(left_total, leaf.total, direction, quantization, rule)
        if leaf.gain <= 0.0:
            continue
        leaf.feature, leaf.threshold = feature, level.threshold
        leaf.missing_left = level.missing_left
        if is_set and team.thread == 0:
            record_category_set(work.goes_left, work.category_set[leaf.node])
        n_before, n_left = int64(0), left_total & mask
        size = leaf.stop - leaf.start
        counts = exchanges or (team.n_threads > 2 and size > MIN_ROWS_FOR_THREADS)
        if counts:
            n_before, n_left = count_left_by_chunk(condition, leaf, team, work.buffers)
        is_left = is_left_smaller(leaf.total, left_total, quantization)
        partition(condition, leaf, n_before, n_left, is_left, team, work.buffers)
        smaller, larger = split_leaf(
            number,
            state.n_leaves,
            left_total,
            n_left,
            state.n_leaves,  # the histograms of new leaves are in their order
            quantization,
            rule,
            allowed,
            None,
            work,
            nodes,
        )
        levels.order[2 * state.n_pairs] = smaller
        levels.order[2 * state.n_pairs + 1] = larger
        state.n_pairs += 1
        state.n_leaves += 1
        if counts:  # before the counts of the next leaf
            wait_at_barrier(team.barrier, team.n_threads)
    position, first_new_node = 2 * state.n_pairs, 2 * n_leaves - 1
    for number in range(n_leaves):
        if work.leaves[number].node < first_new_node:  # it has stayed whole
            levels.order[position] = number
            position += 1


@subkernel
def sum_on_left(
    histogram: NDArray[np.int64],
    slot: int,
    n_bins: int,
    goes_left: NDArray[np.uint8],
) -> int:
    """Return the packed sum of the bins that go left."""
    missing = int64(goes_left[MISSING_BIN])
    total: int = histogram[MISSING_BIN * FEATURE_BLOCK + slot] * missing
    for b in range(n_bins):
        total += histogram[b * FEATURE_BLOCK + slot] * int64(goes_left[b])
    return total
