"""Split gain, and the best split of each feature of a histogram.

With G the sum of gradients of a node's rows, and W the sum of hessians, or the number
of rows,

    gain = G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2).

With ``split_gain="second_order"`` (`SplitRule.second_order`), W is the sum of hessians:
the gain is twice the decrease of the cost's second-order expansion when both children
make a Newton step.  With ``split_gain="least_squares"``, W is the number of rows, and
l2 is 0: the gain is the decrease of the squared error of equation (11) of the report
(C. Burges, MSR-TR-2010-82), where the tree is fitted to the gradients.

G and W are sums of quantized numbers.  A gain must be multiplied by
``hessian_scale / gradient_scale**2``, or by ``1 / gradient_scale**2`` where W is the
number of rows, to be in units of the objective (`SplitRule.gain_unit`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, subkernel
from sklearn_ltr._trees.binning import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    MISSING_BIN,
)
from sklearn_ltr._trees.parameters import (
    NO_CONSTRAINTS,
    Constraints,
    GrowthParameters,
)
from sklearn_ltr._trees.quantization import Quantization
from sklearn_ltr._trees.workspace import BlockSplits

ROUNDING_FACTOR = 8.0  # see rounding_gain: larger gains are not rounding errors


class SplitRule(NamedTuple):
    """How splits are compared, and which are allowed."""

    second_order: bool
    # second order: l2_regularization * hessian_scale; least squares: 0, since there
    # only leaf values are regularised
    l2: float
    min_samples_leaf: int
    # of categorical features, see category_splits.py
    category_smoothing: float = 0.0
    min_samples_category: int = 1
    max_split_categories: int = 255
    constraints: Constraints = NO_CONSTRAINTS
    gain_unit: float = 1.0  # of quantized gradients, in units of the objective


@subkernel
def make_rule(parameters: GrowthParameters, quantization: Quantization) -> SplitRule:
    """Return the rule for the splits of one tree."""
    l2, gain_unit = 0.0, 1.0
    if parameters.second_order:
        l2 = parameters.l2_regularization * quantization.hessian_scale
        gain_unit = quantization.hessian_scale
    gradient_scale = quantization.gradient_scale
    if gradient_scale > 0:
        gain_unit = gain_unit / gradient_scale / gradient_scale
    return SplitRule(
        parameters.second_order,
        l2,
        parameters.min_samples_leaf,
        parameters.category_smoothing,
        parameters.min_samples_category,
        parameters.max_split_categories,
        parameters.constraints,
        gain_unit,
    )


@subkernel
def child_score(packed_sum: int, quantization: Quantization, rule: SplitRule) -> float:
    """Return ``G^2 / (W + l2)`` of a packed sum.

    W is at least 1 unit, since a sum of small hessians may be rounded to 0.
    """
    pair = packed_sum >> quantization.count_bits
    g = float(pair >> quantization.hessian_bits)
    w = packed_sum & quantization.count_mask
    if rule.second_order:
        w = pair & quantization.hessian_mask
    return g * g / (max(float(w), 1.0) + rule.l2)


@subkernel
def rounding_gain(
    packed_sum: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return the gain that rounding alone may give in a leaf of equal gradients.

    ``floor(x + u)`` has a variance of f (1 - f), where f is the fraction of x: 1/6 on
    average, at most 1/4.  So a sum of n rounded numbers has an error of about
    sqrt(n / 6), which gives a split a gain of about ``(n / W) (1 + (G / W)^2) / 6``.
    With least squares W = n, which has no error: the gain is about 1/6.  The best of
    many splits has more: a gain of ROUNDING_FACTOR times this without the 1/6 is
    required, 48 times the mean.

    The second term bounds the float64 error of a gain, a small difference of large
    scores.
    """
    of_sums = 1.0
    if rule.second_order:
        count = packed_sum & quantization.count_mask
        pair = packed_sum >> quantization.count_bits
        g = float(pair >> quantization.hessian_bits)
        h = max(float(pair & quantization.hessian_mask), 1.0)
        step = g / h
        of_sums = float(count) / h * (1.0 + step * step)
    score = child_score(packed_sum, quantization, rule)
    return ROUNDING_FACTOR * of_sums + 2.0**-44 * score


@subkernel
def find_block_splits(
    histogram: NDArray[np.int64],
    n_bins: int,
    total: int,
    quantization: Quantization,
    rule: SplitRule,
    splits: BlockSplits,
) -> None:
    """Find the best split of each feature of a block.

    Parameters
    ----------
    histogram : ndarray of shape (256 * 16,), int64
        Packed sum of bin b in slot s: ``histogram[16 * b + s]``.
    n_bins : int
        Largest number of bins of a feature of the block, missing not counted.
    total : int
        Packed sum of the leaf.
    quantization : Quantization
    rule : SplitRule
    splits : BlockSplits
        Receives the splits.  Missing values go right, unless a split that sends them
        left has a higher gain: if any feature of the block has missing values in the
        leaf, all are scanned again with missing values on the left.
    """
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        splits.left_sum[slot] = 0
        any_missing |= histogram[MISSING_BIN * FEATURE_BLOCK + slot]
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
    """For each feature, find the threshold with the highest score.

    It is the first of equal ones, and is stored if its score exceeds the one already
    in `splits`.

    What is in ``splits.left_sum`` already goes left whatever the threshold.  `offset`
    is added to the thresholds.  The inner loop, over the features of the block, is
    vectorised.
    """
    score, threshold, left_sum = splits.score, splits.threshold, splits.left_sum
    mask, min_samples_leaf = quantization.count_mask, rule.min_samples_leaf
    for b in range(n_bins):
        for slot in range(FEATURE_BLOCK):
            left_sum[slot] += histogram[b * FEATURE_BLOCK + slot]
            left = left_sum[slot]
            right = total - left
            left_score = child_score(left, quantization, rule)
            both = left_score + child_score(right, quantization, rule)
            better = both > score[slot]
            better &= min(left & mask, right & mask) >= min_samples_leaf
            score[slot] = both if better else score[slot]
            threshold[slot] = b + offset if better else threshold[slot]
