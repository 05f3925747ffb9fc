r"""The gain of a split, and the best split that a histogram shows.

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

from sklearn_ltr._core.compile import (
    float64_of_integer,
    int64,
    stack_array,
    subkernel,
    uint64,
)
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr._core.trees.growth.leaf_values import newton_step
from sklearn_ltr._core.trees.growth.workspace import (
    BlockSplits,
    CategoryOrder,
    GrowingTree,
    Record,
    Records,
    SpecialFeatures,
    SplitRule,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

MAX_SPLIT_CATEGORIES = 32  # on one side of a split
ROUNDING_FACTOR = 8.0  # a gain must be larger, see `rounding_gain`
LEAST_WEIGHT = 1.0  # W, if more: a sum of small hessians may be rounded to 0

# Features whose thresholds are searched together: with a number for each in registers
SEARCHED_SLOTS = FEATURE_BLOCK // 2
float64_slots = stack_array(np.float64, SEARCHED_SLOTS)
int64_slots = stack_array(np.int64, SEARCHED_SLOTS)


# --- sums, scores and gains -------------------------------------------------------


@subkernel
def gradient_and_weight(packed_sum: int, rule: SplitRule) -> tuple[float, float]:
    """Return G and W of a packed sum."""
    quantization = rule.quantization
    pair = packed_sum >> quantization.count_bits
    w = packed_sum & quantization.count_mask
    if rule.second_order:
        w = pair & quantization.hessian_mask
    g = pair >> quantization.hessian_bits
    return float64_of_integer(g), float64_of_integer(w)


@subkernel
def child_score(packed_sum: int, rule: SplitRule) -> float:
    """Return ``G^2 / (W + l2)`` of a packed sum."""
    g, w = gradient_and_weight(packed_sum, rule)
    return g * g / (max(w, LEAST_WEIGHT) + rule.l2)


@subkernel
def split_score(left: int, total: int, rule: SplitRule) -> float:
    """Return the sum of the scores of two children, from packed sums."""
    g_left, w_left = gradient_and_weight(left, rule)
    g, w = gradient_and_weight(total, rule)
    g_right, w_right = g - g_left, w - w_left
    w_left = max(w_left, LEAST_WEIGHT) + rule.l2
    w_right = max(w_right, LEAST_WEIGHT) + rule.l2
    # one fraction instead of two: a division takes as long as all the rest
    crossed = g_left * g_left * w_right + g_right * g_right * w_left
    return crossed / (w_left * w_right)


@subkernel
def child_value(packed_sum: int, rule: SplitRule) -> float:
    """Return ``-G / (W + l2)`` of a packed sum, in units of quantized gradients."""
    g, w = gradient_and_weight(packed_sum, rule)
    return newton_step(g, max(w, LEAST_WEIGHT), rule.l2)


@subkernel
def rounding_gain(packed_sum: int, rule: SplitRule) -> float:
    """Return the gain that rounding alone may give in a leaf of equal gradients."""
    # ``floor(x + u)`` has a variance of f (1 - f), where f is the fraction of x: 1/6 on
    # average, at most 1/4.  So a sum of n rounded numbers has an error of about
    # sqrt(n / 6), which gives a split a gain of about ``(n / W) (1 + (G / W)^2) / 6``.
    # With least squares W = n, which has no error: the gain is about 1/6.  The best of
    # many splits has a larger gain by rounding: so 48 times the mean is required, which
    # is ROUNDING_FACTOR times this product without its factor 1/6.
    product = 1.0
    if rule.second_order:
        count = packed_sum & rule.quantization.count_mask
        g, h = gradient_and_weight(packed_sum, rule)
        h = max(h, LEAST_WEIGHT)
        step = g / h
        product = float(count) / h * (1.0 + step * step)
    # the float64 error of a gain, a small difference of large scores
    score = child_score(packed_sum, rule)
    return ROUNDING_FACTOR * product + 2.0**-44 * score


@subkernel
def allowed_score(left: int, total: int, direction: int, rule: SplitRule) -> float:
    """Return the score of a split of a leaf, given the sum on the left, if allowed."""
    # 0: a child is too small, or the children are not in the order of a constraint
    right, mask = total - left, rule.quantization.count_mask
    if min(left & mask, right & mask) < rule.min_samples_leaf:
        return 0.0
    if direction != 0:
        rise = child_value(right, rule) - child_value(left, rule)
        if direction * rise < 0.0:
            return 0.0
    return split_score(left, total, rule)


# --- thresholds -------------------------------------------------------------------


@subkernel
def find_block_splits(
    histogram: IntArray,
    n_used_slots: int,
    n_bins: int,
    total: int,
    rule: SplitRule,
    splits: BlockSplits,
) -> None:
    """Find the best threshold of each feature of a block, in a leaf of sum `total`."""
    # `n_bins` is the largest number of bins of these features, missing not counted
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        any_missing |= histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    # Missing values go right, unless a split that sends them left has a higher gain: if
    # any feature of the block has some in the leaf, all are scanned again.
    end = 2 * HISTOGRAM_BINS if any_missing else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        for first in range(0, n_used_slots, SEARCHED_SLOTS):
            slots = histogram[first:], splits.score[first:], splits.threshold[first:]
            scan_thresholds(*slots, n_bins, total, rule, int64(offset))


@subkernel
def scan_thresholds(
    histogram: IntArray,
    best_score: FloatArray,
    best_threshold: IntArray,
    n_bins: int,
    total: int,
    rule: SplitRule,
    offset: int,
) -> None:
    """Keep the thresholds, plus `offset`, of a better score, of the first features."""
    score, threshold, left_sum = float64_slots(), int64_slots(), int64_slots()
    for slot in range(SEARCHED_SLOTS):
        score[slot], threshold[slot] = best_score[slot], best_threshold[slot]
        missing = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
        left_sum[slot] = missing if offset > 0 else 0  # goes left in any case
    mask = rule.quantization.count_mask
    least = rule.min_samples_leaf
    most = (total & mask) - least
    for b in range(n_bins):
        for slot in range(SEARCHED_SLOTS):  # vectorises
            left = left_sum[slot] + histogram[uint64(b * FEATURE_BLOCK + slot)]
            left_sum[slot] = left
            both, n_left = split_score(left, total, rule), left & mask
            better = both > score[slot]
            better &= n_left >= least
            better &= n_left <= most
            score[slot] = both if better else score[slot]
            threshold[slot] = b + offset if better else threshold[slot]
    for slot in range(SEARCHED_SLOTS):
        best_score[slot], best_threshold[slot] = score[slot], threshold[slot]


# --- categorical and constrained features -----------------------------------------


class OrderedBins(NamedTuple):
    """The bins of a feature, in the order in which thresholds divide them."""

    bins: IntArray  # those that are in the order; all others stay together
    most: int  # of these bins are on the left, or on the right, of a threshold
    direction: int  # sign of a monotonic constraint
    fraction: float  # of a gain: what is not expected by chance


@subkernel
def is_categorical(feature: int, special: SpecialFeatures | None) -> bool:
    """Return whether a feature is categorical."""
    if special is None:
        return False
    return bool(special.n_categories[feature] > 0)


@subkernel
def monotonic_sign(feature: int, special: SpecialFeatures | None) -> int:
    """Return the sign of a feature's monotonic constraint, 0 if there is none."""
    if special is None or len(special.constraints.monotonic) == 0:
        return int64(0)
    return int64(special.constraints.monotonic[feature])


