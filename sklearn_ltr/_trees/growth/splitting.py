r"""Histograms of a leaf, and the best split that they show.

With G the sum of gradients of a node's rows, and W the sum of hessians, or the number
of rows,

    gain = G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2).

With ``split_gain="second_order"`` (`SplitRule.second_order`), W is the sum of hessians:
the gain is twice the decrease of the cost's second-order expansion when both children
make a Newton step.  With ``split_gain="least_squares"``, W is the number of rows, and
l2 is 0: the gain is the decrease of the squared error of equation (11) of Burges
("From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010), where
the tree is fitted to the gradients.

G and W are sums of quantized numbers.  A gain must be multiplied by
``hessian_scale / gradient_scale**2``, or by ``1 / gradient_scale**2`` where W is the
number of rows, to be in units of the objective (`SplitRule.gain_unit`).

**Histograms.**  The histogram of a block of 16 features has shape (256 * 16,);
``histogram[16 * b + s]`` is the sum of the packed gradients of the rows in bin b of the
feature in slot s.  All thresholds of its 16 features are tried together.

**Monotonic constraints.**  The value of a child is -G / (W + l2) (`newton_step`).  A
threshold is allowed if the values of the two children are in the order that the
constraint asks for.  Splits of other nodes may still bring leaves out of order; see
``leaf_values.py``.

**Categories.**  A set of categories goes left, all others right.  Of the 2^(K-1) - 1
ways to divide K categories in two, the one with the highest gain is among K - 1: sort
the categories by their sums of gradients over their sums of weights, g_c / w_c, and one
of the thresholds in this order gives it (W. Fisher, "On grouping for maximum
homogeneity", JASA 53, 1958; Breiman et al., "Classification and Regression Trees",
1984, theorem 4.5).  This holds for both gains and any l2: a gain is a convex function
of the sums on the left, so its maximum is at an extreme point of all such sums, where a
line through the plane of (g_c, w_c) divides the categories; and with v = G / (W + l2),
one more category on the left changes the gain by 2 (v_L - v_R) (g_c - w_c (v_L + v_R) /
2), whose sign depends on g_c / w_c alone.  (Where a child would have fewer than
`min_samples_leaf` rows, another set may be better.)

The best of many sets fits chance.  Let v be the variance of a gradient per unit of
weight.  Where gradients have nothing to do with K categories, the best set has a gain
of about 0.64 K v, the best threshold of numbers one of a few v.  Four rules counter
this:

- The gain of a set is multiplied by 1 - 1 / F, or by 0 if F < 1, where F is the
  statistic of an analysis of variance (R. A. Fisher, "Statistical Methods for Research
  Workers", 1925):

      F = S / ((K - 1) v),    S = sum over c of g_c^2 / (w_c + l2) - G^2 / (W + l2).

  By chance alone, S is (K - 1) v on average, so this is the share of S that is not
  expected by chance.  K counts the categories with rows in the leaf, those below as
  one.  v is the sum of squared gradients of the rows that the tree is grown on, over
  their sum of weights.
- `category_smoothing` s: to each category, s rows of the leaf's mean gradient and mean
  weight are added before its ratio is taken, so that small categories are in the middle
  of the order.
- A category with fewer than `min_samples_leaf` rows in the leaf is not sorted.  All of
  these go where missing values and categories unseen in training go, together: to the
  side that gives the higher gain; or, if there are none in the leaf, to the child with
  more rows.
- At most MAX_SPLIT_CATEGORIES of the sorted categories are on the left, or at most so
  many on the right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import fetch_add, int64, prefetch_row, subkernel, uint64
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS, Blocks
from sklearn_ltr._trees.growth.leaf_values import newton_step
from sklearn_ltr._trees.growth.quantization import Quantization, chunk_bounds
from sklearn_ltr._trees.growth.workspace import (
    BlockSplits,
    CategoryOrder,
    GrowthWorkspace,
    Record,
    Records,
    SpecialFeatures,
    Team,
    is_splittable,
)
from sklearn_ltr._trees.parameters import GrowthParameters

MIN_ROWS_PER_CHUNK = 2048  # fewer take less time than one more histogram
HISTOGRAM_PREFETCH_DISTANCE = 64  # rows between the prefetch of a row and its use
MAX_SPLIT_CATEGORIES = 32  # on one side of a split
ROUNDING_FACTOR = 8.0  # a gain must be larger, see `rounding_gain`


class SplitRule(NamedTuple):
    """How splits are compared, and which are allowed."""

    # W is the sum of the numbers packed as hessians (with a sample, also for least
    # squares, see `make_rule`); if False, the number of rows
    second_order: bool
    # second order: l2_regularization * hessian_scale; least squares: 0, since there
    # only leaf values are regularised
    l2: float
    min_samples_leaf: int
    category_smoothing: float = 0.0
    gain_unit: float = 1.0  # of quantized gradients, in units of the objective


@subkernel
def make_rule(parameters: GrowthParameters, quantization: Quantization) -> SplitRule:
    """Return the rule for the splits of one tree."""
    # for least squares on a sample, a row kept with probability p counts as 1 / p rows,
    # and this number is packed in place of its hessian
    has_hessians = quantization.hessian_bits > 0
    gain_unit = quantization.hessian_scale if has_hessians else 1.0
    l2 = 0.0
    if parameters.second_order:
        l2 = parameters.l2_regularization * quantization.hessian_scale
    gradient_scale = quantization.gradient_scale
    if gradient_scale > 0:
        gain_unit = gain_unit / gradient_scale / gradient_scale
    return SplitRule(
        has_hessians,
        l2,
        parameters.min_samples_leaf,
        parameters.category_smoothing,
        gain_unit,
    )


# --- the search of two siblings ---------------------------------------------------


@subkernel
def find_best_splits(
    smaller: int,
    larger: int,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> None:
    """Find this thread's candidate splits of two siblings; threads share the work."""
    # `smaller` is the sibling with fewer rows, or the root if `larger` is -1.  Its
    # histogram is made here, block by block, and searched while it is in the cache.
    # Where there are more threads than blocks, or few blocks, the rows of a block are
    # divided into chunks with a histogram each; the thread that fills the last of them
    # adds them up, and searches the block.
    candidates = work.candidates[work.team.thread]
    candidates[0].gain = candidates[1].gain = 0.0
    leaf = work.leaves[smaller]
    rows = work.buffers.rows[leaf.buffer, leaf.start : leaf.stop]
    gradients = work.buffers.leaf_gradients[leaf.start : leaf.stop]
    histograms = work.histograms[leaf.histogram_index]
    n_chunks = min(work.chunk_histograms.shape[1], len(rows) // MIN_ROWS_PER_CHUNK) + 1
    n_blocks = len(blocks.n_bins)
    task = next_task(n_chunks, blocks.n_used_slots, work.team, work.next_task)
    block, chunk, first, last = part_of_task(task, n_blocks, n_chunks, len(rows))
    prefetch_first_rows(blocks.values, block, rows[first:last])
    while chunk < n_chunks:
        histogram = histograms[block]
        if chunk > 0:  # the first one's is the block's own
            histogram = work.chunk_histograms[block, chunk - 1]
        fill_histogram(
            histogram, block, rows[first:last], blocks, gradients[first:last]
        )
        # these rows arrive in the cache while splits are searched
        task = next_task(n_chunks, blocks.n_used_slots, work.team, work.next_task)
        next_part = part_of_task(task, n_blocks, n_chunks, len(rows))
        next_block, next_chunk, first, last = next_part
        prefetch_first_rows(blocks.values, next_block, rows[first:last])
        if is_last_chunk(n_chunks, work.n_filled[block : block + 1]):
            for other in range(n_chunks - 1):
                partial = work.chunk_histograms[block, other]
                add_histogram(histograms[block], partial, blocks.n_bins[block])
            search_block(
                block,
                smaller,
                larger,
                blocks,
                quantization,
                rule,
                allowed,
                special,
                work,
            )
        block, chunk = next_block, next_chunk


@subkernel
def next_task(
    n_chunks: int,
    n_used_slots: NDArray[np.int64],
    team: Team,
    counters: NDArray[np.int64],
) -> int:
    """Return the next task of a block in use, or a number past the last task."""
    # Task number ``c * n_blocks + b`` is chunk c of the rows in block b.  Thread t has
    # every n-th task from t on, so that mostly the same thread comes to a block, with
    # the parent's histogram in its cache; when these are done, it helps the others.
    n_blocks, n_threads = len(n_used_slots), team.n_threads
    n_tasks = n_blocks * n_chunks
    for turn in range(n_threads):
        owner = (team.thread + turn) % n_threads
        counter = counters[owner]
        task = owner + n_threads * fetch_add(counter)
        while task < n_tasks and n_used_slots[task % n_blocks] == 0:
            task = owner + n_threads * fetch_add(counter)
        if task < n_tasks:
            return task
    return n_tasks


@subkernel
def part_of_task(
    task: int, n_blocks: int, n_chunks: int, n_rows: int
) -> tuple[int, int, int, int]:
    """Return block and chunk of a task, and where its rows begin and end."""
    chunk = task // n_blocks
    first, last = chunk_bounds(chunk, n_chunks, int64(0), int64(n_rows))
    return task % n_blocks, chunk, first, last


@subkernel
def is_last_chunk(n_chunks: int, n_filled: NDArray[np.int64]) -> bool:
    """Count a filled histogram of a block; return whether all of its chunks are."""
    if n_chunks == 1:
        return True
    if fetch_add(n_filled) < n_chunks - 1:
        return False
    n_filled[0] = 0  # for the next leaf
    return True


@subkernel
def search_block(
    block: int,
    smaller: int,
    larger: int,
    blocks: Blocks,
    quantization: Quantization,
    rule: SplitRule,
    allowed: NDArray[np.bool_],
    special: SpecialFeatures | None,
    work: GrowthWorkspace,
) -> None:
    """Search a block, given its histogram of `smaller`, for splits of two siblings."""
    # a sibling that cannot be split is searched, too; its candidate is ignored
    n_bins = blocks.n_bins[block]
    histogram = work.histograms[work.leaves[smaller].histogram_index, block]
    for k in range(1 if larger < 0 else 2):
        leaf = work.leaves[smaller]
        if k == 1:
            # the larger one's histogram replaces their parent's
            leaf = work.leaves[larger]
            parent = work.histograms[leaf.histogram_index, block]
            subtract_histogram(parent, histogram, n_bins)
            histogram = parent
        find_block_splits(
            histogram, n_bins, leaf.total, quantization, rule, work.splits
        )
        if special is not None:
            find_special_splits(
                special,
                blocks.feature[block],
                n_bins,
                histogram,
                leaf.total,
                quantization,
                rule,
                work.splits,
            )
        propose_splits(
            work.splits,
            child_score(leaf.total, quantization, rule),
            blocks.feature[block],
            allowed[leaf.node],
            work.candidates[work.team.thread, k],
        )


@subkernel
def propose_splits(
    splits: BlockSplits,
    parent_score: float,
    features: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    best: Record,
) -> None:
    """Keep the best of the splits of a block and of the candidate so far."""
    # Of features with equal gains the first is best, so that the result does not depend
    # on which thread searched which block.
    for slot in range(FEATURE_BLOCK):
        feature = features[slot]
        if feature < 0 or not allowed[feature]:
            continue
        gain = splits.score[slot] - parent_score
        keep_better(gain, feature, splits.threshold[slot], best)


@subkernel
def keep_better(gain: float, feature: int, threshold: int, best: Record) -> None:
    """Keep a split, its threshold as in `BlockSplits`, if it is the better one."""
    is_first = feature < best.feature
    if gain > best.gain or (gain == best.gain and gain > 0 and is_first):
        best.gain = gain
        best.feature = feature
        best.threshold = threshold % HISTOGRAM_BINS
        best.missing_left = threshold >= HISTOGRAM_BINS


@subkernel
def best_candidate(candidates: Records, n_threads: int, k: int) -> Record:
    """Return the best of all threads' candidates number k."""
    best = candidates[0, k]
    for thread in range(1, n_threads):
        other = candidates[thread, k]
        is_first = other.feature < best.feature
        if other.gain > best.gain or (other.gain == best.gain and is_first):
            best = other
    return best


@subkernel
def select_best_splits(
    smaller: int,
    larger: int,
    parameters: GrowthParameters,
    quantization: Quantization,
    rule: SplitRule,
    work: GrowthWorkspace,
) -> None:
    """Select the best of all threads' candidates, and prepare for the next search."""
    work.next_task[work.team.thread, 0] = 0
    for k in range(2):
        number = smaller if k == 0 else larger
        if not is_splittable(work.leaves, number, quantization.count_mask, parameters):
            continue
        leaf = work.leaves[number]
        best = best_candidate(work.candidates, work.team.n_threads, k)
        # rounding errors alone may give a gain
        min_gain = rounding_gain(leaf.total, quantization, rule)
        leaf.gain = best.gain if best.gain > min_gain else 0.0
        leaf.feature = best.feature
        leaf.threshold = best.threshold
        leaf.missing_left = best.missing_left


# --- histograms -------------------------------------------------------------------


@subkernel
def fill_histogram(
    histogram: NDArray[np.int64],
    block: int,
    rows: NDArray[np.int32],
    blocks: Blocks,
    gradients: NDArray[np.int64],
) -> None:
    """Make the histogram of a block; ``gradients[i]`` belongs to row ``rows[i]``."""
    clear_histogram(histogram, blocks.n_bins[block])
    add_rows_to_histogram(
        blocks.values[block], rows, gradients, histogram, blocks.n_used_slots[block]
    )


@subkernel
def add_rows_to_histogram(
    values: NDArray[np.uint8],  # (n_rows, 16): binned values of the block
    rows: NDArray[np.int32],
    gradients: NDArray[np.int64],
    histogram: NDArray[np.int64],
    n_used_slots: int,
) -> None:
    """Add ``gradients[i]`` to the bin of row ``rows[i]`` in each used slot."""
    # Loops of constant length are unrolled, and unsigned row numbers are not checked
    # for negative values.  So nearly all the time goes to one store per slot, which
    # takes a cycle, or less where consecutive stores are to the same cache line, as for
    # sparse features.
    n_rows = len(rows)
    for i in range(n_rows):
        prefetch_row(
            values, int64(rows[min(i + HISTOGRAM_PREFETCH_DISTANCE, n_rows - 1)])
        )
        row, gradient = uint64(rows[i]), gradients[i]
        for slot in range(4):
            histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient
        if n_used_slots > 4:
            for slot in range(4, 8):
                histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient
        if n_used_slots > 8:
            for slot in range(8, FEATURE_BLOCK):
                histogram[int64(values[row, slot]) * FEATURE_BLOCK + slot] += gradient


@subkernel
def prefetch_first_rows(
    values: NDArray[np.uint8], block: int, rows: NDArray[np.int32]
) -> None:
    """Prefetch the first rows of a block's next histogram, if there is such a block."""
    if block < len(values):
        for i in range(min(HISTOGRAM_PREFETCH_DISTANCE, len(rows))):
            prefetch_row(values[block], int64(rows[i]))


@subkernel
def clear_histogram(histogram: NDArray[np.int64], n_bins: int) -> None:
    """Set the first bins of a block, and the missing bin, to zero."""
    for i in range(n_bins * FEATURE_BLOCK):
        histogram[i] = 0
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] = 0


