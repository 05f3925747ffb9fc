r"""Splits of categorical features: a set of categories goes left, all others right.

Of the 2^(K-1) - 1 ways to divide K categories in two, the one with the highest gain is
among K - 1: sort the categories by their sums of gradients over their sums of weights,
g_c / w_c, and one of the thresholds in this order gives it (W. Fisher, "On grouping for
maximum homogeneity", JASA 53, 1958; Breiman et al., "Classification and Regression
Trees", 1984, theorem 4.5).  This holds for both gains of ``splitting.py`` and any l2: a
gain is a convex function of the sums on the left, so its maximum is at an extreme point
of all such sums, where a line through the plane of (g_c, w_c) divides the categories;
and with v = G / (W + l2), what it gains from one more category is
2 (v_L - v_R) (g_c - w_c (v_L + v_R) / 2), whose sign depends on g_c / w_c alone.
(Where a child would have fewer than `min_samples_leaf` rows, another set may be
better.)

A category of few rows is sorted by chance, and the best of many sets fits that chance.
Three parameters counter this:

- `category_smoothing` s: to each category, s rows of the leaf's mean gradient and mean
  weight are added before its ratio is taken, so that small categories are in the middle
  of the order.
- `min_samples_category`: a category with fewer rows in the leaf is not sorted.  All of
  these go where missing values and categories unseen in training go, together: to the
  side that gives the higher gain; or, if there are none in the leaf, to the child with
  more rows.
- `max_split_categories`: at most so many of the sorted categories on the left, or at
  most so many on the right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel
from sklearn_ltr._trees.binning import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    MISSING_BIN,
    BinnedData,
)
from sklearn_ltr._trees.quantization import Quantization
from sklearn_ltr._trees.splitting import SplitRule, child_score
from sklearn_ltr._trees.workspace import (
    SET_BYTES,
    CategoryOrder,
    Record,
    Workspace,
)

# The best set of K categories of equal gradients has a gain of about K / 10 times the
# variance of rounding, where `rounding_gain` allows for 8: K / 2 more are required.
CATEGORIES_PER_ROUNDING = 16.0


@subkernel
def find_category_splits(
    binned: BinnedData,
    block: int,
    histogram: NDArray[np.int64],
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    work: Workspace,
) -> None:
    """Find the best split of each categorical feature of a block, if there are any.

    It replaces that of `find_block_splits`: the first ``threshold % 256 + 1``
    categories in their order go left.
    """
    for slot in range(FEATURE_BLOCK):
        feature = binned.feature[block, slot]
        if feature >= 0 and binned.n_categories[feature] > 0:
            n_sorted = sort_categories(
                histogram,
                slot,
                binned.n_categories[feature],
                total,
                quantization,
                rule,
                work.category_order,
            )
            scan_categories(histogram, slot, n_sorted, total, quantization, rule, work)


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
    """Sort the categories of a leaf by gradient over weight; return their number.

    Those with fewer rows than `min_samples_category` are left out.  Of equal ratios,
    the lower category is first.
    """
    category, ratio = order.category, order.ratio
    count_bits, mask = quantization.count_bits, quantization.count_mask
    hessian_bits, hessian_mask = quantization.hessian_bits, quantization.hessian_mask
    share = rule.category_smoothing / float(total & mask)
    added_g = share * float(total >> count_bits >> hessian_bits)
    added_w = rule.category_smoothing
    if rule.second_order:
        added_w = share * float(total >> count_bits & hessian_mask)
    n_sorted = int64(0)
    for b in range(n_categories):
        packed = histogram[b * FEATURE_BLOCK + slot]
        if packed & mask >= rule.min_samples_category:
            w = packed & mask
            if rule.second_order:
                w = packed >> count_bits & hessian_mask
            g = float(packed >> count_bits >> hessian_bits)
            # a weight of at least 1 unit, as in `child_score`
            ratio[n_sorted] = (g + added_g) / (max(float(w), 1.0) + added_w)
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
    work: Workspace,
) -> None:
    """Find the threshold in the order of the categories with the highest score.

    It is the first of equal ones.  The rows that are not in a sorted category go right,
    unless the score is higher with them on the left (256 is added to the threshold).
    """
    category, mask = work.category_order.category, quantization.count_mask
    rest, best_score, best_threshold = total, 0.0, int64(0)
    for i in range(n_sorted):
        rest -= histogram[category[i] * FEATURE_BLOCK + slot]
    end = 2 * HISTOGRAM_BINS if rest & mask > 0 else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        left = rest if offset > 0 else int64(0)
        for i in range(n_sorted):
            left += histogram[category[i] * FEATURE_BLOCK + slot]
            right = total - left
            both = child_score(left, quantization, rule)
            both += child_score(right, quantization, rule)
            if (
                both > best_score
                and min(i + 1, n_sorted - i - 1) <= rule.max_split_categories
                and min(left & mask, right & mask) >= rule.min_samples_leaf
            ):
                best_score, best_threshold = both, i + offset
    work.splits.score[slot] = best_score
    work.splits.threshold[slot] = best_threshold


@subkernel
def mark_left_bins(
    leaf: Record,
    histogram: NDArray[np.int64],
    slot: int,
    n_categories: int,
    quantization: Quantization,
    rule: SplitRule,
    work: Workspace,
) -> int:
    """Mark the bins that the split of a leaf sends left; return their packed sum.

    This also changes `leaf.missing_left` if the leaf has no row whose side it decides:
    to the side with more rows (if equal, right), which is where such values will go in
    prediction.
    """
    goes_left, category = work.goes_left, work.category_order.category
    n_sorted, rest = int64(0), histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    total = int64(0)
    if n_categories > 0:
        n_sorted = sort_categories(
            histogram,
            slot,
            n_categories,
            leaf.total,
            quantization,
            rule,
            work.category_order,
        )
        rest = leaf.total
        for i in range(n_sorted):
            packed = histogram[category[i] * FEATURE_BLOCK + slot]
            rest -= packed
            if i <= leaf.threshold:
                total += packed
    else:
        for b in range(leaf.threshold + 1):
            total += histogram[b * FEATURE_BLOCK + slot]
    if rest == 0:
        n_left = total & quantization.count_mask
        leaf.missing_left = 2 * n_left > leaf.total & quantization.count_mask
    elif leaf.missing_left:
        total += rest
    for b in range(HISTOGRAM_BINS):
        goes_left[b] = leaf.missing_left
    if n_categories > 0:
        for i in range(n_sorted):
            goes_left[category[i]] = i <= leaf.threshold
    else:
        for b in range(MISSING_BIN):
            goes_left[b] = b <= leaf.threshold
    return total


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