@subkernel
def is_special(feature: int, special: SpecialFeatures) -> bool:
    """Return whether a feature is categorical, or has a monotonic constraint."""
    return is_categorical(feature, special) or monotonic_sign(feature, special) != 0


@subkernel
def order_bins(
    feature: int,
    sums: IntArray,
    n_bins: int,
    total: int,
    rule: SplitRule,
    special: SpecialFeatures,
) -> OrderedBins:
    """Return the order of a special feature's bins, given their sums in a leaf."""
    order, n_categories = special.category_order, special.n_categories[feature]
    if n_categories > 0:
        n_sorted = sort_categories(sums, n_categories, total, rule, order)
        categories = order.category[:n_sorted]
        fraction = fraction_not_by_chance(sums, categories, total, rule)
        return OrderedBins(categories, int64(MAX_SPLIT_CATEGORIES), int64(0), fraction)
    for b in range(n_bins):
        order.category[b] = b
    direction = monotonic_sign(feature, special)
    return OrderedBins(order.category[:n_bins], int64(n_bins), direction, 1.0)


@subkernel
def sum_of_others(sums: IntArray, bins: IntArray, total: int) -> int:
    """Return the packed sum of the rows of a leaf that are in none of these bins."""
    rest = total
    for b in bins:
        rest -= sums[b]
    return rest


@subkernel
def scan_ordered(
    sums: IntArray, total: int, ordered: OrderedBins, rule: SplitRule
) -> tuple[float, int]:
    """Return the highest score of an allowed threshold, and the first with it."""
    rest, n_bins = sum_of_others(sums, ordered.bins, total), len(ordered.bins)
    best_score, best_threshold = 0.0, int64(0)
    # the rows that are in no ordered bin go right, or left if that is better
    any_others = rest & rule.quantization.count_mask > 0
    end = 2 * HISTOGRAM_BINS if any_others else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        left = rest if offset > 0 else int64(0)
        for i in range(n_bins):
            left += sums[ordered.bins[i]]
            if min(i + 1, n_bins - i - 1) <= ordered.most:
                score = allowed_score(left, total, ordered.direction, rule)
                if score > best_score:
                    best_score, best_threshold = score, i + offset
    return best_score, best_threshold