@subkernel
def add_histogram(
    histogram: NDArray[np.int64], other: NDArray[np.int64], n_bins: int
) -> None:
    """Add the histogram of a chunk of the rows to another one."""
    for i in range(n_bins * FEATURE_BLOCK):  # vectorises
        histogram[i] += other[i]
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] += other[i]


@subkernel
def subtract_histogram(
    histogram: NDArray[np.int64], other: NDArray[np.int64], n_bins: int
) -> None:
    """Turn a parent's histogram into one child's by subtracting the other child's."""
    for i in range(n_bins * FEATURE_BLOCK):  # vectorises
        histogram[i] -= other[i]
    for i in range(MISSING_BIN * FEATURE_BLOCK, HISTOGRAM_BINS * FEATURE_BLOCK):
        histogram[i] -= other[i]


# --- sums, scores and gains -------------------------------------------------------


@subkernel
def gradient_and_weight(
    packed_sum: int, quantization: Quantization, rule: SplitRule
) -> tuple[float, float]:
    """Return G and W of a packed sum."""
    pair = packed_sum >> quantization.count_bits
    w = packed_sum & quantization.count_mask
    if rule.second_order:
        w = pair & quantization.hessian_mask
    # at least 1 unit, since a sum of small hessians may be rounded to 0
    return float(pair >> quantization.hessian_bits), max(float(w), 1.0)


