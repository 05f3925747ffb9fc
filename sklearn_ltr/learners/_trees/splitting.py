"""Split gain, and the best split of each feature of a histogram.

With G the sum of gradients and W the sum of weights of a node's rows,

    gain = G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2) - G^2 / (W + l2).

``split_gain="second_order"`` uses the hessians as weights: the gain is twice the
decrease of the cost's second-order expansion when both children make a Newton step.
``split_gain="least_squares"`` uses weights of 1: the gain is the decrease of the squared
error of equation (11) of the report, where the tree is fitted to the gradients.

G and W are sums of quantized gradients, so that gains are in units of
``hessian_scale / gradient_scale**2``, without second order of ``1 / gradient_scale**2``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import allocate_aligned, int64, subkernel
from sklearn_ltr.learners._trees.binning import (
    FEATURE_BLOCK,
    HISTOGRAM_BINS,
    MISSING_BIN,
)
from sklearn_ltr.learners._trees.quantization import Quantization, count_of

ROUNDING_FACTOR = 8.0  # largest gains of rounding errors, over their expected value


class SplitRule(NamedTuple):
    """How splits are compared, and which are allowed."""

    second_order: bool
    l2: float  # in units of the quantized weights
    min_samples_leaf: int


@subkernel
def child_score(packed_sum: int, quantization: Quantization, rule: SplitRule) -> float:
    """Return ``G^2 / (W + l2)`` of a packed sum."""
    count = count_of(packed_sum, quantization)
    pair = packed_sum >> quantization.count_bits
    g = float(pair >> quantization.hessian_bits)
    h = pair & ((1 << quantization.hessian_bits) - 1)
    weight = h if rule.second_order else count
    return g * g / (max(float(weight), 1.0) + rule.l2)


@subkernel
def rounding_gain(
    packed_sum: int, quantization: Quantization, rule: SplitRule
) -> float:
    """Return the gain that rounding alone may give in a leaf of equal gradients.

    The sums of n rounded numbers have errors of about sqrt(n / 12), which give a split
    a gain of about ``n / W (1 + (G / W)^2) / 6``; the best of many splits has more.
    The other term bounds the error of the gain in float64, since it is a small
    difference of large scores.
    """
    count = count_of(packed_sum, quantization)
    pair = packed_sum >> quantization.count_bits
    g = float(pair >> quantization.hessian_bits)
    h = max(float(pair & ((1 << quantization.hessian_bits) - 1)), 1.0)
    of_sums = float(count) / h * (1.0 + (g / h) ** 2) if rule.second_order else 1.0
    score = child_score(packed_sum, quantization, rule)
    return ROUNDING_FACTOR * of_sums + 2.0**-44 * score


class BlockSplits(NamedTuple):
    """The best split of each feature of a block."""

    score: NDArray[np.float64]  # (16,): G_L^2 / (W_L + l2) + G_R^2 / (W_R + l2); 0: none
    threshold: NDArray[np.int64]  # (16,): bins up to and including this one go left
    missing_left: NDArray[np.bool_]  # (16,)
    left: NDArray[np.int64]  # (16,): packed sum on the left during the scan


def allocate_block_splits() -> BlockSplits:
    """Return memory for the splits of a block, in cache lines of its own."""
    numbers = allocate_aligned((2, FEATURE_BLOCK), np.int64)
    return BlockSplits(
        score=allocate_aligned((1, FEATURE_BLOCK), np.float64)[0],
        threshold=numbers[0],
        missing_left=allocate_aligned((1, 64), np.bool_)[0, :FEATURE_BLOCK],
        left=numbers[1],
    )


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
        left has a higher gain.
    """
    any_missing = int64(0)
    for slot in range(FEATURE_BLOCK):
        splits.score[slot] = 0.0
        splits.threshold[slot] = 0
        splits.left[slot] = 0
        any_missing |= histogram[MISSING_BIN * FEATURE_BLOCK + slot]
    # With missing values, a second scan begins with them on the left.  The thresholds
    # it finds are stored with 256 added.
    end = 2 * HISTOGRAM_BINS if any_missing else HISTOGRAM_BINS
    for offset in range(0, end, HISTOGRAM_BINS):
        if offset > 0:
            for slot in range(FEATURE_BLOCK):
                splits.left[slot] = histogram[MISSING_BIN * FEATURE_BLOCK + slot]
        scan_thresholds(histogram, n_bins, total, quantization, rule, offset, splits)
    for slot in range(FEATURE_BLOCK):
        splits.missing_left[slot] = splits.threshold[slot] >= HISTOGRAM_BINS
        splits.threshold[slot] %= HISTOGRAM_BINS


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
    """Find the first threshold of each feature whose score exceeds the best so far.

    Rows in ``splits.left`` go left whatever the threshold.  `offset` is added to the
    thresholds.  The features of a block are the lanes of vectors: they take each step
    together.
    """
    score, threshold, left = splits.score, splits.threshold, splits.left
    for b in range(n_bins):
        for slot in range(FEATURE_BLOCK):
            left[slot] += histogram[b * FEATURE_BLOCK + slot]
            right = total - left[slot]
            both = child_score(left[slot], quantization, rule) + child_score(
                right, quantization, rule
            )
            n_smaller = min(
                count_of(left[slot], quantization), count_of(right, quantization)
            )
            better = both > score[slot]
            better &= n_smaller >= rule.min_samples_leaf
            score[slot] = both if better else score[slot]
            threshold[slot] = b + offset if better else threshold[slot]