@subkernel
def find_special_splits(
    block: int,
    histogram: IntArray,
    total: int,
    tree: GrowingTree,
    special: SpecialFeatures | None,
    splits: BlockSplits,
) -> None:
    """Replace the splits of a block's features that are categorical or constrained."""
    if special is None:
        return
    # of a categorical feature, the first ``threshold % 256 + 1`` sorted categories go
    # left
    n_bins, rule = tree.blocks.n_bins[block], tree.rule
    for slot in range(FEATURE_BLOCK):
        feature = tree.blocks.feature[block, slot]
        if feature >= 0 and is_special(feature, special):
            sums = histogram[slot::FEATURE_BLOCK]
            ordered = order_bins(feature, sums, n_bins, total, rule, special)
            score, threshold = scan_ordered(sums, total, ordered, rule)
            if is_categorical(feature, special):
                parent_score = child_score(total, rule)
                score = parent_score + ordered.fraction * (score - parent_score)
            splits.score[slot], splits.threshold[slot] = score, threshold


@subkernel
def sort_categories(
    sums: IntArray, n_categories: int, total: int, rule: SplitRule, order: CategoryOrder
) -> int:
    """Sort the categories of a leaf by gradient over weight; return their number."""
    # categories of too few rows are left out; of equal ratios, the lower category is
    # first
    category, ratio, quantization = order.category, order.ratio, rule.quantization
    count_bits, mask = quantization.count_bits, quantization.count_mask
    fraction = rule.category_smoothing / float(total & mask)
    added_g = fraction * float(total >> count_bits >> quantization.hessian_bits)
    added_w = rule.category_smoothing
    if rule.second_order:
        added_w = fraction * float(total >> count_bits & quantization.hessian_mask)
    n_sorted = int64(0)
    for b in range(n_categories):
        packed = sums[b]
        if packed & mask >= rule.min_samples_leaf:
            g, w = gradient_and_weight(packed, rule)
            ratio[n_sorted] = (g + added_g) / (max(w, LEAST_WEIGHT) + added_w)
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
def fraction_not_by_chance(
    sums: IntArray, categories: IntArray, total: int, rule: SplitRule
) -> float:
    """Return the fraction of the differences of categories that is not by chance."""
    # 1 - 1 / F, or 0: see the docstring of this module
    spread = -child_score(total, rule)
    for category in categories:
        spread += child_score(sums[category], rule)
    rest, n_other = sum_of_others(sums, categories, total), len(categories) - 1
    if rest & rule.quantization.count_mask > 0:
        spread += child_score(rest, rule)
        n_other += 1
    by_chance = rule.quantization.variance * float(n_other)
    return 1.0 - by_chance / spread if spread > by_chance else 0.0


# --- the best of all blocks and threads -------------------------------------------


@subkernel
def keep_better(gain: float, feature: int, threshold: int, best: Record) -> None:
    """Keep a split, its threshold as in `BlockSplits`, if it is the better one."""
    # Of features with equal gains the first is best, so that the result does not depend
    # on which thread searched which block.
    is_first = feature < best.feature
    if gain > best.gain or (gain == best.gain and gain > 0 and is_first):
        best.gain = gain
        best.feature = feature
        best.threshold = threshold % HISTOGRAM_BINS
        best.missing_left = threshold >= HISTOGRAM_BINS


@subkernel
def take_best_candidate(
    leaf: Record, candidates: Records, n_threads: int, k: int
) -> None:
    """Make the best of all threads' candidates number k the best split of a leaf."""
    best = candidates[0, k]
    for thread in range(1, n_threads):
        other = candidates[thread, k]
        is_first = other.feature < best.feature
        if other.gain > best.gain or (other.gain == best.gain and is_first):
            best = other
    leaf.gain, leaf.feature = best.gain, best.feature
    leaf.threshold, leaf.missing_left = best.threshold, best.missing_left


# --- the bins that a split sends left ---------------------------------------------


@subkernel
def mark_left_bins(
    leaf: Record,
    sums: IntArray,
    rule: SplitRule,
    special: SpecialFeatures | None,
    goes_left: NDArray[np.uint8],
) -> int:
    """Mark the bins that the split of a leaf sends left; return their packed sum."""
    n_categories = int64(0)
    if special is not None:
        n_categories = special.n_categories[leaf.feature]
    n_sorted, rest = int64(0), sums[MISSING_BIN]
    total = int64(0)
    if special is not None and n_categories > 0:
        order = special.category_order
        n_sorted = sort_categories(sums, n_categories, leaf.total, rule, order)
        rest = sum_of_others(sums, order.category[:n_sorted], leaf.total)
        for i in range(min(n_sorted, leaf.threshold + 1)):
            total += sums[order.category[i]]
    else:
        for b in range(leaf.threshold + 1):
            total += sums[b]
    if rest == 0:
        # No row of the leaf decides where missing values go in prediction: to the side
        # with more rows; if equal, right.
        mask = rule.quantization.count_mask
        leaf.missing_left = 2 * (total & mask) > leaf.total & mask
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