@subkernel
def child_score(packed_sum: int, quantization: Quantization, rule: SplitRule) -> float:
    """Return ``G^2 / (W + l2)`` of a packed sum."""
    g, w = gradient_and_weight(packed_sum, quantization, rule)
    return g * g / (w + rule.l2)


@subkernel
def split_score(
    left: int, right: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return the sum of the scores of two children, from their packed sums."""
    # one fraction instead of two: a division takes as long as all the rest
    g_left, w_left = gradient_and_weight(left, quantization, rule)
    g_right, w_right = gradient_and_weight(right, quantization, rule)
    w_left += rule.l2
    w_right += rule.l2
    crossed = g_left * g_left * w_right + g_right * g_right * w_left
    return crossed / (w_left * w_right)


compiled_newton_step = subkernel(newton_step)


@subkernel
def child_value(packed_sum: int, quantization: Quantization, rule: SplitRule) -> float:
    """Return ``-G / (W + l2)`` of a packed sum, in units of quantized gradients."""
    g, w = gradient_and_weight(packed_sum, quantization, rule)
    value: float = compiled_newton_step(g, w, rule.l2)
    return value


@subkernel
def rounding_gain(
    packed_sum: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return the gain that rounding alone may give in a leaf of equal gradients."""
    # ``floor(x + u)`` has a variance of f (1 - f), where f is the fraction of x: 1/6 on
    # average, at most 1/4.  So a sum of n rounded numbers has an error of about
    # sqrt(n / 6), which gives a split a gain of about ``(n / W) (1 + (G / W)^2) / 6``.
    # With least squares W = n, which has no error: the gain is about 1/6.  The best of
    # many splits has a larger gain by rounding: so 48 times the mean is required, which
    # is ROUNDING_FACTOR times this product without its factor 1/6.
    product = 1.0
    if rule.second_order:
        count = packed_sum & quantization.count_mask
        g, h = gradient_and_weight(packed_sum, quantization, rule)
        step = g / h
        product = float(count) / h * (1.0 + step * step)
    # the float64 error of a gain, a small difference of large scores
    score = child_score(packed_sum, quantization, rule)
    return ROUNDING_FACTOR * product + 2.0**-44 * score


# --- thresholds -------------------------------------------------------------------


@subkernel
def find_block_splits(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    splits: BlockSplits,
) -> None:
    """Find the best threshold of each feature of a block, in a leaf of sum `total`."""
    # `n_bins` is the largest number of bins of these features, missing not counted
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        splits.left_sum[slot] = 0
        any_missing |= histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    # Missing values go right, unless a split that sends them left has a higher gain: if
    # any feature of the block has some in the leaf, all are scanned again.
    end = 2 * HISTOGRAM_BINS if any_missing else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        if offset > 0:
            for slot in range(FEATURE_BLOCK):
                splits.left_sum[slot] = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
        scan_thresholds(histogram, n_bins, total, quantization, rule, offset, splits)


@subkernel
def scan_thresholds(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    offset: int,
    splits: BlockSplits,
) -> None:
    """Store the thresholds, plus `offset`, whose score exceeds that in `splits`."""
    # the sums in ``splits.left_sum`` at the start go left whatever the threshold
    score, threshold, left_sum = splits.score, splits.threshold, splits.left_sum
    mask, min_samples_leaf = quantization.count_mask, rule.min_samples_leaf
    for b in range(n_bins):
        for slot in range(FEATURE_BLOCK):  # vectorises
            left_sum[slot] += histogram[b * FEATURE_BLOCK + slot]
            left = left_sum[slot]
            right = total - left
            both = split_score(left, right, quantization, rule)
            better = both > score[slot]
            better &= min(left & mask, right & mask) >= min_samples_leaf
            score[slot] = both if better else score[slot]
            threshold[slot] = b + offset if better else threshold[slot]


# --- categorical and constrained features -----------------------------------------


@subkernel
def find_special_splits(
    special: SpecialFeatures,
    features: NDArray[np.int64],
    n_bins: int,
    histogram: NDArray[np.int64],
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    splits: BlockSplits,
) -> None:
    """Replace the splits of a block's features that are categorical or constrained."""
    # of a categorical feature, the first ``threshold % 256 + 1`` sorted categories go
    # left
    monotonic = special.constraints.monotonic
    for slot in range(FEATURE_BLOCK):
        feature = features[slot]
        if feature < 0:
            continue
        if special.n_categories[feature] > 0:
            order = special.category_order
            n_sorted = sort_categories(
                histogram,
                slot,
                special.n_categories[feature],
                total,
                quantization,
                rule,
                order,
            )
            scan_categories(
                histogram,
                slot,
                n_sorted,
                total,
                quantization,
                rule,
                order.category,
                splits,
            )
        elif len(monotonic) > 0 and monotonic[feature] != 0:
            score, threshold = scan_in_order(
                histogram[slot::FEATURE_BLOCK],
                n_bins,
                total,
                quantization,
                rule,
                monotonic[feature],
            )
            splits.score[slot], splits.threshold[slot] = score, threshold


@subkernel
def scan_in_order(
    bins: NDArray[np.int64],
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    direction: int,
) -> tuple[float, int]:
    """Return the highest score of an allowed threshold, and the first with it."""
    mask, missing = quantization.count_mask, bins[MISSING_BIN]
    best_score, best_threshold = 0.0, int64(0)
    end = 2 * HISTOGRAM_BINS if missing & mask > 0 else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):  # missing values right, then left
        left = missing if offset > 0 else int64(0)
        for b in range(n_bins):
            left += bins[b]
            right = total - left
            if min(left & mask, right & mask) < rule.min_samples_leaf:
                continue
            both = split_score(left, right, quantization, rule)
            rise = child_value(right, quantization, rule)
            rise -= child_value(left, quantization, rule)
            if both > best_score and direction * rise >= 0.0:
                best_score, best_threshold = both, b + offset
    return best_score, best_threshold


@subkernel
def sort_categories(
    histogram: NDArray[np.int64],
    slot: int,
    n_categories: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    order: CategoryOrder,
) -> int:
    """Sort the categories of a leaf by gradient over weight; return their number."""
    # categories of too few rows are left out; of equal ratios, the lower category is
    # first
    category, ratio = order.category, order.ratio
    count_bits, mask = quantization.count_bits, quantization.count_mask
    share = rule.category_smoothing / float(total & mask)
    added_g = share * float(total >> count_bits >> quantization.hessian_bits)
    added_w = rule.category_smoothing
    if rule.second_order:
        added_w = share * float(total >> count_bits & quantization.hessian_mask)
    n_sorted = int64(0)
    for b in range(n_categories):
        packed = histogram[b * FEATURE_BLOCK + slot]
        if packed & mask >= rule.min_samples_leaf:
            g, w = gradient_and_weight(packed, quantization, rule)
            ratio[n_sorted] = (g + added_g) / (w + added_w)
            category[n_sorted] = b
            n_sorted += 1
    gap = int64(1)
    while 3 * gap < n_sorted:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort
        for i in range(gap, n_sorted):
            b, r, j = category[i], ratio[i], int64(i)
            while j >= gap and (
                ratio[j - gap] > r or (ratio[j - gap] == r and category[j - gap] > b)
            ):
                category[j], ratio[j] = category[j - gap], ratio[j - gap]
                j -= gap
            category[j], ratio[j] = b, r
        gap //= 3
    return n_sorted


@subkernel
def scan_categories(
    histogram: NDArray[np.int64],
    slot: int,
    n_sorted: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    category: NDArray[np.int64],
    splits: BlockSplits,
) -> None:
    """Find the first threshold of highest score in the order of the categories."""
    mask = quantization.count_mask
    rest, best_score, best_threshold = total, 0.0, int64(0)
    for i in range(n_sorted):
        rest -= histogram[category[i] * FEATURE_BLOCK + slot]
    # the rows that are not in a sorted category go right, or left if that is better
    end = 2 * HISTOGRAM_BINS if rest & mask > 0 else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        left = rest if offset > 0 else int64(0)
        for i in range(n_sorted):
            left += histogram[category[i] * FEATURE_BLOCK + slot]
            right = total - left
            both = split_score(left, right, quantization, rule)
            if (
                both > best_score
                and min(i + 1, n_sorted - i - 1) <= MAX_SPLIT_CATEGORIES
                and min(left & mask, right & mask) >= rule.min_samples_leaf
            ):
                best_score, best_threshold = both, i + offset
    parent_score = child_score(total, quantization, rule)
    factor = share_not_by_chance(
        histogram, slot, category[:n_sorted], total, quantization, rule
    )
    splits.score[slot] = parent_score + factor * (best_score - parent_score)
    splits.threshold[slot] = best_threshold


@subkernel
def share_not_by_chance(
    histogram: NDArray[np.int64],
    slot: int,
    categories: NDArray[np.int64],
    total: int,
    quantization: Quantization,
    rule: SplitRule,
) -> float:
    """Return the share of the differences of categories that is not by chance."""
    # 1 - 1 / F, or 0: see the docstring of this module
    spread, rest = -child_score(total, quantization, rule), total
    for category in categories:
        packed = histogram[category * FEATURE_BLOCK + slot]
        spread += child_score(packed, quantization, rule)
        rest -= packed
    n_other = len(categories) - 1
    if rest & quantization.count_mask > 0:
        spread += child_score(rest, quantization, rule)
        n_other += 1
    by_chance = quantization.variance * float(n_other)
    return 1.0 - by_chance / spread if spread > by_chance else 0.0


# --- the bins that a split sends left ---------------------------------------------


@subkernel
def mark_left_bins(
    leaf: Record,
    histogram: NDArray[np.int64],
    slot: int,
    quantization: Quantization,
    rule: SplitRule,
    special: SpecialFeatures | None,
    goes_left: NDArray[np.uint8],
) -> int:
    """Mark the bins that the split of a leaf sends left; return their packed sum."""
    n_categories = int64(0)
    if special is not None:
        n_categories = special.n_categories[leaf.feature]
    n_sorted, rest = int64(0), histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    total = int64(0)
    if special is not None and n_categories > 0:
        order = special.category_order
        n_sorted = sort_categories(
            histogram, slot, n_categories, leaf.total, quantization, rule, order
        )
        rest = leaf.total
        for i in range(n_sorted):
            packed = histogram[order.category[i] * FEATURE_BLOCK + slot]
            rest -= packed
            if i <= leaf.threshold:
                total += packed
    else:
        for b in range(leaf.threshold + 1):
            total += histogram[b * FEATURE_BLOCK + slot]
    if rest == 0:
        # No row of the leaf decides where missing values go in prediction: to the side
        # with more rows; if equal, right.
        n_left = total & quantization.count_mask
        leaf.missing_left = 2 * n_left > leaf.total & quantization.count_mask
    elif leaf.missing_left:
        total += rest
    for b in range(HISTOGRAM_BINS):
        goes_left[b] = leaf.missing_left
    if special is not None and n_categories > 0:
        category = special.category_order.category
        for i in range(n_sorted):
            goes_left[category[i]] = i <= leaf.threshold
    else:
        for b in range(MISSING_BIN):
            goes_left[b] = b <= leaf.threshold
    return total
